//! Keys of a terminal as the screen has them.

use ratatui_crossterm::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use report::top::Key;

/// What came from the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A key of the screen.
    Key(Key),
    /// Ctrl-C, which is no signal in raw mode.
    End,
    /// Ctrl-Z, likewise.
    Stop,
    /// Ctrl-L, and another size: all is drawn again.
    Redraw,
}

/// An event as the screen has it; `None` where it has no meaning.
pub fn input(event: &Event) -> Option<Input> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => pressed(*key),
        Event::Resize(..) => Some(Input::Redraw),
        _ => None,
    }
}

fn pressed(key: KeyEvent) -> Option<Input> {
    if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        return match key.code {
            KeyCode::Char('c') => Some(Input::End),
            KeyCode::Char('z') => Some(Input::Stop),
            KeyCode::Char('l') => Some(Input::Redraw),
            _ => None,
        };
    }
    let key = match key.code {
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc | KeyCode::Backspace => Key::Escape,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Char(letter) => Key::Letter(letter),
        _ => return None,
    };
    Some(Input::Key(key))
}

#[cfg(test)]
mod tests {
    use ratatui_crossterm::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
    use report::top::Key;

    use super::{Input, input};

    #[test]
    fn keys_with_control_are_no_letters() {
        let of = |code, modifiers| input(&Event::Key(KeyEvent::new(code, modifiers)));
        assert_eq!(of(KeyCode::Char('c'), KeyModifiers::NONE), Some(Input::Key(Key::Letter('c'))));
        assert_eq!(of(KeyCode::Char('?'), KeyModifiers::SHIFT), Some(Input::Key(Key::Letter('?'))));
        assert_eq!(of(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Input::End));
        assert_eq!(of(KeyCode::Char('z'), KeyModifiers::CONTROL), Some(Input::Stop));
        assert_eq!(of(KeyCode::Char('a'), KeyModifiers::CONTROL), None);
        assert_eq!(of(KeyCode::Backspace, KeyModifiers::NONE), Some(Input::Key(Key::Escape)));
        assert_eq!(input(&Event::Resize(80, 24)), Some(Input::Redraw));
        let released = KeyEvent::new_with_kind(KeyCode::Char('q'), KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(input(&Event::Key(released)), None);
    }
}
