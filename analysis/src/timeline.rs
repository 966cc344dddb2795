//! Trials over time: when each ran, how its time per message compares with that of its cell,
//! and what disturbed it.

use std::collections::BTreeMap;

use model::sorting::Order;
use model::{TrialRecord, Warning};
use stats::median::median;

/// One trial without an observer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialPoint {
    /// Time at which it began, in ms since 1970.
    pub started_ms: u64,
    /// Its block.
    pub block: u32,
    /// Place of its cell.
    pub cell: usize,
    /// Its arm.
    pub arm: usize,
    /// Time per message over the median of its cell and arm; `None` of one that failed.
    pub ratio: Option<f64>,
    /// What disturbed it.
    pub state: TrialState,
}

/// The gravest disturbance of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrialState {
    /// None was noticed.
    Sound,
    /// It is doubted, but for no reason that disturbs times.
    Doubted,
    /// The receiver measured while nothing was being sent, or the ends measured different times.
    Misaligned,
    /// A CPU was slowed down for its heat.
    Throttled,
    /// An end waited for a CPU.
    Waited,
    /// The hypervisor took CPU time.
    Stolen,
    /// It failed.
    Failed,
}

impl TrialState {
    /// Every state, the most harmless first.
    pub const ALL: [Self; 7] = [Self::Sound, Self::Doubted, Self::Misaligned, Self::Throttled, Self::Waited, Self::Stolen, Self::Failed];

    fn of(warnings: &[Warning]) -> Self {
        let one = |warning: &Warning| match warning {
            Warning::Stolen { .. } => Self::Stolen,
            Warning::Contended { .. } => Self::Waited,
            Warning::Throttled { .. } => Self::Throttled,
            Warning::Misaligned { .. } | Warning::WindowsApart { .. } | Warning::WindowCut { .. } => Self::Misaligned,
            _ => Self::Doubted,
        };
        warnings.iter().map(one).max().unwrap_or(Self::Sound)
    }
}

/// The trials of a run, in the order in which they are read.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    points: Vec<TrialPoint>,
}

impl Timeline {
    /// Adds a trial with its time per message; `None` of one that failed.
    pub fn push(&mut self, record: &TrialRecord, cell: usize, arm: usize, time_ns: Option<f64>) {
        let state = if time_ns.is_some() { TrialState::of(&record.warnings) } else { TrialState::Failed };
        let ratio = time_ns.filter(|time| time.is_finite() && *time > 0.0);
        self.points.push(TrialPoint { started_ms: record.started_ms, block: record.block, cell, arm, ratio, state });
    }

    /// Every trial, by the time at which it began.
    pub fn finish(mut self) -> Vec<TrialPoint> {
        let mut times: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
        for point in &self.points {
            times.entry((point.cell, point.arm)).or_default().extend(point.ratio);
        }
        let medians: BTreeMap<(usize, usize), f64> =
            times.into_iter().filter_map(|(of, times)| Some((of, median(&times).filter(|median| *median > 0.0)?))).collect();
        for point in &mut self.points {
            point.ratio = point.ratio.zip(medians.get(&(point.cell, point.arm))).map(|(time, median)| time / median);
        }
        self.points.order_by_key(|point| point.started_ms);
        self.points
    }
}

#[cfg(test)]
mod tests {
    use super::{Timeline, TrialState};
    use crate::testing::{cell, measured};
    use model::{Role, Test, TrialRecord, Warning};
    use testkit::made;

    #[test]
    fn a_trial_is_compared_with_its_own_cell() {
        let record =
            |started_ms: u64| TrialRecord { started_ms, ..made::record(cell(Test::UdpStream, 1), 0, measured(Test::UdpStream, 1)) };
        let mut line = Timeline::default();
        line.push(&record(30), 0, 0, Some(200.0));
        line.push(&record(10), 0, 0, Some(100.0));
        line.push(&record(20), 0, 0, Some(400.0));
        line.push(&record(40), 1, 0, Some(7.0));
        line.push(&record(50), 1, 0, None);
        let points = line.finish();
        assert_eq!(points.iter().map(|point| point.ratio).collect::<Vec<_>>(), [Some(0.5), Some(2.0), Some(1.0), Some(1.0), None]);
        assert_eq!(points[4].state, TrialState::Failed);
    }

    #[test]
    fn the_gravest_disturbance_counts() {
        let waited = Warning::Contended { role: Role::Sender, share: 0.4 };
        assert_eq!(TrialState::of(&[Warning::Stolen { share: 0.1 }, waited]), TrialState::Stolen);
        assert_eq!(TrialState::of(&[]), TrialState::Sound);
        assert!(TrialState::ALL.is_sorted());
    }
}
