//! The work of a program that was observed, as a file that is sent again: exchanges, each with what
//! is waited for and how it is answered, the connections and the rate.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::attach::Way;
use crate::quantity::Nanos;
use crate::replay::{Giving, Replay};
use crate::traffic::Protocol;

/// The version of the file that this build writes and reads.
pub const FORMAT: u32 = 1;

/// The largest request, and the largest piece of an answer, that is sent again.
pub const LARGEST: u64 = 4 << 20;
/// The most bytes of an answer.
const MOST_ANSWER: u64 = 16 << 20;
/// The most kinds of exchange, and of calls.
const MOST_KINDS: usize = 64;
/// The most pieces of an answer.
const MOST_PIECES: usize = 16;
/// The most connections.
pub const MOST_CONNECTIONS: u32 = 256;
/// Exchanges of a client that follow one another sooner follow at once.
const AT_ONCE_NS: f64 = 300_000.0;
/// CPUs kept busy, from which on the program and not its clients sets the rate.
const BUSY: f64 = 0.9;

/// The work of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramWorkload {
    /// Version; a reader refuses one that it does not know.
    pub format: u32,
    /// Name of the program.
    pub program: String,
    /// The attached run it comes from.
    pub run: String,
    /// Exchanges a second, of all connections together.
    pub rate: f64,
    /// Connections that exchange at one time.
    pub connections: u32,
    /// CPUs that the program kept busy.
    pub busy: f64,
    /// CPU time of the program for each exchange, in ns; 0 where that is not known.
    pub cpu_of_exchange: f64,
    /// Times that a thread waited for something, for each call that took data.
    pub wake_ups: f64,
    /// CPUs that the program may use, where these are not all.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// CPUs that its peers on the same machine may use, likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peer_cpus: Vec<u32>,
    /// Shares of the CPU time by what it was spent for (`own code`, `network`, `files`, `memory`);
    /// none without a receipt.
    #[serde(default)]
    pub work: BTreeMap<String, f64>,
    /// Kinds of exchange, the most frequent first.
    #[serde(default, rename = "exchange")]
    pub exchanges: Vec<Exchange>,
    /// Calls that move data.
    #[serde(default, rename = "call")]
    pub calls: Vec<CallRate>,
}

/// One kind of exchange on a connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The transport.
    pub protocol: Protocol,
    /// Share of all exchanges, 0 to 1.
    pub share: f64,
    /// Bytes that are waited for.
    pub request: u64,
    /// Calls that took them.
    pub receives: u32,
    /// Sizes given in answer; none of a program that only takes.
    pub answer: Vec<u64>,
    /// The call that gave each, or the one that gave all.
    pub calls: Vec<String>,
    /// Longest time between two neighbouring sends, in ns.
    #[serde(default)]
    pub apart: u64,
}

/// Calls of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRate {
    /// The system call.
    pub call: String,
    /// Way of its data.
    pub way: Way,
    /// `tcp`, `udp`, `unix`.
    pub protocol: String,
    /// Calls that moved data, a second.
    pub per_second: f64,
    /// Mean bytes moved.
    pub mean: f64,
    /// The most frequent size, and its share of the calls.
    pub usual: (u64, f64),
    /// Mean bytes asked for, where the call says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<f64>,
    /// Share that moved less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short: Option<f64>,
}

impl Exchange {
    /// Ways of giving each piece; empty where all go by a call each.
    pub fn ways(&self) -> Vec<Giving> {
        let ways: Vec<Giving> =
            (0..self.answer.len()).map(|place| giving(self.calls.get(place).or(self.calls.first()).map_or("", String::as_str))).collect();
        if ways.iter().all(|way| *way == Giving::Calls) { Vec::new() } else { ways }
    }
}

/// The way of giving one piece that a call has.
fn giving(call: &str) -> Giving {
    match call {
        "sendfile" | "splice" => Giving::Sendfile,
        "writev" | "sendmsg" | "pwritev2" => Giving::Gathered,
        "sendmmsg" => Giving::Many,
        _ => Giving::Calls,
    }
}

/// Time between two exchanges of one of `clients`; 0 where they follow one another at once, or the
/// program is what limits them.
pub fn pace(clients: u32, rate: f64, busy: f64) -> Nanos {
    let pace = 1e9 * f64::from(clients) / rate.max(1e-3);
    if pace < AT_ONCE_NS || busy > BUSY { Nanos::default() } else { Nanos::new(pace as u64) }
}

impl ProgramWorkload {
    /// Reads a file.
    ///
    /// # Errors
    /// The part that cannot be.
    pub fn parse(text: &str) -> Result<Self, String> {
        let this: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        this.check()?;
        Ok(this)
    }

    /// The file.
    ///
    /// # Errors
    /// When a number has no place in TOML.
    pub fn text(&self) -> Result<String, String> {
        let text = toml::to_string(self).map_err(|error| error.to_string())?;
        Ok(format!("# The work of a program, as nettoll attach saw it: docs/workload.md says what each key means.\n{text}"))
    }

    fn check(&self) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("format version {}, but this build of nettoll reads version {FORMAT}", self.format));
        }
        let numbers = [self.rate, self.busy, self.cpu_of_exchange, self.wake_ups];
        let of_calls =
            self.calls.iter().flat_map(|one| [one.per_second, one.mean, one.usual.1, one.asked.unwrap_or(0.0), one.short.unwrap_or(0.0)]);
        if !numbers.into_iter().chain(of_calls).all(|number| number.is_finite() && (0.0..=1e15).contains(&number)) {
            return Err("a rate, a time or a mean is no number from 0 to 1e15".to_owned());
        }
        let shares = self.work.values().copied().chain(self.exchanges.iter().map(|one| one.share));
        if !shares.into_iter().all(|share| (0.0..=1.0).contains(&share)) {
            return Err("a share is not from 0 to 1".to_owned());
        }
        if !(1..=MOST_CONNECTIONS).contains(&self.connections) {
            return Err(format!("{} connections: 1 to {MOST_CONNECTIONS} can be made", self.connections));
        }
        if self.exchanges.len() > MOST_KINDS || self.calls.len() > MOST_KINDS || self.work.len() > MOST_KINDS || self.cpus.len() > 4096 {
            return Err(format!("more than {MOST_KINDS} kinds of exchange, of calls or of work"));
        }
        self.exchanges.iter().try_for_each(Exchange::check)
    }

    /// What is sent again for each kind of exchange, the most frequent first: at the rate of all.
    pub fn replays(&self) -> Vec<(&Exchange, Replay)> {
        let own = self.work.get("own code").copied().unwrap_or(0.0);
        let of = |exchange: &Exchange| Replay {
            connections: self.connections,
            pace: pace(self.connections, self.rate, self.busy),
            work: Nanos::new((self.cpu_of_exchange * own) as u64),
            each: exchange.ways(),
            giving: if exchange.ways().first() == Some(&Giving::Many) { Giving::Many } else { Giving::Calls },
            cpus: self.cpus.clone(),
            client_cpus: self.peer_cpus.clone(),
            ..Replay::new(exchange.protocol, exchange.request, exchange.answer.clone())
        };
        self.exchanges.iter().map(|exchange| (exchange, of(exchange))).collect()
    }
}

impl Exchange {
    /// Holds an exchange to what can be sent again.
    ///
    /// # Errors
    /// The part that cannot be.
    pub fn check(&self) -> Result<(), String> {
        let sum = self.answer.iter().fold(0_u64, |sum, size| sum.saturating_add(*size));
        let sizes = self.answer.iter().chain([&self.request]).all(|size| (1..=LARGEST).contains(size));
        if !sizes || sum > MOST_ANSWER || self.answer.len() > MOST_PIECES {
            return Err(format!(
                "an exchange of {} B and {} pieces: sizes go from 1 B to {LARGEST} B, answers up to {MOST_ANSWER} B in {MOST_PIECES} pieces",
                self.request,
                self.answer.len()
            ));
        }
        if self.calls.len() > MOST_PIECES || self.calls.iter().any(|call| call.is_empty() || call.len() > 32) {
            return Err("the calls of an exchange are names, one for all pieces or one for each".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Exchange, FORMAT, ProgramWorkload, pace};
    use crate::quantity::Nanos;
    use crate::replay::Giving;
    use crate::traffic::Protocol;
    use proptest::prelude::proptest;

    fn made() -> ProgramWorkload {
        let exchange = Exchange {
            protocol: Protocol::Tcp,
            share: 0.9,
            request: 36,
            receives: 1,
            answer: vec![200, 4000],
            calls: vec!["writev".to_owned(), "sendfile".to_owned()],
            apart: 5,
        };
        ProgramWorkload {
            format: FORMAT,
            program: "nginx".to_owned(),
            run: "x".to_owned(),
            rate: 1000.0,
            connections: 2,
            busy: 0.2,
            cpu_of_exchange: 30_000.0,
            wake_ups: 1.0,
            cpus: vec![],
            peer_cpus: vec![],
            work: [("own code".to_owned(), 0.1), ("files".to_owned(), 0.2)].into(),
            exchanges: vec![exchange],
            calls: vec![],
        }
    }

    #[test]
    fn it_is_read_as_it_was_written_and_sent_as_it_was_seen() {
        let workload = made();
        assert_eq!(ProgramWorkload::parse(&workload.text().unwrap()), Ok(workload.clone()));
        let (_, replay) = workload.replays().remove(0);
        assert_eq!((replay.request, replay.answer, replay.connections), (36, vec![200, 4000], 2));
        assert_eq!((replay.each, replay.work), (vec![Giving::Gathered, Giving::Sendfile], Nanos::new(3_000)));
        assert_eq!(replay.pace, Nanos::from_millis(2));
        assert_eq!(pace(1, 10_000.0, 0.5), Nanos::default());
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let wrong = |change: fn(&mut ProgramWorkload)| {
            let mut workload = made();
            change(&mut workload);
            ProgramWorkload::parse(&workload.text().unwrap()).unwrap_err()
        };
        assert!(wrong(|one| one.format = 9).contains("version 9"));
        assert!(wrong(|one| one.connections = 0).contains("connections"));
        assert!(wrong(|one| one.rate = f64::NAN).contains("no number"));
        assert!(wrong(|one| one.exchanges[0].request = 0).contains("from 1 B"));
        assert!(wrong(|one| one.exchanges[0].share = 1.5).contains("share"));
        assert!(ProgramWorkload::parse("nonsense = 1").is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(format = 1\n|rate = |\\[\\[exchange\\]\\]\n|\\PC|[0-9.]|\n){0,40}") {
            let _ = ProgramWorkload::parse(&text);
        }
    }
}
