//! Opening the events of a sampler: on which CPUs, spaced by what.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use model::profile::SampleSource;

use super::ring::{self, Ring};
use super::settings::{Settings, Target};
use crate::perf::{self, Attributes};
use model::Refusal;
use sys::cpu::online;
use sys::{errno_name, refused_call};

/// Parts of a sample other than address, task, time, CPU and chain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// `true` if it holds readings of a group of counters.
    pub reads: bool,
    /// `true` if each reading has the number of lost samples behind it.
    pub reads_lost: bool,
    /// The counter behind each id in a reading: 0 for instructions, 1 for cache
    /// misses. Ids of the leader are not here.
    pub counters: Vec<(u64, usize)>,
}

/// Names of what [`Layout::counters`] counts.
pub const COUNTERS: [(&str, u64); 2] = [("instructions", perf::HARDWARE_INSTRUCTIONS), ("cache-misses", perf::HARDWARE_CACHE_MISSES)];

/// The events of one CPU.
#[derive(Debug)]
pub struct Place {
    pub leader: OwnedFd,
    /// Held open: closed, they would leave the group.
    pub _members: Vec<OwnedFd>,
    pub ring: Ring,
    /// Position of what the leader counted in its reading.
    pub counted_at: usize,
    /// Position of the lost samples.
    pub lost_at: Option<usize>,
}

/// Everything opened for one sampler.
#[derive(Debug)]
pub struct SamplerEvents {
    pub source: SampleSource,
    pub period: u64,
    pub layout: Layout,
    pub places: Vec<Place>,
    /// The CPUs at the time of opening; empty for a single thread or CPU.
    cpus: Vec<u32>,
}

impl SamplerEvents {
    /// Notes a change of the CPUs: work on a CPU that came later was not sampled.
    pub fn watch_cpus(&self, notes: &mut Vec<Refusal>) {
        if self.cpus.is_empty() {
            return;
        }
        let answer = match online() {
            Ok(now) if now == self.cpus => return,
            Ok(now) => format!("online at the start: {:?}, at the end: {now:?}", self.cpus), // words:allow
            Err(error) => format!("/sys/devices/system/cpu/online: {}", errno_name(&error)),
        };
        notes.push(Refusal::new("sampling on every CPU", answer, "Repeat the trial without taking CPUs off or on"));
    }
}

/// The clock that spaces samples of a target: a task's own counts the time in which its timer,
/// which is armed at each of its switches, can fire.
const fn clock(target: Target) -> SampleSource {
    match target {
        Target::Cpu { .. } => SampleSource::CpuClock,
        Target::Process(_) | Target::Thread(_) => SampleSource::TaskClock,
    }
}

/// Opens what the settings ask for: cycles where they are available, a clock
/// otherwise, and says in the notes what is missing.
pub fn open(settings: &Settings) -> Result<(SamplerEvents, Vec<Refusal>), Refusal> {
    let mut notes = Vec::new();
    if matches!(settings.source, None | Some(SampleSource::Cycles)) {
        for counters in [true, false] {
            match attempt(settings, SampleSource::Cycles, counters, &mut notes) {
                Ok(opened) => return Ok((opened, notes)),
                // The counters of a group are a wish; without cycles there is no sense in them.
                Err(refusal) if counters && refusal.what == COUNTERS_IN_SAMPLES => notes.push(refusal),
                Err(refusal) if settings.source.is_none() => {
                    notes.push(refusal);
                    break;
                }
                Err(refusal) => return Err(refusal),
            }
        }
    }
    let opened = attempt(settings, clock(settings.target), false, &mut notes)?;
    Ok((opened, notes))
}

/// Memory for a ring that the system gives in part, or not at all.
pub(crate) const RING_SIZE: &str = "a ring of the wanted size";
pub(crate) const RING_MEMORY: &str = "memory for samples";

const COUNTERS_IN_SAMPLES: &str = "instructions and cache misses in samples";

/// The task of a target, `None` for all, and the CPUs that it is looked for on; `None` for any.
pub fn task_and_cpus(target: Target) -> Result<(Option<u32>, Vec<Option<u32>>), Refusal> {
    Ok(match target {
        Target::Process(pid) => {
            let cpus = online().map_err(|error| cpus_unknown(&error))?;
            (Some(pid), cpus.into_iter().map(Some).collect())
        }
        Target::Thread(tid) => (Some(tid), vec![None]),
        Target::Cpu { cpu, .. } => (None, vec![Some(cpu)]),
    })
}

fn attempt(settings: &Settings, source: SampleSource, counters: bool, notes: &mut Vec<Refusal>) -> Result<SamplerEvents, Refusal> {
    let (task, everywhere) = task_and_cpus(settings.target)?;
    let mut layout = Layout { reads: counters, ..Layout::default() };
    let mut places = Vec::new();
    for cpu in &everywhere {
        let attributes = attributes(settings, source, counters);
        let (leader, counts_lost) = open_leader(attributes, task, *cpu).map_err(|error| refused(source, counters, task, &error))?;
        layout.reads_lost = counts_lost;
        let members = if counters { open_members(task, *cpu, &leader, &attributes, counts_lost, &mut layout)? } else { Vec::new() };
        let ring = map(&leader, settings.ring_bytes(*cpu, everywhere.len()), notes)?;
        // Alone: value, lost. In a group: how many, then value, id and lost of each, the leader's first.
        let (counted_at, lost_at) = if counters { (1, 3) } else { (0, 1) };
        places.push(Place { leader, _members: members, ring, counted_at, lost_at: counts_lost.then_some(lost_at) });
    }
    let period = attributes(settings, source, counters).period;
    let cpus = if matches!(settings.target, Target::Process(_)) { everywhere.into_iter().flatten().collect() } else { Vec::new() };
    Ok(SamplerEvents { source, period, layout, places, cpus })
}

/// The distance of samples on the CPU of a target: a little more than the period on three of four
/// CPUs, by at most 0.6 %. Timers of two CPUs at one distance would fire in one order for a whole
/// recording, one of them always while its CPU is kept waiting by the other.
fn spacing(settings: &Settings) -> u64 {
    let period = settings.clock_period();
    match settings.target {
        Target::Cpu { cpu, .. } => period + u64::from(cpu) % 4 * period / 512,
        Target::Process(_) | Target::Thread(_) => period,
    }
}

fn attributes(settings: &Settings, source: SampleSource, counters: bool) -> Attributes {
    let (kind, config, period) = match source {
        SampleSource::CpuClock => (perf::TYPE_SOFTWARE, perf::SOFTWARE_CPU_CLOCK, spacing(settings)),
        SampleSource::TaskClock => (perf::TYPE_SOFTWARE, perf::SOFTWARE_TASK_CLOCK, settings.clock_period()),
        SampleSource::Cycles => (perf::TYPE_HARDWARE, perf::HARDWARE_CYCLES, settings.cycles()),
    };
    let inherit = if matches!(settings.target, Target::Process(_)) { perf::INHERIT } else { 0 };
    let sample = perf::SAMPLE_IP | perf::SAMPLE_TID | perf::SAMPLE_TIME | perf::SAMPLE_CPU | perf::SAMPLE_CALLCHAIN;
    Attributes {
        kind,
        config,
        period,
        sample: if counters { sample | perf::SAMPLE_READ } else { sample },
        read_format: if counters { perf::FORMAT_GROUP | perf::FORMAT_ID } else { 0 },
        flags: perf::DISABLED | inherit | perf::EXCLUDE_USER_CALLCHAIN | perf::USE_CLOCKID,
        clock: libc::CLOCK_MONOTONIC,
        ..Attributes::default()
    }
}

/// Opens the sampling event; also tells whether the kernel counts what it loses.
fn open_leader(attributes: Attributes, task: Option<u32>, cpu: Option<u32>) -> io::Result<(OwnedFd, bool)> {
    let counting = Attributes { read_format: attributes.read_format | perf::FORMAT_LOST, ..attributes };
    match perf::open(counting, task, cpu, None) {
        Ok(event) => Ok((event, true)),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok((perf::open(attributes, task, cpu, None)?, false)),
        Err(error) => Err(error),
    }
}

/// Opens the counters that are read with each sample.
fn open_members(
    task: Option<u32>,
    cpu: Option<u32>,
    leader: &OwnedFd,
    attributes: &Attributes,
    counts_lost: bool,
    layout: &mut Layout,
) -> Result<Vec<OwnedFd>, Refusal> {
    let read_format = attributes.read_format | if counts_lost { perf::FORMAT_LOST } else { 0 };
    let mut members = Vec::new();
    for (place, (name, config)) in COUNTERS.into_iter().enumerate() {
        let member = Attributes { config, period: 0, read_format, flags: attributes.flags & !perf::DISABLED, ..*attributes };
        let opened = perf::open(member, task, cpu, Some(leader.as_fd())).and_then(|event| Ok((perf::id(event.as_fd())?, event)));
        let (id, event) = opened.map_err(|error| {
            refused_call(
                COUNTERS_IN_SAMPLES,
                &format!("perf_event_open({name})"),
                &error,
                "Samples are by cycles alone, without a figure for IPC",
            )
        })?;
        layout.counters.push((id, place));
        members.push(event);
    }
    Ok(members)
}

/// Maps a ring, or one as large as the system allows, with a note.
fn map(event: &OwnedFd, wanted: usize, notes: &mut Vec<Refusal>) -> Result<Ring, Refusal> {
    let ring = Ring::map_up_to(event.as_fd(), wanted).map_err(|error| {
        // The kernel answers EPERM only beyond its limits of locked memory.
        let limits = if error.raw_os_error() == Some(libc::EPERM) { " within kernel.perf_event_mlock_kb and RLIMIT_MEMLOCK" } else { "" };
        let remedy = "Raise kernel.perf_event_mlock_kb or `ulimit -l`, or run as root";
        refused_call(RING_MEMORY, &format!("mmap of {} KiB{limits}", ring::LEAST.min(wanted) >> 10), &error, remedy)
    })?;
    if ring.bytes() < wanted {
        let answer = format!("{} KiB of {} KiB were allowed", ring.bytes() >> 10, wanted >> 10);
        notes.push(Refusal::new(RING_SIZE, answer, "Raise kernel.perf_event_mlock_kb or `ulimit -l`, or shorten the trial"));
    }
    Ok(ring)
}

fn refused(source: SampleSource, counters: bool, task: Option<u32>, error: &io::Error) -> Refusal {
    match source {
        SampleSource::CpuClock => {
            refused_call("samples of whole CPUs", "perf_event_open(CPU_CLOCK, callchain)", error, perf::remedy(error, task))
        }
        SampleSource::TaskClock => {
            refused_call("samples of the kernel", "perf_event_open(TASK_CLOCK, callchain)", error, perf::remedy(error, task))
        }
        SampleSource::Cycles if counters && error.raw_os_error() == Some(libc::EINVAL) => {
            // Before Linux 6.12 readings and threads to come exclude each other.
            refused_call(
                COUNTERS_IN_SAMPLES,
                "perf_event_open(CYCLES, read, inherit)",
                error,
                "Use Linux 6.12 or later for IPC; the time is sampled nonetheless",
            )
        }
        SampleSource::Cycles => {
            refused_call("hardware counters", "perf_event_open(CYCLES, callchain)", error, "Times come from samples by the CPU clock")
        }
    }
}

fn cpus_unknown(error: &io::Error) -> Refusal {
    refused_call("samples of the kernel", "/sys/devices/system/cpu/online", error, "Mount sysfs")
}
