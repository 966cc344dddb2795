//! A trial of several machines with one: a trial of each with it, all at once, whose counts are put together.

use std::thread;

use model::sorting::Order;
use model::trial::Measured;
use model::warning::Warning;
use model::{Cell, Nanos, Role};

use super::together::{Member, Together};
use super::{Done, FEW_SIGHTS, TrialSpec, carry_out, draw_cookie, usual_period};
use crate::error::TrialError;
use crate::event::{Listener, Quiet};
use crate::refusal::Refusal;
use crate::remote::HostError;
use crate::session::Session;
use crate::session::crowd::{Crowd, Participant, give_back, take_turns};

/// Runs it. Machines that are lost meanwhile are missing from the counts.
///
/// # Errors
/// See [`super::run`]; of several machines that of the first, where none took part.
pub(super) fn run(session: &mut Session, crowd: &mut Crowd, spec: TrialSpec, listener: &mut dyn Listener) -> Result<Done, TrialError> {
    // Host a sends.
    let (side, many) = (crowd.side, if crowd.side == 0 { Role::Sender } else { Role::Receiver });
    let hosts = spec.cell.hosts(many) as usize;
    let cells: Vec<Cell> = (0..hosts).map(|place| part(spec.cell, place, hosts)).collect();
    crowd.search(session, hosts, listener)?;
    let (taken, mut missing) = loop {
        let (mut joined, missing) = crowd.present(session, hosts);
        if joined.is_empty() {
            let first = missing.into_iter().next().map_or_else(String::new, |(_, error)| error);
            return Err(HostError::from(Refusal::new("no host of the trial is there any more", first, "")).into());
        }
        let taken = take_turns(&mut joined, side, FEW_SIGHTS, listener);
        match taken.and_then(|shared| sample_alike(&mut joined, &cells, spec).map(|()| shared)) {
            Ok(shared) => {
                let outcomes = at_once(&mut joined, &shared, &cells, spec);
                give_back(&mut joined);
                break (outcomes, missing);
            }
            Err((place, error)) if error.is_loss_of_host() && joined.len() > 1 => crowd.lose(place, &error),
            Err((_, error)) => return Err(error),
        }
    };
    let (mut parts, mut warnings, mut failed) = (Vec::new(), Vec::new(), None);
    let others = taken.len().saturating_sub(1);
    for (place, outcome) in taken {
        match outcome {
            Ok(done) => {
                parts.push((place, Ok(done.measured)));
                warnings.extend(done.warnings.into_iter().filter_map(|warning| of_strangers(warning, others, side)));
            }
            // Without one of the ends it is no receipt.
            Err(error @ TrialError::NotObserved { .. }) => return Err(error),
            Err(error) => {
                missing.push((place, error.to_string()));
                if error.is_loss_of_host() {
                    crowd.lose(place, &error);
                }
                failed = failed.or(Some(error));
            }
        }
    }
    missing.order_by_key(|(place, _)| *place);
    if let Some((_, error)) = missing.first() {
        let names: Vec<&str> = missing.iter().map(|(place, _)| crowd.name(*place)).collect();
        warnings.push(Warning::MissingHosts { hosts: names.join(" "), error: error.clone() });
    }
    parts.extend(missing.into_iter().map(|(place, error)| (place, Err(error))));
    parts.order_by_key(|(place, _)| *place);
    let named = parts.into_iter().map(|(place, part)| (crowd.name(place).to_owned(), part)).collect();
    match Measured::gathered(named, many) {
        Some(measured) => {
            let mut each: Vec<Warning> = Vec::new();
            warnings.into_iter().for_each(|warning| {
                if !each.contains(&warning) {
                    each.push(warning)
                }
            });
            Ok(Done { measured, warnings: each })
        }
        None => Err(failed.unwrap_or(TrialError::Stopped)),
    }
}

/// The cell of one of several machines: its share of the flows, to one host.
fn part(cell: &Cell, place: usize, hosts: usize) -> Cell {
    let mut part = cell.clone();
    (part.conditions.senders, part.conditions.receivers) = (1, 1);
    let flows = (cell.flows as usize + hosts - 1 - place) / hosts.max(1);
    part.flows = u32::try_from(flows).unwrap_or(u32::MAX).max(1);
    part
}

/// Has all machines sample as often as the one where a sample costs most: the samples of a host's processes are added.
/// Each is asked alone, since several at once on the shared host would cost each other time.
///
/// # Errors
/// Those of a machine, with its place. No turn is held then.
fn sample_alike(joined: &mut [Participant], cells: &[Cell], spec: TrialSpec) -> Result<(), (usize, TrialError)> {
    if !spec.pass.samples() {
        return Ok(());
    }
    let mut usual = Nanos::default();
    for at in 0..joined.len() {
        let (place, session) = &mut joined[at];
        let (spec, place) = (TrialSpec { cell: &cells[*place], ..spec }, *place);
        match usual_period(session, spec) {
            Ok(period) => usual = usual.max(period),
            Err(error) => {
                give_back(joined);
                return Err((place, error));
            }
        }
    }
    joined.iter_mut().for_each(|(_, session)| session.sample_period = Some(usual));
    Ok(())
}

/// The trials of all, each by a thread, with their places.
fn at_once(joined: &mut [Participant], shared: &[Vec<usize>], cells: &[Cell], spec: TrialSpec) -> Vec<(usize, Result<Done, TrialError>)> {
    let together = &Together::new(joined.len());
    thread::scope(|scope| {
        let mut threads = Vec::with_capacity(joined.len());
        for ((place, session), shared) in joined.iter_mut().zip(shared) {
            let before: u32 = cells[..*place].iter().map(|cell| cell.flows).sum();
            // The plan's check made sure that there are as many ports.
            let data_port = spec.data_port.map(|port| port.saturating_add(u16::try_from(before).unwrap_or(u16::MAX)));
            let spec = TrialSpec { cell: &cells[*place], data_port, ..spec };
            let thread = scope.spawn(move || {
                let _member = Member(together);
                carry_out(session, spec, draw_cookie()?, shared, Some(together), &mut Quiet)
            });
            threads.push((*place, thread));
        }
        let end = |(place, thread): (usize, thread::ScopedJoinHandle<Result<Done, TrialError>>)| {
            (place, thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        };
        threads.into_iter().map(end).collect()
    })
}

/// A warning of one of the trials without what it says of the others of the same controller at the shared host.
fn of_strangers(warning: Warning, own: usize, side: usize) -> Option<Warning> {
    match warning {
        Warning::SharedHost { host, others } if host == model::plan::HOST_NAMES[1 - side] => {
            let others = others.saturating_sub(u32::try_from(own).unwrap_or(u32::MAX));
            (others > 0).then_some(Warning::SharedHost { host, others })
        }
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use testkit::made;

    use super::{of_strangers, part};
    use model::end::{Counts, CpuTime, Window};
    use model::quantity::Nanos;
    use model::trial::{ClockOffset, Measured, Peer, PeerOutcome, Windows};
    use model::{Bytes, Cell, Role, Test, Warning};

    /// A trial of 100 messages of 10 bytes from a machine whose clock is this much behind the receiver's; the receiver
    /// measures 1,000 ms from `start` on, the sender as much at the same time, by its own clock.
    fn trial(start: u64, behind_ms: u64, cpu: u32) -> Measured {
        let counts = Counts { messages: 100, bytes: 1_000, ..Counts::default() };
        let window = |start| Window { start: Nanos::from_millis(start), end: Nanos::from_millis(start + 1_000) };
        let mut sender = made::end(Role::Sender, window(start - behind_ms), counts);
        let mut receiver = made::end(Role::Receiver, window(start), counts);
        for end in [&mut sender, &mut receiver] {
            end.cpu = Some(cpu);
            end.cpu_time = CpuTime { process: Nanos::new(50), irq: Some(Nanos::new(7)), kernel_threads: None };
        }
        let clock = ClockOffset { offset_ns: behind_ms as i64 * 1_000_000, error_ns: 10 * behind_ms };
        let windows = Windows { asked: Nanos::from_millis(1_000), overlap_ns: 1_000_000_000 };
        let mut part = Measured { clock: Some(clock), windows: Some(windows), ..made::measured(sender, receiver) };
        (part.sender_host.udp.out_datagrams, part.receiver_host.udp.in_datagrams) = (100, 200);
        part
    }

    #[test]
    fn counts_are_added_and_windows_stand_on_one_clock() {
        let parts = vec![
            ("a".to_owned(), Ok(trial(5_000, 3_000, 0))),
            ("a2".to_owned(), Ok(trial(5_040, 1_000, 1))),
            ("a3".to_owned(), Err("host a3: gone".to_owned())),
        ];
        let all = Measured::gathered(parts, Role::Sender).unwrap();
        let window = Window { start: Nanos::from_millis(5_000), end: Nanos::from_millis(6_040) };
        assert_eq!((all.sender.window, all.receiver.window), (window, window));
        assert_eq!(all.windows.unwrap().overlap_ns, 960_000_000);
        assert_eq!(all.clock, Some(ClockOffset { offset_ns: 0, error_ns: 30_000 }));
        assert_eq!((all.receiver.counts.bytes, all.sender.total.messages), (2_000, 200));
        assert_eq!(all.receiver.flows.len(), 2);
        // The senders' counters are of two machines, the receiver's of one.
        assert_eq!((all.sender_host.udp.out_datagrams, all.receiver_host.udp.in_datagrams), (200, 200));
        assert!((all.peers_overlap().unwrap() - 960.0 / 1_040.0).abs() < 1e-9);
        assert_eq!(all.peers.iter().filter_map(Peer::counts).map(|counts| counts.bytes).collect::<Vec<_>>(), [1_000, 1_000]);
        assert_eq!(all.peers[2].outcome, PeerOutcome::Missing { error: "host a3: gone".to_owned() });
    }

    #[test]
    fn receivers_are_put_on_the_senders_clock() {
        let parts = vec![("b".to_owned(), Ok(trial(5_000, 3_000, 0))), ("b2".to_owned(), Ok(trial(4_000, 2_000, 0)))];
        let all = Measured::gathered(parts, Role::Receiver).unwrap();
        assert_eq!(all.receiver.window, Window { start: Nanos::from_millis(2_000), end: Nanos::from_millis(3_000) });
        assert_eq!((all.windows.unwrap().overlap_ns, all.peers_overlap()), (1_000_000_000, Some(1.0)));
        // Interrupt time of one CPU is in both reports.
        assert_eq!(all.sender.cpu_time, CpuTime { process: Nanos::new(100), irq: Some(Nanos::new(7)), kernel_threads: None });
    }

    #[test]
    fn without_a_trial_there_is_none() {
        assert_eq!(Measured::gathered(vec![("a".to_owned(), Err("gone".to_owned()))], Role::Sender), None);
    }

    #[test]
    fn flows_are_shared_out_and_every_one_has_a_machine() {
        let cell = Cell { flows: 7, ..Cell::plain(Test::TcpStream, Bytes::new(1)) };
        assert_eq!([0, 1, 2].map(|place| part(&cell, place, 3).flows), [3, 2, 2]);
        let mut many = cell;
        (many.flows, many.conditions.senders) = (2, 2);
        assert_eq!([0, 1].map(|place| part(&many, place, 2)), [0, 1].map(|_| Cell::plain(Test::TcpStream, Bytes::new(1))));
    }

    #[test]
    fn only_strangers_are_told_of() {
        let shared = |host: &str, others| Warning::SharedHost { host: host.to_owned(), others };
        assert_eq!(of_strangers(shared("b", 2), 2, 0), None);
        assert_eq!(of_strangers(shared("b", 3), 2, 0), Some(shared("b", 1)));
        assert_eq!(of_strangers(shared("a", 1), 2, 0), Some(shared("a", 1)));
    }
}
