//! Samples compared with the time on the CPU that the sampler's own recording tells.

use super::made::{MESSAGES, analysed, measured_of, records, seen, sizes};
use crate::studies::receipt::tests::profiles::COSTS;
use attribution::{Cause, Doubt, Receipt};
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
            waits.switching = Some(Nanos::new(0));
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
    profile.account = Some(Account { on_cpu, sampled_for: None, recorded, counted: Some(ran), others, missed: None, with_tick: false });
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
        near(receipt.unseen.charged.unwrap().value, CHARGED * receipt.cpu.value);
        near(receipt.closure.sampler.value, 1.0);
        near(receipt.closure.cpu.unwrap(), 1.0);
        near(receipt.closure.own.unwrap(), 1.0);
        near(receipt.unseen.others.unwrap(), 0.01);
    }
}

/// Samples that were due and not made are a row of their own and a cause, and fill no sum.
#[test]
fn samples_that_the_kernel_never_made_are_a_row_and_a_cause() {
    let of = |percent: u64| {
        let lacking = move |profile: &mut Profile, ran: u64| {
            let all = profile.samples();
            profile.stacks.iter_mut().for_each(|stack| stack.count -= (stack.count * percent + 50) / 100);
            account(profile, ran);
            let missed = Some(all - profile.samples());
            profile.account = profile.account.map(|account| Account { missed, ..account });
        };
        of_senders(&sampled(lacking))
    };
    for receipt in of(3) {
        assert!(!receipt.is_red(), "{:?} {:?}", receipt.closure, receipt.doubts);
        near(receipt.unseen.missed.unwrap().value, 0.03 * (1.0 - CHARGED) * receipt.cpu.value);
        near(receipt.closure.sampler.value, 0.97);
        near(receipt.closure.cpu.unwrap(), 0.973);
    }
    for receipt in of(6) {
        let cause = receipt.doubts.iter().find_map(|doubt| if let Doubt::Dropped { cause, .. } = doubt { Some(*cause) } else { None });
        assert!(
            receipt.is_red() && matches!(cause, Some(Cause::Missed { share }) if (0.04..0.07).contains(&share)),
            "{:?}",
            receipt.doubts
        );
    }
}

/// An end is on its CPU for more, or for less, of the time that follows a sample: no sample stands for that.
#[test]
fn what_taking_samples_changed_is_in_no_sum() {
    for changed in [0.96, 1.04] {
        let watched = sampled(move |profile, ran| {
            profile.stacks.iter_mut().for_each(|stack| stack.count = (stack.count as f64 * changed).round() as u64);
            account(profile, ran);
            let sampled_for = Some(Nanos::new((ran as f64 * changed) as u64));
            profile.account = profile.account.map(|account| Account { sampled_for, ..account });
        });
        for receipt in of_senders(&watched) {
            assert!(!receipt.is_red(), "{:?} {:?}", receipt.closure, receipt.doubts);
            near(receipt.closure.sampler.value, 1.0);
            near(receipt.closure.cpu.unwrap(), 1.0);
        }
    }
}

#[test]
fn a_twentieth_of_the_samples_gone_is_seen_whatever_is_charged() {
    let fewer = sampled(|profile, ran| {
        account(profile, ran);
        profile.stacks.iter_mut().for_each(|stack| stack.count -= stack.count.div_ceil(20));
    });
    for receipt in of_senders(&fewer) {
        assert!(receipt.is_red() && receipt.doubts.iter().any(|doubt| matches!(doubt, Doubt::Dropped { .. })), "{:?}", receipt.doubts);
    }
}

/// With the tick samples are few, so that chance moves their number; it moves the number of those that were due as much.
#[test]
fn a_twentieth_of_the_samples_with_the_tick_gone_is_seen_whatever_chance_does() {
    const FEWER: u64 = 8;
    // Per cent of the samples that were dropped, and per cent of the time that the ticks met.
    let of = |dropped: u64, met: u64| {
        of_senders(&sampled(move |profile, ran| {
            profile.period *= FEWER;
            profile.stacks.iter_mut().for_each(|stack| stack.count = (stack.count * met).div_ceil(100 * FEWER));
            let sampled_for = Some(Nanos::new(profile.samples() * profile.period));
            profile.stacks.iter_mut().for_each(|stack| stack.count = (stack.count * (100 - dropped)).div_ceil(100));
            account(profile, ran);
            profile.account = profile.account.map(|account| Account { sampled_for, with_tick: true, ..account });
        }))
    };
    for receipt in of(0, 100) {
        assert!(!receipt.is_red() && receipt.sampling.with_tick, "{:?} {:?}", receipt.closure, receipt.doubts);
        assert!((800..8_000).contains(&receipt.sampling.samples), "{}", receipt.sampling.samples);
        assert!(!receipt.doubts.iter().any(|doubt| matches!(doubt, Doubt::FewSamples { .. })), "{:?}", receipt.doubts);
    }
    let all =
        |receipts: &[Receipt], is: fn(&Doubt) -> bool| receipts.iter().all(|receipt| receipt.is_red() && receipt.doubts.iter().any(is));
    let dropped = |doubt: &Doubt| matches!(doubt, Doubt::Dropped { .. });
    let in_step = |doubt: &Doubt| matches!(doubt, Doubt::InStep { .. });
    assert!(all(&of(6, 100), dropped) && all(&of(6, 103), dropped), "whatever chance does");
    assert!(all(&of(0, 70), in_step) && all(&of(0, 130), in_step));
    assert!(!all(&of(0, 98), in_step));
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

/// As a sampler of tasks has them, `gone` samples in twenty dropped: an end that is charged for 8 µs
/// each time that it wakes.
fn of_tasks(gone: u64) -> Vec<TrialRecord> {
    let mut trials = sampled(move |profile, ran| {
        profile.stacks.iter_mut().for_each(|stack| stack.count -= (stack.count * gone).div_ceil(20));
        profile.source = SampleSource::TaskClock;
        let recorded = profile.samples();
        let on_cpu = Some(Nanos::new(ran / 2));
        profile.account =
            Some(Account { on_cpu, sampled_for: None, recorded, counted: Some(ran), others: None, missed: None, with_tick: false });
    });
    for record in trials.iter_mut().filter(|record| record.pass == Pass::Wait) {
        let cpu = measured_of(record).sender.cpu_time.process.get();
        let waits = seen(record, Role::Sender).unwrap().waits.as_mut().unwrap();
        waits.switches = (CHARGED * cpu as f64 / 8_000.0).ceil() as u64;
    }
    trials
}

/// A task's own clock tells by its count how long its timer could strike, whatever the records of
/// switches say.
#[test]
fn a_tasks_own_clock_is_compared_with_its_count() {
    for receipt in of_senders(&of_tasks(0)) {
        assert!(!receipt.is_red(), "{:?} {:?}", receipt.closure, receipt.doubts);
        near(receipt.closure.sampler.value, 1.0);
        near(receipt.unseen.charged.unwrap().value, CHARGED * receipt.cpu.value);
        near(receipt.closure.cpu.unwrap(), 1.0);
        near(receipt.closure.own.unwrap(), 1.0);
    }
    for receipt in of_senders(&of_tasks(1)) {
        assert!(receipt.is_red(), "{:?} {:?}", receipt.closure, receipt.doubts);
        near(receipt.closure.sampler.value, 0.95);
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
        assert!(!receipt.is_red() && !receipt.doubts.contains(&Doubt::NotHeld), "{:?}", receipt.doubts);
        near(receipt.closure.sampler.value, 1.0);
        near(receipt.unseen.charged.unwrap().value, CHARGED * receipt.cpu.value);
    }
    for receipt in of_senders(&cycles(2)) {
        assert!(receipt.is_red(), "{:?}", receipt.closure);
        near(receipt.closure.sampler.value, 0.5);
    }
}
