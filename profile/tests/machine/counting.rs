//! Counts that must be exact.

use std::time::Instant;

use nix::sched::{CloneFlags, unshare};
use profile::Who;
use profile::counts::{CallCounter, TRACEPOINTS};

use crate::Skip;
use crate::child::get_parent;
use crate::observed::Observed;

const CALLS: u64 = 20_000;

pub fn by_bpf() -> Result<(), Skip> {
    let mut observed = Observed::start(&format!("send:{CALLS}:1"))?;
    let begun = Instant::now();
    let mut names = TRACEPOINTS.to_vec();
    names.push("net:there_is_no_such_tracepoint");
    let counter = CallCounter::open(Who::Process(observed.pid()), &names, &[], &mut || {})?;
    println!("attaching {} BPF programs: {:?}", names.len(), begun.elapsed());
    assert_eq!(observed.work().calls, CALLS);
    let counts = counter.counts();
    for (name, calls) in &counts.calls {
        println!("  {name} {calls}");
    }
    assert!((CALLS..CALLS + 1_000).contains(&counts.calls["raw_syscalls:sys_enter"]), "its sends and little else");
    assert_eq!(counts.calls["net:net_dev_queue"], CALLS, "one frame for each datagram, in a network of its own");
    assert!(counts.refused["net:there_is_no_such_tracepoint"].contains("ENOENT"), "{:?}", counts.refused);
    Ok(())
}

pub fn in_a_namespace_of_ids() -> Result<(), Skip> {
    let mut observed = Observed::start(&format!("namespace:{CALLS}"))?;
    observed.begin();
    match observed.line().as_str() {
        "counted" => Ok(()),
        other => Err(Skip(other.to_owned())),
    }
}

/// In a namespace of process ids of its own, a process counts its own calls.
pub fn child_in_namespace(calls: u64) {
    println!("ready");
    if let Err(errno) = unshare(CloneFlags::CLONE_NEWPID) {
        return println!("unshare(CLONE_NEWPID): {errno}");
    }
    // SAFETY: this process has one thread; the child goes on as a whole program.
    match unsafe { nix::unistd::fork() }.unwrap() {
        nix::unistd::ForkResult::Parent { child } => {
            nix::sys::wait::waitpid(child, None).unwrap();
        }
        nix::unistd::ForkResult::Child => {
            let pid = std::process::id();
            assert_eq!(pid, 1, "the first of its namespace");
            match CallCounter::open(Who::Process(pid), &["raw_syscalls:sys_enter"], &[], &mut || {}) {
                Ok(counter) => {
                    (0..calls).for_each(|_| get_parent());
                    let counted = counter.counts().calls["raw_syscalls:sys_enter"];
                    assert!((calls..calls + 1_000).contains(&counted), "{counted}");
                    println!("counted");
                }
                Err(refusal) => println!("{refusal}"),
            }
        }
    }
}

pub fn at_function_entries() -> Result<(), Skip> {
    let mut observed = Observed::start(&format!("send:{CALLS}:1"))?;
    match CallCounter::open(Who::Workers(observed.pid()), &[], &["udp_sendmsg", "there_is_no_such_function"], &mut || {}) {
        Ok(counter) => {
            observed.work();
            let counts = counter.counts();
            assert_eq!(counts.calls["udp_sendmsg"], CALLS);
            assert!(counts.refused["there_is_no_such_function"].contains("no function"));
            Ok(())
        }
        Err(refusal) => {
            // One attempt, and its errno: the kernel is taken at its word.
            assert!(refusal.answer.contains(": E") && !refusal.remedy.is_empty(), "{refusal}");
            Err(refusal.into())
        }
    }
}
