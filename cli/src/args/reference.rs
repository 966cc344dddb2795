//! The flags of `nettoll reference`.

use std::path::PathBuf;

use clap::Args;

use super::output::{HtmlArgs, RunsArgs};

/// `nettoll reference`.
#[derive(Debug, Args)]
pub struct ReferenceArgs {
    /// A published study: cabrera1984, jacobson1988, kay1993, kim1997, bidulock2007; without it,
    /// and without figures from elsewhere, they are listed
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// A stored run to compare with it: its directory, a part of its name that no other run has, or
    /// @-1 (latest), @-2 (the one before)
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// A stored run to compare with it, or to show by itself
    #[arg(long = "run", value_name = "RUN", conflicts_with = "run")]
    pub run_option: Option<PathBuf>,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// A table with the columns of a published one; next to a study it is ruled by the
    /// claims of that study
    #[arg(long, value_name = "FILE")]
    pub table: Vec<PathBuf>,
    /// Output of `iperf3 -J`; several files make a series over their sizes
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub iperf3: Vec<PathBuf>,
    /// Output of netperf with `-- -k` or `-- -o`; several files make a series
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub netperf: Vec<PathBuf>,
    /// The page
    #[command(flatten)]
    pub html: HtmlArgs,
    /// JSON on standard output, also for failures
    #[arg(short = 'J', long, help_heading = "Output")]
    pub json: bool,
}
