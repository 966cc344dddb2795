//! Arms that take turns: what is measured, what is refused, and what a kill leaves behind.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use analysis::verdict::{Direction, Options, Verdict, compare};
use analysis::woven::{Measure, WovenSeries, WovenSide};
use model::Warning;
use model::run::Status;
use model::trial::Outcome;
use model::woven::Slice;
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::stored_runs;
use crate::support::processes::{self, Witness, assert_nothing_left, assert_usual_states, traces, unusual_states};
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_root, within};

crate::claims!(
    woven_arms_have_figures_of_every_kind,
    arms_that_cannot_be_woven_are_refused_with_the_reason,
    arms_are_woven_where_they_can_be_and_a_line_says_why,
    several_flows_both_ways_and_rates_are_woven,
    ways_and_many_arms_are_rounds_around_a_reference,
    ways_are_woven_where_they_can_be_and_a_line_says_why,
    a_check_compares_them_the_other_way,
    a_woven_run_is_measured_again_and_pooled,
    a_woven_run_that_was_stopped_is_gone_on_with,
    a_pilot_says_what_ten_seconds_show,
    ends_without_a_right_to_come_first_end_their_slices_themselves,
    names_that_are_dealt_again_give_no_verdict,
    a_killed_controller_of_woven_arms_leaves_nothing,
    a_killed_end_costs_its_instance_alone,
);

const PLAN: &str = r#"
name = "woven"
trial = { length = "50ms", warmup = "5ms" }
blocks = { least = 9, most = 9 }
arms = ["a", "b: sndbuf=64K"]
[[cells]]
test = ["UDP_STREAM", "TCP_STREAM", "UDP_RR", "TCP_RR"]
size = 1000
nodelay = true
"#;

/// Kills at moments drawn from this seed.
const SEED: u64 = 33;
const KILLS: usize = 4;

fn woven_arms_have_figures_of_every_kind() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::new();
    let before = traces();
    let answer = tool.study(PLAN, &["--woven", "--blocks", "4", "-J"]);
    assert!(matches!(answer.code, Some(0 | 3 | 4)), "{answer:#?}");
    assert_nothing_left(&tool, &before);
    let found = answer.json();
    // Where other tests keep the CPUs busy, an instance may have no slice that both ends measured.
    let (measured, failed) = (found["trials"].as_u64().unwrap(), found["failed"].as_u64().unwrap());
    assert!(measured + failed == 32 && failed <= 16, "{}", found["findings"]);
    let verdict = &found["verdicts"][0];
    for name in ["time_per_message_ns", "sender_cpu_per_message_ns", "receiver_cpu_per_message_ns"] {
        let metric = verdict["metrics"].as_array().unwrap().iter().find(|metric| metric["metric"] == name).unwrap();
        assert_eq!(metric["comparison"]["design"], "woven");
        let cells = metric["comparison"]["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 4);
        for cell in cells {
            assert!(cell["ratio"]["n"].as_u64().is_some_and(|n| (2..=4).contains(&n)), "{name}: {cell}");
            assert_eq!(cell["ratio"]["interval"]["method"], "instances", "{name}: {cell}");
            assert!((0.05..20.0).contains(&cell["ratio"]["value"].as_f64().unwrap()), "{name}: {cell}");
        }
    }
    let stored = tool.stored();
    assert_eq!((stored.status(), stored.run().plan.woven), (Status::BlocksDone, true));
    // Nothing is lost from sight, although each arm waited for its turn.
    assert_eq!(found["datagrams"]["unaccounted"], 0, "{}", found["datagrams"]);
    for (record, measured) in stored.all_measured() {
        assert!(measured.slices >= 1, "{}", record.cell);
        let (window, asked) = (measured.sender.window.length(), measured.windows.unwrap().asked);
        // An end that waits for a CPU sees its marks late.
        let least_and_most = if record.warnings.iter().any(Warning::disturbs) { 0.01..25.0 } else { 0.8..1.5 };
        assert!(least_and_most.contains(&(window.as_secs_f64() / asked.as_secs_f64())), "{}: {window} of {asked}", record.cell);
        assert!(measured.sender.cpu_time.process <= measured.sender.window.length(), "{}", record.cell);
        assert!(measured.receiver.counts.messages < measured.receiver.total.messages, "{}", record.cell);
    }
    the_run_reads_as_it_was_told(&tool, &found);
    Ok(())
}

/// A signal ends each slice: it costs no message, whatever the end waits with.
fn ends_without_a_right_to_come_first_end_their_slices_themselves() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::of_nobody();
    let before = traces();
    let plan = r#"
name = "woven"
trial = { length = "50ms", warmup = "5ms" }
arms = ["a", "b: sndbuf=64K"]
[[cells]]
test = ["UDP_STREAM", "TCP_STREAM"]
size = 1000
nodelay = true
[[cells]]
test = "UDP_RR"
size = 64
waiting = ["block", "poll", "select", "epoll"]
"#;
    let found = tool.study(plan, &["--woven", "--blocks", "2", "-J"]).judged().json();
    assert_nothing_left(&tool, &before);
    let stored = tool.stored();
    let warnings: Vec<String> = stored.run().warnings.iter().map(|one| format!("{one}. {}", one.remedy())).collect();
    assert!(warnings.iter().any(|words| words.contains("Timers end the slices")), "{warnings:#?}");
    assert_eq!(found["datagrams"]["unaccounted"], 0, "{}", found["datagrams"]);
    let (mut requests, mut lost, mut slices) = (0, 0, 0);
    for record in &stored.trials() {
        // Where other tests keep the CPUs busy, an instance may have no slice that both ends measured.
        let Some(measured) = record.measured() else { continue };
        assert!(measured.slices >= 1 && measured.sender.counts.messages > 0, "{}", record.cell);
        if record.cell.test == model::Test::UdpRr {
            requests += measured.sender.total.sent;
            lost += measured.sender.total.lost;
            slices += u64::from(measured.slices);
        }
    }
    // A request whose wait is interrupted has not been lost: else it were about one of each slice. Next to other tests an
    // answer may come too late.
    assert!(requests > 0 && 4 * lost <= slices, "{lost} of {requests} in {slices} slices");
    Ok(())
}

/// `report`, `show` and `export --slices` of the stored run.
fn the_run_reads_as_it_was_told(tool: &Tool, found: &Value) {
    let again = tool.run(&["report", "latest", "-J"]).json();
    assert_eq!(again["verdicts"], found["verdicts"]);
    tool.run(&["show", "latest"]).done();
    let slices = tool.run(&["export", "latest", "--slices"]).done().stdout;
    let mut table = csv::Reader::from_reader(slices.as_bytes());
    let names: Vec<String> = table.headers().unwrap().iter().map(str::to_owned).collect();
    let place = |name: &str| names.iter().position(|one| one == name).unwrap();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    for cell in 0..4 {
        for (arm, instance) in [("a", "0"), ("b", "2")] {
            let its = rows
                .iter()
                .filter(|row| row[place("cell")] == cell.to_string() && row[place("arm")] == *arm && row[place("instance")] == *instance);
            let cpu: Vec<u64> = its.map(|row| row[place("receiver_cpu_ns")].parse().unwrap()).collect();
            assert!(!cpu.is_empty() && cpu.iter().all(|cpu| *cpu > 0), "cell {cell}, arm {arm}: {cpu:?}");
        }
    }
    // Half an instance is left out, and said.
    let file = tool.stored().path().join("slices/0.slices");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    let cut = tool.run(&["report", "latest", "-J"]);
    assert!(cut.stdout.contains("block 4 is cut short"), "{cut:#?}");
    let first = |analysis: &Value| analysis["verdicts"][0]["metrics"][0]["comparison"]["cells"][0]["ratio"]["n"].as_u64().unwrap();
    assert!(first(&cut.json()) <= first(found));
}

fn arms_that_cannot_be_woven_are_refused_with_the_reason() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.study(PLAN, &["--woven", "--test", "TCP_CRR"]).refused(1, &["a slice has no beginning of a connection", "leave out --woven"]);
    tool.study(PLAN, &["--woven", "--flows", "40"]).refused(1, &["a cell has more flows than have a turn in each slice"]);
    tool.study(PLAN, &["--woven", "--link", "ethernet 10M"]).refused(1, &["the link takes long to drain"]);
    Ok(())
}

fn arms_are_woven_where_they_can_be_and_a_line_says_why() -> Result<(), Skip> {
    let dry = |flags: &[&str]| {
        let words = ["study", "size", "--test", "UDP_STREAM", "--size", "64", "--dry-run", "--arm", "a", "--arm", "b: sndbuf=64K"];
        let answer = Tool::new().run(&[&words[..], flags].concat()).done();
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        Answer { stdout: plain(&answer.stdout), stderr: plain(&answer.stderr), ..answer }
    };
    for (flags, when) in [
        (&[][..], "8, 16, 24, 48 instances"),
        (&["--flows", "2"], "8, 16, 24, 48 instances"),
        (&["--bidir"], "8, 16, 24, 48 instances"),
        (&["--rate", "9000/s"], "8, 16, 24, 48 instances"),
        // A number is the number of instances, and a time that of all of them, of 480 ms each.
        (&["--blocks", "9"], "After 9 instances"),
        (&["--time", "5s"], "After 10 instances"),
        (&["--time", "10s"], "8, 16 instances"),
        (&["--most", "30"], "8, 16, 24 instances"),
        (&["--woven", "--time", "2s"], "After 4 instances"),
    ] {
        let woven = dry(flags);
        assert!(woven.stderr.contains("the arms are woven") && woven.stdout.contains(when), "{flags:?}: {woven:#?}");
        assert_eq!(woven.stderr.contains("a verdict takes 8 instances, here are 4"), flags.contains(&"2s"), "{woven:#?}");
        assert!(woven.stdout.contains("no woven run of such cells is stored"), "{woven:#?}");
    }
    for (flags, why) in [
        (&["--in-turn"][..], "--in-turn says so"),
        (&["--time", "50ms"], "the time given is that of a trial: 8 instances of every cell take 3.8 s"),
        (&["--messages", "5000"], "trials are of a number of messages"),
        (&["--precision", "5%"], "a warm-up and a precision are those of trials in turn"),
        (&["--flows", "40"], "a cell has more flows than have a turn in each slice"),
        (&["--rate", "100/s"], "a slice has too few messages of the offered rate"),
    ] {
        let turn = dry(flags);
        assert!(turn.stderr.contains(&format!("the arms are compared in turn: {why}")), "{flags:?}: {turn:#?}");
        assert!(!turn.stdout.contains("instances"), "{flags:?}: {turn:#?}");
    }
    Ok(())
}

/// One that is refused beyond the MTU, and one that is sent by a thread of the kernel's, cost the others nothing.
fn ways_and_many_arms_are_rounds_around_a_reference() -> Result<(), Skip> {
    need_root()?;
    let (tool, before) = (Tool::new(), traces());
    let ways = ["send", "sendto", "sendmsg", "sendmmsg", "gso", "uring-sqpoll", "zerocopy", "splice", "raw"];
    let asked = ["study", "ways", "--test", "UDP_STREAM", "--size", "64,4K", "--api", &ways.join(","), "--blocks", "4", "-J"];
    let answer = tool.run(&asked);
    assert!(answer.code == Some(0) && answer.stderr.contains("uring-sqpoll stays in turn"), "{answer:#?}");
    assert_nothing_left(&tool, &before);
    let found = answer.json();
    let series = &found["ways"]["series"][0];
    let of = |api: &str| series["ways"].as_array().unwrap().iter().find(|way| way["api"] == api).unwrap_or(&Value::Null);
    // Where other tests keep the CPUs busy, an instance may have no slice that both ends measured.
    for api in &ways[1..] {
        let ratio = &of(api)["of_base"][0];
        assert_eq!(ratio["interval"]["method"], "instances", "{api}: {series}");
        assert!(ratio["n"].as_u64().is_some_and(|n| (2..=4).contains(&n)), "{api}: {series}");
    }
    assert!(of("gso")["of_base"][0]["value"].as_f64().unwrap() < 0.5, "{series}");
    assert_eq!((&series["woven"], &of("uring-sqpoll")["in_turn"]), (&true.into(), &"kernel_thread".into()));
    // Packets and what is cut from them fit the MTU; the others go on.
    assert!(of("gso")["of_base"][1].is_null() && of("raw")["of_base"][1].is_null() && !of("sendto")["of_base"][1].is_null(), "{series}");
    let stored = tool.stored();
    let (groups, records) = (stored.run().plan.groups(), stored.trials());
    let members: usize = groups.iter().map(|group| group.members.len()).sum();
    assert_eq!(records.len(), 4 * members, "each member of each group once a block");
    for record in &records {
        let group = &groups[record.group.unwrap() as usize];
        let woven = group.in_turn.is_none();
        assert!(record.measured().is_none_or(|measured| (measured.slices > 0) == woven), "{}", record.cell);
        let busy = matches!(&record.outcome, Outcome::Failed { error, .. } if error.contains("no slice of it counts"));
        assert!(record.measured().is_some() || record.cell.size.get() == 4096 || busy, "{}: {:?}", record.cell, record.outcome);
    }
    assert_eq!(found["datagrams"]["unaccounted"], 0, "{}", found["datagrams"]);
    assert_eq!(tool.run(&["report", "latest", "-J"]).json()["ways"], found["ways"]);
    let text = tool.run(&["report", "latest", "-v"]).done().stdout;
    assert!(text.contains("not shown to differ") && text.contains("because a thread of the kernel's sends"), "{text}");
    let slices = tool.run(&["export", "latest", "--slices"]).done().stdout;
    let mut table = csv::Reader::from_reader(slices.as_bytes());
    let mut place = |name: &str| table.headers().unwrap().iter().position(|one| one == name).unwrap();
    let (api, group) = (place("api"), place("group"));
    let references: Vec<String> =
        table.records().map(Result::unwrap).filter(|row| &row[api] == "send").map(|row| row[group].to_owned()).collect();
    let woven = groups.iter().enumerate().filter(|(_, group)| group.in_turn.is_none()).map(|(place, _)| place.to_string());
    woven.for_each(|group| assert!(references.contains(&group), "a reference in group {group}"));
    // It goes on with the same groups.
    let again = tool.run(&["study", "--again", "latest", "--blocks", "2", "-J"]).done().json();
    let sendto = again["ways"]["series"][0]["ways"].as_array().unwrap().iter().find(|way| way["api"] == "sendto").unwrap();
    assert!(sendto["of_base"][0]["n"].as_u64() > of("sendto")["of_base"][0]["n"].as_u64(), "{again}");

    let arms: Vec<String> = (0..9).map(|arm| format!("a{arm}")).collect();
    let asked = arms.iter().flat_map(|arm| ["--arm", arm]);
    let asked: Vec<&str> = ["study", "size", "--test", "UDP_RR", "--size", "64", "--blocks", "3", "-J"].into_iter().chain(asked).collect();
    let found = tool.run(&asked).judged().json();
    for verdict in found["verdicts"].as_array().unwrap() {
        for metric in verdict["metrics"].as_array().unwrap().iter().filter(|metric| metric["gate"] == true) {
            assert_eq!(metric["comparison"]["design"], "woven", "{metric}");
            assert!(metric["comparison"]["cells"][0]["ratio"]["n"].as_u64().is_some_and(|n| (2..=3).contains(&n)), "{metric}");
        }
    }
    let trials = found["trials"].as_u64().unwrap() + found["failed"].as_u64().unwrap();
    assert_eq!((found["verdicts"].as_array().unwrap().len(), trials), (8, 30), "the first in both groups");
    Ok(())
}

fn ways_are_woven_where_they_can_be_and_a_line_says_why() -> Result<(), Skip> {
    let dry = |flags: &[&str]| {
        let answer = Tool::new().run(&[&["study", "ways", "--test", "UDP_STREAM", "--size", "64", "--dry-run"], flags].concat()).done();
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        (plain(&answer.stdout), plain(&answer.stderr))
    };
    for (flags, when) in [
        (&[][..], "instances of 3 groups around a reference, 19 cells compared with it (1 cell in turn)"),
        (&["--blocks", "9"], "9 instances of 3 groups"),
        (&["--time", "30s"], "instances of 3 groups"),
    ] {
        let (out, err) = dry(flags);
        assert!(
            err.contains("the ways are woven") && err.contains("uring-sqpoll stays in turn") && out.contains(when),
            "{flags:?}: {out} {err}"
        );
    }
    for (flags, why) in [
        (&["--in-turn"][..], "--in-turn says so"),
        (&["--time", "20ms"], "the time given is that of a trial"),
        (&["--link", "ethernet 10M"], "the link takes long to drain"),
        (&["--warmup", "10ms"], "a warm-up and a precision are those of trials in turn"),
    ] {
        let (out, err) = dry(flags);
        assert!(err.contains(&format!("the ways are compared in turn: {why}")) && !out.contains("instances"), "{flags:?}: {out} {err}");
    }
    let plain = Tool::new().run(&["study", "quick", "--dry-run"]).done();
    assert!(!plain.stderr.contains("woven") && !plain.stderr.contains("in turn"), "{plain:?}");
    Ok(())
}

fn several_flows_both_ways_and_rates_are_woven() -> Result<(), Skip> {
    need_root()?;
    let plan = r#"
name = "woven"
trial = { length = "50ms", warmup = "5ms" }
arms = ["a", "b: sndbuf=64K"]
[[cells]]
test = ["UDP_STREAM", "TCP_STREAM"]
size = 1000
nodelay = true
flows = [1, 3]
bidirectional = [false, true]
[[cells]]
test = ["UDP_RR", "TCP_RR"]
size = 64
flows = 4
[[cells]]
test = "UDP_STREAM"
size = 200
rate = "5000/s"
arrivals = ["periodic", "poisson"]
"#;
    let tool = Tool::new();
    let before = traces();
    let found = tool.study(plan, &["--woven", "--blocks", "3", "--gate", "time", "-J"]).judged().json();
    assert_nothing_left(&tool, &before);
    let (measured, failed) = (found["trials"].as_u64().unwrap(), found["failed"].as_u64().unwrap());
    assert!(measured + failed == 72 && failed <= 24, "{}", found["findings"]);
    // Each flow is drained by itself: nothing is lost from sight.
    assert_eq!(found["datagrams"]["unaccounted"], 0, "{}", found["datagrams"]);
    let mut rates = Vec::new();
    for record in &tool.stored().trials() {
        let Some(measured) = record.measured() else { continue };
        let (cell, busy) = (&record.cell, record.warnings.iter().any(Warning::disturbs));
        assert!(measured.slices >= 1 && measured.sender.counts.messages > 0 && measured.receiver.counts.messages > 0, "{cell}");
        assert!(measured.sender.total.messages > measured.sender.counts.messages, "{cell}");
        if cell.bidirectional {
            let back = [&measured.sender, &measured.receiver].map(|end| end.back.unwrap());
            assert!(back.iter().all(|back| back.counts.bytes > 0 && back.counts.bytes < back.total.bytes), "{cell}: {back:?}");
        }
        // Its threads cannot have more CPU time than the slices are long, each of them.
        let most = measured.sender.window.length().get() * u64::from(cell.threads());
        assert!(measured.sender.cpu_time.process.get() <= most, "{cell}");
        if cell.rate.is_some() && !busy {
            let seconds = measured.sender.window.length().as_secs_f64();
            rates.push(measured.sender.counts.messages as f64 / seconds);
            let schedule = measured.sender.schedule.as_ref().unwrap();
            assert!(schedule.intended > 0 && schedule.behind <= schedule.intended / 4, "{schedule:?}");
        }
    }
    // The schedule stands still while others have their turns: no slice begins with what was due meanwhile.
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    assert!(rates.is_empty() || (4_000.0..6_000.0).contains(&mean), "{rates:?}");
    Ok(())
}

fn a_woven_run_is_measured_again_and_pooled() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::new();
    let plan = PLAN.replace("[\"UDP_STREAM\", \"TCP_STREAM\", \"UDP_RR\", \"TCP_RR\"]", "\"UDP_RR\"");
    let n = |found: &Value| found["verdicts"][0]["metrics"][0]["comparison"]["cells"][0]["ratio"]["n"].as_u64().unwrap_or(0);
    let first = tool.study(&plan, &["--woven", "--blocks", "4", "-J"]).judged().json();
    let pooled = tool.run(&["study", "--again", "latest", "--blocks", "5", "-J"]).judged().json();
    let stored = tool.stored();
    let run = stored.run();
    assert_eq!((run.plan.woven, run.plan.blocks.most, run.pooled.as_ref().map(|pooled| pooled.runs.len())), (true, 5, Some(1)));
    // Instances of both, less those of which the machine left no slice.
    assert!(n(&first) >= 2 && n(&pooled) > n(&first) && n(&pooled) <= 9, "{} {}", n(&first), n(&pooled));
    assert_eq!(tool.run(&["report", "latest", "-J"]).json()["verdicts"], pooled["verdicts"]);
    let third = tool.run(&["study", "--again", "latest", "--blocks", "4", "-J"]).judged().json();
    assert!(n(&third) > n(&pooled) && n(&third) <= 13, "{} {}", n(&pooled), n(&third));
    assert!(tool.run(&["study", "--resume", "latest"]).judged().stderr.contains("is complete: nothing is left to run"));
    Ok(())
}

/// Killed twice at any moment, and interrupted once: each instance is there once, with a trial of each arm.
fn a_woven_run_that_was_stopped_is_gone_on_with() -> Result<(), Skip> {
    const BLOCKS: usize = 6;
    need_root()?;
    let mut random = ChaCha8Rng::seed_from_u64(SEED + 2);
    let tool = Tool::new();
    let before = traces();
    let plan = PLAN.replace("[\"UDP_STREAM\", \"TCP_STREAM\", \"UDP_RR\", \"TCP_RR\"]", "[\"UDP_STREAM\", \"UDP_RR\"]");
    let mut study = tool.start_study(&plan, &["--woven", "--blocks", &BLOCKS.to_string()]);
    for stop in 0..3 {
        let stored = || tool.try_stored().map_or(0, |run| run.trials_so_far());
        let least = stored() + 2;
        within(Duration::from_secs(60), "two more trials are stored", || stored() >= least);
        std::thread::sleep(Duration::from_millis(random.random_range(0..600)));
        if stop == 1 {
            signal::kill(Pid::from_raw(study.id().cast_signed()), Signal::SIGINT).unwrap();
            let answer: Answer = study.wait_with_output().unwrap().into();
            assert!(answer.code == Some(1) && answer.stderr.contains("go on with `nettoll study --resume"), "{answer:#?}");
        } else {
            study.kill().unwrap();
            study.wait().unwrap();
        }
        assert_nothing_left(&tool, &before);
        study = tool.command(&["study", "--resume", "latest", "-J"]).spawn().unwrap();
    }
    let answer: Answer = study.wait_with_output().unwrap().into();
    let found = answer.judged().json();
    let stored = tool.stored();
    assert_eq!(stored.status(), Status::BlocksDone);
    assert_eq!(stored.run().warnings.iter().filter(|warning| matches!(warning, Warning::Resumed { .. })).count(), 3);
    let mut places: Vec<_> = stored.trials().iter().map(|one| (one.block, one.position)).collect();
    places.dedup();
    assert_eq!(places, (0..BLOCKS as u32).flat_map(|block| (0..4).map(move |at| (block, at))).collect::<Vec<_>>());
    assert_eq!(found["trials"].as_u64().unwrap() + found["failed"].as_u64().unwrap(), 4 * BLOCKS as u64);
    for group in 0..2 {
        let (instances, rest) = store::read_slices(stored.path(), group).unwrap();
        let numbers: Vec<u32> = instances.iter().map(|one| one.instance).collect();
        let unique: BTreeSet<u32> = numbers.iter().copied().collect();
        assert!(rest.is_none() && unique.len() == numbers.len() && numbers.iter().all(|number| *number < BLOCKS as u32), "{numbers:?}");
    }
    Ok(())
}

fn a_pilot_says_what_ten_seconds_show() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::new();
    let words = ["study", "size", "--test", "UDP_RR", "--size", "64", "--dry-run", "--arm", "a", "--arm", "a"];
    let told = tool.run(&[&words[..], &["--pilot", "-J"]].concat()).done();
    let smallest = &told.json()["smallest"];
    assert!(
        (0.0..10.0).contains(&smallest["half_width"].as_f64().unwrap()) && smallest["runs"] == 1 && smallest["s"] == 10.0,
        "{smallest}"
    );
    assert_eq!(tool.stored().run().plan.blocks.most, 11, "5 s of 480 ms each");
    // The next dry run has it of the stored run.
    let stored = tool.run(&words).done();
    let told = stored.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("10 s of each cell find a difference of") && told.contains("(UDP_RR 64 B, by 1 stored run)."), "{told}");
    tool.run(&[&words[..], &["--pilot", "--in-turn"]].concat()).refused(2, &["--pilot measures woven arms", "--in-turn says so"]);
    Ok(())
}

/// Recorded slices of one thing against itself (`tests/data/woven`), as if each instance had been of any other study and
/// its arms had been named by a coin: no difference is true.
fn names_that_are_dealt_again_give_no_verdict() -> Result<(), Skip> {
    const STUDIES: usize = 200;
    let run = stored_runs::data().join("woven");
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    for (place, test) in [model::Test::UdpStream, model::Test::TcpRr].into_iter().enumerate() {
        let (instances, rest) = store::read_slices(&run, place).unwrap();
        assert!(instances.len() >= 24 && rest.is_none(), "{test}: {}", instances.len());
        let raw = PLAN.replace("[\"UDP_STREAM\", \"TCP_STREAM\", \"UDP_RR\", \"TCP_RR\"]", &format!("\"{test}\""));
        let raw = raw.replace("\"b: sndbuf=64K\"", "\"b\"").replace("size = 1000", if place == 0 { "size = 1024" } else { "size = 64" });
        let plan = model::plan::resolve(&model::plan::RawPlan::parse(&raw).unwrap(), &[], 1).unwrap();
        let plan = plan.weave([8, 24]).unwrap();
        let looks = analysis::woven::looks(&plan.blocks);
        // Any difference that is sure is one, however small.
        let options = Options { threshold: 1e-9, ..Options::of_arms(&plan) };
        let (mut covered, mut false_verdicts) = (0, 0);
        for _ in 0..STUDIES {
            let mut series = WovenSeries::for_plan(&plan);
            let mut shown = false;
            for number in 0..24 {
                let dealt = &instances[random.random_range(0..instances.len())];
                let swapped = u32::from(random.random::<bool>());
                let slices: Vec<Slice> = dealt.slices.iter().map(|slice| Slice { arm: slice.arm ^ swapped, ..*slice }).collect();
                series.push(0, number, &slices);
                if looks.contains(&(number as usize + 1)) {
                    let values = WovenSide::of(&series, 1).values(0, Measure::BothEnds);
                    let found = compare(&[values], Direction::LowerIsBetter, &options).cells[0];
                    shown |= matches!(found.verdict, Verdict::Better | Verdict::Worse);
                    let interval = found.ratio.and_then(|ratio| ratio.interval).unwrap();
                    covered += usize::from(number == 23 && (interval.low..=interval.high).contains(&1.0));
                }
            }
            false_verdicts += usize::from(shown);
        }
        assert!(covered >= STUDIES * 92 / 100 && false_verdicts <= STUDIES / 20, "{test}: {covered} and {false_verdicts} of {STUDIES}");
    }
    Ok(())
}

fn a_check_compares_them_the_other_way() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::new();
    let plan = PLAN.replace("[\"UDP_STREAM\", \"TCP_STREAM\", \"UDP_RR\", \"TCP_RR\"]", "\"UDP_STREAM\"");
    let answer = tool.study(&plan, &["--woven", "--blocks", "4", "--check", "--events", "events.jsonl"]).judged();
    assert!(answer.stderr.contains("agree within their intervals, woven and in turn"), "{answer:#?}");
    let runs: Vec<bool> =
        [1, 2].map(|back| tool.run(&["report", &format!("@-{back}"), "-J"]).json()["run"]["plan"]["woven"] == true).into();
    assert_eq!(runs, [false, true]);
    // Each run has its lines.
    let lines = fs::read_to_string(tool.path().join("events.jsonl")).unwrap();
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let edges: Vec<_> = events.iter().filter(|event| event["event"] == "begin" || event["event"] == "end").collect();
    let [first, result, second, check] = &edges[..] else { panic!("{edges:?}") };
    assert_eq!([&first["woven"], &second["woven"]], [true, false]);
    for (begin, end) in [(first, result), (second, check)] {
        assert_eq!((&begin["run"], end["exit"].as_i64()), (&end["run"], answer.code.map(i64::from)), "{end}");
        assert!(end["answer"]["headline"].is_string(), "{end}");
        let place = |of: &Value| events.iter().position(|event| event == of).unwrap();
        let measured = events[place(begin)..place(end)].iter().filter(|event| event["outcome"] == "measured").count();
        assert_eq!(end["trials"], measured, "{end}");
    }
    assert_ne!(first["run"], second["run"]);
    assert_eq!(events.last(), Some(*check));
    Ok(())
}

fn a_killed_controller_of_woven_arms_leaves_nothing() -> Result<(), Skip> {
    need_root()?;
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let mut unusual = 0;
    for _ in 0..KILLS {
        let tool = Tool::new();
        let (before, states) = (traces(), unusual_states());
        let mut study = tool.start_study(PLAN, &["--woven", "--blocks", "1000"]);
        within(Duration::from_secs(60), "an end is there", || processes::endpoint(&tool, "a").is_some());
        let hosts = processes::of(&tool).into_iter().filter(|process| process.kind == "__host");
        let witnesses = hosts.map(|host| Witness::of(&host)).collect::<Result<Vec<Witness>, Skip>>();
        std::thread::sleep(Duration::from_millis(random.random_range(0..900)));
        unusual += usize::from(!unusual_states().is_subset(&states));
        study.kill().unwrap();
        study.wait().unwrap();
        let witnesses = witnesses?;
        assert_eq!(witnesses.len(), 4, "a pair of hosts for each arm");
        assert_nothing_left(&tool, &before);
        assert_usual_states(&states);
        within(Duration::from_secs(20), "the namespaces end", || !witnesses.iter().any(Witness::is_there));
    }
    assert!(unusual > 0, "tasks of real-time priority are seen");
    Ok(())
}

fn a_killed_end_costs_its_instance_alone() -> Result<(), Skip> {
    need_root()?;
    let mut random = ChaCha8Rng::seed_from_u64(SEED + 1);
    let mut failed = 0;
    for kill in 0..KILLS {
        let tool = Tool::new();
        let before = traces();
        let study = tool.start_study(PLAN, &["--woven", "--blocks", "2", "-J"]);
        within(Duration::from_secs(60), "an end is there", || processes::endpoint(&tool, "a").is_some());
        std::thread::sleep(Duration::from_millis(random.random_range(0..900)));
        let host = ["a", "b"][kill % 2];
        if let Some(end) = (0..400).find_map(|_| {
            std::thread::sleep(Duration::from_millis(1));
            processes::endpoint(&tool, host)
        }) {
            let _ = end.kill();
        }
        let answer: Answer = study.wait_with_output().unwrap().into();
        assert_nothing_left(&tool, &before);
        assert!(matches!(answer.code, Some(0 | 3 | 4)), "{answer:#?}");
        let found = answer.json();
        // An instance has a trial of each arm.
        let (measured, lost) = (found["trials"].as_u64().unwrap(), found["failed"].as_u64().unwrap());
        assert!(measured + lost == 16 && lost <= 4, "{measured} and {lost}");
        failed += lost;
    }
    assert!(failed > 0, "of {KILLS} kills, at least one was in time");
    Ok(())
}
