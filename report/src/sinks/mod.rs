//! Forms of output, a file each: of a document, and of values alone (CSV, benchstat, events).

pub mod benchstat;
pub mod csv;
pub mod events;
pub mod html;
pub mod json;
pub mod markdown;
pub mod terminal;

use crate::document::Cell;
use crate::number::NOTHING;

/// The words of a cell, where nothing stands out.
fn words(cell: &Cell) -> String {
    match cell {
        Cell::Nothing => NOTHING.to_owned(),
        Cell::Estimate(estimate) => format!("{} {}", estimate.value, estimate.margin).trim_end().to_owned(),
        Cell::Entry(entry) => [&entry.value, &entry.margin, &entry.share, &entry.calls].map(String::as_str).join(" ").trim_end().to_owned(),
        Cell::Stack(lines) => lines.join(" "),
        Cell::Lines(lines) => lines.iter().map(crate::document::Text::plain).collect::<Vec<_>>().join(" "),
        Cell::Text(text) | Cell::Hinted(text, _) | Cell::Shaded(text, _) | Cell::Tall(_, text) | Cell::Wide(_, text) => text.plain(),
        Cell::Covered => String::new(),
    }
}
