//! The bounds of figures, a row each: the share of what there is that a figure takes, and
//! the clocks that it needs.
//!
//! ```text
//! trial -> Metric::value -> its Bound -> within: a figure of the trial table
//!                                     -> beyond: no figure, and a doubt (`breaches`)
//! ```
//!
//! A figure beyond its bound is not kept, so that no ratio, model or comparison is made
//! of it.

use linksim::limit;
use model::end::{Counts, EndReport, Window};
use model::trial::Measured;
use model::{Nanos, Protocol, Role, Warning};

use crate::ends::TICK_NS;
use crate::metric::{Metric, Source};

/// The share by which a figure may be above its bound: clocks are not read at once.
pub const MOST_BEYOND: f64 = 0.02;

/// The shortest measured part that a trial of a number of messages should have. Below it
/// a single call, or what a buffer held, is a visible part of the figure.
pub const LEAST_WINDOW: Nanos = Nanos::from_millis(50);

/// A bound that a figure keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// A time on two clocks, which may be ahead of each other.
    Any,
    /// No count, time or cost is below none.
    NotNegative,
    /// A share of what there is.
    Share,
    /// A rate or cost of the sender's measured part. What it hands over may wait in a
    /// buffer, so that the link is no bound.
    Sent,
    /// A rate or cost of the receiver's measured part: the link carried it.
    Received,
    /// The same of the way back, in the sender's measured part.
    ReceivedBack,
    /// An end's CPU time, of that of the CPUs that it can use.
    Busy(Role),
    /// The time that an end waited for a CPU, of that in which it can have waited.
    Wait(Role),
}

impl Bound {
    /// The end whose clocks measured the figure.
    const fn clocks(self) -> Option<Role> {
        match self {
            Self::Any | Self::NotNegative | Self::Share => None,
            Self::Sent | Self::ReceivedBack => Some(Role::Sender),
            Self::Received => Some(Role::Receiver),
            Self::Busy(role) | Self::Wait(role) => Some(role),
        }
    }

    /// The figure over the most that there can be; `None` without an upper bound.
    fn share(self, trial: &Source, value: f64) -> Option<f64> {
        let Measured { sender, receiver, .. } = trial.measured;
        match self {
            Self::Any | Self::NotNegative | Self::Sent => None,
            Self::Share => Some(value),
            Self::Received => of_the_link(trial).or_else(|| of_the_rate(trial, Role::Receiver, &receiver.counts)),
            Self::ReceivedBack => of_the_rate(trial, Role::Sender, &sender.back?.counts),
            // Over a window that no clock resolves it says nothing.
            Self::Busy(role) => trial.measured.end(role).window.is_resolved().then_some(value),
            Self::Wait(role) => waited(trial.measured, role),
        }
    }

    /// The figure in words, as a doubt names it.
    fn words(self, metric: Metric) -> String {
        match self {
            Self::Any | Self::NotNegative | Self::Share | Self::Sent => format!("the figure `{metric}`"),
            Self::Received => "the goodput on the link".to_owned(),
            Self::ReceivedBack => "the goodput back on the link".to_owned(),
            Self::Busy(role) => format!("the CPU time of the {role}"),
            Self::Wait(role) => format!("the wait of the {role} for a CPU"),
        }
    }

    /// Returns whether a trial's figure is within this bound.
    pub fn holds(self, trial: &Source, value: f64) -> bool {
        let resolved = self.clocks().is_none_or(|role| trial.measured.end(role).window.is_resolved());
        resolved && (self == Self::Any || value >= 0.0) && self.share(trial, value).is_none_or(is_possible)
    }
}

/// The doubts about figures of a trial that are beyond their bounds, one for each
/// bound and the worst of its figures, and those about its conditions.
pub fn breaches(trial: &Source) -> Vec<Warning> {
    let mut found: Vec<Warning> = Vec::new();
    for metric in Metric::ALL {
        let bound = metric.bound();
        let Some(value) = metric.unbounded(trial) else { continue };
        let share = match bound.share(trial, value) {
            Some(share) if !is_possible(share) => share,
            _ if bound != Bound::Any && value < 0.0 => value,
            _ => continue,
        };
        let figure = if share < 0.0 { Bound::NotNegative } else { bound }.words(*metric);
        let same = |warning: &Warning| matches!(warning, Warning::Impossible { figure: known, .. } if *known == figure);
        if !found.iter().any(same) {
            found.push(Warning::Impossible { figure, share });
        }
    }
    found.extend(
        [&trial.measured.sender, &trial.measured.receiver]
            .into_iter()
            .filter(|end| !end.window.is_resolved())
            .map(|end| Warning::ShortWindow { role: end.role, lasted: end.window.length(), wanted: Window::LEAST_RESOLVED }),
    );
    found.extend(conditions(trial));
    found
}

/// Returns whether a share of what there is is within the bound of all shares.
pub fn is_possible(share: f64) -> bool {
    // What is no number is no more than there is.
    share.is_nan() || share <= 1.0 + MOST_BEYOND
}

/// Goodput over that for which the link's rate leaves room.
pub fn of_the_link(trial: &Source) -> Option<f64> {
    let Source { measured, cell, .. } = trial;
    let most = limit::of_trial(trial.link?, measured, cell).filter(|_| !cell.api.over().is_local())?;
    let seconds = measured.receiver.window.length().as_secs_f64();
    (seconds > 0.0).then(|| measured.receiver.counts.in_window().bytes as f64 / seconds / most)
}

/// Goodput of one of two ways over the bare rate of the link: the frames of a direction are those of
/// one way and the acknowledgements of the other, and do not say how much of the rate is left.
fn of_the_rate(trial: &Source, role: Role, received: &Counts) -> Option<f64> {
    let Source { measured, cell, link, .. } = trial;
    let rate = (*link)?.rate().filter(|_| cell.bidirectional && !cell.api.over().is_local())?;
    let seconds = measured.end(role).window.length().as_secs_f64();
    (seconds > 0.0).then(|| received.in_window().bytes as f64 * 8.0 / seconds / rate.get() as f64)
}

/// The kernel books a wait when it is over, with its part before the measured part:
/// the wait over the time since messages have flowed. Clocks of hosts that are apart
/// have no common beginning.
fn waited(measured: &Measured, role: Role) -> Option<f64> {
    let end = measured.end(role);
    let lasted = end.window.length();
    let begun = measured.sender.flow.filter(|_| !measured.apart).map_or(lasted, |flow| lasted.max(end.window.end.since(flow.start)));
    over(end.run_delay?, begun.get() as f64 * threads(end))
}

/// Threads of an end that carry messages, at least one.
fn threads(end: &EndReport) -> f64 {
    end.threads.len().max(1) as f64
}

fn over(used: Nanos, there: f64) -> Option<f64> {
    (there > 0.0).then(|| used.get() as f64 / there)
}

/// Doubts about shares that are no metric's: the CPU time of loads, the wire time of
/// other pairs, and datagrams received of those sent.
fn conditions(trial: &Source) -> Vec<Warning> {
    let Source { measured, cell, .. } = trial;
    let mut found = Vec::new();
    let mut within = |figure: &str, share: Option<f64>, most: f64| {
        let beyond = share.filter(|share| *share > most);
        found.extend(beyond.map(|share| Warning::Impossible { figure: figure.to_owned(), share }));
    };
    let taken = measured.conditions.as_deref();
    let loads = taken.map_or([None, None], |taken| [taken.sender_load.as_ref(), taken.receiver_load.as_ref()]);
    let ends = [(&measured.sender, &measured.sender_host), (&measured.receiver, &measured.receiver_host)];
    for ((end, host), load) in ends.into_iter().zip(loads) {
        let Some(load) = load else { continue };
        // The host's counters cover more than the window: their ticks over it are its CPUs or more.
        let all = host.cpu.all() as f64 * TICK_NS / (end.window.length().get() as f64).max(1.0);
        let cpus = if end.cpu.is_some() && threads(end) <= 1.0 { 1.0 } else { all.max(1.0) };
        let there = load.elapsed.get() as f64 * cpus;
        // Its clock lags by a tick at either edge.
        let most = 1.0 + MOST_BEYOND + 2.0 * TICK_NS / there.max(1.0);
        within(&format!("the CPU time of the load at the {}", end.role), over(load.cpu, there), most);
    }
    let pairs = taken.map_or(&[][..], |taken| &taken.pairs);
    within("the wire time of other pairs", trial.link.and_then(|link| limit::used_by_pairs(link, pairs)), 1.0 + MOST_BEYOND);
    // Elsewhere a network may deliver a datagram twice; here not one is made on the way.
    if measured.isolated && cell.protocol() == Protocol::Udp && !cell.bidirectional {
        let (sent, received) = (measured.sender.total.sent, measured.receiver.total.received);
        within("what the receiver took of the datagrams that were sent", Some(received as f64 / sent.max(1) as f64), 1.0);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{MOST_BEYOND, breaches};
    use crate::metric::{Metric, Source};
    use crate::testing::{cell, measured, record, run};
    use crate::{Collector, Figures};
    use model::end::Window;
    use model::plan::LinkKind;
    use model::trial::Measured;
    use model::{Cell, Nanos, Test, Warning};

    /// A trial over a wire of 10 Mbit/s whose goodput is this share of what it leaves room
    /// for, in a window of 100 ms.
    fn on_a_wire(share: f64) -> (Cell, Measured, LinkKind) {
        let (cell, mut trial, link) = (cell(Test::TcpStream, 1), measured(Test::TcpStream, 1), "ethernet 10M".parse().unwrap());
        let most = linksim::limit::of_trial(&link, &trial, &cell).unwrap();
        trial.receiver.window.end = trial.receiver.window.start + Nanos::from_millis(100);
        trial.receiver.counts.bytes = (most * 0.1 * share).round() as u64;
        (cell, trial, link)
    }

    fn source<'a>((cell, measured, link): &'a (Cell, Measured, LinkKind)) -> Source<'a> {
        Source { measured, cell, link: Some(link), round_trips: None }
    }

    #[test]
    fn each_way_of_two_is_bounded_by_the_rate_of_the_link() {
        let both_ways = |forth: u64, back: u64| {
            let (mut cell, mut trial, link) = on_a_wire(0.0);
            cell.bidirectional = true;
            trial.sender.window.end = trial.sender.window.start + Nanos::from_millis(100);
            let counts = |bytes| model::end::Counts { bytes, messages: bytes, ..Default::default() };
            trial.receiver.counts = counts(forth);
            trial.sender.back = Some(model::end::Back { counts: counts(back), ..Default::default() });
            (cell, trial, link)
        };
        let kept = |trial: &(Cell, Measured, LinkKind)| {
            [Metric::GoodputBitPerS, Metric::BackGoodputBitPerS].map(|metric| metric.value(&source(trial)).is_some())
        };
        // 10 Mbit/s are 125,000 bytes in 100 ms.
        for (forth, back, which) in
            [(125_000, 125_000, [true, true]), (125_000, 3_750_000, [true, false]), (130_000, 125_000, [false, true])]
        {
            let trial = both_ways(forth, back);
            assert_eq!(kept(&trial), which, "{forth} {back}");
            assert_eq!(breaches(&source(&trial)).len(), which.iter().filter(|kept| !**kept).count(), "{:?}", breaches(&source(&trial)));
        }
    }

    /// A share of the CPUs that an end can use is no more than all of them.
    #[test]
    fn an_end_is_no_busier_than_the_cpus_that_it_can_use() {
        let busy = |cpu: Option<u32>, threads: u32, cpus: f64| {
            let mut trial = measured(Test::UdpStream, 64);
            (trial.sender.cpu, trial.sender.threads) = (cpu, (0..threads).collect());
            trial.sender.cpu_time.process = Nanos::new((trial.sender.window.length().get() as f64 * cpus) as u64);
            Metric::SenderBusyShare.value(&source(&(cell(Test::UdpStream, 64), trial, LinkKind::Veth)))
        };
        assert!(busy(Some(0), 1, 1.01).is_some() && busy(Some(0), 2, 1.9).is_none());
        let near = |share: Option<f64>, value: f64| share.is_some_and(|share| (share - value).abs() < 1e-3);
        // Threads that may move have a CPU each.
        assert!(near(busy(None, 4, 3.6), 0.9) && busy(None, 4, 4.2).is_none());
    }

    /// Ten datagrams, back to back, of which the first opened the window.
    #[test]
    fn what_opens_a_window_is_in_no_rate_of_it() {
        let mut trial = on_a_wire(1.0);
        let counts = &mut trial.1.receiver.counts;
        counts.first = model::end::Opening { messages: counts.messages / 9, bytes: counts.bytes / 9 };
        (counts.messages, counts.bytes) = (counts.messages + counts.first.messages, counts.bytes + counts.first.bytes);
        assert_eq!(breaches(&source(&trial)), []);
        assert!((Metric::LimitShare.value(&source(&trial)).unwrap() - 1.0).abs() < 0.01);
        trial.1.receiver.counts.first = Default::default();
        assert_eq!(breaches(&source(&trial)).len(), 1);
    }

    const BY_THE_RECEIVER: [Metric; 6] = [
        Metric::MessagesPerS,
        Metric::GoodputBitPerS,
        Metric::TimePerMessageNs,
        Metric::ReceiverCpuPerMessageNs,
        Metric::ReceiverCpuPerKibNs,
        Metric::LimitShare,
    ];

    #[test]
    fn beyond_the_link_there_is_a_doubt_and_no_figure() {
        let beyond = on_a_wire(1.0 + MOST_BEYOND + 0.001);
        let within = on_a_wire(1.0 + MOST_BEYOND - 0.001);
        for metric in BY_THE_RECEIVER {
            assert_eq!(metric.value(&source(&beyond)), None, "{metric}");
            assert!(metric.value(&source(&within)).is_some(), "{metric}");
        }
        assert_eq!(breaches(&source(&within)), []);
        let doubts = breaches(&source(&beyond));
        assert!(
            matches!(&doubts[..], [Warning::Impossible { figure, share }] if figure.contains("goodput") && *share > 1.02),
            "{doubts:?}"
        );
        assert!(doubts[0].disturbs());
        // What the sender handed over is bounded by no wire.
        assert!(Metric::SentMessagesPerS.value(&source(&beyond)).is_some());
    }

    /// 2,000 messages in one call of 96 µs, as a wire of 10 Mbit/s never carried them: of
    /// a run stored without doubts there is no row, no model, and the doubt.
    #[test]
    fn a_stored_run_with_an_impossible_rate_is_doubted_and_compared_with_nothing() {
        let mut run = run(vec![cell(Test::TcpStream, 1)], 9);
        run.plan.link.kind = "ethernet 10M".parse().unwrap();
        run.plan.reference = Some("cabrera1984".to_owned());
        let mut collector = Collector::new(run, Vec::new());
        for block in 0..9 {
            let mut trial = measured(Test::TcpStream, 1);
            trial.receiver.window.end = trial.receiver.window.start + Nanos::new(9_600_000);
            collector.push(&record(Test::TcpStream, 1, block, trial));
        }
        let analysis = collector.finish();
        assert!(BY_THE_RECEIVER.iter().all(|metric| !analysis.cells[0].metrics.contains_key(metric)), "{:?}", analysis.cells[0].metrics);
        let first = &analysis.findings[0];
        assert!(matches!(first.warning, Warning::Impossible { .. }) && first.trials == 9, "{first:?}");
        assert_eq!((analysis.disturbed.trials, analysis.disturbed.impossible), (9, 9));
        assert!(analysis.published().is_none_or(|published| published.sizes.is_empty()), "{:?}", analysis.published());
        assert!(crate::published::as_foreign(&analysis).series.is_empty());
    }

    /// A call of `UDP_SEGMENT` counts as one datagram in the kernel, and 32 are in it.
    #[test]
    fn a_packet_of_many_datagrams_is_counted_as_what_is_in_it() {
        let with = |in_each: u64| {
            let mut trial = measured(Test::UdpStream, 1024);
            trial.sender.total.calls /= in_each;
            trial.sender_host.udp.out_datagrams = trial.sender.total.calls;
            let api = if in_each > 1 { model::Api::Gso } else { model::Api::Send };
            (Cell { api, ..cell(Test::UdpStream, 1024) }, trial, "ethernet 3G".parse().unwrap())
        };
        let (plain, packed) = (with(1), with(32));
        assert_eq!(breaches(&source(&packed)), []);
        let share = |trial| Metric::LimitShare.value(&source(trial)).unwrap();
        assert!((share(&packed) / share(&plain) - 1.0).abs() < 0.01, "{} {}", share(&packed), share(&plain));
        // Ten packets that the sender's queue dropped never left.
        let mut dropped = with(32);
        dropped.1.sender_host.udp.sndbuf_errors = 10;
        dropped.1.sender_host.udp.out_datagrams -= 10;
        let missing = linksim::limit::payload(&packed.1, &packed.0) - linksim::limit::payload(&dropped.1, &dropped.0);
        assert_eq!(missing, 10 * 32 * 1024);
    }

    #[test]
    fn there_are_no_figures_of_what_no_clock_resolves() {
        let lasting = |window: Nanos| {
            let mut trial = on_a_wire(0.0);
            trial.1.sender.window.end = trial.1.sender.window.start + window;
            (trial.1.sender.cpu_time.process, trial.1.sender.run_delay) = (Nanos::new(window.get() / 2), None);
            [Metric::SentMessagesPerS, Metric::SenderBusyShare, Metric::SenderCpuPerMessageNs]
                .map(|metric| metric.value(&source(&trial)).is_some())
        };
        assert_eq!(lasting(Window::LEAST_RESOLVED), [true; 3]);
        assert_eq!(lasting(Nanos::new(Window::LEAST_RESOLVED.get() - 1)), [false; 3]);
        let mut short = on_a_wire(0.5);
        short.1.receiver.window.end = short.1.receiver.window.start;
        let doubts = breaches(&source(&short));
        assert!(
            matches!(doubts[..], [Warning::ShortWindow { role: model::Role::Receiver, wanted: Window::LEAST_RESOLVED, .. }]),
            "{doubts:?}"
        );
    }

    /// Figures of a trial that cannot be, one a row, with what a doubt says of each.
    #[test]
    fn each_bound_is_kept() {
        type Change = fn(&mut Measured);
        let rows: [(Metric, Change, &str); 5] = [
            (Metric::SenderBusyShare, |trial| trial.sender.cpu_time.process = Nanos::from_millis(310), "CPU time of the sender"),
            (Metric::ReceiverBusyShare, |trial| trial.receiver.cpu_time.process = Nanos::from_millis(310), "CPU time of the receiver"),
            (Metric::SenderRunDelayShare, |trial| trial.sender.run_delay = Some(Nanos::from_millis(154)), "wait of the sender"),
            (Metric::ReceiverRunDelayShare, |trial| trial.receiver.run_delay = Some(Nanos::from_millis(154)), "wait of the receiver"),
            (Metric::LossShare, |trial| trial.receiver.total.messages += 5_000, "`loss_share`"),
        ];
        for (metric, change, words) in rows {
            let mut sound = measured(Test::UdpStream, 64);
            let of = |trial: &Measured| {
                let all = (cell(Test::UdpStream, 64), trial.clone(), LinkKind::Veth);
                (metric.value(&source(&all)).is_some(), breaches(&source(&all)))
            };
            assert_eq!(of(&sound), (true, Vec::new()), "{metric}");
            change(&mut sound);
            let (kept, doubts) = of(&sound);
            let doubted = matches!(&doubts[..], [Warning::Impossible { figure, .. }] if figure.contains(words));
            assert!(!kept && doubted, "{metric}: {doubts:?}");
        }
    }

    #[test]
    fn a_share_of_a_schedule_is_no_more_than_all_of_it() {
        let mut trial = measured(Test::UdpStream, 64);
        trial.sender.schedule = Some(model::end::Schedule { intended: 100, behind: 900, ..Default::default() });
        let record = record(Test::UdpStream, 64, 0, trial);
        let source = Source { measured: record.measured().unwrap(), cell: &record.cell, link: None, round_trips: None };
        assert_eq!(Figures::new(&record, &source).get(Metric::BehindShare), Some(1.0));
        assert_eq!(breaches(&source), []);
    }
}
