//! What happens when TCP_CRR has used up the local ports. The watched process
//! has a network namespace of its own with few of them.

use std::fs;
use std::io::Read;

use model::control::{FromEndpoint, SentTotals, ToEndpoint};
use model::plan::TrialEnd;
use model::{Family, Nanos, Role, Test};
use nix::sched::{CloneFlags, unshare};

use crate::Skip;
use crate::child;
use crate::support::{Endpoint, cell, let_flow, task};

const FIRST: u16 = 40_000;
const PORTS: u16 = 32;

pub fn run_out() -> Result<(), Skip> {
    let (mut said, mut whole) = (String::new(), false);
    // Among so few ports the kernel may deal the last one out before the trial begins.
    for _ in 0..10 {
        let mut process = child::command("ports").spawn().map_err(|answer| Skip(answer.to_string()))?;
        said.clear();
        process.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        whole = process.wait().unwrap().success();
        if whole {
            break;
        }
    }
    assert!(whole, "{said}");
    if let Some(refusal) = said.strip_prefix("refused: ") {
        return Err(Skip(refusal.trim().to_owned()));
    }
    println!("{said}");
    let made: u16 = said.split("after ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
    // The listener and the first connection have one each, or two of them the same.
    assert!((PORTS - 3..=PORTS).contains(&made), "{said}");
    for part in ["connect to 127.0.0.1:", "no local port is left", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_tw_reuse", "TIME_WAIT"] {
        assert!(said.contains(part), "{part} is not in: {said}");
    }
    Ok(())
}

/// The watched process.
pub fn run() {
    match prepare() {
        Ok(()) => println!("{}", exhaust()),
        Err(refusal) => println!("refused: {refusal}"),
    }
}

/// A namespace with loopback and few ports.
fn prepare() -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWNET)
        .or_else(|_| unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET))
        .map_err(|errno| format!("no network namespace can be made here: {errno}"))?;
    loopback_up().map_err(|answer| format!("loopback cannot be brought up: {answer}"))?;
    let settings = [("ip_local_port_range", format!("{FIRST} {}", FIRST + PORTS - 1)), ("tcp_tw_reuse", "0".to_owned())];
    settings.into_iter().try_for_each(|(name, value)| {
        fs::write(format!("/proc/sys/net/ipv4/{name}"), value).map_err(|answer| format!("net.ipv4.{name} cannot be set: {answer}"))
    })
}

fn loopback_up() -> std::io::Result<()> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: a request of zeros is a valid one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request outlives the call, which reads it.
    match unsafe { libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&socket), libc::SIOCSIFFLAGS, &raw const request) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Runs a trial that needs more ports than there are; returns why it ended.
fn exhaust() -> String {
    let ((mut sender, _), (mut receiver, _)) = (Endpoint::start(), Endpoint::start());
    let cell = cell(Test::TcpCrr, Family::V4, 64);
    let task = |role| task(role, &cell, TrialEnd::Length(Nanos::from_millis(60_000)), Nanos::from_millis(0));
    let (from, to) = (sender.prepare(task(Role::Sender)), receiver.prepare(task(Role::Receiver)));
    receiver.tell(&ToEndpoint::Connect { peers: vec![from] });
    sender.tell(&ToEndpoint::Connect { peers: vec![to] });
    receiver.hear_joined();
    sender.hear_joined();
    let_flow(&mut sender, &mut receiver, TrialEnd::Length(Nanos::default()));
    // It may say its end first, so that nobody waits for it.
    loop {
        match sender.hear() {
            FromEndpoint::Sent(_) => {
                for endpoint in [&mut sender, &mut receiver] {
                    endpoint.tell(&ToEndpoint::Drain(SentTotals::one(0, 0)));
                }
            }
            FromEndpoint::Failed { error } => return error,
            other => panic!("expected a failure, got {other:?}"),
        }
    }
}
