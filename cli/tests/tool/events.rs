//! `study --events`: a program that follows a study reads what the run stores.

use std::fs;
use std::time::Duration;

use analysis::single::single;
use model::run::Status;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::stored::Stored;
use crate::support::tool::Tool;
use crate::support::{Skip, need_root, within};

crate::claims!(
    events_of_a_study_are_those_of_its_run,
    events_of_woven_arms_are_alone_on_standard_output,
    an_interrupted_study_ends_its_events_and_goes_on_with_them,
    a_reader_of_events_that_goes_away_ends_no_study,
    events_that_cannot_be_written_cost_no_study,
);

const PLAN: &str = r#"
name = "followed"
trial = { length = "20ms", warmup = "2ms" }
blocks = { least = 9, most = 9 }
[[cells]]
test = ["TCP_STREAM", "UDP_RR"]
size = [1, 512]
nodelay = true
"#;

/// Lines of events.
struct Lines(Vec<Value>);

impl Lines {
    #[track_caller]
    fn of(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line is whole: {text}");
        Self(text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect())
    }

    fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |event| event["event"] == name)
    }

    fn count(&self, name: &str) -> usize {
        self.named(name).count()
    }

    /// The first line is `begin`, the last `end`, and there is no other of either; trials are the run's from the `done`th on.
    #[track_caller]
    fn are_of(&self, stored: &Stored, done: usize, exit: u8) -> &Value {
        let (first, last) = (&self.0[0], &self.0[self.0.len() - 1]);
        assert_eq!((first["event"].as_str(), last["event"].as_str()), (Some("begin"), Some("end")), "{first} {last}");
        assert_eq!((self.count("begin"), self.count("end")), (1, 1));
        assert_eq!((&first["format"], &first["done"]), (&Value::from(1), &Value::from(done)));
        let run = stored.run();
        assert_eq!((first["run"].as_str(), last["run"].as_str()), (Some(run.id.as_str()), Some(run.id.as_str())));
        assert_eq!(first["cells"].as_array().unwrap().len(), run.plan.cells.len());
        assert_eq!((&last["exit"], &last["status"]), (&Value::from(exit), &serde_json::to_value(&run.status).unwrap()), "{last}");
        let records = &stored.trials()[done..];
        let trials: Vec<_> = self.named("trial").collect();
        assert_eq!(trials.len(), records.len());
        for (event, record) in trials.iter().zip(records) {
            let place = run.plan.cells.iter().position(|cell| *cell == record.cell).unwrap();
            assert_eq!((&event["block"], &event["cell"]), (&Value::from(record.block), &Value::from(place)), "{event}");
            assert_eq!(event["arm"].as_str(), record.arm.as_deref());
            assert_eq!(event["outcome"] == "measured", record.measured().is_some(), "{event}");
            if let Some(single) = single(record) {
                let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
                assert_eq!(names(&event["metrics"]), names(&serde_json::to_value(&single.metrics).unwrap()), "{event}");
            }
        }
        let measured = records.iter().filter(|record| record.measured().is_some()).count();
        assert_eq!((&last["trials"], &last["failed"]), (&Value::from(measured), &Value::from(records.len() - measured)));
        last
    }
}

fn events_of_a_study_are_those_of_its_run() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.study(PLAN, &["--events", "events.jsonl"]).done();
    let lines = Lines::of(&fs::read_to_string(tool.path().join("events.jsonl")).unwrap());
    let stored = tool.stored();
    let end = lines.are_of(&stored, 0, 0);
    assert_eq!((lines.count("trial"), lines.count("block")), (36, 9));
    let summary: Value = serde_json::from_str(&stored.text("summary.json")).unwrap();
    assert_eq!((&end["answer"]["headline"], &end["answer"]["grade"]), (&summary["headline"], &summary["grade"]));
    let [look] = &lines.named("look").collect::<Vec<_>>()[..] else { panic!("one look") };
    assert_eq!((&look["blocks"], &look["of"], &look["wanted"]), (&Value::from(9), &Value::from(4), &Value::from(0.05)), "{look}");
    assert_eq!(look["enough"], stored.status() == Status::IntervalMet);
    Ok(())
}

fn events_of_woven_arms_are_alone_on_standard_output() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::new();
    let arms = ["--woven", "--arm", "a", "--arm", "b: sndbuf=64K", "--blocks", "8", "--test", "UDP_RR", "--events", "-"];
    let answer = tool.study(PLAN, &arms).judged();
    let lines = Lines::of(&answer.stdout);
    let exit = u8::try_from(answer.code.unwrap()).unwrap();
    lines.are_of(&tool.stored(), 0, exit);
    assert_eq!(lines.0[0]["arms"], serde_json::json!(["a", "b"]));
    assert!(answer.stderr.contains("Report: ") && answer.stderr.contains(&format!("Exit {exit}: ")), "{}", answer.stderr);
    let looks: Vec<_> = lines.named("look").collect();
    assert!(looks.len() == 1 && looks[0]["blocks"] == 8 && looks[0]["wanted"].is_null(), "{looks:?}");
    assert!(looks[0]["met"].as_u64() <= looks[0]["of"].as_u64());
    // An instance has an event for each of its groups, with slices of both members.
    let slices: Vec<_> = lines.named("slices").collect();
    assert!((8..=16).contains(&slices.len()), "{slices:?}");
    assert!(slices.iter().all(|event| event["slices"].as_array().unwrap().len() == 2), "{slices:?}");
    Ok(())
}

fn an_interrupted_study_ends_its_events_and_goes_on_with_them() -> Result<(), Skip> {
    let tool = Tool::new();
    let study = tool.start_study(PLAN, &["--blocks", "100", "--events", "events.jsonl"]);
    let file = tool.path().join("events.jsonl");
    let followed = || fs::read_to_string(&file).unwrap_or_default().matches("\"event\":\"trial\"").count();
    within(Duration::from_secs(60), "five trials are read", || followed() >= 5);
    kill(Pid::from_raw(study.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(study.wait_with_output().unwrap().status.code(), Some(1));
    let lines = Lines::of(&fs::read_to_string(&file).unwrap());
    let stored = tool.stored();
    assert_eq!(lines.are_of(&stored, 0, 1)["status"], "interrupted");
    let done = stored.trials().len();
    // A second reader is on time for the rest, and its end comes with the signal as well.
    let mut rest = tool.command(&["study", "--resume", "--events", "events.jsonl"]).spawn().unwrap();
    within(Duration::from_secs(60), "five more are read", || followed() >= 5 && tool.stored().trials_so_far() > done);
    kill(Pid::from_raw(rest.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(rest.wait().unwrap().code(), Some(1));
    Lines::of(&fs::read_to_string(&file).unwrap()).are_of(&tool.stored(), done, 1);
    Ok(())
}

fn a_reader_of_events_that_goes_away_ends_no_study() -> Result<(), Skip> {
    let tool = Tool::new();
    let mut study = tool.start_study(PLAN, &["--events", "-"]);
    drop(study.stdout.take());
    let answer = study.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&answer.stderr).into_owned();
    assert_eq!(answer.status.code(), Some(0), "{told}");
    assert_eq!(told.matches("no more events: their reader went away; the study goes on").count(), 1, "{told}");
    assert_eq!(tool.stored().all_measured().len(), 36);
    Ok(())
}

fn events_that_cannot_be_written_cost_no_study() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.study(PLAN, &["--events", "none/events.jsonl"]).refused(1, &["write events to none/events.jsonl", "does its directory exist?"]);
    tool.study(PLAN, &["--events", "-", "-J"]).refused_in_json(2, &["standard output has the result already", "name a file"]);
    tool.study(PLAN, &["--events", "-", "--dry-run"]).refused(2, &["--dry-run"]);
    assert!(tool.try_stored().is_none());
    // A study that cannot begin has an end.
    tool.run(&["study", "none", "--events", "events.jsonl"]).refused(2, &["there is no study 'none'"]);
    let lines = Lines::of(&fs::read_to_string(tool.path().join("events.jsonl")).unwrap());
    assert!(lines.0.len() == 1 && lines.0[0]["event"] == "end" && lines.0[0]["exit"] == 2, "{:?}", lines.0);
    assert!(lines.0[0]["error"].as_str().unwrap().contains("there is no study 'none'"));
    Ok(())
}
