//! Observes a program that was written elsewhere, window by window.
//!
//! ```text
//! Asked -> Program (processes, clocks) -> window: one look -> WindowRecord -> Listener
//!          Counter (requests)               profile: sampler, messages, waits
//! ```
//!
//! A block has a window of each look, in random order; nothing of the program is changed or
//! stopped, and nothing of this process runs within a window.

mod command;
mod error;
mod peers;
pub mod program;
pub mod replay;
pub mod requests;
mod sockets;
mod window;

use std::ops::ControlFlow;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use model::attach::{ATTACH_FORMAT, Attachment, Look, WindowRecord};
use model::plan::receipt::{ASSUMED_PERIOD, period_for};
use model::run::Status;
use model::{Nanos, Refusal};
use profile::kernel_names::KernelNames;
use profile::messages::{Detail, MessageRecorder};
use profile::own_code::{BOUNDS, Names};
use profile::probe::wakeup::wakeups_on;
use profile::sampler::cost;
use sys::cpu::online;
use sys::process::ending;

use crate::bounded::{self, Limits};

pub use command::Started;
pub use error::AttachError;
pub use program::Target;
pub use requests::Source;

use program::Program;
use requests::Counter;
use window::Instruments;

/// The fewest blocks that a time is divided into.
const BLOCKS: u64 = 5;
/// The shortest window, and the longest that is chosen.
const WINDOWS: [Nanos; 2] = [Nanos::from_millis(100), Nanos::from_millis(1000)];

/// Settings of an observation.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The program.
    pub target: Target,
    /// The target in words, for the record.
    pub named: String,
    /// Where requests are counted.
    pub source: Source,
    /// Time of all windows together; `None` until it is stopped.
    pub time: Option<Nanos>,
    /// Length of a window; `None` chooses.
    pub window: Option<Nanos>,
    /// Distance of samples in ns; `None` chooses by their cost.
    pub period: Option<u64>,
    /// Commands that bring about two states of the program, each run before its windows.
    pub switch: Option<[String; 2]>,
    /// Keep the program's arguments.
    pub arguments: bool,
    /// Seed of the order of windows.
    pub seed: u64,
    /// The version of nettoll, for the record.
    pub tool: String,
    /// Now, in milliseconds since 1970.
    pub started_ms: u64,
}

/// The one that stores what is observed.
pub trait Listener {
    /// Hears of the run before its first window.
    ///
    /// # Errors
    /// Ends the observation.
    fn opened(&mut self, run: &mut Attachment) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
    /// Hears of each window; may end it all.
    ///
    /// # Errors
    /// Ends the observation.
    fn window(&mut self, record: &WindowRecord) -> Result<ControlFlow<()>, Box<dyn std::error::Error + Send + Sync>>;
}

/// Observes until the time is over, the program ends or `stop` is set; returns how it ended.
///
/// # Errors
/// When the program or its requests cannot be observed at all, or the listener fails.
pub fn run(asked: &Settings, stop: &AtomicBool, listener: &mut dyn Listener) -> Result<Status, AttachError> {
    let program = Program::find(&asked.target)?;
    let counter = Counter::open(&asked.source, stop)?;
    let processes = program.processes();
    let first = *processes.first().ok_or(AttachError::Ended)?;
    let mut refused = Vec::new();
    let mut note = |refusal: Refusal| {
        refused.push(refusal);
    };
    let sums = match MessageRecorder::open(&processes, Detail::Sums) {
        Ok(recorder) => {
            recorder.notes().iter().cloned().for_each(&mut note);
            Some(recorder)
        }
        // Without it these requests cannot be counted.
        Err(refusal) if asked.source == Source::Sends => return Err(refusal.into()),
        Err(refusal) => {
            note(refusal);
            None
        }
    };
    let messages = sums.is_some();
    // Other sources need no counter in clean windows.
    let sums = sums.filter(|_| asked.source == Source::Sends);
    let symbols = KernelNames::read().map_err(&mut note).ok();
    let cpus = online().map_err(|error| Refusal::new("CPUs", error.to_string(), "Mount sysfs"))?;
    let cost = cost::of_sample(cpus.first().copied().unwrap_or(0), |_| Ok(())).map_err(&mut note).ok();
    let mut looks = vec![Look::Clean];
    looks.extend(symbols.is_some().then_some(Look::Time));
    looks.extend(messages.then_some(Look::Messages));
    looks.push(Look::Waits);
    // A sampler has three to five descriptors a CPU.
    crate::process::raise_open_files();
    let length = asked.window.unwrap_or_else(|| window_length(asked.time, windows_of_block(looks.len() as u64, asked.switch.is_some())));
    let arguments = asked.arguments.then(|| program::arguments(first));
    let (arguments, cut) = arguments.map_or((None, None), |(words, cut)| (Some(words), cut));
    cut.into_iter().for_each(&mut note);
    let mut run = Attachment {
        format: ATTACH_FORMAT,
        id: String::new(),
        started_ms: asked.started_ms,
        tool: asked.tool.clone(),
        status: Status::Running,
        target: asked.named.clone(),
        program: program::name(first),
        arguments,
        requests: asked.source.to_string(),
        window: length,
        period: asked.period.unwrap_or_else(|| cost.map_or(ASSUMED_PERIOD, period_for).get()),
        sample_cost: cost,
        wakeups: None,
        seed: asked.seed,
        kernel: std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
        cpus: cpus.len() as u32,
        irq_time_subtracted: engine::probe::irq_time_subtracted(),
        affinity: program::affinity(first, cpus.len()),
        peer_affinity: peers::affinity(&processes, &cpus),
        arms: asked.switch.as_ref().map_or_else(Vec::new, |_| vec!["a".to_owned(), "b".to_owned()]),
        refused: Vec::new(),
    };
    let own = program::cpus(&program::ThreadReading::take(&processes).threads(), &cpus);
    run.wakeups = own.first().and_then(|cpu| wakeups_on(*cpu, &cpus)).map(|found| found.of_program());
    let names = Names::new(BOUNDS, stop);
    let mut instruments = Instruments { program, counter, sums, symbols, cpus: own, names, stop };
    run.refused = refused;
    listener.opened(&mut run).map_err(AttachError::Listener)?;
    observe(asked, &looks, &mut instruments, &run, listener)
}

/// What would be observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// Name of the main process.
    pub program: String,
    /// Processes now, the main one first.
    pub processes: Vec<u32>,
    /// Their threads.
    pub threads: usize,
    /// Length of a window, where every look is allowed.
    pub window: Nanos,
}

/// Says what would be observed, and asks nothing but `/proc`.
///
/// # Errors
/// When there is no such program.
pub fn preview(asked: &Settings) -> Result<Preview, AttachError> {
    let processes = Program::find(&asked.target)?.processes();
    let first = *processes.first().ok_or(AttachError::Ended)?;
    let looks = windows_of_block(Look::ALL.len() as u64, asked.switch.is_some());
    Ok(Preview {
        program: program::name(first),
        threads: program::ThreadReading::take(&processes).threads().len(),
        window: asked.window.unwrap_or_else(|| window_length(asked.time, looks)),
        processes,
    })
}

/// Goes through blocks until something ends it.
fn observe(
    asked: &Settings,
    looks: &[Look],
    instruments: &mut Instruments,
    run: &Attachment,
    listener: &mut dyn Listener,
) -> Result<Status, AttachError> {
    let length = run.window;
    let windows = asked.time.map(|time| (time.get() / length.get().max(1)).max(1));
    let per_block = windows_of_block(looks.len() as u64, asked.switch.is_some());
    let blocks = windows.map_or(u32::MAX, |windows| (windows / per_block).clamp(1, u64::from(u32::MAX)) as u32);
    let mut random = Shuffle(asked.seed | 1);
    let (mut any, mut state) = (false, None);
    for block in 0..blocks {
        for (look, arm) in order(looks, asked.switch.is_some(), &mut random) {
            if arm != state
                && let (Some(arm), Some(switch)) = (arm, &asked.switch)
            {
                switch_to(&switch[arm], instruments.stop)?;
                state = Some(arm);
            }
            if instruments.stop.load(Ordering::Relaxed) {
                return if any { Ok(Status::Interrupted) } else { Err(AttachError::Ended) };
            }
            let Some(mut record) = window::observe(instruments, run, block, look) else {
                let error = "the program ended".to_owned();
                return if any { Ok(Status::Failed { error }) } else { Err(AttachError::Ended) };
            };
            record.arm = arm;
            any = true;
            if listener.window(&record).map_err(AttachError::Listener)?.is_break() {
                return Ok(Status::Interrupted);
            }
        }
    }
    Ok(Status::BlocksDone)
}

/// The windows of a block: the looks in random order. Of a program that is switched each look has both states next to
/// each other, since the machine drifts; the clean one, by whose windows they are compared, has them twice, the second
/// time in reverse, so that a steady drift is in both alike.
fn order(looks: &[Look], is_switched: bool, random: &mut Shuffle) -> Vec<(Look, Option<usize>)> {
    let mut looks = looks.to_vec();
    random.shuffle(&mut looks);
    if !is_switched {
        return looks.into_iter().map(|look| (look, None)).collect();
    }
    let mut states = [0, 1];
    random.shuffle(&mut states);
    let mut windows = Vec::new();
    for look in looks {
        let back = states.into_iter().rev().filter(|_| look == Look::Clean);
        windows.extend(states.into_iter().chain(back).map(|state| (look, Some(state))));
        // The next look begins with the state that this one ends with.
        if look != Look::Clean {
            states.reverse();
        }
    }
    windows
}

/// The number of these windows.
const fn windows_of_block(looks: u64, is_switched: bool) -> u64 {
    if is_switched { 2 * (looks + 1) } else { looks }
}

/// Time after a switch before the program is looked at again.
const SETTLE: Duration = Duration::from_millis(100);

/// Time that a switch may take.
const SWITCH: Duration = Duration::from_secs(60);

fn switch_to(words: &str, stop: &AtomicBool) -> Result<(), AttachError> {
    let failed = |answer: String| AttachError::Switch { command: words.to_owned(), answer };
    let split = shlex::split(words).filter(|words| !words.is_empty()).ok_or_else(|| failed("its quotes do not match".to_owned()))?;
    let limits = Limits { time: SWITCH, bytes: None, stop: Some(stop) };
    let ran = bounded::run(Command::new(&split[0]).args(&split[1..]), &limits).map_err(|cut| failed(cut.to_string()))?;
    if !ran.status.success() {
        return Err(failed(format!("{}: {}", ending(ran.status), ran.said)));
    }
    std::thread::sleep(SETTLE);
    Ok(())
}

/// The length of windows of which a block has `looks`: five blocks at least.
fn window_length(time: Option<Nanos>, looks: u64) -> Nanos {
    let most = time.map_or(WINDOWS[1], |time| Nanos::new(time.get() / (looks * BLOCKS)));
    most.clamp(WINDOWS[0], WINDOWS[1])
}

/// A generator for the order of windows (xorshift64*, Vigna 2016), so that a seed tells it.
struct Shuffle(u64);

impl Shuffle {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit.max(1) as u64) as usize
    }

    fn shuffle<T>(&mut self, all: &mut [T]) {
        for place in (1..all.len()).rev() {
            all.swap(place, self.below(place + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Shuffle, order, switch_to, window_length, windows_of_block};
    use model::Nanos;
    use model::attach::Look;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_switch_says_why_it_failed_and_heeds_the_stop() {
        let stop = AtomicBool::new(false);
        assert!(switch_to("true", &stop).is_ok());
        let error = |words, stop: &AtomicBool| switch_to(words, stop).unwrap_err().to_string();
        assert!(error("sh -c 'yes | head -c 100000000; echo broken >&2; exit 2'", &stop).contains("failed: exit code 2: broken"));
        stop.store(true, Ordering::Relaxed);
        assert!(error("sleep 60", &stop).contains("the user wants an end"));
    }

    #[test]
    fn ten_seconds_are_five_blocks_of_four_looks() {
        assert_eq!(window_length(Some(Nanos::from_millis(10_000)), 4), Nanos::from_millis(500));
        assert_eq!(window_length(Some(Nanos::from_millis(500)), 4), Nanos::from_millis(100));
        assert_eq!(window_length(None, 4), Nanos::from_millis(1000));
    }

    #[test]
    fn both_states_of_a_look_are_neighbours() {
        let mut random = Shuffle(7);
        for _ in 0..50 {
            let windows = order(Look::ALL, true, &mut random);
            assert_eq!(windows.len() as u64, windows_of_block(Look::ALL.len() as u64, true));
            let of = |look: Look| windows.iter().filter(|(one, _)| *one == look).map(|(_, state)| state.unwrap()).collect::<Vec<_>>();
            for look in Look::ALL {
                assert!(matches!(of(*look)[..], [0, 1] | [1, 0] | [0, 1, 1, 0] | [1, 0, 0, 1]), "{windows:?}");
                assert_eq!(of(*look).len() == 4, *look == Look::Clean);
            }
            // A look is not left before both states had it, and a state is not left without need.
            let switches = windows.windows(2).filter(|two| two[0].1 != two[1].1).count();
            assert_eq!((switches, windows.chunk_by(|one, next| one.0 == next.0).count()), (5, 4), "{windows:?}");
        }
        assert_eq!(order(Look::ALL, false, &mut random).iter().filter(|(_, state)| state.is_none()).count(), 4);
    }

    #[test]
    fn every_order_comes() {
        let mut random = Shuffle(7);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..200 {
            let mut all = [1, 2, 3];
            random.shuffle(&mut all);
            seen.insert(all);
        }
        assert_eq!(seen.len(), 6);
    }
}
