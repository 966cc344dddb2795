//! The trial table: everything that is kept of the measured trials of a run,
//! once. Studies read it; a study that needs more of a trial keeps that alone.

use std::collections::{BTreeSet, HashMap};

use model::plan::LinkKind;
use model::trial::Measured;
use model::{Bytes, Cell, Plan, Refusal, TrialRecord, Warning};

use crate::ends::{self, IrqPool};
use crate::figures::Figures;
use crate::latency::{HistogramSet, LatencyError, RoundTrips, Times};
use crate::metric::Source;
use crate::metric::bounds;

/// The trials of each cell in each arm.
#[derive(Debug)]
pub struct TrialTable {
    plan: Plan,
    /// The plan's cells, then those that it does not have.
    cells: Vec<Cell>,
    places: HashMap<Cell, usize>,
    /// By arm, then by the place of the cell. A run without arms has one.
    arms: Vec<Vec<CellTrials>>,
    /// Blocks with at least one trial that was measured.
    measured_blocks: BTreeSet<u32>,
}

/// The trials of one cell in one arm.
#[derive(Debug)]
pub struct CellTrials {
    /// The plan's cell in the first arm; in another as it is run there.
    pub cell: Cell,
    /// The cell as run, in any arm: as its records say, before the first by the plan.
    pub as_run: Cell,
    /// A row for each trial, in the order in which they came.
    pub figures: Vec<Figures>,
    /// Interrupt time of the sender and of the receiver.
    pub irq: [IrqPool; 2],
    /// Round-trip times, from the intended time of each request.
    pub round_trips: HistogramSet,
    /// The same from the actual time of each request.
    pub uncorrected: HistogramSet,
    /// Time from the intended to the actual begin of each send.
    pub lateness: HistogramSet,
    /// Time that each datagram took beyond the shortest of its trial.
    pub beyond_least: HistogramSet,
    /// The largest segment TCP sent in them, if it tells.
    pub segment: Option<Bytes>,
    /// Messages and bytes that the sender counted in all of them.
    pub sent: [u64; 2],
}

/// A trial that was measured in a clean pass, with its row in the table.
#[derive(Debug, Clone, Copy)]
pub struct Trial<'a> {
    /// Its record.
    pub record: &'a TrialRecord,
    /// Its measurements.
    pub measured: &'a Measured,
    /// The cell as it was run.
    pub cell: &'a Cell,
    /// The link that it crossed.
    pub link: &'a LinkKind,
    /// The arm; 0 in a run without.
    pub arm: usize,
    /// The place of its cell.
    pub place: usize,
    /// Its row.
    pub figures: &'a Figures,
}

impl TrialTable {
    /// The table of a plan, without trials.
    pub fn for_plan(plan: &Plan) -> Self {
        let mut table = Self {
            plan: plan.clone(),
            cells: Vec::new(),
            places: HashMap::new(),
            arms: std::iter::repeat_with(Vec::new).take(plan.arms.len().max(1)).collect(),
            measured_blocks: BTreeSet::new(),
        };
        plan.cells.iter().for_each(|cell| _ = table.add_place(cell));
        table
    }

    /// The place of a record's cell. A cell that the plan does not have gets one
    /// after the plan's.
    pub fn place(&mut self, cell: &Cell) -> usize {
        self.places.get(cell).copied().unwrap_or_else(|| self.add_place(cell))
    }

    fn add_place(&mut self, cell: &Cell) -> usize {
        for (arm, trials) in self.arms.iter_mut().enumerate() {
            let as_run = self.plan.cell_in(cell, arm).unwrap_or_else(|_| cell.clone());
            let named = if arm == 0 { cell } else { &as_run };
            trials.push(CellTrials { as_run: as_run.clone(), ..CellTrials::new(named.clone()) });
        }
        self.cells.push(cell.clone());
        self.places.insert(cell.clone(), self.cells.len() - 1);
        self.cells.len() - 1
    }

    /// The place of a record's arm, the first of one without; `None` of an arm
    /// that the plan does not have, of which nothing is known.
    pub fn arm_of(&self, record: &TrialRecord) -> Option<usize> {
        let Some(name) = &record.arm else { return Some(0) };
        self.plan.arms.iter().position(|arm| arm.name == *name)
    }

    /// Keeps a measured trial of a clean pass, and tells `also` of its row. Returns the
    /// doubts that its figures raise: those beyond their bounds, and a histogram that
    /// cannot be read. The rest of the trial stands.
    pub(crate) fn push(
        &mut self,
        place: usize,
        arm: usize,
        record: &TrialRecord,
        measured: &Measured,
        also: impl FnOnce(&Trial),
    ) -> Vec<Warning> {
        self.measured_blocks.insert(record.block);
        let (cell, trials) = (record.cell_as_run(), &mut self.arms[arm][place]);
        let link = cell.conditions.link.unwrap_or(self.plan.link.kind);
        let (round_trips, unreadable) = trials.add_times(record.block, measured);
        trials.as_run.clone_from(cell);
        IrqPool::add(&mut trials.irq, measured, cell);
        trials.segment = trials.segment.max(ends::segment_size(measured));
        for (sum, more) in trials.sent.iter_mut().zip([measured.sender.counts.messages, measured.sender.counts.bytes]) {
            *sum = sum.saturating_add(more);
        }
        let source = Source { measured, cell, link: Some(&link), round_trips: round_trips.as_ref() };
        let mut doubts = bounds::breaches(&source);
        let mut figures = Figures::new(record, &source);
        figures.disturbed |= doubts.iter().any(Warning::disturbs);
        doubts.extend(unreadable.map(|error| unreadable_times(&error)));
        also(&Trial { record, measured, cell, link: &link, arm, place, figures: &figures });
        trials.figures.push(figures);
        doubts
    }

    /// Shares the interrupt time of each cell among its trials, when all have come.
    pub(crate) fn pool_irq(&mut self) {
        for cell in self.arms.iter_mut().flatten() {
            cell.figures.iter_mut().for_each(|trial| trial.add_irq(&cell.irq));
        }
    }

    /// The cells, by place: the plan's, then those that it does not have.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The trials of an arm, by the place of their cell; of none where the plan
    /// has no such arm.
    pub fn arm(&self, arm: usize) -> &[CellTrials] {
        self.arms.get(arm).map_or(&[], Vec::as_slice)
    }

    /// The names of the arms; of a run without, one that has none.
    pub fn arm_names(&self) -> Vec<Option<&str>> {
        match self.plan.arms.as_slice() {
            [] => vec![None],
            arms => arms.iter().map(|arm| Some(arm.name.as_str())).collect(),
        }
    }

    /// The plan of the run.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// All trials of all arms.
    pub fn trials(&self) -> u64 {
        self.arms.iter().flatten().map(|cell| cell.figures.len() as u64).sum()
    }

    /// The blocks with at least one trial that was measured.
    pub const fn measured_blocks(&self) -> &BTreeSet<u32> {
        &self.measured_blocks
    }
}

impl CellTrials {
    /// A cell without trials, run as it is.
    pub fn new(cell: Cell) -> Self {
        Self {
            as_run: cell.clone(),
            cell,
            figures: Vec::new(),
            irq: Default::default(),
            round_trips: HistogramSet::default(),
            uncorrected: HistogramSet::default(),
            lateness: HistogramSet::default(),
            beyond_least: HistogramSet::default(),
            segment: None,
            sent: [0; 2],
        }
    }

    /// The mean size of the messages that were sent, in bytes; not a number when
    /// there were none.
    pub fn mean_sent(&self) -> f64 {
        self.sent[1] as f64 / self.sent[0] as f64
    }

    /// Keeps the times of a trial: its round trips, and the last histogram that
    /// cannot be read.
    fn add_times(&mut self, block: u32, measured: &Measured) -> (Option<RoundTrips>, Option<LatencyError>) {
        let (times, unreadable) = Times::of_trial(measured, self.cell.test);
        let sets = [&mut self.round_trips, &mut self.uncorrected, &mut self.lateness, &mut self.beyond_least];
        let all = [&times.round_trips, &times.uncorrected, &times.lateness, &times.beyond_least];
        for (set, times) in sets.into_iter().zip(all) {
            times.iter().for_each(|times| set.push(block, times));
        }
        (times.round_trips, unreadable)
    }
}

fn unreadable_times(error: &LatencyError) -> Warning {
    Warning::Absent(Refusal {
        what: "a trial's round-trip times".to_owned(),
        answer: error.to_string(),
        remedy: "The other figures of the trial are kept; write the run with one version of nettoll.".to_owned(),
    })
}
