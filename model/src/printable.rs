//! Foreign text on its way to a terminal or a log.

use std::borrow::Cow;
use std::fmt::Write;

/// Parts of a text that may reach a terminal as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Line ends, tabs, and the sequences by which a report sets its own styles
    /// ([`STYLES`]). Only for text from which foreign ones were taken before it was styled.
    Styles,
    /// Line ends and tabs.
    Lines,
    /// Neither: the text stays one line.
    Nothing,
}

/// The sequences of a report's styles: usual, bold, faint, red, yellow (ECMA-48, SGR).
pub const STYLES: [&str; 5] = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m", "\u{1b}[33m"];

/// Returns the text with every character that steers a terminal, or changes the
/// order in which others are shown, written as `\u{1b}` is in Rust: control
/// characters (C0, DEL, C1) and the marks of bidirectional text (Unicode Standard
/// Annex #9), with which a name can look like another ("Trojan Source",
/// CVE-2021-42574).
pub fn printable(text: &str, keep: Keep) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let style = if keep == Keep::Styles { style_length(rest) } else { 0 };
        let length = style.max(next.len_utf8());
        let (piece, after) = rest.split_at(length);
        let kept = style > 0 || !steers(next) || matches!(next, '\n' | '\t') && keep != Keep::Nothing;
        if kept {
            out.push_str(piece);
        } else {
            // Writing to a string does not fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(next));
        }
        rest = after;
    }
    Cow::Owned(out)
}

/// Returns whether a character steers a terminal, or changes the order in which others are shown.
pub fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Length of the sequence for one of our styles that the text begins with; 0: none.
fn style_length(text: &str) -> usize {
    STYLES.iter().find(|style| text.starts_with(**style)).map_or(0, |style| style.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{Keep, printable, steers};

    #[test]
    fn what_steers_is_shown_and_the_rest_is_left() {
        assert_eq!(printable("a\u{1b}[2Jb\u{7}\u{9b}c\u{7f}", Keep::Styles), "a\\u{1b}[2Jb\\u{7}\\u{9b}c\\u{7f}");
        assert_eq!(printable("admin\u{202e}nimda", Keep::Lines), "admin\\u{202e}nimda");
        assert_eq!(printable("one\n\ttwo\r", Keep::Lines), "one\n\ttwo\\u{d}");
        assert_eq!(printable("one\ntwo", Keep::Nothing), "one\\u{a}two");
        assert_eq!(printable("Größe 16 µs", Keep::Nothing), "Größe 16 µs");
    }

    #[test]
    fn styles_are_kept_where_they_are_ours() {
        let styled = "\u{1b}[1m\u{1b}[33mbold\u{1b}[0m";
        assert_eq!(printable(styled, Keep::Styles), styled);
        assert_eq!(printable(styled, Keep::Lines), "\\u{1b}[1m\\u{1b}[33mbold\\u{1b}[0m");
        // Hidden, red on red, blinking: nothing that a report does.
        assert_eq!(printable("\u{1b}[8m\u{1b}[31;41m\u{1b}[5m", Keep::Styles), "\\u{1b}[8m\\u{1b}[31;41m\\u{1b}[5m");
        assert_eq!(printable("\u{1b}[31", Keep::Styles), "\\u{1b}[31");
        assert_eq!(printable("\u{1b}]0;title\u{7}", Keep::Styles), "\\u{1b}]0;title\\u{7}");
    }

    proptest! {
        #[test]
        fn nothing_that_steers_is_left_and_nothing_else_is_changed(text in any::<String>()) {
            let shown = printable(&text, Keep::Nothing);
            prop_assert!(!shown.contains(steers));
            if !text.contains(steers) {
                prop_assert_eq!(shown.as_ref(), text.as_str());
            }
        }
    }
}
