//! Counts that must be exact.

use std::time::Instant;

use model::profile::CallCounts;
use nix::mount::{MsFlags, mount, umount};
use nix::sched::{CloneFlags, unshare};
use profile::Who;
use profile::counts::tracefs::Tracefs;
use profile::counts::{EventCounter, FunctionCounter, STACK_RULES, StackCounter, TRACEPOINTS, Way};
use profile::symbols::Symbols;

use crate::Skip;
use crate::child::get_parent;
use crate::observed::Observed;

const CALLS: u64 = 20_000;

pub fn by_bpf() -> Result<(), Skip> {
    let mut observed = Observed::start(&format!("send:{CALLS}:1"))?;
    let begun = Instant::now();
    let mut names = TRACEPOINTS.to_vec();
    names.push("syscalls:sys_enter_sendto");
    names.push("net:there_is_no_such_tracepoint");
    let counter = EventCounter::with_bpf(Who::Process(observed.pid()), &names)?;
    println!("attaching {} BPF programs: {:?}", names.len() - counter.refused().len(), begun.elapsed());
    assert_eq!(observed.work().calls, CALLS);
    let counts = counter.counts();
    for (name, calls) in &counts.calls {
        println!("  {name} {calls}");
    }
    assert_eq!(counter.way(), Way::Bpf);
    assert_eq!(counts.calls["syscalls:sys_enter_sendto"], CALLS);
    assert!(counts.calls["raw_syscalls:sys_enter"] >= CALLS);
    assert_eq!(counts.calls["net:net_dev_queue"], CALLS, "one frame for each datagram, in a network of its own");
    assert!(counts.refused["net:there_is_no_such_tracepoint"].contains("ENOENT"), "{:?}", counts.refused);
    Ok(())
}

pub fn by_perf() -> Result<(), Skip> {
    let mut observed = Observed::start(&format!("tracefs:{CALLS}"))?;
    observed.begin();
    match observed.line().as_str() {
        "counted" => Ok(()),
        other => Err(Skip(other.to_owned())),
    }
}

/// Mounts tracefs where nobody else sees it, and counts its own calls.
pub fn child_with_tracefs(calls: u64) {
    println!("ready");
    println!("{}", count_with_tracefs(calls).map_or_else(|Skip(reason)| reason, |()| "counted".to_owned()));
}

fn count_with_tracefs(calls: u64) -> Result<(), Skip> {
    let refused = |what: &str| {
        let what = what.to_owned();
        move |errno: nix::errno::Errno| Skip(format!("{what}: {errno}"))
    };
    unshare(CloneFlags::CLONE_NEWNS).map_err(refused("unshare(CLONE_NEWNS)"))?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .map_err(refused("mount --make-rprivate /"))?;
    let place = std::env::temp_dir().join(format!("nettoll-tracefs-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    let mounted = mount(Some("tracefs"), &place, Some("tracefs"), MsFlags::empty(), None::<&str>);
    let counted = mounted.map_err(refused("mount tracefs")).and_then(|()| count_own_calls(&Tracefs::at(&place), calls));
    let _ = umount(&place);
    std::fs::remove_dir(&place).unwrap();
    counted
}

fn count_own_calls(tracefs: &Tracefs, calls: u64) -> Result<(), Skip> {
    let counter = EventCounter::with_perf(tracefs, std::process::id(), &["syscalls:sys_enter_getppid", "net:none"])?;
    counter.start()?;
    // In a thread that comes later, as an endpoint's traffic does.
    std::thread::spawn(move || (0..calls).for_each(|_| get_parent())).join().unwrap();
    let counts = counter.counts();
    assert_eq!(counter.way(), Way::Perf);
    assert_eq!(counts.calls["syscalls:sys_enter_getppid"], calls);
    assert!(counts.refused["net:none"].contains("ENOENT"));
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
            match EventCounter::with_bpf(Who::Process(pid), &["syscalls:sys_enter_getppid"]) {
                Ok(counter) => {
                    (0..calls).for_each(|_| get_parent());
                    assert_eq!(counter.counts().calls["syscalls:sys_enter_getppid"], calls);
                    println!("counted");
                }
                Err(refusal) => println!("{refusal}"),
            }
        }
    }
}

pub fn by_witnesses() -> Result<(), Skip> {
    let counts = witnessed(&format!("send:{CALLS}:1"))?;
    for function in ["__sys_sendto", "udp_sendmsg", "__ip_append_data", "__alloc_skb", "ip_output", "__dev_queue_xmit", "loopback_xmit"] {
        // A kernel may have inlined it; what it counts is exact.
        if let Some(calls) = counts.calls.get(function) {
            assert_eq!(*calls, CALLS, "{function}");
        }
    }
    assert!(counts.calls.len() >= 10, "{:?}", counts.calls);
    let stream = witnessed(&format!("stream:{CALLS}:1460"))?;
    assert!(stream.calls.get("__sys_sendto").is_none_or(|calls| *calls >= CALLS), "{:?}", stream.calls);
    // The kernel puts small messages together: far fewer segments than calls.
    let segments = stream.calls.get("__tcp_transmit_skb");
    assert!(segments.is_none_or(|segments| *segments > 0 && *segments < CALLS), "{segments:?}");
    Ok(())
}

fn witnessed(what: &str) -> Result<CallCounts, Skip> {
    let symbols = Symbols::of_kernel()?;
    let mut observed = Observed::start(what)?;
    let begun = Instant::now();
    let recorder = StackCounter::open(Who::Workers(observed.pid()), STACK_RULES)?;
    println!("attaching the recorder of chains: {:?}", begun.elapsed());
    observed.work();
    let counts = recorder.counts(&symbols)?;
    println!("{what}: {:?}\nrefused: {:?}", counts.calls, counts.refused);
    Ok(counts)
}

pub fn at_function_entries() -> Result<(), Skip> {
    let mut observed = Observed::start(&format!("send:{CALLS}:1"))?;
    match FunctionCounter::open(Who::Workers(observed.pid()), &["udp_sendmsg", "there_is_no_such_function"], &mut || {}) {
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
