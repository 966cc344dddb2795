//! Counts of one end of a trial, as figures are computed from them.

use std::collections::BTreeSet;

use model::end::{Counts, CpuTime, EndReport};
use model::sorting::Gather;
use model::trial::Measured;
use model::{Bytes, Cell, Protocol, Role};

/// Length of a tick of /proc/stat: USER_HZ is 100 on every Linux architecture
/// but alpha and ia64 (include/asm-generic/param.h).
pub const TICK_NS: f64 = 1e7;

/// CPUs that an end can use: those that its flows are bound to; threads that are free to move
/// have one each.
pub fn cpus(end: &EndReport) -> f64 {
    let of_one = std::iter::once(end.cpu).filter(|_| end.flows.is_empty());
    let flows: Vec<Option<u32>> = end.flows.iter().map(|flow| flow.cpu).chain(of_one).collect();
    let bound: BTreeSet<u32> = flows.iter().copied().flatten().into_set();
    let free = flows.iter().filter(|cpu| cpu.is_none()).count();
    let threads = if free > 0 { end.threads.len() } else { 0 };
    (bound.len() + free).max(threads) as f64
}

/// The share of a schedule that may be behind at the end of the measured time:
/// the message at hand may be late without the rate being out of reach.
pub const MOST_BEHIND: f64 = 0.01;

/// The share of the schedule that was not sent in time; `None` without a schedule. What
/// was behind before the measured part began is no more than all of it.
pub fn behind_share(end: &EndReport) -> Option<f64> {
    let schedule = end.schedule.as_ref()?;
    (schedule.intended > 0).then(|| schedule.behind.min(schedule.intended) as f64 / schedule.intended as f64)
}

/// Messages that an end was behind its schedule at the end of its window, with their
/// share; `None` where it kept to it. A message at hand is no delay: more than one a flow
/// has to be missing.
pub fn behind_by(end: &EndReport) -> Option<(u64, f64)> {
    let messages = end.schedule.as_ref()?.behind;
    let share = behind_share(end)?;
    (share > MOST_BEHIND && messages as f64 > threads(end)).then_some((messages, share))
}

/// Threads of an end.
pub fn threads(end: &EndReport) -> f64 {
    end.flows.len().max(1) as f64
}

/// Messages of an end. The receiver of a TCP stream sees bytes, which hold a
/// part of a message too: the whole ones alone would be up to one too few.
pub fn messages(end: &EndReport, counts: &Counts, cell: &Cell) -> f64 {
    // Those of a mix were counted with what the sender knew.
    let bytes = end.role == Role::Receiver && cell.test.is_stream() && cell.protocol() == Protocol::Tcp && cell.mix.is_none();
    if bytes { counts.bytes as f64 / cell.size.get().max(1) as f64 } else { counts.messages as f64 }
}

/// CPU time of an end in ns, without the interrupt time that is pooled.
pub fn cpu(end: &EndReport) -> f64 {
    CpuTime { irq: None, ..end.cpu_time }.sum().get() as f64
}

/// The largest segment that TCP sent, when it tells.
pub fn segment_size(measured: &Measured) -> Option<Bytes> {
    measured.sender.tcp.map(|tcp| Bytes::new(tcp.snd_mss.into())).filter(|size| size.get() > 0)
}

/// Interrupt time of one end over some trials of a cell, and what it was for.
///
/// The kernel counts it in ns but shows it in ticks of 10 ms, so that a trial
/// of 150 ms reads 0, 1 or 2 ticks by chance. The sum over trials is right to
/// a tick for each; a median of it would not be.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IrqPool {
    ns: f64,
    messages: f64,
    bytes: f64,
    seconds: f64,
    /// Counters that were read, each to a tick: of interrupts and of softirqs, on each
    /// CPU of the end, in each trial.
    counters: f64,
}

impl IrqPool {
    /// Pools of one trial: of the sender and of the receiver.
    pub fn of_trial(measured: &Measured, cell: &Cell) -> [Self; 2] {
        let mut pools = [Self::default(); 2];
        Self::add(&mut pools, measured, cell);
        pools
    }

    /// Adds a trial to those of both ends; nothing where interrupt time does not
    /// stand apart.
    pub fn add(pools: &mut [Self; 2], measured: &Measured, cell: &Cell) {
        for (pool, end) in pools.iter_mut().zip([&measured.sender, &measured.receiver]) {
            let Some(irq) = end.cpu_time.irq_apart() else { continue };
            pool.ns += irq;
            let counts = end.counts.in_window();
            pool.messages += messages(end, &counts, cell);
            pool.bytes += counts.bytes as f64;
            pool.seconds += end.window.length().as_secs_f64() * cpus(end);
            pool.counters += 2.0 * cpus(end);
        }
    }

    /// Its messages over those of another; `None` where either has none.
    pub fn over(&self, other: &Self) -> Option<f64> {
        (self.messages > 0.0 && other.messages > 0.0).then(|| self.messages / other.messages)
    }

    /// Returns whether any time is in it.
    pub fn any(&self) -> bool {
        self.ns > 0.0
    }

    /// Per message in ns, per KiB in ns, and as a share of the time.
    pub fn shares(&self) -> [Option<f64>; 3] {
        self.each(self.ns.max(0.0))
    }

    /// The standard errors of the shares that ticks bring. A counter reads a part of a
    /// tick short or a rest of one too long, by where the edges of the window fall
    /// between two ticks: a Bernoulli variable of at most a quarter of a tick squared.
    pub fn errors(&self) -> [Option<f64>; 3] {
        self.each(TICK_NS * self.counters.sqrt() / 2.0)
    }

    fn each(&self, ns: f64) -> [Option<f64>; 3] {
        [(1.0, self.messages), (1024.0, self.bytes), (1e-9, self.seconds)]
            .map(|(factor, by)| (by > 0.0).then(|| ns * factor / by).filter(|share| share.is_finite()))
    }
}
