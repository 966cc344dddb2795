//! Windows with a burst of requests in each, which a client counts.
//!
//! The client is silent at the edges of every window: it waits for the line of the window before,
//! then for a while, and asks a bounded number of times. Each burst is stamped with the clock of
//! the windows, so that one that fell outside its window on a busy machine is known and not judged.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use model::attach::{Look, WindowRecord};
use nix::time::{ClockId, clock_gettime};
use serde_json::Value;

use super::observe;
use crate::support::Skip;
use crate::support::tool::Tool;

/// What a client asked for and got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub requests: u64,
    /// Bytes to the server.
    pub to: u64,
    /// Bytes from it.
    pub from: u64,
}

/// Windows and their length: as many of each of four looks.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    pub windows: usize,
    pub length: Duration,
}

/// From the end of a window to the burst of the next, whose instrument is switched on meanwhile.
const SILENT: Duration = Duration::from_millis(800);
/// Observations before the machine is taken to be too busy.
const ATTEMPTS: usize = 3;

/// A burst, and when it was.
#[derive(Debug)]
struct Sent {
    begun: u64,
    ended: u64,
    counts: Counts,
}

/// What the tool says, and its windows with what the client did in each.
pub struct Burst {
    pub told: Value,
    pub windows: Vec<(WindowRecord, Counts)>,
}

fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

/// Lines of windows that are stored; `None` before there is a run.
fn stored(runs: &Path) -> Option<Vec<String>> {
    let run = std::fs::read_dir(runs).ok()?.flatten().map(|entry| entry.path()).find(|path| path.join("windows.jsonl").exists())?;
    Some(std::fs::read_to_string(run.join("windows.jsonl")).ok()?.lines().map(str::to_owned).collect())
}

/// A burst in each window, until all is over.
fn follow(runs: &Path, windows: usize, over: &AtomicBool, burst: &mut (dyn FnMut() -> Counts + Send)) -> Vec<Sent> {
    let (mut all, mut next) = (Vec::new(), 0);
    while !over.load(Ordering::Relaxed) && all.len() < windows {
        match stored(runs).filter(|lines| lines.len() >= next) {
            Some(lines) => {
                next = lines.len() + 1;
                thread::sleep(SILENT);
                let begun = now();
                let counts = burst();
                all.push(Sent { begun, ended: now(), counts });
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    }
    all
}

/// Observes a server with a burst in every window; tries again where one fell outside.
pub fn seen(pid: &str, extent: Extent, requests: &str, burst: &mut (dyn FnMut() -> Counts + Send)) -> Result<Burst, Skip> {
    for _ in 0..ATTEMPTS {
        let (tool, over) = (Tool::new(), AtomicBool::new(false));
        let runs = tool.path().join("runs");
        let time = format!("{}ms", extent.windows as u128 * extent.length.as_millis());
        let window = format!("{}ms", extent.length.as_millis());
        let arguments = ["--pid", pid, "-t", &time, "--window", &window, "--requests", requests, "-J"];
        let (answer, sent) = thread::scope(|scope| {
            let client = scope.spawn(|| follow(&runs, extent.windows, &over, burst));
            let answer = observe(&tool, &arguments);
            over.store(true, Ordering::Relaxed);
            (answer, client.join().unwrap())
        });
        let told = answer?.done().json();
        let lines = stored(&runs).unwrap();
        if lines.len() != extent.windows {
            return Err(Skip(format!("this machine does not allow every look: {}", told["run"]["refused"])));
        }
        let windows: Option<Vec<(WindowRecord, Counts)>> = lines.iter().map(|line| with_burst(line, &sent)).collect();
        if let Some(windows) = windows {
            assert_eq!(told["run"]["status"], "blocks_done");
            return Ok(Burst { told, windows });
        }
    }
    Err(Skip("this machine is so busy that the client's requests fall on the edges of windows".to_owned()))
}

/// A window and the burst within it; `None` where there is none, or another touches it.
fn with_burst(line: &str, sent: &[Sent]) -> Option<(WindowRecord, Counts)> {
    let record: WindowRecord = serde_json::from_str(line).unwrap();
    let (start, end) = (record.window.start.get(), record.window.end.get());
    let touching: Vec<&Sent> = sent.iter().filter(|one| one.begun <= end && start <= one.ended).collect();
    let [one] = touching[..] else { return None };
    (start < one.begun && one.ended < end).then_some((record, one.counts))
}

/// What the kernel saw in a window that looked, against what the client counts.
fn kernel_agrees(record: &WindowRecord, counts: &Counts) {
    let messages = record.messages.as_ref().unwrap_or_else(|| panic!("{:?}", record.refused));
    assert_eq!((messages.totals.received, messages.totals.sent), (counts.to, counts.from), "{messages:#?}");
    assert_eq!(messages.beyond, 0);
    let kinds: u64 = messages.calls.iter().map(|kind| kind.bytes).sum();
    assert_eq!(kinds, counts.to + counts.from, "every byte is in a kind of call: {messages:#?}");
}

/// Every window has the client's requests.
pub fn requests_agree(seen: &Burst) {
    for (record, counts) in &seen.windows {
        assert_eq!(record.requests, Some(counts.requests), "{record:#?}");
    }
}

/// Those that look have its bytes.
pub fn bytes_agree(seen: &Burst) {
    let looked = || seen.windows.iter().filter(|(record, _)| record.look == Look::Messages);
    looked().for_each(|(record, counts)| kernel_agrees(record, counts));
    assert_eq!(looked().count(), seen.windows.len() / 4);
}
