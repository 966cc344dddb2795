//! The receipt of one end of one cell, made from its passes by rules.

use std::collections::BTreeMap;

use model::plan::receipt::SAMPLES_WITH_TICK;
use model::profile::{Account, CountTier, SampleSource};
use model::{Bytes, Nanos, Role};
use serde::Serialize;

use crate::attributes::{Category, Context, Crossing, Layer};
use crate::closure::{Closure, Known, OBSERVER, Observer, Sums, WALL};
use crate::counters::LayerCounters;
use crate::doubt::{Cause, Doubt, Footing, Gravity, LEAST_PASSES, LEAST_SAMPLES, MOST_OTHER};
use crate::figure::{Figure, product, ratio};
use crate::passes::{Passes, TimePass, WaitPass};
use crate::rows::{Basis, Moved, Path, Row, Split, Tally, moved};
use crate::rules::Rules;

/// The time of one end of one cell, per message.
///
/// Each row is samples × period ÷ on-CPU time of the time passes × clean CPU
/// time per message, so that what the observer costs is in none of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Receipt {
    /// The end it is of.
    pub role: Role,
    /// Size of its messages.
    pub size: Bytes,
    /// The samples that rows were counted from.
    #[serde(flatten)]
    pub sampling: Sampled,
    /// Clean CPU time per message, in ns: what rows and `not_sampled` sum to.
    pub cpu: Figure,
    /// How far each block moves it.
    #[serde(skip)]
    pub cpu_moved: Moved,
    /// Clean wall time per message, in ns.
    pub wall: Figure,
    /// The sampled CPU time, row by row.
    #[serde(flatten)]
    pub rows: Rows,
    /// By direction, with the rates that follow.
    pub split: Split,
    /// The time that no sample shows.
    #[serde(flatten)]
    pub unseen: Unsampled,
    /// Calls per message, where they were counted.
    pub calls: BTreeMap<String, Calls>,
    /// The sums, against what was measured apart from them.
    pub closure: Closure,
    /// The observer's cost; `None` where no block has both passes.
    pub observer: Option<Observer>,
    /// The processor's counters; empty where there are none.
    pub counters: BTreeMap<Layer, LayerCounters>,
    /// Share that each rule decided, in the rules' order; rules that decided
    /// nothing are left out.
    pub rules: Vec<RuleShare>,
    /// Kernel samples without a layer and without a category, as shares.
    pub undecided: [f64; 2],
    /// Every doubt, the gravest first.
    pub doubts: Vec<Doubt>,
    /// ns per message that one sample stands for.
    pub each: f64,
}

/// The samples of all time passes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sampled {
    /// The clock or event that they are spaced by.
    pub source: SampleSource,
    /// By how much.
    pub period: u64,
    /// True where samples were taken with the tick.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub with_tick: bool,
    /// Their number.
    pub samples: u64,
    /// Number of time passes.
    pub passes: usize,
}

/// Rows by each attribute; those of one attribute sum to what was sampled.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rows {
    /// One row a category.
    pub categories: Vec<Row<Category>>,
    /// One row a layer.
    pub layers: Vec<Row<Layer>>,
    /// One row a context: what softirqs and hard interrupts took.
    pub contexts: Vec<Row<Context>>,
    /// One row a layer, context and direction.
    pub paths: Vec<Row<Path>>,
    /// One row a layer and category: what kind of work each layer did.
    #[serde(skip)]
    pub work: Vec<Row<(Layer, Category)>>,
    /// One row a function.
    pub functions: Vec<Row<String>>,
    /// Getting into the kernel and out again; these rows are part of others.
    pub crossings: Vec<Row<Crossing>>,
    /// Work that touches payload (1993's checksum and data movement), all of it;
    /// part of other rows.
    pub touching: Row<()>,
}

/// Time per message, in ns, that is in no row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Unsampled {
    /// CPU time that no sample shows: the remainder, which may be negative.
    pub not_sampled: Figure,
    /// Next to it, what switching was measured to cost; `None` if it was not.
    pub switching: Option<Figure>,
    /// Ready but not on a CPU, without `charged`; `None` if not measured.
    pub runnable: Option<Figure>,
    /// Charged as CPU time while the end had no CPU, mostly on its way to one: part of the
    /// CPU time, and no sample shows it. Negative where a hypervisor took the CPU away; `None`
    /// if not measured.
    pub charged: Option<Figure>,
    /// Time for which samples were due while the end ran, and which the kernel did not make: part of
    /// `not_sampled`; `None` where there are none, or the times at which they were due are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<Figure>,
    /// Asleep; `None` if not measured.
    pub blocked: Option<Figure>,
    /// Share of other programs in the time that its CPUs were busy, 0 to 1; `None` where the end
    /// alone was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
}

/// Exact calls per message of one function.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calls {
    /// Way in which they were counted: the best of the passes. What others counted
    /// by another is left out.
    pub tier: Option<CountTier>,
    /// Per message.
    pub per_message: Figure,
    /// Calls per message of each count pass that has it.
    pub passes: Vec<f64>,
    /// Share per message of one call of a pass: the mean over passes.
    pub each: f64,
}

/// Shares that one rule decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleShare {
    /// The rule.
    pub name: String,
    /// Share of all samples whose layer it decided.
    pub layer: f64,
    /// Share whose category it decided.
    pub category: f64,
}

/// Passes that no receipt can be made from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptError {
    /// A kind of pass is missing.
    #[error("there is no {0} pass; a receipt needs at least one of each, and five to be sound")]
    NoPass(&'static str),
    /// A pass without messages or time.
    #[error("a {0} pass has no messages or no time; leave it out, or run it longer")]
    EmptyPass(&'static str),
    /// Passes that are sampled differently.
    #[error("time passes have samples spaced differently; sample all passes of a cell alike")]
    Mixed,
    /// Nothing was sampled.
    #[error("no time pass has a sample; run longer, or choose a shorter period")]
    NoSamples,
}

impl Receipt {
    /// Makes a receipt of samples that are counted already, one tally a time
    /// pass; the stacks of `passes` are not looked at.
    ///
    /// # Errors
    /// A pass that is missing, empty, or sampled differently from the others.
    pub fn from_tallies(
        passes: &Passes,
        tallies: &[Tally],
        counters: BTreeMap<Layer, LayerCounters>,
        rules: &Rules,
    ) -> Result<Self, ReceiptError> {
        let first = check(passes)?;
        let basis = basis(passes, tallies);
        if basis.samples == 0 {
            return Err(ReceiptError::NoSamples);
        }
        let wall = ratio(&passes.clean.iter().map(|pass| (pass.wall.get() as f64, pass.messages)).collect::<Vec<_>>()).figure();
        let of_cpu = |(tally, whole): (&Tally, &f64)| (tally.samples as f64 * basis.period, *whole);
        let share = ratio(&tallies.iter().zip(&basis.whole).map(of_cpu).collect::<Vec<_>>()).figure();
        let [switching, ready, blocked, runnable_alone, by_waits] = waits(&passes.waits);
        let switches = switches(&passes.time, tallies, switching.map_or(0.0, |s| s.value));
        let sampled = sampled(&passes.time, tallies).scaled(1.0 / switches);
        let by_records = charged(&passes.time, basis.clean, switches);
        // The scheduler's tracepoints have a thread on its way to a CPU that charges it already.
        // What the clock of a task leaves out is what it is charged while perf events have not begun to
        // look: less than the way to a CPU that the tracepoints see, which their own sum tells.
        let by_task = passes.time.iter().any(|pass| pass.profile.source == SampleSource::TaskClock);
        let (runnable, charged) = match by_records {
            Some(_) if by_task => (runnable_alone, by_records),
            // Programs at the tracepoints of a switch are charged as well, in the wait passes alone: their own
            // sum tells how much. No more than half as much again, so that a wait counted twice still shows.
            Some(charged) => {
                let least = charged.value - switching.map_or(0.0, |s| s.value);
                let most = (charged.value + 0.5 * charged.value.abs()).max(least);
                let both = by_waits.map_or(least, |both| both.value.clamp(least, most));
                (ready.map(|ready| ready.less(both)), by_records)
            }
            None => (runnable_alone, by_waits),
        };
        let sums = Sums {
            role: passes.role,
            sampled,
            met: met(&passes.time),
            cpu: basis.clean.value,
            wall: wall.value,
            share: share.value,
            charged: by_records.map(|charged| charged.value),
            switching: switching.map(|s| s.value),
            waits: runnable.zip(blocked).map(|(runnable, blocked)| [runnable.value, blocked.value]),
            kernel_threads: per_message(&passes.clean, |pass| (pass.kernel_threads, pass.messages)),
            own: own(&passes.waits),
            calibrated: passes.time.iter().any(|pass| pass.calibrated),
        };
        let mut receipt = Self {
            role: passes.role,
            size: passes.size,
            sampling: Sampled {
                source: first.profile.source,
                period: first.profile.period,
                with_tick: passes.time.iter().any(|pass| pass.account.is_some_and(|account| account.with_tick)),
                samples: basis.samples,
                passes: passes.time.len(),
            },
            cpu: basis.clean,
            cpu_moved: basis.clean_moved.clone(),
            wall,
            rows: Rows::from_tallies(&basis, tallies),
            split: Split::from_tallies(&basis, tallies, passes.size),
            unseen: Unsampled {
                not_sampled: remainder(share, basis.clean),
                switching,
                runnable,
                charged,
                missed: missed(&passes.time).map(|share| product(share, basis.clean)),
                blocked,
                others: others(&passes.time, basis.samples),
            },
            calls: calls(passes),
            closure: Closure::from_sums(&sums),
            observer: Observer::from_passes(&passes.time, &passes.clean),
            counters,
            rules: rule_shares(rules, tallies, basis.samples),
            undecided: undecided(tallies),
            doubts: Vec::new(),
            each: basis.each() * basis.clean.value,
        };
        receipt.doubts = receipt.doubted(passes);
        Ok(receipt)
    }

    /// How its sums stand.
    pub fn footing(&self) -> Footing {
        Footing::of(&self.doubts)
    }

    /// True where it does not add up: then its rows are not to be used.
    pub fn is_red(&self) -> bool {
        self.doubts.iter().any(|doubt| doubt.gravity() == Gravity::Red)
    }

    /// Takes sums of a program that has a CPU for `ns` at a time for what they are: its timers
    /// strike some µs late, and what falls due near a burst's end is another's. Red sums that are
    /// off for that reason become a doubt of their own; what is off by more stays red.
    ///
    /// Only for samples of which none is known to be missing: whoever calls has compared them
    /// with the event's own count.
    pub fn allow_bursts(&mut self, ns: f64) {
        let sampler = self.closure.sampler.value;
        let explained = |closure: f64| (closure - 1.0).abs() <= (sampler - 1.0).abs() + (WALL.end() - 1.0);
        let before = self.doubts.len();
        self.doubts.retain(|doubt| match doubt {
            Doubt::Dropped { .. } => false,
            Doubt::Cpu { closure, .. } | Doubt::Wall { closure, .. } => !explained(*closure),
            _ => true,
        });
        if self.doubts.len() < before {
            self.doubts.push(Doubt::Bursts { closure: sampler, ns });
            self.doubts.sort_by_key(|doubt| std::cmp::Reverse(doubt.gravity()));
        }
    }

    /// The largest of the causes that the passes show.
    fn cause(&self, passes: &Passes) -> Cause {
        let lost: u64 = passes.time.iter().map(|pass| pass.profile.lost).fold(0, u64::saturating_add);
        let throttled: u64 = passes.time.iter().map(|pass| pass.profile.throttled).sum();
        let mean = |shares: &mut dyn ExactSizeIterator<Item = f64>| {
            let passes = shares.len().max(1);
            shares.sum::<f64>() / passes as f64
        };
        let time = mean(&mut passes.time.iter().map(|pass| pass.stolen));
        let stolen = time.max(mean(&mut passes.waits.iter().map(|pass| pass.stolen)));
        let shares = [
            (lost as f64 / (self.sampling.samples + lost) as f64, (|share| Cause::Lost { share }) as fn(f64) -> Cause),
            (stolen, |share| Cause::Stolen { share }),
            (self.unseen.others.unwrap_or(0.0), |share| Cause::Others { share }),
            (late(&passes.time), |share| Cause::Late { share }),
        ];
        let missed = self.unseen.missed.map(|missed| missed.value / self.cpu.value).filter(|share| *share >= Cause::LEAST);
        let largest = shares.into_iter().filter(|(share, _)| *share >= Cause::LEAST).max_by(|(a, _), (b, _)| a.total_cmp(b));
        match largest {
            Some((share, cause)) => cause(share),
            None if throttled > 0 => Cause::Throttled { times: throttled },
            // After the others, which make the kernel miss some.
            None => missed.map_or(Cause::Unknown, |share| Cause::Missed { share }),
        }
    }

    /// By how much chance moves a sum of the samples, twice its standard error, where an end is met this share of the times.
    fn chance(&self, met: f64) -> f64 {
        2.0 * ((1.0 - met).clamp(0.0, 1.0) / self.sampling.samples.max(1) as f64).sqrt()
    }

    fn doubted(&self, passes: &Passes) -> Vec<Doubt> {
        let calibrated = passes.time.iter().any(|pass| pass.calibrated);
        let charged = self.unseen.charged.map_or(0.0, |charged| charged.value);
        // An end of several CPUs has each for an unknown share of the time.
        let share = Some((self.cpu.value - charged) / self.wall.value).filter(|share| *share <= 1.0).unwrap_or(0.0);
        let known = Known {
            role: self.role,
            switching: self.unseen.switching.is_some(),
            calibrated,
            apart: passes.time.iter().all(|pass| pass.ran().is_some()),
            cause: self.cause(passes),
            chance: if self.sampling.samples < self.sampling.least() { self.chance(0.0) } else { 0.0 },
            met_by_chance: self.chance(share),
        };
        let mut doubts = crate::closure::doubts(&self.closure, &known);
        if let Some(observer) = self.observer.filter(|observer| observer.ratio.value > OBSERVER) {
            doubts.push(Doubt::Observer { ratio: observer.ratio.value });
        }
        let of = self.sampling.least();
        if self.sampling.samples < of {
            doubts.push(Doubt::FewSamples { missing: of - self.sampling.samples, of });
        }
        if passes.time.len() < LEAST_PASSES || passes.clean.len() < LEAST_PASSES {
            doubts.push(Doubt::FewPasses { time: passes.time.len(), clean: passes.clean.len() });
        }
        let sum = |count: fn(&TimePass) -> u64| passes.time.iter().map(count).fold(0, u64::saturating_add);
        let marks = [
            (sum(|pass| pass.profile.lost), (|samples| Doubt::Lost { samples }) as fn(u64) -> Doubt),
            (sum(|pass| pass.profile.throttled), |times| Doubt::Throttled { times }),
            (sum(|pass| pass.profile.broken), |samples| Doubt::Broken { samples }),
        ];
        doubts.extend(marks.into_iter().filter(|(count, _)| *count > 0).map(|(count, doubt)| doubt(count)));
        let [layer, category] = self.undecided;
        if layer > MOST_OTHER || category > MOST_OTHER {
            doubts.push(Doubt::Undecided { layer, category });
        }
        doubts.sort_by_key(|doubt| std::cmp::Reverse(doubt.gravity()));
        doubts
    }
}

/// Share of the samples that a task's own timer counted time for, and that did not come: the timer
/// is armed again at each switch, and one that is due within the delay of its delivery is put off.
/// 0 where the timers of whole CPUs made the samples.
fn late(passes: &[TimePass]) -> f64 {
    let per_task = passes.iter().filter(|pass| match pass.profile.source {
        SampleSource::TaskClock => true,
        SampleSource::CpuClock => pass.ran().is_none(),
        SampleSource::Cycles => false,
    });
    let (came, due) = per_task.fold((0.0, 0.0), |(came, due), pass| match pass.account {
        Some(Account { recorded, counted: Some(counted), .. }) => (came + (recorded * pass.profile.period) as f64, due + counted as f64),
        _ => (came, due),
    });
    if due > 0.0 { 1.0 - came / due } else { 0.0 }
}

impl Sampled {
    /// Number of samples that a receipt needs.
    fn least(&self) -> u64 {
        if self.with_tick { SAMPLES_WITH_TICK } else { LEAST_SAMPLES }
    }
}

impl Rows {
    fn from_tallies(basis: &Basis, tallies: &[Tally]) -> Self {
        fn each<K>(tallies: &[Tally], of: impl Fn(&Tally) -> &BTreeMap<K, u64>) -> Vec<&BTreeMap<K, u64>> {
            tallies.iter().map(of).collect()
        }
        let touching: Vec<u64> = tallies.iter().map(|tally| tally.touching.get(&true).copied().unwrap_or(0)).collect();
        Self {
            categories: basis.rows(&each(tallies, |tally| &tally.categories)),
            layers: basis.rows(&each(tallies, |tally| &tally.layers)),
            contexts: basis.rows(&each(tallies, |tally| &tally.contexts)),
            paths: basis.rows(&each(tallies, |tally| &tally.paths)),
            work: basis.rows(&each(tallies, |tally| &tally.work)),
            functions: basis.rows(&each(tallies, |tally| &tally.functions)),
            crossings: basis.rows(&each(tallies, |tally| &tally.crossings)),
            touching: basis.row((), &touching),
        }
    }
}

fn check(passes: &Passes) -> Result<&TimePass, ReceiptError> {
    let first = passes.time.first().ok_or(ReceiptError::NoPass("time"))?;
    if passes.clean.is_empty() {
        return Err(ReceiptError::NoPass("clean"));
    }
    let some = |messages: f64| messages.is_finite() && messages > 0.0;
    if passes.clean.iter().any(|pass| !some(pass.messages) || pass.cpu.get() == 0 || pass.wall.get() == 0) {
        return Err(ReceiptError::EmptyPass("clean"));
    }
    if passes.time.iter().any(|pass| !some(pass.messages) || pass.cpu.get() == 0 || pass.on_cpu == 0 && pass.ran().is_none()) {
        return Err(ReceiptError::EmptyPass("time"));
    }
    if passes.waits.iter().any(|pass| !some(pass.messages)) {
        return Err(ReceiptError::EmptyPass("wait"));
    }
    if passes.counts.iter().any(|pass| !some(pass.messages)) {
        return Err(ReceiptError::EmptyPass("count"));
    }
    // Clocks of tasks and of CPUs are both of ns.
    let unit = |pass: &TimePass| (pass.profile.source == SampleSource::Cycles, pass.profile.period);
    let alike = |pass: &TimePass| unit(pass) == unit(first);
    if passes.time.iter().all(alike) { Ok(first) } else { Err(ReceiptError::Mixed) }
}

fn basis(passes: &Passes, tallies: &[Tally]) -> Basis {
    let pairs: Vec<(f64, f64)> = passes.clean.iter().map(|pass| (pass.cpu.get() as f64, pass.messages)).collect();
    Basis {
        blocks: passes.time.iter().map(|pass| pass.block).collect(),
        clean_moved: moved(&passes.clean.iter().map(|pass| pass.block).collect::<Vec<_>>(), &pairs),
        period: passes.time.first().map_or(0.0, |pass| pass.profile.period as f64),
        whole: passes.time.iter().map(TimePass::whole).collect(),
        samples: tallies.iter().map(|tally| tally.samples).sum(),
        clean: ratio(&pairs).figure(),
    }
}

/// A time per message over passes.
fn per_message<P>(passes: &[P], of: impl Fn(&P) -> (Nanos, f64)) -> f64 {
    let pair = |pass| {
        let (time, messages) = of(pass);
        (time.get() as f64, messages)
    };
    ratio(&passes.iter().map(pair).collect::<Vec<_>>()).value
}

/// CPU time, the part of kernel threads, and wall time of wait passes, per message.
fn own(passes: &[WaitPass]) -> Option<[f64; 3]> {
    let own = [
        per_message(passes, |pass| (pass.cpu, pass.messages)),
        per_message(passes, |pass| (pass.kernel_threads, pass.messages)),
        per_message(passes, |pass| (pass.wall, pass.messages)),
    ];
    Some(own).filter(|own| own[2] > 0.0)
}

/// The share of the on-CPU time that samples account for.
fn sampled(time: &[TimePass], tallies: &[Tally]) -> Figure {
    let pair = |(tally, pass): (&Tally, &TimePass)| (tally.samples as f64 * pass.profile.period as f64, pass.on_cpu as f64);
    ratio(&tallies.iter().zip(time).map(pair).collect::<Vec<_>>()).figure()
}

/// The on-CPU time over the time between records of switches: 1 and up to what `switching`, in
/// ns per message, adds. A switch lies outside the records, and a timer of a CPU that strikes in
/// it shows one of its tasks; how much of the switch is seen depends on whether the CPU was idle.
fn switches(time: &[TimePass], tallies: &[Tally], switching: f64) -> f64 {
    let whole_cpus = time.iter().all(|pass| pass.profile.source == SampleSource::CpuClock);
    let Some(ran) = time.iter().map(|pass| Some(pass.ran()?.get() as f64)).sum::<Option<f64>>().filter(|_| whole_cpus) else {
        return 1.0;
    };
    let messages: f64 = time.iter().map(|pass| pass.messages).sum();
    let seen: f64 = tallies.iter().zip(time).map(|(tally, pass)| tally.samples as f64 * pass.profile.period as f64).sum();
    (seen / ran).min(1.0 + switching * messages / ran).max(1.0)
}

/// The times at which timers that strike with the tick were due while the end had the CPU, times the period, over its time
/// on the CPU: each either met it or did not. `None` of other timers.
fn met(time: &[TimePass]) -> Option<f64> {
    let with_tick = time.iter().filter_map(|pass| pass.account.filter(|account| account.with_tick));
    let pair = |account: Account| Some((account.sampled_for?.get() as f64, account.on_cpu?.get() as f64));
    let (due, on_cpu) = with_tick.filter_map(pair).fold((0.0, 0.0), |(due, sum), pair| (due + pair.0, sum + pair.1));
    (on_cpu > 0.0).then_some(due / on_cpu)
}

/// CPU time per message that was charged while the end had no CPU, by the records of switches;
/// `None` where a pass lacks them.
fn charged(time: &[TimePass], clean: Figure, switches: f64) -> Option<Figure> {
    let pair = |pass: &TimePass| {
        let cpu = pass.unwatched().get() as f64;
        Some((cpu - switches * pass.ran()?.get() as f64, cpu))
    };
    let pairs: Option<Vec<(f64, f64)>> = time.iter().map(pair).collect();
    pairs.map(|pairs| product(ratio(&pairs).figure(), clean))
}

/// The share of the CPU time for which samples were due while the end ran, and were not made, in the passes that tell;
/// `None` where none does, or none has any.
fn missed(time: &[TimePass]) -> Option<Figure> {
    let pair = |pass: &TimePass| Some((pass.account?.missed? as f64 * pass.profile.period as f64, pass.whole()));
    let pairs: Vec<(f64, f64)> = time.iter().filter_map(pair).collect();
    pairs.iter().any(|(time, _)| *time > 0.0).then(|| ratio(&pairs).figure())
}

/// The share of other programs in the time that the sampled CPUs were busy.
fn others(time: &[TimePass], samples: u64) -> Option<f64> {
    let others: u64 = time.iter().map(|pass| pass.account?.others).sum::<Option<u64>>()?;
    Some(others as f64 / (others + samples).max(1) as f64)
}

fn remainder(sampled: Figure, clean: Figure) -> Figure {
    let rest = Figure::new(1.0 - sampled.value, sampled.variance(), sampled.freedom, sampled.method);
    product(rest, clean)
}

/// Switching, runnable wait, blocked time, runnable wait without what is charged meanwhile,
/// and that, per message.
fn waits(passes: &[WaitPass]) -> [Option<Figure>; 5] {
    let figure = |of: &dyn Fn(&WaitPass) -> Option<u64>| {
        let pairs: Option<Vec<(f64, f64)>> = passes.iter().map(|pass| of(pass).map(|time| (time as f64, pass.messages))).collect();
        pairs.filter(|pairs| !pairs.is_empty()).map(|pairs| ratio(&pairs).figure())
    };
    [
        figure(&|pass| pass.waits.switching.map(Nanos::get)),
        figure(&|pass| Some(pass.waits.runnable.get())),
        figure(&|pass| Some(pass.waits.blocked.get())),
        figure(&|pass| Some(pass.waits.runnable.since(pass.charged()).get())),
        figure(&|pass| Some(pass.charged().get())),
    ]
}

/// Way in which a function was counted, and its calls and messages pass by pass.
type Counted = (Option<CountTier>, Vec<(f64, f64)>);

fn calls(passes: &Passes) -> BTreeMap<String, Calls> {
    let mut pairs: BTreeMap<&String, Counted> = BTreeMap::new();
    for pass in &passes.counts {
        for (name, count) in &pass.counts.calls {
            let own = pass.counts.tier.get(name).copied();
            let (tier, pairs) = pairs.entry(name).or_insert_with(|| (own, Vec::new()));
            // A way that is not told is worse than any.
            let rank = |tier: Option<CountTier>| tier.map_or(usize::MAX, |tier| tier as usize);
            if rank(own) < rank(*tier) {
                (*tier, *pairs) = (own, Vec::new());
            }
            if own == *tier {
                pairs.push((*count as f64, pass.messages));
            }
        }
    }
    let calls = |(name, (tier, pairs)): (&String, Counted)| {
        let passes = pairs.iter().map(|(count, messages)| count / messages).collect();
        let each = pairs.iter().map(|(_, messages)| 1.0 / messages).sum::<f64>() / pairs.len() as f64;
        (name.clone(), Calls { tier, per_message: ratio(&pairs).figure(), passes, each })
    };
    pairs.into_iter().map(calls).collect()
}

fn rule_shares(rules: &Rules, tallies: &[Tally], samples: u64) -> Vec<RuleShare> {
    let sum = |of: fn(&Tally) -> &BTreeMap<u16, u64>, rule: u16| tallies.iter().filter_map(|tally| of(tally).get(&rule)).sum::<u64>();
    let share = |count: u64| count as f64 / samples as f64;
    let shares = (0..rules.len() as u16).filter_map(|rule| {
        let [layer, category] = [sum(|tally| &tally.by_layer_rule, rule), sum(|tally| &tally.by_category_rule, rule)];
        let name = rules.name(rule).filter(|_| layer + category > 0)?;
        Some(RuleShare { name: name.to_owned(), layer: share(layer), category: share(category) })
    });
    shares.collect()
}

fn undecided(tallies: &[Tally]) -> [f64; 2] {
    let kernel: u64 = tallies.iter().map(|tally| tally.kernel).sum();
    [0, 1].map(|axis| tallies.iter().map(|tally| tally.undecided[axis]).sum::<u64>() as f64 / kernel.max(1) as f64)
}
