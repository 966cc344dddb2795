//! The doctor looks at everything, says what to do, and leaves nothing behind. Started again with
//! `__scratch`, this program tries requests in fresh namespaces.

// Clippy knows a test only by the usual harness.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeSet;
use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lab::doctor::{examine, quick_can_run, try_requests};
use model::check::{Area, Need, State};
use testkit::{Skip, claims};

claims!(every_area_is_examined_and_nothing_is_left);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [role, scratch] = &words[..]
        && role == "__scratch"
    {
        return try_requests(scratch.parse().unwrap()).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    claims::test(&[("", ALL)])
}

/// What a probe could leave: devices, queues, open files, children, namespaces.
#[derive(Debug, PartialEq)]
struct Traces {
    devices: BTreeSet<String>,
    queues: Vec<String>,
    files: usize,
    children: String,
    namespaces: Vec<String>,
}

fn traces() -> Traces {
    let names = |path: &str| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let devices: BTreeSet<String> = names("/sys/class/net");
    let length = |device: &String| fs::read_to_string(format!("/sys/class/net/{device}/tx_queue_len")).unwrap();
    let tasks: BTreeSet<String> = names("/proc/self/task");
    let children = |task: &String| fs::read_to_string(format!("/proc/self/task/{task}/children")).unwrap_or_default();
    let namespace = |kind| fs::read_link(format!("/proc/thread-self/ns/{kind}")).unwrap().display().to_string();
    Traces {
        queues: devices.iter().map(length).collect(),
        files: fs::read_dir("/proc/self/fd").unwrap().count(),
        children: tasks.iter().map(children).collect(),
        namespaces: ["net", "user"].map(namespace).to_vec(),
        devices,
    }
}

// One claim, so that no other disturbs the traces.
fn every_area_is_examined_and_nothing_is_left() -> Result<(), Skip> {
    let before = traces();
    let started = Instant::now();
    let checks = examine();
    let took = started.elapsed();
    assert_eq!(traces(), before);
    assert!(took < Duration::from_secs(5), "{took:?}");

    for check in &checks {
        let area = check.area;
        match &check.state {
            State::Present { detail } => eprintln!("{area:<10} {:<26} {detail}", check.name),
            State::Absent { answer, remedy } => {
                eprintln!("{area:<10} {:<26} ABSENT {answer} -> {remedy}", check.name);
                assert!(answer.len() > 5 && remedy.len() > 5 && remedy.ends_with(['.', ')']), "{check:?}");
            }
        }
    }
    eprintln!("{} checks in {took:?}", checks.len());
    let areas: Vec<Area> = checks.iter().map(|check| check.area).collect();
    assert!(areas.is_sorted(), "in the order of a report");
    // The microscope is looked at by a crate of its own.
    assert!(Area::ALL.iter().filter(|area| **area != Area::Microscope).all(|area| areas.contains(area)), "{areas:?}");
    let names: BTreeSet<_> = checks.iter().map(|check| (check.area, &check.name)).collect();
    assert_eq!(names.len(), checks.len(), "no name twice in one area");
    assert!(checks.iter().any(|check| check.need == Need::Required));
    assert!(quick_can_run(&checks), "this machine runs the test, so it has sockets and a clock");
    Ok(())
}
