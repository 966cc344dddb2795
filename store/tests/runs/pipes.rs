//! Files of a run that are no files.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::stat::Mode;
use store::{RunDirectory, RunReader, StoreError, read_attached, read_exact, read_summary};

use crate::support;

/// Every file of a run and a reader of it, which answers whether it could be read.
type Reads = fn(&Path) -> Result<(), StoreError>;
const FILES: [(&str, Reads); 7] = [
    ("run.json", |run| RunReader::open(run).map(drop)),
    ("trials.jsonl", |run| RunReader::open(run)?.trials().map(drop)),
    ("trials.jsonl", |run| RunDirectory::reopen(run).map(drop)),
    ("attach.json", |run| read_attached(run).map(drop)),
    ("windows.jsonl", |run| {
        fs::write(run.join("attach.json"), ATTACHMENT).unwrap();
        read_attached(run).map(drop)
    }),
    ("summary.json", |run| read_summary(run).map_or(Err(StoreError::NoRuns { root: run.to_owned() }), |_| Ok(()))),
    ("hosts/a.json", |run| {
        let warnings = RunReader::open(run)?.warnings().to_vec();
        let said = warnings.iter().map(ToString::to_string).collect::<String>();
        assert!(said.contains("no regular file") || said.contains("longer"), "{said}");
        Err(StoreError::NoRuns { root: run.to_owned() })
    }),
];

/// The head of an attached run.
const ATTACHMENT: &str = r#"{"format":1,"id":"x","started_ms":0,"tool":"0","status":"blocks_done","target":"pid 1","program":"x","requests":"sends","window":1,"period":1,"seed":1,"kernel":"","cpus":1}"#;

#[test]
fn no_file_of_a_run_makes_its_reader_wait() {
    for (name, reads) in FILES {
        for kind in ["pipe", "zero", "sparse"] {
            let root = tempfile::tempdir().unwrap();
            let directory = RunDirectory::create(root.path(), "quick", support::STARTED).unwrap();
            let run = directory.path().to_owned();
            directory.write_run(&support::run(directory.id())).unwrap();
            drop(directory);
            let file = run.join(name);
            let _ = fs::remove_file(&file);
            match kind {
                "pipe" => nix::unistd::mkfifo(&file, Mode::S_IRWXU).unwrap(),
                "zero" => std::os::unix::fs::symlink("/dev/zero", &file).unwrap(),
                _ => OpenOptions::new().write(true).create(true).truncate(true).open(&file).unwrap().set_len(1 << 40).unwrap(),
            }
            let (answer, answered) = mpsc::channel();
            std::thread::spawn(move || answer.send(reads(&run).is_err()));
            let refused = answered.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("{name} as a {kind} is waited for"));
            assert!(refused, "{name} as a {kind}");
        }
    }
}

#[test]
fn counts_that_are_no_file_are_none() {
    let root = tempfile::tempdir().unwrap();
    nix::unistd::mkfifo(&root.path().join("exact.json"), Mode::S_IRWXU).unwrap();
    assert_eq!(read_exact(root.path()).unwrap(), None);
}
