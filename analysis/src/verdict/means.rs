//! Metrics that are a means and not an end, such as wake-ups: a change of them
//! explains a difference and is itself neither better nor worse, so that they get an
//! interval and no verdict.

use serde::Serialize;

use super::evidence::Evidence;
use super::{Design, Options, Values};
use crate::metric::Metric;
use stats::estimate::Estimate;
use stats::median;
use stats::ranks::Nulls;

/// The means that are compared: the wake-ups of a blocking receiver, the frames of a message on the link, and the part
/// of CPU times that is billed before the ends run.
pub const MEANS: [Metric; 6] = [
    Metric::ReceiverWakeupsPerMessage,
    Metric::SenderWakeupsPerMessage,
    Metric::FramesPerMessage,
    Metric::BilledPerMessageNs,
    Metric::SenderBilledPerMessageNs,
    Metric::ReceiverBilledPerMessageNs,
];

/// One cell in both arms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shift {
    /// Medians over blocks: of the baseline, of the candidate.
    pub medians: [f64; 2],
    /// The candidate's less the baseline's, with the interval of the randomisation test.
    pub difference: Estimate,
}

/// One metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Means {
    /// Which.
    pub metric: Metric,
    /// One a cell, in the order of the comparison's; `None` where an arm has none.
    pub cells: Vec<Option<Shift>>,
}

/// Compares one metric; `None` where no cell has it, or it is above 0 in none.
pub fn means(metric: Metric, cells: &[Values], options: &Options) -> Option<Means> {
    let any = cells.iter().any(|cell| cell.baseline.values().chain(cell.candidate.values()).any(|value| *value > 0.0));
    let mut nulls = Nulls::default();
    let cells: Vec<Option<Shift>> = cells.iter().map(|cell| moved(cell, options, &mut nulls)).collect();
    (any && cells.iter().any(Option::is_some)).then_some(Means { metric, cells })
}

fn moved(values: &Values, options: &Options, nulls: &mut Nulls) -> Option<Shift> {
    let (baseline, candidate): (Vec<f64>, Vec<f64>) = match options.design {
        Design::Paired | Design::Woven => {
            let pair = |(block, from): (&u32, &f64)| Some((*from, *values.candidate.get(block)?));
            values.baseline.iter().filter_map(pair).unzip()
        }
        Design::Separate | Design::Runs => (values.baseline.values().copied().collect(), values.candidate.values().copied().collect()),
    };
    let found = match options.design {
        design if design.is_paired() => {
            Evidence::paired(&baseline.iter().zip(&candidate).map(|(from, to)| to - from).collect::<Vec<_>>(), design, nulls)
        }
        design => Evidence::unpaired(&baseline, &candidate, design, nulls),
    }?;
    let medians = [median::median(&baseline)?, median::median(&candidate)?];
    Some(Shift { medians, difference: found.estimate(options.confidence, baseline.len().min(candidate.len())) })
}

#[cfg(test)]
mod tests {
    use super::means;
    use crate::metric::Metric;
    use crate::verdict::{Design, Options, Values};

    const WAKEUPS: Metric = Metric::ReceiverWakeupsPerMessage;

    fn values(of: impl Fn(u32) -> [f64; 2]) -> Values {
        Values::new((0..10).map(|block| (block, of(block)[0])), (0..10).map(|block| (block, of(block)[1])))
    }

    #[test]
    fn a_change_is_told_with_its_interval_also_from_nothing() {
        let risen = values(|block| [0.0, 0.5 + 0.01 * f64::from(block)]);
        let still = values(|block| [0.2 + 0.01 * f64::from(block), 0.2 + 0.01 * f64::from(9 - block)]);
        let none = Values::default();
        for design in [Design::Paired, Design::Separate] {
            let found = means(WAKEUPS, &[risen.clone(), still.clone(), none.clone()], &Options { design, ..Options::default() }).unwrap();
            let [Some(risen), Some(still), None] = &found.cells[..] else { panic!("{found:?}") };
            assert!((risen.difference.value - 0.545).abs() < 1e-9 && risen.medians[0] == 0.0, "{risen:?}");
            assert!(risen.difference.interval.unwrap().low > 0.0, "{risen:?}");
            let interval = still.difference.interval.unwrap();
            assert!(interval.low < 0.0 && interval.high > 0.0, "{still:?}");
        }
    }

    #[test]
    fn what_is_nothing_everywhere_is_not_shown() {
        assert_eq!(means(WAKEUPS, &[values(|_| [0.0, 0.0])], &Options::default()), None);
        assert_eq!(means(WAKEUPS, &[Values::default()], &Options::default()), None);
    }
}
