//! The flags of `nettoll history`.

use std::path::PathBuf;

use analysis::result::Metric;
use analysis::verdict::COMPARED;
use clap::{Args, ValueEnum};
use report::history::Axis;

use super::output::{HtmlArgs, RunsArgs};

/// `nettoll history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// A metric: time, sender-cpu, receiver-cpu, p50, p99 (of round trips), or any
    /// name of the CSV, such as goodput_bit_per_s
    #[arg(value_name = "METRIC", default_value = "time", value_parser = metric)]
    pub metric: Metric,
    /// The study, by its name; without it that of the latest run
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
    /// Words for each run: its date, the kernel of its hosts, or the commit of nettoll
    // Listed with their meanings they make a list that man pages cannot hold within a paragraph.
    #[arg(long, value_name = "WHAT", default_value = "date", hide_possible_values = true)]
    pub by: By,
    /// Where runs of several machines are stored: those of the one whose hardware,
    /// in words, has these among them; of several fleets, the one of this fingerprint
    #[arg(long, value_name = "WORDS")]
    pub machine: Option<String>,
    /// The first run, where a change before it is known and accepted: its directory,
    /// any part of its name that no other has, or @-10
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
        let hint = model::nearest(word, names()).map_or_else(|| ".".to_owned(), |near| format!("; did you mean '{near}'?"));
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
