//! Hosts and pairs that differ from the others.

use serde::Serialize;

use super::Design;
use super::fit::{Fit, fit};
use super::limits::{self, BOTH, DIFFERENCE, Effort, KINDS, Levels, Limits, RECEIVER, SENDER, kinds, simulate, usual, weights};
use crate::median;
use crate::noise::normal;

/// Hosts from which their spread is told: of fewer, the median deviation says little.
const LEAST_FOR_SPREAD: usize = 12;
/// Standard error of the median deviation of normal values, as a share of that median, times the root of
/// their number (Rousseeuw and Croux 1993: its efficiency is 37 %).
const DEVIATION_ERROR: f64 = 1.163;
/// Standard errors to either end of a 95 % interval.
const REACH: f64 = 1.959_963_984_540_054;

/// What is asked of the values of a design.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// Share of fleets without any fault in which one may be named.
    pub level: f64,
    /// Least effect that is named.
    pub least: f64,
    /// Extent of the simulations that limits are from.
    pub effort: Effort,
}

/// An effect with its chance of error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Effect {
    /// Difference from the median of its kind; of a pair, from what its hosts' effects add up to.
    pub value: f64,
    /// Ends of its 95 % interval: `value` plus and minus 1.96 simulated standard errors.
    pub interval: [f64; 2],
    /// Trials that it is from.
    pub n: usize,
    /// It exceeds both the simulated limit and the least effect asked for.
    pub falls_out: bool,
}

/// Effects of one host.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HostEffect {
    /// Its number.
    pub host: usize,
    /// The mean of both roles.
    pub both: Effect,
    /// As sender.
    pub sender: Effect,
    /// As receiver.
    pub receiver: Effect,
    /// As sender less as receiver; an outlier in either direction.
    pub difference: Effect,
}

/// Effect of one pair in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LinkEffect {
    /// The hosts, the lower number first.
    pub hosts: [usize; 2],
    /// The lesser of its two directions.
    pub effect: Effect,
}

/// Effect of one direction of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DirectionEffect {
    /// Host that sends.
    pub sender: usize,
    /// Host that receives.
    pub receiver: usize,
    /// What half of its trials exceed.
    pub effect: Effect,
}

/// What the values of a design show.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetEstimate {
    /// Value of a trial between two usual hosts.
    pub middle: f64,
    /// Standard deviation of the noise.
    pub noise: f64,
    /// Standard deviation of hosts beyond the noise; `None` of fewer than 12.
    pub spread: Option<f64>,
    /// Hosts can be separated; otherwise there is no outlier.
    pub told_apart: bool,
    /// Hosts that both sent and received, by number.
    pub hosts: Vec<HostEffect>,
    /// Pairs measured in both directions, by number.
    pub links: Vec<LinkEffect>,
    /// Directions of pairs measured more than once.
    pub directions: Vec<DirectionEffect>,
}

/// Finds hosts and pairs that are outliers.
///
/// Limits are simulated twice, with normal noise and with the residuals of the fit drawn
/// again (Efron 1979; Freedman 1981, "Bootstrapping regression models"), so that disturbed
/// trials widen them, and the larger counts. Where hosts differ among themselves, their own
/// spread is added to the error: an outlier then lies beyond that spread. `None` where
/// [`fit`] gives none.
pub fn judge(design: &Design, values: &[f64], question: &Question) -> Option<FleetEstimate> {
    let fit = fit(design, values)?;
    let told_apart = design.tells_hosts_apart();
    let (levels, effort) = (Levels::of(question.level), question.effort);
    let by_theory = simulate(design, levels, effort, normal);
    let again = limits::again(&fit.residuals, fit.lost_to_effects);
    let by_residuals = simulate(design, levels, Effort { seed: effort.seed ^ 1, ..effort }, again);
    let noise = fit.noise.max(f64::MIN_POSITIVE);
    let [links, directions] =
        limits::of_pairs(design, &pool(design, &fit.residuals, [by_theory.links, by_theory.directions].map(|limit| limit * noise)), levels);
    let limits = by_theory.or_larger(&Limits { links: links / noise, directions: directions / noise, ..by_residuals });
    let judge = Judge { design, fit: &fit, limits: &limits, least: question.least, told_apart };
    let present: Vec<usize> = (0..design.hosts()).filter(|host| weights(design, *host)[BOTH].is_some()).collect();
    let spreads: [f64; KINDS] = std::array::from_fn(|kind| judge.spread(&present, kind));
    Some(FleetEstimate {
        middle: fit.middle,
        noise: fit.noise,
        spread: (present.len() >= LEAST_FOR_SPREAD).then_some(spreads[BOTH]),
        told_apart,
        hosts: present.iter().map(|host| judge.host(*host, &spreads)).collect(),
        links: (0..design.links.len()).filter_map(|link| judge.link(link)).collect(),
        directions: (0..design.links.len()).flat_map(|link| [0, 1].map(|way| judge.direction(link, way))).flatten().collect(),
    })
}

/// Residuals of the pairs that are no candidates, in rising order: a pair is held against the
/// others. `limits` are those of links and of directions by normal noise.
fn pool(design: &Design, residuals: &[f64], limits: [f64; 2]) -> Vec<f64> {
    let mut pool = Vec::with_capacity(residuals.len());
    for (forth, back) in design.by_way[0].all().zip(design.by_way[1].all()) {
        let ways = [forth, back];
        let found = ways.map(|way| usual(way, residuals).unwrap_or(f64::NEG_INFINITY));
        for (way, own) in ways.into_iter().zip(found) {
            let alone = way.len() > 1 && own > limits[1];
            if !alone && found[0].min(found[1]) <= limits[0] {
                pool.extend(way.iter().map(|trial| residuals[*trial]));
            }
        }
    }
    pool.sort_unstable_by(f64::total_cmp);
    pool
}

struct Judge<'a> {
    design: &'a Design,
    fit: &'a Fit,
    limits: &'a Limits,
    least: f64,
    told_apart: bool,
}

impl Judge<'_> {
    fn effects(&self, host: usize) -> [f64; KINDS] {
        kinds(self.fit.sender[host], self.fit.receiver[host])
    }

    /// Standard error of a kind of effect of a host, of one that it has.
    fn error(&self, host: usize, kind: usize) -> f64 {
        let weight = weights(self.design, host)[kind].unwrap_or(f64::MIN_POSITIVE);
        self.limits.errors[kind] * self.fit.noise / weight.sqrt()
    }

    /// Standard deviation of a kind of effect among hosts, beyond their errors.
    fn spread(&self, present: &[usize], kind: usize) -> f64 {
        if present.len() < LEAST_FOR_SPREAD {
            return 0.0;
        }
        let effects: Vec<f64> = present.iter().map(|host| self.effects(*host)[kind]).collect();
        let errors: Vec<f64> = present.iter().map(|host| self.error(*host, kind)).collect();
        let (all, by_chance) = (median::deviation(&effects).unwrap_or_default(), median::median(&errors).unwrap_or_default());
        // Less than two standard errors of a median deviation more is no spread.
        let clear = all > by_chance * (1.0 + 2.0 * DEVIATION_ERROR / (present.len() as f64).sqrt());
        if clear { (all * all - by_chance * by_chance).sqrt() } else { 0.0 }
    }

    fn host(&self, host: usize, spreads: &[f64; KINDS]) -> HostEffect {
        let effects = self.effects(host);
        let [sent, received] = [0, 1].map(|role| self.design.by_role[role].of(host).len());
        let numbers = [sent + received, sent, received, sent + received];
        let effect = |kind: usize| {
            let (value, error) = (effects[kind], self.error(host, kind));
            let (size, limit) = if kind == DIFFERENCE { (value.abs(), self.limits.differences) } else { (value, self.limits.hosts) };
            let beyond = size > limit * error.hypot(spreads[kind]);
            self.made(value, error, numbers[kind], beyond && size >= self.least)
        };
        HostEffect { host, both: effect(BOTH), sender: effect(SENDER), receiver: effect(RECEIVER), difference: effect(DIFFERENCE) }
    }

    fn link(&self, link: usize) -> Option<LinkEffect> {
        let ways = [0, 1].map(|way| self.design.by_way[way].of(link));
        let [forth, back] = ways.map(|way| usual(way, &self.fit.residuals));
        let value = forth?.min(back?);
        Some(LinkEffect { hosts: self.design.links[link], effect: self.of_pair(value, ways[0].len() + ways[1].len(), self.limits.links) })
    }

    fn direction(&self, link: usize, way: usize) -> Option<DirectionEffect> {
        let trials = self.design.by_way[way].of(link);
        let value = usual(trials, &self.fit.residuals).filter(|_| trials.len() > 1)?;
        let [sender, receiver] = if way == 0 { self.design.links[link] } else { [self.design.links[link][1], self.design.links[link][0]] };
        Some(DirectionEffect { sender, receiver, effect: self.of_pair(value, trials.len(), self.limits.directions) })
    }

    fn of_pair(&self, value: f64, n: usize, limit: f64) -> Effect {
        let error = self.fit.noise / (n as f64).sqrt();
        self.made(value, error, n, value > limit * self.fit.noise && value >= self.least)
    }

    fn made(&self, value: f64, error: f64, n: usize, falls_out: bool) -> Effect {
        let reach = REACH * error;
        Effect { value, interval: [value - reach, value + reach], n, falls_out: falls_out && self.told_apart }
    }
}
