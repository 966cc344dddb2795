//! `nettoll doctor`.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;

use analysis::Collector;
use analysis::proof::KnownCost;
use lab::proof::{CAUSES, Case, Neighbour, Proof, Traffic};
use model::Run;
use model::host::HostFacts;
use model::proof::{KeptProof, kernel};
use model::run::{RUN_FORMAT, Status};
use report::proof::Part;

use crate::args::{DoctorArgs, ProofNeighbour};
use crate::consent;
use crate::exit::{Exit, Failure};
use crate::{output, proofs, version};

/// Says what this machine offers; fails when `quick` cannot run here.
///
/// # Errors
/// An answer of the system.
pub fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    if args.prove {
        return prove(args);
    }
    let checks = [lab::doctor::examine(), microscope::doctor::checks()].concat();
    output::result(args.json.then(|| report::json::pretty(&checks)), || report::doctor::document(&checks), args.verbose)?;
    Ok(if lab::doctor::quick_can_run(&checks) { Exit::Done } else { Exit::Failed })
}

/// Puts known costs into the path and looks for them in receipts.
///
/// # Errors
/// A user who does not want it; hosts that cannot be made, ends that cannot be sampled.
fn prove(args: &DoctorArgs) -> Result<Exit, Failure> {
    consent::to_load(args.yes)?;
    let neighbours = [(ProofNeighbour::Quiet, "quiet", Neighbour::None), (ProofNeighbour::Busy, "busy", Neighbour::Busy)];
    let mut parts: Vec<(&str, Vec<KnownCost>)> = Vec::new();
    let (mut host, mut tried) = (None, [false; 2]);
    for (tried, (which, name, neighbour)) in tried.iter_mut().zip(neighbours) {
        if args.only.is_some_and(|only| only != which) {
            continue;
        }
        let started_ms = sys::clock::unix_ms();
        let traffic = Traffic::new(started_ms, &args.kinds, args.blocks)?;
        match lab::proof::run(traffic, neighbour, &mut |done, all| progress(name, done, all)) {
            Ok(proof) => {
                (host, *tried) = (proof.hosts.first().cloned(), true);
                parts.push((name, costs(proof, started_ms)));
            }
            Err(error) if parts.is_empty() => return Err(error.into()),
            // What was measured before is not lost.
            Err(error) => output::note(&format!("{name}: {error}")),
        }
    }
    let parts: Vec<Part> = parts.iter().map(|(neighbour, costs)| Part { neighbour, costs }).collect();
    // Some kinds of traffic, or few blocks, prove nothing.
    if args.kinds.is_empty()
        && args.blocks.is_none()
        && let Some(proof) = host.and_then(|host| kept(&host, tried, &parts))
        && let Err(failure) = proof.checked().map_err(anyhow::Error::msg).and_then(proofs::keep)
    {
        output::note(&format!("the proof is not kept: {failure}"));
    }
    output::result(args.json.then(|| report::proof::json(&parts)), || report::proof::document(&parts), false)?;
    Ok(Exit::Done)
}

/// A proof as it is kept, next to the neighbours that were tried; `None` if it found nothing.
fn kept(host: &HostFacts, neighbours: [bool; 2], parts: &[Part]) -> Option<KeptProof> {
    let costs = parts.iter().map(|part| part.costs.len()).sum::<usize>();
    let ratios: Vec<f64> =
        parts.iter().flat_map(|part| part.costs).filter_map(|cost| Some(cost.found.as_ref().ok()?.ratio.value)).collect();
    Some(KeptProof {
        boot: host.boot.clone(),
        kernel: kernel(host),
        tool: version::SHORT.to_owned(),
        ended_ms: sys::clock::unix_ms(),
        neighbours,
        found: [ratios.iter().copied().reduce(f64::min)?, ratios.iter().copied().reduce(f64::max)?],
        costs: ratios.len() as u32,
        missing: (costs - ratios.len()) as u32,
    })
}

fn costs(proof: Proof, started_ms: u64) -> Vec<KnownCost> {
    let Proof { plan, hosts, cases, records } = proof;
    let analysis = |cause: Option<usize>| {
        let run = Run {
            format: RUN_FORMAT,
            id: plan.name.clone(),
            plan: (*plan).clone(),
            started_ms,
            tool: String::new(),
            status: Status::BlocksDone,
            warnings: Vec::new(),
            proof: None,
            pooled: None,
        };
        let mut collector = Collector::new(run, hosts.clone());
        records.iter().filter(|(of, _)| *of == cause).for_each(|(_, record)| collector.push(record));
        collector.finish()
    };
    let without = analysis(None);
    let causes = CAUSES.iter().enumerate().flat_map(|(place, cause)| {
        let with = analysis(Some(place));
        let cases = cases.iter().filter(move |case| case.cause == place);
        let look = |case: &Case| KnownCost::look_for(cause.name, cause.row, &plan.cells[case.cell], &case.cost, &without, &with);
        cases.map(look).collect::<Vec<_>>()
    });
    causes.collect()
}

fn progress(neighbour: &str, done: usize, all: usize) -> ControlFlow<()> {
    if io::stderr().is_terminal() {
        let end = if done + 1 < all { "" } else { "\n" };
        // Who closed it does not want to see it.
        let _ = write!(io::stderr(), "\rnettoll: {neighbour}: trial {} of {all}{end}", done + 1);
    }
    ControlFlow::Continue(())
}
