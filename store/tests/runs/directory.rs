//! A run directory is made, filled, read and found again.

use std::fs;
use std::path::Path;

use crate::support::{STARTED, failed, host, read, run, trial};
use model::Refusal;
use model::host::HostFacts;
use model::run::Status;
use model::warning::Warning;
use store::{Moment, RunDirectory, RunReader, StoreError, find, latest, list, read_summary, write_summary};

#[test]
fn what_is_written_is_read() {
    let root = tempfile::tempdir().unwrap();
    let mut directory = RunDirectory::create(root.path(), "quick", STARTED).unwrap();
    let mut expected = run(directory.id());
    directory.write_run(&expected).unwrap();
    for name in ["b", "a"] {
        directory.write_host(&host(name), Moment::Before).unwrap();
    }
    directory.write_host(&HostFacts { cpus: 1, ..host("a") }, Moment::After).unwrap();
    let trials: Vec<_> = (0..50).map(trial).collect();
    for trial in &trials {
        directory.append_trial(trial).unwrap();
    }
    directory.sync().unwrap();
    expected.status = Status::BlocksDone;
    directory.write_run(&expected).unwrap();
    assert_eq!(store::write_report(directory.path(), "<!doctype html>").unwrap(), directory.path().join("report.html"));

    let reader = RunReader::open(directory.path()).unwrap();
    assert_eq!(reader.run(), &expected);
    assert_eq!(reader.hosts(Moment::Before).map(|host| host.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(reader.hosts(Moment::After).map(|host| host.cpus).collect::<Vec<_>>(), [1]);
    assert_eq!(reader.warnings(), []);
    for _ in 0..2 {
        assert_eq!(reader.trials().unwrap().map(Result::unwrap).collect::<Vec<_>>(), trials);
    }
    let mut files: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["hosts", "report.html", "run.json", "trials.jsonl"], "nothing else is left");
}

#[test]
fn a_trial_can_be_read_while_the_run_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let mut directory = RunDirectory::create(root.path(), "quick", STARTED).unwrap();
    directory.write_run(&run(directory.id())).unwrap();
    for number in 0..3 {
        directory.append_trial(&failed(number)).unwrap();
        assert_eq!(read(directory.path()).0.len() as u64, number + 1);
    }
}

#[test]
fn runs_of_one_second_do_not_meet() {
    let root = tempfile::tempdir().unwrap();
    let runs: Vec<_> = (0..40).map(|_| RunDirectory::create(root.path(), "quick", STARTED).unwrap()).collect();
    let mut names: Vec<_> = runs.iter().map(|run| run.id().to_owned()).collect();
    assert!(names.iter().all(|name| name.starts_with("2026-11-21T20-14-05Z-quick-") && name.len() == 31), "{names:?}");
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 40);
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let root = tempfile::tempdir().unwrap();
    for study in ["../up", "", "a/b", ".."] {
        assert!(matches!(RunDirectory::create(root.path(), study, STARTED), Err(StoreError::BadName { .. })), "{study}");
    }
    let directory = RunDirectory::create(root.path(), "quick", STARTED).unwrap();
    assert!(matches!(directory.write_host(&host("../../a"), Moment::Before), Err(StoreError::BadName { .. })));
}

#[test]
fn the_latest_run_is_found_among_others() {
    let root = tempfile::tempdir().unwrap();
    assert!(matches!(latest(root.path()), Err(StoreError::NoRuns { .. })));
    let mut ids = Vec::new();
    for ms in [5_000, 9_000, 9_400, 9_200, 1_000] {
        let directory = RunDirectory::create(root.path(), "quick", STARTED + ms).unwrap();
        directory.write_run(&model::Run { started_ms: STARTED + ms, ..run(directory.id()) }).unwrap();
        ids.push(directory.id().to_owned());
    }
    // Neither a run that never began nor a stranger's directory is a run.
    RunDirectory::create(root.path(), "quick", STARTED + 99_000).unwrap();
    fs::create_dir(root.path().join("zzz")).unwrap();
    assert_eq!(latest(root.path()).unwrap(), root.path().join(&ids[2]));
    let listed: Vec<_> = list(root.path()).unwrap().into_iter().map(|run| run.run.unwrap().started_ms - STARTED).collect();
    assert_eq!(listed, [1_000, 5_000, 9_000, 9_200, 9_400]);

    let error = RunReader::open(root.path()).unwrap_err().to_string();
    assert!(error.contains("it holds runs, the latest is ") && error.contains(&ids[2]), "{error}");
}

#[test]
fn a_run_is_found_by_any_part_of_its_name_that_no_other_has() {
    let root = tempfile::tempdir().unwrap();
    let find = |word: &str| find(root.path(), Path::new(word));
    assert!(matches!(find("latest"), Err(StoreError::NoRuns { .. })));
    let names = ["2026-11-21T20-14-05Z-quick-7f3a", "2026-11-21T20-15-05Z-quick-9634", "2026-11-22T08-00-00Z-size-7fff"];
    for (at, name) in names.into_iter().enumerate() {
        fs::create_dir(root.path().join(name)).unwrap();
        let run = model::Run { started_ms: STARTED + at as u64, ..run(name) };
        fs::write(root.path().join(name).join("run.json"), serde_json::to_string(&run).unwrap()).unwrap();
    }
    let path = |at: usize| root.path().join(names[at]);
    for (word, at) in [("7f3a", 0), ("quick-9634", 1), ("size", 2), ("latest", 2), ("@-1", 2), ("@-2", 1), ("@-3", 0)] {
        assert_eq!(find(word).unwrap(), path(at), "{word}");
    }
    // Behind its directory as well; what is there is taken as it is.
    assert_eq!(find(root.path().join("9634").to_str().unwrap()).unwrap(), path(1));
    assert_eq!(find(path(0).to_str().unwrap()).unwrap(), path(0));
    // A whole name is that run's, also where others have it as a part.
    fs::create_dir(root.path().join("quick")).unwrap();
    fs::copy(path(0).join("run.json"), root.path().join("quick/run.json")).unwrap();
    assert_eq!(find("quick").unwrap(), root.path().join("quick"));
    fs::remove_dir_all(root.path().join("quick")).unwrap();
    let said = |word: &str| find(word).unwrap_err().to_string();
    assert!(said("quick").contains(&format!("several runs in {}: {}, {}; write more of it", root.path().display(), names[1], names[0])));
    assert!(said("quik-9634").ends_with("has 'quik-9634' in its name; did you mean quick-9634?"), "{}", said("quik-9634"));
    assert!(said("zzz").contains("`nettoll show`"));
    assert!(said("@-4").contains("it holds 3; @-1 is the latest, @-3 the earliest"));
    assert!(matches!(find("@-0"), Err(StoreError::NoSuchRun { .. })));
    assert_eq!(find("nothing/here").unwrap(), Path::new("nothing/here"));
}

#[test]
fn a_summary_is_of_the_trials_that_there_are() {
    let root = tempfile::tempdir().unwrap();
    let mut directory = RunDirectory::create(root.path(), "quick", STARTED).unwrap();
    assert_eq!(read_summary(directory.path()), None);
    directory.append_trial(&trial(0)).unwrap();
    let summary = model::Summary { headline: "TCP 1 B 1 µs".to_owned(), grade: "rough".to_owned(), ..model::Summary::default() };
    write_summary(directory.path(), summary.clone()).unwrap();
    let read = read_summary(directory.path()).unwrap();
    assert_eq!((read.headline, read.grade.as_str(), read.format), (summary.headline, "rough", 1));
    directory.append_trial(&trial(1)).unwrap();
    assert_eq!(read_summary(directory.path()), None);
    fs::write(directory.path().join("summary.json"), "{").unwrap();
    assert_eq!(read_summary(directory.path()), None);
}

#[test]
fn a_wrong_path_is_answered_with_the_nearest_right_one() {
    let root = tempfile::tempdir().unwrap();
    let directory = RunDirectory::create(root.path(), "quick", STARTED).unwrap();
    let open = |path: &Path| RunReader::open(path).unwrap_err().to_string();
    let error = open(directory.path());
    assert!(error.contains("killed here before it had begun"), "{error}");
    directory.write_run(&run(directory.id())).unwrap();
    let error = open(&directory.path().join("trials.jsonl"));
    assert!(error.ends_with(&format!("it is a file of the run {}", directory.path().display())), "{error}");
    let error = open(&root.path().join(&directory.id()[..29]));
    assert!(error.ends_with(&format!("did you mean {}?", directory.path().display())), "{error}");
    let error = open(&root.path().join("nothing/here"));
    assert!(error.contains("nettoll study"), "{error}");
}

#[test]
fn a_newer_format_is_called_newer_and_damage_damaged() {
    let root = tempfile::tempdir().unwrap();
    let directory = RunDirectory::create(root.path(), "quick", STARTED).unwrap();
    let file = directory.path().join("run.json");
    fs::write(&file, r#"{"format": 7, "tool": "9.9.9", "plan": "something new"}"#).unwrap();
    let error = RunReader::open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("format version 7") && error.contains("reads version 1") && error.contains("(version 9.9.9)"), "{error}");
    for damage in [&b"{\"format\": 1"[..], b"", b"\xff", b"{\"format\": 1}"] {
        fs::write(&file, damage).unwrap();
        assert!(matches!(RunReader::open(directory.path()), Err(StoreError::Damaged { .. })), "{damage:?}");
        assert!(list(root.path()).unwrap()[0].run.is_err());
    }
    fs::File::create(&file).unwrap().set_len(1 << 40).unwrap();
    let error = RunReader::open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("longer than 64 MiB"), "{error}");
}

#[test]
fn damaged_host_facts_cost_only_themselves() {
    let root = tempfile::tempdir().unwrap();
    let directory = RunDirectory::create(root.path(), "quick", STARTED).unwrap();
    directory.write_run(&run(directory.id())).unwrap();
    directory.write_host(&host("a"), Moment::Before).unwrap();
    fs::write(directory.path().join("hosts/b.json"), "{").unwrap();
    fs::write(directory.path().join("hosts/c.json"), r#"{"format": 12}"#).unwrap();
    let reader = RunReader::open(directory.path()).unwrap();
    assert_eq!(reader.hosts(Moment::Before).count(), 1);
    let [Warning::Absent(Refusal { what: b, .. }), Warning::Absent(Refusal { what: c, answer, .. })] = reader.warnings() else { panic!() };
    assert_eq!((b.as_str(), c.as_str()), ("hosts/b.json", "hosts/c.json"));
    assert!(answer.contains("format version 12"), "{answer}");
}
