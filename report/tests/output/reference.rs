//! Published studies in every form, compared with files in `snapshots`.

use literature::read::{csv, iperf3, netperf};
use literature::{DRAWS, Foreign, ReferenceAnalysis, Study, analyse, of_foreign, of_table};
use report::json::pretty as json;
use report::reference::{document, list, list_json};
use report::terminal::Style;
use unicode_width::UnicodeWidthStr;

fn terminal(analysis: &ReferenceAnalysis, style: Style) -> String {
    report::terminal::document(&document(analysis), style)
}

fn html(analysis: &ReferenceAnalysis, tool: &str) -> String {
    report::html::document(&document(analysis), tool)
}

const HEAD: &str = "table,host,distribution,kernel,implementation,message_bytes,test_s,sent_messages,received_messages\n";

fn study(study: Study) -> ReferenceAnalysis {
    analyse(study, DRAWS).unwrap()
}

/// Draws where the intervals do not matter.
const FEW: usize = 60;

fn few(study: Study) -> ReferenceAnalysis {
    analyse(study, FEW).unwrap()
}

/// A small table of somebody else, whose names want to be markup and escapes.
fn foreign() -> Foreign {
    let name = "<script>alert(1)</script>\u{1b}[31m & \"quoted\", a long name that goes on";
    let rows = [(1, 90_000), (64, 88_000), (1_024, 80_000), (16_384, 30_000)];
    let line = |(size, count): (u64, u64)| format!("9,h,d,k,\"{}\",{size},1,{count},{count}\n", name.replace('"', "\"\""));
    let text = format!("{HEAD}{}", rows.map(line).concat());
    Foreign::of_table("their <table>.csv", &csv::parse(&text).unwrap())
}

fn peers() -> Foreign {
    let udp = include_str!("../data/iperf3/udp.json");
    let tcp = include_str!("../data/iperf3/tcp.json");
    let mut found: Vec<_> = [udp, tcp].into_iter().flat_map(|text| iperf3::parse(text).unwrap()).collect();
    let keys = "THROUGHPUT=941.23\nTHROUGHPUT_UNITS=10^6bits/s\nPROTOCOL=UDP\nDIRECTION=Send\nLOCAL_SEND_SIZE=1024\n";
    found.extend(netperf::parse(keys).unwrap());
    Foreign::of_peer("peers", found)
}

fn all() -> Vec<(&'static str, ReferenceAnalysis)> {
    let mut next_to = few(Study::Bidulock2007);
    next_to.compare(&foreign(), FEW);
    let nothing = csv::parse("routine,message_bytes,seconds_per_10000_messages\nx,1,0\n").unwrap();
    vec![
        ("1984", few(Study::Cabrera1984)),
        ("1988", few(Study::Jacobson1988)),
        ("comparisons", next_to),
        ("peers", of_foreign(&peers(), FEW)),
        ("nothing", of_table("nothing.csv", &nothing, FEW)),
    ]
}

#[test]
fn text_of_each_study() {
    for one in Study::ALL {
        insta::assert_snapshot!(format!("reference_{}", one.name()), terminal(&study(one), Style::VERBOSE));
    }
    insta::assert_snapshot!("reference_list", report::terminal::document(&list(), Style::VERBOSE));
}

#[test]
fn text_of_what_is_compared() {
    let mut analysis = study(Study::Jacobson1988);
    let table =
        csv::parse("pair,socket_buffer_packets,task_kbytes_per_s,wire_mbits_per_s\nmine,1,400,3.5\nmine,2,600,5.3\nmine,4,800,7.1\n");
    analysis.compare(&Foreign::of_table("mine.csv", &table.unwrap()), DRAWS);
    analysis.compare(&foreign(), DRAWS);
    let text = terminal(&analysis, Style::VERBOSE);
    insta::assert_snapshot!("reference_next_buffers", &text[text.find("Next to it").unwrap()..]);
    let mut analysis = study(Study::Bidulock2007);
    analysis.compare(&foreign(), DRAWS);
    let text = terminal(&analysis, Style::VERBOSE);
    insta::assert_snapshot!("reference_next_sizes", &text[text.find("Next to it").unwrap()..]);
    insta::assert_snapshot!("reference_peers", terminal(&of_foreign(&peers(), DRAWS), Style::VERBOSE));
}

#[test]
fn no_line_is_wider_than_asked_and_nothing_steers_the_terminal() {
    for (name, analysis) in all() {
        for width in [0, 80, 97, 120] {
            for line in terminal(&analysis, Style { width, ..Style::VERBOSE }).lines() {
                assert!(line.width() <= width.max(80), "{name} at {width}: {line}");
                assert!(!line.contains('\u{1b}'), "{name}: an escape");
            }
        }
    }
}

#[test]
fn nothing_reads_nan_or_infinity() {
    for (name, analysis) in all() {
        let page = html(&analysis, "0.0.0");
        let start = page.find("<body>").unwrap();
        let end = page.find("</script><script>").unwrap_or(page.len());
        for text in [&terminal(&analysis, Style::VERBOSE), &json(&analysis), &page[start..page.find("<script>").unwrap_or(end)]] {
            let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| matches!(*word, "NaN" | "inf")).collect();
            assert!(words.is_empty(), "{name}: {words:?}");
        }
    }
}

#[test]
fn the_page_is_one_file_and_escapes_what_is_foreign() {
    for (name, analysis) in all() {
        let page = html(&analysis, "0.0.0");
        assert!(!page.contains("<script>alert"), "{name}");
        let markup = &page[page.find("<body>").unwrap()..page.find("<script type=\"application/gzip").unwrap()];
        for fetching in ["src=", "<link", "<iframe", "<img", "@import"] {
            assert!(!markup.contains(fetching), "{name}: {fetching}");
        }
        for statement in &analysis.statements {
            assert!(page.contains(&format!("{} · ", statement.id)), "{name}: {}", statement.id);
        }
        // Every place of a chart has its data, under a name of its own.
        let charts = crate::support::packed(&page, "chart-data");
        let ids: std::collections::BTreeSet<&str> = charts.as_array().unwrap().iter().map(|chart| chart["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), charts.as_array().unwrap().len());
        assert_eq!(page.matches("id=\"chart-").count(), ids.len() + 1, "{name}: a place each, and the data itself");
        ids.iter().for_each(|id| assert!(markup.contains(&format!("id=\"chart-{id}\"")), "{name}: {id}"));
    }
}

#[test]
fn the_four_charts_of_2007_are_there_for_each_kernel() {
    let page = html(&few(Study::Bidulock2007), "0.0.0");
    let charts = crate::support::packed(&page, "chart-data");
    let of = |kind: &str| charts.as_array().unwrap().iter().filter(|chart| chart["id"].as_str().unwrap().starts_with(kind)).count();
    assert_eq!(["messages", "delay", "throughput", "improvement"].map(of), [5; 4]);
    let points = |id: &str| -> Vec<usize> {
        let chart = charts.as_array().unwrap().iter().find(|chart| chart["id"] == id).unwrap();
        let measured = chart["traces"].as_array().unwrap().iter().filter(|trace| trace["model"] == false);
        measured.map(|trace| trace["y"].as_array().unwrap().len()).collect()
    };
    assert_eq!((points("messages-0"), points("improvement-0")), (vec![15; 3], vec![15; 2]));
}

#[test]
fn the_page_of_a_curve() {
    let page = html(&study(Study::Jacobson1988), "0.0.0");
    insta::assert_snapshot!("reference_page_1988", crate::support::body(&page));
}

#[test]
fn json_holds_every_statement() {
    for (name, analysis) in all() {
        let value: serde_json::Value = serde_json::from_str(&json(&analysis)).unwrap();
        assert_eq!(value["statements"].as_array().unwrap().len(), analysis.statements.len(), "{name}");
        assert_eq!(value["format"], 1);
    }
    let list: serde_json::Value = serde_json::from_str(&list_json()).unwrap();
    assert_eq!(list.as_array().unwrap().len(), Study::ALL.len());
}
