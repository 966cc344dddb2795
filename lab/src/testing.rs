//! Records of trials for unit tests.

use model::end::{Counts, EndReport, Window};
use model::trial::Measured;
use model::{Nanos, Role};
use testkit::made;

/// A trial of 1 ms and ten messages.
pub fn measured() -> Measured {
    let window = Window { start: Nanos::default(), end: Nanos::from_millis(1) };
    let end = |role| EndReport { total: Counts::default(), ..made::end(role, window, Counts { messages: 10, ..Counts::default() }) };
    Measured { overhead: Nanos::default(), ..made::measured(end(Role::Sender), end(Role::Receiver)) }
}
