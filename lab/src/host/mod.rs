//! The host side: what a host's own process does to its namespace and its
//! link, and what it reads of them.
//!
//! A host process is fresh and has one thread. It lives through these modules
//! in the order in which they stand here:
//!
//! ```text
//! namespace::enter -> link::make_veth (at one of the two hosts)
//!                  -> link::configure (at both, at the same time)
//!                  -> counters::read around each trial, facts::gather around the run
//! ```
//!
//! Whatever changes something asks for [`namespace::Entered`], which only
//! [`namespace::enter`] hands out: a process that did not set itself apart can
//! change nothing here. What the kernel says is treated as foreign input.

pub mod namespace;

pub mod ethtool;
pub mod link;
pub mod netdev;
pub mod netlink;
pub mod sysctl;

pub mod counters;
pub mod cpu;
pub mod facts;
pub mod route;

mod entered;
pub(crate) mod injection;
mod nftables;
mod text;

pub(crate) use text::{check_name, plain, sysctl_file};

/// The facts of this machine, of which no link is a part.
pub fn facts_of_this_machine() -> model::host::HostFacts {
    // Nothing is entered, so nothing can be refused.
    namespace::enter(namespace::Isolation::None).map(|here| facts::gather("here", &here, "", &[])).unwrap_or_default()
}
