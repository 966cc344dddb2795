//! What the probe says: lines to QEMU's debug port, which are a file on the host.

use core::arch::asm;
use core::fmt::{self, Write};

use crate::sys;

/// The debug port (QEMU's `isa-debugcon`), held as long as something is said: a process that may
/// use a port pays for it in every system call.
struct Port;

/// Its number.
const NUMBER: u16 = 0xe9;

impl Port {
    fn open() -> Self {
        // Without it the first byte ends the process, which the driver sees.
        let _ = sys::port(NUMBER, true);
        Self
    }

    fn bytes(&self, all: &[u8]) {
        // SAFETY: reads the bytes; the port does nothing but pass them on.
        unsafe {
            asm!("rep outsb", in("dx") NUMBER, inout("rsi") all.as_ptr() => _, inout("rcx") all.len() => _,
                 options(nostack, preserves_flags, readonly));
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        let _ = sys::port(NUMBER, false);
    }
}

impl Write for Port {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes());
        Ok(())
    }
}

/// Sends bytes as they are.
pub fn bytes(all: &[u8]) {
    Port::open().bytes(all);
}

/// Sends a line.
pub fn line(what: fmt::Arguments) {
    let mut port = Port::open();
    // Writing to the port cannot fail.
    let _ = port.write_fmt(what);
    port.bytes(b"\n");
}
