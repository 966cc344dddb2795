//! Call chains of a running process, taken at even distances of its CPU time.
//!
//! A timer of the task's own is armed again at each of its switches, which costs more
//! than the switch itself; so where the kernel allows it whole CPUs are sampled, and
//! [`Tasks`] says whose samples are wanted. The kernel writes samples into rings in memory that
//! are read when messages have flowed, and with them the times at which tasks came to a CPU and left
//! it ([`presence`]): samples say how the time on a CPU divides, these times how much time there was.

pub mod cost;
mod open;
pub mod presence;
pub mod record;
pub(crate) mod ring;
mod settings;
pub(crate) mod switches;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::perf;
use model::Refusal;
use sys::refused_call;

pub use open::{COUNTERS, Layout};
pub use record::{Recording, Tasks};
pub use settings::{PERIOD, Settings, Target};

pub(crate) use open::{RING_MEMORY, RING_SIZE, SamplerEvents, open as open_events};

use crate::symbols::CodeMap;
use switches::Switches;

/// A sampler of one process, thread or CPU. Dropped, it is gone from the kernel.
#[derive(Debug)]
pub struct Sampler {
    opened: SamplerEvents,
    switches: Option<Switches>,
    code: CodeMap,
    notes: Vec<Refusal>,
}

impl Sampler {
    /// Attaches to a process, a thread or a CPU without starting. Threads that a process
    /// starts later are sampled too; those that it already has next to its main
    /// thread are not, so attach before the traffic thread is there.
    ///
    /// # Errors
    /// What the kernel refused, with a remedy.
    pub fn open(settings: &Settings) -> Result<Self, Refusal> {
        // Before the samples, which take all locked memory that they are given.
        let switches = open_switches(settings);
        let (opened, mut notes) = open::open(settings)?;
        let switches = switches.map_err(|refusal| notes.push(refusal)).ok();
        let code = match settings.target {
            Target::Process(pid) | Target::Cpu { process: pid, .. } => CodeMap::of_process(pid).unwrap_or_else(|refusal| {
                notes.push(refusal);
                CodeMap::default()
            }),
            Target::Thread(_) => CodeMap::default(),
        };
        Ok(Self { opened, switches, code, notes })
    }

    /// Returns what is not as it could be, such as a machine without cycle counters.
    /// The sampler works nonetheless.
    pub fn notes(&self) -> &[Refusal] {
        &self.notes
    }

    /// The events that sample, one for each CPU looked at, for programs of samples
    /// ([`crate::owners::SampleMarks::tie`]).
    pub fn events(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.opened.places.iter().map(|place| place.leader.as_fd())
    }

    /// Starts sampling: one call to the kernel for each CPU.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn start(&mut self) -> Result<(), Refusal> {
        let enable = |place: &open::Place| perf::enable(place.leader.as_fd());
        self.opened.places.iter().try_for_each(enable).map_err(|error| refused("ioctl(PERF_EVENT_IOC_ENABLE)", &error))
    }

    /// Switches samples and records of switches on or off; what was recorded stays. While they are off no timer
    /// of this sampler is armed and nothing is recorded.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn switch(&self, on: bool) -> Result<(), Refusal> {
        let set = if on { perf::enable } else { perf::disable };
        let mut events = self.events().chain(self.switches.iter().flat_map(Switches::events));
        events.try_for_each(set).map_err(|error| refused("ioctl(PERF_EVENT_IOC_ENABLE or PERF_EVENT_IOC_DISABLE)", &error))
    }

    /// Stops, and hands over everything. A process that has died meanwhile
    /// leaves the samples of its life.
    ///
    /// # Errors
    /// When a ring is not what the kernel promises.
    pub fn finish(mut self) -> Result<Recording, Refusal> {
        for place in &self.opened.places {
            perf::disable(place.leader.as_fd()).map_err(|error| refused("ioctl(PERF_EVENT_IOC_DISABLE)", &error))?;
        }
        let (mut lost, mut counted, mut rings) = (Some(0), Some(0), Vec::new());
        for place in &mut self.opened.places {
            rings.push(place.ring.take().map_err(|error| refused("the ring of samples", &error))?);
            let reading = perf::read(&place.leader).unwrap_or_default();
            let add = |sum: Option<u64>, at: Option<usize>| Some(sum?.saturating_add(*reading.get(at?)?));
            (lost, counted) = (add(lost, place.lost_at), add(counted, Some(place.counted_at)));
        }
        self.opened.watch_cpus(&mut self.notes);
        let followed = self.switches.and_then(|switches| switches.finish().map_err(|refusal| self.notes.push(refusal)).ok());
        let (switches, forks) = followed.map_or((None, Vec::new()), |followed| (Some(followed.switches), followed.forks));
        let SamplerEvents { source, period, layout, .. } = self.opened;
        Ok(Recording { source, period, layout, rings, lost, counted, switches, forks, code: self.code, notes: self.notes })
    }
}

fn open_switches(settings: &Settings) -> Result<Switches, Refusal> {
    let (task, cpus) = open::task_and_cpus(settings.target)?;
    let cpu = if let Target::Cpu { cpu, .. } = settings.target { Some(cpu) } else { settings.cpu };
    Switches::open(task, &cpus, settings.longest, cpu, settings.samplers)
}

fn refused(tried: &str, error: &io::Error) -> Refusal {
    refused_call("sampling", tried, error, "Repeat the trial")
}
