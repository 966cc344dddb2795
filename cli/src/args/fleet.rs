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
    /// What to do in place of measuring
    #[command(subcommand)]
    pub task: Option<FleetTask>,
    /// The hosts
    #[command(flatten)]
    pub members: MemberArgs,
    /// The rounds
    #[command(flatten)]
    pub rounds: RoundArgs,
    /// Go on with a stopped run of a fleet: measure the missing pairs and trials. RUN is its
    /// directory, a part of its name that no other run has, or @-1 (latest, the default), @-2 (the
    /// one before)
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "latest")]
    #[arg(conflicts_with_all = ["MemberArgs", "RoundArgs", "dry_run", "FactorArgs"])]
    pub resume: Option<PathBuf>,
    /// With --resume: run the commands that the stored run names, and dial its agents, without a
    /// question
    #[arg(long, requires = "resume")]
    pub yes: bool,
    /// With --resume: start the programs that the run has as ends of its trials
    #[arg(long, requires = "resume")]
    pub allow_exec: bool,
    /// Say how many rounds and trials there are, how long they take and what they
    /// can find, reach the hosts, and measure nothing
    #[arg(long)]
    pub dry_run: bool,
    /// With --dry-run: reach no host
    #[arg(long, requires = "dry_run")]
    pub offline: bool,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// Levels in place of the plan's
    #[command(flatten)]
    pub factors: FactorArgs,
    /// How nettoll comes to other machines
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
    /// Ask for the network of the node and the capabilities for profiles, which takes a
    /// namespace with the Pod Security Standard "privileged". Without it the pods ask for
    /// nothing that "restricted" refuses: their own network is measured, without profiles
    #[arg(long)]
    pub privileged: bool,
    /// Image with a shell, head, mktemp and sha256sum; nettoll itself is brought there
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
    /// A host with a name of its own: n1=ssh:db1, n2='cmd:ANY COMMAND', n3=ADDRESS of
    /// an agent. May be given several times
    #[arg(long, value_name = "NAME=PLACE", allow_hyphen_values = true)]
    pub host: Vec<String>,
    /// File with a host a line, as for --hosts or for --host; what follows a # is a
    /// remark
    #[arg(long, value_name = "FILE")]
    pub hosts_file: Option<PathBuf>,
    /// All nodes of the Slurm allocation that nettoll runs in
    #[arg(long)]
    pub slurm: bool,
    /// All running pods that a label selector names: app=nettoll
    #[arg(long, value_name = "SELECTOR", allow_hyphen_values = true)]
    pub pods: Option<String>,
    /// Namespace of the pods [default: that of kubectl's context]
    #[arg(long, value_name = "NAME", requires = "pods")]
    pub namespace: Option<String>,
    /// File with the name of a host and of its rack a line
    #[arg(long, value_name = "FILE")]
    pub racks: Option<PathBuf>,
}

/// Flags that make the rounds.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rounds")]
pub struct RoundArgs {
    /// Number of rounds, or all: every pair once [default: 8; of fewer than 10 hosts all,
    /// as often as makes 8 or more]
    #[arg(long, value_name = "COUNT", value_parser = parse_rounds, allow_hyphen_values = true)]
    pub rounds: Option<Rounds>,
    /// Measure all pairs of a round at once, in place of one after the other: faster,
    /// but pairs that share a link or a machine disturb each other
    #[arg(long)]
    pub parallel: bool,
    /// Least change that is named: 5%, 0.05
    #[arg(long, value_name = "SHARE", value_parser = parse_share, default_value = "5%", allow_hyphen_values = true)]
    pub least: f64,
    /// Measured time of a trial: 500ms, 2s
    #[arg(short = 't', long, visible_alias = "time", value_name = "TIME", allow_hyphen_values = true, value_parser = parse_length)]
    pub length: Option<Nanos>,
    /// Time before the measured part
    #[arg(short = 'O', long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_warmup)]
    pub warmup: Option<Nanos>,
    /// Port that messages come to, for a firewall that lets only it through
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
