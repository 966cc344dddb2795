//! The flags of the commands that read what is stored.

use std::path::PathBuf;

use analysis::result::Metric;
use analysis::verdict::COMPARED;
use clap::{Args, ValueEnum};
use model::Bytes;
use report::history::Axis;

use super::compare::GateArgs;
use super::output::{FormatArgs, HtmlArgs, RunsArgs};

/// How the samples of receipts are classified.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Receipt")]
pub struct RulesArgs {
    /// Classify samples by the rules in this file, in place of nettoll's own rules
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// Print the share of the samples that each rule decided
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    pub show_rules: bool,
}

/// `nettoll report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run: its directory, a unique part of its name, @-1 (latest) or @-2 (the run before)
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: PathBuf,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// How samples are classified
    #[command(flatten)]
    pub rules: RulesArgs,
    /// The metrics and the threshold of the conclusion on arms
    #[command(flatten)]
    pub gate: GateArgs,
    /// Markdown on standard output: the arms compared with the baseline
    #[arg(long, conflicts_with_all = ["json", "csv", "show_rules"], help_heading = "Output")]
    pub markdown: bool,
    /// The page
    #[command(flatten)]
    pub html: HtmlArgs,
    /// Only draw the time of one message by layer at both ends, from the receipt, as SVG into this file
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
    /// A run: its directory, a unique part of its name, @-1 (latest) or @-2 (the run before). Without
    /// it, list all runs
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
    /// Add known costs to traffic and check whether receipts find them. This loads CPUs for 6 minutes
    #[arg(long)]
    pub prove: bool,
    /// Only prove with this neighbour: quiet (none), or busy (a thread that uses two fifths of each
    /// CPU)
    #[arg(long, value_name = "NEIGHBOUR", requires = "prove", hide_possible_values = true)]
    pub only: Option<ProofNeighbour>,
    /// Do not ask before CPUs are loaded
    #[arg(long, requires = "prove")]
    pub yes: bool,
    /// Kinds of traffic by number, for tests: no proof
    #[arg(long, requires = "prove", hide = true, value_delimiter = ',')]
    pub kinds: Vec<usize>,
    /// Blocks of trials, for tests: no proof
    #[arg(long, requires = "prove", hide = true, value_parser = clap::value_parser!(u32).range(2..=100))]
    pub blocks: Option<u32>,
    /// JSON on standard output
    #[arg(short = 'J', long, help_heading = "Output")]
    pub json: bool,
    /// Print every check with the system's own answer and the remedy
    #[arg(short, long, conflicts_with_all = ["json", "prove"], help_heading = "Output")]
    pub verbose: bool,
}

/// What runs next to the proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProofNeighbour {
    Quiet,
    Busy,
}

/// `nettoll export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Runs, each by its directory, a unique part of its name, or @-1 (latest). Without it, all runs
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
    /// CSV with a row for each cell and metric, also of receipts, as by `report --csv`. This is the
    /// default
    #[arg(long)]
    pub csv: bool,
    /// CSV with a row for each trial and a column for each metric
    #[arg(long)]
    pub trials: bool,
    /// CSV with a row for each slice of woven arms
    #[arg(long)]
    pub slices: bool,
    /// A line for each trial in the format of Go's benchmarks, for benchstat
    #[arg(long)]
    pub benchstat: bool,
    /// SQL that makes views for DuckDB on the trials of all runs in the directory of --runs
    #[arg(long)]
    pub sql: bool,
}

/// `nettoll history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// A metric: cpu (of both ends), time, sender-cpu, receiver-cpu, p50, p99 (of round
    /// trips), or any name of the CSV, such as goodput_bit_per_s
    #[arg(value_name = "METRIC", default_value = USUAL_METRIC, value_parser = metric)]
    pub metric: Metric,
    /// The study, by its name, or top for recordings of nettoll top; without it the study of the latest run
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
    /// Label of each run: its date, the kernel of its hosts, or the commit of nettoll
    // Listed with their meanings they make a list that man pages cannot hold within a paragraph.
    #[arg(long, value_name = "WHAT", default_value = "date", hide_possible_values = true)]
    pub by: By,
    /// The machine, if runs of several machines are stored: words from the description of its hardware.
    /// For runs of several fleets, the fingerprint of the fleet; for recordings, the host's name
    #[arg(long, value_name = "WORDS")]
    pub machine: Option<String>,
    /// The first run to use, for example after an accepted change: its directory, a unique part of its
    /// name, or @-10 (ten runs back)
    #[arg(long, value_name = "RUN")]
    pub since: Option<PathBuf>,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// The page
    #[command(flatten)]
    pub html: HtmlArgs,
    /// JSON on standard output, also for failures
    #[arg(short = 'J', long, help_heading = "Output")]
    pub json: bool,
}

/// The metric of a history that names none.
const USUAL_METRIC: &str = "time";

impl HistoryArgs {
    /// Returns whether the user wants no other metric and no other words for runs than the usual ones.
    pub fn has_usual_form(&self) -> bool {
        metric(USUAL_METRIC).is_ok_and(|usual| usual == self.metric) && self.by == By::Date
    }
}

/// What names a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Its date
    Date,
    /// The kernel of its hosts
    Kernel,
    /// The commit of nettoll
    Commit,
}

impl From<By> for Axis {
    fn from(by: By) -> Self {
        match by {
            By::Date => Self::Date,
            By::Kernel => Self::Kernel,
            By::Commit => Self::Commit,
        }
    }
}

/// A metric by its short name or by that of the CSV.
pub fn metric(word: &str) -> Result<Metric, String> {
    let short = COMPARED.iter().find(|one| one.name == word).map(|one| one.metric);
    let found = short.or_else(|| Metric::ALL.iter().copied().find(|metric| metric.name() == word));
    found.ok_or_else(|| {
        let names = || COMPARED.iter().map(|one| one.name).chain(Metric::ALL.iter().map(|metric| metric.name()));
        let hint = model::suggestion(word, names());
        format!(
            "'{word}' is no metric{hint} There are {}, and those of `nettoll help columns`",
            COMPARED.each_ref().map(|one| one.name).join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use analysis::result::Metric;

    use super::metric;

    #[test]
    fn metrics_have_two_names() {
        assert_eq!((metric("p50"), metric("goodput_bit_per_s")), (Ok(Metric::RoundTripP50Ns), Ok(Metric::GoodputBitPerS)));
        assert!(metric("goodput").unwrap_err().contains("did you mean 'goodput_bit_per_s'?"));
    }
}
