//! The command line, as typed.

mod advise;
mod agent;
mod attach;
mod compare;
mod endpoint;
mod extent;
mod factors;
mod fleet;
mod help;
mod hidden;
mod iperf;
mod microscope;
mod misuse;
mod oneshot;
mod output;
mod papers;
mod reference;
mod short;
mod stored;
mod study;
mod top;
mod workload;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::exit::{Exit, Failure, Form};
use crate::version;

pub use advise::AdviseArgs;
pub use agent::{AgentArgs, CertificatesArgs, DeployArgs};
pub use attach::AttachArgs;
pub use compare::{CompareArgs, Side};
pub use endpoint::{CheckArgs, EndpointArgs, EndpointTask, PlayedRole, RunArgs};
pub use fleet::{FleetArgs, FleetTask, ManifestArgs, MemberArgs, Rounds};
pub use help::{CLIENT, COLUMNS, CompletionsArgs, HelpArgs, LICENCES, QUESTIONS};
pub use hidden::{DetachArgs, GenerateArgs, HostArgs, LoadArgs, ScratchArgs, TetherArgs};
pub use microscope::{MicroscopeArgs, Task};
pub use oneshot::{Client, Offer, OneshotArgs};
pub use output::{FormatArgs, HtmlArgs};
pub use papers::PapersArgs;
pub use reference::ReferenceArgs;
pub use stored::{DoctorArgs, ExportArgs, HistoryArgs, ProofNeighbour, ReportArgs, RulesArgs, ShowArgs};
pub use study::{ExtentArgs, StudyArgs};
pub use top::{RecordArgs, TopArgs};
pub use workload::WorkloadArgs;

/// Measure what the network stack costs a user process per message.
///
/// `nettoll study quick` measures TCP and UDP between two network namespaces that it makes, in less
/// than a minute. `nettoll -c HOST` measures one trial with `nettoll -s` on another machine and prints
/// a line each second.
#[derive(Debug, Parser)]
#[command(name = "nettoll", version = version::SHORT, long_version = version::long(), propagate_version = true)]
#[command(max_term_width = 100, after_help = EXIT_CODES)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub struct Arguments {
    /// What to do; without it, one trial.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// One trial.
    #[command(flatten)]
    pub oneshot: OneshotArgs,
    /// True where its answer is to be JSON.
    #[arg(skip)]
    json: bool,
}

/// Meaning of each exit code; the man pages repeat it.
pub const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed or interrupted, 2 misuse, 3 a comparison speaks \
against the candidate, 4 a comparison is inconclusive, 125 bisect-step cannot judge this kernel, 128 \
bisect-step did not get to it.";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a study: a preset by name, or a plan of your own
    Study(Box<StudyArgs>),
    /// Analyse a stored run and write its report again
    Report(ReportArgs),
    /// Compare stored runs with a first one
    Compare(CompareArgs),
    /// List the stored runs, or describe one
    Show(ShowArgs),
    /// Find where a metric changed over all runs of a study
    History(HistoryArgs),
    /// Print cells or trials of many runs for other tools
    Export(ExportArgs),
    /// Print a published study, next to a run or to another tool's results
    Reference(Box<ReferenceArgs>),
    /// Test every claim of five published studies on this machine
    Papers(Box<PapersArgs>),
    /// Predict and measure the cost of a mix of message sizes
    Workload(Box<WorkloadArgs>),
    /// Rank the ways of sending for a message size and a rate
    Advise(Box<AdviseArgs>),
    /// Measure the network cost of a running program
    Attach(Box<AttachArgs>),
    /// Show what the network stack costs this machine now, by service and process
    Top(TopArgs),
    /// Find outliers among many hosts and the links between them
    Fleet(Box<FleetArgs>),
    /// Count the exact instructions of a message, on any kernel, in an emulated machine
    Microscope(Box<MicroscopeArgs>),
    /// Check what this machine offers and what it lacks
    Doctor(DoctorArgs),
    /// Lend this machine to studies that run on other machines
    Agent(AgentArgs),
    /// Make certificates for agents and controllers
    Certificates(CertificatesArgs),
    /// Test a program of your own that should be an end of trials
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Endpoint(EndpointArgs),
    /// Copy nettoll into the cache of hosts that a command starts, or remove it there
    Deploy(DeployArgs),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Print the help of a command, or the meaning of the columns of tables
    Help(HelpArgs),
    /// Hold a host of a study (started by nettoll itself)
    #[command(name = "__host", hide = true)]
    Host(HostArgs),
    /// Be a host for one controller, over standard input and output (started by nettoll itself)
    #[command(name = "__serve", hide = true)]
    Serve,
    /// Become a command without a terminal (started by nettoll itself)
    #[command(name = "__detach", hide = true)]
    Detach(DetachArgs),
    /// Become a command that ends with the process that started it (started by nettoll itself)
    #[command(name = "__tether", hide = true)]
    Tether(TetherArgs),
    /// End what outlives the nettoll that started it (started by nettoll itself)
    #[command(name = "__keep", hide = true)]
    Keep,
    /// Undo host-wide changes when a controller is gone (started by nettoll itself)
    #[command(name = "__guard", hide = true)]
    Guard,
    /// Try requests in fresh namespaces (started by nettoll itself)
    #[command(name = "__scratch", hide = true)]
    Scratch(ScratchArgs),
    /// Be an end of a trial (started by nettoll itself)
    #[command(name = "__endpoint", hide = true)]
    BeEndpoint,
    /// Load a host (started by nettoll itself)
    #[command(name = "__load", hide = true)]
    Load(LoadArgs),
    /// Write man pages and shell completions (for packages)
    #[command(name = "__generate", hide = true)]
    Generate(GenerateArgs),
}
/// Outcome of a command line.
#[derive(Debug)]
pub enum Invocation {
    /// Something to do.
    Something(Box<Arguments>),
    /// Nothing more: help, version or misuse, which was printed.
    Told(Exit),
}

/// Reads the command line, and tells the user what cannot be understood.
///
/// # Errors
/// Misuse.
pub fn parse() -> Result<Invocation, Failure> {
    let typed: Vec<OsString> = std::env::args_os().collect();
    // Options before any command are those of one trial, or of an agent.
    let one_trial = typed.get(1).is_some_and(|word| word.to_str().is_some_and(|word| word.starts_with('-')));
    let words = iperf::understood(typed.clone());
    let error = match Arguments::command().try_get_matches_from(&words).and_then(|matches| Arguments::read(&matches, &words)) {
        Ok(arguments) => return Ok(Invocation::Something(Box::new(arguments))),
        Err(error) => error,
    };
    // Whoever closed our output does not want to hear of it.
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && words.len() == 1 {
        let _ = write!(io::stderr(), "{QUESTIONS}");
        return Ok(Invocation::Told(Exit::Misuse));
    }
    if error.use_stderr() {
        let has = |flag: &str| typed.iter().any(|word| word == flag);
        let stream = one_trial && has(JSON_STREAM);
        let json = stream || typed.iter().any(|word| asks_for_json(word));
        let form = match (stream, one_trial) {
            (true, _) => Form::IperfStream { whole: has(JSON_STREAM_FULL_OUTPUT) },
            (false, true) => Form::Iperf,
            (false, false) => Form::Json,
        };
        let of_iperf = instead(&error, iperf::is_agent(&typed)).filter(|_| one_trial);
        let failure = Failure::misuse(misuse::told(&error, of_iperf, &words));
        return Err(if json { failure.in_form(form) } else { failure });
    }
    let _ = short::asked_for(&words).unwrap_or(error).print();
    Ok(Invocation::Told(Exit::Done))
}

/// The command of words that nettoll itself wrote, without the program's name.
///
/// # Errors
/// Words that cannot be understood.
pub fn command<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Option<Command>, clap::Error> {
    Ok(Arguments::try_parse_from(std::iter::once("nettoll").chain(words))?.command)
}

/// Replacement of an option that only iperf3 has.
fn instead(error: &clap::Error, agent: bool) -> Option<&'static str> {
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) => iperf::instead(word, agent),
        _ => None,
    }
}

/// iperf3's names of flags that are looked for before the command line is read.
const JSON_STREAM: &str = "--json-stream";
const JSON_STREAM_FULL_OUTPUT: &str = "--json-stream-full-output";

/// Whether a word of a command line that could not be read asks for JSON: `-J`,
/// also among other single letters, or `--json`.
fn asks_for_json(word: &OsStr) -> bool {
    let letters =
        |word: &str| word.strip_prefix('-').is_some_and(|rest| rest.contains('J') && rest.bytes().all(|b| b.is_ascii_alphabetic()));
    word.to_str().is_some_and(|word| word == "--json" || letters(word))
}

/// Whether a command, or a part of it, has its flag `--json`.
fn wants_json(matches: &ArgMatches) -> bool {
    let own = matches.try_get_one("json").is_ok_and(|json| json == Some(&true));
    own || matches.subcommand().is_some_and(|(_, part)| wants_json(part))
}

impl Arguments {
    fn read(matches: &ArgMatches, words: &[OsString]) -> Result<Self, clap::Error> {
        let mut read = Self::from_arg_matches(matches)?;
        read.json = wants_json(matches);
        // A study without a word more: the user wants to know which there are.
        if let Some(Command::Study(args)) = &mut read.command {
            args.bare = words.iter().skip(2).all(|word| asks_for_json(word));
        }
        Ok(read)
    }

    /// The form of failures.
    pub const fn form(&self) -> Form {
        match (self.json, &self.command) {
            (_, None) if self.oneshot.json_stream => Form::IperfStream { whole: self.oneshot.json_stream_full_output },
            (false, _) => Form::Text,
            (true, None) => Form::Iperf,
            (true, Some(_)) => Form::Json,
        }
    }
}

impl Command {
    /// Returns whether it first undoes what a study that was killed left changed:
    /// the commands that are about this machine's settings. Looking at a report
    /// changes nothing.
    pub const fn recovers(&self) -> bool {
        matches!(self, Self::Study(_) | Self::Doctor(_))
    }
}
