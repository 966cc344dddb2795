//! Woven trials: from slices to the shift of each arm against the baseline.
//!
//! ```text
//! slices of an instance -> log ratio of each round -> Hodges-Lehmann -> one value an instance
//! values of all instances -> verdict (Design::Woven): mean, t; looks -> doubts
//! ```

mod doubts;
mod outlook;
mod rounds;
mod series;

pub(crate) use doubts::SURE;
pub use outlook::{Scatter, Smallest, WOVEN_TIME};
pub use rounds::{Measure, Within, aging, levels, within};
pub use series::{WovenSeries, WovenSide};

use model::plan::{Blocks, PlanEnd};
use model::{Nanos, Plan};
pub use stats::instances::LOOKS;

/// The numbers of instances after which a woven study looks whether it may stop.
pub fn looks(blocks: &Blocks) -> Vec<usize> {
    stats::instances::looks(blocks.least as usize, blocks.most as usize)
}

/// Time that the instances of a study may take although its arms would take less in turn.
const LEAST_TIME: Nanos = Nanos::from_millis(60_000);

/// Fewest and most instances of a study whose plan has its arms in turn: as many looks as fit into the time that these
/// would take, or into [`LEAST_TIME`]. Of many cells one would otherwise keep the others going. Ways of sending are ranked,
/// not settled: one number, as large as fits.
pub fn extent(plan: &Plan) -> [u32; 2] {
    let length = if let PlanEnd::Length(length) = plan.end { length } else { Nanos::default() };
    let in_turn = (plan.warmup + length).get().saturating_mul(plan.trials()).saturating_add(plan.overheads().get());
    if plan.arms.len() < 2 {
        let fits = in_turn / plan.instances_time().get().max(1);
        return [u32::try_from(fits).unwrap_or(u32::MAX).clamp(LOOKS[0] as u32, LOOKS[LOOKS.len() - 1] as u32); 2];
    }
    let fits = |look: &usize| plan.instances_time().get().saturating_mul(*look as u64) <= in_turn.max(LEAST_TIME.get());
    let most = LOOKS.into_iter().rfind(fits).unwrap_or(LOOKS[0]);
    [LOOKS[0], most].map(|look| look as u32)
}

#[cfg(test)]
mod tests {
    use model::{Arm, Plan, Test};

    use super::extent;
    use crate::testing::{cell, run};

    #[test]
    fn many_cells_take_no_longer_than_arms_in_turn() {
        let plan = |cells: u64, blocks: u32| {
            let arms = Arm::parse_all(&["a".to_owned(), "b: sndbuf=64K".to_owned()]).unwrap();
            Plan { arms, ..run((1..=cells).map(|size| cell(Test::UdpStream, size)).collect(), blocks).plan }
        };
        // An instance takes 480 ms, a trial in turn 215.
        assert_eq!(extent(&plan(1, 9)), [8, 48]);
        assert_eq!(extent(&plan(4, 9)), [8, 24]);
        assert_eq!(extent(&plan(60, 9)), [8, 8]);
        assert_eq!(extent(&plan(60, 30)), [8, 24]);
    }
}
