//! The sums of a receipt, which can fail.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use model::Role;
use serde::Serialize;

use crate::doubt::{Cause, Doubt};
use crate::figure::Figure;
use crate::passes::{CleanPass, TimePass};
use stats::estimate::Estimate;
use stats::median;

/// Rows with waits over wall time, beyond which a receipt does not add up.
pub const WALL: RangeInclusive<f64> = 0.95..=1.05;

/// Rows with switching over CPU time, beyond which a receipt does not add up.
/// Narrower than [`WALL`], so that one sample in twenty lost shows whatever
/// share of the wall time is CPU time, from any state up to 1 % too much.
pub const CPU: RangeInclusive<f64> = 0.96..=1.04;

/// Samples × period over on-CPU time by records of switches or by the event's own count,
/// beyond which a receipt does not add up. Sound ones were 0.97 to 1.00 on a virtual machine,
/// so that one sample in twenty dropped is beyond it, and chance, 1 % of 8,000 samples, is not.
pub const SAMPLER: RangeInclusive<f64> = 0.96..=1.04;

/// Samples × period over the CPU time, where that stands for the on-CPU time; beyond it the
/// sampler is in doubt.
pub const fn sampler_bar(role: Role) -> RangeInclusive<f64> {
    match role {
        // A receiver sleeps, and each switch is charged but not sampled.
        Role::Receiver => 0.88..=1.05,
        Role::Sender => 0.97..=1.03,
    }
}

/// The observer's cost, beyond which it is in doubt.
pub const OBSERVER: f64 = 1.10;

/// Sums of a receipt against what was measured apart from them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Closure {
    /// Samples × period over the on-CPU time of the time passes; with the tick over the period times the number of times at
    /// which the timer was due while the end had the CPU.
    pub sampler: Figure,
    /// With the tick: that number times the period over the on-CPU time; `None` otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub met: Option<f64>,
    /// Sampled rows and what is charged on the way, over clean CPU time.
    ///
    /// Without records of switches: sampled rows and the switching that was measured
    /// apart; of a sender, which hardly switches, without switching where that is not
    /// known. `None` of a receiver whose switching is not known, and where the on-CPU time
    /// was told from the samples.
    pub cpu: Option<f64>,
    /// Sampled rows, what is charged on the way or switching, runnable wait and blocked time
    /// over clean wall time; `None` without waits. Work of kernel threads, which is done while the
    /// end waits, is taken off: it would count twice.
    pub wall: Option<f64>,
    /// The same within the wait passes: the sampled share of their CPU time, and
    /// the waits, over their own wall time. Where others use the machine, waits
    /// of one pass are not those of another; this sum does not mind.
    pub own: Option<f64>,
}

/// The terms of a closure, in ns per message.
#[derive(Debug, Clone, Copy)]
pub struct Sums {
    /// The end.
    pub role: Role,
    /// Share of the on-CPU time that was sampled.
    pub sampled: Figure,
    /// As in [`Closure::met`].
    pub met: Option<f64>,
    /// Clean CPU time.
    pub cpu: f64,
    /// Clean wall time.
    pub wall: f64,
    /// The share of the CPU time that was sampled.
    pub share: f64,
    /// Switching, if known.
    pub switching: Option<f64>,
    /// CPU time that was charged while the end had no CPU, where records of switches tell.
    pub charged: Option<f64>,
    /// Runnable wait and blocked time, if known.
    pub waits: Option<[f64; 2]>,
    /// CPU time of kernel threads for the end, part of `cpu`.
    pub kernel_threads: f64,
    /// CPU time, the part of kernel threads, and wall time of the wait passes.
    pub own: Option<[f64; 3]>,
    /// True where the on-CPU time was told from the samples.
    pub calibrated: bool,
}

impl Closure {
    /// Adds up.
    pub fn from_sums(sums: &Sums) -> Self {
        match sums.charged {
            Some(charged) => Self::with_records(sums, charged),
            None => Self::without_records(sums),
        }
    }

    /// Adds up where the records of switches tell what was charged off the CPU. They are of
    /// other passes than the waits, so the sums with these can fail in both directions.
    fn with_records(sums: &Sums, charged: f64) -> Self {
        let rows = sums.share + charged / sums.cpu;
        let wall = |cpu: f64, kernel_threads: f64, wall: f64, [runnable, blocked]: [f64; 2]| {
            (rows * cpu - kernel_threads + runnable + blocked) / wall
        };
        Self {
            sampler: sums.sampled,
            met: sums.met,
            cpu: Some(rows),
            wall: sums.waits.map(|waits| wall(sums.cpu, sums.kernel_threads, sums.wall, waits)),
            own: sums.waits.zip(sums.own).map(|(waits, [cpu, kernel_threads, own])| wall(cpu, kernel_threads, own, waits)),
        }
    }

    fn without_records(sums: &Sums) -> Self {
        let rows = sums.share * sums.cpu;
        // Rows that were scaled to the whole CPU time hold the switching.
        let switching = sums.switching.filter(|_| !sums.calibrated).or((sums.role == Role::Sender).then_some(0.0));
        let known = switching.filter(|_| !sums.calibrated);
        let apart = rows + switching.unwrap_or(0.0) - sums.kernel_threads;
        Self {
            sampler: sums.sampled,
            met: sums.met,
            cpu: known.map(|switching| (rows + switching) / sums.cpu),
            wall: sums.waits.map(|[runnable, blocked]| (apart + runnable + blocked) / sums.wall),
            own: sums.waits.zip(sums.own).map(|([runnable, blocked], [cpu, kernel_threads, wall])| {
                (sums.share * cpu + switching.unwrap_or(0.0) - kernel_threads + runnable + blocked) / wall
            }),
        }
    }
}

/// The cost of watching.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Observer {
    /// CPU time per message of a time pass over that of the clean pass of its
    /// block: the median over blocks.
    pub ratio: Estimate,
}

impl Observer {
    /// The confidence asked for: five blocks, the fewest of a sound receipt,
    /// attain 93.75 %, which the interval then says.
    const CONFIDENCE: f64 = 0.90;

    /// Pairs passes by their block; `None` where no block has both.
    pub fn from_passes(time: &[TimePass], clean: &[CleanPass]) -> Option<Self> {
        let of_block: BTreeMap<u32, f64> = clean.iter().map(|pass| (pass.block, pass.cpu.get() as f64 / pass.messages)).collect();
        let pair = |pass: &TimePass| of_block.get(&pass.block).map(|clean| pass.cpu.get() as f64 / pass.messages / clean);
        let ratios: Vec<f64> = time.iter().filter_map(pair).collect();
        median::estimate(&ratios, Self::CONFIDENCE).map(|ratio| Self { ratio })
    }
}

/// What is known next to the sums.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// The end.
    pub role: Role,
    /// Switching was measured.
    pub switching: bool,
    /// The on-CPU time was told from the samples.
    pub calibrated: bool,
    /// The on-CPU time was measured apart from the samples and from the CPU time.
    pub apart: bool,
    /// The likeliest cause of a sum that fails.
    pub cause: Cause,
    /// By how much chance alone may move a sum of samples: 0 where there are as many as a receipt
    /// needs, whose bars allow for it.
    pub chance: f64,
    /// By how much chance alone may move [`Closure::met`].
    pub met_by_chance: f64,
}

/// A bar that few samples cannot miss by chance.
fn widened(bar: RangeInclusive<f64>, by: f64) -> RangeInclusive<f64> {
    bar.start() - by..=bar.end() + by
}

/// The doubts that sums give rise to.
pub fn doubts(closure: &Closure, known: &Known) -> Vec<Doubt> {
    let (mut doubts, cause) = (Vec::new(), known.cause);
    match (closure.wall, closure.own.or(closure.wall)) {
        (Some(wall), Some(own)) if !widened(WALL, known.chance).contains(&own) => {
            // The worse of the two, which may be the same.
            let worse = if (wall - 1.0).abs() > (own - 1.0).abs() { wall } else { own };
            doubts.push(Doubt::Wall { closure: worse, cause });
        }
        (Some(wall), Some(own)) if !widened(WALL, known.chance).contains(&wall) => doubts.push(Doubt::Moved { closure: wall, own }),
        (Some(_), Some(_)) => {}
        _ => doubts.push(Doubt::NoWaits),
    }
    if let Some(cpu) = closure.cpu.filter(|cpu| !widened(CPU, known.chance).contains(cpu)) {
        doubts.push(Doubt::Cpu { closure: cpu, cause });
    }
    let sampler = closure.sampler.value;
    if known.calibrated {
        doubts.push(Doubt::NotHeld);
    } else if known.apart && !widened(SAMPLER, known.chance).contains(&sampler) {
        doubts.push(Doubt::Dropped { closure: sampler, cause });
    } else if !known.apart && !widened(sampler_bar(known.role), known.chance).contains(&sampler) {
        doubts.push(Doubt::Sampler { closure: sampler });
    }
    if let Some(met) = closure.met.filter(|met| !widened(SAMPLER, known.met_by_chance).contains(met)) {
        doubts.push(Doubt::InStep { met });
    }
    if !known.switching && !known.apart {
        doubts.push(Doubt::NoSwitching);
    }
    doubts
}
