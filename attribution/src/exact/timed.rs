//! Time next to instructions: what each layer takes of a message's CPU time, next to what it
//! executes. Their ratio shows where a layer waits, for memory or for another CPU.

use std::collections::BTreeMap;

use model::sorting::Order;
use serde::Serialize;

use super::Region;
use crate::attributes::Layer;
use crate::figure::{ErrorMethod, Figure};
use crate::rows::{Influence, Row};

/// One message, measured and counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timed {
    /// The message as the run with the time has it.
    pub cell: String,
    /// The message that was counted.
    pub region: String,
    /// Both ends' sampled CPU time per message, in ns: the sum of the rows.
    pub ns: Figure,
    /// Instructions of a message of the usual course.
    pub instructions: u64,
    /// ns an instruction, over all layers.
    pub per_instruction: Figure,
    /// By layer, the most time first.
    pub rows: Vec<TimedRow>,
}

/// One layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimedRow {
    /// The layer.
    pub layer: Layer,
    /// CPU time per message, in ns.
    pub ns: Figure,
    /// Its share of the sampled time, 0 to 1.
    pub time_share: f64,
    /// Instructions per message.
    pub instructions: u64,
    /// Their share, 0 to 1.
    pub instruction_share: f64,
    /// ns an instruction; `None` where none is executed.
    pub per_instruction: Option<Figure>,
    /// Its ns an instruction lie above those of the whole message, intervals apart.
    pub stalls: bool,
}

/// A figure and how far each block moves it.
type Term = (Figure, Influence);

/// Puts the layers of both ends of a message next to those that were counted. `ends` holds
/// the rows of each end that has a receipt.
pub fn timed(cell: &str, ends: &[&[Row<Layer>]], region: &Region) -> Timed {
    let mut layers: BTreeMap<Layer, Vec<Term>> = BTreeMap::new();
    for row in ends.iter().copied().flatten() {
        layers.entry(row.key).or_default().push((row.ns, row.moved.clone()));
    }
    let all = layers.values().flatten().cloned().collect::<Vec<_>>();
    let ns = sum(&all);
    let instructions = region.total.instructions;
    let each = |figure: Figure, instructions: u64| (instructions > 0).then(|| figure.scaled(1.0 / instructions as f64));
    let per_instruction = each(ns, instructions.max(1)).unwrap_or(ns);
    let counted = region.rows.layers.iter().map(|row| row.key).filter(|layer| !layers.contains_key(layer)).collect::<Vec<_>>();
    // A layer that no sample hit took no time that is known.
    counted.into_iter().for_each(|layer| drop(layers.insert(layer, Vec::new())));
    let row = |(layer, known): (Layer, Vec<Term>)| {
        let (ns_of_layer, executed) = (sum(&known), region.rows.layer(layer).instructions);
        let each = each(ns_of_layer, executed);
        let apart = each.and_then(|each| Some((each.interval?, per_instruction.interval?)));
        TimedRow {
            layer,
            ns: ns_of_layer,
            time_share: ns_of_layer.value / ns.value.max(f64::MIN_POSITIVE),
            instructions: executed,
            instruction_share: executed as f64 / instructions.max(1) as f64,
            per_instruction: each,
            stalls: apart.is_some_and(|([low, _], [_, high])| low > high),
        }
    };
    let mut rows: Vec<TimedRow> = layers.into_iter().map(row).collect();
    rows.order_by(|a, b| b.ns.value.total_cmp(&a.ns.value).then_with(|| b.instructions.cmp(&a.instructions)));
    Timed { cell: cell.to_owned(), region: region.name.clone(), ns, instructions, per_instruction, rows }
}

/// The sum of figures of the same blocks. Their covariance is the sum of products of what
/// each block moves them by.
fn sum(all: &[Term]) -> Figure {
    let value = all.iter().map(|(figure, _)| figure.value).sum();
    let freedom = all.iter().map(|(figure, _)| figure.freedom).fold(f64::INFINITY, f64::min);
    let mut variance = all.iter().map(|(figure, _)| figure.variance()).sum::<Option<f64>>();
    for (place, (_, one)) in all.iter().enumerate() {
        let products = all[..place].iter().flat_map(|(_, other)| one.iter().filter_map(|(block, moved)| Some(moved * other.get(block)?)));
        let covariance: f64 = products.sum();
        variance = variance.map(|variance| variance + 2.0 * covariance);
    }
    // Few blocks may tell of a covariance that is more than the variances.
    let method = if all.iter().any(|(figure, _)| figure.method == ErrorMethod::BetweenTrials) {
        ErrorMethod::BetweenTrials
    } else {
        ErrorMethod::Binomial
    };
    Figure::new(value, variance.filter(|_| !all.is_empty()).map(|variance| variance.max(0.0)), freedom, method).not_negative()
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::{sum, timed};
    use crate::exact::{ExactRows, Region};
    use crate::figure::{ErrorMethod, Figure};
    use crate::rows::{Influence, Row};
    use crate::{Layer, Rules};

    fn figure(value: f64, error: f64) -> Figure {
        Figure::new(value, Some(error * error), f64::INFINITY, ErrorMethod::BetweenTrials)
    }

    fn row(key: Layer, ns: f64, error: f64) -> Row<Layer> {
        Row { key, samples: 10, share: figure(0.5, 0.01), ns: figure(ns, error), passes: vec![], moved: Influence::new() }
    }

    fn region() -> Region {
        let tree = tree(&[(None, "[user]", 50), (None, "udp_sendmsg", 100), (None, "ip_output", 50)]);
        let rows = ExactRows::of(&tree, &Rules::builtin().unwrap());
        Region { name: "udp-112".to_owned(), total: tree.total(), rows, tree, ..Region::default() }
    }

    #[test]
    fn a_layer_that_takes_more_time_than_it_executes_stalls() {
        let sender = [row(Layer::Udp, 60.0, 1.0), row(Layer::Ip, 10.0, 1.0)];
        let receiver = [row(Layer::Udp, 30.0, 1.0)];
        let found = timed("UDP 112 B", &[&sender, &receiver], &region());
        assert_eq!((found.ns.value, found.instructions, found.per_instruction.value), (100.0, 200, 0.5));
        let udp = &found.rows[0];
        assert_eq!((udp.layer, udp.ns.value, udp.time_share, udp.instruction_share), (Layer::Udp, 90.0, 0.9, 0.5));
        assert!(udp.stalls && udp.per_instruction.unwrap().interval.unwrap()[0] > found.per_instruction.interval.unwrap()[1]);
        let ip = &found.rows[1];
        assert!(!ip.stalls && (ip.per_instruction.unwrap().value - 0.2).abs() < 1e-12);
        // User code was counted, and no sample hit it: no time is claimed, nor an interval.
        let user = &found.rows[2];
        assert_eq!((user.layer, user.instructions, user.ns.value, user.ns.interval), (Layer::User, 50, 0.0, None));
    }

    #[test]
    fn what_blocks_move_alike_adds_up() {
        let moved = |by: f64| Influence::from([(0, by), (1, -by)]);
        // Each figure's variance is what its blocks move it by.
        let one = (figure(10.0, 2.0_f64.sqrt()), moved(1.0));
        assert!((sum(&[one.clone(), one.clone()]).error.unwrap().powi(2) - 8.0).abs() < 1e-9, "together");
        let other = (figure(10.0, 2.0_f64.sqrt()), moved(-1.0));
        assert!(sum(&[one.clone(), other]).error.unwrap() < 1e-6, "against each other");
        assert!((sum(&[one.clone(), (one.0, Influence::new())]).error.unwrap().powi(2) - 4.0).abs() < 1e-9, "apart");
    }
}
