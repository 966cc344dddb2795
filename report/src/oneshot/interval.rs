//! A line per interval, made of what both ends said of it.

use std::collections::VecDeque;

use model::end::{EndReport, Progress, TcpInfo};
use model::{Cell, Nanos, Protocol, Role};
use serde::Serialize;

use crate::number::{self, NOTHING};

/// Intervals of which one end has spoken and the other has not: beyond this
/// many the other does not count any more.
const MOST_WAITING: usize = 16;

/// One interval, as both ends saw it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Row {
    /// Begin in seconds from the first of the measured part.
    pub start: f64,
    /// End.
    pub end: f64,
    /// The sender's account.
    pub sender: Option<Progress>,
    /// The receiver's account.
    pub receiver: Option<Progress>,
    /// Segments sent again within it; `None` where TCP did not say, and of the
    /// first after a warm-up, until the end of the trial tells those of before.
    pub retransmits: Option<u32>,
}

/// Puts together what comes from two ends.
#[derive(Debug)]
pub struct Intervals {
    cell: Cell,
    sender: VecDeque<Progress>,
    receiver: VecDeque<Progress>,
    /// Start of the measured part, by the clock of the end that is asked for it.
    start: Option<Nanos>,
    /// TCP's count at the end of the interval before; not known of a warm-up.
    resent: Option<u32>,
    /// Columns that a line has room for.
    shown: usize,
}

impl Intervals {
    /// Nothing has come yet. After a warm-up of more than nothing TCP has counted
    /// before the first interval.
    pub fn new(cell: &Cell, warmup: Nanos) -> Self {
        let resent = (warmup.get() == 0).then_some(0);
        Self { cell: cell.clone(), sender: VecDeque::new(), receiver: VecDeque::new(), start: None, resent, shown: COLUMNS }
    }

    /// The same in lines of at most so many columns: the last figures go where there is no room, the first stays.
    pub fn within(self, width: usize) -> Self {
        Self { shown: (width.saturating_sub(FIRST) / (OTHER + 1)).clamp(1, COLUMNS), ..self }
    }

    /// Takes note of what an end says; an interval that is complete by it.
    pub fn hear(&mut self, role: Role, progress: Progress) -> Option<Row> {
        match role {
            Role::Sender => self.sender.push_back(progress),
            Role::Receiver => self.receiver.push_back(progress),
        }
        let both = !self.sender.is_empty() && !self.receiver.is_empty();
        let late = self.sender.len().max(self.receiver.len()) > MOST_WAITING;
        if both || late { self.next() } else { None }
    }

    /// The intervals of which only one end has spoken, when nothing more comes.
    pub fn rest(&mut self) -> Vec<Row> {
        std::iter::from_fn(|| self.next()).collect()
    }

    fn next(&mut self) -> Option<Row> {
        let (sender, receiver) = (self.sender.pop_front(), self.receiver.pop_front());
        // Both count the same seconds; the asker knows those of a transaction.
        let clock = if self.cell.test.is_stream() { receiver.or(sender) } else { sender.or(receiver) }?;
        let start = *self.start.get_or_insert(clock.interval.start);
        let total = sender.and_then(|progress| progress.tcp).map(|tcp| tcp.total_retrans);
        let retransmits = total.zip(self.resent).map(|(total, before)| total.saturating_sub(before));
        self.resent = total.or(self.resent);
        let since = |at: Nanos| at.since(start).as_secs_f64();
        Some(Row { start: since(clock.interval.start), end: since(clock.interval.end), sender, receiver, retransmits })
    }

    /// The heads of the columns.
    pub fn head(&self) -> String {
        line("interval, s", &columns(&self.cell).map(|(head, _)| head.to_owned())[..self.shown])
    }

    /// A row as text, without a newline. At most 80 columns wide, or as [`Self::within`] says.
    pub fn line(&self, row: &Row) -> String {
        line(&format!("{:.2}-{:.2}", row.start, row.end), &columns(&self.cell).map(|(_, write)| write(row, &self.cell))[..self.shown])
    }
}

/// Puts right what the first of all rows of a trial could not know while it ran:
/// what TCP had sent again before the measured part.
pub fn complete(rows: &mut [Row], sender: &EndReport) {
    let Some(first) = rows.first_mut() else { return };
    let counted = first.sender.and_then(|progress| progress.tcp);
    if let (Some(tcp), Some(before)) = (counted, sender.tcp_at_start) {
        first.retransmits = Some(tcp.resent_since(Some(before)));
    }
}

/// A column: its head and its figure of a row.
type Column = (&'static str, fn(&Row, &Cell) -> String);

/// Columns of figures.
const COLUMNS: usize = 5;
/// Room for the interval, and for each of the columns.
const FIRST: usize = 15;
const OTHER: usize = 12;

fn line(first: &str, others: &[String]) -> String {
    // By letters, for µ has two bytes.
    others.iter().fold(format!("{first:>FIRST$}"), |text, other| format!("{text} {other:>OTHER$}"))
}

fn columns(cell: &Cell) -> [Column; COLUMNS] {
    if !cell.test.is_stream() {
        return [
            ("transactions", |row, _| sent(row, |progress| amount(progress.counts.messages))),
            ("per second", |row, _| sent(row, |progress| rate(progress, progress.counts.messages, number::count))),
            ("mean time", mean),
            ("lost", |row, _| sent(row, |progress| amount(progress.counts.lost))),
            ("TCP's rtt", rtt),
        ];
    }
    if cell.bidirectional && cell.protocol() == Protocol::Udp {
        let forward: Column = ("forward", |row, _| received(row, goodput));
        return [forward, ("lost", lost), ("back", back), ("lost back", lost_back), ("jitter", jitter)];
    }
    if cell.bidirectional {
        return [("forward", |row, _| received(row, goodput)), ("back", back), ("resent", resent), ("cwnd", cwnd), ("rtt", rtt)];
    }
    if cell.protocol() == Protocol::Tcp {
        return [
            ("transferred", |row, _| received(row, |progress| number::bytes(progress.counts.bytes as f64))),
            ("goodput", |row, _| received(row, goodput)),
            ("resent", resent),
            ("cwnd", cwnd),
            ("rtt", rtt),
        ];
    }
    [
        ("received", |row, _| received(row, |progress| amount(progress.counts.messages))),
        ("goodput", |row, _| received(row, goodput)),
        ("sent", |row, _| sent(row, |progress| amount(progress.counts.messages))),
        ("lost", lost),
        ("jitter", jitter),
    ]
}

/// Every digit, while there is room.
fn amount(things: u64) -> String {
    if things < 1_000_000_000 { number::whole(things) } else { number::count(things as f64) }
}

fn sent(row: &Row, write: impl Fn(&Progress) -> String) -> String {
    row.sender.as_ref().map_or(NOTHING.to_owned(), write)
}

fn received(row: &Row, write: impl Fn(&Progress) -> String) -> String {
    row.receiver.as_ref().map_or(NOTHING.to_owned(), write)
}

fn tcp(row: &Row, write: impl Fn(&TcpInfo) -> String) -> String {
    row.sender.and_then(|progress| progress.tcp).as_ref().map_or(NOTHING.to_owned(), write)
}

/// An amount by the length of an interval; of one that the clocks do not resolve there is none.
fn rate(progress: &Progress, amount: u64, write: impl Fn(f64) -> String) -> String {
    let rate = amount as f64 / progress.interval.length().as_secs_f64();
    if progress.interval.is_resolved() { write(rate) } else { NOTHING.to_owned() }
}

fn bits(progress: &Progress, bytes: u64) -> String {
    rate(progress, bytes, |bytes| number::bits(bytes * 8.0))
}

fn goodput(progress: &Progress) -> String {
    bits(progress, progress.counts.bytes)
}

/// Figures of a closed loop; under a schedule they would be the schedule's.
fn mean(row: &Row, cell: &Cell) -> String {
    let flows = f64::from(cell.flows.max(1));
    let of = |progress: &Progress| match progress.counts.messages {
        0 => NOTHING.to_owned(),
        messages => number::time(progress.interval.length().get() as f64 * flows / messages as f64),
    };
    if cell.rate.is_some() { NOTHING.to_owned() } else { sent(row, of) }
}

fn rtt(row: &Row, _: &Cell) -> String {
    tcp(row, |tcp| number::time(f64::from(tcp.rtt) * 1e3))
}

fn resent(row: &Row, _: &Cell) -> String {
    row.retransmits.map_or(NOTHING.to_owned(), |count| number::whole(u64::from(count)))
}

fn cwnd(row: &Row, _: &Cell) -> String {
    tcp(row, |tcp| number::bytes(f64::from(tcp.snd_cwnd) * f64::from(tcp.snd_mss)))
}

/// The gaps in the numbers of the datagrams that arrived: what is on its way is not lost.
fn lost(row: &Row, _: &Cell) -> String {
    gaps(row.receiver, |progress| Some(progress.counts.messages))
}

/// The same of the way back.
fn lost_back(row: &Row, _: &Cell) -> String {
    gaps(row.sender, |progress| Some(progress.back?.messages))
}

fn gaps(end: Option<Progress>, received: impl Fn(&Progress) -> Option<u64>) -> String {
    let known = end.and_then(|progress| Some((received(&progress)?, progress.missing?)));
    known.map_or(NOTHING.to_owned(), |(received, missing)| match received.saturating_add(missing) {
        0 => NOTHING.to_owned(),
        all => number::percent(missing as f64 / all as f64),
    })
}

fn jitter(row: &Row, _: &Cell) -> String {
    received(row, |progress| progress.jitter.map_or(NOTHING.to_owned(), |jitter| number::time(jitter as f64)))
}

fn back(row: &Row, _: &Cell) -> String {
    sent(row, |progress| progress.back.map_or(NOTHING.to_owned(), |back| bits(progress, back.bytes)))
}

#[cfg(test)]
mod tests {
    use super::Intervals;
    use model::end::{Counts, Progress, TcpInfo, Window};
    use model::{Bytes, Cell, Nanos, Role, Test};
    use unicode_width::UnicodeWidthStr;

    fn second(number: u64, bytes: u64, resent: Option<u32>) -> Progress {
        let at = |second: u64| Nanos::from_millis(7_000 + second * 1_000);
        let counts = Counts { bytes, messages: bytes / 1_000, ..Counts::default() };
        let tcp = resent.map(|total_retrans| TcpInfo { total_retrans, snd_cwnd: 10, snd_mss: 1448, rtt: 312, ..TcpInfo::default() });
        Progress { interval: Window { start: at(number), end: at(number + 1) }, counts, tcp, ..Progress::default() }
    }

    #[test]
    fn a_line_waits_for_both_ends_and_counts_what_is_new() {
        let mut intervals = Intervals::new(&Cell::plain(Test::TcpStream, Bytes::new(1_000)), Nanos::default());
        assert_eq!(intervals.hear(Role::Sender, second(0, 1_000_000, Some(3))), None);
        assert_eq!(intervals.hear(Role::Sender, second(1, 1_000_000, Some(5))), None);
        let first = intervals.hear(Role::Receiver, second(0, 125_000_000, None)).unwrap();
        assert_eq!(first.retransmits, Some(3));
        assert_eq!(
            intervals.line(&first).split_whitespace().collect::<Vec<_>>(),
            ["0.00-1.00", "119", "MiB", "1.00", "Gbit/s", "3", "14.2", "KiB", "312", "µs"]
        );
        let next = intervals.hear(Role::Receiver, second(1, 1, None)).unwrap();
        assert_eq!((next.retransmits, next.start, next.end), (Some(2), 1.0, 2.0));
        assert_eq!(intervals.rest(), []);
    }

    #[test]
    fn what_a_warm_up_sent_again_is_not_of_the_first_interval() {
        let mut intervals = Intervals::new(&Cell::plain(Test::TcpStream, Bytes::new(1_000)), Nanos::from_millis(10));
        for at in [0, 1] {
            intervals.hear(Role::Sender, second(at, 1_000, Some(70 + 2 * at as u32)));
        }
        let rows = intervals.rest();
        assert_eq!([rows[0].retransmits, rows[1].retransmits], [None, Some(2)]);
    }

    #[test]
    fn an_end_that_is_silent_does_not_keep_the_other_waiting_for_ever() {
        let mut intervals = Intervals::new(&Cell::plain(Test::UdpStream, Bytes::new(1_000)), Nanos::default());
        let lines = (0..30).filter_map(|at| intervals.hear(Role::Receiver, second(at, 1_000, None))).count();
        assert_eq!(lines, 30 - super::MOST_WAITING);
        assert_eq!(intervals.rest().len(), super::MOST_WAITING);
    }

    #[test]
    fn what_is_on_its_way_is_not_lost() {
        let line = |received: u64, missing: Option<u64>| {
            let mut intervals = Intervals::new(&Cell::plain(Test::UdpStream, Bytes::new(1_000)), Nanos::default());
            intervals.hear(Role::Sender, second(0, 100_000, None));
            let row =
                intervals.hear(Role::Receiver, Progress { missing, jitter: Some(1_500), ..second(0, received * 1_000, None) }).unwrap();
            intervals.line(&row).split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        // A way of 150 ms: 15 of 100 that were sent have not come yet.
        assert_eq!(line(85, Some(0))[5..], ["0", "%", "1.50", "µs"]);
        assert_eq!(line(85, Some(15))[5..7], ["15", "%"]);
        // Without numbers nothing is known.
        assert_eq!(line(85, None)[5], super::NOTHING);
        assert_eq!(line(0, Some(0))[5], super::NOTHING);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for (test, width) in Test::ALL.iter().flat_map(|test| [40, 57, 80].map(|width| (test, width))) {
            for bidirectional in [false, true] {
                let cell = Cell { bidirectional, ..Cell::plain(*test, Bytes::new(1_000)) };
                let mut intervals = Intervals::new(&cell, Nanos::default()).within(width);
                intervals.hear(Role::Sender, second(99_999, u64::MAX / 1_000_000, Some(1)));
                let row = intervals.hear(Role::Receiver, second(99_999, u64::MAX / 1_000_000, None)).unwrap();
                for line in [intervals.head(), intervals.line(&row)] {
                    assert!((16..=width).contains(&line.width()), "{line}");
                }
            }
        }
    }
}
