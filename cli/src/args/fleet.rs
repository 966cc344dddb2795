//! The flags of `nettoll fleet`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use model::Nanos;
use model::plan::MOST_ROUNDS;
use model::quantity::parse_share;

use super::extent::{parse_length, parse_warmup};
use super::factors::FactorArgs;
use super::output::{FormatArgs, HtmlArgs, RunsArgs};
use super::study::AccessArgs;

/// `nettoll fleet`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct FleetArgs {
    /// Task in place of measuring
    #[command(subcommand)]
    pub task: Option<FleetTask>,
    /// The hosts
    #[command(flatten)]
    pub members: MemberArgs,
    /// The rounds
    #[command(flatten)]
    pub rounds: RoundArgs,
    /// Continue a stopped run of a fleet: measure the missing pairs and trials. RUN is its directory, a
    /// unique part of its name, @-1 (latest, the default) or @-2 (the run before)
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "latest")]
    #[arg(conflicts_with_all = ["MemberArgs", "RoundArgs", "dry_run", "FactorArgs"])]
    pub resume: Option<PathBuf>,
    /// With --resume: do not ask before the commands of the stored run are run and its agents are
    /// contacted
    #[arg(long, requires = "resume")]
    pub yes: bool,
    /// With --resume: start the programs that are ends of trials in the stored run
    #[arg(long, requires = "resume")]
    pub allow_exec: bool,
    /// Contact the hosts, print the number of rounds and trials, their duration and the slowdown that
    /// they can find, and measure nothing
    #[arg(long)]
    pub dry_run: bool,
    /// With --dry-run: contact no host
    #[arg(long, requires = "dry_run")]
    pub offline: bool,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// Levels in place of the plan's
    #[command(flatten)]
    pub factors: FactorArgs,
    /// How nettoll reaches other machines
    #[command(flatten)]
    pub access: AccessArgs,
    /// The page
    #[command(flatten)]
    pub html: HtmlArgs,
    /// What is printed
    #[command(flatten)]
    pub format: FormatArgs,
}

/// Tasks of a fleet other than measuring it.
#[derive(Debug, Subcommand)]
pub enum FleetTask {
    /// Print a manifest that puts a host of the fleet on every node of a Kubernetes cluster
    Manifest(ManifestArgs),
}

/// `nettoll fleet manifest`.
#[derive(Debug, Args)]
pub struct ManifestArgs {
    /// Ask for the node's network and the capabilities for profiles, which needs a namespace with the
    /// Pod Security Standard "privileged". Without it the pods pass the standard "restricted", and
    /// nettoll measures the pods' network without profiles
    #[arg(long)]
    pub privileged: bool,
    /// Image with a shell, head, mktemp and sha256sum; nettoll copies itself into the pods
    #[arg(long, value_name = "IMAGE", default_value = "docker.io/library/debian:stable-slim")]
    pub image: String,
    /// Namespace
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
    /// Name of the Service and of the DaemonSet
    #[arg(long, value_name = "NAME", default_value = "nettoll")]
    pub name: String,
}

/// Flags that name hosts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Hosts")]
pub struct MemberArgs {
    /// Hosts by name, as ssh knows them: db1,op@db2,ssh:db3:2222, or slurm:NODE,
    /// kubectl:POD. May be given several times
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    pub hosts: Vec<String>,
    /// A host under a name that you choose: n1=ssh:db1, n2='cmd:ANY COMMAND', n3=ADDRESS of an agent.
    /// May be given several times
    #[arg(long, value_name = "NAME=PLACE", allow_hyphen_values = true)]
    pub host: Vec<String>,
    /// File with a host on each line, as for --hosts or --host; # begins a remark
    #[arg(long, value_name = "FILE")]
    pub hosts_file: Option<PathBuf>,
    /// All nodes of the Slurm allocation in which nettoll runs
    #[arg(long)]
    pub slurm: bool,
    /// All running pods that match a label selector: app=nettoll
    #[arg(long, value_name = "SELECTOR", allow_hyphen_values = true)]
    pub pods: Option<String>,
    /// Namespace of the pods [default: that of kubectl's context]
    #[arg(long, value_name = "NAME", requires = "pods")]
    pub namespace: Option<String>,
    /// File with a host and its rack on each line
    #[arg(long, value_name = "FILE")]
    pub racks: Option<PathBuf>,
}

/// Flags that make the rounds.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rounds")]
pub struct RoundArgs {
    /// Number of rounds, or all: every pair once [default: 8; with fewer than 10 hosts all pairs,
    /// repeatedly if that takes less than 8 rounds]
    #[arg(long, value_name = "COUNT", value_parser = parse_rounds, allow_hyphen_values = true)]
    pub rounds: Option<Rounds>,
    /// Measure all pairs of a round at once. This is faster, but pairs that share a link or a machine
    /// disturb each other
    #[arg(long)]
    pub parallel: bool,
    /// Smallest change that is named: 5%, 0.05
    #[arg(long, value_name = "SHARE", value_parser = parse_share, default_value = "5%", allow_hyphen_values = true)]
    pub least: f64,
    /// Measured time of a trial: 500ms, 2s
    #[arg(short = 't', long, visible_alias = "time", value_name = "TIME", allow_hyphen_values = true, value_parser = parse_length)]
    pub length: Option<Nanos>,
    /// Time before the measured part
    #[arg(short = 'O', long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_warmup)]
    pub warmup: Option<Nanos>,
    /// Port that receives messages, for a firewall that lets only this port through
    #[arg(long, value_name = "PORT", allow_hyphen_values = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub data_port: Option<u16>,
    /// Seed of the random order
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub seed: Option<u64>,
}

/// Number of rounds as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// So that each pair meets once.
    All,
    /// So many.
    Count(u32),
}

fn parse_rounds(word: &str) -> Result<Rounds, String> {
    match (word, word.parse::<u32>()) {
        ("all", _) => Ok(Rounds::All),
        (_, Ok(count)) if (1..=MOST_ROUNDS).contains(&count) => Ok(Rounds::Count(count)),
        _ => Err(format!("write a number of rounds from 1 to {MOST_ROUNDS}, or all")),
    }
}
