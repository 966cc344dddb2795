//! This program as it runs in the guest: it starts `nettoll top`, and changes the machine behind certain windows.

use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;
use std::{fs, thread};

use caps::{CapSet, Capability};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime, clock_settime};

/// A CPU that is off line for two windows, and others that are for a moment.
pub const GONE: u64 = 5;
pub const GONE_SHORTLY: [u64; 3] = [6, 7, 8];
/// Seconds by which the clock is set.
pub const SET: i64 = 3600;
/// Where the command leaves its counters, which are written behind its windows.
pub const COUNTERS: &str = "/tmp/top.prom";

/// Runs a command with this step behind each of its windows, next to a load. Its rings have no more locked memory than
/// those of any user.
pub fn run(step: &str, command: &[String]) -> ExitCode {
    let step = match step {
        "cpus" => change_cpus,
        "clock" => change_clock,
        _ => panic!("no step {step}"),
    };
    caps::drop(None, CapSet::Bounding, Capability::CAP_IPC_LOCK).unwrap();
    thread::spawn(load);
    println!("booted in {} s", fs::read_to_string("/proc/uptime").unwrap().split(' ').next().unwrap());
    let mut top = Command::new(&command[0]).args(&command[1..]).stdout(Stdio::piped()).spawn().unwrap();
    let mut windows = 0;
    for line in BufReader::new(top.stdout.take().unwrap()).lines().map(Result::unwrap) {
        println!("{line}");
        if line.starts_with('{') {
            windows += 1;
            step(windows);
        }
    }
    let ended = top.wait().unwrap();
    print!("{}", fs::read_to_string(COUNTERS).unwrap_or_default());
    ExitCode::from(ended.code().map_or(1, |code| code as u8))
}

/// Sends datagrams to itself.
fn load() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let (address, mut message) = (socket.local_addr().unwrap(), [0; 112]);
    loop {
        // One that is lost is followed by another.
        let _ = socket.send_to(&message, address).and_then(|_| socket.recv(&mut message));
    }
}

fn change_cpus(windows: u32) {
    match windows {
        1 => put(GONE, false),
        3 => put(GONE, true),
        4 => GONE_SHORTLY.into_iter().for_each(|cpu| [false, true].into_iter().for_each(|online| put(cpu, online))),
        _ => {}
    }
}

fn put(cpu: u64, online: bool) {
    fs::write(format!("/sys/devices/system/cpu/cpu{cpu}/online"), u8::from(online).to_string()).unwrap();
}

fn change_clock(windows: u32) {
    let by = match windows {
        1 => SET,
        3 => -SET,
        _ => return,
    };
    let clock = ClockId::CLOCK_REALTIME;
    let now = clock_gettime(clock).unwrap();
    clock_settime(clock, TimeSpec::new(now.tv_sec() + by, now.tv_nsec())).unwrap();
}
