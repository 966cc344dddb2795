//! Lines by which a controller and a host behind a command find each other before
//! frames flow.
//!
//! ```text
//! controller --script for a shell-> host
//! controller <--need OS ARCH [gzip]- host   it lacks this nettoll, and unpacks or not
//! controller --[length] the program> host
//! controller <--ready {...}-------- host    nettoll runs there
//! controller --go-----------------> host    from here on frames, both ways
//! ```
//!
//! Either side skips what is no such line: a login may print a banner, and a host that
//! runs nettoll at once, as a forced command of sshd does, gets a script that it does
//! not want.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use model::json;
use model::printable::{Keep, printable};

/// Beginning of each line that is meant for the other side.
pub const MARK: &str = "nettoll-reach ";
/// The controller's line before its first frame.
pub const GO: &[u8] = b"nettoll-reach go\n";
/// The longest line of the other side that is understood, in bytes.
pub const LONGEST_LINE: usize = 4 << 10;
/// Bytes that the other side may print before its line.
pub const MOST_NOISE: usize = 256 << 10;

/// Line of a host behind a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marker {
    /// A shell runs there, and lacks the controller's program.
    Need {
        /// The system, as `uname -s` says it.
        os: String,
        /// The machine, as `uname -m` says it.
        arch: String,
        /// It unpacks what gzip packed: a line with the length goes before that.
        unpacks: bool,
    },
    /// The shell cannot go on.
    Failed {
        /// Short name of the fault.
        fault: String,
        /// Where it happened or what was there; may be empty.
        detail: String,
    },
    /// Copies of nettoll were removed from the user's cache.
    Pruned {
        /// Number of copies.
        copies: u32,
    },
    /// nettoll runs there.
    Ready(Ready),
}

/// Description of a host that is ready.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Its addresses that others may know it by, the likeliest first. Never link-local.
    pub addresses: Vec<IpAddr>,
}

impl Ready {
    /// The whole line, its newline included.
    pub fn line(&self) -> String {
        // A list of addresses can always be written.
        let addresses = json::write(self, json::Layout::COMPACT).unwrap_or_default();
        format!("{MARK}ready {}\n", String::from_utf8_lossy(&addresses))
    }
}

/// Finds the other side's lines among whatever else comes.
#[derive(Debug, Default)]
pub struct Noise {
    line: Vec<u8>,
    /// The line at hand is too long to be one of ours.
    overlong: bool,
    skipped: usize,
}

/// More came than any login prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {MOST_NOISE} bytes came that are no words of nettoll")]
pub struct TooMuchNoise;

impl Noise {
    /// Takes bytes up to the end of a line that is a marker; returns how many, and the
    /// marker if there is one. What follows it belongs to the frames.
    ///
    /// # Errors
    /// More than [`MOST_NOISE`] bytes without a marker.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(usize, Option<Marker>), TooMuchNoise> {
        for (at, byte) in bytes.iter().enumerate() {
            self.skipped += 1;
            if *byte != b'\n' {
                self.overlong |= self.line.len() >= LONGEST_LINE;
                if !self.overlong {
                    self.line.push(*byte);
                }
                continue;
            }
            let (line, overlong) = (std::mem::take(&mut self.line), std::mem::take(&mut self.overlong));
            if let Some(marker) = Marker::parse(&line).filter(|_| !overlong) {
                self.skipped = 0;
                return Ok((at + 1, Some(marker)));
            }
        }
        if self.skipped > MOST_NOISE { Err(TooMuchNoise) } else { Ok((bytes.len(), None)) }
    }
}

impl Marker {
    /// Reads one line without its newline; `None` where it is no marker. A prompt or a
    /// prefix without a newline may stand before it.
    fn parse(line: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(line).ok()?;
        let (_, said) = text.split_once(MARK)?;
        let (kind, rest) = said.split_once(' ').unwrap_or((said, ""));
        let word = |word: &str| printable(word.trim(), Keep::Nothing).chars().take(200).collect::<String>();
        match kind {
            "need" => {
                let (os, machine) = rest.split_once(' ')?;
                let (arch, more) = machine.split_once(' ').unwrap_or((machine, ""));
                Some(Self::Need { os: word(os), arch: word(arch), unpacks: more.trim() == "gzip" })
            }
            "failed" => {
                let (fault, detail) = rest.split_once(' ').unwrap_or((rest, ""));
                Some(Self::Failed { fault: word(fault), detail: word(detail) })
            }
            "pruned" => Some(Self::Pruned { copies: rest.trim().parse().ok()? }),
            "ready" => serde_json::from_slice(rest.as_bytes()).ok().map(Self::Ready),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::{LONGEST_LINE, MOST_NOISE, Marker, Noise, Ready, TooMuchNoise};

    fn need() -> Marker {
        Marker::Need { os: "Linux".to_owned(), arch: "x86_64".to_owned(), unpacks: false }
    }

    #[test]
    fn a_host_says_whether_it_unpacks() {
        let packed = Marker::Need { os: "Linux".to_owned(), arch: "x86_64".to_owned(), unpacks: true };
        assert_eq!(Noise::default().take(b"nettoll-reach need Linux x86_64 gzip\n").unwrap().1, Some(packed));
        assert_eq!(Noise::default().take(b"nettoll-reach need Linux x86_64 zip\n").unwrap().1, Some(need()));
    }

    #[test]
    fn a_banner_before_a_marker_is_skipped_and_what_follows_is_left() {
        let text = b"Welcome!\nnettoll-reach nonsense\n\xff\xfe\nprompt$ nettoll-reach need Linux x86_64\nframes";
        let (taken, marker) = Noise::default().take(text).unwrap();
        assert_eq!((&text[taken..], marker), (&b"frames"[..], Some(need())));
    }

    #[test]
    fn what_a_host_says_of_itself_comes_back() {
        let ready = Ready { addresses: vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()] };
        let (_, marker) = Noise::default().take(ready.line().as_bytes()).unwrap();
        assert_eq!(marker, Some(Marker::Ready(ready)));
        let said = |text: &str| Noise::default().take(text.as_bytes()).unwrap().1;
        assert_eq!(said("nettoll-reach pruned 3\n"), Some(Marker::Pruned { copies: 3 }));
        let failed = Marker::Failed { fault: "short".to_owned(), detail: "in /tmp\\u{1b}[2J".to_owned() };
        assert_eq!(said("nettoll-reach failed short in /tmp\x1b[2J\n"), Some(failed), "nothing of it moves a terminal");
    }

    #[test]
    fn endless_noise_and_endless_lines_are_cut_off() {
        let mut noise = Noise::default();
        let line = vec![b'x'; 4 * LONGEST_LINE];
        noise.take(&line).unwrap();
        assert_eq!(noise.take(b"nettoll-reach need a b\nnettoll-reach need Linux x86_64\n").unwrap().1, Some(need()));
        let lines = b"y\n".repeat(MOST_NOISE);
        assert_eq!(Noise::default().take(&lines), Err(TooMuchNoise));
    }

    proptest! {
        #[test]
        fn any_pieces_give_the_same_marker(before in prop::collection::vec(any::<u8>(), 0..300), cut in 1_usize..40) {
            let mut text = before;
            text.extend(b"\nnettoll-reach need Linux x86_64\nrest");
            let whole = Noise::default().take(&text).unwrap();
            let mut noise = Noise::default();
            let mut taken = 0;
            let mut found = None;
            for piece in text.chunks(cut) {
                let (more, marker) = noise.take(piece).unwrap();
                taken += more;
                found = marker;
                if found.is_some() {
                    break;
                }
            }
            assert_eq!((taken, found), whole);
        }
    }
}
