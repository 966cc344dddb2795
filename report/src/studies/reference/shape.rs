//! Implementations of a run next to those of 2007, each against the sockets of its machine.

use literature::shape::{Likeness, Shape, Side};
use literature::{Comparison, ReferenceAnalysis};

use crate::number;
use crate::words::list;

/// What the shapes of a run have in common with the published ones, a sentence each.
pub fn sentences(reference: &ReferenceAnalysis, comparison: &Comparison) -> Vec<String> {
    let costs = comparison.likeness.iter().map(cost);
    costs.chain(comparison.shapes.iter().map(|shape| crossing(shape, &reference.shapes))).collect()
}

fn cost(one: &Likeness) -> String {
    let times = |ratio: f64| number::significant(ratio, 3);
    let [least, most] = one.published;
    let side = Side::of(one.today);
    let likeness = match one.alike {
        0 => format!("unlike all {} machines of then", one.machines),
        alike => format!("as on {alike} of {} machines then", one.machines),
    };
    format!(
        "{}, {}: {} is {} times that of sockets today, {} to {} times in 2007. It is {}, {likeness}.",
        one.implementation,
        one.group,
        one.what,
        times(one.today),
        times(least),
        times(most),
        side.name()
    )
}

fn crossing(shape: &Shape, published: &[Shape]) -> String {
    let then: Vec<&Shape> = published.iter().filter(|other| other.implementation == shape.implementation).collect();
    let crossed = then.iter().filter(|other| !other.crosses.is_empty()).count();
    let machines = then.len();
    let (name, group) = (&shape.implementation, &shape.group);
    let now = match shape.crosses.as_slice() {
        [] if shape.ends[0] < 1.0 => "is faster than sockets at every size".to_owned(),
        [] => "is slower than sockets at every size".to_owned(),
        sizes => {
            let at: Vec<String> = sizes.iter().map(|size| format!("{} B", number::whole(size.round() as u64))).collect();
            let first = if shape.ends[0] < 1.0 { "faster" } else { "slower" };
            format!("is {first} than sockets at the smallest size, and the two cross near {}", list(&at))
        }
    };
    format!("{name}, {group}: today it {now}; in 2007 the two crossed on {crossed} of {machines} machines.")
}
