//! Connections that break every rule. Each ends alone: the agent goes on.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use lab::connection::{Credentials, SILENCE};
use lab::greeting::{Answer, ClientHello, Verdict};
use model::control::{CONTROL_VERSION, FromHost, ToHost};
use model::frame::{BEAT, encode};
use nix::sys::signal::Signal;

use crate::claims;
use crate::support::agent::Agent;
use crate::support::inside::loopback;
use crate::support::raw::{Raw, serve_once};
use crate::support::talk::{Controller, connect};
use crate::support::{Skip, says, within};

claims!(
    half_a_message,
    absurd_lengths_before_the_greeting_is_over,
    absurd_lengths_afterwards,
    a_greeting_of_a_byte_at_a_time,
    what_is_no_command,
    a_refusal_is_heard_whatever_was_still_said,
    a_peer_that_stops_reading,
    a_peer_that_asks_faster_than_it_reads,
    a_peer_that_stops_beating,
    an_agent_that_stops,
    an_agent_that_is_killed,
    a_host_process_that_is_killed,
    an_agent_that_never_answers,
);

/// It still lets somebody in, and has nothing left of those before.
#[track_caller]
fn still_serves(agent: &Agent) {
    let mut controller = Controller::connect(agent.address(), &Credentials::default()).unwrap();
    assert!(matches!(controller.ask(&ToHost::Clock), FromHost::Clock { .. }));
    drop(controller);
    within(Duration::from_secs(4), "all host processes end", || agent.descendants().is_empty());
}

/// A connection past its greeting.
fn admitted(agent: SocketAddr) -> Raw {
    let mut raw = Raw::connect(agent);
    raw.say(&ClientHello::new("1.0.0", [1; 32]));
    raw.hear::<Answer>();
    assert!(raw.hear::<Verdict>().admitted);
    raw.say(&ToHost::Hello { version: CONTROL_VERSION });
    assert!(matches!(raw.hear(), FromHost::Hello { .. }));
    raw
}

fn half_a_message() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let hello = encode(&ClientHello::new("1.0.0", [1; 32])).unwrap();
    Raw::connect(agent.address()).send(&hello[..hello.len() / 2]);
    agent.logs("went away before its greeting was over");
    let clock = encode(&ToHost::Clock).unwrap();
    admitted(agent.address()).send(&clock[..clock.len() / 2]);
    agent.logs(": gone");
    still_serves(&agent);
    Ok(())
}

/// 2^63 in eight bytes, 4 GiB less one, 4 GiB and a little more in five.
const ABSURD: [&[u8]; 3] = [&[0x80, 0, 0, 0, 0, 0, 0, 0], &[0xff; 4], &[0, 0, 0x10, 1]];

fn absurd_lengths_before_the_greeting_is_over() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    for length in ABSURD {
        let mut raw = Raw::connect(agent.address());
        raw.send(length);
        says(&String::from_utf8(raw.rest()).unwrap(), &["is announced; the longest has 4096"]);
    }
    assert!(agent.status("VmHWM") < 64 << 10);
    still_serves(&agent);
    Ok(())
}

fn absurd_lengths_afterwards() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    for length in [ABSURD[0], ABSURD[1], &[0, 0x40, 0, 1]] {
        let mut raw = admitted(agent.address());
        raw.send(length);
        says(&String::from_utf8(raw.rest()).unwrap(), &["is announced; the longest has 4194304"]);
    }
    assert!(agent.status("VmHWM") < 64 << 10);
    still_serves(&agent);
    Ok(())
}

fn a_greeting_of_a_byte_at_a_time() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let mut raw = Raw::connect(agent.address());
    let begun = Instant::now();
    for byte in encode(&ClientHello::new("1.0.0", [1; 32])).unwrap() {
        if raw.socket.write_all(&[byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(begun.elapsed() < Duration::from_secs(8), "it was not sent away");
    agent.logs("did not end its greeting within 5 s");
    still_serves(&agent);
    Ok(())
}

fn what_is_no_command() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let mut raw = admitted(agent.address());
    raw.send(b"\0\0\0\x02{}");
    says(&String::from_utf8(raw.rest()).unwrap(), &["it sent what is no command"]);
    still_serves(&agent);
    Ok(())
}

fn a_peer_that_stops_reading() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let mut raw = admitted(agent.address());
    raw.say(&ToHost::Turn);
    assert_eq!(raw.hear::<FromHost>(), FromHost::Yours { shared: false });
    raw.socket.set_nonblocking(true).unwrap();
    // It asks on and on, and so is not silent, but takes no answer.
    let clock = encode(&ToHost::Facts { device: "lo".to_owned(), endpoint_cpus: Vec::new() }).unwrap();
    let asks: Vec<u8> = clock.iter().copied().cycle().take(clock.len() * 200).collect();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match (&raw.socket).write(&asks) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(Duration::from_millis(20)),
            Err(_) => break,
            Ok(_) => std::thread::sleep(Duration::from_millis(5)),
        }
        assert!(Instant::now() < deadline, "it was not sent away: {}", agent.log());
    }
    assert!(agent.status("VmHWM") < 64 << 10, "{}", agent.status("VmHWM"));
    drop(raw);
    still_serves(&agent);
    Ok(())
}

/// It takes 4 KiB every 20 ms and so is neither silent nor stuck, but its
/// questions bring many times that, and the agent answers them itself.
fn a_peer_that_asks_faster_than_it_reads() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let mut raw = admitted(agent.address());
    // In its turn it may ask as often as it likes.
    raw.say(&ToHost::Turn);
    assert_eq!(raw.hear::<FromHost>(), FromHost::Yours { shared: false });
    raw.socket.set_nonblocking(true).unwrap();
    let ask = encode(&ToHost::Facts { device: "../lo".to_owned(), endpoint_cpus: Vec::new() }).unwrap();
    let asks: Vec<u8> = ask.iter().copied().cycle().take(ask.len() * 4_000).collect();
    let (mut written, mut at) = (0, 0);
    let mut answers = [0; 4 << 10];
    let mut read = Instant::now();
    let deadline = Instant::now() + Duration::from_secs(4);
    while Instant::now() < deadline {
        match (&raw.socket).write(&asks[at..]) {
            Ok(length) => {
                written += length;
                at = (at + length) % asks.len();
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(Duration::from_millis(2)),
            Err(error) => panic!("{error}: {}", agent.log()),
        }
        if read.elapsed() >= Duration::from_millis(20) {
            read = Instant::now();
            let _ = (&raw.socket).read(&mut answers);
        }
    }
    let most = agent.status("VmHWM");
    println!("an agent that was asked {} KiB of questions took at most {} MiB", written >> 10, most >> 10);
    assert!(most < 32 << 10, "{most} KiB");
    drop(raw);
    still_serves(&agent);
    Ok(())
}

fn a_refusal_is_heard_whatever_was_still_said() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let mut raw = admitted(agent.address());
    let mut all = b"\0\0\0\x02{}".to_vec();
    all.extend(BEAT.repeat(50_000));
    raw.send(&all);
    let mut heard = Vec::new();
    raw.socket.read_to_end(&mut heard).unwrap();
    // An end in order, not a reset: after that a lost word would not be sent again.
    std::thread::sleep(Duration::from_millis(100));
    assert!(raw.socket.take_error().unwrap().is_none(), "it was reset");
    says(&String::from_utf8_lossy(&heard), &["it sent what is no command"]);
    still_serves(&agent);
    Ok(())
}

fn a_peer_that_stops_beating() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let mut raw = admitted(agent.address());
    // As long as it beats, it may wait.
    for _ in 0..12 {
        raw.send(&BEAT);
        std::thread::sleep(Duration::from_millis(250));
    }
    raw.say(&ToHost::Clock);
    assert!(matches!(raw.hear(), FromHost::Clock { .. }));
    let silent = Instant::now();
    assert_eq!(raw.rest(), b"");
    assert!(silent.elapsed() >= SILENCE - Duration::from_millis(50), "{:?}", silent.elapsed());
    agent.logs("silent for 1.75 s");
    still_serves(&agent);
    Ok(())
}

fn an_agent_that_stops() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let mut controller = Controller::connect(agent.address(), &Credentials::default()).unwrap();
    agent.signal(Signal::SIGSTOP);
    says(&controller.ends(), &["nothing came from it for 1.75 s"]);
    agent.signal(Signal::SIGCONT);
    still_serves(&agent);
    Ok(())
}

fn an_agent_that_is_killed() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let mut controller = Controller::connect(agent.address(), &Credentials::default()).unwrap();
    let left = agent.descendants();
    assert_eq!(left.len(), 1);
    agent.signal(Signal::SIGKILL);
    let reason = controller.ends();
    assert!(reason.contains("closed the connection") || reason.contains("connection broke"), "{reason}");
    within(Duration::from_secs(2), "its host process ends", || !is_alive(left[0]));
    Ok(())
}

fn is_alive(pid: u32) -> bool {
    // Of one that ended and was not waited for, the state is Z.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn a_host_process_that_is_killed() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let mut controller = Controller::connect(agent.address(), &Credentials::default()).unwrap();
    let host = agent.descendants()[0];
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(host.cast_signed()), Signal::SIGKILL).unwrap();
    match controller.hear() {
        Some(FromHost::Failed { error }) => says(&error, &["the host's process on the agent's machine ended"]),
        other => panic!("{other:?}"),
    }
    controller.ends();
    agent.logs("SIGKILL");
    still_serves(&agent);
    Ok(())
}

fn an_agent_that_never_answers() -> Result<(), Skip> {
    let (address, held) = serve_once(loopback(), |controller| {
        std::thread::sleep(Duration::from_secs(7));
        drop(controller);
    });
    let error = connect(address, &Credentials::default()).unwrap_err();
    says(&error.to_string(), &["more than 5 s for its answer"]);
    assert!(error.may_pass());
    held.join().unwrap();
    Ok(())
}
