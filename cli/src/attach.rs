//! `nettoll attach`, and what other commands do with attached runs.

use std::error::Error;
use std::io::{IsTerminal, stderr};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ::report::attached as pages;
use analysis::advice::Observed;
use analysis::attached::{Attached, Verdict, analyse, change, folded};
use attribution::Rules;
use lab::attach::{AttachError, Listener, Settings, Source, Started, Target};
use model::Nanos;
use model::attach::{Attachment, Look, WindowRecord};
use model::run::Status;
use store::AttachedDirectory;

use crate::args::{AttachArgs, CompareArgs, FormatArgs, ReportArgs};
use crate::exit::{Exit, Failure};
use crate::rules::{self, Own};
use crate::{exchanges, output, signals, version};

/// Time in which the command of a user comes up before it is observed.
const START_UP: std::time::Duration = std::time::Duration::from_millis(200);
/// The line that says how the states of a program are compared.
const IN_TURN: &str = "the states are compared in turn: commands switch the one program between them";

/// Observes a program, stores what was seen, and tells what it shows.
///
/// # Errors
/// A program that is not there or may not be observed, requests that cannot be counted, a run
/// that cannot be stored.
pub fn run(args: &AttachArgs) -> Result<Exit, Failure> {
    let page = args.html.place("attach.html")?;
    if args.window.is_some_and(|window| window < LEAST_WINDOW) {
        return Err(Failure::misuse(format!("--window: a window of less than {LEAST_WINDOW} shows nothing")));
    }
    if args.period.is_some_and(|period| period < LEAST_PERIOD) {
        return Err(Failure::misuse(format!("--period: the kernel keeps at least {LEAST_PERIOD} between samples")));
    }
    if args.dry_run {
        preview(&settings(args, None), args.format.json)?;
        return Ok(Exit::Done);
    }
    if args.switch_a.is_some() {
        output::note(IN_TURN);
    }
    let stop = signals::listen()?;
    let started = if args.command.is_empty() { None } else { Some(Started::new(&args.command)?) };
    if started.is_some() {
        std::thread::sleep(START_UP);
    }
    let (directory, ended) = recorded(&settings(args, started.as_ref()), &args.runs.directory, &stop)?;
    drop(started);
    let told = tell(&directory, &args.format, None, page.as_deref())?;
    if let Some(file) = &args.workload {
        write_workload(&directory, file)?;
    }
    match ended {
        Err(error) => return Err(error.into()),
        Ok(Status::Failed { error }) => output::note(&format!("{error}: the figures are of what was observed before")),
        // Without a time Ctrl-C is how it ends.
        Ok(Status::Interrupted) if args.time.is_some() => {
            output::note("interrupted: the figures are of the windows that were finished");
            return Ok(Exit::Failed);
        }
        Ok(_) => {}
    }
    told.end(&directory, &args.format)?;
    Ok(Exit::Done)
}

/// What a run that was printed leads to.
struct RunSummary {
    /// Its page.
    page: PathBuf,
    /// Socket calls were looked at, which is what advice goes by.
    advisable: bool,
}

impl RunSummary {
    /// The last lines of a text: its page, and the next step as a command to be pasted. A run shows costs;
    /// stalls that no cost shows are advice's to find.
    fn end(&self, run: &Path, format: &FormatArgs) -> Result<(), Failure> {
        if format.json || format.csv {
            return Ok(());
        }
        let mut text = format!("\nReport: {}", self.page.display());
        if self.advisable {
            let path = run.display().to_string();
            let quoted = shlex::try_quote(&path).map_or(path.clone(), std::borrow::Cow::into_owned);
            text += &format!("\nWhat to change, and what that saves: nettoll advise {quoted}");
        }
        output::write(&text)?;
        Ok(())
    }
}

/// Observes, and stores what is seen: the run's directory, and how it ended.
fn recorded(asked: &Settings, root: &Path, stop: &AtomicBool) -> Result<(PathBuf, Result<Status, AttachError>), Failure> {
    let mut recorder = Recorder { root: root.to_owned(), place: None, quiet: !stderr().is_terminal(), windows: 0 };
    let ended = lab::attach::run(asked, stop, &mut recorder);
    if let Some((directory, run)) = recorder.place {
        let status = ended.as_ref().map_or_else(|error| Status::Failed { error: error.to_string() }, Status::clone);
        directory.write_head(&Attachment { status, ..run })?;
        if recorder.windows > 0 {
            return Ok((directory.path().to_owned(), ended));
        }
    }
    Err(ended.err().map_or_else(|| Failure::misuse("nothing was observed"), Failure::from))
}

/// Observes a process for some time, without a report, and returns the run's directory.
///
/// # Errors
/// As [`run`].
pub fn observe(asked: &Settings, root: &Path, stop: &AtomicBool) -> Result<PathBuf, Failure> {
    let (directory, ended) = recorded(asked, root, stop)?;
    ended?;
    Ok(directory)
}

/// An attached run, analysed, and its windows.
///
/// # Errors
/// A run that cannot be read.
pub fn windows(path: &Path) -> Result<(Attached, Vec<WindowRecord>), Failure> {
    let (run, windows, bad) = store::read_attached(path)?;
    Ok((analyse(run, &windows, bad.len() as u64, &Rules::builtin()?), windows))
}

/// Says what would be observed.
///
/// # Errors
/// A program that is not there.
pub fn preview(asked: &Settings, json: bool) -> Result<(), Failure> {
    let preview = lab::attach::preview(asked)?;
    let preview = ::report::preview::Attachment {
        target: &asked.named,
        program: &preview.program,
        processes: &preview.processes,
        threads: preview.threads,
        window: preview.window,
        requests: asked.source.to_string(),
    };
    output::write(&if json { preview.json() } else { preview.text() })?;
    Ok(())
}

/// The shortest window, and the shortest distance of samples.
const LEAST_WINDOW: Nanos = Nanos::from_millis(10);
const LEAST_PERIOD: Nanos = Nanos::new(10_000);

/// Settings of the observation that a command line asks for.
fn settings(args: &AttachArgs, started: Option<&Started>) -> Settings {
    let (target, named) = match (args.pid, &args.unit, &args.cgroup, started) {
        (Some(pid), ..) => (Target::Pid(pid), format!("pid {pid}")),
        (_, Some(unit), ..) => (Target::Unit(unit.clone()), format!("unit {unit}")),
        (_, _, Some(path), _) => (Target::Cgroup(path.clone()), format!("cgroup {}", path.display())),
        (.., started) => (Target::Pid(started.map_or(0, Started::pid)), "command".to_owned()),
    };
    Settings {
        target,
        named,
        source: args.requests.clone(),
        time: args.time,
        window: args.window,
        period: args.period.map(Nanos::get),
        switch: args.switch_a.clone().zip(args.switch_b.clone()).map(|(a, b)| [a, b]),
        arguments: args.store_arguments,
        seed: args.seed,
        tool: version::SHORT.to_owned(),
        started_ms: sys::clock::unix_ms(),
    }
}

/// Settings of the observation that advice on a process needs.
pub fn of_process(pid: u32, time: Nanos) -> Settings {
    Settings {
        target: Target::Pid(pid),
        named: format!("pid {pid}"),
        source: Source::Sends,
        time: Some(time),
        window: None,
        period: None,
        switch: None,
        arguments: false,
        seed: 1,
        tool: version::SHORT.to_owned(),
        started_ms: sys::clock::unix_ms(),
    }
}

/// Stores windows as they come.
struct Recorder {
    root: PathBuf,
    place: Option<(AttachedDirectory, Attachment)>,
    quiet: bool,
    windows: u32,
}

impl Listener for Recorder {
    fn opened(&mut self, run: &mut Attachment) -> Result<(), Box<dyn Error + Send + Sync>> {
        let directory = AttachedDirectory::create(&self.root, run.started_ms)?;
        run.id = directory.id().to_owned();
        directory.write_head(run)?;
        if !self.quiet {
            output::note(&format!("observing {} in windows of {}; Ctrl-C ends it", run.program, run.window));
        }
        self.place = Some((directory, run.clone()));
        Ok(())
    }

    fn window(&mut self, record: &WindowRecord) -> Result<ControlFlow<()>, Box<dyn Error + Send + Sync>> {
        if let Some((directory, _)) = &mut self.place {
            directory.append(record)?;
        }
        self.windows += 1;
        Ok(ControlFlow::Continue(()))
    }
}

/// An attached run, analysed, and the folded call chains of each of its states.
type Read = (Attached, Vec<String>);

fn read(path: &Path, own: Option<&Own>) -> Result<Read, Failure> {
    let (run, windows, bad) = store::read_attached(path)?;
    let builtin = if own.is_none() { Some(Rules::builtin()?) } else { None };
    let Some(rules) = own.map(|own| &own.rules).or(builtin.as_ref()) else { return Err(Failure::misuse("there are no rules")) };
    let arms: Vec<Option<usize>> = if run.arms.is_empty() { vec![None] } else { (0..run.arms.len()).map(Some).collect() };
    let chains = arms.into_iter().map(|arm| folded(&windows, arm)).collect();
    Ok((analyse(run, &windows, bad.len() as u64, rules), chains))
}

/// Analyses a stored run, writes its page and chains, and prints it.
fn tell(path: &Path, format: &FormatArgs, own: Option<&Own>, page: Option<&Path>) -> Result<RunSummary, Failure> {
    let (attached, chains) = read(path, own)?;
    for (place, folded) in chains.iter().enumerate().filter(|(_, folded)| !folded.is_empty()) {
        let name = attached.run.arms.get(place).map_or_else(|| "program.folded".to_owned(), |arm| format!("program.{arm}.folded"));
        store::write_stacks(path, &name, folded)?;
    }
    let document = pages::document(&attached, &chains);
    let text = ::report::html::document(&document, &attached.run.tool);
    let written = store::write_report(path, &text)?;
    output::page(page, || text)?;
    let data = format.json.then(|| pages::json(&attached)).or_else(|| format.csv.then(|| pages::csv(&attached)));
    output::result(data, || document, format.verbose)?;
    let advisable = attached.states.iter().flat_map(|state| &state.windows).any(|(look, _)| *look == Look::Messages);
    Ok(RunSummary { page: page.map_or(written, Path::to_path_buf), advisable })
}

/// Writes the program's work: its exchanges, or the sizes of its messages as a mix.
fn write_workload(path: &Path, file: &Path) -> Result<(), Failure> {
    let (attached, windows) = windows(path)?;
    let Some(state) = attached.states.first() else { return Ok(()) };
    let text = if exchanges::is_of_exchanges(file) {
        let observed = Observed::new(&attached.run, state, &windows);
        let workload = observed.workload(state, &attached.run.program, &attached.run.id);
        workload.map_or(Ok(String::new()), |workload| workload.text()).map_err(Failure::misuse)?
    } else {
        state.mix()
    };
    if text.is_empty() {
        output::note("no workload was written: the program moved nothing that can be sent again, or socket calls could not be looked at");
        return Ok(());
    }
    Ok(output::file(file, &text)?)
}

/// `nettoll report` of an attached run.
///
/// # Errors
/// A run that cannot be read, flags that such a run has nothing for.
pub fn report(path: &Path, args: &ReportArgs) -> Result<Exit, Failure> {
    if args.picture.is_some() || args.markdown || args.rules.show_rules {
        return Err(Failure::misuse("--picture, --markdown and --show-rules are for runs of studies, and this is an attached run"));
    }
    let own = rules::load(&args.rules)?;
    let page = args.html.place(path.join("report.html"))?;
    tell(path, &args.format, own.as_ref(), page.as_deref())?.end(path, &args.format)?;
    Ok(Exit::Done)
}

/// `nettoll show` of an attached run.
///
/// # Errors
/// A run that cannot be read.
pub fn print(path: &Path, json: bool) -> Result<(), Failure> {
    let (attached, _) = read(path, None)?;
    Ok(output::result(json.then(|| pages::json(&attached)), || pages::document(&attached, &[]), false)?)
}

/// A line for a list of runs.
pub fn line(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let headline = read(path, None)
        .map_or_else(|_| "cannot be read: `nettoll show` with its name says why".to_owned(), |(attached, _)| pages::headline(&attached));
    format!("{name} {headline}")
}

/// `nettoll compare` of two attached runs.
///
/// # Errors
/// Runs that cannot be read, or have no receipts.
pub fn compare(paths: [&Path; 2], args: &CompareArgs, own: Option<&Own>, page: Option<&Path>) -> Result<Exit, Failure> {
    let both = paths.map(|path| read(path, own));
    let [(a, _), (b, _)] = match both {
        [Ok(a), Ok(b)] => [a, b],
        [Err(failure), _] | [_, Err(failure)] => return Err(failure),
    };
    let states = a.states.first().zip(b.states.first());
    let found = states.and_then(|(one, other)| change([one, other], [a.run.id.clone(), b.run.id.clone()], args.gate.threshold));
    let Some(found) = found else {
        return Err(Failure::misuse("one of the two runs has no receipt: `nettoll report` says why"));
    };
    let document = pages::change(&found);
    output::page(page, || output::html(&document))?;
    output::result(args.json.then(|| ::report::json::pretty(&found)), || document, args.verbose)?;
    let undecided = if found.red.contains(&true) {
        "a receipt does not add up"
    } else if !args.trust_single_runs {
        "with one run on each side, what differs may be the day and not the program; --trust-single-runs decides all the same"
    } else {
        match found.verdict {
            Verdict::Worse => return Ok(Exit::Against),
            Verdict::Better | Verdict::Equivalent => return Ok(Exit::Done),
            Verdict::Inconclusive => {
                "neither a difference of the CPU time of a request beyond the threshold nor that there is none is shown"
            }
        }
    };
    output::note(&format!("inconclusive: {undecided}"));
    Ok(Exit::Inconclusive)
}
