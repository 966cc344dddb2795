//! Samples of every CPU of the machine, handed over while they are taken.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};

use model::profile::SampleSource;
use model::{Nanos, Refusal};
use sys::cpu::online;
use sys::{errno_name, refused_call};

use crate::fold::Names;
use crate::perf;
use crate::sampler::record::{Malformed, Record, Records, Sample};
use crate::sampler::{RING_MEMORY, RING_SIZE, SamplerEvents, Settings, Target, open_events};
use crate::symbols::Symbols;

const MECHANISM: &str = "samples of every CPU";
/// Time for which rings have room: drained once a second, with room for a reader that is kept waiting.
const ROOM: Nanos = Nanos::from_millis(4_000);
/// The least, where locked memory is short: of the usual samples several times as long.
const LEAST_ROOM: Nanos = Nanos::from_millis(1);

/// The samplers of all CPUs.
#[derive(Debug)]
pub struct MachineSampler {
    period: Nanos,
    /// Time for which each ring has room, with samples as long as they can be.
    room: Nanos,
    cpus: Vec<CpuSampler>,
}

/// One sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineSample {
    /// The CPU.
    pub cpu: u32,
    /// Process, 0 for the idle task and, in a PID namespace, for every process outside it.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Its time, in ns of `CLOCK_MONOTONIC`.
    pub time: u64,
    /// Place of its chain in [`Drained::chains`].
    pub chain: u32,
}

/// The samples since the last time that they were taken.
#[derive(Debug, Default)]
pub struct Drained {
    /// Names of functions, once each.
    pub symbols: Vec<String>,
    /// Chains, once each: places in `symbols`, the innermost function first, and whether user code ran, in which
    /// case there are none.
    pub chains: Vec<(Vec<u32>, bool)>,
    /// The samples, CPU by CPU.
    pub samples: Vec<MachineSample>,
    /// Samples for which the rings had no room.
    pub lost: u64,
}

/// The sampler of one CPU.
#[derive(Debug)]
struct CpuSampler {
    cpu: u32,
    events: SamplerEvents,
}

impl MachineSampler {
    /// Opens an event on each CPU that is online, without starting; `tie` sees each. Samples are `period` apart.
    ///
    /// Where locked memory is short, all rings are as long as leaves some for each: one that took all that it wants would
    /// leave none to the next.
    ///
    /// # Errors
    /// What the kernel refused, with a remedy.
    pub fn open(period: Nanos, mut tie: impl FnMut(BorrowedFd) -> Result<(), Refusal>) -> Result<Self, Refusal> {
        let mut room = ROOM;
        loop {
            let mut this = Self { period, room, cpus: Vec::new() };
            match this.follow_cpus(&mut tie) {
                Err(refusal) if room > LEAST_ROOM && [RING_SIZE, RING_MEMORY].contains(&refusal.what.as_str()) => {
                    room = Nanos::new(room.get() / 2);
                }
                opened => return opened.map(|_| this),
            }
        }
    }

    /// The mean distance of samples: CPUs differ by less than 0.6 %.
    pub fn period(&self) -> Nanos {
        let sum = self.cpus.iter().fold(0, |sum: u64, one| sum.saturating_add(one.events.period));
        Nanos::new(sum / self.cpus.len().max(1) as u64)
    }

    /// The sampling event of each CPU.
    pub fn events(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.cpus.iter().flat_map(|one| &one.events.places).map(|place| place.leader.as_fd())
    }

    /// Starts every event.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn start(&self) -> Result<(), Refusal> {
        self.events().try_for_each(start)
    }

    /// Samples CPUs that came, which `tie` sees first, and forgets those that went: take what their rings hold before. Returns
    /// whether there was any change.
    ///
    /// # Errors
    /// When the CPUs cannot be listed, or one cannot be sampled.
    pub fn follow_cpus(&mut self, mut tie: impl FnMut(BorrowedFd) -> Result<(), Refusal>) -> Result<bool, Refusal> {
        let online = online().map_err(|error| refused_call(MECHANISM, "/sys/devices/system/cpu/online", &error, "Mount sysfs"))?;
        let before = self.cpus.len();
        let running = before > 0;
        self.cpus.retain(|one| online.contains(&one.cpu));
        let mut changed = self.cpus.len() != before;
        for cpu in &online {
            if self.cpus.iter().any(|known| known.cpu == *cpu) {
                continue;
            }
            let target = Target::Cpu { cpu: *cpu, process: std::process::id() };
            let settings = Settings {
                source: Some(SampleSource::CpuClock),
                period: self.period.get(),
                cpu: Some(*cpu),
                samplers: online.len(),
                ..Settings::new(target, self.room)
            };
            let (events, notes) = open_events(&settings)?;
            if let Some(short) = notes.into_iter().find(|note| note.what == RING_SIZE && !running && self.room > LEAST_ROOM) {
                return Err(short);
            }
            for place in &events.places {
                tie(place.leader.as_fd())?;
                if running {
                    start(place.leader.as_fd())?;
                }
            }
            self.cpus.push(CpuSampler { cpu: *cpu, events });
            changed = true;
        }
        Ok(changed)
    }

    /// Takes what the rings hold, with names.
    ///
    /// # Errors
    /// When a ring is not what the kernel promises.
    pub fn take(&mut self, symbols: &Symbols) -> Result<Drained, Refusal> {
        let mut drained = Drained::default();
        let mut names = Names::default();
        let mut places: HashMap<(Vec<u32>, bool), u32> = HashMap::new();
        for one in &mut self.cpus {
            for place in &mut one.events.places {
                let bytes = place.ring.take().map_err(|error| Refusal::new(MECHANISM, errno_name(&error), "Start again"))?;
                for record in Records::new(&bytes, &one.events.layout) {
                    match record {
                        Ok(Record::Sample(sample)) => {
                            let frames = if sample.user { Vec::new() } else { names.chain(&sample, symbols).0 };
                            let next = places.len() as u32;
                            let chain = *places.entry((frames, sample.user)).or_insert(next);
                            let Sample { cpu, pid, tid, time, .. } = sample;
                            drained.samples.push(MachineSample { cpu, pid, tid, time, chain });
                        }
                        Ok(Record::Lost(count)) => drained.lost = drained.lost.saturating_add(count),
                        Ok(_) => {}
                        // It was taken, and says nothing.
                        Err(Malformed::Content | Malformed::Length) => drained.lost += 1,
                    }
                }
            }
        }
        drained.chains = vec![(Vec::new(), false); places.len()];
        for (chain, place) in places {
            drained.chains[place as usize] = chain;
        }
        drained.symbols = names.into_all();
        Ok(drained)
    }
}

fn start(event: BorrowedFd) -> Result<(), Refusal> {
    perf::enable(event).map_err(|error| refused_call(MECHANISM, "ioctl(PERF_EVENT_IOC_ENABLE)", &error, "Start again"))
}
