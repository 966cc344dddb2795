//! The flags of `nettoll reference`.

use std::path::PathBuf;

use clap::Args;

/// `nettoll reference`.
#[derive(Debug, Args)]
pub struct ReferenceArgs {
    /// A published study: cabrera1984, jacobson1988, bidulock2007; without it,
    /// and without figures from elsewhere, they are listed
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// A stored run to compare with it
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// A stored run to compare with it, or to show by itself
    #[arg(long = "run", value_name = "RUN", conflicts_with = "run")]
    pub run_option: Option<PathBuf>,
    /// A table with the columns of a published one
    #[arg(long, value_name = "FILE")]
    pub csv: Vec<PathBuf>,
    /// What `iperf3 -J` wrote; several files make a series over their sizes
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub iperf3: Vec<PathBuf>,
    /// What netperf wrote with `-- -k` or `-- -o`; several files make a series
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub netperf: Vec<PathBuf>,
    /// Write a page with tables and charts to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// JSON on standard output, also for failures
    #[arg(short = 'J', long)]
    pub json: bool,
}
