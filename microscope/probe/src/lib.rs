//! The probe: the first and only process of a guest that the microscope boots.
//!
//! It reads `/plan`, sets the guest's network up, runs each scenario between
//! markers that the plugin counts between, and powers the guest off. What it has
//! to say goes to QEMU's debug port, which the driver has as a file.
//!
//! ```text
//! /plan -> plan::Step -> network (interfaces, delays), nft (rules), program, region (messages between markers)
//!                     -> say (one line a step, to the debug port)
//! ```
//!
//! It has no library below it, not even C's: its own instructions are the same
//! wherever it is built, so that "user" is a fixed share of each result. The build
//! script of `nettoll-microscope` makes a program of it with `--cfg nettoll_guest`;
//! as a library its parser can be tested.
// The guest is of this architecture.
#![cfg(target_arch = "x86_64")]
#![cfg_attr(not(test), no_std)]
#![cfg_attr(nettoll_guest, no_main)]

pub mod marker;
pub mod netlink;
pub mod network;
pub mod nft;
pub mod plan;
pub mod program;
pub mod region;
pub mod say;
pub mod sys;
pub mod traffic;

#[cfg(nettoll_guest)]
mod start;
