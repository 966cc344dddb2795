//! Programs of users' own that are an end of a trial.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use crate::choice::{UnknownChoice, stored_as_text};
use crate::traffic::Test;

/// What begins the name of a way that is a program: `exec:PROGRAM ARGS`.
pub const PREFIX: &str = "exec:";
/// Longest command: what a person can still read in a report.
const LONGEST: usize = 1_024;
/// Most different commands that one process keeps. A study has a few; what comes over a
/// control connection is bounded by it.
const MOST: usize = 1_024;

/// The tests that a program of a user's own can be an end of.
const TESTS: &[Test] = &[Test::TcpStream, Test::UdpStream, Test::TcpRr, Test::UdpRr];
/// Those of the runtimes that nettoll brings along.
const STREAMS: &[Test] = &[Test::TcpStream, Test::UdpStream];

/// What nettoll starts itself by, so that no other program of its name is taken for it.
const THIS: &str = "/proc/self/exe";

/// An implementation that nettoll brings along: an external endpoint that plans name by a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// The word.
    pub name: &'static str,
    /// The tests that it can send or receive.
    pub tests: &'static [Test],
    /// True of a stack of its own: the kernel's UDP and TCP see nothing of its messages, and only the
    /// same stack understands it.
    pub apart: bool,
    /// True of one that carries IPv4 alone.
    pub ipv4_alone: bool,
    /// True of one that is part of [`COMPANION`].
    pub companion: bool,
}

/// The program of the implementations that weigh: it stands next to nettoll, or below its `libexec`.
pub const COMPANION: &str = "nettoll-stacks";

/// The implementations that nettoll brings along: `nettoll endpoint run NAME`, or `nettoll-stacks NAME`.
pub const SHIPPED: &[Shipped] = &[
    // The transport provider interface above the kernel's sockets.
    Shipped { name: "tpi-sockets", tests: &[Test::UdpStream], apart: false, ipv4_alone: false, companion: false },
    // The same above a stack of its own, on a TUN device.
    Shipped { name: "tpi-streams", tests: &[Test::UdpStream], apart: true, ipv4_alone: true, companion: false },
    // Runtimes over the kernel's sockets: epoll twice, io_uring.
    Shipped { name: "tokio", tests: STREAMS, apart: false, ipv4_alone: false, companion: true },
    Shipped { name: "mio", tests: STREAMS, apart: false, ipv4_alone: false, companion: true },
    Shipped { name: "compio", tests: STREAMS, apart: false, ipv4_alone: false, companion: true },
    // QUIC, in packets of the kernel's UDP, which sees nothing of its messages.
    Shipped { name: "quinn", tests: STREAMS, apart: true, ipv4_alone: false, companion: true },
    // A stack that others maintain, on a TUN device.
    Shipped { name: "smoltcp", tests: STREAMS, apart: true, ipv4_alone: true, companion: true },
    // The two stacks of their own on AF_XDP.
    Shipped { name: "tpi-streams-xdp", tests: &[Test::UdpStream], apart: true, ipv4_alone: true, companion: false },
    Shipped { name: "smoltcp-xdp", tests: STREAMS, apart: true, ipv4_alone: true, companion: true },
];

/// Command of an external endpoint, which plans write `exec:PROGRAM ARGS`, or the name of an
/// implementation that nettoll brings along.
///
/// It is split at white space and given to no shell. Its text is kept as long as the
/// process lives, so that a way of sending stays as small as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Program(&'static str);

/// A text that is no command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// It does not begin with `exec:`.
    #[error("'{0}' does not begin with {PREFIX}")]
    NoPrefix(String),
    /// Nothing follows.
    #[error("no program follows {PREFIX}; write {PREFIX}PROGRAM ARGS")]
    Empty,
    /// It is too long.
    #[error("a command of {0} bytes; at most {LONGEST}: put it into a script")]
    Long(usize),
    /// It holds what a terminal would obey.
    #[error("a command with control characters; put it into a script")]
    Control,
    /// There are too many.
    #[error("more than {MOST} different commands; take fewer")]
    Many,
}

impl Program {
    /// The command of these words.
    ///
    /// # Errors
    /// See [`ProgramError`].
    pub fn new(command: &str) -> Result<Self, ProgramError> {
        if command.chars().any(|letter| letter.is_control() && !letter.is_ascii_whitespace()) {
            return Err(ProgramError::Control);
        }
        let words: Vec<&str> = command.split_ascii_whitespace().collect();
        if words.is_empty() {
            return Err(ProgramError::Empty);
        }
        let name = format!("{PREFIX}{}", words.join(" "));
        if name.len() > LONGEST {
            return Err(ProgramError::Long(name.len()));
        }
        kept(name).map(Self)
    }

    /// As plans write it, with `exec:` before the command of a user's own.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// The command, or the name of an implementation that nettoll brings along.
    pub fn command(self) -> &'static str {
        self.0.strip_prefix(PREFIX).unwrap_or(self.0)
    }

    /// The implementation, where nettoll brings it along.
    pub fn shipped(self) -> Option<&'static Shipped> {
        SHIPPED.iter().find(|shipped| shipped.name == self.0)
    }

    /// The tests that it can send or receive.
    pub fn tests(self) -> &'static [Test] {
        self.shipped().map_or(TESTS, |shipped| shipped.tests)
    }

    /// The program and its arguments; never none.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let own: &[&str] = match self.shipped() {
            Some(Shipped { companion: true, .. }) => &[COMPANION],
            Some(_) => &[THIS, "endpoint", "run"],
            None => &[],
        };
        own.iter().copied().chain(self.command().split_ascii_whitespace())
    }
}

/// The same text for the rest of the process's life.
fn kept(name: String) -> Result<&'static str, ProgramError> {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.get(name.as_str()) {
        return Ok(known);
    }
    if kept.len() >= MOST {
        return Err(ProgramError::Many);
    }
    let name: &'static str = Box::leak(name.into_boxed_str());
    kept.insert(name);
    Ok(name)
}

/// Returns whether a word names a program rather than a way of nettoll's own.
pub fn is_program(word: &str) -> bool {
    word.starts_with(PREFIX) || shipped_name(word).is_some()
}

fn shipped_name(word: &str) -> Option<&'static str> {
    SHIPPED.iter().map(|shipped| shipped.name).find(|name| name.eq_ignore_ascii_case(word))
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.0)
    }
}

impl FromStr for Program {
    type Err = ProgramError;

    fn from_str(word: &str) -> Result<Self, ProgramError> {
        if let Some(name) = shipped_name(word) {
            return Ok(Self(name));
        }
        Self::new(word.strip_prefix(PREFIX).ok_or_else(|| ProgramError::NoPrefix(word.to_owned()))?)
    }
}

stored_as_text!(Program);

/// A word that names neither a choice nor a program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownWay {
    /// It names none of the choices.
    #[error(transparent)]
    Choice(#[from] UnknownChoice),
    /// It is to name a program and cannot.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// An enum as of `choice!`, for ways that may also be a program of the user's own: that is
/// written `exec:PROGRAM ARGS` and is not among `ALL`.
macro_rules! choice_or_program {
    ($(#[$meta:meta])* $type:ident, $kind:literal { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type {
            $($(#[$doc])* $variant,)+
            /// By a program of the user's own, an external endpoint, or by one that nettoll brings along.
            External($crate::program::Program),
        }

        impl $type {
            /// Every one of nettoll's own, in the order in which they are listed for people.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The choice as it is written in plans, files and on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                    Self::External(program) => program.name(),
                }
            }

            /// The program, where it is one.
            pub const fn program(self) -> Option<$crate::program::Program> {
                match self {
                    Self::External(program) => Some(program),
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::program::UnknownWay;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                if $crate::program::is_program(word) {
                    return Ok(Self::External(word.parse()?));
                }
                let found = Self::ALL.iter().copied().find(|choice| choice.name().eq_ignore_ascii_case(word));
                let shipped = $crate::program::SHIPPED.iter().map(|shipped| shipped.name);
                let names = Self::ALL.iter().map(|choice| choice.name()).chain(shipped);
                Ok(found.ok_or_else(|| $crate::UnknownChoice::new(word, $kind, names))?)
            }
        }

        $crate::choice::stored_as_text!($type);
    };
}
pub(crate) use choice_or_program;

#[cfg(test)]
mod tests {
    use super::{Program, ProgramError};
    use crate::traffic::Test;
    use proptest::prelude::{prop_assert_eq, proptest};

    #[test]
    fn a_command_is_words() {
        let program: Program = "exec:./sender  -x\t1 ".parse().unwrap();
        assert_eq!((program.name(), program.command()), ("exec:./sender -x 1", "./sender -x 1"));
        assert_eq!(program.words().collect::<Vec<_>>(), ["./sender", "-x", "1"]);
        assert_eq!("exec:./sender -x 1".parse(), Ok(program));
    }

    #[test]
    fn what_is_no_command_is_refused() {
        let read = |word: &str| word.parse::<Program>();
        assert_eq!((read("exec:"), read("exec:  ")), (Err(ProgramError::Empty), Err(ProgramError::Empty)));
        assert!(matches!(read("send"), Err(ProgramError::NoPrefix(_))));
        assert_eq!(read("exec:a\u{1b}[2J"), Err(ProgramError::Control));
        assert!(matches!(read(&format!("exec:{}", "a".repeat(2_000))), Err(ProgramError::Long(_))));
    }

    #[test]
    fn what_nettoll_brings_along_is_named_by_a_word() {
        let program: Program = "TPI-sockets".parse().unwrap();
        assert_eq!((program.name(), program.command(), program.tests()), ("tpi-sockets", "tpi-sockets", &[Test::UdpStream][..]));
        assert_eq!(program.words().collect::<Vec<_>>(), ["/proc/self/exe", "endpoint", "run", "tpi-sockets"]);
        assert_eq!(program.to_string().parse(), Ok(program));
        let heavy: Program = "tokio".parse().unwrap();
        assert_eq!(heavy.words().collect::<Vec<_>>(), ["nettoll-stacks", "tokio"]);
        let users = Program::new("tpi-sockets").unwrap();
        assert!(users.shipped().is_none() && users != program, "a user's program may have the same name");
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_back(text in ".{0,40}") {
            if let Ok(program) = text.parse::<Program>() {
                prop_assert_eq!(program.to_string().parse(), Ok(program));
            }
        }
    }
}
