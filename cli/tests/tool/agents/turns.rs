//! Two controllers at one agent.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;

use model::Warning;

use super::support::{Agent, B, CELLS, Net, Place, ended, plan, says, secret};
use crate::support::Skip;
use crate::support::tool::Tool;

crate::claims!(
    whoever_waits_is_told_its_place,
    clients_at_once_are_told_of_each_other_and_keep_their_own_figures,
    trials_next_to_others_are_marked_and_more_than_are_allowed_wait,
);

/// A trial of a few seconds that is under way.
fn busy(place: &Place, tool: &Tool, arguments: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let one = [&["-c", B, "-t", "3", "-i", "0.2", "-b", "1M"][..], arguments].concat();
    let mut child = place.nettoll(tool, &one).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.trim_start().starts_with("0.0") && !line.trim_start().starts_with("0-") {
        line.clear();
        if out.read_line(&mut line).unwrap() == 0 {
            panic!("it ended before its first interval: {:?}", ended(child));
        }
    }
    (child, out)
}

fn whoever_waits_is_told_its_place() -> Result<(), Skip> {
    let (net, tools) = (Net::new()?, [(); 3].map(|()| Tool::new()));
    let [first, second, third] = &tools;
    let secrets = tools.each_ref().map(secret);
    let agent = Agent::start(&net.b, first, &secrets[0]);
    let (mut child, mut out) = busy(&net.a, first, &secrets[0]);
    let host = format!("b={B}");
    let study = net.c.start_study(second, &plan(1), &[&["--host", &host, "--events", "events.jsonl"][..], &secrets[1]].concat());
    let mut hand = net.router.nettoll(third, &[&["-c", B, "-t", "0.1", "-i", "0"][..], &secrets[2]].concat());
    let hand = hand.spawn().unwrap();
    for (answer, words) in [(ended(study).done(), "host b is busy with another controller: "), (ended(hand).done(), "host b is busy: ")] {
        says(&answer.stderr, &[words]);
        assert!(answer.stderr.contains("before"), "{}", answer.stderr);
    }
    assert_eq!(second.stored().all_measured().len(), CELLS);
    // A program that follows it hears so before there is a run.
    let events = std::fs::read_to_string(second.path().join("events.jsonl")).unwrap();
    let first = events.lines().next().unwrap();
    assert!(first.contains("\"event\":\"delay\"") && first.contains("host b is busy"), "{events}");
    assert_eq!(events.matches("\"event\":\"begin\"").count(), 1, "{events}");
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest}");
    agent.end();
    net.nothing_left(&tools.each_ref());
    Ok(())
}

/// Three at once, each at a rate of its own, and a study that has to wait until one of them has gone.
fn clients_at_once_are_told_of_each_other_and_keep_their_own_figures() -> Result<(), Skip> {
    let (net, tools) = (Net::new()?, [(); 4].map(|()| Tool::new()));
    let secrets = tools.each_ref().map(secret);
    let agent = Agent::start(&net.b, &tools[0], &[&secrets[0][..], &["--at-once", "3", "--data-ports", "11000-11002"]].concat());
    let places = [&net.a, &net.c, &net.router];
    // Messages of 1,000 B: 125, 250 and 500 of them a second.
    let begin = |at: usize| {
        let rate = format!("{}/s", 125 << at);
        let words = ["-c", B, "-u", "-l", "1000", "-t", "3", "-b", &rate, "-J"];
        places[at].nettoll(&tools[at], &[&words[..], &secrets[at]].concat()).spawn().unwrap()
    };
    let clients = [0, 1, 2].map(begin);
    let answers = clients.map(|client| ended(client).done());
    for (at, answer) in answers.iter().enumerate() {
        let json = answer.json();
        let sent = json["end"]["sum"]["packets"].as_f64().unwrap();
        let wanted = f64::from(125 << at) * 3.0;
        assert!((wanted * 0.9..wanted * 1.1).contains(&sent), "client {at}: {sent} of {wanted}");
        assert_eq!(json["start"]["test_start"]["blksize"], 1_000);
        let warnings = &json["nettoll"]["trial"]["warnings"];
        let of_others = |one: &serde_json::Value| one["kind"] == "shared_host" && one["host"] == "b" && one["others"] == 2;
        assert!(warnings.as_array().is_some_and(|all| all.iter().any(of_others)), "client {at}: {warnings}");
    }
    agent.end();
    net.nothing_left(&tools.each_ref());
    Ok(())
}

fn trials_next_to_others_are_marked_and_more_than_are_allowed_wait() -> Result<(), Skip> {
    let (net, tools) = (Net::new()?, [(); 3].map(|()| Tool::new()));
    let [first, second, third] = &tools;
    let secrets = tools.each_ref().map(secret);
    let agent = Agent::start(&net.b, first, &[&secrets[0][..], &["--at-once", "2"]].concat());
    let (mut child, mut out) = busy(&net.a, first, &secrets[0]);
    let (mut other, mut rest_of_other) = busy(&net.router, second, &secrets[1]);
    let host = format!("b={B}");
    let answer = net.c.study(third, &plan(1), &[&["--host", &host, "-v"][..], &secrets[2]].concat()).done();
    says(&answer.stderr, &["host b is busy with another controller: 1 trial comes before"]);
    let of_others = |warning: &Warning| matches!(warning, Warning::SharedHost { host, others: 1 } if host == "b");
    // The first of its trials ran while the second client was still there.
    assert!(third.stored().all_measured().iter().any(|(record, _)| record.warnings.iter().any(of_others)));
    answer.says("up to 1 other controller had a trial on host b at the same time");
    for (client, out) in [(&mut child, &mut out), (&mut other, &mut rest_of_other)] {
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!(client.wait().unwrap().code(), Some(0), "{rest}");
    }
    // Alone on a host for two it is not marked.
    let alone = Tool::new();
    let answer = net.c.study(&alone, &plan(1), &[&["--host", &host][..], &secret(&alone)].concat());
    assert!(!answer.done().stdout.contains("at the same time"));
    agent.end();
    net.nothing_left(&[first, second, third, &alone]);
    Ok(())
}
