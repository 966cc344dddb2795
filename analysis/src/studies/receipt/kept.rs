//! Trials of one end of one cell, as they are kept.

use attribution::SampledSlices;
use model::end::CpuTime;
use model::profile::{HardwareCounts, Observation, Profile, Waits};
use model::sorting::Order;
use model::wakeups::WakeupCost;
use model::{Nanos, Pass, Role};

use super::PassCounts;
use super::chains::{ChainId, Chains, KeepError};

/// The measured part of a trial at one end.
#[derive(Debug, Clone, Copy)]
pub struct Edges {
    pub block: u32,
    /// Elapsed time of each traffic thread, added.
    pub wall: Nanos,
    pub cpu: CpuTime,
    pub messages: f64,
    /// Share of the host's CPU time that the hypervisor took, 0 to 1.
    pub stolen: f64,
    /// Wake-ups of the end, and what one of them is billed by the probe of its host.
    pub wakeups: Option<(u64, WakeupCost)>,
}

/// A trial with the sampler on. Of its profile, the names and chains are in
/// [`Chains`].
#[derive(Debug)]
pub struct KeptTime {
    pub edges: Edges,
    /// Without names and stacks.
    pub head: Profile,
    /// The same of the kernel threads that work for the end, where these were sampled too.
    pub threads: Option<Profile>,
    /// Samples of the endpoint; behind them those of kernel threads.
    pub stacks: Box<[(ChainId, u32)]>,
    /// Number of the stacks that are the endpoint's.
    pub own: usize,
    pub counters: Option<KeptCounters>,
}

/// Movements of the processor's counters, for the first of the stacks.
#[derive(Debug)]
pub struct KeptCounters {
    pub names: Vec<String>,
    /// Stack after stack, one number a name.
    pub moved: Box<[u64]>,
}

/// A trial with scheduler tracepoints on.
#[derive(Debug, Clone, Copy)]
pub struct KeptWaits {
    pub edges: Edges,
    pub waits: Waits,
}

/// Counts of a trial, by the places of their names.
#[derive(Debug)]
pub struct KeptCounts {
    pub block: u32,
    /// Messages of the whole trial.
    pub messages: f64,
    pub calls: Box<[(u32, u64)]>,
}

/// All trials of one end of one cell.
#[derive(Debug, Default)]
pub struct KeptEnd {
    pub clean: Vec<Edges>,
    pub time: Vec<KeptTime>,
    pub waits: Vec<KeptWaits>,
    pub counts: Vec<KeptCounts>,
    pub sampled: SampledSlices,
    pub passes: PassCounts,
}

/// Reason why a trial gave nothing to a receipt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unkept {
    /// Nothing happened in its measured part.
    #[error("an end had no message, or no CPU time, in the measured part")]
    Empty,
    /// It was to be seen, and was not; the observation says why.
    #[error("nothing was seen")]
    Unseen,
    /// Its profile is not to be kept.
    #[error(transparent)]
    Profile(#[from] KeepError),
}

impl KeptTime {
    /// The samples, with those of kernel threads or without.
    pub fn samples(&self, threads: bool) -> &[(ChainId, u32)] {
        if threads { &self.stacks } else { &self.stacks[..self.own] }
    }
}

impl KeptEnd {
    /// Puts the trials into the order of their blocks, in which their sums do
    /// not depend on the order in which they came.
    pub fn sort(&mut self) {
        self.clean.order_by_key(|edges| edges.block);
        self.time.order_by_key(|pass| pass.edges.block);
        self.waits.order_by_key(|pass| pass.edges.block);
        self.counts.order_by_key(|pass| pass.block);
    }

    /// Keeps a trial: its measured part, the messages of the whole of it, and
    /// what was seen.
    ///
    /// # Errors
    /// The reason why it gives nothing.
    pub fn push(
        &mut self,
        (pass, role): (Pass, Role),
        edges: Edges,
        whole: f64,
        seen: Option<&Observation>,
        chains: &mut Chains,
    ) -> Result<(), Unkept> {
        if edges.messages <= 0.0 || edges.wall.get() == 0 || edges.cpu.process.get() == 0 {
            return Err(Unkept::Empty);
        }
        match pass {
            Pass::Clean => {
                self.clean.push(edges);
                self.passes.clean += 1;
            }
            // The other end was watched.
            pass if pass.samples() && !pass.watches(role) => {}
            Pass::Time | Pass::TimeReceiver => {
                self.time.push(time(edges, seen.ok_or(Unkept::Unseen)?, chains)?);
                self.passes.time += 1;
            }
            Pass::Wait => {
                let waits = seen.and_then(|seen| seen.waits).ok_or(Unkept::Unseen)?;
                self.waits.push(KeptWaits { edges, waits });
                self.passes.wait += 1;
            }
            Pass::Count => {
                let counts = seen.and_then(|seen| seen.counts.as_ref()).filter(|_| whole > 0.0).ok_or(Unkept::Unseen)?;
                let mut calls = Vec::with_capacity(counts.calls.len());
                for (name, count) in &counts.calls {
                    calls.push((chains.name(name)?, *count));
                }
                self.counts.push(KeptCounts { block: edges.block, messages: whole, calls: calls.into() });
                self.passes.count += 1;
            }
        }
        Ok(())
    }
}

fn time(edges: Edges, seen: &Observation, chains: &mut Chains) -> Result<KeptTime, Unkept> {
    let profile = seen.profile.as_ref().ok_or(Unkept::Unseen)?;
    let mut stacks = chains.keep(profile)?;
    let own = stacks.len();
    // Samples of time that the end's CPU time does not hold would be too many.
    let alike = |threads: &&Profile| (threads.source, threads.period) == (profile.source, profile.period);
    let threads = seen.ksoftirqd.as_ref().filter(alike).filter(|_| edges.cpu.kernel_threads.is_some());
    if let Some(threads) = threads {
        stacks = [stacks, chains.keep(threads)?].concat().into();
    }
    let counters = seen.counters.as_ref().and_then(|counters| kept_counters(counters, profile));
    Ok(KeptTime { edges, head: bare(profile), threads: threads.map(bare), stacks, own, counters })
}

/// A profile without its samples.
fn bare(profile: &Profile) -> Profile {
    let Profile { source, period, lost, throttled, broken, account, .. } = *profile;
    Profile { source, period, lost, throttled, broken, account, symbols: Vec::new(), stacks: Vec::new() }
}

/// Counters that fit the profile; others say nothing of its stacks.
fn kept_counters(counters: &HardwareCounts, profile: &Profile) -> Option<KeptCounters> {
    let fits = counters.of_stacks.len() == profile.stacks.len()
        && !counters.names.is_empty()
        && counters.of_stacks.iter().all(|moved| moved.len() == counters.names.len());
    fits.then(|| KeptCounters { names: counters.names.clone(), moved: counters.of_stacks.concat().into() })
}
