//! Doubts about a receipt, each with its remedy.

use std::fmt;

use serde::Serialize;

/// Samples that an end needs in a cell, all time passes together: ±2 % of a row
/// of 50 %, ±22 % of one of 1 %.
pub const LEAST_SAMPLES: u64 = model::plan::receipt::SAMPLES;

/// Time passes that show how trials differ.
pub const LEAST_PASSES: usize = 5;

/// The largest share of kernel samples that no rule may have decided.
pub const MOST_OTHER: f64 = 0.01;

/// Gravity of a doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gravity {
    /// The receipt stands; read this with it.
    Warning,
    /// The receipt does not add up.
    Red,
}

/// Fewer samples do not tell whether sums hold: twice the standard error of their number
/// is then more than the 4 % by which a sum may be off.
pub const LEAST_FOR_SUMS: u64 = 2_500;

/// How many times as long a measurement takes until sums can be judged, that has `samples` now.
pub const fn longer(samples: u64) -> u64 {
    LEAST_FOR_SUMS.div_ceil(if samples == 0 { 1 } else { samples })
}

/// How the sums of a receipt stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "footing")]
pub enum Footing {
    /// Samples are too few to tell.
    TooFew {
        /// Their number.
        samples: u64,
    },
    /// They do not add up.
    Off,
    /// Nothing recorded the time on CPUs, which samples are compared with.
    NoRecords,
    /// They add up.
    Hold,
}

impl Footing {
    /// By the doubts about a receipt. That samples are few comes first: whatever their
    /// sums are, it may be by chance.
    pub fn of(doubts: &[Doubt]) -> Self {
        let few = doubts.iter().find_map(|doubt| match doubt {
            Doubt::FewSamples { missing } => Some(LEAST_SAMPLES.saturating_sub(*missing)).filter(|samples| *samples < LEAST_FOR_SUMS),
            _ => None,
        });
        match few {
            Some(samples) => Self::TooFew { samples },
            None if doubts.iter().any(|doubt| doubt.gravity() == Gravity::Red) => Self::Off,
            None if doubts.contains(&Doubt::NoRecords) => Self::NoRecords,
            None => Self::Hold,
        }
    }
}

/// An enum whose rows have their words and what to do, for a study (`remedy`) and, where it
/// differs, for a program that is observed (`of_program`): that has windows, and no trials or
/// blocks that its user sets. `size` orders those of one kind.
macro_rules! worded {
    ($(#[$meta:meta])* $name:ident {
        $(
            $(#[$doc:meta])*
            $variant:ident $({ $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })? => {
                $(size: $size:expr,)?
                words: $words:expr,
                remedy: $remedy:expr,
                $(of_program: $of_program:expr,)?
            }
        )+
    }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Serialize)]
        $(#[$meta])*
        pub enum $name {
            $($(#[$doc])* $variant $({ $($(#[$field_doc])* $field: $type,)* })?,)+
        }

        #[allow(unused_variables, reason = "a row uses the fields that it needs")]
        impl $name {
            /// What to do.
            pub const fn remedy(&self) -> &'static str {
                match self { $(Self::$variant $({ $($field,)* })? => $remedy,)+ }
            }

            /// What the user of a program that is observed can do.
            pub const fn remedy_of_program(&self) -> &'static str {
                match self { $(Self::$variant $({ $($field,)* })? => last!($remedy $(, $of_program)?),)+ }
            }

            /// Size among others of its kind; the larger is the graver.
            pub fn size(&self) -> f64 {
                match self { $(Self::$variant $({ $($field,)* })? => last!(0.0 $(, $size)?),)+ }
            }
        }

        #[allow(unused_variables, reason = "a row uses the fields that it needs")]
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                match self { $(Self::$variant $({ $($field,)* })? => f.write_str(&$words),)+ }
            }
        }
    };
}

macro_rules! last {
    ($one:expr) => {
        $one
    };
    ($one:expr, $other:expr) => {
        $other
    };
}

worded! {
    /// A doubt about a receipt.
    #[serde(rename_all = "snake_case", tag = "doubt")]
    Doubt {
        /// Rows and waits are not the wall time.
        Wall {
            /// Their ratio.
            closure: f64,
            /// Likeliest cause.
            cause: Cause,
        } => {
            size: (closure - 1.0).abs(),
            words: format!("CPU time and waits make {closure:.3} of the wall time{cause}"),
            remedy: cause.remedy(),
            of_program: cause.remedy_of_program(),
        }
        /// Samples are not as many as the time on the CPU has room for.
        Dropped {
            /// Their ratio.
            closure: f64,
            /// Likeliest cause.
            cause: Cause,
        } => {
            size: (closure - 1.0).abs(),
            words: format!("samples times period make {closure:.3} of the on-CPU time{cause}"),
            remedy: cause.remedy(),
            of_program: cause.remedy_of_program(),
        }
        /// Rows and waits are not the clean wall time, but they are the wait passes'.
        Moved {
            /// Their ratio to the clean wall time.
            closure: f64,
            /// Their ratio within the wait passes.
            own: f64,
        } => {
            size: (closure - 1.0).abs(),
            words: format!("CPU time and waits make {closure:.3} of the clean wall time, though {own:.3} of the wait passes' own"),
            remedy: "the passes had to wait unequally long: stop what else runs on this machine; rows do not depend on it",
            of_program: "the windows had to wait unequally long: stop what else runs on this machine; rows do not depend on it",
        }
        /// What is billed before the end runs is not what a probe of its host makes of its wake-ups.
        Billed {
            /// Their ratio.
            closure: f64,
        } => {
            size: (closure - 1.0).abs(),
            words: format!("the time billed before the end ran is {closure:.2} times the estimate by a probe of the host"),
            remedy: "more than that: do not use the rows, for time of an unknown cause is billed; less: wake-ups met busy CPUs, and other rows do not depend on it",
        }
        /// Nothing says for how long the end had a CPU, so samples cannot be compared with it.
        NoRecords => {
            words: "there are no records of switches, so samples were not compared with the time on the CPU",
            remedy: "read the rows as shares of the CPU time; more room for records of switches (kernel.perf_event_mlock_kb) gives the sum",
        }
        /// Waits were not measured, so nothing was compared with the wall time.
        NoWaits => {
            words: "waits were not measured, so there is no sum of the wall time",
            remedy: "give the tool scheduler tracepoints (root, or CAP_BPF and CAP_PERFMON), or read the rows without their sum",
            of_program: "attach as root (or with CAP_BPF and CAP_PERFMON), or read the rows without that sum",
        }
        /// Watching cost too much.
        Observer {
            /// CPU time sampled over not sampled.
            ratio: f64,
        } => {
            size: *ratio,
            words: format!("sampling raised the CPU time to {ratio:.3} times its clean value"),
            remedy: "sample more rarely: a longer period",
            of_program: "sample more rarely: a longer period (`--period`)",
        }
        /// Too few samples.
        FewSamples {
            /// Number that is missing.
            missing: u64,
        } => {
            size: *missing as f64,
            words: format!("{missing} samples are missing of {LEAST_SAMPLES}"),
            remedy: "more messages a trial, or more blocks",
            of_program: "observe for longer (`-t`), or under more load",
        }
        /// Too few passes to tell how they differ.
        FewPasses {
            /// Time passes.
            time: usize,
            /// Clean passes.
            clean: usize,
        } => {
            size: -((time + clean) as f64),
            words: format!("{time} time and {clean} clean passes are too few to tell how passes differ ({LEAST_PASSES})"),
            remedy: "more blocks: at least 5",
            of_program: "observe for longer (`-t`), or under more load",
        }
        /// The kernel lost samples.
        Lost {
            /// Their number.
            samples: u64,
        } => {
            size: *samples as f64,
            words: format!("the kernel lost {samples} samples"),
            remedy: "a larger ring, or shorter trials",
            of_program: "give shorter windows (`--window`)",
        }
        /// The kernel throttled the sampler.
        Throttled {
            /// Number of times.
            times: u64,
        } => {
            size: *times as f64,
            words: format!("the kernel throttled the sampler {times} times"),
            remedy: "a longer period",
            of_program: "give a longer period (`--period`)",
        }
        /// Chains could not be read.
        Broken {
            /// Their number.
            samples: u64,
        } => {
            size: *samples as f64,
            words: format!("{samples} chains could not be read"),
            remedy: "look whether kernel and tool disagree on the format of samples",
        }
        /// Rules leave too much undecided.
        Undecided {
            /// Share of kernel samples in layer other.
            layer: f64,
            /// Share in category other.
            category: f64,
        } => {
            size: layer.max(*category),
            words: format!("no rule gives a layer to {:.2} % and a category to {:.2} % of the kernel samples", layer * 100.0, category * 100.0),
            remedy: "list the functions that no rule decides, and add rules for them",
            of_program: "add rules for the functions that no rule decides (`nettoll report --rules`)",
        }
    }
}

impl Doubt {
    /// Its gravity.
    pub const fn gravity(&self) -> Gravity {
        match self {
            Self::Wall { .. } | Self::Dropped { .. } => Gravity::Red,
            // Of wake-ups on busy CPUs less is billed, and no row is wrong; what is billed beyond them is of no known cause.
            Self::Billed { closure } if *closure > 1.0 => Gravity::Red,
            _ => Gravity::Warning,
        }
    }
}

worded! {
    /// Cause of a sum that fails, as far as the passes show one. Its words follow those of the doubt.
    #[serde(rename_all = "snake_case", tag = "cause")]
    Cause {
        /// The kernel had no room for samples.
        Lost {
            /// Their share.
            share: f64,
        } => {
            words: format!(": the kernel had no room for {:.1} % of the samples", share * 100.0),
            remedy: "do not use the rows; give shorter trials, or raise kernel.perf_event_mlock_kb",
            of_program: "do not use the rows; give shorter windows (`--window`), or raise kernel.perf_event_mlock_kb",
        }
        /// The kernel throttled the sampler.
        Throttled {
            /// Number of times.
            times: u64,
        } => {
            words: format!(": the kernel throttled the sampler {times} times"),
            remedy: "do not use the rows; give a longer period",
            of_program: "do not use the rows; give a longer period (`--period`)",
        }
        /// The hypervisor took the CPU away.
        Stolen {
            /// Share of the time passes' CPU time.
            share: f64,
        } => {
            words: format!(": the hypervisor took {:.1} % of the CPU time", share * 100.0),
            remedy: "do not use the rows; run again when the hypervisor's other guests are quiet, or on a host of your own",
        }
        /// Others ran on the end's CPUs.
        Others {
            /// Their share of the samples there.
            share: f64,
        } => {
            words: format!(": other programs had {:.1} % of these CPUs", share * 100.0),
            remedy: "do not use the rows; stop what else runs on these CPUs, or give others",
        }
        /// The sampler's timer came too late for bursts on the CPU that were over by then.
        Late {
            /// Share of the samples that the timer's own count of time has room for, and that did
            /// not come.
            share: f64,
        } => {
            words: format!(": timers came too late for short bursts on the CPU, and missed {:.0} % of the samples due", share * 100.0),
            remedy: "do not use the rows; allow samples of whole CPUs (root, CAP_PERFMON, or kernel.perf_event_paranoid of 0)",
            of_program: "do not use the rows; observe it under more load, or where no hypervisor delays timers",
        }
        /// The passes show none.
        Unknown => {
            words: "",
            remedy: "do not use the rows; run again on a quiet machine; if it repeats there, report it with the run directory",
        }
    }
}

impl Cause {
    /// Below this, a cause explains no sum beyond its bar.
    pub const LEAST: f64 = 0.01;
}

#[cfg(test)]
mod tests {
    use super::{Cause, Doubt, Footing, LEAST_FOR_SUMS, LEAST_SAMPLES};

    #[test]
    fn sums_hold_where_nothing_speaks_against_them() {
        let few = |samples: u64| Doubt::FewSamples { missing: LEAST_SAMPLES - samples };
        let red = Doubt::Dropped { closure: 0.657, cause: Cause::Unknown };
        let rows = [
            (vec![], Footing::Hold),
            // 3, 6, 34 and 175 of 5,000 show no sum, whatever it is.
            (vec![few(3)], Footing::TooFew { samples: 3 }),
            (vec![few(175), red], Footing::TooFew { samples: 175 }),
            (vec![few(LEAST_FOR_SUMS - 1)], Footing::TooFew { samples: LEAST_FOR_SUMS - 1 }),
            (vec![few(LEAST_FOR_SUMS)], Footing::Hold),
            (vec![few(LEAST_FOR_SUMS), red], Footing::Off),
            (vec![Doubt::NoRecords], Footing::NoRecords),
            (vec![Doubt::NoRecords, red], Footing::Off),
            (vec![Doubt::Lost { samples: 1 }], Footing::Hold),
        ];
        for (doubts, footing) in rows {
            assert_eq!(Footing::of(&doubts), footing, "{doubts:?}");
        }
    }

    /// A program that is observed has windows, and neither trials nor blocks that its user sets.
    #[test]
    fn remedies_of_a_program_are_what_its_user_can_do() {
        let causes = [
            Cause::Lost { share: 0.1 },
            Cause::Throttled { times: 1 },
            Cause::Stolen { share: 0.1 },
            Cause::Others { share: 0.1 },
            Cause::Late { share: 0.1 },
            Cause::Unknown,
        ];
        let closure = 0.9;
        let mut all: Vec<Doubt> =
            causes.into_iter().flat_map(|cause| [Doubt::Wall { closure, cause }, Doubt::Dropped { closure, cause }]).collect();
        all.extend([
            Doubt::Moved { closure, own: 1.0 },
            Doubt::Billed { closure },
            Doubt::NoRecords,
            Doubt::NoWaits,
            Doubt::Observer { ratio: 2.0 },
            Doubt::FewSamples { missing: 1 },
            Doubt::FewPasses { time: 1, clean: 1 },
            Doubt::Lost { samples: 1 },
            Doubt::Throttled { times: 1 },
            Doubt::Broken { samples: 1 },
            Doubt::Undecided { layer: 0.1, category: 0.1 },
        ]);
        for doubt in all {
            let remedy = doubt.remedy_of_program();
            assert!(!remedy.is_empty());
            for word in ["trial", "block", "batch", "passes", "ring"] {
                assert!(!remedy.split(|letter: char| !letter.is_alphabetic()).any(|one| one.starts_with(word)), "{doubt:?}: {remedy}");
            }
        }
    }
}
