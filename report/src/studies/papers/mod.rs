//! The papers in one document: all claims, one message from 1984 on, a section a paper.

mod parts;
mod years;

use literature::claims::evidence::Curve;
use literature::statement::{Ruling, Statement, counts};
use literature::years::Year;
use literature::{ReferenceAnalysis, Study};

pub use super::run::host as machine;

use super::reference::{claims, csv, figures, paper};
use crate::document::{Block, Document, Level, Masthead, Rows, Section, Span, Table, Text};
use crate::json;
use crate::words::plural;

pub use parts::{Part, dry_run, parts_json};

/// Runs of today that the papers are ruled by.
#[derive(Debug, Default)]
pub struct Runs {
    /// Their names.
    pub names: Vec<String>,
    /// The machine of the first, in words.
    pub machine: Option<String>,
    /// What they measured, each curve for the paper that it is next to.
    pub curves: Vec<(Study, Curve)>,
    /// What a message and a byte cost by them.
    pub costs: Vec<Year>,
    /// Runs that could not be read, each with the reason.
    pub unread: Vec<String>,
    /// The parts that were to be measured for this document.
    pub parts: Vec<Part>,
}

impl Runs {
    /// Curves next to a paper.
    fn of(&self, paper: &ReferenceAnalysis) -> Vec<Curve> {
        self.curves.iter().filter(|(study, _)| Some(*study) == paper.study).map(|(_, curve)| curve.clone()).collect()
    }
}

/// The papers, the costs by year, and runs of today if there are any.
pub fn document(papers: &[ReferenceAnalysis], years: &[Year], runs: &Runs) -> Document {
    // A terminal has room for one answer: rulings of today, where there are any.
    let message = if runs.names.is_empty() { years::section(years) } else { usual(years::section(years)) };
    let today: Vec<Vec<Curve>> = papers.iter().map(|one| runs.of(one)).collect();
    let mut sections = vec![head(papers, &today, runs), message];
    let measured = !runs.names.is_empty();
    let of_paper = |(one, curves): (&ReferenceAnalysis, &Vec<Curve>)| usual(paper(one, measured.then_some(curves)).led(&year(one)));
    sections.extend(papers.iter().zip(&today).map(of_paper));
    sections.extend(parts::section(&runs.parts));
    sections.push(usual(methods(papers, &runs.names)));
    let (heading, line) = match runs.names.as_slice() {
        [] => ("Five studies of the network stack, by their own tables", "The papers alone: nothing is measured.".to_owned()),
        names if runs.parts.is_empty() => {
            ("Five studies of the network stack, then and now", format!("Today: {}.", plural(names.len() as u64, "stored run")))
        }
        names => {
            ("Five studies of the network stack, then and now", format!("Today: {} measured for it.", plural(names.len() as u64, "run")))
        }
    };
    let lines = [format!("{line} Rulings are nettoll's, by the rule that stands with each.")].into_iter().chain(runs.machine.clone());
    let data = vec![("analysis", json::rounded(&value(papers, years, runs), DIGITS)), ("csv", json::compact(&tables(papers)))];
    Document { data, ..Document::of(Masthead::of("papers", heading, lines), sections) }
}

/// Digits of what the page holds; `-J` has all.
const DIGITS: usize = 6;

/// The same as a value for JSON.
pub fn value(papers: &[ReferenceAnalysis], years: &[Year], runs: &Runs) -> serde_json::Value {
    let [message, byte] = literature::years::falls(years);
    serde_json::json!({
        "format": literature::REFERENCE_FORMAT,
        "papers": papers,
        "years": years,
        "falls": { "message": message, "byte": byte },
        "runs": runs.names,
        "unread": runs.unread,
        "parts": runs.parts,
    })
}

/// Every table of the papers as CSV, one below the other, with one line of columns.
fn tables(papers: &[ReferenceAnalysis]) -> String {
    let mut all = String::new();
    for (place, one) in papers.iter().enumerate() {
        let text = csv::render(one);
        all.push_str(if place == 0 { &text } else { text.split_once('\n').map_or("", |(_, rows)| rows) });
    }
    all
}

/// Blocks that a terminal prints when it is asked for more.
fn usual(section: Section) -> Section {
    Section { blocks: vec![Block::usual(section.blocks)], ..section }
}

fn year(one: &ReferenceAnalysis) -> String {
    one.study.map_or_else(|| one.name.clone(), |study| study.year().to_string())
}

/// Counts, ways to every figure, and the table of all claims.
fn head(papers: &[ReferenceAnalysis], today: &[Vec<Curve>], runs: &Runs) -> Section {
    let all: Vec<&Statement> = papers.iter().flat_map(|one| &one.statements).collect();
    let group =
        |one: &'_ ReferenceAnalysis| Text(vec![Span::Link(format!("paper-{}", one.name).into(), format!("{}: {}", year(one), one.title))]);
    let groups: Vec<(Text, Vec<&Statement>)> = papers.iter().map(|one| (group(one), one.statements.iter().collect())).collect();
    let of_paper: Vec<_> = papers.iter().map(figures::places).collect();
    let places = |one: &Statement| of_paper.iter().find_map(|places| places(one));
    let tallies = [Some(claims::tally(all.iter().copied())), claims::tally_today(all.iter().copied())];
    let lead = tallies.into_iter().flatten().map(|tally| format!("{tally}.")).collect::<Vec<_>>().join(" ");
    let table = claims::table(&groups, &places).styled("every claims filtered");
    let table = Block::folded("Every claim, with its ruling, its figures and its rule", [table.into()]);
    let gaps = parts::not_measured(&runs.parts).into_iter().chain(unread(&runs.unread));
    let words = (!runs.names.is_empty()).then(|| Block::usual([Block::Aside(STANDINGS.into())]));
    let blocks = [Block::Lead(lead.into()), contents(papers, today, runs), by_paper(papers).into()];
    Section::new("claims", "Claims", blocks.into_iter().chain(words).chain(gaps).chain(table))
}

/// Rulings of today that do not explain themselves.
const STANDINGS: &str = "Today: a claim holds no longer where the paper's own table bears it out and today's whole interval does not; it does not hold \
where that table refutes it as well or decides nothing. Compared: two numbers, of which neither refutes the other. Not shown: the interval of today \
leaves it open.";

/// Colours and dashes of all charts.
const COLOURS: &str = "In every chart, then is grey, dashed and hollow, and today is solid and in colour. One chart alone, of costs by year, \
joins both.";

/// Ways to every section, and to every figure by its name in its paper.
fn contents(papers: &[ReferenceAnalysis], today: &[Vec<Curve>], runs: &Runs) -> Block {
    let link = |place: String, words: &str| Span::Link(place.into(), words.to_owned());
    let measured = !runs.names.is_empty();
    let of_paper = |(one, curves): (&ReferenceAnalysis, &Vec<Curve>)| {
        let start = Text(vec![link(format!("paper-{}", one.name), &year(one)), Span::Plain(": ".to_owned())]);
        figures::listed(one, curves).into_iter().enumerate().fold(start, |text, (at, entry)| {
            let text = if at > 0 { text.and(Span::Plain(", ".to_owned())) } else { text };
            let text = text.and(link(entry.place, &entry.name));
            if measured && !entry.has_today { text.and(Span::Faint(" (then only)".to_owned())) } else { text }
        })
    };
    let parts = (!runs.parts.is_empty()).then_some(("parts", "Parts and their commands"));
    let rest = [("years", "One message from 1984 on")].into_iter().chain(parts).chain([("methods", "Methods and sources")]);
    let all = papers.iter().zip(today).map(of_paper).chain(rest.map(|(place, words)| Text(vec![link(place.to_owned(), words)])));
    // A terminal has no places to go to.
    let colours = measured.then(|| Block::Paragraph(Text(vec![Span::Strong(COLOURS.to_owned())])));
    let all = [Block::Heading("Contents".into())].into_iter().chain(colours).chain(Block::sentences(all)).collect();
    Block::At(Level::Everything, String::new(), all)
}

/// Runs that could not be read: part of the answer.
fn unread(reasons: &[String]) -> Option<Block> {
    let sentence = |reason: &String| format!("{}.", reason.trim_end_matches('.'));
    Block::sentences(reasons.iter().map(sentence)).map(|block| Block::piece("Not read", [block]))
}

/// Counts of rulings, a row a paper.
fn by_paper(papers: &[ReferenceAnalysis]) -> Table {
    let mut rows = Rows::of(papers).words("Paper", |one| one.name.as_str()).figures("Claims", |one| one.statements.len().to_string());
    for ruling in Ruling::ALL {
        let count = move |one: &ReferenceAnalysis| {
            counts(&one.statements).into_iter().find(|(known, _)| *known == ruling).map_or(0, |known| known.1)
        };
        rows = rows.figures(ruling.words(), move |one| count(one).to_string());
    }
    rows.table()
}

/// Sources, rules and how to see the same again.
fn methods(papers: &[ReferenceAnalysis], runs: &[String]) -> Section {
    let sources = papers.iter().map(|one| (year(one), format!("{}. `nettoll reference {}`", one.source, one.name)));
    let rules = "A claim is a row of reference/claims.csv: a rule and its operands. Tables that `--table` gives are ruled by the same rows. Figures that the papers \
                 draw without numbers are not traced: their stated figures are marked.";
    let today = (!runs.is_empty()).then(|| Block::Paragraph(format!("Runs of today: {}.", runs.join(", ")).into()));
    Section::new("methods", "Methods and sources", [Block::Paragraph(rules.into()), Block::facts(sources)].into_iter().chain(today))
}
