//! `perf_event_open`: samples and counters.

use std::io;

use super::descriptor;

/// Event that is sampled or counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Samples by a timer of the kernel, on a CPU clock. Needs no hardware.
    CpuClock,
    /// Cycles, counted by the processor.
    Cycles,
    /// Passes of a kernel tracepoint, by the id that tracefs gives it.
    Tracepoint(u64),
}

/// Processes that are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The program's own code.
    User,
    /// The kernel's too, with the kernel's chain of callers.
    Kernel,
}

const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
const TYPE_TRACEPOINT: u32 = 2;
const HARDWARE_CYCLES: u64 = 0;
const SOFTWARE_CPU_CLOCK: u64 = 0;
const SAMPLE_IP: u64 = 1;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;
const DISABLED: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const EXCLUDE_USER_CALLCHAIN: u64 = 1 << 22;
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// Incommensurate with the 4 ms tick, to which a rounder period locks itself.
const PERIOD_NS: u64 = 53_381;

/// `struct perf_event_attr` as of Linux 4.1 (112 bytes), which later kernels
/// accept by its size.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    unused: [u64; 7],
}

const _: () = assert!(size_of::<Attributes>() == 112);

/// Opens `event` for the calling thread and closes it again, without ever
/// starting it.
///
/// # Errors
/// The system's answer, such as EACCES (`kernel.perf_event_paranoid`) or ENOENT
/// (no such counter on this machine).
pub fn open(event: Event, scope: Scope) -> io::Result<()> {
    let (kind, config) = match event {
        Event::CpuClock => (TYPE_SOFTWARE, SOFTWARE_CPU_CLOCK),
        Event::Cycles => (TYPE_HARDWARE, HARDWARE_CYCLES),
        Event::Tracepoint(id) => (TYPE_TRACEPOINT, id),
    };
    let (period, sample) = match (event, scope) {
        (Event::CpuClock, Scope::User) => (PERIOD_NS, SAMPLE_IP),
        (Event::CpuClock, Scope::Kernel) => (PERIOD_NS, SAMPLE_IP | SAMPLE_CALLCHAIN),
        _ => (0, 0),
    };
    let scope = match scope {
        Scope::User => EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
        Scope::Kernel => EXCLUDE_USER_CALLCHAIN,
    };
    let attributes =
        Attributes { kind, size: size_of::<Attributes>() as u32, config, period, sample, flags: DISABLED | scope, ..Attributes::default() };
    let (this_thread, any_cpu, no_group): (libc::pid_t, libc::c_int, libc::c_int) = (0, -1, -1);
    // SAFETY: the kernel reads `size` bytes of `attributes`, which outlives the call.
    let opened = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, this_thread, any_cpu, no_group, CLOSE_ON_EXEC) };
    descriptor(opened).map(drop)
}

#[cfg(test)]
mod tests {
    use super::{Event, Scope, open};

    #[test]
    fn an_unknown_tracepoint_is_refused_with_an_errno() {
        assert!(open(Event::Tracepoint(u64::MAX), Scope::Kernel).unwrap_err().raw_os_error().is_some());
    }

    #[test]
    fn every_event_has_an_answer() {
        for event in [Event::CpuClock, Event::Cycles] {
            for scope in [Scope::User, Scope::Kernel] {
                if let Err(error) = open(event, scope) {
                    assert!(error.raw_os_error().is_some(), "{error}");
                }
            }
        }
    }
}
