//! What a program asked of the kernel: the network, files, memory, waiting.
//!
//! The outermost functions of a call chain tell the system call; one that may be on a socket or
//! on a file is on a socket where a function of the network is on the chain.

use std::collections::{BTreeMap, BTreeSet};

use attribution::{Figure, Receipt, Symbol};
use model::attach::{OwnCode, WindowRecord};
use model::choice;
use model::profile::{Profile, Stack};
use model::sorting::{Gather, Order};
use serde::Serialize;

choice! {
    /// What the CPU time was spent for.
    Work, "a kind of work" {
        /// The program's own code.
        Own = "own code",
        /// Calls on sockets, and softirqs of the network that ran meanwhile.
        Network = "network",
        /// Waiting for something to come: `epoll_wait`, `poll`, `futex`, sleeping.
        Waiting = "waiting",
        /// Files, directories and pipes.
        Files = "files",
        /// Memory: its calls, and page faults.
        Memory = "memory",
        /// Processes and threads: starting, ending, signals, scheduling.
        Processes = "processes",
        /// Entering and leaving the kernel, whatever for.
        Crossing = "into the kernel and out",
        /// Interrupts and softirqs that are none of the network.
        Interrupts = "interrupts",
        /// Any other call of the kernel.
        Other = "other kernel work",
    }
}

impl Work {
    /// True of work that a replay of the program's exchanges does again: what its calls on sockets cost, and
    /// its own code, for which a replay spins.
    pub const fn is_replayed(self) -> bool {
        matches!(self, Self::Own | Self::Network | Self::Waiting | Self::Crossing | Self::Interrupts)
    }
}

/// One kind of work of a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkRow {
    /// The kind.
    pub work: Work,
    /// Share of the program's CPU time.
    pub share: Figure,
    /// ns per request.
    pub ns: Figure,
}

/// Rows of the windows that the samples of a receipt come from, the costliest first; they sum to what was sampled.
pub fn rows(sampled: &[&WindowRecord], receipt: &Receipt) -> Vec<WorkRow> {
    let counts: Vec<BTreeMap<Work, u64>> = sampled.iter().filter_map(|window| window.profile.as_ref()).map(count).collect();
    let row = |work: Work| {
        let row = receipt.basis.row(work, &counts.iter().map(|own| own.get(&work).copied().unwrap_or(0)).collect::<Vec<_>>());
        (row.samples > 0).then_some(WorkRow { work, share: row.share, ns: row.ns })
    };
    let mut rows: Vec<WorkRow> = Work::ALL.iter().filter_map(|work| row(*work)).collect();
    rows.order_by(|a, b| b.share.value.total_cmp(&a.share.value));
    rows
}

/// A function of the program's own code.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnRow {
    /// Its name; `None` of all code that has none, and of functions that were not kept apart.
    pub function: Option<String>,
    /// Share of the program's CPU time.
    pub share: Figure,
    /// ns per request.
    pub ns: Figure,
}

/// Own code by function; empty where a window did not look at it.
pub fn own_rows(sampled: &[&WindowRecord], receipt: &Receipt) -> Vec<OwnRow> {
    let sampled: Option<Vec<&OwnCode>> = sampled.iter().map(|window| window.own_code.as_ref()).collect();
    let Some(sampled) = sampled else { return Vec::new() };
    let row = |function: Option<String>, of: &dyn Fn(&OwnCode) -> u64| {
        let row = receipt.basis.row((), &sampled.iter().map(|own| of(own)).collect::<Vec<_>>());
        (row.samples > 0).then_some(OwnRow { function, share: row.share, ns: row.ns })
    };
    let names: BTreeSet<&String> = sampled.iter().flat_map(|own| own.functions.iter().map(|(name, _)| name)).into_set();
    let named = names.into_iter().filter_map(|name| {
        row(Some(name.clone()), &|own| own.functions.iter().filter(|(one, _)| one == name).map(|(_, count)| count).sum())
    });
    let mut rows: Vec<OwnRow> = named.collect();
    rows.extend(row(None, &|own| own.unnamed.saturating_add(own.rest)));
    rows.order_by(|a, b| b.share.value.total_cmp(&a.share.value));
    rows
}

fn count(profile: &Profile) -> BTreeMap<Work, u64> {
    let mut counts = BTreeMap::new();
    for stack in &profile.stacks {
        *counts.entry(of_stack(profile, stack)).or_default() += stack.count;
    }
    counts
}

fn of_stack(profile: &Profile, stack: &Stack) -> Work {
    let names: Vec<&str> =
        stack.frames.iter().rev().filter_map(|place| Some(Symbol::parse(profile.symbols.get(*place as usize)?).name)).collect();
    of_chain(&names, stack.user)
}

/// Beginnings of names of functions that only the network has.
const NETWORK: [&str; 13] = [
    "sock_",
    "__sock_",
    "tcp_",
    "udp_",
    "udpv6_",
    "unix_",
    "inet_",
    "inet6_",
    "net_rx_action",
    "net_tx_action",
    "__napi_poll",
    "ip_",
    "skb_",
];

/// Beginnings of the names of calls on sockets alone, but for `sendfile`.
const SOCKET_CALLS: [&str; 11] =
    ["send", "recv", "socket", "connect", "accept", "bind", "listen", "shutdown", "getsock", "setsock", "getpeername"];
const WAITING: [&str; 12] =
    ["epoll", "poll", "ppoll", "select", "pselect", "futex", "nanosleep", "clock_nanosleep", "pause", "rt_sigtimedwait", "wait4", "waitid"];
const FILES: [&str; 27] = [
    "open",
    "close",
    "stat",
    "fstat",
    "lstat",
    "newstat",
    "newfstat",
    "newlstat",
    "read",
    "write",
    "pread",
    "pwrite",
    "lseek",
    "access",
    "faccessat",
    "getdents",
    "rename",
    "unlink",
    "mkdir",
    "fsync",
    "fdatasync",
    "fcntl",
    "ioctl",
    "dup",
    "pipe",
    "truncate",
    "ftruncate",
];
const MEMORY: [&str; 8] = ["mmap", "munmap", "mremap", "brk", "mprotect", "madvise", "msync", "mlock"];
const PROCESSES: [&str; 15] = [
    "clone",
    "fork",
    "vfork",
    "exec",
    "exit",
    "kill",
    "tkill",
    "tgkill",
    "sched_",
    "rt_sig",
    "getpid",
    "gettid",
    "set_robust",
    "rseq",
    "prctl",
];

/// Where a chain leads, its outermost function first.
pub fn of_chain(names: &[&str], user: bool) -> Work {
    if user && names.first() != Some(&"[syscall_exit]") {
        return Work::Own;
    }
    let has = |beginnings: &[&str]| names.iter().any(|name| beginnings.iter().any(|beginning| name.starts_with(beginning)));
    if has(&NETWORK) {
        return Work::Network;
    }
    match names.iter().find_map(|name| call(name)) {
        Some(call) => of_call(call),
        None if has(&["asm_exc_page_fault", "exc_page_fault", "do_user_addr_fault", "do_mem_abort", "handle_mm_fault"]) => Work::Memory,
        None if has(&[
            "asm_sysvec_",
            "sysvec_",
            "asm_common_interrupt",
            "common_interrupt",
            "handle_softirqs",
            "__do_softirq",
            "el0_interrupt",
            "el1_interrupt",
        ]) =>
        {
            Work::Interrupts
        }
        None if has(&["schedule", "__schedule", "finish_task_switch", "ret_from_fork"]) => Work::Processes,
        // The call itself is not on the chain yet, or not any more.
        None if has(&["[syscall_exit]", "entry_SYSCALL", "do_syscall_64", "x64_sys_call", "el0_svc", "do_el0_svc", "syscall_"]) => {
            Work::Crossing
        }
        None => Work::Other,
    }
}

/// The system call that a function is the beginning of, without its numbers.
fn call(name: &str) -> Option<&str> {
    // Calls whose own function the compiler took into `do_syscall_64`'s.
    let inlined = match name {
        "do_writev" => Some("writev"),
        "do_readv" => Some("readv"),
        "do_epoll_wait" | "ep_poll" => Some("epoll"),
        "do_futex" => Some("futex"),
        "vfs_read" => Some("read"),
        "vfs_write" => Some("write"),
        _ => None,
    };
    inlined.or_else(|| Symbol::parse(name).system_call())
}

/// Returns whether a system call is on sockets alone.
pub fn is_on_sockets(call: &str) -> bool {
    SOCKET_CALLS.iter().any(|one| call.starts_with(one)) && !call.starts_with("sendfile")
}

fn of_call(call: &str) -> Work {
    let is = |all: &[&str]| all.iter().any(|one| call.starts_with(one));
    // In this order: `pselect` is no `pread`.
    if is(&WAITING) {
        Work::Waiting
    } else if is_on_sockets(call) || is(&["sendfile", "splice", "io_uring"]) {
        Work::Network
    } else if is(&MEMORY) {
        Work::Memory
    } else if is(&FILES) {
        Work::Files
    } else if is(&PROCESSES) {
        Work::Processes
    } else {
        Work::Other
    }
}

#[cfg(test)]
mod tests {
    use super::{Work, of_chain};

    #[test]
    fn chains_lead_where_they_should() {
        let cases: [(&[&str], Work); 12] = [
            (&["do_syscall_64", "__sys_sendto"], Work::Network),
            (&["ret_from_fork", "io_wq_worker", "____sys_sendmsg"], Work::Network),
            (&["do_syscall_64", "ksys_write", "vfs_write", "sock_write_iter", "tcp_sendmsg"], Work::Network),
            (&["do_syscall_64", "ksys_write", "vfs_write", "ext4_file_write_iter"], Work::Files),
            (&["do_syscall_64", "__x64_sys_epoll_wait", "ep_poll", "schedule"], Work::Waiting),
            (&["do_syscall_64", "__x64_sys_sendfile64", "filemap_read"], Work::Network),
            (&["do_syscall_64", "__x64_sys_openat", "path_openat"], Work::Files),
            (&["asm_exc_page_fault", "exc_page_fault", "clear_page_erms"], Work::Memory),
            (&["do_syscall_64", "__x64_sys_munmap"], Work::Memory),
            (&["asm_sysvec_apic_timer_interrupt", "hrtimer_interrupt"], Work::Interrupts),
            (&["asm_sysvec_apic_timer_interrupt", "handle_softirqs", "net_rx_action", "tcp_v4_rcv"], Work::Network),
            (&["do_syscall_64", "__x64_sys_getrandom"], Work::Other),
        ];
        for (chain, work) in cases {
            assert_eq!(of_chain(chain, false), work, "{chain:?}");
        }
        assert_eq!((of_chain(&["[user]"], true), of_chain(&["[syscall_exit]"], true)), (Work::Own, Work::Crossing));
        assert_eq!(of_chain(&["entry_SYSCALL_64_after_hwframe", "do_syscall_64"], false), Work::Crossing);
    }
}
