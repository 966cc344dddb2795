//! What packets of many datagrams save: GSO with GRO against a call a message, both ends together.

use std::cell::RefCell;

use model::Api;

use crate::bare::Trial;
use crate::bars::Row;
use crate::{many, ours, pairs};

const SIZE: u64 = 1_024;
/// The bar: a message by `send` costs at least so many by `gso`.
const BAR: f64 = 5.0;

/// Measures pairs of trials.
pub fn measure(count: u32) -> anyhow::Result<Vec<Row>> {
    let session = RefCell::new(ours::session()?);
    let run = |api: Api| ours::run_cell(&mut session.borrow_mut(), many::cell(api, SIZE)?);
    let pairs = pairs::run(count, || run(Api::Send), || run(Api::Gso))?;
    let together = |trial: &Trial| trial.sender.cpu_per_message() + trial.receiver.cpu_per_message();
    let ratio = pairs::ratio(&pairs, together, 0.95)?;
    Ok(vec![
        Row::printed(format!("CPU per message of both ends, {SIZE} B over veth, send / gso with gro"), ratio.value, "x", ratio.n)
            .within(ratio.low, ratio.high)
            .against(format!("lower end of 95 % >= {BAR}"), ratio.low >= BAR),
    ])
}
