//! 1984, Cabrera, Hunter, Karels and Mosher: TCP and UDP on an Ethernet under
//! 4.2BSD, as the user process sees them, and the kernel's routines below.

pub mod loads;
pub mod routines;
pub mod unloaded;

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

/// Section 3.4: bytes of a datagram, and messages a second by the slope of the total time.
pub const SLOPES: [(u64, f64); 3] = [(1, 6_000.0 / 33.0), (1_024, 6_000.0 / 41.0), (2_032, 6_000.0 / 64.0)];
