//! The flags of `nettoll compare`.

use std::path::{Path, PathBuf};

use analysis::result::Metric;
use analysis::verdict::{COMPARED, GATE, Gate};
use clap::Args;
use model::quantity::parse_share;

use super::output::{HtmlArgs, RunsArgs};

/// `nettoll compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The first run, and the runs that are compared with it, each by its directory, a unique part of
    /// its name, @-1 (latest) or @-2 (the run before). Join several runs of one side by commas:
    /// A1,A2,A3 B1,B2,B3. The verdict then includes the scatter of runs, and the exit code needs no
    /// --trust-single-runs
    #[arg(value_name = "RUN,...", required = true, num_args = 2.., value_parser = side)]
    pub runs: Vec<Side>,
    /// Where runs are
    #[command(flatten)]
    pub directory: RunsArgs,
    /// The metrics and the threshold of the conclusion
    #[command(flatten)]
    pub gate: GateArgs,
    /// Draw a conclusion from one run on each side, although two equal runs also differ by chance
    #[arg(long)]
    pub trust_single_runs: bool,
    /// Classify the samples of all receipts by the rules in this file
    #[arg(long, value_name = "FILE", help_heading = "Receipt")]
    pub rules: Option<PathBuf>,
    /// JSON on standard output, also for failures
    #[arg(short = 'J', long, help_heading = "Output")]
    pub json: bool,
    /// Also print every cell, every metric and the methods
    #[arg(short, long, conflicts_with_all = ["json", "markdown"], help_heading = "Output")]
    pub verbose: bool,
    /// Markdown on standard output
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub markdown: bool,
    /// The page
    #[command(flatten)]
    pub html: HtmlArgs,
}

/// What a conclusion follows from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Verdict")]
pub struct GateArgs {
    /// Metrics that decide the conclusion on arms or runs and the exit code: cpu (of both
    /// ends), time, sender-cpu, receiver-cpu, p50, p99 (of round trips)
    #[arg(long, value_name = "METRIC,...", value_delimiter = ',', default_value = DEFAULT_GATE, value_parser = gate)]
    pub gate: Vec<Metric>,
    /// A verdict needs a difference beyond this share
    #[arg(long, value_name = "SHARE", default_value_t = analysis::verdict::THRESHOLD, value_parser = share)]
    pub threshold: f64,
}

impl GateArgs {
    /// Returns whether its metrics are the usual ones.
    pub fn has_usual_metrics(&self) -> bool {
        self.gate == GATE
    }

    /// Returns whether the user wants nothing but what is usual.
    pub fn is_usual(&self) -> bool {
        self.has_usual_metrics() && self.threshold == analysis::verdict::THRESHOLD
    }

    /// The gate.
    pub fn gate(&self) -> Gate {
        Gate { metrics: self.gate.clone(), threshold: self.threshold }
    }
}

/// The runs of one side of a comparison.
#[derive(Debug, Clone)]
pub struct Side(pub Vec<PathBuf>);

/// A directory that is there is one run, whatever its name.
fn side(word: &str) -> Result<Side, String> {
    if Path::new(word).exists() {
        return Ok(Side(vec![word.into()]));
    }
    let runs: Vec<PathBuf> = word.split(',').map(PathBuf::from).collect();
    match runs.iter().any(|run| run.as_os_str().is_empty()) {
        true => Err("a run is missing: write RUN, or RUN,RUN,...".to_owned()),
        false => Ok(Side(runs)),
    }
}

/// Words of [`analysis::verdict::GATE`].
const DEFAULT_GATE: &str = "cpu";

fn gate(word: &str) -> Result<Metric, String> {
    let found = COMPARED.iter().find(|one| one.name == word).map(|one| one.metric);
    found.ok_or_else(|| format!("'{word}' is no metric of a gate: {}", COMPARED.each_ref().map(|one| one.name).join(", ")))
}

fn share(word: &str) -> Result<f64, String> {
    let share = parse_share(word)?;
    if (0.0..=10.0).contains(&share) { Ok(share) } else { Err(format!("'{word}' is not between 0 and 10 (1000 %)")) }
}

#[cfg(test)]
mod tests {
    use analysis::result::Metric;
    use analysis::verdict::{COMPARED, GATE};

    use super::{DEFAULT_GATE, gate, share};

    #[test]
    fn a_gate_has_known_metrics() {
        assert_eq!(gate("p99"), Ok(Metric::RoundTripP99Ns));
        assert_eq!(
            GATE.map(|metric| COMPARED.iter().find(|one| one.metric == metric).map(|one| one.name)),
            DEFAULT_GATE.split(',').map(Some).collect::<Vec<_>>()[..]
        );
        assert!(gate("goodput").unwrap_err().contains("cpu, time, sender-cpu"));
    }

    #[test]
    fn shares_are_read_either_way() {
        assert_eq!((share("0.02"), share("2%"), share("0")), (Ok(0.02), Ok(0.02), Ok(0.0)));
        for bad in ["", "x", "-1", "NaN", "inf", "2000%"] {
            assert!(share(bad).is_err(), "{bad}");
        }
    }
}
