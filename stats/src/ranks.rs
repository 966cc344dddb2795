//! Randomisation tests of a shift by ranks: exact at any number of values, and
//! hardly moved by one wild value.
//!
//! Paired: the sign of each difference was as likely to fall the other way
//! (Fisher 1935), so all 2^n ways to flip the signs are counted; the statistic is
//! Wilcoxon's signed-rank sum (Wilcoxon 1945). Unpaired: any choice of so many of
//! all values was as likely, so all arrangements are counted; the statistic is
//! the rank sum (Mann and Whitney 1947). Both statistics are numbers of *shifts*:
//! means of two differences (Tukey 1949), or differences of a value of one kind
//! and one of the other, that lie beyond the shift under test. The estimate is
//! their median (Hodges and Lehmann 1963), and the interval, by inversion, lies
//! between two of them (Lehmann, "Nonparametrics", 2.5 and 4.3; Bauer 1972).
//!
//! Shifts equal to the one under test count against it on both sides, so that
//! ties never make p smaller.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::estimate::{Estimate, Interval, Method};
use crate::median;

/// Beyond so many pairs neighbours are pooled. As a pair's sign may fall either
/// way, so may that of a pool's median: the test stays exact.
pub const MOST_PAIRED: usize = 100;

/// Beyond so many values of either kind neighbours are pooled.
pub const MOST_UNPAIRED: usize = 50;

/// The distributions worked out so far, by the numbers of values: of pairs and
/// 0, or of both kinds.
#[derive(Debug, Default)]
pub struct Nulls(BTreeMap<(usize, usize), Arc<[f64]>>);

/// The measurements, as all shifts that they speak for.
#[derive(Debug, Clone)]
pub struct Shifts {
    /// In rising order; at least one.
    sorted: Vec<f64>,
    /// The probability that at most k shifts lie beyond the true one, for each k.
    null: Arc<[f64]>,
}

impl Nulls {
    /// The shifts of paired differences. `None` without any, or when one is no
    /// number.
    pub fn paired(&mut self, differences: &[f64]) -> Option<Shifts> {
        let values = pooled(differences, MOST_PAIRED);
        let mean = |i: usize, j: usize| Some(f64::midpoint(values[i], values[j]));
        self.walsh(values.len(), mean)
    }

    /// The shifts of paired values as ratios of the second over the first: the
    /// signs that are flipped are those of second − ratio·first, so that the
    /// test of a ratio of 1 is that of a difference of 0, and no logarithm is
    /// needed (as Fieller 1954 does for means). `None` when the first of any two
    /// pairs are together not above 0.
    pub fn ratios(&mut self, pairs: &[(f64, f64)]) -> Option<Shifts> {
        let side = |of: fn(&(f64, f64)) -> f64| pooled(&pairs.iter().map(of).collect::<Vec<_>>(), MOST_PAIRED);
        let (below, above) = (side(|pair| pair.0), side(|pair| pair.1));
        let ratio = |i: usize, j: usize| Some((above[i] + above[j]) / (below[i] + below[j])).filter(|_| below[i] + below[j] > 0.0);
        self.walsh(below.len(), ratio)
    }

    /// The shifts from `first` to `second`, two independent sets of values.
    pub fn unpaired(&mut self, first: &[f64], second: &[f64]) -> Option<Shifts> {
        let (first, second) = (pooled(first, MOST_UNPAIRED), pooled(second, MOST_UNPAIRED));
        let shifts = second.iter().flat_map(|to| first.iter().map(move |from| to - from)).collect();
        let null = self.of((first.len(), second.len()));
        Shifts::new(shifts, null)
    }

    fn walsh(&mut self, n: usize, of: impl Fn(usize, usize) -> Option<f64>) -> Option<Shifts> {
        let shifts = (0..n).flat_map(|i| (i..n).map(move |j| (i, j))).map(|(i, j)| of(i, j)).collect::<Option<Vec<f64>>>()?;
        let null = self.of((n, 0));
        Shifts::new(shifts, null)
    }

    fn of(&mut self, (first, second): (usize, usize)) -> Arc<[f64]> {
        let work_out = || if second == 0 { signs(first) } else { labels(first, second) };
        Arc::clone(self.0.entry((first, second)).or_insert_with(|| work_out().into()))
    }
}

impl Shifts {
    fn new(mut sorted: Vec<f64>, null: Arc<[f64]>) -> Option<Self> {
        sorted.sort_unstable_by(f64::total_cmp);
        (!sorted.is_empty() && sorted.iter().all(|shift| shift.is_finite())).then_some(Self { sorted, null })
    }

    /// The estimated shift: the median of all.
    pub fn value(&self) -> f64 {
        median::of_sorted(&self.sorted).unwrap_or_default()
    }

    /// The estimated shift with its interval; `n` is the number of values behind it.
    pub fn estimate(&self, confidence: f64, n: usize) -> Estimate {
        Estimate { value: self.value(), interval: self.interval(confidence), n }
    }

    /// Probability of shifts that lie so unevenly around `at` if that is the
    /// true one: twice the smaller tail, at most 1.
    pub fn p(&self, at: f64) -> f64 {
        let last = self.sorted.len() - 1;
        // Rounding must not break ties that are exact in the data.
        let slack = self.sorted[0].abs().max(self.sorted[last].abs()) * 1e-12;
        let not_above = self.sorted.partition_point(|shift| *shift <= at + slack);
        let not_below = self.sorted.len() - self.sorted.partition_point(|shift| *shift < at - slack);
        (2.0 * self.null[not_above.min(not_below)]).min(1.0)
    }

    /// Every shift that the test does not reject; `None` when there are too few
    /// values to reject any.
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        let allowed = (1.0 - confidence) / 2.0 + 1e-12;
        let rejected = self.null.partition_point(|share| *share <= allowed).checked_sub(1)?;
        let high = self.sorted.len().checked_sub(1 + rejected).filter(|high| *high >= rejected)?;
        Some(Interval {
            low: self.sorted[rejected],
            high: self.sorted[high],
            confidence: 1.0 - 2.0 * self.null[rejected],
            method: Method::Randomisation,
        })
    }

    /// Reach of the interval from the estimate to the farther end: a
    /// shift nearer to 0 than this could not have been told from it.
    pub fn reach(&self, confidence: f64) -> Option<f64> {
        let interval = self.interval(confidence)?;
        Some((interval.high - self.value()).max(self.value() - interval.low))
    }
}

/// The smallest p that so many pairs can give.
pub fn least_p_paired(pairs: usize) -> f64 {
    (2.0 * 0.5_f64.powi(pairs.min(MOST_PAIRED) as i32)).min(1.0)
}

/// The smallest p that so many values of either kind can give.
pub fn least_p_unpaired(first: usize, second: usize) -> f64 {
    let (first, second) = (first.min(MOST_UNPAIRED), second.min(MOST_UNPAIRED));
    let ways = (1..=second).fold(1.0, |ways, i| ways * (first + i) as f64 / i as f64);
    (2.0 / ways).min(1.0)
}

/// Medians of neighbours, where there are more than `most`; a pool with a value
/// that is no number is none.
pub fn pooled(values: &[f64], most: usize) -> Vec<f64> {
    let count = values.len().min(most);
    if count == values.len() {
        return values.to_vec();
    }
    let pool = |i: usize| &values[i * values.len() / count..(i + 1) * values.len() / count];
    (0..count).map(|i| if pool(i).iter().all(|v| v.is_finite()) { median::median(pool(i)).unwrap_or(f64::NAN) } else { f64::NAN }).collect()
}

/// P(sum of the ranks of positive signs <= k) of `n` signs, for each k.
fn signs(n: usize) -> Vec<f64> {
    let mut shares = vec![0.0; n * (n + 1) / 2 + 1];
    shares[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..=rank * (rank + 1) / 2).rev() {
            let with = if sum >= rank { shares[sum - rank] } else { 0.0 };
            shares[sum] = (shares[sum] + with) / 2.0;
        }
    }
    accumulated(shares)
}

/// P(pairs of a first and a second value in which the second is larger <= k),
/// for each k, by the recurrence of Mann and Whitney: the largest of all values
/// is of either kind.
pub fn labels(first: usize, second: usize) -> Vec<f64> {
    let mut rows: Vec<Vec<f64>> = vec![vec![1.0]; second + 1];
    for i in 1..=first {
        let mut before = vec![1.0];
        for (j, row) in rows.iter_mut().enumerate().skip(1) {
            let mut next = vec![0.0; i * j + 1];
            next.iter_mut().zip(&before).for_each(|(next, without)| *next += without * j as f64 / (i + j) as f64);
            next[j..].iter_mut().zip(row.iter()).for_each(|(next, with)| *next += with * i as f64 / (i + j) as f64);
            (*row, before) = (next.clone(), next);
        }
    }
    accumulated(rows.swap_remove(second))
}

fn accumulated(mut shares: Vec<f64>) -> Vec<f64> {
    let mut below = 0.0;
    shares.iter_mut().for_each(|share| {
        below += *share;
        *share = below;
    });
    shares
}

#[cfg(test)]
mod tests {
    use super::{Nulls, labels, least_p_paired, least_p_unpaired, pooled, signs};
    use proptest::prelude::{Strategy, prop, prop_assert, proptest};

    /// Lehmann, "Nonparametrics", tables H and B: the cumulated numbers of ways.
    #[test]
    fn distributions_agree_with_printed_tables() {
        let ways: Vec<f64> = signs(5).iter().map(|share| share * 32.0).collect();
        assert_eq!(ways[..8], [1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 13.0, 16.0]);
        let ways: Vec<f64> = labels(3, 4).iter().map(|share| (share * 35.0 * 1e9).round() / 1e9).collect();
        assert_eq!(ways, [1.0, 2.0, 4.0, 7.0, 11.0, 15.0, 20.0, 24.0, 28.0, 31.0, 33.0, 34.0, 35.0]);
        // n = 20: P(V <= 52) is 0.0242, the 95 % critical value of every table.
        assert!((signs(20)[52] - 0.0242).abs() < 5e-5 && signs(20)[53] > 0.025);
        assert!((least_p_paired(6) - 0.03125).abs() < 1e-15 && (least_p_unpaired(4, 4) - 2.0 / 70.0).abs() < 1e-15);
    }

    /// Darwin's maize (Fisher, "The Design of Experiments", 21), as Wilcoxon's
    /// test sees it: V = 24 of 120, p = 0.04126 (also R's `wilcox.test`).
    #[test]
    fn darwins_maize() {
        let differences = [49., -67., 8.1, 16., 6., 23., 28., 41., 14., 29., 56., 24., 75., 60., -48.];
        let shifts = Nulls::default().paired(&differences).unwrap();
        assert!((shifts.p(0.0) - 0.04126).abs() < 5e-5, "{}", shifts.p(0.0));
        let interval = shifts.interval(0.95).unwrap();
        assert!(interval.low > 0.0 && interval.high < 45.0 && shifts.value() > 20.0, "{interval:?}");
    }

    /// Every way to flip signs, counted one by one.
    fn by_flipping(differences: &[f64]) -> f64 {
        let n = differences.len();
        let beyond = |flipped: u32| {
            let value = |i: usize| if flipped >> i & 1 == 1 { -differences[i] } else { differences[i] };
            (0..n).flat_map(|i| (i..n).map(move |j| (i, j))).filter(|(i, j)| value(*i) + value(*j) > 0.0).count()
        };
        let real = beyond(0);
        let tail = |met: &dyn Fn(usize) -> bool| (0..1 << n).filter(|flipped| met(beyond(*flipped))).count() as f64 / f64::from(1 << n);
        (2.0 * tail(&|count| count >= real).min(tail(&|count| count <= real))).min(1.0)
    }

    fn values(least: usize, most: usize) -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-100.0..100.0f64, least..most)
    }

    proptest! {
        #[test]
        fn it_is_the_count_of_all_flips(differences in values(1, 9)) {
            let shifts = Nulls::default().paired(&differences).unwrap();
            prop_assert!((shifts.p(0.0) - by_flipping(&differences)).abs() < 1e-9);
        }

        #[test]
        fn the_test_and_the_interval_say_the_same(a in values(6, 30), b in values(6, 30), by in -50.0..50.0f64) {
            let mut nulls = Nulls::default();
            let paired: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a + by).collect();
            for shifts in [nulls.paired(&paired), nulls.unpaired(&a, &b)].into_iter().flatten() {
                for confidence in [0.8, 0.95, 0.997] {
                    let Some(interval) = shifts.interval(confidence) else { continue };
                    prop_assert!(interval.confidence >= confidence - 1e-9);
                    prop_assert!(interval.low <= shifts.value() && shifts.value() <= interval.high);
                    let outside = 0.0 < interval.low || 0.0 > interval.high;
                    prop_assert!(outside == (shifts.p(0.0) <= 1.0 - interval.confidence + 1e-9));
                }
            }
        }

        #[test]
        fn a_shift_moves_all_and_exchanging_the_kinds_turns_it(a in values(4, 20), b in values(4, 20), by in -50.0..50.0f64) {
            let mut nulls = Nulls::default();
            let plain = nulls.unpaired(&a, &b).unwrap();
            let moved: Vec<f64> = b.iter().map(|b| b + by).collect();
            prop_assert!((nulls.unpaired(&a, &moved).unwrap().value() - by - plain.value()).abs() < 1e-9);
            let turned = nulls.unpaired(&b, &a).unwrap();
            prop_assert!((turned.value() + plain.value()).abs() < 1e-9 && (turned.p(0.0) - plain.p(0.0)).abs() < 1e-9);
        }

        #[test]
        fn a_ratio_of_one_is_a_difference_of_none(a in prop::collection::vec(1.0..100.0f64, 1..20), scale in 0.5..2.0f64) {
            let mut nulls = Nulls::default();
            let pairs: Vec<(f64, f64)> = a.iter().rev().zip(&a).map(|(x, y)| (*x, *y * scale)).collect();
            let differences: Vec<f64> = pairs.iter().map(|(below, above)| above - below).collect();
            let (ratios, differences) = (nulls.ratios(&pairs).unwrap(), nulls.paired(&differences).unwrap());
            prop_assert!((ratios.p(1.0) - differences.p(0.0)).abs() < 1e-9);
        }

        #[test]
        fn pools_hold_every_value(all in values(1, 400)) {
            let few = pooled(&all, 100);
            prop_assert!(few.len() == all.len().min(100));
            prop_assert!(Nulls::default().paired(&all).unwrap().p(0.0) <= 1.0);
        }
    }

    #[test]
    fn nothing_and_ties_show_nothing() {
        let mut nulls = Nulls::default();
        assert!(nulls.paired(&[]).is_none() && nulls.unpaired(&[], &[1.0]).is_none() && nulls.paired(&[f64::NAN]).is_none());
        assert!(nulls.ratios(&[(0.0, 1.0)]).is_none());
        let equal = nulls.paired(&[0.0; 12]).unwrap();
        assert!(equal.p(0.0) >= 1.0 && equal.value() == 0.0);
        assert!(nulls.unpaired(&[3.0; 8], &[3.0; 9]).unwrap().p(0.0) >= 1.0);
        assert!(nulls.paired(&[1.0; 5]).unwrap().interval(0.95).is_none());
        // All the same and none at 0: the most extreme there is.
        assert!((nulls.paired(&[1.0; 6]).unwrap().p(0.0) - 0.03125).abs() < 1e-12);
    }
}
