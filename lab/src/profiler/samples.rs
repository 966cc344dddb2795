//! Samples of an endpoint and of the kernel threads that work for it, while it measures.

use model::Unavailable;
use model::control::{CpuPlace, Observe};
use model::end::Window;
use model::profile::{Account, HardwareCounts, Profile};
use profile::fold::fold;
use profile::sampler::record::{Record, Sample};
use profile::sampler::{Recording, Sampler, Settings, Target, Tasks};
use profile::symbols::Symbols;

use super::LONGEST;

/// Samplers that are switched on.
pub enum Samples {
    /// One for each CPU that the endpoint is bound to, of whatever runs there: its timer runs on across
    /// switches. A timer of a task is armed again at each of them, which on virtual machines cost
    /// ends that sleep often 14 to 38 % more CPU time, and shows in `finish_task_switch`.
    Cpus { samplers: Vec<Sampler>, process: u32, ksoftirqd: Vec<u32> },
    /// One of the endpoint and one for each kernel thread.
    Tasks { endpoint: Box<Sampler>, ksoftirqd: Vec<Sampler> },
}

/// What samples showed of a measured part.
pub struct Seen {
    pub endpoint: Profile,
    pub counters: Option<HardwareCounts>,
    pub ksoftirqd: Option<Profile>,
}

impl Samples {
    /// Switches samplers on for the process `pid`: of the whole CPUs that it is bound to
    /// where the kernel allows that, of its tasks otherwise. `notes` gets what is missing.
    ///
    /// # Errors
    /// When not even the endpoint can be sampled.
    pub fn start(pid: u32, observe: &Observe, notes: &mut Vec<Unavailable>) -> Result<Self, Unavailable> {
        let mut samples = match Self::of_cpus(pid, observe) {
            Ok(samples) => samples,
            Err(refusal) => {
                notes.extend(refusal);
                Self::of_tasks(pid, observe, notes)?
            }
        };
        for sampler in samples.all() {
            sampler.start()?;
            notes.extend(sampler.notes().iter().cloned());
        }
        Ok(samples)
    }

    fn all(&mut self) -> Vec<&mut Sampler> {
        match self {
            Self::Cpus { samplers, .. } => samplers.iter_mut().collect(),
            Self::Tasks { endpoint, ksoftirqd } => ksoftirqd.iter_mut().chain([&mut **endpoint]).collect(),
        }
    }

    /// # Errors
    /// The refusal; `None` where the endpoint is bound to no CPU: samples of every CPU of a large
    /// machine are not wanted.
    fn of_cpus(process: u32, observe: &Observe) -> Result<Self, Option<Unavailable>> {
        if observe.cpus.is_empty() {
            return Err(None);
        }
        let mut cpus: Vec<u32> = observe.cpus.iter().map(|place| place.cpu).collect();
        cpus.sort_unstable();
        cpus.dedup();
        let open = |cpu: &u32| Sampler::open(&settings(Target::Cpu { cpu: *cpu, process }, observe, None, cpus.len()));
        let samplers = cpus.iter().map(open).collect::<Result<_, _>>();
        let samplers = samplers.map_err(|refusal| Unavailable {
            what: "samples of whole CPUs".to_owned(),
            // A task may be sampled at 1, a CPU at 0.
            remedy: refusal.remedy.replace("set it to 1 or less", "set it to 0 or less"),
            ..refusal
        })?;
        Ok(Self::Cpus { samplers, process, ksoftirqd: observe.cpus.iter().filter_map(|place| place.ksoftirqd).collect() })
    }

    fn of_tasks(pid: u32, observe: &Observe, notes: &mut Vec<Unavailable>) -> Result<Self, Unavailable> {
        let threads = observe.cpus.iter().filter(|place| place.ksoftirqd.is_some()).count();
        let only = match observe.cpus[..] {
            [CpuPlace { cpu, .. }] => Some(cpu),
            _ => None,
        };
        let endpoint = Box::new(Sampler::open(&settings(Target::Process(pid), observe, only, 1 + threads))?);
        let mut ksoftirqd = Vec::new();
        for CpuPlace { cpu, ksoftirqd: thread } in &observe.cpus {
            let Some(thread) = thread else { continue };
            match Sampler::open(&settings(Target::Thread(*thread), observe, Some(*cpu), 1 + threads)) {
                Ok(sampler) => ksoftirqd.push(sampler),
                Err(refusal) => notes.push(Unavailable { what: format!("samples of ksoftirqd/{cpu}"), ..refusal }),
            }
        }
        Ok(Self::Tasks { endpoint, ksoftirqd })
    }

    /// Switches them off and returns what they showed of the window.
    ///
    /// # Errors
    /// When the recordings cannot be read.
    pub fn finish(self, symbols: &Symbols, window: Window) -> Result<Seen, Unavailable> {
        let recordings = |samplers: Vec<Sampler>| samplers.into_iter().map(Sampler::finish).collect::<Result<Vec<_>, _>>();
        match self {
            // The endpoint's first, whose samples cost most where they are lost.
            Self::Tasks { endpoint, ksoftirqd } => {
                let (endpoint, threads) = (endpoint.finish()?, recordings(ksoftirqd)?);
                let (endpoint, counters) = fold(&[endpoint], symbols, Tasks::All, Some(window));
                let ksoftirqd = (!threads.is_empty()).then(|| fold(&threads, symbols, Tasks::All, Some(window)).0);
                Ok(Seen { endpoint, counters, ksoftirqd })
            }
            Self::Cpus { samplers, process, ksoftirqd } => {
                let recordings = recordings(samplers)?;
                let (mut endpoint, counters) = fold(&recordings, symbols, Tasks::Process(process), Some(window));
                let others = others(&recordings, process, &ksoftirqd, window);
                endpoint.account = endpoint.account.map(|account| Account { others: Some(others), ..account });
                // What is amiss with the rings is said once, with the endpoint's.
                let threads = || {
                    let folded = fold(&recordings, symbols, Tasks::Threads(&ksoftirqd), Some(window)).0;
                    // Others' samples are counted once as well.
                    let account = folded.account.map(|account| Account { others: Some(0), ..account });
                    Profile { lost: 0, throttled: 0, broken: 0, account, ..folded }
                };
                let ksoftirqd = (!ksoftirqd.is_empty()).then(threads);
                Ok(Seen { endpoint, counters, ksoftirqd })
            }
        }
    }
}

/// Samples within the window that are neither the endpoint's nor the kernel threads' nor idle time.
fn others(recordings: &[Recording], process: u32, ksoftirqd: &[u32], window: Window) -> u64 {
    const IDLE: u32 = 0;
    let other =
        |sample: &Sample| window.contains(sample.time) && sample.pid != IDLE && sample.pid != process && !ksoftirqd.contains(&sample.tid);
    let samples = recordings.iter().flat_map(Recording::records);
    samples.filter(|record| matches!(record, Ok(Record::Sample(sample)) if other(sample))).count() as u64
}

fn settings(target: Target, observe: &Observe, cpu: Option<u32>, samplers: usize) -> Settings {
    Settings { cpu, period: observe.period.get(), samplers, ..Settings::new(target, observe.longest.min(LONGEST)) }
}
