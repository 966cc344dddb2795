//! Call chains at tracepoints, and the functions that they witness.

use std::collections::{BTreeMap, BTreeSet};

use model::profile::{CallCounts, CountTier};

use super::table::StackRule;
use crate::symbols::Symbols;
use bpf::asm::{Assembler, Helper, Reg, Test};
use bpf::{Attached, Filter, Hash, Map, Numbers, Program, ProgramKind, Scratch, Who, emit_count};
use model::Refusal;
use sys::errno_name;

const MECHANISM: &str = "call chains at tracepoints";

/// Frames that are kept of a chain. A key of a map may have 512 bytes; a send over
/// loopback with everything in its softirq is 45 deep.
const FRAMES: usize = 62;
/// A key: the event's number, then the chain.
const KEY: usize = 8 + FRAMES * 8;
/// The most different chains. A trial has a few hundred.
const CHAINS: usize = 8192;
/// The place in the array of failures.
const NO_CHAIN: u32 = 0;
const NO_ROOM: u32 = 1;

/// Keeps the chains of one process at tracepoints.
#[derive(Debug)]
pub struct StackCounter {
    table: &'static [StackRule],
    chains: Map<Hash>,
    failures: Map<Numbers>,
    _scratch: Map<Scratch>,
    events: Vec<(&'static str, Result<Attached, Refusal>)>,
}

impl StackCounter {
    /// Loads a program for each event of the table. They record at once.
    ///
    /// # Errors
    /// When not one of them loads: the first one's refusal.
    pub fn open(who: Who, table: &'static [StackRule]) -> Result<Self, Refusal> {
        let names: BTreeSet<&'static str> = table.iter().map(|row| row.event).collect();
        let chains = Map::hash(KEY, 8, CHAINS, MECHANISM)?;
        let failures = Map::numbers(2, MECHANISM)?;
        let scratch = Map::scratch(KEY, names.len().max(1), MECHANISM)?;
        let filter = Filter::new(who);
        let mut events: Vec<(&'static str, Result<Attached, Refusal>)> = Vec::new();
        for (place, name) in names.into_iter().enumerate() {
            let code = program(filter, place as i32, &chains, &failures, &scratch);
            let event = name.split_once(':').map_or(name, |(_, event)| event);
            let attached =
                Program::load(&code, ProgramKind::RawTracepoint, MECHANISM).and_then(|program| program.attach(Some(event), MECHANISM));
            events.push((name, attached));
        }
        if events.iter().all(|(_, event)| event.is_err())
            && let Some((_, Err(refusal))) = events.pop()
        {
            return Err(refusal);
        }
        Ok(Self { table, chains, failures, _scratch: scratch, events })
    }

    /// Every chain met so far: its event, its addresses, the innermost first,
    /// and how often. Call it when the process is done.
    ///
    /// # Errors
    /// When the chains cannot be read.
    pub fn chains(&self) -> Result<Vec<Chain>, Refusal> {
        let entries = self
            .chains
            .entries(CHAINS)
            .map_err(|error| Refusal::new(MECHANISM, format!("bpf(MAP_GET_NEXT_KEY): {}", errno_name(&error)), "Repeat the trial"))?;
        Ok(entries.iter().filter_map(|(key, value)| self.chain(key, value)).collect())
    }

    fn chain(&self, key: &[u8], value: &[u8]) -> Option<Chain> {
        let mut numbers = key.chunks_exact(8).map(|number| u64::from_ne_bytes(number.try_into().unwrap_or_default()));
        let (event, _) = self.events.get(usize::try_from(numbers.next()?).ok()?)?;
        let count = u64::from_ne_bytes(value.get(..8)?.try_into().ok()?);
        Some(Chain { event, frames: numbers.take_while(|address| *address != 0).collect(), count })
    }

    /// The counts so far, of the functions that the table has. Call it when the
    /// process is done.
    ///
    /// # Errors
    /// When the chains cannot be read, or some were not kept: any count could
    /// then be too low.
    pub fn counts(&self, symbols: &Symbols) -> Result<CallCounts, Refusal> {
        let missed: u64 = self.events.iter().filter_map(|(_, event)| event.as_ref().ok()).map(Attached::missed).sum();
        let (no_chain, no_room) = (self.failures.number_at(NO_CHAIN), self.failures.number_at(NO_ROOM));
        if missed + no_chain + no_room > 0 {
            let answer = format!("some events have no chain: {missed} came within another, {no_chain} had none, {no_room} found no room");
            return Err(Refusal::new(MECHANISM, answer, "Repeat the trial with fewer messages"));
        }
        let named: Vec<NamedChain> = self.chains()?.iter().map(|chain| NamedChain::new(chain, symbols)).collect();
        let mut counts = CallCounts::default();
        for row in self.table {
            let event = self.events.iter().find(|(name, _)| *name == row.event).map(|(_, event)| event);
            let counted = match event {
                Some(Err(refusal)) => Err(refusal.answer.clone()),
                _ => count(row, &named),
            };
            match counted {
                Ok(0) => {}
                Ok(calls) => {
                    counts.tier.insert(row.function.to_owned(), CountTier::Witness);
                    counts.calls.insert(row.function.to_owned(), calls);
                }
                Err(reason) => {
                    counts.refused.insert(row.function.to_owned(), reason);
                }
            }
        }
        Ok(counts)
    }
}

/// A chain at an event, and how often it was met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The event, such as `net:netif_rx`.
    pub event: &'static str,
    /// Addresses, the innermost first.
    pub frames: Vec<u64>,
    /// Number of times.
    pub count: u64,
}

/// Functions in which an interrupt or a softirq begins: what lies further out was
/// interrupted, and did not cause the event.
const BOUNDARIES: [&str; 5] = ["handle_softirqs", "__do_softirq", "asm_sysvec_", "asm_common_interrupt", "el1h_64_irq"];

/// A chain with names, less what the compiler put behind them, as far as it is
/// one piece of work.
struct NamedChain<'a> {
    event: &'static str,
    frames: Vec<(u64, &'a str)>,
    count: u64,
}

impl<'a> NamedChain<'a> {
    fn new(chain: &Chain, symbols: &'a Symbols) -> Self {
        let named = chain.frames.iter().map(|address| (*address, plain(symbols.caller(*address))));
        let frames = named.take_while(|(_, name)| !BOUNDARIES.iter().any(|boundary| name.starts_with(boundary))).collect();
        Self { event: chain.event, frames, count: chain.count }
    }

    fn has(&self, function: &str) -> bool {
        self.frames.iter().any(|(_, name)| *name == function)
    }

    /// Returns whether `caller` has called what begins with `callee`.
    fn has_call(&self, caller: &str, callee: &str) -> bool {
        self.frames.windows(2).any(|pair| pair[1].1 == caller && pair[0].1.starts_with(callee))
    }

    /// The places in `function` that the chain goes through.
    fn places<'b>(&'b self, function: &'b str) -> impl Iterator<Item = u64> + 'b {
        self.frames.iter().filter(move |(_, name)| *name == function).map(|(address, _)| *address)
    }
}

/// `validate_xmit_skb.isra.0` is `validate_xmit_skb`, and `veth_xmit [veth]` is
/// `veth_xmit`.
fn plain(name: &str) -> &str {
    name.split(['.', ' ']).next().unwrap_or(name)
}

/// Calls of the function of one row: events whose chain goes through one place
/// in it. Why there is no count, otherwise.
fn count(row: &StackRule, chains: &[NamedChain]) -> Result<u64, String> {
    let mut places: BTreeMap<u64, u64> = BTreeMap::new();
    for chain in chains.iter().filter(|chain| chain.event == row.event) {
        if row.by.is_some_and(|(caller, callee)| !chain.has_call(caller, callee)) {
            continue;
        }
        let mut found = chain.places(row.function);
        let Some(place) = found.next() else { continue };
        if found.next().is_some() {
            return Err(format!("it is twice in a chain to {}", row.event));
        }
        *places.entry(place).or_default() += chain.count;
    }
    if places.is_empty() {
        return Ok(0);
    }
    if let Some(spoiler) = row.unless.iter().find(|spoiler| chains.iter().any(|chain| chain.has(spoiler))) {
        return Err(format!("{spoiler} makes several {} of one call", row.event));
    }
    match places.len() {
        1 => Ok(places.into_values().sum()),
        several => Err(format!("it leads to {} from {several} places", row.event)),
    }
}

/// The program at one event: the chain becomes a key, and its count goes up.
fn program(filter: Filter, event: i32, chains: &Map<Hash>, failures: &Map<Numbers>, scratch: &Map<Scratch>) -> Vec<[u8; 8]> {
    const NEW_ONLY: i32 = 1;
    let mut asm = Assembler::default();
    let (done, no_chain, known, no_room) = (asm.label(), asm.label(), asm.label(), asm.label());
    asm.copy(Reg::R6, Reg::R1);
    filter.emit(&mut asm, done);
    // A buffer of this event's own: it cannot strike while it is being handled.
    asm.store_number(Reg::R10, -16, event);
    asm.lookup(scratch.number(), -16);
    asm.jump(Test::Equal(Reg::R0, 0), done);
    asm.copy(Reg::R8, Reg::R0);
    asm.store_number(Reg::R8, 0, event);
    asm.copy(Reg::R1, Reg::R6);
    asm.copy(Reg::R2, Reg::R8);
    asm.add(Reg::R2, 8);
    asm.set(Reg::R3, (FRAMES * 8) as i32);
    asm.set(Reg::R4, 0);
    asm.call(Helper::Stack);
    asm.jump(Test::AtMost(Reg::R0, 0), no_chain);
    // Room for one that is new; another CPU may have been faster.
    asm.store_number(Reg::R10, -24, 0);
    asm.set_map(Reg::R1, chains.number());
    asm.copy(Reg::R2, Reg::R8);
    asm.call(Helper::Lookup);
    asm.jump(Test::Differs(Reg::R0, 0), known);
    asm.set_map(Reg::R1, chains.number());
    asm.copy(Reg::R2, Reg::R8);
    asm.stack_address(Reg::R3, -24);
    asm.set(Reg::R4, NEW_ONLY);
    asm.call(Helper::Update);
    asm.set_map(Reg::R1, chains.number());
    asm.copy(Reg::R2, Reg::R8);
    asm.call(Helper::Lookup);
    asm.jump(Test::Equal(Reg::R0, 0), no_room);
    asm.place(known);
    asm.set(Reg::R1, 1);
    asm.add_in_memory(Reg::R0, 0, Reg::R1);
    asm.jump(Test::Always, done);
    asm.place(no_chain);
    emit_count(&mut asm, failures, NO_CHAIN, done);
    asm.jump(Test::Always, done);
    asm.place(no_room);
    emit_count(&mut asm, failures, NO_ROOM, done);
    asm.place(done);
    asm.leave();
    asm.finish()
}

#[cfg(test)]
mod tests;
