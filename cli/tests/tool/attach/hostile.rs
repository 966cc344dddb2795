//! Programs that choose their own symbols: what naming their functions may take of nettoll.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::elf;

use crate::support::Skip;
use crate::support::tool::{Answer, Tool};

crate::claims!(
    a_million_symbols_that_share_one_name,
    a_name_of_400_kb_of_control_characters,
    symbols_beyond_the_bound_are_said_to_be_left_out
);

/// The bars: memory, time of an observation of 2 s, and time to heed Ctrl-C.
const MEMORY_KB: u64 = 200_000;
const TIME: Duration = Duration::from_secs(10);
const HEEDED: Duration = Duration::from_secs(1);

/// A program that spins, ended with the test.
struct Spinning(Child);

impl Drop for Spinning {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Observes it; a clock stands for its requests, so that nothing is asked of the kernel but samples.
fn attach(tool: &Tool, pid: u32, time: &str) -> Command {
    let mut command = tool.command(&["attach", "--pid", &pid.to_string(), "-t", time, "--requests", "command:date +%s%N", "-J"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What an observation took: time of one of 2 s, memory, and time from Ctrl-C in one without an end.
struct Took {
    time: Duration,
    memory_kb: u64,
    heeded: Duration,
    answer: Answer,
}

fn observe(made: &elf::Program) -> Result<Took, Skip> {
    let tool = Tool::new();
    let file = tool.path().join("program");
    made.write(&file);
    let program = Spinning(Command::new(&file).spawn().map_err(|error| Skip(format!("it does not start here: {error}")))?);
    let begun = Instant::now();
    let mut child = attach(&tool, program.0.id(), "2").spawn().unwrap();
    let mut memory_kb = 0;
    while child.try_wait().unwrap().is_none() {
        memory_kb = memory_kb.max(peak(child.id()));
        std::thread::sleep(Duration::from_millis(10));
    }
    let (time, answer) = (begun.elapsed(), Answer::from(child.wait_with_output().unwrap()).done());
    let child = attach(&tool, program.0.id(), "60").spawn().unwrap();
    std::thread::sleep(Duration::from_secs(4));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let asked = Instant::now();
    child.wait_with_output().unwrap();
    Ok(Took { time, memory_kb, heeded: asked.elapsed(), answer })
}

/// Observes it, within the bars; on a machine so busy that a program of ten functions is not either, within
/// twice what that takes.
fn observed(made: &elf::Program) -> Result<serde_json::Value, Skip> {
    let found = observe(made)?;
    assert!((1..=MEMORY_KB).contains(&found.memory_kb), "{} kB", found.memory_kb);
    if found.time > TIME || found.heeded > HEEDED {
        let plain = observe(&elf::with_functions(10, b"plain"))?;
        assert!(found.time <= TIME.max(2 * plain.time), "{:?}, a plain program {:?}", found.time, plain.time);
        assert!(found.heeded <= HEEDED.max(2 * plain.heeded), "{:?}, a plain program {:?}", found.heeded, plain.heeded);
    }
    let found = found.answer.json();
    if found["states"][0]["outcome"]["made"].is_null() {
        return Err(Skip(format!("no samples here: {}", found["states"][0]["outcome"])));
    }
    Ok(found)
}

/// The most memory that a process had so far, in kB; 0 of one that is gone.
fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(0)
}

fn a_million_symbols_that_share_one_name() -> Result<(), Skip> {
    let found = observed(&elf::with_functions(1_000_000, &[b'n'; 4_095]))?;
    assert_eq!(found["states"][0]["own_code"][0]["function"].as_str(), Some("n".repeat(200).as_str()));
    Ok(())
}

fn a_name_of_400_kb_of_control_characters() -> Result<(), Skip> {
    let found = observed(&elf::with_functions(40_000, &[1; 400_000]))?;
    assert!(found["states"][0]["own_code"][0]["function"].is_null(), "{}", found["states"][0]["own_code"]);
    Ok(())
}

/// More symbols than are read: their functions have no name, and that is said.
fn symbols_beyond_the_bound_are_said_to_be_left_out() -> Result<(), Skip> {
    let found = observed(&elf::with_functions(1_100_000, b"many"))?;
    assert!(found["states"][0]["own_code"][0]["function"].is_null());
    assert!(found["states"][0]["refused"].to_string().contains("more than 1048576 functions"), "{}", found["states"][0]["refused"]);
    Ok(())
}
