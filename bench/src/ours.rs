//! nettoll's own trials, as a study would run them.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use lab::connection::Credentials;
use lab::event::Quiet;
use lab::session::Session;
use model::plan::{ApprovedPlan, PlanEnd};
use model::trial::Measured;
use model::{Bytes, Cell, Nanos, Plan, Protocol, Test};
use serde_json::Value;
use testkit::made;

use crate::bare::{End, LENGTH_MS, Trial, WARMUP_MS};

/// Two hosts joined by a virtual Ethernet of usual settings.
pub fn session() -> anyhow::Result<Session> {
    let plan = plan(stream(Protocol::Udp, 1, 1), WARMUP_MS, LENGTH_MS);
    let session = Session::open(&approved(plan)?, &Credentials::default(), &mut Quiet)?;
    anyhow::ensure!(session.is_isolated(), "the benchmark needs namespaces of its own: run it as root");
    Ok(session)
}

/// A plan of one cell.
pub fn plan(cell: Cell, warmup_ms: u64, length_ms: u64) -> Plan {
    Plan {
        end: PlanEnd::Length(Nanos::from_millis(length_ms)),
        warmup: Nanos::from_millis(warmup_ms),
        blocks: made::blocks(1),
        ..made::plan("bench", vec![cell])
    }
}

/// A stream cell.
pub fn stream(protocol: Protocol, size: u64, read_size: u64) -> Cell {
    let test = match protocol {
        Protocol::Tcp => Test::TcpStream,
        Protocol::Udp => Test::UdpStream,
    };
    let read_size = Bytes::new(read_size);
    Cell { read_size, nodelay: protocol == Protocol::Tcp, ..Cell::plain(test, Bytes::new(size)) }
}

/// A plan that a benchmark made, to be carried out.
#[expect(clippy::disallowed_methods, reason = "a benchmark's own plan asks no user")]
pub fn approved(plan: Plan) -> anyhow::Result<ApprovedPlan> {
    let actions = plan.actions();
    Ok(plan.approve(&actions)?)
}

/// Runs the only cell of a plan once.
pub fn measure(session: &mut Session, plan: &Plan) -> anyhow::Result<Measured> {
    lab::trial::once(session, &approved(plan.clone())?, &mut Quiet).context("run a trial of nettoll")
}

/// One stream trial, in the terms of the bare loop.
pub fn run(session: &mut Session, protocol: Protocol, size: u64) -> anyhow::Result<Trial> {
    let read_size = if protocol == Protocol::Tcp { 128 << 10 } else { size };
    run_cell(session, stream(protocol, size, read_size))
}

/// The same of any cell.
pub fn run_cell(session: &mut Session, cell: Cell) -> anyhow::Result<Trial> {
    let measured = measure(session, &plan(cell, WARMUP_MS, LENGTH_MS))?;
    let end = |end: &model::end::EndReport| End {
        messages: end.counts.messages as f64,
        cpu_ns: end.cpu_time.process.get() as f64,
        switches: end.switches.voluntary as f64,
    };
    Ok(Trial { sender: end(&measured.sender), receiver: end(&measured.receiver) })
}

/// Runs a study of a plan, given as text, and returns its analysis.
pub fn study(nettoll: &Path, plan: &str, arguments: &[&str]) -> anyhow::Result<Value> {
    let directory = tempfile::tempdir().context("make a directory for the run")?;
    let file = directory.path().join("plan.toml");
    std::fs::write(&file, plan).context("write the plan")?;
    json(Command::new(nettoll).args(["study", "-J"]).args(arguments).arg("--plan").arg(&file).arg("--runs").arg(directory.path()))
}

/// Runs a command of nettoll and reads its answer.
pub fn json(command: &mut Command) -> anyhow::Result<Value> {
    let output = command.output().with_context(|| format!("start {}; build it first", command.get_program().display()))?;
    serde_json::from_slice(&output.stdout).context("read the answer of nettoll")
}
