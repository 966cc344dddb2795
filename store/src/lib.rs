//! The one reader and writer of run directories.
//!
//! ```text
//! runs/2026-11-21T20-14-05Z-quick-7f3a/
//!   run.json                            the plan, and the state of the run
//!   hosts/a.json, hosts/a.after.json    facts of each host
//!   trials.jsonl                        one trial a line; the source of truth
//!   stacks/<cell>.<end>.folded          sampled call chains; made from the trials
//!   slices/<group>.slices               the slices of its woven trials, an instance a block
//!   report.html                         the report as a page
//!   summary.json                        the run in a few figures, for lists of runs
//! ```
//!
//! An attached run has `attach.json` and `windows.jsonl` in place of `run.json` and `trials.jsonl`.
//! A recording of `top` has `top.json` and `windows/000001.jsonl`, ... in their place.
//! A run of the microscope has `exact.json` alone; that of a study may have it as well.
//!
//! A run survives `kill -9` at any point with every finished trial intact, and
//! a power cut with every finished block: a trial is one `write` of a whole
//! line, a block ends with [`RunDirectory::sync`], and every other file is
//! replaced in one step. A reader keeps the readable parts and names the others.
#![forbid(unsafe_code)]

mod error;
mod file;
mod layout;
mod line;

mod attached;
mod directory;
mod exact;
mod find;
mod reader;
mod recorded;
mod reopen;
mod slices;
mod trials;

pub use attached::{AttachedDirectory, parse_window, read_attached, write_advice};
pub use directory::{RunDirectory, read_summary, write_counters, write_report, write_stacks, write_summary};
pub use error::StoreError;
pub use exact::{create_exact, is_exact, read_exact, write_exact};
pub use find::{beside, find};
pub use layout::{Moment, year};
pub use line::{BadLine, LONGEST_LINE};
pub use reader::{Listed, RunReader, is_attached, is_recording, latest, list, parse_facts, parse_run, paths, read_recording};
pub use recorded::{Limits, Names, RecordingDirectory, parse_recorded, read_recorded, recorded_bytes};
pub use reopen::Reopened;
pub use slices::{SliceBlock, append_slices, keep_slices, read_slices};
pub use trials::Trials;
