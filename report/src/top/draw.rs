//! Lines in the cells of a terminal.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

use super::line::{Line, Role};
use crate::sinks::terminal::in_ascii;

/// Properties of a terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Looks {
    /// Use colour: not with `NO_COLOR`.
    pub colour: bool,
    /// The locale has no UTF-8.
    pub ascii: bool,
}

/// Writes lines into an area, from its first line on.
pub fn draw(lines: &[Line], looks: Looks, area: Rect, buffer: &mut Buffer) {
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
fn style(role: Role, colour: bool) -> Style {
    let plain = Style::new();
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
