//! Studies of levels, counts and rates: made-up trials through the real analysis.

use analysis::Collector;
use analysis::result::Analysis;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use model::condition::{Conditions, LoadUsage, ObservedConditions, PerEnd, Replaced};
use model::end::Schedule;
use model::plan::{FleetHost, FleetPlan, Level, PlanEnd};
use model::trial::Outcome;
use model::{Api, Bytes, Cell, Nanos, OfferedRate, Pacing, Protocol, Run, Test, TrialRecord};

use super::trials::{counts_of, trial};

const MESSAGES: u64 = 50_000;

/// A number between -1 and 1 that depends on these alone.
fn noise(block: u32, place: usize, salt: u64) -> f64 {
    let mut state = (u64::from(block) << 32 | place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state ^= state >> 30;
    state = state.wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^= state >> 29;
    (state % 2_000) as f64 / 1_000.0 - 1.0
}

fn encoded(times: impl Iterator<Item = u64>) -> String {
    let mut histogram: Histogram<u64> = Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("bounds");
    times.for_each(|time| histogram.record(time.max(1)).expect("within bounds"));
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).expect("memory");
    STANDARD.encode(bytes)
}

fn cell(test: Test, size: u64) -> Cell {
    Cell { nodelay: test.protocol() == Protocol::Tcp, ..Cell::plain(test, Bytes::new(size)) }
}

/// A sound trial in which `messages` took `ns` each.
fn record(cell: &Cell, block: u32, messages: u64, ns: f64) -> TrialRecord {
    let mut record = TrialRecord { block, ..trial(cell.clone(), block % 2 == 1).record };
    record.swapped = block % 2 == 1;
    let Outcome::Measured(measured) = &mut record.outcome else { unreachable!("trials are measured") };
    for end in [&mut measured.sender, &mut measured.receiver] {
        end.window.end = end.window.start + Nanos::new((ns * messages as f64) as u64);
        (end.counts, end.total) = (counts_of(cell.size.get(), messages), counts_of(cell.size.get(), messages));
        end.cpu_time.process = Nanos::new((ns * messages as f64 * 0.9) as u64);
        end.run_delay = end.run_delay.min(Some(Nanos::new((ns * messages as f64 * 0.02) as u64)));
        end.flows.clear();
        end.latency = None;
    }
    record
}

fn measured(record: &mut TrialRecord) -> &mut model::trial::Measured {
    match &mut record.outcome {
        Outcome::Measured(measured) => measured,
        _ => unreachable!("trials are measured"),
    }
}

fn analysed(name: &str, title: &str, about: &str, cells: Vec<Cell>, blocks: u32, records: impl Iterator<Item = TrialRecord>) -> Analysis {
    let mut run: Run = super::sample().run;
    run.id = format!("2026-11-22T20-14-05Z-{name}-7f3a");
    (run.plan.name, run.plan.title, run.plan.description) = (name.into(), title.into(), about.into());
    (run.plan.blocks.least, run.plan.blocks.most, run.plan.cells) = (blocks, blocks, cells);
    run.plan.end = PlanEnd::Length(Nanos::from_millis(150));
    let mut collector = Collector::new(run, vec![super::host("a", vec![0]), super::host("b", vec![1])]);
    records.for_each(|record| collector.push(&record));
    collector.finish()
}

fn loaded(sender: u32, receiver: u32) -> Conditions {
    Conditions { load: PerEnd { sender, receiver }, ..Conditions::USUAL }
}

/// Host load: streams and round trips at these levels, with so many sizes of each.
pub fn host_load(levels: &[Conditions], sizes: &[u64], trips: &[u64]) -> Analysis {
    let streams = |test: Test| sizes.iter().map(move |size| cell(test, *size));
    let rr = |test: Test| trips.iter().map(move |size| cell(test, *size));
    let plain: Vec<Cell> = streams(Test::TcpStream).chain(streams(Test::UdpStream)).chain(rr(Test::TcpRr)).chain(rr(Test::UdpRr)).collect();
    let cells: Vec<Cell> =
        levels.iter().flat_map(|conditions| plain.iter().map(|cell| Cell { conditions: *conditions, ..cell.clone() })).collect();
    let all = cells.clone();
    let records =
        (0..9).flat_map(move |block| all.clone().into_iter().enumerate().map(move |(place, cell)| under_load(&cell, block, place)));
    let about = "Units of load are put next to the sender, the receiver and both. What goes through, and how long it takes, is held against idle hosts. \
                 It shows what an application gets on a machine that does other things as well.";
    analysed("host-load", "Host load, after the study of 1984", about, cells, 9, records)
}

/// The levels of a small study.
pub fn few_levels() -> Vec<Conditions> {
    vec![Conditions::USUAL, loaded(1, 0), loaded(2, 0), loaded(0, 1), loaded(1, 1)]
}

/// Load 0 to 4 at the sender, the receiver, both.
pub fn thirteen_levels() -> Vec<Conditions> {
    let of = |units| [loaded(units, 0), loaded(0, units), loaded(units, units)];
    std::iter::once(Conditions::USUAL).chain((1..=4).flat_map(of)).collect()
}

fn under_load(cell: &Cell, block: u32, place: usize) -> TrialRecord {
    let load = cell.conditions.load;
    let slower = if load.sender > 0 { 1.0 + f64::from(load.sender) } else { 1.0 + 0.4 * f64::from(load.receiver) };
    let per_byte = 0.2 * (1.0 + 0.5 * f64::from(load.sender));
    let plain = if cell.test.is_stream() { 1_500.0 } else { 21_000.0 };
    let ns = (plain + per_byte * cell.size.get() as f64) * slower * (1.0 + 0.02 * noise(block, place, 1) + 0.03 * noise(block, 0, 2));
    let messages = if cell.test.is_stream() { MESSAGES } else { 1_200 };
    let mut record = record(cell, block, messages, ns);
    let trial = measured(&mut record);
    if !cell.test.is_stream() {
        trial.sender.latency = Some(encoded((0..messages).map(|at| (ns * (0.9 + 0.2 * (at as f64 / messages as f64).powi(9))) as u64)));
    }
    if cell.test == Test::UdpStream {
        trial.receiver.total.messages -= u64::from(load.receiver) * 4_100 + (100.0 + 90.0 * noise(block, place, 3)) as u64;
    }
    let taken = |units: u32| {
        let replaced = vec![Replaced { job: "formatting".into(), by: "built in".into() }];
        // It shares the one CPU of its end, however many units it has.
        let cpu = Nanos::new((f64::from(units.min(1)) * 9.7e8 * (1.0 + 0.01 * noise(block, place, 4))) as u64);
        (units > 0).then_some(LoadUsage { cpu, elapsed: Nanos::from_millis(1_000), jobs: 12, replaced, not_caged: None })
    };
    if !load.is_usual() {
        trial.conditions = Some(Box::new(ObservedConditions {
            sender_load: taken(load.sender),
            receiver_load: taken(load.receiver),
            ..ObservedConditions::default()
        }));
    }
    record
}

/// Counts of 500 to 9,000, two sizes: one whose spread falls with the count, one
/// whose does not.
pub fn repetitions() -> Analysis {
    let counts = (1..=18).map(|step| step * 500);
    let cells: Vec<Cell> = [1, 1_460]
        .into_iter()
        .flat_map(|size| counts.clone().map(move |count| Cell { count: Some(count), ..cell(Test::TcpStream, size) }))
        .collect();
    let all = cells.clone();
    let records = (0..20).flat_map(move |block| {
        all.clone().into_iter().enumerate().map(move |(place, cell)| {
            let count = cell.count.expect("a count");
            let spread = if cell.size.get() == 1 { 0.02 * (count as f64 / 1_000.0).powf(-0.5) } else { 0.04 };
            // Towards the middle, as noise of many causes is.
            let by = (noise(block, place, 1) + noise(block, place, 2) + noise(block, place, 3)) * spread;
            let total = (200_000.0 + count as f64 * (1_900.0 + 0.25 * cell.size.get() as f64)) * (1.0 + by);
            record(&cell, block, count, total / count as f64)
        })
    });
    let about =
        "The same message is sent more and more often. Total time should be a line in the count. It shows how many messages a trial needs.";
    analysed("repetitions", "How many messages a trial needs", about, cells, 20, records)
}

/// A cell of [`ways`].
pub fn ways_cell(api: Api, size: u64) -> Cell {
    cell(Test::UdpStream, size).with(&[Level::Api(api.into())]).unwrap()
}

/// Datagrams a call each, many a call, and as packets that do not fit beyond 1,460 B:
/// the first two cost the same at some 400 B.
pub fn ways() -> Analysis {
    let ways: [(Api, f64, f64, u64); 3] =
        [(Api::Send, 1_000.0, 0.2, 16_384), (Api::Sendmmsg, 920.0, 0.4, 16_384), (Api::Gso, 80.0, 0.1, 1_460)];
    let sizes = [1, 64, 512, 1_460, 16_384];
    let of = ways_cell;
    let each =
        move || ways.into_iter().flat_map(move |way| sizes.into_iter().filter(move |size| *size <= way.3).map(move |size| (way, size)));
    let cells = each().map(|((api, ..), size)| of(api, size)).collect();
    let records = (0..12).flat_map(move |block| {
        each().enumerate().map(move |(place, ((api, message, byte, _), size))| {
            let time = (message + byte * size as f64) * (1.0 + 0.01 * noise(block, place, 5));
            record(&of(api, size), block, MESSAGES, time)
        })
    });
    analysed("ways", "Ways of sending", "It sends datagrams in three ways.", cells, 12, records)
}

/// Requests of 64 B to a server that takes 20 µs for each: closed, and at rates
/// up to more than it can do.
pub fn latency() -> Analysis {
    let closed = cell(Test::TcpRr, 64);
    let rates = [1_000, 10_000, 40_000, 80_000];
    let open = rates.map(|rate| Cell { rate: Some(OfferedRate::Messages(rate)), pacing: Pacing::Spin, ..closed.clone() });
    let cells: Vec<Cell> = std::iter::once(closed).chain(open).collect();
    let all = cells.clone();
    let records =
        (0..9).flat_map(move |block| all.clone().into_iter().enumerate().map(move |(place, cell)| by_the_clock(&cell, block, place)));
    let about = "A client that waits does not see how long others would have waited. So requests are also sent by the clock, more and more. It shows \
                 from which rate on they queue.";
    analysed("latency", "Latency: closed loop, and open loop up to saturation", about, cells, 9, records)
}

fn by_the_clock(cell: &Cell, block: u32, place: usize) -> TrialRecord {
    let service = |request: u64| 20_000.0 * (1.0 + 0.2 * noise(block, place, request).powi(8) + 0.01 * noise(block, place, 0));
    let length = 1e8;
    let Some(OfferedRate::Messages(rate)) = cell.rate else {
        let mut record = record(cell, block, 5_000, 20_400.0);
        measured(&mut record).sender.latency = Some(encoded((0..5_000).map(|request| service(request) as u64)));
        return record;
    };
    let gap = 1e9 / rate as f64;
    let intended = (length / gap) as u64;
    let (mut free, mut due_times, mut sent_times, mut late) = (0.0_f64, Vec::new(), Vec::new(), Vec::new());
    for request in 0..intended {
        let due = request as f64 * gap;
        let begin = due.max(free) + 80.0 * (1.5 + noise(block, place, request));
        if begin > length {
            break;
        }
        free = begin + service(request);
        due_times.push((free - due) as u64);
        sent_times.push((free - begin) as u64);
        late.push((begin - due) as u64);
    }
    let sent = late.len() as u64;
    let mut record = record(cell, block, sent, length / sent as f64);
    let trial = measured(&mut record);
    trial.sender.latency = Some(encoded(due_times.into_iter()));
    trial.sender.schedule = Some(Schedule {
        intended,
        behind: intended - sent,
        unsent: Some(intended - sent),
        lateness: Some(encoded(late.into_iter())),
        uncorrected: Some(encoded(sent_times.into_iter())),
    });
    record
}

/// A fleet of six hosts in three racks, the last of which was never there; where `slow`, the
/// goodput of `n3` is 15 % lower in either role.
pub fn fleet(slow: bool) -> Analysis {
    let cells = vec![cell(Test::TcpStream, 16_384)];
    let host = |at: usize| FleetHost {
        name: format!("n{}", at + 1),
        at: format!("ssh:n{}", at + 1).parse().expect("a place"),
        rack: Some(format!("r{}", at / 2 + 1)),
    };
    let fleet = FleetPlan { hosts: (0..6).map(host).collect(), rounds: 10, parallel: false, least: 0.05 };
    let mut run: Run = super::sample().run;
    run.id = "2026-11-23T20-14-05Z-fleet-7f3a".to_owned();
    (run.plan.name, run.plan.title) = ("fleet".into(), "TCP between pairs of 6 hosts".into());
    (run.plan.description, run.plan.fleet) = ("It measures pairs of hosts.".into(), Some(fleet));
    (run.plan.blocks.least, run.plan.blocks.most, run.plan.cells, run.plan.seed) = (10, 10, cells.clone(), 7);
    let rounds = analysis::fleet::schedule(&run.plan);
    let mut collector = Collector::new(run, (1..6).map(|at| super::host(&format!("n{at}"), vec![0])).collect());
    for (round, meeting) in (0..).zip(rounds).flat_map(|(round, meetings)| meetings.into_iter().map(move |meeting| (round, meeting))) {
        for (at, slot) in meeting.slots.iter().enumerate() {
            let [a, b] = meeting.hosts;
            let ends = if slot.swapped { [b, a] } else { [a, b] };
            let factor = if slow && ends.contains(&2) { 1.0 / 0.85 } else { 1.0 };
            let ns = 5_000.0 * factor * (1.0 + 0.01 * noise(round, meeting.position + at, 3));
            let mut record = record(&cells[0], round, MESSAGES, ns);
            for (end, place) in [(0, ends[0]), (1, ends[1])] {
                // CPU time is each host's own, whatever the link lets through.
                let cpu = Nanos::new((MESSAGES as f64 * 2_000.0 * (1.0 + 0.02 * noise(round, place, 5))) as u64);
                let measured = measured(&mut record);
                if end == 0 { measured.sender.cpu_time.process = cpu } else { measured.receiver.cpu_time.process = cpu }
            }
            (record.position, record.swapped) = ((meeting.position + at) as u32, slot.swapped);
            record.hosts = Some(ends.map(|end| format!("n{}", end + 1)));
            if ends.contains(&5) {
                record.outcome = Outcome::Failed {
                    error: "host n6: no host by ssh:n6: ssh: connect to host n6 port 22: No route to host".to_owned(),
                    lost: true,
                };
            }
            collector.push(&record);
        }
    }
    collector.finish()
}
