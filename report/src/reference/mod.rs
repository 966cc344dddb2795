//! Published studies, and whatever is laid beside them.

pub mod html;
pub mod json;
pub mod terminal;

mod chart;
mod csv;
mod parts;
mod words;

use literature::sweep::SeriesResult;

/// Series of one machine, in the order in which machines first come up.
struct Machine<'a> {
    name: &'a str,
    series: Vec<&'a SeriesResult>,
}

fn machines(series: &[SeriesResult]) -> Vec<Machine<'_>> {
    let mut all: Vec<Machine> = Vec::new();
    for one in series {
        match all.iter_mut().find(|machine| machine.name == one.group) {
            Some(machine) => machine.series.push(one),
            None => all.push(Machine { name: &one.group, series: vec![one] }),
        }
    }
    all
}

impl Machine<'_> {
    /// Every size of any of its series, rising.
    fn sizes(&self) -> Vec<u64> {
        let all = self.series.iter().flat_map(|series| &series.sizes).map(|size| size.message_bytes);
        all.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    }
}
