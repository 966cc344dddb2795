//! The flags of `nettoll export`.

use std::path::PathBuf;

use clap::Args;

use super::output::RunsArgs;

/// `nettoll export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Runs, each by its directory, any part of its name that no other has, latest,
    /// or @-1; without any, all
    #[arg(value_name = "RUN")]
    pub which: Vec<PathBuf>,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// The form
    #[command(flatten)]
    pub form: ExportForm,
}

/// Form of what is exported.
#[derive(Debug, Args)]
#[group(multiple = false)]
#[command(next_help_heading = "Output")]
pub struct ExportForm {
    /// CSV, a row for each cell and metric, receipts included, as of `report --csv`;
    /// this is the form without any other
    #[arg(long)]
    pub csv: bool,
    /// CSV, a row for each trial, a column for each metric
    #[arg(long)]
    pub trials: bool,
    /// A line for each trial in the format of Go's benchmarks, for benchstat
    #[arg(long)]
    pub benchstat: bool,
    /// Views for DuckDB on the trials of all runs in the directory runs, as SQL
    #[arg(long)]
    pub sql: bool,
}
