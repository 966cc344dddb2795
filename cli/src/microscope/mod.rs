//! `nettoll microscope`.

mod flags;
pub mod planned;
mod sides;
mod timed;

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::Context;
use attribution::exact::{Measured, PartOf};
use microscope::cache::Cache;
use microscope::emulator::Emulator;
use microscope::kernel::Kernel;
use microscope::program::Program;
use microscope::scenario::{self, Scenario};
use microscope::{Counting, Failed, Request, measure};
use report::microscope::Detail;
use report::preview::Cached;

use crate::args::{MicroscopeArgs, Task};
use crate::exit::{Exit, Failure};
use crate::{exact, output, signals};

/// Counts, compares, or looks after the cache.
///
/// # Errors
/// Misuse, or what the microscope says.
pub fn run(args: &MicroscopeArgs) -> Result<Exit, Failure> {
    match (args.task, carry_out(args)) {
        // Whatever else it ended with would be a verdict on the commit.
        (Task::BisectStep, Err(failure)) => {
            failure.tell();
            Ok(Exit::Abort)
        }
        (_, done) => done,
    }
}

fn carry_out(args: &MicroscopeArgs) -> Result<Exit, Failure> {
    if args.task != Task::Diff
        && let Some(side) = args.sides.first()
    {
        return Err(Failure::misuse(format!("'{side}' is for diff alone; kernels are given by --kernel")));
    }
    flags::check(args)?;
    let cache = Cache::open(args.cache.as_deref())?;
    let own = cache.clone();
    signals::before_end(move || own.drop_own())?;
    if args.dry_run {
        return planned::run(&cache, args);
    }
    match args.task {
        Task::Count if args.run.is_some() => timed::run(&cache, args),
        Task::Count => count(&cache, args),
        Task::Diff => sides::compare(&cache, args),
        Task::BisectStep => sides::bisect_step(&cache, args),
        Task::Cache => list_cache(&cache, args),
    }
}

/// Counts what a command line asks for, and stores it as a run, of a plan or alone. Returns its directory. Guests are ended once
/// `stop` is set.
///
/// # Errors
/// What the microscope says, or a run that cannot be stored.
pub fn counted(
    cache: &Cache,
    args: &MicroscopeArgs,
    runs: &Path,
    part: Option<PartOf>,
    stop: Arc<AtomicBool>,
) -> Result<(Vec<Measured>, PathBuf), Failure> {
    let mut lab = Lab::open(cache, args)?;
    lab.emulator.stop = stop;
    let kernels = lab.kernels(&args.kernels())?;
    let asked: Vec<Request> = kernels.into_iter().map(|kernel| lab.asked(kernel, args.seed)).collect();
    let measured = lab.measure(&asked)?;
    let stored = exact::store_run(runs, &measured, Detail { tree: args.tree }, part)?;
    Ok((measured, stored))
}

fn count(cache: &Cache, args: &MicroscopeArgs) -> Result<Exit, Failure> {
    let place = args.html.place("microscope.html")?;
    let (measured, stored) = counted(cache, args, &args.runs.directory, None, Arc::default())?;
    let document = report::microscope::document(&measured, &[], Detail { tree: args.tree });
    output::page(place.as_deref(), || output::html(&document))?;
    if let Some(folder) = &args.folded {
        fold(folder, &measured)?;
    }
    output::result(args.json.then(|| report::microscope::json(&measured, &[])), || document, args.verbose)?;
    if !args.json {
        output::report_at(&place.unwrap_or_else(|| stored.join("report.html")))?;
    }
    Ok(Exit::Done)
}

/// Lists what the cache holds, after pruning it where that is asked for.
fn list_cache(cache: &Cache, args: &MicroscopeArgs) -> Result<Exit, Failure> {
    let dropped = match args.prune {
        Some(most) => cache.prune(most.get())?,
        None => Vec::new(),
    };
    let all = Cached { directory: cache.root(), held: cache.held(), dropped };
    let bytes = all.held.iter().map(|one| one.bytes).sum();
    output::write(&if args.json { all.json() } else { all.text(bytes) })?;
    Ok(Exit::Done)
}

/// Writes `KERNEL.MESSAGE.folded` for each message.
fn fold(folder: &Path, measured: &[Measured]) -> Result<(), Failure> {
    fs::create_dir_all(folder).with_context(|| format!("make {}; is its parent writable?", folder.display()))?;
    for one in measured {
        let kernel = one.provenance.kernel.replace('/', "_");
        for region in &one.regions {
            let file = folder.join(format!("{kernel}.{}.folded", region.name));
            fs::write(&file, region.tree.folded()).with_context(|| format!("write {}; is there room?", file.display()))?;
        }
    }
    Ok(())
}

/// The longest file of scenarios that is read.
const LONGEST_SCENARIOS: u64 = 1 << 20;

/// Scenarios and sizes that a command line asks for.
fn wanted(args: &MicroscopeArgs) -> Result<(Vec<Scenario>, Vec<u64>), Failure> {
    let mut all = scenario::builtin()?;
    if let Some(file) = &args.scenarios {
        let text = sys::file::read_text(file, LONGEST_SCENARIOS).with_context(|| format!("read {}; check the path", file.display()))?;
        all.extend(scenario::parse(&text).map_err(|why| Failure::misuse(format!("{}: {why}", file.display())))?);
    }
    let names: Vec<&str> = match (args.scenario.is_empty(), &args.program) {
        (true, None) => scenario::USUAL.to_vec(),
        _ => args.scenario.iter().map(String::as_str).collect(),
    };
    let mut scenarios = scenario::named(&all, names).map_err(Failure::misuse)?;
    if let Some(program) = &args.program {
        scenarios.push(Scenario::of_program(Program::read(program)?));
    }
    let sizes: Vec<u64> =
        if args.length.is_empty() { scenario::SIZES.to_vec() } else { args.length.iter().map(|size| size.get()).collect() };
    if let Some(size) = sizes.iter().find(|size| **size == 0 || **size > scenario::MOST_BYTES) {
        return Err(Failure::misuse(format!("a message of {size} bytes cannot be sent: from 1 to {} can", scenario::MOST_BYTES)));
    }
    if args.append.chars().any(char::is_control) {
        return Err(Failure::misuse("--append: a kernel's command line is one line"));
    }
    Ok((scenarios, sizes))
}

/// What every measurement of a command line shares.
struct Lab<'a> {
    cache: &'a Cache,
    args: &'a MicroscopeArgs,
    emulator: Emulator,
    scenarios: Vec<Scenario>,
    sizes: Vec<u64>,
}

impl<'a> Lab<'a> {
    fn open(cache: &'a Cache, args: &'a MicroscopeArgs) -> Result<Self, Failure> {
        let (scenarios, sizes) = wanted(args)?;
        Self::with(cache, args, scenarios, sizes)
    }

    fn with(cache: &'a Cache, args: &'a MicroscopeArgs, scenarios: Vec<Scenario>, sizes: Vec<u64>) -> Result<Self, Failure> {
        // A guest is started by the thread that waits for its end.
        let mut emulator = Emulator::find(cache, args.offline)?;
        emulator.starter = lab::detach::tether();
        Ok(Self { cache, args, emulator, scenarios, sizes })
    }

    /// The kernels of these words, each once.
    fn kernels(&self, words: &[String]) -> Result<Vec<Kernel>, Failed> {
        let mut named: Vec<String> = Vec::new();
        for word in words {
            match word.as_str() {
                "all" => named.extend(self.every_series()?),
                word => named.push(word.to_owned()),
            }
        }
        let mut seen = BTreeSet::new();
        named.retain(|word| seen.insert(word.clone()));
        named.iter().map(|word| Kernel::find(self.cache, word, self.args.modules.as_deref(), self.args.offline)).collect()
    }

    /// Every series that has packages; offline, every one in the cache.
    fn every_series(&self) -> Result<Vec<String>, Failed> {
        if self.args.offline {
            return Ok(microscope::kernel::cached_series(self.cache));
        }
        let known = microscope::packages::available(self.cache, false)?;
        Ok(microscope::packages::series(&known))
    }

    fn asked(&self, kernel: Kernel, seed: u64) -> Request {
        Request {
            kernel,
            scenarios: self.scenarios.clone(),
            sizes: self.sizes.clone(),
            messages: self.args.messages,
            seed,
            cpu: self.args.cpu.clone(),
            append: self.args.append.clone(),
            counting: Counting::default(),
        }
    }

    /// Measures all of them, as many at a time as there are processors. A guest is one
    /// processor's work, and nothing of the machine moves its counts.
    fn measure(&self, asked: &[Request]) -> Result<Vec<Measured>, Failed> {
        let jobs = thread::available_parallelism().map_or(1, NonZero::get).min(asked.len());
        let next = Mutex::new(0..asked.len());
        let found: Mutex<Vec<Option<Result<Measured, Failed>>>> = Mutex::new(asked.iter().map(|_| None).collect());
        let work = || {
            loop {
                let Some(place) = next.lock().ok().and_then(|mut next| next.next()) else { return };
                let answer = measure(self.cache, &self.emulator, &asked[place]);
                if let Ok(mut found) = found.lock() {
                    found[place] = Some(answer);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(work);
            }
        });
        let found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        found.into_iter().flatten().collect()
    }
}
