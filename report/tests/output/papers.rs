//! The papers in one document.

use literature::{ReferenceAnalysis, Study, analyse, years};
use report::papers::{Part, Runs, document, value};
use report::terminal::Style;

/// Draws where the intervals do not matter.
const FEW: usize = 60;

fn papers() -> Vec<ReferenceAnalysis> {
    Study::ALL.into_iter().map(|study| analyse(study, FEW).unwrap()).collect()
}

fn page(papers: &[ReferenceAnalysis]) -> String {
    report::html::document(&document(papers, &years::all().unwrap(), &Runs::default(), "0.0.0"))
}

/// A section of the page.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let start = page.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no section {id}"));
    &page[start..start + page[start..].find("</section>").unwrap()]
}

#[test]
fn every_figure_and_table_of_the_papers_has_its_counterpart() {
    let page = page(&papers());
    let rows = include_str!("../data/papers/figures.tsv");
    let mut count = 0;
    for row in rows.lines().skip(1) {
        let [paper, item, heading, chart] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let id = if paper == "years" { "years".to_owned() } else { format!("paper-{paper}") };
        let held = section(&page, &id);
        let start = held.find(&format!("<h3>{heading}")).unwrap_or_else(|| panic!("{item} of {paper} has no place"));
        if chart.is_empty() {
            let after = &held[start..];
            let piece = &after[..after.find("</article>").unwrap()];
            assert!(
                piece.contains("<table")
                    || piece.contains("drawing only")
                    || piece.contains("give them with --table")
                    || piece.contains("equal pairs only"),
                "{row}: {piece}"
            );
        } else {
            assert!(held.contains(&format!("id=\"chart-{chart}\"")), "{row}");
        }
        count += 1;
    }
    assert_eq!(count, 42);
}

#[test]
fn the_page_is_small_and_holds_every_claim() {
    let papers = papers();
    let page = page(&papers);
    assert!(page.len() <= 1_500_000, "{} bytes", page.len());
    let claims = section(&page, "claims");
    for statement in papers.iter().flat_map(|paper| &paper.statements) {
        assert!(claims.contains(&format!("{} · ", statement.id)), "{}", statement.id);
    }
    assert!(claims.contains("100 claims: 43 hold by their own tables, 17 do not, 28 cannot be decided, 12 need a table"), "{claims}");
    assert!(claims.contains("filtered") && page.contains("table.filtered"));
    for word in ["NaN", ">inf"] {
        assert!(!page[..page.find("<script").unwrap()].contains(word), "{word}");
    }
}

#[test]
fn a_terminal_has_a_screen_of_it_and_more_on_request() {
    let papers = papers();
    let document = document(&papers, &years::all().unwrap(), &Runs::default(), "");
    let text = report::terminal::document(&document, Style::PLAIN);
    assert!(text.lines().count() <= 23, "{} lines: {text}", text.lines().count());
    insta::assert_snapshot!("papers", text);
    let all = report::terminal::document(&document, Style::VERBOSE);
    assert!(all.lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= 80), "{all}");
    for word in ["Figure 17", "Table 5", "Throughput:", "does not hold"] {
        assert!(all.contains(word), "{word}");
    }
}

#[test]
fn what_was_measured_and_what_was_not_is_said() {
    let part = |name: &str, run: Option<&str>, lacks: Option<&str>| Part {
        name: name.to_owned(),
        year: 1984,
        command: format!("nettoll study {name} --blocks 6"),
        seconds: 9.0,
        run: run.map(str::to_owned),
        lacks: lacks.map(str::to_owned),
    };
    let parts = vec![
        part("host-load", Some("2026-01-02T03-04-05Z-papers-host-load-7f3a"), None),
        part("receipt", None, Some("perf events: EPERM; see `nettoll doctor`")),
        part("checksums", None, Some("perf events: EPERM; see `nettoll doctor`")),
        part("buffers", Some("2026-01-02T03-05-05Z-papers-buffers-7f3b"), Some("interrupted")),
    ];
    let runs = Runs {
        names: vec!["x".to_owned()],
        machine: Some("Linux 6.18 · 2 CPUs".to_owned()),
        unread: vec!["runs/y/run.json is damaged: expected value".to_owned()],
        parts,
        ..Runs::default()
    };
    let papers = papers();
    let document = document(&papers, &years::all().unwrap(), &runs, "");
    let text = report::terminal::document(&document, Style::PLAIN);
    assert!(text.lines().count() <= 23, "{text}");
    for words in [
        "Linux 6.18 · 2 CPUs",
        "Not measured",
        "receipt, checksums: perf events: EPERM; see `nettoll doctor`.",
        "buffers: interrupted.",
        "Not read",
        "runs/y/run.json is damaged: expected value.",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let page = report::html::document(&document);
    let held = section(&page, "parts");
    for words in ["nettoll study host-load --blocks 6", "papers-host-load-7f3a", "papers-buffers-7f3b"] {
        assert!(held.contains(words), "{words}: {held}");
    }
    assert_eq!(value(&papers, &[], &runs)["parts"][3]["lacks"], "interrupted");
}

#[test]
fn markdown_and_json_hold_it_as_well() {
    let papers = papers();
    let years = years::all().unwrap();
    let text = report::markdown::page(&document(&papers, &years, &Runs::default(), ""));
    for paper in &papers {
        assert!(text.contains(&format!("# {}", paper.title)), "{}", paper.title);
        paper.statements.iter().for_each(|one| assert!(text.contains(&one.id), "{}", one.id));
    }
    let value = value(&papers, &years, &Runs::default());
    let claims: usize = value["papers"].as_array().unwrap().iter().map(|paper| paper["statements"].as_array().unwrap().len()).sum();
    assert_eq!((value["format"].as_u64(), claims), (Some(1), 100));
    assert!((value["falls"]["message"]["factor"].as_f64().unwrap() - 437.7).abs() < 0.1);
}

#[test]
fn a_section_is_that_of_its_reference() {
    for paper in papers() {
        let alone = report::html::document(&report::reference::document(&paper, "0.0.0"));
        let id = format!("paper-{}", paper.name);
        let both = page(&[paper]);
        // The way to it has another name; all that it holds is the same.
        assert_eq!(section(&alone, &id), section(&both, &id));
    }
}
