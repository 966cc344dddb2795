//! The table of factors: everything that a study can vary, a row each.
//!
//! A row holds the factor's key in plans and arms, the type of its levels, which
//! knows how they are read and what a column holds, its flag with the help, its
//! place in a cell with the usual level, and its words in a cell's name. Flags,
//! keys, settings of arms, labels, columns and completions follow from it. A row's
//! comment is what `nettoll help columns` says of its column; the comment within it is
//! what docs/format.md says of its levels.

use super::Cell;
use super::level::{LevelType, Value};
use crate::address_list::Addresses;
use crate::api::Api;
use crate::choice::choice;
use crate::condition::{LinkLoad, PerEnd, Placement, Priority};
use crate::link::{LinkKind, Offload};
use crate::program::PREFIX;
use crate::quantity::{Bytes, Nanos};
use crate::rate::OfferedRate;
use crate::receive::Receive;
use crate::sorting::Order;
use crate::tos::Tos;
use crate::traffic::{Arrivals, Family, Pacing, Protocol, Test, Waiting};
use crate::ways::Ways;

/// A flag of `nettoll study` that replaces the levels of a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag {
    /// Letter, where it has one.
    pub short: Option<char>,
    /// Name, where it is not the factor's key.
    pub long: Option<&'static str>,
    /// Name of its value in the help.
    pub value_name: &'static str,
    /// Sentence for the help, without a full stop and without the names of its choices.
    help: &'static str,
    /// True where a value may begin with a hyphen: a negative number is then refused
    /// as a number and not as an unknown flag.
    pub is_number: bool,
    /// True where the flag without a value means `true`.
    pub is_switch: bool,
}

impl Flag {
    const fn list(help: &'static str) -> Self {
        Self { short: None, long: None, value_name: "LIST", help, is_number: false, is_switch: false }
    }

    const fn numbers(help: &'static str) -> Self {
        Self { is_number: true, ..Self::list(help) }
    }

    const fn sweep(help: &'static str) -> Self {
        Self { value_name: "SWEEP", ..Self::numbers(help) }
    }

    const fn switch(help: &'static str) -> Self {
        Self { is_switch: true, ..Self::list(help) }
    }

    const fn short(self, letter: char) -> Self {
        Self { short: Some(letter), ..self }
    }

    const fn long(self, name: &'static str) -> Self {
        Self { long: Some(name), ..self }
    }
}

/// Reads, sets and resets a factor at its place in a cell: a field that always
/// has a level, with the usual one (`field`); a field that may have none
/// (`option`); one whose usual level follows from others (`derived`); a
/// feature of the link's devices (`feature`); a way of sending, which may bring
/// the way of receiving with it, a factor of its own (`ways`).
macro_rules! place {
    (get $cell:ident field($($field:ident).+, $usual:expr)) => { Some($cell.$($field).+.clone()) };
    (set $cell:ident $level:ident field($($field:ident).+, $usual:expr)) => { $cell.$($field).+ = $level.clone() };
    (erase $cell:ident field($($field:ident).+, $usual:expr)) => { $cell.$($field).+ = $usual };
    (get $cell:ident option($($field:ident).+)) => { $cell.$($field).+.clone() };
    (set $cell:ident $level:ident option($($field:ident).+)) => { $cell.$($field).+ = Some($level.clone()) };
    (erase $cell:ident option($($field:ident).+)) => { $cell.$($field).+ = None };
    (get $cell:ident derived($field:ident, $usual:ident)) => { Some($cell.$field) };
    (set $cell:ident $level:ident derived($field:ident, $usual:ident)) => { $cell.$field = *$level };
    (erase $cell:ident derived($field:ident, $usual:ident)) => { $cell.$field = $cell.$usual() };
    (get $cell:ident feature($offload:ident)) => { $cell.offloads.get(&Offload::$offload).copied() };
    (set $cell:ident $level:ident feature($offload:ident)) => { _ = $cell.offloads.insert(Offload::$offload, *$level) };
    (erase $cell:ident feature($offload:ident)) => { _ = $cell.offloads.remove(&Offload::$offload) };
    (get $cell:ident ways($sends:ident, $receives:ident)) => { Some(Ways::from($cell.$sends)) };
    (set $cell:ident $level:ident ways($sends:ident, $receives:ident)) => {{
        $cell.$sends = $level.sender;
        $cell.$receives = $level.receiver.or($cell.$receives);
    }};
    (erase $cell:ident ways($sends:ident, $receives:ident)) => { $cell.$sends = Api::Send };
    (offload feature($offload:ident)) => { Some(Offload::$offload) };
    (offload $kind:ident $rest:tt) => { None };
}

macro_rules! factors {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident: $type:ty = $key:literal $([identity: $identity:literal])? {
            $(#[doc = $levels:literal])+
            flag: $flag:expr,
            place: $kind:ident $place:tt,
            words: $words:expr,
        }
    )+) => {
        choice! {
            /// Something that a study varies.
            Factor, "a factor" { $($(#[doc = $doc])+ $name = $key,)+ }
        }

        /// A level of a factor, which the variant names.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Level {
            $($(#[doc = $doc])+ $name($type),)+
        }

        impl Level {
            /// The factor that it is a level of.
            pub const fn factor(&self) -> Factor {
                match self { $(Self::$name(_) => Factor::$name,)+ }
            }

            /// Value as a table of figures holds it.
            pub fn value(&self) -> Value {
                match self { $(Self::$name(level) => level.value(),)+ }
            }

            #[allow(clippy::clone_on_copy, reason = "one level is no copy")]
            pub(super) fn set(&self, cell: &mut Cell) {
                match self { $(Self::$name(level) => place!(set cell level $kind $place),)+ }
            }
        }

        impl Factor {
            /// Its meaning in a sentence, for a person.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+).trim_ascii(),)+ }
            }

            /// The usual level, and all that there are: two cells of the table in docs/format.md.
            pub const fn levels(self) -> &'static str {
                match self { $(Self::$name => concat!($($levels),+).trim_ascii(),)+ }
            }

            /// The flag that replaces its levels, if it has one of the usual kind.
            pub const fn flag(self) -> Option<Flag> {
                match self { $(Self::$name => $flag,)+ }
            }

            /// Sentence of its flag in the help, without a full stop.
            pub fn help(self) -> Option<String> {
                let choices = match self { $(Self::$name => <$type>::choices(),)+ };
                let help = self.flag()?.help;
                Some(choices.map_or_else(|| help.to_owned(), |choices| format!("{help}: {choices}")))
            }

            /// Returns whether it says which cell a cell is: an arm cannot set it.
            pub const fn is_identity(self) -> bool {
                match self { $(Self::$name => false $(|| $identity)?,)+ }
            }

            /// The feature of the link's devices that it turns on and off, if it is one.
            pub const fn offload(self) -> Option<Offload> {
                match self { $(Self::$name => place!(offload $kind $place),)+ }
            }

            /// The levels that a word stands for: one, or those of a sweep.
            fn parse_word(self, word: &str) -> Result<Vec<Level>, String> {
                match self { $(Self::$name => Ok(<$type>::read(word)?.into_iter().map(Level::$name).collect()),)+ }
            }

            /// The level in a cell; `None` where the kernel's, or the plan's, holds.
            #[allow(clippy::clone_on_copy, reason = "one level is no copy")]
            pub fn level(self, cell: &Cell) -> Option<Level> {
                match self { $(Self::$name => place!(get cell $kind $place).map(Level::$name),)+ }
            }

            fn reset(self, cell: &mut Cell) {
                match self { $(Self::$name => place!(erase cell $kind $place),)+ }
            }

            /// Words in the name of a cell; `None` where the level is the usual one.
            pub(super) fn words(self, cell: &Cell) -> Option<String> {
                let words: fn(&Cell) -> Option<String> = match self { $(Self::$name => $words,)+ };
                words(cell)
            }
        }
    };
}

factors! {
    /// Test, by netperf's name.
    Test: Test = "test" [identity: true] {
        /// required | `TCP_STREAM`, `UDP_STREAM`, `TCP_MAERTS` (a stream whose receiver connects), `TCP_RR`, `UDP_RR`
        /// (request and response), `TCP_CRR` (the same, with a connection for each transaction)
        flag: Some(Flag::list("Tests")),
        place: field(test, Test::TcpStream),
        words: |_| None,
    }
    /// Version of IP.
    Family: Family = "family" {
        /// `"ipv4"` | `"ipv4"`, `"ipv6"`
        flag: None,
        place: field(family, Family::V4),
        words: |cell| unusual(cell.family, Family::V4),
    }
    /// Way in which messages reach the kernel.
    Api: Ways = "api" {
        /// `"send"` | how messages reach the kernel: a name of [ways.md](ways.md#the-ways), `"exec:PROGRAM ARGS"` for
        /// a program of your own ([external endpoint](endpoint.md)), or the name of an
        /// [implementation](implementations.md) that comes with nettoll. `"sender:gso,receiver:recv"` also sets
        /// `receive`
        flag: Some(Flag::list("How messages reach the kernel")),
        place: ways(api, receive),
        words: |cell| unusual(cell.api, Api::Send),
    }
    /// Way in which messages are taken from the kernel.
    Receive: Receive = "receive" {
        /// the default of the api, also of an api that an arm sets | how messages are taken from the kernel: a name
        /// of [ways.md](ways.md#the-ways), or a program as in `api`
        flag: Some(Flag::list("How messages are taken from the kernel")),
        place: option(receive),
        words: |cell| cell.receive.map(|receive| format!("received by {receive}")),
    }
    /// Messages that one call sends or receives, if it takes several.
    Batch: u32 = "batch" {
        /// 32 for streams over `sendmmsg`, `writev`, `gso...`, `uring...` or `xdp...`, or received by `recvmmsg`;
        /// otherwise 1 | messages that one call sends, and the most datagrams that one call receives; 1 to 1,024. A
        /// receiver counts the messages of the whole trial exactly. Its count of the measured part has an error of less
        /// than `batch` messages (with `gro`, 64). No effect on an api that sends one message per call, nor on
        /// request/response tests
        flag: Some(Flag::numbers("Messages that one call sends or receives, if it takes several: 8,32")),
        place: derived(batch, usual_batch),
        words: |cell| (cell.batch != 1).then(|| format!("batches of {}", cell.batch)),
    }
    /// Message size.
    Size: Bytes = "size" [identity: true] {
        /// required | message size, 1 byte to 1G: `1448`, `"16K"`, a list, or a sweep. The sweep `"1..16K:x2"`
        /// multiplies, `"100..900:+100"` adds, `"1..16K"` doubles; it always includes the last value, and has at most
        /// 1,000 values. A UDP datagram has at most 65,507 bytes (IPv4) or 65,527 (IPv6)
        flag: Some(Flag::sweep("Message sizes: 1,64,16K or 1..16K:x2 or 100..900:+100 (K is 1024)").short('l')),
        place: field(size, Bytes::new(1)),
        words: |_| None,
    }
    /// Bytes that one receive call asks for.
    ReadSize: Bytes = "read_size" {
        /// 128K for TCP streams, otherwise the message size | bytes that one receive call asks for, at most 1G; in
        /// request/response tests at least the message size
        flag: Some(Flag::sweep("Bytes that one receive call asks for").long("read-size")),
        place: derived(read_size, usual_read_size),
        // A series names it: in a cell it may follow from the size.
        words: |_| None,
    }
    /// TCP_NODELAY, `true` or `false`.
    Nodelay: bool = "nodelay" {
        /// `false` | TCP_NODELAY at both ends; no effect on UDP
        flag: Some(Flag::switch("TCP_NODELAY; without a value: true").short('N')),
        place: field(nodelay, false),
        words: |cell| (cell.protocol() == Protocol::Tcp && !cell.api.over().is_local()).then(|| if cell.nodelay { "nodelay" } else { "nagle" }.to_owned()),
    }
    /// TCP congestion control.
    Cc: String = "cc" {
        /// the kernel's | TCP congestion control at both ends; no effect on UDP
        flag: Some(Flag::list("TCP congestion control").short('C')),
        place: option(cc),
        words: |cell| cell.cc.clone(),
    }
    /// SO_SNDBUF.
    Sndbuf: Bytes = "sndbuf" {
        /// the kernel's | SO_SNDBUF at both ends, as passed to `setsockopt`; Linux doubles it
        flag: Some(Flag::sweep("SO_SNDBUF at both ends")),
        place: option(sndbuf),
        words: |cell| cell.sndbuf.map(|size| format!("sndbuf={size}")),
    }
    /// SO_RCVBUF.
    Rcvbuf: Bytes = "rcvbuf" {
        /// the kernel's | SO_RCVBUF at both ends, as passed to `setsockopt`; Linux doubles it
        flag: Some(Flag::sweep("SO_RCVBUF at both ends")),
        place: option(rcvbuf),
        words: |cell| cell.rcvbuf.map(|size| format!("rcvbuf={size}")),
    }
    /// Number of concurrent flows.
    Flows: u32 = "flows" {
        /// 1, or one for each host of `senders` or `receivers` | concurrent flows, each with a thread at both ends; 1
        /// to 1,024
        flag: Some(Flag::numbers("Parallel flows, each with a thread").short('P')),
        place: derived(flows, usual_flows),
        words: |cell| (cell.flows != cell.usual_flows()).then(|| format!("{} flows", cell.flows)),
    }
    /// Bits or messages a second that each flow offers.
    Rate: OfferedRate = "rate" {
        /// unlimited | load that each flow offers per second: bits (`"10M"`), or messages or transactions
        /// (`"50000/s"`); K, M and G are powers of 1000
        flag: Some(Flag::numbers("Load that each flow offers: 10M bits or 50000/s messages a second (K is 1000)").short('b')),
        place: option(rate),
        words: |cell| cell.rate.map(|rate| rate.to_string()),
    }
    /// How a sender waits until its next message is due.
    Pacing: Pacing = "pacing" {
        /// `"sleep"` | how a sender waits until its next message is due: `"sleep"`, or `"spin"`, which takes a whole
        /// CPU; no effect without a rate
        flag: Some(Flag::list("How a sender waits until its next message is due")),
        place: field(pacing, Pacing::Sleep),
        words: |cell| unusual(cell.pacing, Pacing::Sleep),
    }
    /// How both ends wait for data.
    Waiting: Waiting = "waiting" {
        /// `"block"` | how both ends wait for data: `"block"`, `"busy-poll"`, `"poll"`, `"select"`, `"epoll"`,
        /// `"epoll-edge"` or `"spin"` ([ways of waiting](ways.md#ways-of-waiting)). A requester with a rate waits as
        /// `pacing` says; not for `TCP_CRR`
        flag: Some(Flag::list("How both ends wait for data")),
        place: field(waiting, Waiting::Block),
        words: |cell| match cell.waiting {
            Waiting::Block => None,
            Waiting::Spin => Some("spinning".to_owned()),
            other => Some(other.to_string()),
        },
    }
    /// CPU time spent before each send, such as `1us`.
    Work: Nanos = "work" {
        /// 0 | CPU time that an end spends before each send, in place of an application's own work: `"1us"`; at most
        /// 10 ms
        flag: Some(Flag::numbers("CPU time spent before each send, in place of an application's own work: 0,1us")),
        place: field(work, Nanos::new(0)),
        words: |cell| (cell.work.get() > 0).then(|| format!("{} of work", cell.work)),
    }
    /// Whether both ends send, `true` or `false`.
    Bidirectional: bool = "bidirectional" {
        /// `false` | whether the receiver also sends, with the same number of flows; streams only
        flag: Some(Flag::switch("Both ends of a stream send; without a value: true").long("bidir")),
        place: field(bidirectional, false),
        words: |cell| cell.bidirectional.then(|| "both ways".to_owned()),
    }
    /// Whether datagrams carry their number and time, `true` or `false`.
    Stamp: bool = "stamp" {
        /// `false` | whether datagrams carry their number and time in their first 16 bytes; UDP_STREAM only
        flag: Some(Flag::switch("Datagrams carry their number and time, for loss, order, jitter and one-way times; without a value: true")),
        place: field(stamp, false),
        words: |cell| cell.stamp.then(|| "stamped".to_owned()),
    }
    /// Measured messages of a trial.
    Count: u64 = "count" {
        /// the plan's end | measured messages of a trial, in place of the plan's end: `500`, a list, or a sweep like
        /// those of sizes
        flag: Some(Flag::numbers("Measured messages of a trial, in place of its length: 500,1000 or 500..9000:+500")),
        place: option(count),
        words: |cell| cell.count.map(|count| format!("{count} messages")),
    }
    /// Link that joins the hosts.
    Link: LinkKind = "link" {
        /// the plan's | the link between the hosts, as in `link.kind`, with the plan's `mtu` and `offloads`: see
        /// [links.md](links.md#the-link-as-a-factor)
        // Its flag stands with the other flags of the link.
        flag: None,
        place: option(conditions.link),
        words: |cell| cell.conditions.link.map(|link| link.to_string()),
    }
    /// Units of host load: `2`, `sender:2`, `receiver:1`.
    Load: PerEnd<u32> = "load" {
        /// 0 | units of host load next to the ends: `2` at both ends, `"sender:2"`, `"receiver:1"`, or the last two
        /// joined by `+`; 0 to 64 at an end: see [conditions.md](conditions.md)
        flag: Some(Flag::numbers("Units of host load at both ends, or at one: 2,sender:2,receiver:1")),
        place: field(conditions.load, PerEnd::default()),
        words: |cell| (!cell.conditions.load.is_usual()).then(|| format!("load {}", cell.conditions.load)),
    }
    /// Pairs of other hosts on the link: `3`, `3x750K`.
    LinkLoad: LinkLoad = "link_load" {
        /// 0 | pairs of other hosts that send on the link: `3` at full speed, or `"3x750K"`, each pair at 750K bits
        /// of payload a second; 0 to 32. `shared-wire` and `switch` only
        flag: Some(Flag::numbers("Pairs of other hosts that send on the link, at full speed or each at a rate: 3,3x750K").long("link-load")),
        place: field(conditions.link_load, LinkLoad::NONE),
        words: |cell| (!cell.conditions.link_load.is_none()).then(|| format!("link load {}", cell.conditions.link_load)),
    }
    /// Bulk TCP flows next to the trial.
    Bulk: u32 = "bulk" {
        /// 0 | bulk TCP flows next to the trial, 0 to 64
        flag: Some(Flag::numbers("Bulk TCP flows in the background of the trial")),
        place: field(conditions.bulk, 0),
        words: |cell| (cell.conditions.bulk > 0).then(|| format!("with {} bulk", cell.conditions.bulk)),
    }
    /// Scheduling of the ends: `sender:nice:10`, `receiver:rt:50`.
    Priority: PerEnd<Priority> = "priority" {
        /// `"usual"` | scheduling of both ends or of one end: `"nice:10"`, `"sender:nice:10"`, `"receiver:rt:50"`:
        /// see [conditions.md](conditions.md)
        flag: Some(Flag::list("Scheduling of both ends, or of one: usual,sender:nice:10,receiver:rt:50")),
        place: field(conditions.priority, PerEnd::default()),
        words: |cell| (!cell.conditions.priority.is_usual()).then(|| format!("priority {}", cell.conditions.priority)),
    }
    /// CPUs of the ends and of the softirqs.
    Placement: Placement = "placement" {
        /// `"usual"` | CPUs of the ends and of the softirqs: `"usual"`, `"same-core"`, `"other-core"`,
        /// `"softirq-at-sender"`, `"softirq-at-receiver"`: see [conditions.md](conditions.md)
        flag: Some(Flag::list("CPUs of the ends and of the softirqs")),
        place: field(conditions.placement, Placement::Usual),
        words: |cell| unusual(cell.conditions.placement, Placement::Usual),
    }
    /// Transmit checksumming of the link's devices, `on` or `off`.
    OffloadTx: bool = "offload.tx" {
        /// as the link has it | transmit checksumming of the link's devices at both ends: `true` or `"on"`, `false`
        /// or `"off"`. A trial fails if it finds the feature in another state
        flag: Some(Flag::list("Transmit checksumming of the link's devices: on, off or on,off").long("offload-tx")),
        place: feature(Tx),
        words: |cell| feature(cell, Offload::Tx),
    }
    /// Receive checksumming of the link's devices.
    OffloadRx: bool = "offload.rx" {
        /// as the link has it | receive checksumming, as `offload.tx`
        flag: Some(Flag::list("Receive checksumming: on, off or on,off").long("offload-rx")),
        place: feature(Rx),
        words: |cell| feature(cell, Offload::Rx),
    }
    /// Scatter-gather of the link's devices.
    OffloadSg: bool = "offload.sg" {
        /// as the link has it | scatter-gather, as `offload.tx`
        flag: Some(Flag::list("Scatter-gather: on, off or on,off").long("offload-sg")),
        place: feature(Sg),
        words: |cell| feature(cell, Offload::Sg),
    }
    /// TCP segmentation offload of the link's devices.
    OffloadTso: bool = "offload.tso" {
        /// as the link has it | TCP segmentation offload, as `offload.tx`
        flag: Some(Flag::list("TCP segmentation offload: on, off or on,off").long("offload-tso")),
        place: feature(Tso),
        words: |cell| feature(cell, Offload::Tso),
    }
    /// Generic segmentation offload of the link's devices.
    OffloadGso: bool = "offload.gso" {
        /// as the link has it | generic segmentation offload, as `offload.tx`
        flag: Some(Flag::list("Generic segmentation offload: on, off or on,off").long("offload-gso")),
        place: feature(Gso),
        words: |cell| feature(cell, Offload::Gso),
    }
    /// Generic receive offload of the link's devices.
    OffloadGro: bool = "offload.gro" {
        /// as the link has it | generic receive offload, as `offload.tx`
        flag: Some(Flag::list("Generic receive offload: on, off or on,off").long("offload-gro")),
        place: feature(Gro),
        words: |cell| feature(cell, Offload::Gro),
    }
    /// Times at which the messages of an offered rate are due.
    Arrivals: Arrivals = "arrivals" {
        /// `"periodic"` | when the messages of an offered rate are due: `"periodic"`, at equal distances, or
        /// `"poisson"`, at random distances of the same mean, drawn from the plan's seed. No effect without a rate:
        /// see [statistics.md](statistics.md#round-trip-times-latencyrs)
        flag: Some(Flag::list("When the messages of an offered rate are due")),
        place: field(arrivals, Arrivals::Periodic),
        words: |cell| unusual(cell.arrivals, Arrivals::Periodic),
    }
    /// Type of service in the header of IP.
    Tos: Tos = "tos" {
        /// the kernel's: 0 | type of service (IPv4) or traffic class (IPv6) in the header of every packet, at both
        /// ends: the byte as `184`, `"0xb8"` or octal `"0270"`, or the name of a DSCP, such as `"ef"`. TCP keeps the
        /// two bits of ECN for itself
        flag: Some(Flag::numbers("IP_TOS or IPV6_TCLASS at both ends: the byte, or a DSCP by name: ef,cs1,0x20").short('S')),
        place: option(tos),
        words: |cell| cell.tos.map(|tos| format!("tos {tos}")),
    }
    /// Streams of an SCTP association.
    Nstreams: u32 = "nstreams" {
        /// the kernel's | streams that each end of an SCTP association offers for sending (SCTP_INITMSG), 1 to 65,535;
        /// one of them carries the messages. The api `sctp` only
        flag: Some(Flag::numbers("Streams that each end of an SCTP association offers; one carries the messages")),
        place: option(nstreams),
        words: |cell| cell.nstreams.map(|streams| format!("{streams} streams")),
    }
    /// Addresses of the connecting end of an SCTP association.
    Xbind: Addresses = "xbind" {
        /// the address that sends | addresses of the connecting end in an SCTP association, set by sctp_bindx(3):
        /// `"192.0.2.1+198.51.100.1"`, 1 to 8 addresses, all IPv4 or all IPv6. The api `sctp` only
        flag: Some(Flag::list("Addresses of the connecting end of an SCTP association: 192.0.2.1+198.51.100.1").short('X')),
        place: option(xbind),
        words: |cell| cell.xbind.as_ref().map(|addresses| format!("from {addresses}")),
    }
    /// Hosts that send to one receiver at once.
    Senders: u32 = "senders" {
        /// 1 | hosts over which the sender's flows are spread, each with a device of its own on the link; 1 to 32.
        /// `shared-wire`, `switch` or as many machines: see [incast](howto/incast.md)
        flag: Some(Flag::numbers("Hosts that send to one receiver at once, each with a device of its own on the link")),
        place: field(conditions.senders, 1),
        words: |cell| (cell.conditions.senders != 1).then(|| format!("{} senders", cell.conditions.senders)),
    }
    /// Hosts to which one sender sends at once.
    Receivers: u32 = "receivers" {
        /// 1 | hosts over which the receiver's flows are spread, as `senders`; one of the two factors is 1
        flag: Some(Flag::numbers("Hosts to which one sender sends at once, as --senders")),
        place: field(conditions.receivers, 1),
        words: |cell| (cell.conditions.receivers != 1).then(|| format!("{} receivers", cell.conditions.receivers)),
    }
}

/// A level that its factor, or its cell, cannot take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("factor '{factor}': {reason}")]
pub struct LevelError {
    /// The factor.
    pub factor: Factor,
    /// Words for what is wrong.
    pub reason: String,
}

impl Level {
    /// Reads a single level.
    ///
    /// # Errors
    /// A word that stands for no level, or for several.
    pub fn parse(factor: Factor, word: &str) -> Result<Self, LevelError> {
        let mut levels = factor.parse(&[word])?;
        match (levels.pop(), levels.is_empty()) {
            (Some(level), true) => Ok(level),
            _ => Err(LevelError { factor, reason: format!("'{word}' is more than one level") }),
        }
    }

    /// Gives a cell this level. What followed from other levels still does.
    pub fn apply(&self, cell: &mut Cell) {
        match self {
            level if level.is_derived() => self.set(cell),
            _ => cell.with_derived(|cell| self.set(cell)),
        }
    }

    /// Returns whether it follows from other levels where it is not given.
    pub const fn is_derived(&self) -> bool {
        matches!(self, Self::ReadSize(_) | Self::Batch(_) | Self::Flows(_))
    }
}

/// A setting behind a comma in the command of a program: one that was meant to stand apart.
fn setting_in_command(word: &str) -> Option<&str> {
    let command = word.strip_prefix(PREFIX)?;
    let is_setting = |word: &str| word.split_once('=').is_some_and(|(name, _)| name.parse::<Factor>().is_ok());
    let words: Vec<&str> = command.split_ascii_whitespace().collect();
    words.windows(2).find(|pair| pair[0].ends_with(',') && is_setting(pair[1])).map(|pair| pair[1])
}

fn unusual<T: PartialEq + ToString>(level: T, usual: T) -> Option<String> {
    (level != usual).then(|| level.to_string())
}

fn feature(cell: &Cell, offload: Offload) -> Option<String> {
    cell.offloads.get(&offload).map(|on| format!("{offload} {}", super::on_off(*on)))
}

impl Factor {
    /// Returns whether its levels are numbers of hosts at one end.
    pub const fn is_of_hosts(self) -> bool {
        matches!(self, Self::Senders | Self::Receivers)
    }

    /// Reads the levels of a list, in its order.
    ///
    /// # Errors
    /// No level at all, and a word that stands for none, with the reason.
    pub fn parse(self, words: &[impl AsRef<str>]) -> Result<Vec<Level>, LevelError> {
        let failed = |reason: String| LevelError { factor: self, reason };
        if words.is_empty() {
            return Err(failed("it has no levels".to_owned()));
        }
        if let Some(setting) = words.iter().find_map(|word| setting_in_command(word.as_ref())) {
            return Err(failed(format!(
                "'{setting}' would be an argument of the command, since a comma does not end it here: give it as a setting of its own"
            )));
        }
        let levels: Result<Vec<Vec<Level>>, String> = words.iter().map(|word| self.parse_word(word.as_ref())).collect();
        levels.map(|levels| levels.concat()).map_err(failed)
    }

    /// Gives a cell the factor's usual level; of an identity the first of all
    /// levels. What followed from other levels still does.
    pub fn erase(self, cell: &mut Cell) {
        cell.with_derived(|cell| self.reset(cell));
    }

    /// Name of its column in a table of figures.
    pub fn column(self) -> String {
        self.name().replace('.', "_")
    }

    /// Value in a table of figures; `None` where the kernel's, or the plan's, holds,
    /// and where the factor has no meaning in the cell.
    pub fn value(self, cell: &Cell) -> Option<Value> {
        let has_meaning = match self {
            Self::Nodelay => cell.protocol() == Protocol::Tcp && !cell.api.over().is_local(),
            Self::Pacing | Self::Arrivals => cell.rate.is_some(),
            _ => true,
        };
        self.level(cell).filter(|_| has_meaning).map(|level| level.value())
    }

    /// All factors in the order in which the levels of a table of cells are
    /// crossed: the last one varies fastest.
    pub fn in_crossing_order() -> Vec<Self> {
        let place = |factor: &Self| match factor {
            Self::Size => (Self::ALL.len(), 0),
            Self::ReadSize => (Self::Stamp as usize, 1),
            other => (*other as usize, 0),
        };
        sorted(place)
    }

    /// All factors in the order in which the help lists their flags.
    pub fn in_help_order() -> Vec<Self> {
        sorted(|factor| if matches!(factor, Self::Api | Self::Batch) { (Self::Stamp as usize, 1) } else { (*factor as usize, 0) })
    }
}

fn sorted(place: fn(&Factor) -> (usize, usize)) -> Vec<Factor> {
    let mut all = Factor::ALL.to_vec();
    all.order_by_key(place);
    all
}

#[cfg(test)]
mod tests {
    use super::{Factor, Level, Value};
    use crate::link::Offload;
    use crate::quantity::Bytes;
    use crate::{Cell, Test};

    #[test]
    fn every_offload_is_a_factor_of_its_name() {
        let offloads: Vec<Offload> = Factor::ALL.iter().filter_map(|factor| factor.offload()).collect();
        assert_eq!(offloads, Offload::ALL);
        for (factor, offload) in Factor::ALL.iter().filter_map(|factor| Some((factor, factor.offload()?))) {
            assert_eq!(factor.name(), format!("offload.{offload}"));
        }
    }

    #[test]
    fn a_level_is_read_back_from_the_cell_and_erased() {
        let plain = Cell::plain(Test::UdpStream, Bytes::new(64));
        for (factor, word) in [
            ("family", "ipv6"),
            ("api", "sendmmsg"),
            ("batch", "8"),
            ("read_size", "7"),
            ("nodelay", "on"),
            ("cc", "reno"),
            ("sndbuf", "64K"),
            ("rcvbuf", "64K"),
            ("flows", "2"),
            ("rate", "10M"),
            ("pacing", "spin"),
            ("waiting", "spin"),
            ("work", "1us"),
            ("bidirectional", "true"),
            ("stamp", "true"),
            ("count", "500"),
            ("link", "ethernet 10M"),
            ("load", "sender:2"),
            ("link_load", "3x750K"),
            ("bulk", "1"),
            ("priority", "nice:5"),
            ("placement", "same-core"),
            ("offload.gro", "off"),
            ("arrivals", "poisson"),
            ("tos", "ef"),
            ("nstreams", "10"),
            ("xbind", "192.0.2.1+198.51.100.1"),
            ("senders", "4"),
            ("receivers", "4"),
        ] {
            let factor: Factor = factor.parse().unwrap();
            let levels = factor.parse(&[word]).unwrap();
            let mut cell = plain.clone();
            levels[0].apply(&mut cell);
            assert_eq!((factor.level(&cell), levels[0].factor()), (Some(levels[0].clone()), factor));
            assert_ne!(cell, plain, "{factor}");
            factor.erase(&mut cell);
            assert_eq!(cell, plain, "{factor}");
        }
    }

    #[test]
    fn a_read_size_that_follows_from_the_message_still_does() {
        let mut usual = Cell::plain(Test::UdpStream, Bytes::new(64));
        let mut own = Cell { read_size: Bytes::new(32), ..usual.clone() };
        Level::Size(Bytes::new(100)).apply(&mut usual);
        Level::Size(Bytes::new(100)).apply(&mut own);
        assert_eq!((usual.read_size, own.read_size), (Bytes::new(100), Bytes::new(32)));
    }

    #[test]
    fn values_are_numbers_where_there_is_a_unit() {
        let cell = Cell { sndbuf: Some(Bytes::new(4_096)), ..Cell::plain(Test::TcpStream, Bytes::new(64)) };
        let value = |factor: Factor| factor.value(&cell);
        assert_eq!((value(Factor::Sndbuf), value(Factor::Rcvbuf)), (Some(Value::Number(4_096)), None));
        assert_eq!((value(Factor::Test), value(Factor::Nodelay)), (Some(Value::Text("TCP_STREAM".into())), Some(Value::Switch(false))));
        let text = |factor: Factor| value(factor).unwrap().to_string();
        assert_eq!([text(Factor::Load), text(Factor::Priority), text(Factor::Size)], ["0", "usual", "64"]);
        assert_eq!(Factor::OffloadTx.column(), "offload_tx");
    }
}
