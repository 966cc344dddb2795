//! Agents that are not there, do not let in, or are not what they should be.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lab::greeting::{AgentId, Answer, Verdict, Wants};
use lab::hex::Hex;
use model::control::{CONTROL_VERSION, FromHost};
use model::frame::{BEAT, encode};
use serde_json::json;

use super::support::{Agent, B, Net, SILENT, plan, private, secret};
use crate::support::Skip;
use crate::support::processes::{assert_nothing_left, traces};
use crate::support::tool::Tool;

crate::claims!(
    no_route_and_no_answer,
    a_wrong_secret_and_none,
    an_agent_of_another_version,
    half_a_message_and_an_absurd_length,
    an_agent_that_stops_reading,
);

/// The study is refused, as text and as JSON, and nothing was measured.
#[track_caller]
fn refused(run: impl Fn(&[&str]) -> crate::support::tool::Answer, words: &[&str]) {
    run(&[]).refused(1, words);
    run(&["-J"]).refused_in_json(1, words);
}

fn no_route_and_no_answer() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    let study = |host: &str, form: &[&str]| net.router.study(&tool, &plan(1), &[&["--host", host], form, &secret].concat());
    // The router has no default route.
    let words = ["host b: no agent at 198.18.0.1", "Network is unreachable", "is `nettoll agent` running there"];
    refused(|form| study("b=198.18.0.1", form), &words);
    let begun = Instant::now();
    let silent = format!("no agent at {SILENT}");
    study(&format!("b={SILENT}"), &[]).refused(1, &[&silent, "no answer for 5 s", "check the address, the route and firewalls on the way"]);
    assert!(begun.elapsed() < Duration::from_secs(20));
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_wrong_secret_and_none() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    private(&tool, "other", "another secret of some length\n");
    let agent = Agent::start(&net.b, &tool, &secret);
    let host = format!("b={B}");
    let study = |more: &[&str], form: &[&str]| net.a.study(&tool, &plan(1), &[&["--host", &host], more, form].concat());
    refused(|form| study(&["--secret-file", "other"], form), &["host b: no agent at 203.0.113.1", "the agent refused", "secret"]);
    refused(|form| study(&[], form), &["the agent asks for its secret", "--secret-file FILE"]);
    study(&["--secret-file", "none"], &[]).refused(1, &["read the secret none: No such file", "check the path"]);
    // Whoever could not get in has cost nobody anything.
    study(&secret, &[]).done();
    tool.stored().all_measured();
    agent.end();
    net.nothing_left(&[&tool]);
    Ok(())
}

/// Somebody on loopback who does the same with each who comes, `times` times.
fn pretend(times: usize, serve: impl Fn(TcpStream) + Send + 'static) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = format!("b={}", listener.local_addr().unwrap());
    (host, thread::spawn(move || (0..times).for_each(|_| serve(listener.accept().unwrap().0))))
}

/// Reads what a controller says first, and answers.
fn greet(socket: &mut TcpStream, answer: &[u8]) {
    let _ = socket.read(&mut [0; 4_096]).unwrap();
    socket.write_all(answer).unwrap();
}

/// Lets the controller in, as an agent does.
fn admit(socket: &mut TcpStream) {
    let agent = AgentId { tool: "0.0.0".to_owned(), id: Hex([1; 16]) };
    greet(socket, &encode(&Answer::new(agent, [2; 32], Wants::Nothing)).unwrap());
    socket.write_all(&encode(&Verdict { admitted: true, proof: None }).unwrap()).unwrap();
}

/// Runs a study with such a host `b`, in text and in JSON.
#[track_caller]
fn meets(words: &[&str], serve: impl Fn(TcpStream) + Send + 'static) {
    let (tool, before) = (Tool::new(), traces());
    let (host, served) = pretend(2, serve);
    refused(|form| tool.study(&plan(1), &[&["--host", &host], form].concat()), words);
    served.join().unwrap();
    assert_nothing_left(&tool, &before);
}

fn an_agent_of_another_version() -> Result<(), Skip> {
    for version in [CONTROL_VERSION - 1, CONTROL_VERSION + 1] {
        let theirs = format!("the agent (nettoll 9.9.9) speaks version {version} of the control protocol");
        let ours = format!("with version {CONTROL_VERSION}: install the same nettoll on both");
        meets(&["host b: no agent at 127.0.0.1", &theirs, &ours], move |mut socket| {
            let answer = json!({"magic": "nettoll", "version": version, "tool": "9.9.9", "other": {"than": "ours"}});
            greet(&mut socket, &encode(&answer).unwrap());
        });
    }
    Ok(())
}

fn half_a_message_and_an_absurd_length() -> Result<(), Skip> {
    // 2^63 in eight bytes; as ours are read it is 2^31.
    let absurd = (1_u64 << 63).to_be_bytes();
    meets(&["is announced; the longest has 4096", "check the port"], move |mut socket| greet(&mut socket, &absurd));
    meets(&["closed the connection while its answer was awaited", "its own log says why"], |mut socket| {
        greet(&mut socket, b"\0\0\0\x40{\"magic\": \"nett");
    });
    meets(&["is announced; the longest has 4194304"], move |mut socket| {
        admit(&mut socket);
        socket.write_all(&absurd).unwrap();
        // Closed with something unread, it would be reset and the rest lost.
        while socket.read(&mut [0; 4_096]).is_ok_and(|length| length > 0) {}
    });
    meets(&["host b: the agent at 127.0.0.1", "was lost", "closed the connection", "see whether it still runs"], |mut socket| {
        admit(&mut socket);
        let _ = socket.read(&mut [0; 4_096]);
        let hello = encode(&FromHost::Hello { version: CONTROL_VERSION, pid: 1, boot: String::new() }).unwrap();
        socket.write_all(&hello[..hello.len() / 2]).unwrap();
    });
    Ok(())
}

/// It beats on, so that it seems to live, and neither reads nor answers.
fn an_agent_that_stops_reading() -> Result<(), Skip> {
    let (tool, before) = (Tool::new(), traces());
    let (host, served) = pretend(1, |mut socket| {
        admit(&mut socket);
        while socket.write_all(&BEAT).is_ok() {
            thread::sleep(Duration::from_millis(250));
        }
    });
    let begun = Instant::now();
    let answer = tool.study(&plan(1), &["--host", &host]);
    answer.refused(1, &["host b: the agent at 127.0.0.1", "was lost", "see whether it still runs"]);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    served.join().unwrap();
    assert_nothing_left(&tool, &before);
    Ok(())
}
