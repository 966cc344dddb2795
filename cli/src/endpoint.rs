//! `nettoll endpoint`: a user's own program, held to the contract, and the implementations that
//! nettoll brings along.

use std::error::Error;
use std::ops::ControlFlow;

use lab::connection::Credentials;
use lab::{Event, Listener};
use model::plan::{ApprovedPlan, Level, RawPlan, resolve};
use model::program::SHIPPED;
use model::trial::Outcome;
use model::{Api, Bytes, Program, Receive, Role, Test, TrialRecord, UnknownChoice, Warning};
use serde::Serialize;

use crate::args::{CheckArgs, EndpointArgs, EndpointTask, PlayedRole, RunArgs};
use crate::exit::{Exit, Failure};
use crate::output;

/// Length of each trial, and the link: two hosts whose kernels count for nobody else.
const PLAN: &str = r#"
name = "endpoint-check"
trial = { length = "200ms", warmup = "50ms" }
blocks = { least = 1, most = 1 }
link = { kind = "veth" }
[[cells]]
test = ["UDP_STREAM", "TCP_STREAM"]
size = [64, 1024]
"#;

/// Runs a command of `nettoll endpoint`.
///
/// # Errors
/// Words that are no command, hosts that cannot be made.
pub fn run(args: &EndpointArgs) -> Result<Exit, Failure> {
    match &args.task {
        EndpointTask::Check(args) => check(args),
        EndpointTask::Run(args) => play(args),
    }
}

/// Is an implementation that nettoll brings along.
fn play(args: &RunArgs) -> Result<Exit, Failure> {
    let names = SHIPPED.iter().filter(|shipped| !shipped.companion).map(|shipped| shipped.name);
    if !names.clone().any(|name| name == args.name) {
        return Err(Failure::misuse(UnknownChoice::new(&args.name, "an implementation", names)));
    }
    let water = |bytes: Bytes| usize::try_from(bytes.get()).unwrap_or(usize::MAX);
    let options = stacks::Options { high_water: water(args.high_water), low_water: water(args.low_water), defer: args.defer };
    options.check().map_err(Failure::misuse)?;
    stacks::run(&args.name, &options).map_err(anyhow::Error::from)?;
    Ok(Exit::Done)
}

/// One trial of a check.
#[derive(Debug, Serialize)]
struct CheckedTrial {
    /// `sends` or `receives`.
    role: &'static str,
    test: Test,
    size: u64,
    /// Messages of the whole trial, as the program counted them.
    messages: Option<u64>,
    /// CPU time of a message at the program, in ns.
    cpu_ns: Option<f64>,
    /// What is wrong, in words; empty where nothing is.
    faults: Vec<String>,
    /// What this machine makes doubtful, and no program could help, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    doubts: Vec<String>,
}

fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let program = args.command().map_err(Failure::misuse)?;
    let mut tried = Vec::new();
    for role in [PlayedRole::Send, PlayedRole::Receive] {
        if !args.roles.is_empty() && !args.roles.contains(&role) {
            continue;
        }
        let mut trials = Trials(Vec::new());
        let outcome = lab::study::run(&plan(program, role, &args.test)?, &Credentials::default(), &mut trials);
        if trials.0.is_empty() {
            outcome?;
        }
        tried.extend(trials.0.iter().map(|record| judge(record, role)));
    }
    let sound = tried.iter().all(|tried| tried.faults.is_empty()) && !tried.is_empty();
    output::write(&if args.json { report::json::pretty(&tried) } else { text(program, &tried, sound) })?;
    Ok(if sound { Exit::Done } else { Exit::Failed })
}

fn plan(program: Program, role: PlayedRole, tests: &[Test]) -> Result<ApprovedPlan, Failure> {
    let mut raw = RawPlan::parse(PLAN)?;
    let ways = match role {
        PlayedRole::Send => [Level::Api(Api::External(program).into()), Level::Receive(Receive::Recv)],
        PlayedRole::Receive => [Level::Api(Api::Send.into()), Level::Receive(Receive::External(program))],
    };
    for cells in &mut raw.cells {
        cells.extend(ways.clone().map(|level| (level.factor(), vec![level])));
        if !tests.is_empty() {
            cells.insert(model::plan::Factor::Test, tests.iter().copied().map(Level::Test).collect());
        }
    }
    Ok(resolve(&raw, &[], 1)?)
}

/// Keeps the trials.
struct Trials(Vec<TrialRecord>);

impl Listener for Trials {
    fn hear(&mut self, event: &Event) -> Result<ControlFlow<()>, Box<dyn Error + Send + Sync>> {
        if let Event::Trial(record) = event {
            self.0.push((*record).clone());
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn judge(record: &TrialRecord, role: PlayedRole) -> CheckedTrial {
    let (played, verb) = match role {
        PlayedRole::Send => (Role::Sender, "sends"),
        PlayedRole::Receive => (Role::Receiver, "receives"),
    };
    let words = |kind: fn(&Warning) -> bool| record.warnings.iter().filter(|warning| kind(warning)).map(Warning::to_string).collect();
    let (mut faults, doubts): (Vec<String>, Vec<String>) =
        (words(speaks), words(|warning| matches!(warning, Warning::OutsideClock { .. })));
    let (mut messages, mut cpu_ns) = (None, None);
    match &record.outcome {
        Outcome::Measured(measured) => {
            let end = if played == Role::Sender { &measured.sender } else { &measured.receiver };
            messages = Some(end.total.messages);
            let counted = end.counts.messages;
            cpu_ns = (counted > 0).then(|| end.cpu_time.sum().get() as f64 / counted as f64);
        }
        Outcome::Failed { error, .. } => faults.push(error.clone()),
        Outcome::Skipped { reason } => faults.push(reason.clone()),
    }
    CheckedTrial { role: verb, test: record.cell.test, size: record.cell.size.get(), messages, cpu_ns, faults, doubts }
}

/// Returns whether a warning is the program's.
const fn speaks(warning: &Warning) -> bool {
    matches!(
        warning,
        Warning::Claim { .. }
            | Warning::Program { .. }
            | Warning::Unaccounted { .. }
            | Warning::WrongPath { .. }
            | Warning::Impossible { .. }
    )
}

fn text(program: Program, tried: &[CheckedTrial], sound: bool) -> String {
    let mut text = format!("{}, by version {} of the contract of external endpoints\n", program.command(), engine::ENDPOINT_CONTRACT);
    for one in tried {
        let mut parts = match (one.messages, one.cpu_ns, one.faults.is_empty()) {
            (Some(messages), Some(cpu), true) => vec![format!("ok    {messages} messages, {cpu:.0} ns of CPU each")],
            (_, _, true) => vec!["ok".to_owned()],
            (_, _, false) => vec![format!("FAULT {}", one.faults.join("; "))],
        };
        parts.extend(one.doubts.iter().cloned());
        text += &format!("  {:<8} {:<10} {:>5} B  {}\n", one.role, one.test.name(), one.size, parts.join("; "));
    }
    text + if sound { "It keeps to the contract.\n" } else { "It does not keep to the contract.\n" }
}
