//! CPU time of the units of a load up to now, from the clocks of their processes, so
//! that it can be taken at the edges of what is measured next to them.
//!
//! What has ended is in no process's clock. A unit says after each job what its ended
//! jobs took, to the microsecond; the kernel tells the same in ticks, which shows when the
//! unit has not yet said it.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use model::Nanos;
use nix::sys::resource::{UsageWho, getrusage};
use sys::clock::of_timeval;
use sys::process::{Scheduling, Stat, TICK, children};

/// Times that a unit is asked again that has not yet said what its last job took, a
/// millisecond apart.
const PATIENCE: u32 = 20;
/// Generations of a unit's processes that are looked at: a compiler's driver, its passes.
const DEPTH: u32 = 6;

/// Work of the units up to a time.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    at: Instant,
    cpu: Nanos,
    jobs: u64,
}

impl Mark {
    /// CPU time, time and jobs since an earlier one.
    pub fn since(&self, earlier: &Self) -> (Nanos, Nanos, u64) {
        (self.cpu.since(earlier.cpu), Nanos::from(self.at.duration_since(earlier.at)), self.jobs.saturating_sub(earlier.jobs))
    }
}

/// What a unit says of its ended jobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct JobCounts {
    jobs: u64,
    /// Their CPU time in the user's code and in the kernel.
    user: Nanos,
    system: Nanos,
}

/// A unit as it is seen from outside.
#[derive(Debug)]
pub struct UnitProbe {
    /// Its id, as `/proc` names it; that of another pid namespace than this process's.
    process: u32,
    said: Arc<Mutex<JobCounts>>,
}

/// Returns the words by which a unit says what its ended jobs took.
///
/// # Errors
/// A system that does not tell.
pub fn say_ended() -> std::io::Result<String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok(format!(". {} {}", of_timeval(usage.user_time()).get(), of_timeval(usage.system_time()).get()))
}

impl UnitProbe {
    /// Watches the unit of this id, whose words come from `output`.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn start<R: Read + Send + 'static>(process: u32, output: BufReader<R>) -> std::io::Result<Self> {
        let said = Arc::new(Mutex::new(JobCounts::default()));
        let heard = Arc::clone(&said);
        thread::Builder::new().stack_size(128 << 10).spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let mut words = line.split(' ').skip(1).map_while(|word| word.parse().ok()).map(Nanos::new);
                let mut said = heard.lock().unwrap_or_else(PoisonError::into_inner);
                *said =
                    JobCounts { jobs: said.jobs + 1, user: words.next().unwrap_or(said.user), system: words.next().unwrap_or(said.system) };
            }
        })?;
        Ok(Self { process, said })
    }

    /// Number of its jobs that have ended.
    pub fn jobs(&self) -> u64 {
        self.said().jobs
    }

    fn said(&self) -> JobCounts {
        *self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its CPU time, with that of its jobs, and whether it has reported the whole.
    fn cpu(&self) -> Option<(Nanos, bool)> {
        let living = of_children(self.process, DEPTH);
        let (own, [user, system]) = of_process(self.process)?;
        let said = self.said();
        let in_ticks = |time: Nanos| time.get() / TICK;
        let whole = (in_ticks(said.user), in_ticks(said.system)) == (user, system);
        let ended = if whole { said.user + said.system } else { Nanos::new((user + system) * TICK) };
        Some((own + living + ended, whole))
    }
}

/// The work of all units up to now; `None` where their clocks cannot be read.
pub fn mark(units: &[UnitProbe]) -> Option<Mark> {
    let mut patience = PATIENCE;
    loop {
        let before = Instant::now();
        let all = units.iter().map(UnitProbe::cpu).collect::<Option<Vec<_>>>()?;
        let at = before + before.elapsed() / 2;
        patience -= 1;
        if patience == 0 || all.iter().all(|(_, whole)| *whole) {
            let cpu = all.iter().fold(Nanos::default(), |sum, (cpu, _)| sum + *cpu);
            return Some(Mark { at, cpu, jobs: units.iter().map(UnitProbe::jobs).sum() });
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// CPU time of the living descendants of a process, with that of those of theirs that
/// have ended.
fn of_children(process: u32, depth: u32) -> Nanos {
    if depth == 0 {
        return Nanos::default();
    }
    children(process, process).into_iter().fold(Nanos::default(), |sum, child| {
        let below = of_children(child, depth - 1);
        // One that has ended meanwhile is among its parent's.
        let (own, ended) = of_process(child).unwrap_or_default();
        sum + below + own + Nanos::new((ended[0] + ended[1]) * TICK)
    })
}

/// CPU time of a process, and in ticks that of its ended children, in the user's code and
/// in the kernel; `None` of one that is gone.
fn of_process(process: u32) -> Option<(Nanos, [u64; 2])> {
    let Stat { ticks: [user, system], ended, .. } = Stat::of(process)?;
    // To the nanosecond where the kernel tells; it lags by up to a scheduler's tick.
    let exact = Scheduling::of(process, process).ran.filter(|time| *time > 0);
    Some((Nanos::new(exact.unwrap_or((user + system) * TICK)), ended))
}

#[cfg(test)]
mod tests {
    use super::{UnitProbe, mark, of_children, of_process};
    use std::io::BufReader;
    use std::process::Command;
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn a_process_below_a_process_is_counted_while_it_lives() {
        // The shell waits for one that works.
        let mut shell = Command::new("sh").args(["-c", "sh -c 'while :; do :; done' & wait"]).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let taken = || of_children(shell.id(), 3).get();
        while taken() < 50_000_000 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let (far, own) = (taken(), of_process(shell.id()).unwrap().0.get());
        let text = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", shell.id())).unwrap();
        Command::new("kill").arg("-9").args(text.split_ascii_whitespace()).status().unwrap();
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(far >= 50_000_000 && own < far, "{far} {own}");
        assert!(of_process(shell.id()).is_none(), "it is gone");
    }

    #[test]
    fn what_a_unit_says_is_taken_where_the_kernel_agrees() {
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        // Its ended jobs took less than a tick, so far as the words go.
        let unit = UnitProbe::start(busy.id(), BufReader::new(&b". 0 0\n. 1000 2000\n"[..])).unwrap();
        while unit.jobs() < 2 {
            thread::yield_now();
        }
        let units = [unit];
        let first = mark(&units).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut since = mark(&units).unwrap().since(&first);
        while since.0.get() < 30_000_000 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
            since = mark(&units).unwrap().since(&first);
        }
        busy.kill().unwrap();
        busy.wait().unwrap();
        let (cpu, elapsed, jobs) = since;
        // One thread, whose clock lags by no more than a tick at either edge.
        assert!(cpu.get() >= 30_000_000 && cpu.get() <= elapsed.get() + 20_000_000 && jobs == 0, "{cpu} {elapsed}");
        let gone = UnitProbe::start(0, BufReader::new(&b""[..])).unwrap();
        assert!(mark(&[gone]).is_none(), "no such process");
    }
}
