//! Times at which perf follows threads onto a CPU and off it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use model::Nanos;

use crate::perf::{self, Attributes};
use crate::sampler::Layout;
use crate::sampler::record::{Fork, Record, Records, Switch};
use crate::sampler::ring::{self, Ring};
use model::Refusal;
use sys::refused_call;

const MECHANISM: &str = "records of switches";

/// Bytes a second of records of switches: 40 each, of 150,000 times in and out of a CPU with
/// its idle time between them.
const BYTES_PER_SECOND: u64 = 24_000_000;

/// More than any record of them takes.
const LARGEST_RECORD: usize = 256;

/// Records of switches, of one task or of all, on some CPUs.
#[derive(Debug)]
pub struct Switches {
    places: Vec<(OwnedFd, Ring)>,
}

/// What was recorded.
#[derive(Debug, Default)]
pub struct Followed {
    /// Every switch, in order of time, ring by ring.
    pub switches: Vec<Vec<Switch>>,
    /// Processes and threads that were made.
    pub forks: Vec<Fork>,
}

impl Switches {
    /// Starts to record the switches of a task and of those that it starts from now on, or of
    /// all tasks (`None`), on some CPUs or wherever the task runs (`None` alone, which leaves
    /// out what it starts), for at most `longest`. Nearly all of them will be on `cpu`, where that is known: the
    /// rings of others are small. Locked memory that is short is shared with so many `samplers`.
    ///
    /// # Errors
    /// What the kernel refused, with a remedy.
    pub fn open(task: Option<u32>, cpus: &[Option<u32>], longest: Nanos, cpu: Option<u32>, samplers: usize) -> Result<Self, Refusal> {
        let wanted = usize::try_from(longest.get().saturating_mul(BYTES_PER_SECOND / 1_000_000) / 1_000).unwrap_or(usize::MAX);
        let busy = ring::bytes(wanted, if cpu.is_some() { 1 } else { cpus.len() });
        let inherit = if task.is_some() && cpus != [None] { perf::INHERIT } else { 0 };
        let mut places = Vec::new();
        for this in cpus {
            let bytes = if cpu.is_none() || cpu == *this { busy } else { ring::LEAST };
            let attributes = Attributes::of_records(inherit | perf::TASK | perf::CONTEXT_SWITCH);
            let event = perf::open(attributes, task, *this, None)
                .map_err(|error| refused_call(MECHANISM, "perf_event_open(DUMMY, context_switch)", &error, perf::remedy(&error, task)))?;
            let refused = |error| {
                refused_call(MECHANISM, &format!("mmap of {} KiB", bytes >> 10), &error, "Raise kernel.perf_event_mlock_kb or `ulimit -l`")
            };
            // Few ends need the whole ring; one without room says so.
            let mut ring = Ring::map_up_to(event.as_fd(), bytes).map_err(refused)?;
            if ring.bytes() < bytes {
                // As much is left to samples, and to the other samplers.
                let share = ring.bytes() / 2 / samplers.max(1).next_power_of_two();
                drop(ring);
                ring = Ring::map_up_to(event.as_fd(), share.max(ring::LEAST)).map_err(refused)?;
            }
            places.push((event, ring));
        }
        Ok(Self { places })
    }

    /// The events that record, one for each CPU.
    pub fn events(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.places.iter().map(|(event, _)| event.as_fd())
    }

    /// Everything recorded, ring by ring as `cpus` were.
    ///
    /// # Errors
    /// When a ring overflowed or is not what the kernel promises.
    pub fn finish(mut self) -> Result<Followed, Refusal> {
        let mut followed = Followed::default();
        let layout = Layout::default();
        for (event, ring) in &mut self.places {
            perf::disable(event.as_fd())
                .map_err(|error| refused_call(MECHANISM, "ioctl(PERF_EVENT_IOC_DISABLE)", &error, "Repeat the trial"))?;
            let bytes = ring.take().map_err(|error| refused_call(MECHANISM, "the ring of switches", &error, "Repeat the trial"))?;
            // A ring that is never read has no room for the record of what it lost either.
            if ring.bytes() - bytes.len() < LARGEST_RECORD {
                return Err(Refusal::new(MECHANISM, "the ring had no room", "Shorten the trial, or raise `ulimit -l`"));
            }
            let mut found = Vec::new();
            for record in Records::new(&bytes, &layout) {
                match record {
                    Ok(Record::Switch(switch)) => found.push(switch),
                    Ok(Record::Fork(fork)) => followed.forks.push(fork),
                    Ok(Record::Lost(_)) | Err(_) => {
                        return Err(Refusal::new(MECHANISM, "the ring had no room", "Shorten the trial"));
                    }
                    Ok(_) => {}
                }
            }
            followed.switches.push(found);
        }
        Ok(followed)
    }
}
