//! Interrupt time that the process clock of an endpoint leaves out.

use std::collections::BTreeSet;
use std::fs;

use model::Nanos;
use model::control::Task;
use sys::cpu::Ticks;
use sys::process::TICK;

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

/// Hard and soft interrupt time of one CPU. A kernel that takes this time out of process
/// time keeps it in nanoseconds, but shows it in ticks.
fn irq_time(cpu: u32) -> Option<Nanos> {
    let ticks = Ticks::parse(&fs::read_to_string("/proc/stat").ok()?, Some(cpu))?;
    Some(Nanos::new(ticks.irq.checked_add(ticks.softirq)?.checked_mul(TICK)?))
}
