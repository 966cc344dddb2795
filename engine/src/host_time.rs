//! CPU time that the host spends for an endpoint outside its process.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use model::Nanos;
use model::control::Task;
use nix::unistd::{SysconfVar, sysconf};

/// Reads, at both edges, what the process clock of the endpoint leaves out.
#[derive(Debug)]
pub struct HostTime {
    ksoftirqd: Option<File>,
    irq_of: Option<u32>,
}

/// One reading; only differences mean something.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    ksoftirqd: Option<Nanos>,
    irq: Option<Nanos>,
}

impl HostTime {
    /// For the CPU and the kernel thread that the task names.
    pub fn of(task: &Task) -> Self {
        let ksoftirqd = task.ksoftirqd.and_then(|pid| File::open(format!("/proc/{pid}/schedstat")).ok());
        Self { ksoftirqd, irq_of: task.cpu.filter(|_| task.irq_time_subtracted) }
    }

    /// Reads now.
    pub fn read(&self) -> Reading {
        Reading { ksoftirqd: self.ksoftirqd.as_ref().and_then(first_number), irq: self.irq_of.and_then(irq_time) }
    }
}

impl Reading {
    /// CPU time of the kernel thread since `earlier`.
    pub fn kernel_threads_since(&self, earlier: &Self) -> Option<Nanos> {
        Some(self.ksoftirqd?.since(earlier.ksoftirqd?))
    }

    /// Interrupt time of the CPU since `earlier`.
    pub fn irq_since(&self, earlier: &Self) -> Option<Nanos> {
        Some(self.irq?.since(earlier.irq?))
    }
}

/// The first number of a `schedstat`: nanoseconds on a CPU.
fn first_number(file: &File) -> Option<Nanos> {
    let mut text = [0; 96];
    let length = file.read_at(&mut text, 0).ok()?;
    std::str::from_utf8(text.get(..length)?).ok()?.split_ascii_whitespace().next()?.parse().ok().map(Nanos::new)
}

/// Hard and soft interrupt time of one CPU from /proc/stat. A kernel that takes
/// this time out of process time keeps it in nanoseconds, but shows it in ticks.
fn irq_time(cpu: u32) -> Option<Nanos> {
    let ticks = parse_irq_ticks(&fs::read_to_string("/proc/stat").ok()?, cpu)?;
    let per_second = sysconf(SysconfVar::CLK_TCK).ok()??.max(1) as u64;
    Some(Nanos::new(ticks.checked_mul(1_000_000_000 / per_second)?))
}

fn parse_irq_ticks(stat: &str, cpu: u32) -> Option<u64> {
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
