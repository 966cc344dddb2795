//! The tool watches itself: what makes one trial doubtful.

mod external;

use model::condition::{Conditions, Placement};
use model::end::{EndReport, OptionValue, SocketOption, ZeroCopy};
use model::plan::TrialEnd;
use model::trial::{Measured, Windows};
use model::{Cell, Nanos, Plan, Protocol, Role, Test, TrialRecord, Warning};

use crate::conservation::balance;
use crate::ends;
use crate::metric::bounds::{self, LEAST_WINDOW};
use crate::metric::{Source, waited};

/// An end that waited longer than this share of the measured time for a CPU
/// was disturbed. Wake-ups alone make about 1 %.
const MOST_WAITING: f64 = 0.04;

/// The share of all CPU time that a hypervisor may take.
const MOST_STOLEN: f64 = 0.02;

/// Ticks that must have been stolen besides: of a short trial one is more than
/// [`MOST_STOLEN`], and one may be rounding.
const LEAST_STOLEN: u64 = 3;

/// The share of the receiver's measured time in which nothing need be sent.
const MOST_IDLE: f64 = 0.01;

/// The share of the time per message that may be the tool's own loop.
const MOST_LOOP: f64 = 0.05;

/// Fewer messages or transactions than this make a coarse figure: the clock's
/// edge alone is then 1 %.
const LEAST_MESSAGES: u64 = 100;

/// Every doubt about a trial that its own numbers raise; none about one that
/// failed. What only the laboratory can know (an end that was not bound, a
/// link that was not made) is not among them.
///
/// `loop_overhead_ns` is the cost of the tool's own loop around each call, as
/// measured on the host before the run.
pub fn warnings(record: &TrialRecord, loop_overhead_ns: f64, plan: &Plan) -> Vec<Warning> {
    let Some(measured) = record.measured() else { return Vec::new() };
    let (cell, mut found) = (record.cell_as_run(), Vec::new());
    found.extend(unaccounted(measured, cell));
    let local = cell.api.over().is_local();
    found.extend(wrong_path(measured, cell).filter(|_| !local));
    found.extend(one_cpu(measured, cell));
    found.extend(throttled(measured));
    found.extend(stolen(measured));
    found.extend(misaligned(measured, cell));
    found.extend(different_times(measured));
    found.extend(answers_lost(measured, cell));
    for end in [&measured.sender, &measured.receiver] {
        found.extend(contended(end, cell));
        // A sender that keeps to its schedule is limited by that alone.
        let limited = generator_limit(end, loop_overhead_ns).filter(|_| cell.rate.is_none() || behind(&measured.sender).is_some());
        found.extend(limited);
        found.extend(behind(end));
        found.extend(end.options.iter().filter_map(|option| not_taken(end.role, option)));
        found.extend(calls_failed(end));
        found.extend(copied(end));
        found.extend(short_window(end).filter(|_| matches!(plan.end.of(cell), TrialEnd::Messages(_))));
    }
    found.extend(external::warnings(measured, cell));
    let link = cell.conditions.link.as_ref().unwrap_or(&plan.link.kind);
    found.extend(bounds::breaches(&Source { measured, cell, link: Some(link), round_trips: None }));
    let messages = measured.receiver.counts.messages;
    found.extend((messages < LEAST_MESSAGES).then(|| Warning::FewMessages { messages, due_every: due_every(cell) }));
    found
}

/// The time from one message of a schedule to the next, all flows together.
fn due_every(cell: &Cell) -> Option<Nanos> {
    let per_second = cell.rate?.messages_per_second(cell.size) * f64::from(cell.flows);
    (per_second > 0.0).then(|| Nanos::new((1e9 / per_second) as u64))
}

/// Only on isolated hosts: elsewhere the counters are everybody's.
fn unaccounted(measured: &Measured, cell: &Cell) -> Option<Warning> {
    let datagrams = balance(measured, cell).filter(|_| measured.isolated)?.unaccounted;
    (datagrams != 0).then_some(Warning::Unaccounted { datagrams })
}

/// Payload that arrived must have been carried by the link, at both of its
/// ends. Of request/response only the requests are compared with it: which
/// ways the end's own bytes count does not matter then. Drivers of real devices
/// bring their counters up to date now and then, so between machines only what
/// is half missing is missing.
fn wrong_path(measured: &Measured, cell: &Cell) -> Option<Warning> {
    if cell.is_apart() && !measured.isolated {
        // Over loopback such ends have a namespace of their own, whose devices nobody reads.
        return None;
    }
    let total = &measured.receiver.total;
    let payload = match cell.test {
        Test::TcpRr | Test::UdpRr | Test::TcpCrr => total.messages.saturating_mul(cell.size.get()),
        Test::TcpStream | Test::TcpMaerts | Test::UdpStream => total.bytes,
    };
    let carried = measured.receiver_host.link.rx_bytes.min(measured.sender_host.link.tx_bytes);
    // Bulk flows next to the trial began and ended while the counters ran.
    let of_others = measured.conditions.as_ref().and_then(|taken| taken.bulk).map_or(0, |bulk| bulk.bytes.get());
    let carried = carried.saturating_sub(of_others);
    let least = if measured.apart { payload / 2 } else { payload };
    (carried < least).then_some(Warning::WrongPath { payload, carried })
}

/// A trial of a number of messages that was over too soon.
fn short_window(end: &EndReport) -> Option<Warning> {
    let lasted = end.window.length();
    // A shorter one is beyond the bounds of figures already.
    (end.window.is_resolved() && lasted < LEAST_WINDOW).then_some(Warning::ShortWindow { role: end.role, lasted, wanted: LEAST_WINDOW })
}

/// It is no doubt where it was asked for.
fn one_cpu(measured: &Measured, cell: &Cell) -> Option<Warning> {
    // Of hosts apart each has a CPU of that number.
    let shared = !measured.apart && measured.sender.cpu? == measured.receiver.cpu?;
    (shared && cell.conditions.placement != Placement::SameCore).then_some(Warning::OneCpu)
}

/// Two hosts on one machine see the same CPUs, so the larger counts, not the sum.
fn throttled(measured: &Measured) -> Option<Warning> {
    let times = measured.sender_host.cpu.throttled.max(measured.receiver_host.cpu.throttled);
    (times > 0).then_some(Warning::Throttled { times })
}

fn stolen(measured: &Measured) -> Option<Warning> {
    let cpus = [&measured.sender_host.cpu, &measured.receiver_host.cpu].into_iter().filter(|cpu| cpu.steal >= LEAST_STOLEN);
    let share = cpus.map(|cpu| cpu.steal as f64 / cpu.all().max(1) as f64).fold(0.0, f64::max);
    (share > MOST_STOLEN).then_some(Warning::Stolen { share })
}

/// The sender's instants are put on the receiver's clock. What the difference
/// of the clocks may be wrong by is no idleness. Where both ends counted to the
/// same byte of a TCP stream, what its sender's buffers held at the end is part of
/// what is measured.
fn misaligned(measured: &Measured, cell: &Cell) -> Option<Warning> {
    let counted = cell.test.is_stream() && cell.protocol() == Protocol::Tcp;
    if counted && measured.sender.counts.bytes == measured.receiver.counts.bytes {
        return None;
    }
    let (window, flow) = (measured.receiver.window, measured.sender.flow?);
    let (offset, error) = measured.clock.map_or((0, 0), |clock| (clock.offset_ns, clock.error_ns));
    let there = |at: Nanos| Nanos::new(at.get().saturating_add_signed(offset));
    let together = window.end.min(there(flow.end)).since(window.start.max(there(flow.start))).get().saturating_add(error) as f64;
    let share = 1.0 - together / window_ns(&measured.receiver)?;
    (share > MOST_IDLE).then_some(Warning::Misaligned { share })
}

/// The ends are to measure one time, as long as was asked. What the difference of the clocks may
/// be wrong by is in favour of the trial: the windows were opened by that same difference.
fn different_times(measured: &Measured) -> Vec<Warning> {
    let Some(Windows { asked, overlap_ns }) = measured.windows else { return Vec::new() };
    let [sender, receiver] = [&measured.sender, &measured.receiver].map(|end| end.window.length());
    let least = |length: Nanos| length.get() as f64 * Windows::LEAST;
    let error_ns = measured.clock.map_or(0, |clock| clock.error_ns);
    // Of several machines the receivers' windows count, which are of one clock where one receives.
    let apart = measured
        .peers_overlap()
        .map_or_else(|| overlap_ns as f64 + (error_ns as f64) < least(sender.max(receiver)), |share| share < Windows::LEAST);
    let short = |end: &EndReport| (end.role, end.window.length());
    let mut found = Vec::from_iter(apart.then_some(Warning::WindowsApart { overlap_ns, sender, receiver }));
    let short = [&measured.sender, &measured.receiver].map(short).into_iter().filter(|(_, length)| (length.get() as f64) < least(asked));
    found.extend(short.map(|(role, length)| Warning::WindowCut { role, length, asked }));
    found
}

fn answers_lost(measured: &Measured, cell: &Cell) -> Option<Warning> {
    let total = &measured.sender.total;
    let share = total.lost as f64 / (total.messages as f64 + total.lost as f64);
    (cell.test == Test::UdpRr && total.lost > 0).then_some(Warning::AnswersLost { share })
}

fn window_ns(end: &EndReport) -> Option<f64> {
    let length = end.window.length().get();
    (length > 0).then_some(length as f64)
}

/// An end that was to share its CPU had to wait for it: that is what the trial
/// shows, not what spoils it.
fn contended(end: &EndReport, cell: &Cell) -> Option<Warning> {
    let share = waited(end)?;
    (share > MOST_WAITING && !shares_its_cpu(end.role, cell)).then_some(Warning::Contended { role: end.role, share })
}

/// Returns whether something else was asked to run on the CPU of an end: units of load,
/// or the other end.
fn shares_its_cpu(role: Role, cell: &Cell) -> bool {
    let Conditions { load, placement, .. } = &cell.conditions;
    *load.of(role) > 0 || *placement == Placement::SameCore
}

fn behind(end: &EndReport) -> Option<Warning> {
    ends::behind_by(end).map(|(messages, share)| Warning::BehindSchedule { role: end.role, messages, share })
}

/// Each call went through the loop once, so the loop's share of the measured
/// time is its share of the time per message. Flows have a loop each. A program of a user's
/// own has another loop.
fn generator_limit(end: &EndReport, loop_overhead_ns: f64) -> Option<Warning> {
    if end.external.is_some() {
        return None;
    }
    let share = end.counts.calls as f64 * loop_overhead_ns / window_ns(end)? / ends::threads(end);
    (share.is_finite() && share > MOST_LOOP).then_some(Warning::GeneratorLimit { role: end.role, share })
}

/// Buffers: the kernel sets twice what is asked (socket(7)), so more is taken
/// and less is not. Anything else has to be just what was asked.
fn not_taken(role: Role, option: &SocketOption) -> Option<Warning> {
    let asked = option.asked.as_ref()?;
    let is_buffer = ["SO_SNDBUF", "SO_RCVBUF"].contains(&option.name.as_str());
    let taken = match (asked, &option.set) {
        (OptionValue::Number(asked), OptionValue::Number(set)) if is_buffer => set >= asked,
        (asked, set) => asked == set,
    };
    let (option, asked, got) = (option.name.clone(), words(asked), words(&option.set));
    (!taken).then_some(Warning::OptionNotTaken { role, option, asked, got })
}

fn words(value: &OptionValue) -> String {
    match value {
        OptionValue::Number(number) => number.to_string(),
        OptionValue::Text(text) => text.clone(),
    }
}

/// Sends from the program's own pages that were copied all the same.
fn copied(end: &EndReport) -> Option<Warning> {
    let ZeroCopy { sends, copied } = end.zero_copy?;
    (copied > 0).then(|| Warning::Copied { role: end.role, share: copied as f64 / sends.max(copied) as f64 })
}

fn calls_failed(end: &EndReport) -> Option<Warning> {
    let (role, calls) = (end.role, end.total.errors);
    let errno = |errno: i32| std::io::Error::from_raw_os_error(errno).to_string();
    let error = end.total.last_errno.map_or_else(|| "no errno was kept".to_owned(), errno);
    (calls > 0).then_some(Warning::CallsFailed { role, calls, error })
}

#[cfg(test)]
mod tests {
    use super::warnings;
    use crate::testing::{measured, record};
    use model::condition::{Conditions, LoadUsage, ObservedConditions, Placement, TrafficTotals};
    use model::end::{OptionValue, SocketOption, Window, ZeroCopy};
    use model::plan::{Link, PlanEnd};
    use model::trial::{ClockOffset, Measured, Windows};
    use model::{Bytes, Nanos, Plan, Role, Test, Warning};
    use testkit::made;

    /// The doubts about a sound trial of `test` after `change`.
    fn doubts(test: Test, change: impl Fn(&mut Measured)) -> Vec<Warning> {
        let mut trial = measured(test, 1024);
        change(&mut trial);
        warnings(&record(test, 1024, 0, trial), 1.0, &over("veth"))
    }

    /// A plan whose cells cross this link.
    fn over(link: &str) -> Plan {
        let plan = made::plan("test", Vec::new());
        Plan { link: Link { kind: link.parse().unwrap(), ..plan.link.clone() }, ..plan }
    }

    #[test]
    fn a_sound_trial_raises_none() {
        for test in Test::ALL {
            assert_eq!(doubts(*test, |_| ()), [], "{test}");
        }
    }

    #[test]
    fn lost_datagrams_and_wrong_ways() {
        let lost = |trial: &mut Measured| trial.receiver.total.received -= 5;
        assert_eq!(doubts(Test::UdpStream, lost), [Warning::Unaccounted { datagrams: 5 }]);
        let shared = |trial: &mut Measured| (trial.isolated, trial.receiver.total.received) = (false, 1);
        assert_eq!(doubts(Test::UdpStream, shared), []);
        let other = |trial: &mut Measured| trial.receiver_host.link.rx_bytes = 42;
        for test in Test::ALL {
            assert!(matches!(doubts(*test, other)[..], [Warning::WrongPath { carried: 42, .. }]));
        }
        // What bulk flows put onto the link is no proof of the trial's own way.
        let carried_too = |more: u64| {
            doubts(Test::TcpStream, |trial| {
                let bulk = Some(TrafficTotals { bytes: Bytes::new(1_000_000), ..TrafficTotals::default() });
                trial.conditions = Some(Box::new(ObservedConditions { bulk, ..ObservedConditions::default() }));
                let link = trial.receiver.total.bytes + more;
                (trial.receiver_host.link.rx_bytes, trial.sender_host.link.tx_bytes) = (link, link);
            })
        };
        assert!(matches!(carried_too(999_999)[..], [Warning::WrongPath { .. }]));
        assert_eq!(carried_too(1_000_000), []);
        // Between machines a counter may lag, but not by most of the trial.
        let payload = measured(Test::TcpStream, 1024).receiver.total.bytes;
        let lagging = |carried: u64| {
            doubts(Test::TcpStream, |trial| (trial.isolated, trial.apart, trial.receiver_host.link.rx_bytes) = (false, true, carried)).len()
        };
        assert_eq!((lagging(payload / 2), lagging(payload / 2 - 1)), (0, 1));
    }

    #[test]
    fn disturbed_hosts() {
        let waited = |trial: &mut Measured| trial.sender.run_delay = Some(Nanos::from_millis(9));
        assert!(
            matches!(doubts(Test::TcpStream, waited)[..], [Warning::Contended { role: Role::Sender, share }] if (share - 0.06).abs() < 1e-9)
        );
        let stolen = |trial: &mut Measured| trial.receiver_host.cpu.steal = 10;
        assert!(matches!(doubts(Test::TcpStream, stolen)[..], [Warning::Stolen { .. }]));
        // A tick more or less is no theft.
        let tick = |trial: &mut Measured| trial.receiver_host.cpu.steal = 2;
        assert_eq!(doubts(Test::TcpStream, tick), []);
        let hot = |trial: &mut Measured| trial.receiver_host.cpu.throttled = 3;
        assert_eq!(doubts(Test::TcpStream, hot), [Warning::Throttled { times: 3 }]);
        let one = |trial: &mut Measured| trial.receiver.cpu = trial.sender.cpu;
        assert_eq!(doubts(Test::TcpStream, one), [Warning::OneCpu]);
        let apart = |trial: &mut Measured| (trial.receiver.cpu, trial.apart) = (trial.sender.cpu, true);
        assert_eq!(doubts(Test::TcpStream, apart), []);
        let free = |trial: &mut Measured| (trial.receiver.cpu, trial.sender.cpu) = (None, None);
        assert_eq!(doubts(Test::TcpStream, free), []);
    }

    #[test]
    fn more_than_there_is_is_a_fault_of_the_count() {
        let busy = |trial: &mut Measured| trial.sender.cpu_time.process = Nanos::new(trial.sender.window.length().get() * 5 / 4);
        assert!(
            matches!(&doubts(Test::TcpStream, busy)[..], [Warning::Impossible { figure, share }] if figure.contains("sender") && (1.2..1.3).contains(share))
        );
        // A wait that began in the warm-up is booked in the window; one that is longer than the trial is not.
        let between = |start, end| Window { start: Nanos::from_millis(start), end: Nanos::from_millis(end) };
        let waited = |millis| {
            move |trial: &mut Measured| {
                (trial.sender.flow, trial.receiver.window) = (Some(between(960, 2_010)), between(1_000, 2_000));
                trial.receiver.run_delay = Some(Nanos::from_millis(millis));
            }
        };
        let of_wait = |doubt: &Warning| matches!(doubt, Warning::Impossible { figure, .. } if figure.contains("wait of the receiver"));
        let impossible = |millis| doubts(Test::TcpStream, waited(millis)).iter().any(of_wait);
        assert_eq!([1_035, 4_000].map(impossible), [false, true]);
        let load = |millis| {
            move |trial: &mut Measured| {
                let load = LoadUsage { cpu: Nanos::from_millis(millis), elapsed: Nanos::from_millis(1_000), ..LoadUsage::default() };
                trial.conditions = Some(Box::new(ObservedConditions { receiver_load: Some(load), ..ObservedConditions::default() }));
            }
        };
        assert_eq!(doubts(Test::TcpStream, load(1_000)), []);
        assert!(matches!(&doubts(Test::TcpStream, load(1_450))[..], [Warning::Impossible { share, .. }] if (share - 1.45).abs() < 1e-9));
    }

    #[test]
    fn a_trial_by_count_that_is_over_too_soon_is_doubted_and_one_by_time_is_not() {
        let lasting = |micros: u64, end: PlanEnd| {
            let mut trial = measured(Test::TcpStream, 1);
            for end in [&mut trial.sender, &mut trial.receiver] {
                end.window.end = end.window.start + Nanos::new(micros * 1_000);
                (end.run_delay, end.cpu_time.process) = (None, Nanos::default());
            }
            trial.sender.flow = Some(trial.sender.window);
            let plan = Plan { end, ..over("veth") };
            warnings(&record(Test::TcpStream, 1, 0, trial), 0.0, &plan)
        };
        let counted = PlanEnd::Messages(2_000);
        assert_eq!(lasting(50_000, counted), []);
        let doubts = lasting(49_999, counted);
        assert!(doubts.iter().all(|doubt| matches!(doubt, Warning::ShortWindow { .. })) && doubts.len() == 2, "{doubts:?}");
        assert_eq!(lasting(49_999, PlanEnd::Length(Nanos::from_millis(50))), []);
    }

    #[test]
    fn a_rate_with_hardly_a_message_in_the_trial_is_told() {
        let mut trial = measured(Test::TcpRr, 64);
        trial.receiver.counts.messages = 0;
        let mut record = record(Test::TcpRr, 64, 0, trial);
        // 5 bit/s of 64 B.
        record.cell.rate = Some("5".parse().unwrap());
        let doubts = warnings(&record, 1.0, &over("veth"));
        let few = doubts.iter().find(|doubt| matches!(doubt, Warning::FewMessages { .. })).unwrap();
        assert!(few.to_string().ends_with("one is due every 102.4 s"), "{few}");
        assert!(few.remedy().contains("higher rate"));
    }

    #[test]
    fn no_wait_is_longer_than_what_was_measured() {
        // 215 times the window of 150 ms, most of it before.
        let waited = |trial: &mut Measured| {
            trial.sender.run_delay = Some(Nanos::from_millis(32_250));
            trial.sender.flow = Some(Window { start: Nanos::default(), end: trial.sender.window.end });
        };
        let doubts = doubts(Test::TcpStream, waited);
        let shares = doubts.iter().filter_map(|doubt| if let Warning::Contended { share, .. } = doubt { Some(*share) } else { None });
        assert_eq!(shares.collect::<Vec<_>>(), [1.0], "{doubts:?}");
    }

    #[test]
    fn what_goes_past_the_link_is_not_looked_for_there() {
        let mut trial = measured(Test::TcpStream, 1024);
        (trial.receiver_host.link.rx_bytes, trial.sender_host.link.tx_bytes) = (0, 0);
        let mut record = record(Test::TcpStream, 1024, 0, trial);
        let slow = over("ethernet 10M");
        assert_eq!(warnings(&record, 1.0, &slow).len(), 2);
        record.cell.api = model::Api::UnixStream;
        assert_eq!(warnings(&record, 1.0, &slow), []);
    }

    #[test]
    fn more_than_a_link_carries_is_a_fault_of_the_count() {
        let wire = |link: &str, change: &dyn Fn(&mut Measured)| {
            let mut trial = measured(Test::UdpStream, 1024);
            change(&mut trial);
            let found = warnings(&record(Test::UdpStream, 1024, 0, trial), 1.0, &over(link));
            let of = |warning| if let Warning::Impossible { figure, share } = warning { Some((figure, share)) } else { None };
            found.into_iter().filter_map(of).collect::<Vec<_>>()
        };
        // 50,000 of 1,024 B in 150 ms are 2.7 Gbit/s, with headers and gaps 2.9.
        assert_eq!(wire("ethernet 3G", &|_| ()), []);
        let beyond = wire("ethernet 1G", &|_| ());
        assert!(matches!(&beyond[..], [(figure, share)] if figure.contains("goodput") && (2.5..3.1).contains(share)), "{beyond:?}");
        let received = wire("ethernet 3G", &|trial| trial.receiver.total.received += 500);
        assert!(matches!(&received[..], [(figure, share)] if figure.contains("receiver took") && *share == 1.01), "{received:?}");
        // Between machines a network may deliver twice.
        assert_eq!(wire("veth", &|trial| (trial.isolated, trial.receiver.total.received) = (false, 50_500)), []);
        let pair = |frames: u64| {
            move |trial: &mut Measured| {
                let elapsed = Nanos::from_millis(1_000);
                let pair =
                    TrafficTotals { elapsed, frames: [frames, 0], frame_bytes: [1_514 * frames, 0], bytes: Bytes::new(1_448 * frames) };
                trial.conditions = Some(Box::new(ObservedConditions { pairs: vec![pair; 2], ..ObservedConditions::default() }));
                // The trial's own goodput is another figure.
                trial.receiver.counts.bytes = 0;
            }
        };
        // Two pairs of 121,000 full frames a second are 3 Gbit/s with preambles and gaps.
        assert_eq!(wire("shared-wire 3G", &pair(121_000)), []);
        let crowded = wire("shared-wire 3G", &pair(160_000));
        assert!(matches!(&crowded[..], [(figure, share)] if figure.contains("other pairs") && (1.25..1.4).contains(share)), "{crowded:?}");
        assert_eq!(wire("switch", &pair(160_000)), [], "it has no rate");
    }

    #[test]
    fn what_was_asked_for_is_no_disturbance() {
        let under = |conditions: Conditions| {
            let mut trial = measured(Test::TcpStream, 1024);
            trial.sender.run_delay = Some(Nanos::from_millis(75));
            trial.receiver.run_delay = Some(Nanos::from_millis(75));
            trial.receiver.cpu = trial.sender.cpu;
            let mut record = record(Test::TcpStream, 1024, 0, trial);
            record.cell.conditions = conditions;
            warnings(&record, 1.0, &over("veth"))
        };
        let roles = |found: &[Warning]| {
            let waited = |warning: &Warning| if let Warning::Contended { role, .. } = warning { Some(*role) } else { None };
            found.iter().filter_map(waited).collect::<Vec<_>>()
        };
        let usual = under(Conditions::USUAL);
        assert_eq!((roles(&usual), usual.contains(&Warning::OneCpu)), (vec![Role::Sender, Role::Receiver], true));
        let loaded = under(Conditions { load: "sender:2".parse().unwrap(), ..Conditions::USUAL });
        assert_eq!((roles(&loaded), loaded.contains(&Warning::OneCpu)), (vec![Role::Receiver], true));
        assert_eq!(under(Conditions { placement: Placement::SameCore, ..Conditions::USUAL }), []);
        // Other hosts on the link were to load the link, not the CPUs.
        assert_eq!(roles(&under(Conditions { link_load: "3".parse().unwrap(), bulk: 2, ..Conditions::USUAL })).len(), 2);
    }

    #[test]
    fn a_receiver_that_measures_while_nothing_is_sent() {
        for test in Test::ALL {
            // Windows of a time hold the same bytes at both ends by chance alone.
            let late = |trial: &mut Measured| {
                trial.sender.counts.bytes += 64;
                trial.receiver.window.end = trial.receiver.window.end + Nanos::from_millis(50);
            };
            assert!(matches!(doubts(*test, late)[..], [Warning::Misaligned { share }] if (share - 0.25).abs() < 1e-9));
            let slightly = |trial: &mut Measured| trial.receiver.window.end = trial.receiver.window.end + Nanos::from_millis(1);
            assert_eq!(doubts(*test, slightly), []);
            let apart = |trial: &mut Measured| {
                trial.sender.counts.bytes += 64;
                trial.sender.flow = Some(Window { start: Nanos::new(1), end: Nanos::new(2) });
            };
            assert_eq!(doubts(*test, apart), [Warning::Misaligned { share: 1.0 }]);
            let unknown = |trial: &mut Measured| (trial.sender.flow, trial.receiver.window.end) = (None, Nanos::from_millis(1_200));
            assert_eq!(doubts(*test, unknown), []);
            // Another machine's clock, 3 s ahead, known within 10 ms.
            let elsewhere = |late: u64| {
                move |trial: &mut Measured| {
                    let ahead = |at: Nanos| at + Nanos::from_millis(3_000 + late);
                    trial.receiver.window = Window { start: ahead(trial.receiver.window.start), end: ahead(trial.receiver.window.end) };
                    trial.clock = Some(ClockOffset { offset_ns: 3_000_000_000, error_ns: 10_000_000 });
                    trial.sender.counts.bytes += 64;
                }
            };
            assert_eq!(doubts(*test, elsewhere(8)), []);
            assert!(matches!(doubts(*test, elsewhere(40))[..], [Warning::Misaligned { share }] if (share - 0.2).abs() < 1e-9));
        }
    }

    #[test]
    fn ends_that_measure_different_times_are_told_with_their_figures() {
        let trial = |overlap_ms: i64, error_ms: u64, sender_ms: u64| {
            doubts(Test::TcpStream, move |trial| {
                let length = trial.receiver.window.length();
                trial.sender.window.end = trial.sender.window.start + Nanos::from_millis(sender_ms);
                trial.windows = Some(Windows { asked: length, overlap_ns: overlap_ms * 1_000_000 });
                trial.clock = Some(ClockOffset { offset_ns: 0, error_ns: error_ms * 1_000_000 });
            })
        };
        let full = measured(Test::TcpStream, 1024).receiver.window.length();
        let millis = full.get() / 1_000_000;
        let border = millis as i64 * 9 / 10;
        assert_eq!(trial(border, 0, millis), [], "90 % is enough");
        assert_eq!(trial(border - 5, 5, millis), [], "as far as is known of the clocks");
        let apart = Warning::WindowsApart { overlap_ns: -145_000_000, sender: full, receiver: full };
        assert_eq!(trial(-145, 0, millis), std::slice::from_ref(&apart));
        assert!(apart.disturbs() && apart.to_string().ends_with("a gap of 145 ms between"), "{apart}");
        assert!(matches!(trial(border - 1, 0, millis)[..], [Warning::WindowsApart { .. }]));
        let short = Nanos::from_millis(millis / 2);
        let both = [
            Warning::WindowsApart { overlap_ns: millis as i64 * 500_000, sender: short, receiver: full },
            Warning::WindowCut { role: Role::Sender, length: short, asked: full },
        ];
        let found = doubts(Test::TcpStream, |trial| {
            trial.sender.window.end = trial.sender.window.start + short;
            trial.windows = Some(Windows { asked: full, overlap_ns: millis as i64 * 500_000 });
        });
        assert_eq!(found, both);
        assert_eq!(doubts(Test::TcpStream, |trial| trial.windows = None), [], "counted");
    }

    /// What buffers hold when the sender of a counted stream is done is measured,
    /// however long it takes.
    #[test]
    fn a_counted_stream_goes_on_after_its_sender() {
        let late = |trial: &mut Measured| trial.receiver.window.end = trial.receiver.window.end + Nanos::from_millis(50);
        assert_eq!(doubts(Test::TcpStream, late), []);
        assert!(matches!(doubts(Test::UdpStream, late)[..], [Warning::Misaligned { .. }]));
    }

    #[test]
    fn requests_without_an_answer() {
        // The kernel's counters have the requests too: nothing is unaccounted for.
        let lost = |trial: &mut Measured| {
            (trial.sender.total.lost, trial.sender.total.messages) = (500, 49_500);
            trial.sender.total.received = 49_500;
            trial.receiver.total.sent = 49_500;
            trial.receiver.total.received = 49_500;
            trial.receiver_host.udp.in_datagrams = 49_500;
            trial.receiver_host.udp.out_datagrams = 49_500;
            trial.receiver_host.udp.rcvbuf_errors = 500;
            trial.sender_host.udp.in_datagrams = 49_500;
        };
        assert_eq!(doubts(Test::UdpRr, lost), [Warning::AnswersLost { share: 0.01 }]);
    }

    #[test]
    fn the_tool_itself() {
        let fast = |trial: &mut Measured| trial.sender.counts.calls = 10_000_000;
        assert!(matches!(doubts(Test::TcpStream, fast)[..], [Warning::GeneratorLimit { role: Role::Sender, .. }]));
        let of_another = |trial: &mut Measured| {
            fast(trial);
            trial.sender.external = Some(Box::default());
        };
        assert_eq!(doubts(Test::TcpStream, of_another), []);
        let few = |trial: &mut Measured| trial.receiver.counts.messages = 99;
        assert_eq!(doubts(Test::TcpStream, few), [Warning::FewMessages { messages: 99, due_every: None }]);
        let copied = |trial: &mut Measured| trial.sender.zero_copy = Some(ZeroCopy { sends: 200, copied: 50 });
        assert_eq!(doubts(Test::TcpStream, copied), [Warning::Copied { role: Role::Sender, share: 0.25 }]);
        let failed = |trial: &mut Measured| (trial.receiver.total.errors, trial.receiver.total.last_errno) = (2, Some(111));
        let found = doubts(Test::TcpStream, failed);
        assert!(matches!(&found[..], [Warning::CallsFailed { calls: 2, error, .. }] if error.contains("refused")), "{found:?}");
    }

    #[test]
    fn options_are_held_against_what_was_asked() {
        let with = |name: &str, asked: i64, set: i64| {
            let number = OptionValue::Number;
            let option = SocketOption { name: name.into(), asked: Some(number(asked)), set: number(set), got: number(set) };
            doubts(Test::TcpStream, |trial| trial.sender.options.push(option.clone())).len()
        };
        assert_eq!(with("SO_SNDBUF", 1000, 2000), 0);
        assert_eq!(with("SO_RCVBUF", 1 << 20, 425_984), 1);
        assert_eq!(with("TCP_NODELAY", 1, 1), 0);
        assert_eq!(with("TCP_NODELAY", 1, 0), 1);
        let cc = |set: &str| {
            let text = |word: &str| OptionValue::Text(word.to_owned());
            let option = SocketOption { name: "TCP_CONGESTION".into(), asked: Some(text("bbr")), set: text(set), got: text(set) };
            doubts(Test::TcpStream, |trial| trial.receiver.options.push(option.clone())).len()
        };
        assert_eq!((cc("bbr"), cc("cubic"), cc("ENOENT (No such file or directory)")), (0, 1, 1));
        let left = SocketOption { name: "SO_SNDBUF".into(), asked: None, set: OptionValue::Number(1), got: OptionValue::Number(2) };
        assert_eq!(doubts(Test::TcpStream, |trial| trial.sender.options.push(left.clone())), []);
    }
}
