//! `nettoll -c HOST`: one trial, a line per interval, a summary.
//!
//! It is a study of one cell and one block, run by the same laboratory.

mod plan;
mod printer;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lab::study::StudyError;

use crate::args::OneshotArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::recorder::Recorder;
use crate::signals;
use printer::TrialPrinter;

/// Runs one trial and prints it.
///
/// # Errors
/// Flags that do not go together, a host that cannot be reached, a trial that failed.
pub fn run(args: &OneshotArgs) -> Result<Exit, Failure> {
    let started_ms = sys::clock::unix_ms();
    let credentials = args.access.credentials()?;
    let asked = plan::plan(args, &|host| {
        let connected = lab::connection::connect("b", host, &credentials)?;
        Ok(connected.peer.ip())
    })?;
    // Without lines nothing would hear of a signal before the trial's end: it ends at once then.
    let interrupted = if asked.plan.progress.is_some() { signals::listen()? } else { Arc::default() };
    let recorder = args.runs.as_ref().map(|runs| Recorder::new(runs, &asked.plan, started_ms, Arc::clone(&interrupted)));
    let mut printer = TrialPrinter::new(&asked, args, started_ms, recorder, Arc::clone(&interrupted));
    let outcome = lab::study::run(&asked.plan, &credentials, &mut printer);
    let record = printer.take_record();
    let stored = printer.stored();
    let stopped = interrupted.load(Ordering::Relaxed) && record.is_none();
    let result = match (record, outcome) {
        (Some(record), Ok(_)) => printer.end(&record),
        (Some(record), Err(error)) => printer.failed(&record, &error),
        (None, Err(error)) => Err(reason(error)),
        (None, Ok(_)) if stopped => printer.stopped(&asked.unfinished(started_ms, "interrupted by the user")),
        (None, Ok(_)) => Err(anyhow::anyhow!("the trial ended without a result").into()),
    };
    if let Some(path) = stored.filter(|_| !args.wants_json()) {
        output::write(&format!("Stored in {}", path.display()))?;
    }
    result
}

/// The failure of one trial, which says more than that all of them failed.
fn reason(error: StudyError) -> Failure {
    match error {
        StudyError::NothingWorks(error) => anyhow::anyhow!(error).into(),
        other => other.into(),
    }
}
