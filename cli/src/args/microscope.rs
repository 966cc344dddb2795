//! The flags of `nettoll microscope`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, FromArgMatches, ValueEnum};
use model::Bytes;
use model::quantity::parse_share;

use super::output::{HtmlArgs, RunsArgs};

/// Task of the microscope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Task {
    /// Count the instructions of a message
    Count,
    /// Print the changes between two kernels
    Diff,
    /// Answer with the exit codes of `git bisect run`: 0, 1 or 125
    BisectStep,
    /// List the fetched files, or prune them
    Cache,
}

/// `nettoll microscope`.
#[derive(Debug, Args)]
pub struct MicroscopeArgs {
    // Before the others: clap takes their values out of what is looked at.
    /// The flags themselves
    #[command(flatten)]
    pub typed: Typed,
    /// count: count the instructions of a message; diff: the changes between two kernels;
    /// bisect-step: an exit code for `git bisect run`, 0, 1, 125 or 128; cache: list the
    /// fetched files, or prune them
    // Listed apart they would make a page that mandoc refuses.
    #[arg(value_name = "TASK", value_enum, default_value_t = Task::Count, hide_possible_values = true)]
    pub task: Task,
    /// For diff: two kernels, or two files with the output of -J
    #[arg(value_name = "SIDE")]
    pub sides: Vec<String>,
    /// Kernels to compare: versions such as 6.12 or 6.12.117, each in its newest package; `all`: the
    /// newest package of each version; or the path of an image, with a slash in it. Without it 6.12, or
    /// with --run the version of the run
    #[arg(long, value_name = "KERNEL,...", value_delimiter = ',')]
    pub kernel: Vec<String>,
    /// Directory of modules for an image of your own, as `make modules_install` makes it
    #[arg(long, value_name = "DIR")]
    pub modules: Option<PathBuf>,
    /// Scenarios; without them, getppid, udp and tcp
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub scenario: Vec<String>,
    /// A statically linked program of your own, which marks its messages
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// A run of `study receipt`, in place of scenarios and sizes: print its time next to instructions,
    /// layer by layer, and store the result in the run
    #[arg(long, value_name = "RUN", conflicts_with_all = ["scenario", "scenarios", "length", "program"])]
    pub run: Option<PathBuf>,
    /// A file with more scenarios
    #[arg(long, value_name = "FILE")]
    pub scenarios: Option<PathBuf>,
    /// Sizes of messages; without them, 1, 112, 1024, 1460 and 8192 bytes
    #[arg(short = 'l', long, visible_alias = "size", value_name = "SIZE,...", value_delimiter = ',')]
    pub length: Vec<Bytes>,
    /// Messages to count in each scenario and size
    #[arg(long, value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub messages: u32,
    /// Seed of the guest's random numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Processor model, by QEMU's name
    #[arg(long, value_name = "MODEL", default_value = "max")]
    pub cpu: String,
    /// Words to append to the kernel's command line, such as mitigations=off
    #[arg(long, value_name = "WORDS", default_value = "", allow_hyphen_values = true)]
    pub append: String,
    /// Also print the call tree of each scenario's message
    #[arg(long)]
    pub tree: bool,
    /// For diff: seeds of each side
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u64).range(3..=100))]
    pub seeds: u64,
    /// For diff: exit with 3 if a message executes more instructions on the second kernel by this share
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub threshold: Option<f64>,
    /// For bisect-step: scenario and size, such as udp-112, and the most instructions of its message
    #[arg(long, value_name = "MESSAGE=COUNT")]
    pub limit: Option<String>,
    /// Print what would be fetched and run, and do neither
    #[arg(long)]
    pub dry_run: bool,
    /// Fetch nothing: use only the files in the cache
    #[arg(long)]
    pub offline: bool,
    /// The cache's directory; without it, nettoll/microscope in $XDG_CACHE_HOME or ~/.cache
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// For cache: remove the least recently used files until the cache has this size
    #[arg(long, value_name = "SIZE")]
    pub prune: Option<Bytes>,
    /// Where runs are
    #[command(flatten)]
    pub runs: RunsArgs,
    /// Write the call paths of each message, folded, into a directory, for flame graphs
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub folded: Option<PathBuf>,
    /// The page
    #[command(flatten)]
    pub html: HtmlArgs,
    /// JSON on standard output, also for failures
    #[arg(short = 'J', long, help_heading = "Output")]
    pub json: bool,
    /// Also print reads, writes, every function and the settings behind the figures
    #[arg(short, long, conflicts_with = "json", help_heading = "Output")]
    pub verbose: bool,
}

/// The flags that were typed, those with a usual value among them.
#[derive(Debug, Default)]
pub struct Typed(BTreeSet<String>);

impl Typed {
    /// Returns whether a flag, such as `--dry-run`, was typed.
    pub fn has(&self, flag: &str) -> bool {
        self.0.contains(&flag.trim_start_matches('-').replace('-', "_"))
    }
}

impl Args for Typed {
    fn augment_args(command: clap::Command) -> clap::Command {
        command
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        command
    }
}

impl FromArgMatches for Typed {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = |id: &&clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        Ok(Self(matches.ids().filter(typed).map(ToString::to_string).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The kernel that is measured where none is asked for: of Debian's stable release.
const KERNEL: &str = "6.12";

impl MicroscopeArgs {
    /// The kernels that were asked for, or the usual one.
    pub fn kernels(&self) -> Vec<String> {
        if self.kernel.is_empty() { vec![KERNEL.to_owned()] } else { self.kernel.clone() }
    }
}
