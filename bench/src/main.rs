//! Benchmarks of nettoll itself. Everything is a ratio of neighbours in random
//! order, because the machines this runs on are never quiet.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)]

mod bare;
mod bars;
mod cpu_per_message;
mod fixed_cost;
mod goodput;
mod iperf;
mod loop_cost;
mod ours;
mod pairs;
mod report_speed;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use lab::host::namespace::Isolation;

use bars::Results;

/// Measures nettoll against a bare C loop and against iperf3.
#[derive(Debug, Parser)]
struct Arguments {
    /// Compiled bench/bare.c
    #[arg(long)]
    bare: Option<PathBuf>,
    /// The release build of nettoll
    #[arg(long)]
    nettoll: Option<PathBuf>,
    /// Where the results are kept
    #[arg(long, default_value = "bench/results")]
    out: PathBuf,
    /// Share of the full number of pairs, for a quick look
    #[arg(long, default_value_t = 1.0)]
    effort: f64,
    /// Benchmarks to run: loop, cpu, goodput, fixed, report; all when absent
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    #[command(subcommand)]
    process: Option<Process>,
}

/// What the benchmark starts itself as.
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
    /// An endpoint
    #[command(name = "__endpoint", hide = true)]
    Endpoint,
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
        Some(Process::Host { name, isolation }) => Ok(lab::keeper::run(name, *isolation)?),
        Some(Process::Endpoint) => {
            let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
            Ok(engine::endpoint::run(input, io::stdout(), engine::endpoint::Files::Own)?)
        }
        Some(Process::Ppid { count }) => loop_cost::run_ours(*count),
        None => benchmark(&arguments),
    }
}

fn benchmark(arguments: &Arguments) -> anyhow::Result<()> {
    let bare = bare::Bare::new(arguments.bare.clone().unwrap_or_else(|| "target/bare".into()));
    let known = ["loop", "cpu", "goodput", "fixed", "report"];
    if let Some(unknown) = arguments.only.iter().find(|only| !known.contains(&only.as_str())) {
        anyhow::bail!("there is no benchmark '{unknown}'; there are: {}", known.join(", "));
    }
    let wanted = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let pairs = |full: u32| ((f64::from(full) * arguments.effort) as u32).max(8);
    let mut results = Results::of_this_machine();
    if wanted("loop") {
        results.extend(loop_cost::measure(&bare, pairs(60))?);
    }
    if wanted("cpu") {
        results.extend(cpu_per_message::measure(&bare, pairs(220))?);
    }
    if wanted("goodput") {
        results.extend(goodput::measure(pairs(32))?);
    }
    if wanted("fixed") {
        results.extend(fixed_cost::measure(pairs(60))?);
    }
    if wanted("report") {
        let nettoll = arguments.nettoll.clone().unwrap_or_else(|| "target/release/nettoll".into());
        results.extend(report_speed::measure(&nettoll)?);
    }
    println!("{}", results.table());
    if arguments.effort >= 1.0 && arguments.only.is_empty() {
        println!("kept in {}", results.keep(&arguments.out)?.display());
    }
    match results.missed() {
        0 => Ok(()),
        missed => anyhow::bail!("{missed} bars missed"),
    }
}
