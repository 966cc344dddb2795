//! The rows of published tables, one type a kind.

/// A published table's kind, with its rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Table {
    /// Messages sent and received by size (2007).
    Sweep(Vec<SweepRow>),
    /// Tests of an unloaded host (1984, appendix B).
    Unloaded(Vec<UnloadedRow>),
    /// Time of a one-byte message by load (1984).
    Latency(Vec<LoadRow>),
    /// Round-trip time by load (1984).
    RoundTrip(Vec<LoadRow>),
    /// Seconds by kernel routine (1984).
    Seconds(Vec<RoutineRow>),
    /// Calls by kernel routine (1984).
    Calls(Vec<RoutineRow>),
    /// Throughput by socket buffer (1988).
    Buffers(Vec<BufferRow>),
}

/// One size of one implementation.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepRow {
    /// The paper's number of the table.
    pub table: String,
    /// The machine.
    pub host: String,
    /// Its distribution.
    pub distribution: String,
    /// Its kernel.
    pub kernel: String,
    /// What was measured.
    pub implementation: String,
    /// Bytes of a message.
    pub bytes: u64,
    /// Length of the test in s.
    pub seconds: f64,
    /// Messages sent.
    pub sent: f64,
    /// Messages received; above 0.
    pub received: f64,
}

/// One size on an unloaded host.
#[derive(Debug, Clone, PartialEq)]
pub struct UnloadedRow {
    /// The paper's name of the table.
    pub table: String,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// Who sends.
    pub sender: String,
    /// Who receives.
    pub receiver: String,
    /// Machine and network.
    pub hardware: String,
    /// Bytes of a message.
    pub bytes: u64,
    /// Length of the test in whole s.
    pub total_s: f64,
    /// As printed.
    pub messages_per_s: f64,
    /// As printed.
    pub bits_per_s: f64,
    /// As printed.
    pub s_per_message: f64,
}

/// A time under a load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadRow {
    /// The machine.
    pub machine: String,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// Units of load at the sender.
    pub load: f64,
    /// ms.
    pub ms: f64,
}

/// A kernel routine at one size.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutineRow {
    /// Its name.
    pub routine: String,
    /// Bytes of a message.
    pub bytes: u64,
    /// Seconds, or calls, for 10,000 messages.
    pub figure: f64,
}

/// One socket buffer.
#[derive(Debug, Clone, PartialEq)]
pub struct BufferRow {
    /// Sender and receiver.
    pub pair: String,
    /// Packets of a segment that each buffer holds.
    pub packets: f64,
    /// From task to task, in KB/s.
    pub kbytes_per_s: f64,
    /// On the wire, in Mbit/s.
    pub wire_mbit_per_s: f64,
}
