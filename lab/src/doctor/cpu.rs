//! Processors: how many, and how steady.

use std::fs;
use std::thread::available_parallelism;

use model::check::{self, Area, Check, Need};

use super::answer::{Subject, read, said};
use crate::host::cpu::Topology;
use crate::host::facts_of_this_machine;

pub(super) fn checks() -> Vec<Check> {
    let subject = |name, need| Subject { area: Area::Cpu, name, need };
    let mut checks = vec![two_cpus(subject("CPU for each end", Need::Useful)), threads(subject("SMT", Need::Useful))];
    let facts = facts_of_this_machine();
    let machine = match facts.virtualisation.as_str() {
        "" => "bare metal, as far as the kernel says".to_owned(),
        under => format!("under {under}, which may take CPU time away: trials say how much"),
    };
    checks.push(subject(check::MACHINE, Need::Useful).present(format!("{}, {machine}", facts.cpu_model)));
    checks.push(governor(subject(check::GOVERNOR, Need::Useful), &facts.governor));
    checks
}

fn two_cpus(subject: Subject) -> Check {
    let topology = Topology::read();
    let usable = topology.cpus.len();
    // The standard library knows the quotas of control groups.
    let quota = available_parallelism().ok().map(usize::from).filter(|quota| *quota < usable);
    let limited = quota.map_or(String::new(), |quota| format!(", but a quota allows the time of {quota}"));
    match topology.choose() {
        placement if placement.a != placement.b => {
            subject.present(format!("{usable} usable{limited}; the ends take {} and {}", placement.a, placement.b))
        }
        _ => subject.absent(
            format!("sched_getaffinity: {usable} CPU usable by this process{limited}"),
            "Give the tool two CPUs (`taskset -c 0,1`, the container's cpuset, the virtual machine's CPUs); with one, the ends take turns.",
        ),
    }
}

fn threads(subject: Subject) -> Check {
    const FILE: &str = "/sys/devices/system/cpu/smt/active";
    match read(FILE).as_deref() {
        Ok("1") => subject.present("on: the ends are given different cores where there are two"),
        Ok(_) => subject.present("off: no two CPUs share a core, as far as this machine says"),
        Err(error) => subject.absent(said(FILE, error), "This kernel does not tell; two CPUs may share a core and slow each other down."),
    }
}

fn governor(subject: Subject, governor: &str) -> Check {
    const PLACE: &str = "/sys/devices/system/cpu/cpufreq";
    match governor {
        "" => {
            let answer = match fs::read_dir(PLACE) {
                Ok(_) => format!("{PLACE}: no CPU has a scaling_governor that can be read"),
                Err(error) => said(PLACE, &error),
            };
            subject.absent(
                answer,
                "Nothing to set here: the hypervisor or the firmware chooses the frequency. Compare only what ran in one run.",
            )
        }
        "performance" => subject.present("performance"),
        other => subject.present(format!("{other}: `cpupower frequency-set -g performance` as root makes figures steadier")),
    }
}
