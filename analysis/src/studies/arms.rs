//! The arms of a run: the results of each by itself.

use model::Plan;
use serde::Serialize;

use super::{Context, Study};
use crate::cells::CellResult;
use crate::cost::{self, CostModel};

/// One arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmResult {
    /// Its name; what it sets stands in the plan.
    pub name: String,
    /// Its cells as they were run in it, in the order of the analysis' own.
    pub cells: Vec<CellResult>,
    /// Its cost models, one for each series of stream cells and each quantity.
    pub models: Vec<CostModel>,
}

/// The study of a plan with several arms.
#[derive(Debug)]
pub(crate) struct Arms;

impl Study for Arms {
    type Result = Vec<ArmResult>;

    fn for_plan(plan: &Plan) -> Option<Self> {
        (plan.arms.len() > 1).then_some(Self)
    }

    fn finish(self, context: &Context) -> Option<Vec<ArmResult>> {
        let plan = context.plan();
        let result = |arm: usize| {
            let trials = context.table.arm(arm);
            ArmResult {
                name: plan.arms[arm].name.clone(),
                cells: trials.iter().map(|cell| CellResult::from_trials(cell, context.confidence, plan.seed)).collect(),
                models: cost::models(trials, &context.cost()),
            }
        };
        Some((1..plan.arms.len()).map(result).collect())
    }
}
