//! The flags of `nettoll papers`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::output::{HtmlArgs, RunsArgs};

/// `nettoll papers`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("measured").multiple(true)))]
pub struct PapersArgs {
    /// The papers alone: their claims ruled by their own tables, nothing measured
    #[arg(long, conflicts_with_all = ["runs_from", "measured"])]
    pub then: bool,
    /// Stored runs of today, by name, in place of measuring: their figures next to the papers', ruled by the same claims
    #[arg(long, value_name = "RUN", value_delimiter = ',', conflicts_with = "measured")]
    pub runs_from: Vec<PathBuf>,
    /// Measure fewer sizes in less time: less than 10 minutes in place of 45
    #[arg(long, group = "measured")]
    pub quick: bool,
    /// Say which parts would be measured and how long each takes, and measure nothing
    #[arg(long, group = "measured")]
    pub dry_run: bool,
    /// Go on with the parts measured last in DIR (without DIR: in the directory of runs). Whole
    /// parts stay, an unfinished one continues, the others are measured
    #[arg(long, value_name = "DIR", num_args = 0..=1, group = "measured")]
    pub resume: Option<Option<PathBuf>>,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// Papers by year, and the parts that are for them: 1984, 1988, 1993, 1997, 2007
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
