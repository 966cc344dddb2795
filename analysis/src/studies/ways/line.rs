//! The line of a way: what a message costs as such, and what each byte adds.

use model::Bytes;

/// A line that is wrong by more than this share at a size is none: where datagrams are cut, or
/// calls are put together, the cost is no line in the size.
const WORST: f64 = 0.25;
/// Fewer sizes than this show no line.
const LEAST: usize = 4;

/// Cost a message and cost a byte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// ns a message.
    pub message: f64,
    /// ns a byte.
    pub byte: f64,
}

/// The line through the costs of a way, by least squares of relative errors: a size counts as much as
/// any other, whatever it costs. `None` where there are too few sizes; not checked against the costs.
pub fn fit(sizes: &[Bytes], costs: &[f64]) -> Option<Line> {
    let points: Vec<(f64, f64)> = points(sizes, costs).collect();
    if points.len() < LEAST {
        return None;
    }
    // Of (a + b s - t) / t over a and b.
    let sums = points.iter().fold([0.0; 5], |sums, (size, time)| {
        let (one, slope) = (1.0 / time, size / time);
        [sums[0] + one * one, sums[1] + one * slope, sums[2] + slope * slope, sums[3] + one, sums[4] + slope]
    });
    let [ones, both, slopes, right_one, right_slope] = sums;
    let determinant = ones * slopes - both * both;
    let line = Line {
        message: (right_one * slopes - right_slope * both) / determinant,
        byte: (ones * right_slope - both * right_one) / determinant,
    };
    (line.message > 0.0 && line.byte > 0.0 && line.message.is_finite() && line.byte.is_finite()).then_some(line)
}

/// Returns whether no size lies far from a line.
pub fn holds(line: Line, sizes: &[Bytes], costs: &[f64]) -> bool {
    points(sizes, costs).all(|(size, time)| ((line.message + line.byte * size) / time - 1.0).abs() <= WORST)
}

fn points<'a>(sizes: &'a [Bytes], costs: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
    sizes.iter().zip(costs).map(|(size, cost)| (size.get() as f64, *cost)).filter(|(_, cost)| cost.is_finite() && *cost > 0.0)
}

#[cfg(test)]
mod tests {
    use super::{fit, holds};
    use model::Bytes;
    use proptest::prelude::{prop_assert, proptest};

    const SIZES: [u64; 5] = [1, 64, 512, 4_096, 16_384];

    proptest! {
        #[test]
        fn a_line_is_found(message in 100.0..1e5_f64, byte in 0.05..2.0_f64) {
            let sizes = SIZES.map(Bytes::new);
            let costs = SIZES.map(|size| message + byte * size as f64);
            let line = fit(&sizes, &costs).unwrap();
            prop_assert!((line.message / message - 1.0).abs() < 1e-6 && (line.byte / byte - 1.0).abs() < 1e-3, "{line:?}");
            prop_assert!(holds(line, &sizes, &costs));
        }
    }

    #[test]
    fn what_is_no_line_is_none() {
        let sizes = SIZES.map(Bytes::new);
        assert_eq!(fit(&sizes[..3], &[1.0, 2.0, 3.0]), None);
        assert_eq!(fit(&sizes, &[100.0; 5]), None, "a byte that costs nothing has no ratio");
        // Cut into fragments from some size on.
        let costs = [1_000.0, 1_010.0, 1_100.0, 9_000.0, 36_000.0];
        let line = fit(&sizes, &costs);
        assert!(line.is_none_or(|line| !holds(line, &sizes, &costs)), "{line:?}");
    }
}
