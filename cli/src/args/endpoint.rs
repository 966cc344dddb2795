//! The flags of `nettoll endpoint`.

use clap::{Args, Subcommand, ValueEnum};
use model::{Bytes, Program, Test};

/// `nettoll endpoint`.
#[derive(Debug, Args)]
pub struct EndpointArgs {
    /// What to do
    #[command(subcommand)]
    pub task: EndpointTask,
}

/// What to do with a program that is to be an end of a trial.
#[derive(Debug, Subcommand)]
pub enum EndpointTask {
    /// Test in short trials whether a program keeps the contract of external endpoints
    Check(CheckArgs),
    /// Run an implementation that comes with nettoll, as the harness of a trial starts it
    Run(RunArgs),
}

/// `nettoll endpoint run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The implementation: tpi-sockets, tpi-streams, tpi-streams-xdp
    #[arg(value_name = "NAME")]
    pub name: String,
    /// High-water mark: bytes at which a queue is full
    #[arg(long, value_name = "SIZE", default_value = "64K")]
    pub high_water: Bytes,
    /// Low-water mark: bytes to which a full queue drains before it takes messages again
    #[arg(long, value_name = "SIZE", default_value = "16K")]
    pub low_water: Bytes,
    /// Messages after which service procedures run
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub defer: u32,
}

/// `nettoll endpoint check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Ends that the program should be; without it, both
    #[arg(long = "as", value_name = "ROLE,...", value_delimiter = ',')]
    pub roles: Vec<PlayedRole>,
    /// Tests: UDP_STREAM, TCP_STREAM; without it, both
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub test: Vec<Test>,
    /// Result as JSON
    #[arg(short = 'J', long)]
    pub json: bool,
    /// The program
    #[arg(value_name = "PROGRAM")]
    pub program: String,
    /// Its arguments
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// An end that a program can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlayedRole {
    /// It sends.
    Send,
    /// It receives.
    Receive,
}

impl CheckArgs {
    /// The program with its arguments.
    ///
    /// # Errors
    /// Words that are no command.
    pub fn command(&self) -> Result<Program, model::program::ProgramError> {
        Program::new(&std::iter::once(&self.program).chain(&self.arguments).cloned().collect::<Vec<_>>().join(" "))
    }
}
