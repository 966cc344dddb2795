//! Tracepoints as tracefs describes them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::refused_call;
use model::Unavailable;

/// Mount points of tracefs; the second is where kernels before 4.1 have it.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// The longest description that is read; the longest of Linux 6.18 has 10 KiB.
const FORMAT_LIMIT: usize = 256 << 10;

/// A mounted tracefs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracefs {
    root: PathBuf,
}

impl Tracefs {
    /// Returns where it is mounted.
    ///
    /// # Errors
    /// When it is nowhere, or not for this user.
    pub fn find() -> Result<Self, Unavailable> {
        let mut answer = io::Error::from_raw_os_error(libc::ENOENT);
        for place in PLACES {
            match fs::read_dir(Path::new(place).join("events")) {
                Ok(_) => return Ok(Self { root: place.into() }),
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
                Err(error) => answer = error,
            }
        }
        let remedy = match answer.raw_os_error() {
            Some(libc::ENOENT) => {
                "Mount it: `mount -t tracefs tracefs /sys/kernel/tracing` as root; counts come from BPF programs without it"
            }
            _ => "Run as root",
        };
        Err(refused_call("tracefs", &format!("{}/events", PLACES[0]), &answer, remedy))
    }

    /// A tracefs that is mounted somewhere else.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The id of a tracepoint, such as `net:netif_rx`.
    ///
    /// # Errors
    /// When there is none of that name, or its description is not understood.
    pub fn id(&self, name: &str) -> io::Result<u64> {
        let invalid = |reason| io::Error::new(io::ErrorKind::InvalidData, reason);
        let (system, event) = name.split_once(':').ok_or_else(|| invalid("a tracepoint has a system, a colon and a name"))?;
        let directory = self.root.join("events").join(system).join(event);
        let text = fs::read(directory.join("format"))?;
        let format = Format::parse(&text).ok_or_else(|| invalid("its description is not understood"))?;
        if format.name == event { Ok(format.id) } else { Err(invalid("its description is of another")) }
    }
}

/// The head of a tracepoint's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format<'a> {
    /// The event's name, without its system.
    pub name: &'a str,
    /// The number that `perf_event_open` wants.
    pub id: u64,
}

impl<'a> Format<'a> {
    /// Reads `name: netif_rx`, `ID: 2302` and leaves the rest; `None` where
    /// either is missing.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes.get(..bytes.len().min(FORMAT_LIMIT))?).ok()?;
        let value = |key: &str| text.lines().take(16).find_map(|line| line.strip_prefix(key)).map(str::trim);
        let (name, id) = (value("name:")?, value("ID:")?.parse().ok()?);
        (!name.is_empty()).then_some(Self { name, id })
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, Tracefs};
    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};

    const TEXT: &str =
        "name: netif_rx\nID: 2302\nformat:\n\tfield:void * skbaddr;\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt: \"len=%u\", REC->len\n";

    #[test]
    fn the_head_of_a_description_is_read() {
        assert_eq!(Format::parse(TEXT.as_bytes()), Some(Format { name: "netif_rx", id: 2302 }));
        for wrong in ["", "name: \nID: 1\n", "name: a\nID: -1\n", "name: a\n", "ID: 7\n"] {
            assert_eq!(Format::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn an_id_is_found_below_events_and_a_stranger_refused() {
        let root = std::env::temp_dir().join(format!("nettoll-tracefs-{}", std::process::id()));
        let directory = root.join("events/net/netif_rx");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("format"), TEXT).unwrap();
        let tracefs = Tracefs::at(&root);
        assert_eq!(tracefs.id("net:netif_rx").unwrap(), 2302);
        assert_eq!(tracefs.id("net:absent").unwrap_err().raw_os_error(), Some(libc::ENOENT));
        assert!(tracefs.id("netif_rx").is_err());
        std::fs::remove_dir_all(root).unwrap();
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(noise in vec(any::<u8>(), 0..100), at in 0..TEXT.len()) {
            let mut bytes = TEXT.as_bytes().to_vec();
            bytes.splice(at..at, noise);
            let _ = Format::parse(&bytes);
        }
    }
}
