//! A study whose arms are woven: hosts and a link for each arm, all of them alive, and instances in which they
//! take turns, until a look settles every verdict.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::time::{SystemTime, UNIX_EPOCH};

use analysis::audit;
use analysis::result::Metric;
use analysis::stopping::WovenObserver;
use engine::woven::Board;
use model::adjust::AppliedSetting;
use model::order::Order;
use model::plan::{ApprovedPlan, TrialEnd, Unfit, unfit};
use model::run::Status;
use model::schedule::{self, Slot};
use model::trial::{Outcome, TrialRecord};
use model::warning::Warning;
use model::woven::{self, Exchange, Slice, exchange};
use model::{Cell, Nanos, Pass, Role};

use crate::arm::{self, ArmController, ArmError};
use crate::connection::Credentials;
use crate::error::TrialError;
use crate::event::{Event, Listener};
use crate::lacking;
use crate::refusal::Refusal;
use crate::remote::HostError;
use crate::session::{Session, Setting};
use crate::study::{StudyError, close};
use crate::trial::TrialSpec;
use crate::trial::woven::{Torn, Woven, WovenArm, run as run_instance};

/// Runs a plan with woven arms to the first look that settles every verdict by the metrics of `gate`, or to its last
/// instance. A block is one instance of each cell.
///
/// # Errors
/// See [`StudyError`]. Failures of single instances are recorded, not errors.
pub fn run(plan: &ApprovedPlan, gate: &[Metric], credentials: &Credentials, listener: &mut dyn Listener) -> Result<Status, StudyError> {
    let Some(mut weaver) = Weaver::open(plan, credentials, listener)? else { return Ok(Status::Interrupted) };
    let outcome = weaver.rehearse().and_then(|()| weaver.opened()).and_then(|()| weaver.run_blocks(gate));
    weaver.conclude(outcome)
}

/// Owner of everything that a woven study needs.
struct Weaver<'a> {
    plan: &'a ApprovedPlan,
    listener: &'a mut dyn Listener,
    // Before the hosts, which inherit it.
    board: Board,
    /// Hosts and link, one pair for each arm.
    sessions: Vec<Session>,
    arms: ArmController,
    late: LateMarks,
}

/// Marks of a controller that may not come before the ends.
#[derive(Debug, Default)]
struct LateMarks {
    /// The system's answer; `None` where it may.
    refused: Option<io::Error>,
    /// Lateness of each slice's end since.
    times: Vec<Nanos>,
}

impl LateMarks {
    fn note(&mut self, refused: Option<io::Error>, slices: &[Slice]) {
        self.refused = refused.or(self.refused.take());
        if self.refused.is_some() {
            self.times.extend(slices.iter().map(|slice| slice.late));
        }
    }

    /// Says how late they were, if they were.
    fn warning(self) -> Option<Warning> {
        let answer = self.refused?;
        let mut times = self.times;
        times.order();
        let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
        let remedy = format!(
            "Slices end late, by {} in the median and {} in one of a hundred, and their true times are kept; run nettoll as root, or give it \
             CAP_SYS_NICE.",
            at(50),
            at(99)
        );
        Some(Warning::Absent(Refusal::new("real-time priority for the controller of woven arms", answer, remedy)))
    }
}

/// An arm of an instance: the number of its pair of hosts, its cell, and what was set on its hosts and read back.
struct PreparedArm {
    pair: usize,
    cell: Cell,
    taken: Vec<AppliedSetting>,
}

impl<'a> Weaver<'a> {
    /// Makes the hosts of all arms; `None` where the user wants no more.
    fn open(plan: &'a ApprovedPlan, credentials: &Credentials, listener: &'a mut dyn Listener) -> Result<Option<Self>, StudyError> {
        if let Some(why) = unfit(plan) {
            return Err(StudyError::NotWoven(why));
        }
        let board = Board::new().map_err(|answer| {
            let remedy = "compare the arms in turn (--in-turn)";
            HostError::from(Refusal::new("make the memory that woven ends share (memfd_create)", answer, remedy))
        })?;
        let mut sessions = Vec::new();
        for _ in &plan.arms {
            match Session::open_as(&Setting::first(plan), plan, credentials, listener) {
                Ok(session) => sessions.push(session),
                Err(error) => return StudyError::not_opened(error).map_or(Ok(None), Err),
            }
        }
        let Some(first) = sessions.first_mut() else { return Err(StudyError::NotWoven(Unfit::NoArms)) };
        let arms = ArmController::open(plan, first)?;
        let commands = plan.arms.iter().any(|arm| arm.host_settings().has_commands());
        if arms.changes_machine() || commands && !first.is_isolated() {
            return Err(StudyError::NotWoven(Unfit::HostWide));
        }
        if first.facts().iter().any(|facts| facts.irq_time_subtracted == Some(true)) {
            return Err(StudyError::NotWoven(Unfit::InterruptTime));
        }
        Ok(Some(Self { plan, listener, board, sessions, arms, late: LateMarks::default() }))
    }

    /// Tries each arm before anything is measured: one that is refused would fail every instance.
    fn rehearse(&mut self) -> Result<(), StudyError> {
        let session = &mut self.sessions[0];
        for (place, arm) in self.plan.arms.iter().enumerate() {
            let tried = session.bind(&arm.host_settings().cpus).map_err(ArmError::from);
            let tried = tried.and_then(|()| self.arms.rehearse(session, self.plan, place));
            let tried = tried.and_then(|()| lacking::of_arm(arm).map_or(Ok(()), |why| Err(ArmError::Lacking(why))));
            tried.map_err(|error| StudyError::OneArm { arm: arm.name.clone(), error })?;
        }
        Ok(session.bind(&BTreeMap::new())?)
    }

    fn opened(&mut self) -> Result<(), StudyError> {
        let first = &self.sessions[0];
        let event = Event::Opened { hosts: first.facts(), warnings: first.warnings(), control: None, between: &[] };
        self.listener.hear(&event).map(drop).map_err(StudyError::Listener)
    }

    fn run_blocks(&mut self, gate: &[Metric]) -> Result<Status, StudyError> {
        let mut observer = WovenObserver::new(self.plan, gate);
        for number in 0..self.plan.blocks.most {
            if self.tell(&Event::BlockStarted { block: number })?.is_break() || self.run_block(number, &mut observer)?.is_break() {
                return Ok(Status::Interrupted);
            }
            let _ = self.tell(&Event::BlockDone { blocks: number + 1 })?;
            if observer.is_settled(number + 1) {
                return Ok(Status::Settled);
            }
        }
        Ok(Status::BlocksDone)
    }

    /// One instance of each cell.
    fn run_block(&mut self, number: u32, observer: &mut WovenObserver) -> Result<ControlFlow<()>, StudyError> {
        let (mut position, mut works, mut last_failure) = (0, false, None);
        for cell in woven::order(self.plan.seed, u32::MAX, number, self.plan.cells.len()) {
            let (slices, records) = self.run_instance(cell, number, &mut position)?;
            observer.push_slices(cell, number, &slices);
            if self.tell(&Event::Slices { cell, instance: number, slices: &slices })?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            for record in &records {
                match &record.outcome {
                    Outcome::Failed { error, .. } => last_failure = Some(error.clone()),
                    Outcome::Measured(_) | Outcome::Skipped { .. } => works = true,
                }
                observer.push(record);
                if self.tell(&Event::Trial(record))?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        match last_failure.filter(|_| !works) {
            Some(error) => Err(StudyError::NothingWorks(error)),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    /// Carries out an instance of a cell; returns its slices, and the trial of each arm.
    fn run_instance(&mut self, cell: usize, number: u32, position: &mut u32) -> Result<(Vec<Slice>, Vec<TrialRecord>), StudyError> {
        let started_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let planned = &self.plan.cells[cell];
        let place = number.wrapping_add((cell as u32).wrapping_mul(1 << 20));
        let Exchange { pairs, swapped } = exchange(self.plan.seed, place, self.plan.arms.len());
        let (mut outcomes, mut slices, mut all_taken, mut torn_apart) = (Vec::new(), Vec::new(), Vec::new(), false);
        match self.prepare(cell, &pairs, swapped) {
            Ok(arms) => {
                match self.weave(cell, number, place, &arms, swapped) {
                    Ok(woven) => {
                        slices = woven.slices;
                        self.late.note(woven.not_first, &slices);
                        outcomes.extend(woven.arms.into_iter().map(|done| Ok((done.measured, done.warnings))));
                    }
                    Err(torn) if torn.error.is_loss_of_host() => return Err(not_carried_out(torn.error)),
                    Err(torn) => {
                        (slices, torn_apart) = (torn.slices, true);
                        outcomes.extend(arms.iter().map(|_| Err(torn.error.to_string())));
                    }
                }
                all_taken.extend(arms.into_iter().map(|arm| arm.taken));
            }
            Err(ArmError::Trial(error)) => outcomes.extend(pairs.iter().map(|_| Err(error.to_string()))),
            Err(error) => return Err(error.into()),
        }
        for (arm, (pair, outcome)) in pairs.iter().zip(&mut outcomes).enumerate() {
            let session = &mut self.sessions[*pair];
            let bound = outcome.as_ref().ok().and_then(|(measured, _)| self.arms.not_bound(arm, measured, swapped));
            let slot = Slot { cell, arm, pass: Pass::Clean };
            let concluded = arm::of_trial(self.arms.conclude(session, self.plan, slot, swapped))?;
            if let (Some(error), true) = (bound.or(concluded), outcome.is_ok()) {
                *outcome = Err(error.to_string());
            }
            session.bind(&BTreeMap::new())?;
        }
        let length = self.plan.slice_times(planned).measured;
        let mut records = Vec::new();
        for (arm, outcome) in outcomes.into_iter().enumerate() {
            let as_run = self.plan.cell_in(planned, arm).unwrap_or_else(|_| planned.clone());
            let (outcome, warnings) = match outcome {
                Ok((mut measured, warnings)) => {
                    let its = slices.iter().filter(|slice| slice.arm as usize == arm);
                    match measured.measure_slices(&as_run, its, length) {
                        true => (Outcome::Measured(Box::new(measured)), warnings),
                        false => {
                            (failed("no slice of it counts: its ends measured different times, or its receiver did not take everything in time; is the machine busy? Compare the arms in turn (--in-turn)".to_owned()), warnings)
                        }
                    }
                }
                Err(error) => (failed(error), Vec::new()),
            };
            let mut record = TrialRecord {
                block: number,
                position: *position,
                swapped,
                started_ms,
                as_run: Some(Box::new(as_run)),
                arm: Some(self.plan.arms[arm].name.clone()),
                taken: all_taken.get_mut(arm).map(std::mem::take).unwrap_or_default(),
                warnings,
                ..TrialRecord::new(planned.clone(), outcome)
            };
            let overhead = |role| self.sessions[pairs[arm]].loop_overhead_ns(role, swapped);
            let found = audit::warnings(&record, overhead(Role::Sender).max(overhead(Role::Receiver)), self.plan);
            record.warnings.extend(found);
            if let (Some(error), Outcome::Measured(_)) = (arm::not_taken(&self.plan.arms[arm], &record.warnings), &record.outcome) {
                record.outcome = failed(error);
            }
            *position += 1;
            records.push(record);
        }
        // An arm that was not as it was to be gives no verdict. An instance that died gives what it has.
        let measured = |slice: &Slice| matches!(records.get(slice.arm as usize).map(|one| &one.outcome), Some(Outcome::Measured(_)));
        slices.retain(|slice| torn_apart || measured(slice));
        Ok((slices, records))
    }

    /// Brings each arm's hosts to its state.
    fn prepare(&mut self, cell: usize, pairs: &[usize], swapped: bool) -> Result<Vec<PreparedArm>, ArmError> {
        let mut prepared = Vec::new();
        for (arm, pair) in pairs.iter().enumerate() {
            let session = &mut self.sessions[*pair];
            if let Some(settings) = self.arms.settings(arm) {
                session.bind(&settings.cpus)?;
            }
            let (cell, taken) = self.arms.prepare(session, self.plan, Slot { cell, arm, pass: Pass::Clean }, swapped)?;
            prepared.push(PreparedArm { pair: *pair, cell, taken });
        }
        Ok(prepared)
    }

    /// Has the arms take turns.
    fn weave(&mut self, cell: usize, number: u32, place: u32, arms: &[PreparedArm], swapped: bool) -> Result<Woven, Box<Torn>> {
        let planned = &self.plan.cells[cell];
        let seed = schedule::trial_seed(self.plan.seed, number, cell);
        let spec = |arm: usize| TrialSpec {
            end: TrialEnd::Length(self.plan.instance_length(planned)),
            arm: self.arms.settings(arm).filter(|settings| settings.tool.is_some()),
            seed,
            ..TrialSpec::clean(self.plan, &arms[arm].cell, swapped)
        };
        // By the pairs' order, so that each is borrowed once.
        let mut sessions: Vec<Option<&mut Session>> = self.sessions.iter_mut().map(Some).collect();
        let own = |(number, arm): (usize, &PreparedArm)| Some(WovenArm { session: sessions[arm.pair].take()?, spec: spec(number) });
        let woven: Vec<WovenArm> = arms.iter().enumerate().filter_map(own).collect();
        run_instance(&self.board, woven, self.plan.slice_times(planned), |round| woven::order(self.plan.seed, place, round, arms.len()))
    }

    /// Sets everything back, and tells how the study ended.
    fn conclude(&mut self, outcome: Result<Status, StudyError>) -> Result<Status, StudyError> {
        for session in &mut self.sessions {
            self.arms.rest(session);
        }
        self.sessions[0].inherit(std::mem::take(&mut self.late).warning().into_iter().collect());
        close(&mut self.sessions[0], self.listener, outcome)
    }

    fn tell(&mut self, event: &Event) -> Result<ControlFlow<()>, StudyError> {
        self.listener.hear(event).map_err(StudyError::Listener)
    }
}

const fn failed(error: String) -> Outcome {
    Outcome::Failed { error, lost: false }
}

fn not_carried_out(error: TrialError) -> StudyError {
    let words = error.to_string();
    StudyError::not_opened(error).unwrap_or(StudyError::NothingWorks(words))
}

#[cfg(test)]
mod tests {
    use std::io;

    use model::Nanos;
    use model::woven::Slice;

    use super::LateMarks;

    #[test]
    fn late_marks_are_told_with_how_late_they_are() {
        let slices: Vec<Slice> = (0..100).map(|late| Slice { late: Nanos::from_millis(late / 10), ..Slice::default() }).collect();
        let mut late = LateMarks::default();
        late.note(None, &slices);
        late.note(Some(io::ErrorKind::PermissionDenied.into()), &slices[..60]);
        late.note(None, &slices[60..]);
        let warning = late.warning().unwrap();
        let words = format!("{warning}. {}", warning.remedy());
        assert!(words.contains("permission denied") && words.contains("by 5 ms in the median and 9 ms in one of a hundred"), "{words}");
        assert!(LateMarks::default().warning().is_none());
    }
}
