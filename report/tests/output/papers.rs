//! The papers in one document.

use literature::claims::evidence::{Curve, Evidence, Figure as Point};
use literature::sweep::{Series, SizePoint};
use literature::years::Year;
use literature::{Foreign, ReferenceAnalysis, Study, analyse, years};
use report::papers::{Part, Runs, document, value};
use report::terminal::Style;

/// Draws where the intervals do not matter.
const FEW: usize = 60;

fn papers() -> Vec<ReferenceAnalysis> {
    Study::ALL.into_iter().map(|study| analyse(study, FEW).unwrap()).collect()
}

fn page(papers: &[ReferenceAnalysis]) -> String {
    report::html::document(&document(papers, &years::all().unwrap(), &Runs::default()), "0.0.0")
}

/// Curves of today of each kind that is drawn, as runs give them.
fn today() -> Runs {
    let curve = |quantity: &'static str, name: &str, group: &str, labels: &[&str], points: &[(f64, f64)]| Curve {
        quantity,
        name: name.to_owned(),
        group: group.to_owned(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        points: points.iter().map(|(at, value)| (*at, Point::within(*value, [value * 0.9, value * 1.1]))).collect(),
        given: false,
    };
    let mut curves = Vec::new();
    for protocol in ["tcp", "udp"] {
        curves.push((Study::Cabrera1984, curve("rate", protocol, "a", &[protocol, "one-link"], &[(1.0, 1e6), (1_460.0, 9e6)])));
        curves.push((Study::Cabrera1984, curve("time", protocol, "a", &[protocol, "one-link"], &[(1.0, 0.01), (1_460.0, 1.2)])));
        curves.push((Study::Kay1993, curve("kind", "checksum", protocol, &["checksum", protocol], &[(1.0, 10.0), (1_448.0, 90.0)])));
    }
    for (end, protocol) in [("sender", "tcp"), ("receiver", "tcp"), ("receiver", "udp"), ("both", "tcp"), ("ether", "tcp")] {
        for (bytes, left, sent) in [("1", 0.5, 0.97), ("1024", 0.6, 0.98)] {
            let of = |quantity, left: f64| curve(quantity, bytes, "a", &[end, protocol, bytes], &[(1.0, left), (3.0, left / 2.0)]);
            curves.extend([("left", left), ("sent-left", sent)].map(|(quantity, left)| (Study::Cabrera1984, of(quantity, left))));
        }
    }
    curves.push((Study::Cabrera1984, curve("trips-left", "TCP_RR 1", "a", &["sender", "tcp", "1"], &[(1.0, 0.8), (2.0, 0.6)])));
    for name in ["UDP_STREAM (sndbuf=131071)", "UDP_STREAM (tpi-streams, sndbuf=131071)"] {
        let points = [(1.0, 2e5), (64.0, 2e5), (16_384.0, 1e5)];
        curves.push((Study::Bidulock2007, curve("messages-per-s", name, "a", &["udp", "loopback"], &points)));
    }
    for (phase, stack) in [("send", "TCP"), ("send", "socket"), ("receive", "TCP")] {
        curves.push((Study::Kim1997, curve("layer-ns", stack, phase, &[phase, stack, "tcp"], &[(1.0, 100.0), (1_440.0, 200.0)])));
    }
    for sender in 1..=3 {
        let points = [1.0, 2.0, 3.0].map(|receiver| (receiver, 100.0 * f64::from(sender) * receiver));
        curves.push((
            Study::Jacobson1988,
            curve("by-receiver", &format!("sender's buffer {sender}"), "TCP_STREAM over relay 100M", &[&sender.to_string()], &points),
        ));
    }
    Runs { names: vec!["2026-01-02T03-04-05Z-papers-cabrera1984-7f3a".to_owned()], curves, ..Runs::default() }
}

/// Two runs of today that repeat papers: rates by size, and by socket buffer.
fn compared() -> Vec<ReferenceAnalysis> {
    let mut papers = papers();
    let points = |rate: f64| [1_u64, 64, 1_024].map(|bytes| SizePoint { bytes, messages_per_s: rate, sent_per_s: None }).to_vec();
    let series = |name: &str, implementation: &str, rate| Series {
        group: "today, bidulock2007".to_owned(),
        name: name.to_owned(),
        implementation: Some(implementation.to_owned()),
        tcp: false,
        transactions: false,
        link: Some("loopback".to_owned()),
        points: points(rate),
    };
    let run = |series, buffers| Foreign { label: "2026-01-02T03-04-05Z-papers-x-7f3a".to_owned(), series, buffers, remarks: Vec::new() };
    let two = vec![series("UDP_STREAM", "sockets", 1e5), series("UDP_STREAM (tpi-streams)", "streams-tpi", 2e5)];
    let rates = [2.0, 4.0, 8.0].map(|packets| (packets, 100.0 * packets, None)).to_vec();
    papers.iter_mut().find(|one| one.study == Some(Study::Bidulock2007)).unwrap().compare(&run(two, Vec::new()), FEW);
    let buffers = vec![("today, TCP_STREAM".to_owned(), rates)];
    papers.iter_mut().find(|one| one.study == Some(Study::Jacobson1988)).unwrap().compare(&run(Vec::new(), buffers), FEW);
    papers
}

fn page_of_today() -> String {
    let (mut papers, runs) = (compared(), today());
    for paper in &mut papers {
        let curves = runs.curves.iter().filter(|(study, _)| Some(*study) == paper.study).map(|(_, curve)| curve.clone());
        paper.rule_today(&Evidence { curves: curves.collect() }).unwrap();
    }
    report::html::document(&document(&papers, &years::all().unwrap(), &runs), "0.0.0")
}

#[test]
fn every_figure_is_two_links_away() {
    let page = page_of_today();
    let claims = section(&page, "claims");
    let contents = &claims[claims.find("Contents").unwrap()..claims.find("<table class=\"every claims").unwrap()];
    let mut before = 0;
    for [paper, item, heading, _] in listed().filter(|[paper, ..]| *paper != "years") {
        // `1984, Figure 4: ...`, and of 2007 `2007, Figures 4 to 7, Table 1: porky, ...`, whose machine the contents have.
        let (name, shows) = heading.split_once(", ").unwrap().1.split_once(':').unwrap();
        let name = if paper == "bidulock2007" { format!("{name} ({})", shows.trim()) } else { name.to_owned() };
        let line = contents.find(&format!("href=\"#paper-{paper}\"")).unwrap_or_else(|| panic!("no {paper}: {contents}"));
        let link = format!("\">{name}</a>");
        let start = line + contents[line..].find(&link).unwrap_or_else(|| panic!("no way to {item} of {paper}: {contents}"));
        assert!(start >= before, "{item} of {paper} is not in the paper's order");
        before = start;
        let place = contents[..start].rsplit_once("href=\"#").unwrap().1;
        assert_eq!(page.matches(&format!("id=\"{place}\"")).count(), 1, "{place}");
        let reached = &page[page.find(&format!("id=\"{place}\"")).unwrap()..];
        assert!(page[..page.len() - reached.len()].rsplit_once("<h3>").unwrap().1.starts_with(heading), "{heading}");
    }
    assert!(contents.contains("then is grey, dashed and hollow, and today is solid and in colour"), "{contents}");
    // Every way of the page leads somewhere, and from each claim that has a figure there is one.
    let body = &page[..page.find("<script").unwrap()];
    for place in body.split("href=\"#").skip(1).map(|rest| rest.split_once('"').unwrap().0) {
        assert!(body.contains(&format!("id=\"{place}\"")) || place == "summary", "{place}");
    }
    let row = |id: &str| &claims[claims.find(&format!("{id} · ")).unwrap()..][..200];
    assert!(row("c84-14").contains("href=\"#of-1984-figure-4\">Figure 4</a>"), "{}", row("c84-14"));
    assert!(claims.contains("<th colspan=\"7\" scope=\"rowgroup\"><a href=\"#paper-kay1993\">1993: "));
    // Counts and ways stand first: the claims are folded.
    assert!(claims.find("<details").unwrap() < claims.find("<table class=\"every claims").unwrap());
    assert!(claims.contains("a claim holds no longer where"), "the words of the rulings are explained");
}

/// Figures and tables of the papers, in their order: paper, item, heading, chart of then.
fn listed() -> impl Iterator<Item = [&'static str; 4]> {
    let rows = include_str!("../data/papers/figures.tsv").lines().skip(1);
    rows.map(|row| row.split('\t').collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("{row}")))
}

#[test]
fn a_figure_without_a_counterpart_of_today_says_why_and_how_to_measure_it() {
    let page = page_of_today();
    let charts = crate::support::packed(&page, "chart-data");
    let shows_today = |chart: &serde_json::Value| {
        let traces = chart["traces"].as_array().unwrap();
        traces.iter().any(|trace| trace["stacked"] == true || trace["name"].as_str().unwrap().starts_with("today"))
    };
    let mut without = Vec::new();
    for [paper, item, heading, _] in listed().filter(|[paper, ..]| *paper != "years") {
        let held = section(&page, &format!("paper-{paper}"));
        let piece = &held[held.find(&format!("<h3>{heading}")).unwrap_or_else(|| panic!("{item} of {paper}"))..];
        let piece = &piece[..piece.find("</article>").unwrap()];
        let ids = piece.split("id=\"chart-").skip(1).map(|rest| rest.split_once('"').unwrap().0);
        let drawn = ids.filter(|id| charts.as_array().unwrap().iter().any(|chart| chart["id"] == *id && shows_today(chart))).count();
        let said = piece.contains("<p>Today: ") && (piece.contains("`nettoll ") || piece.contains("the same charts as at <a href"));
        let tabled =
            [">Today: times", ">Today: each", ">Today: a workload", "today, TCP_STREAM", ", today<"].iter().any(|of| piece.contains(of));
        assert!(said != (drawn > 0 || tabled), "{item} of {paper}: {piece}");
        let link = format!("#of-{}-{}\"", &heading[..4], heading[6..].split(':').next().unwrap().to_lowercase().replace([' ', ','], "-"));
        let marked = page[page.find(&link).unwrap_or_else(|| panic!("{link}"))..]
            .split_once("</a>")
            .unwrap()
            .1
            .starts_with("<span class=\"faint\"> (then only)");
        let elsewhere = piece.contains("the same charts as at");
        assert_eq!(marked, said && !elsewhere, "{item} of {paper} in the contents");
        without.extend(said.then_some(item));
    }
    // No kernel of today has the routines of 1984; figures 20 to 23 are drawings, of a table that was never published.
    for item in ["Table 5", "Table 8", "Figure 22"] {
        assert!(without.contains(&item), "{without:?}");
    }
    for item in ["Figure 11", "Figure 14", "Table 4"] {
        assert!(!without.contains(&item), "{without:?}");
    }
    // The papers alone have nothing of today to miss.
    assert!(!self::page(&papers()).contains("<p>Today: "));
}

/// 1984 drew what the sender sends: what arrives today has a chart of its own.
#[test]
fn a_chart_next_to_a_figure_shows_the_quantity_of_the_figure() {
    let page = page_of_today();
    let charts = crate::support::packed(&page, "chart-data");
    let heights = |id: &str| {
        let chart = charts.as_array().unwrap().iter().find(|chart| chart["id"] == id).unwrap_or_else(|| panic!("no chart {id}"));
        (chart["title"].as_str().unwrap().to_owned(), chart["traces"][0]["y"].clone())
    };
    let (title, sent) = heights("f1984-14-today");
    assert!(title.contains("at its sender") && sent == serde_json::json!([0.97, 0.98]), "{title} {sent}");
    let (title, received) = heights("f1984-14-received-today");
    assert!(title.starts_with("Not in 1984") && received == serde_json::json!([0.5, 0.6]), "{title} {received}");
    // Times are over those without load, as table 3 has them.
    let (_, times) = heights("f1984-11-today");
    assert!((times[0].as_f64().unwrap() - 2.0).abs() < 1e-6, "{times}");
}

#[test]
fn every_curve_says_of_when_it_is() {
    let page = page_of_today();
    let charts = crate::support::packed(&page, "chart-data");
    let of = |id: &str| charts.as_array().unwrap().iter().find(|chart| chart["id"] == id).unwrap_or_else(|| panic!("no chart {id}"));
    for chart in charts.as_array().unwrap().iter().filter(|chart| !chart["id"].as_str().unwrap().starts_with("years")) {
        for trace in chart["traces"].as_array().unwrap().iter().filter(|trace| trace["stacked"].as_bool() != Some(true)) {
            let name = trace["name"].as_str().unwrap();
            assert!(name.starts_with("then, ") || name.starts_with("today, "), "{}: {name}", chart["id"]);
            // Then is hollow, and today is not.
            assert_eq!(trace["hollow"] == true, name.starts_with("then, "), "{}: {trace}", chart["id"]);
        }
        let hollow = chart["traces"].as_array().unwrap().iter().any(|trace| trace["hollow"] == true);
        let said = chart["caption"].as_str().unwrap().contains("Hollow");
        assert!(hollow || !said, "{}: no mark is hollow", chart["id"]);
        assert!(!chart["title"].as_str().unwrap().contains("2026-01-02T"), "{}", chart["title"]);
    }
    assert!(of("messages-5")["title"].as_str().unwrap().contains("today, bidulock2007"), "{}", of("messages-5")["title"]);
    // The longest time is not the best.
    assert_eq!(of("f1984-6")["panels"][0]["title"], "share of its own longest");
    assert_eq!(of("f1984-4")["panels"][0]["title"], "share of its own best");
    // The paper's unit, and a line of today with its name.
    let task = of("f1988-task");
    assert_eq!(task["panels"][0]["title"], "throughput, KB/s");
    assert_eq!(task["traces"].as_array().unwrap().iter().find(|trace| trace["name"] == "today, TCP_STREAM").unwrap()["y"][2], 800.0);
    for name in ["today, TCP_STREAM", "then, limit"] {
        assert!(page.contains(&format!(">{name}</text>")), "{name} is no name at a line");
    }
    let sizes = of("f1997-send")["caption"].as_str().unwrap();
    assert!(sizes.contains("at 1 and 1,440 B"), "{sizes}");
    // Heights of shares begin at 0, as in the paper.
    let chart = &page[page.find("id=\"chart-f1984-17-today\"").unwrap()..];
    assert!(chart[..chart.find("</svg>").unwrap()].contains(">0 %</text>"), "{}", &chart[..4_000]);
    assert!(section(&page, "paper-jacobson1988").contains("receiver's 3"), "the map of pairs is there");
}

/// A stroke of a line within a year would join stacks that have nothing in common.
#[test]
fn a_year_has_one_point_on_a_line() {
    let mut all = years::all().unwrap();
    let last = all.iter().rfind(|one| one.udp_sockets).unwrap().clone();
    for (stack, link) in [("UDP_STREAM", "loopback"), ("UDP_STREAM (sendto)", "loopback"), ("UDP_STREAM", "veth")] {
        all.push(Year { year: 2026, stack: format!("Linux 6.18 {stack}"), link: link.to_owned(), ..last.clone() });
    }
    let text = report::html::document(&document(&papers(), &all, &Runs::default()), "0.1.0");
    let charts = crate::support::packed(&text, "chart-data");
    let chart = charts.as_array().unwrap().iter().find(|chart| chart["id"] == "years").unwrap();
    for trace in chart["traces"].as_array().unwrap().iter().filter(|trace| trace["apart"] != true) {
        let mut years: Vec<u64> = trace["x"].as_array().unwrap().iter().map(|year| year.as_f64().unwrap() as u64).collect();
        let count = years.len();
        years.dedup();
        assert_eq!(years.len(), count, "{trace}");
    }
    let line = chart["traces"].as_array().unwrap().iter().find(|trace| trace["name"] == "UDP over sockets").unwrap();
    assert_eq!(line["x"], serde_json::json!([1984.0, 2007.0, 2026.0]));
    let document = document(&papers(), &all, &Runs::default());
    let text = report::terminal::document(&document, Style::VERBOSE).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("by 2026 Linux 6.18 UDP_STREAM over loopback") && text.contains("than by 1984 4.2BSD UDP over 10 Mbit Ethernet"),
        "{text}"
    );
}

/// A section of the page.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let start = page.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no section {id}"));
    &page[start..start + page[start..].find("</section>").unwrap()]
}

#[test]
fn every_figure_and_table_of_the_papers_has_its_counterpart() {
    let page = page(&papers());
    let mut count = 0;
    for row in listed() {
        let [paper, item, heading, chart] = row;
        let id = if paper == "years" { "years".to_owned() } else { format!("paper-{paper}") };
        let held = section(&page, &id);
        let start = held.find(&format!("<h3>{heading}")).unwrap_or_else(|| panic!("{item} of {paper} has no place"));
        if chart.is_empty() {
            let after = &held[start..];
            let piece = &after[..after.find("</article>").unwrap()];
            assert!(
                piece.contains("<table")
                    || piece.contains("drawing only")
                    || piece.contains("drawings only")
                    || piece.contains("--table")
                    || piece.contains("equal pairs only"),
                "{row:?}: {piece}"
            );
        } else {
            assert!(held.contains(&format!("id=\"chart-{chart}\"")), "{row:?}");
        }
        count += 1;
    }
    assert_eq!(count, 81);
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
    let document = document(&papers, &years::all().unwrap(), &Runs::default());
    let text = report::terminal::document(&document, Style::PLAIN);
    assert!(text.lines().count() <= 23, "{} lines: {text}", text.lines().count());
    insta::assert_snapshot!("papers", text);
    let all = report::terminal::document(&document, Style::VERBOSE);
    assert!(all.lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= 80), "{all}");
    for word in ["1984, Figure 17:", "1984, Table 5:", "2007, Figures 20 to 23: porky, Ubuntu 7.04", "does not hold"] {
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
    let document = document(&papers, &years::all().unwrap(), &runs);
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
    let page = report::html::document(&document, "0.1.0");
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
    let text = report::markdown::page(&document(&papers, &years, &Runs::default()));
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
        let alone = report::html::document(&report::reference::document(&paper), "0.0.0");
        let id = format!("paper-{}", paper.name);
        let both = page(&[paper]);
        // The way to it has another name; all that it holds is the same.
        assert_eq!(section(&alone, &id), section(&both, &id));
    }
}
