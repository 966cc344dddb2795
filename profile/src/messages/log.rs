//! Socket calls one by one, made into kinds of calls and patterns of exchange.

use std::collections::{BTreeMap, HashMap, HashSet};

use model::attach::{CallKind, MOST_SENDS, Messages, Pattern, Totals, Way, frequent};
use model::sorting::Order;

use super::asked::{AT_LEAST, FLAGS, GOES_ON, TOLD};

/// Ways as the program in the kernel writes them.
pub const OUT: u64 = 0;
/// Into the program.
pub const IN: u64 = 1;

/// Sizes of one kind of call that are kept.
const SIZES: usize = 64;
/// Patterns that are kept.
const PATTERNS: usize = 32;
/// The most different patterns that are counted; what comes after them is not.
const MOST_PATTERNS: usize = 20_000;

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Its time, in ns of `CLOCK_MONOTONIC`.
    pub time: u64,
    /// The socket, by a number that no other has.
    pub socket: u64,
    /// The thread below, the process above.
    pub task: u64,
    /// Number of the system call.
    pub call: u16,
    /// Family of the socket (`AF_INET`).
    pub family: u16,
    /// Its protocol (`IPPROTO_TCP`).
    pub protocol: u16,
    /// Way of the data.
    pub way: Way,
    /// Bytes, or a negative errno.
    pub result: i32,
    /// Bytes asked for; `None` where they are not known.
    pub asked: Option<u32>,
    /// It asks for more than that.
    pub at_least: bool,
    /// The call was here before: this is more of what it asked for then.
    pub goes_on: bool,
}

impl Event {
    /// Bytes of one in the queue.
    pub const SIZE: usize = 40;

    /// Reads what the program in the kernel wrote; `None` of anything else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let (kind, sizes) = (number(24)?, number(32)?);
        let flags = kind >> FLAGS;
        let way = match kind >> 48 & 0xff {
            OUT => Way::Out,
            IN => Way::In,
            _ => return None,
        };
        Some(Self {
            time: number(0)?,
            socket: number(8)?,
            task: number(16)?,
            call: kind as u16,
            family: (kind >> 16) as u16,
            protocol: (kind >> 32) as u16,
            way,
            result: sizes as u32 as i32,
            asked: (flags & TOLD != 0).then_some((sizes >> 32) as u32),
            at_least: flags & AT_LEAST != 0,
            goes_on: flags & GOES_ON != 0,
        })
    }

    /// Bytes moved; 0 of a call that moved none.
    fn moved(&self) -> u64 {
        u64::try_from(self.result).unwrap_or(0)
    }

    fn protocol(&self) -> String {
        match (i32::from(self.family), i32::from(self.protocol)) {
            (libc::AF_INET | libc::AF_INET6, libc::IPPROTO_TCP) => "tcp".to_owned(),
            (libc::AF_INET | libc::AF_INET6, libc::IPPROTO_UDP) => "udp".to_owned(),
            (libc::AF_UNIX, _) => "unix".to_owned(),
            (family, protocol) => format!("family {family} protocol {protocol}"),
        }
    }
}

/// System calls that move data of sockets.
const CALLS: [(libc::c_long, &str); 14] = [
    (libc::SYS_sendto, "sendto"),
    (libc::SYS_recvfrom, "recvfrom"),
    (libc::SYS_write, "write"),
    (libc::SYS_read, "read"),
    (libc::SYS_writev, "writev"),
    (libc::SYS_readv, "readv"),
    (libc::SYS_sendmsg, "sendmsg"),
    (libc::SYS_recvmsg, "recvmsg"),
    (libc::SYS_sendmmsg, "sendmmsg"),
    (libc::SYS_recvmmsg, "recvmmsg"),
    (libc::SYS_sendfile, "sendfile"),
    (libc::SYS_splice, "splice"),
    (libc::SYS_pwritev2, "pwritev2"),
    (libc::SYS_preadv2, "preadv2"),
];

/// Name of a call. A ring's work may be done in whatever call returns next, so a call that moves no
/// data by itself means a ring.
fn call(number: u16) -> &'static str {
    let known = CALLS.iter().find(|(call, _)| *call == libc::c_long::from(number));
    known.map_or("io_uring", |(_, name)| name)
}

/// Everything that the calls of a window show. `totals` are of all calls, the `beyond` that had no
/// room too; where all are here, their own sums are given.
pub fn summary(totals: Totals, beyond: u64, mut events: Vec<Event>) -> Messages {
    let totals = if beyond == 0 { sums(&events) } else { totals };
    // CPUs put their calls into the queue in another order than they happened.
    events.sort_by_key(|event| event.time);
    let sockets: HashSet<u64> = events.iter().filter(|event| event.result > 0).map(|event| event.socket).collect();
    let (patterns, exchanges) = patterns(&events);
    Messages { totals, kept: events.len() as u64, beyond, calls: kinds(&events), patterns, exchanges, sockets: sockets.len() as u64 }
}

fn sums(events: &[Event]) -> Totals {
    let mut sums = Totals::default();
    for event in events {
        let (calls, bytes) = match event.way {
            Way::Out => (&mut sums.sends, &mut sums.sent),
            Way::In => (&mut sums.receives, &mut sums.received),
        };
        if event.result > 0 {
            *calls += 1;
            *bytes += event.moved();
        } else if event.result == -libc::EAGAIN {
            sums.empty += 1;
        } else {
            sums.failed += 1;
        }
    }
    sums
}

/// Sums of one kind of call, with the sizes that moved and those asked for.
struct Kind {
    sums: CallKind,
    sizes: BTreeMap<u64, u64>,
    wanted: BTreeMap<u64, u64>,
}

/// Calls of `sendfile` and `splice` whole: what such a call moved at several times is added to the
/// first of them. Those that began before the window are what is left of them.
fn whole(events: &[Event]) -> Vec<Event> {
    let mut calls: Vec<Event> = Vec::with_capacity(events.len());
    let mut open: HashMap<u64, usize> = HashMap::new();
    for event in events {
        let first = open.get(&event.task).and_then(|place| calls.get_mut(*place));
        let first = first.filter(|first| event.goes_on && first.call == event.call);
        match first.and_then(|first| Some((first.result.max(0).checked_add(event.result.max(0))?, first))) {
            Some((sum, first)) if event.result > 0 => first.result = sum,
            Some(_) => {}
            None => {
                open.insert(event.task, calls.len());
                calls.push(*event);
            }
        }
    }
    calls
}

fn kinds(events: &[Event]) -> Vec<CallKind> {
    // Families of IP are one protocol, calls that only returned a ring's work one call.
    let mut kinds: BTreeMap<(&str, String, Way), Kind> = BTreeMap::new();
    for event in &whole(events) {
        let (call, protocol, way) = (call(event.call), event.protocol(), event.way);
        let kind = kinds.entry((call, protocol.clone(), way)).or_insert_with(|| Kind {
            sums: CallKind {
                call: call.to_owned(),
                way,
                protocol,
                calls: 0,
                bytes: 0,
                empty: 0,
                failed: 0,
                short: None,
                asked: None,
                asked_sizes: Vec::new(),
                at_least: 0,
                untold: 0,
                sizes: Vec::new(),
            },
            sizes: BTreeMap::new(),
            wanted: BTreeMap::new(),
        });
        kind.add(event);
    }
    let mut all: Vec<CallKind> = kinds.into_values().map(Kind::finish).collect();
    all.order_by(|a, b| (b.calls, &a.call).cmp(&(a.calls, &b.call)));
    all
}

impl Kind {
    fn add(&mut self, event: &Event) {
        let sums = &mut self.sums;
        if event.result > 0 {
            let moved = event.moved();
            sums.calls += 1;
            sums.bytes += moved;
            *self.sizes.entry(moved).or_default() += 1;
            match event.asked.map(u64::from) {
                Some(asked) => {
                    *sums.short.get_or_insert_default() += u64::from(moved < asked);
                    *sums.asked.get_or_insert_default() += asked;
                    sums.at_least += u64::from(event.at_least);
                    *self.wanted.entry(asked).or_default() += 1;
                }
                None => sums.untold += 1,
            }
        } else if event.result == -libc::EAGAIN {
            sums.empty += 1;
        } else {
            sums.failed += 1;
        }
    }

    fn finish(self) -> CallKind {
        let [sizes, asked_sizes] = [self.sizes, self.wanted].map(|sizes| frequent(sizes).into_iter().take(SIZES).collect());
        CallKind { sizes, asked_sizes, ..self.sums }
    }
}

/// An exchange in flight on one socket.
#[derive(Default)]
struct Exchange {
    receives: u32,
    received: u64,
    protocol: String,
    sends: Vec<u64>,
    /// The call of each.
    calls: Vec<u16>,
    last: u64,
    apart: u64,
}

/// What makes two exchanges alike.
type Key = (String, u32, u64, Vec<u16>, Vec<u64>);

/// Exchanges that began and ended among these calls: the first of a socket may have begun
/// before, so it counts from its first receive; the last is complete only when the next begins.
/// The second is the number of all of them.
fn patterns(events: &[Event]) -> (Vec<Pattern>, u64) {
    let mut open: HashMap<u64, Exchange> = HashMap::new();
    let mut found: HashMap<Key, (u64, u64)> = HashMap::new();
    let mut done = 0;
    for event in events.iter().filter(|event| event.result > 0) {
        match event.way {
            Way::In => {
                let exchange = open.entry(event.socket).or_default();
                if !exchange.sends.is_empty() {
                    count(&mut found, std::mem::take(exchange));
                    done += 1;
                }
                if exchange.receives == 0 {
                    exchange.protocol = event.protocol();
                }
                exchange.receives = exchange.receives.saturating_add(1);
                exchange.received = exchange.received.saturating_add(event.moved());
            }
            Way::Out => {
                let Some(exchange) = open.get_mut(&event.socket) else { continue };
                if !exchange.sends.is_empty() {
                    exchange.apart = exchange.apart.max(event.time.saturating_sub(exchange.last));
                }
                exchange.last = event.time;
                match exchange.sends.get_mut(MOST_SENDS - 1) {
                    Some(rest) => *rest = rest.saturating_add(event.moved()),
                    None => {
                        exchange.sends.push(event.moved());
                        exchange.calls.push(event.call);
                    }
                }
            }
        }
    }
    let mut all: Vec<Pattern> = found
        .into_iter()
        .map(|((protocol, receives, received, numbers, sends), (count, apart))| Pattern {
            protocol,
            receives,
            received,
            call: numbers.first().map_or("", |number| call(*number)).to_owned(),
            calls: match numbers.iter().all(|number| Some(number) == numbers.first()) {
                true => Vec::new(),
                false => numbers.iter().map(|number| call(*number).to_owned()).collect(),
            },
            sends,
            apart,
            count,
        })
        .collect();
    all.order_by(|a, b| b.count.cmp(&a.count).then_with(|| a.cmp(b)));
    all.truncate(PATTERNS);
    (all, done)
}

fn count(found: &mut HashMap<Key, (u64, u64)>, done: Exchange) {
    let key = (done.protocol, done.receives, done.received, done.calls, done.sends);
    if found.len() >= MOST_PATTERNS && !found.contains_key(&key) {
        return;
    }
    let (count, apart) = found.entry(key).or_default();
    *count += 1;
    *apart = (*apart).max(done.apart);
}

#[cfg(test)]
mod tests {
    use super::super::asked::{AT_LEAST, FLAGS, GOES_ON, TOLD};
    use super::{Event, IN, OUT, summary};
    use model::attach::{MOST_SENDS, Totals, Way};
    use proptest::prelude::{any, prop, prop_assert, proptest};

    fn event(time: u64, way: Way, call: libc::c_long, result: i32) -> Event {
        Event {
            time,
            socket: 7,
            call: call as u16,
            family: libc::AF_INET as u16,
            protocol: libc::IPPROTO_TCP as u16,
            way,
            result,
            task: 3,
            asked: Some(4096),
            at_least: false,
            goes_on: false,
        }
    }

    fn bytes(event: &Event) -> Vec<u8> {
        let way = if event.way == Way::In { IN } else { OUT };
        let flag = |is: bool, flag: u64| if is { flag << FLAGS } else { 0 };
        let flags = flag(event.asked.is_some(), TOLD) | flag(event.at_least, AT_LEAST) | flag(event.goes_on, GOES_ON);
        let kind = flags | way << 48 | u64::from(event.protocol) << 32 | u64::from(event.family) << 16 | u64::from(event.call);
        let sizes = u64::from(event.asked.unwrap_or(0)) << 32 | u64::from(event.result as u32);
        [event.time, event.socket, event.task, kind, sizes].iter().flat_map(|number| number.to_ne_bytes()).collect()
    }

    #[test]
    fn an_event_reads_as_it_was_written() {
        let more = Event { asked: Some(u32::MAX), at_least: true, ..event(7, Way::In, libc::SYS_readv, 1) };
        let untold = Event { asked: None, goes_on: true, ..event(6, Way::Out, libc::SYS_writev, -libc::EAGAIN) };
        for one in [event(5, Way::In, libc::SYS_read, 100), more, untold] {
            assert_eq!(Event::parse(&bytes(&one)), Some(one));
        }
        assert_eq!(Event::parse(&[0; 39]), None);
    }

    #[test]
    fn an_answer_of_two_sends_is_a_pattern() {
        let mut events = Vec::new();
        for request in 0..10 {
            let at = request * 100;
            events.push(event(at, Way::In, libc::SYS_read, 36));
            events.push(event(at + 10, Way::Out, libc::SYS_writev, 200));
            events.push(event(at + 15, Way::Out, libc::SYS_sendfile, 4000));
            events.push(event(at + 20, Way::In, libc::SYS_read, -libc::EAGAIN));
        }
        let seen = summary(Totals::default(), 3, events);
        let [pattern] = &seen.patterns[..] else { panic!("{:?}", seen.patterns) };
        assert_eq!((pattern.receives, pattern.received, pattern.call.as_str()), (1, 36, "writev"));
        // The tenth is complete only when an eleventh begins.
        assert_eq!((pattern.sends.as_slice(), pattern.count, pattern.apart), (&[200, 4000][..], 9, 5));
        assert_eq!(pattern.calls, ["writev", "sendfile"]);
        let read = seen.calls.iter().find(|kind| kind.call == "read").unwrap();
        assert_eq!((read.calls, read.bytes, read.empty, read.short, read.asked), (10, 360, 10, Some(10), Some(40_960)));
        assert_eq!((read.sizes.as_slice(), seen.beyond, seen.sockets, seen.exchanges), (&[(36, 10)][..], 3, 1, 9));
    }

    #[test]
    fn a_file_that_goes_in_parts_is_one_call() {
        let sendfile = |time, task, result, goes_on| Event {
            task,
            goes_on,
            asked: (!goes_on).then_some(100_000),
            ..event(time, Way::Out, libc::SYS_sendfile, result)
        };
        let events = vec![
            sendfile(1, 3, 65_536, false),
            // Another thread's stands between the two parts.
            sendfile(2, 4, 100_000, false),
            sendfile(3, 3, 30_000, true),
            // Full: nothing more went.
            sendfile(4, 3, -libc::EAGAIN, true),
            sendfile(5, 3, -libc::EAGAIN, false),
            // It began before the window.
            sendfile(6, 5, 10, true),
        ];
        let seen = summary(Totals::default(), 0, events);
        let [kind] = &seen.calls[..] else { panic!("{:?}", seen.calls) };
        assert_eq!((kind.calls, kind.bytes, kind.empty, kind.untold), (3, 195_546, 1, 1));
        assert_eq!((kind.short, kind.asked, kind.asked_sizes.as_slice()), (Some(1), Some(200_000), &[(100_000, 2)][..]));
        assert_eq!(seen.totals.sends, 4, "the kernel's own sends are four");
    }

    #[test]
    fn no_byte_of_a_call_in_parts_is_left_out() {
        let part = |result, goes_on| Event { goes_on, ..event(1, Way::Out, libc::SYS_splice, result) };
        let seen = summary(Totals::default(), 0, vec![part(-libc::EAGAIN, false), part(5, true), part(i32::MAX, true)]);
        assert_eq!(seen.calls.iter().map(|kind| kind.bytes).sum::<u64>(), 5 + i32::MAX as u64);
    }

    #[test]
    fn calls_that_move_no_data_mean_a_ring() {
        let seen = summary(
            Totals::default(),
            0,
            vec![event(1, Way::In, libc::SYS_clock_nanosleep, 9), event(2, Way::In, libc::SYS_io_uring_enter, 9)],
        );
        assert_eq!((seen.calls.len(), seen.calls[0].call.as_str(), seen.calls[0].calls), (1, "io_uring", 2));
    }

    proptest! {
        #[test]
        fn any_events_are_summed_up(all in prop::collection::vec((0..50_u64, 0..3_u64, any::<bool>(), -40..70_000_i32), 0..200)) {
            let events = all.iter().map(|(time, socket, way, result)| {
                let way = if *way { Way::In } else { Way::Out };
                Event { socket: *socket, ..event(*time, way, libc::SYS_sendto, *result) }
            });
            let seen = summary(Totals::default(), 0, events.collect());
            let moved: u64 = all.iter().map(|one| u64::try_from(one.3).unwrap_or(0)).sum();
            prop_assert!(seen.calls.iter().map(|kind| kind.bytes).sum::<u64>() == moved);
            prop_assert!(seen.patterns.iter().all(|pattern| pattern.sends.len() <= MOST_SENDS && pattern.receives > 0));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Event::parse(&bytes);
        }
    }
}
