//! Scheduling of a thread, set and read by its id.
//!
//! No crate of ours wraps these calls, and `lab` has no unsafe code.

use std::io;

use model::Nanos;
use model::condition::Priority;
use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::Pid;

/// Sets how a thread is preferred; 0 is this one. `usual` leaves it as it is.
///
/// # Errors
/// The system's answer: EPERM and EACCES without the right to it.
pub fn set(thread: u32, priority: Priority) -> io::Result<()> {
    match priority {
        Priority::Usual => Ok(()),
        Priority::Nice(nice) => {
            // SAFETY: the call takes numbers alone.
            let answer = unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, nice.into()) };
            Errno::result(answer).map(drop).map_err(io::Error::from)
        }
        Priority::Realtime(level) => {
            let parameters = libc::sched_param { sched_priority: level.into() };
            // SAFETY: the parameters are alive during the call, which only reads them.
            let answer = unsafe { libc::sched_setscheduler(thread.cast_signed(), libc::SCHED_FIFO, &raw const parameters) };
            Errno::result(answer).map(drop).map_err(io::Error::from)
        }
    }
}

/// Returns how a thread is preferred; 0 is this one. Of anything but SCHED_FIFO it is
/// the nice value.
///
/// # Errors
/// The system's answer: ESRCH of a thread that has ended.
pub fn read(thread: u32) -> io::Result<Priority> {
    // SAFETY: the call takes a number alone.
    let policy = unsafe { libc::sched_getscheduler(thread.cast_signed()) };
    if Errno::result(policy)? & !libc::SCHED_RESET_ON_FORK == libc::SCHED_FIFO {
        let mut parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: the parameters are alive during the call, which fills them in.
        Errno::result(unsafe { libc::sched_getparam(thread.cast_signed(), &raw mut parameters) })?;
        return Ok(Priority::Realtime(u8::try_from(parameters.sched_priority).unwrap_or(u8::MAX)));
    }
    // -1 is a nice value as well as a failure: errno tells them apart.
    Errno::clear();
    // SAFETY: the call takes numbers alone.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, thread) };
    match Errno::last() {
        errno if nice == -1 && errno != Errno::UnknownErrno => Err(errno.into()),
        _ => Ok(Priority::Nice(i8::try_from(nice).unwrap_or(i8::MAX))),
    }
}

/// Puts this thread, which keeps the time, before those that it has started: among many that spin
/// it would wait for all of them at an edge, and one of real time that spins lets no other of its
/// own level run. It sleeps but for a few moments of a trial. Each way needs less of a right than
/// the one before, and without any it is as it was.
pub(crate) fn come_first() {
    let level = match read(0) {
        Ok(Priority::Realtime(level)) => level.saturating_add(1),
        _ => 1,
    };
    let _ = set(0, Priority::Realtime(level)).or_else(|_| set(0, Priority::Nice(-20))).or_else(|_| take_short_turns());
}

/// Asks for the shortest turns, which come the sooner (`sched_setattr(2)`; from Linux 6.12 on, and
/// of no effect before).
fn take_short_turns() -> io::Result<()> {
    /// The first version of the kernel's `struct sched_attr`.
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    /// `SCHED_FLAG_KEEP_POLICY`; the nice value is this thread's own.
    const KEEP_POLICY: u64 = 0x08;
    /// The shortest that the kernel gives, in ns.
    const SHORTEST: u64 = 100_000;
    let Ok(Priority::Nice(nice)) = read(0) else { return Ok(()) };
    let size = size_of::<Attributes>() as u32;
    let wanted =
        Attributes { size, policy: 0, flags: KEEP_POLICY, nice: nice.into(), priority: 0, runtime: SHORTEST, deadline: 0, period: 0 };
    // SAFETY: the attributes are alive during the call, which only reads as many bytes as they say.
    let answer = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const wanted, 0) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Binds this thread, and those that it will start, to a CPU. Returns the reason if
/// it could not be bound.
pub(crate) fn bind_to_cpu(cpu: Option<u32>) -> Option<String> {
    let cpu = cpu?;
    let mut only = CpuSet::new();
    let bound = only.set(cpu as usize).and_then(|()| sched_setaffinity(Pid::from_raw(0), &only));
    bound.err().map(|errno| format!("sched_setaffinity to CPU {cpu}: {errno}"))
}

/// Binds this thread to a set of CPUs; leaves it as it is where there are none.
///
/// # Errors
/// The refusal, with the CPUs: those of another machine may not be there.
pub fn bind_to(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    let bound = cpus.iter().try_for_each(|cpu| set.set(*cpu as usize)).and_then(|()| match cpus {
        [] => Ok(()),
        _ => sched_setaffinity(Pid::from_raw(0), &set),
    });
    let refused = |errno| io::Error::other(format!("sched_setaffinity to CPUs {cpus:?}: {errno}")); // words:allow
    bound.map_err(refused)
}

/// Binds this thread to the first of the CPUs, so that what the sockets need is
/// made there, once it has seen that it may be bound to each of them. Returns
/// the CPUs it had, and why it could not be bound.
pub(crate) fn bind_to_first(cpus: &[u32]) -> (Option<CpuSet>, Option<String>) {
    let free = sched_getaffinity(Pid::from_raw(0)).ok();
    let not_bound = cpus.iter().rev().find_map(|cpu| bind_to_cpu(Some(*cpu)));
    if let (Some(free), Some(_)) = (&free, &not_bound) {
        let _ = sched_setaffinity(Pid::from_raw(0), free);
    }
    (free, not_bound)
}

/// Lets the main thread run anywhere again, out of the traffic threads' way.
pub(crate) fn free_main_thread(free: Option<CpuSet>) {
    if let Some(free) = free {
        let _ = sched_setaffinity(Pid::from_raw(0), &free);
    }
}

/// Has the kernel end this process when a real-time thread of it has run for so
/// long without waiting for anything: on its CPU nobody else could end it then,
/// and a trial is over long before.
pub(crate) fn end_after(longest: Nanos) {
    let microseconds = (longest.get() / 1_000).max(1);
    // Without it, it is as before: the limit is for what should not happen.
    let _ = setrlimit(Resource::RLIMIT_RTTIME, microseconds, microseconds);
}

#[cfg(test)]
mod tests {
    use std::thread;

    use model::condition::Priority;

    use super::{read, set};

    #[test]
    fn what_is_set_is_read_and_inherited() {
        // On a thread of its own: the way back may not be allowed.
        let seen = thread::spawn(|| {
            let Ok(Priority::Nice(now)) = read(0) else { panic!("a thread of a test is no real-time thread") };
            set(0, Priority::Usual).unwrap();
            let later = Priority::Nice((now + 1).min(19));
            set(0, later).unwrap();
            (later, read(0).unwrap(), thread::spawn(|| read(0).unwrap()).join().unwrap())
        });
        let (asked, got, inherited) = seen.join().unwrap();
        assert_eq!((got, inherited), (asked, asked));
    }

    #[test]
    fn who_keeps_the_time_comes_before_what_it_has_started() {
        let started = thread::spawn(|| {
            let (gate, opened) = std::sync::mpsc::channel::<()>();
            let before = read(0).unwrap();
            let other = thread::spawn(move || {
                let _ = opened.recv();
                read(0).unwrap()
            });
            let allowed = set(0, Priority::Realtime(3)).is_ok();
            super::come_first();
            drop(gate);
            (allowed, before, read(0).unwrap(), other.join().unwrap())
        });
        let (allowed, before, first, other) = started.join().unwrap();
        assert_eq!(other, before, "what it has started stays as it was");
        match allowed {
            true => assert_eq!(first, Priority::Realtime(4)),
            false => assert!(matches!(first, Priority::Nice(_)), "{first}"),
        }
    }

    #[test]
    fn short_turns_need_no_right() {
        // On a thread of its own, which keeps them.
        let taken = thread::spawn(super::take_short_turns).join().unwrap();
        assert!(taken.is_ok(), "{taken:?}");
    }

    #[test]
    fn a_thread_that_is_not_there_is_an_error() {
        // Ids end at 4,194,304.
        assert_eq!(read(4_194_305).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        assert_eq!(set(4_194_305, Priority::Nice(1)).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
