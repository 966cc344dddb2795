//! Interrupt time that the process clock of an endpoint leaves out.

use std::collections::BTreeSet;
use std::fs;

use model::Nanos;
use model::control::Task;
use nix::unistd::{SysconfVar, sysconf};

/// Interrupt time of the endpoint's CPUs so far, where the kernel takes it out of
/// process time; `None` where it leaves it in.
pub fn irq(task: &Task) -> Option<Nanos> {
    if task.cpus.is_empty() || !task.irq_time_subtracted {
        return None;
    }
    // Flows may share a CPU; threads beyond the last flow use none.
    let in_use = task.cpus.iter().take(task.cell.flows.saturating_mul(2) as usize);
    let cpus: BTreeSet<u32> = in_use.copied().collect();
    cpus.into_iter().try_fold(Nanos::default(), |sum, cpu| Some(sum + irq_time(cpu)?))
}

/// Hard and soft interrupt time of one CPU from /proc/stat. A kernel that takes
/// this time out of process time keeps it in nanoseconds, but shows it in ticks.
fn irq_time(cpu: u32) -> Option<Nanos> {
    let ticks = parse_irq_ticks(&fs::read_to_string("/proc/stat").ok()?, cpu)?;
    let per_second = sysconf(SysconfVar::CLK_TCK).ok()??.max(1) as u64;
    Some(Nanos::new(ticks.checked_mul(1_000_000_000 / per_second)?))
}

/// Hard and soft interrupt time of one CPU in the text of /proc/stat, in ticks.
pub fn parse_irq_ticks(stat: &str, cpu: u32) -> Option<u64> {
    let name = format!("cpu{cpu}");
    let mut words = stat.lines().find(|line| line.split_ascii_whitespace().next() == Some(&name))?.split_ascii_whitespace();
    // proc(5): cpuN user nice system idle iowait irq softirq ...
    let irq: u64 = words.nth(6)?.parse().ok()?;
    let softirq: u64 = words.next()?.parse().ok()?;
    irq.checked_add(softirq)
}

#[cfg(test)]
mod tests {
    use super::parse_irq_ticks;
    use proptest::prelude::{any, proptest};

    #[test]
    fn the_row_of_the_cpu_is_read() {
        let stat = "cpu  1 2 3 4 5 60 70 8 0 0\ncpu1 1 2 3 4 5 6 7 8 0 0\ncpu10 9 9 9 9 9 1 1 9 0 0\n";
        assert_eq!(parse_irq_ticks(stat, 1), Some(13));
        assert_eq!(parse_irq_ticks(stat, 10), Some(2));
        assert_eq!(parse_irq_ticks(stat, 2), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,200}", cpu in any::<u32>()) {
            let _ = parse_irq_ticks(&text, cpu);
        }
    }
}
