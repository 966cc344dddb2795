//! What was tried against an agent, each time successfully once.

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use lab::connection::Credentials;
use lab::greeting::{Answer, ClientHello, Verdict};
use model::Nanos;
use model::Pass;
use model::control::{CpuPlace, FromHost, Observe, ToHost};
use socket2::{Domain, Socket, Type};

use crate::claims;
use crate::limits::{joined, start, with};
use crate::support::agent::Agent;
use crate::support::files::{Files, SECRET, knows};
use crate::support::inside::loopback;
use crate::support::raw::Raw;
use crate::support::roles::AgentSpec;
use crate::support::talk::{Controller, connect};
use crate::support::{Skip, says};

claims!(
    no_other_process_is_watched,
    an_observation_without_end_takes_little_memory,
    the_door_stays_open_under_a_flood_from_everywhere,
    commands_without_a_turn_end_the_connection,
    a_line_of_the_log_cannot_be_forged,
    a_tunnel_to_this_machine_is_no_trust,
    ports_of_services_are_refused,
);

fn observe(longest: Nanos, cpus: Vec<CpuPlace>) -> ToHost {
    ToHost::Observe(Observe { pass: Pass::Time, period: Nanos::new(106_681), longest, cpus })
}

fn no_other_process_is_watched() -> Result<(), Skip> {
    let (_agent, mut controller) = joined(AgentSpec::default());
    start(&mut controller);
    for thread in [std::process::id(), 1, u32::MAX] {
        let cpus = vec![CpuPlace { cpu: 0, ksoftirqd: Some(thread) }];
        says(&controller.refused(&observe(Nanos::from_millis(100), cpus)), &["it is no ksoftirqd of a CPU that this host offers"]);
        says(&controller.refused(&with(|task| task.ksoftirqd = vec![thread])), &["it is no ksoftirqd"]);
    }
    let FromHost::Cpus(places) = controller.ask(&ToHost::Cpus) else { panic!("no CPUs") };
    let Some(known) = places.into_iter().find(|place| place.ksoftirqd.is_some()) else {
        return Err(Skip("ksoftirqd cannot be seen in this pid namespace".to_owned()));
    };
    says(&controller.refused(&observe(Nanos::from_millis(100), vec![known; 16])), &["it is named twice"]);
    Ok(())
}

fn an_observation_without_end_takes_little_memory() -> Result<(), Skip> {
    let (agent, mut controller) = joined(AgentSpec::default());
    start(&mut controller);
    let FromHost::Cpus(places) = controller.ask(&ToHost::Cpus) else { panic!("no CPUs") };
    match controller.ask(&observe(Nanos::new(u64::MAX), places)) {
        FromHost::Observing => {}
        FromHost::NotObserved(refused) => return Err(Skip(refused.to_string())),
        other => panic!("{other:?}"),
    }
    // Pages of rings are pinned; in which process of the agent's does not matter.
    let pinned = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmPin:")).unwrap_or("0").trim();
        line.trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let all: u64 = agent.descendants().iter().map(pinned).sum();
    assert!(all <= 300 << 10, "{all} KiB are pinned");
    Ok(())
}

/// A connection from an address of this machine's own choice.
fn from(source: [u8; 4], to: SocketAddr) -> Option<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).ok()?;
    socket.bind(&SocketAddr::new(IpAddr::from(source), 0).into()).ok()?;
    socket.connect(&to.into()).ok()?;
    Some(socket.into())
}

/// A path of 60 ms there and back.
fn slow_path(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().take(20).flatten() {
            let Some(agent) = from([127, 9, 9, 9], to) else { continue };
            for (mut a, mut b) in [(client.try_clone().unwrap(), agent.try_clone().unwrap()), (agent, client)] {
                thread::spawn(move || {
                    let mut bytes = [0; 4096];
                    while let Ok(length @ 1..) = a.read(&mut bytes) {
                        thread::sleep(Duration::from_millis(30));
                        if b.write_all(&bytes[..length]).is_err() {
                            break;
                        }
                    }
                    let _ = b.shutdown(Shutdown::Both);
                });
            }
        }
    });
    address
}

/// 256 idle connections from as many addresses, and 50 new ones a second.
fn the_door_stays_open_under_a_flood_from_everywhere() -> Result<(), Skip> {
    let files = Files::new();
    let secret = files.secret("secret", SECRET);
    let agent = Agent::start(&AgentSpec { listen: vec![loopback()], secret: Some(secret.clone()), ..AgentSpec::default() });
    let (address, over) = (agent.address(), Arc::new(AtomicBool::new(false)));
    let mut idle: Vec<TcpStream> = (0..=255).filter_map(|last| from([127, 1, 1, last], address)).collect();
    assert!(idle.len() > 200, "{}", idle.len());
    let flood = thread::spawn({
        let over = Arc::clone(&over);
        move || {
            for number in 0_u16.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let [high, low] = number.to_be_bytes();
                idle.extend(from([127, 2 + high, low, 1], address));
                let old = idle.len().saturating_sub(400);
                drop(idle.drain(..old));
                thread::sleep(Duration::from_millis(20));
            }
        }
    });
    let credentials = knows(&secret);
    let proxy = slow_path(address);
    let admitted = (0..20).filter(|_| Controller::connect(proxy, &credentials).is_ok()).count();
    over.store(true, Ordering::Relaxed);
    flood.join().unwrap();
    assert_eq!(admitted, 20);
    Ok(())
}

fn commands_without_a_turn_end_the_connection() -> Result<(), Skip> {
    let (_agent, mut controller) = joined(AgentSpec::default());
    assert_eq!(controller.ask(&ToHost::Turn), FromHost::Yours { shared: false });
    (0..600).for_each(|_| assert!(matches!(controller.ask(&ToHost::Clock), FromHost::Clock { .. }), "in its turn it may"));
    controller.tell(&ToHost::Release);
    let answered = (0..600).take_while(|_| {
        controller.tell(&ToHost::Clock);
        matches!(controller.hear(), Some(FromHost::Clock { .. }))
    });
    let answered = answered.count();
    assert!((300..500).contains(&answered), "{answered}");
    Ok(())
}

fn a_line_of_the_log_cannot_be_forged() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let mut controller = Raw::connect(agent.address());
    controller.say(&ClientHello::new("1.0.0", [1; 32]));
    let _: (Answer, Verdict) = (controller.hear(), controller.hear());
    let forged = "x\nnettoll agent: 198.51.100.7:5: admitted\u{1b}[2J\u{202e}";
    controller.say(&serde_json::json!({ forged: "x".repeat(100_000) }));
    controller.rest();
    agent.logs("it sent what is no command");
    let log = agent.log();
    assert!(!log.lines().any(|line| line.starts_with("nettoll agent: 198.51.100.7")), "{log}");
    assert!(!log.contains('\u{1b}') && !log.contains('\u{202e}'), "{log}");
    assert!(log.lines().all(|line| line.len() < 2_000));
    Ok(())
}

/// With a secret, loopback has to know it, and so has an agent on loopback.
fn a_tunnel_to_this_machine_is_no_trust() -> Result<(), Skip> {
    let files = Files::new();
    let secret = files.secret("secret", SECRET);
    let closed = Agent::start(&AgentSpec { listen: vec![loopback()], secret: Some(secret.clone()), ..AgentSpec::default() });
    says(&connect(closed.address(), &Credentials::default()).unwrap_err().to_string(), &["asks for its secret"]);
    assert!(connect(closed.address(), &knows(&secret)).is_ok());
    // An agent that asks for none, where a controller has one.
    let open = Agent::at(loopback());
    says(&connect(open.address(), &knows(&secret)).unwrap_err().to_string(), &["has not shown that it knows it", "--trust-loopback"]);
    let trusting = Credentials { trust_loopback: true, ..knows(&secret) };
    assert!(connect(open.address(), &trusting).is_ok());
    let spec = AgentSpec { listen: vec![loopback()], secret: Some(secret), trust_loopback: true, ..AgentSpec::default() };
    assert!(connect(Agent::start(&spec).address(), &Credentials::default()).is_ok());
    Ok(())
}

fn ports_of_services_are_refused() -> Result<(), Skip> {
    let (_agent, mut controller) = joined(AgentSpec::default());
    start(&mut controller);
    says(&controller.refused(&with(|task| task.local.set_port(80))), &["port 80", "services"]);
    says(&controller.refused(&with(|task| task.cell.cc = Some("nosuch".to_owned()))), &["'nosuch' is not loaded"]);
    Ok(())
}
