//! Samples compared with the time on the CPU that the sampler's own recording tells.

use super::made::{MESSAGES, analysed, measured_of, records, seen, sizes};
use crate::studies::receipt::tests::profiles::COSTS;
use attribution::{Doubt, Receipt};
use model::profile::{Account, Profile, SampleSource};
use model::{Nanos, Pass, Role, TrialRecord};

/// Share of the CPU time that is charged while the end has no CPU.
const CHARGED: f64 = 0.1;

/// Trials whose senders were sampled with their CPU, as a kernel has them.
fn sampled(change: impl Fn(&mut Profile, u64)) -> Vec<TrialRecord> {
    let mut trials = records(&sizes());
    let whole: f64 = COSTS.iter().map(|cost| cost.ns).sum();
    for record in &mut trials {
        let cpu = measured_of(record).sender.cpu_time.process.get();
        let Some(seen) = seen(record, Role::Sender) else { continue };
        if let Some(waits) = &mut seen.waits {
            // The scheduler's tracepoints have the thread on its way while it is charged.
            waits.runnable = waits.runnable + Nanos::new((CHARGED * whole * MESSAGES) as u64);
        }
        let Some(profile) = &mut seen.profile else { continue };
        profile.stacks.iter_mut().for_each(|stack| stack.count = (stack.count as f64 * (1.0 - CHARGED)).round() as u64);
        let ran = (cpu as f64 * (1.0 - CHARGED)) as u64;
        change(profile, ran);
    }
    trials
}

fn account(profile: &mut Profile, ran: u64) {
    let recorded = profile.samples();
    let (on_cpu, others) = (Some(Nanos::new(ran)), Some(recorded / 99));
    profile.account = Some(Account { on_cpu, recorded, counted: Some(ran), others, ..Account::default() });
}

fn of_senders(trials: &[TrialRecord]) -> Vec<Receipt> {
    let analysis = analysed(&sizes(), trials);
    analysis.receipt().unwrap().cells.iter().map(|cell| cell.sender.outcome.receipt().unwrap().clone()).collect()
}

fn near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 0.03 * wanted.abs(), "{found} for {wanted}");
}

#[test]
fn what_is_charged_off_the_cpu_closes_the_sums() {
    for receipt in of_senders(&sampled(account)) {
        assert!(!receipt.is_red(), "{:?} {:?}", receipt.closure, receipt.doubts);
        near(receipt.off_cpu.charged.unwrap().value, CHARGED * receipt.cpu.value);
        near(receipt.closure.sampler.unwrap().value, 1.0);
        near(receipt.closure.own.unwrap(), 1.0);
        near(receipt.off_cpu.others.unwrap(), 0.01);
    }
}

#[test]
fn a_tenth_of_the_samples_gone_is_seen_whatever_is_charged() {
    let fewer = sampled(|profile, ran| {
        account(profile, ran);
        profile.stacks.iter_mut().for_each(|stack| stack.count -= stack.count.div_ceil(10));
    });
    for receipt in of_senders(&fewer) {
        assert!(receipt.is_red() && receipt.doubts.iter().any(|doubt| matches!(doubt, Doubt::Dropped { .. })), "{:?}", receipt.doubts);
    }
}

/// What a wait has too much is not taken for what is charged: that is known from other passes.
#[test]
fn a_wait_counted_twice_is_seen() {
    let mut twice = sampled(account);
    for record in twice.iter_mut().filter(|record| record.pass == Pass::Wait) {
        let waits = seen(record, Role::Sender).unwrap().waits.as_mut().unwrap();
        // Few and short, so that a cap of microseconds a switch would take them all.
        (waits.runnable, waits.switches) = (waits.runnable + waits.runnable, 1_000_000);
    }
    for receipt in of_senders(&twice) {
        assert!(matches!(receipt.doubts[0], Doubt::Wall { closure, .. } if closure > 1.05), "{:?}", receipt.doubts);
    }
}

/// As a sampler of tasks has them, `gone` samples in ten dropped: an end that is charged for 8 µs
/// each time that it wakes.
fn of_tasks(gone: u64) -> Vec<TrialRecord> {
    let mut trials = sampled(move |profile, ran| {
        profile.stacks.iter_mut().for_each(|stack| stack.count -= (stack.count * gone).div_ceil(10));
        profile.source = SampleSource::TaskClock;
        let recorded = profile.samples();
        profile.account = Some(Account { on_cpu: Some(Nanos::new(ran)), recorded, counted: Some(ran), ..Account::default() });
    });
    for record in trials.iter_mut().filter(|record| record.pass == Pass::Wait) {
        let cpu = measured_of(record).sender.cpu_time.process.get();
        let waits = seen(record, Role::Sender).unwrap().waits.as_mut().unwrap();
        waits.switches = (CHARGED * cpu as f64 / 8_000.0).ceil() as u64;
    }
    trials
}

#[test]
fn samples_of_tasks_are_compared_with_the_records_too() {
    for receipt in of_senders(&of_tasks(0)) {
        assert!(!receipt.is_red(), "{:?} {:?}", receipt.closure, receipt.doubts);
        near(receipt.closure.sampler.unwrap().value, 1.0);
        near(receipt.off_cpu.charged.unwrap().value, CHARGED * receipt.cpu.value);
        near(receipt.closure.own.unwrap(), 1.0);
    }
    for receipt in of_senders(&of_tasks(1)) {
        assert!(receipt.is_red(), "{:?} {:?}", receipt.closure, receipt.doubts);
        near(receipt.closure.sampler.unwrap().value, 0.9);
    }
}

/// What a way to a CPU may have been charged is limited, so that no wait hides in it.
#[test]
fn a_wait_counted_twice_is_seen_beside_a_tasks_own_clock() {
    let mut twice = of_tasks(0);
    for record in twice.iter_mut().filter(|record| record.pass == Pass::Wait) {
        let waits = seen(record, Role::Sender).unwrap().waits.as_mut().unwrap();
        waits.runnable = waits.runnable + waits.runnable;
    }
    for receipt in of_senders(&twice) {
        assert!(matches!(receipt.doubts[0], Doubt::Wall { closure, .. } if closure > 1.05), "{:?}", receipt.doubts);
    }
}

#[test]
fn cycles_are_compared_with_the_counter_s_own_total() {
    const HERTZ: u64 = 3;
    let cycles = |kept: u64| {
        sampled(move |profile, ran| {
            account(profile, ran);
            (profile.source, profile.period) = (SampleSource::Cycles, profile.period * HERTZ);
            profile.stacks.iter_mut().for_each(|stack| stack.count /= kept);
            let (recorded, counted) = (profile.samples(), Some(ran * HERTZ));
            profile.account = profile.account.map(|account| Account { recorded, counted, others: None, ..account });
        })
    };
    for receipt in of_senders(&cycles(1)) {
        assert!(!receipt.is_red() && !receipt.doubts.contains(&Doubt::NoRecords), "{:?}", receipt.doubts);
        near(receipt.closure.sampler.unwrap().value, 1.0);
        near(receipt.off_cpu.charged.unwrap().value, CHARGED * receipt.cpu.value);
    }
    for receipt in of_senders(&cycles(2)) {
        assert!(receipt.is_red(), "{:?}", receipt.closure);
        near(receipt.closure.sampler.unwrap().value, 0.5);
    }
}
