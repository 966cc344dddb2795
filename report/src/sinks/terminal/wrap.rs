//! Breaks text into lines by the width that a terminal gives it.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const UNITS: &[&str] = &["B", "ns", "ns/B", "µs", "ms", "s", "%"];

/// Lines of `text`, none wider than `width`; the first is indented by `first`,
/// the others by `further`. Control characters become spaces, so that text
/// from outside cannot steer the terminal.
pub fn wrap(text: &str, width: usize, first: usize, further: usize) -> Vec<String> {
    let clean: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let mut lines = Vec::new();
    let mut line = " ".repeat(first);
    let mut empty = true;
    for mut word in words(&clean) {
        if !empty && line.width() + 1 + word.width() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(further)));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        while line.width() + word.width() > width {
            let (head, rest) = split(&word, width.saturating_sub(line.width()).max(2));
            line += &head;
            lines.push(std::mem::replace(&mut line, " ".repeat(further)));
            word = rest;
        }
        line += &word;
        empty = false;
    }
    lines.push(line);
    lines
}

/// Words; a unit stays with its number.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.replace('\u{a0}', " ").split(' ') {
        let unit = UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')']));
        match words.last_mut().filter(|last| unit && last.ends_with(|letter: char| letter.is_ascii_digit())) {
            Some(last) => *last += &format!(" {word}"),
            None => words.push(word.to_owned()),
        }
    }
    words
}

/// A word that is wider than a line, cut where the line ends.
fn split(word: &str, room: usize) -> (String, String) {
    let mut used = 0;
    for (place, letter) in word.char_indices() {
        used += letter.width().unwrap_or(0);
        if used > room {
            return (word[..place].to_owned(), word[place..].to_owned());
        }
    }
    (word.to_owned(), String::new())
}

#[cfg(test)]
mod tests {
    use super::wrap;
    use proptest::prelude::proptest;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn words_stay_whole_and_further_lines_are_indented() {
        assert_eq!(wrap("- one two three", 9, 0, 2), ["- one two", "  three"]);
        assert_eq!(wrap("about 12 ns", 8, 0, 0), ["about", "12 ns"]);
        assert_eq!(wrap("", 80, 0, 2), [""]);
    }

    #[test]
    fn escapes_of_a_terminal_are_taken_out() {
        assert_eq!(wrap("a\u{1b}[2Jb", 80, 0, 0), ["a [2Jb"]);
    }

    proptest! {
        #[test]
        fn no_line_is_wider(text in "(\\PC| ){0,200}", width in 20_usize..100, further in 0_usize..6) {
            for line in wrap(&text, width, 0, further) {
                assert!(line.width() <= width, "{line:?}");
            }
        }
    }
}
