//! How far the parts of a trial reach for a traffic thread.

use model::control::Task;
use model::plan::TrialEnd;

use crate::stage::Part;

/// Limits of the warm-up and of the measured part, in messages.
///
/// A trial of a length is led by its main thread from part to part, without
/// limits here. A trial of a number of messages is in one part all the time;
/// both ends count to the same numbers, so that their windows hold the same
/// messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The part in which the warm-up takes place.
    pub warmup_part: Part,
    /// Messages of the warm-up.
    pub warmup: u64,
    /// Messages of the measured part.
    pub measured: u64,
}

impl Extent {
    /// Of a task.
    pub const fn of(task: &Task) -> Self {
        match task.end {
            TrialEnd::Length(_) => Self { warmup_part: Part::Warmup, warmup: u64::MAX, measured: u64::MAX },
            TrialEnd::Messages(messages) => {
                Self { warmup_part: Part::Measure, warmup: TrialEnd::warmup_messages(messages, task.warmup), measured: messages }
            }
        }
    }

    /// Whether both ends count to the same numbers.
    pub const fn is_counted(&self) -> bool {
        self.measured != u64::MAX
    }
}
