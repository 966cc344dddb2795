//! What is fuzzed: every reader of bytes that come from outside. Each function
//! takes any bytes, and panics when a promise is broken.

use std::fmt::Debug;
use std::fs;
use std::str::FromStr;
use std::sync::LazyLock;

use analysis::Collector;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lab::host::counters::{parse_dev, parse_snmp, parse_snmp6, parse_stat};
use model::control::{FromEndpoint, FromHost, ToEndpoint, ToHost};
use model::frame::Decoder;
use model::plan::{Plan, RawPlan, resolve};
use model::run::Run;
use model::size::parse_sweep;
use model::trial::{Outcome, TrialRecord};
use model::{BitRate, Bytes, Nanos};
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::RunReader;
use tempfile::TempDir;

/// A function that takes any bytes.
pub type Target = fn(&[u8]);

/// Every target under the name of its seeds.
pub const TARGETS: &[(&str, Target)] = &[
    ("plan", plan),
    ("sweep", sweep),
    ("quantity", quantity),
    ("control", control),
    ("trials", trials),
    ("analysis", analysis),
    ("latency", latency),
    ("proc", proc),
];

/// A run with one trial of each kind, written by nettoll.
const RUN: &str = include_str!("../seeds/run.json");
const TRIAL: &str = include_str!("../seeds/analysis/udp_rr");

/// The text of a plan: it is refused, or it means something that keeps the
/// invariants of [`Plan`] and comes back from its file.
pub fn plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(raw) = RawPlan::parse(text).inspect_err(says_something) else { return };
    let Ok(plan) = resolve(&raw, &[], 7).inspect_err(says_something) else { return };
    assert!(!plan.cells.is_empty());
    assert!(plan.cells.iter().enumerate().all(|(place, cell)| !plan.cells[..place].contains(cell)), "a cell twice");
    assert!(plan.cells.iter().all(|cell| cell.size.get() >= 1 && cell.read_size.get() >= 1), "a size of 0");
    assert!(plan.blocks.least <= plan.blocks.most);
    let stored: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    assert_eq!((stored.cells, stored.end, stored.link), (plan.cells, plan.end, plan.link));
}

/// A sweep of sizes: it ends, whatever it says.
pub fn sweep(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(sizes) = parse_sweep(text).inspect_err(says_something) {
        assert!((1..=2_000).contains(&sizes.len()));
    }
}

/// Quantities: what is printed can be read again.
pub fn quantity(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(size) = parsed::<Bytes>(text) {
        assert_eq!(size.to_string().parse(), Ok(size));
    }
    if let Some(time) = parsed::<Nanos>(text) {
        let again: Result<Nanos, _> = time.to_string().parse();
        // Four figures are printed; and beyond 2^63 ns only whole ones are read.
        assert!(time.get() > 1 << 62 || again.is_ok_and(|again| again.get().abs_diff(time.get()) <= time.get() / 1_000), "{time}");
    }
    if let Some(rate) = parsed::<BitRate>(text) {
        assert!(rate.to_string().ends_with("bit/s"));
    }
}

fn parsed<T: FromStr<Err: std::error::Error>>(text: &str) -> Option<T> {
    text.parse().inspect_err(says_something).ok()
}

fn says_something(error: &impl std::error::Error) {
    assert!(!error.to_string().trim().is_empty(), "{error:?}");
}

/// A control connection. The first byte says which one, and in what pieces the
/// rest arrives.
pub fn control(bytes: &[u8]) {
    let Some((kind, stream)) = bytes.split_first() else { return };
    let piece = usize::from(kind >> 2) + 1;
    match kind & 3 {
        0 => frames::<ToHost>(stream, piece),
        1 => frames::<FromHost>(stream, piece),
        2 => frames::<ToEndpoint>(stream, piece),
        _ => frames::<FromEndpoint>(stream, piece),
    }
}

/// Takes all messages out of a stream; what was understood is understood again.
fn frames<T: DeserializeOwned + Serialize + PartialEq + Debug>(stream: &[u8], piece: usize) {
    let mut decoder = Decoder::<T>::default();
    for piece in stream.chunks(piece) {
        decoder.push(piece);
        loop {
            match decoder.take() {
                Ok(Some(message)) => comes_back(&message),
                Ok(None) => break,
                Err(error) => return says_something(&error),
            }
        }
    }
}

fn comes_back<T: DeserializeOwned + Serialize + PartialEq + Debug>(message: &T) {
    let mut decoder = Decoder::<T>::default();
    decoder.push(&model::frame::encode(message).unwrap());
    assert_eq!(decoder.take().unwrap().as_ref(), Some(message));
}

/// `trials.jsonl` of a run: each line is a trial or damage, and none is lost.
pub fn trials(bytes: &[u8]) {
    static DIRECTORY: LazyLock<TempDir> = LazyLock::new(|| {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("run.json"), RUN).unwrap();
        directory
    });
    fs::write(DIRECTORY.path().join("trials.jsonl"), bytes).unwrap();
    let reader = RunReader::open(DIRECTORY.path()).unwrap();
    let mut lines = 0;
    for trial in reader.trials().unwrap() {
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

/// A histogram of round-trip times: as text, or as the bytes that the text is
/// to hold.
pub fn latency(bytes: &[u8]) {
    static RECORD: LazyLock<TrialRecord> = LazyLock::new(|| serde_json::from_str(TRIAL.lines().next().unwrap()).unwrap());
    for text in [Some(STANDARD.encode(bytes)), String::from_utf8(bytes.to_vec()).ok()].into_iter().flatten() {
        let mut record = RECORD.clone();
        let Outcome::Measured(measured) = &mut record.outcome else { unreachable!() };
        measured.sender.latency = Some(text);
        analysed(&[record]);
    }
}

/// Files of the kernel. The first byte says which.
pub fn proc(bytes: &[u8]) {
    let Some((kind, text)) = bytes.split_first() else { return };
    // As they are read: a device's name need not be UTF-8.
    let text = String::from_utf8_lossy(text);
    let error = match kind & 3 {
        0 => parse_snmp(&text).err(),
        1 => parse_snmp6(&text).err(),
        2 => parse_dev(&text, "eth0").err(),
        _ => parse_stat(&text).err(),
    };
    error.iter().for_each(says_something);
}
