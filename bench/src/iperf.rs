//! iperf3, run in the hosts of a session.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use lab::session::Session;
use model::{Family, Role};
use serde_json::Value;

/// Settings for both tools.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Bytes of a call.
    pub size: u64,
    /// `true` if TCP_NODELAY is on.
    pub nodelay: bool,
    /// Length; iperf3 takes whole seconds.
    pub seconds: u64,
    /// Parallel streams.
    pub flows: u32,
    /// Congestion control; `None`: the kernel's usual one.
    pub cc: Option<&'static str>,
}

/// Figures of one run.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Goodput in bits per second, as the receiver has it.
    pub goodput: f64,
    /// CPU time of the receiver's process for each byte, in ns.
    pub receiver_cpu_per_byte: f64,
}

/// TCP goodput of one iperf3 run in bits per second, as its receiver has it.
pub fn goodput(session: &mut Session, settings: Settings) -> anyhow::Result<f64> {
    Ok(run(session, settings)?.goodput)
}

/// One iperf3 run.
pub fn run(session: &mut Session, settings: Settings) -> anyhow::Result<Run> {
    let address = session.place(Role::Receiver, false).address(Family::V4).context("no IPv4 address")?.ip().to_string();
    let mut server =
        in_host(session, Role::Receiver, settings.flows).args(["-s", "-1"]).stdout(Stdio::null()).spawn().context("start iperf3 -s")?;
    let answer = client(session, &address, settings);
    end(&mut server)?;
    let report: Value = serde_json::from_slice(&answer?).context("read iperf3's JSON")?;
    let (end, received) = (&report["end"], &report["end"]["sum_received"]);
    let number = |value: &Value| value.as_f64().with_context(|| format!("iperf3 failed: {}", report["error"]));
    // The receiver is the remote end; its share is of the whole run.
    let cpu_ns = number(&end["cpu_utilization_percent"]["remote_total"])? / 100.0 * number(&received["seconds"])? * 1e9;
    Ok(Run { goodput: number(&received["bits_per_second"])?, receiver_cpu_per_byte: cpu_ns / number(&received["bytes"])?.max(1.0) })
}

fn client(session: &mut Session, address: &str, settings: Settings) -> anyhow::Result<Vec<u8>> {
    let mut command = in_host(session, Role::Sender, settings.flows);
    command.args(["-c", address, "-J", "-l", &settings.size.to_string(), "-t", &settings.seconds.to_string()]);
    command.args(["-P", &settings.flows.to_string()]);
    if settings.nodelay {
        command.arg("-N");
    }
    command.args(settings.cc.iter().flat_map(|name| ["-C", name]));
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
