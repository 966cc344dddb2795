//! The keeper: a process that ends what outlives its nettoll, however that went.
//!
//! It knows of hosts by command, and of programs that were started to be observed. A host ends when
//! its input does. One that does not heed that is killed by the thread that serves it; where that
//! thread is gone with its process, the keeper does so, with everything in the command's group. It is
//! started with the first of them, hears of each, and its own input ends with the process that
//! started it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::process::Child;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use sys::process::Stat;

use crate::process;

/// Time that a command has to end by itself when its input has ended.
pub(crate) const PATIENCE: Duration = Duration::from_millis(1_500);
/// Between two looks at whether it has.
const STEP: Duration = Duration::from_millis(20);
/// The most commands that a keeper looks after: as many as a machine has processes.
const MOST: usize = 1 << 22;
/// The longest line that it hears.
const LINE: u64 = 32;

/// The commands of this process that are alive, and the keeper that knows of them.
#[derive(Debug, Default)]
struct Alive {
    commands: usize,
    keeper: Option<(Child, File)>,
}

static ALIVE: Mutex<Alive> = Mutex::new(Alive { commands: 0, keeper: None });
static FEWER: Condvar = Condvar::new();

fn alive() -> MutexGuard<'static, Alive> {
    ALIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A command that the keeper looks after until this is dropped.
#[derive(Debug)]
pub(crate) struct KeptCommand(u32);

impl KeptCommand {
    /// Has the leader of a process group, a child that is not waited for yet, and the group looked after.
    ///
    /// # Errors
    /// No keeper can be started; the leader is ended.
    pub(crate) fn new(leader: &mut Child) -> io::Result<Self> {
        let mut alive = alive();
        if alive.keeper.is_none() {
            let (keeper, to, _) = process::start(&["__keep"]).inspect_err(|_| process::end(leader, Duration::ZERO))?;
            alive.keeper = Some((keeper, to));
        }
        let leader = leader.id();
        alive.say('+', leader);
        alive.commands += 1;
        Ok(Self(leader))
    }
}

impl Drop for KeptCommand {
    fn drop(&mut self) {
        let mut alive = alive();
        alive.say('-', self.0);
        alive.commands -= 1;
        FEWER.notify_all();
    }
}

impl Alive {
    fn say(&mut self, sign: char, leader: u32) {
        // A keeper that was killed keeps nothing; hosts end with their input all the same.
        let _ = self.keeper.as_mut().map(|(_, to)| to.write_all(format!("{sign}{leader}\n").as_bytes()));
    }
}

/// Waits, before this process ends, until the commands whose connections have ended are over, as long as
/// each of them has, and then for the keeper; what is left by then is the keeper's.
pub fn settle() {
    let limit = PATIENCE + Duration::from_millis(500);
    let (mut alive, _) = FEWER.wait_timeout_while(alive(), limit, |alive| alive.commands > 0).unwrap_or_else(PoisonError::into_inner);
    let done = alive.commands == 0;
    if let Some((mut keeper, to)) = alive.keeper.take_if(|_| done) {
        drop(to);
        process::end(&mut keeper, limit);
    }
}

/// Hears of commands over standard input; when that ends, ends those that are left.
pub fn run() {
    let mut leaders: BTreeMap<u32, Option<u64>> = BTreeMap::new();
    if let Ok(input) = io::stdin().as_fd().try_clone_to_owned() {
        let mut input = BufReader::new(File::from(input));
        let mut line = String::new();
        while matches!(input.by_ref().take(LINE).read_line(&mut line), Ok(1..)) {
            let word = line.trim_end();
            if let Some(leader) = word.strip_prefix('+').and_then(|word| word.parse().ok()).filter(|_| leaders.len() < MOST) {
                leaders.insert(leader, started(leader));
            } else if let Some(leader) = word.strip_prefix('-').and_then(|word| word.parse().ok()) {
                leaders.remove(&leader);
            }
            line.clear();
        }
    }
    let begun = Instant::now();
    loop {
        leaders.retain(|leader, started| lives(*leader, *started));
        if leaders.is_empty() || begun.elapsed() >= PATIENCE {
            break;
        }
        thread::sleep(STEP);
    }
    for leader in leaders.into_keys().map(|leader| Pid::from_raw(leader.cast_signed())) {
        // It leads no group before it has made its session.
        let _ = killpg(leader, Signal::SIGKILL).or_else(|_| kill(leader, Signal::SIGKILL));
    }
}

/// Ticks from the start of the machine to that of a process which has not ended; `None` of any other.
fn started(pid: u32) -> Option<u64> {
    Stat::of(pid).filter(|stat| !stat.is_dead()).map(|stat| stat.started)
}

/// True where the leader or its group is there: a number that another process has by now has another start,
/// and none is given out while a group bears it.
fn lives(leader: u32, since: Option<u64>) -> bool {
    match started(leader) {
        Some(now) => Some(now) == since,
        None => killpg(Pid::from_raw(leader.cast_signed()), None).is_ok(),
    }
}
