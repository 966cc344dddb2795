//! The trials of a run, one after another.

use std::fs::File;
use std::io::{BufRead, BufReader, Take};
use std::path::Path;

use model::trial::TrialRecord;

use crate::error::StoreError;
use crate::file;
use crate::line::{self, BadLine, Cut, LONGEST_LINE};

/// Large enough that reading is not what a report waits for.
const BUFFER: usize = 256 << 10;

/// Yields each line of `trials.jsonl` as the trial it holds, or as damage with
/// its number. A damaged line costs only itself. Memory does not depend on the
/// number of trials.
#[derive(Debug)]
pub struct Trials<R = BufReader<Take<File>>> {
    input: R,
    line: Vec<u8>,
    number: u64,
    over: bool,
}

impl Trials {
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self::from_text(file::open_lines(path, BUFFER)?))
    }
}

impl<R: BufRead> Trials<R> {
    /// The trials in the text of a `trials.jsonl`, wherever it comes from.
    pub const fn from_text(input: R) -> Self {
        Self { input, line: Vec::new(), number: 0, over: false }
    }
}

impl<R: BufRead> Iterator for Trials<R> {
    type Item = Result<TrialRecord, BadLine>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let found = line::cut(&mut self.input, &mut self.line);
        self.number += 1;
        let read = match found {
            Ok(Cut::End) => {
                self.over = true;
                return None;
            }
            Ok(Cut::Line { ended }) => line::parse(&self.line, ended),
            Ok(Cut::TooLong) => Err(format!("longer than {} MiB", LONGEST_LINE >> 20)),
            Err(error) => {
                // A disk that does not give this part back may never end to refuse.
                self.over = true;
                Err(format!("the disk did not give it back: {error}; nothing after it was read"))
            }
        };
        Some(read.map_err(|reason| BadLine { line: self.number, reason }))
    }
}
