//! From the kernel's first jump to the plan, and the functions that a compiler
//! takes for granted.

use core::arch::{asm, global_asm};
use core::panic::PanicInfo;

use crate::{plan, region, say, sys};

// The kernel enters with arguments on the stack, which is aligned to 16 bytes
// before a call.
global_asm!(".globl _start", "_start:", "xor ebp, ebp", "and rsp, -16", "call {run}", "ud2", run = sym run);

extern "C" fn run() -> ! {
    // Failures show where what is missing is used.
    let _ = sys::mount("proc", "/proc");
    let _ = sys::mount("sysfs", "/sys");
    match plan::read() {
        Some(text) => region::carry_out(text),
        None => say::line(format_args!("failed plan: /plan cannot be read or is no text")),
    }
    say::line(format_args!("done"));
    sys::power_off()
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    say::line(format_args!("failed probe: {}", info.message()));
    sys::power_off()
}

/// Copies memory.
///
/// # Safety
/// That of C's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    // SAFETY: both are valid for `count` bytes, as the caller promises.
    unsafe { asm!("rep movsb", inout("rdi") to => _, inout("rsi") from => _, inout("rcx") count => _, options(nostack, preserves_flags)) };
    to
}

/// Copies memory that may overlap.
///
/// # Safety
/// That of C's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    if (to as usize).wrapping_sub(from as usize) >= count {
        // SAFETY: as promised, and no byte is written before it is read.
        return unsafe { memcpy(to, from, count) };
    }
    for place in (0..count).rev() {
        // SAFETY: both are valid for `count` bytes; volatile, so that no compiler makes a call of
        // this function of it.
        unsafe { to.add(place).write_volatile(from.add(place).read_volatile()) };
    }
    to
}

/// Fills memory.
///
/// # Safety
/// That of C's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, count: usize) -> *mut u8 {
    // SAFETY: `to` is valid for `count` bytes, as the caller promises.
    unsafe { asm!("rep stosb", inout("rdi") to => _, in("al") byte as u8, inout("rcx") count => _, options(nostack, preserves_flags)) };
    to
}

/// Compares memory.
///
/// # Safety
/// That of C's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    for place in 0..count {
        // SAFETY: both are valid for `count` bytes; volatile as above.
        let (a, b) = unsafe { (a.add(place).read_volatile(), b.add(place).read_volatile()) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

/// Tells whether memory differs.
///
/// # Safety
/// That of C's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    // SAFETY: as promised.
    unsafe { memcmp(a, b, count) }
}

/// Named by the unwinding tables of the core library; nothing unwinds here.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
