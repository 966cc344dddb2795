//! The flags of `nettoll top`.

use clap::Args;
use model::Nanos;

/// `nettoll top`.
#[derive(Debug, Args)]
pub struct TopArgs {
    /// Print one window as text, and end; the same where the output is no terminal
    #[arg(long)]
    pub once: bool,
    /// Print a line of JSON for each window
    #[arg(short = 'J', long)]
    pub json: bool,
    /// End after this time; with --once, the length of the window [default: 10 s]
    #[arg(short = 't', long, value_name = "TIME")]
    pub time: Option<Nanos>,
    /// Samples a second of each CPU [default: 99, or as many as take 1 % of a CPU]
    #[arg(long, value_name = "HZ")]
    pub rate: Option<u32>,
    /// Count every message: costs each socket call more; by default those of a part of the time
    /// are counted
    #[arg(long)]
    pub count_all: bool,
}
