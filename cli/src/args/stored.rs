//! The flags of the commands that read what is stored, and the forms of output.

use std::path::PathBuf;

use clap::Args;

use super::compare::GateArgs;

/// What is printed on standard output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct FormatArgs {
    /// JSON on standard output, also for failures
    #[arg(short = 'J', long)]
    pub json: bool,
    /// CSV on standard output: a row for each cell and metric
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print methods, legends, every warning and every figure as well
    #[arg(short, long, conflicts_with_all = ["json", "csv"])]
    pub verbose: bool,
}

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
    /// The run's directory; the latest when absent
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// Directory that runs are stored in
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    /// How samples are classified
    #[command(flatten)]
    pub rules: RulesArgs,
    /// What the conclusion on arms follows from
    #[command(flatten)]
    pub gate: GateArgs,
    /// Markdown on standard output: what arms come to against the baseline
    #[arg(long, conflicts_with_all = ["json", "csv", "show_rules"], help_heading = "Output")]
    pub markdown: bool,
    /// What is printed
    #[command(flatten)]
    pub format: FormatArgs,
}

/// `nettoll show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Directory that runs are stored in
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
}

/// `nettoll doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// JSON on standard output
    #[arg(short = 'J', long)]
    pub json: bool,
}
