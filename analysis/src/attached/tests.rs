//! Attached runs that are made up, with answers that are known.

use std::collections::BTreeMap;

use attribution::{Doubt, Layer, Rules};
use model::attach::{
    ATTACH_FORMAT, Attachment, CHILDREN, CallKind, Clocks, Connection, Elsewhere, Look, Messages, OwnCode, Pattern, Sockets, Totals, Way,
    WindowRecord,
};
use model::end::Window;
use model::profile::{Account, Profile, SampleSource, Stack, Waits};
use model::run::Status;
use model::wakeups::WakeupCost;
use model::{Nanos, Refusal};

use super::{Attached, PerSend, ReceiptOutcome, Verdict, Work, analyse, change, folded};
use crate::verdict::THRESHOLD;

/// Requests of each window.
const REQUESTS: u64 = 50_000;
/// Distance of samples.
const PERIOD: u64 = 100_000;

fn run(arms: &[&str]) -> Attachment {
    Attachment {
        format: ATTACH_FORMAT,
        id: "made".to_owned(),
        started_ms: 0,
        tool: "0".to_owned(),
        status: Status::BlocksDone,
        target: "pid 1".to_owned(),
        program: "server".to_owned(),
        arguments: None,
        requests: "redis:127.0.0.1:1".to_owned(),
        window: Nanos::from_millis(1000),
        period: PERIOD,
        sample_cost: None,
        wakeups: None,
        seed: 1,
        kernel: "6.12".to_owned(),
        cpus: 2,
        irq_time_subtracted: Some(false),
        affinity: Vec::new(),
        peer_affinity: Vec::new(),
        arms: arms.iter().map(|arm| (*arm).to_owned()).collect(),
        refused: Vec::new(),
    }
}

/// A window of a second in which a request takes `cpu` ns, 60 % of them in `tcp_sendmsg`.
fn window(block: u32, look: Look, cpu: u64, kept: f64) -> WindowRecord {
    let second = Window { start: Nanos::new(0), end: Nanos::new(1_000_000_000) };
    // Blocks differ, as they do.
    let cpu = Nanos::new(cpu * REQUESTS + u64::from(block % 3) * REQUESTS * 10);
    let clocks = Clocks { cpu, processes: 1, threads: 1, voluntary: 5_000, ..Clocks::default() };
    let mut record = WindowRecord { requests: Some(REQUESTS), ..WindowRecord::new(block, look, second, clocks) };
    match look {
        Look::Clean => {}
        Look::Time => {
            let samples = |share: f64| (cpu.get() as f64 * share * kept / PERIOD as f64).round() as u64;
            let account = Account { on_cpu: Some(cpu), recorded: 20_000, counted: None, others: Some(9), ..Account::default() };
            let stacks = vec![
                Stack { frames: vec![0], user: true, count: samples(0.4) },
                Stack { frames: vec![1, 2], user: false, count: samples(0.6) },
            ];
            let symbols = ["[user]", "tcp_sendmsg", "__sys_sendto"].map(str::to_owned).to_vec();
            let source = SampleSource::CpuClock;
            record.profile =
                Some(Profile { source, period: PERIOD, symbols, stacks, lost: 0, throttled: 0, broken: 0, account: Some(account) });
            let own = samples(0.4);
            record.own_code = Some(OwnCode { functions: vec![("lookup".to_owned(), own / 2)], rest: 0, unnamed: own - own / 2 });
            record.elsewhere = Some(Elsewhere { softirq: 100, period: PERIOD });
        }
        Look::Messages => {
            let totals = Totals { sends: REQUESTS, sent: REQUESTS * 7, receives: REQUESTS, received: REQUESTS * 36, empty: 0, failed: 0 };
            let kind = |call: &str, way, bytes: u64| CallKind {
                call: call.to_owned(),
                way,
                protocol: "tcp".to_owned(),
                calls: REQUESTS,
                bytes: REQUESTS * bytes,
                empty: 0,
                failed: 0,
                short: None,
                asked: None,
                asked_sizes: Vec::new(),
                at_least: 0,
                untold: 0,
                sizes: vec![(bytes, REQUESTS)],
            };
            let exchange = Pattern {
                protocol: "tcp".to_owned(),
                receives: 1,
                received: 36,
                call: "write".to_owned(),
                calls: Vec::new(),
                sends: vec![7],
                apart: 0,
                count: REQUESTS,
            };
            let calls = vec![kind("read", Way::In, 36), kind("write", Way::Out, 7)];
            record.messages =
                Some(Messages { totals, kept: 2 * REQUESTS, beyond: 0, calls, patterns: vec![exchange], exchanges: REQUESTS, sockets: 1 });
        }
        Look::Waits => {
            let rest = 1_000_000_000 - cpu.get();
            record.waits = Some(Waits { runnable: Nanos::new(0), blocked: Nanos::new(rest), switches: 5_000, ..Waits::default() });
        }
    }
    record
}

fn made(kept: f64) -> Attached {
    let windows: Vec<WindowRecord> =
        (0..8).flat_map(|block| Look::ALL.iter().map(move |look| window(block, *look, 14_000, kept))).collect();
    analyse(run(&[]), &windows, 0, &Rules::builtin().unwrap())
}

/// A tenth of the clock is billed for its wake-ups, as the probe says; more does not add up, and less is doubted: a program
/// is woken on busy CPUs, too.
#[test]
fn what_is_billed_is_held_next_to_a_probe() {
    let found = |shifted: f64| {
        let cost = Nanos::new(REQUESTS * 14_000 / 9 / 5_000);
        let billed = |window: WindowRecord| {
            let own = window.clocks.cpu.get() as f64;
            let cpu = Nanos::new((own + own / 9.0 * shifted) as u64);
            let waits = window.waits.map(|waits| Waits { blocked: Nanos::new(1_000_000_000 - cpu.get()), ..waits });
            WindowRecord { clocks: Clocks { cpu, ..window.clocks }, waits, ..window }
        };
        let windows = (0..8).flat_map(|block| Look::ALL.iter().map(move |look| window(block, *look, 14_000, 1.0)));
        let windows: Vec<WindowRecord> = windows.map(billed).collect();
        let run = Attachment { wakeups: Some(WakeupCost { low: cost, median: cost, high: cost }), ..run(&[]) };
        let found = analyse(run, &windows, 0, &Rules::builtin().unwrap());
        let doubted = found.states[0].doubts().iter().any(|doubt| matches!(doubt, Doubt::Billed { .. }));
        (doubted, found.states[0].is_red())
    };
    assert_eq!([1.0, 1.25, 0.75].map(found), [(false, false), (true, true), (true, false)]);
}

#[test]
fn a_request_has_a_receipt_that_adds_up() {
    let found = made(1.0);
    let state = &found.states[0];
    let receipt = state.receipt().unwrap();
    assert!(!state.is_red(), "{:?}", receipt.doubts);
    let row = |layer| receipt.rows.layers.iter().find(|row| row.key == layer).unwrap().ns.value;
    assert!((row(Layer::Tcp) - 0.6 * 14_009.0).abs() < 20.0 && (row(Layer::User) - 0.4 * 14_009.0).abs() < 20.0);
    assert!((state.sampled(Work::Network).unwrap() - 0.6).abs() < 0.01);
    assert_eq!(state.footing, Some(attribution::Footing::Hold));
    let own: Vec<(Option<&str>, f64)> = state.own_code.iter().map(|row| (row.function.as_deref(), row.share.value)).collect();
    assert!(
        own.len() == 2 && own.iter().all(|(_, share)| (share - 0.2).abs() < 0.01) && own.iter().any(|(name, _)| *name == Some("lookup"))
    );
    assert!((state.rate.unwrap().value - REQUESTS as f64).abs() < 1.0);
    assert_eq!((state.patterns[0].sends.as_slice(), state.patterns[0].count), (&[7][..], 8 * REQUESTS));
    assert!((state.calls[0].per_request.value - 1.0).abs() < 1e-9);
    assert_eq!(state.mix(), "message_bytes,cumulative_fraction\n7,1\n");
    assert!((state.elsewhere.unwrap().value - 100.0 * PERIOD as f64 / REQUESTS as f64).abs() < 1e-6);
}

/// Functions of the own code are frames below it, and no sample is lost or counted twice.
#[test]
fn own_code_has_its_functions_in_folded_stacks() {
    let windows = [window(0, Look::Time, 14_000, 1.0), window(1, Look::Clean, 14_000, 1.0)];
    let text = folded(&windows, None);
    let count = |chain: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{chain} ")));
        line.unwrap_or_else(|| panic!("{chain}: {text}")).parse::<u64>().unwrap()
    };
    let own = 7_000_000 * 40 / PERIOD;
    assert_eq!((count("[user]") + count("[user];lookup"), count("[user];lookup")), (own, own / 2));
    assert_eq!(count("__sys_sendto;tcp_sendmsg"), 7_000_000 * 60 / PERIOD);
    assert_eq!(text.lines().count(), 3);
}

/// Shares of one whole, whatever the sum of the samples is; none where the receipt does not bear it.
#[test]
fn shares_of_what_was_sampled_sum_to_one() {
    let mut state = made(1.0).states.remove(0);
    let sum = |state: &super::State| Work::ALL.iter().filter_map(|work| state.sampled(*work)).sum::<f64>();
    assert!((sum(&state) - 1.0).abs() < 1e-9 && (state.sampled(Work::Own).unwrap() - 0.4).abs() < 0.01);
    for (row, share) in state.work.iter_mut().zip([0.84, 0.42]) {
        row.share.value = share;
    }
    assert!((sum(&state) - 1.0).abs() < 1e-9);
    for footing in [attribution::Footing::Off, attribution::Footing::TooFew { samples: 34 }] {
        state.footing = Some(footing);
        assert_eq!(state.sampled(Work::Own), None);
    }
}

/// Without samples there is no receipt, and the CPU time of a request all the same.
#[test]
fn clean_windows_alone_tell_what_a_request_costs() {
    let windows: Vec<WindowRecord> = (0..8).map(|block| window(block, Look::Clean, 14_000, 1.0)).collect();
    let state = analyse(run(&[]), &windows, 0, &Rules::builtin().unwrap()).states.remove(0);
    assert!(matches!(state.outcome, ReceiptOutcome::Absent { .. }) && state.footing.is_none());
    assert!((state.cpu.unwrap().value - 14_009.0).abs() < 10.0, "{:?}", state.cpu);
    let silent: Vec<WindowRecord> = windows.into_iter().map(|one| WindowRecord { requests: None, ..one }).collect();
    let state = analyse(run(&[]), &silent, 0, &Rules::builtin().unwrap()).states.remove(0);
    assert!(state.cpu.is_none() && matches!(&state.outcome, ReceiptOutcome::Absent { reason } if reason.contains("could not be counted")));
}

/// A process for each connection, whose socket calls are not seen: they are not 0.
#[test]
fn what_cannot_be_counted_is_said_to_be_so() {
    let refusal = Refusal::new(CHILDREN, "", "");
    let came = |children: u32| -> Attached {
        let windows = (0..8).flat_map(|block| Look::ALL.iter().map(move |look| window(block, *look, 14_000, 1.0)));
        let windows: Vec<WindowRecord> = windows
            .map(|mut one| {
                one.clocks.came = children;
                one.clocks.run_delay = None;
                one.messages.iter_mut().for_each(|messages| messages.totals = Totals::default());
                one
            })
            .collect();
        let run = Attachment { refused: vec![refusal.clone()], ..run(&[]) };
        analyse(run, &windows, 0, &Rules::builtin().unwrap())
    };
    let names = |found: &Attached| found.states[0].per_request.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    let without = came(0);
    assert!(names(&without).contains(&"socket calls that gave data".to_owned()) && names(&without).contains(&"wake-ups".to_owned()));
    assert!(!names(&without).contains(&"wait for a CPU".to_owned()), "this kernel does not count it");
    let with = came(900);
    let state = &with.states[0];
    assert_eq!(names(&with), [""; 0]);
    assert!(state.calls.is_empty() && state.patterns.is_empty());
    assert!(state.receipt().is_none_or(|receipt| receipt.size.get() == 0));
    assert_eq!(state.notes.iter().filter(|note| note.contains("cannot be counted")).count(), 2, "{:?}", state.notes);
}

#[test]
fn one_sample_in_ten_dropped_turns_it_red() {
    let found = made(0.9);
    let doubts = found.states[0].doubts();
    assert!(found.states[0].is_red() && doubts.iter().any(|doubt| matches!(doubt, Doubt::Dropped { .. })), "{doubts:?}");
}

#[test]
fn few_samples_are_said_and_not_taken_for_a_failing_sum() {
    let few = |kept: f64| {
        let windows: Vec<WindowRecord> =
            (0..8).flat_map(|block| Look::ALL.iter().map(move |look| window(block, *look, 100, kept))).collect();
        analyse(run(&[]), &windows, 0, &Rules::builtin().unwrap()).states.remove(0)
    };
    let state = few(0.95);
    assert!(!state.is_red() && state.doubts().iter().any(|doubt| matches!(doubt, Doubt::FewSamples { .. })), "{:?}", state.doubts());
    // Whatever they sum to.
    let half = few(0.5);
    assert!(matches!(half.footing, Some(attribution::Footing::TooFew { .. })) && !half.is_red(), "{:?}", half.footing);
}

#[test]
fn arms_are_paired_by_their_block() {
    let arm = |arm: usize, cpu| {
        (0..8).flat_map(move |block| Look::ALL.iter().map(move |look| WindowRecord { arm: Some(arm), ..window(block, *look, cpu, 1.0) }))
    };
    let windows: Vec<WindowRecord> = arm(0, 10_000).chain(arm(1, 12_000)).collect();
    let found = analyse(run(&["a", "b"]), &windows, 0, &Rules::builtin().unwrap());
    let change = found.change.unwrap();
    let ratio = change.ratio.unwrap();
    assert!((ratio.value - 1.2).abs() < 0.01 && ratio.interval.is_some(), "{ratio:?}");
    assert!(change.layers.rows[0].key == Layer::Tcp && change.layers.cpu.difference.value > 1_900.0);
    assert_eq!((change.verdict, change.threshold), (Verdict::Worse, 0.02));
}

#[test]
fn a_change_has_one_of_four_verdicts() {
    let of = |cpu: [u64; 2], kept: f64, threshold: f64| {
        let state = |cpu: u64, kept: f64| {
            let windows: Vec<WindowRecord> =
                (0..8).flat_map(|block| Look::ALL.iter().map(move |look| window(block, *look, cpu, kept))).collect();
            analyse(run(&[]), &windows, 0, &Rules::builtin().unwrap()).states.remove(0)
        };
        let [a, b] = [state(cpu[0], 1.0), state(cpu[1], kept)];
        change([&a, &b], ["x", "y"].map(str::to_owned), threshold).unwrap()
    };
    assert_eq!(of([10_000, 12_000], 1.0, 0.02).verdict, Verdict::Worse);
    assert_eq!(of([12_000, 10_000], 1.0, 0.02).verdict, Verdict::Better);
    assert_eq!(of([10_000, 10_010], 1.0, 0.02).verdict, Verdict::Equivalent);
    // Shown, but no larger than what is none; and its interval reaches beyond.
    assert_eq!(of([10_000, 10_190], 1.0, 0.0201).verdict, Verdict::Equivalent);
    assert_eq!(of([10_000, 10_190], 1.0, 0.0192).verdict, Verdict::Inconclusive);
    assert_eq!(of([10_000, 12_000], 0.5, 0.02).verdict, Verdict::Inconclusive, "a receipt does not add up");
}

#[test]
fn without_requests_there_is_a_reason() {
    let windows: Vec<WindowRecord> = Look::ALL.iter().map(|look| WindowRecord { requests: Some(0), ..window(0, *look, 1, 1.0) }).collect();
    let found = analyse(run(&[]), &windows, 0, &Rules::builtin().unwrap());
    assert!(matches!(&found.states[0].outcome, ReceiptOutcome::Absent { reason } if reason.contains("counted no request")));
    // One window without a request, and none with samples: in words of who observes a program.
    let mut windows: Vec<WindowRecord> =
        (0..3).flat_map(|block| Look::ALL.iter().map(move |look| window(block, *look, 14_000, 1.0))).collect();
    windows.iter_mut().find(|one| one.look == Look::Time).unwrap().clocks.cpu = Nanos::default();
    let reason = |windows: &[WindowRecord]| match analyse(run(&[]), windows, 0, &Rules::builtin().unwrap()).states.remove(0).outcome {
        ReceiptOutcome::Absent { reason } => reason,
        ReceiptOutcome::Made(receipt) => format!("made: {:?}", receipt.doubts),
    };
    windows.iter_mut().filter(|one| one.look == Look::Time).flat_map(|one| &mut one.profile).for_each(|profile| profile.stacks.clear());
    let said = reason(&windows);
    assert!(said.contains("-t") && !said.contains("pass"), "{said}");
}

#[test]
fn sends_that_were_not_seen_divide_nothing() {
    let windows: Vec<WindowRecord> = (0..8)
        .flat_map(|block| Look::ALL.iter().map(move |look| window(block, *look, 14_000, 1.0)))
        .map(|one| WindowRecord { clocks: Clocks { ended: Nanos::from_millis(10), ..one.clocks }, ..one })
        .collect();
    let sends = |refused: &[&str]| Attachment {
        requests: "sends".to_owned(),
        refused: refused.iter().map(|what| Refusal::new(*what, "", "")).collect(),
        ..run(&[])
    };
    let rules = Rules::builtin().unwrap();
    assert!(analyse(sends(&[]), &windows, 0, &rules).states[0].receipt().is_some());
    let found = analyse(sends(&[CHILDREN]), &windows, 0, &rules);
    let state = &found.states[0];
    assert!(matches!(&state.outcome, ReceiptOutcome::Absent { reason } if reason.contains("another source")), "{:?}", state.outcome);
    assert!(state.per_request.is_empty() && state.rate.is_none() && state.calls.is_empty());
}

/// Windows of a program whose answers take as many sends as given.
fn answers_in(sends: usize) -> Vec<WindowRecord> {
    let mut windows: Vec<WindowRecord> =
        (0..8).flat_map(|block| Look::ALL.iter().map(move |look| window(block, *look, 14_000, 1.0))).collect();
    let patterns = windows.iter_mut().filter_map(|one| one.messages.as_mut()).flat_map(|messages| &mut messages.patterns);
    patterns.for_each(|pattern| pattern.sends = vec![7; sends]);
    windows
}

#[test]
fn a_request_that_takes_several_sends_is_not_called_a_send() {
    let rules = Rules::builtin().unwrap();
    let counted = |requests: &str, sends| {
        let run = Attachment { requests: requests.to_owned(), ..run(&[]) };
        analyse(run, &answers_in(sends), 0, &rules)
    };
    let unit = |requests, sends| (counted(requests, sends).states[0].unit(), counted(requests, sends).states[0].per_send);
    assert_eq!(unit("sends", 1), ("request", None));
    assert_eq!(unit("sends", 2), ("send", Some(PerSend::Several(2.0))));
    // Another source counts requests, however many sends each takes.
    assert_eq!(unit("redis:127.0.0.1:1", 2), ("request", None));
    let answer = crate::answer::attached(&counted("sends", 2));
    assert!(answer.headline.starts_with("A send costs") && answer.reason.contains("a request takes 2.0 sends"), "{answer:?}");
}

/// A pattern keeps 16 sends; more of them are counted by calls, unless many exchanges are cut by the edges of a window.
#[test]
fn sends_beyond_a_pattern_are_counted_or_called_at_least() {
    let rules = Rules::builtin().unwrap();
    let counted = |sockets: u64, sends: f64| {
        let mut windows = answers_in(16);
        for messages in windows.iter_mut().filter_map(|one| one.messages.as_mut()) {
            messages.sockets = sockets;
            messages
                .calls
                .iter_mut()
                .filter(|kind| kind.way == Way::Out)
                .for_each(|kind| kind.calls = (sends * messages.exchanges as f64) as u64);
        }
        analyse(Attachment { requests: "sends".to_owned(), ..run(&[]) }, &windows, 0, &rules)
    };
    let (exact, bound, rare) = (counted(1, 20.0), counted(REQUESTS, 20.0), counted(1, 1.001));
    // One answer of sixteen sends among thousands of one.
    assert_eq!(rare.states[0].per_send, None);
    assert_eq!(exact.states[0].per_send, Some(PerSend::Several(20.0)));
    assert_eq!(bound.states[0].per_send, Some(PerSend::AtLeast(16.0)));
    let reason = |found: &Attached| crate::answer::attached(found).reason;
    assert!(reason(&exact).contains("a request takes 20.0 sends"), "{}", reason(&exact));
    assert!(reason(&bound).contains("a request takes at least 16.0 sends"), "{}", reason(&bound));
}

#[test]
fn states_that_answer_in_unequal_numbers_of_sends_have_no_verdict() {
    let rules = Rules::builtin().unwrap();
    let state = |sends| analyse(Attachment { requests: "sends".to_owned(), ..run(&[]) }, &answers_in(sends), 0, &rules).states.remove(0);
    let names = || ["cork off", "cork on"].map(str::to_owned);
    let (one, two) = (state(1), state(2));
    let same = change([&two, &two], names(), THRESHOLD).unwrap();
    assert_eq!((same.sends, same.verdict), (None, Verdict::Equivalent));
    let uneven = change([&two, &one], names(), THRESHOLD).unwrap();
    assert_eq!((uneven.sends, uneven.verdict), (Some([2.0, 1.0]), Verdict::Inconclusive));
}

#[test]
fn a_program_that_listens_and_connects_is_a_client_as_well() {
    let rules = Rules::builtin().unwrap();
    let unit = |local: [&str; 2]| {
        let connection = |local: &str| Connection { protocol: "tcp".to_owned(), local: local.to_owned(), ..Connection::default() };
        let count = BTreeMap::from([("tcp listen".to_owned(), 1), ("tcp established".to_owned(), 2)]);
        let sockets = Sockets { count, connections: local.map(connection).to_vec(), ..Sockets::default() };
        let mut windows = answers_in(1);
        windows.last_mut().unwrap().sockets = Some(sockets);
        analyse(Attachment { requests: "sends".to_owned(), ..run(&[]) }, &windows, 0, &rules).states[0].per_send
    };
    assert_eq!(unit(["127.0.0.1:8080", "127.0.0.1:8080"]), None);
    assert_eq!(unit(["127.0.0.1:8080", "127.0.0.1:38390"]), Some(PerSend::Client));
}
