//! Records of the kernel's, made into a profile.

use std::collections::{BTreeMap, HashMap};

use model::Nanos;
use model::end::Window;
use model::profile::{Account, HardwareCounts, Profile, SampleSource, Stack};

use crate::sampler::record::{Malformed, Record, Sample};
use crate::sampler::{COUNTERS, Recording, Tasks};
use crate::symbols::{CLASSIC_FILTER, CodeMap, Symbols, UNKNOWN, runs_filters};

/// Name of a sample in user code.
pub const USER: &str = "[user]";
/// Name of a sample on the instruction behind a system call.
pub const SYSCALL_EXIT: &str = "[syscall exit]";

/// The samples of tasks in recordings of one kind, within `window` (all of them where there
/// is none), each chain once, with names. Its memory is bounded by the recordings', in which
/// each chain takes more room than here.
///
/// A sample is that of the task in which the timer fired. Around a switch interrupts are off, so that what was due while
/// a task left is found in `finish_task_switch` of the next one: both are switching.
///
/// What was lost is counted whole, whenever it was: the kernel does not say when.
pub fn fold(recordings: &[Recording], symbols: &Symbols, tasks: Tasks, window: Option<Window>) -> (Profile, Option<HardwareCounts>) {
    let mut fold = Fold { symbols, names: Names::default(), user: HashMap::new(), stacks: BTreeMap::new(), last: HashMap::new() };
    let within = |time: u64| window.is_none_or(|window| window.contains(time));
    let (mut lost, mut throttled, mut broken, mut recorded) = (0_u64, 0, 0, 0);
    for recording in recordings {
        for record in recording.records() {
            match record {
                Ok(Record::Sample(sample)) => {
                    recorded += 1;
                    if !tasks.have(sample.pid, sample.tid) {
                        continue;
                    }
                    // Read outside the window as well: the next sample's counts begin here.
                    let counted = fold.counters(recording, &sample);
                    if within(sample.time) {
                        broken += u64::from(!fold.add(&recording.code, &sample, &counted));
                    }
                }
                Ok(Record::Lost(count)) => lost = lost.saturating_add(count),
                Ok(Record::Throttle(time)) => throttled += u64::from(within(time)),
                Ok(Record::Switch(_) | Record::Fork(_) | Record::Symbol(_) | Record::Other) => {}
                Err(Malformed::Content | Malformed::Length) => broken += 1,
            }
        }
    }
    let lost = lost.max(recordings.iter().filter_map(|recording| recording.lost).fold(0, u64::saturating_add));
    let source = recordings.first().map_or(SampleSource::CpuClock, |first| first.source);
    let (symbols, stacks, counters) = fold.finish(recordings.iter().all(|recording| recording.layout.reads));
    let account = window.map(|window| Account {
        on_cpu: recordings.iter().try_fold(Nanos::default(), |sum, recording| Some(sum + recording.on_cpu(tasks, window)?)),
        recorded,
        counted: recordings.iter().map(|recording| recording.counted).sum(),
        others: None,
        untold: 0,
        idle_softirq: None,
    });
    let profile = Profile { source, period: mean_period(recordings), symbols, stacks, lost, throttled, broken, account };
    (profile, counters)
}

/// The mean distance of samples: CPUs differ by less than 0.6 %.
fn mean_period(recordings: &[Recording]) -> u64 {
    let sum = recordings.iter().fold(0, |sum: u64, recording| sum.saturating_add(recording.period));
    sum / recordings.len().max(1) as u64
}

/// Names in the order in which they were met.
#[derive(Debug, Default)]
pub struct Names {
    all: Vec<String>,
    places: HashMap<String, u32>,
    /// By address and moment ([`Symbols::moment`]).
    addresses: HashMap<(u64, usize), u32>,
}

impl Names {
    fn place(&mut self, name: &str) -> u32 {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.all.len() as u32;
        self.all.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        place
    }

    /// The name of what was at `address` at a moment.
    fn of_address(&mut self, address: u64, moment: usize, symbols: &Symbols) -> u32 {
        if let Some(place) = self.addresses.get(&(address, moment)) {
            return *place;
        }
        let place = self.place(symbols.name_at(address, moment));
        self.addresses.insert((address, moment), place);
        place
    }

    /// The names of the kernel's part of a sample's chain, the innermost function first; false where the chain
    /// could not be read, so that only the function that the sample fell into is known.
    pub fn chain(&mut self, sample: &Sample, symbols: &Symbols) -> (Vec<u32>, bool) {
        let moment = symbols.moment(sample.time);
        let mut frames: Vec<u32> = Vec::new();
        for (place, address) in sample.kernel_chain().enumerate() {
            // A call may be the last instruction of a function, so that it returns to the next one.
            let address = if place > 0 { address.wrapping_sub(1) } else { address };
            frames.push(self.of_address(address, moment, symbols));
        }
        match frames[..] {
            [] => return (vec![self.of_address(sample.ip, moment, symbols)], false),
            [inner, caller, ..] if self.all[inner as usize] == UNKNOWN && runs_filters(&self.all[caller as usize]) => {
                frames[0] = self.place(CLASSIC_FILTER);
            }
            _ => {}
        }
        (frames, true)
    }

    /// All of them, by place.
    pub fn into_all(self) -> Vec<String> {
        self.all
    }
}

/// Number of samples of a chain, and the counters' change in them.
#[derive(Default)]
struct Met {
    count: u64,
    counted: [u64; COUNTERS.len()],
}

struct Fold<'a> {
    symbols: &'a Symbols,
    names: Names,
    /// `true` if an address of user code follows a system call.
    user: HashMap<u64, bool>,
    stacks: BTreeMap<(Vec<u32>, bool), Met>,
    /// Last reading of each counter of each thread.
    last: HashMap<(u32, u64), u64>,
}

impl Fold<'_> {
    /// Adds a sample; false when its chain could not be read, so that only the
    /// function it fell into is known.
    fn add(&mut self, code: &CodeMap, sample: &Sample, counted: &[u64; COUNTERS.len()]) -> bool {
        let mut whole = true;
        let frames = if sample.user {
            let exit = *self.user.entry(sample.ip).or_insert_with(|| code.follows_system_call(sample.ip));
            vec![self.names.place(if exit { SYSCALL_EXIT } else { USER })]
        } else {
            let (frames, read) = self.names.chain(sample, self.symbols);
            whole = read;
            frames
        };
        let met = self.stacks.entry((frames, sample.user)).or_default();
        met.count += 1;
        for (sum, this) in met.counted.iter_mut().zip(counted) {
            *sum = sum.saturating_add(*this);
        }
        whole
    }

    /// Returns what each counter moved by since the thread's sample before this one.
    fn counters(&mut self, recording: &Recording, sample: &Sample) -> [u64; COUNTERS.len()] {
        let mut moved = [0; COUNTERS.len()];
        for (id, value) in sample.reads() {
            let Some((_, place)) = recording.layout.counters.iter().find(|(known, _)| *known == id) else { continue };
            let before = self.last.insert((sample.tid, id), value).unwrap_or(0);
            moved[*place] += value.saturating_sub(before);
        }
        moved
    }

    /// Names in order of letters, chains in order of their frames.
    fn finish(self, counting: bool) -> (Vec<String>, Vec<Stack>, Option<HardwareCounts>) {
        let mut order: Vec<usize> = (0..self.names.all.len()).collect();
        order.sort_by(|a, b| self.names.all[*a].cmp(&self.names.all[*b]));
        let mut place = vec![0; order.len()];
        for (new, old) in order.iter().enumerate() {
            place[*old] = new as u32;
        }
        let symbols = order.iter().map(|old| self.names.all[*old].clone()).collect();
        let mut found: Vec<(Stack, [u64; COUNTERS.len()])> = Vec::with_capacity(self.stacks.len());
        for ((frames, user), met) in self.stacks {
            let frames = frames.into_iter().map(|old| place[old as usize]).collect();
            found.push((Stack { frames, user, count: met.count }, met.counted));
        }
        found.sort_by(|(a, _), (b, _)| (&a.frames, a.user).cmp(&(&b.frames, b.user)));
        let counters = counting.then(|| HardwareCounts {
            names: COUNTERS.iter().map(|(name, _)| (*name).to_owned()).collect(),
            of_stacks: found.iter().map(|(_, counted)| counted.to_vec()).collect(),
        });
        (symbols, found.into_iter().map(|(stack, _)| stack).collect(), counters)
    }
}

#[cfg(test)]
mod tests;
