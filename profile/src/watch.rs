//! The watch over a program: samples of the whole CPUs that it may use where the kernel allows that, of
//! its tasks otherwise, with what else ran on these CPUs.
//!
//! The timer of a task is armed again at each of its switches, which on virtual machines cost ends that sleep often
//! 14 to 38 % more CPU time, and shows in `finish_task_switch`.

use std::collections::BTreeSet;

use model::attach::{Elsewhere, OwnCode};
use model::end::Window;
use model::profile::{HardwareCounts, Profile, SampleSource};
use model::sorting::Gather;
use model::{Nanos, Refusal};

use crate::elsewhere::{Outside, outside};
use crate::fold::fold;
use crate::own_code::Names;
use crate::sampler::record::Fork;
use crate::sampler::{Recording, Sampler, Settings, Target, Tasks};
use crate::symbols::Symbols;

/// A program to watch.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Its process, or the first of them: the one whose code is looked at for returns from system calls.
    pub process: u32,
    /// CPUs that it may use. Empty: whole CPUs are not sampled.
    pub cpus: BTreeSet<u32>,
    /// Its tasks, which are sampled where whole CPUs are not.
    pub tasks: Vec<Target>,
    /// Threads of the kernel that work for it alone. They are sampled with whole CPUs: where these are refused, so are
    /// threads of root's.
    pub kernel_threads: Vec<u32>,
    /// Distance of samples, in ns.
    pub period: u64,
    /// The longest time from start to finish.
    pub longest: Nanos,
}

/// Samplers that are switched on.
#[derive(Debug)]
pub struct Watch {
    samplers: Vec<Sampler>,
    /// True where these are of whole CPUs.
    whole: bool,
    /// Threads of the kernel, whose samples are among those of whole CPUs.
    kernel_threads: Vec<u32>,
}

/// What a watch showed of a measured part.
#[derive(Debug)]
pub struct Findings {
    /// Samples of the program.
    pub profile: Profile,
    /// Advance of hardware counters, chain by chain of `profile`.
    pub counters: Option<HardwareCounts>,
    /// Samples of its kernel threads; `None` without any, or without samples of whole CPUs.
    pub kernel_threads: Option<Profile>,
    /// Its own code by function, where names were asked for.
    pub own_code: Option<OwnCode>,
    /// Softirqs of the network outside it; `None` where its tasks alone were sampled.
    pub elsewhere: Option<Elsewhere>,
    /// Processes that it started meanwhile.
    pub came: u32,
    /// Names that bounds left out.
    pub left_out: Option<Refusal>,
}

impl Watch {
    /// Switches samplers on; `notes` gets what is not as it could be.
    ///
    /// # Errors
    /// When not even the tasks can be sampled.
    pub fn start(subject: &Subject, notes: &mut Vec<Refusal>) -> Result<Self, Refusal> {
        let mut watch = match Self::of_cpus(subject).transpose() {
            Ok(Some(watch)) => watch,
            refused => {
                notes.extend(refused.err());
                Self::of_tasks(subject)?
            }
        };
        for sampler in &mut watch.samplers {
            sampler.start()?;
            let new: Vec<Refusal> = sampler.notes().iter().filter(|note| !notes.contains(note)).cloned().collect();
            notes.extend(new);
        }
        Ok(watch)
    }

    /// Switches all samplers on or off; see [`Sampler::switch`].
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn switch(&self, on: bool) -> Result<(), Refusal> {
        self.samplers.iter().try_for_each(|sampler| sampler.switch(on))
    }

    /// `None` where the CPUs are not known: samples of every CPU of a large machine are not wanted.
    fn of_cpus(subject: &Subject) -> Option<Result<Self, Refusal>> {
        let target = |cpu: &u32| Target::Cpu { cpu: *cpu, process: subject.process };
        let open = |cpu: &u32| Sampler::open(&subject.settings(target(cpu), None, subject.cpus.len()));
        let samplers = subject.cpus.iter().map(open).collect::<Result<_, _>>();
        let watch = |samplers| Self { samplers, whole: true, kernel_threads: subject.kernel_threads.clone() };
        (!subject.cpus.is_empty()).then(|| samplers.map(watch))
    }

    fn of_tasks(subject: &Subject) -> Result<Self, Refusal> {
        // The threads of a process are where it may be.
        let only = |task: &Target| subject.cpus.first().copied().filter(|_| matches!(task, Target::Process(_)) && subject.cpus.len() == 1);
        let open = |task: &Target| Sampler::open(&subject.settings(*task, only(task), subject.tasks.len()));
        let samplers = subject.tasks.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { samplers, whole: false, kernel_threads: Vec::new() })
    }

    /// Switches them off. What they showed of the window is of `processes` and of the children that these had meanwhile;
    /// of the tasks, where these were sampled.
    ///
    /// # Errors
    /// When a recording cannot be read.
    pub fn finish(self, processes: &[u32], symbols: &Symbols, window: Window, names: Option<&mut Names>) -> Result<Findings, Refusal> {
        let own = self.samplers.into_iter().map(Sampler::finish).collect::<Result<Vec<_>, _>>()?;
        let (all, came) = with_children(processes, &own);
        let tasks = if self.whole { Tasks::Processes(&all) } else { Tasks::All };
        let (mut profile, counters) = fold(&own, symbols, tasks, Some(window));
        let (mut kernel_threads, mut elsewhere) = (None, None);
        if self.whole {
            let kernel = Tasks::Threads(&self.kernel_threads);
            let outside = outside(&own, symbols, &[tasks, kernel], window);
            profile.account = profile.account.map(|account| outside.with(account));
            // In the unit of its period a sample of cycles is no time.
            let period = match profile.source {
                SampleSource::Cycles => {
                    profile.account.and_then(|account| account.on_cpu).map(|time| time.get() / profile.samples().max(1))
                }
                SampleSource::CpuClock | SampleSource::TaskClock => Some(profile.period),
            };
            elsewhere = period.map(|period| Elsewhere { softirq: outside.network, period });
            kernel_threads = (!self.kernel_threads.is_empty()).then(|| {
                let folded = fold(&own, symbols, kernel, Some(window)).0;
                // What is amiss with the rings, and samples outside, count once.
                let account = folded.account.map(|account| Outside::default().with(account));
                Profile { lost: 0, throttled: 0, broken: 0, account, ..folded }
            });
        }
        let (own_code, left_out) = names.map(|names| names.of_samples(&own, tasks, window)).unzip();
        Ok(Findings { profile, counters, kernel_threads, own_code, elsewhere, came, left_out: left_out.flatten() })
    }
}

impl Subject {
    fn settings(&self, target: Target, cpu: Option<u32>, samplers: usize) -> Settings {
        Settings { cpu, period: self.period, samplers, ..Settings::new(target, self.longest) }
    }
}

/// The processes with every child that was made meanwhile, and the number of those.
fn with_children(processes: &[u32], recordings: &[Recording]) -> (Vec<u32>, u32) {
    let mut all: BTreeSet<u32> = processes.iter().copied().into_set();
    let before = all.len();
    let forks: Vec<&Fork> = recordings.iter().flat_map(|recording| &recording.forks).filter(|fork| fork.pid != fork.parent).collect();
    // CPUs record apart, so that a child's own children may stand before it.
    loop {
        let known = all.len();
        all.extend(forks.iter().filter(|fork| all.contains(&fork.parent)).map(|fork| fork.pid).collect::<Vec<_>>());
        if all.len() == known {
            break;
        }
    }
    let came = u32::try_from(all.len() - before).unwrap_or(u32::MAX);
    (all.into_iter().collect(), came)
}

#[cfg(test)]
mod tests {
    use super::with_children;
    use crate::sampler::record::Fork;
    use crate::sampler::{Layout, Recording};
    use crate::symbols::CodeMap;
    use model::profile::SampleSource;

    fn recording(rings: Vec<Vec<u8>>, forks: Vec<Fork>) -> Recording {
        let (layout, code, source) = (Layout::default(), CodeMap::default(), SampleSource::CpuClock);
        Recording { source, period: 1_000, layout, rings, lost: None, counted: None, switches: None, forks, code, notes: vec![] }
    }

    #[test]
    fn children_of_children_are_found_in_any_order() {
        let fork = |parent, pid| Fork { pid, parent };
        // A thread of 1; a child of a child before it, on another CPU; one of another program.
        let recordings = [recording(vec![], vec![fork(1, 1), fork(7, 8)]), recording(vec![], vec![fork(1, 7), fork(3, 4)])];
        assert_eq!(with_children(&[1, 2], &recordings), (vec![1, 2, 7, 8], 2));
    }
}
