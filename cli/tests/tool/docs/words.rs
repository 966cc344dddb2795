//! Words that text for users does not have: pages, README.md, CHANGELOG.md, the program's string
//! literals and its help.

use std::fs;
use std::path::PathBuf;

use super::pages::{Page, all, root};
use super::rows::made_lines;
use crate::support::Skip;
use crate::support::tool::Tool;

/// A rule: forms of words in a row, and what to write instead. In a form `a|b` is either word,
/// `!a|b` any other, `*` any, `#` a number; a word in capitals is matched as it is written.
type Rule = (&'static [&'static str], &'static str);

const RULES: &[Rule] = &[
    (&["whoever", "whatever !its|the|their|his|else"], "name it: any program, each end"),
    (&["nobody", "somebody", "anybody", "nobody's", "somebody's", "anybody's"], "no process, another user, or the passive"),
    (
        &["told", "tell|tells|telling * apart", "tell|tells|telling * * apart", "tell|tells|telling * * * apart"],
        "reported, printed, distinguished",
    ),
    (&["fall|falls|fell|falling out"], "differs from the others, is an outlier"),
    (&["strike|strikes|struck"], "fire, run, hit"),
    (&["heads"], "headers, column titles"),
    (&["Of !course"], "subject first: In 20 trials ..."),
    (&["what a|it|they|this|that|these|the * is|are|was|were|take|takes|cost|costs|has|have|did"], "a noun: the cost of, the time that"),
    (&["under way"], "in flight, running"),
    (&["as such"], "fixed, per message"),
    (&["beside", "besides"], "next to; also, more"),
    (&["anew"], "again"),
    (&["reckon|reckons|reckoned|reckoning"], "compute, count"),
    (&["left to itself|themselves"], "autotuning, by default"),
    (&["come|comes|came to #", "kernel comes to"], "reaches"),
    (&["a means"], "explains; not judged"),
    (&["middling"], "median"),
    (&["foretold"], "predicted"),
    (&["not needed yet"], "optional: needed for X"),
    (&["less well known"], "interval wider than asked"),
    (&["nowhere"], "at no size"),
    (&["could hide"], "would not be seen"),
    (&["charged while"], "CPU time billed while off the CPU"),
    (&["be it", "for who", "that which"], "rewrite"),
];

/// Marks a line that keeps such a word, and the most lines that may.
const ALLOW: &str = "words:allow";
const ALLOWED: usize = 20;

/// A word, and whether a question mark ends its sentence.
struct Word<'a> {
    text: &'a str,
    asked: bool,
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    let mut sentence = 0;
    let letter = |letter: char| letter.is_alphanumeric() || matches!(letter, '\'' | '_' | '-');
    for piece in text.split_inclusive(|end: char| !letter(end)) {
        let word = piece.trim_end_matches(|end: char| !letter(end)).trim_matches(['-', '\'']);
        if !word.is_empty() {
            words.push(Word { text: word, asked: false });
        }
        match piece.chars().last() {
            Some('?') => words[sentence..].iter_mut().for_each(|word| word.asked = true),
            Some('.' | '!') => {}
            _ => continue,
        }
        sentence = words.len();
    }
    words
}

fn is(form: &str, word: &str) -> bool {
    let either = |forms: &str| forms.split('|').any(|form| form == word || form == word.to_lowercase());
    match (form, form.strip_prefix('!')) {
        ("*", _) => true,
        ("#", _) => word.starts_with(|digit: char| digit.is_ascii_digit()),
        (_, Some(others)) => !either(others),
        (_, None) => either(form),
    }
}

/// What a text has of the words: the words, and what to write instead.
fn found(text: &str) -> Vec<(String, &'static str)> {
    let words = words(text);
    let mut found = Vec::new();
    for (forms, instead) in RULES {
        for form in *forms {
            let form: Vec<&str> = form.split(' ').collect();
            for row in words.windows(form.len()) {
                let asks = form[0] == "what" && row[0].asked;
                if !asks && row.iter().zip(&form).all(|(word, form)| is(form, word.text)) {
                    let row: Vec<&str> = row.iter().map(|word| word.text).collect();
                    found.push((row.join(" "), *instead));
                }
            }
        }
    }
    found
}

/// String literals of a source that have a space, each with its line: comments and the tests at
/// the end of a file are left out.
fn literals(source: &str) -> Vec<(String, usize)> {
    let source = source.split("#[cfg(test)]\nmod ").next().unwrap();
    let mut literals = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let until = |start: usize, end: &str| rest[start..].find(end).map_or(rest.len(), |place| start + place + end.len());
        let (length, text) = match first {
            '/' if rest.starts_with("//") => (until(0, "\n"), None),
            '\'' if rest.starts_with("'\"'") => (3, None),
            '\'' if rest.starts_with("'\\\"'") => (4, None),
            'r' if rest.starts_with("r#\"") => (until(3, "\"#"), Some((3, 2))),
            '"' => {
                let mut escaped = false;
                let end = rest[1..].find(|letter| {
                    let ends = letter == '"' && !escaped;
                    escaped = letter == '\\' && !escaped;
                    ends
                });
                (end.map_or(rest.len(), |end| end + 2), Some((1, 1)))
            }
            other => (other.len_utf8(), None),
        };
        if let Some((before, after)) = text {
            // A backslash at a line's end joins it with the next.
            let text: String = rest[before..length - after].split("\\\n").map(str::trim_start).collect();
            if text.contains(' ') {
                literals.push((text, source[..at].matches('\n').count() + 1));
            }
        }
        at += length;
    }
    literals
}

/// The sources of the crates that make the program.
fn sources() -> Vec<PathBuf> {
    const OTHERS: [&str; 4] = ["bench", "fuzz", "linksim", "testkit"];
    let mut folders: Vec<PathBuf> = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path().join("src")).collect();
    folders.retain(|folder| folder.is_dir() && !OTHERS.iter().any(|other| folder.parent().is_some_and(|parent| parent.ends_with(other))));
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() && !path.ends_with("tests") {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
                sources.push(path);
            }
        }
    }
    assert!(sources.len() > 500, "{}", sources.len());
    sources
}

/// A line that may keep its words, counted.
fn allowed(lines: &[&str], line: usize, count: &mut usize) -> bool {
    let allowed = lines.get(line - 1).is_some_and(|line| line.contains(ALLOW));
    *count += usize::from(allowed);
    allowed
}

pub fn the_text_for_users_has_plain_words() -> Result<(), Skip> {
    let made = made_lines();
    let (mut marked, mut hits) = (0, Vec::new());
    for page in all().into_iter().chain([Page::read("CHANGELOG.md")]) {
        let lines: Vec<&str> = page.text.lines().collect();
        for (text, line) in page.prose() {
            if !made.contains(lines[line - 1]) && !allowed(&lines, line, &mut marked) {
                hits.extend(found(&text).into_iter().map(|(words, instead)| format!("{}:{line}: \"{words}\": {instead}", page.path)));
            }
        }
    }
    for path in sources() {
        let source = fs::read_to_string(&path).unwrap();
        let (lines, name) = (source.lines().collect::<Vec<_>>(), path.strip_prefix(root()).unwrap_or(&path).display());
        for (text, line) in literals(&source) {
            if !allowed(&lines, line, &mut marked) {
                let debug = text.contains(":?}").then(|| (text.clone(), "Display in place of Debug"));
                hits.extend(found(&text).into_iter().chain(debug).map(|(words, instead)| format!("{name}:{line}: \"{words}\": {instead}")));
            }
        }
    }
    let tool = Tool::new();
    for topic in super::commands(&tool).iter().map(String::as_str).chain(["columns"]) {
        let text = tool.run(&["help", topic]).done().stdout;
        hits.extend(found(&text).into_iter().map(|(words, instead)| format!("help {topic}: \"{words}\": {instead}")));
    }
    assert!(hits.is_empty(), "{} of the words:\n{}", hits.len(), hits.join("\n"));
    assert!(marked <= ALLOWED, "{marked} lines have {ALLOW}, {ALLOWED} may");
    Ok(())
}

pub fn the_words_are_found() -> Result<(), Skip> {
    let has = |text: &str| found(text).into_iter().map(|(words, _)| words).collect::<Vec<_>>();
    assert_eq!(has("It was told to nobody: what a byte costs. Of ten."), ["nobody", "told", "Of ten", "what a byte costs"]);
    assert_eq!(has("What does what a byte costs mean? Of course, whatever the size."), [""; 0]);
    assert_eq!(has("The kernel comes to 5 MB; they tell the two apart."), ["tell the two apart", "comes to 5", "kernel comes to"]);
    let source =
        "/// \"no d\"\nlet a = '\"'; f(\"a \\\"b\\\n   c\"); // \"no e\"\ng(r#\"a \"b\"#, \"c\");\n#[cfg(test)]\nmod x { h(\"no f\") }";
    assert_eq!(literals(source), [("a \\\"bc".to_owned(), 2), ("a \"b".to_owned(), 4)]);
    Ok(())
}
