//! What every output promises whatever the run was.

use crate::support::{self, HOSTILE, empty, hostile, sample, spoilt, without_scripts};
use analysis::result::Analysis;
use model::Warning;
use model::check::{Area, Check, Need};
use report::terminal::Style;
use unicode_width::UnicodeWidthStr;

fn runs() -> [(&'static str, Analysis); 4] {
    [("sample", sample()), ("hostile", hostile()), ("spoilt", spoilt()), ("empty", empty())]
}

#[test]
fn no_line_of_the_terminal_is_wider_than_asked() {
    for (name, analysis) in runs() {
        for width in [0, 40, 57, 80, 81, 97, 120, 200] {
            let text = report::terminal::render(&analysis, Style { width, ..Style::VERBOSE });
            for line in text.lines() {
                assert!(line.width() <= width.max(40), "{name} at {width}: {line}");
                assert!(!line.contains('\u{1b}'), "{name}: an escape");
            }
        }
    }
}

#[test]
fn the_main_figures_fit_80_columns() {
    let text = report::terminal::render(&sample(), Style::VERBOSE);
    for head in ["messages/s", "bit/s", "time", "sender", "receiver", "loss", "limit", "p50", "p90", "p99", "p99.9"] {
        assert!(text.split_whitespace().any(|word| word == head), "no column {head}");
    }
}

#[test]
fn colour_adds_nothing_but_escapes() {
    let plain = report::terminal::render(&sample(), Style::VERBOSE);
    let mut colour = report::terminal::render(&sample(), Style { colour: true, ..Style::VERBOSE });
    assert_ne!(plain, colour);
    while let Some(start) = colour.find('\u{1b}') {
        let end = start + colour[start..].find('m').unwrap() + 1;
        colour.replace_range(start..end, "");
    }
    assert_eq!(plain, colour);
}

#[test]
fn nothing_reads_nan_or_infinity() {
    for (name, analysis) in runs() {
        let page = report::html::render(&analysis);
        let texts = [
            report::terminal::render(&analysis, Style::VERBOSE),
            report::csv::render(&analysis),
            report::json::render(&analysis),
            without_scripts(&page),
        ];
        for text in texts {
            for word in ["NaN", "nan%", "Infinity", " inf", "±inf", ",inf"] {
                assert!(!text.contains(word), "{name}: {word}");
            }
        }
    }
}

#[test]
fn hostile_text_stays_text() {
    let page = report::html::render(&hostile());
    assert!(!page.contains(HOSTILE) && !page.contains("<img") && !page.contains("<script>alert"));
    // Three of data, and ours: each opened and closed once.
    assert_eq!(page.matches("<script").count(), 4);
    assert_eq!(page.matches("</script").count(), 4);
    assert_eq!(page.matches("<!--").count(), 0);
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)"), "it is shown");
}

#[test]
fn the_page_asks_nobody_for_anything() {
    for (name, analysis) in runs() {
        let page = without_scripts(&report::html::render(&analysis));
        for address in ["src=\"", "href=\"http", "url(", "@import", "//cdn", "http://", "https://"] {
            assert!(!page.contains(address), "{name}: {address}");
        }
        assert!(page.contains("default-src 'none'"));
    }
}

#[test]
fn data_can_be_taken_out_of_the_page_again() {
    let page = report::html::render(&sample());
    let data = |id: &str| support::packed(&page, id);
    assert_eq!(data("analysis"), serde_json::from_str::<serde_json::Value>(&report::json::render(&sample())).unwrap());
    assert_eq!(data("csv"), report::csv::render(&sample()));
    assert_eq!(data("chart-data").as_array().unwrap().len(), 10);
}

#[test]
fn known_sizes_are_marked_on_the_axis() {
    let page = report::html::render(&sample());
    assert!(page.contains("MSS: a frame carries 1,448 B of TCP payload at most") && page.contains("a page of memory"));
    assert!(page.contains("MTU: a frame carries 1,472 B of UDP payload at most"));
}

/// The sample has every cell of `quick`, and more.
#[test]
fn a_page_of_quick_is_light() {
    let page = report::html::render(&sample());
    assert!(page.len() <= 900_000, "{} bytes", page.len());
}

#[test]
fn charts_are_read_without_a_script() {
    let page = report::html::render(&sample());
    let body = &without_scripts(&page)[page.find("<body>").unwrap()..];
    // Eight charts over sizes have a logarithmic and a linear axis, those of round trips and of trials one; each has
    // another shape for narrow screens.
    assert_eq!(body.matches("<svg class=\"chart").count(), 8 * 2 + 2 + 10);
    assert!(body.contains("data-name=\"UDP_STREAM\"") && body.contains("<title>1,472 B\n"), "figures of a mark");
    assert_eq!(page, report::html::render(&sample()), "the same each time");
}

#[test]
fn json_is_valid_whatever_the_run_was() {
    for (_, analysis) in runs() {
        let value: serde_json::Value = serde_json::from_str(&report::json::render(&analysis)).unwrap();
        assert_eq!(value["format"], 1);
    }
}

#[test]
fn csv_has_the_same_columns_in_every_row() {
    for (name, analysis) in runs() {
        let text = report::csv::render(&analysis);
        let mut table = csv::Reader::from_reader(text.as_bytes());
        let rows: Vec<csv::StringRecord> = table.records().map(|row| row.expect(name)).collect();
        let figures: usize =
            analysis.cells.iter().map(|cell| cell.metrics.len() + cell.latency.as_ref().map_or(0, |l| l.percentiles.len() + 3)).sum();
        assert_eq!(rows.len(), figures, "{name}");
    }
}

#[test]
fn every_warning_and_its_remedy_is_in_every_answer() {
    let analysis = sample();
    let page = report::html::render(&analysis);
    let terminal = report::terminal::render(&analysis, Style { width: 400, ..Style::VERBOSE });
    // The terminal breaks lines; words in their order are what counts.
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for finding in &analysis.findings {
        assert!(flat(&terminal).contains(&flat(&finding.remedy)), "{}", finding.remedy);
        assert!(page.contains(&finding.remedy), "{}", finding.remedy);
    }
}

#[test]
fn a_check_says_more_than_a_mark() {
    let checks = [Check::absent(Area::Bpf, "BTF", Need::Required, "open /sys/kernel/btf/vmlinux: ENOENT", "Rebuild the kernel.")];
    let text = report::terminal::document(&report::doctor::document(&checks), Style::VERBOSE);
    assert!(text.contains("MISSING") && text.contains("→ Rebuild the kernel.") && text.starts_with("Nothing can be measured"));
}

/// What a terminal is kept from, a page and a picture are kept from as well.
#[test]
fn nothing_in_a_page_steers() {
    let steers = |c: char| {
        c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut analysis = hostile();
    analysis.run.plan.title = "admin\u{202e}nimda\u{9b}".to_owned();
    analysis.findings[0].text = "a\u{2066}b".to_owned();
    let page = report::html::render(&analysis);
    assert_eq!(page.matches(steers).collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(page.contains("admin\\u{202e}nimda\\u{9b}") && page.contains("\\u{1b}[31m"));
    // Escaped in JSON they would come back.
    for escaped in ["\\u001b", "\\u202e", "\\u2066", "\\u009b"] {
        assert!(!page.contains(escaped), "{escaped}");
    }
}

#[test]
fn lines_that_cannot_be_read_say_why_in_the_first_line() {
    let mut analysis = sample();
    let finding = &mut analysis.findings[0];
    finding.warning = Warning::BadLine { line: 1, reason: "not UTF-8 from byte 11".to_owned() };
    finding.text = "2 lines of trials.jsonl cannot be read (1, 2); the first: not UTF-8 from byte 11".to_owned();
    let text = report::terminal::render(&analysis, Style { width: 400, ..Style::default() });
    assert!(text.contains("cannot be read (1, 2); the first: not UTF-8 from byte 11"), "{text}");
}

/// A spreadsheet takes a field that begins so for a formula.
#[test]
fn no_field_of_an_attached_run_is_a_formula() {
    let text = |start: &str, more: &str| format!("{{{start}{more}}}");
    let head = r#""format":1,"id":"=1+1","started_ms":0,"tool":"0","status":"blocks_done","target":"pid 1","program":"@x","requests":"sends","window":1,"period":1,"seed":1,"kernel":"","cpus":1,"arms":["+a","-b"]"#;
    let run = serde_json::from_str(&text(head, "")).unwrap();
    let window = r#""format":1,"look":"clean","requests":7,"window":{"start":1,"end":9},"clocks":{"cpu":5,"processes":1,"threads":1,"voluntary":2,"involuntary":0,"run_delay":3}"#;
    let windows: Vec<_> =
        (0..24).map(|block| serde_json::from_str(&text(window, &format!(r#","block":{block},"arm":{}"#, block % 2))).unwrap()).collect();
    let attached = analysis::attached::analyse(run, &windows, 0, &attribution::Rules::builtin().unwrap());
    let table = report::attached::csv(&attached);
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert!(!rows.is_empty(), "{table}");
    for row in &rows {
        assert_eq!((&row[1], &row[2]), ("'=1+1", "'@x"));
        assert!(["'+a", "'-b"].contains(&&row[3]), "{row:?}");
    }
}
