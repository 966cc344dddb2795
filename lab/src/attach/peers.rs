//! The CPUs on which a program's peers on this machine may run.
//!
//! A peer on another CPU has to be woken there: on a virtual machine an answer to it cost a server 30 µs,
//! and to one on the same CPU 6.6. So the clients of a replay are bound as the peers are.

use std::collections::HashSet;
use std::fs;
use std::hash::Hash;

use super::program;
use super::sockets;

/// Processes that are looked at for the ends of connections.
const MOST_PROCESSES: usize = 4_096;

/// The CPUs that processes of this machine at the other ends of the program's connections may use, where
/// these are fewer than `online`. Empty where there are no such ends, or they cannot be found.
pub fn affinity(processes: &[u32], online: &[u32]) -> Vec<u32> {
    let Ok(wanted) = sockets::of_peers(processes) else { return Vec::new() };
    if wanted.is_empty() {
        return Vec::new();
    }
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).filter(|pid| !processes.contains(pid));
    let holds = |pid: &u32| !sockets::inodes(&[*pid]).0.is_disjoint(&wanted);
    let peers: Vec<u32> = pids.take(MOST_PROCESSES).filter(holds).collect();
    if peers.is_empty() {
        return Vec::new();
    }
    let own = program::cpus(&program::ThreadReading::of(&peers).threads(), online);
    if own.len() < online.len() { own } else { Vec::new() }
}

/// Of the sockets of a network namespace (inode, own address, peer's), the inodes of those whose peer is
/// one of `own`: also where that one serves many and has no peer itself.
pub fn other_ends<A: Eq + Hash>(all: &[(u32, A, A)], own: &HashSet<u32>) -> HashSet<u32> {
    let places: HashSet<&A> = all.iter().filter(|(inode, ..)| own.contains(inode)).map(|(_, local, _)| local).collect();
    all.iter().filter(|(inode, _, peer)| !own.contains(inode) && places.contains(peer)).map(|(inode, ..)| *inode).collect()
}

#[cfg(test)]
mod tests {
    use super::{affinity, other_ends};

    #[test]
    fn the_other_end_of_a_connection_is_found() {
        // A server at 80 with a listener, two connections, and a socket of datagrams at 53.
        let all = [(1, 80, 0), (2, 80, 1001), (3, 80, 1002), (4, 53, 0), (11, 1001, 80), (12, 1002, 80), (13, 2000, 53), (14, 1003, 90)];
        let found = |own: &[u32]| {
            let mut found: Vec<u32> = other_ends(&all, &own.iter().copied().collect()).into_iter().collect();
            found.sort_unstable();
            found
        };
        assert_eq!(found(&[1, 2, 3]), [11, 12]);
        assert_eq!(found(&[4]), [13], "datagrams to a socket without a peer");
        assert_eq!(found(&[11]), [2]);
        assert_eq!(found(&[14]), [0_u32; 0]);
    }

    #[test]
    fn a_program_without_connections_has_no_peers() {
        assert_eq!(affinity(&[u32::MAX], &[0, 1]), [0_u32; 0]);
    }
}
