//! A user's program in a woven trial: it is stopped while other arms have their turns, and its harness writes its edges.
//!
//! The program, with all that it starts, is a process group of its own: one signal stops it and one lets it go on, and
//! the kernel lets a stopped group go on whose harness was killed. Counts are those of its page. Its CPU clock is exact
//! once it is stopped; at the edges of a slice it runs, and its threads are charged by a change of the CPUs that they
//! may use ([`tree::charge`]), or, without a CPU to spare for that, it is stopped for the moment of the reading.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use model::control::Task;
use model::end::{Counts, Switches};
use model::woven::Reading;
use model::{Nanos, Role, Test};
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, getpgid};
use sys::clock;
use sys::process::{self, Scheduling, Stat};

use super::counts;
use super::page::{Page, ProgramCounts};
use super::tree::{self, Family};
use crate::woven::{Order, Seat};

/// Longest time that a program may take to stop: longer, and it is in a call that cannot be interrupted.
const STOP_LIMIT: Duration = Duration::from_secs(1);
/// Between two looks at one that is to stop.
const STOP_LOOK: Duration = Duration::from_micros(20);
/// Between two wake-ups of the thread that is to end.
const END_LOOK: Duration = Duration::from_micros(100);

/// The turns of a program.
pub struct Turns {
    seat: Seat,
    reader: Option<Reader>,
    thread: Option<JoinHandle<Result<Readings, String>>>,
}

/// Properties of the edges that were read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Readings {
    /// The most by which the CPU time of all slices together may be wrong.
    pub error: Nanos,
    /// True where processes came or went between two turns, or in one.
    pub changed: bool,
}

/// Reader of one program's edges.
struct Reader {
    task: Task,
    /// The program's first process, and its group.
    root: u32,
    /// The process that is left those of its processes that lose their parents.
    harness: u32,
    /// A CPU that none of its processes is bound to, where there is one.
    spare: Option<u32>,
    page: Arc<Page>,
    /// Its processes with their threads, as they were when it was last stopped.
    family: Family,
    is_stopped: bool,
    /// Pauses of this turn, in which it was stopped to be read.
    pauses: Pauses,
    readings: Readings,
}

/// Pauses of a turn: no edge counts what they added.
#[derive(Debug, Clone, Copy, Default)]
struct Pauses {
    time: Nanos,
    waits: Nanos,
    switches: Switches,
}

/// Clocks and counts of a program, read at once.
struct Moment {
    time: Nanos,
    cpu: Nanos,
    counts: ProgramCounts,
    /// False where a thread's clock may be a tick old.
    is_exact: bool,
}

impl Turns {
    /// Of the program `root` of a `harness`. It leads a process group.
    pub fn new(seat: Seat, task: &Task, [root, harness]: [u32; 2], spare: Option<u32>, page: Arc<Page>) -> Self {
        let (task, family, pauses, readings) = (task.clone(), Family::new(), Pauses::default(), Readings::default());
        let reader = Reader { task, root, harness, spare, page, family, is_stopped: false, pauses, readings };
        Self { seat, reader: Some(reader), thread: None }
    }

    /// Stops the program until its first turn.
    ///
    /// # Errors
    /// The program's reason not to stop, in words.
    pub fn halt(&mut self) -> Result<(), String> {
        self.reader.as_mut().map_or(Ok(()), |reader| reader.stop().map(drop))
    }

    /// Has it take its turns from now on.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn begin(&mut self) -> io::Result<()> {
        let Some(mut reader) = self.reader.take() else { return Ok(()) };
        self.seat.begin();
        let seat = self.seat.clone();
        let attend = move || {
            seat.take();
            let attended = seat.attend(|order| reader.edge(order));
            if attended.is_err() {
                // Its harness sees its end, and asks for the reason.
                let _ = killpg(Pid::from_raw(reader.root.cast_signed()), Signal::SIGKILL);
            }
            reader.go_on();
            attended.map(|()| reader.readings)
        };
        self.thread = Some(thread::Builder::new().name("turns".to_owned()).spawn(attend)?);
        Ok(())
    }

    /// Ends its turns and lets it go on.
    ///
    /// # Errors
    /// The reason for which its edges could not be read, in words.
    pub fn end(&mut self) -> Result<Readings, String> {
        if let Some(mut reader) = self.reader.take() {
            reader.go_on();
            return Ok(reader.readings);
        }
        let Some(thread) = self.thread.take() else { return Ok(Readings::default()) };
        self.seat.end();
        while !thread.is_finished() {
            self.seat.end();
            thread::sleep(END_LOOK);
        }
        thread.join().unwrap_or_else(|_| Err("its turns ended with a fault of nettoll's".to_owned()))
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl Reader {
    /// Carries out the order of a mark, and reads the edge.
    fn edge(&mut self, order: Order) -> Result<Reading, String> {
        match (order, self.is_stopped) {
            (Order::Stop, false) => {
                // Read before: a stop, for which each of many threads has to be woken, is no part of the slice.
                let (moment, scheduling) = (self.moment(), self.scheduling());
                let known = self.threads();
                let time = self.stop()?;
                if !moment.is_exact {
                    return Ok(self.reading(&Moment { time, ..self.moment() }, scheduling));
                }
                // Threads that were not known were not charged, at either edge.
                let came = self.threads().difference(&known).count() as u64;
                self.readings.error = self.readings.error + Nanos::new(came * process::TICK);
                Ok(self.reading(&moment, scheduling))
            }
            (Order::Stop | Order::Tell, true) => Ok(self.read()),
            (Order::GoOn, true) => {
                let edge = self.read();
                self.pauses = Pauses::default();
                self.go_on();
                Ok(edge)
            }
            (Order::GoOn | Order::Tell, false) => {
                // What is slow to read first: the clocks are read last where a slice may begin.
                let scheduling = self.scheduling();
                let moment = self.moment();
                if !moment.is_exact {
                    let time = self.stop()?;
                    let edge = self.reading(&Moment { time, ..self.moment() }, scheduling);
                    self.pause(time, scheduling);
                    return Ok(edge);
                }
                if order == Order::GoOn {
                    self.readings.error = self.readings.error + clock::monotonic().since(moment.time);
                }
                Ok(self.reading(&moment, scheduling))
            }
        }
    }

    /// The edge of one that is stopped.
    fn read(&self) -> Reading {
        self.reading(&self.moment(), self.scheduling())
    }

    fn reading(&self, moment: &Moment, (run_delay, switches): (Nanos, Switches)) -> Reading {
        let Counts { messages, bytes, calls, .. } = counts(&self.task, ProgramCounts::default(), moment.counts);
        // As any receiver of a stream, which counts bytes.
        let messages = if self.task.role == Role::Receiver && self.task.cell.test == Test::TcpStream { 0 } else { messages };
        let without = |all: Nanos, pauses: Nanos| Nanos::new(all.get().saturating_sub(pauses.get()));
        let pauses = self.pauses;
        Reading {
            time: without(moment.time, pauses.time),
            cpu: moment.cpu,
            run_delay: without(run_delay, pauses.waits),
            messages,
            bytes,
            calls,
            switches: between(pauses.switches, switches),
        }
    }

    /// Reads the clocks and the counts, one right after the other. One that is stopped may still be on its way off
    /// its CPU: its threads are charged likewise.
    fn moment(&self) -> Moment {
        // The time first, as in the edge of a traffic thread.
        let time = clock::monotonic();
        let (mut cpu, mut is_exact) = (Nanos::default(), true);
        for (pid, threads) in &self.family {
            for thread in threads {
                is_exact &= self.spare.is_some_and(|spare| tree::charge(*thread, spare));
            }
            cpu = cpu + tree::cpu(*pid);
        }
        Moment { time, cpu, counts: self.page.said(), is_exact }
    }

    /// All threads that are known.
    fn threads(&self) -> BTreeSet<u32> {
        self.family.iter().flat_map(|(_, threads)| threads).copied().collect()
    }

    /// The waits of all threads for a CPU, and their switches.
    fn scheduling(&self) -> (Nanos, Switches) {
        let (mut waits, mut all) = (Nanos::default(), Switches::default());
        for (pid, thread) in self.family.iter().flat_map(|(pid, threads)| threads.iter().map(move |thread| (*pid, *thread))) {
            let Scheduling { switches: [voluntary, involuntary], delay, .. } = Scheduling::of(pid, thread);
            waits = waits + Nanos::new(delay.unwrap_or_default());
            all.voluntary += voluntary;
            all.involuntary += involuntary;
        }
        (waits, all)
    }

    /// Stops it; returns the time from which on it does nothing more.
    fn stop(&mut self) -> Result<Nanos, String> {
        let group = Pid::from_raw(self.root.cast_signed());
        self.is_stopped = true;
        match killpg(group, Signal::SIGSTOP) {
            // One that has ended is its harness's to see.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(errno) => return Err(format!("cannot be stopped between its turns (killpg: {errno}); compare in turn (--in-turn)")),
        }
        // On this CPU it does not run any more; on another one it ends its system call first.
        let time = clock::monotonic();
        let give_up = Instant::now() + STOP_LIMIT;
        let family = loop {
            let family = tree::of_program(self.root, self.harness);
            if family.iter().all(|(pid, threads)| threads.iter().all(|thread| stands_still(*pid, *thread))) {
                break family;
            }
            if let Some(pid) = self.process_elsewhere(&family) {
                return Err(format!(
                    "has a process in a group of its own ({pid}), which is not stopped between its turns: have it start none, or compare in \
                     turn (--in-turn)"
                ));
            }
            if Instant::now() > give_up {
                return Err(format!("did not stop between its turns within {}; compare in turn (--in-turn)", Nanos::from(STOP_LIMIT)));
            }
            thread::sleep(STOP_LOOK);
        };
        let [before, now] = [&self.family, &family].map(|family| family.iter().map(|(pid, _)| *pid).collect::<Vec<_>>());
        self.readings.changed |= !before.is_empty() && before != now;
        self.family = family;
        Ok(time)
    }

    /// The first of its processes that a signal to its group does not stop.
    fn process_elsewhere(&self, family: &Family) -> Option<u32> {
        let group = |pid: u32| getpgid(Some(Pid::from_raw(pid.cast_signed()))).map(|group| group.as_raw().cast_unsigned());
        family.iter().map(|(pid, _)| *pid).find(|pid| group(*pid).is_ok_and(|group| group != self.root))
    }

    /// Ends a pause that began at `time`, after these waits and switches.
    fn pause(&mut self, time: Nanos, (waits, switches): (Nanos, Switches)) {
        let after = self.scheduling();
        let added = between(switches, after.1);
        self.pauses.waits = self.pauses.waits + after.0.since(waits);
        self.pauses.switches.voluntary += added.voluntary;
        self.pauses.switches.involuntary += added.involuntary;
        self.pauses.time = self.pauses.time + clock::monotonic().since(time);
        self.go_on();
    }

    fn go_on(&mut self) {
        self.is_stopped = false;
        // Of one that has ended there is none.
        let _ = killpg(Pid::from_raw(self.root.cast_signed()), Signal::SIGCONT);
    }
}

/// Switches from one number of them to a later one.
const fn between(earlier: Switches, later: Switches) -> Switches {
    Switches {
        voluntary: later.voluntary.saturating_sub(earlier.voluntary),
        involuntary: later.involuntary.saturating_sub(earlier.involuntary),
    }
}

/// True of a thread that is stopped or has ended.
fn stands_still(pid: u32, thread: u32) -> bool {
    Stat::of_thread(pid, thread).is_none_or(|stat| matches!(stat.state, 'T' | 't') || stat.is_dead())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use model::woven::Reading;
    use model::{Nanos, Role, Test};
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::sys::signal::Signal;
    use nix::unistd::Pid;
    use sys::{clock, process};

    use super::Turns;
    use crate::external::page::Page;
    use crate::external::tree;
    use crate::testing::task;
    use crate::woven::{Board, Mark, Order};

    const PATIENCE: Duration = Duration::from_secs(10);
    /// Harness of a program that keeps its children.
    const NO_HARNESS: u32 = u32::MAX >> 1;

    /// A shell that spins, as a program, at the first seat of a board.
    struct Spinner {
        board: Board,
        turns: Turns,
        shell: Child,
    }

    /// The CPU that programs of a test are bound to, and another one; `None` on a machine of one CPU.
    fn two_cpus() -> Option<[u32; 2]> {
        let free = sched_getaffinity(Pid::from_raw(0)).unwrap();
        let first = tree::spare(Some(&free), Some(u32::MAX))?;
        Some([first, tree::spare(Some(&free), Some(first))?])
    }

    impl Spinner {
        /// Bound to a CPU where there is one to spare.
        fn start(script: &str, spare: Option<u32>) -> Self {
            let board = Board::new().unwrap();
            board.clear(0, Order::Stop);
            let shell =
                Command::new("sh").args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0).spawn().unwrap();
            if let Some([bound, _]) = spare.and_then(|_| two_cpus()) {
                let mut one = CpuSet::new();
                one.set(bound as usize).unwrap();
                sched_setaffinity(Pid::from_raw(shell.id().cast_signed()), &one).unwrap();
            }
            let page = Arc::new(Page::new().unwrap());
            let (seat, task) = (board.seat_here(0).unwrap(), task(Role::Sender, Test::UdpStream));
            let turns = Turns::new(seat, &task, [shell.id(), NO_HARNESS], spare, page);
            Self { board, turns, shell }
        }

        fn tell(&self, order: Order) -> Reading {
            let mark = self.board.mark(0, order);
            self.board.await_edge(0, mark, PATIENCE).expect("the edge of a mark")
        }

        fn state(&self) -> char {
            super::Stat::of(self.shell.id()).map_or('X', |stat| stat.state)
        }

        fn await_processes(&self, count: usize) {
            let give_up = Instant::now() + PATIENCE;
            while tree::family(self.shell.id()).len() < count {
                assert!(Instant::now() < give_up);
                std::thread::sleep(Duration::from_millis(1));
            }
        }

        fn await_state(&self, stopped: bool) {
            let give_up = Instant::now() + PATIENCE;
            while (self.state() == 'T') != stopped {
                assert!(Instant::now() < give_up, "{}", self.state());
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    impl Drop for Spinner {
        fn drop(&mut self) {
            let _ = self.turns.end();
            let _ = super::killpg(Pid::from_raw(self.shell.id().cast_signed()), Signal::SIGKILL);
            let _ = self.shell.wait();
        }
    }

    /// With a CPU to spare the clock is read while it runs, and without one it is stopped for that.
    #[test]
    fn it_stands_still_between_its_turns_and_its_clock_is_exact() {
        for spare in [None].into_iter().chain(two_cpus().map(|[_, spare]| Some(spare))) {
            let mut spinner = Spinner::start("while :; do :; done", spare);
            spinner.turns.halt().unwrap();
            assert_eq!(spinner.state(), 'T');
            spinner.turns.begin().unwrap();
            let mut last = spinner.board.await_edge(0, Mark::FIRST, PATIENCE).unwrap();
            for _ in 0..20 {
                spinner.tell(Order::GoOn);
                std::thread::sleep(Duration::from_millis(2));
                let start = spinner.tell(Order::GoOn);
                let stop = spinner.tell(Order::Stop);
                assert_eq!(spinner.state(), 'T', "{spare:?}");
                assert!(start.cpu >= last.cpu && stop.cpu >= start.cpu && stop.time > start.time, "{spare:?}: {start:?} {stop:?}");
                // It never sleeps: the stop is no switch of the slice.
                assert_eq!(stop.switches.voluntary, start.switches.voluntary, "{spare:?}: {start:?} {stop:?}");
                // A stopped program's clock does not move.
                last = spinner.tell(Order::Tell);
                assert!(last.cpu >= stop.cpu, "{spare:?}: {stop:?} {last:?}");
                assert_eq!(spinner.tell(Order::Tell).cpu, last.cpu, "{spare:?}");
            }
            assert!(last.cpu.get() > 0, "{spare:?}: {last:?}");
            let readings = spinner.turns.end().unwrap();
            // An edge is uncertain by the time of its reading where the program runs meanwhile.
            assert_eq!(readings.error.get() > 0, spare.is_some(), "{spare:?}: {readings:?}");
            spinner.await_state(false);
        }
    }

    #[test]
    fn pauses_for_a_reading_are_no_time_of_its_slice() {
        let mut spinner = Spinner::start("while :; do :; done", None);
        spinner.turns.halt().unwrap();
        spinner.turns.begin().unwrap();
        spinner.board.await_edge(0, Mark::FIRST, PATIENCE).unwrap();
        spinner.tell(Order::GoOn);
        let give_up = Instant::now() + PATIENCE;
        // Each of them is short: together they are longer than the time until an edge is read.
        while clock::monotonic() <= spinner.tell(Order::Tell).time + Nanos::from_millis(20) {
            assert!(Instant::now() < give_up);
        }
        // The next turn has none yet.
        spinner.tell(Order::Stop);
        spinner.tell(Order::GoOn);
        let before = clock::monotonic();
        assert!(spinner.tell(Order::GoOn).time >= before);
    }

    #[test]
    fn threads_that_come_in_a_slice_make_its_clock_uncertain() {
        let Some([_, spare]) = two_cpus() else { return };
        for comes in [false, true] {
            // A thread of a shell is that of a process.
            let mut spinner = Spinner::start("trap 'sleep 600 &' USR1; echo; while :; do :; done", Some(spare));
            let shell = Pid::from_raw(spinner.shell.id().cast_signed());
            assert_eq!(spinner.shell.stdout.take().unwrap().read(&mut [0]).unwrap(), 1);
            spinner.turns.halt().unwrap();
            spinner.turns.begin().unwrap();
            spinner.board.await_edge(0, Mark::FIRST, PATIENCE).unwrap();
            spinner.tell(Order::GoOn);
            spinner.tell(Order::GoOn);
            if comes {
                nix::sys::signal::kill(shell, Signal::SIGUSR1).unwrap();
                spinner.await_processes(2);
            }
            spinner.tell(Order::Stop);
            let readings = spinner.turns.end().unwrap();
            assert_eq!((readings.error.get() >= process::TICK, readings.changed), (comes, comes), "{readings:?}");
        }
    }

    #[test]
    fn it_goes_on_when_its_turns_are_dropped() {
        let spinner = Spinner::start("while :; do :; done", None);
        for begins in [false, true] {
            let page = Arc::new(Page::new().unwrap());
            spinner.board.clear(1, Order::Stop);
            let seat = spinner.board.seat_here(1).unwrap();
            let ids = [spinner.shell.id(), NO_HARNESS];
            let mut turns = Turns::new(seat, &task(Role::Sender, Test::UdpStream), ids, None, page);
            turns.halt().unwrap();
            spinner.await_state(true);
            if begins {
                turns.begin().unwrap();
                spinner.board.await_edge(1, Mark::FIRST, PATIENCE).unwrap();
            }
            drop(turns);
            spinner.await_state(false);
        }
    }

    #[test]
    fn its_children_stop_with_it_unless_they_left_its_group() {
        let mut spinner = Spinner::start("sleep 600 & sleep 600 & wait", None);
        spinner.await_processes(3);
        spinner.turns.halt().unwrap();
        let family = tree::family(spinner.shell.id());
        assert!(family.len() == 3 && family.iter().all(|(pid, _)| super::stands_still(*pid, *pid)), "{family:?}");
        drop(spinner);
        let mut spinner = Spinner::start("setsid sleep 600 & wait", None);
        spinner.await_processes(2);
        let away = tree::family(spinner.shell.id())[1].0;
        let give_up = Instant::now() + PATIENCE;
        while super::getpgid(Some(Pid::from_raw(away.cast_signed()))).unwrap().as_raw().cast_unsigned() != away {
            assert!(Instant::now() < give_up);
        }
        let refusal = spinner.turns.halt().unwrap_err();
        let _ = nix::sys::signal::kill(Pid::from_raw(away.cast_signed()), Signal::SIGKILL);
        assert!(refusal.contains(&format!("a group of its own ({away})")) && refusal.contains("--in-turn"), "{refusal}");
    }
}
