//! What is put into trials comes out of the study; what is taken out of them
//! turns it red.

use super::made::{analysed, collected, measured_of, records, seen, sizes};
use crate::studies::receipt::{CellReceipt, ReceiptStudy};
use crate::testing::{cell, generator};
use attribution::{Category, Direction, Doubt, Layer, Receipt, Shape};
use model::plan::Unfit;
use model::rate::OfferedRate;
use model::trial::Outcome;
use model::woven::{Reading, Slice, SliceEnd};
use model::{Nanos, Pass, Role, Test, TrialRecord};
use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};
use rand::seq::SliceRandom;

fn study(records: &[TrialRecord]) -> ReceiptStudy {
    analysed(&sizes(), records).receipt().expect("a study with receipts").clone()
}

fn receipts(study: &ReceiptStudy) -> Vec<&Receipt> {
    study.cells.iter().flat_map(CellReceipt::receipts).collect()
}

fn near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 0.06 * wanted.abs(), "{found} for {wanted}");
}

#[test]
fn what_is_put_in_comes_out() {
    let study = study(&records(&sizes()));
    assert_eq!((study.cells.len(), study.series.len(), study.rules.as_str()), (3, 2, "built in"));
    for receipt in receipts(&study) {
        assert!(receipt.doubts.iter().all(|doubt| matches!(doubt, Doubt::FewSamples { .. })), "{:?}", receipt.doubts);
        let copy = 50.0 + receipt.size.get() as f64 / 16.0;
        near(receipt.cpu.value, 850.0 + copy);
        near(receipt.wall.value, 1150.0 + copy);
        near(receipt.rows.categories.iter().find(|row| row.key == Category::DataMovement).unwrap().ns.value, copy);
        near(receipt.off_cpu.runnable.unwrap().value, 50.0);
        near(receipt.off_cpu.blocked.unwrap().value, 250.0);
        near(receipt.calls["udp_sendmsg"].per_message.value, 1.0);
    }
    near(study.observer.unwrap().value, 1.04);
    assert_eq!(study.observer.unwrap().n, 6);
    let passes = study.cells[0].sender.passes;
    assert_eq!([passes.clean, passes.time, passes.wait, passes.count, passes.missing], [6, 6, 6, 6, 0]);
    let uncounted = &study.absences[0];
    assert_eq!((uncounted.unavailable.what.as_str(), uncounted.trials), ("exact calls of ip_output", 3 * 6 * 2));
    assert!(serde_json::to_string(&study).is_ok());
}

/// A round of ends whose CPU costs 6 and 3 µs a message, and so much more while it is sampled.
fn round(number: u32, [sender, receiver]: [f64; 2]) -> [Slice; 3] {
    let speed = 1.0 + 0.2 * f64::from(number % 3);
    [0, 1, 2].map(|arm| {
        let end = |cost: f64, more: f64, on: bool| {
            let cpu = Nanos::new((1e6 * cost * speed * if on { 1.0 + more } else { 1.0 }) as u64);
            let whole = Reading { time: Nanos::from_millis(10), cpu, messages: 1_000, bytes: 1_000, ..Reading::default() };
            SliceEnd { whole, ..SliceEnd::default() }
        };
        // What an end pays while the other is sampled is none of its cost.
        Slice { arm, round: number, sender: end(6.0, sender, arm == 1), receiver: end(3.0, receiver, arm == 2), ..Slice::default() }
    })
}

#[test]
fn slices_with_the_sampler_on_and_off_say_what_it_costs() {
    let made = sizes();
    let mut collector = collected(&made, &records(&made));
    for instance in 0..8 {
        let by = 0.002 * f64::from(instance % 2);
        let slices: Vec<Slice> = (0..6).flat_map(|number| round(number, [0.03 + by, 0.01 + by])).collect();
        collector.push_slices(0, instance, &slices);
        // One that was measured again counts once, and a group that the plan does not have nothing.
        collector.push_slices(0, instance, &slices);
        collector.push_slices(9, instance, &slices);
        // Of these one state alone is usable.
        collector.push_slices(1, instance, &slices[..1]);
    }
    let analysis = collector.finish();
    let study = analysis.receipt().unwrap();
    let observers = |cell: usize| study.cells[cell].receipts().map(|receipt| receipt.observer.clone().unwrap()).collect::<Vec<_>>();
    for (observer, cost) in observers(0).into_iter().zip([1.031, 1.011]) {
        let ends = observer.ratio.interval.unwrap();
        assert!((observer.ratio.value - cost).abs() < 1e-4 && observer.ratio.n == 8, "{observer:?}");
        assert!(ends.low < cost && cost < ends.high && ends.high - ends.low < 0.003, "{observer:?}");
        assert_eq!(observer.no_slices, None);
    }
    // The other cells have passes alone, and say so.
    for (cell, reason) in [(1, "fewer than 8 trials of slices are usable"), (2, "no trial of slices is stored")] {
        assert!(observers(cell).iter().all(|observer| observer.no_slices.as_deref() == Some(reason)), "{cell}");
    }
    // As does one that cannot take turns.
    let mut slow = sizes();
    slow.cells[0].rate = Some(OfferedRate::Messages(100));
    let records = records(&slow);
    let analysis = analysed(&slow, &records);
    let observer = analysis.receipt().unwrap().cells[0].receiver.outcome.receipt().unwrap().observer.clone().unwrap();
    assert_eq!(observer.no_slices.as_deref(), Some(Unfit::Rate.reason()));
}

#[test]
fn what_grows_is_told_from_what_does_not() {
    let study = study(&records(&sizes()));
    let series = &study.series[0];
    assert_eq!((series.series.as_str(), series.role), ("UDP_STREAM", Role::Sender));
    let row = |category| series.categories.rows.iter().find(|row| row.key == category).unwrap();
    let copy = row(Category::DataMovement).growth.unwrap();
    assert_eq!((copy.shape, row(Category::BufferManagement).growth.unwrap().shape), (Shape::Grows, Shape::NotShown));
    near(copy.slope_per_kib.value, 64.0);
    near(series.categories.growing[2], 306.0);
    let function = series.functions.rows.iter().find(|row| row.function == "_copy_from_iter").unwrap();
    assert!(function.time.unwrap().shape == Shape::Grows && function.cells.iter().all(|cell| cell.calls.is_none()));
    let counted = series.functions.rows.iter().find(|row| row.function == "udp_sendmsg").unwrap();
    let growths = [counted.time, counted.calls];
    assert!(growths.into_iter().flatten().all(|growth| growth.shape == Shape::NotShown));
    near(counted.cells[1].calls.unwrap().value, 1.0);
    near(series.touching.cells[2].ns.value, 366.0);
    assert!(series.layers.rows.iter().any(|row| row.key == Layer::Udp));
    near(series.directions.rows.iter().find(|row| row.key == Some(Direction::Acknowledgement)).unwrap().cells[0].ns.value, 100.0);
    near(series.columns[0].bound.messages_per_s, 1e9 / 900.0);
    near(series.columns[0].bound_without_acknowledgement.messages_per_s, 1e9 / 800.0);
    assert_eq!(series.columns.iter().map(|column| (column.size.get(), column.cell)).collect::<Vec<_>>(), [(1, 0), (1024, 1), (4096, 2)]);
    let boundaries: Vec<_> = series.boundaries.iter().map(|one| (one.name.as_str(), one.last.get(), one.below)).collect();
    assert_eq!(boundaries, [("MTU", 1472, 2), ("page", 4096, 3), ("GSO limit", 65_536, 3)]);
}

#[test]
fn a_tenth_of_the_samples_gone_turns_it_red() {
    let mut fewer = records(&sizes());
    for record in fewer.iter_mut().filter(|record| record.pass.samples()) {
        for role in [Role::Sender, Role::Receiver] {
            let mut nth = 0_u64;
            for stack in seen(record, role).unwrap().profile.iter_mut().flat_map(|profile| &mut profile.stacks) {
                let kept = (0..stack.count).filter(|_| {
                    nth += 1;
                    !nth.is_multiple_of(10)
                });
                stack.count = (kept.count() as u64).max(1);
            }
        }
    }
    let study = study(&fewer);
    assert!(receipts(&study).iter().all(|receipt| receipt.is_red()));
    assert!(study.series.iter().flat_map(|series| &series.columns).all(|column| column.red));
}

#[test]
fn a_wait_gone_turns_it_red() {
    let mut fewer = records(&sizes());
    for record in fewer.iter_mut().filter(|record| record.pass == Pass::Wait) {
        seen(record, Role::Sender).unwrap().waits.as_mut().unwrap().blocked = Nanos::new(0);
    }
    let study = study(&fewer);
    assert!(study.cells.iter().all(|cell| cell.sender.outcome.receipt().unwrap().is_red()));
    assert!(study.cells.iter().all(|cell| !cell.receiver.outcome.receipt().unwrap().is_red()));
}

#[test]
fn a_study_without_receipts_has_none() {
    let made = sizes();
    let mut run = crate::testing::run(made.cells.clone(), made.blocks);
    run.plan.receipt = None;
    let mut collector = crate::Collector::new(run, Vec::new());
    records(&made).iter().for_each(|record| collector.push(record));
    assert_eq!(collector.stacks().count(), 0);
    let analysis = collector.finish();
    assert!(analysis.receipt().is_none());
    assert!(!serde_json::to_string(&analysis).unwrap().contains("\"receipt\":"));
}

#[test]
fn an_end_that_was_to_be_watched_and_was_not_is_missing() {
    let mut some = records(&sizes());
    for record in some.iter_mut().filter(|record| record.pass == Pass::Time && record.block == 0) {
        seen(record, Role::Sender).unwrap().profile = None;
    }
    let study = study(&some);
    let passes = [&study.cells[0].sender, &study.cells[0].receiver].map(|end| (end.passes.time, end.passes.missing));
    assert_eq!(passes, [(5, 1), (6, 0)]);
}

#[test]
fn what_is_missing_is_said() {
    let mut some = records(&sizes());
    for record in &mut some {
        match record.pass {
            Pass::Time | Pass::TimeReceiver => record.outcome = Outcome::Skipped { reason: "perf_event_open: EACCES".to_owned() },
            Pass::Wait => {
                let seen = seen(record, Role::Sender).unwrap();
                seen.waits = None;
                let refused = |text: &str| text.to_owned();
                seen.refused.push(model::Refusal { what: refused("waits"), answer: refused("EPERM"), remedy: refused("be root") });
            }
            Pass::Clean if record.block == 0 => measured_of(record).receiver.counts.messages = 0,
            _ => {}
        }
    }
    let study = study(&some);
    let end = &study.cells[0].receiver;
    assert_eq!((end.passes.time, end.passes.clean, end.passes.missing), (0, 5, 13));
    let crate::studies::receipt::ReceiptOutcome::Absent { reason } = &end.outcome else { panic!("no receipt") };
    assert!(reason.contains("no time pass") && reason.contains("13 trials gave nothing"), "{reason}");
    let absent = |what: &str| study.absences.iter().find(|absence| absence.unavailable.what == what).map(|absence| absence.trials);
    assert_eq!((absent("time passes"), absent("waits")), (Some(18), Some(18)));
    assert_eq!(absent("a clean pass of UDP_STREAM 1 B, receiver"), Some(1));
    assert!(study.series.is_empty() && study.observer.is_none());
}

#[test]
fn stacks_are_folded_cell_by_cell() {
    let made = sizes();
    let collector = collected(&made, &records(&made));
    let files: Vec<(String, String)> = collector.stacks().collect();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..2], ["UDP_STREAM-1-B.sender.folded", "UDP_STREAM-1-B.receiver.folded"]);
    assert_eq!(names.len(), 6);
    let study = collector.finish().receipt().unwrap().clone();
    assert_eq!(study.cells[0].file, "UDP_STREAM-1-B");
    for ((_, text), receipt) in files.iter().zip(receipts(&study)) {
        let samples: u64 = text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
        assert_eq!((samples, text.lines().count()), (receipt.sampling.samples, 9));
        assert!(text.contains("do_syscall_64;__sys_sendto;udp_sendmsg "));
    }
}

#[test]
fn the_receiver_of_a_stream_has_parts_of_messages() {
    let mut made = sizes();
    made.cells = vec![cell(Test::TcpStream, 1024)];
    let mut trials = records(&made);
    for record in &mut trials {
        // As many bytes, in other pieces.
        measured_of(record).receiver.counts.messages /= 3;
        measured_of(record).receiver.total.messages /= 3;
    }
    let study = analysed(&made, &trials).receipt().unwrap().clone();
    let receipt = study.cells[0].receiver.outcome.receipt().unwrap().clone();
    near(receipt.cpu.value, 964.0);
    near(receipt.calls["udp_sendmsg"].per_message.value, 1.0);
    near(receipt.off_cpu.blocked.unwrap().value, 250.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]

    #[test]
    fn the_order_of_trials_does_not_matter(seed in any::<u64>()) {
        let made = sizes();
        let straight = records(&made);
        let mut shuffled = straight.clone();
        shuffled.shuffle(&mut generator(seed));
        prop_assert_eq!(study(&straight), study(&shuffled));
        let files = |records: &[TrialRecord]| collected(&made, records).stacks().collect::<Vec<_>>();
        prop_assert_eq!(files(&straight), files(&shuffled));
    }
}
