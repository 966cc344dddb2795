//! `nettoll advise`.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ::report::advice::{Advice, Verdicts};
use analysis::advice::{self, Observed};
use analysis::ranking::{Failures, rank};
use analysis::workload::Workload;
use lab::attach::replay::blocks;
use model::plan::raw::RawTrial;
use model::plan::{ApprovedPlan, Factor, Level, Levels, LinkKind, PlanEnd, RawPlan, resolve};
use model::run::Status;
use model::{Api, Bytes, Cell, Family, Nanos, Plan, Protocol, Test};
use store::RunReader;

use crate::args::AdviseArgs;
use crate::exit::{Exit, Failure};
use crate::{attach, exchanges, measure, output, report, signals, weave, workload};

/// Lengths, blocks and link of every such run; its cells are made here.
const PLAN: &str = include_str!("../../plans/advise.toml");

/// Measures the ways of sending at one size, or takes those of a run, and ranks them.
///
/// # Errors
/// Flags that do not go together, hosts that cannot be made, a run without several ways.
pub fn run(args: &AdviseArgs) -> Result<Exit, Failure> {
    if let Some(pid) = args.pid {
        if args.dry_run {
            attach::preview(&attach::of_process(pid, args.observe), args.json)?;
            return Ok(Exit::Done);
        }
        let stop = signals::listen()?;
        let path = attach::observe(&attach::of_process(pid, args.observe), &args.runs.directory, &stop)?;
        return program(&path, args, &stop);
    }
    if let Some(file) = args.workload.as_ref().map(Path::new).filter(|file| exchanges::is_of_exchanges(file)) {
        if args.run.is_some() {
            return Err(Failure::misuse("a file of a program's exchanges is sent again, and no run has them: leave RUN or --workload out"));
        }
        return exchanged(file, args);
    }
    if let Some(word) = &args.run {
        let path = args.runs.find(word)?;
        if store::is_attached(&path) {
            if args.workload.is_some() {
                return Err(Failure::misuse("an attached run has the work of its own program: leave --workload out"));
            }
            return program(&path, args, &*signals::listen()?);
        }
        let extent = &args.extent;
        if extent.length.is_some() || extent.blocks.is_some() || extent.seed.is_some() {
            return Err(Failure::misuse("-t, --blocks and --seed are for what is measured: this run of a study is only ranked"));
        }
        let workload = args.workload.as_deref().map(workload::workload).transpose()?;
        return advise(&path, args, &Mixed { workload, refused: Vec::new() });
    }
    let started_ms = sys::clock::unix_ms();
    let workload = args.workload.as_deref().map(workload::workload).transpose()?;
    let single = plan(args, workload.as_ref(), started_ms)?;
    let (plan, mixed) = match workload {
        None => (single, Mixed::default()),
        Some(workload) => {
            let mut plan = single.clone().into_plan();
            let mixed = Mixed::into_plan(workload, &mut plan, args.extent.length.is_none())?;
            (single.carry_over(plan)?, mixed)
        }
    };
    let ways = weave::ways(plan, args.extent.length, args.extent.blocks)?;
    let credentials = args.access.credentials()?;
    if args.dry_run {
        ways.way.iter().for_each(|way| output::note(way));
        measure::dry_run(&ways.plan, &credentials, args.json)?;
        return Ok(Exit::Done);
    }
    let (path, status) = measure::compare(&ways, &args.runs.directory, &credentials, started_ms)?;
    let advised = advise(&path, args, &mixed)?;
    if status != Status::Interrupted {
        return Ok(advised);
    }
    output::note("interrupted: the ranking is of the blocks that were finished");
    Ok(Exit::Failed)
}

/// Blocks of the replays of an advice.
const BLOCKS: u32 = 24;
/// The line that says how replays are compared. Six runs on two CPUs that others used scattered by 0.01 to 0.03 of the cost
/// with woven instances, and by 0.001 to 0.012 with blocks in turn: a median hardly feels a disturbed block.
const IN_TURN: &str = "replays are compared in turn: woven ones scattered more where both were tried, on a busy machine";

/// Advises a program that was observed: rules over its windows, then replays of both ways.
fn program(path: &Path, args: &AdviseArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let (attached, windows) = attach::windows(path)?;
    let Some(state) = attached.states.first() else { return Err(Failure::misuse("the run has no window")) };
    let observed = Observed::new(&attached.run, state, &windows);
    if observed.windows == 0 {
        let why = format!("{} has no window with socket calls: `nettoll show` says what this machine refused", path.display());
        return Err(Failure::misuse(why));
    }
    let run = &attached.run;
    judge(&Judged { run: &run.id, program: &run.program, observed, seed: run.seed }, Some(path), args, stop)
}

/// Advises a program by the file of its work.
fn exchanged(file: &Path, args: &AdviseArgs) -> Result<Exit, Failure> {
    if args.rate.is_some() || args.dry_run || !args.link.link.is_empty() || !args.remote.host.is_empty() {
        let why = "a file of a program's exchanges has its own rate and is replayed over loopback: leave --rate, --link, --host and --dry-run out";
        return Err(Failure::misuse(why));
    }
    let workload = exchanges::read(file)?;
    let observed = Observed::of_workload(&workload);
    judge(&Judged { run: &workload.run, program: &workload.program, observed, seed: 1 }, None, args, &*signals::listen()?)
}

/// A program that is advised, and the seed of the order of its replays.
struct Judged<'a> {
    run: &'a str,
    program: &'a str,
    observed: Observed,
    seed: u64,
}

/// Asks the rules, replays what they advise, and tells it; kept in the run, where there is one.
fn judge(of: &Judged, path: Option<&Path>, args: &AdviseArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let extent = &args.extent;
    let mut judged = Vec::new();
    let advised = advice::all(&of.observed);
    if !args.json && !advised.is_empty() {
        output::note(IN_TURN);
    }
    for advice in advised {
        if !args.json {
            output::note(&format!("replaying {} in both ways", advice.rule));
        }
        let seed = extent.seed.unwrap_or(of.seed);
        let length = extent.length.unwrap_or_else(|| advice.length());
        let replays = match blocks(&advice.replays, extent.blocks.unwrap_or(BLOCKS), length, seed, stop) {
            Ok(replays) => replays,
            // A machine without namespaces replays all but this.
            Err(refusal) if advice.replays.iter().any(|replay| replay.link.is_some()) => {
                judged.push(advice::refused(advice, &refusal));
                continue;
            }
            Err(refusal) => return Err(refusal.into()),
        };
        let both: Vec<_> = replays.into_iter().filter_map(|block| <[_; 2]>::try_from(block).ok()).collect();
        judged.push(advice::verify(advice, &both, of.observed.delayed));
    }
    let judged = advice::ranked(judged);
    let verdicts = Verdicts { run: of.run, program: of.program, observed: &of.observed, advice: &judged };
    let json = verdicts.json();
    if let Some(path) = path {
        store::write_advice(path, &json)?;
    }
    output::result(args.json.then_some(json), || verdicts.document(), false)?;
    if stop.load(Ordering::Relaxed) {
        output::note("interrupted: advice without its replays is not shown");
        return Ok(Exit::Failed);
    }
    Ok(Exit::Done)
}

/// Every way that carries a stream or requests of the size, over the protocols asked for.
fn plan(args: &AdviseArgs, workload: Option<&Workload>, seed: u64) -> Result<ApprovedPlan, Failure> {
    let mut raw = RawPlan::parse(PLAN)?;
    // Of a workload this is the size of requests; its streams are put in afterwards.
    let size = workload.map(median).or(args.size).unwrap_or(Bytes::new(1));
    // What joins processes of one machine is no way over a link that stands for a network.
    let local = args.remote.host.is_empty() && matches!(args.link.link[..], [LinkKind::Loopback]);
    raw.cells = args.protocol.iter().flat_map(|protocol| cells(*protocol, size, local)).collect();
    match args.link.link[..] {
        [] => {}
        [kind] => raw.force_link(kind),
        _ => return Err(Failure::misuse("--link: advice is for one link; give one of them")),
    }
    if !args.remote.host.is_empty() {
        // What joins machines is there already.
        (raw.link.kind, raw.link.mtu) = (args.link.link.first().copied(), None);
    }
    raw.link.mtu = args.link.mtu.or(raw.link.mtu);
    raw.link.offloads.extend(args.link.offload.iter().copied());
    raw.hosts.extend(args.remote.host.iter().cloned());
    (raw.on_loss, raw.data_port) = (args.remote.on_loss, args.remote.data_port);
    if let Some(length) = args.extent.length {
        raw.trial = RawTrial { length: Some(length), warmup: raw.trial.warmup, ..RawTrial::default() };
    }
    if let Some(blocks) = args.extent.blocks {
        (raw.blocks.least, raw.blocks.most) = (Some(blocks), Some(blocks));
    }
    Ok(resolve(&raw, &[], args.extent.seed.unwrap_or(seed))?)
}

/// A stream and a request/response cell for each way that carries it, over the link or, where
/// both ends are programs of one machine, past it.
fn cells(protocol: Protocol, size: Bytes, local: bool) -> impl Iterator<Item = Levels> {
    let tests = match protocol {
        Protocol::Udp => [Test::UdpStream, Test::UdpRr],
        Protocol::Tcp => [Test::TcpStream, Test::TcpRr],
    };
    tests.into_iter().map(move |test| {
        let ways = Api::ALL
            .iter()
            .filter(|api| api.carries(test) && (local || !api.over().is_local()))
            .map(|api| Level::Api((*api).into()))
            .collect();
        let others = [Level::Test(test), Level::Size(size), Level::Nodelay(true)];
        others.into_iter().map(|level| (level.factor(), vec![level])).chain([(Factor::Api, ways)]).collect()
    })
}

/// The size that half of a workload's messages have or are below; at most what a datagram holds.
fn median(workload: &Workload) -> Bytes {
    let mut left = 0.5;
    let middle = workload.sizes.points().iter().find(|(_, share)| {
        left -= share;
        left <= 0.0
    });
    let most = Family::V4.largest_datagram().min(Family::V6.largest_datagram());
    Bytes::new(middle.map_or(1, |(size, _)| *size).clamp(1, most))
}

/// Messages of a stream that are measured for a workload at least, as far as [`LONGEST`] allows: its
/// sequence has the shares of the sizes in every 1,024.
const MESSAGES: f64 = 4_096.0;
/// Bytes a second that one flow is taken to carry, to say how long that takes.
const SPEED: f64 = 1e9;
/// The longest measured time of a trial that is chosen for a workload.
const LONGEST: Nanos = Nanos::from_millis(2_000);

/// A workload whose messages are sent, and the ways that cannot send them.
#[derive(Debug, Default)]
struct Mixed {
    workload: Option<Workload>,
    refused: Vec<(Cell, String)>,
}

impl Mixed {
    /// Has the streams of a plan send a workload. Protocols that cannot carry any are left out.
    fn into_plan(workload: Workload, plan: &mut Plan, choose_length: bool) -> Result<Self, Failure> {
        let (mut cells, mut refused, mut none) = (Vec::new(), Vec::new(), None);
        for cell in &plan.cells {
            if let Err(why) = workload.share_of(cell) {
                none = Some(why);
                continue;
            }
            if !cell.test.is_stream() {
                cells.push(cell.clone());
                continue;
            }
            let mixed = workload.cell_like(cell, plan.seed).map_err(Failure::misuse)?;
            match mixed.with(&[]) {
                Ok(mixed) => cells.push(mixed),
                Err(why) => refused.push((mixed, why.reason)),
            }
        }
        if let Some(why) = none.filter(|_| cells.is_empty()) {
            return Err(Failure::misuse(why));
        }
        plan.title = format!("Ways of sending, compared for advice, {}", workload.name);
        let mean = cells.iter().filter_map(|cell| Some(cell.mix.as_ref()?.mean())).fold(0.0, f64::max);
        if let PlanEnd::Length(length) = &mut plan.end
            && choose_length
        {
            *length = (*length).max(Nanos::new((MESSAGES * mean / SPEED * 1e9) as u64)).min(LONGEST);
        }
        plan.cells = cells;
        Ok(Self { workload: Some(workload), refused })
    }
}

/// Ranks the ways of a run and prints it.
fn advise(path: &Path, args: &AdviseArgs, mixed: &Mixed) -> Result<Exit, Failure> {
    let analysis = report::analyse(path)?;
    let mut failures = Failures::default();
    mixed.refused.iter().for_each(|(cell, reason)| failures.refuse(cell.clone(), reason.clone()));
    RunReader::open(path)?.trials()?.flatten().for_each(|trial| failures.push(&trial));
    let rankings = rank(&analysis, &failures, args.size, args.rate);
    if rankings.is_empty() {
        let why =
            format!("{} has no stream that went several ways: measure them with `nettoll study ways`, or leave out RUN", path.display());
        return Err(Failure::misuse(why));
    }
    // The cost of a mix is measured, not computed from that of single sizes.
    if let Some(Workload { name, .. }) = &mixed.workload
        && let Some(other) = rankings.iter().find(|ranking| ranking.workload.as_ref() != Some(name))
    {
        let sent = other.workload.as_ref().map_or_else(|| "messages of one size each".to_owned(), Clone::clone);
        let why = format!(
            "{} sent {sent} and not the workload {name}, and a mix has figures only where it was measured: `nettoll advise --workload \
             {}` measures it, or leave --workload out",
            path.display(),
            args.workload.as_deref().unwrap_or(name),
        );
        return Err(Failure::misuse(why));
    }
    let advice = Advice { rankings: &rankings, rate: args.rate, workload: mixed.workload.as_ref() };
    output::result(args.json.then(|| advice.json()), || advice.document(), false)?;
    let page = path.join("report.html");
    if !args.json && page.exists() {
        output::report_at(&page)?;
    }
    Ok(if rankings.iter().any(analysis::ranking::Ranking::tells_apart) { Exit::Done } else { Exit::Inconclusive })
}
