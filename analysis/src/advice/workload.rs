//! A program's work as a file, and what sending it again costs.

use model::Protocol;
use model::attach::{Pattern, Way};
use model::program_workload::{Exchange, FORMAT, LARGEST, MOST_CONNECTIONS, ProgramWorkload};
use model::replay::Replayed;
use serde::Serialize;
use stats::estimate::Estimate;

use super::Observed;
use crate::attached::{State, Work};

/// Confidence of what an exchange costs.
const CONFIDENCE: f64 = 0.95;
/// The least share of all exchanges that is a kind of its own.
const LEAST: f64 = 0.005;
/// Answers to datagrams, a share of them, up to which a program only takes.
const ANSWERS: f64 = 0.05;

impl Observed {
    /// The work of the program as a file has it; `None` where it moved nothing that can be sent again.
    pub fn workload(&self, state: &State, program: &str, run: &str) -> Option<ProgramWorkload> {
        let mut exchanges: Vec<Exchange> =
            self.patterns.iter().filter(|(_, share)| *share >= LEAST).filter_map(|(one, share)| exchange(one, *share)).collect();
        let mut rate = self.exchanges;
        if exchanges.is_empty() {
            let (taking, messages) = self.taking()?;
            (exchanges, rate) = (vec![taking], messages);
        }
        Some(ProgramWorkload {
            format: FORMAT,
            program: program.to_owned(),
            run: run.to_owned(),
            rate,
            connections: (self.connections.0.round() as u32).clamp(1, MOST_CONNECTIONS),
            busy: self.busy,
            cpu_of_exchange: if self.exchanges > 0.0 { self.cpu_of_exchange } else { self.cpu_of_receive },
            wake_ups: self.wake_ups,
            cpus: self.cpus.clone(),
            peer_cpus: self.peer_cpus.clone(),
            work: state.work.iter().map(|row| (row.work.name().to_owned(), row.share.value.clamp(0.0, 1.0))).collect(),
            exchanges,
            calls: self.calls.clone(),
        })
    }

    /// What a program that answers nothing takes, and how often.
    fn taking(&self) -> Option<(Exchange, f64)> {
        let taken = self.calls.iter().filter(|one| one.way == Way::In && one.per_second > 0.0 && self.sends < ANSWERS * one.per_second);
        let busiest = taken.max_by(|a, b| a.per_second.total_cmp(&b.per_second))?;
        let protocol = busiest.protocol.parse::<Protocol>().ok()?;
        let request = (busiest.mean.round() as u64).clamp(1, LARGEST);
        let calls = vec![busiest.call.clone()];
        Some((Exchange { protocol, share: 1.0, request, receives: 1, answer: Vec::new(), calls, apart: 0 }, busiest.per_second))
    }

    /// What a file tells of a program: exchanges, calls and rates, and nothing of its sockets, so that
    /// rules that look at these have no evidence.
    pub fn of_workload(workload: &ProgramWorkload) -> Self {
        let share = |work: Work| workload.work.get(work.name()).copied();
        let patterns = workload.exchanges.iter().map(|one| (pattern(one), one.share)).collect();
        let per_second = |way| workload.calls.iter().filter(|one| one.way == way).map(|one| one.per_second).sum::<f64>();
        let (sends, receives) = (per_second(Way::Out), per_second(Way::In));
        let answers = workload.exchanges.iter().any(|one| !one.answer.is_empty());
        let busy = workload.cpu_of_exchange * workload.rate;
        let each = |count: f64| if count > 0.0 { busy / count } else { 0.0 };
        Self {
            windows: 1,
            exchanges: if answers { workload.rate } else { 0.0 },
            patterns: if answers { patterns } else { Vec::new() },
            calls: workload.calls.clone(),
            sends,
            receives,
            wake_ups: workload.wake_ups,
            cpu_of_exchange: if answers { workload.cpu_of_exchange } else { 0.0 },
            cpu_of_answer: each(sends),
            cpu_of_receive: each(receives),
            window_seconds: 1.0,
            busy: workload.busy,
            own: share(Work::Own),
            files: share(Work::Files).unwrap_or(0.0),
            not_sent: not_sent(workload),
            connections: (f64::from(workload.connections), f64::from(workload.connections)),
            cpus: workload.cpus.clone(),
            peer_cpus: workload.peer_cpus.clone(),
            ..Self::default()
        }
    }
}

/// Share of the CPU time that no replay does again.
fn not_sent(workload: &ProgramWorkload) -> f64 {
    Work::ALL.iter().filter(|work| !work.is_replayed()).filter_map(|work| workload.work.get(work.name())).sum()
}

fn exchange(one: &Pattern, share: f64) -> Option<Exchange> {
    let calls = if one.calls.is_empty() { vec![one.call.clone()] } else { one.calls.clone() };
    let exchange = Exchange {
        protocol: one.protocol.parse().ok()?,
        share: share.clamp(0.0, 1.0),
        request: one.received,
        receives: one.receives,
        answer: one.sends.clone(),
        calls,
        apart: one.apart,
    };
    // What is too large to be sent again is no part of the file.
    exchange.check().ok()?;
    Some(exchange)
}

fn pattern(one: &Exchange) -> Pattern {
    Pattern {
        protocol: one.protocol.to_string().to_lowercase(),
        receives: one.receives,
        received: one.request,
        call: one.calls.first().cloned().unwrap_or_default(),
        calls: if one.calls.len() > 1 { one.calls.clone() } else { Vec::new() },
        sends: one.answer.clone(),
        apart: one.apart,
        count: (one.share * 1e6) as u64,
    }
}

/// What a program's work costs where nettoll does it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkloadCost {
    /// Kinds of exchange, in the file's order.
    pub kinds: Vec<KindCost>,
    /// CPU time of an exchange, in ns: the mean over kinds, by their shares; the median over blocks.
    pub cpu: Option<Estimate>,
    /// Share of the program's exchanges that these kinds are.
    pub share: f64,
    /// CPU time of an exchange that the program had, in ns; `None` where that is not known.
    pub observed: Option<f64>,
    /// The part for what is no traffic and not sent again (files, memory and other work of
    /// the kernel), in ns; `None` without a receipt.
    pub not_sent: Option<f64>,
}

/// One kind of exchange.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindCost {
    /// The kind.
    pub exchange: Exchange,
    /// CPU time of an exchange, in ns: the median over blocks.
    pub cpu: Option<Estimate>,
    /// Exchanges a second.
    pub rate: Option<Estimate>,
    /// Wake-ups of an exchange.
    pub wake_ups: Option<Estimate>,
}

/// Makes figures of replays: each block has one of each kind, in the file's order.
pub fn sent(workload: &ProgramWorkload, blocks: &[Vec<Replayed>]) -> WorkloadCost {
    let cpu = |one: &Replayed| one.cpu.get() as f64 / one.exchanges as f64;
    let over = |of: &dyn Fn(&[Replayed]) -> f64| {
        let values: Vec<f64> = blocks.iter().map(|block| of(block)).filter(|value| value.is_finite()).collect();
        stats::median::estimate(&values, CONFIDENCE)
    };
    let kind = |(place, exchange): (usize, &Exchange)| {
        let each = |of: &dyn Fn(&Replayed) -> f64| over(&|block| block.get(place).map_or(f64::NAN, of));
        KindCost {
            exchange: exchange.clone(),
            cpu: each(&cpu),
            rate: each(&|one| one.exchanges as f64 / one.wall.as_secs_f64()),
            wake_ups: each(&|one| one.wake_ups as f64 / one.exchanges as f64),
        }
    };
    let share: f64 = workload.exchanges.iter().map(|one| one.share).sum();
    let weighted =
        |block: &[Replayed]| workload.exchanges.iter().zip(block).map(|(one, found)| one.share * cpu(found)).sum::<f64>() / share;
    let observed = (workload.cpu_of_exchange > 0.0).then_some(workload.cpu_of_exchange);
    WorkloadCost {
        kinds: workload.exchanges.iter().enumerate().map(kind).collect(),
        cpu: over(&weighted),
        share: share.min(1.0),
        observed,
        not_sent: observed.filter(|_| !workload.work.is_empty()).map(|observed| observed * not_sent(workload)),
    }
}

#[cfg(test)]
mod tests {
    use model::Nanos;
    use model::replay::Replayed;

    use super::{Observed, exchange, sent};
    use crate::advice::tests::{echo, pattern, sink};
    use crate::advice::{Rule, all};
    use crate::attached::State;

    #[test]
    fn what_a_file_tells_is_advised_like_what_was_seen() {
        let pieces = Observed { patterns: vec![(pattern("tcp", 36, &[25; 4]), 1.0)], ..echo() };
        let workload = pieces.workload(&State::default(), "x", "run").unwrap();
        assert_eq!((workload.exchanges[0].request, workload.exchanges[0].answer.clone(), workload.rate), (36, vec![25; 4], 10_000.0));
        let advice = all(&Observed::of_workload(&workload));
        assert_eq!(advice.iter().map(|one| one.rule).collect::<Vec<_>>(), [Rule::SmallWrites]);
        // What sockets show is in no file.
        let stalling = Observed { held_back: (0.9, 20), ..pieces };
        let workload = stalling.workload(&State::default(), "x", "run").unwrap();
        assert_eq!(Observed::of_workload(&workload).held_back, (0.0, 0));
    }

    #[test]
    fn a_program_that_only_takes_has_a_kind_without_an_answer() {
        let workload = sink().workload(&State::default(), "x", "run").unwrap();
        assert_eq!((workload.exchanges[0].request, workload.exchanges[0].answer.len(), workload.rate), (64, 0, 20_000.0));
        assert!(Observed { calls: Vec::new(), ..sink() }.workload(&State::default(), "x", "run").is_none());
        assert!(exchange(&pattern("unix", 36, &[1]), 1.0).is_none() && exchange(&pattern("tcp", 36, &[1 << 30]), 1.0).is_none());
    }

    #[test]
    fn kinds_weigh_by_their_shares() {
        let two = vec![(pattern("tcp", 36, &[100]), 0.75), (pattern("tcp", 36, &[9000]), 0.25)];
        let workload = Observed { patterns: two, ..echo() }.workload(&State::default(), "x", "run").unwrap();
        let one = |cpu: u64| Replayed { exchanges: 10, cpu: Nanos::new(cpu * 10), wall: Nanos::from_millis(1), ..Replayed::default() };
        let blocks: Vec<Vec<Replayed>> = (0..8).map(|_| vec![one(4_000), one(8_000)]).collect();
        let found = sent(&workload, &blocks);
        assert!((found.cpu.unwrap().value - 5_000.0).abs() < 1e-6 && (found.kinds[1].cpu.unwrap().value - 8_000.0).abs() < 1e-6);
        assert!(
            (found.kinds[0].rate.unwrap().value - 10_000.0).abs() < 1e-6 && found.observed == Some(12_000.0) && found.not_sent.is_none()
        );
        // A kind that nothing was exchanged of has no figure, nor has the whole.
        let none = sent(&workload, &[vec![one(4_000), Replayed::default()]]);
        assert!(none.cpu.is_none() && none.kinds[0].cpu.is_some() && none.kinds[1].cpu.is_none());
    }
}
