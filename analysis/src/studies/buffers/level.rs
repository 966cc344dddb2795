//! The sizes of a buffer, and what became of each.

use model::Bytes;

use super::BufferLevel;
use super::sample::TrialSample;
use stats::median::median;

/// Trials with their place in the other buffer's levels.
pub(super) type Seen<'a> = (usize, &'a TrialSample);

/// One size: `end` is 0 of a sender's buffer and 1 of a receiver's.
pub(super) fn level(asked: Option<Bytes>, trials: &[Seen], end: usize) -> BufferLevel {
    let most = |of: fn(&TrialSample) -> [Option<i64>; 2]| trials.iter().filter_map(|(_, trial)| of(trial)[end]).max();
    let windows: Vec<f64> = trials.iter().filter_map(|(_, trial)| trial.window.filter(|_| end == 1)).map(f64::from).collect();
    // With a small buffer at the other end only that one would be seen.
    let largest = trials.iter().map(|(other, _)| *other).max();
    let widest: Vec<f64> =
        trials.iter().filter(|(other, _)| Some(*other) == largest).filter_map(|(_, trial)| trial.in_flight).map(f64::from).collect();
    BufferLevel {
        asked,
        set: most(|trial| trial.set),
        got: most(|trial| trial.got),
        window: median(&windows),
        in_flight: median(&widest),
        most_in_flight: trials.iter().filter_map(|(_, trial)| trial.in_flight).max(),
        looks: trials.iter().map(|(_, trial)| trial.looks).sum(),
    }
}
