//! Samples and counters of events.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use model::check::{self, Area, Check, Need};
use nix::errno::Errno;
use profile::probe::perf::{Event, open};

use super::answer::{Subject, said, shown};

const fn subject(name: &'static str) -> Subject {
    Subject { area: Area::Profiling, name, need: Need::Optional }
}

pub(super) fn checks() -> Vec<Check> {
    let user = subject("samples of user code").outcome(
        "perf_event_open(CPU_CLOCK, exclude_kernel)",
        open(Event::UserSamples).map(|()| ""),
        remedy,
    );
    let cycles = cycles(subject(check::CYCLES));
    let needed = of_receipts();
    let refused: Vec<&str> = needed.iter().filter(|check| !check.is_present()).map(|check| check.name.as_str()).collect();
    let receipts = match refused.as_slice() {
        [] => subject(check::RECEIPTS).present(""),
        names => subject(check::RECEIPTS)
            .absent(format!("`nettoll study receipt` needs {}", names.join(" and ")), "See there; every other study runs without."),
    };
    std::iter::once(user).chain(needed).chain([cycles, receipts]).collect()
}

/// What no receipt can be made without.
pub(super) fn of_receipts() -> [Check; 2] {
    [kernel(subject("samples of the kernel")), symbols(subject("kernel symbols"))]
}

fn kernel(subject: Subject) -> Check {
    let detail = format!("with chains of callers; perf_event_paranoid {}", shown("kernel.perf_event_paranoid"));
    subject.outcome("perf_event_open(CPU_CLOCK, callchain)", open(Event::KernelSamples).map(|()| detail), remedy)
}

fn cycles(subject: Subject) -> Check {
    subject.outcome("perf_event_open(HW_CPU_CYCLES)", open(Event::Cycles).map(|()| ""), |errno| match errno {
        Errno::ENOENT | Errno::EOPNOTSUPP | Errno::ENODEV => {
            "This machine shows no counters (a virtual machine without a PMU?): times come from samples by a CPU clock.".to_owned()
        }
        other => remedy(other),
    })
}

fn remedy(errno: Errno) -> String {
    match errno {
        Errno::EACCES | Errno::EPERM => format!(
            "kernel.perf_event_paranoid is {}: at most 1 is needed for the kernel, 2 for user code (`sysctl` as root); or run as root. A container's seccomp profile may refuse it too.",
            shown("kernel.perf_event_paranoid")
        ),
        Errno::ENOSYS => "This kernel has no perf events (CONFIG_PERF_EVENTS), or a sandbox hides them.".to_owned(),
        Errno::EMFILE => "Too many open files: raise `ulimit -n`.".to_owned(),
        _ => "Profiles cannot be taken here; every other figure can.".to_owned(),
    }
}

fn symbols(subject: Subject) -> Check {
    const FILE: &str = "/proc/kallsyms";
    match has_addresses(FILE) {
        Ok(true) => subject.present(format!("kptr_restrict {}", shown("kernel.kptr_restrict"))),
        Ok(false) => subject.absent(
            format!("{FILE}: every address reads 0, kernel.kptr_restrict is {}", shown("kernel.kptr_restrict")),
            "Run as root (and `sysctl kernel.kptr_restrict=1` where it is 2).",
        ),
        Err(error) => {
            subject.absent(said(FILE, &error), "This kernel hides its symbols (CONFIG_KALLSYMS): samples keep addresses without names.")
        }
    }
}

/// Returns whether the first function in the list has an address. Earlier entries are
/// offsets, which are 0 for root too.
fn has_addresses(file: &str) -> io::Result<bool> {
    for line in BufReader::new(File::open(file)?).lines() {
        let line = line?;
        let mut fields = line.split_ascii_whitespace();
        if let (Some(address), Some("t" | "T")) = (fields.next(), fields.next()) {
            return Ok(address.bytes().any(|digit| digit != b'0'));
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::has_addresses;

    #[test]
    fn hidden_addresses_are_zero() {
        let directory = std::env::temp_dir().join(format!("nettoll-kallsyms-{}", std::process::id()));
        let given = |text: &str| {
            std::fs::write(&directory, text).unwrap();
            has_addresses(directory.to_str().unwrap()).unwrap()
        };
        assert!(given("0000000000000000 A percpu\nffffffff81000000 T _text\n"));
        assert!(!given("0000000000000000 A percpu\n0000000000000000 T _text\nffffffff81000000 T later\n"));
        assert!(!given(""));
        std::fs::remove_file(directory).unwrap();
    }
}
