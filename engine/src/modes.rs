//! User and system time of this process, as the kernel splits them.

use model::Nanos;
use nix::sys::resource::{UsageWho, getrusage};
use sys::clock::of_timeval;

/// What getrusage(2) says of a process. Where the kernel counts by ticks it scales the
/// ticks in either mode to the precise sum of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    user: Nanos,
    system: Nanos,
}

impl Modes {
    /// Those of this process so far; `None` where they cannot be read.
    pub fn of_process() -> Option<Self> {
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
        Some(Self { user: of_timeval(usage.user_time()), system: of_timeval(usage.system_time()) })
    }

    /// What came since an earlier reading.
    pub fn since(self, before: Self) -> Self {
        Self { user: self.user.since(before.user), system: self.system.since(before.system) }
    }

    /// The part of a time of the process's that was in user mode, if all of it was split as
    /// this is. `None` of no time.
    pub fn user_part(self, process: Nanos) -> Option<Nanos> {
        let (user, all) = (u128::from(self.user.get()), u128::from(self.user.get()) + u128::from(self.system.get()));
        let part = (u128::from(process.get()) * user).checked_div(all)?;
        u64::try_from(part).ok().map(Nanos::new)
    }
}

#[cfg(test)]
mod tests {
    use super::Modes;
    use model::Nanos;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn a_part_is_no_more_than_the_whole(user in any::<u64>(), system in any::<u64>(), process in any::<u64>()) {
            let part = Modes { user: Nanos::new(user), system: Nanos::new(system) }.user_part(Nanos::new(process));
            prop_assert_eq!(part.is_none(), user == 0 && system == 0);
            prop_assert!(part.is_none_or(|part| part.get() <= process));
        }
    }

    #[test]
    fn a_loop_is_in_user_mode() {
        let part = || {
            let before = Modes::of_process().unwrap();
            let begun = std::time::Instant::now();
            while begun.elapsed().as_millis() < 60 {
                std::hint::black_box((0..10_000_u64).map(std::hint::black_box).sum::<u64>());
            }
            Modes::of_process().unwrap().since(before).user_part(Nanos::new(1_000)).unwrap()
        };
        // Other tests are threads of this process, whose system calls count meanwhile.
        let parts: Vec<Nanos> = (0..5).map(|_| part()).collect();
        assert!(parts.iter().any(|part| part.get() > 500), "{parts:?}");
    }
}
