//! Doubts about a receipt, each with its remedy.

use std::fmt;

use serde::Serialize;

/// Samples that an end needs in a cell, all time passes together: ±1 % of a row
/// of 40 %, ±7 % of one of 1 %.
pub const LEAST_SAMPLES: u64 = 20_000;

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

/// A doubt about a receipt.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "doubt")]
pub enum Doubt {
    /// Rows and waits are not the wall time.
    Wall {
        /// Their ratio.
        closure: f64,
    },
    /// Rows and waits are not the clean wall time, but they are the wait passes'.
    Moved {
        /// Their ratio to the clean wall time.
        closure: f64,
        /// Their ratio within the wait passes.
        own: f64,
    },
    /// Rows and switching are not the CPU time.
    Cpu {
        /// Their ratio.
        closure: f64,
    },
    /// Samples × period is not the on-CPU time.
    Sampler {
        /// Their ratio.
        closure: f64,
    },
    /// The on-CPU time was told from the samples, so they cannot be compared with it.
    NotHeld,
    /// Waits were not measured, so nothing was compared with the wall time.
    NoWaits,
    /// Switching was not measured, so what was not sampled stands alone.
    NoSwitching,
    /// Watching cost too much.
    Observer {
        /// CPU time watched over not watched.
        ratio: f64,
    },
    /// Too few samples.
    FewSamples {
        /// Number that is missing.
        missing: u64,
    },
    /// Too few passes to tell how they differ.
    FewPasses {
        /// Time passes.
        time: usize,
        /// Clean passes.
        clean: usize,
    },
    /// The kernel lost samples.
    Lost {
        /// Their number.
        samples: u64,
    },
    /// The kernel throttled the sampler.
    Throttled {
        /// Number of times.
        times: u64,
    },
    /// Chains could not be read.
    Broken {
        /// Their number.
        samples: u64,
    },
    /// Rules leave too much undecided.
    Undecided {
        /// Share of kernel samples in layer other.
        layer: f64,
        /// Share in category other.
        category: f64,
    },
}

impl Doubt {
    /// Its gravity.
    pub const fn gravity(&self) -> Gravity {
        match self {
            Self::Wall { .. } | Self::Cpu { .. } => Gravity::Red,
            _ => Gravity::Warning,
        }
    }

    /// The remedy.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Wall { .. } => "do not use the rows; look whether samples were lost or waits missed, and run again",
            Self::Moved { .. } => "the passes had to wait unequally long: stop what else runs on this machine; rows do not depend on it",
            Self::Cpu { .. } => {
                "do not use the rows; look whether samples were lost, or whether the sampled tasks are those whose CPU time is counted"
            }
            Self::Sampler { .. } => "choose another period, one that no tick divides; a hypervisor that takes CPU time shows here as well",
            Self::NotHeld => "read rows as shares of what was sampled; sample by the CPU clock to have the sum",
            Self::NoWaits => "give the tool scheduler tracepoints (root, tracefs), or read the rows without their sum",
            Self::NoSwitching => "give the tool scheduler tracepoints (root, tracefs), or read the row as what it is: the remainder",
            Self::Observer { .. } => "sample more rarely: a longer period",
            Self::FewSamples { .. } => "more messages a trial, or more blocks",
            Self::FewPasses { .. } => "more blocks: at least 5",
            Self::Lost { .. } => "a larger ring, or shorter trials",
            Self::Throttled { .. } => "a longer period",
            Self::Broken { .. } => "look whether kernel and tool disagree on the format of samples",
            Self::Undecided { .. } => "list the functions that no rule decides, and add rules for them",
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Wall { closure } => write!(f, "rows and waits make {closure:.3} of the wall time"),
            Self::Moved { closure, own } => {
                write!(f, "rows and waits make {closure:.3} of the clean wall time, though {own:.3} of the wait passes' own")
            }
            Self::Cpu { closure } => write!(f, "rows and switching make {closure:.3} of the CPU time"),
            Self::Sampler { closure } => write!(f, "samples times period make {closure:.3} of the on-CPU time"),
            Self::NotHeld => {
                write!(f, "samples are spaced by cycles, which nothing else counted, so they were not held against the CPU time")
            }
            Self::NoWaits => write!(f, "waits were not measured, so the sum was not held against the wall time"),
            Self::NoSwitching => write!(f, "switching was not measured, so there is nothing to hold what was not sampled against"),
            Self::Observer { ratio } => write!(f, "sampling raised the CPU time to {ratio:.3} of what it is without"),
            Self::FewSamples { missing } => write!(f, "{missing} samples are missing of {LEAST_SAMPLES}"),
            Self::FewPasses { time, clean } => {
                write!(f, "{time} time and {clean} clean passes are too few to tell how passes differ ({LEAST_PASSES})")
            }
            Self::Lost { samples } => write!(f, "the kernel lost {samples} samples"),
            Self::Throttled { times } => write!(f, "the kernel throttled the sampler {times} times"),
            Self::Broken { samples } => write!(f, "{samples} chains could not be read"),
            Self::Undecided { layer, category } => {
                write!(
                    f,
                    "no rule gives a layer to {:.2} % and a category to {:.2} % of the kernel samples",
                    layer * 100.0,
                    category * 100.0
                )
            }
        }
    }
}
