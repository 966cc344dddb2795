//! What values say of the shift from one side to the other: by ranks, or of runs by
//! their means.

use stats::distribution::student_critical;
use stats::estimate::Estimate;
use stats::instances::Instances;
use stats::power::found_in_four_of_five;
use stats::ranks::{Nulls, Shifts};
use stats::welch::Welch;

use super::Design;

/// A shift and its uncertainty.
#[derive(Debug, Clone)]
pub(super) enum Evidence {
    /// By a randomisation test over blocks, with the degrees of freedom that their means
    /// would have.
    Ranks(Shifts, f64),
    /// By the mean of instances.
    Instances(Instances),
    /// By the means of runs.
    Means(Welch),
}

impl Evidence {
    /// Evidence of differences within blocks, or within instances.
    pub fn paired(differences: &[f64], design: Design, nulls: &mut Nulls) -> Option<Self> {
        match design {
            Design::Woven => Instances::new(differences).map(Self::Instances),
            _ => nulls.paired(differences).map(|shifts| Self::Ranks(shifts, differences.len() as f64 - 1.0)),
        }
    }

    /// Evidence of values that are no pairs: of the blocks of two runs, or of the runs of two sides.
    pub fn unpaired(first: &[f64], second: &[f64], design: Design, nulls: &mut Nulls) -> Option<Self> {
        match design {
            Design::Runs => Welch::new(first, second).map(Self::Means),
            Design::Paired | Design::Woven | Design::Separate => {
                nulls.unpaired(first, second).map(|shifts| Self::Ranks(shifts, (first.len() + second.len()) as f64 - 2.0))
            }
        }
    }

    /// The estimated shift.
    pub fn value(&self) -> f64 {
        match self {
            Self::Ranks(shifts, _) => shifts.value(),
            Self::Instances(instances) => instances.value(),
            Self::Means(welch) => welch.value(),
        }
    }

    /// The estimated shift with its interval; `n` is the number of values behind it.
    pub fn estimate(&self, confidence: f64, n: usize) -> Estimate {
        match self {
            Self::Ranks(shifts, _) => shifts.estimate(confidence, n),
            Self::Instances(instances) => instances.estimate(confidence),
            Self::Means(welch) => welch.estimate(confidence, n),
        }
    }

    /// Two-sided probability of what was found if the true shift is `at`.
    pub fn p(&self, at: f64) -> f64 {
        match self {
            Self::Ranks(shifts, _) => shifts.p(at),
            Self::Instances(instances) => instances.p(at),
            Self::Means(welch) => welch.p(at),
        }
    }

    /// The true shift that is shown in four studies of five, at this confidence and where
    /// an estimate has to be beyond `least`: from the reach of the interval
    /// ([`found_in_four_of_five`]). `None` where no shift could be rejected.
    pub fn could_show(&self, confidence: f64, least: f64) -> Option<f64> {
        let (reach, freedom) = match self {
            Self::Ranks(shifts, freedom) => (shifts.reach(confidence)?, *freedom),
            Self::Instances(instances) => (instances.reach(confidence), instances.freedom()),
            Self::Means(welch) => (welch.reach(confidence), welch.freedom()),
        };
        let error = reach / student_critical(confidence, freedom);
        Some(found_in_four_of_five(error, confidence, freedom, least))
    }
}
