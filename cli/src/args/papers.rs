//! The flags of `nettoll papers`.

use std::path::PathBuf;

use clap::Args;

use super::output::{HtmlArgs, RunsArgs};

/// `nettoll papers`.
#[derive(Debug, Args)]
pub struct PapersArgs {
    /// The papers alone: their claims ruled by their own tables, nothing measured
    #[arg(long, required_unless_present = "runs_from", conflicts_with = "runs_from")]
    pub then: bool,
    /// Stored runs of today, by name: their figures next to the papers', ruled by the same claims
    #[arg(long, value_name = "RUN", value_delimiter = ',')]
    pub runs_from: Vec<PathBuf>,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// Papers by year: 1984, 1988, 1993, 1997, 2007
    #[arg(long, value_name = "YEAR", value_delimiter = ',')]
    pub only: Vec<u16>,
    /// A table that nettoll does not carry, with the columns of a published one: ruled by the same claims
    #[arg(long, value_name = "FILE")]
    pub table: Vec<PathBuf>,
    /// The page
    #[command(flatten)]
    pub html: HtmlArgs,
    /// JSON on standard output, also for failures
    #[arg(short = 'J', long, help_heading = "Output")]
    pub json: bool,
    /// Markdown on standard output
    #[arg(long, help_heading = "Output", conflicts_with = "json")]
    pub markdown: bool,
    /// Print every figure and table of the papers as well
    #[arg(short, long, help_heading = "Output", conflicts_with_all = ["json", "markdown"])]
    pub verbose: bool,
}
