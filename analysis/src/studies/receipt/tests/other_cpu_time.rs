//! CPU time that is not the process's own: interrupts, kernel threads, cycles.

use super::made::{MESSAGES, analysed, measured_of, records, seen, sizes};
use crate::studies::receipt::EndReceipt;
use crate::studies::receipt::tests::profiles::{PERIOD, profile};
use attribution::{Doubt, Layer, Receipt};
use model::end::CpuTime;
use model::profile::{Account, HardwareCounts, Profile, SampleSource};
use model::{Nanos, Pass, Role, TrialRecord};

/// Work of ksoftirqd per message, in ns.
const THREADS: f64 = 200.0;

fn sender(records: &[TrialRecord]) -> EndReceipt {
    analysed(&sizes(), records).receipt().unwrap().cells[0].sender.clone()
}

fn receipt(end: &EndReceipt) -> &Receipt {
    end.outcome.receipt().expect("a receipt")
}

fn near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 0.06 * wanted.abs(), "{found} for {wanted}");
}

/// The sender's messages are worked on by ksoftirqd as well, while it waits.
fn with_threads(sampled: impl Fn(&TrialRecord) -> bool) -> Vec<TrialRecord> {
    let mut trials = records(&sizes());
    for record in &mut trials {
        let time = Nanos::new((THREADS * MESSAGES) as u64);
        measured_of(record).sender.cpu_time.kernel_threads = Some(time);
        if record.pass == Pass::Time && sampled(record) {
            let chain = "net_rx_action<handle_softirqs<run_ksoftirqd<kthread";
            let account = Account { on_cpu: Some(time), recorded: time.get() / PERIOD, ..Account::default() };
            let threads = Profile { account: Some(account), ..profile(&[(chain, time.get() / PERIOD)]) };
            seen(record, Role::Sender).unwrap().ksoftirqd = Some(threads);
        }
    }
    trials
}

#[test]
fn kernel_threads_that_were_sampled_are_in_the_rows() {
    let end = sender(&with_threads(|_| true));
    let found = receipt(&end);
    // The blocked time holds the threads' work, so the wall time is as before.
    assert!(!found.is_red(), "{:?}", found.closure);
    near(found.cpu.value, 900.0 + THREADS);
    near(found.closure.wall.unwrap(), 1.0);
    near(found.rows.functions.iter().find(|row| row.key == "net_rx_action").unwrap().ns.value, THREADS);
    assert_eq!(end.unsampled_threads_ns, None);
}

#[test]
fn kernel_threads_that_were_not_sampled_stand_apart() {
    // Of one trial alone they were sampled: that is no account of them.
    for some in [None, Some(0)] {
        let end = sender(&with_threads(|record| Some(record.block) == some));
        let found = receipt(&end);
        assert!(!found.is_red(), "{:?}", found.closure);
        near(found.cpu.value, 900.0);
        near(end.unsampled_threads_ns.unwrap(), THREADS);
        assert!(found.rows.functions.iter().all(|row| row.key != "net_rx_action"));
    }
}

/// Interrupt time comes in ticks of 10 ms: 0 or a tick by chance, pooled right.
#[test]
fn interrupt_time_is_pooled() {
    const TICK: u64 = 10_000_000;
    const IRQ: u64 = 4_000_000;
    let mut trials = records(&sizes());
    let mut counter = 0;
    for record in &mut trials {
        let shown = ((counter + IRQ) / TICK - counter / TICK) * TICK;
        counter += IRQ;
        let cpu = &mut measured_of(record).sender.cpu_time;
        (cpu.process, cpu.irq) = (Nanos::new(cpu.process.get() - IRQ), Some(Nanos::new(shown)));
    }
    let end = sender(&trials);
    near(receipt(&end).cpu.value, 900.0);
    assert!(!receipt(&end).is_red());
    // Not by ticks: the spread of the clean passes is that of the rest.
    assert!(receipt(&end).cpu.error.unwrap() < 0.01 * 900.0);
}

/// The kernel's counter of interrupt time has that of `ksoftirqd` and of idle time as well.
#[test]
fn interrupt_time_is_counted_once_and_without_idle_time() {
    const OWN: u64 = 4_000_000;
    const THREAD: u64 = 3_000_000;
    const SAMPLES: u64 = 20;
    let mut trials = records(&sizes());
    for record in &mut trials {
        if let Some(profile) = seen(record, Role::Sender).and_then(|seen| seen.profile.as_mut()) {
            profile.account = profile.account.map(|account| Account { idle_softirq: Some(SAMPLES), ..account });
        }
        let cpu = &mut measured_of(record).sender.cpu_time;
        let irq = OWN + THREAD + SAMPLES * PERIOD;
        *cpu =
            CpuTime { process: Nanos::new(cpu.process.get() - OWN), irq: Some(Nanos::new(irq)), kernel_threads: Some(Nanos::new(THREAD)) };
        assert_eq!(cpu.sum(), cpu.process + Nanos::new(irq));
    }
    let messages = measured_of(&mut trials[0]).sender.counts.in_window().messages as f64;
    let end = sender(&trials);
    near(receipt(&end).cpu.value, 900.0);
    near(receipt(&end).off_cpu.idle_softirq.unwrap().value, (SAMPLES * PERIOD) as f64 / messages);
}

#[test]
fn cycles_cannot_be_held_against_anything() {
    let mut trials = records(&sizes());
    for record in trials.iter_mut().filter(|record| record.pass == Pass::Time) {
        let seen = seen(record, Role::Sender).unwrap();
        let profile = seen.profile.as_mut().unwrap();
        (profile.source, profile.period) = (SampleSource::Cycles, 300_007);
        let of_stacks = profile.stacks.iter().map(|stack| vec![stack.count * 600_014, 3]).collect();
        seen.counters = Some(HardwareCounts { names: vec!["instructions".into(), "cache-misses".into()], of_stacks });
    }
    let end = sender(&trials);
    let found = receipt(&end);
    assert!(found.doubts.contains(&Doubt::NoRecords) && !found.is_red(), "{:?}", found.doubts);
    assert_eq!((found.sampling.source, found.sampling.period, found.closure.sampler), (SampleSource::Cycles, 300_007, None));
    near(found.rows.functions.iter().find(|row| row.key == "udp_sendmsg").unwrap().ns.value, 180.0);
    assert!((found.counters[&Layer::Udp].ipc.unwrap() - 2.0).abs() < 1e-9);
    // One chain of user code in each of six passes.
    assert_eq!(found.counters[&Layer::User].counted["cache-misses"], 3.0 * 6.0);
    // Without those of every pass there are none.
    let first = trials.iter_mut().find(|record| record.pass == Pass::Time).unwrap();
    seen(first, Role::Sender).unwrap().counters = None;
    assert!(receipt(&sender(&trials)).counters.is_empty());
}

#[test]
fn both_ways_and_spinning_have_no_receipt() {
    let mut made = sizes();
    made.cells.truncate(1);
    made.cells[0].bidirectional = true;
    let study = analysed(&made, &records(&made)).receipt().unwrap().clone();
    assert_eq!(study.cells[0].receipts().count(), 0);
    made.cells[0].bidirectional = false;
    (made.cells[0].rate, made.cells[0].pacing) = (Some("1000/s".parse().unwrap()), model::Pacing::Spin);
    let study = analysed(&made, &records(&made)).receipt().unwrap().clone();
    assert_eq!(study.cells[0].receipts().map(|receipt| receipt.role).collect::<Vec<_>>(), [Role::Receiver]);
}
