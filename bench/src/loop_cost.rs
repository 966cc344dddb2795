//! The loop around the call, with `getppid` in place of `send`.

use std::process::Command;

use anyhow::Context;
use engine::api::{Moved, Transmit};
use engine::stage::{Part, Stage};
use engine::traffic::send_until;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::getppid;
use stats::median::median;

use crate::bare::{Bare, End, parse};
use crate::pairs;
use stress::bars::Row;

/// Calls a run.
const CALLS: u64 = 500_000;

/// Measures pairs of runs.
pub fn measure(bare: &Bare, count: u32) -> anyhow::Result<Vec<Row>> {
    let pairs = pairs::run(count, ours, || bare.ppid(CALLS))?;
    let extra = pairs::difference(&pairs, End::cpu_per_message, 0.95)?;
    let theirs: Vec<f64> = pairs.iter().map(|(_, bare)| bare.cpu_per_message()).collect();
    let per_call = median(&theirs).unwrap_or_default();
    Ok(vec![
        Row::printed("one getppid in the bare loop", per_call, "ns", extra.n),
        Row::printed("the loop around the call, beyond the bare loop", extra.value, "ns per message", extra.n)
            .within(extra.low, extra.high)
            .against("upper end of 95 % <= 5 ns", extra.high <= 5.0),
    ])
}

fn ours() -> anyhow::Result<End> {
    let output = Command::new(std::env::current_exe()?).args(["__ppid", &CALLS.to_string()]).output().context("run our loop")?;
    parse(&String::from_utf8_lossy(&output.stdout))
}

/// The process that runs the sending loop of a trial over `getppid`.
pub fn run_ours(count: u64) -> anyhow::Result<()> {
    let mut api = GetPpid;
    let stage = Stage::default();
    let (cpu, wall) = (clock(ClockId::CLOCK_PROCESS_CPUTIME_ID)?, clock(ClockId::CLOCK_MONOTONIC)?);
    let counts = send_until(&mut api, 1, &stage, Part::Warmup, count);
    let (cpu, wall) = (clock(ClockId::CLOCK_PROCESS_CPUTIME_ID)? - cpu, clock(ClockId::CLOCK_MONOTONIC)? - wall);
    println!("{} 0 {cpu} {wall} 0", counts.messages);
    Ok(())
}

struct GetPpid;

impl Transmit for GetPpid {
    #[inline(always)]
    fn send(&mut self, _: usize) -> Moved {
        Moved(isize::from(getppid().as_raw() > 0))
    }
}

fn clock(clock: ClockId) -> anyhow::Result<i64> {
    let time = clock_gettime(clock)?;
    Ok(time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}
