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

/// Reads rings, one after the other.
#[derive(Debug)]
pub struct RingReader<'s> {
    symbols: &'s Symbols,
    names: Names,
    /// Places of chains.
    places: HashMap<(Vec<u32>, bool), u32>,
    drained: Drained,
}

/// The sampler of one CPU.
#[derive(Debug)]
struct CpuSampler {
    cpu: u32,
    events: SamplerEvents,
    /// True where its ring was empty when it was taken last.
    is_silent: bool,
    /// Time that its event had counted when it was silent last.
    counted: Option<u64>,
}

impl CpuSampler {
    /// Returns whether its event still counts. One whose CPU went is gone for good, even where the CPU came back before the
    /// next look at those that are online.
    fn is_alive(&mut self) -> bool {
        if !self.is_silent {
            return true;
        }
        let counted = self.events.places.first().and_then(|place| perf::read(&place.leader).ok()?.get(place.counted_at).copied());
        counted.is_none() || std::mem::replace(&mut self.counted, counted) != counted
    }
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

    /// Samples CPUs that came or came back, which `tie` sees first, and forgets those that went: take what their rings hold
    /// before. Returns whether there was any change.
    ///
    /// # Errors
    /// When the CPUs cannot be listed, or one cannot be sampled.
    pub fn follow_cpus(&mut self, mut tie: impl FnMut(BorrowedFd) -> Result<(), Refusal>) -> Result<bool, Refusal> {
        let online = online().map_err(|error| refused_call(MECHANISM, "/sys/devices/system/cpu/online", &error, "Mount sysfs"))?;
        let before = self.cpus.len();
        let running = before > 0;
        self.cpus.retain_mut(|one| online.contains(&one.cpu) && one.is_alive());
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
            self.cpus.push(CpuSampler { cpu: *cpu, events, is_silent: false, counted: None });
            changed = true;
        }
        Ok(changed)
    }

    /// Takes what the rings hold, with names.
    ///
    /// # Errors
    /// When a ring is not what the kernel promises.
    pub fn take(&mut self, symbols: &Symbols) -> Result<Drained, Refusal> {
        let mut reader = RingReader::new(symbols);
        for one in &mut self.cpus {
            one.is_silent = true;
            for place in &mut one.events.places {
                let bytes = place.ring.take().map_err(|error| Refusal::new(MECHANISM, errno_name(&error), "Start again"))?;
                one.is_silent &= bytes.is_empty();
                reader.read(Records::new(&bytes, &one.events.layout));
            }
        }
        Ok(reader.finish())
    }
}

impl<'s> RingReader<'s> {
    /// Has read no ring yet.
    pub fn new(symbols: &'s Symbols) -> Self {
        Self { symbols, names: Names::default(), places: HashMap::new(), drained: Drained::default() }
    }

    /// Reads the records of a ring.
    pub fn read(&mut self, records: Records) {
        for record in records {
            match record {
                Ok(Record::Sample(sample)) => {
                    let frames = if sample.user { Vec::new() } else { self.names.chain(&sample, self.symbols).0 };
                    let next = self.places.len() as u32;
                    let chain = *self.places.entry((frames, sample.user)).or_insert(next);
                    let Sample { cpu, pid, tid, time, .. } = sample;
                    self.drained.samples.push(MachineSample { cpu, pid, tid, time, chain });
                }
                Ok(Record::Lost(count)) => self.drained.lost = self.drained.lost.saturating_add(count),
                Ok(_) => {}
                // It was taken, and says nothing.
                Err(Malformed::Content | Malformed::Length) => self.drained.lost += 1,
            }
        }
    }

    /// The samples of all rings.
    pub fn finish(self) -> Drained {
        let mut drained = self.drained;
        drained.chains = vec![(Vec::new(), false); self.places.len()];
        for (chain, place) in self.places {
            drained.chains[place as usize] = chain;
        }
        drained.symbols = self.names.into_all();
        drained
    }
}

fn start(event: BorrowedFd) -> Result<(), Refusal> {
    perf::enable(event).map_err(|error| refused_call(MECHANISM, "ioctl(PERF_EVENT_IOC_ENABLE)", &error, "Start again"))
}

#[cfg(test)]
mod tests {
    use super::RingReader;
    use crate::sampler::Layout;
    use crate::sampler::record::Records;
    use crate::symbols::Symbols;

    const KERNEL_CONTEXT: u64 = -128_i64 as u64;

    /// A record of whole words.
    fn record(kind: u32, mode: u16, body: &[u64]) -> Vec<u8> {
        let head = [&kind.to_ne_bytes()[..], &mode.to_ne_bytes(), &(8 + body.len() as u16 * 8).to_ne_bytes()];
        [head.concat(), body.iter().flat_map(|word| word.to_ne_bytes()).collect()].concat()
    }

    #[test]
    fn rings_of_128_cpus_are_read_whole_and_losses_are_counted() {
        let symbols = Symbols::parse(b"1000 T _stext\n1000 T entry\n1100 T udp_sendmsg\n1200 T csum\n1300 T _etext\n", b"").unwrap();
        let layout = Layout::default();
        let mut reader = RingReader::new(&symbols);
        for cpu in 0..128_u64 {
            let chain = [KERNEL_CONTEXT, 0x1200 + cpu, 0x1150];
            let kernel = record(9, 1, &[&[chain[1], 7 << 32 | 7, 5, cpu, 3][..], &chain].concat());
            let user = record(9, 2, &[0x10, 7 << 32 | 7, 6, cpu, 0]);
            let ring = [kernel, user, record(2, 0, &[1, cpu])].concat();
            // The last one is cut off.
            reader.read(Records::new(if cpu == 127 { &ring[..ring.len() - 1] } else { &ring }, &layout));
        }
        let drained = reader.finish();
        assert_eq!((drained.samples.len(), drained.lost), (256, (0..127).sum::<u64>() + 1));
        assert_eq!(drained.symbols, ["csum", "udp_sendmsg"]);
        // Addresses of one function are one chain.
        assert_eq!(drained.chains, [(vec![0, 1], false), (vec![], true)]);
        assert!(
            drained.samples.iter().enumerate().all(|(place, sample)| sample.cpu == place as u32 / 2 && sample.chain == place as u32 % 2)
        );
    }
}
