//! A watched machine: from samples to rows of who pays for the network stack.

mod snapshot;

pub use snapshot::{CpuRow, Cpus, FORMAT, Network, Own, Rate, Row, RowKind, Samples, Snapshot};
