//! The flags of the commands that read what is stored.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use model::Bytes;

use super::compare::GateArgs;
use super::output::{FormatArgs, HtmlArgs, RunsArgs};

/// How the samples of receipts are classified.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Receipt")]
pub struct RulesArgs {
    /// Classify samples by the rules in this file in place of those that come
    /// with nettoll
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// Print what share of the samples each rule decided
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    pub show_rules: bool,
}

/// `nettoll report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run: its directory, any part of its name that no other has, latest, or
    /// @-1, the one before being @-2
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: PathBuf,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// How samples are classified
    #[command(flatten)]
    pub rules: RulesArgs,
    /// What the conclusion on arms follows from
    #[command(flatten)]
    pub gate: GateArgs,
    /// Markdown on standard output: what arms come to against the baseline
    #[arg(long, conflicts_with_all = ["json", "csv", "show_rules"], help_heading = "Output")]
    pub markdown: bool,
    /// The page
    #[command(flatten)]
    pub html: HtmlArgs,
    /// Write one message's time by layer at both ends, from the receipt, as SVG
    /// to this file, and nothing else
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "csv", "show_rules", "markdown"], help_heading = "Output")]
    pub picture: Option<PathBuf>,
    /// Message size of the picture [default: the largest that one frame carries]
    #[arg(long, value_name = "SIZE", requires = "picture", help_heading = "Output")]
    pub size: Option<Bytes>,
    /// What is printed
    #[command(flatten)]
    pub format: FormatArgs,
}

/// `nettoll show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// A run to tell of: its directory, any part of its name that no other has,
    /// latest, or @-1, the one before being @-2; without it, all are listed
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// JSON on standard output, also for failures
    #[arg(short = 'J', long, help_heading = "Output")]
    pub json: bool,
}

/// `nettoll doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Put known costs into traffic and see whether receipts find them: 5 minutes in which it loads
    /// CPUs
    #[arg(long)]
    pub prove: bool,
    /// Prove next to one neighbour only: quiet is none, busy a thread that uses two fifths of each CPU
    #[arg(long, value_name = "NEIGHBOUR", requires = "prove", hide_possible_values = true)]
    pub only: Option<ProofNeighbour>,
    /// Do not ask before CPUs are loaded
    #[arg(long, requires = "prove")]
    pub yes: bool,
    /// JSON on standard output
    #[arg(short = 'J', long, help_heading = "Output")]
    pub json: bool,
}

/// What runs next to the proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProofNeighbour {
    Quiet,
    Busy,
}
