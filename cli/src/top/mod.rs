//! `nettoll top`: the cost of the network stack to this machine, live.

mod keys;
mod outlets;
pub mod recording;
mod screen;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ::report::top::{ATTACH_SECONDS, Target};
use analysis::top::{Machine, STRETCHES, Snapshot};
use anyhow::{Context, anyhow};
use attribution::Rules;
use lab::top::{Settings, Watcher};
use model::{Nanos, Refusal};

use crate::args::{self, Command, TopArgs};
use crate::exit::{Exit, Failure};
use crate::{attach, output, signals};

use outlets::Outlets;
use screen::{Ending, can_show, show};

/// Length of a stretch: the screen changes as often.
const STRETCH: Duration = Duration::from_secs(1);
/// Length of the first stretch of a screen, which is drawn while the others are measured.
const FIRST: Duration = Duration::from_millis(500);
/// The rates that are taken: a lower one shows nothing in a window, a higher one is throttled by the kernel.
const RATES: std::ops::RangeInclusive<u32> = 1..=10_000;

/// Watches the machine, and shows what the network stack costs it.
///
/// # Errors
/// A rate that no sampler takes, a machine that shows nothing, a terminal that goes.
pub fn run(args: &TopArgs) -> Result<Exit, Failure> {
    if let Some(rate) = args.rate.filter(|rate| !RATES.contains(rate)) {
        return Err(Failure::misuse(format!("--rate {rate}: give {} to {} samples a second", RATES.start(), RATES.end())));
    }
    if args.time.is_some_and(|time| time < Nanos::from(STRETCH)) {
        return Err(Failure::misuse("-t: a window of less than 1s shows nothing"));
    }
    recording::check(args)?;
    let settings = Settings { rate: args.rate, count_all: args.count_all };
    let stretches = args.time.map(|time| (time.get() / Nanos::from(STRETCH).get()) as usize);
    let outlets = Outlets::open(args)?;
    if args.advise {
        let stop = signals::listen()?;
        let window = stretches.unwrap_or(STRETCHES);
        return windows(settings, Some(window), window, &stop, outlets, if args.json { print_advice_json } else { print_advice });
    }
    if args.json && !args.once {
        let stop = signals::listen()?;
        return windows(settings, stretches, STRETCHES, &stop, outlets, print_json);
    }
    if args.once || args.json || !(can_show() || outlets.are_open()) {
        let stop = signals::listen()?;
        let window = stretches.unwrap_or(STRETCHES);
        return windows(settings, Some(window), window, &stop, outlets, if args.json { print_json } else { print });
    }
    if !can_show() {
        return in_background(settings, stretches, outlets);
    }
    on_screen(settings, stretches, outlets)
}

/// Keeps counters, and shows nothing but what this machine refuses. A signal is its usual end.
fn in_background(settings: Settings, stretches: Option<usize>, outlets: Outlets) -> Result<Exit, Failure> {
    let stop = signals::listen()?;
    let (mut taken, mut said) = (0, 0);
    watch(settings, STRETCHES, STRETCH, &stop, outlets, |machine| {
        taken += 1;
        machine.refused().iter().skip(said).for_each(|refusal| output::note(&refusal.to_string()));
        said = machine.refused().len();
        Ok(if stretches.is_some_and(|stretches| taken >= stretches) { Next::End } else { Next::Stretch })
    })?;
    Ok(Exit::Done)
}

/// What follows a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Another one of the same window, which slides.
    Stretch,
    /// Another window.
    Window,
    /// Nothing.
    End,
}

/// Prints window after window, each when it is full; the last one when the time is over, a signal comes, or the reader has gone.
fn windows(
    settings: Settings,
    stretches: Option<usize>,
    window: usize,
    stop: &AtomicBool,
    outlets: Outlets,
    print: fn(&Snapshot) -> io::Result<bool>,
) -> Result<Exit, Failure> {
    let mut taken = 0;
    watch(settings, window, STRETCH, stop, outlets, |machine| {
        taken += 1;
        let mut over = stop.load(Ordering::Relaxed) || stretches.is_some_and(|stretches| taken >= stretches);
        if (over || taken % window == 0)
            && let Some(snapshot) = machine.snapshot()
        {
            over |= !print(&snapshot).context("print a window")?;
        }
        Ok(match () {
            () if over => Next::End,
            () if taken % window == 0 => Next::Window,
            () => Next::Stretch,
        })
    })?;
    Ok(if stop.load(Ordering::Relaxed) { Exit::Failed } else { Exit::Done })
}

/// Watches, and hands over the machine after each stretch, the `first` of that length, until `each` has enough or `stop` is set.
fn watch(
    settings: Settings,
    window: usize,
    first: Duration,
    stop: &AtomicBool,
    mut outlets: Outlets,
    mut each: impl FnMut(&Machine<'_>) -> anyhow::Result<Next>,
) -> anyhow::Result<()> {
    let rules = Rules::builtin().context("read the rules that come with nettoll")?;
    let (mut watcher, refused) = Watcher::open(settings);
    if watcher.is_blind() {
        let reasons: Vec<String> = refused.iter().map(Refusal::to_string).collect();
        return Err(anyhow!("this machine shows nothing of the cost of its network: {}", reasons.join("; ")));
    }
    let mut machine = Machine::new(&rules, refused, window);
    let mut length = first;
    while !stop.load(Ordering::Relaxed) {
        let mut notes = Vec::new();
        let bucket = watcher.next(length, stop, &mut notes);
        length = STRETCH;
        machine.add(&bucket, notes);
        outlets.add(&machine)?;
        match each(&machine)? {
            Next::Stretch => {}
            Next::Window => machine.start_over(),
            Next::End => break,
        }
    }
    Ok(())
}

/// Shows windows on the terminal until the user has enough, or the time is over.
fn on_screen(settings: Settings, stretches: Option<usize>, outlets: Outlets) -> Result<Exit, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, snapshots) = mpsc::channel();
    // Where the user sets a time, stretches are counted.
    let first = if stretches.is_none() { FIRST } else { STRETCH };
    let watching = {
        let stop = Arc::clone(&stop);
        let measure = move || {
            let mut taken = 0;
            watch(settings, STRETCHES, first, &stop, outlets, |machine| {
                taken += 1;
                let sent = machine.snapshot().is_none_or(|snapshot| sender.send(snapshot).is_ok());
                let over = !sent || stretches.is_some_and(|stretches| taken >= stretches);
                Ok(if over { Next::End } else { Next::Stretch })
            })
        };
        thread::Builder::new().name("nettoll-top".to_owned()).spawn(measure).context("start a thread; is there a limit of processes?")?
    };
    let shown = show(&snapshots);
    stop.store(true, Ordering::Relaxed);
    let watched = watching.join().unwrap_or_else(|_| Err(anyhow!("the measuring thread ended early")));
    match shown? {
        Ending::Quit => Ok(Exit::Done),
        Ending::Interrupted => Ok(Exit::Failed),
        Ending::Closed => watched.map(|()| Exit::Done).map_err(Failure::from),
        Ending::Attach(target) => attach_to(&target),
    }
}

/// Runs attach on a row, with the sampler of the machine gone.
fn attach_to(target: &Target) -> Result<Exit, Failure> {
    let pid;
    let row = match target {
        Target::Unit(path) => ["--cgroup", path],
        Target::Process { pid: number, .. } => {
            pid = number.to_string();
            ["--pid", &pid]
        }
    };
    match args::command(["attach", row[0], row[1], "-t", &ATTACH_SECONDS.to_string()]).map_err(anyhow::Error::from)? {
        Some(Command::Attach(args)) => attach::run(&args),
        _ => Err(Failure::misuse("attach does not take this row")),
    }
}

/// Prints one window as a page of text, as wide as the terminal or `COLUMNS`.
fn print(snapshot: &Snapshot) -> io::Result<bool> {
    output::styled(&::report::top::text(snapshot, &host(), output::style())).map(|()| true)
}

/// Prints one window as a line of JSON; `false` where the reader has gone.
fn print_json(snapshot: &Snapshot) -> io::Result<bool> {
    output::write_part(&::report::top::json_line(snapshot))
}

/// Prints the advice of one window.
fn print_advice(snapshot: &Snapshot) -> io::Result<bool> {
    output::styled(&::report::top::advice_text(snapshot, output::style())).map(|()| true)
}

/// Prints it as a line of JSON.
fn print_advice_json(snapshot: &Snapshot) -> io::Result<bool> {
    output::write_part(&::report::top::advice_json(snapshot))
}

/// This machine's name, for titles; empty where it cannot be read.
fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}
