//! Thousands of processes a second under `nettoll top`: what it remembers of them has bounds.

use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::Context;

use crate::bars::Row;
use crate::endure;
use crate::endure::tool::Tool;

/// Processes a second.
const RATE: f64 = 5_000.0;
/// Time in which the loads and the first window come up.
const SETTLE: Duration = Duration::from_secs(12);
/// Most growth of memory: this share, and this many KiB.
const GROWTH: f64 = 0.1;
const GROWTH_KIB: f64 = 2_048.0;

/// Watches processes that come and go for so many seconds.
pub fn measure(nettoll: &Path, churns: &Path, seconds: u32) -> anyhow::Result<Vec<Row>> {
    let tool = Tool::new(nettoll)?;
    let sink = UdpSocket::bind("127.0.0.1:0").context("bind a socket")?;
    let port = sink.local_addr()?.port();
    let length = SETTLE + Duration::from_secs(seconds.into());
    let churns =
        (0..thread::available_parallelism()?.get()).map(|_| churn(churns, port, length)).collect::<anyhow::Result<Vec<Child>>>()?;
    let mut top = tool.command(&[], &["top", "-J"]).spawn().context("start nettoll top")?;
    let watched = watch(top.id(), seconds);
    top.kill().and_then(|()| top.wait()).context("end nettoll top")?;
    let mut made = 0;
    for churn in churns {
        let output = churn.wait_with_output().context("wait for the load")?;
        made += String::from_utf8_lossy(&output.stdout).trim().parse::<u64>().context("the load says how many processes it made")?;
    }
    let [early, late] = watched?;
    let rate = made as f64 / length.as_secs_f64();
    let grown = late - early;
    Ok(vec![
        Row::printed("churn: processes a second", rate, "", made as usize).against(format!(">= {RATE}"), rate >= RATE),
        Row::printed(format!("churn: growth of top's memory of {:.1} MiB in {seconds} s", early / 1_024.0), grown / 1_024.0, "MiB", 1)
            .against("< 10 % + 2 MiB", grown < early * GROWTH + GROWTH_KIB),
    ])
}

fn churn(program: &Path, port: u16, length: Duration) -> anyhow::Result<Child> {
    let arguments = [port.to_string(), length.as_secs().to_string()];
    Command::new(program).args(arguments).stdout(Stdio::piped()).spawn().context("start bench/churn.c; compile it first")
}

/// Memory in KiB at both ends of the time.
fn watch(pid: u32, seconds: u32) -> anyhow::Result<[f64; 2]> {
    let resident = || Ok::<f64, anyhow::Error>(endure::kib(pid, "VmRSS")? as f64);
    thread::sleep(SETTLE);
    let early = resident()?;
    thread::sleep(Duration::from_secs(seconds.into()));
    Ok([early, resident()?])
}
