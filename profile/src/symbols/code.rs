//! The user code of a process, as far as to know the instruction behind a
//! system call.
//!
//! A sample of user code there is the way out of the kernel (interrupts are off
//! until the return, so that the sampler's timer fires on the first instruction
//! after it), and no work of the program's. The instruction before it says so. It is
//! read from the mapped file, which is still there when the process is gone.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

use super::file;
use model::Refusal;
use sys::refused_call;

/// The most mappings that are read: a program of this kind has a dozen.
const MAPPING_LIMIT: usize = 4096;
/// The most files that are held open.
const FILE_LIMIT: usize = 256;
/// The most bytes that the list of mappings may have.
const LIST_LIMIT: u64 = 4 << 20;

/// The instruction that calls the kernel: `syscall`.
#[cfg(target_arch = "x86_64")]
const CALL: [u8; 2] = [0x0f, 0x05];
/// The instruction that calls the kernel: `svc #0`.
#[cfg(target_arch = "aarch64")]
const CALL: [u8; 4] = [0x01, 0x00, 0x00, 0xd4];
/// The instruction that calls the kernel: `ecall`.
#[cfg(target_arch = "riscv64")]
const CALL: [u8; 4] = [0x73, 0x00, 0x00, 0x00];
/// Not known for this processor: every sample of user code is user code.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const CALL: [u8; 0] = [];

/// The executable mappings of a process, with their files held open.
#[derive(Debug, Default)]
pub struct CodeMap {
    mappings: Vec<Mapping>,
}

#[derive(Debug)]
struct Mapping {
    start: u64,
    end: u64,
    /// Its start in the file.
    offset: u64,
    file: Arc<File>,
}

/// One line of `/proc/PID/maps` about code of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The first address.
    pub start: u64,
    /// The first address behind it.
    pub end: u64,
    /// Its start in the file.
    pub offset: u64,
    /// Inode of the file on its device.
    pub inode: u64,
    /// Path of the file.
    pub path: &'a str,
}

impl CodeMap {
    /// The code of a process that is alive and has loaded its libraries. A file
    /// that is not what was mapped (another one by now) is left out.
    ///
    /// # Errors
    /// When its mappings cannot be read.
    pub fn of_process(pid: u32) -> Result<Self, Refusal> {
        let list = format!("/proc/{pid}/maps");
        let mut text = String::new();
        let read = File::open(&list).and_then(|file| file.take(LIST_LIMIT).read_to_string(&mut text));
        read.map_err(|error| {
            refused_call(
                "telling system call exits from user code",
                &list,
                &error,
                "They count as user code; run as root or as the same user",
            )
        })?;
        let mut files: HashMap<(&str, u64), Option<Arc<File>>> = HashMap::new();
        let mappings = text.lines().filter_map(parse).take(MAPPING_LIMIT).filter_map(|line| {
            if files.len() == FILE_LIMIT && !files.contains_key(&(line.path, line.inode)) {
                return None;
            }
            // The program chose the path: a pipe that stands there by now is no file of code.
            let open = || file::open(line.path.as_ref(), |data| data.ino() == line.inode).map(|(file, _)| Arc::new(file));
            let file = files.entry((line.path, line.inode)).or_insert_with(open).clone()?;
            Some(Mapping { start: line.start, end: line.end, offset: line.offset, file })
        });
        Ok(Self { mappings: mappings.collect() })
    }

    /// Returns whether the instruction before `address` calls the kernel. False where
    /// the code is not known.
    pub fn follows_system_call(&self, address: u64) -> bool {
        self.instruction_before(address).unwrap_or(false)
    }

    fn instruction_before(&self, address: u64) -> Option<bool> {
        let before = address.checked_sub(CALL.len() as u64)?;
        let mapping = self.mappings.iter().find(|mapping| (mapping.start..mapping.end).contains(&before))?;
        let mut bytes = [0; CALL.len()];
        mapping.file.read_exact_at(&mut bytes, mapping.offset.checked_add(before - mapping.start)?).ok()?;
        Some(!CALL.is_empty() && bytes == CALL)
    }
}

/// `7f00-7f10 r-xp 00002000 fe:00 1234   /usr/lib/libc.so.6`; `None` for what is
/// not code of a file.
pub fn parse(line: &str) -> Option<Line<'_>> {
    let mut rest = line;
    let mut word = || {
        let (word, after) = rest.split_once(' ')?;
        rest = after;
        Some(word)
    };
    let (range, rights, offset, _device, inode) = (word()?, word()?, word()?, word()?, word()?);
    let (start, end) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let (start, end, offset, inode) = (number(start)?, number(end)?, number(offset)?, inode.parse().ok()?);
    let path = rest.trim_start();
    (rights.as_bytes().get(2) == Some(&b'x') && path.starts_with('/') && start < end).then_some(Line { start, end, offset, inode, path })
}

#[cfg(test)]
mod tests {
    use super::{CALL, CodeMap, Line, parse};
    use proptest::prelude::{any, proptest};

    #[test]
    fn code_of_files_is_taken_and_nothing_else() {
        let line = "7f00-7f10 r-xp 00002000 fe:00 1234                       /usr/lib/with space.so";
        assert_eq!(parse(line), Some(Line { start: 0x7f00, end: 0x7f10, offset: 0x2000, inode: 1234, path: "/usr/lib/with space.so" }));
        for other in [
            "7f00-7f10 r--p 00002000 fe:00 1234                       /usr/lib/libc.so.6",
            "7f00-7f10 r-xp 00000000 00:00 0                          [vdso]",
            "7f10-7f00 r-xp 00000000 fe:00 1234                       /usr/lib/libc.so.6",
            "",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_system_call_in_this_program_is_found_and_its_own_code_is_not_one() {
        let code = CodeMap::of_process(std::process::id()).unwrap();
        assert!(!code.follows_system_call(0));
        // The C library's own wrapper begins with a move, and calls the kernel soon after.
        let wrapper = libc::syscall as *const () as u64;
        let places = (wrapper + 1..wrapper + 128).filter(|place| code.follows_system_call(*place)).count();
        assert!(places == 1 || CALL.is_empty(), "{places} places");
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in "[0-9a-f]{0,20}-[0-9a-f]{0,20} [rwxp-]{0,4} .{0,40}", address in any::<u64>()) {
            let _ = parse(&line);
            let _ = CodeMap::default().follows_system_call(address);
        }
    }
}
