//! A trial as JSON while it runs, a line for each event: iperf3's `--json-stream` (3.17 and later), and
//! before its last event one with our own fields, which its readers pass over.

use analysis::single::single;
use model::end::FlowAddresses;
use model::trial::Outcome;
use model::{Role, TrialRecord};
use serde_json::{Value, json};

use super::super::{Row, TrialFacts};
use super::{end_of, intervals, own, start};
use crate::sinks::json::for_terminal;

/// The first event. `record` stands for the trial, which has not begun, `flows` are the sender's and the
/// receiver's: the buffers that the kernel gave are those of [`super::render`].
pub fn begin(setting: &TrialFacts, record: &TrialRecord, flows: [&[FlowAddresses]; 2]) -> String {
    event("start", &start::start(setting, record, flows[usize::from(!setting.is_here(Role::Sender))]))
}

/// The event of the last row; `None` where the end on this machine gave no account of it.
pub fn interval(setting: &TrialFacts, rows: &[Row]) -> Option<String> {
    intervals::last(setting, rows).map(|interval| event("interval", &interval))
}

/// The last events, a line each: the error of a trial that failed, our own fields, the end.
pub fn end(setting: &TrialFacts, rows: &[Row], record: &TrialRecord) -> String {
    let error = match &record.outcome {
        Outcome::Failed { error, .. } => event("error", &json!(error)),
        Outcome::Measured(_) | Outcome::Skipped { .. } => String::new(),
    };
    let figures = single(record);
    let end = event("end", &end_of(setting, record, figures.as_ref()));
    error + &event("nettoll", &own(setting, rows, record, figures)) + &end
}

/// The events of a failure before there was a trial.
pub fn failure(message: &str) -> String {
    event("error", &json!(message)) + &event("end", &json!({}))
}

fn event(name: &str, data: &Value) -> String {
    // iperf3's begin with the name.
    for_terminal(&format!("{{\"event\":\"{name}\",\"data\":{data}}}\n"))
}

#[cfg(test)]
mod tests {
    use super::failure;

    #[test]
    fn a_failure_is_two_lines_of_json() {
        let text = failure("connect: \"refused\"\n\u{7f}\u{202e}");
        let events: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&events[0]["event"], &events[0]["data"]), (&"error".into(), &"connect: \"refused\"\n\u{7f}\u{202e}".into()));
        assert!(!text.contains(['\u{7f}', '\u{202e}']));
        assert_eq!((events.len(), &events[1]["event"]), (2, &"end".into()));
        assert!(text.starts_with("{\"event\":\"error\",\"data\":"));
    }
}
