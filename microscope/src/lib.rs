//! The microscope: exact instructions, reads and writes of a message on any kernel,
//! equal in every run.
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
//! `doctor` lists the parts that are here already. `attribution::exact` computes receipts and
//! comparisons; `docs/microscope.md` has the meaning of the figures. The plugin has a folder
//! and a licence of its own: nettoll carries it as bytes, and only QEMU loads it.
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

pub use boot::GuestSize;
pub use embedded::PLUGIN_LICENCE;
pub use error::Failed;
pub use measure::{Counting, Request, measure};
