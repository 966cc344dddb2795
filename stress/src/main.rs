//! Runs kills, soak and siege against a built nettoll.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)]

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use lab::host::namespace::Isolation;
use stress::bars::Results;
use stress::{kills, siege, soak};

/// Kills, floods and exhausts nettoll, and sees what is left.
#[derive(Debug, Parser)]
struct Arguments {
    /// The release build of nettoll
    #[arg(long, default_value = "target/release/nettoll")]
    nettoll: PathBuf,
    /// Where the results are kept
    #[arg(long, default_value = "bench/results")]
    out: PathBuf,
    /// Share of the full number of kills and trials, for a quick look
    #[arg(long, default_value_t = 1.0)]
    effort: f64,
    /// What to run: kills, soak, siege; all of them when absent
    #[arg(long, value_delimiter = ',', default_values = NAMES)]
    only: Vec<String>,
    #[command(subcommand)]
    process: Option<Process>,
}

const NAMES: [&str; 3] = ["kills", "soak", "siege"];

/// What the program starts itself as.
#[derive(Debug, Subcommand)]
enum Process {
    /// A host
    #[command(name = "__host", hide = true)]
    Host {
        /// Its name
        name: String,
        /// How it sets itself apart
        isolation: Isolation,
    },
    /// Strangers at an agent's door
    #[command(name = "__flood", hide = true)]
    Flood {
        /// Whose
        agent: SocketAddr,
    },
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match &arguments.process {
        Some(Process::Host { name, isolation }) => Ok(lab::host_process::run(name, *isolation)?),
        Some(Process::Flood { agent }) => siege::run_flood(*agent),
        None => run(&arguments),
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(unknown) = arguments.only.iter().find(|only| !NAMES.contains(&only.as_str())) {
        anyhow::bail!("there is no '{unknown}'; there are: {}", NAMES.join(", "));
    }
    let share = |full: u32, least: u32| ((f64::from(full) * arguments.effort) as u32).max(least);
    let mut results = Results::of_this_machine();
    for name in NAMES.into_iter().filter(|name| arguments.only.iter().any(|only| only == name)) {
        results.extend(match name {
            "kills" => kills::measure(&arguments.nettoll, share(100, 1))?,
            "soak" => soak::measure(&arguments.nettoll, share(20_000, 300))?,
            _ => siege::measure(&arguments.nettoll, share(20, 1))?,
        });
    }
    results.finish(arguments.effort >= 1.0 && arguments.only.len() == NAMES.len(), &arguments.out)
}
