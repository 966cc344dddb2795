// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's plugin interface, as far as it is used: declarations, and one set of
//! functions over its two forms.
//!
//! The new form (version 4, QEMU from 9.2) keeps counters on a board of its own; the
//! old one (version 1, up to 8.2) adds to any memory. QEMU in between speaks versions
//! 2 and 3, which this plugin does not.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// A block of translated code.
#[repr(C)]
pub struct Tb {
    opaque: [u8; 0],
}

/// An instruction of such a block.
#[repr(C)]
pub struct Insn {
    opaque: [u8; 0],
}

/// What QEMU says of itself when it loads the plugin (the start of `qemu_info_t`).
#[repr(C)]
pub struct Info {
    target: *const c_char,
    least: c_int,
    /// Its version of the interface.
    pub current: c_int,
    system: bool,
    /// Number of processors.
    pub processors: c_int,
}

/// Called when code is translated.
pub type OnTranslate = extern "C" fn(u64, *mut Tb);
/// Called when an instruction is executed, before it.
pub type OnExecute = extern "C" fn(c_uint, *mut c_void);
/// Called when it loads or stores.
pub type OnAccess = extern "C" fn(c_uint, u32, u64, *mut c_void);
/// Called when a processor is made.
pub type OnProcessor = extern "C" fn(u64, c_uint);

/// Loads, stores, or both.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub enum Access {
    /// Loads.
    Load = 1,
    /// Stores.
    Store = 2,
    /// Both.
    Any = 3,
}

/// A callback that reads no register.
const NO_REGISTERS: c_int = 0;
/// The operation that adds to a counter.
const ADD: c_int = 0;

unsafe extern "C" {
    fn qemu_plugin_register_vcpu_tb_trans_cb(id: u64, callback: OnTranslate);
    fn qemu_plugin_register_vcpu_init_cb(id: u64, callback: OnProcessor);
    fn qemu_plugin_register_vcpu_insn_exec_cb(insn: *mut Insn, callback: OnExecute, flags: c_int, data: *mut c_void);
    fn qemu_plugin_register_vcpu_mem_cb(insn: *mut Insn, callback: OnAccess, flags: c_int, rw: Access, data: *mut c_void);
    fn qemu_plugin_tb_n_insns(tb: *const Tb) -> usize;
    fn qemu_plugin_tb_get_insn(tb: *const Tb, place: usize) -> *mut Insn;
    fn qemu_plugin_insn_vaddr(insn: *const Insn) -> u64;
    fn qemu_plugin_mem_is_store(info: u32) -> bool;
    fn qemu_plugin_mem_size_shift(info: u32) -> c_uint;
    fn qemu_plugin_outs(text: *const c_char);
}

/// The counters that inline code adds to.
#[cfg(not(old_interface))]
mod board {
    use std::ffi::{c_int, c_uint, c_void};

    use super::{ADD, Access, Insn};

    /// The version of the interface.
    pub const VERSION: c_int = 4;

    #[repr(C)]
    struct Scoreboard {
        opaque: [u8; 0],
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Entry {
        board: *mut Scoreboard,
        offset: usize,
    }

    unsafe extern "C" {
        fn qemu_plugin_scoreboard_new(size: usize) -> *mut Scoreboard;
        fn qemu_plugin_scoreboard_find(board: *mut Scoreboard, processor: c_uint) -> *mut c_void;
        fn qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn: *mut Insn, op: c_int, entry: Entry, by: u64);
        fn qemu_plugin_register_vcpu_mem_inline_per_vcpu(insn: *mut Insn, rw: Access, op: c_int, entry: Entry, by: u64);
        fn qemu_plugin_insn_data(insn: *const Insn, to: *mut c_void, length: usize) -> usize;
    }

    /// Counters of the one processor.
    pub struct Board(*mut Scoreboard);

    impl Board {
        /// A board of `words` counters.
        pub fn new(words: usize) -> Self {
            // SAFETY: any size will do.
            Self(unsafe { qemu_plugin_scoreboard_new(words * 8) })
        }

        /// The first counter; to be asked for when the processor is there.
        pub fn base(&self) -> *mut u64 {
            // SAFETY: the board lives as long as QEMU, and there is a processor 0.
            unsafe { qemu_plugin_scoreboard_find(self.0, 0) }.cast()
        }

        fn entry(&self, word: usize) -> Entry {
            Entry { board: self.0, offset: word * 8 }
        }

        /// Has an instruction add to a counter each time it is executed.
        ///
        /// # Safety
        /// The instruction is of the block that is being translated.
        pub unsafe fn count_execution(&self, insn: *mut Insn, word: usize) {
            // SAFETY: as promised, and the counter is on the board.
            unsafe { qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, ADD, self.entry(word), 1) }
        }

        /// Has an instruction add to a counter with each of its loads or stores.
        ///
        /// # Safety
        /// The instruction is of the block that is being translated.
        pub unsafe fn count_access(&self, insn: *mut Insn, access: Access, word: usize) {
            // SAFETY: as promised, and the counter is on the board.
            unsafe { qemu_plugin_register_vcpu_mem_inline_per_vcpu(insn, access, ADD, self.entry(word), 1) }
        }
    }

    /// The bytes of an instruction; their number.
    ///
    /// # Safety
    /// The instruction is of the block that is being translated.
    pub unsafe fn bytes(insn: *const Insn, to: &mut [u8; 16]) -> usize {
        // SAFETY: as promised, and there is room.
        unsafe { qemu_plugin_insn_data(insn, to.as_mut_ptr().cast(), to.len()) }
    }
}

/// The counters that inline code adds to.
#[cfg(old_interface)]
mod board {
    use std::ffi::{c_int, c_void};

    use super::{ADD, Access, Insn};

    /// The version of the interface.
    pub const VERSION: c_int = 1;

    unsafe extern "C" {
        fn qemu_plugin_register_vcpu_insn_exec_inline(insn: *mut Insn, op: c_int, to: *mut c_void, by: u64);
        fn qemu_plugin_register_vcpu_mem_inline(insn: *mut Insn, rw: Access, op: c_int, to: *mut c_void, by: u64);
        fn qemu_plugin_insn_data(insn: *const Insn) -> *const u8;
        fn qemu_plugin_insn_size(insn: *const Insn) -> usize;
    }

    /// Counters of the one processor.
    pub struct Board(*mut u64);

    impl Board {
        /// A board of `words` counters.
        pub fn new(words: usize) -> Self {
            Self(Box::leak(vec![0_u64; words].into_boxed_slice()).as_mut_ptr())
        }

        /// The first counter.
        pub fn base(&self) -> *mut u64 {
            self.0
        }

        fn entry(&self, word: usize) -> *mut c_void {
            self.0.wrapping_add(word).cast()
        }

        /// Has an instruction add to a counter each time it is executed.
        ///
        /// # Safety
        /// The instruction is of the block that is being translated.
        pub unsafe fn count_execution(&self, insn: *mut Insn, word: usize) {
            // SAFETY: as promised, and the counter is on the board.
            unsafe { qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD, self.entry(word), 1) }
        }

        /// Has an instruction add to a counter with each of its loads or stores.
        ///
        /// # Safety
        /// The instruction is of the block that is being translated.
        pub unsafe fn count_access(&self, insn: *mut Insn, access: Access, word: usize) {
            // SAFETY: as promised, and the counter is on the board.
            unsafe { qemu_plugin_register_vcpu_mem_inline(insn, access, ADD, self.entry(word), 1) }
        }
    }

    /// The bytes of an instruction; their number.
    ///
    /// # Safety
    /// The instruction is of the block that is being translated.
    pub unsafe fn bytes(insn: *const Insn, to: &mut [u8; 16]) -> usize {
        // SAFETY: as promised; QEMU has as many bytes as it says, of which no more are taken than
        // there is room for.
        unsafe {
            let size = qemu_plugin_insn_size(insn).min(to.len());
            to.as_mut_ptr().copy_from_nonoverlapping(qemu_plugin_insn_data(insn), size);
            size
        }
    }
}

pub use board::{Board, VERSION, bytes};

/// Has QEMU call when it translates, and when there is a processor.
///
/// # Safety
/// `id` is what QEMU gave the plugin.
pub unsafe fn register(id: u64, translate: OnTranslate, processor: OnProcessor) {
    // SAFETY: as promised.
    unsafe {
        qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
        qemu_plugin_register_vcpu_init_cb(id, processor);
    }
}

/// The instructions of a block.
///
/// # Safety
/// The block is being translated.
pub unsafe fn instructions(tb: *const Tb) -> impl Iterator<Item = *mut Insn> {
    // SAFETY: as promised.
    let count = unsafe { qemu_plugin_tb_n_insns(tb) };
    // SAFETY: as promised, and there are that many.
    (0..count).map(move |place| unsafe { qemu_plugin_tb_get_insn(tb, place) })
}

/// The address of an instruction.
///
/// # Safety
/// The instruction is of the block that is being translated.
pub unsafe fn address(insn: *const Insn) -> u64 {
    // SAFETY: as promised.
    unsafe { qemu_plugin_insn_vaddr(insn) }
}

/// Has QEMU call before an instruction is executed.
///
/// # Safety
/// The instruction is of the block that is being translated; `data` is what the callback expects.
pub unsafe fn on_execution(insn: *mut Insn, callback: OnExecute, data: *mut c_void) {
    // SAFETY: as promised.
    unsafe { qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, NO_REGISTERS, data) }
}

/// Has QEMU call with each load or store of an instruction.
///
/// # Safety
/// The instruction is of the block that is being translated; `data` is what the callback expects.
pub unsafe fn on_access(insn: *mut Insn, callback: OnAccess, access: Access, data: *mut c_void) {
    // SAFETY: as promised.
    unsafe { qemu_plugin_register_vcpu_mem_cb(insn, callback, NO_REGISTERS, access, data) }
}

/// Returns whether an access stores.
pub fn stores(access: u32) -> bool {
    // SAFETY: a number that QEMU gave to the callback.
    unsafe { qemu_plugin_mem_is_store(access) }
}

/// The bytes of an access.
pub fn width(access: u32) -> u64 {
    // SAFETY: a number that QEMU gave to the callback.
    1 << unsafe { qemu_plugin_mem_size_shift(access) }
}

/// Says something in QEMU's log.
pub fn say(text: &str) {
    let line = format!("nettoll-scope: {}\n\0", text.replace('\0', ""));
    // SAFETY: a C string.
    unsafe { qemu_plugin_outs(line.as_ptr().cast()) }
}
