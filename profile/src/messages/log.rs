//! Socket calls one by one, made into kinds of calls and patterns of exchange.

use std::collections::{BTreeMap, HashMap, HashSet};

use model::attach::{CallKind, Messages, Pattern, Totals, Way};

/// Ways as the program in the kernel writes them.
pub const OUT: u64 = 0;
/// Into the program.
pub const IN: u64 = 1;

/// Sizes of one kind of call that are kept.
const SIZES: usize = 64;
/// Patterns that are kept.
const PATTERNS: usize = 32;
/// Sends of one exchange that are kept apart.
const SENDS: usize = 16;
/// The most different patterns that are counted; what comes after them is not.
const MOST_PATTERNS: usize = 20_000;

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Its time, in ns of `CLOCK_MONOTONIC`.
    pub time: u64,
    /// The socket, by a number that no other has.
    pub socket: u64,
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
    /// The call's third argument: of some calls, the bytes asked for.
    pub asked: u32,
}

impl Event {
    /// Bytes of one in the queue.
    pub const SIZE: usize = 40;

    /// Reads what the program in the kernel wrote; `None` of anything else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let (kind, sizes) = (number(24)?, number(32)?);
        let way = match kind >> 48 {
            OUT => Way::Out,
            IN => Way::In,
            _ => return None,
        };
        Some(Self {
            time: number(0)?,
            socket: number(8)?,
            call: kind as u16,
            family: (kind >> 16) as u16,
            protocol: (kind >> 32) as u16,
            way,
            result: sizes as u32 as i32,
            asked: (sizes >> 32) as u32,
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

/// A system call that moves data of sockets.
struct Call {
    number: libc::c_long,
    name: &'static str,
    /// Its third argument is the number of bytes.
    asks: bool,
}

const CALLS: [Call; 14] = [
    Call { number: libc::SYS_sendto, name: "sendto", asks: true },
    Call { number: libc::SYS_recvfrom, name: "recvfrom", asks: true },
    Call { number: libc::SYS_write, name: "write", asks: true },
    Call { number: libc::SYS_read, name: "read", asks: true },
    Call { number: libc::SYS_writev, name: "writev", asks: false },
    Call { number: libc::SYS_readv, name: "readv", asks: false },
    Call { number: libc::SYS_sendmsg, name: "sendmsg", asks: false },
    Call { number: libc::SYS_recvmsg, name: "recvmsg", asks: false },
    Call { number: libc::SYS_sendmmsg, name: "sendmmsg", asks: false },
    Call { number: libc::SYS_recvmmsg, name: "recvmmsg", asks: false },
    Call { number: libc::SYS_sendfile, name: "sendfile", asks: false },
    Call { number: libc::SYS_splice, name: "splice", asks: false },
    Call { number: libc::SYS_pwritev2, name: "pwritev2", asks: false },
    Call { number: libc::SYS_preadv2, name: "preadv2", asks: false },
];

/// Name of a call, and whether its third argument is a number of bytes. A ring's work may be
/// done in whatever call returns next, so a call that moves no data by itself means a ring.
fn call(number: u16) -> (&'static str, bool) {
    let known = CALLS.iter().find(|call| call.number == libc::c_long::from(number));
    known.map_or(("io_uring", false), |call| (call.name, call.asks))
}

/// Everything that the calls of a window show. `totals` are of all calls, the `beyond` that had no
/// room too; where all are here, their own sums are told.
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

/// Sums of one kind of call, with its sizes.
struct Kind {
    sums: CallKind,
    sizes: BTreeMap<u64, u64>,
}

fn kinds(events: &[Event]) -> Vec<CallKind> {
    let mut kinds: BTreeMap<(u16, u16, u16, Way), Kind> = BTreeMap::new();
    for event in events {
        let (name, asks) = call(event.call);
        let kind = kinds.entry((event.call, event.family, event.protocol, event.way)).or_insert_with(|| Kind {
            sums: CallKind {
                call: name.to_owned(),
                way: event.way,
                protocol: event.protocol(),
                calls: 0,
                bytes: 0,
                empty: 0,
                failed: 0,
                short: asks.then_some(0),
                asked: asks.then_some(0),
                sizes: Vec::new(),
            },
            sizes: BTreeMap::new(),
        });
        kind.add(event);
    }
    let mut merged: Vec<CallKind> = Vec::new();
    for kind in kinds.into_values().map(Kind::finish) {
        // Families of IP are one protocol, calls that only returned a ring's work one call.
        match merged.iter_mut().find(|one| (&one.call, one.way, &one.protocol) == (&kind.call, kind.way, &kind.protocol)) {
            Some(one) => add(one, kind),
            None => merged.push(kind),
        }
    }
    merged.sort_by(|a, b| (b.calls, &a.call).cmp(&(a.calls, &b.call)));
    merged
}

impl Kind {
    fn add(&mut self, event: &Event) {
        let sums = &mut self.sums;
        if event.result > 0 {
            let moved = event.moved();
            sums.calls += 1;
            sums.bytes += moved;
            *self.sizes.entry(moved).or_default() += 1;
            if let Some((short, asked)) = sums.short.as_mut().zip(sums.asked.as_mut()) {
                *short += u64::from(moved < u64::from(event.asked));
                *asked += u64::from(event.asked);
            }
        } else if event.result == -libc::EAGAIN {
            sums.empty += 1;
        } else {
            sums.failed += 1;
        }
    }

    fn finish(self) -> CallKind {
        CallKind { sizes: frequent(self.sizes), ..self.sums }
    }
}

fn frequent(sizes: BTreeMap<u64, u64>) -> Vec<(u64, u64)> {
    let mut sizes: Vec<(u64, u64)> = sizes.into_iter().collect();
    sizes.sort_by_key(|(size, calls)| (std::cmp::Reverse(*calls), *size));
    sizes.truncate(SIZES);
    sizes
}

fn add(one: &mut CallKind, other: CallKind) {
    one.calls += other.calls;
    one.bytes += other.bytes;
    one.empty += other.empty;
    one.failed += other.failed;
    let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a + b);
    (one.short, one.asked) = (sum(one.short, other.short), sum(one.asked, other.asked));
    let mut sizes: BTreeMap<u64, u64> = one.sizes.iter().copied().collect();
    for (size, calls) in other.sizes {
        *sizes.entry(size).or_default() += calls;
    }
    one.sizes = frequent(sizes);
}

/// An exchange under way on one socket.
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
                match exchange.sends.get_mut(SENDS - 1) {
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
            call: numbers.first().map_or("", |number| call(*number).0).to_owned(),
            calls: match numbers.iter().all(|number| Some(number) == numbers.first()) {
                true => Vec::new(),
                false => numbers.iter().map(|number| call(*number).0.to_owned()).collect(),
            },
            sends,
            apart,
            count,
        })
        .collect();
    all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.cmp(b)));
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
    use super::{Event, IN, OUT, SENDS, summary};
    use model::attach::{Totals, Way};
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
            asked: 4096,
        }
    }

    fn bytes(event: &Event) -> Vec<u8> {
        let way = if event.way == Way::In { IN } else { OUT };
        let kind = way << 48 | u64::from(event.protocol) << 32 | u64::from(event.family) << 16 | u64::from(event.call);
        let sizes = u64::from(event.asked) << 32 | u64::from(event.result as u32);
        [event.time, event.socket, 0, kind, sizes].iter().flat_map(|number| number.to_ne_bytes()).collect()
    }

    #[test]
    fn an_event_reads_as_it_was_written() {
        for one in [event(5, Way::In, libc::SYS_read, 100), event(6, Way::Out, libc::SYS_writev, -libc::EAGAIN)] {
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
            prop_assert!(seen.patterns.iter().all(|pattern| pattern.sends.len() <= SENDS && pattern.receives > 0));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Event::parse(&bytes);
        }
    }
}
