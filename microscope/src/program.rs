//! A user's own program as a scenario: static, and with a region between two markers.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::error::Failed;

/// A program that a guest can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its path, for words.
    pub path: String,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
}

/// The largest program: a guest has 512 MiB of memory, in which it lies twice.
const MOST_BYTES: u64 = 128 << 20;
/// Bytes of the head of a 64-bit ELF file, and of an entry of its table of segments.
const HEAD: usize = 64;
const SEGMENT: usize = 56;
/// `EM_X86_64`, and `PT_INTERP`: the segment that names a dynamic linker.
const MACHINE: u16 = 62;
const INTERPRETER: u32 = 3;

impl Program {
    /// Reads a program, and sees that a guest can run it.
    ///
    /// # Errors
    /// A file that cannot be read, is no program for x86-64, or needs libraries.
    pub fn read(path: &Path) -> Result<Self, Failed> {
        let file = |what| Failed::file(what, path);
        let named = |why: String| Failed::Program(format!("{} {why}", path.display()));
        let length = fs::metadata(path).map_err(file("read the program"))?.len();
        if length > MOST_BYTES {
            return Err(named(format!("is larger than {} MiB, and a guest has no room for that; strip its symbols", MOST_BYTES >> 20)));
        }
        let bytes = sys::file::read(path, MOST_BYTES).map_err(file("read the program"))?;
        examine(&bytes).map_err(|why| named(why.to_owned()))?;
        Ok(Self { path: path.display().to_string(), bytes: bytes.into() })
    }

    /// The name of its region: that of the file, as far as a region's name may have it.
    pub fn name(&self) -> String {
        let file = Path::new(&self.path).file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let name: String = file.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
        if name.trim_matches('-').is_empty() { "program".to_owned() } else { name }
    }
}

/// Tells in words why a guest cannot run these bytes.
fn examine(bytes: &[u8]) -> Result<(), &'static str> {
    let number = |at: usize, length: usize| {
        let bytes = bytes.get(at..at.checked_add(length)?)?;
        Some(bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    // 64 bits, the least significant byte first.
    if bytes.len() < HEAD || !bytes.starts_with(b"\x7fELF\x02\x01") || number(18, 2) != Some(u64::from(MACHINE)) {
        return Err("is no program for x86-64 (ELF, 64 bits)");
    }
    let damaged = "is a damaged program: its table of segments lies outside the file";
    let table = number(32, 8).and_then(|at| usize::try_from(at).ok()).ok_or(damaged)?;
    let count = number(56, 2).unwrap_or(0) as usize;
    for place in 0..count {
        let at = place.checked_mul(SEGMENT).and_then(|offset| offset.checked_add(table)).ok_or(damaged)?;
        if number(at, 4).ok_or(damaged)? == u64::from(INTERPRETER) {
            return Err("is not static: it needs a dynamic linker, and a guest has no libraries; link it with -static");
        }
    }
    Ok(())
}

/// Says what a program did in place of one region of messages. `begun` is the
/// number of regions that it began, `ended` its exit code with what it wrote.
pub fn misbehaved(path: &str, begun: usize, messages: usize, ended: Option<(u32, &str)>) -> Option<String> {
    let last =
        |text: &str| text.lines().rev().find(|line| !line.trim().is_empty()).map_or_else(String::new, |line| format!(", saying '{line}'"));
    let how = match ended {
        Some((code, text)) if code > 128 => format!("ended by signal {}{}", code - 128, last(text)),
        Some((code, text)) => format!("ended with exit code {code}{}", last(text)),
        None => "did not end".to_owned(),
    };
    match begun {
        0 => Some(format!("{path} {how} before it began a region; marker 1 begins one (docs/microscope.md)")),
        1 if messages == 0 => Some(format!("{path} {how} without a message in its region; marker 3 ends each (docs/microscope.md)")),
        1 => match ended {
            Some((0, _)) => None,
            _ => Some(format!("{path} {how}: its counts are not of its purpose")),
        },
        regions => Some(format!("{path} began {regions} regions, and one is counted; {how}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Program, examine, misbehaved};
    use proptest::prelude::{prop_assert, proptest};

    /// A head of a program with one segment of a kind.
    fn program(kind: u32) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18] = 62;
        bytes[32] = 64;
        bytes[56] = 1;
        bytes[64..68].copy_from_slice(&kind.to_le_bytes());
        bytes
    }

    #[test]
    fn what_a_guest_cannot_run_is_named() {
        assert_eq!(examine(&program(1)), Ok(()));
        assert!(examine(&program(3)).unwrap_err().contains("not static"));
        assert!(examine(b"#!/bin/sh\n").unwrap_err().contains("no program for x86-64"));
        assert!(examine(&program(1)[..66]).unwrap_err().contains("damaged"));
        let mut far = program(1);
        far[39] = 0xff;
        assert!(examine(&far).unwrap_err().contains("damaged"));
        let folder = tempfile::tempdir().unwrap();
        let error = Program::read(&folder.path().join("none")).unwrap_err().to_string();
        assert!(error.contains("read the program") && error.contains("check the path"), "{error}");
        let place = folder.path().join("My Server.v2");
        std::fs::write(&place, program(1)).unwrap();
        assert_eq!(Program::read(&place).unwrap().name(), "my-server-v2");
    }

    #[test]
    fn every_end_of_a_program_is_told() {
        let told = |begun, messages, ended| misbehaved("./p", begun, messages, ended).unwrap_or_default();
        assert_eq!(told(1, 5, Some((0, ""))), "");
        assert!(told(0, 0, Some((3, "no memory\n\n"))).starts_with("./p ended with exit code 3, saying 'no memory' before it began"));
        assert!(told(0, 0, Some((139, ""))).contains("by signal 11"));
        assert!(told(1, 0, Some((0, ""))).contains("without a message"));
        assert!(told(1, 5, Some((1, ""))).contains("exit code 1"));
        assert!(told(2, 5, Some((0, ""))).contains("began 2 regions"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_examined(bytes in proptest::collection::vec(0_u8.., 0..200), kind in 0_u32..5, place in 0_usize..120, byte in 0_u8..) {
            let _ = examine(&bytes);
            let mut one = program(kind);
            one[place] = byte;
            prop_assert!(examine(&one).is_ok() || !examine(&one).unwrap_err().is_empty());
        }
    }
}
