//! Benchmarks of nettoll itself. Everything is a ratio of neighbours in random
//! order, because the machines this runs on are never quiet. [`kills`], [`soak`],
//! [`siege`] and [`churn`] need no quiet machine: they drive the built program and break things.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)]

mod agents;
mod attached;
mod bare;
mod bars;
mod churn;
mod cpu_per_message;
mod endure;
mod external;
mod fixed_cost;
mod fleet;
mod gate;
mod goodput;
mod iperf;
mod kills;
mod known_difference;
mod links;
mod loop_cost;
mod many;
mod ours;
mod own_sender;
mod pairs;
mod proof;
mod questions;
mod repeated;
mod report_speed;
mod siege;
mod soak;
mod top;
mod verdict;
mod workload;
mod woven;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use lab::host::namespace::Isolation;
use model::Nanos;

use crate::bare::Bare;
use crate::bars::{Results, Row};

/// Measures nettoll against a bare C loop and against iperf3.
#[derive(Debug, Parser)]
struct Arguments {
    /// Place of the programs: what scripts/loops.sh has compiled, and release/nettoll
    #[arg(long, default_value = "target")]
    target: PathBuf,
    /// Place where the results are kept
    #[arg(long, default_value = "bench/results")]
    out: PathBuf,
    /// Share of the full number of pairs, for a quick look
    #[arg(long, default_value_t = 1.0)]
    effort: f64,
    /// Benchmarks or sets to run, of those that --list shows
    #[arg(long, value_delimiter = ',', default_value = USUAL)]
    only: Vec<String>,
    /// List the benchmarks, how each is measured and its bar
    #[arg(long)]
    list: bool,
    #[command(subcommand)]
    process: Option<Process>,
}

/// Roles in which the benchmark starts itself.
#[derive(Debug, Subcommand)]
enum Process {
    /// A host
    #[command(name = "__host", hide = true)]
    Host {
        /// Its name
        name: String,
        /// Its isolation
        isolation: Isolation,
    },
    /// An endpoint
    #[command(name = "__endpoint", hide = true)]
    Endpoint,
    /// An agent
    #[command(name = "__agent", hide = true)]
    Agent {
        /// Place where it listens
        address: SocketAddr,
        /// The secret of those who may use it
        secret: PathBuf,
    },
    /// Strangers at an agent's door
    #[command(name = "__flood", hide = true)]
    Flood {
        /// Address of the agent
        agent: SocketAddr,
    },
    /// A program that knows its share in socket calls
    #[command(name = "__truth", hide = true)]
    Truth {
        /// Work between two exchanges, in ns
        spin: u64,
        /// Its time, in ms
        length: u64,
    },
    /// A receiver of datagrams
    #[command(name = "__take", hide = true)]
    Take {
        /// Its port
        port: u16,
        /// Its time, in ms
        length: u64,
    },
    /// A sender of datagrams
    #[command(name = "__give", hide = true)]
    Give {
        /// Port of the receiver
        port: u16,
        /// Datagrams a second
        rate: u32,
        /// Its time, in ms
        length: u64,
    },
    /// A sender of bursts whose messages become dearer
    #[command(name = "__bursts", hide = true)]
    Bursts {
        /// Datagrams of a burst
        each: u32,
        /// What they cost more, as a share
        added: f64,
    },
    /// Another program, each of whose sending calls is slowed by a filter
    #[command(name = "__slow", hide = true)]
    Slow {
        /// Instructions of the filter
        instructions: u32,
        /// The program and its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        command: Vec<OsString>,
    },
    /// A sending loop over getppid
    #[command(name = "__ppid", hide = true)]
    Ppid {
        /// Its kind
        kind: loop_cost::Kind,
        /// Calls
        count: u64,
    },
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match &arguments.process {
        Some(Process::Host { name, isolation }) => Ok(lab::host_process::run(name, *isolation)?),
        Some(Process::Endpoint) => {
            let [input, output] = [io::stdin().as_fd(), io::stdout().as_fd()].map(|stream| stream.try_clone_to_owned().map(File::from));
            Ok(engine::endpoint::run(input?, output?, engine::endpoint::Files::Own)?)
        }
        Some(Process::Agent { address, secret }) => agents::serve(*address, secret),
        Some(Process::Flood { agent }) => siege::run_flood(*agent),
        Some(Process::Truth { spin, length }) => top::run_truth(Nanos::new(*spin), Duration::from_millis(*length)),
        Some(Process::Take { port, length }) => top::run_take(*port, Duration::from_millis(*length)),
        Some(Process::Bursts { each, added }) => top::changes::run_bursts(*each, *added),
        Some(Process::Give { port, rate, length }) => top::run_give(*port, *rate, Duration::from_millis(*length)),
        Some(Process::Slow { instructions, command }) => gate::run_slowed(*instructions, command),
        Some(Process::Ppid { kind, count }) => loop_cost::run_ours(*kind, *count),
        None => benchmark(&arguments),
    }
}

/// One benchmark.
struct Benchmark {
    name: &'static str,
    /// Those that run together, and are kept only if all of them ran; its own name where
    /// it runs alone.
    set: &'static str,
    /// The method in a few words.
    how: &'static str,
    /// The bar; empty where figures are only printed.
    bar: &'static str,
    measure: Measure,
}

/// The benchmarks that run where none is named.
const USUAL: &str = "usual";
/// Kills, floods and a day's worth of trials.
const ENDURE: &str = "endure";
/// Questions that woven arms answer.
const QUESTIONS: &str = "questions";

const BENCHMARKS: [Benchmark; 30] = [
    usual("loop", "the loops around getppid, against a bare loop", "upper end of 95 % <= 5 ns", |on| {
        loop_cost::measure(&Bare::new(on.program("bare")), on.pairs(60))
    }),
    usual("cpu", "CPU time per message, against a bare loop", "UDP: lower end of 99 % <= 1.02", |on| {
        cpu_per_message::measure(&Bare::new(on.program("bare")), on.pairs(220))
    }),
    usual("goodput", "TCP goodput, against iperf3", "lower end of 95 % >= 0.95", |on| goodput::measure(1, on.pairs(32))),
    usual("flows", "goodput of parallel flows, against iperf3", "lower end of 95 % >= 0.95", |on| goodput::measure(8, on.pairs(32))),
    usual("agents", "trials over agents, against local ones", "95 % holds 1, half-width <= 0.03", |on| agents::measure(on.pairs(220))),
    usual("fixed", "time and memory of a trial beyond its length", "<= 60 ms, <= 16 MiB", |on| fixed_cost::measure(on.pairs(60))),
    usual("report", "report on 100,000 and 1,000,000 stored trials", "<= 10 s, <= 25 s, <= 500 MiB, linear", |on| {
        report_speed::measure(&on.nettoll)
    }),
    alone("ways", "ways of many messages a call, against the same calls in C", "lower end of 99 % <= 1.03, half-width <= 3 %", |on| {
        many::measure(&on.program("ways"), on.pairs(220))
    }),
    alone("packs", "gso with gro against send, 1,024 B over veth", "lower end of 95 % >= 5", |on| many::packs(on.pairs(60))),
    alone("congestion", "TCP goodput and CPU per byte by reno, cubic, bbr, against iperf3", ">= 0.97, <= 1.0", |on| {
        goodput::by_control(on.pairs(150))
    }),
    alone("external", "an external endpoint in C against nettoll's own end", "lower end <= 1.03, half-width <= 3 %", |on| {
        external::measure(&on.nettoll, &on.program("endpoint"), on.share(100, 10))
    }),
    alone("crossings", "sizes at which two ways cost the same, found twice", "the intervals overlap, or both runs find none", |on| {
        repeated::crossings(&on.nettoll, on.share(48, 8))
    }),
    alone("advice", "the way advised for five scenarios, measured again", "the cheapest, or not shown to cost more", |on| {
        repeated::advice(&on.nettoll, on.share(12, 6))
    }),
    alone("attach", "servers under load, attached with each look against none", "<= 1.03, <= 1.10; sums 0.95 to 1.05", |on| {
        attached::measure(&on.nettoll, &on.program("echo"), on.share(100, 20))
    }),
    alone("sender", "nettoll's own sender, attached to and in a receipt of the same traffic", "layers within 5 points", |on| {
        own_sender::measure(&on.nettoll, on.share(60, 20))
    }),
    alone(
        "top",
        "programs whose share of the network is known, and what watching costs",
        "4 points, 3 points, <= 1.02, < 1 %, 3 %, < 1.5 %",
        |on| top::measure(&on.nettoll, on.share(480, 48)),
    ),
    alone("fleet", "eight hosts over 20 Mbit/s, one of them 15 % slower or none", "named each time; nobody in >= 17 of 20", |on| {
        fleet::measure(&on.nettoll, on.share(20, 2))
    }),
    alone("workload", "a mix of sizes, against its prediction from single sizes", "UDP within 10 %, TCP within 15 %", |on| {
        workload::measure(&on.nettoll, on.share(20, 6))
    }),
    alone("links", "goodput over each link, against the link's limit", "1 within 0.005 to 0.01; nothing lost or left", |on| {
        links::measure(&on.nettoll, on.arguments.effort.min(1.0))
    }),
    alone(
        "gate",
        "a gate of 5 % by CPU of both ends: a candidate that costs 10 % more, and one that is equal",
        "found in >= 9 of 10, false in <= 1 of 20",
        |on| gate::measure(&on.nettoll, on.share(10, 1)),
    ),
    alone(
        "woven",
        "equal arms for 10 s, woven and in turn within the same minutes",
        "half-widths <= 1.5 to 4 %, hand-over <= 50 us, <= 1 % late",
        |on| woven::measure(&on.nettoll, on.share(5, 1)),
    ),
    questions("answers", "five A/B questions, woven and in turn", "<= 15 s each, >= 4 of 5 verdicts, all intervals overlap", |on| {
        questions::measure(&on.nettoll, on.share(1, 1))
    }),
    questions("difference", "684 ns of work more at a UDP sender, woven", "held by >= 8 of 10 intervals, half-width <= 3 %", |on| {
        known_difference::measure(&on.nettoll, on.share(10, 1))
    }),
    questions("neighbour", "equal arms next to a busy neighbour on each CPU", "woven no wider than in turn", |on| {
        woven::busy(&on.nettoll, on.share(3, 1))
    }),
    alone("proof", "known costs at senders of 12 kinds, in their receipts", "found at 0.85 to 1.15", |on| proof::measure(&on.nettoll)),
    alone("verdict", "simulated studies, 10,000 of each kind", "", |on| Ok(verdict::measure(on.share(10_000, 100)))),
    endure("kills", "each kind of process killed at random moments", "nothing hangs, is left or lost", |on| {
        kills::measure(&on.nettoll, on.share(100, 1))
    }),
    endure("soak", "20,000 trials back to back", "memory and open files do not grow", |on| {
        soak::measure(&on.nettoll, on.share(20_000, 300))
    }),
    endure("siege", "a study over an agent amid 2,100 strangers", "no failed trial, <= 64 MiB", |on| {
        siege::measure(&on.nettoll, on.share(20, 1))
    }),
    endure("churn", "top while 5,000 processes a second come and go", "its memory grows by < 10 % + 2 MiB in 60 s", |on| {
        churn::measure(&on.nettoll, &on.program("churn"), on.share(60, 10))
    }),
];

type Measure = fn(&Setup<'_>) -> anyhow::Result<Vec<Row>>;

const fn usual(name: &'static str, how: &'static str, bar: &'static str, measure: Measure) -> Benchmark {
    Benchmark { name, set: USUAL, how, bar, measure }
}

const fn alone(name: &'static str, how: &'static str, bar: &'static str, measure: Measure) -> Benchmark {
    Benchmark { name, set: name, how, bar, measure }
}

const fn endure(name: &'static str, how: &'static str, bar: &'static str, measure: Measure) -> Benchmark {
    Benchmark { name, set: ENDURE, how, bar, measure }
}

const fn questions(name: &'static str, how: &'static str, bar: &'static str, measure: Measure) -> Benchmark {
    Benchmark { name, set: QUESTIONS, how, bar, measure }
}

/// Programs and effort of this run.
struct Setup<'a> {
    arguments: &'a Arguments,
    nettoll: PathBuf,
}

impl Setup<'_> {
    /// A program in C.
    fn program(&self, name: &str) -> PathBuf {
        self.arguments.target.join(name)
    }

    /// Returns the share of a full number, at least `least`.
    fn share(&self, full: u32, least: u32) -> u32 {
        ((f64::from(full) * self.arguments.effort) as u32).max(least)
    }

    fn pairs(&self, full: u32) -> u32 {
        self.share(full, 8)
    }
}

fn benchmark(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.list {
        BENCHMARKS.iter().for_each(|Benchmark { name, set, how, bar, .. }| println!("{name:<16}{set:<16}{how:<66}{bar}"));
        return Ok(());
    }
    let named = |known: &Benchmark, only: &str| [known.name, known.set].contains(&only);
    if let Some(unknown) = arguments.only.iter().find(|only| !BENCHMARKS.iter().any(|known| named(known, only))) {
        anyhow::bail!("there is no benchmark '{unknown}'. There are: {}", BENCHMARKS.map(|known| known.name).join(", "));
    }
    let wanted: Vec<&Benchmark> = BENCHMARKS.iter().filter(|known| arguments.only.iter().any(|only| named(known, only))).collect();
    let setup = Setup { arguments, nettoll: arguments.target.join("release/nettoll") };
    let mut results = Results::of_this_machine();
    for benchmark in &wanted {
        results.extend((benchmark.measure)(&setup)?);
    }
    let set = wanted.first().map_or("", |first| first.set);
    let whole = wanted.iter().all(|known| known.set == set) && wanted.len() == BENCHMARKS.iter().filter(|known| known.set == set).count();
    results.finish(arguments.effort >= 1.0 && whole, &arguments.out)
}
