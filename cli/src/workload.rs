//! `nettoll workload`.

use std::path::{Path, PathBuf};

use ::report::workload::Origin;
use analysis::result::Analysis;
use analysis::workload::{StreamTrials, Workload, WorkloadStudy, predict, sizes_for};
use model::cell::default_read_size;
use model::plan::{ApprovedPlan, PlanEnd, RawPlan, resolve};
use model::run::Status;
use model::{Bytes, Cell, Plan};

use crate::args::WorkloadArgs;
use crate::consent::{self, Consent};
use crate::exit::{Exit, Failure};
use crate::{exchanges, measure, output, report};

/// Plan of a sweep, with a cell for each series.
const PLAN: &str = include_str!("../../plans/workload.toml");

/// The page, where no file is named.
const PAGE: &str = "workload.html";

/// The longest file of sizes that is read: more than its reader takes, which says so in its words.
const LONGEST_FILE: u64 = 8 << 20;
/// The line that says how sizes and mixes are compared.
const IN_TURN: &str = "sizes and mixes are compared in turn: a mix has messages that take longer than a slice of woven trials";

/// Predicts workloads, measures them, and compares both.
///
/// # Errors
/// A workload that cannot be read, no run to predict from, hosts that cannot be made.
pub fn run(args: &WorkloadArgs) -> Result<Exit, Failure> {
    if args.workloads.iter().any(|name| exchanges::is_of_exchanges(Path::new(name))) {
        return exchanges::send(args, args.html.place(PAGE)?.is_some());
    }
    let workloads = workloads(&args.workloads)?;
    let now = sys::clock::unix_ms();
    if args.measure {
        let plan = sweep(&workloads, args, now)?;
        let Some((path, status)) = measured(&plan, args, now)? else { return Ok(Exit::Done) };
        let both = read(&path)?;
        show(&predict(&workloads, borrowed(&both), Some(borrowed(&both))), &path, Some(&path), args)?;
        return Ok(ended(&status));
    }
    let path = match &args.run {
        Some(run) => args.runs.find(run)?,
        None => latest(&args.runs.directory)?,
    };
    let sizes = read(&path)?;
    if sizes.0.sweeps().is_empty() {
        return Err(no_sweep(&path));
    }
    let predicted = predict(&workloads, borrowed(&sizes), Some(borrowed(&sizes)));
    if args.predict || predicted.workloads.iter().all(|result| result.series.iter().all(|series| series.sent.is_some())) {
        show(&predicted, &path, Some(&path), args)?;
        return Ok(Exit::Done);
    }
    let plan = mixes_like(&workloads, &sizes.0.likes(), &sizes.1.run.plan, args, now)?;
    let consent = Consent { host_wide: false, allow_exec: args.allow_exec, yes: args.yes };
    let plan = consent::to_stored(&path, plan, consent)?;
    let Some((mixes_path, status)) = measured(&plan, args, now)? else { return Ok(Exit::Done) };
    let mixes = read(&mixes_path)?;
    show(&predict(&workloads, borrowed(&sizes), Some(borrowed(&mixes))), &path, Some(&mixes_path), args)?;
    Ok(ended(&status))
}

const fn borrowed(run: &(StreamTrials, Analysis)) -> (&StreamTrials, &Analysis) {
    (&run.0, &run.1)
}

fn ended(status: &Status) -> Exit {
    if *status == Status::Interrupted { Exit::Failed } else { Exit::Done }
}

/// The workloads by name or file; all that come with nettoll without any.
fn workloads(names: &[String]) -> Result<Vec<Workload>, Failure> {
    let mut chosen: Vec<Workload> = names.iter().map(|name| workload(name)).collect::<Result<_, _>>()?;
    if let Some(twice) = chosen.iter().enumerate().find(|(at, workload)| chosen[..*at].iter().any(|before| before.name == workload.name)) {
        return Err(Failure::misuse(format!("workload '{}' is named twice: give each once, files under different names", twice.1.name)));
    }
    if chosen.is_empty() {
        chosen = Workload::built_in()?;
    }
    Ok(chosen)
}

/// The workload of a name or a file.
///
/// # Errors
/// A file that cannot be read or is none of sizes.
pub fn workload(name: &str) -> Result<Workload, Failure> {
    let built_in = Workload::built_in()?;
    match built_in.iter().find(|workload| workload.name.eq_ignore_ascii_case(name)) {
        Some(workload) => Ok(workload.clone()),
        None => from_file(name, &built_in),
    }
}

fn from_file(name: &str, built_in: &[Workload]) -> Result<Workload, Failure> {
    let held = sys::file::read(Path::new(name), LONGEST_FILE).map_err(|answer| {
        let names: Vec<&str> = built_in.iter().map(|workload| workload.name.as_str()).collect();
        Failure::misuse(format!(
            "'{name}' is neither a workload ({}) nor a file that can be read: {answer}; check the path",
            names.join(", ")
        ))
    })?;
    let (text, mark) = literature::read::decode(&held);
    mark.iter().for_each(|mark| output::note(&format!("{name}: {mark}")));
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
    Workload::parse(&stem, "", &text).map_err(Failure::misuse)
}

/// The latest run that measured sizes of a stream.
fn latest(root: &Path) -> Result<PathBuf, Failure> {
    for listed in store::list(root)?.into_iter().rev() {
        let plan = listed.run.as_ref().ok().map(|run| &run.plan);
        let streams = plan.into_iter().flat_map(|plan| &plan.cells).filter(|cell| cell.test.is_stream() && cell.mix.is_none()).count();
        if streams > 1 && !StreamTrials::from_table(report::collect(&listed.path, None)?.into_table()).sweeps().is_empty() {
            return Ok(listed.path);
        }
    }
    Err(no_sweep(root))
}

fn no_sweep(place: &Path) -> Failure {
    anyhow::anyhow!(
        "{} holds no streams of several sizes to predict from; add --measure, which measures sizes and workloads together in some minutes, \
         or measure sizes first (`nettoll study size`)",
        place.display()
    )
    .into()
}

fn read(path: &Path) -> Result<(StreamTrials, Analysis), Failure> {
    let (analysis, trials) = report::collect(path, None)?.finish_with_table();
    Ok((StreamTrials::from_table(trials), analysis))
}

/// Sizes that reach into the workloads, and the workloads.
fn sweep(workloads: &[Workload], args: &WorkloadArgs, now: u64) -> Result<ApprovedPlan, Failure> {
    let mut raw = RawPlan::parse(PLAN)?;
    match args.link.link[..] {
        [] => {}
        [kind] => raw.force_link(kind),
        _ => return Err(Failure::misuse("--link: a workload crosses one link; give one of them")),
    }
    raw.link.mtu = args.link.mtu.or(raw.link.mtu);
    raw.link.offloads.extend(args.link.offload.iter().copied());
    raw.seed = args.extent.seed.or(raw.seed);
    if args.extent.receipt {
        raw.receipt.get_or_insert_default();
    }
    let approved = resolve(&raw, &[], now)?;
    let mut plan = approved.clone().into_plan();
    let mut cells = Vec::new();
    for like in &plan.cells {
        let shares: Vec<_> = workloads.iter().filter_map(|workload| workload.share_of(like).ok()).collect();
        let largest = shares.iter().map(|share| share.sizes.largest()).max().unwrap_or(1);
        let of_size = |size: u64| {
            let size = Bytes::new(size);
            Cell { size, read_size: default_read_size(like.test, size), ..like.clone() }
        };
        cells.extend(sizes_for(like, largest).into_iter().map(of_size));
        cells.extend(mixes(workloads, like, plan.seed)?);
    }
    plan.cells = cells;
    extend(&mut plan, args);
    Ok(approved.carry_over(plan)?)
}

/// The workloads over every series of a stored run, on hosts and a link like its own: data, as that
/// run is.
fn mixes_like(workloads: &[Workload], likes: &[Cell], stored: &Plan, args: &WorkloadArgs, now: u64) -> Result<Plan, Failure> {
    let mut plan = resolve(&RawPlan::parse(PLAN)?, &[], now)?.into_plan();
    plan.seed = args.extent.seed.unwrap_or(now);
    plan.title = "Workloads, as predicted".to_owned();
    (plan.link, plan.hosts, plan.data_port, plan.cpus) = (stored.link.clone(), stored.hosts.clone(), stored.data_port, stored.cpus.clone());
    let seed = plan.seed;
    plan.cells = likes.iter().map(|like| mixes(workloads, like, seed)).collect::<Result<Vec<_>, _>>()?.concat();
    if plan.cells.is_empty() {
        return Err(Failure::misuse("no series of the run can send any of these workloads"));
    }
    extend(&mut plan, args);
    Ok(plan)
}

/// The workloads over every series of streams of a plan that nettoll itself made.
///
/// # Errors
/// A workload that there is not, or that no series can send.
pub fn like(sizes: &ApprovedPlan, args: &WorkloadArgs, seed: u64) -> Result<ApprovedPlan, Failure> {
    let mut likes: Vec<Cell> = Vec::new();
    for cell in sizes.cells.iter().filter(|cell| cell.test.is_stream()) {
        if !likes.iter().any(|like| like.series_of_sizes() == cell.series_of_sizes()) {
            likes.push(cell.clone());
        }
    }
    Ok(sizes.carry_over(mixes_like(&workloads(&args.workloads)?, &likes, sizes, args, seed)?)?)
}

/// A workload predicted from the sizes of a run, next to what a run measured of it.
///
/// # Errors
/// A workload that there is not, a run that cannot be read.
pub fn predicted(name: &str, sizes: &Path, mixes: Option<&Path>) -> Result<WorkloadStudy, Failure> {
    let (sizes, mixes) = (read(sizes)?, mixes.map(read).transpose()?);
    Ok(predict(&[workload(name)?], borrowed(&sizes), mixes.as_ref().map(borrowed)))
}

/// A cell for each workload; a datagram-less workload has none over UDP.
fn mixes(workloads: &[Workload], like: &Cell, seed: u64) -> Result<Vec<Cell>, Failure> {
    let sendable = workloads.iter().filter(|workload| workload.share_of(like).is_ok());
    sendable.map(|workload| workload.cell_like(like, seed).map_err(Failure::misuse)).collect()
}

fn extend(plan: &mut Plan, args: &WorkloadArgs) {
    if let Some(length) = args.extent.length {
        plan.end = PlanEnd::Length(length);
    }
    plan.warmup = args.extent.warmup.unwrap_or(plan.warmup);
    if let Some(blocks) = args.extent.blocks {
        (plan.blocks.least, plan.blocks.most) = (blocks, blocks);
    }
}

/// Runs a plan; where its run is, and how it ended. `None` of a dry run.
fn measured(plan: &ApprovedPlan, args: &WorkloadArgs, now: u64) -> Result<Option<(PathBuf, Status)>, Failure> {
    let credentials = args.access.credentials()?;
    if args.dry_run {
        measure::dry_run(plan, &credentials, args.json)?;
        return Ok(None);
    }
    args.html.place(PAGE)?;
    output::note(IN_TURN);
    measure::measure(plan, &args.runs.directory, &credentials, now).map(Some)
}

fn show(study: &WorkloadStudy, sizes: &Path, mixes: Option<&Path>, args: &WorkloadArgs) -> Result<(), Failure> {
    let (sizes, mixes) = (sizes.display().to_string(), mixes.map(|path| path.display().to_string()));
    let origin = Origin { sizes: &sizes, mixes: mixes.as_deref().filter(|_| study.same_run.is_some()) };
    let place = args.html.place(PAGE)?;
    let json = args.json.then(|| ::report::workload::json(study, origin));
    Ok(output::result_with_page(json, &::report::workload::document(study, origin), place.as_deref())?)
}
