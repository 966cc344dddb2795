//! Socket buffers: goodput over the sender's and the receiver's (after Jacobson,
//! 1988). Any plan that varies one of them gets it, whatever else it varies.
//!
//! ```text
//! Trial -> Buffers: what each trial says of its buffers
//!             -> maps: cells that differ in buffers alone -> levels, knee, notches, model
//! ```

mod map;
mod notch;
mod predict;
mod result;
mod sample;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use model::plan::{Factor, LinkKind, Plan};
use model::{Cell, Protocol};

use super::{Context, Study};
use crate::grouping::but_for;
use crate::table::Trial;
use sample::TrialSample;

pub use result::*;

/// The factors that the cells of a map differ in.
const BUFFERS: [Factor; 2] = [Factor::Sndbuf, Factor::Rcvbuf];

/// The study of a plan that varies the buffers of TCP streams.
#[derive(Debug)]
pub(crate) struct Buffers {
    link: LinkKind,
    /// By what the cells of a map share.
    trials: BTreeMap<Cell, BTreeMap<Cell, Vec<TrialSample>>>,
}

impl Study for Buffers {
    type Result = Vec<BufferMap>;

    fn for_plan(plan: &Plan) -> Option<Self> {
        let varied = plan.cells.iter().filter(|cell| is_of_map(cell)).count() > 1;
        varied.then_some(Self { link: plan.link.kind, trials: BTreeMap::new() })
    }

    fn push(&mut self, trial: &Trial) {
        let cell = trial.cell;
        if trial.arm > 0 || !cell.test.is_stream() || cell.protocol() != Protocol::Tcp || cell.bidirectional {
            return;
        }
        if let Some(sample) = TrialSample::from_trial(trial) {
            self.trials.entry(but_for(cell, &BUFFERS)).or_default().entry(cell.clone()).or_default().push(sample);
        }
    }

    /// A map for each kind of cell that varies a buffer.
    fn finish(self, context: &Context) -> Option<Vec<BufferMap>> {
        let link = |rest: &Cell| rest.conditions.link.unwrap_or(self.link);
        let maps = self.trials.into_iter().filter_map(|(rest, cells)| map::map(&rest, link(&rest), cells, &context.cost()));
        Some(maps.collect()).filter(|maps: &Vec<BufferMap>| !maps.is_empty())
    }
}

/// Returns whether a cell gives a buffer.
fn is_of_map(cell: &Cell) -> bool {
    cell.protocol() == Protocol::Tcp && cell.test.is_stream() && (cell.sndbuf.is_some() || cell.rcvbuf.is_some())
}
