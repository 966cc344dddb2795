//! The edges of the measured part, as the traffic thread sees them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use model::Nanos;
use model::control::Task;
use model::end::{Switches, Window};
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;

use sys::clock;
use sys::cpu::Ticks;
use sys::process::TICK;

/// Reads edges without allocating: its file is opened beforehand, by the
/// thread that is to be watched.
#[derive(Debug)]
pub struct EdgeReader {
    schedstat: Option<File>,
    /// Clocks of kernel threads; empty where one of them cannot be seen.
    ksoftirqd: Vec<ClockId>,
}

/// One edge.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edge {
    time: Nanos,
    process_cpu: Nanos,
    ksoftirqd: Option<Nanos>,
    switches: Switches,
    run_delay: Option<Nanos>,
}

/// Times and counts from one edge to another.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// The first edge.
    pub start: Edge,
    /// The second.
    pub end: Edge,
    /// The measured part.
    pub window: Window,
    /// CPU time of the process within it.
    pub process_cpu: Nanos,
    /// CPU time of the kernel threads within it, where they can be seen.
    pub ksoftirqd: Option<Nanos>,
    /// Context switches of the traffic thread within it.
    pub switches: Switches,
    /// Its wait for a CPU within it.
    pub run_delay: Option<Nanos>,
}

impl EdgeReader {
    /// For the calling thread, and for the kernel threads with these pids.
    pub fn of_this_thread(ksoftirqd: &[u32]) -> Self {
        // Its clock is exact; its schedstat is up to a tick old while it runs.
        let clock = |pid: &u32| clock_getcpuclockid(Pid::from_raw(i32::try_from(*pid).ok()?)).ok();
        Self {
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
            ksoftirqd: ksoftirqd.iter().map(clock).collect::<Option<_>>().unwrap_or_default(),
        }
    }

    /// The edge at which the measured part starts: the clocks are read last.
    pub fn start(&self) -> Edge {
        let (switches, run_delay, ksoftirqd) = (switches(), self.run_delay(), self.ksoftirqd());
        let process_cpu = clock::process_cpu();
        Edge { time: clock::monotonic(), process_cpu, ksoftirqd, switches, run_delay }
    }

    /// The edge at which it ends: the clocks are read first.
    pub fn end(&self) -> Edge {
        let time = clock::monotonic();
        let process_cpu = clock::process_cpu();
        Edge { time, process_cpu, ksoftirqd: self.ksoftirqd(), switches: switches(), run_delay: self.run_delay() }
    }

    fn ksoftirqd(&self) -> Option<Nanos> {
        let times = self.ksoftirqd.iter().map(|id| clock::read(*id));
        times.reduce(|sum, time| sum + time)
    }

    /// Time spent waiting on a run queue so far. It is exact for a running thread, unlike the CPU time in the same file.
    pub fn run_delay(&self) -> Option<Nanos> {
        let mut text = [0; 96];
        let length = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(text.get(..length)?).ok()?;
        sys::process::run_delay(text).map(Nanos::new)
    }
}

impl Edge {
    /// Its time.
    pub const fn time(&self) -> Nanos {
        self.time
    }

    /// From this edge to a later one.
    pub fn until(&self, end: &Self) -> Usage {
        Usage {
            start: *self,
            end: *end,
            window: Window { start: self.time, end: self.time.max(end.time) },
            process_cpu: end.process_cpu.since(self.process_cpu),
            ksoftirqd: end.ksoftirqd.zip(self.ksoftirqd).map(|(end, start)| end.since(start)),
            switches: Switches {
                voluntary: end.switches.voluntary.saturating_sub(self.switches.voluntary),
                involuntary: end.switches.involuntary.saturating_sub(self.switches.involuntary),
            },
            run_delay: end.run_delay.zip(self.run_delay).map(|(end, start)| end.since(start)),
        }
    }
}

/// Context switches of the calling thread so far.
pub fn switches() -> Switches {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_THREAD) else { return Switches::default() };
    Switches { voluntary: usage.voluntary_context_switches() as u64, involuntary: usage.involuntary_context_switches() as u64 }
}

/// Interrupt time of the endpoint's CPUs so far, where the kernel takes it out of
/// process time; `None` where it leaves it in.
pub fn irq(task: &Task) -> Option<Nanos> {
    if task.cpus.is_empty() || !task.irq_time_subtracted {
        return None;
    }
    // Flows may share a CPU; threads beyond the last flow use none.
    let in_use = task.cpus.iter().take(task.cell.flows.saturating_mul(2) as usize);
    let cpus: BTreeSet<u32> = in_use.copied().collect();
    cpus.into_iter().try_fold(Nanos::default(), |sum, cpu| Some(sum + irq_time(cpu)?))
}

/// Hard and soft interrupt time of one CPU. A kernel that takes this time out of process
/// time keeps it in nanoseconds, but shows it in ticks.
fn irq_time(cpu: u32) -> Option<Nanos> {
    let ticks = Ticks::parse(&fs::read_to_string("/proc/stat").ok()?, Some(cpu))?;
    Some(Nanos::new(ticks.irq.checked_add(ticks.softirq)?.checked_mul(TICK)?))
}
