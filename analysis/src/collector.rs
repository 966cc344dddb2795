//! From trial records, one by one, to an [`Analysis`].

use std::collections::{BTreeSet, HashMap};

use model::host::HostFacts;
use model::trial::{Measured, Outcome};
use model::{Bytes, Cell, Run, TrialRecord, Unavailable, Warning};

use crate::arms::Arms;
use crate::audit::MOST_BEHIND;
use crate::buffers;
use crate::conservation::Ledger;
use crate::cost::{self, Context, Trials};
use crate::figures::{self, Figures, IrqPool};
use crate::findings::Findings;
use crate::latency::{Gathered, RoundTrips};
use crate::levels::Levels;
use crate::open_loop::{self, Curves};
use crate::paths::Paths;
use crate::published;
use crate::receipt::{Gatherer, Stack};
use crate::repetitions::Repetitions;
use crate::result::{ANALYSIS_FORMAT, Analysis, CellResult, Disturbed, Estimate, Limit, Metric};
use crate::roles;
use crate::stopping::Claim;
use attribution::Rules;
use stats::bootstrap::Batches;

/// An end that keeps a CPU busy for this share of the time is what limits.
const BUSY: f64 = 0.95;

/// Gathers trials and says at the end what they show. It keeps some 350 bytes
/// of each trial, and of round-trip times what occurred in each of at most 30
/// batches of blocks, as of lateness and one-way times.
#[derive(Debug)]
pub struct Collector {
    run: Run,
    hosts: Vec<HostFacts>,
    cells: Vec<Gathering>,
    places: HashMap<Cell, usize>,
    /// Blocks with at least one trial.
    blocks: BTreeSet<u32>,
    /// Blocks with at least one trial that was measured.
    measured_blocks: BTreeSet<u32>,
    failed: u64,
    datagrams: Option<Ledger>,
    findings: Findings,
    disturbed: Disturbed,
    arms: Arms,
    buffers: buffers::Gatherer,
    levels: Levels,
    repetitions: Repetitions,
    /// Of a study with receipts.
    receipt: Option<Box<Gatherer>>,
}

/// What is kept of one cell.
#[derive(Debug)]
pub(crate) struct Gathering {
    pub cell: Cell,
    pub figures: Vec<Figures>,
    /// Interrupt time of the sender and of the receiver.
    pub irq: [IrqPool; 2],
    round_trips: Gathered,
    /// From the actual time of each request.
    uncorrected: Gathered,
    lateness: Gathered,
    beyond_least: Gathered,
    pub segment: Option<Bytes>,
}

impl Gathering {
    pub fn new(cell: &Cell) -> Self {
        let none = Gathered::default;
        Self {
            cell: cell.clone(),
            figures: Vec::new(),
            irq: Default::default(),
            round_trips: none(),
            uncorrected: none(),
            lateness: none(),
            beyond_least: none(),
            segment: None,
        }
    }

    /// Of the round trips, from the intended and from the actual time.
    fn curves(&self) -> Curves {
        [&self.round_trips, &self.uncorrected].map(|times| times.curve(&open_loop::PERCENTS))
    }
}

impl Collector {
    /// A run on these hosts, with the warnings it carries and no trial yet.
    pub fn new(run: Run, hosts: Vec<HostFacts>) -> Self {
        let cells: Vec<Gathering> = run.plan.cells.iter().map(Gathering::new).collect();
        let places = run.plan.cells.iter().enumerate().map(|(place, cell)| (cell.clone(), place)).collect();
        let mut findings = Findings::default();
        let receipt = run.plan.receipt.and_then(|_| match Gatherer::new(&run.plan) {
            Ok(gatherer) => Some(Box::new(gatherer)),
            Err(error) => {
                findings.push_run(&no_rules(&error.to_string()));
                None
            }
        });
        run.warnings.iter().for_each(|warning| findings.push_run(warning));
        if let Some(name) = run.plan.reference.as_ref().filter(|name| published::study(name).is_none()) {
            findings.push_run(&no_study(name));
        }
        Self {
            arms: Arms::new(&run.plan),
            buffers: buffers::Gatherer::new(&run.plan),
            levels: Levels::new(&run.plan),
            repetitions: Repetitions::new(&run.plan),
            run,
            hosts,
            cells,
            places,
            blocks: BTreeSet::new(),
            measured_blocks: BTreeSet::new(),
            failed: 0,
            datagrams: None,
            findings,
            disturbed: Disturbed::default(),
            receipt,
        }
    }

    /// Classifies samples by other rules than those that come with nettoll;
    /// `source` names their file. Without receipts it changes nothing.
    #[must_use]
    pub fn with_rules(mut self, source: String, rules: Rules) -> Self {
        if let Some(receipt) = &mut self.receipt {
            receipt.set_rules(source, rules);
        }
        self
    }

    /// Gives verdicts on arms beyond another share than 2 %.
    #[must_use]
    pub const fn with_threshold(mut self, threshold: f64) -> Self {
        self.arms.set_threshold(threshold);
        self
    }

    /// The folded stacks of each cell and end of a study with receipts: the name
    /// of a file for the run's `stacks/`, and what belongs into it. One after the
    /// other, since all of them together may be large.
    pub fn stacks(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.receipt.iter().flat_map(|receipt| receipt.stacks())
    }

    /// Adds a doubt about the whole run, such as a stored line that cannot be read.
    pub fn push_warning(&mut self, warning: Warning) {
        self.findings.push_run(&warning);
    }

    /// Adds a trial. One of a cell that the plan does not have gets a cell of
    /// its own, after the plan's.
    pub fn push(&mut self, record: &TrialRecord) {
        let place = self.place(&record.cell);
        if let Some(receipt) = &mut self.receipt {
            receipt.push(record);
        }
        let record = &*self.arms.as_run(record);
        self.blocks.insert(record.block);
        let mut own = Vec::new();
        match &record.outcome {
            // What is switched on beside it makes its times another thing's.
            Outcome::Measured(_) if !record.pass.is_clean() => {}
            Outcome::Skipped { .. } => {}
            Outcome::Measured(measured) => own.extend(self.push_measured(place, record, measured)),
            Outcome::Failed { error, .. } => {
                self.failed += 1;
                own.push(Warning::TrialFailed { error: error.clone() });
            }
        }
        self.findings.push_trial(place, record.warnings.iter().chain(&own));
    }

    fn place(&mut self, cell: &Cell) -> usize {
        if let Some(place) = self.places.get(cell) {
            return *place;
        }
        self.cells.push(Gathering::new(cell));
        self.places.insert(cell.clone(), self.cells.len() - 1);
        self.cells.len() - 1
    }

    /// Keeps the figures of a measured trial. A latency histogram that cannot
    /// be read is a doubt; the rest of the trial stands.
    fn push_measured(&mut self, place: usize, record: &TrialRecord, measured: &Measured) -> Option<Warning> {
        self.measured_blocks.insert(record.block);
        count(&mut self.disturbed, &record.warnings);
        let mut ledger = self.datagrams.take().unwrap_or_default();
        let any = ledger.add(measured, &record.cell) || ledger.any();
        self.datagrams = any.then_some(ledger);
        // Of an arm that the plan does not have nothing is known.
        let arm = self.arms.place(record)?;
        let gathering = if arm == 0 { &mut self.cells[place] } else { self.arms.gathering(arm, place, &record.cell) };
        let mut doubt = None;
        let mut gather = |text: Option<&String>, into: &mut Gathered| match RoundTrips::decode(text?) {
            Ok(times) => {
                into.push(record.block, &times);
                Some(times)
            }
            Err(error) => {
                doubt = Some(unreadable(&error.to_string()));
                None
            }
        };
        let schedule = measured.sender.schedule.as_ref();
        let one_way = measured.receiver.one_way.as_ref();
        let round_trips = gather(measured.sender.latency.as_ref(), &mut gathering.round_trips);
        gather(schedule.and_then(|schedule| schedule.uncorrected.as_ref()), &mut gathering.uncorrected);
        gather(schedule.and_then(|schedule| schedule.lateness.as_ref()), &mut gathering.lateness);
        gather(one_way.and_then(|way| way.beyond_base.as_ref()), &mut gathering.beyond_least);
        gathering.irq[0].add(&measured.sender, &record.cell);
        gathering.irq[1].add(&measured.receiver, &record.cell);
        gathering.segment = gathering.segment.max(figures::segment_size(measured));
        let mut figures = Figures::of(record, measured, round_trips.as_ref());
        figures.add_limit(&self.run.plan.link_of(&record.cell).kind, measured, &record.cell);
        gathering.figures.push(figures.clone());
        if arm == 0 {
            self.buffers.push(record, measured, &figures);
            self.levels.keep(place, record, measured, &figures, round_trips.as_ref());
            self.repetitions.keep(place, record, measured, self.run.plan.end);
        }
        self.arms.keep(arm, place, record, measured, figures);
        doubt
    }

    /// What all of it shows.
    pub fn finish(mut self) -> Analysis {
        for cell in &mut self.cells {
            cell.figures.iter_mut().for_each(|trial| trial.add_irq(&cell.irq));
        }
        let plan = &self.run.plan;
        let claim = Claim::of(&plan.blocks);
        let batches = Batches::of(self.measured_blocks.iter().copied());
        let paths = Paths::of(&self.run, &self.hosts);
        let context = Context { claim, batches: &batches, paths: &paths, seed: plan.seed };
        let trials: Vec<Trials> =
            self.cells.iter().map(|cell| Trials { cell: &cell.cell, figures: &cell.figures, segment: cell.segment }).collect();
        let models = cost::models(&trials, &context);
        let roles = roles::test(self.cells.iter().map(|cell| cell.figures.as_slice()), plan.blocks.confidence, plan.seed);
        let cells: Vec<CellResult> = self.cells.iter().map(|cell| cell_result(cell, claim, plan.seed)).collect();
        let more = self.arms.trials();
        let of_plan: Vec<Cell> = self.cells.iter().map(|cell| cell.cell.clone()).collect();
        let (arms, verdicts) = self.arms.finish(&of_plan, &models, &context);
        let buffers = self.buffers.finish(&buffers::Context { claim, seed: plan.seed, paths: &paths });
        let levels = self.levels.finish(&of_plan, claim);
        let repetitions = self.repetitions.finish(plan, &batches, claim);
        let open_loop = open_loop::study(&cells, |place| self.cells[place].curves());
        let labels: Vec<String> = cells.iter().map(|cell| cell.label.clone()).collect();
        let stack = Stack::of(&self.run, &self.hosts, paths.clone());
        let receipt = self.receipt.take().map(|receipt| receipt.finish(&stack));
        let mut analysis = Analysis {
            format: ANALYSIS_FORMAT,
            blocks: self.blocks.len() as u32,
            trials: cells.iter().map(|cell| cell.trials as u64).sum::<u64>() + more,
            failed: self.failed,
            cells,
            models,
            roles,
            datagrams: self.datagrams.map(|ledger| ledger.balance()),
            findings: self.findings.finish(&labels),
            disturbed: self.disturbed,
            irq_pooled: self.cells.iter().flat_map(|cell| &cell.irq).any(IrqPool::any),
            run: self.run,
            hosts: self.hosts,
            receipt,
            buffers,
            published: None,
            arms,
            verdicts,
            levels,
            repetitions,
            open_loop,
        };
        analysis.published = published::beside(&analysis).map(Box::new);
        analysis
    }
}

/// Counts a trial with these warnings, if any of them disturbs.
fn count(disturbed: &mut Disturbed, warnings: &[Warning]) {
    let any = |kind: fn(&Warning) -> bool| u64::from(warnings.iter().any(kind));
    disturbed.trials += any(figures::disturbs);
    disturbed.waited += any(|warning| matches!(warning, Warning::Contended { .. }));
    disturbed.stolen += any(|warning| matches!(warning, Warning::Stolen { .. }));
    disturbed.throttled += any(|warning| matches!(warning, Warning::Throttled { .. }));
    disturbed.misaligned += any(|warning| matches!(warning, Warning::Misaligned { .. }));
}

fn no_rules(error: &str) -> Warning {
    Warning::Absent(Unavailable {
        what: "receipts".to_owned(),
        answer: format!("the rules that come with nettoll cannot be read: {error}"),
        remedy: "Give others with --rules, and report this".to_owned(),
    })
}

fn no_study(name: &str) -> Warning {
    Warning::Absent(Unavailable {
        what: format!("the published study '{name}'"),
        answer: "nettoll has no tables of it".to_owned(),
        remedy: "Name one of those that `nettoll reference` lists, or leave `reference` out of the plan.".to_owned(),
    })
}

fn unreadable(error: &str) -> Warning {
    Warning::Absent(Unavailable {
        what: "a trial's round-trip times".to_owned(),
        answer: error.to_owned(),
        remedy: "The other figures of the trial are kept; write the run with one version of nettoll.".to_owned(),
    })
}

pub(crate) fn cell_result(gathering: &Gathering, claim: Claim, seed: u64) -> CellResult {
    let estimate = |metric: &Metric| -> Option<(Metric, Estimate)> {
        let values: Vec<f64> = gathering.figures.iter().filter_map(|trial| trial.get(*metric)).collect();
        Some((*metric, claim.estimate(&values)?))
    };
    let metrics: std::collections::BTreeMap<Metric, Estimate> = Metric::ALL.iter().filter_map(estimate).collect();
    let value = |metric: Metric| metrics.get(&metric).map(|share| share.value);
    let kept = gathering.cell.rate.is_some() && value(Metric::BehindShare).is_some_and(|share| share <= MOST_BEHIND);
    let limit = if kept { Some(Limit::Rate) } else { limit(value) };
    CellResult {
        cell: gathering.cell.clone(),
        label: gathering.cell.to_string(),
        trials: gathering.figures.len(),
        metrics,
        latency: gathering.round_trips.finish(claim, seed),
        uncorrected: gathering.uncorrected.finish(claim, seed),
        lateness: gathering.lateness.finish(claim, seed),
        beyond_least: gathering.beyond_least.finish(claim, seed),
        limit,
    }
}

/// What kept a cell from being faster, by the shares of its ends.
fn limit(share: impl Fn(Metric) -> Option<f64>) -> Option<Limit> {
    let (sender, receiver) = (share(Metric::SenderBusyShare)?, share(Metric::ReceiverBusyShare)?);
    let starved = |busy: f64, waited: Metric| busy < BUSY && share(waited).is_some_and(|waited| busy + waited >= BUSY);
    if starved(sender, Metric::SenderRunDelayShare) || starved(receiver, Metric::ReceiverRunDelayShare) {
        return Some(Limit::NoCpu);
    }
    Some(match (sender >= BUSY, receiver >= BUSY) {
        (true, true) => Limit::BothCpus,
        (true, false) => Limit::SenderCpu,
        (false, true) => Limit::ReceiverCpu,
        (false, false) => Limit::Waiting,
    })
}

#[cfg(test)]
mod tests {
    use super::limit;
    use crate::result::{Limit, Metric};

    #[test]
    fn an_end_without_a_cpu_is_told_from_one_that_waits_for_the_other() {
        let of = |shares: [f64; 4]| {
            let metrics = [Metric::SenderBusyShare, Metric::SenderRunDelayShare, Metric::ReceiverBusyShare, Metric::ReceiverRunDelayShare];
            limit(|metric| metrics.iter().position(|known| *known == metric).map(|place| shares[place]))
        };
        assert_eq!(of([0.97, 0.01, 0.5, 0.01]), Some(Limit::SenderCpu));
        assert_eq!(of([0.97, 0.01, 0.99, 0.0]), Some(Limit::BothCpus));
        assert_eq!(of([0.5, 0.1, 0.96, 0.01]), Some(Limit::ReceiverCpu));
        assert_eq!(of([0.5, 0.1, 0.5, 0.1]), Some(Limit::Waiting));
        assert_eq!(of([0.40, 0.58, 0.2, 0.1]), Some(Limit::NoCpu));
        assert_eq!(of([0.97, 0.02, 0.4, 0.57]), Some(Limit::NoCpu));
        // Where the kernel does not tell how long an end waited, it is not guessed.
        assert_eq!(
            limit(|metric| (metric == Metric::SenderBusyShare || metric == Metric::ReceiverBusyShare).then_some(0.4)),
            Some(Limit::Waiting)
        );
        assert_eq!(limit(|_| None), None);
    }
}
