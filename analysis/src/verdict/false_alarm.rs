//! Differences that an arm shows against itself: what they say of a machine.
//!
//! A machine without a fault shows one in a share 1 − confidence of all such comparisons.
//! One is therefore no proof of a fault; more cells than chance gives are, and so is one that is
//! clearer than chance makes any of them.

use super::SideComparison;
use stats::binomial;

/// So many differences, or more, come up by chance in this share of all comparisons.
const RARE: f64 = 0.01;

/// The result of an arm against itself, by the metrics of the gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FalseAlarm {
    /// No cell was tested.
    Untested,
    /// No difference is shown.
    None,
    /// A difference is shown, as chance shows one.
    ByChance {
        /// Cells that differ at the confidence by themselves.
        differ: usize,
        /// Cells that were tested.
        tested: usize,
        /// Probability of so many or more, or of one so clear.
        chance: f64,
    },
    /// More cells differ than chance gives, or one more clearly.
    TooMany {
        /// Cells that differ at the confidence by themselves.
        differ: usize,
        /// Cells that were tested.
        tested: usize,
        /// Probability of so many or more, or of one so clear.
        chance: f64,
    },
}

impl FalseAlarm {
    /// The false alarms of a comparison of equal arms.
    pub fn of(compared: &SideComparison) -> Self {
        let gate: Vec<_> = compared.metrics.iter().filter(|metric| metric.gate).map(|metric| &metric.comparison).collect();
        let shown = gate.iter().any(|comparison| comparison.overall.verdict.is_shown());
        let rare = RARE / gate.len().max(1) as f64;
        let alarms = gate.iter().map(|comparison| {
            let p: Vec<f64> = comparison.cells.iter().filter_map(|judged| judged.p).collect();
            Self::of_values(&p, 1.0 - comparison.held_to, shown, rare)
        });
        // The rarest speaks.
        let chance = |alarm: &Self| match alarm {
            Self::ByChance { chance, .. } | Self::TooMany { chance, .. } => *chance,
            Self::None => 2.0,
            Self::Untested => 3.0,
        };
        alarms.min_by(|a, b| chance(a).total_cmp(&chance(b))).unwrap_or(Self::Untested)
    }

    /// Of the probabilities of each cell's difference, of which a share `level` is that
    /// small by chance; `shown` where a verdict says that there is one.
    fn of_values(p: &[f64], level: f64, shown: bool, rare: f64) -> Self {
        let (tested, differ) = (p.len(), p.iter().filter(|p| **p <= level + 1e-9).count());
        // By their number, or the clearest by Bonferroni: each holds by itself.
        let clearest = p.iter().copied().fold(1.0, f64::min) * tested as f64;
        let chance = binomial::at_least(differ, tested, level).min(clearest);
        match (tested, shown) {
            (0, _) => Self::Untested,
            (_, false) => Self::None,
            _ if chance <= rare => Self::TooMany { differ, tested, chance },
            _ => Self::ByChance { differ, tested, chance },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FalseAlarm, RARE};

    fn of(differ: usize, tested: usize, shown: bool) -> FalseAlarm {
        let p: Vec<f64> = (0..tested).map(|cell| if cell < differ { 0.05 } else { 0.5 }).collect();
        FalseAlarm::of_values(&p, 0.05, shown, RARE)
    }

    #[test]
    fn one_difference_is_no_fault_of_the_machine_and_many_are() {
        // One self-test in twenty shows one on a perfect machine.
        assert!(matches!(of(1, 1, true), FalseAlarm::ByChance { chance, .. } if (chance - 0.05).abs() < 1e-9));
        assert!(matches!(of(1, 20, true), FalseAlarm::ByChance { chance, .. } if chance > 0.6));
        // At 20 cells the border lies between 4 (1.6 %) and 5 (0.26 %).
        assert!(matches!(of(4, 20, true), FalseAlarm::ByChance { .. }));
        assert!(matches!(of(5, 20, true), FalseAlarm::TooMany { differ: 5, tested: 20, chance } if chance < 0.003));
        assert!(matches!(of(2, 2, true), FalseAlarm::TooMany { .. }));
    }

    #[test]
    fn one_difference_that_chance_does_not_make_is_a_fault() {
        let alarm = |p: &[f64]| FalseAlarm::of_values(p, 0.05, true, RARE);
        assert!(matches!(alarm(&[1e-9]), FalseAlarm::TooMany { differ: 1, tested: 1, chance } if chance < 1e-8));
        // The clearest of many is clear by chance.
        let with_others = |p| [vec![p], vec![0.5; 19]].concat();
        assert!(matches!(alarm(&with_others(0.001)), FalseAlarm::ByChance { .. }));
        assert!(matches!(alarm(&with_others(0.0004)), FalseAlarm::TooMany { differ: 1, tested: 20, .. }));
    }

    #[test]
    fn without_a_verdict_or_a_test_there_is_no_alarm() {
        assert_eq!([of(0, 9, false), of(9, 9, false), of(0, 0, false)], [FalseAlarm::None, FalseAlarm::None, FalseAlarm::Untested]);
    }
}
