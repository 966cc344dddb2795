//! Records of trials for unit tests.

use model::end::{Counts, CpuTime, EndReport, Switches, Window};
use model::kernel::HostCounters;
use model::trial::Measured;
use model::{Bytes, Nanos, Role};

fn end(role: Role) -> EndReport {
    EndReport {
        role,
        cpu: None,
        threads: Vec::new(),
        window: Window { start: Nanos::default(), end: Nanos::from_millis(1) },
        flow: None,
        counts: Counts { messages: 10, ..Counts::default() },
        total: Counts::default(),
        cpu_time: CpuTime::default(),
        switches: Switches::default(),
        run_delay: None,
        options: Vec::new(),
        tcp: None,
        tcp_at_start: None,
        latency: None,
        drops: std::collections::BTreeMap::new(),
        max_resident: Bytes::default(),
        flows: Vec::new(),
        back: None,
        schedule: None,
        in_flight: None,
        one_way: None,
        progress: Vec::new(),
    }
}

/// A trial of 1 ms and ten messages.
pub fn measured() -> Measured {
    Measured {
        sender: end(Role::Sender),
        receiver: end(Role::Receiver),
        sender_host: HostCounters::default(),
        receiver_host: HostCounters::default(),
        isolated: true,
        apart: false,
        clock: None,
        control: None,
        overhead: Nanos::default(),
        conditions: None,
        wire: None,
        observed: None,
    }
}
