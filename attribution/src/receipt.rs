//! The receipt of one end of one cell, made from its passes by rules.

use std::collections::BTreeMap;

use model::profile::{Account, SampleSource, Waits};
use model::sorting::{Gather, Order};
use model::{Bytes, Nanos, Role};
use serde::Serialize;

use crate::attributes::{Attributes, Category, Context, Crossing, Layer, Phase};
use crate::closure::{BilledSum, Closure, OBSERVER, Observer};
use crate::counters::LayerCounters;
use crate::doubt::{Cause, Doubt, Footing, LEAST_PASSES, LEAST_SAMPLES, MOST_OTHER};
use crate::figure::{Figure, Sampling, product, ratio, share};
use crate::passes::{Passes, TimePass, WaitPass};
use crate::phases::Stack;
use crate::rows::{Basis, Influence, Path, Row, Split, Tally, moved};
use crate::rules::Rules;

/// Name of the row of CPU time that the clock gives an end for a wake-up, before it has a CPU.
pub const BILLED: &str = "billed before it ran";

/// The time of one end of one cell, per message.
///
/// Each row is its samples × period ÷ CPU clock, in the time passes, × clean CPU time per message. Records of switches bound
/// their sum: where samples are more than the time on a CPU has room for, each stands for less; where they are fewer, the
/// rest is [`OffCpu::unsampled`]. The observer's cost is in no row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Receipt {
    /// The end it is of.
    pub role: Role,
    /// Size of its messages.
    pub size: Bytes,
    /// The samples that rows were counted from.
    #[serde(flatten)]
    pub sampling: Sampled,
    /// Clean CPU time per message, in ns: what rows, `unsampled` and `charged` sum to.
    pub cpu: Figure,
    /// The factors that turn samples into time, for rows of other kinds than these.
    #[serde(skip)]
    pub basis: Basis,
    /// Clean wall time per message, in ns.
    pub wall: Figure,
    /// The sampled CPU time, row by row.
    #[serde(flatten)]
    pub rows: Rows,
    /// By direction, with the rates that follow.
    pub split: Split,
    /// The time in which it had no CPU.
    #[serde(flatten)]
    pub off_cpu: OffCpu,
    /// Calls per message, where they were counted.
    pub calls: BTreeMap<String, Calls>,
    /// The sums, compared with independent measurements.
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
    /// By how much, on average: it differs by up to a tenth from pass to pass.
    pub period: u64,
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
    /// One row a phase and layer of 1997.
    #[serde(skip)]
    pub phases: Vec<Row<(Option<Phase>, Stack)>>,
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

/// Time per message, in ns, in which the end had no CPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OffCpu {
    /// Billed before it ran: CPU time by its clock, mostly between its wake-up and its first instruction. A row of
    /// the CPU time; `None` without records of switches.
    pub charged: Option<Figure>,
    /// On a CPU, and no sample shows it: a row of the CPU time as well. A timer that is due as the end goes to sleep fires
    /// when it has left its CPU, and nothing shows its first microseconds there. `None` without records of switches.
    pub unsampled: Option<Figure>,
    /// Ready but not on a CPU, without `charged`; `None` if not measured.
    pub runnable: Option<Figure>,
    /// Asleep; `None` if not measured.
    pub blocked: Option<Figure>,
    /// Share of other programs in the time that its CPUs were busy, 0 to 1; `None` where the end
    /// alone was sampled, or other programs could not be distinguished from idle time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
    /// True where other programs could not be distinguished from idle time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub others_unknown: bool,
    /// Work of softirqs while its CPUs were otherwise idle. No process is billed for it: it is no part of the CPU time.
    /// `None` where the end alone was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_softirq: Option<Figure>,
}

/// Exact calls per message of one function.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calls {
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
    #[error("some time passes have samples spaced by cycles, others by time; sample all passes of a cell alike")]
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
        if basis.all() == 0 {
            return Err(ReceiptError::NoSamples);
        }
        let wall = per_message(&passes.clean, |pass| (pass.wall, pass.messages));
        let recorded = has_records(&passes.time);
        let charged = recorded.then(|| billed(&basis));
        let unsampled = recorded.then(|| product(between(&basis, &times(&passes.time, tallies)), basis.clean));
        let [ready, blocked] = [|waits: &Waits| waits.runnable, |waits: &Waits| waits.blocked]
            .map(|of| (!passes.waits.is_empty()).then(|| per_message(&passes.waits, |pass| (of(&pass.waits), pass.messages))));
        let runnable = ready.map(|ready| ready.less(charged.map_or(0.0, |charged| billed_twice(&passes.waits, charged))));
        let kernel_threads = per_message(&passes.clean, |pass| (pass.kernel_threads, pass.messages)).value;
        let off_cpu = runnable.zip(blocked).filter(|_| charged.is_some()).map(|(runnable, blocked)| [runnable.value, blocked.value]);
        let unseen = per_message(&passes.waits, |pass| (pass.waits.unseen, pass.messages)).value;
        // What is unseen was waited or run: it makes no sum better than whole.
        let whole = |[cpu, kernel_threads, wall]: [f64; 3]| {
            let sum = off_cpu.map(|[runnable, blocked]| (cpu - kernel_threads + runnable + blocked) / wall)?;
            Some(if unseen > 0.0 && sum < 1.0 { (sum + unseen / wall).min(1.0) } else { sum })
        };
        let (others, others_unknown) = others(&passes.time, basis.all());
        let mut receipt = Self {
            role: passes.role,
            size: passes.size,
            sampling: Sampled {
                source: first.profile.source,
                period: passes.time.iter().map(|pass| pass.profile.period).sum::<u64>() / passes.time.len() as u64,
                samples: basis.all(),
                passes: passes.time.len(),
            },
            cpu: basis.clean,
            wall,
            rows: Rows::from_tallies(&basis, tallies),
            split: Split::from_tallies(&basis, tallies, passes.size),
            off_cpu: OffCpu { charged, unsampled, runnable, blocked, others, others_unknown, idle_softirq: idle_softirq(&passes.time) },
            calls: calls(passes),
            closure: Closure {
                sampler: sampled(&passes.time, tallies),
                wall: whole([basis.clean.value, kernel_threads, wall.value]),
                own: own(&passes.waits).and_then(whole),
                billed: BilledSum::from_passes(&passes.time),
            },
            observer: Observer::from_passes(passes),
            counters,
            rules: rule_shares(rules, tallies, basis.all()),
            undecided: undecided(tallies),
            doubts: Vec::new(),
            each: basis.each(),
            basis,
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
        self.footing() == Footing::Off
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
            (self.off_cpu.others.unwrap_or(0.0), |share| Cause::Others { share }),
            (late(&passes.time), |share| Cause::Late { share }),
        ];
        let largest = shares.into_iter().filter(|(share, _)| *share >= Cause::LEAST).max_by(|(a, _), (b, _)| a.total_cmp(b));
        match largest {
            Some((share, cause)) => cause(share),
            None if throttled > 0 => Cause::Throttled { times: throttled },
            None => Cause::Unknown,
        }
    }

    fn doubted(&self, passes: &Passes) -> Vec<Doubt> {
        let mut doubts = crate::closure::doubts(&self.closure, self.sampling.samples, self.cause(passes));
        if let Some(observer) = self.observer.as_ref().filter(|observer| observer.ratio.value > OBSERVER) {
            doubts.push(Doubt::Observer { ratio: observer.ratio.value });
        }
        if self.sampling.samples < LEAST_SAMPLES {
            doubts.push(Doubt::FewSamples { missing: LEAST_SAMPLES - self.sampling.samples });
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
        doubts.order_by_key(|doubt| std::cmp::Reverse(doubt.gravity()));
        doubts
    }
}

/// Share of the samples that a task's own timer counted time for, and that did not come: the timer
/// is armed again at each switch, and one that is due within the delay of its delivery is put off.
/// 0 where the timers of whole CPUs made the samples.
fn late(passes: &[TimePass]) -> f64 {
    let by_task = passes.iter().filter(|pass| pass.profile.source == SampleSource::TaskClock);
    let (came, due) = by_task.fold((0.0, 0.0), |(came, due), pass| match pass.account {
        Some(Account { recorded, counted: Some(counted), .. }) => (came + (recorded * pass.profile.period) as f64, due + counted as f64),
        _ => (came, due),
    });
    if due > 0.0 { 1.0 - came / due } else { 0.0 }
}

impl Rows {
    fn from_tallies(basis: &Basis, tallies: &[Tally]) -> Self {
        let touching: Vec<u64> = tallies.iter().map(|tally| tally.count(&|kind, _| kind.category.touches_data())).collect();
        let mut functions = Vec::new();
        for (pass, tally) in tallies.iter().enumerate() {
            functions.extend(tally.functions.iter().map(|(name, count)| (name.clone(), pass, *count)));
        }
        Self {
            categories: basis.rows_by(tallies, |kind| Some(kind.category)),
            layers: basis.rows_by(tallies, |kind| Some(kind.layer)),
            contexts: basis.rows_by(tallies, |kind| Some(kind.context)),
            paths: basis.rows_by(tallies, |kind| Some(Path { layer: kind.layer, context: kind.context, direction: kind.direction })),
            phases: basis.rows_by(tallies, |kind| Some((kind.phase, Stack::of(kind.layer)))),
            work: basis.rows_by(tallies, |kind| Some((kind.layer, kind.category))),
            functions: basis.rows(functions),
            crossings: basis.rows_by(tallies, |kind| kind.crossing),
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
    if passes.time.iter().any(|pass| !some(pass.messages) || pass.cpu.get() == 0) {
        return Err(ReceiptError::EmptyPass("time"));
    }
    if passes.waits.iter().any(|pass| !some(pass.messages)) {
        return Err(ReceiptError::EmptyPass("wait"));
    }
    if passes.counts.iter().any(|pass| !some(pass.messages)) {
        return Err(ReceiptError::EmptyPass("count"));
    }
    // Clocks of tasks and of CPUs are both of ns.
    let alike = |pass: &TimePass| (pass.profile.source == SampleSource::Cycles) == (first.profile.source == SampleSource::Cycles);
    if passes.time.iter().all(alike) { Ok(first) } else { Err(ReceiptError::Mixed) }
}

fn basis(passes: &Passes, tallies: &[Tally]) -> Basis {
    let pairs: Vec<(f64, f64)> = passes.clean.iter().map(|pass| (pass.cpu.get() as f64, pass.messages)).collect();
    let times = times(&passes.time, tallies);
    let (clean, [level, presence]) = (ratio(&pairs).figure(), [level(&times, |pass| pass.sampled), level(&times, |pass| pass.on_cpu)]);
    let blocks: Vec<u32> = passes.time.iter().map(|pass| pass.block).collect();
    let clean_moved = moved(&passes.clean.iter().map(|pass| pass.block).collect::<Vec<_>>(), &pairs);
    let mut on_cpu_moved: Influence = clean_moved.iter().map(|(block, by)| (*block, by * level.value)).into_map();
    for (block, by) in moved(&blocks, &levels(&times, |pass| pass.sampled)) {
        *on_cpu_moved.entry(block).or_default() += by * clean.value;
    }
    let samples = tallies.iter().map(|tally| tally.samples).collect();
    Basis { samples, blocks, level, presence, clean, clean_moved, on_cpu: product(level, clean).not_negative(), on_cpu_moved }
}

fn has_records(time: &[TimePass]) -> bool {
    time.iter().all(|pass| pass.on_cpu().is_some())
}

/// Times of one time pass, in ns.
struct Times {
    /// That samples show, no more in all passes than `on_cpu`.
    sampled: f64,
    /// On a CPU by the records of switches; the CPU clock's where a pass lacks them.
    on_cpu: f64,
    /// By the CPU clock.
    clock: f64,
}

fn times(time: &[TimePass], tallies: &[Tally]) -> Vec<Times> {
    let recorded = has_records(time);
    let on_cpu = |pass: &TimePass| pass.on_cpu().filter(|_| recorded).unwrap_or(pass.cpu).get() as f64;
    let seen = |(pass, tally): (&TimePass, &Tally)| {
        if tally.samples == 0 {
            return Some(0.0);
        }
        let due = pass.due(tally.samples).filter(|due| recorded && *due > 0)?;
        Some(on_cpu(pass) * tally.samples as f64 * pass.profile.period as f64 / due as f64)
    };
    let sampled: Option<Vec<f64>> = time.iter().zip(tallies).map(seen).collect::<Option<_>>().filter(|_| recorded);
    let whole: Vec<f64> = time.iter().map(on_cpu).collect();
    // Whole: samples beyond the time on a CPU are more by chance, or by the sampler's own work.
    let sampled = sampled.filter(|sampled| sampled.iter().sum::<f64>() < whole.iter().sum()).unwrap_or_else(|| whole.clone());
    let parts = sampled.into_iter().zip(whole).zip(time);
    parts.map(|((sampled, on_cpu), pass)| Times { sampled, on_cpu, clock: pass.cpu.get() as f64 }).collect()
}

fn levels(times: &[Times], of: fn(&Times) -> f64) -> Vec<(f64, f64)> {
    times.iter().map(|pass| (of(pass), pass.clock)).collect()
}

/// A time of all passes as a share of their CPU time. All of it at most: a hypervisor that takes the CPU away stops the
/// CPU clock, and not the time between two records.
fn level(times: &[Times], of: fn(&Times) -> f64) -> Figure {
    let level = ratio(&levels(times, of)).figure();
    Figure::new(level.value.min(1.0), level.variance(), level.freedom, level.method).not_negative()
}

/// CPU time per message that is billed before the end runs.
fn billed(basis: &Basis) -> Figure {
    let level = basis.presence;
    product(Figure::new(1.0 - level.value, level.variance(), level.freedom, level.method), basis.clean).not_negative()
}

/// Share of the CPU time on a CPU that no sample shows.
fn between(basis: &Basis, times: &[Times]) -> Figure {
    let error = ratio(&times.iter().map(|pass| (pass.on_cpu - pass.sampled, pass.clock)).collect::<Vec<_>>()).figure();
    Figure::new(basis.presence.value - basis.level.value, error.variance(), error.freedom, error.method)
}

/// The part of the runnable wait per message that the CPU clock bills as well. The wait passes show it themselves, with the
/// work of other programs at the scheduler's tracepoints: up to half as much again, so that a wait counted twice still shows.
fn billed_twice(waits: &[WaitPass], charged: Figure) -> f64 {
    let shown = per_message(waits, |pass| (pass.billed_twice(), pass.messages)).value;
    let least = charged.value.max(0.0);
    shown.clamp(least, 1.5 * least)
}

/// A time per message over passes.
fn per_message<P>(passes: &[P], of: impl Fn(&P) -> (Nanos, f64)) -> Figure {
    let pair = |pass| {
        let (time, messages) = of(pass);
        (time.get() as f64, messages)
    };
    ratio(&passes.iter().map(pair).collect::<Vec<_>>()).figure()
}

/// CPU time, the part of kernel threads, and wall time of wait passes, per message.
fn own(passes: &[WaitPass]) -> Option<[f64; 3]> {
    let own = [
        per_message(passes, |pass| (pass.cpu, pass.messages)),
        per_message(passes, |pass| (pass.kernel_threads, pass.messages)),
        per_message(passes, |pass| (pass.wall, pass.messages)),
    ]
    .map(|figure| figure.value);
    Some(own).filter(|own| own[2] > 0.0)
}

/// Samples × period over what they should reach; `None` where a pass has nothing to compare them with.
fn sampled(time: &[TimePass], tallies: &[Tally]) -> Option<Figure> {
    let pair =
        |(tally, pass): (&Tally, &TimePass)| Some((tally.samples as f64 * pass.profile.period as f64, pass.due(tally.samples)? as f64));
    let pairs: Option<Vec<(f64, f64)>> = tallies.iter().zip(time).map(pair).collect();
    pairs.map(|pairs| ratio(&pairs).figure())
}

/// The share of other programs in the time that the sampled CPUs were busy, and whether it is unknown: more than one
/// sample in a hundred may be theirs or of idle time.
fn others(time: &[TimePass], samples: u64) -> (Option<f64>, bool) {
    let untold = time.iter().filter_map(|pass| pass.account).map(|account| account.untold as f64).sum::<f64>();
    let others: Option<f64> = time.iter().map(|pass| Some(pass.account?.others? as f64)).sum();
    let busy = |others: f64| others + samples.max(1) as f64;
    let is_unknown = others.is_some_and(|others| untold > 0.01 * (busy(others) + untold));
    (others.filter(|_| !is_unknown).map(|others| others / busy(others)), is_unknown)
}

/// Softirq work in idle time, per message.
fn idle_softirq(time: &[TimePass]) -> Option<Figure> {
    if time.iter().any(|pass| pass.profile.source == SampleSource::Cycles) {
        return None;
    }
    let accounts: Vec<Account> = time.iter().map(|pass| pass.account).collect::<Option<_>>()?;
    let samples: Vec<f64> = accounts.iter().map(|account| Some(account.idle_softirq? as f64)).collect::<Option<_>>()?;
    let pairs: Vec<(f64, f64)> =
        samples.iter().zip(time).map(|(samples, pass)| (samples * pass.profile.period as f64, pass.messages)).collect();
    let all = accounts.iter().fold(0, |sum: u64, account| sum.saturating_add(account.recorded));
    let sum = |of: fn(&TimePass) -> f64| time.iter().map(of).sum::<f64>();
    let each = sum(|pass| pass.profile.period as f64) / time.len() as f64 / sum(|pass| pass.messages);
    Some(share(ratio(&pairs), Sampling { samples: samples.iter().sum::<f64>() as u64, of: all, each }))
}

fn calls(passes: &Passes) -> BTreeMap<String, Calls> {
    let mut pairs: BTreeMap<&String, Vec<(f64, f64)>> = BTreeMap::new();
    for pass in &passes.counts {
        for (name, count) in &pass.counts.calls {
            pairs.entry(name).or_default().push((*count as f64, pass.messages));
        }
    }
    let calls = |(name, pairs): (&String, Vec<(f64, f64)>)| {
        let passes = pairs.iter().map(|(count, messages)| count / messages).collect();
        let each = pairs.iter().map(|(_, messages)| 1.0 / messages).sum::<f64>() / pairs.len() as f64;
        (name.clone(), Calls { per_message: ratio(&pairs).figure(), passes, each })
    };
    pairs.into_iter().map(calls).collect()
}

fn rule_shares(rules: &Rules, tallies: &[Tally], samples: u64) -> Vec<RuleShare> {
    let mut decided = vec![[0_u64; 2]; rules.len()];
    for ((kind, _), count) in tallies.iter().flat_map(|tally| &tally.kinds) {
        for (axis, rule) in [kind.rule.layer, kind.rule.category].into_iter().enumerate() {
            rule.into_iter().for_each(|rule| decided[usize::from(rule)][axis] += count);
        }
    }
    let share = |count: u64| count as f64 / samples as f64;
    let shares = (0..).zip(decided).filter_map(|(rule, [layer, category])| {
        let name = rules.name(rule).filter(|_| layer + category > 0)?;
        Some(RuleShare { name: name.to_owned(), layer: share(layer), category: share(category) })
    });
    shares.collect()
}

fn undecided(tallies: &[Tally]) -> [f64; 2] {
    let count = |is: &dyn Fn(&Attributes) -> bool| tallies.iter().map(|tally| tally.count(&|kind, user| !user && is(kind))).sum::<u64>();
    let kernel = count(&|_| true).max(1) as f64;
    [count(&|kind| kind.layer == Layer::Other) as f64 / kernel, count(&|kind| kind.category == Category::Other) as f64 / kernel]
}
