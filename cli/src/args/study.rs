//! The flags of `nettoll study`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use lab::connection::{Arrival, Credentials};
use model::plan::{HOST_NAMES, HostPlace, LinkKind, Offload, OnLoss, PRESETS, host_side};
use model::quantity::parse_share;
use model::{Bytes, Nanos};

use super::agent::TrustArgs;
use super::compare::GateArgs;
use super::extent::{parse_length, parse_messages, parse_payload, parse_warmup};
use super::factors::FactorArgs;
use super::output::{FormatArgs, HtmlArgs, RunsArgs};
use super::stored::RulesArgs;

/// `nettoll study`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("stored").args(["resume", "again"])))]
pub struct StudyArgs {
    #[arg(help = presets(), value_name = "NAME", conflicts_with = "plan")]
    pub name: Option<String>,
    /// True of `nettoll study` without a word more, or with `-J` alone.
    #[arg(skip)]
    pub bare: bool,
    /// A plan in TOML instead of a preset
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Continue a stopped run with its own plan, order and hosts. RUN is its directory, a unique part
    /// of its name, @-1 (latest, the default) or @-2 (the run before)
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "latest")]
    #[arg(conflicts_with_all = ["name", "plan", "dry_run", "FactorArgs", "ExtentArgs", "ReceiptArgs", "LinkArgs", "RemoteArgs", "arm"])]
    pub resume: Option<PathBuf>,
    /// Measure more blocks (--blocks) of a run and pool old and new blocks. Plan and arms stay; --size
    /// chooses among the run's sizes. All looks at the verdict together have an error of 5 %
    #[arg(long, value_name = "RUN")]
    #[arg(conflicts_with_all = ["name", "plan", "like", "ReceiptArgs", "LinkArgs", "RemoteArgs", "arm"])]
    pub again: Option<PathBuf>,
    /// With --resume or --again: do not ask before the commands and the program of the stored plan are
    /// run and its agents are contacted
    #[arg(long, requires = "stored")]
    pub yes: bool,
    /// With --resume or --again: start the programs that are ends of trials in the stored run
    #[arg(long, requires = "stored")]
    pub allow_exec: bool,
    /// Print the plan and its duration, and measure nothing
    #[arg(long)]
    pub dry_run: bool,
    /// With --dry-run: predict from earlier runs of the study. Print their scatter, the cheapest split
    /// into blocks and trial lengths, and the smallest difference that arms would show
    #[arg(long, value_name = "RUN,...", value_delimiter = ',', requires = "dry_run")]
    pub like: Vec<PathBuf>,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// Factors to vary in place of the plan's
    #[command(flatten)]
    pub factors: FactorArgs,
    /// Lengths and numbers in place of the plan's
    #[command(flatten)]
    pub extent: ExtentArgs,
    /// The breakdown of each cell's time
    #[command(flatten)]
    pub receipt: ReceiptArgs,
    /// How samples are classified
    #[command(flatten)]
    pub rules: RulesArgs,
    /// Sets of settings that are compared
    #[command(flatten)]
    pub arms: ArmArgs,
    /// Arms that take turns of some milliseconds
    #[command(flatten)]
    pub weave: WeaveArgs,
    /// The link in place of the plan's
    #[command(flatten)]
    pub link: LinkArgs,
    /// Hosts that are other machines
    #[command(flatten)]
    pub remote: RemoteArgs,
    /// How nettoll reaches other machines
    #[command(flatten)]
    pub access: AccessArgs,
    /// The page
    #[command(flatten)]
    pub html: HtmlArgs,
    /// Write a line of JSON for each event (trial, look at the intervals, end) to FILE while the study
    /// runs. With - the events go to standard output, and the report to standard error
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run", help_heading = "Output")]
    pub events: Option<PathBuf>,
    /// What is printed
    #[command(flatten)]
    pub format: FormatArgs,
}

impl StudyArgs {
    /// What lets nettoll in, and how it comes there.
    ///
    /// # Errors
    /// A file that cannot serve.
    pub fn credentials(&self) -> Result<Credentials, lab::refusal::Refusal> {
        self.access.credentials()
    }
}

/// Flags for arms.
#[derive(Debug, Args)]
#[command(next_help_heading = "Arms")]
pub struct ArmArgs {
    /// A set of settings to compare with the others; the first arm is the baseline. Examples: 'base',
    /// 'bbr: cc=bbr', 'x: SETTING=VALUE, SETTING=VALUE'. A setting is a factor (cc, nodelay, sndbuf,
    /// offload.gro=off, ...), mtu, sysctl.NAME, cpus.a, cpus.b (0,2-3), before or after (a command on
    /// each host around each trial), host.a, host.b (another agent), tool (another nettoll for the
    /// endpoints). May be given up to 16 times
    #[arg(long, value_name = "NAME[: SETTING=VALUE, ...]")]
    pub arm: Vec<String>,
    /// Allow arms and cells to change settings of this machine outside nettoll's own namespaces.
    /// nettoll restores them when the study ends, even if it is killed
    #[arg(long)]
    pub host_wide: bool,
    /// The metrics and the threshold of the conclusion
    #[command(flatten)]
    pub gate: GateArgs,
}

/// How arms are compared.
#[derive(Debug, Args)]
#[command(next_help_heading = "Arms")]
pub struct WeaveArgs {
    /// Weave the arms, or the ways of sending: all stay alive and take turns of milliseconds, so that
    /// they share the machine's drift. A block is then an instance of each cell: fresh processes and
    /// sockets of all arms, for some 0.5 s. Without --blocks the study ends when every verdict is
    /// settled at a look, after 8, 16, 24 or 48 instances. Arms of --arm and the ways of `study ways`
    /// are woven by default if they can be; otherwise the output has the reason
    #[arg(long, conflicts_with_all = ["stored", "ReceiptArgs"])]
    pub woven: bool,
    /// Compare arms or ways in turn: each has trials of its own, next to each other in each block
    #[arg(long, conflicts_with_all = ["stored", "woven"])]
    pub in_turn: bool,
    /// Compare the arms woven and in turn, in two runs, and print whether both agree
    #[arg(long, conflicts_with_all = ["stored", "ReceiptArgs"])]
    pub check: bool,
    /// With --dry-run: weave the arms for 5 s, store that run, and predict the smallest difference that
    /// 10 s would show on this machine
    #[arg(long, requires = "dry_run", conflicts_with = "stored")]
    pub pilot: bool,
}

/// The presets, by name.
fn presets() -> String {
    let names: Vec<&str> = PRESETS.iter().map(|(name, _)| *name).collect();
    format!("A preset: {}; without any, they are listed", names.join(", "))
}

/// Flags that put hosts on other machines.
#[derive(Debug, Args)]
#[command(next_help_heading = "Hosts")]
pub struct RemoteArgs {
    /// Put host a or b on another machine: b=db1, a=192.0.2.1:7000 or b=[2001:db8::1] with an agent
    /// there. With a command that gives a shell there: b=ssh:USER@db1, b=slurm:NODE, b=kubectl:POD,
    /// b='cmd:ANY COMMAND'. Append ,data=ADDRESS if messages take another address. May be given for
    /// both hosts, and for a2, a3, ... if many send to b at once (b2, b3, ...: a sends to many)
    #[arg(long, value_name = "NAME=PLACE", value_parser = parse_host)]
    pub host: Vec<(String, HostPlace)>,
    /// When an agent is lost: go-on (only the running trial is lost; --resume measures it again) or
    /// stop
    #[arg(long, value_name = "WHAT")]
    pub on_loss: Option<OnLoss>,
    /// Port that receives messages, for a firewall; further flows take the next ones
    #[arg(long, value_name = "PORT", allow_hyphen_values = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub data_port: Option<u16>,
}

/// Flags by which nettoll comes to other machines.
#[derive(Debug, Args)]
pub struct AccessArgs {
    /// How nettoll comes to hosts that a command starts
    #[command(flatten)]
    arrival: ArrivalArgs,
    /// What keeps strangers out of agents
    #[command(flatten)]
    trust: TrustArgs,
}

impl AccessArgs {
    /// What lets nettoll in, and how it comes there.
    ///
    /// # Errors
    /// A file that cannot serve.
    pub fn credentials(&self) -> Result<Credentials, lab::refusal::Refusal> {
        let ArrivalArgs { deploy, remote_program } = &self.arrival;
        let arrival = Arrival { deploy: *deploy, program: remote_program.clone(), ..Arrival::default() };
        Ok(Credentials { arrival, ..self.trust.load()? })
    }
}

/// Flags for hosts that a command starts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Hosts")]
struct ArrivalArgs {
    /// On hosts that a command starts, keep the copy of nettoll in the user's cache. By default nettoll
    /// is copied each time, and removed
    #[arg(long)]
    deploy: bool,
    /// On hosts that a command starts, run the nettoll at this path, in place of a copy of this program
    #[arg(long, value_name = "PATH", conflicts_with = "deploy")]
    remote_program: Option<String>,
}

/// Flags that replace lengths and numbers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Extent")]
pub struct ExtentArgs {
    /// Measured time of a trial: 150ms, 2s. With woven arms: time limit of the whole comparison, if it
    /// allows 8 instances of each cell. The comparison ends earlier when it is settled
    #[arg(short = 't', long, visible_alias = "time", value_name = "TIME", allow_hyphen_values = true, value_parser = parse_length)]
    pub length: Option<Nanos>,
    /// Measured messages of a trial, in place of a time
    #[arg(long, value_name = "COUNT", conflicts_with = "length", allow_hyphen_values = true, value_parser = parse_messages)]
    pub messages: Option<u64>,
    /// Measured payload of a trial, in place of a time, in whole messages: 1M, 8M
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["length", "messages"], allow_hyphen_values = true, value_parser = parse_payload)]
    pub bytes: Option<Bytes>,
    /// Time before the measured part
    #[arg(short = 'O', long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_warmup)]
    pub warmup: Option<Nanos>,
    /// Number of blocks (with woven arms: instances of each cell), even if intervals are still wide.
    /// With --precision: the largest number
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub blocks: Option<u32>,
    /// Measure until the half-width of every interval is at most this share of the median, 5% or 0.05,
    /// for at most --most blocks
    // It once was --interval, which are seconds with -c.
    #[arg(long, value_name = "SHARE", value_parser = parse_share, allow_hyphen_values = true)]
    pub precision: Option<f64>,
    /// Largest number of blocks [default: the plan's; with --precision 100]
    #[arg(long, value_name = "COUNT", conflicts_with = "blocks", allow_hyphen_values = true)]
    pub most: Option<u32>,
    /// Seed of the random order
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub seed: Option<u64>,
}

impl ExtentArgs {
    /// Returns whether they say nothing beyond the number of blocks and the seed.
    pub const fn keeps_blocks_alone(&self) -> bool {
        let trial = self.length.is_none() && self.messages.is_none() && self.bytes.is_none() && self.warmup.is_none();
        trial && self.precision.is_none() && self.most.is_none()
    }
}

/// Flags that ask for receipts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Receipt")]
pub struct ReceiptArgs {
    /// Break the CPU time of each message down by function, layer and kind of work. Each block then
    /// measures each cell in five passes
    #[arg(long)]
    pub receipt: bool,
    /// CPU time between two samples: 106681ns, 500us
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub period: Option<Nanos>,
    /// Wanted samples of each end and cell
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    pub samples: Option<u64>,
}

/// Flags that replace the link.
#[derive(Debug, Args)]
#[command(next_help_heading = "Link")]
pub struct LinkArgs {
    /// veth, "ethernet 10M", "shared-wire 10M", "switch 100M", "relay 10M delay=1ms loss=1%" or
    /// loopback; a study may have several: "veth,switch 100M"
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub link: Vec<LinkKind>,
    /// Largest IP packet
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    pub mtu: Option<u32>,
    /// Device features: tx=off,gro=on
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_offload)]
    pub offload: Vec<(Offload, bool)>,
}

impl LinkArgs {
    /// True where none of them was given.
    pub const fn is_empty(&self) -> bool {
        self.link.is_empty() && self.mtu.is_none() && self.offload.is_empty()
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

fn parse_host(word: &str) -> Result<(String, HostPlace), String> {
    let (name, address) = word.split_once('=').filter(|(name, _)| host_side(name).is_some()).ok_or_else(|| {
        let names = HOST_NAMES.join(" or ");
        format!("'{word}' names no host: write NAME=PLACE, where NAME is {names} ({} sends first), or a2, b2 and so on", HOST_NAMES[0])
    })?;
    address.parse().map(|place| (name.to_owned(), place)).map_err(|error: model::plan::HostPlaceError| error.to_string())
}
