//! Files of a run directory, and what their trials show.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use analysis::Collector;
use analysis::advice::{self, Observed};
use analysis::attached::analyse;
use analysis::single::single;
use analysis::top::Recorded;
use attribution::Rules;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lab::attach::requests;
use lab::study::Replay;
use model::attach::Totals;
use model::plan::{ApprovalError, Plan};
use model::printable::{Keep, printable};
use model::recording::{RECORDING_FORMAT, Recording};
use model::run::Run;
use model::trial::{Outcome, TrialRecord};
use profile::messages::log::{Event, summary};
use serde_json::Value;
use store::{Names, RunDirectory, Trials, parse_facts, parse_recorded, parse_run, parse_window};

use crate::says_something;

/// A run, and a trial with round-trip times, written by nettoll.
const RUN: &str = include_str!("../seeds/run/quick");
const TRIAL: &str = include_str!("../seeds/analysis/udp_rr");
/// The head of an attached run.
const ATTACHMENT: &str = r#"{"format":1,"id":"x","started_ms":0,"tool":"0","status":"blocks_done","target":"pid 1","program":"x","requests":"sends","window":1,"period":1,"seed":1,"kernel":"","cpus":1}"#;

/// `run.json`, and the facts of a host: what was understood can be written, and
/// is understood again.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(run) = parse_run(Path::new("run.json"), text).inspect_err(says_something) {
        assert!(parse_run(Path::new("again"), &serde_json::to_string(&run).unwrap()).is_ok());
    }
    if let Ok(facts) = parse_facts(Path::new("a.json"), text).inspect_err(says_something) {
        assert!(parse_facts(Path::new("again"), &serde_json::to_string(&facts).unwrap()).is_ok());
    }
}

/// What an attached run and a recording read: a line of windows, servers' own counts, and the socket
/// calls that the kernel hands over, none of whose bytes is lost.
pub fn attached(bytes: &[u8]) {
    if let Ok(window) = parse_window(bytes) {
        assert!(parse_window(&serde_json::to_vec(&window).unwrap()).is_ok());
        let rules = Rules::builtin().unwrap();
        if let Ok(run) = serde_json::from_str(ATTACHMENT) {
            let windows = [window];
            let found = analyse(run, &windows, 0, &rules);
            let state = &found.states[0];
            for advice in advice::all(&Observed::new(&found.run, state, &windows)) {
                assert!(!advice.evidence.is_empty());
            }
        }
    }
    if let Some(window) = parse_recorded(bytes, &mut Names::default()) {
        let head = Recording { format: RECORDING_FORMAT, ..Recording::default() };
        let mut recorded = Recorded::new(head);
        recorded.push(&window);
        assert_eq!(recorded.windows() as u64 + recorded.damaged, 1);
        assert!(recorded.units().1.iter().all(|unit| unit.all.low <= unit.all.cpus && unit.all.cpus <= unit.all.high));
    }
    let text = String::from_utf8_lossy(bytes);
    let _ = (requests::redis(&text), requests::memcached(&text), text.parse::<requests::Source>());
    let calls: Vec<Event> = bytes.chunks(Event::SIZE).filter_map(Event::parse).collect();
    let moved: u64 = calls.iter().filter_map(|call| u64::try_from(call.result).ok()).sum();
    let seen = summary(Totals::default(), 0, calls);
    assert_eq!(seen.calls.iter().map(|kind| kind.bytes).sum::<u64>(), moved);
}

/// `trials.jsonl` of a run: each line is a trial or damage, and none is lost.
pub fn trials(bytes: &[u8]) {
    let mut lines = 0;
    for trial in Trials::from_text(bytes) {
        lines += 1;
        if let Err(bad) = trial {
            assert_eq!(bad.line, lines);
            says_something(&bad);
        }
    }
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
    let cut = !bytes.is_empty() && !bytes.ends_with(b"\n");
    assert_eq!(lines as usize, ends + usize::from(cut));
}

/// Trials as somebody else may have written them, a line each, through the
/// whole analysis.
pub fn analysis(bytes: &[u8]) {
    let records: Vec<TrialRecord> =
        bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).take(20).collect();
    if !records.is_empty() {
        analysed(&records);
    }
}

fn analysed(records: &[TrialRecord]) {
    static THE_RUN: LazyLock<Run> = LazyLock::new(|| serde_json::from_str(RUN).unwrap());
    let mut collector = Collector::new(THE_RUN.clone(), Vec::new());
    records.iter().for_each(|record| collector.push(record));
    let analysis = collector.finish();
    assert_eq!(analysis.trials + analysis.failed, records.len() as u64, "each trial is counted once");
    assert!(serde_json::to_string(&analysis).is_ok());
}

/// A run as somebody else may have written it, its plan on the first line and a trial
/// on each other, through analysis and every form of a report. What is printed does
/// not steer a terminal, and a page runs no script but its own.
pub fn document(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.lines();
    let Some(Ok(run)) = lines.next().map(|line| parse_run(Path::new("run.json"), line)) else { return };
    let mut collector = Collector::new(run, Vec::new());
    lines.filter_map(|line| serde_json::from_str(line).ok()).take(20).for_each(|record: TrialRecord| collector.push(&record));
    let analysis = collector.finish();
    let style = report::terminal::Style { colour: true, ..report::terminal::Style::VERBOSE };
    for text in [report::terminal::render(&analysis, style), report::csv::render(&analysis), report::json::render(&analysis)] {
        let shown = printable(&text, Keep::Lines);
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
    }
    let page = report::html::render(&analysis);
    let scripts = page.matches("<script").count();
    assert_eq!(scripts, page.matches("</script>").count());
    assert!(scripts <= 8, "{scripts} scripts");
}

/// A run that is to be resumed, its plan on the first line and `trials.jsonl` behind it:
/// what a killed writer left is cut off and stays so, and what is left is replayed or
/// refused with a reason. Its plan is not carried out where that starts or dials anything.
pub fn resume(bytes: &[u8]) {
    static PLACE: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());
    let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
    let (run, trials) = bytes.split_at(end);
    let path = PLACE.path();
    std::fs::write(path.join("run.json"), run).unwrap();
    std::fs::write(path.join("trials.jsonl"), trials).unwrap();
    let cut = match RunDirectory::reopen(path) {
        Ok(reopened) => reopened.cut,
        Err(error) => return says_something(&error),
    };
    let left = std::fs::read(path.join("trials.jsonl")).unwrap();
    assert!(left.is_empty() || left.ends_with(b"\n"), "half a line is left");
    assert!(cut == 0 || left.len() as u64 + cut == trials.len() as u64);
    assert_eq!(RunDirectory::reopen(path).unwrap().cut, 0, "a second time there is nothing to cut");
    let run = parse_run(Path::new("run.json"), std::str::from_utf8(run).unwrap()).unwrap();
    unapproved(&run.plan);
    let mut records = Trials::from_text(&left[..]).filter_map(Result::ok).take(40);
    match Replay::from_trials(&run.plan, &mut records) {
        Ok(replay) => assert!(replay.trials <= 40),
        Err(error) => says_something(&error),
    }
}

/// A plan without approval is not carried out if its text names anything that is started,
/// dialled or changed, wherever that stands.
#[expect(clippy::disallowed_methods, reason = "what is approved here is not carried out")]
fn unapproved(plan: &Plan) {
    let approved = plan.clone().approve(&BTreeSet::new());
    let value = serde_json::to_value(plan).unwrap();
    if names_an_action(&value) {
        assert!(matches!(approved, Err(ApprovalError::Actions(_))), "{value}");
    }
    if let Err(error) = approved {
        says_something(&error);
    }
    // All that was shown is all that is needed.
    let all = plan.clone().approve(&plan.actions());
    assert!(!matches!(all, Err(ApprovalError::Actions(_))), "{value}");
}

/// The same without the types of a plan: by its words.
fn names_an_action(plan: &Value) -> bool {
    let named = |key: &str| plan.get(key).is_some_and(|value| value.as_object().is_some_and(|hosts| !hosts.is_empty()));
    let settings = plan.get("arms").and_then(Value::as_array).into_iter().flatten();
    let settings = settings.filter_map(|arm| arm.get("settings")?.as_array()).flatten();
    let acts = |setting: &Value| {
        let name = setting.get(0).and_then(Value::as_str).unwrap_or_default();
        matches!(name, "before" | "after" | "tool") || name.starts_with("host.")
    };
    let program = |cell: &Value| {
        ["api", "receive"].iter().any(|key| cell.get(key).and_then(Value::as_str).is_some_and(|api| api.starts_with("exec:")))
    };
    plan.get("host_wide") == Some(&Value::Bool(true))
        || named("hosts")
        || plan.get("fleet").is_some()
        || settings.into_iter().any(acts)
        || plan.get("cells").and_then(Value::as_array).into_iter().flatten().any(program)
}

/// A histogram of round-trip times: as text, or as the bytes that the text is
/// to hold.
pub fn latency(bytes: &[u8]) {
    thread_local!(static RECORD: RefCell<TrialRecord> = RefCell::new(serde_json::from_str(TRIAL.lines().next().unwrap()).unwrap()));
    for text in [Some(STANDARD.encode(bytes)), String::from_utf8(bytes.to_vec()).ok()].into_iter().flatten() {
        let shown = RECORD.with_borrow_mut(|record| {
            let Outcome::Measured(measured) = &mut record.outcome else { unreachable!() };
            measured.sender.latency = Some(text);
            single(record).unwrap()
        });
        if let Some(times) = shown.latency {
            assert!(times.min_ns <= times.max_ns);
            let known = || times.percentiles.iter().filter_map(|(_, time)| *time);
            assert!(known().is_sorted());
            assert!(known().all(|time| (times.min_ns as f64..=times.max_ns as f64).contains(&time)));
        }
    }
}
