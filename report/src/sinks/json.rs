//! JSON: the analysis as it is, and failures. Both end with a newline.

use analysis::result::Analysis;
use model::check::Check;
use model::json::{Layout, write};
use model::printable::{Keep, printable, steers};
use serde::Serialize;

/// The analysis, indented. Names are those of [`Analysis`]; a figure that is
/// not a number is `null`.
pub fn render(analysis: &Analysis) -> String {
    pretty(analysis)
}

/// The doctor's checks, indented.
pub fn checks(checks: &[Check]) -> String {
    pretty(&checks)
}

/// A value, indented, as a terminal may get it.
pub fn pretty(value: &impl Serialize) -> String {
    match written(value, Layout::INDENTED) {
        Ok(text) => for_terminal(&text) + "\n",
        // Cannot happen with the types as they are; still valid JSON if it does.
        Err(failure) => error("internal", &format!("the result cannot be written as JSON: {failure}")),
    }
}

/// A failure: `{"error": {"kind": ..., "message": ...}}`.
pub fn error(kind: &str, message: &str) -> String {
    pretty(&serde_json::json!({ "error": { "kind": kind, "message": message } }))
}

/// A value on one line; `null` where it cannot be written.
pub(crate) fn compact(value: &impl Serialize) -> String {
    written(value, Layout::COMPACT).unwrap_or_else(|_| "null".to_owned())
}

/// The same with fewer digits.
pub(crate) fn rounded(value: &impl Serialize, digits: usize) -> String {
    written(value, Layout { digits: Some(digits), ..Layout::COMPACT }).unwrap_or_else(|_| "null".to_owned())
}

fn written(value: &impl Serialize, layout: Layout) -> serde_json::Result<String> {
    write(value, layout).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// JSON as the content of a `<script type="application/json">`. No byte of
/// it can end the element, open a comment or a tag, or end a line in JavaScript. Characters of its
/// texts that steer, escaped or not, stand as on a terminal (`model::printable`).
pub(crate) fn for_script(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => safe += &format!("\\u{:04x}", letter as u32),
            '\\' => {
                let rest = letters.as_str();
                let number = rest.strip_prefix('u').and_then(|rest| rest.get(..4)).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                match number.and_then(char::from_u32).map(shown) {
                    Some(shown) if shown.starts_with('\\') => {
                        safe += &format!("\\{shown}");
                        letters = rest[5..].chars();
                    }
                    _ => {
                        safe.push('\\');
                        safe.extend(letters.next());
                    }
                }
            }
            ' '..='~' => safe.push(letter),
            letter => match shown(letter) {
                shown if shown.starts_with('\\') => safe += &format!("\\{shown}"),
                shown => safe += &shown,
            },
        }
    }
    safe
}

/// JSON that a terminal may get as it is: characters that steer it are escaped, and read back as they were.
pub(crate) fn for_terminal(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    // JSON has no control characters but line ends, and what steers only within its texts.
    while let Some((place, letter)) = rest.char_indices().find(|(_, letter)| steers(*letter) && !letter.is_ascii_whitespace()) {
        safe += &rest[..place];
        safe += &format!("\\u{:04x}", letter as u32);
        rest = &rest[place + letter.len_utf8()..];
    }
    safe + rest
}

/// A character as a terminal gets it.
fn shown(letter: char) -> String {
    printable(letter.encode_utf8(&mut [0; 4]), Keep::Lines).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{compact, error, for_script, for_terminal};
    use model::printable::{Keep, printable};
    use proptest::prelude::proptest;

    #[test]
    fn a_failure_is_valid_json_whatever_it_says() {
        let text = error("misuse", "\"quoted\"\n</script>\u{0}");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["error"]["kind"], "misuse");
        assert_eq!(value["error"]["message"], "\"quoted\"\n</script>\u{0}");
    }

    #[test]
    fn what_steers_a_terminal_is_escaped_in_every_document() {
        let text = "a\u{7f}b\u{202e}c\u{9b}\u{2066}";
        for document in [super::pretty(&text), error(text, text)] {
            assert_eq!(printable(&document, Keep::Lines), document.as_str());
        }
        assert_eq!(serde_json::from_str::<String>(&super::pretty(&text)).unwrap(), text);
    }

    #[test]
    fn what_steers_is_shown_in_a_script_too() {
        let text = "a\u{1b}[2J\u{202e}b\u{9b}\n\\u001b \"quoted\" größe";
        let safe = for_script(&compact(&text));
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "a\\u{1b}[2J\\u{202e}b\\u{9b}\n\\u001b \"quoted\" größe");
    }

    proptest! {
        #[test]
        fn a_terminal_gets_every_text_and_none_steers_it(text in "\\PC*[\u{1b}\u{7f}\u{9b}\u{202e}\\\\\"\n]{0,9}.{0,9}") {
            let safe = for_terminal(&compact(&text));
            assert_eq!(printable(&safe, Keep::Lines), safe.as_str());
            assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
        }

        #[test]
        fn no_text_leaves_its_script(text in "(\\PC|[<>&/!-]|script){0,20}") {
            let safe = for_script(&compact(&text));
            assert!(!safe.contains(['<', '>', '&']));
            assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
        }
    }
}
