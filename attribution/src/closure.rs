//! The sums of a receipt, which can fail.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use model::plan::receipt::COST;
use model::sorting::Gather;
use model::wakeups::WakeupCost;
use serde::Serialize;

use crate::doubt::{Cause, Doubt};
use crate::figure::{Figure, ratio};
use crate::passes::{CleanPass, Passes, SampledSlices, TimePass};
use model::woven::USABLE_SAMPLED;
use stats::estimate::Estimate;
use stats::instances::Instances;
use stats::median;

/// CPU time and waits over wall time, beyond which a receipt does not add up.
pub const WALL: RangeInclusive<f64> = 0.95..=1.05;

/// By how much samples × period may differ from the time on the CPU, as a share of it, or by two standard errors of the
/// number of samples where those are more. A tenth of the samples dropped is beyond it.
pub const SAMPLER: f64 = 0.04;

/// By how much more they may fall short: taking a sample lengthens the time on the CPU, and no other is due in it. An end
/// that is always on its CPU has as many samples as that time has room for; one that sleeps has fewer by what they cost.
pub const SHORT: f64 = COST;

/// The observer's cost, beyond which it is in doubt.
pub const OBSERVER: f64 = 1.10;

/// Sums of a receipt, compared with measurements that are independent of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Closure {
    /// Samples × period over the time on the CPU by the records of switches, or over the cycles that the event counted;
    /// `None` without either.
    pub sampler: Option<Figure>,
    /// CPU time, runnable wait and blocked time over clean wall time; `None` without waits. CPU time that is
    /// billed while the end waits is not counted twice, nor is work of kernel threads.
    pub wall: Option<f64>,
    /// The same within the wait passes, with their own CPU time. Where others use the machine, waits
    /// of one pass are not those of another; this sum does not mind.
    pub own: Option<f64>,
    /// The time that is billed before the end runs over what a probe of its host makes of its wake-ups; `None` without
    /// a probe or records of switches.
    pub billed: Option<BilledSum>,
}

/// The sum of what is billed before an end runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BilledSum {
    /// CPU clock less the time on a CPU, over probe × wake-ups.
    pub ratio: Figure,
    /// How far it may be from 1.
    pub reach: f64,
    /// By how much of the CPU time it is off.
    pub off: f64,
}

impl BilledSum {
    /// The least of `reach`: probe and passes of one virtual machine agreed to an eighth, and a fifth has to show.
    const LEAST: f64 = 0.15;
    /// What is off by less of the CPU time is in no doubt.
    const SMALL: f64 = 0.02;

    /// Of time passes that have wake-ups and records of switches.
    pub(crate) fn from_passes(time: &[TimePass]) -> Option<Self> {
        let one = |pass: &TimePass| {
            let (wakeups, cost) = pass.wakeups?;
            let billed = pass.cpu.get() as f64 - pass.on_cpu()?.get() as f64;
            Some((billed, wakeups as f64 * cost.steady()?.get() as f64))
        };
        let pairs: Vec<(f64, f64)> = time.iter().map(one).collect::<Option<_>>()?;
        let ratio = ratio(&pairs).figure();
        let sum = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
        let clock: f64 = time.iter().map(|pass| pass.cpu.get() as f64).sum();
        let off = sum(&|(billed, predicted)| billed - predicted).abs() / clock;
        // Half of all wake-ups of the probe lie between its quartiles.
        let spread = |(_, cost): (u64, WakeupCost)| cost.high.since(cost.low).get() as f64 / 2.0 / (cost.median.get() as f64).max(1.0);
        let spread = time.iter().filter_map(|pass| pass.wakeups).map(spread).fold(0.0, f64::max);
        let reach = Self::LEAST.max(spread).max(ratio.interval.map_or(0.0, |[low, _]| ratio.value - low));
        (sum(&|(_, predicted)| *predicted) > 0.0).then_some(Self { ratio, reach, off })
    }

    fn is_off(&self) -> bool {
        (self.ratio.value - 1.0).abs() > self.reach && self.off > Self::SMALL
    }
}

/// The cost of sampling.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Observer {
    /// CPU time per message with the sampler on over that with it off: the mean over trials in whose slices it is on and
    /// off in turn. Without enough of them, a time pass over the clean pass of its block: the median over blocks.
    pub ratio: Estimate,
    /// The reason why it is the ratio of passes; `None` of slices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_slices: Option<String>,
}

impl Observer {
    /// The confidence asked for: five blocks, the fewest of a sound receipt,
    /// attain 93.75 %, which the interval then says.
    const CONFIDENCE: f64 = 0.90;
    /// Of slices.
    const CONFIDENCE_OF_SLICES: f64 = 0.95;

    /// By slices if [`USABLE_SAMPLED`] trials of them are usable, and by passes otherwise; `None` where no block has both
    /// passes.
    pub fn from_passes(passes: &Passes) -> Option<Self> {
        let no_slices = match &passes.sampled {
            SampledSlices::Absent(reason) => reason.clone(),
            SampledSlices::Shifts(shifts) => match Self::of_slices(shifts) {
                Some(ratio) => return Some(Self { ratio, no_slices: None }),
                None => format!("fewer than {USABLE_SAMPLED} trials of slices are usable"),
            },
        };
        Self::of_blocks(&passes.time, &passes.clean).map(|ratio| Self { ratio, no_slices: Some(no_slices) })
    }

    /// Student's interval over trials (`stats::instances`).
    fn of_slices(shifts: &[f64]) -> Option<Estimate> {
        let enough = Instances::new(shifts).filter(|_| shifts.len() >= USABLE_SAMPLED as usize);
        Some(enough?.estimate(Self::CONFIDENCE_OF_SLICES).map(f64::exp))
    }

    /// Pairs passes by their block; `None` where no block has both.
    fn of_blocks(time: &[TimePass], clean: &[CleanPass]) -> Option<Estimate> {
        let of_block: BTreeMap<u32, f64> = clean.iter().map(|pass| (pass.block, pass.cpu.get() as f64 / pass.messages)).into_map();
        let pair = |pass: &TimePass| of_block.get(&pass.block).map(|clean| pass.cpu.get() as f64 / pass.messages / clean);
        let ratios: Vec<f64> = time.iter().filter_map(pair).collect();
        median::estimate(&ratios, Self::CONFIDENCE)
    }
}

/// The doubts that sums give rise to, with `samples` behind them and the likeliest `cause` of a failure.
pub fn doubts(closure: &Closure, samples: u64, cause: Cause) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    match (closure.wall, closure.own.or(closure.wall)) {
        (Some(wall), Some(own)) if !WALL.contains(&own) => {
            // The worse of the two, which may be the same.
            let worse = if (wall - 1.0).abs() > (own - 1.0).abs() { wall } else { own };
            doubts.push(Doubt::Wall { closure: worse, cause });
        }
        (Some(wall), Some(own)) if !WALL.contains(&wall) => doubts.push(Doubt::Moved { closure: wall, own }),
        (Some(_), Some(_)) => {}
        _ => doubts.push(Doubt::NoWaits),
    }
    let reach = SAMPLER.max(2.0 / (samples.max(1) as f64).sqrt());
    match closure.sampler.map(|sampler| sampler.value) {
        Some(sampler) if !(-SHORT - reach..=reach).contains(&(sampler - 1.0)) => doubts.push(Doubt::Dropped { closure: sampler, cause }),
        Some(_) => {}
        None => doubts.push(Doubt::NoRecords),
    }
    doubts.extend(closure.billed.filter(BilledSum::is_off).map(|billed| Doubt::Billed { closure: billed.ratio.value }));
    doubts
}
