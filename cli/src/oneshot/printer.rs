//! Prints a trial as it happens.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lab::study::StudyError;
use lab::{Event, Listener};
use model::end::{EndReport, FlowAddresses, Progress};
use model::host::HostFacts;
use model::trial::Outcome;
use model::{Role, TrialRecord, Warning};
use report::oneshot::{self, Intervals, Row, TrialFacts};

use super::plan::OneshotPlan;
use crate::args::OneshotArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::recorder::Recorder;
use crate::version;

/// The form of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    /// Lines for people.
    Lines,
    /// One document.
    Json,
    /// A line of JSON for each event, and after the last the document or not.
    Stream { whole: bool },
}

/// The listener of one trial.
pub struct TrialPrinter<'a> {
    asked: &'a OneshotPlan,
    output: Output,
    started_ms: u64,
    verbose: bool,
    recorder: Option<Recorder>,
    interrupted: Arc<AtomicBool>,
    hosts: Vec<HostFacts>,
    warnings: Vec<Warning>,
    intervals: Intervals,
    rows: Vec<Row>,
    /// Intervals heard of from the sender and from the receiver.
    heard: [usize; 2],
    record: Option<TrialRecord>,
    waiting: Option<u32>,
}

impl<'a> TrialPrinter<'a> {
    /// Nothing has happened yet.
    pub fn new(
        asked: &'a OneshotPlan,
        args: &OneshotArgs,
        started_ms: u64,
        recorder: Option<Recorder>,
        interrupted: Arc<AtomicBool>,
    ) -> Self {
        let output = match (args.json_stream, args.json) {
            (true, _) => Output::Stream { whole: args.json_stream_full_output },
            (false, true) => Output::Json,
            (false, false) => Output::Lines,
        };
        Self {
            asked,
            output,
            started_ms,
            verbose: args.verbose,
            recorder,
            interrupted,
            hosts: Vec::new(),
            warnings: Vec::new(),
            intervals: Intervals::new(&asked.cell, asked.plan.warmup).within(output::width()),
            rows: Vec::new(),
            heard: [0; 2],
            record: None,
            waiting: None,
        }
    }

    /// The trial, if it came to its end.
    pub fn take_record(&mut self) -> Option<TrialRecord> {
        self.record.take()
    }

    /// Path of the run that the trial is stored as.
    pub fn stored(&self) -> Option<PathBuf> {
        self.recorder.as_ref()?.path()
    }

    /// Prints what a trial came to.
    ///
    /// # Errors
    /// An answer of the system, and a trial that failed.
    pub fn end(&mut self, record: &TrialRecord) -> Result<Exit, Failure> {
        // An interval that ends with the measured part stands in the report alone.
        if let Some(measured) = record.measured() {
            let unheard = |end: &EndReport, heard: usize| end.progress.get(heard..).unwrap_or_default().to_vec();
            let sender = unheard(&measured.sender, self.heard[0]).into_iter().map(|progress| (Role::Sender, progress));
            let receiver = unheard(&measured.receiver, self.heard[1]).into_iter().map(|progress| (Role::Receiver, progress));
            for (role, progress) in sender.chain(receiver) {
                self.progress(role, progress)?;
            }
        }
        self.rest()?;
        if let Some(measured) = record.measured() {
            oneshot::complete(&mut self.rows, &measured.sender);
        }
        if self.output == Output::Lines {
            output::write("")?;
            output::show(&oneshot::summary(&self.setting(), record), self.verbose)?;
        }
        self.json(record)?;
        Ok(if matches!(record.outcome, Outcome::Measured(_)) { Exit::Done } else { Exit::Failed })
    }

    /// Tells of a trial that failed, and of what ended the study with it.
    ///
    /// # Errors
    /// Always: the failure itself, unless it was printed as JSON.
    pub fn failed(&mut self, record: &TrialRecord, error: &StudyError) -> Result<Exit, Failure> {
        if matches!(record.outcome, Outcome::Failed { .. }) && self.output != Output::Lines {
            return self.end(record);
        }
        match &record.outcome {
            Outcome::Failed { error, .. } => Err(anyhow::anyhow!(error.clone()).into()),
            Outcome::Measured(_) | Outcome::Skipped { .. } => {
                self.end(record)?;
                Err(anyhow::anyhow!(error.to_string()).into())
            }
        }
    }

    /// Prints what had come by when the user ended the trial. `record` stands for it.
    ///
    /// # Errors
    /// An answer of the system.
    pub fn stopped(&mut self, record: &TrialRecord) -> Result<Exit, Failure> {
        self.rest()?;
        if self.output == Output::Lines {
            output::write("")?;
            output::show(&oneshot::partial(&self.rows), false)?;
        }
        self.json(record)?;
        Ok(Exit::Failed)
    }

    /// Prints the end of a trial, where standard output is JSON.
    fn json(&self, record: &TrialRecord) -> std::io::Result<()> {
        let setting = self.setting();
        if let Output::Stream { .. } = self.output {
            output::write(&oneshot::json::stream::end(&setting, &self.rows, record))?;
        }
        match self.output {
            Output::Json | Output::Stream { whole: true } => output::write(&oneshot::json::render(&setting, &self.rows, record)),
            Output::Lines | Output::Stream { whole: false } => Ok(()),
        }
    }

    fn setting(&self) -> TrialFacts<'_> {
        TrialFacts {
            plan: &self.asked.plan,
            swapped: self.asked.swapped,
            remote: &self.asked.remote,
            address: self.asked.address,
            hosts: &self.hosts,
            warnings: &self.warnings,
            tool: version::SHORT,
        }
    }

    /// Takes note of an interval of an end, and prints what is complete by it.
    fn progress(&mut self, role: Role, progress: Progress) -> std::io::Result<()> {
        self.heard[usize::from(role == Role::Receiver)] += 1;
        match self.intervals.hear(role, progress) {
            Some(row) => self.line(row),
            None => Ok(()),
        }
    }

    fn rest(&mut self) -> std::io::Result<()> {
        for row in self.intervals.rest() {
            self.line(row)?;
        }
        Ok(())
    }

    fn line(&mut self, row: Row) -> std::io::Result<()> {
        self.rows.push(row);
        match self.output {
            Output::Lines => output::write(&self.intervals.line(&row)),
            Output::Json => Ok(()),
            Output::Stream { .. } => match oneshot::json::stream::interval(&self.setting(), &self.rows) {
                Some(event) => output::write(&event),
                None => Ok(()),
            },
        }
    }

    fn opened(&mut self, hosts: &[HostFacts], warnings: &[Warning]) -> std::io::Result<()> {
        self.hosts = hosts.to_vec();
        self.warnings = warnings.to_vec();
        match self.output {
            Output::Lines => {}
            Output::Json | Output::Stream { .. } => return Ok(()),
        }
        output::show(&oneshot::header(&self.setting()), self.verbose)?;
        match self.asked.plan.progress {
            Some(_) => output::write(&format!("\n{}", self.intervals.head())),
            None => Ok(()),
        }
    }

    /// The first event, as iperf3 has it: once both ends are joined.
    fn joined(&self, sender: &[FlowAddresses], receiver: &[FlowAddresses]) -> std::io::Result<()> {
        let Output::Stream { .. } = self.output else { return Ok(()) };
        let (setting, record) = (self.setting(), self.asked.unfinished(self.started_ms, ""));
        output::write(&oneshot::json::stream::begin(&setting, &record, [sender, receiver]))
    }

    /// Said on standard error once for each place, for it is no result.
    fn waits(&mut self, host: &str, place: u32) {
        if self.waiting.replace(place) != Some(place) {
            output::note(&format!("host {host} is busy: {place} before this one"));
        }
    }
}

impl Listener for TrialPrinter<'_> {
    fn keeps_hosts(&self) -> bool {
        false
    }

    fn hear(&mut self, event: &Event) -> Result<ControlFlow<()>, Box<dyn Error + Send + Sync>> {
        match event {
            Event::Opened { hosts, warnings, .. } => self.opened(hosts, warnings)?,
            Event::Waiting { host, place } => self.waits(host, *place),
            Event::Connected { sender, receiver } => self.joined(sender, receiver)?,
            Event::Progress { role, progress } => self.progress(*role, **progress)?,
            Event::Trial(record) => self.record = Some((*record).clone()),
            Event::Closed { warnings, .. } => self.warnings = warnings.to_vec(),
            Event::Resumed { .. } | Event::Lost { .. } | Event::BlockStarted { .. } | Event::BlockDone { .. } => {}
            Event::Slices { .. } | Event::Reaching { .. } | Event::Look(_) | Event::Tick => {}
        }
        // What only moves the recorder's display would be drawn between the lines.
        let shown_here = matches!(event, Event::Progress { .. } | Event::Waiting { .. } | Event::BlockStarted { .. });
        if let Some(recorder) = &mut self.recorder
            && !shown_here
        {
            let _ = recorder.hear(event)?;
        }
        Ok(if self.interrupted.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}
