//! One window: an instrument is switched on, time passes, and what was seen is made a record.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use model::attach::{Attachment, Look, WindowRecord};
use model::end::Window;
use model::plan::receipt::of_pass;
use model::profile::Waits;
use model::sorting::Gather;
use model::{Nanos, Refusal};
use profile::Who;
use profile::kernel_names::KernelNames;
use profile::messages::{Detail, Edge, MessageRecorder};
use profile::own_code::Names;
use profile::sampler::Target;
use profile::symbols::Symbols;
use profile::waits::WaitRecorder;
use profile::watch::{self, Subject};
use sys::clock::monotonic;

use super::program::{self, CpuReading, Program, ThreadReading};
use super::requests::Counter;
use super::sockets;
use crate::host::counters;

/// Between two looks at whether the user wants to stop.
const STEP: Duration = Duration::from_millis(50);
/// The most threads whose waits are followed.
const MOST_THREADS: usize = 256;
/// A server that has answered a question is on its way back from it for some µs, or waits for its CPU.
/// What it counts meanwhile is not in the window, so that this is short next to one.
const SETTLE: Duration = Duration::from_micros(200);
/// What reading the edges of a window may take beyond its length, for the size of rings.
const EDGES: Nanos = Nanos::from_millis(500);

/// Everything that windows of a run share.
pub struct Instruments<'a> {
    pub program: Program,
    /// `None` where requests are the program's sends.
    pub counter: Option<Counter<'a>>,
    /// Sums of messages, on in every window where requests are the program's sends.
    pub sums: Option<MessageRecorder>,
    pub symbols: Option<KernelNames>,
    /// CPUs that the program may use.
    pub cpus: Vec<u32>,
    /// Names of the program's own functions that were read so far.
    pub names: Names<'a>,
    pub stop: &'a AtomicBool,
}

/// An instrument that is switched on.
enum Watch {
    Samples(watch::Watch),
    Messages(Box<MessageRecorder>),
    Waits(Box<WaitRecorder>),
}

impl Watch {
    fn edge(&self) -> Option<Edge> {
        match self {
            Self::Messages(recorder) => Some(recorder.edge()),
            _ => None,
        }
    }
}

/// Takes one look; `None` when the program has ended.
pub fn observe(instruments: &mut Instruments, run: &Attachment, block: u32, look: Look) -> Option<WindowRecord> {
    let processes = instruments.program.processes();
    if processes.is_empty() {
        return None;
    }
    if let Some(sums) = &instruments.sums {
        // Those of a cgroup that somebody else put there.
        processes.iter().for_each(|process| drop(sums.add(*process)));
    }
    let mut refused = Vec::new();
    if look == Look::Time
        && let Some(Err(refusal)) = instruments.symbols.as_mut().map(KernelNames::refresh)
    {
        refused.push(refusal);
    }
    let watch = switch_on(instruments, run, (block, look), &processes, &mut refused);
    let threads = ThreadReading::take(&processes);
    let ticks = counters::cpu().ok();
    let own = count(instruments, run, &mut refused);
    if own.is_some() {
        std::thread::sleep(SETTLE);
    }
    let totals = instruments.sums.as_ref().map(MessageRecorder::totals);
    let edge = watch.as_ref().and_then(Watch::edge);
    let cpu = CpuReading::take(&processes);
    let start = monotonic();
    pass(run.window, start, instruments.stop);
    let end = monotonic();
    // What was read last is read first: looking for processes takes longer than all the rest.
    let mut cpu_after = CpuReading::take(&processes);
    let edges = edge.zip(watch.as_ref().and_then(Watch::edge));
    let totals = instruments.sums.as_ref().zip(totals).map(|(sums, before)| sums.totals().since(before));
    let own = own.and_then(|own| Some(count(instruments, run, &mut refused)?.saturating_sub(own)));
    let after = instruments.program.processes();
    if after.is_empty() {
        return None;
    }
    cpu_after.add(&after);
    let cpu = cpu_after.since(&cpu);
    let stolen = counters::cpu().ok().zip(ticks).map_or(0.0, |(now, then)| now.since(&then).stolen());
    let threads_after = ThreadReading::take(&after);
    refused.extend(program::at_bounds(after.len(), threads_after.threads().len()));
    let window = Window { start, end };
    let clocks = threads_after.since(&threads, cpu);
    let mut record = WindowRecord::new(block, look, window, clocks);
    (record.totals, record.stolen) = (totals, stolen);
    record.requests = own.or_else(|| totals.filter(|_| instruments.counter.is_none()).map(|totals| totals.sends));
    let all: Vec<u32> = processes.iter().chain(&after).copied().collect::<BTreeSet<_>>().into_iter().collect();
    let symbols = if look == Look::Time { instruments.symbols.as_mut() } else { None };
    let symbols = symbols.map(|names| names.up_to_date(&mut refused)).transpose().map_err(|refusal| refused.push(refusal)).ok().flatten();
    let seen = WindowContext { symbols, processes: all, threads: threads_after.threads(), window, edges };
    match watch.map(|watch| switch_off(watch, &seen, &mut instruments.names, &mut record)).transpose() {
        Ok(left_out) => refused.extend(left_out.flatten()),
        Err(refusal) => refused.push(refusal),
    }
    if instruments.counter.is_none()
        && let Some(messages) = &record.messages
    {
        // Of the two counters that are on, the one whose calls are told.
        record.requests = Some(messages.totals.sends);
    }
    if look == Look::Messages {
        match sockets::of(&after) {
            Ok((sockets, left_out)) => {
                record.sockets = Some(sockets);
                refused.extend(left_out);
            }
            Err(refusal) => refused.push(refusal),
        }
    }
    record.refused = refused;
    Some(record)
}

/// What a window needs to be made sense of.
struct WindowContext<'a> {
    symbols: Option<&'a Symbols>,
    processes: Vec<u32>,
    threads: Vec<u32>,
    window: Window,
    /// Where messages are looked at.
    edges: Option<(Edge, Edge)>,
}

fn count(instruments: &mut Instruments, run: &Attachment, refused: &mut Vec<Refusal>) -> Option<u64> {
    let counted = instruments.counter.as_mut()?.read();
    let refusal =
        |error: std::io::Error| Refusal::new("requests", format!("{}: {error}", run.requests), "The window has no figure per request");
    counted.map_err(|error| refused.push(refusal(error))).ok()
}

fn pass(length: Nanos, start: Nanos, stop: &AtomicBool) {
    loop {
        let left = length.get().saturating_sub(monotonic().since(start).get());
        if left == 0 || stop.load(Ordering::Relaxed) {
            return;
        }
        std::thread::sleep(Duration::from_nanos(left).min(STEP));
    }
}

fn switch_on(
    instruments: &Instruments,
    run: &Attachment,
    (block, look): (u32, Look),
    processes: &[u32],
    refused: &mut Vec<Refusal>,
) -> Option<Watch> {
    let longest = run.window + EDGES;
    let watch = match look {
        Look::Clean => return None,
        Look::Time => samples(&instruments.cpus, run, block, processes, refused),
        Look::Messages => MessageRecorder::open(processes, Detail::Calls).map(|recorder| Watch::Messages(Box::new(recorder))),
        Look::Waits => waits(processes, longest),
    };
    watch.map_err(|refusal| refused.push(refusal)).ok()
}

/// The distance of samples in the windows of a block, as in the passes of a receipt's block.
fn period(usual: u64, seed: u64, block: u32) -> u64 {
    of_pass(Nanos::new(usual), seed ^ u64::from(block)).get()
}

fn waits(processes: &[u32], longest: Nanos) -> Result<Watch, Refusal> {
    let [process] = processes else {
        let answer = format!("it has {} processes", processes.len());
        return Err(Refusal::new(
            "waits of all threads",
            answer,
            "Attach to one of them to have its waits; switches and run delay are counted for all",
        ));
    };
    Ok(Watch::Waits(Box::new(WaitRecorder::open(Who::Process(*process), longest)?)))
}

fn samples(cpus: &[u32], run: &Attachment, block: u32, processes: &[u32], refused: &mut Vec<Refusal>) -> Result<Watch, Refusal> {
    let subject = Subject {
        process: processes.first().copied().unwrap_or(0),
        // The timer of a CPU that the program does not use costs the task that wakes that CPU.
        cpus: cpus.iter().copied().collect(),
        tasks: ThreadReading::take(processes).threads().into_iter().map(Target::Thread).collect(),
        kernel_threads: Vec::new(),
        period: period(run.period, run.seed, block),
        longest: run.window + EDGES,
    };
    Ok(Watch::Samples(watch::Watch::start(&subject, refused)?))
}

/// Makes of an instrument what it saw; returns what was left out of it.
fn switch_off(watch: Watch, seen: &WindowContext, names: &mut Names, record: &mut WindowRecord) -> Result<Option<Refusal>, Refusal> {
    let mut left_out = None;
    match watch {
        Watch::Samples(watch) => {
            let Some(symbols) = seen.symbols else { return Ok(None) };
            let sampled = watch.finish(&seen.processes, symbols, seen.window, Some(names))?;
            (record.profile, record.counters) = (Some(sampled.profile), sampled.counters);
            (record.own_code, record.elsewhere, record.clocks.came) = (sampled.own_code, sampled.elsewhere, sampled.came);
            left_out = sampled.left_out;
        }
        Watch::Messages(recorder) => {
            let came = recorder.processes().len().saturating_sub(seen.processes.len());
            record.clocks.came = u32::try_from(came).unwrap_or(u32::MAX);
            if let Some((from, to)) = &seen.edges {
                record.messages = Some(recorder.finish(from, to)?);
            }
        }
        Watch::Waits(recorder) => record.waits = Some(waits_of_all(*recorder, seen)?),
    }
    Ok(left_out)
}

/// The waits of all threads together: those that never left a CPU waited for nothing, those of
/// which nothing was seen slept all the time.
fn waits_of_all(recorder: WaitRecorder, seen: &WindowContext) -> Result<Waits, Refusal> {
    let log = recorder.finish()?;
    let known = log.threads();
    let of_interest: BTreeSet<u32> = seen.threads.iter().chain(&known).copied().into_set();
    if of_interest.len() > MOST_THREADS {
        let answer = format!("it has {} threads, more than {MOST_THREADS}", of_interest.len());
        return Err(Refusal::new("waits of all threads", answer, "Switches and run delay are counted for all"));
    }
    let mut sum = Waits::default();
    for thread in of_interest {
        if !known.contains(&thread) {
            sum.blocked = sum.blocked + seen.window.length();
            continue;
        }
        let one = log.waits(thread, seen.window)?;
        sum = sum.and(one);
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::period;

    #[test]
    fn each_block_has_another_period() {
        let of_blocks: BTreeSet<u64> = (0..30).map(|block| period(1_000_000, 7, block)).collect();
        assert!(of_blocks.len() > 20 && of_blocks.iter().all(|period| (1_000_000..=1_100_000).contains(period)), "{of_blocks:?}");
    }
}
