//! Randomisation tests: what the random order alone could have done.
//!
//! Fisher, "The Design of Experiments" (1935), 21; Edgington and Onghena,
//! "Randomization Tests". Every way in which the order could have fallen is
//! tried when there are few; otherwise a seeded sample of them, of which the
//! real one is a member, so that the test stays exact (Dwass 1957; Phipson and
//! Smyth 2010). Intervals hold every shift that the test does not reject.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::estimate::{Interval, Method};

/// Up to so many arrangements are all tried.
const MOST_EXACT: f64 = 20_000.0;

/// Arrangements sampled when there are more, the real one not counted.
const SAMPLED: usize = 9_999;

/// The answer of a randomisation test about a shift.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The estimated shift: a difference of means.
    pub value: f64,
    /// Probability of a shift at least as far from 0 by chance: twice the
    /// smaller tail, at most 1.
    pub p: f64,
    /// The shifts that the test does not reject; `None` when there are too few
    /// arrangements to reject any.
    pub interval: Option<Interval>,
}

/// Values among which it was drawn which are treated: any choice of so many was
/// as likely as any other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stratum {
    /// Values of those that were drawn.
    pub treated: Vec<f64>,
    /// Values of the rest.
    pub others: Vec<f64>,
}

/// Probability of a statistic at least this large by chance, from those of a
/// sample of what chance gives, in rising order; the real one counts as one of
/// them (Phipson and Smyth 2010).
pub fn p_by_chance(statistic: f64, sample: &[f64]) -> f64 {
    // Rounding must not break ties that are exact.
    let below = sample.partition_point(|other| *other < statistic - 1e-9);
    (sample.len() - below + 1) as f64 / (sample.len() + 1) as f64
}

/// The same beyond the largest of the sample too, where counting can say no more
/// than "less than one in so many": from the values above the 250th largest on the
/// probability is taken to fall exponentially with their mean excess (the generalised
/// Pareto tail of Knijnenburg and others 2009, "Fewer permutations, more accurate
/// P-values", with shape 0, which is conservative where the true tail is lighter).
pub fn p_in_tail(statistic: f64, sample: &[f64]) -> f64 {
    const TAIL: usize = 250;
    let counted = p_by_chance(statistic, sample);
    let Some(start) = sample.len().checked_sub(4 * TAIL).map(|_| sample.len() - TAIL) else { return counted };
    let threshold = sample[start - 1];
    let excess = sample[start..].iter().map(|value| value - threshold).sum::<f64>() / TAIL as f64;
    if statistic <= threshold || excess <= 0.0 {
        return counted;
    }
    let share = TAIL as f64 / (sample.len() + 1) as f64;
    counted.min(share * (-(statistic - threshold) / excess).exp())
}

/// In how many ways the labels of strata could have been drawn; each is given
/// by the numbers of its two kinds. Infinite when beyond counting.
fn ways(strata: impl Iterator<Item = [usize; 2]>) -> f64 {
    let choices = |[a, b]: [usize; 2]| (1..=a.min(b)).fold(1.0, |ways, i| ways * (a.max(b) + i) as f64 / i as f64);
    strata.map(choices).product()
}

/// True where any values at all could be significant: the most extreme arrangement
/// has a p of twice its probability.
pub fn can_reject(strata: impl Iterator<Item = [usize; 2]>, confidence: f64) -> bool {
    2.0 / ways(strata) <= 1.0 - confidence + 1e-9
}

/// Excess of treated values over others of their stratum, tested by
/// dealing the labels of each stratum again.
///
/// The estimate is the mean of the strata's differences of means, each weighing
/// n·m/(n + m), which is the inverse of its variance up to a factor. The test is
/// exact under the design, whatever else the values depend on: the labels were
/// drawn so. The interval is by inversion (Garthwaite 1996, "Confidence intervals
/// from randomization tests"), in one pass, since each arrangement changes sides
/// at one shift. `None` when no stratum has values of both kinds, or one is no
/// number.
pub fn stratified(strata: &[Stratum], confidence: f64, seed: u64) -> Option<Shift> {
    let values = || strata.iter().flat_map(|stratum| stratum.treated.iter().chain(&stratum.others));
    let weight: f64 = strata.iter().map(Stratum::weight).sum();
    if values().any(|value| !value.is_finite()) || weight <= 0.0 {
        return None;
    }
    let value = strata.iter().map(Stratum::weighted_difference).sum::<f64>() / weight;
    let deals = if ways(strata.iter().map(Stratum::counts)) <= MOST_EXACT { every(strata) } else { sampled(strata, seed) };
    let largest = values().fold(0.0, |most: f64, value| most.max(value.abs()));
    Some(judge(value, &deals, largest, confidence))
}

impl Stratum {
    fn counts(&self) -> [usize; 2] {
        [self.treated.len(), self.others.len()]
    }

    fn weight(&self) -> f64 {
        let [treated, others] = self.counts().map(|count| count as f64);
        if treated * others > 0.0 { treated * others / (treated + others) } else { 0.0 }
    }

    /// The difference of means times the weight.
    fn weighted_difference(&self) -> f64 {
        let [treated, others] = self.counts().map(|count| count as f64);
        let sum = |values: &[f64]| values.iter().sum::<f64>();
        if treated * others > 0.0 { (sum(&self.treated) * others - sum(&self.others) * treated) / (treated + others) } else { 0.0 }
    }

    /// The arrangement that treats `chosen`: places of treated values, the
    /// others counted on from them.
    fn deal(&self, chosen: &[usize]) -> Deal {
        let first = self.treated.len();
        let mut deal = Deal { moved: 0, less: self.treated.iter().sum() };
        for place in chosen {
            deal.less -= if *place < first { self.treated[*place] } else { self.others[*place - first] };
            deal.moved += u32::from(*place >= first);
        }
        deal
    }

    /// Every arrangement, the real one among them.
    fn every(&self) -> Vec<Deal> {
        let [size, others] = self.counts();
        let mut chosen: Vec<usize> = (0..size).collect();
        let mut deals = Vec::new();
        loop {
            deals.push(self.deal(&chosen));
            // The next combination in lexicographic order.
            let Some(last) = (0..size).rev().find(|i| chosen[*i] < others + i) else { return deals };
            chosen[last] += 1;
            for i in last + 1..size {
                chosen[i] = chosen[i - 1] + 1;
            }
        }
    }
}

/// An arrangement of labels against the real one.
#[derive(Debug, Clone, Copy)]
struct Deal {
    /// Treated values that it does not treat.
    moved: u32,
    /// By how much the sum of those that it treats is less.
    less: f64,
}

impl Deal {
    const REAL: Self = Self { moved: 0, less: 0.0 };

    fn and(self, other: Self) -> Self {
        Self { moved: self.moved + other.moved, less: self.less + other.less }
    }

    /// The shift at which it and the real arrangement are equally extreme:
    /// their statistics differ by `less - shift * moved`, over the weight.
    /// `None` of the real one.
    fn crossing(self) -> Option<f64> {
        (self.moved > 0).then(|| self.less / f64::from(self.moved))
    }
}

/// Every arrangement of all strata.
fn every(strata: &[Stratum]) -> Vec<Deal> {
    strata.iter().fold(vec![Deal::REAL], |deals, stratum| {
        let of_stratum = stratum.every();
        deals.iter().flat_map(|deal| of_stratum.iter().map(|other| deal.and(*other))).collect()
    })
}

/// The real arrangement and a sample of all.
fn sampled(strata: &[Stratum], seed: u64) -> Vec<Deal> {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    let mut deals = vec![Deal::REAL; SAMPLED + 1];
    for stratum in strata {
        let drawn = deals.iter_mut().skip(1);
        if ways(std::iter::once(stratum.counts())) <= MOST_EXACT {
            let all = stratum.every();
            drawn.for_each(|deal| *deal = deal.and(all[generator.random_range(0..all.len())]));
        } else {
            let [size, others] = stratum.counts();
            let mut order: Vec<usize> = (0..size + others).collect();
            drawn.for_each(|deal| *deal = deal.and(stratum.deal(order.partial_shuffle(&mut generator, size).0)));
        }
    }
    deals
}

/// A verdict from the shifts at which other arrangements become as extreme as
/// the real one, which is among them.
///
/// Where the true shift is d, the real arrangement is beaten or met from above
/// by those whose crossing is at most d, and from below by those whose crossing
/// is at least d; it always meets itself.
fn judge(value: f64, deals: &[Deal], largest: f64, confidence: f64) -> Shift {
    let mut crossings: Vec<f64> = deals.iter().filter_map(|deal| deal.crossing()).collect();
    crossings.sort_unstable_by(f64::total_cmp);
    // Rounding must not break ties that are exact in the data.
    let slack = largest * 1e-12;
    let all = deals.len();
    let met = all - crossings.len();
    let above = met + crossings.partition_point(|c| *c <= slack);
    let below = all - crossings.partition_point(|c| *c < -slack);
    let p = (2.0 * above.min(below) as f64 / all as f64).min(1.0);
    let rejected = (all as f64 * (1.0 - confidence) / 2.0 + 1e-9).floor() as usize;
    let end = rejected.checked_sub(met).filter(|end| *end < crossings.len().div_ceil(2));
    let interval = end.map(|end| Interval {
        low: crossings[end],
        high: crossings[crossings.len() - 1 - end],
        confidence: 1.0 - 2.0 * rejected as f64 / all as f64,
        method: Method::Randomisation,
    });
    Shift { value, p, interval }
}

#[cfg(test)]
mod tests {
    use super::{Stratum, can_reject, every, sampled, stratified};
    use proptest::prelude::{Strategy, prop, prop_assert, proptest};

    fn stratum(treated: &[f64], others: &[f64]) -> Stratum {
        Stratum { treated: treated.to_vec(), others: others.to_vec() }
    }

    /// Darwin's maize, in eighths of an inch, as Fisher tests it: 863 of the
    /// 32,768 arrangements in each tail, p = 0.0527 ("The Design of
    /// Experiments", 21). Each pair is a stratum; the sampled test has to come
    /// near.
    #[test]
    fn darwins_maize() {
        let pairs = [49., -67., 8., 16., 6., 23., 28., 41., 14., 29., 56., 24., 75., 60., -48.];
        let strata = pairs.map(|difference| stratum(&[difference], &[0.0]));
        let shift = stratified(&strata, 0.95, 1).unwrap();
        assert!((shift.p - 0.0527).abs() < 0.007, "{}", shift.p);
        assert!((shift.value - 314.0 / 15.0).abs() < 1e-9, "{}", shift.value);
        let interval = shift.interval.unwrap();
        assert!(interval.low < 0.5 && interval.low > -5.0 && interval.high > 38.0, "{interval:?}");
        let exact = every(&strata).iter().filter(|deal| deal.less <= 0.0).count();
        assert_eq!(exact, 863);
    }

    #[test]
    fn few_values_are_tried_in_every_way() {
        // All 126 arrangements of 4 and 5; complete separation is the most extreme.
        let apart = [stratum(&[11., 12., 13., 14.], &[1., 2., 3., 4., 5.])];
        let shift = stratified(&apart, 0.95, 1).unwrap();
        assert!((shift.p - 2.0 / 126.0).abs() < 1e-12 && (shift.value - 9.5).abs() < 1e-12);
        assert!(shift.interval.unwrap().low > 0.0 && can_reject([[4, 5]].into_iter(), 0.95));
        let three = stratified(&[stratum(&[1., 2., 3.], &[4., 5., 6.])], 0.95, 1).unwrap();
        assert!((three.p - 0.1).abs() < 1e-12 && three.interval.is_none());
        assert!(!can_reject([[3, 3]].into_iter(), 0.95) && can_reject([[3, 3]].into_iter(), 0.9));
        let both = [stratum(&[11., 12.], &[1., 2.]), stratum(&[31., 32., 33.], &[21., 22., 23.])];
        assert!((stratified(&both, 0.95, 1).unwrap().p - 2.0 / 120.0).abs() < 1e-12);
    }

    /// Strata may lie as far apart as they like.
    #[test]
    fn strata_weigh_by_what_they_can_tell() {
        let strata = [stratum(&[3.], &[1.]), stratum(&[1_004., 1_004.], &[1_000., 1_000.]), stratum(&[7.; 9], &[])];
        assert!((stratified(&strata, 0.95, 1).unwrap().value - (0.5 * 2.0 + 4.0) / 1.5).abs() < 1e-9);
    }

    #[test]
    fn equal_values_show_nothing() {
        assert!((stratified(&[stratum(&[0.1; 5], &[0.1; 6])], 0.95, 1).unwrap().p - 1.0).abs() < 1e-12);
        assert!(stratified(&[], 0.95, 1).is_none());
        assert!(stratified(&[stratum(&[1.0], &[])], 0.95, 1).is_none());
        assert!(stratified(&[stratum(&[1.0], &[f64::NAN])], 0.95, 1).is_none());
    }

    #[test]
    fn a_sample_is_like_the_whole() {
        let strata = [stratum(&[1., 5., 2., 8.], &[3., 1., 4., 1., 5.]), stratum(&[2., 7.], &[1., 8.])];
        let share = |deals: &[super::Deal]| deals.iter().filter(|deal| deal.less <= 0.0).count() as f64 / deals.len() as f64;
        let (whole, sample) = (share(&every(&strata)), share(&sampled(&strata, 1)));
        assert!((whole - sample).abs() < 0.02, "{whole} {sample}");
        // Too many ways to list even of one stratum.
        let many: Vec<f64> = (0..24).map(|i| f64::from(i * 7 % 24)).collect();
        let large = stratified(&[stratum(&many[..12], &many[12..])], 0.95, 1).unwrap();
        assert!(large.p > 0.1 && large.interval.is_some_and(|i| i.low < large.value && large.value < i.high), "{large:?}");
    }

    fn any_strata() -> impl Strategy<Value = Vec<Stratum>> {
        let values = || prop::collection::vec(-100.0..100.0f64, 2..5);
        prop::collection::vec((values(), values()).prop_map(|(treated, others)| Stratum { treated, others }), 2..4)
    }

    proptest! {
        #[test]
        fn a_shift_moves_the_interval_along(strata in any_strata(), by in -50.0..50.0f64) {
            let plain = stratified(&strata, 0.8, 1).unwrap();
            let mut moved = strata;
            moved.iter_mut().flat_map(|stratum| &mut stratum.treated).for_each(|value| *value += by);
            let moved = stratified(&moved, 0.8, 1).unwrap();
            prop_assert!((plain.value + by - moved.value).abs() < 1e-9);
            let (Some(p), Some(m)) = (plain.interval, moved.interval) else { return Ok(()) };
            prop_assert!((p.low + by - m.low).abs() < 1e-9 && (p.high + by - m.high).abs() < 1e-9);
            prop_assert!(p.low <= plain.value && plain.value <= p.high);
            // The test and the interval say the same.
            prop_assert!((p.low > 1e-9 || p.high < -1e-9) == (plain.p <= 1.0 - p.confidence + 1e-9));
        }

        #[test]
        fn what_a_whole_stratum_gains_shows_nothing(strata in any_strata(), by in -50.0..50.0f64) {
            let plain = stratified(&strata, 0.9, 1).unwrap();
            let mut moved = strata;
            moved[0].treated.iter_mut().for_each(|value| *value += by);
            moved[0].others.iter_mut().for_each(|value| *value += by);
            let moved = stratified(&moved, 0.9, 1).unwrap();
            prop_assert!((plain.value - moved.value).abs() < 1e-9 && (plain.p - moved.p).abs() < 1e-12);
        }

        #[test]
        fn scaling_and_flipping_carry_over(strata in any_strata(), scale in 0.1..10.0f64) {
            let plain = stratified(&strata, 0.9, 1).unwrap();
            let mut turned = strata;
            turned.iter_mut().flat_map(|s| s.treated.iter_mut().chain(&mut s.others)).for_each(|value| *value *= -scale);
            let turned = stratified(&turned, 0.9, 1).unwrap();
            prop_assert!((plain.p - turned.p).abs() < 1e-12);
            if let (Some(p), Some(t)) = (plain.interval, turned.interval) {
                prop_assert!((p.low * -scale - t.high).abs() < 1e-6);
            }
        }
    }
}
