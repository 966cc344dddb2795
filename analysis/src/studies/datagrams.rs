//! The balance of the datagrams of all UDP trials.

use model::Plan;

use super::{Context, Study};
use crate::conservation::{Balance, Ledger};
use crate::table::Trial;

impl Study for Ledger {
    type Result = Balance;

    fn for_plan(_: &Plan) -> Option<Self> {
        Some(Self::default())
    }

    fn push(&mut self, trial: &Trial) {
        self.add(trial.measured, trial.cell);
    }

    fn finish(self, _: &Context) -> Option<Balance> {
        self.any().then(|| self.balance())
    }
}
