//! From what was kept of one end to its receipt.

use std::collections::BTreeMap;

use attribution::{Booked, CleanPass, CountPass, Layer, LayerCounters, Passes, Receipt, ReceiptError, Tally, TimePass, WaitPass};
use model::profile::{CallCounts, SampleSource};
use model::{Bytes, Cell, Nanos, Pacing, Role};

use super::chain_attributes::ChainAttributes;
use super::chains::Chains;
use super::kept::{Edges, KeptEnd, KeptTime};
use super::{EndReceipt, ReceiptOutcome};

/// The receipt of one end, or why there is none, with what stands next to it.
pub fn end(cell: &Cell, role: Role, kept: &KeptEnd, known: &mut ChainAttributes) -> EndReceipt {
    let tallies = tallies(kept, known);
    let made = match unfit(cell, role) {
        Some(reason) => Err(reason),
        None => receipt(cell.size, role, kept, &tallies, known).map_err(|error| reason(&error, kept)),
    };
    EndReceipt {
        outcome: made.map_or_else(|reason| ReceiptOutcome::Absent { reason }, |receipt| ReceiptOutcome::Made(Box::new(receipt))),
        passes: kept.passes,
        unsampled_threads_ns: unsampled(&kept.clean).filter(|_| !has_threads(kept)),
    }
}

/// The receipt of trials of one end, of a study or of a program that is attached to, by their [`tallies`].
///
/// # Errors
/// As of [`Receipt::from_tallies`].
pub fn receipt(size: Bytes, role: Role, kept: &KeptEnd, tallies: &[Tally], known: &mut ChainAttributes) -> Result<Receipt, ReceiptError> {
    let passes = passes(size, role, kept, known.chains());
    Receipt::from_tallies(&passes, tallies, counters(&kept.time, known), known.rules())
}

/// Reason why a cell can have no receipt of this end, whatever was measured.
fn unfit(cell: &Cell, role: Role) -> Option<String> {
    let spins = cell.rate.is_some() && cell.pacing == Pacing::Spin;
    if cell.bidirectional {
        Some("both ends send, so that an end's time belongs to two messages; measure one way".to_owned())
    } else if spins && role == Role::Sender {
        Some("the sender spins until its next message is due, which is no message's time; let it sleep".to_owned())
    } else {
        None
    }
}

fn reason(error: &ReceiptError, kept: &KeptEnd) -> String {
    match kept.passes.missing {
        0 => error.to_string(),
        1 => format!("{error} (1 trial gave nothing: see what is absent)"),
        missing => format!("{error} ({missing} trials gave nothing: see what is absent)"),
    }
}

/// Work of kernel threads per message; `None` of none.
fn unsampled(clean: &[Edges]) -> Option<f64> {
    let sum = |of: fn(&Edges) -> f64| clean.iter().map(of).sum::<f64>();
    let threads = sum(|edges| edges.cpu.kernel_threads.unwrap_or_default().get() as f64);
    (threads > 0.0).then(|| threads / sum(|edges| edges.messages))
}

/// Interrupt time per message, of trials of one kind together, but that in idle time.
///
/// The kernel shows it in ticks of 10 ms; the sum over trials is right to a
/// tick for each, a trial's own is not. 0 where it does not stand apart.
fn irq_per_message<'a>(trials: impl Iterator<Item = &'a Edges>, idle: f64) -> f64 {
    let apart = trials.filter_map(|edges| Some((edges.cpu.irq_apart()?, edges.messages)));
    let (irq, messages) = apart.fold((0.0, 0.0), |(irq, messages), trial| (irq + trial.0, messages + trial.1));
    if messages > 0.0 { (irq / messages - idle).max(0.0) } else { 0.0 }
}

/// Softirq work in idle time, per message; 0 where it was not sampled.
fn idle_per_message(time: &[KeptTime]) -> f64 {
    let idle = |pass: &KeptTime| pass.head.account.and_then(|account| account.idle_softirq).unwrap_or(0) as f64 * pass.head.period as f64;
    let by_time = time.iter().filter(|pass| pass.head.source != SampleSource::Cycles);
    by_time.map(idle).sum::<f64>() / time.iter().map(|pass| pass.edges.messages).sum::<f64>().max(1.0)
}

/// True where kernel threads that work for an end are in its CPU time: of all its passes alike.
fn has_threads(kept: &KeptEnd) -> bool {
    kept.time.iter().all(|pass| pass.threads.is_some())
}

/// The passes without their stacks, which [`tallies`] counts.
fn passes(size: Bytes, role: Role, kept: &KeptEnd, chains: &Chains) -> Passes {
    let idle = idle_per_message(&kept.time);
    let irq = [
        irq_per_message(kept.clean.iter(), idle),
        irq_per_message(kept.time.iter().map(|pass| &pass.edges), idle),
        irq_per_message(kept.waits.iter().map(|pass| &pass.edges), idle),
    ];
    let has_threads = has_threads(kept);
    let threads = |edges: &Edges| edges.cpu.kernel_threads.filter(|_| has_threads).unwrap_or_default();
    let cpu = |edges: &Edges, irq: f64| {
        let irq = if edges.cpu.irq.is_some() { Nanos::new((irq * edges.messages) as u64) } else { Nanos::default() };
        edges.cpu.process + irq + threads(edges)
    };
    let clean = kept.clean.iter().map(|edges| CleanPass {
        block: edges.block,
        wall: edges.wall,
        cpu: cpu(edges, irq[0]),
        kernel_threads: threads(edges),
        messages: edges.messages,
    });
    let time = kept.time.iter().map(|pass| {
        let of_threads = pass.threads.as_ref().filter(|_| has_threads);
        let Edges { block, messages, stolen, wakeups, .. } = pass.edges;
        TimePass { wakeups, ..TimePass::new(block, &pass.head, of_threads, stolen, cpu(&pass.edges, irq[1]), messages) }
    });
    let waits = kept.waits.iter().map(|kept| WaitPass {
        waits: kept.waits,
        wall: kept.edges.wall,
        cpu: cpu(&kept.edges, irq[2]),
        kernel_threads: threads(&kept.edges),
        stolen: kept.edges.stolen,
        messages: kept.edges.messages,
    });
    let counts = kept.counts.iter().map(|kept| {
        let mut counts = CallCounts::default();
        for (name, calls) in &kept.calls {
            let name = chains.name_at(*name);
            counts.calls.insert(name.to_owned(), *calls);
        }
        CountPass { counts, messages: kept.messages }
    });
    let sampled = kept.sampled.clone();
    Passes { role, size, clean: clean.collect(), time: time.collect(), waits: waits.collect(), counts: counts.collect(), sampled }
}

/// The samples of each time pass, counted.
pub fn tallies(kept: &KeptEnd, known: &mut ChainAttributes) -> Vec<Tally> {
    let threads = has_threads(kept);
    let tally = |pass: &KeptTime| {
        let mut tally = Tally::default();
        for (chain, count) in pass.samples(threads) {
            let attributes = known.attributes(*chain);
            tally.add(known.listed(*chain), &attributes, u64::from(*count), chain.user());
        }
        tally
    };
    kept.time.iter().map(tally).collect()
}

fn counters(time: &[KeptTime], known: &mut ChainAttributes) -> BTreeMap<Layer, LayerCounters> {
    let mut booked = Booked::default();
    for pass in time {
        let Some(counters) = pass.counters.as_ref().filter(|_| pass.head.source == SampleSource::Cycles) else {
            return BTreeMap::new();
        };
        for ((chain, count), moved) in pass.stacks.iter().zip(counters.moved.chunks(counters.names.len())) {
            let layer = known.attributes(*chain).layer;
            booked.add(layer, f64::from(*count) * pass.head.period as f64, &counters.names, moved);
        }
    }
    booked.finish()
}

/// All time passes of an end in the flame graph tools' format; `None` without a sample.
pub fn folded(kept: &KeptEnd, chains: &Chains) -> Option<String> {
    let samples = kept.time.iter().flat_map(|pass| &pass.stacks).map(|(chain, count)| (*chain, u64::from(*count)));
    Some(chains.folded(samples)).filter(|text| !text.is_empty())
}
