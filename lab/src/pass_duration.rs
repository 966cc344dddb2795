//! Length of the trials of each pass.
//!
//! A clean trial lasts as the plan says. A time pass lasts until the end that it watches has its
//! share of the samples wanted of its cell: how many a second that gives is known
//! from the passes before.

use std::collections::HashMap;

use model::plan::receipt::ASSUMED_SHARE;
use model::plan::{ReceiptPlan, TrialEnd};
use model::profile::SampleSource;
use model::schedule::Slot;
use model::trial::Measured;
use model::{Nanos, Pass, Plan, Role, TrialRecord};

/// Least share assumed: no pass could get the samples of a nearly idle end in time.
const LEAST_SHARE: f64 = 0.01;
/// More messages than this no trial is given for the sake of its length.
const MOST_MESSAGES: u64 = 1_000_000_000;
/// The order in which ends are kept.
const ROLES: [Role; 2] = [Role::Sender, Role::Receiver];

/// Load of the cells of a run, by cell and arm.
#[derive(Debug, Default)]
pub struct PassDurations {
    known: HashMap<(usize, usize), [End; 2]>,
    /// Messages of a trial that lasts as long as the plan asks for, by cell and arm, where
    /// those that the plan names do not.
    counts: HashMap<(usize, usize), u64>,
    /// Distance of samples by the CPU clock, as they were taken last.
    period: Option<Nanos>,
}

/// Load of one end of a cell.
#[derive(Debug, Clone, Copy, Default)]
struct End {
    /// Samples so far.
    samples: u64,
    /// Time in which they were taken, in seconds.
    sampled: f64,
    /// CPU time over elapsed time of the last clean trial.
    busy: Option<f64>,
    /// Messages a second.
    rate: f64,
}

impl PassDurations {
    /// Sees a trial.
    pub fn note(&mut self, plan: &Plan, slot: Slot, record: &TrialRecord) {
        let Some(measured) = record.measured() else { return };
        if slot.pass.is_clean() && plan.least.get() > 0 {
            let messages = self.counts.entry((slot.cell, slot.arm)).or_default();
            *messages = measured.sender.counts.messages.max(*messages);
        }
        let ends = self.known.entry((slot.cell, slot.arm)).or_default();
        for (end, role) in ends.iter_mut().zip(ROLES) {
            let report = measured.end(role);
            let elapsed = seconds(report.window.length());
            if elapsed <= 0.0 {
                continue;
            }
            end.rate = measured.sender.counts.messages as f64 / elapsed;
            let profile = measured.observed.as_ref().and_then(|observed| observed.of(role).profile.as_ref());
            match (slot.pass, profile) {
                (Pass::Clean, _) => {
                    end.busy = Some(seconds(report.cpu_time.sum()) / elapsed);
                }
                (pass, Some(profile)) if pass.samples() => {
                    if profile.source != SampleSource::Cycles {
                        self.period = Some(Nanos::new(profile.period));
                    }
                    end.samples += profile.samples();
                    end.sampled += elapsed;
                }
                _ => {}
            }
        }
    }

    fn ends(&self, slot: Slot) -> [End; 2] {
        self.known.get(&(slot.cell, slot.arm)).copied().unwrap_or_default()
    }

    /// Returns whether a clean trial of a number of messages was over sooner than its plan
    /// asks for; the next one of its cell and arm then has more. How many is not known
    /// beforehand: a call or a buffer may have held all of so few.
    pub fn lengthen(&mut self, plan: &Plan, slot: Slot, measured: &Measured) -> bool {
        /// Twice the time asked for, so that trials that go faster last long enough too.
        const AIM: f64 = 2.0;
        /// A window of so few messages says little of how long many take.
        const MOST_GROWTH: f64 = 50.0;
        let lasted = measured.sender.window.length().min(measured.receiver.window.length());
        let (TrialEnd::Messages(messages), true) = (self.usual(plan, slot), slot.pass.is_clean()) else { return false };
        if lasted >= plan.least || plan.cells[slot.cell].count.is_some() || messages >= MOST_MESSAGES {
            return false;
        }
        let growth = (AIM * seconds(plan.least) / seconds(lasted).max(1e-9)).clamp(AIM, MOST_GROWTH);
        self.counts.insert((slot.cell, slot.arm), ((messages as f64 * growth).ceil() as u64).min(MOST_MESSAGES));
        true
    }

    /// End of a clean trial.
    fn usual(&self, plan: &Plan, slot: Slot) -> TrialEnd {
        match (plan.end.of(&plan.cells[slot.cell]), self.counts.get(&(slot.cell, slot.arm))) {
            (TrialEnd::Messages(messages), Some(more)) if plan.cells[slot.cell].count.is_none() => TrialEnd::Messages(messages.max(*more)),
            (usual, _) => usual,
        }
    }

    /// When a trial of `block` ends.
    pub fn end(&self, plan: &Plan, block: u32, slot: Slot) -> TrialEnd {
        let usual = self.usual(plan, slot);
        let Some(receipt) = plan.receipt.filter(|_| slot.pass.samples()) else { return usual };
        let ends = self.ends(slot);
        let blocks = plan.blocks.least.saturating_sub(block);
        let wanted = |end: &End| {
            let expected = end.busy.unwrap_or(ASSUMED_SHARE).max(LEAST_SHARE) * receipt.most_per_second(self.period);
            let per_second = if end.samples > 0 { end.samples as f64 / end.sampled } else { expected };
            ReceiptPlan::pass(receipt.samples.saturating_sub(end.samples), blocks, per_second)
        };
        let watched = ends.iter().zip(ROLES).filter(|(_, role)| slot.pass.watches(*role));
        let wanted = watched.map(|(end, _)| wanted(end)).max().unwrap_or_default();
        match usual {
            TrialEnd::Length(length) => TrialEnd::Length(wanted.max(length)),
            TrialEnd::Messages(messages) => TrialEnd::Messages(((seconds(wanted) * ends[0].rate) as u64).max(messages)),
        }
    }
}

fn seconds(time: Nanos) -> f64 {
    time.get() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::PassDurations;
    use crate::testing::measured;
    use model::end::Window;
    use model::plan::{RawPlan, TrialEnd};
    use model::profile::{Observation, Profile, SampleSource, Stack};
    use model::schedule::Slot;
    use model::trial::{Observed, Outcome};
    use model::{Nanos, Pass, Plan, TrialRecord};

    fn plan(end: &str) -> Plan {
        let text = format!(
            "name = \"x\"\nblocks = {{ least = 5, most = 5 }}\n[trial]\n{end}\n[receipt]\nperiod = \"100us\"\nsamples = 20000\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = 1"
        );
        model::plan::resolve(&RawPlan::parse(&text).unwrap(), &[], 1).unwrap().into_plan()
    }

    const fn slot(pass: Pass) -> Slot {
        Slot { cell: 0, arm: 0, pass }
    }

    /// A second in which both ends used this share of a CPU, and were met so often.
    fn record(plan: &Plan, pass: Pass, share: f64, samples: Option<u64>) -> TrialRecord {
        let mut trial = measured();
        for end in [&mut trial.sender, &mut trial.receiver] {
            end.window = Window { start: Nanos::default(), end: Nanos::from_millis(1_000) };
            end.cpu_time.process = Nanos::new((share * 1e9) as u64);
            end.counts.messages = 1_000;
        }
        trial.observed = samples.map(|count| {
            let stacks = vec![Stack { frames: vec![0], user: true, count }];
            let symbols = vec!["[user]".to_owned()];
            let profile = Profile {
                source: SampleSource::CpuClock,
                period: 100_000,
                symbols,
                stacks,
                lost: 0,
                throttled: 0,
                broken: 0,
                account: None,
            };
            let seen = Observation { profile: Some(profile), ..Observation::default() };
            Box::new(Observed { sender: seen.clone(), receiver: seen })
        });
        TrialRecord { pass, ..TrialRecord::new(plan.cells[0].clone(), Outcome::Measured(Box::new(trial))) }
    }

    fn millis(end: TrialEnd) -> u64 {
        let TrialEnd::Length(length) = end else { panic!("{end:?}") };
        length.get() / 1_000_000
    }

    #[test]
    fn a_time_pass_lasts_until_its_share_of_the_samples_is_there() {
        let plan = plan("length = \"100ms\"");
        let mut durations = PassDurations::default();
        assert_eq!(durations.end(&plan, 0, slot(Pass::Wait)), plan.end.of(&plan.cells[0]));
        // 20,000 samples in five blocks of a CPU that is taken to be half busy, and three tenths more.
        assert_eq!(millis(durations.end(&plan, 0, slot(Pass::Time))), 1_040);
        durations.note(&plan, slot(Pass::Clean), &record(&plan, Pass::Clean, 1.0, None));
        assert_eq!(millis(durations.end(&plan, 0, slot(Pass::Time))), 520);
        // Half of the samples, 10,000 a second; two blocks are left.
        durations.note(&plan, slot(Pass::Time), &record(&plan, Pass::Time, 1.0, Some(10_000)));
        assert_eq!(millis(durations.end(&plan, 3, slot(Pass::Time))), 650);
        durations.note(&plan, slot(Pass::Time), &record(&plan, Pass::Time, 1.0, Some(10_000)));
        assert_eq!(millis(durations.end(&plan, 4, slot(Pass::Time))), 100, "no shorter than the plan says");
        assert_eq!(millis(PassDurations::default().end(&plan, 9, slot(Pass::Time))), 5_000, "all at once, as far as rings reach");
    }

    #[test]
    fn a_time_pass_lasts_for_the_end_that_it_watches() {
        let plan = plan("length = \"100ms\"");
        let mut durations = PassDurations::default();
        let mut trial = record(&plan, Pass::Clean, 1.0, None);
        let Outcome::Measured(measured) = &mut trial.outcome else { panic!("{trial:?}") };
        measured.receiver.cpu_time.process = Nanos::from_millis(250);
        durations.note(&plan, slot(Pass::Clean), &trial);
        assert_eq!(millis(durations.end(&plan, 0, slot(Pass::Time))), 520);
        assert_eq!(millis(durations.end(&plan, 0, slot(Pass::TimeReceiver))), 4 * 520, "the receiver is a quarter as busy");
    }

    #[test]
    fn a_trial_by_count_gets_as_many_messages_as_that_time_takes() {
        let plan = plan("messages = 10");
        let mut durations = PassDurations::default();
        assert_eq!(durations.end(&plan, 0, slot(Pass::Time)), TrialEnd::Messages(10), "how fast it is nobody knows yet");
        durations.note(&plan, slot(Pass::Clean), &record(&plan, Pass::Clean, 1.0, None));
        assert_eq!(durations.end(&plan, 0, slot(Pass::Time)), TrialEnd::Messages(520));
    }

    #[test]
    fn a_trial_by_count_that_is_over_too_soon_is_made_again_with_more() {
        let plan = |end: &str| Plan { least: Nanos::from_millis(50), ..plan(end) };
        let counted = plan("messages = 2000");
        let lasting = |micros: u64| {
            let mut trial = measured();
            trial.sender.window = Window { start: Nanos::default(), end: Nanos::from_millis(80) };
            trial.receiver.window = Window { start: Nanos::default(), end: Nanos::new(micros * 1_000) };
            trial
        };
        let mut durations = PassDurations::default();
        // One call held them all: how long so many take it does not say.
        assert!(durations.lengthen(&counted, slot(Pass::Clean), &lasting(96)));
        assert_eq!(durations.end(&counted, 0, slot(Pass::Clean)), TrialEnd::Messages(100_000));
        assert!(durations.lengthen(&counted, slot(Pass::Clean), &lasting(40_000)));
        assert_eq!(durations.end(&counted, 0, slot(Pass::Clean)), TrialEnd::Messages(250_000));
        assert!(!durations.lengthen(&counted, slot(Pass::Clean), &lasting(50_000)));
        assert!(!durations.lengthen(&counted, slot(Pass::Time), &lasting(96)), "its length is that of its samples");
        // A run that goes on knows it from its trials.
        let mut record = record(&counted, Pass::Clean, 0.5, None);
        let Outcome::Measured(trial) = &mut record.outcome else { panic!("{record:?}") };
        trial.sender.counts.messages = 250_000;
        let mut resumed = PassDurations::default();
        resumed.note(&counted, slot(Pass::Clean), &record);
        assert_eq!(resumed.end(&counted, 3, slot(Pass::Clean)), TrialEnd::Messages(250_000));
        // A count that was asked for is kept, and one without a least time.
        let mut of_cell = counted.clone();
        of_cell.cells[0].count = Some(500);
        assert!(!PassDurations::default().lengthen(&of_cell, slot(Pass::Clean), &lasting(96)));
        let exact = Plan { least: Nanos::default(), ..counted };
        assert!(!PassDurations::default().lengthen(&exact, slot(Pass::Clean), &lasting(96)));
        assert!(!PassDurations::default().lengthen(&plan("length = \"1ms\""), slot(Pass::Clean), &lasting(96)));
    }
}
