//! 1984, Cabrera, Hunter, Karels and Mosher: TCP and UDP on an Ethernet under
//! 4.2BSD, as the user process sees them, and the kernel's routines below.

pub mod loads;
pub mod routines;
pub mod unloaded;

use super::statement::Statement;

/// Appendix B, tables 1 to 5.
pub const UNLOADED: &str = include_str!("../../../reference/cabrera1984/unloaded.csv");
/// Table 3.
pub const LATENCY: &str = include_str!("../../../reference/cabrera1984/latency_ms_by_sender_load.csv");
/// Table 4.
pub const ROUND_TRIP: &str = include_str!("../../../reference/cabrera1984/rtt_ms_by_sender_load.csv");
/// Table 5.
pub const SECONDS: &str = include_str!("../../../reference/cabrera1984/tcp_seconds_by_routine.csv");
/// Table 7.
pub const CALLS: &str = include_str!("../../../reference/cabrera1984/tcp_calls_by_routine.csv");

/// Statements that no published table decides.
pub fn undecided() -> Vec<Statement> {
    let of = |id: &str, about: &str, says: &str, lacks: &str| Statement::undecided(id, about, says, lacks);
    vec![
        of(
            "receiver",
            "load at the receiver",
            "a load at the receiver slows TCP less than one at the sender; UDP's sender notices nothing",
            "the tables have loads at the sender only",
        ),
        of("both", "load at both ends", "both ends loaded is within 20 % of one end loaded", "the tables have loads at the sender only"),
        of("flatten", "load at the sender", "under load the curves over sizes flatten", "the tables by load have one size, 1 B"),
        of(
            "ether",
            "load of the Ethernet",
            "three other pairs, 22 % of the wire, cost 40 % of the throughput",
            "no table has loads of the Ethernet",
        ),
        of("udp-checksum", "UDP send path", "the checksum is UDP's largest single item", "the routine tables are of TCP"),
        of(
            "spread",
            "repetitions",
            "the spread of the total time settles above 4,000 messages",
            "each test is published once, without its repetitions",
        ),
    ]
}
