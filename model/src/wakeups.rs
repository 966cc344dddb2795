//! What a wake-up is billed before the thread runs, by the probe of a host.

use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::quantity::Nanos;
use crate::traffic::Role;

/// CPU time that the kernel bills a wake-up before the thread has a CPU: quartiles over wake-ups, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeupCost {
    /// The first quartile.
    pub low: Nanos,
    /// The median.
    pub median: Nanos,
    /// The third quartile.
    pub high: Nanos,
}

impl WakeupCost {
    /// The median, where half of the wake-ups lie within a half of it. `None`: the machine was busy with others while
    /// the probe ran, and nothing can be estimated by it.
    pub fn steady(&self) -> Option<Nanos> {
        let [low, median, high] = [self.low, self.median, self.high].map(Nanos::get);
        (high.saturating_sub(median) <= median / 2 && median.saturating_sub(low) <= median / 2).then_some(self.median)
    }
}

/// The same by what wakes the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wakeups {
    /// Another CPU, while its own is idle.
    pub by_cpu: WakeupCost,
    /// A timer of its own CPU.
    pub by_timer: WakeupCost,
}

impl Wakeups {
    /// The cost of the wake-ups of an end; `None` of one that is woken in both ways.
    pub fn of_end(&self, cell: &Cell, role: Role) -> Option<WakeupCost> {
        match (role, cell.rate, cell.bidirectional) {
            (Role::Sender, Some(_), both) => (cell.test.is_stream() && !both).then_some(self.by_timer),
            (Role::Receiver, Some(_), true) => None,
            _ => Some(self.by_cpu),
        }
    }
}

impl Wakeups {
    /// The cost of the wake-ups of a program, of which it is not known what wakes it: quartiles that hold both.
    pub fn of_program(&self) -> WakeupCost {
        let [one, other] = [self.by_cpu, self.by_timer];
        let median = Nanos::new(one.median.get().midpoint(other.median.get()));
        WakeupCost { low: one.low.min(other.low), median, high: one.high.max(other.high) }
    }
}

#[cfg(test)]
mod tests {
    use super::{WakeupCost, Wakeups};
    use crate::quantity::Nanos;

    #[test]
    fn a_probe_that_was_disturbed_estimates_nothing() {
        let cost = |quartiles: [u64; 3]| {
            let [low, median, high] = quartiles.map(Nanos::new);
            WakeupCost { low, median, high }
        };
        assert_eq!(cost([4_000, 4_400, 5_000]).steady(), Some(Nanos::new(4_400)));
        assert_eq!(cost([2_200, 4_100, 20_200]).steady(), None);
        assert_eq!(cost([1_000, 4_100, 4_200]).steady(), None);
        // Of a program either may be meant: costs that are far apart estimate nothing either.
        let of = |by_timer| Wakeups { by_cpu: cost([4_000, 4_400, 5_000]), by_timer: cost(by_timer) }.of_program();
        assert_eq!(of([3_000, 3_400, 4_100]), cost([3_000, 3_900, 5_000]));
        assert_eq!((of([3_000, 3_400, 4_100]).steady(), of([900, 1_000, 1_100]).steady()), (Some(Nanos::new(3_900)), None));
    }
}
