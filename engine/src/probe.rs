//! Properties of a host that its figures depend on.

use std::hint::black_box;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use io_uring::IoUring;
use model::Nanos;

use crate::api::{CallOutcome, Transmit};
use crate::edge::EdgeReader;
use crate::stage::{Part, Stage};
use crate::traffic::send_until;
use sys::clock;

/// Repetitions of the interrupt-time probe; the best one is believed, because
/// whatever disturbs it can only lower the share.
const REPEATS: u32 = 40;
/// Length of each: short, so that a hypervisor that takes the CPU away now and then
/// leaves some of them alone.
const LENGTH: Duration = Duration::from_millis(1);

/// Share of a thread's time on a CPU that its clock must show for interrupt time to be in it.
const ALL_COUNTED: f64 = 0.87;

/// Returns whether the kernel takes interrupt time out of process time, as it does with
/// `CONFIG_IRQ_TIME_ACCOUNTING`; `None` when loopback cannot be used.
///
/// A thread that sends datagrams to itself never sleeps, and spends a third of
/// its time in the softirq that delivers them (0.33 to 0.42 of `sendto`, timed
/// by tracepoints on Linux 6.18). If its CPU clock shows that much less than
/// the time that passed while it had the CPU, the kernel subtracts.
pub fn irq_time_subtracted() -> Option<bool> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
    socket.connect(socket.local_addr().ok()?).ok()?;
    socket.set_read_timeout(Some(Duration::from_millis(50))).ok()?;
    for _ in 0..REPEATS {
        if on_cpu_share(&socket).ok()? >= ALL_COUNTED {
            return Some(false);
        }
    }
    Some(true)
}

/// Makes the smallest ring of io_uring, and closes it again.
///
/// # Errors
/// The system's answer, such as ENOSYS (not in this kernel) or EPERM (`kernel.io_uring_disabled`, or a sandbox).
pub fn ring() -> io::Result<()> {
    IoUring::new(1).map(drop)
}

/// CPU time of this thread over the time in which it had the CPU; 0 where that is not told.
fn on_cpu_share(socket: &UdpSocket) -> io::Result<f64> {
    let edges = EdgeReader::of_this_thread(&[]);
    let mut byte = [1];
    let start = edges.start();
    let cpu = clock::thread_cpu();
    let begun = clock::monotonic();
    while clock::monotonic().since(begun) < LENGTH.into() {
        socket.send(&byte)?;
        socket.recv(&mut byte)?;
    }
    let cpu = clock::thread_cpu().since(cpu);
    let usage = start.until(&edges.end());
    let had_cpu = usage.window.length().since(usage.run_delay.unwrap_or_default());
    // A thread that mostly waited for its CPU shows nothing.
    Ok(if had_cpu < Nanos::from(LENGTH / 2) { 0.0 } else { cpu.as_secs_f64() / had_cpu.as_secs_f64() })
}

/// Cost of the loop around each call on this host, in ns per message: the
/// median of 9 runs of the sending loop over a call that does nothing.
pub fn loop_overhead_ns() -> f64 {
    const MESSAGES: u64 = 200_000;
    let mut api = Nothing;
    let stage = Stage::default();
    let mut costs: Vec<f64> = (0..9)
        .map(|_| {
            let begun = clock::monotonic();
            black_box(send_until(black_box(&mut api), 1, &stage, Part::Warmup, MESSAGES));
            clock::monotonic().since(begun).get() as f64 / MESSAGES as f64
        })
        .collect();
    costs.sort_by(f64::total_cmp);
    costs[costs.len() / 2]
}

/// A call that does nothing.
struct Nothing;

impl Transmit for Nothing {
    #[inline(never)]
    fn send_part(&mut self, from: usize, _: usize) -> CallOutcome {
        black_box(CallOutcome(1 - from as isize))
    }
}

#[cfg(test)]
mod tests {
    use super::{irq_time_subtracted, loop_overhead_ns, ring};

    #[test]
    fn a_ring_has_an_answer() {
        if let Err(error) = ring() {
            assert!(error.raw_os_error().is_some(), "{error}");
        }
    }

    #[test]
    fn the_loop_is_far_cheaper_than_a_system_call() {
        let cost = loop_overhead_ns();
        assert!(cost > 0.0 && cost < 1_000.0, "{cost} ns");
    }

    #[test]
    fn the_probe_answers_where_there_is_loopback() {
        assert!(irq_time_subtracted().is_some());
    }
}
