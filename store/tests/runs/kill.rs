//! `kill -9` at any point leaves every finished trial intact.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{STARTED, read, run, trial};
use store::{RunDirectory, latest};

/// Set in the process that is killed: where it puts its run.
const ROOT: &str = "NETTOLL_TEST_ROOT";

/// Writes trials for ever, and says after each that it is stored.
fn write_for_ever(root: &Path) -> ! {
    let mut directory = RunDirectory::create(root, "quick", STARTED).unwrap();
    directory.write_run(&run(directory.id())).unwrap();
    let mut out = std::io::stdout().lock();
    for number in 0.. {
        directory.append_trial(&trial(number)).unwrap();
        writeln!(out, "stored {number}").unwrap();
        if number % 20 == 19 {
            directory.write_run(&run(directory.id())).unwrap();
        }
    }
    unreachable!("the trials do not end");
}

#[test]
fn killed_at_any_point_finished_trials_are_intact() {
    if let Some(root) = env::var_os(ROOT) {
        write_for_ever(Path::new(&root));
    }
    for after in [1, 7, 23, 60, 150] {
        let root = tempfile::tempdir().unwrap();
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["kill::killed_at_any_point_finished_trials_are_intact", "--exact", "--nocapture"]).env(ROOT, root.path());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let stored = |line: String| line.strip_prefix("stored ").and_then(|number| number.parse::<u64>().ok());
        let mut last = said.by_ref().find_map(stored).unwrap();
        std::thread::sleep(Duration::from_micros(after * 100));
        child.kill().unwrap();
        last = said.filter_map(stored).last().unwrap_or(last);
        child.wait().unwrap();

        let (good, bad) = read(&latest(root.path()).unwrap());
        assert!(bad.is_empty(), "one write of a whole line is not cut by a signal: {bad:?}");
        assert!(good.len() as u64 > last, "{} of {}", good.len(), last + 1);
        for (number, found) in good.iter().enumerate() {
            assert_eq!(found, &trial(number as u64));
        }
    }
}
