//! Places of a run's files, and names of runs.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::Offset;

/// The plan, and the state of the run.
pub const RUN: &str = "run.json";

/// What was observed, of an attached run: it has this in place of `run.json`.
pub const ATTACHED: &str = "attach.json";

/// One window of an attached run a line.
pub const WINDOWS: &str = "windows.jsonl";

/// What is advised to a program that was observed, with its replays.
pub const ADVICE: &str = "advice.json";

/// What was recorded, of a recording of `top`: it has this in place of `run.json`.
pub const RECORDING: &str = "top.json";

/// Files of windows of a recording.
pub const RECORDED: &str = "windows";

/// Exact counts: of a run of the microscope, which has this in place of `run.json`, or
/// next to the trials of a study.
pub const EXACT: &str = "exact.json";

/// One trial a line.
pub const TRIALS: &str = "trials.jsonl";

/// A view of the run for a browser.
pub const REPORT: &str = "report.html";

/// The run in a few figures.
pub const SUMMARY: &str = "summary.json";

/// Facts of the hosts.
pub const HOSTS: &str = "hosts";

/// Call chains in the flame graph tools' folded format, a file a cell and end.
pub const STACKS: &str = "stacks";

/// The longest name of a file of stacks: what encrypted file systems take.
const LONGEST_STACKS: usize = 143;

/// Moment at which facts of a host were gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moment {
    /// Before the first trial.
    Before,
    /// After the last.
    After,
}

impl Moment {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Before => ".json",
            Self::After => ".after.json",
        }
    }
}

/// The file with the facts of host `name`.
pub fn host_file(run: &Path, name: &str, moment: Moment) -> PathBuf {
    run.join(HOSTS).join(format!("{name}{}", moment.suffix()))
}

/// Moment at which the facts in a file in `hosts/` were gathered; `None` when it is no
/// such file.
pub fn host_moment(file: &str) -> Option<Moment> {
    // `a.after.json` ends in `.json` too, so the longer suffix comes first.
    [Moment::After, Moment::Before].into_iter().find(|moment| !file.starts_with('.') && file.ends_with(moment.suffix()))
}

/// The name of a run: its UTC start, its study, and four digits that set apart
/// runs of one second. No colon, so that it is a name on every file system.
pub fn run_name(study: &str, started_ms: u64, apart: u16) -> String {
    format!("{}-{study}-{apart:04x}", stamp(started_ms))
}

/// A UTC time as it stands in a run's name. A time past the year 9999 gets the
/// calendar's last second: a name must sort, not tell such a time.
fn stamp(ms: u64) -> String {
    time(ms).strftime("%Y-%m-%dT%H-%M-%SZ").to_string()
}

/// The year of a time since 1970 (UTC).
pub fn year(ms: u64) -> u16 {
    u16::try_from(Offset::UTC.to_datetime(time(ms)).year()).unwrap_or(u16::MAX)
}

fn time(ms: u64) -> Timestamp {
    i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or(Timestamp::MAX)
}

/// Returns whether `name` can be part of a file name as it is: what a plan's name and
/// a host's name may hold.
pub fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.len() <= 100 && has_plain_letters(name)
}

/// Returns whether `name` can name a file of stacks.
pub fn is_stacks(name: &str) -> bool {
    name.ends_with(".folded") && name.len() <= LONGEST_STACKS && has_plain_letters(name)
}

fn has_plain_letters(name: &str) -> bool {
    !name.starts_with('.') && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests {
    use super::{Moment, host_moment, is_plain, is_stacks, run_name};

    #[test]
    fn a_name_says_when_what_and_which() {
        assert_eq!(run_name("quick", 1_795_292_045_999, 0x7f), "2026-11-21T20-14-05Z-quick-007f");
        assert_eq!(run_name("quick", 0, 0xffff), "1970-01-01T00-00-00Z-quick-ffff");
        assert!(run_name("quick", u64::MAX, 0).starts_with("9999-12-3"));
    }

    #[test]
    fn no_name_leaves_its_directory() {
        assert!(is_plain("size-sweep_2") && is_plain("a"));
        for name in ["", ".", "..", ".hidden", "a/b", "a\0", "a b", "ü", &"x".repeat(101)] {
            assert!(!is_plain(name), "{name:?}");
        }
    }

    #[test]
    fn stacks_stay_in_their_directory() {
        assert!(is_stacks("UDP_STREAM-1-B.sender.folded"));
        for name in [".folded", "../x.folded", "a/b.folded", "x.svg", &format!("{}.folded", "x".repeat(137))] {
            assert!(!is_stacks(name), "{name:?}");
        }
    }

    #[test]
    fn host_files_say_their_moment() {
        assert_eq!(host_moment("a.json"), Some(Moment::Before));
        assert_eq!(host_moment("a.after.json"), Some(Moment::After));
        assert_eq!(host_moment(".a.json.new"), None);
        assert_eq!(host_moment("notes.txt"), None);
    }
}
