//! The flags of one trial, `nettoll -c HOST`: iperf3's letters with iperf3's meaning.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use model::plan::{HostAddress, HostPlace, HostPlaceError};
use model::{Arrivals, Bytes, Nanos, OfferedRate, Pacing, Test, Tos};

use super::extent::{parse_length, parse_warmup};
use super::factors::TrialFactorArgs;
use super::study::AccessArgs;

/// One trial to an agent.
#[derive(Debug, Args)]
#[command(next_help_heading = "One trial: nettoll -c HOST (letters as in iperf3)")]
pub struct OneshotArgs {
    /// Measure one trial with the agent on HOST: NAME, NAME:PORT or [IPV6]:PORT. Or, without an agent,
    /// with a host that a command starts: ssh:NAME, slurm:NODE, kubectl:POD
    #[arg(short = 'c', long = "client", value_name = "HOST", required = true)]
    pub client: Option<Client>,
    /// Run an agent: the same as `nettoll agent`, whose options may follow
    #[arg(short = 's', long = "server", conflicts_with = "client")]
    pub server: bool,
    /// Measured time in seconds [default: 10]
    #[arg(short = 't', long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_length)]
    pub time: Option<Nanos>,
    /// Bytes to send, all flows together, in place of a time
    #[arg(short = 'n', long, value_name = "BYTES", allow_hyphen_values = true, conflicts_with_all = ["time", "blockcount"])]
    pub bytes: Option<Bytes>,
    /// Messages to send, all flows together, in place of a time
    #[arg(short = 'k', long, value_name = "COUNT", value_parser = parse_count, allow_hyphen_values = true, conflicts_with = "time")]
    pub blockcount: Option<u64>,
    /// Message size [default: 128K for TCP streams, 1448 for UDP streams, 1 for RR and CRR, 4 for
    /// UDP_RR with -b, which has up to 65,536 requests in flight]
    #[arg(short = 'l', long, value_name = "SIZE", allow_hyphen_values = true)]
    pub size: Option<Bytes>,
    /// Parallel flows, each with a thread
    #[arg(short = 'P', long, visible_alias = "flows", value_name = "COUNT", default_value_t = 1, allow_hyphen_values = true)]
    pub parallel: u32,
    /// Reverse the direction: HOST sends
    #[arg(short = 'R', long)]
    pub reverse: bool,
    /// Both ends send
    #[arg(long, conflicts_with = "reverse")]
    pub bidir: bool,
    /// Load that each flow offers: 10M bits or 50000/s messages a second, 0: unlimited [default: 1M for
    /// UDP_STREAM, else 0]
    #[arg(short = 'b', long, visible_alias = "rate", alias = "bandwidth", value_name = "RATE", value_parser = parse_rate, allow_hyphen_values = true)]
    pub bitrate: Option<Offer>,
    /// How a sender waits until its next message is due: sleep or spin
    #[arg(long, value_name = "WAY", default_value_t = Pacing::Sleep)]
    pub pacing: Pacing,
    /// When the messages of an offered rate are due: periodic or poisson
    #[arg(long, value_name = "KIND", default_value_t = Arrivals::Periodic)]
    pub arrivals: Arrivals,
    /// UDP in place of TCP
    #[arg(short = 'u', long, conflicts_with = "test")]
    pub udp: bool,
    /// TCP_STREAM, UDP_STREAM, TCP_MAERTS (HOST sends), TCP_RR, UDP_RR, TCP_CRR
    #[arg(long, value_name = "TEST")]
    pub test: Option<Test>,
    /// Seconds between two lines of output; 0: no lines, which disturbs the trial least
    #[arg(short = 'i', long, value_name = "TIME", default_value = "1", allow_hyphen_values = true)]
    pub interval: Nanos,
    /// Seconds of traffic before the measured part
    #[arg(short = 'O', long, value_name = "TIME", default_value = "0", allow_hyphen_values = true, value_parser = parse_warmup)]
    pub omit: Nanos,
    /// Socket buffers, SO_SNDBUF and SO_RCVBUF at both ends
    #[arg(short = 'w', long, value_name = "SIZE", allow_hyphen_values = true)]
    pub window: Option<Bytes>,
    /// TCP_NODELAY at both ends
    #[arg(short = 'N', long = "no-delay", visible_alias = "nodelay")]
    pub no_delay: bool,
    /// TCP congestion control at both ends
    #[arg(short = 'C', long, visible_alias = "cc", alias = "linux-congestion", value_name = "NAME")]
    pub congestion: Option<String>,
    /// The DSCP of the type of service, in place of the whole byte (--tos): 46 or ef
    #[arg(long, value_name = "DSCP", value_parser = parse_dscp, conflicts_with = "tos", allow_hyphen_values = true)]
    pub dscp: Option<Tos>,
    /// Send by sendfile, as --api sendfile does; MSG_ZEROCOPY is --api zerocopy
    #[arg(short = 'Z', long, conflicts_with_all = ["api", "mptcp", "sctp"])]
    pub zerocopy: bool,
    /// MPTCP in place of TCP, as --api mptcp
    #[arg(short = 'm', long, conflicts_with_all = ["api", "sctp", "udp"])]
    pub mptcp: bool,
    /// SCTP in place of TCP, with messages of 64K by default, as --api sctp
    #[arg(long, conflicts_with_all = ["api", "udp"])]
    pub sctp: bool,
    /// CPU to which the end on this machine is bound, and after a comma the CPU on HOST
    #[arg(short = 'A', long, value_name = "CPU[,CPU]", value_parser = parse_affinity)]
    pub affinity: Option<Affinity>,
    /// IPv4 only, also to reach the agent
    #[arg(short = '4', long = "version4", conflicts_with = "version6")]
    pub version4: bool,
    /// IPv6 only, also to reach the agent; without -4 and -6 the version over which the agent answers
    #[arg(short = '6', long = "version6")]
    pub version6: bool,
    /// Port of the agent, if HOST names none
    #[arg(short = 'p', long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), allow_hyphen_values = true)]
    pub port: Option<u16>,
    /// Port that receives messages; without it the kernel chooses one
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), allow_hyphen_values = true)]
    pub data_port: Option<u16>,
    /// JSON on standard output with iperf3's key names, also for failures
    #[arg(short = 'J', long)]
    pub json: bool,
    /// A line of JSON for each event while the trial runs: start, interval, error, nettoll, end
    #[arg(long)]
    pub json_stream: bool,
    /// After the last event also print the object of -J
    #[arg(long, requires = "json_stream")]
    pub json_stream_full_output: bool,
    /// List every flow in the summary, also with many flows (with -c also -V, as in iperf3)
    #[arg(long)]
    pub verbose: bool,
    /// Store the trial as a run in this directory
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// Levels of factors.
    #[command(flatten)]
    pub factors: TrialFactorArgs,
    /// How nettoll comes to the host, and what the agent asks for
    #[command(flatten)]
    pub access: AccessArgs,
}

impl OneshotArgs {
    /// Returns whether standard output is JSON.
    pub const fn wants_json(&self) -> bool {
        self.json || self.json_stream
    }
}

/// The other host as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Where it is.
    pub host: HostPlace,
    /// Whether the port was typed: it goes before that of `-p`.
    pub names_port: bool,
}

impl FromStr for Client {
    type Err = HostPlaceError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let host: HostPlace = word.parse()?;
        let place = host.agent().map(|agent| HostAddress { data: None, ..agent.clone() }.to_string());
        let names_port = place.is_some() && word.split(',').next() == place.as_deref();
        Ok(Self { host, names_port })
    }
}

/// The rate that a sender is asked to offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// All that it can.
    All,
    /// So much in each flow.
    Rate(OfferedRate),
}

/// CPUs of the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Affinity {
    /// CPU of the end on this machine.
    pub here: u32,
    /// CPU of the other.
    pub there: Option<u32>,
}

fn parse_rate(word: &str) -> Result<Offer, String> {
    if word == "0" {
        return Ok(Offer::All);
    }
    if word.split_once('/').is_some_and(|(_, burst)| !burst.is_empty() && burst.bytes().all(|byte| byte.is_ascii_digit())) {
        return Err("bursts (RATE/COUNT) are not sent: every message has a time of its own; leave out what is behind the slash".to_owned());
    }
    word.parse().map(Offer::Rate).map_err(|error: model::rate::RateError| error.to_string())
}

/// With iperf3's suffixes, which are those of sizes.
fn parse_count(word: &str) -> Result<u64, String> {
    word.parse().map(Bytes::get).map_err(|_| format!("'{word}' is not a count such as 1000, 16K or 1M (K is 1024)"))
}

fn parse_dscp(word: &str) -> Result<Tos, String> {
    Tos::of_dscp(word).map_err(|error| error.to_string())
}

fn parse_affinity(word: &str) -> Result<Affinity, String> {
    let cpu = |word: &str| word.trim().parse::<u32>().map_err(|_| format!("'{word}' is not the number of a CPU; write 2, or 2,3"));
    let (here, there) = word.split_once(',').map_or((word, None), |(here, there)| (here, Some(there)));
    Ok(Affinity { here: cpu(here)?, there: there.map(cpu).transpose()? })
}
