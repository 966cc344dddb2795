//! What is left to measure of a fleet that was stopped.

use std::collections::HashMap;

use analysis::fleet::{Meeting, Slot, schedule};
use model::trial::Outcome;
use model::{Cell, Plan, TrialRecord};

use super::Missed;
use crate::study::StudyError;

/// Highest number of a round that is believed: no run has so many.
const LAST_ROUND: u32 = 1 << 30;

/// The rounds of a plan without what is stored of them.
#[derive(Debug)]
pub(super) struct Rest {
    /// Trials that are stored.
    pub trials: u64,
    /// Meetings of which nothing is stored, by round.
    pub rounds: Vec<(u32, Vec<Meeting>)>,
    /// Meetings of which something is missing: they are made up for at the end.
    pub missed: Vec<Missed>,
    /// Number of the first round beyond those of the plan and of the past.
    pub next: u32,
}

/// A meeting of the plan, with its stored trials.
struct MeetingState {
    meeting: Meeting,
    /// Whether each of its slots was measured, in its own round.
    measured: Vec<bool>,
    /// Something is stored, if only a failure.
    seen: bool,
}

/// A direction of a cell: the places of sender, receiver and cell.
type Way = (usize, usize, usize);

impl Rest {
    /// Everything.
    pub fn whole(plan: &Plan) -> Self {
        let rounds: Vec<_> = (0..).zip(schedule(plan)).collect();
        Self { trials: 0, next: rounds.len() as u32, rounds, missed: Vec::new() }
    }

    /// What these trials leave. A trial that failed is missing, until a later one of the same
    /// round, or of a round beyond the plan's, was measured in its place.
    ///
    /// # Errors
    /// [`StudyError::OtherTrials`]: a trial that the plan does not have in its round, or that
    /// was measured twice.
    pub fn after(plan: &Plan, trials: &mut dyn Iterator<Item = TrialRecord>) -> Result<Self, StudyError> {
        let mut past = Past::new(plan);
        for record in trials {
            let (block, position) = (record.block, record.position);
            past.push(&record).ok_or(StudyError::OtherTrials { block, position })?;
        }
        past.finish()
    }

    /// Returns whether nothing is left.
    pub const fn is_empty(&self) -> bool {
        self.rounds.is_empty() && self.missed.is_empty()
    }
}

struct Past<'a> {
    cells: &'a [Cell],
    hosts: HashMap<&'a str, usize>,
    rounds: Vec<Vec<MeetingState>>,
    /// Place of each host's meeting in each round.
    meeting_of: Vec<HashMap<usize, usize>>,
    /// Trials measured beyond the plan's rounds, in place of some that were missed.
    made_up: HashMap<Way, u32>,
    trials: u64,
    next: u32,
}

impl<'a> Past<'a> {
    fn new(plan: &'a Plan) -> Self {
        let known = |meeting: Meeting| MeetingState { measured: vec![false; meeting.slots.len()], meeting, seen: false };
        let rounds: Vec<Vec<MeetingState>> = schedule(plan).into_iter().map(|round| round.into_iter().map(known).collect()).collect();
        let meetings = |round: &Vec<MeetingState>| {
            round.iter().enumerate().flat_map(|(at, known)| known.meeting.hosts.map(|host| (host, at))).collect::<HashMap<_, _>>()
        };
        let names = plan.fleet.iter().flat_map(|fleet| fleet.hosts.iter().enumerate());
        Self {
            cells: &plan.cells,
            hosts: names.map(|(place, host)| (host.name.as_str(), place)).collect(),
            meeting_of: rounds.iter().map(meetings).collect(),
            next: rounds.len() as u32,
            rounds,
            made_up: HashMap::new(),
            trials: 0,
        }
    }

    /// Takes note of a trial; `None` of one that cannot be the plan's.
    fn push(&mut self, record: &TrialRecord) -> Option<()> {
        let [sender, receiver] = record.hosts.as_ref()?.each_ref().map(|name| self.hosts.get(name.as_str()).copied());
        let (sender, receiver) = (sender?, receiver?);
        let cell = self.cells.iter().position(|cell| *cell == record.cell)?;
        let measured = !matches!(record.outcome, Outcome::Failed { .. });
        self.trials += 1;
        let Some(round) = self.rounds.get_mut(record.block as usize) else {
            if record.block > LAST_ROUND {
                return None;
            }
            self.next = self.next.max(record.block + 1);
            if measured {
                *self.made_up.entry((sender, receiver, cell)).or_default() += 1;
            }
            return Some(());
        };
        let known = &mut round[*self.meeting_of[record.block as usize].get(&sender)?];
        let wanted = Slot { cell, swapped: record.swapped };
        if known.meeting.hosts != if record.swapped { [receiver, sender] } else { [sender, receiver] } {
            return None;
        }
        let slot = known.meeting.slots.iter().position(|slot| *slot == wanted)?;
        known.seen = true;
        if measured && std::mem::replace(&mut known.measured[slot], true) {
            return None;
        }
        Some(())
    }

    fn finish(mut self) -> Result<Rest, StudyError> {
        let planned = self.rounds.len() as u32;
        let (mut rounds, mut missed) = (Vec::new(), Vec::new());
        for (round, meetings) in (0..).zip(self.rounds) {
            let mut whole = Vec::new();
            for mut known in meetings {
                for (slot, measured) in known.meeting.slots.iter().zip(&mut known.measured) {
                    let [first, second] = known.meeting.hosts;
                    let (sender, receiver) = if slot.swapped { (second, first) } else { (first, second) };
                    if let Some(spare) = self.made_up.get_mut(&(sender, receiver, slot.cell)).filter(|spare| **spare > 0 && !*measured) {
                        (*spare, *measured, known.seen) = (*spare - 1, true, true);
                    }
                }
                let Some(first) = known.measured.iter().position(|measured| !measured) else { continue };
                if !known.seen {
                    whole.push(known.meeting);
                    continue;
                }
                let slots = known.meeting.slots.iter().zip(&known.measured).filter(|(_, measured)| !**measured).map(|(slot, _)| *slot);
                let meeting = Meeting { slots: slots.collect(), position: known.meeting.position + first, hosts: known.meeting.hosts };
                missed.push(Missed { meeting, round, tries: 0 });
            }
            if !whole.is_empty() {
                rounds.push((round, whole));
            }
        }
        // More than was missing: these are the trials of something else.
        match self.made_up.values().any(|spare| *spare > 0) {
            true => Err(StudyError::OtherTrials { block: planned, position: 0 }),
            false => Ok(Rest { trials: self.trials, rounds, missed, next: self.next }),
        }
    }
}

#[cfg(test)]
mod tests {
    use analysis::fleet::schedule;
    use model::plan::{FleetHost, FleetPlan, RawPlan};
    use model::trial::Outcome;
    use model::{Plan, TrialRecord};
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::Rest;
    use crate::fleet::meeting::record;
    use crate::study::StudyError;
    use crate::testing::measured;

    const ROUNDS: u32 = 6;

    fn plan(seed: u64) -> Plan {
        let text = format!(
            "name = \"x\"\nblocks = {{ least = {ROUNDS}, most = {ROUNDS} }}\n[[cells]]\ntest = [\"TCP_STREAM\", \"TCP_RR\"]\nsize = 1"
        );
        let mut raw = RawPlan::parse(&text).unwrap();
        let host = |at: usize| FleetHost { name: format!("n{at}"), at: format!("ssh:n{at}").parse().unwrap(), rack: None };
        raw.fleet = Some(FleetPlan { hosts: (0..4).map(host).collect(), rounds: ROUNDS, parallel: false, least: 0.05 });
        model::plan::resolve(&raw, &[], seed).unwrap().into_plan()
    }

    /// The trials of a whole run: six rounds of two pairs, each with two cells both ways.
    fn trials(plan: &Plan) -> Vec<TrialRecord> {
        let fleet = plan.fleet.as_ref().unwrap();
        let mut all = Vec::new();
        for (round, meetings) in (0..).zip(schedule(plan)) {
            for meeting in meetings {
                for (at, slot) in meeting.slots.iter().enumerate() {
                    let outcome = Outcome::Measured(Box::new(measured()));
                    all.push(record(plan, fleet, &meeting, round, meeting.position + at, *slot, outcome));
                }
            }
        }
        all
    }

    fn failed() -> Outcome {
        Outcome::Failed { error: String::new(), lost: true }
    }

    /// The trials that are left, in whole meetings and in others.
    fn left(rest: &Rest) -> (usize, usize) {
        let whole = rest.rounds.iter().flat_map(|(_, meetings)| meetings).map(|meeting| meeting.slots.len()).sum();
        (whole, rest.missed.iter().map(|missed| missed.meeting.slots.len()).sum())
    }

    fn after(plan: &Plan, trials: &[TrialRecord]) -> Result<Rest, StudyError> {
        Rest::after(plan, &mut trials.iter().cloned())
    }

    #[test]
    fn a_whole_run_leaves_nothing_and_none_leaves_all() {
        let plan = plan(7);
        let all = trials(&plan);
        let rest = after(&plan, &all).unwrap();
        assert!(rest.is_empty() && (rest.trials, rest.next) == (48, ROUNDS), "{rest:?}");
        let rest = after(&plan, &[]).unwrap();
        assert_eq!((rest.rounds, rest.next), (Rest::whole(&plan).rounds, ROUNDS));
    }

    #[test]
    fn what_failed_is_missing_until_it_is_made_up_for() {
        let plan = plan(7);
        let mut all = trials(&plan);
        let again = TrialRecord { block: ROUNDS + 1, position: 0, ..all[5].clone() };
        all[5].outcome = failed();
        let rest = after(&plan, &all).unwrap();
        assert_eq!((left(&rest), rest.missed[0].meeting.position, rest.next), ((0, 1), 5, ROUNDS));
        all.push(again.clone());
        let rest = after(&plan, &all).unwrap();
        assert!(rest.is_empty() && rest.next == ROUNDS + 2, "{rest:?}");
        all.push(again);
        assert!(matches!(after(&plan, &all), Err(StudyError::OtherTrials { block: ROUNDS, .. })));
    }

    #[test]
    fn trials_of_another_fleet_are_refused() {
        let plan = plan(7);
        let refused = |change: &dyn Fn(&mut Vec<TrialRecord>)| {
            let mut records = trials(&plan);
            change(&mut records);
            let answer = after(&plan, &records);
            assert!(matches!(answer, Err(StudyError::OtherTrials { .. })), "{answer:?}");
        };
        refused(&|records| records[5].swapped ^= true);
        refused(&|records| records[5].hosts = None);
        refused(&|records| records[5].hosts = Some(["n0".to_owned(), "n9".to_owned()]));
        refused(&|records| records[5].hosts = Some(["n0".to_owned(), "n0".to_owned()]));
        refused(&|records| records[5].cell.size = model::Bytes::new(9));
        refused(&|records| records[5] = records[4].clone());
        refused(&|records| records[5].block = u32::MAX);
    }

    proptest! {
        /// Wherever a run was stopped, it lacks just what had not been stored.
        #[test]
        fn it_is_what_was_not_stored(seed in any::<u64>(), stored in 0_usize..48, lost in 0_usize..48) {
            let plan = plan(seed);
            let mut all = trials(&plan);
            all[lost].outcome = failed();
            let rest = after(&plan, &all[..stored]).unwrap();
            let (whole, parts) = left(&rest);
            prop_assert_eq!(whole + parts, 48 - stored + usize::from(lost < stored));
            prop_assert_eq!(rest.trials, stored as u64);
            prop_assert!(rest.rounds.iter().all(|(round, _)| *round as usize >= stored / 8));
        }
    }
}
