//! Whose work it is where packets cross namespaces, where softirqs go to a thread of the kernel, and where processes
//! end before they are looked at.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::{Load, number, python, sum, window};
use crate::agents::support::{B, Net, Place, SILENT};
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_programs};

crate::claims!(
    tcp_over_a_router_is_its_two_ends_and_forwarded,
    packets_that_a_router_passes_on_have_no_owner_here,
    softirqs_in_a_thread_of_the_kernel_stay_their_receivers,
    processes_that_ended_keep_their_work,
    thousands_of_short_processes_take_no_memory,
);

/// Takes a connection and all that comes.
const TAKE_STREAM: &str = "import socket,sys\n\
    s=socket.create_server((sys.argv[1],5001)); print('ready',flush=True)\n\
    c=s.accept()[0]\n\
    while c.recv(65536): pass\n";
/// Gives a connection all that it takes.
const GIVE_STREAM: &str = "import socket,sys\n\
    c=socket.create_connection((sys.argv[1],5001)); print('ready',flush=True)\n\
    while True: c.sendall(b'x'*16384)\n";
/// Takes datagrams.
pub const TAKE: &str = "import socket,sys\n\
    s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind((sys.argv[1],5001)); print('ready',flush=True)\n\
    while True: s.recv(2048)\n";
/// Gives datagrams, as many as the route takes.
pub const GIVE: &str = "import socket,sys\n\
    s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.connect((sys.argv[1],5001)); print('ready',flush=True)\n\
    while True:\n    try: s.send(b'x'*512)\n    except OSError: pass\n";
/// Gives datagrams to a port of loopback for 0.4 s.
const GIVE_SHORTLY: &str = "import socket,sys,time\n\
    s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.connect(('127.0.0.1',int(sys.argv[1])))\n\
    end=time.time()+0.4\n\
    while time.time()<end: s.send(b'x'*512)\n";
/// Starts process after process for 12 s, each of which gives one datagram, and prints how many there were.
const CHURN: &str = "import os,socket,sys,time\n\
    s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.connect(('127.0.0.1',int(sys.argv[1])))\n\
    end=time.time()+12; made=0\n\
    while time.time()<end:\n    \
        child=os.fork()\n    \
        if child==0:\n        s.send(b'x'*512); os._exit(0)\n    \
        os.waitpid(child,0); made+=1\n\
    print(made)\n";
/// Samples of a window of which a ratio is asked.
const LEAST: u64 = 200;

/// A script in a namespace, which is ready; `before` are words that start it.
pub(super) fn start(place: &Place, tool: &Tool, before: &[&str], script: &str, address: &str) -> Load {
    let words = [before, &["python3", "-c", script, address]].concat();
    let mut load = Load(place.program(tool, Path::new(words[0]), &words[1..]).stderr(Stdio::null()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(load.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    load
}

/// A window at a high rate, in which owners can be found.
fn window_of_owners(tool: &Tool) -> Result<Value, Skip> {
    need_programs(&["python3"])?;
    let found = window(tool, &["-t", "4s", "--rate", "499"])?;
    let refused = found["refused"].to_string();
    if refused.contains("softirq work") {
        return Err(Skip(refused));
    }
    let sums = ["units", "processes", "interrupted"].map(|table| sum(&found[table]));
    assert_eq!([sums[0]; 3], sums, "{found}");
    match sums[0] {
        few if few < LEAST => Err(Skip(format!("{few} samples of the network in 4 s: this machine is too busy"))),
        _ => Ok(found),
    }
}

/// CPUs of the rows that are a process's, or of a kind.
fn cpus(found: &Value, key: &str, wanted: impl Fn(&Value) -> bool) -> f64 {
    found["processes"].as_array().unwrap().iter().filter(|row| wanted(row)).map(|row| number(&row[key])).sum()
}

fn of_process(found: &Value, key: &str, load: &Load) -> f64 {
    cpus(found, key, |row| row["pid"] == load.0.id())
}

fn of_kind(found: &Value, key: &str, kind: &str) -> f64 {
    cpus(found, key, |row| row["kind"] == kind)
}

fn tcp_over_a_router_is_its_two_ends_and_forwarded() -> Result<(), Skip> {
    need_programs(&["python3"])?;
    let (net, tool) = (Net::new()?, Tool::new());
    let taker = start(&net.b, &tool, &[], TAKE_STREAM, B);
    let giver = start(&net.a, &tool, &[], GIVE_STREAM, B);
    let found = window_of_owners(&tool)?;
    let all = number(&found["network"]["cpus"]);
    let [given, taken] = [&giver, &taker].map(|load| of_process(&found, "cpus", load));
    let forwarded = of_kind(&found, "cpus", "forwarded");
    // Other claims may use the network at the same time: no share of all is asked. Figures have six digits.
    assert!(given + taken + forwarded <= all * 1.000_01, "{given} + {taken} + {forwarded} of {all}: {found}");
    assert!(forwarded > 0.0 && of_process(&found, "call", &giver) > 0.0 && of_process(&found, "call", &taker) > 0.0, "{found}");
    // The receive path is the receiver's and the acknowledgements' the sender's: both ends have softirqs.
    assert!(of_process(&found, "softirq", &taker) > 0.0, "{found}");
    Ok(())
}

/// Softirqs run in the sender's calls, and none of them is for its socket.
fn packets_that_a_router_passes_on_have_no_owner_here() -> Result<(), Skip> {
    need_programs(&["python3"])?;
    let (net, tool) = (Net::new()?, Tool::new());
    let giver = start(&net.a, &tool, &[], GIVE, SILENT);
    let found = window_of_owners(&tool)?;
    let forwarded = of_kind(&found, "softirq", "forwarded");
    let given = of_process(&found, "softirq", &giver);
    println!("forwarded {forwarded:.3} CPUs, the sender's softirqs {given:.3}, owners found {}", found["network"]["met"]);
    // Another claim's packets to sockets may be on the same CPU, and are not the sender's either.
    assert!(forwarded > 0.0 && given < 0.02 * forwarded, "forwarded {forwarded}, the sender's {given}: {found}");
    Ok(())
}

fn softirqs_in_a_thread_of_the_kernel_stay_their_receivers() -> Result<(), Skip> {
    need_programs(&["python3", "taskset"])?;
    let (net, tool) = (Net::new()?, Tool::new());
    // Softirqs that the router raises go to ksoftirqd where another task waits for the CPU.
    let pinned = ["taskset", "-c", "0"];
    let taker = start(&net.b, &tool, &pinned, TAKE, B);
    let giver = start(&net.a, &tool, &pinned, GIVE, B);
    let found = window_of_owners(&tool)?;
    let in_thread: f64 = found["per_cpu"].as_array().unwrap().iter().map(|cpu| number(&cpu["ksoftirqd"])).sum();
    let softirq = number(&found["network"]["softirq"]);
    if in_thread < 0.2 * softirq {
        return Err(Skip(format!("{in_thread:.3} of {softirq:.3} CPUs of softirqs were in ksoftirqd: it could not be forced")));
    }
    let kernel = of_kind(&found, "softirq", "kernel");
    let owned = of_process(&found, "softirq", &taker) + of_kind(&found, "softirq", "forwarded");
    assert!(owned > 0.5 * softirq && kernel < 0.1 * softirq, "{owned} owned, {kernel} the kernel's, of {softirq}: {found}");
    assert!(of_process(&found, "softirq", &giver) < owned, "{found}");
    Ok(())
}

fn processes_that_ended_keep_their_work() -> Result<(), Skip> {
    need_programs(&["python3"])?;
    let sink = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = sink.local_addr().unwrap().port().to_string();
    // One after the other, so that some end within a stretch.
    let ended = thread::spawn(move || {
        thread::sleep(Duration::from_millis(1_200));
        [(); 3].map(|()| {
            let mut load = Load(python(GIVE_SHORTLY, &port).spawn().unwrap());
            load.0.wait().unwrap();
            load.0.id()
        })
    });
    let found = window_of_owners(&Tool::new());
    let ended = ended.join().unwrap();
    let found = found?;
    for pid in ended {
        let row = found["processes"].as_array().unwrap().iter().find(|row| row["pid"] == pid);
        let row = row.unwrap_or_else(|| panic!("process {pid} has no row: {found}"));
        assert!(number(&row["call"]) > 0.0 && row["name"] != "ended", "{row}");
    }
    Ok(())
}

fn thousands_of_short_processes_take_no_memory() -> Result<(), Skip> {
    need_programs(&["python3"])?;
    let sink = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut churn = Load(python(CHURN, &sink.local_addr().unwrap().port().to_string()).spawn().unwrap());
    let tool = Tool::new();
    let child = tool.command(&["top", "--once", "-J", "-t", "10s"]).spawn().unwrap();
    let resident = |pid: u32| -> u64 {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    thread::sleep(Duration::from_secs(4));
    let early = resident(child.id());
    thread::sleep(Duration::from_secs(4));
    let late = resident(child.id());
    let found = Answer::from(child.wait_with_output().unwrap()).done().json();
    let mut made = String::new();
    churn.0.stdout.take().unwrap().read_to_string(&mut made).unwrap();
    if !found["network"].is_object() {
        return Err(Skip(found["refused"].to_string()));
    }
    let made: u64 = made.trim().parse().unwrap();
    let rows = found["processes"].as_array().unwrap();
    let samples = found["samples"]["made"].as_u64().unwrap();
    assert!(rows.len() as u64 <= samples + 100, "{} rows of {samples} samples and {made} processes", rows.len());
    assert!(found["units"].as_array().unwrap().len() <= rows.len() + 10, "{found}");
    // What one process takes is some 200 B; 4 s of all would be a megabyte.
    assert!(early > 0 && late < early + early / 10 + 2_048, "{early} kB, then {late} kB, with {made} processes");
    Ok(())
}
