//! Things that a plan asks for and this machine lacks: programs of users' own, ways of sending, and buffers beyond
//! the kernel's limit.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use engine::ways::{try_receiving, try_sending};
use model::plan::Level;
use model::sorting::Gather;
use model::{Api, Arm, Bytes, Plan, Program, Receive, Role};
use socket2::{Domain, Socket, Type};

use crate::refusal::Refusal;

/// The first thing that an arm asks of this machine in vain; `None` where nothing is known to be missing.
pub fn of_arm(arm: &Arm) -> Option<Refusal> {
    // Limits of buffers may be among the sysctls that it sets.
    let own_limits = arm.host_settings().sysctls.is_empty();
    arm.settings.iter().filter_map(|setting| setting.level()).find_map(|level| match level {
        Level::Api(ways) => {
            let receives = ways.receiver.and_then(receiving);
            sending(ways.sender).or(receives)
        }
        Level::Receive(receive) => receiving(*receive),
        Level::Sndbuf(size) if own_limits => {
            buffer("sndbuf", *size, "net.core.wmem_max", Socket::set_send_buffer_size, Socket::send_buffer_size)
        }
        Level::Rcvbuf(size) if own_limits => {
            buffer("rcvbuf", *size, "net.core.rmem_max", Socket::set_recv_buffer_size, Socket::recv_buffer_size)
        }
        _ => None,
    })
}

fn sending(way: Api) -> Option<Refusal> {
    match way.program() {
        Some(named) => program(named),
        None => untaken(&format!("api={way}"), try_sending(way)),
    }
}

fn receiving(way: Receive) -> Option<Refusal> {
    match way.program() {
        Some(named) => program(named),
        None => untaken(&format!("receive={way}"), try_receiving(way)),
    }
}

/// The refusal of a way that this kernel has not. The hosts of a study may have rights that this process has not.
fn untaken(tried: &str, answer: io::Result<()>) -> Option<Refusal> {
    let answer = answer.err().filter(|answer| answer.kind() != io::ErrorKind::PermissionDenied)?;
    Some(Refusal::new(tried, answer, "`nettoll doctor` lists the ways that this kernel has"))
}

/// The programs of a plan's cells that this machine lacks, each with the answer; empty where its ends run elsewhere.
pub fn programs(plan: &Plan) -> Vec<(Program, Refusal)> {
    if plan.is_elsewhere() {
        return Vec::new();
    }
    let cells = plan.cells_run();
    let asked = cells.iter().flat_map(|cell| [Role::Sender, Role::Receiver].map(|role| cell.external(role))).flatten();
    let asked: BTreeSet<Program> = asked.into_set();
    asked.into_iter().filter_map(|one| Some((one, program(one)?))).collect()
}

/// The refusal of a program that cannot be started: of those that nettoll brings along nothing is known here.
fn program(program: Program) -> Option<Refusal> {
    let word = program.words().next().filter(|_| program.shipped().is_none())?;
    let runs = |path: &Path| fs::metadata(path).map(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    let tried = format!("start {}", program.command());
    if !word.contains('/') {
        let path = env::var_os("PATH").unwrap_or_default();
        let found = env::split_paths(&path).any(|folder| runs(&folder.join(word)).unwrap_or(false));
        let remedy = "give a path from the directory of the study, or install the program in PATH";
        return (!found).then(|| Refusal::new(tried, format!("there is no program {word} in PATH"), remedy));
    }
    match runs(&PathBuf::from(word)) {
        Ok(true) => None,
        Ok(false) => Some(Refusal::new(tried, format!("{word} is no program that may be run"), "make it executable (chmod +x)")),
        Err(answer) => Some(Refusal::new(tried, answer, "give a path from the directory of the study")),
    }
}

type Set = fn(&Socket, usize) -> io::Result<()>;
type Get = fn(&Socket) -> io::Result<usize>;

/// The refusal of a buffer larger than the kernel allows: it sets a smaller one without an error.
fn buffer(name: &str, size: Bytes, limit: &str, set: Set, get: Get) -> Option<Refusal> {
    let asked = usize::try_from(size.get()).ok()?;
    let socket = [Domain::IPV4, Domain::IPV6].into_iter().find_map(|domain| Socket::new(domain, Type::DGRAM, None).ok())?;
    let got = set(&socket, asked).and_then(|()| get(&socket)).ok()?;
    let words =
        || Refusal::new(format!("{name}={size}"), format!("this kernel allows {} ({limit})", got / 2), "ask for less, or raise the limit");
    (got < asked).then(words)
}

#[cfg(test)]
mod tests {
    use model::plan::{RawPlan, resolve};
    use model::{Arm, Plan};

    use super::{of_arm, programs, untaken};

    fn arm(settings: &str) -> Arm {
        Arm::parse_all(&["base".to_owned(), format!("x: {settings}")]).unwrap().remove(1)
    }

    fn plan(more: &str) -> Plan {
        let text = format!("name = \"x\"\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = 64\n{more}");
        resolve(&RawPlan::parse(&text).unwrap(), &[], 1).unwrap().into_plan()
    }

    #[test]
    fn things_that_this_machine_lacks_are_named() {
        for (settings, words) in [
            ("api=exec:./no-such-program -x", "start ./no-such-program -x: No such file"),
            ("api=send, receive=exec:/etc/passwd", "/etc/passwd is no program that may be run; make it executable"),
            ("api=exec:no-such-program", "there is no program no-such-program in PATH"),
            ("rcvbuf=2147483647", "net.core.rmem_max"),
        ] {
            let refusal = of_arm(&arm(settings)).unwrap_or_else(|| panic!("{settings} is refused")).to_string();
            assert!(refusal.contains(words), "{settings}: {refusal}");
        }
        for settings in ["api=exec:/bin/sh -c x", "api=exec:sh", "sndbuf=4K", "api=tokio", "rcvbuf=1G, sysctl.net.core.rmem_max=1073741824"]
        {
            assert_eq!(of_arm(&arm(settings)), None, "{settings}");
        }
    }

    #[test]
    fn a_way_that_this_kernel_has_not_is_named_and_rights_are_no_lack() {
        let answer = |number| Err(std::io::Error::from_raw_os_error(number));
        let refusal = untaken("api=sctp", answer(93)).unwrap().to_string();
        assert!(refusal.starts_with("api=sctp: Protocol not supported") && refusal.contains("nettoll doctor"), "{refusal}");
        assert_eq!((untaken("api=xdp", answer(1)), untaken("api=send", Ok(()))), (None, None));
    }

    #[test]
    fn programs_of_cells_are_looked_for() {
        let missing = programs(&plan("api = [\"send\", \"exec:./no-such-program\", \"exec:sh\"]"));
        assert_eq!(missing.iter().map(|(program, _)| program.name()).collect::<Vec<_>>(), ["exec:./no-such-program"]);
    }
}
