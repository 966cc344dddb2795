//! Runs that an earlier version stored (`tests/data`) are read, reported,
//! compared and resumed: the same output, every figure equal to the last digit.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use model::run::Status;

use crate::support::Skip;
use crate::support::stored::Stored;
use crate::support::tool::{Answer, Tool};

crate::claims!(
    reports_print_what_the_earlier_version_printed,
    reports_fit_the_terminal,
    tables_hold_every_figure_of_the_earlier_version,
    arms_make_the_same_markdown,
    runs_compare_as_they_did,
    published_studies_stand_next_to_the_same_figures,
    workloads_are_predicted_and_read_as_before,
    stored_runs_are_listed,
    an_interrupted_run_is_resumed_and_keeps_its_trials,
);

/// Set where a method was changed on purpose, so that what is printed now is expected
/// from then on.
const UPDATE: &str = "NETTOLL_UPDATE_EXPECTED";

/// The runs, copied to where a report may write its page.
static RUNS: LazyLock<Tool> = LazyLock::new(|| {
    let tool = Tool::new();
    copy(&data().join("runs"), &tool.path().join("runs"));
    std::fs::copy(data().join("mine.csv"), tool.path().join("mine.csv")).unwrap();
    tool
});

pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data")
}

pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() { copy(&path, &to) } else { _ = std::fs::copy(&path, &to).unwrap() }
    }
}

fn kinds() -> Vec<String> {
    let entries = std::fs::read_dir(data().join("runs")).unwrap();
    let mut kinds: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    kinds.sort();
    assert!(kinds.len() >= 21, "{kinds:?}");
    kinds
}

/// What the earlier version printed; where a method has changed since, what the version
/// printed that changed it.
fn expected(name: &str) -> String {
    let Ok(file) = File::open(data().join("expected").join(format!("{name}.gz"))) else {
        assert!(std::env::var_os(UPDATE).is_some(), "there is no expected {name}");
        return String::new();
    };
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text
}

/// Expects `text` from now on.
fn expect(name: &str, text: &str) {
    let file = File::create(data().join("expected").join(format!("{name}.gz"))).unwrap();
    let mut packed = flate2::GzBuilder::new().write(file, flate2::Compression::best());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap();
}

/// What this version prints.
fn printed(arguments: &[&str]) -> String {
    RUNS.run(arguments).judged().stdout
}

#[track_caller]
fn assert_printed(name: &str, arguments: &[&str]) {
    let (then, now) = (expected(name), printed(arguments));
    if then != now && std::env::var_os(UPDATE).is_some() {
        expect(name, &now);
        return;
    }
    let differing = then.lines().zip(now.lines()).enumerate().find(|(_, (then, now))| then != now);
    assert!(
        then == now,
        "{name}, {arguments:?}: {} lines then, {} now; first difference: {differing:#?}",
        then.lines().count(),
        now.lines().count()
    );
}

fn reports_print_what_the_earlier_version_printed() -> Result<(), Skip> {
    for kind in kinds() {
        let run = format!("runs/{kind}");
        assert_printed(&format!("{kind}/report.txt"), &["report", &run, "-v"]);
        assert_printed(&format!("{kind}/brief.txt"), &["report", &run]);
        assert_printed(&format!("{kind}/report.json"), &["report", &run, "-J"]);
    }
    Ok(())
}

/// What a terminal of so many columns shows.
fn in_columns(columns: usize, arguments: &[&str]) -> String {
    let mut command = RUNS.command(arguments);
    Answer::from(command.env("COLUMNS", columns.to_string()).output().unwrap()).judged().stdout
}

/// Every stored run, its answer and everything, in narrow and usual terminals.
fn reports_fit_the_terminal() -> Result<(), Skip> {
    let of_runs = kinds().into_iter().flat_map(|kind| {
        let run = format!("runs/{kind}");
        [vec!["report".to_owned(), run.clone()], vec!["report".to_owned(), run, "-v".to_owned()]]
    });
    let others = ["show", "doctor", "doctor -v", "study", "study quick --dry-run", "compare runs/sizes runs/sizes-later", "reference"];
    let others = others.map(|words| words.split(' ').map(str::to_owned).collect());
    for words in of_runs.chain(others) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        for columns in [40, 80] {
            let text = in_columns(columns, &words);
            for line in text.lines() {
                assert!(line.chars().count() <= columns, "{words:?} in {columns} columns: {line}");
            }
            // The answer takes a screen; that of a listing is the list.
            let is_answer = !words.contains(&"-v") && !["show", "study", "compare", "reference"].contains(&words[0]);
            assert!(columns < 80 || !is_answer || text.lines().count() <= 27, "{words:?}: {} lines: {text}", text.lines().count());
        }
    }
    Ok(())
}

/// Figures by what identifies them in the table of either version. The earlier one
/// names the arm of a receipt's row in the metric.
fn figures(table: &str) -> BTreeMap<Vec<String>, usize> {
    const ARMS: [&str; 3] = ["base_", "small_", "reno_"];
    const COLUMNS: [&str; 11] = ["test", "family", "api", "size", "metric", "value", "low", "high", "confidence", "method", "n"];
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let header = reader.headers().unwrap().clone();
    let column = |name| header.iter().position(|column| column == name).unwrap_or_else(|| panic!("no column {name}: {header:?}"));
    let columns = COLUMNS.map(column);
    let mut figures = BTreeMap::new();
    for record in reader.records() {
        let record = record.unwrap();
        let bare = |text: &str| ARMS.iter().find_map(|arm| text.strip_prefix(arm)).unwrap_or(text).to_owned();
        *figures.entry(columns.map(|at| bare(&record[at])).to_vec()).or_default() += 1;
    }
    figures
}

fn tables_hold_every_figure_of_the_earlier_version() -> Result<(), Skip> {
    for kind in kinds() {
        let (name, table) = (format!("{kind}/report.csv"), printed(&["report", &format!("runs/{kind}"), "--csv"]));
        let (then, now) = (figures(&expected(&name)), figures(&table));
        assert!(!then.is_empty(), "{kind}");
        // The earlier table has the cells of the first arm alone.
        let known = |figure: &Vec<String>, times: usize| {
            let known = now.get(figure).copied().unwrap_or_default();
            known == times || kind.contains("arms") && known > times
        };
        let lost = then.iter().find(|(figure, times)| !known(figure, **times));
        if lost.is_some() && std::env::var_os(UPDATE).is_some() {
            expect(&name, &table);
            continue;
        }
        assert!(lost.is_none(), "{kind}: {lost:?} then, and not now");
    }
    Ok(())
}

fn arms_make_the_same_markdown() -> Result<(), Skip> {
    for kind in ["arms", "receipt-arms"] {
        assert_printed(&format!("{kind}/report.md"), &["report", &format!("runs/{kind}"), "--markdown"]);
    }
    Ok(())
}

fn runs_compare_as_they_did() -> Result<(), Skip> {
    let sizes = ["compare", "runs/sizes", "runs/sizes-later"];
    assert_printed("compare/sizes.txt", &[&sizes[..], &["-v"]].concat());
    assert_printed("compare/sizes-brief.txt", &sizes);
    assert_printed("compare/sizes.json", &[&sizes[..], &["-J"]].concat());
    assert_printed("compare/sizes.md", &[&sizes[..], &["--markdown"]].concat());
    assert_printed("compare/receipt.txt", &["compare", "runs/receipt", "runs/receipt", "-v"]);
    assert_printed("compare/receipt-brief.txt", &["compare", "runs/receipt", "runs/receipt"]);
    assert_printed("compare/receipt.json", &["compare", "runs/receipt", "runs/receipt", "-J"]);
    assert_printed("compare/receipts.json", &["compare", "runs/receipt", "runs/receipt-arms", "-J"]);
    Ok(())
}

fn published_studies_stand_next_to_the_same_figures() -> Result<(), Skip> {
    for study in ["cabrera1984", "jacobson1988", "bidulock2007"] {
        let run = format!("runs/{study}");
        assert_printed(&format!("reference/{study}.txt"), &["reference", study, &run]);
        assert_printed(&format!("reference/{study}.json"), &["reference", study, &run, "-J"]);
    }
    Ok(())
}

fn workloads_are_predicted_and_read_as_before() -> Result<(), Skip> {
    let of_run = ["workload", "mine.csv", "--run", "runs/workload"];
    assert_printed("workload/workload.txt", &of_run);
    assert_printed("workload/workload.json", &[&of_run[..], &["-J"]].concat());
    assert_printed("workload/foretold.json", &["workload", "mine.csv", "--run", "runs/sizes", "--predict", "-J"]);
    Ok(())
}

fn stored_runs_are_listed() -> Result<(), Skip> {
    assert_printed("show.txt", &["show", "--runs", "runs"]);
    Ok(())
}

/// A run goes on only on the hosts and with the nettoll that it began with, so
/// that those of a run of today stand in for those of the stored one.
fn an_interrupted_run_is_resumed_and_keeps_its_trials() -> Result<(), Skip> {
    let today = Tool::new();
    today
        .study(
            "name = \"today\"\ntrial = { length = \"5ms\" }\nblocks = { least = 1, most = 1 }\n[[cells]]\ntest = \"UDP_RR\"\nsize = 1\n",
            &[],
        )
        .done();
    let tool = Tool::new();
    copy(&data().join("runs/interrupted"), &tool.path().join("runs/interrupted"));
    let stored = tool.stored();
    copy(&today.stored().path().join("hosts"), &stored.path().join("hosts"));
    let version = |stored: &Stored| serde_json::to_string(&stored.run().tool).unwrap();
    stored.write("run.json", &stored.text("run.json").replace(&version(&stored), &version(&today.stored())));
    let finished = stored.text("trials.jsonl");
    assert_eq!(stored.status(), Status::Interrupted);
    tool.run(&["study", "--resume", "runs/interrupted"]).done();
    assert_eq!(stored.status(), Status::BlocksDone);
    assert!(stored.text("trials.jsonl").starts_with(&finished), "a finished trial was touched");
    let plan = stored.run().plan;
    assert_eq!(stored.all_measured().len(), plan.cells.len() * plan.blocks.most as usize);
    assert!(finished.lines().count() < stored.all_measured().len());
    Ok(())
}
