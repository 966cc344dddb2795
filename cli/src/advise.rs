//! `nettoll advise`.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ::report::advice::Advice;
use analysis::advice::{Failures, rank};
use lab::connection::Credentials;
use model::plan::raw::RawTrial;
use model::plan::{Factor, Level, Levels, RawPlan, resolve};
use model::run::Status;
use model::{Api, Bytes, Plan, Protocol, Test};
use store::RunReader;

use crate::args::AdviseArgs;
use crate::exit::{Exit, Failure};
use crate::{measure, output, report};

/// Lengths, blocks and link of every such run; its cells are made here.
const PLAN: &str = include_str!("../../plans/advise.toml");

/// Measures the ways of sending at one size, or takes those of a run, and ranks them.
///
/// # Errors
/// Flags that do not go together, hosts that cannot be made, a run without several ways.
pub fn run(args: &AdviseArgs) -> Result<Exit, Failure> {
    if let Some(word) = &args.run {
        return advise(&args.runs.find(word)?, args);
    }
    let started_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let plan = plan(args, started_ms)?;
    let credentials = Credentials { arrival: args.arrival.arrival(), ..args.trust.load()? };
    if args.dry_run {
        measure::dry_run(&plan, &credentials, args.json)?;
        return Ok(Exit::Done);
    }
    let (path, status) = measure::measure(&plan, &args.runs.directory, &credentials, started_ms)?;
    let advised = advise(&path, args)?;
    if status != Status::Interrupted {
        return Ok(advised);
    }
    output::note("interrupted: the ranking is of the blocks that were finished");
    Ok(Exit::Failed)
}

/// Every way that carries a stream or requests of the size, over the protocols asked for.
fn plan(args: &AdviseArgs, seed: u64) -> Result<Plan, Failure> {
    let mut raw = RawPlan::parse(PLAN)?;
    let size = args.size.unwrap_or(Bytes::new(1));
    raw.cells = args.protocol.iter().flat_map(|protocol| cells(*protocol, size)).collect();
    match args.link.link[..] {
        [] => {}
        [kind] => raw.force_link(kind),
        _ => return Err(Failure::misuse("--link: advice is for one link; give one of them")),
    }
    raw.link.mtu = args.link.mtu.or(raw.link.mtu);
    raw.link.offloads.extend(args.link.offload.iter().copied());
    if !args.remote.host.is_empty() {
        // What joins machines is there already.
        raw.link.kind = args.link.link.first().copied();
    }
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

/// A stream and a request/response cell for each way that carries it.
fn cells(protocol: Protocol, size: Bytes) -> impl Iterator<Item = Levels> {
    let tests = match protocol {
        Protocol::Udp => [Test::UdpStream, Test::UdpRr],
        Protocol::Tcp => [Test::TcpStream, Test::TcpRr],
    };
    tests.into_iter().map(move |test| {
        let ways = Api::ALL.iter().filter(|api| api.carries(test)).map(|api| Level::Api(*api)).collect();
        let others = [Level::Test(test), Level::Size(size), Level::Nodelay(true)];
        others.into_iter().map(|level| (level.factor(), vec![level])).chain([(Factor::Api, ways)]).collect()
    })
}

/// Ranks the ways of a run and prints it.
fn advise(path: &Path, args: &AdviseArgs) -> Result<Exit, Failure> {
    let analysis = report::analyse(path)?;
    let mut failures = Failures::default();
    RunReader::open(path)?.trials()?.flatten().for_each(|trial| failures.push(&trial));
    let rankings = rank(&analysis, &failures, args.size, args.rate);
    if rankings.is_empty() {
        let why =
            format!("{} has no stream that went several ways: measure them with `nettoll study ways`, or leave out RUN", path.display());
        return Err(Failure::misuse(why));
    }
    let advice = Advice { rankings: &rankings, rate: args.rate };
    match args.json {
        true => output::write(&advice.json())?,
        false => {
            output::styled(&advice.text(output::style()))?;
            let page = path.join("report.html");
            if page.exists() {
                output::write(&format!("\nReport: {}", page.display()))?;
            }
        }
    }
    Ok(if rankings.iter().any(analysis::advice::Ranking::tells_apart) { Exit::Done } else { Exit::Inconclusive })
}
