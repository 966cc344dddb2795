//! A stored run, read as any other program would read it: file by file.

use std::path::{Path, PathBuf};

use model::run::Status;
use model::trial::{Measured, Outcome, TrialRecord};
use model::{Run, Test};
use serde_json::Value;

pub struct Stored {
    path: PathBuf,
}

impl Stored {
    pub const fn at(path: PathBuf) -> Self {
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run's name: that of its directory.
    pub fn id(&self) -> String {
        self.path.file_name().unwrap().to_str().unwrap().to_owned()
    }

    pub fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.path.join(file)).unwrap()
    }

    pub fn write(&self, file: &str, text: &str) {
        std::fs::write(self.path.join(file), text).unwrap();
    }

    pub fn has(&self, file: &str) -> bool {
        self.path.join(file).is_file()
    }

    pub fn run(&self) -> Run {
        serde_json::from_str(&self.text("run.json")).unwrap()
    }

    pub fn status(&self) -> Status {
        self.run().status
    }

    /// Facts of a host before the run.
    pub fn host(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(&format!("hosts/{name}.json"))).unwrap()
    }

    /// Every trial. Each line has to be whole.
    #[track_caller]
    pub fn trials(&self) -> Vec<TrialRecord> {
        let text = self.text("trials.jsonl");
        assert!(text.is_empty() || text.ends_with('\n'), "the last line is whole");
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
    }

    /// Every trial, all of which were measured.
    #[track_caller]
    pub fn all_measured(&self) -> Vec<(TrialRecord, Measured)> {
        let with_measured = |record: TrialRecord| {
            let measured = record.measured().unwrap_or_else(|| panic!("{record:#?}")).clone();
            (record, measured)
        };
        self.trials().into_iter().map(with_measured).collect()
    }

    /// The trials of some tests, all of which were measured.
    #[track_caller]
    pub fn measured_of(&self, tests: &[Test]) -> Vec<(TrialRecord, Measured)> {
        let mut all = self.all_measured();
        all.retain(|(record, _)| tests.contains(&record.cell.test));
        assert!(!all.is_empty());
        all
    }

    /// The errors of trials that failed.
    pub fn errors(&self) -> Vec<String> {
        let error = |record: TrialRecord| match record.outcome {
            Outcome::Failed { error, .. } => Some(error),
            Outcome::Measured(_) | Outcome::Skipped { .. } => None,
        };
        self.trials().into_iter().filter_map(error).collect()
    }

    /// Lines of trials so far, while a study runs.
    pub fn trials_so_far(&self) -> usize {
        std::fs::read(self.path.join("trials.jsonl")).map_or(0, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count())
    }
}
