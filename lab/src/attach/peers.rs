//! The CPUs on which a program's peers on this machine may run.
//!
//! A peer on another CPU has to be woken there: on a virtual machine an answer to it cost a server 30 µs,
//! and to one on the same CPU 6.6. So the clients of a replay are bound as the peers are.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::program;
use super::sockets;
use sys::process;

/// The longest time for which the other ends are looked for, on machines with very many descriptors.
const LONGEST: Duration = Duration::from_secs(1);

/// The CPUs that processes of this machine at the other ends of the program's connections may use, where
/// these are fewer than `online`. Empty where there are no such ends, or they cannot be found.
pub fn affinity(processes: &[u32], online: &[u32]) -> Vec<u32> {
    let mut wanted = sockets::of_peers(processes).unwrap_or_default();
    let (own, begun): (HashSet<u32>, Instant) = (processes.iter().copied().collect(), Instant::now());
    let mut peers = Vec::new();
    // Clients are mostly younger than what they ask.
    for pid in process::processes().into_iter().rev().filter(|pid| !own.contains(pid)) {
        if wanted.is_empty() || begun.elapsed() > LONGEST {
            break;
        }
        let (held, before) = (sockets::inodes(&[pid], sockets::MOST_FILES).found, wanted.len());
        wanted.retain(|inode| !held.contains(inode));
        peers.extend((wanted.len() < before).then_some(pid));
    }
    if peers.is_empty() {
        return Vec::new();
    }
    let own = program::cpus(&program::ThreadReading::take(&peers).threads(), online);
    if own.len() < online.len() { own } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::OwnedFd;
    use std::process::{Command, Stdio};

    use nix::sched::{CpuSet, sched_setaffinity};
    use nix::unistd::Pid;

    use super::affinity;

    /// A child holds the other end of a connection, and may use one CPU of those that there are.
    #[test]
    fn a_peer_is_found_and_where_it_may_run() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_server, _) = listener.accept().unwrap();
        let mut child = Command::new("sleep").arg("60").stdin(Stdio::from(OwnedFd::from(client))).spawn().unwrap();
        let mut cpus = CpuSet::new();
        cpus.set(0).unwrap();
        let bound = sched_setaffinity(Pid::from_raw(child.id().cast_signed()), &cpus);
        let found = affinity(&[std::process::id()], &[0, 1, 2, 3]);
        child.kill().unwrap();
        child.wait().unwrap();
        // A machine without a first CPU for this process has nothing to show.
        assert!(bound.is_err() || found == [0], "{found:?}");
    }

    #[test]
    fn a_program_without_connections_has_no_peers() {
        assert_eq!(affinity(&[u32::MAX], &[0, 1]), [0_u32; 0]);
    }
}
