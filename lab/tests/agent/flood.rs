//! Many connections that nobody needs, and none at all.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use lab::connection::Credentials;
use lab::greeting::ClientHello;
use model::control::{FromHost, ToHost};
use model::frame::encode;

use crate::claims;
use crate::support::Skip;
use crate::support::agent::Agent;
use crate::support::files::{Files, SECRET, knows};
use crate::support::inside::here;
use crate::support::inside::loopback;
use crate::support::roles::AgentSpec;
use crate::support::talk::Controller;

claims!(a_flood_does_not_keep_a_controller_out, an_idle_agent_sleeps);

/// What the agent may take, in KiB.
const MEMORY: u64 = 64 << 10;

fn a_flood_does_not_keep_a_controller_out() -> Result<(), Skip> {
    let files = Files::new();
    let secret = files.secret("secret", SECRET);
    let agent = Agent::start(&AgentSpec { listen: vec![here()?], secret: Some(secret.clone()), ..AgentSpec::default() });
    let mut idle = flood(agent.address(), 1_000, b"");
    let mut garbage = flood(agent.address(), 1_000, &[0x5a; 8_192]);
    let mut slow = flood(agent.address(), 100, b"");
    let over = Arc::new(AtomicBool::new(false));
    // A byte every 20 ms each, new ones in place of those sent away.
    let dribble = thread::spawn({
        let (over, address) = (Arc::clone(&over), agent.address());
        let hello = encode(&ClientHello::new("1.0.0", [1; 32])).unwrap();
        move || {
            for byte in hello.iter().cycle() {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                for socket in &mut slow {
                    if socket.write_all(&[*byte]).is_err() {
                        *socket = open(address);
                    }
                }
                thread::sleep(Duration::from_millis(20));
            }
        }
    });
    let credentials = knows(&secret);
    for round in 0..10 {
        let mut controller = Controller::connect(agent.address(), &credentials).unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert_eq!(controller.ask(&ToHost::Turn), FromHost::Yours { shared: false });
        // More of them, while it is served.
        idle.extend(flood(agent.address(), 100, b""));
        garbage.extend(flood(agent.address(), 100, &[0xff; 64]));
        assert!(matches!(controller.ask(&ToHost::Clock), FromHost::Clock { .. }), "round {round}");
        controller.tell(&ToHost::Release);
    }
    over.store(true, Ordering::Relaxed);
    dribble.join().unwrap();
    let most = agent.status("VmHWM");
    println!("an agent under 4,100 connections took at most {} MiB", most / 1_024);
    assert!(most <= MEMORY, "{most} KiB");
    let open = std::fs::read_dir(format!("/proc/{}/fd", agent.id())).unwrap().count();
    assert!(open < 320, "{open} descriptors");
    let lines = agent.log().lines().count();
    assert!(lines < 200, "{lines} lines about strangers");
    agent.logs("lines were left out");
    drop((idle, garbage));
    Ok(())
}

fn open(agent: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(agent).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

fn flood(agent: SocketAddr, count: usize, bytes: &[u8]) -> Vec<TcpStream> {
    let one = |_| {
        let mut socket = open(agent);
        // It may have been sent away already.
        let _ = socket.write(bytes);
        socket
    };
    (0..count).map(one).collect()
}

fn an_idle_agent_sleeps() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    // Somebody was there and is gone.
    drop(Controller::connect(agent.address(), &Credentials::default()).unwrap());
    agent.logs(": gone");
    thread::sleep(Duration::from_millis(300));
    let before = (switches(&agent), ticks(&agent));
    thread::sleep(Duration::from_secs(3));
    assert_eq!((switches(&agent), ticks(&agent)), before, "it was awake");
    Ok(())
}

/// How often any of its threads left a CPU.
fn switches(agent: &Agent) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", agent.id())).unwrap();
    let count = |path: std::path::PathBuf| -> u64 {
        let text = std::fs::read_to_string(path.join("status")).unwrap();
        let lines = text.lines().filter(|line| line.contains("ctxt_switches"));
        lines.map(|line| line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()).sum()
    };
    tasks.map(|task| count(task.unwrap().path())).sum()
}

/// Its CPU time.
fn ticks(agent: &Agent) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/schedstat", agent.id())).unwrap();
    stat.split_whitespace().next().unwrap().parse().unwrap()
}
