//! The robust fit of effects as sender and as receiver.

use super::Design;
use crate::median;

/// Huber's constant: residuals up to 1.345 standard deviations count in full, which keeps
/// 95 % efficiency for normal noise (Huber 1964; Holland and Welsch 1977).
const HUBER: f64 = 1.345;

/// Most sweeps. Each takes a residual error of the solution down by half or more where hosts
/// meet 8 others.
const SWEEPS: usize = 60;
/// Sweeps after which the noise is not estimated again, so that the rest converges.
const SETTLING: usize = 12;
/// Change of every effect, in units of the noise, that ends the sweeps.
const PRECISION: f64 = 1e-4;
/// Noise below which values are equal.
const LEAST_NOISE: f64 = 1e-12;

/// Effects of hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Value of a trial between two hosts without an effect.
    pub middle: f64,
    /// Effect of each host as sender; the median of all is 0. 0 of one that never sent.
    pub sender: Vec<f64>,
    /// Effect of each host as receiver, likewise.
    pub receiver: Vec<f64>,
    /// Rest of each trial.
    pub residuals: Vec<f64>,
    /// Standard deviation of the noise: 1.4826 times the median absolute residual, times what
    /// makes up for the effects, which take a part.
    pub noise: f64,
    /// What residuals are multiplied by for that.
    pub lost_to_effects: f64,
}

/// Buffers of a fit, for those that are repeated thousands of times.
#[derive(Debug)]
pub(super) struct Fitter<'a> {
    design: &'a Design,
    residuals: Vec<f64>,
    sizes: Vec<f64>,
    lost_to_effects: f64,
    /// Middle of the values, set back at the end.
    pub middle: f64,
    /// Effects as sender and as receiver.
    pub effects: [Vec<f64>; 2],
    /// Standard deviation of the noise.
    pub noise: f64,
}

/// Fits effects to the values of a design's trials, one each. `None` unless there are as many
/// values as trials, all of them numbers, and more than there are effects.
///
/// The fit is the M-estimate of Huber (1964, "Robust estimation of a location parameter") by
/// iteratively reweighted means: all effects as sender, then all as receiver, until none
/// moves (the backfitting of Friedman and Stuetzle 1981, which for two factors alternates
/// between exact solutions).
pub fn fit(design: &Design, values: &[f64]) -> Option<Fit> {
    let fits = values.len() == design.trials.len() && values.iter().all(|value| value.is_finite());
    if !fits || values.len() <= parameters(design) {
        return None;
    }
    let mut fitter = Fitter::new(design);
    fitter.fit(values);
    let [sender, receiver] = fitter.effects;
    Some(Fit {
        middle: fitter.middle,
        sender,
        receiver,
        residuals: fitter.residuals,
        noise: fitter.noise,
        lost_to_effects: fitter.lost_to_effects,
    })
}

/// Effects that the trials of a design decide freely.
fn parameters(design: &Design) -> usize {
    let present = |role: usize| design.by_role[role].all().filter(|trials| !trials.is_empty()).count();
    (present(0) + present(1)).saturating_sub(1)
}

impl<'a> Fitter<'a> {
    /// A fitter for values of a design.
    pub fn new(design: &'a Design) -> Self {
        let (trials, hosts) = (design.trials.len(), design.hosts());
        let free = trials.saturating_sub(parameters(design)).max(1);
        Self {
            design,
            residuals: vec![0.0; trials],
            sizes: vec![0.0; trials],
            lost_to_effects: (trials as f64 / free as f64).sqrt(),
            middle: 0.0,
            effects: [vec![0.0; hosts], vec![0.0; hosts]],
            noise: 0.0,
        }
    }

    /// Residuals of the last fit.
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// Fits as many values as the design has trials.
    pub fn fit(&mut self, values: &[f64]) {
        self.effects.iter_mut().for_each(|effects| effects.fill(0.0));
        self.sizes.copy_from_slice(values);
        self.middle = middle_of(&mut self.sizes);
        self.residuals.iter_mut().zip(values).for_each(|(residual, value)| *residual = value - self.middle);
        self.estimate_noise();
        for sweep in 0..SWEEPS {
            let moved = self.sweep(0).max(self.sweep(1));
            if sweep < SETTLING {
                self.estimate_noise();
            } else if moved <= PRECISION * self.noise.max(LEAST_NOISE) {
                break;
            }
        }
        self.estimate_noise();
        for role in 0..2 {
            let groups = &self.design.by_role[role];
            let present: Vec<f64> =
                self.effects[role].iter().zip(groups.all()).filter(|(_, trials)| !trials.is_empty()).map(|(effect, _)| *effect).collect();
            let centre = median::median(&present).unwrap_or_default();
            self.middle += centre;
            for (effect, trials) in self.effects[role].iter_mut().zip(groups.all()) {
                *effect = if trials.is_empty() { 0.0 } else { *effect - centre };
            }
        }
    }

    /// Moves every effect of a role by the weighted mean of its residuals; returns the largest
    /// move.
    fn sweep(&mut self, role: usize) -> f64 {
        // Values of which more than half are equal leave no noise; an effect then moves to their median.
        let bound = HUBER * self.noise.max(LEAST_NOISE);
        let mut largest = 0.0_f64;
        for (effect, trials) in self.effects[role].iter_mut().zip(self.design.by_role[role].all()) {
            let (mut sum, mut weights) = (0.0, 0.0);
            for trial in trials {
                let residual = self.residuals[*trial];
                let weight = if residual.abs() <= bound { 1.0 } else { bound / residual.abs() };
                sum += weight * residual;
                weights += weight;
            }
            let step = if weights > 0.0 { sum / weights } else { 0.0 };
            *effect += step;
            trials.iter().for_each(|trial| self.residuals[*trial] -= step);
            largest = largest.max(step.abs());
        }
        largest
    }

    fn estimate_noise(&mut self) {
        self.sizes.iter_mut().zip(&self.residuals).for_each(|(size, residual)| *size = residual.abs());
        self.noise = 1.4826 * self.lost_to_effects * middle_of(&mut self.sizes);
    }
}

/// The median of values that may be moved; 0 of none.
fn middle_of(values: &mut [f64]) -> f64 {
    let at = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    let upper = *values.select_nth_unstable_by(at, f64::total_cmp).1;
    match values.len() % 2 {
        1 => upper,
        _ => f64::midpoint(values[..at].iter().copied().fold(f64::NEG_INFINITY, f64::max), upper),
    }
}
