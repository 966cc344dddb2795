//! Implementations of transports, each a program that is an end of a trial by the contract of
//! docs/endpoint.md: transport providers above sockets, and stacks in user space. The engine
//! links none; it starts them like a user's program.
//!
//! ```text
//! harness (engine::external) --environment, lines, page--> contract -> tpi -> a provider -> sockets, or net
//! ```

pub mod contract;
pub mod error;
pub mod net;
#[cfg(feature = "runtimes")]
pub mod runtimes;
pub mod tpi;

pub use error::StackError;
use net::tun::Tun;
use net::xdp::Xdp;
pub use tpi::Options;

/// Is the end of a trial that the environment asks for, as the implementation `name`.
///
/// # Errors
/// A name that is none of these, an environment that no harness made, a refusal of the system.
pub fn run(name: &str, options: &Options) -> Result<(), StackError> {
    let harness = contract::Harness::from_environment()?;
    match name {
        "tpi-sockets" => tpi::run(tpi::OverSockets::open(harness.setup())?, harness, options),
        "tpi-streams" => tpi::run(tpi::OverDevice::<Tun>::open(harness.setup(), name)?, harness, options),
        "tpi-streams-xdp" => tpi::run(tpi::OverDevice::<Xdp>::open(harness.setup(), name)?, harness, options),
        other => Err(StackError::contract(format!("no implementation is called '{other}'"))),
    }
}

/// The names of those that `nettoll-stacks` is.
#[cfg(feature = "runtimes")]
pub const HEAVY: [&str; 6] = ["tokio", "mio", "compio", "quinn", "smoltcp", "smoltcp-xdp"];

/// Is the end of a trial that the environment asks for, on the runtime `name`.
///
/// # Errors
/// A name that is none of these, an environment that no harness made, a refusal of the system.
#[cfg(feature = "runtimes")]
pub fn run_heavy(name: &str) -> Result<(), StackError> {
    let carry: fn(contract::Harness) -> Result<(), StackError> = match name {
        "tokio" => runtimes::tokio,
        "mio" => runtimes::mio,
        "compio" => runtimes::compio,
        "quinn" => runtimes::quinn,
        "smoltcp" => |harness| runtimes::smoltcp::<Tun>(harness, "smoltcp"),
        "smoltcp-xdp" => |harness| runtimes::smoltcp::<Xdp>(harness, "smoltcp-xdp"),
        other => return Err(StackError::contract(format!("no runtime is called '{other}': there are {}", HEAVY.join(", ")))),
    };
    carry(contract::Harness::from_environment()?)
}
