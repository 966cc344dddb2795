//! A shift from instances that each hold many rounds: the estimate within an instance hardly
//! moves by a wild round (Hodges and Lehmann 1963), and the instances, which are independent,
//! say how sure their mean is (Student 1908).
//!
//! Looks: a study that stops when its interval suits looks at fixed numbers of instances only, and each look
//! spends its share of the error (Bonferroni), so that all together keep what is allowed.

use crate::distribution::{student_critical, student_two_sided};
use crate::estimate::{Estimate, Interval, Method};
use crate::median;

/// Numbers of instances after which a study looks whether it may stop.
pub const LOOKS: [usize; 4] = [8, 16, 24, 48];

/// Error that all looks together spend. What is left of 5 % is for a study that is run again.
pub const SPENT: f64 = 0.04;

/// The looks of a study of `least` to `most` instances: one where that is one number.
pub fn looks(least: usize, most: usize) -> Vec<usize> {
    if least == most {
        return vec![most];
    }
    LOOKS.into_iter().filter(|look| (least..=most).contains(look)).collect()
}

/// Confidence of each of so many looks, so that all together spend what they may.
pub fn held_to(looks: usize) -> f64 {
    1.0 - SPENT / looks.max(1) as f64
}

/// Rounds beyond which neighbours are pooled: there are pairs of all.
const MOST: usize = 200;

/// The median of all means of two values; `None` without any, and where one is no number.
pub fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    let values = crate::ranks::pooled(values, MOST);
    let mut means: Vec<f64> =
        (0..values.len()).flat_map(|i| (i..values.len()).map(move |j| (i, j))).map(|(i, j)| f64::midpoint(values[i], values[j])).collect();
    if means.iter().any(|mean| !mean.is_finite()) {
        return None;
    }
    crate::sort(&mut means);
    median::of_sorted(&means)
}

/// Correlation of neighbours in a series of independent values around one mean: near 0 where each round is its own.
/// `None` of fewer than four, and where all are alike.
pub fn lag_one(values: &[f64]) -> Option<f64> {
    if values.len() < 4 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    Some(products / squares).filter(|share| share.is_finite())
}

/// Mean and deviation of instances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Instances {
    value: f64,
    deviation: f64,
    n: usize,
}

impl Instances {
    /// Of one value an instance; `None` of fewer than two, and where one is no number.
    pub fn new(values: &[f64]) -> Option<Self> {
        let n = values.len();
        let value = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|one| (one - value).powi(2)).sum();
        (n >= 2 && value.is_finite()).then(|| Self { value, deviation: (squares / (n as f64 - 1.0)).sqrt(), n })
    }

    /// The estimated shift: their mean.
    pub const fn value(&self) -> f64 {
        self.value
    }

    /// Standard deviation from instance to instance.
    pub const fn deviation(&self) -> f64 {
        self.deviation
    }

    /// Number of instances.
    pub const fn n(&self) -> usize {
        self.n
    }

    /// Degrees of freedom of the error.
    pub fn freedom(&self) -> f64 {
        self.n as f64 - 1.0
    }

    /// Standard error of the mean.
    pub fn error(&self) -> f64 {
        self.deviation / (self.n as f64).sqrt()
    }

    /// Reach of the interval from the estimate to either end.
    pub fn reach(&self, confidence: f64) -> f64 {
        student_critical(confidence, self.freedom()) * self.error()
    }

    /// Two-sided probability of a mean so far from `at` if that is the true shift.
    pub fn p(&self, at: f64) -> f64 {
        match (self.value - at).abs() {
            far if self.deviation > 0.0 => student_two_sided(far / self.error(), self.freedom()),
            far if far > 0.0 => 0.0,
            _ => 1.0,
        }
    }

    /// The estimated shift with its interval.
    pub fn estimate(&self, confidence: f64) -> Estimate {
        let reach = self.reach(confidence);
        let interval = Interval { low: self.value - reach, high: self.value + reach, confidence, method: Method::Instances };
        Estimate { value: self.value, interval: Some(interval), n: self.n }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, prop_assert, proptest};

    use super::{Instances, LOOKS, SPENT, held_to, hodges_lehmann, lag_one, looks};
    use crate::holm::holm;
    use crate::noise::{generator, normal};

    #[test]
    fn the_textbook_examples() {
        // Walsh means of 1, 2, 9: 1, 1.5, 2, 5, 5.5, 9.
        assert_eq!(hodges_lehmann(&[1.0, 2.0, 9.0]), Some(3.5));
        assert_eq!(hodges_lehmann(&[]), None);
        assert_eq!(hodges_lehmann(&[1.0, f64::NAN]), None);
        // Student 1908, the sleep data of Cushny and Peebles: mean 1.58, deviation 1.23, 95 % ± 0.88.
        let sleep = Instances::new(&[1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]).unwrap();
        assert!((sleep.value() - 1.58).abs() < 1e-12 && (sleep.deviation() - 1.230).abs() < 1e-3);
        assert!((sleep.reach(0.95) - 0.880).abs() < 1e-3 && (sleep.p(0.0) - 0.00283).abs() < 1e-5, "{}", sleep.p(0.0));
    }

    #[test]
    fn a_fixed_number_is_looked_at_once() {
        assert_eq!(looks(8, 48), LOOKS);
        assert_eq!((looks(24, 24), held_to(1)), (vec![24], 1.0 - SPENT));
    }

    #[test]
    fn neighbours_that_go_together_are_seen() {
        let mut random = generator(3);
        let white: Vec<f64> = (0..2_000).map(|_| normal(&mut random)).collect();
        assert!(lag_one(&white).unwrap().abs() < 0.1);
        let mut last = 0.0;
        let wandering: Vec<f64> = white
            .iter()
            .map(|step| {
                last = 0.6 * last + step;
                last
            })
            .collect();
        assert!((lag_one(&wandering).unwrap() - 0.6).abs() < 0.1);
        assert_eq!(lag_one(&[1.0; 9]), None);
    }

    /// What a study with no difference says at its looks, for some scatter between and within instances: in how many
    /// of `studies` it shows one on any of `cells`.
    fn false_shares(cells: usize, studies: usize, wild: bool) -> f64 {
        let mut random = generator(7 + cells as u64);
        let mut shown = 0;
        for _ in 0..studies {
            let mut values: Vec<Vec<f64>> = vec![Vec::new(); cells];
            let mut found = false;
            for look in LOOKS {
                for cell in &mut values {
                    while cell.len() < look {
                        let own = 0.03 * normal(&mut random);
                        // One round in ten is wild in a wild machine, and an instance in ten is three times as far away.
                        let far = if wild && normal(&mut random) > 1.28 { 3.0 } else { 1.0 };
                        let rounds: Vec<f64> = (0..8)
                            .map(|_| own * far + 0.1 * normal(&mut random) * if wild && normal(&mut random) > 1.28 { 5.0 } else { 1.0 })
                            .collect();
                        cell.push(hodges_lehmann(&rounds).unwrap());
                    }
                }
                let p: Vec<f64> = values.iter().map(|cell| Instances::new(cell).unwrap().p(0.0)).collect();
                found |= holm(&p).iter().any(|p| *p <= 1.0 - held_to(LOOKS.len()));
            }
            shown += usize::from(found);
        }
        shown as f64 / studies as f64
    }

    /// All looks and all cells together say that there is a difference where there is none no more often than allowed:
    /// 4 % of 1,500 studies, and three standard errors of the simulation.
    #[test]
    fn equal_arms_are_rarely_called_different() {
        for (cells, wild) in [(1, false), (1, true), (6, false), (6, true)] {
            let share = false_shares(cells, 1_500, wild);
            assert!(share <= SPENT + 3.0 * (SPENT * (1.0 - SPENT) / 1_500.0).sqrt(), "{cells} cells, wild {wild}: {share}");
            assert!(share > 0.005, "it is no test that never speaks: {cells} cells, wild {wild}: {share}");
        }
    }

    proptest! {
        #[test]
        fn it_moves_with_its_values_and_lies_among_them(values in prop::collection::vec(-1e3..1e3f64, 1..300), by in -1e3..1e3f64) {
            let of = |values: &[f64]| hodges_lehmann(values).unwrap();
            let moved: Vec<f64> = values.iter().map(|value| value + by).collect();
            prop_assert!((of(&moved) - of(&values) - by).abs() < 1e-6);
            let turned: Vec<f64> = values.iter().map(|value| -value).collect();
            prop_assert!((of(&turned) + of(&values)).abs() < 1e-9);
            let (least, most) = (values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(f64::MIN, f64::max));
            prop_assert!((least..=most).contains(&of(&values)));
        }

        #[test]
        fn an_interval_holds_its_estimate_and_p_agrees_with_it(values in prop::collection::vec(-1.0..1.0f64, 2..60), at in -2.0..2.0f64) {
            let found = Instances::new(&values).unwrap();
            let interval = found.estimate(0.95).interval.unwrap();
            prop_assert!(interval.low <= found.value() && found.value() <= interval.high);
            if found.deviation() > 1e-9 && (at - interval.low).abs() > 1e-6 && (at - interval.high).abs() > 1e-6 {
                prop_assert!((interval.low < at && at < interval.high) == (found.p(at) > 0.05));
            }
        }
    }
}
