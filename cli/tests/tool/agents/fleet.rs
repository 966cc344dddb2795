//! Fleets of hosts that commands start in namespaces, and what can be wrong with them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use model::TrialRecord;
use model::run::Status;
use model::trial::Outcome;
use model::warning::Warning;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;

use super::support::{Net, ended, says};
use crate::support::stored::Stored;
use crate::support::tool::Tool;
use crate::support::{Skip, within};

crate::claims!(
    pairs_are_measured_in_both_directions_and_told_in_every_form,
    a_host_that_is_not_there_is_shown_and_the_rest_is_measured,
    a_host_that_dies_is_found_again,
    an_allocation_that_ends_leaves_what_was_measured,
    a_fleet_that_is_killed_again_and_again_comes_to_its_end,
    a_host_that_was_away_is_measured_by_going_on,
    a_fleet_of_other_machines_is_not_gone_on_with,
    history_tells_fleets_apart,
    all_pairs_of_a_round_at_once,
    a_fleet_of_a_thousand_names_is_planned_without_one_of_them,
    a_dry_run_says_what_can_be_found,
    hosts_that_make_no_fleet_are_refused,
    nodes_of_slurm_and_pods_of_kubernetes_are_found,
    a_manifest_is_printed,
);

/// Short trials of one cell, and few rounds.
const SHORT: [&str; 6] = ["--test", "TCP_STREAM", "-O", "5ms", "--seed", "1"];

/// The three hosts of a net, as `--host` takes them.
fn members(net: &Net) -> [String; 3] {
    [("a", &net.a), ("b", &net.b), ("c", &net.c)].map(|(name, place)| format!("n{name}=cmd:{}", place.shell("X=1")))
}

fn words<'a>(hosts: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    let hosts = hosts.iter().flat_map(|host| ["--host", host.as_str()]);
    let length = if more.contains(&"-t") { &[][..] } else { &["-t", "30ms"] };
    ["fleet"].into_iter().chain(hosts).chain(SHORT).chain(length.iter().chain(more).copied()).collect()
}

/// The names of sender and receiver of the trials, each direction once.
fn ends(trials: &[TrialRecord]) -> Vec<String> {
    let mut ends: Vec<String> = trials.iter().map(|trial| trial.hosts.as_ref().unwrap().join(">")).collect();
    ends.sort();
    ends.dedup();
    ends
}

fn pairs_are_measured_in_both_directions_and_told_in_every_form() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let hosts = members(&net);
    let racks = tool.path().join("racks");
    fs::write(&racks, "na r1\nnb r1 # a remark\n\nnc r2\n").unwrap();
    let json = net.router.run(&tool, &words(&hosts, &["--rounds", "6", "--racks", "racks", "-J"])).done().json();
    let fleet = &json["fleet"];
    assert_eq!((&json["trials"], &json["failed"], &fleet["pairs"]), (&12.into(), &0.into(), &3.into()));
    assert_eq!(
        (&fleet["hosts"][1]["name"], &fleet["hosts"][1]["rack"], &fleet["hosts"][1]["measured"]),
        (&"nb".into(), &"r1".into(), &8.into())
    );
    let metrics: Vec<&Value> = fleet["figures"].as_array().unwrap().iter().map(|figure| &figure["metric"]).collect();
    assert_eq!(metrics, ["goodput_bit_per_s", "sender_cpu_per_message_ns", "receiver_cpu_per_message_ns"]);
    assert_eq!(fleet["figures"][0]["matrix"].as_array().unwrap().len(), 6);

    let stored = tool.stored();
    assert_eq!(stored.status(), Status::BlocksDone);
    assert_eq!(ends(&stored.trials()), ["na>nb", "na>nc", "nb>na", "nb>nc", "nc>na", "nc>nb"]);
    // The messages took each host's own address, over the router.
    assert!(["na", "nb", "nc"].iter().all(|name| stored.host(name)["device"]["name"] == "eth0"));
    let text = tool.run(&["report", "-v"]).done().stdout;
    says(&text, &["Outliers", "Hosts against the median host", "% worse than usual", "Racks:"]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let csv = tool.run(&["report", "--csv"]).done().stdout;
    assert_eq!(csv.lines().filter(|line| line.contains("from_na_to_nb_goodput_bit_per_s")).count(), 1, "{csv}");
    says(&csv, &["host_nc_goodput_bit_per_s_ratio", "simulated"]);
    says(&stored.text("report.html"), &["Outliers", "Heat map"]);
    tool.run(&["show"]).done().says("fleet");
    tool.run(&["study", "--resume"]).refused(2, &["a run of a fleet", "nettoll fleet --resume"]);
    let complete = net.router.run(&tool, &["fleet", "--resume", "--yes"]).done();
    says(&complete.stderr, &["is complete: nothing is left to run"]);
    assert_eq!(stored.text("trials.jsonl").lines().count(), 12);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_host_that_is_not_there_is_shown_and_the_rest_is_measured() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let hosts: Vec<String> = members(&net).into_iter().chain(["gone=cmd:false".to_owned()]).collect();
    let json = net.router.run(&tool, &words(&hosts, &["--rounds", "3", "-J"])).done().json();
    // Of three rounds each of the others is without a partner in one.
    assert_eq!((&json["trials"], &json["failed"], &json["fleet"]["pairs"]), (&6.into(), &6.into(), &3.into()));
    let gone = &json["fleet"]["hosts"][3];
    assert_eq!((&gone["measured"], &gone["failed"]), (&0.into(), &6.into()));
    says(gone["error"].as_str().unwrap(), &["host gone", "exit code 1"]);
    says(&tool.run(&["report", "-v"]).done().stdout, &["of the fleet is not available", "gone: 0 trials measured, 6 failed"]);
    net.nothing_left(&[&tool]);
    Ok(())
}

/// A shell that is started again and again, and dies in the middle of the first time.
fn a_host_that_dies_is_found_again() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let mut hosts = members(&net);
    let first = tool.path().join("first");
    let shell = net.c.shell("X=1");
    let script = format!("#!/bin/sh\n[ -e {0} ] && exec {shell}\n: > {0}\nexec timeout -s KILL 2 {shell}\n", first.display());
    program(&tool, "dies", &script);
    hosts[2] = format!("nc=cmd:{}", tool.path().join("dies").display());
    let json = net.router.run(&tool, &words(&hosts, &["--rounds", "12", "-t", "400ms", "-J"])).done().json();
    let trials = tool.stored().trials();
    // Nothing is missing in the end.
    assert_eq!(json["trials"], 24);
    assert!(trials.iter().any(|trial| trial.block >= 12), "what was missed is made up for in a round of its own");
    net.nothing_left(&[&tool]);
    Ok(())
}

/// Hosts that all die once trials of some rounds are stored, and never live again.
fn an_allocation_that_ends_leaves_what_was_measured() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let places = [("a", &net.a), ("b", &net.b), ("c", &net.c)];
    let used = |name: &str| tool.path().join(format!("{name}-used"));
    let hosts = places.map(|(name, place)| {
        // timeout leads a group of its own, which holds all that the shell starts.
        let script = format!(
            "#!/bin/sh\n[ -e {0} ] && {{ echo 'allocation has ended' >&2; exit 1; }}\necho $$ > {0}\nexec timeout -s KILL 120 {1}\n",
            used(name).display(),
            place.shell("X=1")
        );
        program(&tool, name, &script);
        format!("n{name}=cmd:{}", tool.path().join(name).display())
    });
    let mut fleet = net.router.nettoll(&tool, &words(&hosts, &["--rounds", "60", "-t", "200ms"])).spawn().unwrap();
    within(Duration::from_secs(60), "trials of six rounds are stored", || {
        tool.try_stored().is_some_and(|stored| stored.trials_so_far() >= 12) || fleet.try_wait().unwrap().is_some()
    });
    for (name, _) in places {
        let leader: i32 = fs::read_to_string(used(name)).unwrap().trim().parse().unwrap();
        killpg(Pid::from_raw(leader), Signal::SIGKILL).unwrap();
    }
    let killed = Instant::now();
    let answer = ended(fleet);
    assert_eq!(answer.code, Some(1), "{answer:#?}");
    says(&answer.stderr, &["has the allocation ended", "its finished trials are in"]);
    says(&answer.stdout, &["Outliers"]);
    assert!(killed.elapsed().as_secs() < 60);
    let stored = tool.stored();
    let measured = stored.trials().iter().filter(|trial| matches!(trial.outcome, Outcome::Measured(_))).count();
    assert!(measured > 0 && matches!(stored.status(), Status::Failed { .. }));
    net.nothing_left(&[&tool]);
    Ok(())
}

/// Trials that were measured, by sender and receiver.
fn measured(tool: &Tool) -> BTreeMap<String, usize> {
    let mut measured = BTreeMap::new();
    for trial in tool.stored().trials().iter().filter(|trial| trial.measured().is_some()) {
        *measured.entry(trial.hosts.as_ref().unwrap().join(">")).or_default() += 1;
    }
    measured
}

/// All six ways between three hosts, each so often.
fn ways(times: usize) -> BTreeMap<String, usize> {
    ["na>nb", "na>nc", "nb>na", "nb>nc", "nc>na", "nc>nb"].map(|way| (way.to_owned(), times)).into()
}

/// Of nine rounds some trials come between two kills; each is measured once in the end.
fn a_fleet_that_is_killed_again_and_again_comes_to_its_end() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let hosts = members(&net);
    let mut fleet = net.router.nettoll(&tool, &words(&hosts, &["--rounds", "9"])).spawn().unwrap();
    for kill in 1..=2 {
        let wanted = 5 * kill;
        within(Duration::from_secs(60), "some trials are stored", || {
            tool.try_stored().is_some_and(|stored| stored.trials_so_far() >= wanted) || fleet.try_wait().unwrap().is_some()
        });
        fleet.kill().unwrap();
        fleet.wait().unwrap();
        within(Duration::from_secs(20), "all processes end", || crate::support::processes::of(&tool).is_empty());
        if kill == 1 {
            net.router.run(&tool, &["fleet", "--resume"]).refused(2, &["host na: cmd:", "Look at it, then give --yes"]);
        }
        fleet = net.router.nettoll(&tool, &["fleet", "--resume", "--yes", "-J"]).spawn().unwrap();
    }
    let json = ended(fleet).done().json();
    assert_eq!((&json["trials"], &json["failed"]), (&18.into(), &0.into()));
    assert_eq!((measured(&tool), tool.stored().status()), (ways(3), Status::BlocksDone));
    assert!(tool.stored().run().warnings.iter().any(|warning| matches!(warning, Warning::Resumed { .. })));
    net.nothing_left(&[&tool]);
    Ok(())
}

/// Its failed trials are tried again when it is back, and nothing else.
fn a_host_that_was_away_is_measured_by_going_on() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let mut hosts = members(&net);
    let there = tool.path().join("there");
    program(&tool, "away", &format!("#!/bin/sh\n[ -e {} ] && exec {}\nexit 1\n", there.display(), net.c.shell("X=1")));
    hosts[2] = format!("nc=cmd:{}", tool.path().join("away").display());
    let json = net.router.run(&tool, &words(&hosts, &["--rounds", "3", "-J"])).done().json();
    assert_eq!((&json["trials"], &json["failed"]), (&2.into(), &4.into()));
    fs::write(there, "").unwrap();
    let before = tool.stored().text("trials.jsonl");
    net.router.run(&tool, &["fleet", "--resume", "--yes"]).done();
    assert!(tool.stored().text("trials.jsonl").starts_with(&before));
    assert_eq!(measured(&tool), ways(1));
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_fleet_of_other_machines_is_not_gone_on_with() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    net.router.run(&tool, &words(&members(&net), &["--rounds", "3"])).done();
    let stored = tool.stored();
    let lines = stored.text("trials.jsonl");
    stored.write("trials.jsonl", &lines.lines().take(3).map(|line| format!("{line}\n")).collect::<String>());
    let (before, facts) = (stored.text("run.json"), stored.text("hosts/nb.json"));
    set(&stored, "hosts/nb.json", "kernel", "5.10.1");
    net.router.run(&tool, &["fleet", "--resume", "--yes"]).refused(1, &["host nb: kernel was 5.10.1", "would not compare"]);
    assert_eq!((stored.text("run.json"), stored.text("trials.jsonl").lines().count()), (before, 3));
    stored.write("hosts/nb.json", &facts);
    // A trial of hosts that are not the plan's.
    stored.write("trials.jsonl", &lines.replace("\"nb\"", "\"nx\""));
    net.router.run(&tool, &["fleet", "--resume", "--yes"]).refused(1, &["is not the one that the plan has there"]);
    // A study is no fleet.
    tool.study("name = \"x\"\ntrial = { length = \"5ms\" }\nblocks = { least = 1, most = 1 }\n[[cells]]\ntest = \"UDP_RR\"\nsize = 1", &[])
        .done();
    tool.run(&["fleet", "--resume"]).refused(2, &["is a run of a study", "nettoll study --resume"]);
    net.nothing_left(&[&tool]);
    Ok(())
}

/// A value at the top of a stored file.
fn set(stored: &Stored, file: &str, key: &str, value: impl Into<Value>) {
    let mut all: Value = serde_json::from_str(&stored.text(file)).unwrap();
    all[key] = value.into();
    stored.write(file, &all.to_string());
}

/// Copies of one run as those of later nights.
fn history_tells_fleets_apart() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    net.router.run(&tool, &words(&members(&net), &["--rounds", "3"])).done();
    net.nothing_left(&[&tool]);
    let first = tool.stored();
    let night = |number: u64| {
        let id = format!("2026-10-{number:02}T01-00-00Z-fleet-{number:04x}");
        let path = tool.path().join("runs").join(&id);
        crate::stored_runs::copy(first.path(), &path);
        let stored = Stored::at(path);
        set(&stored, "run.json", "id", id);
        set(&stored, "run.json", "started_ms", 1_790_816_400_000 + number * 86_400_000);
        stored
    };
    let nights: Vec<Stored> = (1..=4).map(night).collect();
    fs::remove_dir_all(first.path()).unwrap();
    let fleet = nights[0].run().plan.fleet.unwrap().fingerprint();
    let machine = |answer: &Value| answer["machine"].as_str().unwrap().to_owned();
    let history = || tool.run(&["history", "goodput_bit_per_s", "-J"]);
    let json = history().done().json();
    assert_eq!(json["runs"].as_array().unwrap().len(), 4);
    says(&machine(&json), &[&format!("fleet {fleet} of 3 hosts: 3 x (")]);
    // One was away: it is the same fleet. In another order they are, too.
    fs::remove_file(nights[1].path().join("hosts/nb.json")).unwrap();
    let mut run: Value = serde_json::from_str(&nights[2].text("run.json")).unwrap();
    run["plan"]["fleet"]["hosts"].as_array_mut().unwrap().reverse();
    nights[2].write("run.json", &run.to_string());
    assert_eq!(history().done().json()["runs"].as_array().unwrap().len(), 4);
    // With another host it is another fleet, as is one whose pairs are measured at once.
    let mut run: Value = serde_json::from_str(&nights[0].text("run.json")).unwrap();
    run["plan"]["fleet"]["hosts"][0]["name"] = "nz".into();
    nights[0].write("run.json", &run.to_string());
    let answer = tool.run(&["history", "goodput_bit_per_s"]).done();
    answer.says("1 of the study left out: other links, hosts or lengths");
    let other = nights[0].run().plan.fleet.unwrap().fingerprint();
    let json = tool.run(&["history", "goodput_bit_per_s", "-J", "--machine", &other]).done().json();
    assert_eq!((json["runs"].as_array().unwrap().len(), machine(&json).contains(&other)), (1, true));
    // Of the same name, but another machine.
    set(&nights[2], "hosts/nc.json", "cpu_model", "Another");
    history().refused_in_json(2, &["host nc of the fleet is not the machine that it was", "--since RUN"]);
    Ok(())
}

/// No name of `.invalid` can be reached (RFC 6761), and looking up a thousand would take long.
fn a_fleet_of_a_thousand_names_is_planned_without_one_of_them() -> Result<(), Skip> {
    let tool = Tool::new();
    let names: Vec<String> = (0..1_000).map(|number| format!("n{number}.invalid")).collect();
    tool.write("hosts", &names.join("\n"));
    let answer = tool.run(&["fleet", "--hosts-file", "hosts", "--dry-run", "--offline"]).done();
    answer.says("1,000 hosts in 8 rounds of 500 pairs");
    assert!(!answer.stderr.contains("not there"), "{}", answer.stderr);
    tool.run(&["fleet", "--hosts-file", "hosts", "--offline"]).refused(2, &["--dry-run"]);
    Ok(())
}

fn all_pairs_of_a_round_at_once() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let hosts: Vec<String> = members(&net).into_iter().chain([format!("nr=cmd:{}", net.router.shell("X=1"))]).collect();
    // The router has an address on each link.
    let hosts: Vec<String> =
        hosts.into_iter().map(|host| if host.starts_with("nr") { format!("{host},data=192.0.2.254") } else { host }).collect();
    let json = net.router.run(&tool, &words(&hosts, &["--rounds", "all", "--parallel", "-J"])).done().json();
    assert_eq!((&json["trials"], &json["failed"], &json["fleet"]["pairs"]), (&12.into(), &0.into(), &6.into()));
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_dry_run_says_what_can_be_found() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let hosts: Vec<String> = members(&net).into_iter().chain(["gone=cmd:false".to_owned()]).collect();
    let answer = net.router.run(&tool, &words(&hosts, &["--dry-run"])).done();
    says(&answer.stdout, &["4 hosts in 9 rounds of 2 pairs", "36 trials of 1 cell", "are found in 9 of 10 fleets"]);
    says(&answer.stderr, &["not there: host gone"]);
    let answer = net.router.run(&tool, &words(&hosts, &["--dry-run", "-J"])).done();
    says(&answer.json()["notes"].to_string(), &["not there: host gone"]);
    assert!(!answer.stderr.contains("not there"), "{answer:?}");
    let json = net.router.run(&tool, &words(&hosts[..3], &["--dry-run", "-J"])).done().json();
    assert_eq!((&json["trials"], json["outlook"].as_array().unwrap().len()), (&18.into(), 3));
    assert!(!tool.path().join("runs").exists());
    net.nothing_left(&[&tool]);
    Ok(())
}

fn hosts_that_make_no_fleet_are_refused() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.write("hosts", "n1\n-oProxyCommand=x\n");
    tool.write("racks", "n1 r1\nn9 r2\n");
    tool.write("two", "n1 r1\nn1 r2\n");
    for (arguments, reasons) in [
        (&["fleet"][..], &["name the hosts"][..]),
        (&["fleet", "--hosts", "n1"], &["a fleet has 2 to 4096 hosts"]),
        (&["fleet", "--hosts", "n1,-oProxyCommand=x"], &["cannot begin with '-'"]),
        (&["fleet", "--hosts", "n1,n2,op@n1"], &["n1", "there twice"]),
        (&["fleet", "--hosts", "cmd:sh,n2"], &["give it one"]),
        (&["fleet", "--hosts-file", "hosts"], &["hosts, line 2", "cannot begin with '-'"]),
        (&["fleet", "--hosts-file", "missing"], &["cannot read missing"]),
        (&["fleet", "--hosts", "n1,n2", "--racks", "racks"], &["'n9' is no host of this fleet"]),
        (&["fleet", "--hosts", "n1,n2", "--racks", "two"], &["line 2", "stands in two racks"]),
        (&["fleet", "--hosts", "n1,n2", "--rounds", "0"], &["from 1 to 10000, or all"]),
        (&["fleet", "--hosts", "n1,n2", "--size", "0"], &["0 bytes is not a size"]),
        (&["fleet", "--hosts", "n1,n2", "--bulk", "1"], &["an agent sends nothing but"]),
        (&["fleet", "--slurm"], &["no allocation of Slurm", "salloc"]),
        (&["fleet", "manifest", "--name", "A_b"], &["small letters"]),
        (&["fleet", "manifest", "--image", "a b"], &["write REGISTRY/NAME:TAG"]),
    ] {
        tool.run(arguments).refused(2, reasons);
    }
    tool.run(&["fleet", "--host", "n1=cmd:false", "--host", "n2=cmd:false", "-J"])
        .refused_in_json(1, &["of 2 hosts 0 are there", "host n1"]);
    assert!(!tool.path().join("runs").exists(), "nothing was measured");
    Ok(())
}

/// Stand-ins that insist on their words, as `srun`, `scontrol` and `kubectl` would.
fn nodes_of_slurm_and_pods_of_kubernetes_are_found() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let places = [("n1", &net.a), ("n2", &net.b), ("n3", &net.c)];
    let shells: String = places.iter().map(|(name, place)| format!("{name}) exec {} ;;\n", place.shell("X=1"))).collect();
    program(&tool, "scontrol", "#!/bin/sh\n[ \"$*\" = 'show hostnames n[1-3]' ] && printf 'n1\\nn2\\nn3\\n'\n");
    program(
        &tool,
        "srun",
        &format!("#!/bin/sh\n[ \"$1 $2 $3 $4 $5 $7\" = '-u --overlap -N1 -n1 -w sh' ] || exit 64\ncase $6 in\n{shells}esac\n"),
    );
    let pod = |name: &str, phase: &str, ip: &str| serde_json::json!({ "metadata": { "name": name, "namespace": "lab" }, "status": { "phase": phase, "podIP": ip } });
    let pods = [
        pod("n1", "Running", "198.51.100.1"),
        pod("n2", "Running", "203.0.113.1"),
        pod("n3", "Running", "192.0.2.1"),
        pod("n4", "Pending", ""),
    ];
    tool.write("pods.json", &serde_json::json!({ "items": pods }).to_string());
    let kubectl = format!(
        "#!/bin/sh\ncase \"$*\" in\n'get pods -o json --selector=app=x --namespace=lab') cat {0}/pods.json ;;\n\
         'exec -i -n lab n'[123]' -- sh') case $5 in\n{shells}esac ;;\n*) echo \"unexpected: $*\" >&2; exit 64 ;;\nesac\n",
        tool.path().display()
    );
    program(&tool, "kubectl", &kubectl);
    let path = format!("{}:{}", tool.path().display(), std::env::var("PATH").unwrap());
    for (arguments, place) in
        [(&["--slurm"][..], "slurm:n2"), (&["--pods", "app=x", "--namespace", "lab"], "kubectl:lab/n2,data=203.0.113.1")]
    {
        let words: Vec<&str> =
            ["fleet"].into_iter().chain(arguments.iter().copied()).chain(SHORT).chain(["-t", "30ms", "--rounds", "3", "-J"]).collect();
        let mut command = net.router.nettoll(&tool, &words);
        command.env("PATH", &path).env("SLURM_JOB_NODELIST", "n[1-3]");
        let json = crate::support::tool::Answer::from(command.output().unwrap()).done().json();
        assert_eq!((&json["trials"], &json["failed"]), (&6.into(), &0.into()), "{json:#}");
        assert_eq!(tool.stored().run().plan.fleet.unwrap().hosts[1].at.to_string(), place);
        fs::remove_dir_all(tool.path().join("runs")).unwrap();
    }
    let mut command = net.router.nettoll(&tool, &["fleet", "--pods", "app=y"]);
    crate::support::tool::Answer::from(command.env("PATH", &path).output().unwrap()).refused(1, &["ask kubectl", "unexpected"]);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_manifest_is_printed() -> Result<(), Skip> {
    let tool = Tool::new();
    let open = tool.run(&["fleet", "manifest", "--privileged"]).done().stdout;
    says(&open, &["kind: Service", "clusterIP: None", "kind: DaemonSet", "hostNetwork: true", "PERFMON", "SYSLOG"]);
    let restricted = tool.run(&["fleet", "manifest", "--namespace", "lab"]).done().stdout;
    says(&restricted, &["runAsNonRoot: true", "namespace: lab"]);
    assert!(!restricted.contains("hostNetwork") && !restricted.contains("add:"), "{restricted}");
    Ok(())
}

/// A program next to the tool's files.
fn program(tool: &Tool, name: &str, text: &str) {
    let path = tool.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}
