//! What `nettoll top` says of programs whose share of the network is known, and what it costs them.

pub mod changes;
mod rings;

use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use model::Nanos;
use profile::machine::MachineSampler;
use serde_json::Value;
use sys::clock::{process_cpu, spin_for};

use crate::bars::{Row, number};
use crate::{ours, pairs};

/// Bytes of a datagram.
const DATAGRAM: usize = 512;
/// Work between two exchanges, such that some 90, 60 and 30 % of the program's time are in its socket calls.
const SPINS: [Nanos; 3] = [Nanos::new(0), Nanos::new(2_500), Nanos::new(10_000)];
/// Length of a window.
const SECONDS: u64 = 10;
/// Time in which a load comes up before it is looked at, and that it runs on for.
const SETTLE: Duration = Duration::from_millis(500);
/// Points that a share may be away from the truth beyond its interval: libc and the instruction of the call are in user
/// code.
const POINTS: f64 = 4.0;
/// Points that an owner's share may be away beyond chance.
const OWNER_POINTS: f64 = 3.0;
/// Rates of two pairs: 80 to 20.
const RATES: [u32; 2] = [24_000, 6_000];
/// Length of a slice.
const SLICE: Duration = Duration::from_millis(40);

/// Measures truth, owners and cost.
pub fn measure(nettoll: &Path, slices: u32) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for spin in SPINS {
        rows.push(truth(nettoll, spin)?);
    }
    rows.push(owners(nettoll, RATES)?);
    rows.push(owners(nettoll, [RATES[1], RATES[0]])?);
    rows.push(cost(slices)?);
    rows.push(own_cost(nettoll)?);
    rows.push(softirqs(nettoll, slices as usize / 40)?);
    rows.extend(rings::measure()?);
    rows.extend(changes::measure(nettoll)?);
    Ok(rows)
}

/// A part of this program, in a process of its own.
fn role(arguments: &[String]) -> anyhow::Result<Child> {
    let this = std::env::current_exe().context("find this program")?;
    Command::new(this).args(arguments).stdout(Stdio::piped()).spawn().context("start a load")
}

fn snapshot(nettoll: &Path) -> anyhow::Result<Value> {
    let found = ours::json(Command::new(nettoll).args(["top", "--once", "-J", "-t", &format!("{SECONDS}s")]))?;
    ensure!(found["network"].is_object(), "this machine cannot be sampled: {}", found["refused"]);
    Ok(found)
}

fn processes(snapshot: &Value) -> impl Iterator<Item = &Value> {
    snapshot["processes"].as_array().into_iter().flatten()
}

/// The share of its CPU time that a program spends in its socket calls: by its own clock, and by samples.
fn truth(nettoll: &Path, spin: Nanos) -> anyhow::Result<Row> {
    let length = SETTLE * 2 + Duration::from_secs(SECONDS);
    let load = role(&["__truth".to_owned(), spin.get().to_string(), length.as_millis().to_string()])?;
    thread::sleep(SETTLE);
    let pid = load.id();
    let found = snapshot(nettoll)?;
    let output = load.wait_with_output().context("wait for the load")?;
    let exact: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().context("read the load's own figure")?;
    let row = processes(&found).find(|row| row["pid"] == pid).context("the load is not among the processes")?;
    let (network, softirq) = (number(&row["cpus"]), number(&row["softirq"]));
    let all = number(&row["busy"]) + softirq;
    let share = network / all * 100.0;
    let half = (number(&row["high"]) - number(&row["low"])) / 2.0 / all * 100.0;
    let off = (share - exact * 100.0).abs();
    Ok(Row::printed(format!("top: share in socket calls, {:.1} % by the program's own clock", exact * 100.0), share, "%", 1)
        .within(share - half, share + half)
        .against(format!("within its interval and {POINTS} points"), off <= half + POINTS))
}

/// Runs as such a program, and prints the share by its own clock.
pub fn run_truth(spin: Nanos, length: Duration) -> anyhow::Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(socket.local_addr()?)?;
    let (start, mut inside, mut room) = (Instant::now(), Duration::ZERO, [0; DATAGRAM]);
    let mut now = start;
    while now - start < length {
        spin_for(spin);
        let before = Instant::now();
        socket.send(&room)?;
        socket.recv(&mut room)?;
        now = Instant::now();
        inside += now - before;
    }
    println!("{}", inside.as_secs_f64() / (now - start).as_secs_f64());
    Ok(())
}

/// The shares that two receivers have of softirq work, whose packets come at known rates.
fn owners(nettoll: &Path, rates: [u32; 2]) -> anyhow::Result<Row> {
    let length = SETTLE * 2 + Duration::from_secs(SECONDS);
    let receivers: Vec<UdpSocket> = rates.iter().map(|_| UdpSocket::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    let ports = receivers.iter().map(|socket| Ok(socket.local_addr()?.port())).collect::<anyhow::Result<Vec<u16>>>()?;
    drop(receivers);
    let start =
        |name: &str, words: &[u64]| role(&[name.to_owned()].into_iter().chain(words.iter().map(u64::to_string)).collect::<Vec<_>>());
    let millis = length.as_millis() as u64;
    let takers = ports.iter().map(|port| start("__take", &[u64::from(*port), millis])).collect::<anyhow::Result<Vec<_>>>()?;
    thread::sleep(SETTLE);
    let givers: Vec<Child> = ports
        .iter()
        .zip(rates)
        .map(|(port, rate)| start("__give", &[u64::from(*port), u64::from(rate), millis]))
        .collect::<anyhow::Result<_>>()?;
    let found = snapshot(nettoll)?;
    let softirq = |taker: &Child| {
        let row = processes(&found).find(|row| row["pid"] == taker.id());
        row.map_or(0.0, |row| number(&row["softirq"]))
    };
    let [first, second] = [softirq(&takers[0]), softirq(&takers[1])];
    for child in takers.into_iter().chain(givers) {
        child.wait_with_output().context("wait for the load")?;
    }
    let share = first / (first + second) * 100.0;
    let exact = f64::from(rates[0]) / f64::from(rates[0] + rates[1]) * 100.0;
    // Of as many samples.
    let samples = (first + second) * SECONDS as f64 * number(&found["hz"]);
    let half = 1.96 * (share * (100.0 - share) / samples).sqrt();
    Ok(Row::printed(format!("top: softirqs of the receiver with {exact:.0} % of the packets"), share, "%", samples as usize)
        .within(share - half, share + half)
        .against(format!("within chance and {OWNER_POINTS} points"), (share - exact).abs() <= half + OWNER_POINTS))
}

/// Takes datagrams until the time is over.
pub fn run_take(port: u16, length: Duration) -> anyhow::Result<()> {
    let socket = UdpSocket::bind(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(SETTLE))?;
    let (start, mut room) = (Instant::now(), [0; DATAGRAM]);
    while start.elapsed() < length {
        // Silence is no error here.
        let _ = socket.recv(&mut room);
    }
    Ok(())
}

/// Gives so many datagrams a second, by 1 ms.
pub fn run_give(port: u16, rate: u32, length: Duration) -> anyhow::Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(("127.0.0.1", port))?;
    let (start, mut given) = (Instant::now(), 0_u64);
    while start.elapsed() < length {
        let due = (start.elapsed().as_secs_f64() * f64::from(rate)) as u64;
        for _ in given..due {
            // A receiver that is gone or slow is not this end's concern.
            let _ = socket.send(&[0; DATAGRAM]);
        }
        given = due;
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// CPU time of a byte that is sent to oneself, in slices with samples of every CPU over slices without.
fn cost(slices: u32) -> anyhow::Result<Row> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(socket.local_addr()?)?;
    let period = Nanos::new(1_000_000_000 / u64::from(model::top::RATE));
    let slice = |sampled: bool| -> anyhow::Result<f64> {
        let sampler = if sampled { Some(MachineSampler::open(period, |_| Ok(()))?) } else { None };
        sampler.as_ref().map(MachineSampler::start).transpose()?;
        let (start, cpu, mut bytes, mut room) = (Instant::now(), process_cpu(), 0, [0; DATAGRAM]);
        while start.elapsed() < SLICE {
            socket.send(&room)?;
            bytes += socket.recv(&mut room)?;
        }
        Ok(process_cpu().since(cpu).get() as f64 / bytes as f64)
    };
    let taken = pairs::run(slices / 2, || slice(true), || slice(false))?;
    let row = pairs::ratio(format!("top: CPU per byte, sampled at {} Hz / not", model::top::RATE), &taken, |cpu| *cpu, 0.95)?;
    Ok(row.judged("upper end <= 1.02", |row| row.ends().1 <= 1.02))
}

/// Softirqs by samples over those by the kernel's counters, in window after window.
fn softirqs(nettoll: &Path, windows: usize) -> anyhow::Result<Row> {
    let length = SETTLE * 2 + Duration::from_secs(SECONDS) * (windows as u32 + 1);
    let mut load = role(&["__truth".to_owned(), "0".to_owned(), length.as_millis().to_string()])?;
    let mut top = Command::new(nettoll).args(["top", "-J"]).stdout(Stdio::piped()).spawn().context("start nettoll top")?;
    let output = top.stdout.take().context("nettoll top has no output")?;
    let lines: Vec<String> = BufReader::new(output).lines().take(windows).collect::<Result<_, _>>()?;
    for child in [&mut top, &mut load] {
        child.kill().and_then(|()| child.wait()).context("end a process")?;
    }
    let found = lines.iter().map(|line| serde_json::from_str(line)).collect::<Result<Vec<Value>, _>>()?;
    let mean = |of: &dyn Fn(&Value) -> f64| found.iter().map(of).sum::<f64>() / found.len() as f64;
    let apart = |one: &Value| number(&one["sampled_softirq"]) - number(&one["proc_stat_softirq"]);
    let (counted, difference) = (mean(&|one| number(&one["proc_stat_softirq"])), mean(&apart));
    // Of the mean, by the scatter of the windows.
    let error = (mean(&|one| (apart(one) - difference).powi(2)) / (found.len() as f64 - 1.0)).sqrt();
    let [ratio, half] = [1.0 + difference / counted, 1.96 * error / counted];
    Ok(Row::printed("top: softirqs by samples / by /proc/stat", ratio, "x", found.len())
        .within(ratio - half, ratio + half)
        .against("within 3 % and three standard errors", difference.abs() <= 0.03 * counted + 3.0 * error))
}

/// What it says that it costs itself, while as many datagrams flow as the machine carries.
fn own_cost(nettoll: &Path) -> anyhow::Result<Row> {
    let length = SETTLE * 2 + Duration::from_secs(SECONDS);
    let load = role(&["__truth".to_owned(), "0".to_owned(), length.as_millis().to_string()])?;
    let found = snapshot(nettoll)?;
    load.wait_with_output().context("wait for the load")?;
    let own = &found["own"];
    let per_cpu = ["reader", "samples", "hooks"].map(|part| number(&own[part])).iter().sum::<f64>() / number(&found["cpus"]) * 100.0;
    Ok(Row::printed("top: its own cost at full load, of each CPU", per_cpu, "%", 1).against("< 1 %", per_cpu < 1.0))
}
