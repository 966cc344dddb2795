//! Doubts about the shift of an arm, and about its level.

use stats::distribution::fisher_upper;
use stats::distribution::normal_cdf;
use stats::instances::Instances;
use stats::median;

use super::Within;
use crate::verdict::{Doubt, Shape, Side};

/// How sure a doubt has to be.
pub const SURE: f64 = 0.01;
/// Correlation of neighbouring rounds from which on they are not each their own.
const MOST_LAG: f64 = 0.2;
/// Scatter between instances, against that expected from their rounds, from which on it belongs to the instances.
const MOST_BETWEEN: f64 = 2.0;
/// Change from the first to the second half of a slice from which on a level is said to depend on it.
const MOST_AGING: f64 = 0.02;
/// Instances from which on there is any.
const LEAST: usize = 8;
/// Degrees of freedom of what many rounds tell.
const MANY: f64 = 1e6;

/// The doubts about the shift of a candidate in a cell.
pub fn of_shift(cell: usize, instances: &[Within]) -> Vec<Doubt> {
    let mut found = Vec::new();
    if instances.len() < LEAST {
        return found;
    }
    let mut add = |shape, p| found.extend((p <= SURE).then_some(Doubt { cell: Some(cell), side: None, shape, p }));
    let lags: Vec<f64> = instances.iter().filter_map(|one| one.lag_one).collect();
    let rounds = instances.iter().map(|one| one.rounds as f64).sum::<f64>();
    // Estimated from n rounds it is too low by about 1/n in the mean, and scatters by 1/sqrt(n).
    let lag_one = lags.iter().sum::<f64>() / lags.len() as f64 + instances.len() as f64 / rounds;
    if lag_one > MOST_LAG {
        add(Shape::RoundsGoTogether { lag_one }, 1.0 - normal_cdf(lag_one * rounds.sqrt()));
    }
    let values: Vec<f64> = instances.iter().map(|one| one.value).collect();
    let expected: Vec<f64> = instances.iter().map(|one| one.deviation / (one.rounds as f64).sqrt()).collect();
    if let (Some(between), Some(within)) = (Instances::new(&values), median::median(&expected).filter(|within| *within > 0.0)) {
        let ratio = between.deviation() / within;
        if ratio > MOST_BETWEEN {
            add(Shape::InstancesDiffer { ratio }, fisher_upper(ratio.powi(2), between.freedom(), MANY));
        }
    }
    found
}

/// The doubt about the level of an arm in a cell, of the changes from the first to the second half of its slices.
pub fn of_level(cell: usize, side: Side, ages: &[f64]) -> Option<Doubt> {
    let found = Instances::new(ages).filter(|found| found.n() >= LEAST && found.value().abs() > MOST_AGING.ln_1p())?;
    let p = found.p(0.0);
    let shape = Shape::LevelByAge { by: found.value().exp_m1() };
    (p <= SURE).then_some(Doubt { cell: Some(cell), side: Some(side), shape, p })
}

#[cfg(test)]
mod tests {
    use super::{of_level, of_shift};
    use crate::verdict::woven::Within;
    use crate::verdict::{Shape, Side};

    fn instance(value: f64, lag_one: f64) -> Within {
        Within { value, deviation: 0.1, lag_one: Some(lag_one), rounds: 16 }
    }

    #[test]
    fn quiet_instances_raise_none() {
        let values: Vec<Within> = (0..12).map(|n| instance(0.025 * f64::from(n % 3 - 1), -0.05)).collect();
        assert_eq!((of_shift(0, &values), of_shift(0, &values[..7])), (vec![], vec![]));
        assert_eq!(of_level(0, Side::Baseline, &[0.01, -0.01, 0.02, 0.0, 0.01, -0.02, 0.01, 0.0]), None);
    }

    #[test]
    fn instances_that_differ_and_rounds_that_go_together_are_named() {
        let values: Vec<Within> = (0..12).map(|n| instance(0.15 * f64::from(n % 3 - 1), 0.4)).collect();
        let found = of_shift(3, &values);
        assert!(matches!(found[0].shape, Shape::RoundsGoTogether { lag_one } if (lag_one - 0.4625).abs() < 1e-9), "{found:?}");
        assert!(matches!(found[1].shape, Shape::InstancesDiffer { ratio } if ratio > 4.0), "{found:?}");
        assert!(found.iter().all(|doubt| doubt.cell == Some(3) && doubt.p < 1e-6), "{found:?}");
    }

    #[test]
    fn a_level_that_moves_within_slices_is_named() {
        let ages: Vec<f64> = (0..8).map(|n| -0.05 + 0.002 * f64::from(n)).collect();
        let found = of_level(1, Side::Candidate, &ages).unwrap();
        assert!(matches!(found.shape, Shape::LevelByAge { by } if (by + 0.042).abs() < 0.002), "{found:?}");
        assert_eq!(of_level(1, Side::Candidate, &ages[..7]), None);
    }
}
