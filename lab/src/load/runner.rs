//! The processes above the units of a load: the runner, and below it the cage,
//! which is process 1 of a pid namespace and takes the units with it when it ends.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use engine::scheduling::bind_to;
use model::Nanos;
use model::condition::{LoadUsage, Replaced};
use model::json::{self, Layout};
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use sys::clock::of_timeval;
use sys::errno_name;
use tempfile::TempDir;

use super::job::{Chosen, JOBS, places};
use super::taken::{self, Mark, UnitProbe};
use super::{STEP, say};
use crate::process::{self, THIS_PROGRAM};

/// The runner: makes the cage and the place of its files, and hands its words
/// on. Ends with its input.
///
/// # Errors
/// What the system refused.
pub fn run(units: u32, cpus: &[u32]) -> io::Result<()> {
    // A process that may not be bound is free to move.
    let _ = bind_to(cpus);
    let (place, _shared) = make_place()?;
    let caged = unshare(CloneFlags::CLONE_NEWPID).map_err(|errno| format!("unshare(CLONE_NEWPID): {}", errno_name(&errno.into())));
    let mut command = Command::new(THIS_PROGRAM);
    command.args(["__load", "cage", "--units", &units.to_string()]).arg("--place").arg(&place);
    // Compilers leave their files here when they are ended.
    command.env("TMPDIR", &place);
    if let Err(answer) = &caged {
        command.args(["--not-caged", answer]);
    }
    // It has this process's input and output: it hears the end and tells what was taken.
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("the load's processes ended: {status}"))) }
}

/// The cage: starts the units, lets them go at once when each is ready, says so,
/// waits for the end of its input, ends them and says what they took.
///
/// # Errors
/// A unit that does not start, or ends.
pub fn cage(units: u32, place: &Path, not_caged: Option<String>) -> io::Result<()> {
    // Not caged, what a unit leaves behind falls to this process, and is ended by it.
    let _ = prctl::set_child_subreaper(true);
    // All at once: one after the other each would wait for those that work already.
    let mut running = (0..units).map(|number| Unit::start(&place.join(format!("unit-{number}")))).collect::<io::Result<Vec<_>>>()?;
    let ready = running.iter_mut().map(Unit::ready).collect::<io::Result<Vec<_>>>()?;
    let before = ready.iter().fold(Nanos::default(), |sum, (took, ..)| sum + *took);
    let begun = Instant::now();
    let start = |(unit, (_, id, output)): (&mut Unit, (Nanos, u32, BufReader<File>))| {
        unit.input.write_all(b".")?;
        UnitProbe::start(id, output)
    };
    let watched = running.iter_mut().zip(ready).map(start).collect::<io::Result<Vec<_>>>()?;
    say("ready")?;
    let marks = Arc::new(Marks { units: watched, taken: Mutex::default() });
    listen(&marks)?;
    let within = marks.within();
    running.iter_mut().for_each(|unit| _ = unit.process.kill());
    let finished = marks.units.iter().map(UnitProbe::jobs).sum();
    drop(running);
    end_the_rest();
    // Without edges both to the end of the last process: one cannot take more CPU time
    // than has passed.
    let (cpu, elapsed, jobs) = within.unwrap_or_else(|| (cpu_of_children().since(before), Nanos::from(begun.elapsed()), finished));
    let taken = LoadUsage { cpu, elapsed, jobs, replaced: replaced(), not_caged };
    say(&String::from_utf8_lossy(&json::write(&taken, Layout::COMPACT).map_err(io::Error::other)?))
}

/// The units, and what they had taken at the edges of what is measured.
struct Marks {
    units: Vec<UnitProbe>,
    /// At the beginning and, if it has come, at the end.
    taken: Mutex<Vec<Mark>>,
}

impl Marks {
    /// Takes the next edge; a third is none.
    fn take(&self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.len() < 2 {
            taken.extend(taken::mark(&self.units));
        }
    }

    /// CPU time, time and jobs between the edges, up to now where the end has not come;
    /// `None` where nothing was measured.
    fn within(&self) -> Option<(Nanos, Nanos, u64)> {
        let begun = !self.taken.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        begun.then(|| self.take());
        match self.taken.lock().unwrap_or_else(PoisonError::into_inner)[..] {
            [start, end] => Some(end.since(&start)),
            _ => None,
        }
    }
}

/// Takes the edges that it is told of until its input ends: `measure AFTER [LENGTH]` in
/// ns, and `measured`.
fn listen(marks: &Arc<Marks>) -> io::Result<()> {
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let mut words = line.split(' ');
        match (words.next(), words.next().and_then(|after| after.parse().ok())) {
            (Some("measure"), Some(after)) => {
                let length = words.next().and_then(|length| length.parse().ok()).map(Duration::from_nanos);
                let (marks, begun) = (Arc::clone(marks), Instant::now());
                let take_at = move |edge: Duration| {
                    thread::sleep(edge.saturating_sub(begun.elapsed()));
                    marks.take();
                };
                thread::Builder::new().stack_size(256 << 10).spawn(move || {
                    let after = Duration::from_nanos(after);
                    take_at(after);
                    length.into_iter().for_each(|length| take_at(after + length));
                })?;
            }
            (Some("measured"), _) => marks.take(),
            _ => {}
        }
    }
    Ok(())
}

fn replaced() -> Vec<Replaced> {
    let places = places();
    let of = |job| Chosen::for_job(job, &places).replacement();
    JOBS.into_iter().filter_map(of).map(|(job, by)| Replaced { job: job.to_owned(), by }).collect()
}

/// CPU time of everything that has ended below this process.
fn cpu_of_children() -> Nanos {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(Nanos::default(), |usage| of_timeval(usage.user_time()) + of_timeval(usage.system_time()))
}

/// Ends whatever units had started, which falls to this process, until there is none.
fn end_the_rest() {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Err(Errno::ECHILD) => return,
            Ok(WaitStatus::StillAlive) => {
                let own = std::process::id();
                for child in sys::process::children(own, own) {
                    let _ = kill(Pid::from_raw(child.cast_signed()), Signal::SIGKILL);
                }
                thread::sleep(STEP);
            }
            Ok(_) | Err(_) => {}
        }
    }
}

/// A unit that was started. Dropped, it is ended.
struct Unit {
    process: Child,
    input: File,
    output: Option<BufReader<File>>,
}

impl Unit {
    fn start(directory: &Path) -> io::Result<Self> {
        fs::create_dir(directory)?;
        let (process, input, output) = process::piped(Command::new(THIS_PROGRAM).args(["__load", "unit"]).arg(directory))?;
        Ok(Self { process, input, output: Some(BufReader::new(output)) })
    }

    /// Waits until it has its files. Returns the CPU time that they took, its id, as `/proc` names it, and
    /// its output from then on.
    fn ready(&mut self) -> io::Result<(Nanos, u32, BufReader<File>)> {
        let mut line = String::new();
        let output = self.output.take().and_then(|mut output| output.read_line(&mut line).ok().map(|_| output));
        let said = line.trim_end().strip_prefix("ready ").and_then(|words| words.split_once(' '));
        match said.and_then(|(took, id)| Some((Nanos::new(took.parse().ok()?), id.parse().ok()?, output?))) {
            Some(ready) => Ok(ready),
            None => Err(io::Error::other(format!("a unit of load did not start: {}", self.process.wait()?))),
        }
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Place of the units' files: a file system in memory that only these processes see, which vanishes with
/// the last of them, or a directory that has to be removed.
fn make_place() -> io::Result<(PathBuf, Option<TempDir>)> {
    let everywhere = std::env::temp_dir();
    if mount_over(&everywhere).is_ok() {
        return Ok((everywhere, None));
    }
    let make = |place: &Path| tempfile::Builder::new().prefix("nettoll-load-").tempdir_in(place);
    // In memory, where the system has such a place.
    let made = make(Path::new("/dev/shm")).or_else(|_| make(&everywhere))?;
    Ok((made.path().to_owned(), Some(made)))
}

/// Lays a file system in memory over `place`, for this process and those below it.
fn mount_over(place: &Path) -> Result<(), Errno> {
    const NOTHING: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(NOTHING, "/", NOTHING, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NOTHING)?;
    mount(Some("nettoll"), place, Some("tmpfs"), MsFlags::MS_NOSUID, Some("size=256m,mode=0700"))
}
