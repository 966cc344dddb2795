//! The microscope: exact instructions, reads and writes of a message, for any kernel,
//! the same on every run.
//!
//! A guest kernel boots in QEMU's emulation with the probe as its only process and a
//! plugin that counts what is executed between the probe's markers.
//!
//! ```text
//! packages -> kernel, emulator  (into a cache of its own, nothing is installed)
//! scenario -> plan -> initramfs -> boot (QEMU + plugin) -> output, log
//!                     symbols ----^        output + symbols + rules -> Measured
//! ```
//!
//! `doctor` says what of this is here already. Receipts, comparison and everything else that can be computed are in
//! `attribution::exact`; `docs/microscope.md` says what the figures mean. The plugin
//! has its own folder and licence: it is carried as bytes and loaded by QEMU alone.
#![forbid(unsafe_code)]

mod boot;
mod cpio;
mod embedded;
mod error;
mod measure;
mod modules;

pub mod cache;
pub mod doctor;
pub mod duration;
pub mod emulator;
pub mod errand;
pub mod guest_log;
pub mod kallsyms;
pub mod kernel;
pub mod output;
pub mod packages;
pub mod program;
pub mod scenario;

pub use embedded::PLUGIN_LICENCE;
pub use error::Failed;
pub use measure::{Counting, Request, measure};
