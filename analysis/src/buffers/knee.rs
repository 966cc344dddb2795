//! Where more buffer stops to help.

use crate::result::Estimate;
use crate::result::buffers::BufferKnee;
use stats::median::median;

/// The share of the plateau that is as good as all of it.
const ENOUGH: f64 = 0.95;

/// The plateau is of so many of the largest buffers: one in this many.
const PLATEAU: usize = 4;

/// Fewer cells show no curve.
const LEAST: usize = 3;

/// The knee of goodput over rising buffers. An interval that is missing, for want
/// of trials, is the value itself.
pub(super) fn of(goodputs: &[Estimate]) -> Option<BufferKnee> {
    if goodputs.len() < LEAST {
        return None;
    }
    let plateau_cells = (goodputs.len() / PLATEAU).max(1);
    let largest: Vec<f64> = goodputs[goodputs.len() - plateau_cells..].iter().map(|goodput| goodput.value).collect();
    let plateau_bit_per_s = median(&largest)?;
    let wanted = ENOUGH * plateau_bit_per_s;
    let first = |reaches: &dyn Fn(&Estimate) -> bool| goodputs.iter().position(reaches);
    let at = first(&|goodput| goodput.interval.map_or(goodput.value, |interval| interval.high) >= wanted)?;
    let buffer = first(&|goodput| goodput.value >= wanted)?;
    let surely = first(&|goodput| goodput.interval.is_some_and(|interval| interval.low >= wanted));
    Some(BufferKnee { plateau_bit_per_s, plateau_cells, at, buffer, surely })
}
