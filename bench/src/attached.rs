//! What `nettoll attach` costs the programs that it observes, and whether its receipts add up: servers
//! under a steady load, in alternating windows, with each look and without any.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context, ensure};
use model::attach::{Look, WindowRecord};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use serde_json::Value;
use testkit::Skip;
use testkit::servers::Server;

use crate::bars::{Row, number};
use crate::{ours, pairs};

/// Bars of CPU time for each request: with samples, and with system calls counted.
const LOOKS: [(Look, f64); 2] = [(Look::Time, 1.03), (Look::Messages, 1.10)];
/// Both ends of what sums may be.
const SUMS: [f64; 2] = [0.95, 1.05];
/// Fewest windows of a look.
const WINDOWS: usize = 20;
/// Bytes of a request to the loop in C, and of its answer.
const ECHO: usize = 64;
/// Requests that are asked at once where a client does not wait for each.
const AT_ONCE: usize = 16;

const REDIS: &str = "Redis";
const REDIS_AT_ONCE: &str = "Redis, 16 at once";
const NGINX: &str = "nginx";
const ECHO_IN_C: &str = "echo in C";
const SERVERS: [&str; 4] = [REDIS, REDIS_AT_ONCE, NGINX, ECHO_IN_C];

/// A server and what loads it.
struct Target {
    server: Server,
    /// The source of requests, as `--requests` takes it.
    requests: String,
    question: Vec<u8>,
    /// Bytes of the whole answer to it.
    answer: usize,
    connections: usize,
}

/// Measures each server for `seconds`. One that is not here is named.
pub fn measure(nettoll: &Path, echo: &Path, seconds: u32) -> anyhow::Result<Vec<Row>> {
    let cpus: Vec<usize> = usable()?;
    let [first, second, ..] = cpus[..] else { anyhow::bail!("the server and its clients need a CPU each") };
    let mut rows = Vec::new();
    for name in SERVERS {
        // What a thread starts runs where it runs.
        bind(&[first])?;
        let started = start(name, echo);
        bind(&cpus)?;
        match started {
            Ok(target) => rows.extend(of_target(nettoll, name, &target, second, seconds)?),
            Err(Skip(reason)) => rows.push(Row::printed(format!("{name}: not measured, {reason}"), f64::NAN, "", 0)),
        }
    }
    Ok(rows)
}

fn start(name: &str, echo: &Path) -> Result<Target, Skip> {
    match name {
        REDIS => redis(1),
        REDIS_AT_ONCE => redis(AT_ONCE),
        NGINX => nginx(),
        _ => echo_in_c(echo),
    }
}

/// CPUs of this program.
pub fn usable() -> anyhow::Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0))?;
    Ok((0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect())
}

fn bind(cpus: &[usize]) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().try_for_each(|cpu| set.set(*cpu))?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// A value of 100 B and a command that gets it, with the bytes of the answer.
fn redis(at_once: usize) -> Result<Target, Skip> {
    let server = Server::redis()?;
    let value = "v".repeat(100);
    let mut connection = server.connect();
    let set = format!("*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$100\r\n{value}\r\n");
    connection.write_all(set.as_bytes()).and_then(|()| connection.read_exact(&mut [0; 5])).map_err(|error| Skip(error.to_string()))?;
    let question = "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n".repeat(at_once).into_bytes();
    let answer = at_once * format!("$100\r\n{value}\r\n").len();
    Ok(Target { requests: format!("redis:{}", server.address()), server, question, answer, connections: 8 })
}

fn nginx() -> Result<Target, Skip> {
    let server = Server::nginx(136, 1)?;
    let question = b"GET /small HTTP/1.1\r\nHost: x\r\n\r\n".to_vec();
    let mut connection = server.connect();
    let mut room = vec![0; 4096];
    // Head and body come with one call or two.
    connection.write_all(&question).map_err(|error| Skip(error.to_string()))?;
    let mut answer = 0;
    while !room[..answer].ends_with(&[b'x'; 136]) {
        match connection.read(&mut room[answer..]) {
            Ok(count) if count > 0 => answer += count,
            _ => return Err(Skip("nginx does not answer".to_owned())),
        }
    }
    let log = server.path().join("access");
    Ok(Target { requests: format!("log:{}", log.display()), server, question, answer, connections: 8 })
}

fn echo_in_c(program: &Path) -> Result<Target, Skip> {
    let program = program.canonicalize().map_err(|error| Skip(format!("{}: {error}; compile bench/echo.c first", program.display())))?;
    let mut command = Command::new(program);
    command.args(["answers", &ECHO.to_string()]);
    let server = Server::of(command);
    let requests = format!("command:od -An -td8 -N8 {}", server.path().join("answers").display());
    Ok(Target { requests, server, question: vec![1; ECHO], answer: ECHO, connections: 1 })
}

fn of_target(nettoll: &Path, name: &str, target: &Target, cpu: usize, seconds: u32) -> anyhow::Result<Vec<Row>> {
    let runs = tempfile::tempdir().context("make a directory for the run")?;
    let stop = AtomicBool::new(false);
    let receipt = thread::scope(|scope| {
        for _ in 0..target.connections {
            scope.spawn(|| load(target, cpu, &stop));
        }
        let receipt = receipt(nettoll, &target.server.pid(), seconds, &target.requests, runs.path());
        stop.store(true, Ordering::Relaxed);
        receipt
    })?;
    let windows = windows(runs.path())?;
    let mut rows = LOOKS.into_iter().map(|(look, bar)| cost(name, &windows, look, bar)).collect::<anyhow::Result<Vec<_>>>()?;
    // What the kernel bills before the program runs, and what no sample shows, are no sampled rows: they complete the sum.
    let ns = |figure: &Value| number(&figure["value"]);
    let sampled = receipt["layers"].as_array().into_iter().flatten().map(|row| ns(&row["ns"])).sum::<f64>();
    let rows_and_rest = sampled + ns(&receipt["unsampled"]) + ns(&receipt["charged"]);
    let sums = [
        ("samples over the on-CPU time", ns(&receipt["closure"]["sampler"])),
        ("rows, unsampled and billed over the CPU clock", rows_and_rest / ns(&receipt["cpu"])),
    ];
    for (what, value) in sums {
        let samples = receipt["samples"].as_u64().unwrap_or_default() as usize;
        rows.push(
            Row::printed(format!("{name}: {what}"), value, "x", samples)
                .against(format!("{} to {}", SUMS[0], SUMS[1]), (SUMS[0]..=SUMS[1]).contains(&value)),
        );
    }
    Ok(rows)
}

/// The receipt that `attach` makes of a program.
pub fn receipt(nettoll: &Path, pid: &str, seconds: u32, requests: &str, runs: &Path) -> anyhow::Result<Value> {
    let mut command = Command::new(nettoll);
    command.args(["attach", "-J", "--pid", pid, "-t", &seconds.to_string(), "--window", "500ms", "--requests", requests]);
    let outcome = &ours::json(command.arg("--runs").arg(runs))?["states"][0]["outcome"];
    ensure!(outcome["made"].is_object(), "no receipt of the program: {outcome}");
    Ok(outcome["made"].clone())
}

/// Asks on a connection of its own until it is stopped.
fn load(target: &Target, cpu: usize, stop: &AtomicBool) {
    if bind(&[cpu]).is_err() {
        return;
    }
    let mut connection: TcpStream = target.server.connect();
    let mut room = vec![0; target.answer];
    while !stop.load(Ordering::Relaxed) && connection.write_all(&target.question).is_ok() && connection.read_exact(&mut room).is_ok() {}
}

fn windows(runs: &Path) -> anyhow::Result<Vec<WindowRecord>> {
    let run: PathBuf = std::fs::read_dir(runs)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.join("attach.json").exists())
        .context("no run")?;
    Ok(store::read_attached(&run)?.1)
}

/// CPU time of a request in windows of a look over that in the windows without any, block by block.
fn cost(name: &str, windows: &[WindowRecord], look: Look, bar: f64) -> anyhow::Result<Row> {
    let of = |look: Look, block: u32| {
        let window = windows.iter().find(|window| window.look == look && window.block == block)?;
        Some(window.clocks.cpu.get() as f64 / window.requests.filter(|requests| *requests > 0)? as f64)
    };
    let blocks = windows.iter().map(|window| window.block).max().unwrap_or_default();
    let pairs: Vec<(f64, f64)> = (0..=blocks).filter_map(|block| of(look, block).zip(of(Look::Clean, block))).collect();
    ensure!(!pairs.is_empty(), "{name}: no windows with the look {look}");
    let row = pairs::ratio(format!("{name}: CPU per request, {look} / clean"), &pairs, |cpu| *cpu, 0.95)?;
    Ok(row.judged(format!("<= {bar}, of {WINDOWS} windows or more"), |row| row.value <= bar && row.n >= WINDOWS))
}
