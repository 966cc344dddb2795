//! The order of the blocks of a run without arms: a median hides a series that warms
//! up, changes its level, drifts, or has two modes.
//!
//! Arms are looked at where they are compared.

use model::Plan;
use serde::Serialize;

use super::{Context, Study};
use crate::metric::Metric;
use crate::table::CellTrials;
use crate::verdict::{Direction, Doubt, THRESHOLD, Values, correlation, doubts};

/// Findings about the order of a run's blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OrderStudy {
    /// Series of time per message that are not of one kind; each has the place of its
    /// cell, or is of the machine.
    pub doubts: Vec<Doubt>,
    /// Correlation of neighbouring blocks over all cells (lag 1); `None` of fewer than
    /// 30 blocks. Exact intervals are for blocks that are independent.
    pub correlation: Option<f64>,
}

/// The study of a plan without arms.
#[derive(Debug)]
pub(crate) struct Order;

impl Study for Order {
    type Result = OrderStudy;

    fn for_plan(plan: &Plan) -> Option<Self> {
        (plan.arms.is_empty() && plan.fleet.is_none()).then_some(Self)
    }

    fn finish(self, context: &Context) -> Option<OrderStudy> {
        let series: Vec<Values> = context.table.arm(0).iter().map(values).collect();
        let found = OrderStudy { doubts: doubts(&series, Direction::LowerIsBetter, THRESHOLD), correlation: correlation(&series) };
        (!found.doubts.is_empty() || found.correlation.is_some()).then_some(found)
    }
}

/// Time per message by block; nothing of a cell that offers a rate, whose time is the
/// schedule's.
fn values(cell: &CellTrials) -> Values {
    let trials = cell.figures.iter().filter(|_| cell.cell.rate.is_none());
    Values { baseline: trials.filter_map(|trial| Some((trial.block, trial.own(Metric::TimePerMessageNs)?))).collect(), ..Values::default() }
}

#[cfg(test)]
mod tests {
    use model::Pass;

    use crate::studies::Analysis;
    use crate::testing::two_cells;
    use crate::verdict::Shape;

    /// A run of two cells of which the first takes `factor` of its time in each block.
    fn run(blocks: u32, factor: impl Fn(u32) -> f64) -> Analysis {
        two_cells(blocks, Pass::Clean, |block, size| if size == 1 { factor(block) } else { 1.0 }).finish()
    }

    #[test]
    fn a_warm_up_of_a_plain_run_is_found() {
        let warm = run(20, |block| if block < 4 { 1.5 } else { 1.0 });
        let order = warm.order().expect("a finding");
        let doubt = order.doubts.iter().find(|doubt| doubt.cell == Some(0)).expect("of the first cell");
        assert!(matches!(doubt.shape, Shape::WarmingUp { blocks: 4, .. }), "{doubt:?}");
        assert!(order.doubts.iter().all(|doubt| doubt.cell != Some(1)) && order.correlation.is_none(), "{order:?}");
    }

    #[test]
    fn a_steady_run_has_no_findings_and_a_long_one_its_correlation() {
        assert!(run(20, |_| 1.0).order().is_none());
        let slow = run(40, |block| 1.0 + 0.01 * f64::from(block / 4 % 2));
        let correlation = slow.order().and_then(|order| order.correlation).expect("40 blocks");
        assert!((-1.0..=1.0).contains(&correlation), "{correlation}");
    }
}
