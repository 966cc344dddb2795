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

/// Puts this thread one level before those that it will start, where they are
/// to be real-time threads: one that spins lets no other of its own level run,
/// not even the one that is to end it. Each of them has to [`stand_back`].
pub(crate) fn come_first() {
    if let Ok(Priority::Realtime(level)) = read(0) {
        // Without the right to it, it is as before.
        let _ = set(0, Priority::Realtime(level.saturating_add(1)));
    }
}

/// Gives this thread, started by one that came first, the priority that its end
/// was to have. A thread that is not in real time stays as it is: what a task
/// names is brought about by the host alone, and an agent's host does not.
pub(crate) fn stand_back(priority: Priority) {
    if let (Priority::Realtime(_), Ok(Priority::Realtime(_))) = (priority, read(0)) {
        // Less than it has needs no right; and had the other none to come first, it is so already.
        let _ = set(0, priority);
    }
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
pub(crate) fn bind_to(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    let bound = cpus.iter().try_for_each(|cpu| set.set(*cpu as usize)).and_then(|()| match cpus {
        [] => Ok(()),
        _ => sched_setaffinity(Pid::from_raw(0), &set),
    });
    bound.map_err(|errno| io::Error::other(format!("sched_setaffinity to CPUs {cpus:?}: {errno}")))
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
    fn no_task_makes_a_thread_a_real_time_one() {
        let seen = thread::spawn(|| {
            let before = read(0).unwrap();
            super::stand_back(Priority::Realtime(1));
            (before, read(0).unwrap())
        });
        let (before, after) = seen.join().unwrap();
        assert!(before == after && matches!(after, Priority::Nice(_)), "{before} became {after}");
    }

    #[test]
    fn a_real_time_thread_is_one_or_is_refused() {
        let seen = thread::spawn(|| {
            let asked = set(0, Priority::Realtime(1)).map_err(|error| error.raw_os_error());
            super::come_first();
            let started = thread::spawn(|| {
                super::stand_back(if read(0).unwrap() == Priority::Realtime(2) { Priority::Realtime(1) } else { Priority::Usual });
                read(0).unwrap()
            });
            (asked, read(0).unwrap(), started.join().unwrap())
        });
        match seen.join().unwrap() {
            (Ok(()), first, started) => assert_eq!((first, started), (Priority::Realtime(2), Priority::Realtime(1))),
            (Err(answer), first, started) => {
                assert_eq!(answer, Some(libc::EPERM));
                assert!(matches!(first, Priority::Nice(_)) && first == started);
            }
        }
    }

    #[test]
    fn a_thread_that_is_not_there_is_an_error() {
        // Ids end at 4,194,304.
        assert_eq!(read(4_194_305).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        assert_eq!(set(4_194_305, Priority::Nice(1)).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
