//! What commands answer before they measure, and what a cache holds: text and JSON of the same values.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::Path;

use model::{Bytes, Nanos};
use serde::{Serialize, Serializer};

use crate::json::pretty;
use crate::words::plural;

/// What `attach` would observe.
#[derive(Debug, Serialize)]
pub struct Attachment<'a> {
    /// The target in the user's words.
    pub target: &'a str,
    /// Name of its main process.
    pub program: &'a str,
    /// Its processes, the main one first.
    pub processes: &'a [u32],
    /// Number of their threads.
    pub threads: usize,
    /// Length of a window.
    #[serde(rename = "window_ns")]
    pub window: Nanos,
    /// What counts requests.
    pub requests: String,
}

impl Attachment<'_> {
    /// As JSON.
    pub fn json(&self) -> String {
        pretty(self)
    }

    /// In a sentence.
    pub fn text(&self) -> String {
        let Self { target, program, threads, window, requests, .. } = self;
        let processes = match self.processes.len() {
            1 => "1 process".to_owned(),
            several => format!("{several} processes"),
        };
        let threads = plural(*threads as u64, "thread");
        format!("{program} ({target}): {processes}, {threads}; windows of {window}, requests by {requests}. Nothing was observed.")
    }
}

/// What `microscope` would fetch and run.
#[derive(Debug, Serialize)]
pub struct Boots<'a> {
    /// Each kernel with its source.
    pub kernels: Vec<String>,
    /// Names of the messages.
    pub messages: Vec<&'a str>,
    /// Number of boots.
    pub boots: u64,
    /// How long they take.
    pub seconds: Seconds,
}

/// Seconds of one core, by boots that were timed.
#[derive(Debug)]
pub struct Seconds {
    /// The range that is expected.
    pub range: RangeInclusive<u64>,
    /// The end of the range is not known.
    pub at_least: bool,
    /// Number of boots that were timed on this machine.
    pub timed_boots: usize,
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let most = (!self.at_least).then_some(self.range.end());
        serde_json::json!({ "least": self.range.start(), "most": most, "timed_boots": self.timed_boots }).serialize(serializer)
    }
}

impl Boots<'_> {
    /// As JSON.
    pub fn json(&self) -> String {
        pretty(self)
    }

    /// As text, with the number of messages of each name.
    pub fn text(&self, of_each: impl Display) -> String {
        let Self { kernels, messages, boots, seconds: Seconds { range, at_least, timed_boots } } = self;
        let time = if *at_least { format!("{} s or more", range.start()) } else { format!("{} to {} s", range.start(), range.end()) };
        let source = match timed_boots {
            0 => "no boot was timed here yet".to_owned(),
            1 => "by the one that was timed here".to_owned(),
            timed => format!("by the last {timed} that were timed here"),
        };
        format!(
            "{}\nmessages: {}, {of_each} of each\nboots: {boots}, {time} of one core's time ({source}), and one more for the symbols of each new kernel",
            kernels.join("\n"),
            messages.join(", "),
        )
    }
}

/// What the cache of `microscope` holds.
#[derive(Debug, Serialize)]
pub struct Cached<'a, E> {
    /// Its directory.
    pub directory: &'a Path,
    /// What is in it.
    pub held: Vec<E>,
    /// What was pruned.
    pub dropped: Vec<E>,
}

impl<E: Serialize + Display> Cached<'_, E> {
    /// As JSON.
    pub fn json(&self) -> String {
        pretty(self)
    }

    /// A line each, and the bytes of all that is held.
    pub fn text(&self, bytes: u64) -> String {
        let dropped = self.dropped.iter().map(|one| format!("dropped {one}\n"));
        let held = self.held.iter().map(|one| format!("{one}\n"));
        dropped.chain(held).collect::<String>() + &format!("{} in {}", Bytes::new(bytes), self.directory.display())
    }
}
