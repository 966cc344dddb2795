//! JSON documents of another tool's in a file that may hold more than them.

use serde_json::{Deserializer, Value};

use super::{ReadError, shortened};

/// More documents of one file are not read.
const MOST_DOCUMENTS: usize = 5_000;

/// The documents of a file.
#[derive(Debug, Default)]
pub struct Documents {
    /// The objects, in their order; those of an array each by itself.
    pub values: Vec<Value>,
    /// Remarks on everything else in the file.
    pub remarks: Vec<String>,
}

/// Reads every document of a text. A document begins on a line of its own; other
/// lines are left out, and so is a document that is broken where there is another.
///
/// # Errors
/// No document that is whole: the cause, and the remedy.
pub fn documents(text: &str) -> Result<Documents, ReadError> {
    let (text, no_numbers) = with_numbers(text);
    let mut found = Documents::default();
    let (mut foreign, mut broken) = (0_usize, None);
    let mut at = 0;
    while let Some(line) = text[at..].split_inclusive('\n').next() {
        let start = at + (line.len() - line.trim_start().len());
        let begins = line.trim_start().starts_with(['{', '[']);
        // Within a document that is broken the objects of its own are indented.
        if begins && (broken.is_none() || start == at) {
            let mut stream = Deserializer::from_str(&text[start..]).into_iter::<Value>();
            match stream.next() {
                Some(Ok(value)) => {
                    at = start + stream.byte_offset();
                    take(&mut found.values, value);
                    if found.values.len() > MOST_DOCUMENTS {
                        return Err(ReadError::TooMany("5,000 documents"));
                    }
                    continue;
                }
                // A line of a log may well begin with a bracket.
                Some(Err(error)) if text[start..].starts_with('{') && broken.is_none() => broken = Some(refusal(&text[..start], &error)),
                _ => {}
            }
        }
        foreign += usize::from(!line.trim().is_empty());
        at += line.len();
    }
    match (found.values.is_empty(), broken) {
        (true, Some(refusal)) => return Err(refusal),
        (true, None) => return Err(ReadError::NoDocument { found: cause(&text) }),
        (false, Some(refusal)) => found.remarks.push(format!("a part of the file was left out: {refusal}")),
        (false, None) if foreign == 1 => found.remarks.push("a line of the file is no JSON and was left out".to_owned()),
        (false, None) if foreign > 1 => found.remarks.push(format!("{foreign} lines of the file are no JSON and were left out")),
        (false, None) => {}
    }
    match no_numbers {
        0 => {}
        1 => found.remarks.push("a value of the file is no number (NaN, infinity) and was left out".to_owned()),
        more => found.remarks.push(format!("{more} values of the file are no numbers (NaN, infinity) and were left out")),
    }
    Ok(found)
}

fn take(values: &mut Vec<Value>, value: Value) {
    match value {
        Value::Array(items) => values.extend(items.into_iter().filter(Value::is_object)),
        value => values.push(value),
    }
}

fn refusal(before: &str, error: &serde_json::Error) -> ReadError {
    let line = before.matches('\n').count() + error.line();
    match error.is_eof() {
        true => ReadError::Truncated { line },
        false => ReadError::NotJson { line, reason: shortened(&error.to_string()) },
    }
}

/// What a file without any document is instead.
fn cause(text: &str) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    match text.trim() {
        "" => "it is empty",
        _ if says(&["iperf Done", "Interval           Transfer", "Connecting to host"]) => "it is iperf3's output for people",
        _ if text.contains('{') => "no line of it begins a JSON document",
        _ => "it holds no JSON",
    }
}

/// A text in which every bare word that stands for no finite number (`nan`, `-inf`,
/// `1e999`) is `null`, and how many there were: programs in C print them, and JSON
/// has none.
fn with_numbers(text: &str) -> (String, usize) {
    let (mut all, mut count) = (String::with_capacity(text.len()), 0);
    let mut rest = text;
    // Outside of documents there is nothing to mend: a value follows one of these.
    let mut in_place = false;
    while let Some(letter) = rest.chars().next() {
        let length = match letter {
            '"' => string_length(rest),
            _ if is_bare(letter) => rest.find(|letter| !is_bare(letter)).unwrap_or(rest.len()),
            _ => letter.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        let no_number = in_place && is_bare(letter) && token.parse::<f64>().is_ok_and(|number| !number.is_finite());
        all.push_str(if no_number { "null" } else { token });
        count += usize::from(no_number);
        if !letter.is_whitespace() {
            in_place = matches!(letter, ':' | ',' | '[');
        }
        rest = after;
    }
    (all, count)
}

const fn is_bare(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.')
}

/// Bytes of the string that a text begins with, with its quotes. It ends with its
/// line at the latest, as strings in JSON do.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (place, letter) in text.char_indices().skip(1) {
        match letter {
            '\n' => return place,
            '"' if !escaped => return place + 1,
            _ => escaped = letter == '\\' && !escaped,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{documents, with_numbers};
    use proptest::prelude::{prop_assert_eq, proptest};
    use serde_json::{Value, json};

    #[track_caller]
    fn read(text: &str) -> (Vec<Value>, String) {
        let found = documents(text).unwrap();
        (found.values, found.remarks.join("; "))
    }

    #[test]
    fn documents_are_found_among_other_lines() {
        assert_eq!(read("{\"a\":1}\n"), (vec![json!({"a": 1})], String::new()));
        assert_eq!(read("{\"a\":1}{\"a\":2}\n{\"a\":3}").0.len(), 3);
        assert_eq!(read("[{\"a\":1},{\"a\":2}]").0, [json!({"a": 1}), json!({"a": 2})]);
        let (values, remarks) = read("warning: x\n[  5] local\n  {\n \"a\":1}\ndone {\n");
        assert_eq!((values, remarks.as_str()), (vec![json!({"a": 1})], "3 lines of the file are no JSON and were left out"));
    }

    #[test]
    fn a_broken_document_is_left_out_where_there_is_another() {
        let (values, remarks) = read("{\n  \"a\": [\n  {\"b\": 1},\n{\"a\":2}\n");
        assert_eq!(values, [json!({"a": 2})]);
        assert!(remarks.contains("a part of the file was left out"), "{remarks}");
        assert!(read("{\"a\":1}\n{\"a\":").1.contains("ends before it is complete (line 2)"));
    }

    #[test]
    fn the_cause_is_named() {
        let said = |text: &str| documents(text).unwrap_err().to_string();
        assert!(said(" \n").contains("it is empty"));
        assert!(said("Connecting to host h, port 5201\n[  5]   0.00-1.00   sec\n").contains("output for people"));
        assert!(said("result = {}").contains("no line of it begins"));
        assert!(said("x\ny {]\n{]").contains("line 3 is no JSON"));
        assert!(said("x\n{\n\"a\":1,\n").contains("(line 4)"));
    }

    #[test]
    fn what_is_no_number_is_nothing() {
        let text = r#"{"a":-nan,"b": [inf,1e999 , 2], "c":"a: nan, \": inf","d":Infinity}"#;
        let (values, remarks) = read(text);
        assert_eq!(values, [json!({"a": null, "b": [null, null, 2], "c": "a: nan, \": inf", "d": null})]);
        assert!(remarks.contains("4 values of the file are no numbers"));
    }

    proptest! {
        #[test]
        fn what_is_json_stays_as_it_is(text in "\\PC{0,20}", number in -1e300f64..1e300) {
            let document = json!({ text.clone(): [text, number, {"x": null}] }).to_string();
            prop_assert_eq!(with_numbers(&document), (document.clone(), 0));
        }

        #[test]
        fn no_text_breaks_it(text in "([{}\\[\\]:,\"\\\\\\n na-e0-9.]|\\PC){0,200}") {
            let _ = documents(&text);
        }
    }
}
