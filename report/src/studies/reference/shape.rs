//! Implementations of a run or a table next to those of 2007, each against the sockets of its machine.

use literature::shape::{Likeness, SAME, Shape, Side};
use literature::{Comparison, ReferenceAnalysis};

use crate::number;
use crate::words::list;

/// What these shapes have in common with the published ones, a sentence each.
pub fn sentences(reference: &ReferenceAnalysis, comparison: &Comparison) -> Vec<String> {
    let costs = comparison.likeness.iter().map(cost);
    costs.chain(comparison.shapes.iter().map(|shape| crossing(shape, &reference.shapes))).collect()
}

fn cost(one: &Likeness) -> String {
    let times = |ratio: f64| number::significant(ratio, 3);
    let [least, most] = one.published;
    let side = Side::of(one.today);
    let likeness = match one.alike {
        0 => format!("unlike all {} machines of 2007", one.machines),
        alike => format!("as on {alike} of {} machines of 2007", one.machines),
    };
    format!(
        "{}, {}: {} is {} times that of sockets there, {} to {} times in the tables of 2007. It is {}, {likeness}.",
        one.implementation,
        one.group,
        one.what,
        times(one.today),
        times(least),
        times(most),
        side.name()
    )
}

/// How an implementation stands to sockets, by its side at each size.
fn standing(sides: &[Side], crosses: &[f64]) -> String {
    let apart: Vec<Side> = sides.iter().copied().filter(|side| *side != Side::Same).collect();
    let word = |side: Side| if side == Side::Lower { "faster" } else { "slower" };
    match (apart.first(), crosses) {
        (None, _) => format!("differs from sockets by {} at no size", number::percent(SAME)),
        (Some(side), []) if apart.len() == sides.len() => format!("is {} than sockets at every size", word(*side)),
        (Some(side), []) => {
            format!(
                "is {} than sockets at {} of {} sizes, and the same within {} at the others",
                word(*side),
                apart.len(),
                sides.len(),
                number::percent(SAME)
            )
        }
        (Some(side), sizes) => {
            let mut at: Vec<String> = sizes.iter().map(|size| format!("{} B", number::whole(size.round() as u64))).collect();
            at.dedup();
            let first = if sides.first() == Some(side) { "at the smallest size" } else { "at small sizes" };
            format!("is {} than sockets {first}, and the two cross near {}", word(*side), list(&at))
        }
    }
}

fn crossing(shape: &Shape, published: &[Shape]) -> String {
    let then: Vec<&Shape> = published.iter().filter(|other| other.implementation == shape.implementation).collect();
    let crossed = then.iter().filter(|other| !other.crosses.is_empty()).count();
    let machines = then.len();
    let (name, group) = (&shape.implementation, &shape.group);
    let now = standing(&shape.sides, &shape.crosses);
    format!("{name}, {group}: it {now}; in the tables of 2007 the two crossed on {crossed} of {machines} machines.")
}

#[cfg(test)]
mod tests {
    use super::standing;
    use literature::shape::Side::{Higher, Lower, Same};

    #[test]
    fn a_side_is_claimed_of_the_sizes_that_have_it() {
        let rows = [
            (vec![Lower, Lower], vec![], "is faster than sockets at every size"),
            (vec![Higher, Higher], vec![], "is slower than sockets at every size"),
            (vec![Lower, Same], vec![], "is faster than sockets at 1 of 2 sizes, and the same within 5.0 % at the others"),
            (vec![Same, Same], vec![], "differs from sockets by 5.0 % at no size"),
            (vec![Lower, Higher], vec![40.2], "is faster than sockets at the smallest size, and the two cross near 40 B"),
            (vec![Same, Higher, Lower], vec![40.2], "is slower than sockets at small sizes, and the two cross near 40 B"),
            (vec![Lower, Higher, Lower], vec![1.6, 2.4], "is faster than sockets at the smallest size, and the two cross near 2 B"),
        ];
        for (sides, crosses, words) in rows {
            assert_eq!(standing(&sides, &crosses), words);
        }
    }
}
