//! Trials that show whether receipts are right: traffic whose senders compute for a known time before each
//! message, and the same traffic without that.
//!
//! The known time is that of the processor, measured apart on the first CPU of the ends ([`Proof::costs`]). A receipt that is right has it in the row of the program's own code.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use engine::api::work_for;
use model::host::HostFacts;
use model::plan::{ApprovedPlan, PlanError, RawPlan, TrialEnd, resolve};
use model::schedule::{self, Block, Roles, Shape};
use model::trial::{Outcome, TrialRecord};
use model::{Cell, Nanos, Pass};
use profile::system::bind_this_thread;

use crate::connection::Credentials;
use crate::error::TrialError;
use crate::event::Quiet;
use crate::refusal::Refusal;
use crate::remote::HostError;
use crate::session::Session;
use crate::trial::{self, TrialSpec};

/// Each table is one kind of traffic, without and with work of about the cost of its message.
const PLAN: &str = r#"
name = "prove"
trial = { length = "150ms", warmup = "20ms" }
blocks = { least = 12, most = 12 }
receipt = {}
[[cells]]
test = "TCP_STREAM"
size = 1448
nodelay = true
cc = "cubic"
work = ["0ns", "2us"]
[[cells]]
test = "UDP_STREAM"
size = 1024
work = ["0ns", "2us"]
[[cells]]
test = "UDP_STREAM"
size = 1448
api = "gso"
batch = 16
work = ["0ns", "1us"]
[[cells]]
test = ["TCP_RR", "UDP_RR"]
size = 64
work = ["0ns", "10us"]
[[cells]]
test = "UDP_STREAM"
size = 64
api = "sendmmsg"
batch = 32
work = ["0ns", "1us"]
[[cells]]
test = ["TCP_STREAM", "UDP_STREAM"]
size = 1024
rate = "1000/s"
work = ["0ns", "50us"]
[[cells]]
test = ["TCP_STREAM", "UDP_STREAM"]
size = 1024
rate = "5000/s"
work = ["0ns", "20us"]
[[cells]]
test = ["TCP_STREAM", "UDP_STREAM"]
size = 1024
rate = "10000/s"
work = ["0ns", "10us"]
"#;

/// One in so many blocks has the traffic without work as well: its own code takes some ten nanoseconds for a message.
const BARE: u32 = 3;

/// The passes that the proof needs: the senders' rows, and what they are shares of.
const PASSES: &[Pass] = &[Pass::Clean, Pass::Time];

/// Load of the CPUs while the trials run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbour {
    /// Nothing but what the machine does anyhow.
    None,
    /// A thread on each CPU of the ends, which computes for 8 ms and sleeps for 12, over and over.
    Busy,
}

/// The trials of a proof.
#[derive(Debug)]
pub struct Proof {
    /// The plan that they are of: of its cells each kind of traffic is one without and one with work.
    pub plan: ApprovedPlan,
    /// The hosts.
    pub hosts: Vec<HostFacts>,
    /// The trials.
    pub records: Vec<TrialRecord>,
    /// CPU time that work takes, by the time that it is asked to take.
    pub costs: BTreeMap<Nanos, Nanos>,
}

/// The plan of the proof.
///
/// # Errors
/// None, as a test shows.
pub fn plan(seed: u64) -> Result<ApprovedPlan, PlanError> {
    resolve(&RawPlan::parse(PLAN)?, &[], seed)
}

/// Runs the trials of a proof next to a neighbour. `progress` gets the number of trials that are done, and of all; `Break`
/// ends the proof.
///
/// # Errors
/// Hosts that cannot be made, ends that cannot be sampled. Failures of single trials are recorded.
pub fn run(
    plan: ApprovedPlan,
    neighbour: Neighbour,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Proof, TrialError> {
    let mut session = Session::open(&plan, &Credentials::default(), &mut Quiet)?;
    let hosts = session.facts().to_vec();
    let cpus: Vec<u32> = hosts.iter().flat_map(|host| host.endpoint_cpus.first().copied()).collect();
    let works: Vec<Nanos> = plan.cells.iter().map(|cell| cell.work).filter(|work| work.get() > 0).collect();
    let costs = costs(cpus.first().copied().unwrap_or(0), works).map_err(refused("measure what work costs"))?;
    let _neighbours = (neighbour == Neighbour::Busy).then(|| Neighbours::start(&cpus)).transpose().map_err(refused("keep CPUs busy"))?;
    let shape = Shape { cells: plan.cells.len(), arms: 1, passes: PASSES, most: plan.blocks.most, roles: Roles::Balanced };
    let mut blocks: Vec<Block> = (0..plan.blocks.most).map(|index| schedule::block(plan.seed, index, shape)).collect();
    for block in &mut blocks {
        block.order.retain(|slot| block.index.is_multiple_of(BARE) || plan.cells[slot.cell].work.get() > 0);
    }
    let all = blocks.iter().map(|block| block.order.len()).sum();
    let mut records = Vec::with_capacity(all);
    for block in blocks {
        for (position, slot) in block.order.into_iter().enumerate() {
            if progress(records.len(), all).is_break() {
                return Err(TrialError::Stopped);
            }
            let cell = &plan.cells[slot.cell];
            let seed = schedule::trial_seed(plan.seed, block.index, slot.cell);
            let spec =
                TrialSpec { plan: &plan, cell, swapped: block.swapped, pass: slot.pass, end: end(&plan, cell, slot.pass), arm: None, seed };
            let outcome = match trial::run(&mut session, spec, &mut Quiet) {
                Ok(done) => Outcome::Measured(Box::new(done.measured)),
                Err(TrialError::Host(error)) if !error.is_loss_of_host() => Outcome::Failed { error: error.to_string(), lost: false },
                // At first it says that nothing can be sampled here.
                Err(error @ TrialError::NotObserved { .. }) if records.iter().any(sampled) => {
                    Outcome::Skipped { reason: error.to_string() }
                }
                Err(error) => return Err(error),
            };
            let record = TrialRecord::new(cell.clone(), outcome);
            records.push(TrialRecord { block: block.index, position: position as u32, swapped: block.swapped, pass: slot.pass, ..record });
        }
    }
    Ok(Proof { plan, hosts, records, costs })
}

fn sampled(record: &TrialRecord) -> bool {
    record.pass.samples() && record.measured().is_some()
}

fn refused(step: &'static str) -> impl Fn(io::Error) -> TrialError {
    move |error| HostError::from(Refusal::new(step, error, "raise the limit on processes (ulimit -u)")).into()
}

/// Time passes are longer, for the sake of samples: most of all of those senders that sleep between messages and
/// have a known cost to show.
fn end(plan: &ApprovedPlan, cell: &Cell, pass: Pass) -> TrialEnd {
    let times = match (pass, cell.rate.is_some(), cell.work.get() > 0) {
        (Pass::Clean, ..) => 1,
        (_, true, true) => 6,
        _ => 2,
    };
    match plan.end.of(cell) {
        TrialEnd::Length(length) => TrialEnd::Length(Nanos::new(length.get() * times)),
        end @ TrialEnd::Messages(_) => end,
    }
}

/// CPU time that work takes on a CPU, by the time that it is asked to take: the shortest mean of several runs, since
/// whatever disturbs one makes it longer.
fn costs(cpu: u32, works: Vec<Nanos>) -> io::Result<BTreeMap<Nanos, Nanos>> {
    const RUNS: u32 = 20;
    const RUN: Nanos = Nanos::from_millis(1);
    let measure = move |work: Nanos| {
        let calls = u32::try_from(RUN.get() / work.get().max(1)).unwrap_or(u32::MAX).max(10);
        let run = |_| {
            let begun = Instant::now();
            (0..calls).for_each(|_| work_for(work));
            begun.elapsed() / calls
        };
        (work, Nanos::from((0..RUNS).map(run).min().unwrap_or_default()))
    };
    let measured = thread::spawn(move || bind_this_thread(cpu).map(|()| works.into_iter().map(measure).collect()));
    measured.join().unwrap_or_else(|_| Err(io::Error::other("the measuring thread ended early")))
}

/// Threads that use CPUs, until they are dropped.
struct Neighbours {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Neighbours {
    fn start(cpus: &[u32]) -> io::Result<Self> {
        const ON: Duration = Duration::from_millis(8);
        const OFF: Duration = Duration::from_millis(12);
        let mut started = Self { stop: Arc::default(), threads: Vec::new() };
        for cpu in cpus.iter().copied() {
            let stop = Arc::clone(&started.stop);
            let (tell, bound) = mpsc::channel();
            let busy = move || {
                let outcome = bind_this_thread(cpu);
                let refused = outcome.is_err();
                // It is waited for.
                let _ = tell.send(outcome);
                while !refused && !stop.load(Ordering::Relaxed) {
                    work_for(ON.into());
                    thread::sleep(OFF);
                }
            };
            started.threads.push(thread::Builder::new().spawn(busy)?);
            bound.recv().unwrap_or_else(|_| Err(io::Error::other("the thread ended early")))?;
        }
        Ok(started)
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

#[cfg(test)]
mod tests {
    use super::plan;

    #[test]
    fn each_kind_of_traffic_is_there_without_work_and_with() {
        let plan = plan(1).unwrap();
        let (with, without): (Vec<_>, Vec<_>) = plan.cells.iter().partition(|cell| cell.work.get() > 0);
        assert_eq!((with.len(), without.len()), (12, 12));
        for cell in with {
            let bare = model::Cell { work: model::Nanos::new(0), ..cell.clone() };
            assert_eq!(without.iter().filter(|other| ***other == bare).count(), 1, "{cell}");
        }
    }
}
