//! The memory that an endpoint's process needs.

use model::plan::TrialEnd;
use model::{Bytes, Family, Nanos, Test};

use crate::Skip;
use crate::child;
use crate::support::{cell, trial_between};

const MIB: u64 = 1 << 20;

/// Largest resident sizes of a sender's and a receiver's process.
fn resident(test: Test, messages: u64) -> [Bytes; 2] {
    let ((mut sender, sending), (mut receiver, receiving)) = (child::endpoint(), child::endpoint());
    let cell = cell(test, Family::V4, 1);
    let reports = trial_between(&mut sender, &mut receiver, &cell, TrialEnd::Messages(messages), Nanos::from_millis(0));
    assert_eq!(reports.sender.counts.messages, messages);
    for mut process in [sending, receiving] {
        assert!(process.wait().unwrap().success());
    }
    [reports.sender.max_resident, reports.receiver.max_resident]
}

pub fn does_not_grow() -> Result<(), Skip> {
    for (test, many) in [(Test::UdpStream, 1_000_000), (Test::TcpStream, 100_000), (Test::TcpRr, 20_000)] {
        let (few, many) = (resident(test, 1_000), resident(test, many));
        println!("{test}: sender and receiver {few:?} with few messages, {many:?} with many");
        for (few, many) in few.into_iter().zip(many) {
            assert!((1..=16 * MIB).contains(&many.get()), "{test}: {many}");
            assert!(many.get().abs_diff(few.get()) <= MIB, "{test}: {few} with few messages, {many} with many");
        }
    }
    Ok(())
}
