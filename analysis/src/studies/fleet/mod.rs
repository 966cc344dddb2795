//! A fleet: hosts and pairs that differ from the others, by figure.

mod judged;
mod result;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use model::sorting::Gather;
use model::trial::Outcome;
use model::{Plan, TrialRecord};

use crate::fleet::LEVEL;
use crate::metric::Metric;
use crate::studies::{Context, Study};
use crate::table::Trial;

pub use judged::metrics;
pub use result::{Change, Fault, FleetFigure, FleetHostResult, FleetResult, HostChange, LinkChange, Named, RackChange, Square};

/// Collects the trials of a fleet.
#[derive(Debug)]
pub struct Fleet {
    hosts: Vec<FleetHostResult>,
    places: BTreeMap<String, usize>,
    /// Trials of each figure: sender, receiver, value.
    figures: Vec<(usize, Metric, Vec<Measured>)>,
}

/// A figure of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    pub ends: [usize; 2],
    pub value: f64,
}

impl Fleet {
    fn ends(&self, record: &TrialRecord) -> Option<[usize; 2]> {
        let [sender, receiver] = record.hosts.as_ref()?;
        let ends = [*self.places.get(sender)?, *self.places.get(receiver)?];
        (ends[0] != ends[1]).then_some(ends)
    }
}

impl Study for Fleet {
    type Result = FleetResult;

    fn for_plan(plan: &Plan) -> Option<Self> {
        let fleet = plan.fleet.as_ref()?;
        let host = |host: &model::plan::FleetHost| FleetHostResult {
            name: host.name.clone(),
            rack: host.rack.clone(),
            measured: 0,
            failed: 0,
            error: None,
        };
        let figures =
            plan.cells.iter().enumerate().flat_map(|(place, cell)| metrics(cell).iter().map(move |metric| (place, *metric, Vec::new())));
        Some(Self {
            hosts: fleet.hosts.iter().map(host).collect(),
            places: fleet.hosts.iter().enumerate().map(|(place, host)| (host.name.clone(), place)).into_map(),
            figures: figures.collect(),
        })
    }

    fn push(&mut self, trial: &Trial) {
        let Some(ends) = self.ends(trial.record).filter(|_| trial.arm == 0) else { return };
        for (place, metric, trials) in &mut self.figures {
            let value = trial.figures.own(*metric).filter(|value| *place == trial.place && value.is_finite() && *value > 0.0);
            trials.extend(value.map(|value| Measured { ends, value }));
        }
    }

    fn push_record(&mut self, record: &TrialRecord, _place: usize, _arm: usize) {
        let Some(ends) = self.ends(record) else { return };
        for end in ends {
            let host = &mut self.hosts[end];
            match &record.outcome {
                Outcome::Measured(_) => host.measured += 1,
                Outcome::Skipped { .. } => {}
                Outcome::Failed { error, .. } => {
                    host.failed += 1;
                    host.error.get_or_insert_with(|| error.clone());
                }
            }
        }
    }

    fn finish(self, context: &Context) -> Option<FleetResult> {
        let plan = context.plan();
        let fleet = plan.fleet.as_ref()?;
        let shown: Vec<_> = self.figures.into_iter().filter(|(.., trials)| !trials.is_empty()).collect();
        let level = LEVEL / shown.len().max(1) as f64;
        let mut figures = Vec::new();
        for (place, metric, trials) in shown {
            let cell = context.table.cells().get(place)?.clone();
            figures.push(judged::figure(
                &judged::Question { hosts: &self.hosts, level, least: fleet.least, seed: plan.seed },
                cell,
                metric,
                &trials,
            ));
        }
        let pairs = figures.iter().map(FleetFigure::pairs).max().unwrap_or(0);
        let named = judged::named(&self.hosts, &figures);
        Some(FleetResult { hosts: self.hosts, rounds: fleet.rounds, pairs, level: LEVEL, least: fleet.least, named, figures })
    }
}
