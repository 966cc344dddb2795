//! Trials that show whether receipts are right: traffic with a known cost at each message, and the same traffic
//! without it.
//!
//! What a cause costs is measured apart on the ends' CPUs. A receipt that is right has it in the row of the cause.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use analysis::proof::Row;
use model::control::{FromHost, Injection, ToHost};
use model::host::HostFacts;
use model::plan::{ApprovedPlan, PlanError, RawPlan, TrialEnd, resolve};
use model::schedule::{self, Roles, Shape};
use model::trial::{Outcome, TrialRecord};
use model::{Cell, Nanos, Pass, Role};
use profile::system::bind_this_thread;
use sys::clock::spin_for;

use crate::connection::Credentials;
use crate::error::TrialError;
use crate::event::Quiet;
use crate::refusal::Refusal;
use crate::remote::HostError;
use crate::session::Session;
use crate::trial::{self, TrialSpec};

/// A cause of costs that can be put into the path of a message.
#[derive(Debug)]
pub struct Cause {
    /// Its name.
    pub name: &'static str,
    /// The row that must grow.
    pub row: Row,
    /// The cost that it is put in with, in streams and in dialogues, whose messages cost more; `None`: the work of the kind
    /// of traffic. It says whose host has it, how it is
    /// calibrated ([`engine::injection::calibrate`], and of rules `host::injection`), and whether it needs a network of
    /// nettoll's own.
    injections: Option<[Injection; 2]>,
    /// It is in one of so many blocks.
    every: u32,
}

const WORK: usize = 0;
const FILTER: usize = 1;
const COPY: usize = 2;
const CLASSIFIER: usize = 3;
const RULES: usize = 4;

/// Every cause. Costs are about those of a message.
pub const CAUSES: [Cause; 5] = [
    Cause { name: "own work", row: Row::OwnCode, injections: None, every: 1 },
    Cause { name: "seccomp filter", row: Row::Bpf, injections: Some([Injection::Filter(1_500), Injection::Filter(4_000)]), every: 2 },
    Cause { name: "copy", row: Row::DataMovement, injections: Some([Injection::Copy(32 << 10), Injection::Copy(160 << 10)]), every: 2 },
    Cause {
        name: "cls_bpf program",
        row: Row::Bpf,
        injections: Some([Injection::Classifier(1_500), Injection::Classifier(4_000)]),
        every: 2,
    },
    Cause { name: "nftables rules", row: Row::Netfilter, injections: Some([Injection::Rules(200), Injection::Rules(800)]), every: 2 },
];

/// A kind of traffic.
#[derive(Debug)]
struct Kind {
    /// Its cell, as in a plan.
    cell: &'static str,
    /// Work before each message that costs about what a message does.
    work: Nanos,
    /// The causes that it shows besides work.
    causes: &'static [usize],
}

const fn kind(cell: &'static str, work_us: u64, causes: &'static [usize]) -> Kind {
    Kind { cell, work: Nanos::new(1_000 * work_us), causes }
}

/// Each kind goes without any cause, and with each of its causes.
const KINDS: [Kind; 12] = [
    kind("test = 'TCP_STREAM'\nsize = 1448\nnodelay = true\ncc = 'cubic'", 2, &[WORK]),
    kind("test = 'UDP_STREAM'\nsize = 1024", 2, &[WORK, FILTER, COPY, CLASSIFIER, RULES]),
    kind("test = 'UDP_STREAM'\nsize = 1448\napi = 'gso'\nbatch = 16", 1, &[WORK]),
    kind("test = 'TCP_RR'\nsize = 64", 10, &[WORK, FILTER, COPY]),
    kind("test = 'UDP_RR'\nsize = 64", 10, &[WORK, CLASSIFIER, RULES]),
    kind("test = 'TCP_CRR'\nsize = 64", 30, &[WORK]),
    kind("test = 'TCP_STREAM'\nsize = 1024\nrate = '1000/s'", 50, &[WORK]),
    kind("test = 'UDP_STREAM'\nsize = 1024\nrate = '1000/s'", 50, &[WORK]),
    kind("test = 'TCP_STREAM'\nsize = 1024\nrate = '5000/s'", 20, &[WORK]),
    kind("test = 'UDP_STREAM'\nsize = 1024\nrate = '5000/s'", 20, &[WORK]),
    kind("test = 'TCP_STREAM'\nsize = 1024\nrate = '10000/s'", 10, &[WORK]),
    kind("test = 'UDP_STREAM'\nsize = 1024\nrate = '10000/s'", 10, &[WORK]),
];

/// Blocks of a proof.
const BLOCKS: u32 = 12;

/// One in so many blocks has the traffic without a cause as well: of most rows that makes little difference.
const BARE: u32 = 4;

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

/// A cause in a kind of traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The cause's place in [`CAUSES`].
    pub cause: usize,
    /// The traffic's place in the plan.
    pub cell: usize,
    /// CPU time that it takes at a message; the reason, where it could not be put in.
    pub cost: Result<Nanos, String>,
    injection: Injection,
}

/// The trials of a proof.
#[derive(Debug)]
pub struct Proof {
    /// The plan that they are of.
    pub plan: ApprovedPlan,
    /// The hosts.
    pub hosts: Vec<HostFacts>,
    /// The causes that were put in, or could not be.
    pub cases: Vec<Case>,
    /// The trials, each with the place of its cause; `None`: without any.
    pub records: Vec<(Option<usize>, TrialRecord)>,
}

/// Traffic for a proof.
#[derive(Debug)]
pub struct Traffic {
    plan: ApprovedPlan,
    /// The kind of each cell.
    kinds: Vec<&'static Kind>,
}

impl Traffic {
    /// Every kind, in as many blocks as a proof has; or the kinds of these places alone, in fewer blocks, which is no proof.
    ///
    /// # Errors
    /// No such kind, or too few blocks.
    pub fn new(seed: u64, places: &[usize], blocks: Option<u32>) -> Result<Self, PlanError> {
        let kinds: Vec<&Kind> = match places {
            [] => KINDS.iter().collect(),
            some => some.iter().filter_map(|place| KINDS.get(*place)).collect(),
        };
        let blocks = blocks.unwrap_or(BLOCKS);
        let mut text = format!(
            "name = 'prove'\ntrial = {{ length = '150ms', warmup = '20ms' }}\nblocks = {{ least = {blocks}, most = {blocks} }}\nreceipt = {{}}\n"
        );
        kinds.iter().for_each(|kind| text += &format!("[[cells]]\n{}\n", kind.cell));
        Ok(Self { plan: resolve(&RawPlan::parse(&text)?, &[], seed)?, kinds })
    }
}

/// Runs the trials of a proof next to a neighbour. `progress` gets the number of trials that are done, and of all; `Break`
/// ends the proof.
///
/// # Errors
/// Hosts that cannot be made, ends that cannot be sampled. Failures of single trials are recorded, causes that cannot
/// be put in are said.
pub fn run(traffic: Traffic, neighbour: Neighbour, progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>) -> Result<Proof, TrialError> {
    let Traffic { plan, kinds } = traffic;
    let mut cases = cases(&kinds, &plan);
    let mut session = Session::open(&plan, &Credentials::default(), &mut Quiet)?;
    let hosts = session.facts().to_vec();
    calibrate(&mut session, &mut cases)?;
    let cpus: Vec<u32> = hosts.iter().flat_map(|host| host.endpoint_cpus.first().copied()).collect();
    let _neighbours = (neighbour == Neighbour::Busy).then(|| Neighbours::start(&cpus)).transpose().map_err(refused("keep CPUs busy"))?;
    // The traffic without a cause, then the cases.
    let entry = |slot: usize| slot.checked_sub(plan.cells.len());
    let shape = Shape { cells: plan.cells.len() + cases.len(), arms: 1, passes: PASSES, most: plan.blocks.most, roles: Roles::Balanced };
    let mut blocks: Vec<_> = (0..plan.blocks.most).map(|index| schedule::block(plan.seed, index, shape)).collect();
    for block in &mut blocks {
        let is_in = |case: &Case| case.cost.is_ok() && block.index.is_multiple_of(CAUSES[case.cause].every);
        let bare = block.index.is_multiple_of(BARE);
        block.order.retain(|slot| entry(slot.cell).map_or(bare, |case| is_in(&cases[case])));
    }
    let all = blocks.iter().map(|block| block.order.len()).sum();
    let (mut records, mut done) = (Vec::with_capacity(all), 0);
    for block in blocks {
        for (position, slot) in block.order.into_iter().enumerate() {
            if progress(done, all).is_break() {
                return Err(TrialError::Stopped);
            }
            done += 1;
            let case = entry(slot.cell);
            if let Some(case) = case {
                match inject(&mut session, block.swapped, &cases[case], true) {
                    Err(HostError::Refused { error, .. }) => cases[case].cost = Err(error),
                    answer => answer?,
                }
            }
            let case = case.map(|place| &cases[place]);
            let place = case.map_or(slot.cell, |case| case.cell);
            if case.is_some_and(|case| case.cost.is_err()) {
                continue;
            }
            let cell = &plan.cells[place];
            let seed = schedule::trial_seed(plan.seed, block.index, slot.cell);
            let end = end(&plan, cell, case, slot.pass);
            let spec = TrialSpec { pass: slot.pass, end, seed, ..TrialSpec::clean(&plan, cell, block.swapped) };
            let outcome = match trial::run(&mut session, spec, &mut Quiet) {
                Ok(done) => Outcome::Measured(Box::new(done.measured)),
                Err(TrialError::Host(error)) if !error.is_loss_of_host() => Outcome::Failed { error: error.to_string(), lost: false },
                // At first it says that nothing can be sampled here.
                Err(error @ TrialError::NotObserved { .. }) if records.iter().any(|(_, record)| sampled(record)) => {
                    Outcome::Skipped { reason: error.to_string() }
                }
                Err(error) => return Err(error),
            };
            if let Some(case) = case {
                inject(&mut session, block.swapped, case, false)?;
            }
            let record = TrialRecord::new(cell.clone(), outcome);
            let record = TrialRecord { block: block.index, position: position as u32, swapped: block.swapped, pass: slot.pass, ..record };
            records.push((case.map(|case| case.cause), record));
        }
    }
    Ok(Proof { plan, hosts, cases, records })
}

/// Every cause in the kinds of traffic that show it.
fn cases(kinds: &[&Kind], plan: &ApprovedPlan) -> Vec<Case> {
    let cases = kinds.iter().enumerate().flat_map(|(cell, kind)| {
        let place = usize::from(!plan.cells[cell].test.is_stream());
        kind.causes.iter().map(move |cause| {
            let injection = CAUSES[*cause].injections.map_or(Injection::Work(kind.work), |injections| injections[place]);
            Case { cause: *cause, cell, cost: Ok(Nanos::default()), injection }
        })
    });
    cases.collect()
}

/// Measures what each cause costs, on the CPUs of both hosts, which send in turn.
fn calibrate(session: &mut Session, cases: &mut [Case]) -> Result<(), TrialError> {
    let mut known: Vec<(Injection, Result<Nanos, String>)> = Vec::new();
    for case in cases {
        let cost = match known.iter().find(|(injection, _)| *injection == case.injection) {
            Some((_, cost)) => cost.clone(),
            None => {
                let cost = calibrated(session, case.injection)?;
                known.push((case.injection, cost.clone()));
                cost
            }
        };
        case.cost = cost;
    }
    Ok(())
}

fn calibrated(session: &mut Session, injection: Injection) -> Result<Result<Nanos, String>, HostError> {
    if injection.changes_network() && !session.is_isolated() {
        return Ok(Err("it needs a network of nettoll's own: run as root".to_owned()));
    }
    let mut sum = 0;
    for role in [Role::Sender, Role::Receiver] {
        let cpu = session.place(role, false).cpus(1).first().map_or(0, |place| place.cpu);
        let host = session.host(role, false);
        match host.command(&ToHost::Calibrate { injection, cpu }) {
            Ok(FromHost::Calibrated(cost)) => sum += cost.get(),
            Ok(other) => return Err(host.unexpected("the price of a known cost", &other)),
            Err(HostError::Refused { error, .. }) => return Ok(Err(error)),
            Err(error) => return Err(error),
        }
    }
    Ok(if sum > 1 { Ok(Nanos::new(sum / 2)) } else { Err("it costs nothing that can be measured".to_owned()) })
}

/// Puts the cause of a case into its host, or takes it away.
fn inject(session: &mut Session, swapped: bool, case: &Case, put: bool) -> Result<(), HostError> {
    let role = case.injection.role();
    let device = session.place(role, swapped).device(model::Family::V4).to_owned();
    let host = session.host(role, swapped);
    match host.command(&ToHost::Inject { injection: put.then_some(case.injection), device })? {
        FromHost::Done => Ok(()),
        other => Err(host.unexpected("a known cost", &other)),
    }
}

fn sampled(record: &TrialRecord) -> bool {
    record.pass.samples() && record.measured().is_some()
}

fn refused(step: &'static str) -> impl Fn(io::Error) -> TrialError {
    move |error| HostError::from(Refusal::new(step, error, "raise the limit on processes (ulimit -u)")).into()
}

/// Time passes are longer, for the sake of samples: most of all of those senders that sleep between messages and
/// have a known cost to show.
fn end(plan: &ApprovedPlan, cell: &Cell, case: Option<&Case>, pass: Pass) -> TrialEnd {
    let times = match (pass, case) {
        (Pass::Clean, _) => 1,
        (_, Some(_)) if cell.rate.is_some() => 5,
        (_, Some(case)) if CAUSES[case.cause].every > 1 && !cell.test.is_stream() => 3,
        _ => 2,
    };
    match plan.end.of(cell) {
        TrialEnd::Length(length) => TrialEnd::Length(Nanos::new(length.get() * times)),
        end @ TrialEnd::Messages(_) => end,
    }
}

/// Threads that use CPUs for 8 ms of 20 each, until they are dropped.
#[derive(Debug)]
pub struct Neighbours {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Neighbours {
    /// One thread on each CPU.
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn start(cpus: &[u32]) -> io::Result<Self> {
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
                    spin_for(ON.into());
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
    use super::{CAUSES, COPY, KINDS, Traffic, cases};

    #[test]
    fn each_kind_of_traffic_has_its_causes_and_each_cause_a_kind() {
        let traffic = Traffic::new(1, &[], None).unwrap();
        assert_eq!((traffic.plan.cells.len(), traffic.kinds.len()), (KINDS.len(), KINDS.len()));
        let cases = cases(&traffic.kinds, &traffic.plan);
        assert_eq!(cases.len(), KINDS.iter().map(|kind| kind.causes.len()).sum::<usize>());
        assert!((0..CAUSES.len()).all(|cause| cases.iter().filter(|case| case.cause == cause).count() >= 2));
        assert!(cases.iter().all(|case| case.injection.is_bounded()));
        let some = Traffic::new(1, &[1, 3], Some(2)).unwrap();
        assert_eq!((some.plan.cells.len(), some.plan.blocks.most), (2, 2));
        assert_eq!(super::cases(&some.kinds, &some.plan).iter().filter(|case| case.cause == COPY).count(), 2);
        assert!(Traffic::new(1, &[KINDS.len()], None).is_err(), "no such kind");
    }
}
