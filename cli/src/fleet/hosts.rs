//! The hosts of a fleet: as typed, from files, from a Slurm allocation, from Kubernetes.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use model::plan::{CommandHost, FleetHost, HostPlace, Transport, is_host_name};
use model::printable::{Keep, printable};
use serde::Deserialize;

use crate::args::MemberArgs;
use crate::consent;
use crate::exit::Failure;

/// Largest file of hosts or racks, in bytes.
const LARGEST: u64 = 4 << 20;

/// The hosts that the flags name, each with its rack.
///
/// # Errors
/// A word that is no host, a file that cannot be read, no allocation, no kubectl.
pub fn named(args: &MemberArgs) -> Result<Vec<FleetHost>, Failure> {
    let mut hosts = Vec::new();
    for word in args.hosts.iter().chain(&args.host) {
        hosts.push(host(word).map_err(Failure::misuse)?);
    }
    if let Some(file) = &args.hosts_file {
        let in_file: Vec<FleetHost> = lines(file)?
            .into_iter()
            .map(|(line, words)| host(&words).map_err(|error| at_line(file, line, &error)))
            .collect::<Result<_, _>>()?;
        consent::named_file(file, in_file.iter().any(|host| host.at.command().is_some()))?;
        hosts.extend(in_file);
    }
    if args.slurm {
        hosts.extend(slurm()?);
    }
    if let Some(selector) = &args.pods {
        hosts.extend(pods(selector, args.namespace.as_deref())?);
    }
    if hosts.is_empty() {
        return Err(Failure::misuse(
            "name the hosts: --hosts db1,db2,db3, --hosts-file FILE, --slurm in an allocation, or --pods SELECTOR",
        ));
    }
    if let Some(file) = &args.racks {
        let racks = racks(file)?;
        for host in &mut hosts {
            host.rack = racks.get(&host.name).cloned();
        }
        if let Some(name) = racks.keys().find(|name| hosts.iter().all(|host| host.name != **name)) {
            return Err(Failure::misuse(format!("{}: '{}' is no host of this fleet", file.display(), shown(name))));
        }
    }
    Ok(hosts)
}

/// A host as typed: `NAME=PLACE`, or a place that has a name in it; a bare name is ssh's.
fn host(word: &str) -> Result<FleetHost, String> {
    let word = word.trim();
    if let Some((name, place)) = word.split_once('=').filter(|(name, _)| is_host_name(name)) {
        let at = place.parse().map_err(|error: model::plan::HostPlaceError| error.to_string())?;
        return Ok(FleetHost { name: name.to_owned(), at, rack: None });
    }
    if word.starts_with('-') {
        return Err(format!("'{}' is no host: a name cannot begin with '-', which a command would take for an option", shown(word)));
    }
    let kinds = ["ssh:", "slurm:", "kubectl:", "cmd:"];
    let text = if kinds.iter().any(|kind| word.starts_with(kind)) { word.to_owned() } else { format!("ssh:{word}") };
    let at: HostPlace = text.parse().map_err(|error: model::plan::HostPlaceError| error.to_string())?;
    match name_of(&at).filter(|name| is_host_name(name)) {
        Some(name) => Ok(FleetHost { name, at, rack: None }),
        None => Err(format!("'{}' has no name that files and tables could bear: give it one, as in n1={}", shown(word), shown(word))),
    }
}

/// The name in a place: without the user, and with colons of an address as hyphens.
fn name_of(at: &HostPlace) -> Option<String> {
    match &at.command()?.transport {
        Transport::Ssh { destination, .. } => {
            let host = destination.rsplit_once('@').map_or(destination.as_str(), |(_, host)| host);
            Some(host.replace(':', "-"))
        }
        Transport::Slurm { node } => Some(node.clone()),
        Transport::Kubectl { pod, .. } => Some(pod.clone()),
        Transport::Command { .. } => None,
    }
}

/// Lines of a file that say something, with their numbers.
fn lines(file: &Path) -> Result<Vec<(usize, String)>, Failure> {
    let text = sys::file::read_text(file, LARGEST)
        .map_err(|answer| Failure::misuse(format!("cannot read {}: {answer}; check the path", file.display())))?;
    // A # within a word may be part of a command.
    let words = |line: &str| match line.trim() {
        line if line.starts_with('#') => String::new(),
        line => line.split_once(" #").map_or(line, |(before, _)| before).trim().to_owned(),
    };
    Ok((1..).zip(text.lines().map(words)).filter(|(_, words)| !words.is_empty()).collect())
}

fn at_line(file: &Path, line: usize, error: &str) -> Failure {
    Failure::misuse(format!("{}, line {line}: {error}", file.display()))
}

/// The rack of each host.
fn racks(file: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let mut racks = BTreeMap::new();
    for (line, words) in lines(file)? {
        let [host, rack] = words.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(at_line(file, line, "write the name of a host and that of its rack"));
        };
        if racks.insert(host.to_owned(), rack.to_owned()).is_some_and(|before| before != rack) {
            return Err(at_line(file, line, &format!("host {} stands in two racks", shown(host))));
        }
    }
    Ok(racks)
}

/// The nodes of the allocation, as `scontrol` expands their list.
fn slurm() -> Result<Vec<FleetHost>, Failure> {
    let Some(list) = std::env::var_os("SLURM_JOB_NODELIST").or_else(|| std::env::var_os("SLURM_NODELIST")) else {
        return Err(Failure::misuse(
            "--slurm: this is no allocation of Slurm (SLURM_JOB_NODELIST is not set); run it by salloc -N4 --exclusive, or in a script for sbatch",
        ));
    };
    let mut command = Command::new("scontrol");
    command.args(["show", "hostnames"]).arg(list);
    let names = said(command, "the list of the allocation's nodes")?;
    let node = |name: &str| host(&format!("slurm:{name}")).map_err(|error| Failure::misuse(format!("--slurm: {error}")));
    names.split_whitespace().map(node).collect()
}

/// What kubectl says of pods.
#[derive(Deserialize)]
struct Pods {
    items: Vec<Pod>,
}

#[derive(Deserialize)]
struct Pod {
    metadata: Metadata,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    namespace: Option<String>,
    deletion_timestamp: Option<String>,
}

#[derive(Deserialize, Default)]
struct PodStatus {
    #[serde(default)]
    phase: String,
    #[serde(rename = "podIP")]
    ip: Option<String>,
}

/// The running pods of a selector, each with its address.
fn pods(selector: &str, namespace: Option<&str>) -> Result<Vec<FleetHost>, Failure> {
    let mut command = Command::new("kubectl");
    command.args(["get", "pods", "-o", "json"]).arg(format!("--selector={selector}"));
    command.args(namespace.map(|name| format!("--namespace={name}")));
    let text = said(command, "the pods of the selector")?;
    let pods: Pods = serde_json::from_slice(text.as_bytes())
        .map_err(|error| anyhow::anyhow!("kubectl's answer is no list of pods: {error}; is it kubectl of Kubernetes?"))?;
    let there = |pod: &Pod| pod.status.phase == "Running" && pod.metadata.deletion_timestamp.is_none();
    let found: Vec<FleetHost> = pods.items.into_iter().filter(there).map(of_pod).collect::<Result<_, String>>().map_err(Failure::misuse)?;
    match found.is_empty() {
        true => Err(Failure::misuse(format!(
            "no pod that runs has the labels '{}'; `nettoll fleet manifest` writes a DaemonSet of some",
            shown(selector)
        ))),
        false => Ok(found),
    }
}

fn of_pod(pod: Pod) -> Result<FleetHost, String> {
    let namespace = pod.metadata.namespace.map_or_else(String::new, |name| format!("{name}/"));
    let mut host = host(&format!("kubectl:{namespace}{}", pod.metadata.name))?;
    if let HostPlace::Command(CommandHost { data, .. }) = &mut host.at {
        // Only an address is one, whatever the answer says.
        *data = pod.status.ip.filter(|ip| ip.parse::<std::net::IpAddr>().is_ok());
    }
    Ok(host)
}

/// What a command prints.
fn said(mut command: Command, what: &str) -> Result<String, Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|answer| anyhow::anyhow!("ask {program} for {what}: {answer}; is it installed and in PATH?"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        return Err(anyhow::anyhow!("ask {program} for {what}: {} ({})", shown(last.trim()), output.status).into());
    }
    String::from_utf8(output.stdout).map_err(|_| anyhow::anyhow!("ask {program} for {what}: its answer is not UTF-8").into())
}

fn shown(text: &str) -> String {
    printable(text, Keep::Nothing).chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn a_bare_name_is_one_of_ssh_and_names_the_host() {
        for (word, name, place) in [
            ("db1", "db1", "ssh:db1"),
            ("op@db1:2222", "db1", "ssh:op@db1:2222"),
            ("ssh:[2001:db8::1]:22", "2001-db8--1", "ssh:[2001:db8::1]:22"),
            ("slurm:n7", "n7", "slurm:n7"),
            ("kubectl:lab/pod-1", "pod-1", "kubectl:lab/pod-1"),
            ("n1=cmd:ssh -J a db1 sh", "n1", "cmd:ssh -J a db1 sh"),
            ("n1=192.0.2.1:7000", "n1", "192.0.2.1:7000"),
        ] {
            let found = host(word).unwrap();
            assert_eq!((found.name.as_str(), found.at.to_string().as_str()), (name, place));
        }
    }

    #[test]
    fn what_is_no_host_says_why() {
        for (word, reason) in [
            ("-oProxyCommand=x", "cannot begin with '-'"),
            ("ssh:-x", "cannot begin with '-'"),
            ("n1=ssh:-x", "cannot begin with '-'"),
            ("cmd:sh", "give it one, as in n1=cmd:sh"),
            ("a b", "a host is a name"),
            ("", "no address of a host"),
        ] {
            let error = host(word).unwrap_err();
            assert!(error.contains(reason), "{word}: {error}");
        }
    }
}
