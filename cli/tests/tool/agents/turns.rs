//! Two controllers at one agent.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;

use model::Warning;

use super::support::{Agent, B, CELLS, Net, Place, ended, plan, says, secret};
use crate::support::Skip;
use crate::support::tool::Tool;

crate::claims!(whoever_waits_is_told_its_place, trials_on_a_shared_host_are_marked);

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
    let study = net.c.start_study(second, &plan(1), &[&["--host", &host][..], &secrets[1]].concat());
    let mut hand = net.router.nettoll(third, &[&["-c", B, "-t", "0.1", "-i", "0"][..], &secrets[2]].concat());
    let hand = hand.spawn().unwrap();
    for (answer, words) in [(ended(study).done(), "host b is busy with another controller: "), (ended(hand).done(), "host b is busy: ")] {
        says(&answer.stderr, &[words]);
        assert!(answer.stderr.contains("before"), "{}", answer.stderr);
    }
    assert_eq!(second.stored().all_measured().len(), CELLS);
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest}");
    agent.end();
    net.nothing_left(&tools.each_ref());
    Ok(())
}

fn trials_on_a_shared_host_are_marked() -> Result<(), Skip> {
    let (net, tools) = (Net::new()?, [(); 2].map(|()| Tool::new()));
    let [first, second] = &tools;
    let secrets = tools.each_ref().map(secret);
    let agent = Agent::start(&net.b, first, &[&secrets[0][..], &["--share-host"]].concat());
    let (mut child, mut out) = busy(&net.a, first, &secrets[0]);
    let host = format!("b={B}");
    let answer = net.c.study(second, &plan(1), &[&["--host", &host, "-v"][..], &secrets[1]].concat()).done();
    // It ran next to the other, which flows on.
    assert!(child.try_wait().unwrap().is_none() || !answer.stderr.contains("busy"));
    assert!(!answer.stderr.contains("is busy with another controller"), "{}", answer.stderr);
    for (record, _) in second.stored().all_measured() {
        let marked = |warning: &Warning| matches!(warning, Warning::SharedHost { host } if host == "b");
        assert!(record.warnings.iter().any(marked), "{:?}", record.warnings);
    }
    answer.says("trials of others may have run on host b at the same time");
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest}");
    agent.end();
    net.nothing_left(&tools.each_ref());
    Ok(())
}
