//! The time that a plan takes, as far as it is known before it runs.

use linksim::transfer::SenderBuffer;
use model::plan::receipt::ASSUMED_SHARE;
use model::plan::{LinkKind, PlanEnd, ReceiptPlan};
use model::silence::LEAST_BETWEEN_MACHINES;
use model::{Cell, Nanos, Plan, Test};

/// The least `SO_SNDBUF` that Linux gives, as a program reads it (`SOCK_MIN_SNDBUF`).
const LEAST_SNDBUF: u64 = 4_608;

/// Payload that takes an Ethernet as long as a frame of the least size.
const LEAST_PAYLOAD: u64 = 46;

/// Duration of all trials of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanDuration {
    /// The time of what is known.
    pub time: Nanos,
    /// True where the time that messages take besides is unknown.
    pub at_least: bool,
}

impl PlanDuration {
    /// The duration of a plan in as many blocks as it may have.
    pub fn of(plan: &Plan) -> Self {
        if plan.woven {
            return Self::of_instances(plan, plan.blocks.most);
        }
        let overheads = plan.overheads();
        match plan.end {
            _ if plan.cells.iter().all(|cell| cell.count.is_some()) => Self { time: overheads, at_least: true },
            PlanEnd::Length(length) => {
                let one = plan.warmup + length;
                let all = Nanos::new(one.get().saturating_mul(plan.trials()));
                let time = all + overheads + sampling(plan, length);
                let at_once = plan.fleet.as_ref().filter(|fleet| fleet.parallel).map_or(1, |fleet| fleet.pairs().max(1) as u64);
                Self { time: Nanos::new(time.get() / at_once), at_least: false }
            }
            PlanEnd::Messages(messages) => flowing(plan, |cell| messages.saturating_mul(cell.size.get().max(LEAST_PAYLOAD))),
            PlanEnd::Bytes(bytes) => flowing(plan, |_| bytes.get()),
        }
    }

    /// The time of so many instances of every cell of woven arms.
    pub fn of_instances(plan: &Plan, instances: u32) -> Self {
        Self { time: Nanos::new(plan.instances_time().get().saturating_mul(instances.into())), at_least: false }
    }
}

/// Duration of trials of so much payload over links whose rate is known.
fn flowing(plan: &Plan, payload: impl Fn(&Cell) -> u64) -> PlanDuration {
    let time = |cell: &Cell| Some(payload(cell) as f64 / goodput(cell, &plan.link_of(cell).kind)?);
    let overheads = plan.overheads();
    let Some(times) = plan.cells.iter().map(time).collect::<Option<Vec<f64>>>() else {
        return PlanDuration { time: overheads, at_least: true };
    };
    let warmup = if plan.warmup.get() > 0 { 1.1 } else { 1.0 };
    let blocks = f64::from(plan.blocks.most) * plan.arms.len().max(1) as f64;
    let flowing = times.iter().sum::<f64>() * warmup * blocks;
    PlanDuration { time: Nanos::new(((flowing * 1e9) as u64).saturating_add(overheads.get())), at_least: false }
}

/// Bytes a second to be expected of a TCP stream: what the link carries, or what
/// buffers let through in a round trip. `None` of a link without a rate.
fn goodput(cell: &Cell, link: &LinkKind) -> Option<f64> {
    let wire = link.rate()?.get() as f64 / 8.0;
    let (segment, frame, acknowledgement) = (1_460.0, 1_538.0, 84.0);
    let waits = match link {
        LinkKind::Relay(wire) => wire.hosts.iter().fold(wire.delay, |sum, host| sum + host.time).as_secs_f64() * 2.0,
        _ => 0.0,
    };
    let round_trip = waits + (frame + acknowledgement) / wire;
    let sender = cell.sndbuf.map(|asked| u32::try_from(2 * asked.get().max(LEAST_SNDBUF / 2)).unwrap_or(u32::MAX));
    let sender = sender.map(|sndbuf| f64::from(SenderBuffer::from_sockopt(sndbuf, segment as u32).segments));
    // Of what is asked for, some 1,090 bytes are a segment, but for the first 2,000.
    let receiver = cell.rcvbuf.map(|asked| ((asked.get() as f64 - 2_000.0) / 1_090.0).max(1.0));
    let window = sender.into_iter().chain(receiver).fold(f64::INFINITY, f64::min) * segment;
    Some((wire * segment / frame).min(window / round_trip))
}

/// Time by which the time passes of all blocks exceed clean trials, of
/// ends that use their CPUs as expected.
fn sampling(plan: &Plan, length: Nanos) -> Nanos {
    let Some(receipt) = plan.receipt else { return Nanos::default() };
    let pass = |share: f64| ReceiptPlan::pass(receipt.samples, plan.blocks.least, receipt.most_per_second(None) * share).since(length);
    let (busy, sleeping) = (pass(1.0), pass(ASSUMED_SHARE));
    // The sender of a stream is always busy; other ends are taken to sleep often.
    let sender = |cell: &Cell| if cell.test.is_stream() { busy } else { sleeping };
    let both = plan.cells.iter().map(|cell| (sender(cell) + sleeping).get()).fold(0, u64::saturating_add);
    Nanos::new(both.saturating_mul(plan.shape().arms as u64 * u64::from(plan.blocks.least)))
}

/// Time that receivers between machines wait for lost datagrams.
pub fn silences(plan: &Plan) -> Nanos {
    let streams = plan.cells.iter().filter(|cell| cell.test == Test::UdpStream).count() as u64;
    let trials = if plan.hosts.is_empty() { 0 } else { streams * u64::from(plan.blocks.most) };
    Nanos::new(LEAST_BETWEEN_MACHINES.get().saturating_mul(trials))
}
