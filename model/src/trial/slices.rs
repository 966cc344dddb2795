//! The measured part of a woven trial: that of its slices.

use super::{Measured, Windows};
use crate::cell::Cell;
use crate::end::{Counts, CpuTime, EndReport, FlowReport, Window};
use crate::quantity::Nanos;
use crate::traffic::{Protocol, Role};
use crate::woven::{BackTraffic, Reading, Slice, SliceEnd};

impl Measured {
    /// Makes the measured part of a trial that was woven that of its slices, of `length` each: the window is as long as
    /// they are together, and counts and CPU time are theirs. The counts of the whole trial stay. False where none of
    /// the slices counts.
    pub fn measure_slices<'a>(&mut self, cell: &Cell, slices: impl IntoIterator<Item = &'a Slice>, length: Nanos) -> bool {
        let (mut sender, mut receiver, mut count) = (SliceSum::default(), SliceSum::default(), 0u64);
        let (mut begun, mut overlap) = (None, Nanos::default());
        for slice in slices.into_iter().filter(|slice| slice.counts()) {
            begun.get_or_insert(slice.begun);
            sender.add(&slice.sender);
            receiver.add(&slice.receiver);
            overlap = overlap + slice.sender.whole.time.min(slice.receiver.whole.time);
            count += 1;
        }
        let Some(begun) = begun else { return false };
        take(&mut self.sender, &sender, cell, begun);
        take(&mut self.receiver, &receiver, cell, begun);
        self.count_by_sender(cell);
        let overlap_ns = i64::try_from(overlap.get()).unwrap_or(i64::MAX);
        self.windows = Some(Windows { asked: Nanos::new(length.get().saturating_mul(count)), overlap_ns });
        self.slices = count as u32;
        true
    }
}

/// Everything that an end did in its slices.
#[derive(Debug, Default)]
struct SliceSum {
    whole: Reading,
    back: BackTraffic,
}

impl SliceSum {
    fn add(&mut self, slice: &SliceEnd) {
        self.whole.add(&slice.whole);
        self.back.messages = self.back.messages.saturating_add(slice.back.messages);
        self.back.bytes = self.back.bytes.saturating_add(slice.back.bytes);
    }
}

/// Makes the measured part of an end that of its slices.
fn take(end: &mut EndReport, SliceSum { whole, back }: &SliceSum, cell: &Cell, begun: Nanos) {
    let process = whole.cpu;
    let share = process.get() as f64 / end.cpu_time.process.get().max(1) as f64;
    end.user_cpu = end.user_cpu.map(|user| Nanos::new((user.get() as f64 * share) as u64).min(process));
    end.cpu_time = CpuTime { process, irq: None, kernel_threads: None };
    end.window = Window { start: begun, end: begun + whole.time };
    end.switches = whole.switches;
    end.run_delay = end.run_delay.map(|_| whole.run_delay);
    end.counts = counts(Counts { calls: whole.calls, messages: whole.messages, bytes: whole.bytes, ..Counts::default() }, cell, end.role);
    if let Some(its) = &mut end.back {
        let moved = Counts { messages: back.messages, bytes: back.bytes, ..Counts::default() };
        its.counts = counts(moved, cell, end.role.other());
    }
    // Slices are of all flows together.
    end.flows.iter_mut().for_each(|FlowReport { counts, switches, .. }| (*counts, *switches) = Default::default());
}

/// Counts of an end in a role, with all that follows from these.
fn counts(moved: Counts, cell: &Cell, role: Role) -> Counts {
    let mut counts = moved;
    let is_stream = cell.test.is_stream();
    if is_stream && role == Role::Receiver && cell.protocol() == Protocol::Tcp {
        counts.messages = counts.bytes / cell.size.get().max(1);
    }
    counts.sent = if is_stream && role == Role::Receiver { 0 } else { counts.messages };
    counts.received = if is_stream && role == Role::Sender { 0 } else { counts.messages };
    counts
}
