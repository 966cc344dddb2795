//! A stay of the calling thread in the network namespace of another host.

use std::fs::File;
use std::io;

use nix::sched::{CloneFlags, setns};

use crate::error::SocketError;

/// Does `work` in the network namespace of a process: a socket that it opens stays there.
///
/// # Errors
/// That of the work, or a refusal of the system to go there or to come back.
pub(super) fn stay_at<T>(pid: u32, work: impl FnOnce() -> Result<T, SocketError>) -> Result<T, SocketError> {
    let there = format!("/proc/{pid}/ns/net");
    let enter = |namespace: &File| -> io::Result<()> { Ok(setns(namespace, CloneFlags::CLONE_NEWNET)?) };
    let refused = |answer| SocketError::new(format!("enter the network namespace of another host (setns {there})"), answer);
    let own = File::open("/proc/thread-self/ns/net").map_err(refused)?;
    File::open(&there).and_then(|namespace| enter(&namespace)).map_err(refused)?;
    let done = work();
    enter(&own).map_err(|answer| SocketError::new("come back from the network namespace of another host (setns)", answer))?;
    done
}
