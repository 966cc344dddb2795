//! `compare` of two real recordings, between which the messages of one unit of three become dearer by a fifth.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{TryRecvError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use engine::injection::filter_with;
use serde_json::Value;
use sys::clock::process_cpu;

use crate::bars::{Row, number};
use crate::{gate, ours};

/// Bytes of a datagram.
const DATAGRAM: usize = 4_096;
/// Time between two bursts.
const PAUSE: Duration = Duration::from_millis(10);
/// Units, and the datagrams of a burst.
const UNITS: [(&str, u32); 3] = [("dearer", 400), ("steady", 400), ("small", 150)];
/// What the first one's messages cost more, as a share.
const ADDED: f64 = 0.2;
/// Length of a recording: 24 windows.
const LENGTH: &str = "240s";
const WINDOWS: usize = 24;
/// By the clocks of the loads: ratios that are a fifth more, and none. Others are those of a machine that has changed.
const DEARER: std::ops::RangeInclusive<f64> = 1.14..=1.28;
const STEADY: std::ops::RangeInclusive<f64> = 0.95..=1.05;

/// Sends bursts to itself; from a line of its input on, through a filter of system calls that makes a message dearer by
/// `added`. At the end of its input it prints the ratio of what a message cost after and before, by its own clock.
pub fn run_bursts(each: u32, added: f64) -> anyhow::Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    // Its buffer fills, and from then on datagrams are dropped as they arrive.
    socket.connect(socket.local_addr()?)?;
    let pace = if added > 0.0 { gate::pace()? } else { 0.0 };
    let (sender, lines) = channel();
    thread::spawn(move || std::io::stdin().lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    // The filter is this thread's.
    let burst_until = |ended: fn(Result<String, TryRecvError>) -> bool| -> anyhow::Result<f64> {
        let (begun, mut bursts) = (process_cpu(), 0_u32);
        while !ended(lines.try_recv()) {
            thread::sleep(PAUSE);
            for _ in 0..each {
                socket.send(&[0; DATAGRAM])?;
            }
            bursts += 1;
        }
        Ok(process_cpu().since(begun).get() as f64 / f64::from(bursts.max(1) * each))
    };
    println!("ready");
    let before = burst_until(|line| line.is_ok())?;
    if added > 0.0 {
        filter_with((added * before / pace).round() as u32).context("set a filter of system calls (seccomp)")?;
    }
    let after = burst_until(|line| matches!(line, Err(TryRecvError::Disconnected)))?;
    println!("{}", after / before);
    Ok(())
}

/// A unit with a load in it; it ends with its owner.
struct Unit {
    name: String,
    directory: PathBuf,
    load: Child,
}

impl Unit {
    fn start(name: &str, each: u32) -> anyhow::Result<Self> {
        let name = format!("nettoll-bench-{}-{name}", std::process::id());
        let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(PathBuf::from);
        let mount = mounts.into_iter().find(|mount| mount.join("cgroup.procs").is_file()).context("there are no cgroups of version 2")?;
        let directory = mount.join(&name);
        fs::create_dir(&directory).with_context(|| format!("make {}", directory.display()))?;
        let added = if name.ends_with(UNITS[0].0) { ADDED } else { 0.0 };
        let mut command = Command::new(std::env::current_exe().context("find this program")?);
        command.args(["__bursts", &each.to_string(), &added.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let load = command.spawn().context("start a load")?;
        let mut unit = Self { name, directory, load };
        fs::write(unit.directory.join("cgroup.procs"), unit.load.id().to_string()).context("move a load to its unit")?;
        let mut line = String::new();
        BufReader::new(unit.load.stdout.as_mut().context("the load's output")?).read_line(&mut line)?;
        ensure!(line == "ready\n", "a load does not start");
        Ok(unit)
    }

    /// Ends the load, and returns the ratio by its own clock.
    fn end(&mut self) -> anyhow::Result<f64> {
        drop(self.load.stdin.take());
        let mut text = String::new();
        self.load.stdout.take().context("the load's output")?.read_to_string(&mut text)?;
        text.trim().parse().context("read the load's own figure")
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        let _ = self.load.kill();
        let _ = self.load.wait();
        let _ = fs::remove_dir(&self.directory);
    }
}

/// Records the machine, and returns the name of the run.
fn record(nettoll: &Path, directory: &Path) -> anyhow::Result<String> {
    let mut command = Command::new(nettoll);
    let output = command.args(["top", "--record", "--count-all", "--rate", "997", "-t", LENGTH]).current_dir(directory).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let name = said.lines().find_map(|line| line.split_once("recording to runs/")).context("nettoll made no recording")?;
    Ok(name.1.trim().to_owned())
}

/// The ratio that `compare` finds for the dearer unit, and whether it names that one alone; the ratios of all by their own clocks.
pub fn measure(nettoll: &Path) -> anyhow::Result<Vec<Row>> {
    let nettoll = nettoll.canonicalize().with_context(|| format!("find {}; build it first", nettoll.display()))?;
    let scratch = tempfile::tempdir()?;
    let mut units = UNITS.iter().map(|(name, each)| Unit::start(name, *each)).collect::<anyhow::Result<Vec<_>>>()?;
    let before = record(&nettoll, scratch.path())?;
    for unit in &mut units {
        unit.load.stdin.as_mut().context("the load's input")?.write_all(b"dearer\n")?;
    }
    let after = record(&nettoll, scratch.path())?;
    let own = units.iter_mut().map(Unit::end).collect::<anyhow::Result<Vec<f64>>>()?;
    let mut compare = Command::new(&nettoll);
    let found = ours::json(compare.args(["compare", &before, &after, "--threshold", "8%", "-J"]).current_dir(scratch.path()))?;
    let (mut rows, mut named) = (Vec::new(), Vec::new());
    for ((unit, (name, _)), own) in units.iter().zip(UNITS).zip(&own) {
        let path = format!("/{}", unit.name);
        let seen = found["units"].as_array().into_iter().flatten().find(|seen| seen["name"] == path.as_str());
        let message = seen.map_or(&Value::Null, |seen| &seen["message_ns"]);
        ensure!(message.is_object(), "messages of {path} are not counted here");
        let first = number(&message["means"][0]);
        let ratio = |value: &Value| 1.0 + number(value) / first;
        let [value, low, high] = [0, 1, 2].map(|place| ratio(&message["difference"][place]));
        let outcome = message["outcome"].as_str().unwrap_or_default();
        if outcome == "more" || outcome == "less" {
            named.push((name, outcome));
        }
        let words = format!("top: compare, a message after and before, {own:.3} by the load's own clock: {name}");
        rows.push(Row::printed(words, value, "x", WINDOWS).within(low, high));
    }
    let is_made = DEARER.contains(&own[0]) && own[1..].iter().all(|ratio| STEADY.contains(ratio));
    let words = if is_made { "top: compare, units named" } else { "top: compare, units named (the machine changed meanwhile: no bar)" };
    let row = Row::printed(words, named.len() as f64, "", WINDOWS);
    let is_alone = named == [(UNITS[0].0, "more")];
    rows.push(if is_made { row.against("the dearer one alone", is_alone) } else { row });
    Ok(rows)
}
