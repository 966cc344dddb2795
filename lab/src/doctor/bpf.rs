//! Programs in the kernel: the smallest of each type is loaded and dropped.

use std::fs;

use bpf::{ProgramKind, probe};
use model::check::{Area, Check, Need};
use nix::errno::Errno;
use profile::probe::btf;

use super::answer::{Subject, said, shown};
use super::scratch::is_root;

/// A function that every kernel with a network has, for a program at its entry.
const FUNCTION: &str = "udp_sendmsg";

pub(super) fn checks() -> Vec<Check> {
    let subject = |name| Subject { area: Area::Bpf, name, need: Need::Optional };
    let loaded = |name, program, tried| subject(name).outcome(tried, probe(program).map(|()| ""), remedy);
    let (types, id) = type_information(subject("type information (BTF)"));
    vec![
        loaded("socket filter", ProgramKind::SocketFilter, "bpf(PROG_LOAD, SOCKET_FILTER)"),
        loaded("tracepoint program", ProgramKind::RawTracepoint, "bpf(PROG_LOAD, RAW_TRACEPOINT)"),
        types,
        function_entry(subject("function entry (fentry)"), id),
    ]
}

fn remedy(errno: Errno) -> String {
    match errno {
        Errno::EPERM | Errno::EACCES if !is_root() => format!(
            "Run as root (CAP_BPF and, for tracing, CAP_PERFMON). kernel.unprivileged_bpf_disabled is {}.",
            shown("kernel.unprivileged_bpf_disabled")
        ),
        Errno::EPERM | Errno::EACCES => {
            "Refused to root: lockdown, a security module, or a container without CAP_BPF. Without it receipts have fewer counts of calls."
                .to_owned()
        }
        Errno::ENOSYS => "This kernel has no BPF (CONFIG_BPF_SYSCALL), or a sandbox hides it.".to_owned(),
        _ => "This kernel does not know the type. Without it receipts have fewer counts of calls.".to_owned(),
    }
}

/// Returns whether the kernel describes its types, and the id of [`FUNCTION`] there.
fn type_information(subject: Subject) -> (Check, Option<u32>) {
    match fs::read(btf::KERNEL) {
        Ok(bytes) => match btf::function_id(&bytes, FUNCTION) {
            Some(id) => (subject.present(format!("{} KiB", bytes.len() >> 10)), Some(id)),
            None => {
                let answer = format!("{}: no function {FUNCTION} in it", btf::KERNEL);
                (subject.absent(answer, "Programs at function entries cannot be used; tracepoints can."), None)
            }
        },
        Err(error) => {
            let check = subject.absent(said(btf::KERNEL, &error), "Use a kernel with CONFIG_DEBUG_INFO_BTF; tracepoints do without.");
            (check, None)
        }
    }
}

fn function_entry(subject: Subject, id: Option<u32>) -> Check {
    const TRIED: &str = "bpf(PROG_LOAD, TRACING, fentry udp_sendmsg)";
    let Some(id) = id else {
        return subject.absent(format!("{TRIED}: not tried, for want of type information"), "See the line above.");
    };
    subject.outcome(TRIED, probe(ProgramKind::FunctionEntry(id)).map(|()| ""), |errno| match errno {
        Errno::EPERM | Errno::EACCES if is_root() => {
            "This kernel refuses it even to root (lockdown, or no function tracer): receipts then count tracepoints only; `nettoll microscope` counts functions.".to_owned()
        }
        other => remedy(other),
    })
}
