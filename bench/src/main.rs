//! Benchmarks of nettoll itself. Everything is a ratio of neighbours in random
//! order, because the machines this runs on are never quiet.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)]

mod agents;
mod bare;
mod cpu_per_message;
mod equal_arms;
mod fixed_cost;
mod flows;
mod goodput;
mod iperf;
mod known_difference;
mod links;
mod loop_cost;
mod ours;
mod pairs;
mod report_speed;
mod verdict;
mod workload;

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use lab::host::namespace::Isolation;

use stress::bars::{Results, Row};

/// Measures nettoll against a bare C loop and against iperf3.
#[derive(Debug, Parser)]
struct Arguments {
    /// Compiled bench/bare.c
    #[arg(long)]
    bare: Option<PathBuf>,
    /// The release build of nettoll
    #[arg(long)]
    nettoll: Option<PathBuf>,
    /// Place where the results are kept
    #[arg(long, default_value = "bench/results")]
    out: PathBuf,
    /// Share of the full number of pairs, for a quick look
    #[arg(long, default_value_t = 1.0)]
    effort: f64,
    /// Benchmarks to run: loop, cpu, goodput, flows, agents, fixed, report (all
    /// of these when absent), workload, links; equal (this machine against itself)
    /// and known (a known difference); and the simulations: verdict
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    #[command(subcommand)]
    process: Option<Process>,
}

/// Roles in which the benchmark starts itself.
#[derive(Debug, Subcommand)]
enum Process {
    /// A host
    #[command(name = "__host", hide = true)]
    Host {
        /// Its name
        name: String,
        /// Its isolation
        isolation: Isolation,
    },
    /// An endpoint
    #[command(name = "__endpoint", hide = true)]
    Endpoint,
    /// An agent
    #[command(name = "__agent", hide = true)]
    Agent {
        /// Place where it listens
        address: SocketAddr,
        /// The secret of those who may use it
        secret: PathBuf,
    },
    /// The sending loop over getppid
    #[command(name = "__ppid", hide = true)]
    Ppid {
        /// Calls
        count: u64,
    },
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match &arguments.process {
        Some(Process::Host { name, isolation }) => Ok(lab::host_process::run(name, *isolation)?),
        Some(Process::Endpoint) => {
            let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
            Ok(engine::endpoint::run(input, io::stdout(), engine::endpoint::Files::Own)?)
        }
        Some(Process::Agent { address, secret }) => agents::serve(*address, secret),
        Some(Process::Ppid { count }) => loop_cost::run_ours(*count),
        None => benchmark(&arguments),
    }
}

/// Ratios, each a few minutes.
const RATIOS: [&str; 7] = ["loop", "cpu", "goodput", "flows", "agents", "fixed", "report"];
/// Cost of a mix of sizes, against the prediction from single sizes.
const PREDICTED: [&str; 1] = ["workload"];
/// Share of its limit that each link reaches.
const WIRES: [&str; 1] = ["links"];
/// This machine against itself.
const EQUAL: [&str; 1] = ["equal"];
/// And against a difference that is known.
const KNOWN: [&str; 1] = ["known"];
/// Simulations, which need no machine at all.
const SIMULATED: [&str; 1] = ["verdict"];

fn benchmark(arguments: &Arguments) -> anyhow::Result<()> {
    let kinds: [&[&str]; 6] = [&RATIOS, &PREDICTED, &WIRES, &EQUAL, &KNOWN, &SIMULATED];
    let known = kinds.concat();
    if let Some(unknown) = arguments.only.iter().find(|only| !known.contains(&only.as_str())) {
        anyhow::bail!("there is no benchmark '{unknown}'; there are: {}", known.join(", "));
    }
    let wanted: Vec<&str> = if arguments.only.is_empty() {
        RATIOS.to_vec()
    } else {
        known.into_iter().filter(|name| arguments.only.iter().any(|only| only == name)).collect()
    };
    let mut results = Results::of_this_machine();
    for name in &wanted {
        results.extend(measure(arguments, name)?);
    }
    results.finish(arguments.effort >= 1.0 && kinds.contains(&wanted.as_slice()), &arguments.out)
}

fn measure(arguments: &Arguments, name: &str) -> anyhow::Result<Vec<Row>> {
    let bare = bare::Bare::new(arguments.bare.clone().unwrap_or_else(|| "target/bare".into()));
    let nettoll = arguments.nettoll.clone().unwrap_or_else(|| "target/release/nettoll".into());
    let share = |full: u32, least: u32| ((f64::from(full) * arguments.effort) as u32).max(least);
    let pairs = |full| share(full, 8);
    match name {
        "loop" => loop_cost::measure(&bare, pairs(60)),
        "cpu" => cpu_per_message::measure(&bare, pairs(220)),
        "goodput" => goodput::measure(pairs(32)),
        "flows" => flows::measure(pairs(32)),
        "agents" => agents::measure(pairs(220)),
        "fixed" => fixed_cost::measure(pairs(60)),
        "report" => report_speed::measure(&nettoll),
        "workload" => workload::measure(&nettoll, share(20, 6)),
        "links" => links::measure(&nettoll, arguments.effort.min(1.0)),
        "equal" => equal_arms::measure(&nettoll, share(60, 2)),
        "known" => known_difference::measure(&nettoll, share(20, 10)),
        _ => Ok(verdict::measure(share(10_000, 100))),
    }
}
