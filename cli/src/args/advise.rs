//! The flags of `nettoll advise`.

use std::path::PathBuf;

use clap::Args;
use model::{Bytes, Nanos};

use super::extent::parse_length;
use super::output::RunsArgs;
use super::study::{AccessArgs, LinkArgs, RemoteArgs};

/// `nettoll advise`.
#[derive(Debug, Args)]
pub struct AdviseArgs {
    /// Rank the ways of this run instead of measuring, or advise the program that an attached run
    /// observed. RUN is its directory, a unique part of its name, @-1 (latest) or @-2 (the run before)
    #[arg(value_name = "RUN", conflicts_with_all = ["LinkArgs", "RemoteArgs", "dry_run"])]
    pub run: Option<PathBuf>,
    /// Observe the program with this process id, propose changes, and measure their savings
    #[arg(long, value_name = "PID", conflicts_with_all = ["run", "size", "rate", "LinkArgs", "RemoteArgs"])]
    pub pid: Option<u32>,
    /// Time of the observation
    #[arg(long, value_name = "TIME", default_value = "10", requires = "pid")]
    pub observe: Nanos,
    /// Size of the messages: 64, 1K (K is 1024); with RUN the nearest size that it measured
    #[arg(short = 'l', long, value_name = "BYTES", required_unless_present_any = ["run", "pid", "workload"], allow_hyphen_values = true)]
    pub size: Option<Bytes>,
    /// Messages of many sizes in place of one size: W1 to W5, or a file with the columns
    /// message_bytes,cumulative_fraction, as for `nettoll workload`. Or, for advice on its calls, a
    /// program's exchanges (`nettoll attach --workload FILE.toml`). With RUN, the workload that the run
    /// sent
    #[arg(long, value_name = "NAME|FILE", conflicts_with_all = ["pid", "size"])]
    pub workload: Option<String>,
    /// Messages a second, from which the CPUs that each way takes are computed: 5000, 200k, 1.5M (k is
    /// 1000)
    #[arg(short = 'b', long, value_name = "RATE", value_parser = parse_rate, allow_hyphen_values = true)]
    pub rate: Option<f64>,
    /// Over UDP, over TCP (with TCP_NODELAY), or over both
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "UDP,TCP")]
    pub protocol: Vec<model::Protocol>,
    /// Print the plan and its duration, and measure nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// Lengths and numbers
    #[command(flatten)]
    pub extent: AdviseExtent,
    /// The link
    #[command(flatten)]
    pub link: LinkArgs,
    /// Hosts that are other machines
    #[command(flatten)]
    pub remote: RemoteArgs,
    /// How nettoll reaches other machines
    #[command(flatten)]
    pub access: AccessArgs,
    /// JSON on standard output, also for failures
    #[arg(short = 'J', long, help_heading = "Output")]
    pub json: bool,
}

/// Flags that replace lengths and numbers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Extent")]
pub struct AdviseExtent {
    /// Measured time of a trial, or of a replay: 60ms, 2s. Ways are then compared in turn, not woven
    #[arg(short = 't', long, visible_alias = "time", value_name = "TIME", allow_hyphen_values = true, value_parser = parse_length)]
    pub length: Option<Nanos>,
    /// Number of blocks, or of instances if the ways are woven
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub blocks: Option<u32>,
    /// Seed of the random order
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub seed: Option<u64>,
}

/// Messages a second.
fn parse_rate(word: &str) -> Result<f64, String> {
    let number = word.trim_end_matches("/s");
    let (number, unit) = match number.char_indices().last() {
        Some((end, 'k' | 'K')) => (&number[..end], 1e3),
        Some((end, 'm' | 'M')) => (&number[..end], 1e6),
        _ => (number, 1.0),
    };
    let rate = number.parse::<f64>().ok().map(|rate| rate * unit).filter(|rate| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| format!("'{word}' is no rate: write messages a second, such as 5000, 200k or 1.5M"))
}

#[cfg(test)]
mod tests {
    use super::parse_rate;

    #[test]
    fn rates_are_messages_a_second() {
        let read = |word: &str| parse_rate(word).ok();
        assert_eq!((read("5000"), read("200k"), read("1.5M/s"), read("0.5")), (Some(5e3), Some(2e5), Some(1.5e6), Some(0.5)));
        for wrong in ["", "k", "0", "-5", "1e400", "many", "200kk", "5 k"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
