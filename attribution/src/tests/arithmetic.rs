//! A receipt adds up, and says so when it does not.

use super::made::{self, COSTS, CPU, Cell, PERIOD, frames, passes, profile};
use crate::doubt::{Cause, Gravity};
use crate::{
    Booked, Category, Classifier, Crossing, Direction, Doubt, ErrorMethod, Layer, Passes, Receipt, ReceiptError, Rules, SampledSlices,
    folded,
};
use model::profile::{Account, Profile, SampleSource};
use model::wakeups::WakeupCost;
use model::{Nanos, Role};
use proptest::prelude::{ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, proptest};
use stats::estimate::Method;
use stats::noise::generator;
use std::collections::BTreeMap;

fn receipt(passes: &Passes) -> Receipt {
    made::receipt(passes, &Rules::builtin().unwrap()).unwrap()
}

fn sound() -> Passes {
    passes(Cell::default(), &COSTS, &mut generator(5))
}

fn row<K: PartialEq + Copy>(rows: &[crate::Row<K>], key: K) -> f64 {
    rows.iter().find(|row| row.key == key).map_or(0.0, |row| row.ns.value)
}

#[test]
fn rows_find_what_was_put_in() {
    let receipt = receipt(&sound());
    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 0.05 * wanted, "{found} for {wanted}");
    near(receipt.cpu.value, CPU);
    near(row(&receipt.rows.categories, Category::DataMovement), 150.0);
    near(row(&receipt.rows.categories, Category::Checksum), 60.0);
    near(row(&receipt.rows.categories, Category::BufferManagement), 200.0);
    near(row(&receipt.rows.categories, Category::User), 40.0);
    near(row(&receipt.rows.layers, Layer::Udp), 180.0 + 60.0 + 130.0);
    near(row(&receipt.rows.layers, Layer::User), 40.0);
    near(row(&receipt.rows.crossings, Crossing::Entry), 120.0);
    near(row(&receipt.rows.crossings, Crossing::Exit), 20.0);
    near(row(&receipt.split.directions, Some(Direction::Send)), 590.0);
    near(row(&receipt.split.directions, Some(Direction::Receive)), 130.0);
    near(row(&receipt.split.directions, Some(Direction::Acknowledgement)), 100.0);
    near(receipt.rows.touching.ns.value, 210.0);
    near(receipt.split.bound.messages_per_s, 1e6);
    near(receipt.split.bound.bits_per_s, 1e6 * 8.0 * 1024.0);
    near(receipt.split.bound_without_acknowledgement.messages_per_s, 1e9 / 900.0);
    near(receipt.calls["udp_sendmsg"].per_message.value, 1.0);
    near(receipt.off_cpu.runnable.unwrap().value, 50.0);
    let observer = receipt.observer.as_ref().unwrap();
    near(observer.ratio.value, 1.04);
    assert!(observer.ratio.interval.is_some());
    assert_eq!(observer.no_slices.as_deref(), Some("they were not made"));
    assert_eq!(receipt.undecided, [0.0, 0.0]);
    assert!(receipt.doubts.is_empty() && !receipt.is_red(), "{:?}", receipt.doubts);
    assert!((receipt.closure.wall.unwrap() - 1.0).abs() < 0.01 && (receipt.closure.sampler.unwrap().value - 1.0).abs() < 0.01);
    assert_eq!(receipt.off_cpu.charged.unwrap().value, 0.0);
    assert!(receipt.rules.iter().any(|rule| rule.name == "udp" && rule.layer > 0.2));
}

/// Where the sampler was on and off in slices, these say what it costs, however far passes have drifted apart.
#[test]
fn slices_say_what_watching_costs() {
    let mut made = passes(Cell { observer: 1.2, ..Cell::default() }, &COSTS, &mut generator(5));
    made.sampled = SampledSlices::Shifts([0.01, 0.02, 0.03, 0.02].repeat(2));
    let found = receipt(&made);
    let observer = found.observer.as_ref().unwrap();
    let ends = observer.ratio.interval.unwrap();
    // Student's t of 7 degrees of freedom, 2.365, times 0.00756 / √8.
    assert!((observer.ratio.value.ln() - 0.02).abs() < 1e-9 && (ends.high.ln() - 0.02632).abs() < 1e-5, "{observer:?}");
    assert_eq!((observer.no_slices.as_deref(), observer.ratio.n, ends.method), (None, 8, Method::Instances));
    assert!(found.doubts.is_empty(), "{:?}", found.doubts);
    // The interval of fewer may be wider than that of passes.
    made.sampled = SampledSlices::Shifts([0.02].repeat(7));
    let observer = receipt(&made).observer.unwrap();
    let reason = "fewer than 8 trials of slices are usable";
    assert!(observer.no_slices.as_deref() == Some(reason) && observer.ratio.value > 1.15, "{observer:?}");
}

/// The bars of a receipt can be missed: a tenth of the samples gone, or a wait, turns it red.
#[test]
fn what_is_dropped_turns_it_red() {
    let mut fewer = sound();
    for pass in &mut fewer.time {
        let mut seen = 0_u64;
        for stack in &mut pass.profile.stacks {
            let kept = (0..stack.count)
                .filter(|_| {
                    seen += 1;
                    !seen.is_multiple_of(10)
                })
                .count() as u64;
            stack.count = kept.max(1);
        }
    }
    let (red, whole) = (receipt(&fewer), receipt(&sound()));
    assert!(red.is_red(), "{:?}", red.closure);
    // Each row lacks the samples that it lost, and no row stands in for them.
    let unsampled = red.off_cpu.unsampled.unwrap().value;
    assert!((0.095..0.105).contains(&(unsampled / red.cpu.value)), "{unsampled} of {:?}", red.cpu);
    let ip = |receipt: &Receipt| receipt.rows.layers.iter().find(|row| row.key == Layer::Ip).unwrap().ns.value;
    assert!((0.88..0.92).contains(&(ip(&red) / ip(&whole))));
    assert!(matches!(red.doubts[0], Doubt::Dropped { closure, .. } if (0.895..0.905).contains(&closure)), "{:?}", red.doubts);

    let mut waitless = sound();
    waitless.waits.iter_mut().for_each(|pass| pass.waits.blocked = Nanos::new(0));
    let red = receipt(&waitless);
    assert!(red.is_red() && !(0.95..=1.05).contains(&red.closure.wall.unwrap()), "{:?}", red.closure);
    assert!((red.closure.sampler.unwrap().value - 1.0).abs() < 0.01);
}

/// A task's own timer, armed again at each switch, is put off where it is due as the task sleeps.
#[test]
fn samples_that_late_timers_missed_are_the_cause_named() {
    let mut passes = sound();
    for pass in &mut passes.time {
        let recorded = pass.cpu.get() * 3 / 4 / pass.profile.period;
        pass.profile.source = SampleSource::TaskClock;
        pass.account =
            Some(Account { on_cpu: Some(pass.cpu), recorded, counted: Some(pass.cpu.get()), others: None, ..Account::default() });
        pass.profile.stacks.iter_mut().for_each(|stack| stack.count = stack.count * 3 / 4);
    }
    let doubts = receipt(&passes).doubts;
    let cause = doubts.iter().find_map(|doubt| if let Doubt::Dropped { cause, .. } = doubt { Some(*cause) } else { None });
    let cause = cause.unwrap_or_else(|| panic!("{doubts:?}"));
    assert!(matches!(cause, Cause::Late { share } if (0.24..0.26).contains(&share)), "{cause:?}");
    assert!(cause.to_string().ends_with("missed 25 % of the samples due"), "{cause}");
}

/// Others on the machine make one pass wait longer than another: that is no
/// sample lost.
#[test]
fn waits_are_held_against_their_own_time() {
    let mut passes = sound();
    for pass in &mut passes.waits {
        let more = Nanos::new((400.0 * pass.messages) as u64);
        (pass.waits.runnable, pass.wall) = (pass.waits.runnable + more, pass.wall + more);
    }
    let moved = receipt(&passes);
    assert!(!moved.is_red() && matches!(moved.doubts[..], [Doubt::Moved { closure, .. }] if closure > 1.2), "{:?}", moved.doubts);
    assert!((moved.closure.own.unwrap() - 1.0).abs() < 0.01);
    passes.waits.iter_mut().for_each(|pass| pass.waits.blocked = Nanos::new(0));
    assert!(receipt(&passes).is_red());
}

/// A thread that sleeps when the recording begins is not known until it leaves a CPU.
#[test]
fn unseen_time_makes_a_sum_whole_and_no_more() {
    let with = |unseen: f64| {
        let mut passes = sound();
        for pass in &mut passes.waits {
            pass.waits.blocked = Nanos::new(0);
            pass.waits.unseen = Nanos::new((unseen * pass.wall.get() as f64) as u64);
        }
        receipt(&passes)
    };
    let own = |unseen| with(unseen).closure.own.unwrap();
    let short = 1.0 - own(0.0);
    assert!(short > 0.1 && with(0.0).is_red());
    assert!((own(short / 2.0) - (1.0 - short / 2.0)).abs() < 0.01);
    assert!((own(2.0 * short) - 1.0).abs() < 1e-9 && !with(2.0 * short).is_red());
}

#[test]
fn doubts_are_said() {
    let doubts = |change: &dyn Fn(&mut Passes)| {
        let mut passes = sound();
        change(&mut passes);
        let doubts = receipt(&passes).doubts;
        assert!(doubts.iter().all(|doubt| !doubt.to_string().is_empty() && !doubt.remedy().is_empty()));
        doubts
    };
    assert_eq!(doubts(&|passes| passes.time[0].profile.lost = 3), vec![Doubt::Lost { samples: 3 }]);
    assert_eq!(doubts(&|passes| passes.time[1].profile.throttled = 2), vec![Doubt::Throttled { times: 2 }]);
    assert_eq!(doubts(&|passes| passes.time[1].profile.broken = 1), vec![Doubt::Broken { samples: 1 }]);
    assert_eq!(doubts(&|passes| passes.waits.clear()), vec![Doubt::NoWaits]);
    let unrecorded = |passes: &mut Passes| passes.time[0].account = None;
    assert_eq!(doubts(&unrecorded), vec![Doubt::NoWaits, Doubt::NoRecords], "what is billed is a part of a wait");
    let few = doubts(&|passes| passes.time.truncate(1));
    assert!(few.contains(&Doubt::FewPasses { time: 1, clean: 9 }), "{few:?}");
    assert!(few.iter().any(|doubt| matches!(doubt, Doubt::FewSamples { missing, .. } if (1_000..3_000).contains(missing))), "{few:?}");
    let slow = receipt(&passes(Cell { observer: 1.2, ..Cell::default() }, &COSTS, &mut generator(5))).doubts;
    assert!(matches!(slow[..], [Doubt::Observer { .. }]), "{slow:?}");
    let unknown = doubts(&|passes| passes.time[0].profile.symbols.iter_mut().for_each(|name| name.insert_str(0, "zz")));
    assert!(unknown.iter().any(|doubt| matches!(doubt, Doubt::Undecided { .. })), "{unknown:?}");
    let asleep = doubts(&|passes| passes.role = Role::Receiver);
    assert!(asleep.is_empty(), "{asleep:?}");
}

/// A clock that runs from the wake-up on: what it bills before the end has a CPU is a row of its own, and no wait.
#[test]
fn what_is_billed_before_it_runs_is_a_row_of_its_own() {
    let mut passes = sound();
    passes.role = Role::Receiver;
    let billed = |cpu: Nanos| Nanos::new(cpu.get() * 100 / 93);
    passes.time.iter_mut().for_each(|pass| pass.cpu = billed(pass.cpu));
    for pass in &mut passes.clean {
        (pass.wall, pass.cpu) = (pass.wall + billed(pass.cpu).since(pass.cpu), billed(pass.cpu));
    }
    for pass in &mut passes.waits {
        let more = billed(pass.cpu).since(pass.cpu);
        (pass.wall, pass.waits.runnable, pass.cpu) = (pass.wall + more, pass.waits.runnable + more, pass.cpu + more);
    }
    let receipt = receipt(&passes);
    let charged = receipt.off_cpu.charged.unwrap().value;
    assert!((charged - 75.3).abs() < 1.0 && (receipt.off_cpu.runnable.unwrap().value - 50.0).abs() < 1.0, "{:?}", receipt.off_cpu);
    let rows: f64 = receipt.rows.layers.iter().map(|row| row.ns.value).sum();
    let unsampled = receipt.off_cpu.unsampled.unwrap().value;
    assert!((0.0..0.01 * receipt.cpu.value).contains(&unsampled), "{unsampled}");
    assert!((rows + unsampled + charged - receipt.cpu.value).abs() < 1e-6 * receipt.cpu.value);
    assert!((receipt.closure.sampler.unwrap().value - 1.0).abs() < 0.01 && (receipt.closure.wall.unwrap() - 1.0).abs() < 0.01);
    assert!(receipt.doubts.is_empty(), "{:?}", receipt.doubts);
}

/// 7 % of the clock is billed for 10,000 wake-ups a pass, as the probe says; a fifth more does not add up, a fifth less is
/// doubted.
#[test]
fn what_is_billed_is_held_next_to_a_probe() {
    let of = |shifted: f64, [low, high]: [f64; 2]| {
        let mut passes = sound();
        for pass in &mut passes.time {
            let on_cpu = pass.cpu.get() as f64;
            let billed = on_cpu * 7.0 / 93.0;
            let cost = |factor: f64| Nanos::new((billed / 10_000.0 * factor) as u64);
            pass.wakeups = Some((10_000, WakeupCost { low: cost(low), median: cost(1.0), high: cost(high) }));
            pass.cpu = Nanos::new((on_cpu + billed * shifted) as u64);
        }
        let receipt = receipt(&passes);
        let is_off = receipt.doubts.iter().any(|doubt| matches!(doubt, Doubt::Billed { .. }));
        assert_eq!(receipt.is_red(), is_off && shifted > 1.0, "{:?}", receipt.doubts);
        (receipt.closure.billed.map(|billed| billed.ratio.value), is_off)
    };
    let narrow = [0.95, 1.05];
    let (sound, is_off) = of(1.0, narrow);
    assert!((sound.unwrap() - 1.0).abs() < 0.01 && !is_off, "{sound:?}");
    // 1.4 % of the CPU time is small, whatever its ratio.
    assert!(!of(1.2, narrow).1);
    assert!(of(1.4, narrow).1 && of(0.6, narrow).1);
    // A probe whose wake-ups differ by as much leaves no doubt, and one that was disturbed estimates nothing.
    assert!(matches!(of(1.4, [0.55, 1.45]), (Some(_), false)));
    assert_eq!(of(1.4, [0.6, 1.6]), (None, false));
    let mut passes = sound_and_sleeping();
    assert!(!receipt(&passes).is_red(), "{:?}", receipt(&passes).doubts);
    for (by, is_red) in [(1.2, true), (0.8, false)] {
        passes = sound_and_sleeping();
        passes.time.iter_mut().for_each(|pass| pass.cpu = Nanos::new((pass.on_cpu().unwrap().get() as f64 * (1.0 + by)) as u64));
        let found = receipt(&passes);
        let billed = found.doubts.iter().find(|doubt| matches!(doubt, Doubt::Billed { .. }));
        assert_eq!(billed.map(Doubt::gravity), Some(if is_red { Gravity::Red } else { Gravity::Warning }), "{by}: {:?}", found.doubts);
        assert_eq!(found.is_red(), is_red, "{by}: {:?}", found.doubts);
    }
}

/// Of an end for which as much is billed as it has a CPU.
fn sound_and_sleeping() -> Passes {
    let mut passes = sound();
    for pass in &mut passes.time {
        let cost = Nanos::new(pass.cpu.get() / 10_000);
        pass.wakeups = Some((10_000, WakeupCost { low: cost, median: cost, high: cost }));
        pass.cpu = pass.cpu + pass.cpu;
    }
    passes
}

#[test]
fn what_no_receipt_can_be_made_from() {
    let error = |change: &dyn Fn(&mut Passes)| {
        let mut passes = sound();
        change(&mut passes);
        made::receipt(&passes, &Rules::builtin().unwrap()).unwrap_err()
    };
    assert_eq!(error(&|passes| passes.time.clear()), ReceiptError::NoPass("time"));
    assert_eq!(error(&|passes| passes.clean.clear()), ReceiptError::NoPass("clean"));
    assert_eq!(error(&|passes| passes.clean[0].messages = 0.0), ReceiptError::EmptyPass("clean"));
    assert_eq!(error(&|passes| passes.time[0].cpu = Nanos::default()), ReceiptError::EmptyPass("time"));
    assert_eq!(error(&|passes| passes.waits[0].messages = f64::NAN), ReceiptError::EmptyPass("wait"));
    assert_eq!(error(&|passes| passes.counts[0].messages = -1.0), ReceiptError::EmptyPass("count"));
    assert_eq!(error(&|passes| passes.time[3].profile.source = SampleSource::Cycles), ReceiptError::Mixed);
    assert_eq!(error(&|passes| passes.time.iter_mut().for_each(|pass| pass.profile.stacks.clear())), ReceiptError::NoSamples);
}

#[test]
fn few_passes_fall_back_on_the_samples() {
    let mut few = sound();
    few.time.truncate(3);
    assert!(receipt(&few).rows.categories.iter().all(|row| row.share.method == ErrorMethod::Binomial));
    let lively = passes(Cell { spread: 0.2, ..Cell::default() }, &COSTS, &mut generator(6));
    assert!(receipt(&lively).rows.categories.iter().any(|row| row.share.method == ErrorMethod::BetweenTrials));
    few.clean.truncate(1);
    assert!(receipt(&few).rows.categories.iter().all(|row| row.ns.error.is_none() && row.ns.method == ErrorMethod::Unknown));
}

/// Share of intervals of rows that hold what was put in.
#[test]
fn intervals_of_rows_cover() {
    let receipts = if cfg!(debug_assertions) { 150 } else { 1_000 };
    for (blocks, spread) in [(5, 0.0), (5, 0.1), (9, 0.1), (9, 0.3)] {
        let (mut random, mut held, mut all) = (generator(77), 0, 0);
        for _ in 0..receipts {
            let cell = Cell { blocks, spread, ..Cell::default() };
            let receipt = receipt(&passes(cell, &COSTS, &mut random));
            for cost in COSTS {
                let leaf = cost.chain.split('<').next().unwrap();
                let name = crate::Symbol::parse(leaf).listed();
                let [low, high] = receipt.rows.functions.iter().find(|row| row.key == name).unwrap().ns.interval.unwrap();
                held += u32::from(low <= cost.ns && cost.ns <= high);
                all += 1;
            }
        }
        let held = f64::from(held) / f64::from(all);
        eprintln!("rows of {blocks} passes, spread {spread}, at 95 %: hold {held:.3}");
        assert!(held >= 0.92, "{held}");
    }
}

#[test]
fn instructions_per_cycle_of_each_layer() {
    let (rules, mut booked) = (Rules::builtin().unwrap(), Booked::default());
    let mut classifier = Classifier::new(&rules);
    let names = ["instructions".to_owned(), "cache-misses".to_owned()];
    for pass in &sound().time {
        for stack in &pass.profile.stacks {
            let layer = classifier.classify(&frames(&pass.profile, stack), stack.user).layer;
            let cycles = stack.count * PERIOD;
            booked.add(layer, cycles as f64, &names, &[cycles * if stack.user { 3 } else { 1 }, 7]);
        }
    }
    let counters = booked.finish();
    assert!((counters[&Layer::User].ipc.unwrap() - 3.0).abs() < 1e-9 && (counters[&Layer::Ip].ipc.unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(counters[&Layer::User].counted["cache-misses"], 63.0);
}

#[test]
fn folded_is_what_the_flame_graph_tools_read() {
    let made = profile(&[
        ("tcp_ack<tcp_v4_rcv [x]<do_syscall_64", 3),
        ("[user]", 2),
        ("evil;name<\nroot", 1),
        ("tcp_ack<tcp_v4_rcv [x]<do_syscall_64", 4),
    ]);
    assert_eq!(folded(&made), "[user] 2\n_root;evil_name 1\ndo_syscall_64;tcp_v4_rcv [x];tcp_ack 7\n");
}

fn any_profile() -> impl Strategy<Value = Profile> {
    let name = prop::sample::select(vec![
        "tcp_ack",
        "tcp_v4_rcv",
        "udp_sendmsg",
        "_raw_spin_unlock_irq",
        "veth_xmit [veth]",
        "zz",
        "kfree",
        "[user]",
    ]);
    let chain = prop::collection::vec(name, 1..6).prop_map(|names| names.join("<"));
    prop::collection::vec((chain, 1_u64..500), 0..20)
        .prop_map(|stacks| profile(&stacks.iter().map(|(chain, count)| (chain.as_str(), *count)).collect::<Vec<_>>()))
}

/// In a container: a share of others where few samples may be idle time, none where many may.
#[test]
fn others_that_cannot_be_told_from_idle_time_are_unknown() {
    let mut made = passes(Cell::default(), &COSTS, &mut generator(8));
    let mut found = |untold, others| {
        made.time.iter_mut().for_each(|pass| pass.account = pass.account.map(|account| Account { others, untold, ..account }));
        let off_cpu = made::receipt(&made, &Rules::builtin().unwrap()).unwrap().off_cpu;
        (off_cpu.others, off_cpu.others_unknown)
    };
    assert_eq!(found(0, Some(0)), (Some(0.0), false));
    assert_eq!(found(u64::MAX, Some(0)), (None, true));
    assert_eq!(found(0, None), (None, false));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_sum_to_the_whole(profiles in prop::collection::vec(any_profile(), 1..6), on in 1.0..3.0f64, seed in any::<u64>()) {
        let mut made = passes(Cell { blocks: profiles.len() as u32, ..Cell::default() }, &COSTS, &mut generator(seed));
        for (pass, profile) in made.time.iter_mut().zip(profiles) {
            let on_cpu = Nanos::new((on * (profile.samples().max(1) * PERIOD) as f64) as u64);
            pass.account = pass.account.map(|account| Account { on_cpu: Some(on_cpu), ..account });
            pass.profile = profile;
        }
        let Ok(receipt) = made::receipt(&made, &Rules::builtin().unwrap()) else {
            prop_assert_eq!(made.time.iter().map(|pass| pass.profile.samples()).sum::<u64>(), 0);
            return Ok(());
        };
        let unsampled = receipt.off_cpu.unsampled.unwrap().value;
        prop_assert!(unsampled >= 0.0);
        let whole = receipt.cpu.value - receipt.off_cpu.charged.unwrap().value - unsampled;
        fn sum<K>(rows: &[crate::Row<K>]) -> f64 { rows.iter().map(|row| row.ns.value).sum() }
        for sum in [sum(&receipt.rows.categories), sum(&receipt.rows.layers), sum(&receipt.rows.paths), sum(&receipt.rows.functions), sum(&receipt.split.directions)] {
            prop_assert!((sum - whole).abs() < 1e-6 * whole.abs().max(1.0), "{} {}", sum, whole);
        }
        let mut layers: BTreeMap<Layer, u64> = BTreeMap::new();
        receipt.rows.paths.iter().for_each(|row| *layers.entry(row.key.layer).or_default() += row.samples);
        for row in &receipt.rows.layers {
            prop_assert_eq!(layers[&row.key], row.samples);
        }
    }
}
