//! Limits that the largest of all effects keeps by chance, simulated for a design.

use std::collections::BTreeMap;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::Design;
use super::fit::Fitter;
use crate::noise::{generator, normal};

/// Fewest simulated fleets.
const LEAST_FLEETS: usize = 200;
/// Largest effects beyond a limit that is read from the simulated ones directly.
const BEYOND: f64 = 10.0;
/// Euler's constant, the mean of the standard Gumbel distribution.
const EULER: f64 = 0.577_215_664_901_532_9;
/// Standard normal value that one in ten exceeds, and that one in ten of the smaller of two does.
const ONE_IN_TEN: f64 = 1.281_551_565_5;
const ONE_IN_TEN_OF_TWO: f64 = 1.632_219_3;

/// Effects that a host has.
pub(super) const KINDS: usize = 4;
/// The mean of both roles, as sender, as receiver, and the difference of the two.
pub(super) const BOTH: usize = 0;
pub(super) const SENDER: usize = 1;
pub(super) const RECEIVER: usize = 2;
pub(super) const DIFFERENCE: usize = 3;

/// What chance brings about in a design.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limits {
    /// Standard error of each kind of effect, as a multiple of the noise over the root of its
    /// trials.
    pub errors: [f64; KINDS],
    /// Limit of hosts' effects in any role, in standard errors.
    pub hosts: f64,
    /// Limit of differences between the roles of a host, in standard errors.
    pub differences: f64,
    /// Limit of pairs in both directions, in standard deviations of the noise.
    pub links: f64,
    /// Limit of one direction of a pair, likewise.
    pub directions: f64,
}

/// Extent of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Simulated fleets, at most.
    pub fleets: usize,
    /// Simulated trials, beyond which there are no more than 200 fleets.
    pub trials: usize,
    /// Seed of the noise.
    pub seed: u64,
}

impl Effort {
    /// Enough for a limit within some 3 %, in a second or two for 1,000 hosts.
    pub const fn usual(seed: u64) -> Self {
        Self { fleets: 1_000, trials: 2_000_000, seed }
    }

    fn fleets(self, trials: usize) -> usize {
        (self.trials / trials.max(1)).clamp(LEAST_FLEETS, self.fleets.max(LEAST_FLEETS))
    }
}

/// Shares of fleets without any fault in which one of each kind may be named.
#[derive(Debug, Clone, Copy)]
pub(super) struct Levels {
    hosts: f64,
    differences: f64,
    /// Of pairs in both directions.
    pub links: f64,
    /// Of one direction of pairs.
    pub directions: f64,
}

impl Levels {
    /// Shares a level out: most to hosts, which matter most.
    pub const fn of(level: f64) -> Self {
        Self { hosts: 0.5 * level, differences: 0.1 * level, links: 0.25 * level, directions: 0.15 * level }
    }
}

impl Limits {
    /// The larger of each.
    pub fn or_larger(self, other: &Self) -> Self {
        let larger = |at: usize| self.errors[at].max(other.errors[at]);
        Self {
            errors: [larger(0), larger(1), larger(2), larger(3)],
            hosts: self.hosts.max(other.hosts),
            differences: self.differences.max(other.differences),
            links: self.links.max(other.links),
            directions: self.directions.max(other.directions),
        }
    }
}

/// Effects of a host in each kind, from those as sender and as receiver.
pub(super) fn kinds(sender: f64, receiver: f64) -> [f64; KINDS] {
    [f64::midpoint(sender, receiver), sender, receiver, sender - receiver]
}

/// Numbers of trials that each kind of effect is worth: the variance of an effect is that of
/// the noise over this. `None` of a kind that the host has no trials of.
pub(super) fn weights(design: &Design, host: usize) -> [Option<f64>; KINDS] {
    let [sent, received] = [0, 1].map(|role| design.by_role[role].of(host).len() as f64);
    let some = |weight: f64| (weight > 0.0).then_some(weight);
    let both = sent * received / (sent + received).max(1.0);
    [some(4.0 * both), some(sent), some(received), some(both)]
}

/// The residual of a direction of a pair that half of its trials exceed; of an even number of
/// trials the smaller of the middle two, so that one of two that was disturbed shows nothing.
pub(super) fn usual(trials: &[usize], residuals: &[f64]) -> Option<f64> {
    match trials {
        [] => None,
        [one] => Some(residuals[*one]),
        [a, b] => Some(residuals[*a].min(residuals[*b])),
        more => {
            let mut sorted: Vec<f64> = more.iter().map(|trial| residuals[*trial]).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            Some(sorted[(sorted.len() - 1) / 2])
        }
    }
}

/// The largest of everything in one fleet.
#[derive(Debug, Clone, Copy)]
struct Largest {
    kinds: [f64; KINDS],
    link: f64,
    direction: f64,
}

/// Simulates a design with noise from `draw`; `levels` are the shares of fleets that exceed
/// each limit.
pub(super) fn simulate(design: &Design, levels: Levels, effort: Effort, mut draw: impl FnMut(&mut ChaCha8Rng) -> f64) -> Limits {
    let trials = design.trials.len();
    let fleets = effort.fleets(trials);
    let weights: Vec<[Option<f64>; KINDS]> = (0..design.hosts()).map(|host| weights(design, host)).collect();
    let (mut random, mut fitter) = (generator(effort.seed), Fitter::new(design));
    let mut values = vec![0.0; trials];
    let (mut squares, mut counts) = ([0.0; KINDS], [0_u64; KINDS]);
    let mut all = Vec::with_capacity(fleets);
    for _ in 0..fleets {
        values.iter_mut().for_each(|value| *value = draw(&mut random));
        fitter.fit(&values);
        let noise = fitter.noise.max(f64::MIN_POSITIVE);
        let mut largest = Largest { kinds: [0.0; KINDS], link: 0.0, direction: 0.0 };
        for (host, weights) in weights.iter().enumerate() {
            let effects = kinds(fitter.effects[0][host], fitter.effects[1][host]);
            for kind in 0..KINDS {
                let Some(weight) = weights[kind] else { continue };
                let standard = effects[kind] * weight.sqrt() / noise;
                squares[kind] += standard * standard;
                counts[kind] += 1;
                let size = if kind == DIFFERENCE { standard.abs() } else { standard };
                largest.kinds[kind] = largest.kinds[kind].max(size);
            }
        }
        for (forth, back) in design.by_way[0].all().zip(design.by_way[1].all()) {
            let [there, here] = [forth, back].map(|way| usual(way, fitter.residuals()).map(|residual| residual / noise));
            if let (Some(there), Some(here)) = (there, here) {
                largest.link = largest.link.max(there.min(here));
            }
            for (way, residual) in [(forth, there), (back, here)] {
                largest.direction = largest.direction.max(residual.filter(|_| way.len() > 1).unwrap_or_default());
            }
        }
        all.push(largest);
    }
    let errors = std::array::from_fn(|kind| (squares[kind] / counts[kind].max(1) as f64).sqrt().max(f64::MIN_POSITIVE));
    let of_hosts = |one: &Largest| [BOTH, SENDER, RECEIVER].map(|kind| one.kinds[kind] / errors[kind]).into_iter().fold(0.0, f64::max);
    Limits {
        errors,
        hosts: limit(all.iter().map(of_hosts).collect(), levels.hosts),
        differences: limit(all.iter().map(|one| one.kinds[DIFFERENCE] / errors[DIFFERENCE]).collect(), levels.differences),
        links: limit(all.iter().map(|one| one.link).collect(), levels.links),
        directions: limit(all.iter().map(|one| one.direction).collect(), levels.directions),
    }
}

/// The value that this share of the largest values exceeds: read from them where there are
/// enough, else that of the Gumbel distribution with their mean and deviation, the limit of
/// largest values (Fisher and Tippett 1928), but no less than what can be read.
fn limit(mut largest: Vec<f64>, level: f64) -> f64 {
    largest.sort_unstable_by(f64::total_cmp);
    let n = largest.len() as f64;
    let read = |beyond: f64| largest[((n - beyond).floor().max(0.0) as usize).min(largest.len() - 1)];
    if level * n >= BEYOND {
        return read(level * n);
    }
    let mean = largest.iter().sum::<f64>() / n;
    let deviation = (largest.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let scale = deviation * 6.0_f64.sqrt() / std::f64::consts::PI;
    let far = mean - EULER * scale - scale * (-(1.0 - level).ln()).ln();
    far.max(read(BEYOND))
}

/// Effects that a design finds in 9 of 10 fleets, as differences of values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Foreseen {
    /// Standard deviation of the noise that was supposed.
    pub noise: f64,
    /// Effect of a host in both roles.
    pub host: f64,
    /// Effect of a host as sender alone.
    pub sender: f64,
    /// Effect of a pair in both directions.
    pub link: f64,
}

/// What a design finds where trials scatter by `noise` and at most a share of `level` of
/// fleets without a fault have one named. `None` of one that cannot separate hosts.
pub fn foresee(design: &Design, noise: f64, level: f64, effort: Effort) -> Option<Foreseen> {
    if !design.tells_hosts_apart() {
        return None;
    }
    let limits = simulate(design, Levels::of(level), effort, normal);
    let reach = |kind: usize| {
        let mut weights: Vec<f64> = (0..design.hosts()).filter_map(|host| weights(design, host)[kind]).collect();
        weights.sort_unstable_by(f64::total_cmp);
        let usual = weights.get(weights.len() / 2).copied().unwrap_or(1.0);
        (limits.hosts + ONE_IN_TEN) * limits.errors[kind] * noise / usual.sqrt()
    };
    Some(Foreseen { noise, host: reach(BOTH), sender: reach(SENDER), link: (limits.links + ONE_IN_TEN_OF_TWO) * noise })
}

/// Limits of pairs and of their directions, by the residuals of a fit alone: the smallest
/// residual that so few of all draws exceed that in fleets of such residuals a share of
/// `levels` has a pair whose usual trials all do. `pool` has the residuals in rising order.
pub(super) fn of_pairs(design: &Design, pool: &[f64], levels: Levels) -> [f64; 2] {
    let mut numbers = BTreeMap::<[usize; 2], f64>::new();
    for (forth, back) in design.by_way[0].all().zip(design.by_way[1].all()) {
        *numbers.entry([forth.len(), back.len()]).or_default() += 1.0;
    }
    let chance = |trials: usize, p: f64| if trials > 0 { at_least(trials, trials / 2 + 1, p) } else { 0.0 };
    let links = |p: f64| numbers.iter().map(|(ways, links)| links * chance(ways[0], p) * chance(ways[1], p)).sum::<f64>();
    let repeated = |trials: usize, p: f64| if trials > 1 { chance(trials, p) } else { 0.0 };
    let directions = |p: f64| numbers.iter().map(|(ways, links)| links * (repeated(ways[0], p) + repeated(ways[1], p))).sum::<f64>();
    let limit = |expected: &dyn Fn(f64) -> f64, level: f64| {
        // From the largest down, as long as those beyond are few enough.
        let few = |at: &usize| expected((pool.len() - 1 - at) as f64 / pool.len() as f64) <= level;
        (0..pool.len()).rev().take_while(few).last().map_or(f64::INFINITY, |at| pool[at])
    };
    [limit(&links, levels.links), limit(&directions, levels.directions)]
}

/// P(at least `least` of `n`), each with probability `p`.
fn at_least(n: usize, least: usize, p: f64) -> f64 {
    let ways = |k: usize| (1..=k).fold(1.0, |ways, at| ways * (n + 1 - at) as f64 / at as f64);
    (least..=n).map(|k| ways(k) * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)).sum()
}

/// Draws from residuals of a fit, which are too small by what the effects took.
pub(super) fn again<'a>(residuals: &'a [f64], lost: f64) -> impl FnMut(&mut ChaCha8Rng) -> f64 + 'a {
    let mean = residuals.iter().sum::<f64>() / residuals.len().max(1) as f64;
    move |random| (residuals[random.random_range(0..residuals.len())] - mean) * lost
}

#[cfg(test)]
mod tests {
    use super::{at_least, limit, usual};
    use crate::noise::generator;
    use rand::RngExt;

    #[test]
    fn of_two_trials_the_smaller_and_of_three_the_middle_one() {
        let residuals = [3.0, 1.0, 2.0, 9.0];
        let found: Vec<Option<f64>> = [&[][..], &[0], &[0, 1], &[0, 1, 2], &[0, 1, 2, 3]].map(|trials| usual(trials, &residuals)).to_vec();
        assert_eq!(found, [None, Some(3.0), Some(1.0), Some(2.0), Some(2.0)]);
    }

    #[test]
    fn of_equal_chances_the_probability_is_the_binomial_one() {
        assert!((at_least(3, 2, 0.5) - 0.5).abs() < 1e-12 && (at_least(2, 2, 0.1) - 0.01).abs() < 1e-12);
        assert!((at_least(1, 1, 0.3) - 0.3).abs() < 1e-12 && at_least(4, 3, 0.0) == 0.0);
    }

    /// Values of a Gumbel distribution: the limit of a level that cannot be read is near the
    /// true one.
    #[test]
    fn limits_beyond_the_simulated_ones_are_those_of_largest_values() {
        let mut random = generator(5);
        let largest: Vec<f64> = (0..1_000).map(|_| -(-random.random::<f64>().max(1e-12).ln()).ln()).collect();
        let truth = |level: f64| -(-(1.0 - level).ln()).ln();
        for level in [0.001, 0.002, 0.05] {
            let found = limit(largest.clone(), level);
            assert!((found - truth(level)).abs() < 0.08 * truth(level), "{level}: {found} {}", truth(level));
        }
    }
}
