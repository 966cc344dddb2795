//! The place where a series changes its level once: the split at which the means of
//! its two parts differ most, in units of what is left within them (a maximally
//! selected t statistic: Hawkins 1977, "Testing a sequence of observations for a
//! shift in location").
//!
//! Several series are tested at once, against what the same values do in shuffled
//! order: the p of each is the probability that any series of those that are no
//! clearer shows as much by chance (step-down maxT: Westfall and Young 1993,
//! "Resampling-Based Multiple Testing", 2.8). Nothing is multiplied by the number
//! of series, and so a clear change stays clear among hundreds.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::median;

/// Each part has at least so many values: fewer are no level, and neighbours by
/// chance often.
pub const LEAST_IN_PART: usize = 3;

/// Fewer values than this show no change worth a word.
pub const LEAST: usize = 8;

/// Shuffles that series are compared with.
const SHUFFLES: usize = 1_999;

/// Shuffles after which no more are made where no series is anywhere near a change,
/// and the p above which that is so (Besag and Clifford 1991, "Sequential Monte
/// Carlo p-values").
const FIRST_LOOK: (usize, f64) = (199, 0.1);

/// Values farther from the median than so many deviations of neighbours from each
/// other count as this far: one wild value must hide no step, and a step is no wild
/// value.
const FARTHEST: f64 = 8.0;

/// One change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Number of values before it.
    pub before: usize,
    /// The median level before it and after it.
    pub levels: [f64; 2],
    /// Probability of one so clear in any of the series by chance.
    pub p: f64,
}

/// The clearest change of each series; `None` of fewer than [`LEAST`] values, of a
/// series with one that is no number, and of one whose values are all equal.
pub fn changes(series: &[Vec<f64>]) -> Vec<Option<Change>> {
    let clipped: Vec<Option<Vec<f64>>> = series.iter().map(|values| clipped(values)).collect();
    let clearest: Vec<Option<(usize, f64)>> = clipped.iter().map(|values| clearest_split(values.as_deref()?)).collect();
    let mut order: Vec<usize> = (0..series.len()).filter(|at| clearest[*at].is_some()).collect();
    // The clearest first: each is compared with itself and those behind it.
    order.sort_by(|a, b| t(clearest[*b]).total_cmp(&t(clearest[*a])));
    let ranked: Vec<Vec<f64>> = order.iter().filter_map(|at| clipped[*at].clone()).collect();
    let observed: Vec<f64> = order.iter().map(|at| t(clearest[*at])).collect();
    let mut result = vec![None; series.len()];
    for (at, p) in order.iter().zip(p_values(&ranked, &observed)) {
        let Some((before, _)) = clearest[*at] else { continue };
        let (head, tail) = series[*at].split_at(before);
        result[*at] = median::median(head).zip(median::median(tail)).map(|(head, tail)| Change { before, levels: [head, tail], p });
    }
    result
}

fn t(split: Option<(usize, f64)>) -> f64 {
    split.map_or(f64::NEG_INFINITY, |(_, t)| t)
}

/// The adjusted p of each of some series, the clearest first.
///
/// Series of one length are shuffled alike, so that what hits a block in all of them
/// does so in each shuffle too.
fn p_values(series: &[Vec<f64>], observed: &[f64]) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(series.len() as u64);
    let mut places: BTreeMap<usize, Vec<usize>> = series.iter().map(|values| (values.len(), (0..values.len()).collect())).collect();
    let mut reached = vec![0_usize; series.len()];
    let (mut made, mut shuffled) = (0, Vec::new());
    while made < SHUFFLES {
        made += 1;
        places.values_mut().for_each(|places| places.shuffle(&mut random));
        let mut most = f64::NEG_INFINITY;
        for ((values, observed), reached) in series.iter().zip(observed).zip(&mut reached).rev() {
            shuffled.clear();
            shuffled.extend(places[&values.len()].iter().map(|place| values[*place]));
            most = most.max(t(clearest_split(&shuffled)));
            // Rounding must not break ties that are exact.
            *reached += usize::from(most >= observed * (1.0 - 1e-9));
        }
        let p = |reached: &usize| (reached + 1) as f64 / (made + 1) as f64;
        if made == FIRST_LOOK.0 && reached.iter().all(|reached| p(reached) > FIRST_LOOK.1) {
            break;
        }
    }
    // One that is less clear is not surer than one before it.
    let mut largest: f64 = 0.0;
    let p = reached.iter().map(|reached| (reached + 1) as f64 / (made + 1) as f64);
    p.map(|p| {
        largest = largest.max(p);
        largest
    })
    .collect()
}

/// The values with wild ones brought nearer, less their median.
fn clipped(values: &[f64]) -> Option<Vec<f64>> {
    if values.len() < LEAST || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let centre = median::median(values)?;
    let differences = median::sorted(&values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect::<Vec<_>>());
    // The upper quartile, of normal values 1.1503 deviations: a wild value spoils two
    // differences, and of values in a few steps most may be none.
    let deviation = differences[differences.len() * 3 / 4] / (1.1503 * std::f64::consts::SQRT_2);
    let farthest = match FARTHEST * deviation {
        farthest if farthest > 0.0 => farthest,
        // Most are equal to their neighbours: nothing says what is wild.
        _ => f64::INFINITY,
    };
    Some(values.iter().map(|value| (value - centre).clamp(-farthest, farthest)).collect())
}

/// The split with the largest t, and that t; `None` of equal values.
fn clearest_split(values: &[f64]) -> Option<(usize, f64)> {
    let n = values.len() as f64;
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(sum, squares), value| (sum + value, squares + value * value));
    let total = squares - sum * sum / n;
    if total <= 1e-24 * squares.max(f64::MIN_POSITIVE) {
        return None;
    }
    let mut head: f64 = values.iter().take(LEAST_IN_PART - 1).sum();
    let mut best = (LEAST_IN_PART, f64::NEG_INFINITY);
    for first in LEAST_IN_PART..=values.len() - LEAST_IN_PART {
        head += values[first - 1];
        let (a, b) = (first as f64, n - first as f64);
        let apart = head / a - (sum - head) / b;
        let between = apart * apart * a * b / n;
        // Rounding may leave nothing within the parts, or less.
        let within = (total - between).max(total * 1e-12);
        let t = (between * (n - 2.0) / within).sqrt();
        if t > best.1 {
            best = (first, t);
        }
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::{Change, changes};
    use crate::noise::{Noise, generator, normal};

    fn change(values: &[f64]) -> Option<Change> {
        changes(&[values.to_vec()])[0]
    }

    #[test]
    fn a_step_is_found_at_its_place() {
        let wave = |i: u32| 0.01 * f64::from(i * 7 % 5);
        let step = |at: u32| (0..20).map(|i| if i < at { 12.0 } else { 10.0 } + wave(i)).collect::<Vec<f64>>();
        for at in [4, 10, 16] {
            let found = change(&step(at)).unwrap();
            assert!(found.before == at as usize && found.p < 0.01, "{found:?}");
            assert!((found.levels[0] - 12.0).abs() < 0.05 && (found.levels[1] - 10.0).abs() < 0.05);
        }
        assert!(change(&step(4)[..7]).is_none() && change(&[f64::NAN; 20]).is_none());
        assert!(change(&[1.0; 9]).is_none() && changes(&[]).is_empty());
    }

    #[test]
    fn changes_by_chance_are_as_rare_as_stated() {
        for noise in Noise::ALL {
            let mut random = generator(22);
            let mut of_family = |members: usize| {
                let family: Vec<Vec<f64>> = (0..members).map(|_| (0..15).map(|_| noise.draw(0.1, &mut random)).collect()).collect();
                changes(&family).iter().flatten().any(|change| change.p <= 0.05)
            };
            let share = (0..400).filter(|_| of_family(5)).count() as f64 / 400.0;
            assert!(share < 0.085, "{noise:?}: {share}");
        }
    }

    /// A step or a warm-up of one series is found however many others there are.
    #[test]
    fn a_change_stays_clear_among_hundreds() {
        let runs = if cfg!(debug_assertions) { 10 } else { 100 };
        for (members, first) in [(12, 10), (36, 4), (100, 10), (300, 4)] {
            let mut random = generator(7 + members);
            let mut found = 0;
            for _ in 0..runs {
                let mut family: Vec<Vec<f64>> = (0..members).map(|_| (0..20).map(|_| 0.02 * normal(&mut random)).collect()).collect();
                family[3].iter_mut().take(first).for_each(|value| *value += 1.5_f64.ln());
                found += u32::from(changes(&family)[3].is_some_and(|change| change.before == first && change.p <= 0.005));
            }
            assert!(f64::from(found) >= 0.95 * f64::from(runs), "{members} series, {first} of 20: {found} of {runs}");
        }
    }

    #[test]
    fn one_wild_value_hides_no_step() {
        let mut random = generator(9);
        let mut step: Vec<f64> = (0..20).map(|i| if i < 10 { 0.4 } else { 0.0 } + 0.02 * normal(&mut random)).collect();
        step[15] = 40.0;
        let found = change(&step).unwrap();
        assert!(found.before == 10 && found.p < 0.01, "{found:?}");
    }
}
