//! A run whose writer has ended is written on.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use model::TrialRecord;
use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, proptest};
use store::{RunDirectory, RunReader, StoreError};

use crate::support::{STARTED, failed, run, trial};

/// A run of `trials` trials whose writer has ended, and the bytes of its lines.
fn stored(root: &Path, trials: u64) -> (std::path::PathBuf, Vec<u8>) {
    let mut directory = RunDirectory::create(root, "quick", STARTED).unwrap();
    directory.write_run(&run(directory.id())).unwrap();
    for number in 0..trials {
        directory.append_trial(&if number % 3 == 0 { failed(number) } else { trial(number) }).unwrap();
    }
    let path = directory.path().to_owned();
    let bytes = fs::read(path.join("trials.jsonl")).unwrap();
    (path, bytes)
}

fn trials(path: &Path) -> Vec<TrialRecord> {
    RunReader::open(path).unwrap().trials().unwrap().map(Result::unwrap).collect()
}

#[test]
fn trials_are_stored_behind_those_that_are_there() {
    let root = tempfile::tempdir().unwrap();
    let (path, _) = stored(root.path(), 3);
    let mut again = RunDirectory::reopen(&path).unwrap();
    assert_eq!(again.cut, 0);
    assert_eq!(again.directory.id(), path.file_name().unwrap().to_str().unwrap());
    again.directory.append_trial(&trial(3)).unwrap();
    drop(again);
    assert_eq!(trials(&path), [failed(0), trial(1), trial(2), trial(3)]);
}

#[test]
fn one_process_at_a_time_writes_a_run() {
    let root = tempfile::tempdir().unwrap();
    let directory = RunDirectory::create(root.path(), "quick", STARTED).unwrap();
    directory.write_run(&run(directory.id())).unwrap();
    let error = RunDirectory::reopen(directory.path()).unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    let path = directory.path().to_owned();
    drop(directory);
    let again = RunDirectory::reopen(&path).unwrap();
    assert!(matches!(RunDirectory::reopen(&path), Err(StoreError::InUse { .. })));
    // Reading takes no lock.
    assert_eq!(trials(again.directory.path()), []);
    drop(again);
    RunDirectory::reopen(&path).unwrap();
}

#[test]
fn what_is_no_run_is_not_reopened() {
    let root = tempfile::tempdir().unwrap();
    assert!(matches!(RunDirectory::reopen(root.path()), Err(StoreError::NotARun { .. })));
    assert!(matches!(RunDirectory::reopen(&root.path().join("none")), Err(StoreError::NotARun { .. })));
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn half_a_new_file_is_swept_up() {
    let root = tempfile::tempdir().unwrap();
    let (path, _) = stored(root.path(), 1);
    for name in [".run.json.77.0.new", "hosts/.a.json.77.1.new"] {
        fs::write(path.join(name), "{").unwrap();
    }
    RunDirectory::reopen(&path).unwrap();
    assert!(!path.join(".run.json.77.0.new").exists() && !path.join("hosts/.a.json.77.1.new").exists());
    assert!(path.join("run.json").exists());
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(60))]

    /// Wherever the file was cut, whole lines stay and the next trial stands on
    /// a line of its own.
    #[test]
    fn a_line_that_is_cut_short_is_cut_off(number in 1_u64..6, share in 0.0_f64..1.0) {
        let root = tempfile::tempdir().unwrap();
        let (path, bytes) = stored(root.path(), number);
        let length = (bytes.len() as f64 * share) as usize;
        OpenOptions::new().write(true).open(path.join("trials.jsonl")).unwrap().set_len(length as u64).unwrap();
        let before: Vec<_> = RunReader::open(&path).unwrap().trials().unwrap().filter_map(Result::ok).collect();
        let mut again = RunDirectory::reopen(&path).unwrap();
        again.directory.append_trial(&trial(99)).unwrap();
        drop(again);
        let mut expected = before;
        expected.push(trial(99));
        prop_assert_eq!(trials(&path), expected);
    }

    /// Nor does what a power cut leaves stand in the way.
    #[test]
    fn whatever_stands_behind_the_last_line_is_cut_off(rest in prop::collection::vec(any::<u8>().prop_filter("it ends a line", |byte| *byte != b'\n'), 1..200)) {
        let root = tempfile::tempdir().unwrap();
        let (path, bytes) = stored(root.path(), 2);
        OpenOptions::new().append(true).open(path.join("trials.jsonl")).unwrap().write_all(&rest).unwrap();
        let again = RunDirectory::reopen(&path).unwrap();
        prop_assert_eq!(again.cut, rest.len() as u64);
        prop_assert!(fs::read(path.join("trials.jsonl")).unwrap() == bytes);
    }
}
