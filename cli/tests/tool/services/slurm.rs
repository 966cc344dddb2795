//! `nettoll fleet --slurm` in a real Slurm of four nodes, by the script of docs/fleet.md.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use model::run::Status;
use serde_json::Value;

use super::cluster::Cluster;
use crate::agents::commands::{files, make_own};
use crate::agents::support::{has_trials, says};
use crate::support::tool::{Answer, Tool, program};
use crate::support::{Skip, within};

crate::claims!(
    the_script_of_the_docs_measures_all_pairs,
    a_node_that_dies_is_told_and_the_rest_is_measured,
    a_node_that_is_drained_serves_to_the_end_and_is_left_out_of_the_next,
    an_allocation_that_ends_is_gone_on_with_in_the_next,
);

/// Longest time of a job here.
const JOB_LIMIT: Duration = Duration::from_secs(400);

/// The script of docs/fleet.md, to the letter.
fn script() -> String {
    let docs = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/fleet.md")).unwrap();
    let blocks = docs.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    let mut scripts = blocks.map(|(_, text)| text).filter(|text| text.starts_with("#!/bin/sh\n#SBATCH "));
    scripts.next().expect("docs/fleet.md has a script for sbatch").to_owned()
}

/// A directory with the script, in which `nettoll` measures one cell, in trials of this length.
fn prepared(length: &str) -> Tool {
    let tool = Tool::new();
    make_own(&tool);
    fs::create_dir(tool.path().join("bin")).unwrap();
    let short = format!(
        "#!/bin/sh\ncase \"$*\" in\n*--resume*) exec {0} \"$@\" ;;\n*) exec {0} \"$@\" --test TCP_STREAM -t {length} -O 5ms --seed 1 ;;\nesac\n",
        program().display()
    );
    tool.write("bin/nettoll", &short);
    fs::set_permissions(tool.path().join("bin/nettoll"), fs::Permissions::from_mode(0o755)).unwrap();
    tool.write("job", &script());
    tool
}

fn said(tool: &Tool) -> String {
    fs::read_to_string(tool.path().join("said")).unwrap_or_default()
}

/// Waits for the end of a job, which is that of its `sbatch`.
#[track_caller]
fn ended(mut job: Child) -> Answer {
    within(JOB_LIMIT, "the job ends", || job.try_wait().unwrap().is_some());
    Answer::from(job.wait_with_output().unwrap())
}

/// A job ends well.
#[track_caller]
fn done(tool: &Tool, job: Child) {
    let answer = ended(job);
    assert_eq!(answer.code, Some(0), "{answer:#?}; the job said: {}", said(tool));
}

/// Trials that were measured, by their two nodes, whichever sends.
fn measured(tool: &Tool) -> BTreeMap<(String, String), usize> {
    let mut measured = BTreeMap::new();
    for trial in tool.stored().trials().iter().filter(|trial| trial.measured().is_some()) {
        let mut ends = trial.hosts.clone().unwrap();
        ends.sort();
        let [a, b] = ends;
        *measured.entry((a, b)).or_default() += 1;
    }
    measured
}

/// Each pair of these nodes as often as nine rounds of four hosts or three have it, both ways.
fn whole(nodes: &[&str]) -> BTreeMap<(String, String), usize> {
    let pairs = nodes.iter().enumerate().flat_map(|(at, a)| nodes[at + 1..].iter().map(move |b| (a, b)));
    pairs.map(|(a, b)| (((*a).to_owned(), (*b).to_owned()), 6)).collect()
}

fn report(tool: &Tool) -> Value {
    tool.run(&["report", "-J"]).done().json()
}

fn the_script_of_the_docs_measures_all_pairs() -> Result<(), Skip> {
    let (cluster, tool) = (Cluster::start()?, prepared("50ms"));
    let job = cluster.submit(&tool, "job", &["--nodes=4"]);
    done(&tool, job);
    let json = report(&tool);
    assert_eq!((&json["trials"], &json["failed"], &json["fleet"]["pairs"]), (&36.into(), &0.into(), &6.into()));
    assert_eq!(json["fleet"]["figures"][0]["matrix"].as_array().unwrap().len(), 12, "each pair in both directions");
    let stored = tool.stored();
    assert_eq!(stored.status(), Status::BlocksDone);
    for (number, host) in (1..).zip(stored.run().plan.fleet.unwrap().hosts) {
        assert_eq!(host.at.to_string(), format!("slurm:n{number}"));
        // Messages took the address of the node's name.
        assert_eq!(stored.host(&host.name)["device"]["name"], "eth0");
    }
    assert_eq!(measured(&tool), whole(&["n1", "n2", "n3", "n4"]));
    says(&said(&tool), &["Outliers"]);
    assert!(files(&tool).is_empty(), "{:?}", files(&tool));
    cluster.nothing_left();
    Ok(())
}

/// A power cut: its slurmd ends, and with it all that it started.
fn a_node_that_dies_is_told_and_the_rest_is_measured() -> Result<(), Skip> {
    let (cluster, tool) = (Cluster::start()?, prepared("300ms"));
    let job = cluster.submit(&tool, "job", &["--nodes=4"]);
    has_trials(&tool, 5);
    cluster.cut_power(3);
    done(&tool, job);
    let json = report(&tool);
    let lost = &json["fleet"]["hosts"][2];
    assert_eq!(lost["name"], "n3");
    assert!(lost["failed"].as_u64() > Some(0), "{lost}");
    says(lost["error"].as_str().unwrap(), &["n3"]);
    let rest: BTreeMap<_, _> = measured(&tool).into_iter().filter(|((a, b), _)| a != "n3" && b != "n3").collect();
    assert_eq!(rest, whole(&["n1", "n2", "n4"]));
    says(&tool.run(&["report", "-v"]).done().stdout, &["n3: ", "failed"]);
    cluster.nothing_left();
    Ok(())
}

/// Slurm gives a drained node no more jobs, and leaves it those that it has.
fn a_node_that_is_drained_serves_to_the_end_and_is_left_out_of_the_next() -> Result<(), Skip> {
    let (cluster, tool) = (Cluster::start()?, prepared("100ms"));
    let job = cluster.submit(&tool, "job", &["--nodes=4"]);
    has_trials(&tool, 3);
    cluster.run(&tool, &["scontrol", "update", "nodename=n3", "state=drain", "reason=test"]).done();
    done(&tool, job);
    assert_eq!(measured(&tool), whole(&["n1", "n2", "n3", "n4"]));
    fs::remove_dir_all(tool.path().join("runs")).unwrap();
    let job = cluster.submit(&tool, "job", &["--nodes=3"]);
    done(&tool, job);
    assert_eq!(measured(&tool), whole(&["n1", "n2", "n4"]));
    cluster.nothing_left();
    Ok(())
}

fn an_allocation_that_ends_is_gone_on_with_in_the_next() -> Result<(), Skip> {
    let (cluster, tool) = (Cluster::start()?, prepared("300ms"));
    let job = cluster.submit(&tool, "job", &["--nodes=4"]);
    has_trials(&tool, 5);
    cluster.run(&tool, &["scancel", "--name=job"]).done();
    assert_ne!(ended(job).code, Some(0));
    let before = tool.stored().text("trials.jsonl");
    tool.write("next", "#!/bin/sh\nnettoll fleet --resume --yes\n");
    let job = cluster.submit(&tool, "next", &["--nodes=4", "--exclusive"]);
    done(&tool, job);
    assert!(tool.stored().text("trials.jsonl").starts_with(&before));
    assert_eq!(measured(&tool), whole(&["n1", "n2", "n3", "n4"]));
    assert_eq!(tool.stored().status(), Status::BlocksDone);
    cluster.nothing_left();
    Ok(())
}
