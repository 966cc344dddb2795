//! `nettoll top`: a screen, a page of text and a line of JSON, all of one [`Snapshot`].
//!
//! ```text
//! columns, rows, view -> header, help, page (lines) -> draw, text, json_line
//! ```
//!
//! Nothing here reads a terminal: [`View::press`] takes keys, [`draw`] fills a buffer of cells.

mod advice;
mod columns;
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
use ratatui_core::style::{Color, Modifier, Style as CellStyle};

use self::line::{Line, Role};
use crate::sinks::json;
use crate::sinks::terminal::{Style, in_ascii};

pub use advice::{advice_json, advice_text};
pub use columns::{CpuSort, Sort};
pub use metrics::{MetricsForm, OPEN_METRICS_TYPE, metrics};
pub use view::{ATTACH_SECONDS, Action, By, Cursor, Key, Target, View};

/// Properties of a terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Looks {
    /// Use colour: not with `NO_COLOR`.
    pub colour: bool,
    /// The locale has no UTF-8.
    pub ascii: bool,
}

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
const fn paint(role: Role) -> Paint {
    match role {
        Role::Title => Paint::new().effects(Effects::BOLD),
        Role::Faint => Paint::new().effects(Effects::DIMMED),
        Role::Warning => AnsiColor::Yellow.on_default().effects(Effects::BOLD),
        Role::Plain | Role::Call | Role::Softirq | Role::Selected => Paint::new(),
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
    write(&page::screen(snapshot, view, size), looks, area, buffer);
}

/// Writes lines into the cells of an area, from its first line on.
fn write(lines: &[Line], looks: Looks, area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    for (line, y) in lines.iter().zip(area.top()..area.bottom()) {
        let mut x = area.left();
        for span in &line.spans {
            let room = usize::from(area.right().saturating_sub(x));
            let style = style(span.role, looks.colour);
            (x, _) = if looks.ascii {
                let text: String = span.text.chars().map(in_ascii).collect();
                buffer.set_stringn(x, y, text, room, style)
            } else {
                buffer.set_stringn(x, y, &span.text, room, style)
            };
        }
    }
}

/// The 16 colours alone, on the terminal's own background; each role differs without them as well.
fn style(role: Role, colour: bool) -> CellStyle {
    let plain = CellStyle::new();
    let coloured = |tint: Color| if colour { plain.fg(tint) } else { plain };
    match role {
        Role::Plain => plain,
        Role::Title => plain.add_modifier(Modifier::BOLD),
        Role::Faint => plain.add_modifier(Modifier::DIM),
        Role::Call => coloured(Color::Cyan),
        Role::Softirq => coloured(Color::Magenta),
        Role::Warning => coloured(Color::Yellow).add_modifier(Modifier::BOLD),
        Role::Selected => plain.add_modifier(Modifier::REVERSED),
    }
}
