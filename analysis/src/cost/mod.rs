//! What a message costs: t = a + b·bytes + c·frames + w·wake-ups.
//!
//! ```text
//! figures of all trials -> Sizes (medians by size) -> search: terms, breakpoints
//!   -> Fit on the medians -> intervals from resampled blocks -> named and judged
//! ```

pub mod design;
pub mod robust;
pub mod search;
pub mod threshold;

mod assemble;
mod linear;
mod sizes;

use model::{Bytes, Cell, Protocol};

use crate::figures::Figures;
use crate::result::{CostModel, FitOutcome, Metric, Quantity};
use crate::stats::bootstrap::Batches;
use crate::stopping::Claim;

/// A line through fewer sizes could not show that it is none.
pub const LEAST_SIZES: usize = 4;

/// What is known of one cell.
#[derive(Debug, Clone, Copy)]
pub struct Trials<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// Its trials.
    pub figures: &'a [Figures],
    /// The largest segment TCP sent in them, if it tells.
    pub segment: Option<Bytes>,
}

/// What holds for all models of a run.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// The intervals that its figures may claim.
    pub claim: Claim,
    /// How its blocks are resampled.
    pub batches: &'a Batches,
    /// The link's largest IP packet, if it is known.
    pub mtu: Option<u64>,
    /// Seed of the resampling.
    pub seed: u64,
}

impl Quantity {
    /// Every quantity, in the order of reports.
    pub const ALL: &'static [Self] = &[Self::Elapsed, Self::SenderCpu, Self::ReceiverCpu];

    /// The figure of a trial that it is.
    pub const fn metric(self) -> Metric {
        match self {
            Self::Elapsed => Metric::TimePerMessageNs,
            Self::SenderCpu => Metric::SenderCpuPerMessageNs,
            Self::ReceiverCpu => Metric::ReceiverCpuPerMessageNs,
        }
    }
}

/// The models of every series of stream cells, in the order in which series
/// first come up, each for every quantity.
pub fn models(cells: &[Trials], context: &Context) -> Vec<CostModel> {
    let mut series: Vec<(model::cell::Series, Vec<Trials>)> = Vec::new();
    for trials in cells.iter().filter(|trials| trials.cell.test.is_stream()) {
        let of_cell = trials.cell.series();
        match series.iter_mut().find(|(known, _)| *known == of_cell) {
            Some((_, members)) => members.push(*trials),
            None => series.push((of_cell, vec![*trials])),
        }
    }
    let all = series.iter().flat_map(|(series, members)| Quantity::ALL.iter().map(move |quantity| (series, members, *quantity)));
    all.map(|(series, members, quantity)| CostModel {
        series: series.to_string(),
        protocol: series.test().protocol(),
        quantity,
        outcome: outcome(series, members, quantity, context),
    })
    .collect()
}

fn outcome(series: &model::cell::Series, members: &[Trials], quantity: Quantity, context: &Context) -> FitOutcome {
    if series.test().protocol() == Protocol::Tcp && !series.nodelay() {
        let reason = "without TCP_NODELAY Nagle's algorithm holds small messages back and joins them, so that the time per message \
                      is not a line in its size; set it (`--nodelay`) for a model";
        return FitOutcome::NotALine { reason: reason.to_owned() };
    }
    let sizes = sizes::Sizes::of(members, quantity.metric(), context.batches);
    let measured = sizes.len();
    if measured < LEAST_SIZES {
        let reason = format!("{measured} sizes were measured and a line needs {LEAST_SIZES}: add sizes (`--size 1..16K:x4`)");
        return FitOutcome::NotALine { reason };
    }
    assemble::fit(&sizes, members[0].cell, context)
}
