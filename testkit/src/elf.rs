//! Programs whose symbols are as many, and whose names are as long, as a test wants: what a hostile
//! program may bring along.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Where the file is mapped.
const BASE: u64 = 0x40_0000;
/// The file header and two program headers, a note with a build id, and behind them the code.
const NOTE: u64 = 64 + 2 * 56;
const CODE: u64 = NOTE + 40;
/// The build id of every one.
pub const BUILD_ID: [u8; 20] = *b"testkit's only build";

/// The instruction that jumps to itself.
#[cfg(target_arch = "x86_64")]
const LOOP: (u16, &[u8]) = (62, &[0xeb, 0xfe]);
#[cfg(target_arch = "aarch64")]
const LOOP: (u16, &[u8]) = (183, &[0, 0, 0, 0x14]);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const LOOP: (u16, &[u8]) = (243, &[0x6f, 0, 0, 0]);

/// A program for this processor that spins for ever.
#[derive(Debug)]
pub struct Program {
    /// Its file.
    pub bytes: Vec<u8>,
    /// Where its code is in the file.
    pub offset: u64,
}

/// A program with `count` functions of one byte each, one behind the other from its only instruction
/// on; all of them have the same `name`.
pub fn with_functions(count: u64, name: &[u8]) -> Program {
    let (machine, code) = LOOP;
    let symbols = CODE + 8;
    let names = symbols + (count + 1) * 24;
    let sections = names + name.len() as u64 + 2;
    let mut bytes = Vec::with_capacity(sections as usize + 3 * 64);
    let mut put = |words: &[(u64, usize)]| {
        words.iter().for_each(|(value, width)| {
            bytes.extend(&value.to_ne_bytes()[if cfg!(target_endian = "big") { 8 - width..8 } else { 0..*width }])
        });
    };
    let endian = if cfg!(target_endian = "big") { 2 } else { 1 };
    // e_ident: the magic, 64 bits, the order of bytes, the version.
    put(&[(0x7f, 1), (0x45, 1), (0x4c, 1), (0x46, 1), (2, 1), (endian, 1), (1, 1), (0, 1), (0, 8)]);
    put(&[(2, 2), (machine.into(), 2), (1, 4), (BASE + CODE, 8), (64, 8), (sections, 8)]);
    put(&[(0, 4), (64, 2), (56, 2), (2, 2), (64, 2), (3, 2), (2, 2)]);
    // PT_LOAD, to be read and executed.
    put(&[(1, 4), (5, 4), (0, 8), (BASE, 8), (BASE, 8), (symbols, 8), (symbols, 8), (0x1000, 8)]);
    // PT_NOTE with NT_GNU_BUILD_ID.
    put(&[(4, 4), (4, 4), (NOTE, 8), (BASE + NOTE, 8), (BASE + NOTE, 8), (36, 8), (36, 8), (4, 8)]);
    put(&[(4, 4), (20, 4), (3, 4), (0x47, 1), (0x4e, 1), (0x55, 1), (0, 1)]);
    BUILD_ID.iter().chain(&[0; 4]).for_each(|byte| put(&[(u64::from(*byte), 1)]));
    code.iter().for_each(|byte| put(&[(u64::from(*byte), 1)]));
    (code.len()..8).for_each(|_| put(&[(0, 1)]));
    put(&[(0, 8), (0, 8), (0, 8)]);
    for number in 0..count {
        // A global function of the first section that is none.
        put(&[(1, 4), (0x12, 1), (0, 1), (1, 2), (BASE + CODE + number, 8), (1, 8)]);
    }
    put(&[(0, 1)]);
    name.iter().for_each(|byte| put(&[(u64::from(*byte), 1)]));
    put(&[(0, 1)]);
    put(&[(0, 8); 8]);
    // SHT_SYMTAB with its names in section 2, and SHT_STRTAB.
    put(&[(0, 4), (2, 4), (0, 8), (0, 8), (symbols, 8), (names - symbols, 8), (2, 4), (1, 4), (8, 8), (24, 8)]);
    put(&[(0, 4), (3, 4), (0, 8), (0, 8), (names, 8), (sections - names, 8), (0, 4), (0, 4), (1, 8), (0, 8)]);
    Program { bytes, offset: CODE }
}

impl Program {
    /// The same without its symbols.
    #[must_use]
    pub fn stripped(mut self) -> Self {
        // e_shoff, then e_shentsize, e_shnum and e_shstrndx.
        self.bytes[40..48].fill(0);
        self.bytes[58..64].fill(0);
        self
    }

    /// Writes it to a file that can be started.
    pub fn write(&self, to: &Path) {
        std::fs::write(to, &self.bytes).unwrap();
        std::fs::set_permissions(to, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}
