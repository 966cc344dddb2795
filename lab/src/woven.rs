//! A study whose arms or ways of sending are woven: hosts and a link for each member of a group, all of them alive, and
//! instances in which they take turns, until a look settles every verdict.

mod rest;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::ControlFlow;

use analysis::audit;
use analysis::stopping::WovenObserver;
use analysis::verdict::Gate;
use engine::woven::Board;
use model::adjust::AppliedSetting;
use model::plan::{ApprovedPlan, Group, Member, TrialEnd, Unfit, unfit};
use model::run::Status;
use model::schedule::{self, Slot};
use model::sorting::Order;
use model::trial::{Outcome, TrialRecord};
use model::warning::Warning;
use model::woven::{self, Slice, exchange};
use model::{Cell, Nanos, Pass, Role};

pub use rest::Rest;

use crate::arm::{self, ArmController, ArmError};
use crate::connection::Credentials;
use crate::error::TrialError;
use crate::event::{Event, Listener, Quiet};
use crate::refusal::Refusal;
use crate::remote::HostError;
use crate::session::{Session, Setting};
use crate::study::{Past, Resumed, StudyError, begin, close, inherit, rehearse};
use crate::trial::woven::{Torn, Woven, WovenArm, run as run_instance};
use crate::trial::{self, Done, TrialSpec};

/// Runs a woven plan to the first look that settles every verdict by `gate`, or to its last instance. A
/// block is one instance of each group.
///
/// # Errors
/// See [`StudyError`]. Failures of single instances are recorded, not errors.
pub fn run(plan: &ApprovedPlan, gate: &Gate, credentials: &Credentials, listener: &mut dyn Listener) -> Result<Status, StudyError> {
    let Some(mut weaver) = Weaver::open(plan, credentials, listener)? else { return Ok(Status::Interrupted) };
    let mut observer = WovenObserver::new(plan, gate);
    weaver.carry_out(&Rest::default(), &mut observer)
}

/// Goes on with a woven run that was stopped. Its trials and slices are those before its [`Rest`].
///
/// # Errors
/// See [`StudyError`]. Where the run cannot go on, the listener hears nothing.
pub fn resume(
    plan: &ApprovedPlan,
    gate: &Gate,
    credentials: &Credentials,
    past: Past,
    listener: &mut dyn Listener,
) -> Result<Resumed, StudyError> {
    let mut observer = WovenObserver::new(plan, gate);
    past.slices.for_each(|(group, instance, slices)| observer.push_slices(group, instance, &slices));
    let rest = Rest::after(plan, &mut past.trials.inspect(|record| observer.push(record)).map(Some))?;
    let settled = rest.done.is_empty() && observer.is_settled(rest.block);
    if settled || rest.block >= plan.blocks.most {
        // Killed between its last trial and its end, it does not know yet.
        let status = if settled { Status::Settled } else { Status::BlocksDone };
        let _ = listener.hear(&Event::Closed { hosts: &[], warnings: past.warnings, status: &status }).map_err(StudyError::Listener)?;
        return Ok(Resumed { status, nothing_left: true });
    }
    let fresh = rest.lines == 0;
    if past.hosts.is_empty() && !fresh {
        return Err(StudyError::NoFacts);
    }
    let Some(mut weaver) = Weaver::open(plan, credentials, listener)? else {
        return Ok(Resumed { status: Status::Interrupted, nothing_left: false });
    };
    if !fresh {
        inherit(&mut weaver.sessions[0], past.hosts, past.warnings, rest.lines)?;
    }
    weaver.carry_out(&rest, &mut observer).map(|status| Resumed { status, nothing_left: false })
}

/// Number of a group's instance in a block among those of all groups.
const fn place_of(block: u32, group: usize) -> u32 {
    block.wrapping_add((group as u32).wrapping_mul(1 << 20))
}

/// Owner of everything that a woven study needs.
struct Weaver<'a> {
    plan: &'a ApprovedPlan,
    listener: &'a mut dyn Listener,
    // Before the hosts, which inherit it.
    board: Board,
    /// Hosts and link, one pair for each member of the largest group.
    sessions: Vec<Session>,
    arms: ArmController,
    groups: Vec<Group>,
    /// How often a cell could not take part, and the first reason.
    refused: HashMap<Cell, (u32, String)>,
    late: LateMarks,
    /// Blocks in a row in which no instance had a slice.
    empty: u32,
    /// A trial was measured or left out, in this session or before.
    worked: bool,
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
            "Timers end the slices, except in flows with an external program, late by {} in the median and {} in one of a hundred; slices may \
             begin late. True times are kept. Run nettoll as root, or give it CAP_SYS_NICE.",
            at(50),
            at(99)
        );
        Some(Warning::Absent(Refusal::new("real-time priority for the controller of woven arms", answer, remedy)))
    }
}

/// A group in a block.
#[derive(Debug, Clone, Copy)]
struct At {
    /// Place of the group.
    group: usize,
    /// Number of the block.
    number: u32,
    /// Number of the instance among those of all groups.
    place: u32,
    /// Host `b` of each pair sends.
    swapped: bool,
}

/// What came of an instance.
struct WovenGroup {
    /// Slices of all members, by their places in the group.
    slices: Vec<Slice>,
    /// The trial of each member, or why there is none.
    outcomes: Vec<Result<Done, String>>,
    /// It was not carried out to its end.
    torn_apart: bool,
}

/// A member of an instance: the number of its pair of hosts, its cell, and what was set on its hosts and read back.
struct PreparedArm {
    member: Member,
    pair: usize,
    cell: Cell,
    taken: Vec<AppliedSetting>,
}

impl<'a> Weaver<'a> {
    /// Makes the hosts of all members; `None` where the user wants no more.
    fn open(plan: &'a ApprovedPlan, credentials: &Credentials, listener: &'a mut dyn Listener) -> Result<Option<Self>, StudyError> {
        if let Some(why) = unfit(plan) {
            return Err(StudyError::NotWoven(why));
        }
        let board = Board::new().map_err(|answer| {
            let remedy = "compare in turn (--in-turn)";
            HostError::from(Refusal::new("make the memory that woven ends share (memfd_create)", answer, remedy))
        })?;
        let mut sessions = Vec::new();
        let groups = plan.groups();
        let woven = groups.iter().filter(|group| group.in_turn.is_none());
        for _ in 0..woven.map(|group| group.members.len()).max().unwrap_or_default() {
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
        let (refused, late) = (HashMap::new(), LateMarks::default());
        Ok(Some(Self { plan, listener, board, sessions, arms, groups, refused, late, empty: 0, worked: false }))
    }

    /// Runs the rest, sets the hosts back and tells how the study ended.
    fn carry_out(&mut self, rest: &Rest, observer: &mut WovenObserver) -> Result<Status, StudyError> {
        let first = &mut self.sessions[0];
        let begun = rehearse(&mut self.arms, first, self.plan).and_then(|()| begin(first, rest.lines, self.listener));
        let outcome = begun.and_then(|()| self.run_blocks(rest, observer));
        for session in &mut self.sessions {
            self.arms.rest(session);
        }
        self.sessions[0].inherit(std::mem::take(&mut self.late).warning().into_iter().collect());
        close(&mut self.sessions[0], self.listener, outcome)
    }

    fn run_blocks(&mut self, rest: &Rest, observer: &mut WovenObserver) -> Result<Status, StudyError> {
        self.worked = rest.worked;
        for number in rest.block..self.plan.blocks.most {
            if self.tell(&Event::BlockStarted { block: number })?.is_break() || self.run_block(number, rest, observer)?.is_break() {
                return Ok(Status::Interrupted);
            }
            let _ = self.tell(&Event::BlockDone { blocks: number + 1 })?;
            if !self.worked && number + 1 == self.plan.blocks.most {
                return Err(StudyError::NothingWorks(NO_SLICE.to_owned()));
            }
            let Some(look) = observer.look(number + 1) else { continue };
            let _ = self.tell(&Event::Look(&look))?;
            if look.is_enough {
                return Ok(Status::Settled);
            }
        }
        Ok(Status::BlocksDone)
    }

    /// Each group of the rest once: an instance, or its trials in turn.
    fn run_block(&mut self, number: u32, rest: &Rest, observer: &mut WovenObserver) -> Result<ControlFlow<()>, StudyError> {
        let (mut position, mut works, mut last_failure, mut by_chance) = (0, false, None, self.worked);
        let is_whole = number != rest.block || rest.done.is_empty();
        for group in woven::order(self.plan.seed, u32::MAX, number, self.groups.len()) {
            if rest.has(group, number) {
                position += self.groups[group].members.len() as u32;
                continue;
            }
            let place = place_of(number, group);
            let exchange = exchange(self.plan.seed, place, self.groups[group].members.len());
            let at = At { group, number, place, swapped: exchange.swapped };
            let Instance { slices, mut records, lacks_slices } = match self.groups[group].in_turn {
                None => self.run_instance(at, &exchange.pairs)?,
                Some(_) => Instance { slices: Vec::new(), records: self.run_in_turn(at)?, lacks_slices: false },
            };
            by_chance |= lacks_slices;
            if !slices.is_empty() {
                observer.push_slices(group, number, &slices);
                if self.tell(&Event::Slices { group, instance: number, slices: &slices })?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            for record in &mut records {
                match &record.outcome {
                    Outcome::Failed { error, .. } => last_failure = Some(error.clone()),
                    Outcome::Measured(_) | Outcome::Skipped { .. } => works = true,
                }
                record.position = position;
                position += 1;
                observer.push(record);
                if self.tell(&Event::Trial(record))?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        // Whether anything works is not asked of half a block.
        let Some(error) = last_failure.filter(|_| !works && is_whole) else {
            (self.empty, self.worked) = (0, self.worked || works);
            return Ok(ControlFlow::Continue(()));
        };
        // A busy machine may keep an instance from any whole slice, also where another member is left out for good, and a
        // program from stopping in time: the next instance begins at another time.
        self.empty += 1;
        match by_chance && self.empty < MOST_EMPTY {
            true => Ok(ControlFlow::Continue(())),
            false => Err(StudyError::NothingWorks(error)),
        }
    }

    /// Carries out an instance of a group.
    fn run_instance(&mut self, at: At, pairs: &[usize]) -> Result<Instance, StudyError> {
        let (started_ms, group) = (sys::clock::unix_ms(), self.groups[at.group].clone());
        let (mut outcomes, mut slices, mut all_taken) = (Vec::new(), Vec::new(), Vec::new());
        let (mut torn_apart, mut lacks_slices) = (false, false);
        match self.prepare(&group, pairs, at.swapped) {
            Ok(arms) => {
                let woven = self.weave(at, &arms)?;
                (slices, outcomes, torn_apart) = (woven.slices, woven.outcomes, woven.torn_apart);
                all_taken.extend(arms.into_iter().map(|arm| arm.taken));
            }
            Err(ArmError::Trial(error)) => outcomes.extend(pairs.iter().map(|_| Err(error.to_string()))),
            Err(error) => return Err(error.into()),
        }
        let length = self.plan.slice_times(&group).measured;
        let mut records = Vec::new();
        for (place, ((member, pair), mut outcome)) in group.members.iter().zip(pairs).zip(outcomes).enumerate() {
            let session = &mut self.sessions[*pair];
            let settings = self.arms.settings(member.arm);
            let bound =
                outcome.as_ref().ok().zip(settings).and_then(|(done, arm)| arm::not_bound(arm, session, &done.measured, at.swapped));
            let concluded = arm::of_trial(self.arms.conclude(session, self.plan, slot(*member), at.swapped))?;
            if let (Some(error), true) = (bound.or(concluded), outcome.is_ok()) {
                outcome = Err(error.to_string());
            }
            session.bind(&BTreeMap::new())?;
            let as_run = self.as_run(*member);
            let outcome = outcome.and_then(|mut done| {
                let its = slices.iter().filter(|slice| slice.arm as usize == place);
                let is_measured = done.measured.measure_slices(&as_run, its, length);
                lacks_slices |= !is_measured;
                if is_measured { Ok(done) } else { Err(NO_SLICE.to_owned()) }
            });
            let taken = all_taken.get_mut(place).map(std::mem::take).unwrap_or_default();
            records.push(TrialRecord { started_ms, ..self.record(at, *member, *pair, outcome, taken) });
        }
        // A member that was not as it was to be gives no verdict. An instance that died gives what it has.
        let measured = |slice: &Slice| matches!(records.get(slice.arm as usize).map(|one| &one.outcome), Some(Outcome::Measured(_)));
        slices.retain(|slice| torn_apart || measured(slice));
        Ok(Instance { slices, records, lacks_slices })
    }

    /// Carries out a trial of each member, one after the other.
    fn run_in_turn(&mut self, at: At) -> Result<Vec<TrialRecord>, StudyError> {
        let group = self.groups[at.group].clone();
        let mut records = Vec::new();
        for place in woven::order(self.plan.seed, at.place, 0, group.members.len()) {
            let (started_ms, member) = (sys::clock::unix_ms(), group.members[place]);
            let alone = Group { members: vec![member], in_turn: group.in_turn };
            let (outcome, taken) = match self.prepare(&alone, &[0], at.swapped) {
                Ok(mut arms) => {
                    let PreparedArm { cell, taken, .. } = arms.remove(0);
                    let seed = schedule::trial_seed(self.plan.seed, at.number, member.cell);
                    let spec = TrialSpec { seed, ..TrialSpec::clean(self.plan, &cell, at.swapped) };
                    match trial::run(&mut self.sessions[0], spec, &mut Quiet) {
                        Err(error) if error.is_loss_of_host() => return Err(not_carried_out(error)),
                        came => (came.map_err(|error| error.to_string()), taken),
                    }
                }
                Err(ArmError::Trial(error)) => (Err(error.to_string()), Vec::new()),
                Err(error) => return Err(error.into()),
            };
            records.push(TrialRecord { started_ms, ..self.record(at, member, 0, outcome, taken) });
        }
        Ok(records)
    }

    /// The record of a member's trial, with the doubts that it raises.
    fn record(&self, at: At, member: Member, pair: usize, outcome: Result<Done, String>, taken: Vec<AppliedSetting>) -> TrialRecord {
        let (outcome, warnings) = match outcome {
            Ok(Done { measured, warnings }) => (Outcome::Measured(Box::new(measured)), warnings),
            Err(error) => (failed(error), Vec::new()),
        };
        let arm = self.plan.arms.get(member.arm);
        let mut record = TrialRecord {
            block: at.number,
            group: Some(at.group as u32),
            swapped: at.swapped,
            as_run: arm.map(|_| Box::new(self.as_run(member))),
            arm: arm.map(|arm| arm.name.clone()),
            taken,
            warnings,
            ..TrialRecord::new(self.plan.cells[member.cell].clone(), outcome)
        };
        let overhead = |role| self.sessions[pair].loop_overhead_ns(role, at.swapped);
        let found = audit::warnings(&record, overhead(Role::Sender).max(overhead(Role::Receiver)), self.plan);
        record.warnings.extend(found);
        if let (Some(error), Outcome::Measured(_)) = (arm.and_then(|arm| arm::not_taken(arm, &record.warnings)), &record.outcome) {
            record.outcome = failed(error);
        }
        record
    }

    fn as_run(&self, member: Member) -> Cell {
        let planned = &self.plan.cells[member.cell];
        self.plan.cell_in(planned, member.arm).unwrap_or_else(|_| planned.clone())
    }

    /// Brings each member's hosts to its state.
    fn prepare(&mut self, group: &Group, pairs: &[usize], swapped: bool) -> Result<Vec<PreparedArm>, ArmError> {
        let mut prepared = Vec::new();
        for (member, pair) in group.members.iter().zip(pairs) {
            let session = &mut self.sessions[*pair];
            if let Some(settings) = self.arms.settings(member.arm) {
                session.bind(&settings.cpus)?;
            }
            let (cell, taken) = self.arms.prepare(session, self.plan, slot(*member), swapped)?;
            prepared.push(PreparedArm { member: *member, pair: *pair, cell, taken });
        }
        Ok(prepared)
    }

    /// Has the members take turns. One that this machine refuses, or that does not do its part, is left out, where the
    /// reference and another can go on without it.
    fn weave(&mut self, at: At, arms: &[PreparedArm]) -> Result<WovenGroup, StudyError> {
        let known = |arm: &PreparedArm| self.refused.get(&arm.cell).filter(|(times, _)| *times >= TRIES).map(|(_, error)| error.clone());
        let mut left_out: Vec<Option<String>> = arms.iter().map(known).collect();
        loop {
            let left: Vec<usize> = (0..arms.len()).filter(|place| left_out[*place].is_none()).collect();
            let mut torn = match self.weave_all(at, &left.iter().map(|place| &arms[*place]).collect::<Vec<_>>()) {
                Ok(woven) => {
                    let mut done = woven.arms.into_iter();
                    self.late.note(woven.not_first, &woven.slices);
                    let outcomes = left_out.into_iter().map(|why| why.map_or_else(|| done.next().ok_or_else(String::new), Err)).collect();
                    return Ok(WovenGroup { slices: numbered(woven.slices, &left), outcomes, torn_apart: false });
                }
                Err(torn) if torn.error.is_loss_of_host() => return Err(not_carried_out(torn.error)),
                Err(torn) => torn,
            };
            let error = torn.error.to_string();
            match torn.arm.map(|place| left[place]).filter(|place| *place > 0 && left.len() > 2) {
                Some(place) => {
                    self.refused.entry(arms[place].cell.clone()).or_insert((0, error.clone())).0 += 1;
                    left_out[place] = Some(error);
                }
                None => {
                    let slices = numbered(std::mem::take(&mut torn.slices), &left);
                    let outcomes = left_out.into_iter().map(|why| Err(why.unwrap_or_else(|| error.clone()))).collect();
                    return Ok(WovenGroup { slices, outcomes, torn_apart: true });
                }
            }
        }
    }

    fn weave_all<'s>(&'s mut self, at: At, arms: &[&'s PreparedArm]) -> Result<Woven, Box<Torn>> {
        let (plan, group, controller) = (self.plan, &self.groups[at.group], &self.arms);
        // By the pairs' order, so that each is borrowed once.
        let mut sessions: Vec<Option<&mut Session>> = self.sessions.iter_mut().map(Some).collect();
        let own = |arm: &&'s PreparedArm| -> Option<WovenArm<'s>> {
            let spec = TrialSpec {
                end: TrialEnd::Length(plan.instance_length(group)),
                arm: controller.settings(arm.member.arm).filter(|settings| settings.tool.is_some()),
                seed: schedule::trial_seed(plan.seed, at.number, arm.member.cell),
                ..TrialSpec::clean(plan, &arm.cell, at.swapped)
            };
            Some(WovenArm { session: sessions[arm.pair].take()?, spec })
        };
        let woven: Vec<WovenArm> = arms.iter().filter_map(own).collect();
        let order = |round| woven::order(self.plan.seed, at.place, round, arms.len());
        run_instance(&self.board, woven, self.plan.slice_times(group), order)
    }

    fn tell(&mut self, event: &Event) -> Result<ControlFlow<()>, StudyError> {
        self.listener.hear(event).map_err(StudyError::Listener)
    }
}

/// The outcome of an instance of a group.
struct Instance {
    slices: Vec<Slice>,
    /// The trial of each member.
    records: Vec<TrialRecord>,
    /// A member had no slice that counts.
    lacks_slices: bool,
}

/// Failures of a cell after which it is not tried again.
const TRIES: u32 = 2;

/// Blocks in a row without a slice after which the study gives up.
const MOST_EMPTY: u32 = 8;

/// The error of a trial that has no slice.
const NO_SLICE: &str = "no slice of it counts: its ends measured different times, or its receiver did not take everything in time; is the \
                        machine busy? Compare in turn (--in-turn)";

const fn slot(member: Member) -> Slot {
    Slot { cell: member.cell, arm: member.arm, pass: Pass::Clean }
}

/// Slices by the places that those who took turns have in their group.
fn numbered(mut slices: Vec<Slice>, places: &[usize]) -> Vec<Slice> {
    slices.iter_mut().for_each(|slice| slice.arm = places.get(slice.arm as usize).map_or(slice.arm, |place| *place as u32));
    slices
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
