//! Users' own programs as ends of trials: those that keep to the contract, and those that do not.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use model::trial::{Measured, Outcome};
use model::{Protocol, Role, TrialRecord, Warning};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use testkit::claims::need_programs;

use crate::support::processes::{self, assert_nothing_left, traces};
use crate::support::study::Study;
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_root, within};

crate::claims!(
    programs_in_c_carry_both_protocols_at_either_end,
    programs_in_python_carry_both_protocols_at_either_end,
    programs_that_ask_and_answer_are_counted_like_nettolls_own,
    programs_in_go_carry_both_protocols_at_either_end,
    programs_in_java_carry_both_protocols_at_either_end,
    time_from_outside_is_the_programs_own,
    a_program_that_fails_is_told_in_words_and_the_study_goes_on,
    a_program_that_lies_or_lingers_is_told_of,
    nothing_is_left_of_a_study_that_is_killed,
    a_check_names_the_step_and_exits_by_it,
    what_a_program_cannot_be_told_is_refused,
    a_stored_run_starts_no_program_without_consent,
    an_arm_has_a_way_of_receiving_of_its_own,
    programs_take_turns_and_keep_their_counts,
    programs_that_ask_and_answer_take_turns,
    a_program_that_cannot_be_stopped_is_told_in_words,
    nothing_is_left_stopped_of_programs_that_take_turns,
);

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/endpoint").join(name)
}

/// A directory with the programs that were compiled, for all claims.
static BUILT: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let built = tempfile::tempdir().unwrap();
    for name in ["endpoint.c", "endpoint.py", "endpoint.go", "Endpoint.java", "rr.py"] {
        std::fs::copy(example(name), built.path().join(name)).unwrap();
    }
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tool/programs/wayward.py"), built.path().join("wayward.py")).unwrap();
    built
});

/// Compiles an example, unless its compiler is missing or fails.
fn compile(program: &str, arguments: &[&str]) -> Result<(), Skip> {
    need_programs(&[program])?;
    let cache = BUILT.path().join("cache");
    let answer = Command::new(program).args(arguments).current_dir(BUILT.path()).env("GOCACHE", &cache).env("GO111MODULE", "off").output();
    let answer = answer.map_err(|error| Skip(format!("{program}: {error}")))?;
    match answer.status.success() {
        true => Ok(()),
        false => Err(Skip(format!("{program} failed: {}", String::from_utf8_lossy(&answer.stderr)))),
    }
}

fn in_c() -> Result<String, Skip> {
    compile("cc", &["-O2", "-Wall", "-Wextra", "-Werror", "-o", "c-endpoint", "endpoint.c"])?;
    Ok(format!("{}/c-endpoint", BUILT.path().display()))
}

fn in_python(name: &str, way: &str) -> Result<String, Skip> {
    need_programs(&["python3"])?;
    Ok(format!("python3 {}/{name} {way}", BUILT.path().display()).trim_end().to_owned())
}

/// Cells of both protocols with the program at the sender, at the receiver, and at both.
fn plan(program: &str, length: &str) -> String {
    format!(
        r#"
name = "external"
seed = 3
trial = {{ length = "{length}", warmup = "20ms" }}
blocks = {{ least = 1, most = 1 }}
[[cells]]
test = ["UDP_STREAM", "TCP_STREAM"]
size = [64, 1024]
api = ["exec:{program}"]
receive = ["recv"]
[[cells]]
test = ["UDP_STREAM", "TCP_STREAM"]
size = [64, 1024]
receive = ["exec:{program}"]
[[cells]]
test = ["UDP_STREAM", "TCP_STREAM"]
size = [1024]
api = ["exec:{program}"]
"#
    )
}

fn measured(record: &TrialRecord) -> &Measured {
    record.measured().unwrap_or_else(|| panic!("{}: {:?}", record.cell, record.outcome))
}

/// Holds every trial of a program that keeps to the contract to its counts.
fn carries(program: &str) -> Result<(), Skip> {
    let study = Study::of(&plan(program, "60ms"));
    let trials = study.stored.trials();
    assert_eq!(trials.len(), 10);
    for record in &trials {
        let (cell, measured) = (&record.cell, measured(record));
        let codes: Vec<&str> = record.warnings.iter().map(|warning| warning.code()).collect();
        let doubts = ["claim", "program", "unaccounted", "wrong_path", "impossible"];
        assert!(!codes.iter().any(|code| doubts.contains(code)), "{cell}: {:?}", record.warnings);
        for (role, end) in [(Role::Sender, &measured.sender), (Role::Receiver, &measured.receiver)] {
            assert_eq!(end.external.is_some(), cell.external(role).is_some(), "{cell}");
            assert!(end.counts.messages > 0 && end.cpu_time.process.get() > 0 && !end.threads.is_empty(), "{cell}: {end:?}");
        }
        if cell.protocol() == Protocol::Tcp {
            assert_eq!(measured.sender.total.bytes, measured.receiver.total.bytes, "{cell}");
        }
    }
    assert!(processes::of(&study.tool).is_empty(), "{:?}", processes::of(&study.tool));
    Ok(())
}

fn programs_in_c_carry_both_protocols_at_either_end() -> Result<(), Skip> {
    carries(&in_c()?)
}

fn programs_in_python_carry_both_protocols_at_either_end() -> Result<(), Skip> {
    carries(&in_python("endpoint.py", "")?)
}

fn programs_that_ask_and_answer_are_counted_like_nettolls_own() -> Result<(), Skip> {
    let program = in_python("rr.py", "")?;
    let cells = |ways: &str| format!("[[cells]]\ntest = [\"TCP_RR\", \"UDP_RR\"]\nsize = [1, 1024]\n{ways}\n");
    let plan = format!(
        "name = \"rr\"\nseed = 3\ntrial = {{ length = \"150ms\", warmup = \"50ms\" }}\nblocks = {{ least = 1, most = 1 }}\n{}{}{}",
        cells(&format!("api = [\"exec:{program}\"]\nreceive = [\"recv\"]")),
        cells(&format!("receive = [\"exec:{program}\"]")),
        cells(&format!("api = [\"exec:{program}\"]"))
    );
    let study = Study::of(&plan);
    let trials = study.stored.trials();
    assert_eq!(trials.len(), 12);
    for record in &trials {
        let (cell, measured) = (&record.cell, measured(record));
        let codes: Vec<&str> = record.warnings.iter().map(|warning| warning.code()).collect();
        let doubts = ["claim", "unaccounted", "wrong_path", "impossible", "answers_lost"];
        assert!(!codes.iter().any(|code| doubts.contains(code)), "{cell}: {:?}", record.warnings);
        let (asker, answerer) = (&measured.sender.total, &measured.receiver.total);
        assert!(asker.messages > 0, "{cell}");
        assert_eq!((asker.messages, asker.bytes), (answerer.messages, answerer.bytes), "{cell}");
        assert_eq!(asker.bytes, 2 * cell.size.get() * asker.messages, "{cell}");
        // Round trips are timed by whoever asks.
        assert_eq!(measured.sender.latency.is_some(), cell.external(Role::Sender).is_none(), "{cell}");
    }
    Ok(())
}

fn programs_in_go_carry_both_protocols_at_either_end() -> Result<(), Skip> {
    compile("go", &["build", "-o", "go-endpoint", "endpoint.go"])?;
    carries(&format!("{}/go-endpoint", BUILT.path().display()))
}

fn programs_in_java_carry_both_protocols_at_either_end() -> Result<(), Skip> {
    compile("javac", &["Endpoint.java"])?;
    carries(&format!("java -Xshare:auto -XX:TieredStopAtLevel=1 -cp {} Endpoint", BUILT.path().display()))
}

/// The clock that is read from outside is the one that the program reads inside, but for the error
/// that is stated and for what the program ran since its last message. Without a charge at the edges
/// it would be up to a tick older, of which the error says nothing where the program is bound.
fn time_from_outside_is_the_programs_own() -> Result<(), Skip> {
    const SINCE_LAST_MESSAGE: u64 = 1_000_000;
    let study = wayward(&["clocked"])?;
    let trials = study.stored.trials();
    let record = trial_of(&trials, "clocked");
    let end = &measured(record).sender;
    let external = end.external.as_deref().unwrap();
    let (outside, inside) = (end.cpu_time.process.get(), external.own_cpu.unwrap().get());
    assert!(
        outside.abs_diff(inside) <= external.cpu_error.get() + SINCE_LAST_MESSAGE,
        "{outside} ns outside, {inside} ns inside: {external:?}"
    );
    assert_eq!(external.processes, 1);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if end.cpu.is_some() && cpus > 1 {
        assert!(external.cpu_error.get() < 10_000_000, "bound, it is charged at both edges: {external:?}");
    }
    Ok(())
}

fn wayward(ways: &[&str]) -> Result<Study, Skip> {
    let programs: Result<Vec<String>, Skip> = ways.iter().map(|way| Ok(format!("\"exec:{}\"", in_python("wayward.py", way)?))).collect();
    let plan = format!(
        r#"
name = "wayward"
seed = 3
trial = {{ length = "60ms", warmup = "20ms" }}
blocks = {{ least = 1, most = 1 }}
[[cells]]
test = "UDP_STREAM"
size = [64]
api = ["send", {}]
receive = ["recv"]
"#,
        programs?.join(", ")
    );
    Ok(Study::of(&plan))
}

fn trial_of<'a>(trials: &'a [TrialRecord], way: &str) -> &'a TrialRecord {
    trials.iter().find(|record| record.cell.api.name().ends_with(&format!(" {way}"))).unwrap_or_else(|| panic!("{way}: no trial"))
}

fn a_program_that_fails_is_told_in_words_and_the_study_goes_on() -> Result<(), Skip> {
    let expected: &[(&str, &[&str])] = &[
        ("exits", &["ended before `stop` (exit code 1)", "no such database"]),
        ("silent", &["did not say `ready` within 10 s"]),
        ("rubbish", &["answered", "hello", "`ready` was due"]),
        ("endless", &["no end of the line"]),
        ("dies", &["signal 9"]),
        ("talks", &["said 'still here'"]),
        ("deaf", &["did not say `done` within 2 s"]),
        ("backwards", &["counted backwards"]),
        ("pads", &["each message has 64 bytes"]),
        ("idle", &["none arrived"]),
    ];
    let study = wayward(&expected.iter().map(|(way, _)| *way).collect::<Vec<_>>())?;
    let trials = study.stored.trials();
    assert_eq!(trials.len(), expected.len() + 1);
    for (way, words) in expected {
        let Outcome::Failed { error, lost } = &trial_of(&trials, way).outcome else { panic!("{way} was measured") };
        assert!(!lost && words.iter().all(|word| error.contains(word)), "{way}: {error}");
        assert!(!error.contains('\u{1b}') && (*way == "idle" || error.contains("nettoll endpoint check")), "{way}: {error}");
    }
    assert!(trials.iter().any(|record| record.cell.api == model::Api::Send && record.measured().is_some()), "the study goes on");
    assert!(processes::of(&study.tool).is_empty(), "{:?}", processes::of(&study.tool));
    Ok(())
}

fn a_program_that_lies_or_lingers_is_told_of() -> Result<(), Skip> {
    let expected = [
        ("doubles", "claim", "OutDatagrams"),
        ("halves", "claim", "says each of its messages has 64 B, but the receiver got"),
        ("lingers", "program", "did not end within 500 ms"),
        ("forks", "program", "processes of its own running, which were killed (2 in all)"),
        ("orphans", "program", "a process of its own running, which was killed (1 in all)"),
    ];
    let study = wayward(&expected.map(|(way, ..)| way))?;
    let trials = study.stored.trials();
    for (way, code, words) in expected {
        let warnings = &trial_of(&trials, way).warnings;
        assert!(warnings.iter().any(|one| one.code() == code && one.to_string().contains(words)), "{way}: {warnings:?}");
    }
    // One that lost its parent is counted with it.
    assert_eq!(measured(trial_of(&trials, "orphans")).sender.external.as_deref().unwrap().processes, 2);
    assert!(processes::of(&study.tool).is_empty(), "{:?}", processes::of(&study.tool));
    // Where a program receives as well, the link's bytes say which of the two is wrong.
    let (halves, receives) = (in_python("wayward.py", "halves")?, in_python("endpoint.py", "")?);
    let study = Study::of(&format!(
        "name = \"halves\"\ntrial = {{ length = \"60ms\", warmup = \"20ms\" }}\nblocks = {{ least = 1, most = 1 }}\n[[cells]]\ntest = \
         \"UDP_STREAM\"\nsize = 1024\napi = \"exec:{halves}\"\nreceive = \"exec:{receives}\"\n"
    ));
    let trials = study.stored.trials();
    let claims: Vec<String> = trials[0].warnings.iter().filter(|one| one.code() == "claim").map(ToString::to_string).collect();
    assert!(matches!(&claims[..], [one] if one.starts_with("the sender's program") && one.contains("the link carried")), "{trials:?}");
    Ok(())
}

fn nothing_is_left_of_a_study_that_is_killed() -> Result<(), Skip> {
    let program = in_python("wayward.py", "forks")?;
    let plan = format!(
        "name = \"long\"\ntrial = {{ length = \"60s\", warmup = \"0s\" }}\nblocks = {{ least = 1, most = 1 }}\n[[cells]]\ntest = \
         \"UDP_STREAM\"\nsize = 64\napi = \"exec:{program}\"\nreceive = \"recv\"\n"
    );
    let tool = Tool::new();
    let mut study = tool.start_study(&plan, &[]);
    // The controller, two hosts, an endpoint each, the program, and the two that it started.
    within(Duration::from_secs(20), "all processes are there", || processes::of(&tool).len() >= 8);
    study.kill().unwrap();
    study.wait().unwrap();
    within(Duration::from_secs(10), "all are gone", || processes::of(&tool).is_empty());
    Ok(())
}

fn a_check_names_the_step_and_exits_by_it() -> Result<(), Skip> {
    let (sound, unsound) = (in_c()?, in_python("wayward.py", "doubles")?);
    let tool = Tool::new();
    let checked = tool.run(&["endpoint", "check", &sound]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert_eq!(checked.stdout.matches(" ok ").count(), 8, "{checked:?}");
    let words: Vec<&str> =
        ["endpoint", "check", "--as", "send", "--test", "UDP_STREAM", "-J"].into_iter().chain(unsound.split(' ')).collect();
    let refused = tool.run(&words);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let told: serde_json::Value = serde_json::from_str(&refused.stdout).unwrap();
    assert!(told[0]["faults"][0].as_str().is_some_and(|fault| fault.contains("datagrams")), "{told}");
    let halves = in_python("wayward.py", "halves")?;
    let words: Vec<&str> = ["endpoint", "check", "--as", "send", "--test", "UDP_STREAM"].into_iter().chain(halves.split(' ')).collect();
    let refused = tool.run(&words);
    assert!(refused.code == Some(1) && refused.stdout.matches("each of its messages has").count() == 2, "{refused:?}");
    let missing = tool.run(&["endpoint", "check", "--as", "send", "--test", "UDP_STREAM", "./no-such-program"]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.stdout.contains("give a path"), "{missing:?}");
    assert!(tool.try_stored().is_none(), "a check stores nothing");
    Ok(())
}

fn what_a_program_cannot_be_told_is_refused() -> Result<(), Skip> {
    let tool = Tool::new();
    for (arguments, words) in [
        (&["--api", "exec:"][..], "no program follows"),
        (&["--api", "exec:x", "--flows", "2"], "more than one flow"),
        (&["--api", "exec:x", "--rate", "1000/s"], "a rate"),
        (&["--api", "exec:x", "--test", "TCP_CRR"], "does not carry"),
        (&["--receive", "exec:x", "--stamp"], "a number in each message"),
        (&["--api", "exec:./no-such-program"], "every trial would fail: start ./no-such-program"),
    ] {
        let refused = tool.run(&[&["study", "size", "--dry-run", "--test", "UDP_STREAM", "--size", "64"], arguments].concat());
        assert!(refused.code == Some(2) && refused.stderr.contains(words), "{arguments:?}: {refused:?}");
    }
    Ok(())
}

/// As a setting of the arm, and as the study's, which an arm's program does not replace.
fn an_arm_has_a_way_of_receiving_of_its_own() -> Result<(), Skip> {
    let program = in_python("endpoint.py", "")?;
    let (plain, own) = (format!("mine: api=exec:{program}"), format!("mine: api=exec:{program}, receive=recv"));
    let arguments = [
        "study",
        "size",
        "--test",
        "UDP_STREAM",
        "--size",
        "64",
        "--in-turn",
        "--blocks",
        "1",
        "--length",
        "50ms",
        "--arm",
        "send: api=send",
        "--arm",
    ];
    for (arm, more) in [(&plain, &["--receive", "recv"][..]), (&own, &[]), (&plain, &[])] {
        let tool = Tool::new();
        tool.run(&[&arguments[..], &[arm], more].concat()).judged();
        let trials = tool.stored().trials();
        let mine = trials.iter().find(|trial| trial.arm.as_deref() == Some("mine")).unwrap();
        let (sends, receives) = (&measured(mine).sender.external, &measured(mine).receiver.external);
        let both = more.is_empty() && arm == &plain;
        assert_eq!((sends.is_some(), receives.is_some()), (true, both), "{arm} {more:?}");
    }
    Ok(())
}

fn a_stored_run_starts_no_program_without_consent() -> Result<(), Skip> {
    let study = wayward(&["doubles"])?;
    let text = study.stored.text("run.json").replace("\"blocks_done\"", "\"running\"");
    study.stored.write("run.json", &text);
    let id = study.stored.id();
    let refused = study.tool.run(&["study", "--resume", &format!("runs/{id}")]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("--allow-exec") && refused.stderr.contains("wayward.py doubles"), "{refused:?}");
    let allowed = study.tool.run(&["study", "--resume", &format!("runs/{id}"), "--allow-exec"]);
    assert_ne!(allowed.code, Some(2), "{allowed:?}");
    Ok(())
}

/// Kills at moments drawn from this seed.
const SEED: u64 = 33;
const KILLS: usize = 4;

/// A plan whose arms take turns.
fn woven_plan(arms: &[String], tests: &str) -> String {
    format!(
        "name = \"turns\"\nseed = 3\ntrial = {{ length = \"50ms\" }}\nblocks = {{ least = 4, most = 4 }}\narms = {arms:?}\n[[cells]]\ntest = \
         [{tests}]\nsize = 1000\n"
    )
}

/// Arms of a woven study: each is compared, has slices, and has lost nothing out of sight over its whole trial.
fn take_turns(arms: &[String], tests: &str) -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::new();
    let before = traces();
    let answer = tool.study(&woven_plan(arms, tests), &["--woven", "--blocks", "4", "-J"]).judged();
    assert_nothing_left(&tool, &before);
    let found = answer.json();
    let cells = tests.split(',').count();
    // Where other tests keep the CPUs busy, an instance may have no slice that both ends measured.
    let (measured_trials, failed) = (found["trials"].as_u64().unwrap() as usize, found["failed"].as_u64().unwrap() as usize);
    assert!(measured_trials + failed == 4 * cells * arms.len() && failed <= 3 * measured_trials, "{}", found["findings"]);
    assert_eq!(found["verdicts"][0]["metrics"][0]["comparison"]["design"], "woven");
    if tests.contains("UDP") {
        assert_eq!(found["datagrams"]["unaccounted"], 0, "{}", found["datagrams"]);
    }
    let trials = tool.stored().trials();
    for (record, measured) in trials.iter().filter_map(|record| Some((record, record.measured()?))) {
        let cell = record.as_run.as_deref().unwrap_or(&record.cell);
        let codes: Vec<&str> = record.warnings.iter().map(|warning| warning.code()).collect();
        let doubts = ["claim", "program", "unaccounted", "wrong_path", "impossible"];
        // Next to other tests an end may have no CPU for a whole slice, and a requester's own time limit runs out.
        let disturbed = record.warnings.iter().any(Warning::disturbs);
        assert!(disturbed || !codes.iter().any(|code| doubts.contains(code)), "{cell}: {:?}", record.warnings);
        assert!(measured.slices >= 1, "{cell}");
        for (role, end) in [(Role::Sender, &measured.sender), (Role::Receiver, &measured.receiver)] {
            assert_eq!(end.external.is_some(), cell.external(role).is_some(), "{cell}");
            assert!(end.counts.messages <= end.total.messages, "{cell}: {end:?}");
            assert!(disturbed || end.counts.messages > 0 && end.cpu_time.process.get() > 0, "{cell}: {end:?}");
            assert!(disturbed || end.cpu_time.process <= end.window.length(), "{cell}: {end:?}");
        }
        if cell.protocol() == Protocol::Tcp {
            assert_eq!(measured.sender.total.bytes, measured.receiver.total.bytes, "{cell}");
        }
    }
    Ok(())
}

fn programs_take_turns_and_keep_their_counts() -> Result<(), Skip> {
    let compiled = in_c()?;
    let arms = [
        format!("both: api=exec:{compiled}"),
        format!("sends: api=exec:{compiled}, receive=recv"),
        format!("receives: receive=exec:{compiled}"),
    ];
    take_turns(&arms, "\"UDP_STREAM\", \"TCP_STREAM\"")
}

fn programs_that_ask_and_answer_take_turns() -> Result<(), Skip> {
    let program = in_python("rr.py", "")?;
    let arms = [format!("both: api=exec:{program}"), format!("answers: receive=exec:{program}"), "plain".to_owned()];
    take_turns(&arms, "\"UDP_RR\", \"TCP_RR\"")
}

/// The error gives its reason, not its silence.
fn a_program_that_cannot_be_stopped_is_told_in_words() -> Result<(), Skip> {
    need_root()?;
    let elsewhere = "has a process in a group of its own";
    for (way, words) in [("forks", elsewhere), ("orphans", elsewhere), ("dies", "signal 9")] {
        let arms = [format!("mine: api=exec:{}, receive=recv", in_python("wayward.py", way)?), "plain".to_owned()];
        let tool = Tool::new();
        let before = traces();
        tool.study(&woven_plan(&arms, "\"UDP_STREAM\""), &["--woven"]).refused(1, &[words]);
        assert_nothing_left(&tool, &before);
    }
    // A stack of its own has timers, which run on.
    let arms = ["--arm", "a: api=tpi-streams", "--arm", "b: api=tpi-streams"];
    let words = [&["study", "size", "--test", "UDP_STREAM", "--size", "64", "--dry-run"][..], &arms].concat();
    let dry = Tool::new().run(&words).done();
    let told = [&dry.stdout, &dry.stderr].map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")).concat();
    assert!(told.contains("a network stack of their own"), "{told}");
    Ok(())
}

/// The controller, a harness or a program is killed in any slice: processes that are stopped end like any.
fn nothing_is_left_stopped_of_programs_that_take_turns() -> Result<(), Skip> {
    need_root()?;
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let program = in_python("wayward.py", "helps")?;
    let arms = [format!("mine: api=exec:{program}, receive=recv"), format!("same: api=exec:{program}, receive=recv")];
    for kill in 0..3 * KILLS {
        let tool = Tool::new();
        let before = traces();
        let mut study = tool.start_study(&woven_plan(&arms, "\"UDP_STREAM\""), &["--woven", "--blocks", "1000"]);
        // The controller, two pairs of hosts, an endpoint each, and two programs with the one that each started.
        within(Duration::from_secs(60), "all processes are there", || processes::of(&tool).len() >= 13);
        std::thread::sleep(Duration::from_millis(random.random_range(0..400)));
        let all = processes::of(&tool);
        let program = all.iter().find(|one| one.name == "helps");
        let harness = all.iter().find(|one| program.is_some_and(|program| program.parent == one.pid));
        let victim = match kill % 3 {
            0 => None,
            1 => harness,
            _ => program,
        };
        if let Some(victim) = victim {
            let _ = victim.kill();
            std::thread::sleep(Duration::from_millis(random.random_range(0..200)));
        }
        study.kill().unwrap();
        let answer: Answer = study.wait_with_output().unwrap().into();
        assert!(answer.code.is_none() || victim.is_some(), "{answer:#?}");
        assert_nothing_left(&tool, &before);
    }
    Ok(())
}
