//! One line of `trials.jsonl`: how it is cut from the file, and what it says.

use std::fmt;
use std::io::{self, BufRead, ErrorKind};

use model::trial::{TRIAL_FORMAT, TrialRecord};
use model::warning::Warning;
use serde::Deserialize;

/// The longest line that is read or written, with its end: 4 MiB, a thousand
/// times the usual. A longer one is damage, and must not fill the memory.
pub const LONGEST_LINE: usize = 4 << 20;

/// A line that holds no trial that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("trials.jsonl line {line}: {reason}")]
pub struct BadLine {
    /// Its number, from 1.
    pub line: u64,
    /// Reason why it cannot be read.
    pub reason: String,
}

impl From<BadLine> for Warning {
    fn from(bad: BadLine) -> Self {
        Self::BadLine { line: bad.line, reason: bad.reason }
    }
}

/// Content up to the next line's end.
#[derive(Debug, PartialEq, Eq)]
pub enum Cut {
    /// A line, now in the buffer without its end.
    Line {
        /// `true` if its end was there; without it the file's last line may be cut short.
        ended: bool,
    },
    /// More than [`LONGEST_LINE`]; skipped.
    TooLong,
    /// The file's end.
    End,
}

/// Reads the next line into `line`, never holding more than [`LONGEST_LINE`].
pub fn cut(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Cut> {
    line.clear();
    let mut too_long = false;
    let mut any = false;
    loop {
        let (used, ended) = {
            let chunk = match input.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                return Ok(match (any, too_long) {
                    (false, _) => Cut::End,
                    (true, true) => Cut::TooLong,
                    (true, false) => Cut::Line { ended: false },
                });
            }
            let content = chunk.split(|byte| *byte == b'\n').next().unwrap_or(chunk);
            too_long |= line.len() + content.len() >= LONGEST_LINE;
            match too_long {
                true => line.clear(),
                false => line.extend_from_slice(content),
            }
            let ended = content.len() < chunk.len();
            (content.len() + usize::from(ended), ended)
        };
        any = true;
        input.consume(used);
        if ended {
            return Ok(if too_long { Cut::TooLong } else { Cut::Line { ended: true } });
        }
    }
}

/// The trial that a line holds, or why it holds none.
pub fn parse(line: &[u8], ended: bool) -> Result<TrialRecord, String> {
    let reason = match std::str::from_utf8(line) {
        Ok(text) => match serde_json::from_slice::<TrialRecord>(line) {
            Ok(trial) if trial.format == TRIAL_FORMAT => return Ok(trial),
            Ok(trial) => return Err(unknown_format(u64::from(trial.format))),
            Err(error) => why_not_json(text, &error),
        },
        Err(error) => format!("not UTF-8 from byte {}", error.valid_up_to() + 1),
    };
    // A line without its end that parses is whole: JSON says itself where it ends.
    Err(if ended { reason } else { format!("cut short, its end is missing ({reason})") })
}

fn why_not_json(text: &str, error: &serde_json::Error) -> String {
    if text.contains('\0') {
        return format!("holds {} NUL bytes, as files do after a power cut", text.matches('\0').count());
    }
    if text.trim().is_empty() {
        return "empty".to_owned();
    }
    match serde_json::from_slice::<Version>(text.as_bytes()) {
        Ok(Version { format }) if format != u64::from(TRIAL_FORMAT) => unknown_format(format),
        _ => Plain(error).to_string(),
    }
}

/// The part of a record that every version of it has.
#[derive(Deserialize)]
struct Version {
    format: u64,
}

fn unknown_format(found: u64) -> String {
    format!("format version {found}, but this build of nettoll reads version {TRIAL_FORMAT}")
}

/// A JSON error without the line number, which is always 1 here and would be
/// taken for the file's.
struct Plain<'a>(&'a serde_json::Error);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let text = self.0.to_string();
        let message = text.split(" at line ").next().unwrap_or(&text);
        write!(f, "{message} at byte {}", self.0.column())
    }
}

#[cfg(test)]
mod tests {
    use super::{Cut, LONGEST_LINE, cut, parse};
    use std::io::{BufReader, Read};

    fn cuts(bytes: impl Read, capacity: usize) -> Vec<(Cut, usize)> {
        let mut input = BufReader::with_capacity(capacity, bytes);
        let (mut line, mut all) = (Vec::new(), Vec::new());
        loop {
            match cut(&mut input, &mut line).unwrap() {
                Cut::End => return all,
                found => all.push((found, line.len())),
            }
            assert!(line.capacity() <= 2 * LONGEST_LINE, "memory is bounded");
        }
    }

    #[test]
    fn lines_are_cut_whatever_the_buffer() {
        for capacity in [1, 2, 3, 7, 64] {
            let found = cuts(&b"one\n\nthree\nend"[..], capacity);
            let ended = |length| (Cut::Line { ended: true }, length);
            assert_eq!(found, [ended(3), ended(0), ended(5), (Cut::Line { ended: false }, 3)]);
            assert_eq!(cuts(&b""[..], capacity), []);
        }
    }

    #[test]
    fn an_endless_line_does_not_fill_the_memory() {
        let endless = std::io::repeat(b'x').take(10 * LONGEST_LINE as u64);
        let found = cuts(endless.chain(&b"\nnext\n"[..]), 1 << 16);
        assert_eq!(found, [(Cut::TooLong, 0), (Cut::Line { ended: true }, 4)]);
        assert_eq!(cuts(std::io::repeat(b'x').take(2 * LONGEST_LINE as u64), 1 << 16), [(Cut::TooLong, 0)]);
        let longest = std::io::repeat(b'x').take(LONGEST_LINE as u64 - 1).chain(&b"\n"[..]);
        assert_eq!(cuts(longest, 1 << 16), [(Cut::Line { ended: true }, LONGEST_LINE - 1)]);
    }

    #[test]
    fn each_kind_of_damage_is_named() {
        let reason = |line: &[u8], ended| parse(line, ended).unwrap_err();
        assert_eq!(reason(b"", true), "empty");
        assert_eq!(reason(b"{\"a\0\0\0", true), "holds 3 NUL bytes, as files do after a power cut");
        assert_eq!(reason(b"{\"format\":\xff", true), "not UTF-8 from byte 11");
        assert_eq!(reason(b"{\"format\":9,\"new\":[]}", true), "format version 9, but this build of nettoll reads version 1");
        assert!(reason(b"{\"format\":1}", true).contains("missing field"));
        assert!(reason(b"{\"format\":1,\"blo", false).starts_with("cut short, its end is missing (EOF"));
        assert!(!reason(b"[", true).contains("line"));
    }
}
