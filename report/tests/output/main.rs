//! What reports look like in every form, compared with files in `snapshots`, and
//! what they promise whatever the run was.

#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod brief;
mod browser;
mod buffers;
mod chromium;
mod csv;
mod first_screen;
mod fleet;
mod golden;
mod grades;
mod microscope;
mod oneshot;
mod papers;
mod pictures;
mod promises;
mod receipts;
mod reference;
mod studies;
mod support;
mod top;
mod verdicts;
mod workload;
