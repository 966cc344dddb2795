//! Receipts in every output.

use crate::support::receipts::{receipts, red};
use crate::support::{self, HOSTILE, without_scripts};
use analysis::result::receipt::ReceiptOutcome;
use analysis::result::{Analysis, StudyResult};
use attribution::Doubt;
use report::terminal::Style;
use unicode_width::UnicodeWidthStr;

/// What the terminal says of receipts.
fn part(analysis: &Analysis, width: usize) -> String {
    let text = report::terminal::render(analysis, Style { width, ..Style::VERBOSE });
    let start = text.find("\nWhere the time of a message goes\n").expect("receipts");
    text[start + 1..].to_owned()
}

#[test]
fn terminal() {
    insta::assert_snapshot!(part(&receipts(), 80));
}

/// The headline, the first picture and the first table are of one message.
#[test]
fn the_headline_and_the_first_picture_are_of_one_message() {
    let analysis = receipts();
    let answer = analysis::answer::of(&analysis);
    assert!(answer.headline.starts_with("One UDP message of 1,448 B costs "), "{}", answer.headline);
    let page = report::html::render(&analysis);
    let (title, label) = (page.find("One message over ").expect("a picture"), page.find("UDP_STREAM · 1,448 B").expect("its label"));
    assert!(page[title..].starts_with("One message over UDP_STREAM") && label > title);
    let text = report::terminal::render(&analysis, Style::PLAIN);
    assert!(text.contains("\nUDP_STREAM ") && text.contains(" 1,448 B ") && !text.contains("TCP_STREAM"), "{text}");
    // Its doubt stands with it: each figure has its interval.
    assert_eq!(answer.headline.matches('–').count(), 2, "{}", answer.headline);
}

#[test]
fn a_receipt_that_does_not_add_up_is_said_first() {
    let (analysis, _) = red();
    let text = report::terminal::render(&analysis, Style::VERBOSE);
    let first = text.lines().position(|line| line.starts_with("Do not use the rows of receipts that do not add up")).expect("red");
    assert!(first <= 5, "line {first}");
    let part = part(&analysis, 80);
    let (loud, table) = (part.find("RED: 1 of 16").unwrap(), part.find("kind of work").unwrap());
    assert!(loud < table);
    assert!(
        part.contains("- UDP_STREAM 16384 B, receiver: CPU time and waits make 0.") && part.lines().any(|line| line.trim() == "RED"),
        "{part}"
    );
    let page = report::html::render(&analysis);
    assert!(page.contains("class=\"invalid\"") && page.contains("does not add up"));
    let sound = receipts();
    assert!(!report::terminal::render(&sound, Style::VERBOSE).contains("RED"));
    assert!(!report::html::render(&sound).contains("class=\"invalid\""));
}

/// Rows that are not to be used have no colours, and the picture says why.
#[test]
fn a_picture_of_rows_that_are_not_to_be_used_is_hollow() {
    let (analysis, _) = red();
    let page = report::html::render(&analysis);
    let pictures: Vec<&str> = page.split("<svg class=\"toll").skip(1).map(|part| part.split("</svg>").next().unwrap_or_default()).collect();
    let key = |picture: &str| picture.contains("width=\"12\" height=\"12\"");
    let (off, sound): (Vec<&str>, Vec<&str>) = pictures.into_iter().partition(|picture| picture.contains("does not add up"));
    assert!(!off.is_empty() && !sound.is_empty());
    assert!(off.iter().all(|picture| picture.split('"').next().is_some_and(|class| class.contains("barred")) && !key(picture)));
    assert!(sound.iter().all(|picture| !picture.split('"').next().is_some_and(|class| class.contains("barred")) && key(picture)));
}

/// A proof is said under receipts, in a terminal, in a page and in JSON, where one is kept.
#[test]
fn a_proof_is_said_where_one_is_kept() {
    const SAID: &str = "Known costs were found at 0.97 to 1.04 on this machine";
    let renders = |analysis: &Analysis| {
        let style = Style { width: 200, ..Style::VERBOSE };
        // Lines end where they may.
        [report::terminal::render(analysis, style), report::html::render(analysis)].map(|text| text.replace('\n', " "))
    };
    let mut analysis = receipts();
    assert!(renders(&analysis).iter().all(|text| !text.contains("Known costs")));
    let stored = r#"{"boot":"b","kernel":"6.1","tool":"0.1","ended_ms":1795740000000,"neighbours":[true,true],"found":[0.97,1.04],"costs":40,"missing":0}"#;
    analysis.run.proof = Some(serde_json::from_str(stored).unwrap());
    for text in renders(&analysis) {
        assert!(text.contains(&format!("{SAID} (doctor --prove, 27 November).")), "{text}");
    }
    let answer = report::terminal::render(&analysis, Style { width: 200, ..Style::PLAIN });
    assert!(answer.contains(SAID), "{answer}");
    assert!(report::json::render(&analysis).replace([' ', '\n'], "").contains("\"proof\":{\"boot\":\"b\""));
    if let Some(proof) = &mut analysis.run.proof {
        (proof.neighbours, proof.missing) = ([true, false], 4);
    }
    assert!(renders(&analysis)[0].contains(&format!("{SAID}, quiet (doctor --prove, 27 November; 4 others could not be looked for).")));
}

/// The sentence about sums, of receipts that are changed.
fn sums(change: impl Fn(usize, &mut ReceiptOutcome)) -> String {
    let mut analysis = receipts();
    for study in &mut analysis.studies {
        let StudyResult::Receipt(study) = study else { continue };
        let ends = study.cells.iter_mut().flat_map(|cell| [&mut cell.sender.outcome, &mut cell.receiver.outcome]);
        ends.enumerate().for_each(|(place, outcome)| change(place, outcome));
    }
    let text = report::terminal::render(&analysis, Style { width: 200, ..Style::VERBOSE });
    let part = &text[text.find("\nWhere the time of a message goes\n").expect("receipts")..];
    part.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Outcomes that bear no claim that all receipts add up.
#[test]
fn what_the_sums_do_not_bear_is_not_claimed() {
    const CLAIM: &str = "All receipts add up.";
    assert!(sums(|_, _| ()).contains(CLAIM));
    let absent = |outcome: &mut ReceiptOutcome| *outcome = ReceiptOutcome::Absent { reason: "no time pass".to_owned() };
    let none = sums(|_, outcome| absent(outcome));
    assert!(none.contains("No receipt was made: ") && !none.contains(CLAIM), "{none}");
    let one_missing = sums(|place, outcome| {
        if place == 3 {
            absent(outcome)
        }
    });
    assert!(one_missing.contains("15 receipts of 16 ends add up; 1 end has none") && !one_missing.contains(CLAIM), "{one_missing}");
    let few = |samples: u64| Doubt::FewSamples { missing: model::plan::receipt::SAMPLES - samples };
    let with = |doubts: Vec<Doubt>| {
        sums(|place, outcome| {
            if let (0, ReceiptOutcome::Made(receipt)) = (place, outcome) {
                receipt.doubts.clone_from(&doubts)
            }
        })
    };
    let too_few = with(vec![few(175)]);
    assert!(
        too_few.contains(
            "1 of 16 receipts has too few samples to tell whether the sums hold (175, of 2,500); 15 times as many `--blocks` give enough."
        ),
        "{too_few}"
    );
    assert!(!too_few.contains(CLAIM));
    assert!(with(vec![few(2_500)]).contains(CLAIM), "enough for the sums");
    let no_records = with(vec![Doubt::NoRecords]);
    assert!(no_records.contains("compared with no time on a CPU") && !no_records.contains(CLAIM), "{no_records}");
}

#[test]
fn no_line_is_wider_than_asked() {
    let (analysis, _) = red();
    for width in [80, 97, 120, 200] {
        for line in part(&analysis, width).lines() {
            assert!(line.width() <= width, "at {width}: {line}");
        }
    }
    for line in report::terminal::document(&report::receipt::shares_of_rules(&analysis), Style::VERBOSE).lines() {
        assert!(line.width() <= 80, "{line}");
    }
}

#[test]
fn a_count_that_there_is_not_is_a_dash() {
    let text = part(&receipts(), 200);
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}")).to_owned();
    assert!(line("udp_sendmsg").contains(" 1.00"));
    assert!(line("fib_table_lookup").split_whitespace().filter(|word| *word == "-").count() == 4);
    assert!(text.contains("(EPERM)") && text.contains("CAP_BPF"));
}

#[test]
fn what_the_rules_decided_makes_a_whole() {
    let text = report::terminal::document(&report::receipt::shares_of_rules(&receipts()), Style::VERBOSE);
    let sums = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace().rev();
        let share = |word: Option<&str>| word?.strip_suffix('%')?.parse::<f64>().ok();
        let category = share(words.next())?;
        Some([share(words.next())?, category])
    });
    let sums = sums.fold([0.0, 0.0], |sums, row| [sums[0] + row[0], sums[1] + row[1]]);
    for sum in sums {
        assert!((sum - 100.0_f64).abs() < 3.0, "{sum}: {text}");
    }
    assert!(report::terminal::document(&report::receipt::shares_of_rules(&support::small()), Style::VERBOSE).contains("no receipts"));
}

#[test]
fn the_page_holds_tables_stacks_and_flame_graphs() {
    let (analysis, flames) = red();
    let page = report::html::render_with(&analysis, &flames);
    assert_eq!(page.matches("<svg class=\"flame\"").count(), 4);
    assert_eq!(page.matches("class=\"rows routines").count(), 4);
    for id in ["chart-work-0", "chart-layer-0", "chart-work-2", "chart-layer-2"] {
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
    assert!(page.contains("What each rule decided"));
    assert!(page.len() < 2 << 20, "{} bytes", page.len());
    // As of any page: three of data, and ours; one of each graph; and nobody is asked for anything.
    assert_eq!(page.matches("<script").count(), 4 + 4);
    let shown = without_scripts(&page);
    for address in ["src=\"", "href=\"http", "url(", "@import", "http://", "https://", "NaN"] {
        assert!(!shown.contains(address), "{address}");
    }
}

#[test]
fn the_toll_of_one_message_is_a_picture_that_stands_alone() {
    let analysis = receipts();
    let picture = report::html::picture(&analysis, None).unwrap();
    // A datagram that one frame carries, of the sizes that were measured.
    assert!(picture.starts_with("<svg") && picture.contains("UDP_STREAM · 1,448 B"), "{}", &picture[..400]);
    for words in ["Linux 6.12", "AMD EPYC", "intervals at 95 %", "billed before it ran", "data movement", "sender", "receiver", "±"] {
        assert!(picture.contains(words), "{words}");
    }
    for foreign in ["<script", "var(", "href", "url(", "@import", "NaN"] {
        assert!(!picture.contains(foreign), "{foreign}");
    }
    assert!(report::html::picture(&analysis, Some(model::Bytes::new(16_384))).unwrap().contains("UDP_STREAM · 16,384 B"));
    let refused = |size| report::html::picture(&analysis, Some(model::Bytes::new(size))).unwrap_err().to_string();
    assert!(refused(100).ends_with("ask for one of 1, 1,448, 1,473, 16,384 B"), "{}", refused(100));
    let without = report::html::picture(&support::small(), None).unwrap_err().to_string();
    assert!(without.contains("no receipts") && without.contains("nettoll study receipt") && without.lines().count() <= 3, "{without}");
    assert_eq!(picture, report::html::picture(&receipts(), None).unwrap(), "the same each time");
}

#[test]
fn the_kinds_of_work_of_a_layer_make_the_layer() {
    let analysis = receipts();
    let mut looked_at = 0;
    for receipt in analysis.receipt().unwrap().cells.iter().flat_map(|cell| cell.receipts()) {
        for layer in &receipt.rows.layers {
            let work = receipt.rows.work.iter().filter(|row| row.key.0 == layer.key);
            let sum: f64 = work.map(|row| row.ns.value).sum();
            assert!((sum - layer.ns.value).abs() < 1e-6 * layer.ns.value, "{}: {sum} of {}", layer.key, layer.ns.value);
            looked_at += 1;
        }
    }
    assert!(looked_at > 40, "{looked_at}");
}

#[test]
fn hostile_text_stays_text() {
    let (mut analysis, _) = red();
    let found = analysis.studies.iter_mut().find_map(|study| match study {
        StudyResult::Receipt(receipts) => Some(receipts),
        _ => None,
    });
    let study = found.unwrap();
    study.rules = HOSTILE.to_owned();
    for series in &mut study.series {
        series.series = HOSTILE.to_owned();
        series.functions.rows.iter_mut().for_each(|row| row.function = HOSTILE.to_owned());
        series.boundaries.iter_mut().for_each(|boundary| boundary.name = HOSTILE.to_owned());
    }
    study.cells.iter_mut().for_each(|cell| cell.label = HOSTILE.to_owned());
    for absence in &mut study.absences {
        absence.unavailable = model::Refusal::new(HOSTILE, HOSTILE, HOSTILE);
    }
    let page = report::html::render(&analysis);
    assert!(!page.contains(HOSTILE) && !page.contains("<img") && !page.contains("<script>alert") && !page.contains("<!--"));
    assert!(!report::terminal::render(&analysis, Style::VERBOSE).contains('\u{1b}'));
}

#[test]
fn csv_has_rows_of_receipts() {
    let text = report::csv::render(&receipts());
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let names = table.headers().unwrap().clone();
    let place = |name: &str| names.iter().position(|column| column == name).unwrap();
    let rows: Vec<csv::StringRecord> = table.records().map(|row| row.unwrap()).collect();
    let of = |metric: &str| rows.iter().filter(|row| &row[place("metric")] == metric).count();
    assert_eq!((of("sender_category_data-movement_ns"), of("sender_charged_ns")), (8, 8));
    let row = rows.iter().find(|row| &row[place("metric")] == "sender_layer_tcp_ns").unwrap();
    let number = |name: &str| row[place(name)].parse::<f64>().unwrap();
    assert!(number("low") <= number("value") && number("value") <= number("high"));
    assert_eq!(["confidence", "method", "n"].map(|name| &row[place(name)]), ["0.95", "student", "6"]);
}

/// A receipt compared with the same with a row that costs more.
#[test]
fn two_receipts_row_by_row() {
    let (first, (second, flames)) = (receipts(), red());
    let receipts = analysis::receipt::compare_studies(first.receipt().unwrap(), second.receipt().unwrap());
    let values = analysis::Collector::new(first.run.clone(), Vec::new()).into_table();
    let runs = analysis::runs::RunsCompared {
        baseline: vec!["first".into()],
        candidate: vec!["second".into()],
        differences: vec!["host a: kernel was 6.1, is 6.2".into()],
        slight: vec![],
        figures: analysis::runs::compare_runs(
            [&[&values], &[&values]],
            &[],
            &analysis::runs::Demands { threshold: 0.02, confidence: 0.95, gate: &analysis::verdict::GATE, trust_single_runs: true },
        ),
        receipts: Some(receipts),
    };
    let between = analysis::runs::RunComparison::from_candidates(vec![runs]);
    let text = report::terminal::document(&report::verdict::document(&between), Style::VERBOSE);
    for words in [
        "no cell in common",
        "no drift protection",
        "kernel was 6.1, is 6.2",
        "Receipt of UDP_STREAM 16384 B, receiver",
        "RED: the receipt of second",
    ] {
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(words), "{words}: {text}");
    }
    assert!(text.lines().all(|line| line.width() <= 80));
    let markdown = report::markdown::render(&report::verdict::document(&between));
    assert!(
        markdown.starts_with("**second and first have no cell in common")
            && markdown.contains("## second against first")
            && markdown.contains("| layer | first | second |"),
        "{markdown}"
    );
    let json: serde_json::Value = serde_json::from_str(&report::json::pretty(&between)).unwrap();
    assert_eq!((&json["format"], &json["conclusion"]), (&serde_json::json!(1), &serde_json::json!("inconclusive")));
    let page = report::html::document(&report::verdict::document(&between), "0.1.0");
    assert_eq!((page.matches("<script").count(), page.matches("<table").count() % 3), (4, 1));
    // With their stacks: the difference of each end, at once.
    let page = report::html::document(&report::verdict::with_flames(&between, [(&first, &flames), (&second, &flames)]), "0.1.0");
    assert_eq!(
        (page.matches("<svg class=\"flame\"").count(), page.matches(",\"first\":[").count(), page.matches(",0],\"least_share\"").count()),
        (4, 4, 4)
    );
}
