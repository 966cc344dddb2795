//! How long an end of a trial waits for messages that may still come.

use crate::Nanos;

/// A receiver's wait after the sender's end on one machine, where all that was sent has arrived by then.
pub const ON_ONE_MACHINE: Nanos = Nanos::from_millis(20);
/// The same in a woven trial: the end of its last slice was waited for, until nothing came any more.
pub const WOVEN: Nanos = Nanos::from_millis(5);
/// A requester's wait for an answer on one machine.
pub const ANSWER: Nanos = Nanos::from_millis(100);
/// The least wait of both between machines. A receiver that has all that was sent does not wait.
pub const LEAST_BETWEEN_MACHINES: Nanos = Nanos::from_millis(200);
/// Round trips of the control connection that ends wait between machines. Retransmission does not matter to datagrams; a
/// queue of a few round trips does.
const ROUND_TRIPS: u64 = 4;

/// The wait of ends on machines that are a round-trip time apart.
pub fn between_machines(rtt: Nanos) -> Nanos {
    Nanos::new(rtt.get().saturating_mul(ROUND_TRIPS)).max(LEAST_BETWEEN_MACHINES)
}

#[cfg(test)]
mod tests {
    use super::{LEAST_BETWEEN_MACHINES, between_machines};
    use crate::Nanos;

    #[test]
    fn far_machines_have_round_trips_and_near_ones_the_least() {
        assert_eq!(between_machines(Nanos::from_millis(80)), Nanos::from_millis(320));
        for near in [0, 1_000_000, 50_000_000] {
            assert_eq!(between_machines(Nanos::new(near)), LEAST_BETWEEN_MACHINES, "{near}");
        }
    }
}
