//! The flags of `nettoll attach`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use lab::attach::Source;
use model::Nanos;

use super::output::{FormatArgs, HtmlArgs, RunsArgs};

/// `nettoll attach`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("target").required(true).args(["pid", "unit", "cgroup", "command"])))]
pub struct AttachArgs {
    /// Id of the program's main process; its children are observed as well
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Name of a systemd unit, whose processes are observed
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<String>,
    /// Path of a cgroup below /sys/fs/cgroup, whose processes are observed, also those of cgroups below
    /// it
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<PathBuf>,
    /// A command that nettoll starts, observes, and ends after the time
    #[arg(value_name = "COMMAND", last = true, num_args = 1..)]
    pub command: Vec<String>,
    /// Observed time of all windows together, in seconds; without it, until Ctrl-C
    #[arg(short = 't', long, value_name = "TIME")]
    pub time: Option<Nanos>,
    /// Source of the number of requests: sends (the program's calls that send data), redis:ADDRESS,
    /// memcached:ADDRESS, log:FILE (added lines), command:PROGRAM (prints a rising count)
    #[arg(long, value_name = "SOURCE", default_value = "sends")]
    pub requests: Source,
    /// Length of a window, a part of the observed time [default: a twentieth of the time, from 100 ms
    /// to 1 s]
    #[arg(long, value_name = "TIME")]
    pub window: Option<Nanos>,
    /// Time between two samples [default: chosen so that samples cost at most 3 %]
    #[arg(long, value_name = "TIME")]
    pub period: Option<Nanos>,
    /// A command that switches the program to its first state. It runs before the windows of this state
    #[arg(long, value_name = "COMMAND", requires = "switch_b")]
    pub switch_a: Option<String>,
    /// A command that switches the program to its second state, which is compared with the first
    #[arg(long, value_name = "COMMAND", requires = "switch_a")]
    pub switch_b: Option<String>,
    /// Write the program's work to FILE, for `nettoll workload` and `nettoll advise`. FILE.toml has its
    /// exchanges, connections and rate; any other file has the sizes that it passes to its sockets
    #[arg(long, value_name = "FILE")]
    pub workload: Option<PathBuf>,
    /// Store the program's command line, which may hold secrets
    #[arg(long)]
    pub store_arguments: bool,
    /// Seed of the order of windows
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Print what would be observed, and observe nothing
    #[arg(long, conflicts_with = "command")]
    pub dry_run: bool,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// The page
    #[command(flatten)]
    pub html: HtmlArgs,
    /// What is printed
    #[command(flatten)]
    pub format: FormatArgs,
}
