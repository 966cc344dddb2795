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
    /// The program by the id of its main process; its children are observed as well
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// The processes of a service, by its unit's name
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<String>,
    /// The processes of a cgroup and of those below it: its path below /sys/fs/cgroup
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<PathBuf>,
    /// A command to start, observe, and end after the time
    #[arg(value_name = "COMMAND", last = true, num_args = 1..)]
    pub command: Vec<String>,
    /// Time of all windows together in seconds; without it, until Ctrl-C
    #[arg(short = 't', long, value_name = "TIME")]
    pub time: Option<Nanos>,
    /// Source of the number of requests: sends (the program's calls that send data),
    /// redis:ADDRESS, memcached:ADDRESS, log:FILE (lines added), command:PROGRAM (prints a
    /// count that rises)
    #[arg(long, value_name = "SOURCE", default_value = "sends")]
    pub requests: Source,
    /// Length of a window [default: a twentieth of the time, from 100 ms to 1 s]
    #[arg(long, value_name = "TIME")]
    pub window: Option<Nanos>,
    /// Distance of two samples [default: such that samples cost 3 % at most]
    #[arg(long, value_name = "TIME")]
    pub period: Option<Nanos>,
    /// A command that brings the program into its first state, run before its windows
    #[arg(long, value_name = "COMMAND", requires = "switch_b")]
    pub switch_a: Option<String>,
    /// A command that brings it into its second state, to be compared with the first
    #[arg(long, value_name = "COMMAND", requires = "switch_a")]
    pub switch_b: Option<String>,
    /// Write the program's work to FILE, which `nettoll workload` sends and `nettoll advise`
    /// takes: FILE.toml has its exchanges, connections and rate, any other the sizes that it
    /// gives to its sockets
    #[arg(long, value_name = "FILE")]
    pub workload: Option<PathBuf>,
    /// Store the program's arguments, which may hold secrets
    #[arg(long)]
    pub store_arguments: bool,
    /// Seed of the order of windows
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Say what would be observed, and observe nothing
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
