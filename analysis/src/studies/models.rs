//! The cost models of a run.

use model::Plan;

use super::{Context, Study};
use crate::cost::{self, CostModel};

/// The study of every run.
#[derive(Debug)]
pub(crate) struct Models;

impl Study for Models {
    type Result = Vec<CostModel>;

    fn for_plan(_: &Plan) -> Option<Self> {
        Some(Self)
    }

    fn finish(self, context: &Context) -> Option<Vec<CostModel>> {
        Some(cost::models(context.table.arm(0), &context.cost())).filter(|models| !models.is_empty())
    }
}
