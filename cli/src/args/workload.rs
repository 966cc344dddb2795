//! The flags of `nettoll workload`.

use std::path::PathBuf;

use clap::Args;
use model::Nanos;

use super::extent::{parse_length, parse_warmup};
use super::output::{HtmlArgs, RunsArgs};
use super::study::{AccessArgs, LinkArgs};

/// `nettoll workload`.
#[derive(Debug, Args)]
pub struct WorkloadArgs {
    /// Workloads: W1 to W5 (the default), or files with the columns message_bytes,cumulative_fraction.
    /// Or one FILE.toml that `nettoll attach` wrote, whose exchanges are sent over loopback
    #[arg(value_name = "NAME|FILE")]
    pub workloads: Vec<String>,
    /// Predict from the sizes of this run: its directory, a unique part of its name, @-1 (latest) or
    /// @-2 (the run before). Without it, the latest run that measured sizes
    #[arg(long, value_name = "RUN", conflicts_with = "measure")]
    pub run: Option<PathBuf>,
    /// Measure sizes and mixes again, in the same blocks
    #[arg(long)]
    pub measure: bool,
    /// Predict only: measure nothing
    #[arg(long, conflicts_with = "measure")]
    pub predict: bool,
    /// Print what would be measured, and measure nothing
    #[arg(long, conflicts_with = "predict")]
    pub dry_run: bool,
    /// Do not ask before the agents of the stored run are contacted and its commands are run
    #[arg(long)]
    pub yes: bool,
    /// Start the programs that are ends of trials in the stored run
    #[arg(long)]
    pub allow_exec: bool,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// Lengths and numbers
    #[command(flatten)]
    pub extent: WorkloadExtent,
    /// The link
    #[command(flatten)]
    pub link: LinkArgs,
    /// How nettoll reaches other machines
    #[command(flatten)]
    pub access: AccessArgs,
    /// The page
    #[command(flatten)]
    pub html: HtmlArgs,
    /// JSON on standard output, also for failures
    #[arg(short = 'J', long, help_heading = "Output")]
    pub json: bool,
}

/// Flags that replace lengths and numbers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Extent")]
pub struct WorkloadExtent {
    /// Measured time of a trial: 200ms, 2s
    #[arg(short = 't', long, visible_alias = "time", value_name = "TIME", allow_hyphen_values = true, value_parser = parse_length)]
    pub length: Option<Nanos>,
    /// Time before the measured part
    #[arg(short = 'O', long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_warmup)]
    pub warmup: Option<Nanos>,
    /// Number of blocks
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub blocks: Option<u32>,
    /// Seed of the random order, and of the order of sizes in a mix
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// With --measure: also break the CPU time down, for the share that touches data
    #[arg(long, requires = "measure")]
    pub receipt: bool,
}
