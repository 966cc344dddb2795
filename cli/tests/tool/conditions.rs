//! What a trial is run under really happens: units of load work on their end's
//! CPU, priorities and places are those that were asked, and nothing of it is
//! left when the trial, the study or any of its processes is over.

use std::time::Duration;

use model::condition::{Conditions, LoadUsage, ObservedConditions, Placement, Priority};
use model::end::EndReport;
use model::run::Status;
use model::trial::{Measured, Outcome, TrialRecord};
use model::{Refusal, Role, Warning};

use crate::support::processes::{self, assert_nothing_left, traces};
use crate::support::stored::Stored;
use crate::support::tool::Tool;
use crate::support::{Skip, need_programs, need_root, within};

crate::claims!(
    units_of_load_share_the_cpu_of_their_end,
    jobs_whose_program_is_missing_are_replaced_and_that_is_said,
    a_killed_keeper_or_controller_takes_its_load_with_it,
    a_loaded_study_is_gone_on_with_in_its_third_block,
    priorities_are_set_and_read_back,
    a_refused_priority_fails_its_trials_alone,
    ends_and_softirqs_run_where_they_were_placed,
    a_placement_that_cannot_be_fails_its_trials_alone,
    what_nobody_can_bring_about_is_misuse,
);

/// A study of one table of cells.
fn plan(trial: &str, blocks: u32, cells: &str) -> String {
    format!("name = \"under\"\nseed = 3\ntrial = {{ {trial} }}\nblocks = {{ least = {blocks}, most = {blocks} }}\n[[cells]]\n{cells}")
}

fn taken(measured: &Measured) -> ObservedConditions {
    measured.conditions.as_deref().cloned().unwrap_or_default()
}

/// CPU time over time.
fn rate(load: &LoadUsage) -> f64 {
    load.cpu.as_secs_f64() / load.elapsed.as_secs_f64()
}

fn share(end: &EndReport) -> f64 {
    end.cpu_time.process.as_secs_f64() / end.window.length().as_secs_f64()
}

/// No load has left a directory where one is made if none can be mounted.
#[track_caller]
fn assert_no_directories() {
    for place in ["/dev/shm".into(), std::env::temp_dir()] {
        let names = std::fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let left: Vec<String> = names.filter(|name| name.starts_with("nettoll-load")).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// A sender of datagrams never sleeps: next to n units it has one share of n + 1.
fn units_of_load_share_the_cpu_of_their_end() -> Result<(), Skip> {
    let tool = Tool::new();
    let before = traces();
    let cells = "test = \"UDP_STREAM\"\nsize = 64\nload = [0, \"sender:1\", \"sender:3\", \"receiver:2\"]";
    tool.study(&plan("length = \"600ms\", warmup = \"20ms\"", 1, cells), &[]).done();
    assert_nothing_left(&tool, &before);
    assert_no_directories();
    for (record, measured) in tool.stored().all_measured() {
        let (load, taken) = (record.cell.conditions.load, taken(&measured));
        let expected = |role| *load.of(role) > 0;
        assert_eq!((taken.sender_load.is_some(), taken.receiver_load.is_some()), (expected(Role::Sender), expected(Role::Receiver)));
        for load in [&taken.sender_load, &taken.receiver_load].into_iter().flatten() {
            assert!(load.jobs > 0, "{load:?}");
            // Of one CPU no more than all; some of it is others'.
            assert!((0.02..1.05).contains(&rate(load)), "{load:?}");
        }
        if let Some(units) = &taken.sender_load {
            let own = share(&measured.sender) / (share(&measured.sender) + rate(units));
            let fair = 1.0 / f64::from(load.sender + 1);
            assert!((0.6 * fair..1.6 * fair).contains(&own), "{own} next to {} units: {units:?}", load.sender);
        }
        // What was asked for is no doubt; what others do to the other end is.
        let doubted = |role| record.warnings.iter().any(|warning| matches!(warning, Warning::Contended { role: end, .. } if *end == role));
        assert!(!(expected(Role::Sender) && doubted(Role::Sender)), "{:?}", record.warnings);
        assert!(!(expected(Role::Receiver) && doubted(Role::Receiver)), "{:?}", record.warnings);
    }
    Ok(())
}

fn jobs_whose_program_is_missing_are_replaced_and_that_is_said() -> Result<(), Skip> {
    let tool = Tool::new();
    let cells = "test = \"TCP_RR\"\nsize = 1\nload = [\"sender:1\", \"both:1\"]";
    tool.write("plan.toml", &plan("length = \"60ms\", warmup = \"5ms\"", 1, cells));
    let answer = tool.command(&["study", "--plan", "plan.toml", "-v"]).env("PATH", "").output().unwrap();
    let answer = crate::support::tool::Answer::from(answer).done();
    let stored = tool.stored();
    for (record, measured) in stored.all_measured() {
        let taken = taken(&measured);
        let loads: Vec<&LoadUsage> = [&taken.sender_load, &taken.receiver_load].into_iter().flatten().collect();
        assert_eq!(loads.len(), if record.cell.conditions.load.receiver > 0 { 2 } else { 1 });
        for load in loads {
            let replaced: Vec<(&str, &str)> = load.replaced.iter().map(|one| (one.job.as_str(), one.by.as_str())).collect();
            assert_eq!(replaced, ["compile", "format", "edit", "copy", "ask"].map(|job| (job, "built in")));
        }
    }
    let absent = |warning: &&Warning| matches!(warning, Warning::Absent(Refusal { what, .. }) if what.contains("host load"));
    assert_eq!(stored.run().warnings.iter().filter(absent).count(), 1, "it is said once");
    answer
        .says("for some jobs of a host load is not available: it is not in PATH, and what did the job was another: 'compile' was built in");
    Ok(())
}

fn loaded_trials(tool: &Tool) -> bool {
    processes::of(tool).iter().any(|process| process.kind == "__load" && process.name == "unit")
}

fn a_killed_keeper_or_controller_takes_its_load_with_it() -> Result<(), Skip> {
    let cells = "test = [\"UDP_STREAM\", \"TCP_RR\"]\nsize = [1, 512]\nload = \"both:2\"";
    let plan = plan("length = \"150ms\", warmup = \"5ms\"", 1, cells);
    let tool = Tool::new();
    let before = traces();
    let study = tool.start_study(&plan, &[]);
    within(Duration::from_secs(60), "a load works", || loaded_trials(&tool));
    processes::host(&tool, "b").expect("the host is there").kill();
    crate::support::tool::Answer::from(study.wait_with_output().unwrap()).done();
    assert_nothing_left(&tool, &before);
    assert_no_directories();
    let stored = tool.stored();
    assert_eq!((stored.trials().len(), stored.status()), (4, Status::BlocksDone));
    let errors = stored.errors();
    assert!(errors.len() == 1 && errors[0].starts_with("host b: "), "{errors:?}");
    assert!(stored.trials().iter().filter_map(TrialRecord::measured).all(|measured| taken(measured).receiver_load.is_some()));

    let tool = Tool::new();
    let mut study = tool.start_study(&plan, &[]);
    within(Duration::from_secs(60), "a load works", || loaded_trials(&tool));
    study.kill().unwrap();
    study.wait().unwrap();
    assert_nothing_left(&tool, &before);
    assert_no_directories();
    Ok(())
}

fn a_loaded_study_is_gone_on_with_in_its_third_block() -> Result<(), Skip> {
    const CELLS: usize = 4;
    const BLOCKS: u32 = 4;
    let cells = "test = [\"UDP_RR\", \"TCP_RR\"]\nsize = 1\nload = [0, \"receiver:1\"]";
    let tool = Tool::new();
    let before = traces();
    let mut study = tool.start_study(&plan("length = \"40ms\", warmup = \"5ms\"", BLOCKS, cells), &[]);
    within(Duration::from_secs(60), "the third block is begun", || {
        tool.try_stored().is_some_and(|stored| stored.trials_so_far() > 2 * CELLS)
    });
    study.kill().unwrap();
    study.wait().unwrap();
    assert_nothing_left(&tool, &before);
    let path = tool.stored().path().to_owned();
    tool.run(&["study", "--resume", path.to_str().unwrap()]).done();
    assert_nothing_left(&tool, &before);
    let all = tool.stored().all_measured();
    assert_eq!(all.len(), CELLS * BLOCKS as usize);
    for (record, measured) in all {
        assert_eq!(measured.conditions.is_some(), !record.cell.conditions.is_usual());
    }
    Ok(())
}

fn priorities_are_set_and_read_back() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::new();
    // Real-time ends spin for the length of a trial: it is short.
    let cells = "test = [\"UDP_STREAM\", \"TCP_RR\"]\nsize = 64\nload = [0, \"sender:1\"]\n\
                 priority = [\"usual\", \"sender:nice:10\", \"sender:nice:-10\", \"both:rt:1\"]";
    tool.study(&plan("length = \"60ms\", warmup = \"5ms\"", 1, cells), &[]).done();
    let stored = tool.stored();
    if let Some(refused) = stored.errors().first() {
        return Err(Skip(format!("priorities cannot be raised here: {refused}")));
    }
    for (record, measured) in stored.all_measured() {
        let asked = record.cell.conditions;
        assert_eq!(taken(&measured).priority, asked.priority, "{}", record.cell);
        // In real time one that never sleeps has its CPU to itself, whatever else there is.
        if asked.priority.sender == Priority::Realtime(1) && record.cell.test.is_stream() {
            assert!(share(&measured.sender) > 0.9, "{}: {}", record.cell, share(&measured.sender));
        }
    }
    Ok(())
}

fn a_refused_priority_fails_its_trials_alone() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::of_nobody();
    let cells = "test = \"TCP_RR\"\nsize = 1\npriority = [\"usual\", \"sender:nice:5\", \"sender:nice:-5\", \"receiver:rt:1\"]";
    tool.study(&plan("length = \"30ms\", warmup = \"5ms\"", 1, cells), &[]).done();
    for record in tool.stored().trials() {
        let asked = record.cell.conditions.priority;
        let name = asked.to_string();
        match (&record.outcome, name.contains('-') || name.contains("rt")) {
            (Outcome::Measured(measured), false) => assert_eq!(taken(measured).priority, asked),
            (Outcome::Failed { error, .. }, true) => {
                let call = if name.contains("rt") { "sched_setscheduler SCHED_FIFO" } else { "setpriority" };
                for words in ["host ", call, "ulimit", "CAP_SYS_NICE"] {
                    assert!(error.contains(words), "'{words}': {error}");
                }
                assert!(error.contains("Permission denied") || error.contains("not permitted"), "{error}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    Ok(())
}

/// Packets that another CPU had handled on each: the tenth number of a CPU's line.
fn steered() -> Vec<u64> {
    let text = std::fs::read_to_string("/proc/net/softnet_stat").unwrap();
    let number = |line: &str| u64::from_str_radix(line.split_whitespace().nth(9)?, 16).ok();
    text.lines().filter_map(number).collect()
}

fn ends_and_softirqs_run_where_they_were_placed() -> Result<(), Skip> {
    need_root()?;
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return Err(Skip("there is one CPU".to_owned()));
    }
    let tool = Tool::new();
    let cells = "test = [\"UDP_STREAM\", \"TCP_RR\"]\nsize = 64\n\
                 placement = [\"usual\", \"same-core\", \"other-core\", \"softirq-at-sender\", \"softirq-at-receiver\"]";
    tool.study(&plan("length = \"40ms\", warmup = \"5ms\"", 2, cells), &[]).done();
    let stored = tool.stored();
    let all = stored.all_measured();
    assert_eq!(all.len(), 20);
    for (record, measured) in all {
        let (sender, receiver) = (measured.sender.cpu.unwrap(), measured.receiver.cpu.unwrap());
        let placement = record.cell.conditions.placement;
        assert_eq!(sender == receiver, placement == Placement::SameCore, "{}", record.cell);
        let softirq = match placement {
            Placement::SoftirqAtSender => Some(sender),
            Placement::SoftirqAtReceiver => Some(receiver),
            Placement::Usual | Placement::SameCore | Placement::OtherCore => None,
        };
        assert_eq!(taken(&measured).softirq, softirq, "{}", record.cell);
        if placement == Placement::SameCore {
            assert!(record.warnings.iter().all(|warning| !matches!(warning, Warning::OneCpu | Warning::Contended { .. })), "{record:?}");
        }
    }
    assert!(!stored.run().warnings.contains(&Warning::OneCpu));
    let before = steered();
    tool.study(
        &plan("length = \"40ms\", warmup = \"5ms\"", 1, "test = \"UDP_STREAM\"\nsize = 64\nplacement = \"softirq-at-receiver\""),
        &[],
    )
    .done();
    let (_, measured) = tool.stored().all_measured().swap_remove(0);
    let at = measured.receiver.cpu.unwrap() as usize;
    assert!(steered()[at] > before[at], "packets were handed to CPU {at}: {before:?} {:?}", steered());
    Ok(())
}

#[track_caller]
fn assert_only_usual_ones_are_measured(stored: &Stored, words: &[&str]) {
    for record in stored.trials() {
        match (&record.outcome, record.cell.conditions == Conditions::USUAL) {
            (Outcome::Measured(_), true) => {}
            (Outcome::Failed { error, lost: false }, false) => {
                words.iter().for_each(|words| assert!(error.contains(words), "'{words}': {error}"));
            }
            other => panic!("{other:?}"),
        }
    }
}

fn a_placement_that_cannot_be_fails_its_trials_alone() -> Result<(), Skip> {
    need_root()?;
    need_programs(&["taskset"])?;
    let tool = Tool::new();
    let study = |placement: &str| {
        plan("length = \"30ms\", warmup = \"5ms\"", 1, &format!("test = \"TCP_RR\"\nsize = 1\nplacement = [\"usual\", \"{placement}\"]"))
    };
    tool.write("plan.toml", &study("other-core"));
    let answer = tool.script(&[], "taskset -c 0 $NETTOLL study --plan plan.toml").done();
    answer.says("1 trial measured, 1 failed");
    assert_only_usual_ones_are_measured(&tool.stored(), &["placement other-core", "offer one CPU", "cpuset, taskset"]);
    let tool = Tool::of_nobody();
    tool.study(&study("softirq-at-receiver"), &[]).done();
    let stored = tool.stored();
    if stored.run().warnings.iter().any(|warning| matches!(warning, Warning::NoLink { .. })) {
        return Err(Skip("nobody has no namespaces here".to_owned()));
    }
    assert_only_usual_ones_are_measured(&stored, &["run as root", "leave the placement out"]);
    Ok(())
}

fn what_nobody_can_bring_about_is_misuse() -> Result<(), Skip> {
    let tool = Tool::new();
    let misuse = |arguments: &[&str], words: &[&str]| {
        tool.run(&[&["study", "quick"], arguments].concat()).refused(2, words);
        assert!(!tool.path().join("runs").exists(), "nothing was begun");
    };
    misuse(&["--load", "65"], &["factor 'load'", "at most 64 units"]);
    misuse(&["--load", "nobody:1"], &["factor 'load'", "sender:LEVEL"]);
    misuse(&["--priority", "fast"], &["factor 'priority'", "nice:-20 to nice:19", "rt:1 to rt:98"]);
    misuse(&["--placement", "same-cor"], &["factor 'placement'", "did you mean 'same-core'?", "softirq-at-receiver"]);
    misuse(&["--load", "1", "--host", "b=192.0.2.1"], &["load of the cell", "an agent loads no machine", "leave out --host"]);
    misuse(&["--priority", "rt:1", "--host", "b=192.0.2.1"], &["priority of the cell", "nice, chrt"]);
    misuse(&["--placement", "softirq-at-sender", "--link", "loopback"], &["softirq-at-sender of the cell", "--link veth"]);
    Ok(())
}
