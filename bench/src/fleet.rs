//! A fleet of eight hosts whose links carry 20 Mbit/s, so that no CPU is the limit: one link that
//! is 15 % slower is named, and of equals nobody is.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::bars::Row;

/// Hosts, by number.
const HOSTS: usize = 8;
/// The one that is slow.
const SLOW: usize = 3;
/// Rates of links in kbit/s: of most, and of the slow one.
const RATES: [u32; 2] = [20_000, 17_000];
/// Least share of fleets of equals in which nobody is named; of those with a slow host it has to
/// be named in all.
const QUIET: f64 = 0.85;

/// Hosts on a bridge, in namespaces of this shell's own, which end with it. Its arguments are
/// nettoll, a folder for runs, and the rate of each host's link, both ways.
const SCRIPT: &str = r#"set -eu
nettoll=$1 runs=$2
shift 2
mount -t tmpfs tmpfs /run
ip link add switch type bridge
ip link set switch up
number=0 hosts=
for rate; do
    number=$((number + 1)) host=h$((number))
    ip netns add $host
    ip link add to-$host type veth peer name eth0 netns $host
    ip link set to-$host master switch up
    ip -n $host link set lo up
    ip -n $host addr add 10.77.0.$number/24 dev eth0
    ip -n $host link set eth0 up
    tc -n $host qdisc add dev eth0 root tbf rate ${rate}kbit burst 16kb latency 50ms
    tc qdisc add dev to-$host root tbf rate ${rate}kbit burst 16kb latency 50ms
    hosts="$hosts --host $host=cmd:ip%20netns%20exec%20$host%20sh"
done
PATH=$(dirname "$nettoll"):$PATH
# A command's words are parted once the list is.
set --
for word in $hosts; do set -- "$@" "$(printf %s "$word" | sed 's/%20/ /g')"; done
exec "$nettoll" fleet "$@" --parallel --test TCP_STREAM -t 400ms -O 200ms --runs "$runs" -J
"#;

/// Measures so many fleets with a slow host, and as many of equals.
pub fn measure(nettoll: &Path, fleets: u32) -> anyhow::Result<Vec<Row>> {
    let nettoll = nettoll.canonicalize().with_context(|| format!("find {}", nettoll.display()))?;
    let (mut found, mut quiet) = (0, 0);
    for _ in 0..fleets {
        // Taken in turn, so that a busy minute hits both.
        found += u32::from(named(&nettoll, Some(SLOW))? == [format!("h{SLOW}")]);
        quiet += u32::from(named(&nettoll, None)?.is_empty());
    }
    let row = |what: &str, count: u32, bar: &str, least: f64| {
        let share = f64::from(count) / f64::from(fleets);
        Row::printed(format!("fleets of {HOSTS}: {what}, of {fleets}"), f64::from(count), "", fleets as usize)
            .against(bar.to_owned(), share >= least)
    };
    Ok(vec![
        row("the slow host is named, and nobody else", found, "all", 1.0),
        row("of equals nobody is named", quiet, ">= 17 of 20", QUIET),
    ])
}

/// Who falls out of a fleet, each once.
fn named(nettoll: &Path, slow: Option<usize>) -> anyhow::Result<Vec<String>> {
    let runs = tempfile::tempdir()?;
    let rates = (1..=HOSTS).map(|host| RATES[usize::from(Some(host) == slow)].to_string());
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "--mount", "--fork", "--kill-child", "sh", "-c", SCRIPT, "fleet"])
        .arg(nettoll)
        .arg(runs.path())
        .args(rates)
        .output()?;
    ensure!(output.status.success(), "nettoll fleet: {}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let named = report["fleet"]["named"].as_array().with_context(|| format!("no fleet in {report}"))?;
    let mut who: Vec<String> = named
        .iter()
        .flat_map(|one| one["who"].as_array().into_iter().flatten())
        .filter_map(|name| name.as_str())
        .map(str::to_owned)
        .collect();
    who.sort();
    who.dedup();
    Ok(who)
}
