//! The flags of `nettoll reference`.

use std::path::PathBuf;

use clap::Args;

use super::output::{HtmlArgs, RunsArgs};

/// `nettoll reference`.
#[derive(Debug, Args)]
pub struct ReferenceArgs {
    /// A published study: cabrera1984, jacobson1988, kay1993, kim1997, bidulock2007. Without it, and
    /// without other figures, list the studies
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// A stored run to compare with the study: its directory, a unique part of its name, @-1 (latest)
    /// or @-2 (the run before)
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// A stored run to compare with the study, or to print alone
    #[arg(long = "run", value_name = "RUN", conflicts_with = "run")]
    pub run_option: Option<PathBuf>,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// A table with the columns of a published table. With a study, the claims of that study are tested
    /// on it
    #[arg(long, value_name = "FILE")]
    pub table: Vec<PathBuf>,
    /// Output of `iperf3 -J`. Several files make a series over their sizes
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub iperf3: Vec<PathBuf>,
    /// Output of netperf with `-- -k` or `-- -o`. Several files make a series
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub netperf: Vec<PathBuf>,
    /// The page
    #[command(flatten)]
    pub html: HtmlArgs,
    /// JSON on standard output, also for failures
    #[arg(short = 'J', long, help_heading = "Output")]
    pub json: bool,
}
