//! Weighted least squares for a handful of columns.

/// Coefficients that make Σ weight·(y − row·coefficients)² least; `None` when
/// the columns cannot be separated or there are fewer rows than columns.
///
/// By modified Gram-Schmidt orthogonalisation, which is as stable as Householder's
/// for this purpose (Björck 1967, "Solving linear least squares problems by
/// Gram-Schmidt orthogonalization"); columns are judged against their own
/// length, so their units do not matter.
pub fn solve(rows: &[Vec<f64>], y: &[f64], weights: &[f64]) -> Option<Vec<f64>> {
    /// A column with less than this share left next to the others is one of them.
    const SAME: f64 = 1e-7;
    let width = rows.first()?.len();
    if rows.len() < width {
        return None;
    }
    let scaled = |value: f64, i: usize| value * weights[i].sqrt();
    let mut columns: Vec<Vec<f64>> = (0..width).map(|j| rows.iter().enumerate().map(|(i, row)| scaled(row[j], i)).collect()).collect();
    let mut rest: Vec<f64> = y.iter().enumerate().map(|(i, value)| scaled(*value, i)).collect();
    let mut triangle = vec![vec![0.0; width]; width];
    let mut projected = vec![0.0; width];
    let lengths: Vec<f64> = columns.iter().map(|column| dot(column, column).sqrt()).collect();
    for j in 0..width {
        let length = dot(&columns[j], &columns[j]).sqrt();
        if length.is_nan() || length <= lengths[j] * SAME {
            return None;
        }
        let unit: Vec<f64> = columns[j].iter().map(|value| value / length).collect();
        triangle[j][j] = length;
        for k in j + 1..width {
            triangle[j][k] = dot(&unit, &columns[k]);
            remove(&mut columns[k], &unit, triangle[j][k]);
        }
        projected[j] = dot(&unit, &rest);
        remove(&mut rest, &unit, projected[j]);
    }
    let mut coefficients = vec![0.0; width];
    for j in (0..width).rev() {
        let known: f64 = (j + 1..width).map(|k| triangle[j][k] * coefficients[k]).sum();
        coefficients[j] = (projected[j] - known) / triangle[j][j];
    }
    coefficients.iter().all(|value| value.is_finite()).then_some(coefficients)
}

/// Intercept and slope over (size, time) that make Σ weight·(time − line)² least; `None` of
/// sizes that are all one. About the mean size, where the two are independent of each
/// other.
pub fn straight(points: impl Iterator<Item = (f64, f64)> + Clone, weights: &[f64]) -> Option<[f64; 2]> {
    let both = || points.clone().zip(weights);
    let (all, size, time) = both()
        .fold((0.0, 0.0, 0.0), |(all, sizes, times), ((size, time), weight)| (all + weight, sizes + weight * size, times + weight * time));
    let (size, time) = (size / all, time / all);
    let (over, below) = both().fold((0.0, 0.0), |(over, below), ((own, took), weight)| {
        let apart = own - size;
        (over + weight * apart * (took - time), below + weight * apart * apart)
    });
    let slope = over / below;
    let line = [time - slope * size, slope];
    line.iter().all(|value| value.is_finite()).then_some(line)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn remove(from: &mut [f64], unit: &[f64], amount: f64) {
    for (value, direction) in from.iter_mut().zip(unit) {
        *value -= amount * direction;
    }
}

#[cfg(test)]
mod tests {
    use super::{solve, straight};
    use proptest::prelude::{prop, prop_assert, proptest};

    #[test]
    fn columns_that_are_one_are_refused() {
        let rows = [vec![1.0, 2.0], vec![2.0, 4.0], vec![3.0, 6.0]];
        assert_eq!(solve(&rows, &[1.0, 2.0, 3.0], &[1.0; 3]), None);
        assert_eq!(solve(&rows[..1], &[1.0], &[1.0]), None);
        assert_eq!(solve(&[], &[], &[]), None);
    }

    proptest! {
        #[test]
        fn a_straight_line_is_that_of_two_columns(
            times in prop::collection::vec(100.0..1e4f64, 8), weights in prop::collection::vec(0.01..100.0f64, 8),
        ) {
            let sizes: Vec<f64> = (0..8).map(|i| 2f64.powi(2 * i)).collect();
            let rows: Vec<Vec<f64>> = sizes.iter().map(|size| vec![1.0, *size]).collect();
            let points = sizes.iter().copied().zip(times.iter().copied());
            let (quick, whole) = (straight(points, &weights).unwrap(), solve(&rows, &times, &weights).unwrap());
            for (quick, whole) in quick.iter().zip(&whole) {
                prop_assert!((quick - whole).abs() <= 1e-7 * (1.0 + whole.abs()), "{quick} {whole}");
            }
        }

        #[test]
        fn exact_data_gives_its_coefficients(
            a in -1e4..1e4f64, b in -10.0..10.0f64, c in -1e3..1e3f64,
            weights in prop::collection::vec(0.01..100.0f64, 8),
        ) {
            let rows: Vec<Vec<f64>> = (0..8).map(|i| vec![1.0, 2f64.powi(2 * i), f64::from((i * 5) % 7)]).collect();
            let y: Vec<f64> = rows.iter().map(|row| a + b * row[1] + c * row[2]).collect();
            let found = solve(&rows, &y, &weights).unwrap();
            for (found, true_value) in found.iter().zip([a, b, c]) {
                prop_assert!((found - true_value).abs() < 1e-5 * (1.0 + a.abs() + c.abs()), "{found} {true_value}");
            }
        }
    }
}
