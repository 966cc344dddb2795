//! The CPUs on which a program's peers on this machine may run.
//!
//! A peer on another CPU has to be woken there: on a virtual machine an answer to it cost a server 30 µs,
//! and to one on the same CPU 6.6. So the clients of a replay are bound as the peers are.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fs;

use super::program;
use super::sockets;

/// Processes that are looked at for the ends of connections, the youngest first.
const MOST_LOOKED_AT: usize = 4_096;

/// The CPUs that processes of this machine at the other ends of the program's connections may use, where
/// these are fewer than `online`. Empty where there are no such ends, or they cannot be found.
pub fn affinity(processes: &[u32], online: &[u32]) -> Vec<u32> {
    let Ok(wanted) = sockets::of_peers(processes) else { return Vec::new() };
    if wanted.is_empty() {
        return Vec::new();
    }
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let own: HashSet<u32> = processes.iter().copied().collect();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).filter(|pid| !own.contains(pid));
    let mut pids: Vec<u32> = pids.collect();
    pids.sort_unstable_by_key(|pid| Reverse(*pid));
    let holds = |pid: &u32| !sockets::inodes(&[*pid]).0.is_disjoint(&wanted);
    let peers: Vec<u32> = pids.into_iter().take(MOST_LOOKED_AT).filter(holds).collect();
    if peers.is_empty() {
        return Vec::new();
    }
    let own = program::cpus(&program::ThreadReading::of(&peers).threads(), online);
    if own.len() < online.len() { own } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::affinity;

    #[test]
    fn a_program_without_connections_has_no_peers() {
        assert_eq!(affinity(&[u32::MAX], &[0, 1]), [0_u32; 0]);
    }
}
