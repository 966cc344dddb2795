//! The command line, as typed.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use model::plan::{Factor, LinkKind, Offload};
use model::{Family, Nanos};

use crate::exit::{Exit, Failure};

/// What the network stack charges a user process for every message.
///
/// `nettoll study quick` measures TCP and UDP between two hosts that it makes
/// itself and answers in less than a minute.
#[derive(Debug, Parser)]
#[command(name = "nettoll", version, propagate_version = true, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed or interrupted, 2 misuse.";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a study: a preset by name, or a plan of your own
    Study(Box<StudyArgs>),
    /// Analyse a stored run and write its report anew
    Report(ReportArgs),
    /// List the stored runs
    Show(ShowArgs),
    /// Say what this machine offers and what it lacks
    Doctor(DoctorArgs),
    /// Hold a host of a study (started by nettoll itself)
    #[command(name = "__host", hide = true)]
    Host(HostArgs),
    /// Be an end of a trial (started by nettoll itself)
    #[command(name = "__endpoint", hide = true)]
    Endpoint,
}

/// `nettoll study`.
#[derive(Debug, Args)]
pub struct StudyArgs {
    /// A preset: quick
    #[arg(value_name = "NAME", required_unless_present = "plan", conflicts_with = "plan")]
    pub name: Option<String>,
    /// A plan in TOML instead of a preset
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Say what would be run, and run nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Directory that runs are stored in
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    /// Factors to vary in place of the plan's
    #[command(flatten)]
    pub factors: FactorArgs,
    /// Lengths and numbers in place of the plan's
    #[command(flatten)]
    pub extent: ExtentArgs,
    /// The link in place of the plan's
    #[command(flatten)]
    pub link: LinkArgs,
    /// What is printed
    #[command(flatten)]
    pub format: FormatArgs,
}

/// Flags that replace the levels of a factor.
#[derive(Debug, Args)]
#[command(next_help_heading = "Factors (lists are separated by commas)")]
pub struct FactorArgs {
    /// Tests: TCP_STREAM, UDP_STREAM, TCP_MAERTS, TCP_RR, UDP_RR
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    test: Option<Vec<String>>,
    /// Message sizes: 1,64,16K or 1..16K:x2 or 100..900:+100 (K is 1024)
    #[arg(short = 'l', long, value_name = "SWEEP", value_delimiter = ',', allow_hyphen_values = true)]
    size: Option<Vec<String>>,
    /// Bytes that one receive call asks for
    #[arg(long, value_name = "SWEEP", value_delimiter = ',', allow_hyphen_values = true)]
    read_size: Option<Vec<String>>,
    /// TCP_NODELAY; without a value: true
    #[arg(short = 'N', long, value_name = "LIST", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    nodelay: Option<Vec<String>>,
    /// TCP congestion control
    #[arg(short = 'C', long, value_name = "LIST", value_delimiter = ',')]
    cc: Option<Vec<String>>,
    /// SO_SNDBUF at both ends
    #[arg(long, value_name = "SWEEP", value_delimiter = ',', allow_hyphen_values = true)]
    sndbuf: Option<Vec<String>>,
    /// SO_RCVBUF at both ends
    #[arg(long, value_name = "SWEEP", value_delimiter = ',', allow_hyphen_values = true)]
    rcvbuf: Option<Vec<String>>,
    /// How messages reach the kernel: send
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    api: Option<Vec<String>>,
    /// IPv4 only
    #[arg(short = '4', conflicts_with = "ipv6")]
    ipv4: bool,
    /// IPv6 only
    #[arg(short = '6')]
    ipv6: bool,
}

/// Flags that replace lengths and numbers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Extent")]
pub struct ExtentArgs {
    /// Measured time of a trial: 150ms, 2s
    #[arg(short = 't', long, value_name = "TIME", allow_hyphen_values = true)]
    pub length: Option<Nanos>,
    /// Measured messages of a trial, in place of a time
    #[arg(long, value_name = "COUNT", conflicts_with = "length", allow_hyphen_values = true)]
    pub messages: Option<u64>,
    /// Time before the measured part
    #[arg(short = 'O', long, value_name = "TIME", allow_hyphen_values = true)]
    pub warmup: Option<Nanos>,
    /// Number of blocks, whatever the intervals are
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub blocks: Option<u32>,
    /// Go on until the half-width of every interval is at most this share of
    /// the median, for at most --most blocks
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub interval: Option<f64>,
    /// Largest number of blocks
    #[arg(long, value_name = "COUNT", conflicts_with = "blocks", allow_hyphen_values = true)]
    pub most: Option<u32>,
    /// Seed of the random order
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub seed: Option<u64>,
}

/// Flags that replace the link.
#[derive(Debug, Args)]
#[command(next_help_heading = "Link")]
pub struct LinkArgs {
    /// veth or loopback
    #[arg(long, value_name = "KIND")]
    pub link: Option<LinkKind>,
    /// Largest IP packet
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    pub mtu: Option<u32>,
    /// Device features: tx=off,gro=on
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_offload)]
    pub offload: Vec<(Offload, bool)>,
}

/// What is printed on standard output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct FormatArgs {
    /// JSON on standard output, also for failures
    #[arg(short = 'J', long)]
    pub json: bool,
    /// CSV on standard output: a row for each cell and metric
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

/// `nettoll report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run's directory; the latest when absent
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// Directory that runs are stored in
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    /// What is printed
    #[command(flatten)]
    pub format: FormatArgs,
}

/// `nettoll show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Directory that runs are stored in
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
}

/// `nettoll doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// JSON on standard output
    #[arg(short = 'J', long)]
    pub json: bool,
}

/// `nettoll __host`.
#[derive(Debug, Args)]
pub struct HostArgs {
    /// The host's name.
    pub name: String,
    /// How it sets itself apart.
    #[arg(value_parser = |word: &str| word.parse::<lab::host::namespace::Isolation>())]
    pub isolation: lab::host::namespace::Isolation,
}

/// What a command line comes to.
#[derive(Debug)]
pub enum Asked {
    /// Something to do.
    Something(Box<Arguments>),
    /// Nothing more: help, version or misuse, of which the user has been told.
    Told(Exit),
}

/// Reads the command line, and tells the user what cannot be understood.
///
/// # Errors
/// What cannot be understood, where it is to be told as JSON.
pub fn parse() -> Result<Asked, Failure> {
    let error = match Arguments::try_parse() {
        Ok(arguments) => return Ok(Asked::Something(Box::new(arguments))),
        Err(error) => error,
    };
    if error.use_stderr() && std::env::args_os().any(|word| asks_for_json(&word)) {
        return Err(Failure::misuse(error.render()).in_json(true));
    }
    // Whoever closed our output does not want to hear of it.
    let _ = error.print();
    Ok(Asked::Told(if error.use_stderr() { Exit::Misuse } else { Exit::Done }))
}

/// Whether a word of a command line that could not be read asks for JSON: `-J`,
/// also among other single letters, or `--json`.
fn asks_for_json(word: &OsStr) -> bool {
    let letters =
        |word: &str| word.strip_prefix('-').is_some_and(|rest| rest.contains('J') && rest.bytes().all(|b| b.is_ascii_alphabetic()));
    word.to_str().is_some_and(|word| word == "--json" || letters(word))
}

impl Arguments {
    /// Whether failures are to be told as JSON.
    pub const fn wants_json(&self) -> bool {
        match &self.command {
            Command::Study(args) => args.format.json,
            Command::Report(args) => args.format.json,
            Command::Doctor(args) => args.json,
            Command::Show(_) | Command::Host(_) | Command::Endpoint => false,
        }
    }
}

impl FactorArgs {
    /// The factors named, with their levels.
    pub fn overrides(&self) -> Vec<(Factor, Vec<String>)> {
        let family = match (self.ipv4, self.ipv6) {
            (true, _) => Some(vec![Family::V4.to_string()]),
            (_, true) => Some(vec![Family::V6.to_string()]),
            _ => None,
        };
        let named = [
            (Factor::Test, &self.test),
            (Factor::Size, &self.size),
            (Factor::ReadSize, &self.read_size),
            (Factor::Nodelay, &self.nodelay),
            (Factor::Cc, &self.cc),
            (Factor::Sndbuf, &self.sndbuf),
            (Factor::Rcvbuf, &self.rcvbuf),
            (Factor::Api, &self.api),
            (Factor::Family, &family),
        ];
        named.into_iter().filter_map(|(factor, levels)| Some((factor, levels.clone()?))).collect()
    }
}

fn parse_offload(word: &str) -> Result<(Offload, bool), String> {
    let (name, state) = word.split_once('=').ok_or("write name=on or name=off")?;
    let on = match state {
        "on" | "true" => true,
        "off" | "false" => false,
        other => return Err(format!("'{other}' is neither on nor off")),
    };
    name.parse().map(|offload| (offload, on)).map_err(|error: model::UnknownChoice| error.to_string())
}
