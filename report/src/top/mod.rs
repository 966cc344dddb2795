//! `nettoll top`: a screen, a page of text and a line of JSON, all of one [`Snapshot`].
//!
//! ```text
//! columns, rows, view -> header, help, page (lines) -> draw (cells), text, json_line
//! ```
//!
//! Nothing here reads a terminal: [`View::press`] takes keys, [`draw`] fills a buffer of cells.

mod advice;
mod columns;
mod draw;
mod header;
mod help;
mod line;
mod metrics;
mod page;
pub mod recording;
mod rows;
mod view;

use analysis::top::Snapshot;
use anstyle::{AnsiColor, Effects, Style as Paint};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::sinks::json;
use crate::sinks::terminal::{Style, in_ascii};

pub use advice::{advice_json, advice_text};
pub use columns::{CpuSort, Sort};
pub use draw::Looks;
pub use metrics::{MetricsForm, OPEN_METRICS_TYPE, metrics};
pub use view::{ATTACH_SECONDS, Action, By, Cursor, Key, Target, View};

/// Digits of a figure in JSON.
const DIGITS: usize = 6;

/// One window as a page of text; ends with a newline. As wide as the style says, and as long as it has rows.
pub fn text(snapshot: &Snapshot, host: &str, style: Style) -> String {
    let mut text = String::new();
    for line in page::page(snapshot, &View::new(host.to_owned()), style.columns()) {
        let mut painted = String::new();
        let last = line.spans.len().saturating_sub(1);
        for (place, span) in line.spans.iter().enumerate() {
            let words = if place == last { span.text.trim_end() } else { &span.text };
            let words: String = if style.ascii { words.chars().map(in_ascii).collect() } else { words.to_owned() };
            let paint = paint(span.role);
            painted += &if style.colour && paint != Paint::new() && !words.is_empty() { format!("{paint}{words}{paint:#}") } else { words };
        }
        text += painted.trim_end();
        text.push('\n');
    }
    text
}

/// Styles of text that is printed: those that may reach a terminal (`model::printable::STYLES`).
const fn paint(role: line::Role) -> Paint {
    match role {
        line::Role::Title => Paint::new().effects(Effects::BOLD),
        line::Role::Faint => Paint::new().effects(Effects::DIMMED),
        line::Role::Warning => AnsiColor::Yellow.on_default().effects(Effects::BOLD),
        line::Role::Plain | line::Role::Call | line::Role::Softirq | line::Role::Selected => Paint::new(),
    }
}

/// One window as one line of JSON, with six digits; ends with a newline. Names are those of [`Snapshot`]; a figure that
/// is not a number is `null`.
pub fn json_line(snapshot: &Snapshot) -> String {
    json::for_terminal(&json::rounded(snapshot, DIGITS)) + "\n"
}

/// Draws a screen, and scrolls the view to its selected row. Only rows that are visible are made.
pub fn draw(snapshot: &Snapshot, view: &mut View, looks: Looks, area: Rect, buffer: &mut Buffer) {
    let size = [usize::from(area.width), usize::from(area.height)];
    page::fit(view, snapshot, size);
    draw::draw(&page::screen(snapshot, view, size), looks, area, buffer);
}
