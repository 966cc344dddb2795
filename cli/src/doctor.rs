//! `nettoll doctor`.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::time::{SystemTime, UNIX_EPOCH};

use analysis::Collector;
use analysis::proof::{KnownCost, known_costs};
use lab::proof::{Neighbour, Proof};
use model::Run;
use model::run::{RUN_FORMAT, Status};
use report::proof::Part;

use crate::args::{DoctorArgs, ProofNeighbour};
use crate::consent;
use crate::exit::{Exit, Failure};
use crate::output;

/// Says what this machine offers; fails when `quick` cannot run here.
///
/// # Errors
/// An answer of the system.
pub fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    if args.prove {
        return prove(args);
    }
    let checks = [lab::doctor::examine(), microscope::doctor::checks()].concat();
    let text = match args.json {
        true => report::json::checks(&checks),
        false => report::doctor::render(&checks, output::style()),
    };
    output::styled(&text)?;
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
    for (_, name, neighbour) in neighbours.into_iter().filter(|(which, ..)| args.only.is_none_or(|only| only == *which)) {
        let started_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        match lab::proof::run(lab::proof::plan(started_ms)?, neighbour, &mut |done, all| progress(name, done, all)) {
            Ok(proof) => parts.push((name, costs(proof, started_ms))),
            Err(error) if parts.is_empty() => return Err(error.into()),
            // What was measured before is not lost.
            Err(error) => output::note(&format!("{name}: {error}")),
        }
    }
    let parts: Vec<Part> = parts.iter().map(|(neighbour, costs)| Part { neighbour, costs }).collect();
    match args.json {
        true => output::write(&report::proof::json(&parts))?,
        false => output::styled(&report::proof::render(&parts, output::style()))?,
    }
    Ok(Exit::Done)
}

fn costs(proof: Proof, started_ms: u64) -> Vec<KnownCost> {
    let Proof { plan, hosts, records, costs } = proof;
    let run = Run {
        format: RUN_FORMAT,
        id: plan.name.clone(),
        plan: (*plan).clone(),
        started_ms,
        tool: String::new(),
        status: Status::BlocksDone,
        warnings: Vec::new(),
    };
    let mut collector = Collector::new(run, hosts);
    records.iter().for_each(|record| collector.push(record));
    known_costs(&collector.finish(), |work| costs.get(&work).copied())
}

fn progress(neighbour: &str, done: usize, all: usize) -> ControlFlow<()> {
    if io::stderr().is_terminal() {
        let end = if done + 1 < all { "" } else { "\n" };
        // Who closed it does not want to see it.
        let _ = write!(io::stderr(), "\rnettoll: {neighbour}: trial {} of {all}{end}", done + 1);
    }
    ControlFlow::Continue(())
}
