//! The flags of `nettoll top`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use model::{Bytes, Nanos};

use super::output::RunsArgs;

/// `nettoll top`.
#[derive(Debug, Args)]
pub struct TopArgs {
    /// Print one window as text, and end. This is the default if the output is not a terminal
    #[arg(long)]
    pub once: bool,
    /// Print the units of one window that can save most, with the reason and the command that measures
    /// the saving, and end
    #[arg(long, conflicts_with_all = ["once", "record", "listen", "textfile"])]
    pub advise: bool,
    /// Print a line of JSON for each window
    #[arg(short = 'J', long)]
    pub json: bool,
    /// End after this time; with --once, the length of the window [default: 10 s]
    #[arg(short = 't', long, value_name = "TIME")]
    pub time: Option<Nanos>,
    /// Samples a second of each CPU [default: 99, or fewer if these would take more than 1 % of a CPU]
    #[arg(long, value_name = "HZ")]
    pub rate: Option<u32>,
    /// Count every message, which makes each socket call more expensive. By default messages are
    /// counted in a part of the time
    #[arg(long)]
    pub count_all: bool,
    /// A recording
    #[command(flatten)]
    pub record: RecordArgs,
    /// Counters for monitoring
    #[command(flatten)]
    pub counters: CountersArgs,
}

/// What is kept while `nettoll top` runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Recording")]
pub struct RecordArgs {
    /// Store a window every 10 s as a run, for report, compare and export
    #[arg(long, conflicts_with = "once")]
    pub record: bool,
    /// Keep the windows of the last TIME
    #[arg(long, value_name = "TIME", default_value = "168h", requires = "record")]
    pub keep: Nanos,
    /// Keep at most this many bytes of windows; a day of 40 units takes some 15M
    #[arg(long, value_name = "BYTES", default_value = "256M", requires = "record")]
    pub keep_bytes: Bytes,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
}

/// Where counters are offered while `nettoll top` runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Counters, by unit, for monitoring")]
pub struct CountersArgs {
    /// Answer GET /metrics on this address, such as 127.0.0.1:9469, with counters in OpenMetrics. With
    /// port 0 the kernel chooses a port
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "once", value_parser = address)]
    pub listen: Option<SocketAddr>,
    /// Allow an address for --listen that other machines reach; they can read the names of units
    #[arg(long, requires = "listen")]
    pub expose: bool,
    /// Write counters to this file every 10 s, for node_exporter. Its name has to end in .prom
    #[arg(long, value_name = "FILE", conflicts_with = "once", value_parser = textfile)]
    pub textfile: Option<PathBuf>,
}

fn address(word: &str) -> Result<SocketAddr, String> {
    word.parse().map_err(|_| "it is no address in figures with a port: write 127.0.0.1:9469, or [::1]:9469".to_owned())
}

fn textfile(word: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(word);
    let fits = path.extension().is_some_and(|ending| ending == "prom");
    if fits { Ok(path) } else { Err("node_exporter reads files that end in .prom alone: write DIRECTORY/nettoll.prom".to_owned()) }
}
