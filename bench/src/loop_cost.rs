//! The loop around the call, with `getppid` in place of `send`.

use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;
use engine::api::{CallOutcome, Halves, Incoming, Outgoing, Place, Transmit};
use engine::stage::{Part, Stage};
use engine::traffic::send_until;
use model::{Bytes, Cell, Test};
use nix::unistd::getppid;
use stats::median::median;
use sys::clock::{monotonic, process_cpu};

use crate::bare::{Bare, End, parse};
use crate::bars::Row;
use crate::pairs;

/// Calls a run.
const CALLS: u64 = 500_000;

/// Most that the loop may add to the bare one, in ns a message: the upper end of the interval.
const BAR: f64 = 5.0;

/// The loops of a trial.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Kind {
    /// The plain one, in which the call is direct.
    Plain,
    /// The one of all other cells, in which each call is looked up.
    Any,
}

/// Measures pairs of runs.
pub fn measure(bare: &Bare, count: u32) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (kind, name) in [(Kind::Plain, "the loop around the call"), (Kind::Any, "the loop around a call that is looked up")] {
        let pairs = pairs::run(count, || ours(kind), || bare.ppid(CALLS))?;
        let differences: Vec<f64> = pairs.iter().map(|(ours, bare)| ours.cpu_per_message() - bare.cpu_per_message()).collect();
        let theirs: Vec<f64> = pairs.iter().map(|(_, bare)| bare.cpu_per_message()).collect();
        if rows.is_empty() {
            rows.push(Row::printed("one getppid in the bare loop", median(&theirs).unwrap_or_default(), "ns", pairs.len()));
        }
        let row = Row::estimated(format!("{name}, beyond the bare loop"), "ns per message", &pairs::of(&differences, 0.95)?);
        rows.push(row.judged(format!("upper end of 95 % <= {BAR} ns"), |row| row.ends().1 <= BAR));
    }
    Ok(rows)
}

fn ours(kind: Kind) -> anyhow::Result<End> {
    let kind = kind.to_possible_value().context("a name of the loop")?;
    let output = Command::new(std::env::current_exe()?).args(["__ppid", kind.get_name(), &CALLS.to_string()]).output();
    parse(&String::from_utf8_lossy(&output.context("run our loop")?.stdout))
}

/// The process that runs a sending loop of a trial over `getppid`.
pub fn run_ours(kind: Kind, count: u64) -> anyhow::Result<()> {
    match kind {
        Kind::Plain => run_over(&mut GetPpid, count),
        Kind::Any => {
            let cell = Cell::plain(Test::UdpStream, Bytes::new(1));
            let place = Place::new(&cell, UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.into(), Duration::ZERO);
            run_over(&mut Halves::of_any(Box::new(GetPpid), Box::new(GetPpid), place), count)
        }
    }
}

fn run_over(api: &mut impl Transmit, count: u64) -> anyhow::Result<()> {
    let stage = Stage::default();
    let (cpu, wall) = (process_cpu(), monotonic());
    let counts = send_until(api, 1, &stage, Part::Warmup, count);
    let (cpu, wall) = (process_cpu().since(cpu).get(), monotonic().since(wall).get());
    println!("{} 0 {cpu} {wall} 0", counts.messages);
    Ok(())
}

struct GetPpid;

impl GetPpid {
    #[inline(always)]
    fn call() -> CallOutcome {
        CallOutcome(isize::from(getppid().as_raw() > 0))
    }
}

impl Outgoing for GetPpid {
    #[inline(always)]
    fn send_span(&mut self, _: usize, _: usize, _: usize) -> CallOutcome {
        Self::call()
    }

    fn message_at(&mut self, _: usize) -> &mut [u8] {
        &mut []
    }
}

impl Incoming for GetPpid {
    fn receive(&mut self, _: usize, _: bool) -> CallOutcome {
        Self::call()
    }

    fn last(&self) -> &[u8] {
        &[]
    }
}
