//! What a wake-up is billed before the thread runs.
//!
//! Where a thread is woken on an idle CPU, the scheduler sets its clock at the wake-up and does not set it again when
//! the CPU has left its idle state. Records of switches say when it came to the CPU.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use model::Nanos;
use model::sorting::Order;
use model::wakeups::{WakeupCost, Wakeups};
use sys::clock::{monotonic, thread_cpu};
use sys::page_size;

use crate::perf::{self, Attributes};
use crate::sampler::Layout;
use crate::sampler::record::{Record, Records, Switch};
use crate::sampler::ring::Ring;
use crate::system::bind_this_thread;

/// Wake-ups of each kind.
const ROUNDS: usize = 60;
/// Fewer undisturbed ones say nothing.
const LEAST: usize = ROUNDS / 3;
/// Sleep before each, as ends of request and response have it.
const SLEEP: Nanos = Nanos::new(30_000);
/// The longest that one kind may take, on a machine that others use.
const LONGEST: Nanos = Nanos::from_millis(40);
/// Pages of the ring: a record of a switch has 24 bytes.
const PAGES: usize = 4;

/// Attempts on a machine that others use.
const ATTEMPTS: usize = 3;

/// Measures wake-ups on the CPU `cpu`, woken from another one of `cpus`. `None` where there is no other, where the
/// thread's switches cannot be recorded, or where too few wake-ups were undisturbed.
pub fn wakeups_on(cpu: u32, cpus: &[u32]) -> Option<Wakeups> {
    let other = cpus.iter().copied().find(|other| *other != cpu)?;
    (0..ATTEMPTS).find_map(|_| wakeups(cpu, other).ok())
}

/// Wakes a thread bound to `cpu` from the CPU `other`, and by its own timer. Takes some 10 ms, 120 at most.
///
/// # Errors
/// The system's answer where the thread's switches cannot be recorded, or where too few wake-ups were undisturbed.
fn wakeups(cpu: u32, other: u32) -> io::Result<Wakeups> {
    Ok(Wakeups { by_cpu: cost(cpu, Some(other))?, by_timer: cost(cpu, None)? })
}

fn cost(cpu: u32, waker: Option<u32>) -> io::Result<WakeupCost> {
    let (asked, done) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
    let billed = thread::scope(|scope| {
        let sleeper = scope.spawn(move || sleep(cpu, waker.is_none(), asked, done));
        if let Some(waker) = waker {
            let sleeper = sleeper.thread().clone();
            scope.spawn(move || wake(waker, &sleeper, asked, done));
        }
        sleeper.join()
    });
    let mut billed = billed.map_err(|_| io::Error::other("the measuring thread ended early"))??;
    if billed.len() < LEAST {
        return Err(io::Error::other(format!("{} of {ROUNDS} wake-ups were undisturbed", billed.len())));
    }
    billed.order();
    let at = |quarters: usize| Nanos::new(billed[(billed.len() - 1) * quarters / 4]);
    Ok(WakeupCost { low: at(1), median: at(2), high: at(3) })
}

/// Wakes a thread, each time when it has slept for a while.
fn wake(cpu: u32, sleeper: &thread::Thread, asked: &AtomicUsize, done: &AtomicUsize) {
    let (bound, begun) = (bind_this_thread(cpu).is_ok(), monotonic());
    for round in 0..ROUNDS {
        let mut slept = monotonic();
        while bound && monotonic().since(slept) < SLEEP {
            if done.load(Ordering::Acquire) < round {
                slept = monotonic();
            }
            if monotonic().since(begun) > LONGEST {
                break;
            }
        }
        if !bound || monotonic().since(begun) > LONGEST {
            break;
        }
        asked.store(round + 1, Ordering::Release);
        sleeper.unpark();
    }
    asked.store(usize::MAX, Ordering::Release);
    sleeper.unpark();
}

/// Sleeps and wakes up; what each of the wake-ups was billed before the thread ran, in ns.
fn sleep(cpu: u32, by_timer: bool, asked: &AtomicUsize, done: &AtomicUsize) -> io::Result<Vec<u64>> {
    let mut readings = Vec::with_capacity(ROUNDS + 1);
    let recorded = bind_this_thread(cpu).and_then(|()| {
        record(|| {
            readings.push(reading());
            let begun = monotonic();
            for round in 0..ROUNDS {
                while !by_timer && asked.load(Ordering::Acquire) <= round && monotonic().since(begun) <= LONGEST {
                    thread::park_timeout(Duration::from(LONGEST));
                }
                if by_timer {
                    thread::sleep(Duration::from(SLEEP));
                }
                if asked.load(Ordering::Acquire) == usize::MAX || monotonic().since(begun) > LONGEST {
                    break;
                }
                readings.push(reading());
                done.store(round + 1, Ordering::Release);
            }
        })
    });
    // The waker waits for no one that never slept.
    done.store(ROUNDS, Ordering::Release);
    Ok(billed(&readings, &recorded?))
}

/// The time, and the CPU time of this thread.
fn reading() -> [u64; 2] {
    [monotonic().get(), thread_cpu().get()]
}

/// The switches of this thread meanwhile.
fn record(work: impl FnOnce()) -> io::Result<Vec<Switch>> {
    let attributes = Attributes::of_records(perf::EXCLUDE_KERNEL | perf::EXCLUDE_HYPERVISOR | perf::CONTEXT_SWITCH);
    let event = perf::open(attributes, Some(0), None, None)?;
    let mut ring = Ring::map(event.as_fd(), PAGES * page_size())?;
    work();
    let (bytes, layout) = (ring.take()?, Layout::default());
    let switch = |record| if let Ok(Record::Switch(switch)) = record { Some(switch) } else { None };
    Ok(Records::new(&bytes, &layout).filter_map(switch).collect())
}

/// CPU time between two readings, less the time on a CPU: of pairs between which the thread left its CPU once.
fn billed(readings: &[[u64; 2]], switches: &[Switch]) -> Vec<u64> {
    let one = |pair: &[[u64; 2]]| {
        let ([from, cpu], [to, later]) = (pair[0], pair[1]);
        let mut between = switches.iter().filter(|switch| (from..to).contains(&switch.time));
        let (went, came) = (between.next().filter(|switch| switch.out)?, between.next().filter(|switch| !switch.out)?);
        let on_cpu = (to - from).checked_sub(came.time.checked_sub(went.time)?)?;
        between.next().is_none().then(|| later.saturating_sub(cpu).saturating_sub(on_cpu))
    };
    readings.windows(2).filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::{Switch, billed, wakeups};

    /// On whatever machine: figures in order, or a reason.
    #[test]
    fn the_probe_answers() {
        match wakeups(0, 1) {
            Ok(both) => {
                eprintln!("{both:?}");
                assert!([both.by_cpu, both.by_timer].iter().all(|cost| cost.low <= cost.median && cost.median <= cost.high));
            }
            Err(error) => {
                eprintln!("{error}");
                assert!(!error.to_string().is_empty());
            }
        }
    }

    #[test]
    fn what_is_billed_is_the_clock_less_the_time_on_a_cpu() {
        let switch = |time, out| Switch { pid: 1, tid: 1, time, out, runnable: false, other: None };
        // On a CPU for 10 and 20 ns of each 100, and billed for 5 and 7 more; the third round was disturbed.
        let readings = [[0, 0], [100, 15], [200, 42], [300, 90]];
        let switches = [(5, true), (95, false), (110, true), (190, false), (210, true), (220, false), (230, true), (290, false)];
        let switches: Vec<Switch> = switches.into_iter().map(|(time, out)| switch(time, out)).collect();
        assert_eq!(billed(&readings, &switches), [5, 7]);
        assert_eq!(billed(&readings, &[]), Vec::<u64>::new());
    }
}
