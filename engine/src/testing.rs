//! What unit tests of several modules need.

use model::control::{Cookie, Limits, Task};
use model::plan::TrialEnd;
use model::{Bytes, Cell, Nanos, Role, Test};

/// A task of messages of 1,000 bytes over loopback.
pub fn task(role: Role, test: Test) -> Task {
    Task {
        role,
        cell: Cell::plain(test, Bytes::new(1_000)),
        local: "127.0.0.1:0".parse().unwrap(),
        cpus: Vec::new(),
        ksoftirqd: Vec::new(),
        cookie: Cookie([0; 16]),
        end: TrialEnd::Length(Nanos::from_millis(1)),
        warmup: Nanos::default(),
        silence: Nanos::default(),
        answer_limit: Nanos::default(),
        seed: 0,
        woven: None,
        hosts: Vec::new(),
        program: None,
        irq_time_subtracted: false,
        progress: None,
        limits: Limits::default(),
        injection: None,
    }
}
