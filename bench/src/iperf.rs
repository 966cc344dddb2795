//! iperf3, run in the hosts of a session.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use lab::session::Session;
use model::{Cell, Family, Protocol, Role};
use serde_json::Value;

use crate::ours;

/// iperf3's default: what one call hands over, and what one call asks for.
const SIZE: u64 = 128 << 10;
/// Length of a run; iperf3 takes whole seconds.
const SECONDS: u64 = 1;

/// Figures of one run of either tool.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Goodput in bits per second, as the receiver has it.
    pub goodput: f64,
    /// CPU time of the receiver's process for each byte, in ns.
    pub receiver_cpu_per_byte: f64,
}

/// A cell with the sizes of iperf3.
pub fn cell() -> Cell {
    ours::stream(Protocol::Tcp, SIZE, SIZE)
}

/// The same figures of a trial of nettoll. iperf3 measures its slow start; so do we.
pub fn trial(session: &mut Session, cell: &Cell) -> anyhow::Result<Run> {
    let end = ours::measure(session, &ours::plan(cell.clone(), 0, SECONDS * 1_000))?.receiver;
    let bytes = end.counts.bytes as f64;
    Ok(Run {
        goodput: bytes * 8.0 / end.window.length().as_secs_f64(),
        receiver_cpu_per_byte: end.cpu_time.process.get() as f64 / bytes.max(1.0),
    })
}

/// One iperf3 run with the settings of a cell.
pub fn run(session: &mut Session, cell: &Cell) -> anyhow::Result<Run> {
    let address = session.place(Role::Receiver, false).address(Family::V4).context("no IPv4 address")?.ip().to_string();
    let mut server =
        in_host(session, Role::Receiver, cell.flows).args(["-s", "-1"]).stdout(Stdio::null()).spawn().context("start iperf3 -s")?;
    let answer = client(session, &address, cell);
    end(&mut server)?;
    let report: Value = serde_json::from_slice(&answer?).context("read iperf3's JSON")?;
    let (end, received) = (&report["end"], &report["end"]["sum_received"]);
    let number = |value: &Value| value.as_f64().with_context(|| format!("iperf3 failed: {}", report["error"]));
    // The receiver is the remote end; its share is of the whole run.
    let cpu_ns = number(&end["cpu_utilization_percent"]["remote_total"])? / 100.0 * number(&received["seconds"])? * 1e9;
    Ok(Run { goodput: number(&received["bits_per_second"])?, receiver_cpu_per_byte: cpu_ns / number(&received["bytes"])?.max(1.0) })
}

fn client(session: &mut Session, address: &str, cell: &Cell) -> anyhow::Result<Vec<u8>> {
    let mut command = in_host(session, Role::Sender, cell.flows);
    command.args(["-c", address, "-J", "-l", &SIZE.to_string(), "-t", &SECONDS.to_string()]);
    command.args(["-P", &cell.flows.to_string()]);
    if cell.nodelay {
        command.arg("-N");
    }
    command.args(cell.cc.iter().flat_map(|name| ["-C", name.as_str()]));
    // The server may not listen yet.
    for _ in 0..50 {
        // With -J a failure to connect is an `error` in the JSON, and exit code 0.
        let output = command.output().context("run iperf3 -c")?;
        let connected = serde_json::from_slice::<Value>(&output.stdout).is_ok_and(|report| report["error"].is_null());
        if output.status.success() && connected {
            return Ok(output.stdout);
        }
        thread::sleep(Duration::from_millis(20));
    }
    anyhow::bail!("iperf3 -c does not reach its server")
}

/// A command in a host's namespace, bound to the CPUs of that host's endpoints.
fn in_host(session: &mut Session, role: Role, flows: u32) -> Command {
    let cpus: Vec<String> = session.place(role, false).cpus(flows).iter().map(|place| place.cpu.to_string()).collect();
    let net = format!("--net=/proc/{}/ns/net", session.host(role, false).pid());
    let mut command = Command::new("nsenter");
    command.args([&net, "taskset", "-c", &cpus.join(","), "iperf3"]);
    command
}

fn end(server: &mut Child) -> anyhow::Result<()> {
    for _ in 0..100 {
        if server.try_wait()?.is_some() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(10));
    }
    server.kill()?;
    ensure!(server.wait().is_ok(), "iperf3 -s does not end");
    Ok(())
}
