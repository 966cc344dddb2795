//! Tables of pages that are made from the rows of the program's tables.
//! `NETTOLL_UPDATE_EXPECTED=1` writes them again.

use std::collections::BTreeSet;
use std::fs;

use analysis::result::Metric;
use model::plan::Factor;
use model::{Api, Protocol, Receive, Test, Waiting, Warning};

use super::pages::{Page, root};
use crate::stored_runs::{copy, data};
use crate::support::Skip;
use crate::support::tool::Tool;

const UPDATE: &str = "NETTOLL_UPDATE_EXPECTED";

/// A table of a page: its header line, by which it is found, and its rows.
struct Made {
    page: &'static str,
    header: &'static str,
    rows: Vec<Vec<String>>,
}

impl Made {
    fn lines(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule = "|---".repeat(self.header.matches(" | ").count() + 1) + "|\n";
        format!("{}\n{rule}{}", self.header, self.rows.iter().map(|row| line(row)).collect::<String>())
    }
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

/// A sentence as a cell of a table has it.
fn cell(sentence: &str) -> String {
    let text = sentence.trim_end_matches('.');
    let mut letters = text.chars();
    // A word in capitals, such as TCP, stays as it is.
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => format!("{}{}", first.to_lowercase(), &text[first.len_utf8()..]),
        _ => text.to_owned(),
    }
}

/// The tests that a way carries.
fn carries(carries: impl Fn(Test) -> bool) -> String {
    const SETS: [(&[Test], &str); 5] = [
        (Test::ALL, "every test"),
        (Test::OPEN_CONNECTIONS, "all but `TCP_CRR`"),
        (Test::STREAMS, "streams"),
        (Test::DATAGRAMS, "datagrams"),
        (&[], "nothing"),
    ];
    let carried: Vec<Test> = Test::ALL.iter().copied().filter(|test| carries(*test)).collect();
    match SETS.iter().find(|(set, _)| set.iter().collect::<BTreeSet<_>>() == carried.iter().collect()) {
        Some((_, words)) => (*words).to_owned(),
        None => carried.iter().map(|test| code(test.name())).collect::<Vec<_>>().join(", "),
    }
}

/// The way of receiving that goes with a way of sending.
fn goes_with(api: Api) -> String {
    let usual = |protocol: Protocol| {
        let test = Test::ALL.iter().find(|test| test.protocol() == protocol && api.carries(**test))?;
        Some(api.usual_receive(*test))
    };
    match (usual(Protocol::Udp), usual(Protocol::Tcp)) {
        (Some(datagrams), Some(stream)) if datagrams != stream => format!("datagrams: `{datagrams}`; TCP: `{stream}`"),
        (Some(one), _) | (None, Some(one)) => code(one.name()),
        (None, None) => String::new(),
    }
}

fn made() -> Vec<Made> {
    let sending = |api: &Api| {
        let batch = Test::ALL.iter().find_map(|test| api.batch(*test)).map_or("1".to_owned(), |batch| format!("`--batch`, {batch}"));
        vec![code(api.name()), cell(api.description()), carries(|test| api.carries(test)), batch, goes_with(*api)]
    };
    let needs = |api: &Api| vec![code(api.name()), api.needs().linux.to_owned(), api.needs().change.to_owned()];
    let receiving = |way: &Receive| vec![code(way.name()), cell(way.description()), carries(|test| way.carries(test))];
    let factor = |factor: &Factor| vec![code(factor.name()), factor.levels().to_owned()];
    let warning = |(kind, meaning, fields): &(&str, &str, &[(&str, &str)])| {
        let fields: Vec<String> = fields.iter().map(|(name, meaning)| format!("`{name}`: {}", cell(meaning))).collect();
        vec![code(kind), cell(meaning), fields.join("; ")]
    };
    let metric = |metric: &Metric| vec![code(metric.name()), cell(metric.meaning())];
    let (ways, format) = ("docs/ways.md", "docs/format.md");
    let table = |page, header, rows| Made { page, header, rows };
    vec![
        table(ways, "| `--api` | sends | carries | messages of a call | goes with |", Api::ALL.iter().map(sending).collect()),
        table(ways, "| `--api` | Linux | needs of a program that calls `send` |", Api::ALL.iter().map(needs).collect()),
        table(ways, "| `--receive` | receives | carries |", Receive::ALL.iter().map(receiving).collect()),
        table(format, "| factor | default | levels |", Factor::ALL.iter().map(factor).collect()),
        table(format, "| `kind` | meaning | further fields |", Warning::ROWS.iter().map(warning).collect()),
        table(format, "| metric | meaning |", Metric::ALL.iter().map(metric).collect()),
    ]
}

/// The first block of text in README.md is a report of the stored run `tests/data/docs/gso`, in a directory of the
/// run's own name.
pub fn the_readme_shows_a_stored_run() -> Result<(), Skip> {
    const START: &str = "```text\n";
    let (tool, stored) = (Tool::new(), data().join("docs/gso"));
    let run: serde_json::Value = serde_json::from_slice(&fs::read(stored.join("run.json")).unwrap()).unwrap();
    let name = format!("runs/{}", run["id"].as_str().unwrap());
    copy(&stored, &tool.path().join(&name));
    let report = tool.run(&["report", &name]).judged().stdout;
    let text = Page::read("README.md").text;
    let start = text.find(START).unwrap() + START.len();
    let length = text[start..].find("```").unwrap();
    if std::env::var_os(UPDATE).is_some() {
        fs::write(root().join("README.md"), [&text[..start], &report, &text[start + length..]].concat()).unwrap();
    } else {
        assert!(text[start..start + length] == report, "README.md: {UPDATE}=1 writes its report again:\n{report}");
    }
    Ok(())
}

/// The lines of all tables that are made from the program's rows: its text, not a page's.
pub fn made_lines() -> BTreeSet<String> {
    made().iter().flat_map(|table| table.lines().lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

pub fn the_tables_of_pages_are_those_of_the_program() -> Result<(), Skip> {
    for table in made() {
        let Page { text, .. } = Page::read(table.page);
        let start = text.find(table.header).unwrap_or_else(|| panic!("{} has no table {}", table.page, table.header));
        let length = text[start..].split_inclusive('\n').take_while(|line| line.starts_with('|')).map(str::len).sum::<usize>();
        let (held, made) = (&text[start..start + length], table.lines());
        if std::env::var_os(UPDATE).is_some() {
            fs::write(root().join(table.page), [&text[..start], &made, &text[start + length..]].concat()).unwrap();
        } else {
            let differs = held.lines().zip(made.lines()).find(|(held, made)| held != made);
            assert!(held == made, "{}: {UPDATE}=1 writes the table {} again; {differs:#?}", table.page, table.header);
        }
    }
    let waiting = Page::read("docs/ways.md").tables().into_iter().find(|table| table.heads[0] == "--waiting").unwrap();
    assert!(waiting.firsts.iter().map(String::as_str).collect::<BTreeSet<_>>() == Waiting::ALL.iter().map(|way| way.name()).collect());
    let count = format!("{} ways of sending and {} of receiving", Api::ALL.len(), Receive::ALL.len());
    assert!(Page::read("README.md").text.contains(&count), "README.md does not say: {count}");
    Ok(())
}
