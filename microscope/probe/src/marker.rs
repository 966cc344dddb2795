//! Markers: instructions that do nothing, which the plugin knows by their bytes.
//!
//! `nopl 0x5eb100NN(%rax)` is a long no-op of x86-64 that no compiler emits with
//! such a displacement. It needs no privilege and no port, and does nothing where
//! nobody counts. `microscope/plugin/src/decode.rs` has the same bytes.

use core::arch::asm;

/// Begins a region: what follows is counted.
#[inline(always)]
pub fn begin() {
    // SAFETY: a no-op with a memory operand that the processor never accesses.
    unsafe { asm!(".byte 0x0f, 0x1f, 0x80, 0x01, 0x00, 0xb1, 0x5e", options(nomem, nostack, preserves_flags)) }
}

/// Ends a region.
#[inline(always)]
pub fn end() {
    // SAFETY: a no-op with a memory operand that the processor never accesses.
    unsafe { asm!(".byte 0x0f, 0x1f, 0x80, 0x02, 0x00, 0xb1, 0x5e", options(nomem, nostack, preserves_flags)) }
}

/// Ends one message of a region, and begins the next.
#[inline(always)]
pub fn message() {
    // SAFETY: a no-op with a memory operand that the processor never accesses.
    unsafe { asm!(".byte 0x0f, 0x1f, 0x80, 0x03, 0x00, 0xb1, 0x5e", options(nomem, nostack, preserves_flags)) }
}

/// Instructions, loads and stores of one message of [`calibrate`], the loop's own
/// two instructions included.
pub const CALIBRATED: [u64; 3] = [100 + 50 + 7 + 6 + 2, 100 + 24, 50 + 24];

/// Runs a region whose counts are known: 100 loads, 50 stores, 7 no-ops and a
/// copy of 24 bytes by a repeated instruction, 16 times.
///
/// The driver compares what was counted with [`CALIBRATED`]: it tells a QEMU whose
/// filter of loads and stores is wrong.
pub fn calibrate(buffer: &mut [u8; 4096]) {
    // SAFETY: loads and stores 8 bytes at the buffer's start, and copies 24 bytes
    // within it; every register that it changes is declared.
    unsafe {
        asm!(
            "mov r8d, 16",
            ".byte 0x0f, 0x1f, 0x80, 0x01, 0x00, 0xb1, 0x5e",
            "2:",
            ".rept 100", "mov rax, [r9]", ".endr",
            ".rept 50", "mov [r9], rax", ".endr",
            ".rept 7", "nop", ".endr",
            "mov ecx, 24",
            "mov rsi, r9",
            "lea rdi, [r9 + 1024]",
            "rep movsb",
            "nop",
            "nop",
            "dec r8d",
            ".byte 0x0f, 0x1f, 0x80, 0x03, 0x00, 0xb1, 0x5e",
            "jnz 2b",
            ".byte 0x0f, 0x1f, 0x80, 0x02, 0x00, 0xb1, 0x5e",
            in("r9") buffer.as_mut_ptr(),
            out("r8") _, out("rax") _, out("rcx") _, out("rsi") _, out("rdi") _,
        );
    }
}
