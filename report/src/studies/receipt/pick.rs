//! What fits: which sizes a narrow table shows, and which rows.

use analysis::result::receipt::{SeriesReceipt, SizeRow};
use attribution::{Growth, Path, Shape};

/// So many columns of a series, by their places, rising: the least and the most
/// size, then the sides of boundaries, then what lies between.
pub fn sizes(series: &SeriesReceipt, room: usize) -> Vec<usize> {
    let count = series.columns.len();
    let inner = series.boundaries.iter().map(|boundary| boundary.below).filter(|below| (1..count).contains(below));
    let sides = inner.clone().map(|below| below - 1).chain(inner);
    let wanted = [0, count.saturating_sub(1)].into_iter().chain(sides).chain(0..count);
    let mut picked: Vec<usize> = Vec::new();
    for place in wanted.filter(|place| *place < count) {
        if picked.len() < room.max(1) && !picked.contains(&place) {
            picked.push(place);
        }
    }
    picked.sort_unstable();
    picked
}

/// Whether a boundary lies between a column and the one picked before it.
pub fn crosses(series: &SeriesReceipt, picked: &[usize], place: usize) -> bool {
    let Some(before) = place.checked_sub(1) else { return false };
    series.boundaries.iter().any(|boundary| (picked[before] + 1..=picked[place]).contains(&boundary.below))
}

/// The mark of a row that depends on the size.
pub fn mark(growth: Option<&Growth>) -> &'static str {
    match growth.map(|growth| growth.shape) {
        Some(Shape::Grows) => " ↑",
        Some(Shape::Falls) => " ↓",
        Some(Shape::Varies) => " ~",
        Some(Shape::NotShown) | None => "",
    }
}

/// The paths of one layer, the costliest first.
pub fn of_layer<'a>(series: &'a SeriesReceipt, row: &SizeRow<attribution::Layer>) -> Vec<&'a SizeRow<Path>> {
    series.paths.rows.iter().filter(|path| path.key.layer == row.key).collect()
}
