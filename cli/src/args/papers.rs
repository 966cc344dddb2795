//! The flags of `nettoll papers`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::output::{HtmlArgs, RunsArgs};

/// `nettoll papers`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("measured").multiple(true)))]
pub struct PapersArgs {
    /// Measure nothing: test the claims of the papers only against their own tables
    #[arg(long, conflicts_with_all = ["runs_from", "measured"])]
    pub then: bool,
    /// Use stored runs, by name, in place of measuring: test the same claims on them, and print their
    /// figures next to the papers'
    #[arg(long, value_name = "RUN", value_delimiter = ',', conflicts_with = "measured")]
    pub runs_from: Vec<PathBuf>,
    /// Measure fewer sizes, in less than 10 minutes in place of 45
    #[arg(long, group = "measured")]
    pub quick: bool,
    /// Print the parts and the duration of each, and measure nothing
    #[arg(long, group = "measured")]
    pub dry_run: bool,
    /// Continue with the latest parts in DIR (without DIR: in the directory of runs). Finished parts
    /// stay, an unfinished part continues, the others are measured
    #[arg(long, value_name = "DIR", num_args = 0..=1, group = "measured")]
    pub resume: Option<Option<PathBuf>>,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// Only these papers, by year, and their parts: 1984, 1988, 1993, 1997, 2007
    #[arg(long, value_name = "YEAR", value_delimiter = ',')]
    pub only: Vec<u16>,
    /// A table that nettoll does not carry, with the columns of a published table, for which the same
    /// claims are tested
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
    /// Also print every figure and table of the papers
    #[arg(short, long, help_heading = "Output", conflicts_with_all = ["json", "markdown"])]
    pub verbose: bool,
}
