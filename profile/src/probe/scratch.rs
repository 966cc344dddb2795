//! A namespace that lasts as long as a few questions.
//!
//! A child process enters fresh namespaces, puts netlink requests to the kernel
//! one after another, hands back the answers and is gone; the kernel then
//! removes whatever it made. Only a process of one thread may enter a user
//! namespace, which is why this is a fork and not a thread.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;
use std::time::Duration;

/// Namespaces in which the questions are put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// A network namespace, with the caller's rights.
    Network,
    /// A network namespace in a user namespace, which needs no rights outside it.
    UserAndNetwork,
    /// The same, made by `nobody`: what users other than the calling root get.
    UserAndNetworkOfNobody,
}

/// The part of the attempt that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Starting the child.
    Fork,
    /// Giving up root's rights.
    DropRights,
    /// Entering the namespaces.
    Unshare,
    /// Opening a netlink socket there.
    Netlink,
    /// The child did not answer in time, or died.
    Silence,
}

/// Failure to put any question.
#[derive(Debug)]
pub struct ProbeRefusal {
    /// The step that was refused.
    pub step: Step,
    /// Answer of the system.
    pub answer: io::Error,
}

/// Puts `requests`, whole netlink messages that ask for an acknowledgement, to
/// the routing family of fresh namespaces, and returns an answer to each. Takes
/// `limit` at most.
///
/// # Errors
/// When the namespaces cannot be entered.
pub fn ask(isolation: Isolation, requests: &[Vec<u8>], limit: Duration) -> Result<Vec<io::Result<()>>, ProbeRefusal> {
    let failed = |step| move |answer| ProbeRefusal { step, answer };
    let (mut ours, theirs) = io::pipe().map_err(failed(Step::Fork))?;
    // SAFETY: the child calls only async-signal-safe functions and system calls, allocates
    // nothing, and leaves through `_exit`, so the locks of threads that it lacks do not matter.
    let child = unsafe { libc::fork() };
    match child {
        -1 => return Err(failed(Step::Fork)(io::Error::last_os_error())),
        0 => in_child(theirs.as_raw_fd(), isolation, requests, limit),
        _ => drop(theirs),
    }
    let mut bytes = Vec::new();
    let read = ours.read_to_end(&mut bytes);
    // SAFETY: takes numbers only; the child has not been waited for, so the id is still its own.
    unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
    read.map_err(failed(Step::Silence))?;
    let codes: Vec<i32> = bytes.chunks_exact(4).map(|code| i32::from_ne_bytes(code.try_into().unwrap_or_default())).collect();
    sort(&codes, requests.len())
}

/// Tells the codes of the steps from those of the requests.
fn sort(codes: &[i32], requests: usize) -> Result<Vec<io::Result<()>>, ProbeRefusal> {
    const STEPS: [Step; 3] = [Step::DropRights, Step::Unshare, Step::Netlink];
    if let Some((step, code)) = STEPS.into_iter().zip(codes).find(|(_, code)| **code != 0) {
        return Err(ProbeRefusal { step, answer: io::Error::from_raw_os_error(*code) });
    }
    if codes.len() != STEPS.len() + requests {
        return Err(ProbeRefusal { step: Step::Silence, answer: io::ErrorKind::TimedOut.into() });
    }
    let answer = |code: &i32| if *code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(*code)) };
    Ok(codes[STEPS.len()..].iter().map(answer).collect())
}

/// The child's life: each step's errno, 0 for success, goes into `out`. An alarm ends it.
fn in_child(out: RawFd, isolation: Isolation, requests: &[Vec<u8>], limit: Duration) -> ! {
    let say = |code: i32| {
        // SAFETY: writes the four bytes of a number that outlives the call.
        unsafe { libc::write(out, (&raw const code).cast(), size_of::<i32>()) };
        code
    };
    let leave = || -> ! {
        // SAFETY: ends the child without running anything of the parent's.
        unsafe { libc::_exit(0) }
    };
    let once = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let left = libc::timeval { tv_sec: limit.as_secs() as libc::time_t, tv_usec: libc::suseconds_t::from(limit.subsec_micros().max(1)) };
    let alarm = libc::itimerval { it_interval: once, it_value: left };
    // SAFETY: the kernel reads `alarm`, which outlives the call; the others take numbers only. The child must not outlive a
    // killed parent.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::setitimer(libc::ITIMER_REAL, &raw const alarm, ptr::null_mut());
    }
    if say(drop_rights(isolation)) != 0 || say(unshare(isolation)) != 0 {
        leave();
    }
    // SAFETY: takes numbers only.
    let socket = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
    if say(if socket < 0 { errno() } else { 0 }) != 0 {
        leave();
    }
    for request in requests {
        say(put(socket, request));
    }
    leave();
}

/// User id of `nobody` nearly everywhere.
const NOBODY: libc::c_long = 65_534;

fn drop_rights(isolation: Isolation) -> i32 {
    if isolation != Isolation::UserAndNetworkOfNobody {
        return 0;
    }
    // SAFETY: numbers only, and an empty list of groups. Raw calls, because the
    // library's would look for the parent's threads.
    let dropped = unsafe {
        libc::syscall(libc::SYS_setgroups, 0_usize, ptr::null::<libc::gid_t>()) == 0
            && libc::syscall(libc::SYS_setresgid, NOBODY, NOBODY, NOBODY) == 0
            && libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) == 0
    };
    if dropped { 0 } else { errno() }
}

fn unshare(isolation: Isolation) -> i32 {
    let flags = match isolation {
        Isolation::Network => libc::CLONE_NEWNET,
        Isolation::UserAndNetwork | Isolation::UserAndNetworkOfNobody => libc::CLONE_NEWUSER | libc::CLONE_NEWNET,
    };
    // SAFETY: takes a number; this process has one thread.
    if unsafe { libc::unshare(flags) } == 0 { 0 } else { errno() }
}

/// Sends one request and returns the errno of its acknowledgement, passing over
/// what comes before that. The kernel answers before `send` returns, so there
/// is nothing to wait for.
fn put(socket: RawFd, request: &[u8]) -> i32 {
    const HEADER: usize = 16;
    const ACKNOWLEDGEMENT: u16 = 2;
    // SAFETY: the kernel reads `request`, which outlives the call.
    if unsafe { libc::send(socket, request.as_ptr().cast(), request.len(), 0) } < 0 {
        return errno();
    }
    loop {
        let mut answer = [0_u8; 8192];
        // SAFETY: the kernel writes at most `answer.len()` bytes to `answer`, which outlives the call.
        let received = unsafe { libc::recv(socket, answer.as_mut_ptr().cast(), answer.len(), libc::MSG_DONTWAIT) };
        match received {
            ..0 => return errno(),
            0..20 => return libc::EPROTO,
            _ if u16::from_ne_bytes([answer[4], answer[5]]) != ACKNOWLEDGEMENT => {}
            _ => return -i32::from_ne_bytes([answer[HEADER], answer[HEADER + 1], answer[HEADER + 2], answer[HEADER + 3]]),
        }
    }
}

fn errno() -> i32 {
    // SAFETY: the address of this thread's errno is always valid.
    unsafe { *libc::__errno_location() }
}

#[cfg(test)]
mod tests {
    use super::{Isolation, Step, ask, sort};
    use std::time::{Duration, Instant};

    /// RTM_GETLINK for the device `index`.
    fn device(index: u8) -> Vec<u8> {
        let mut message = vec![0; 32];
        message[0] = 32;
        message[4] = 18;
        message[6] = 1 | 4;
        message[20] = index;
        message
    }

    #[test]
    fn each_request_has_its_answer() {
        // Device 1 is `lo`; 99 does not exist.
        match ask(Isolation::UserAndNetwork, &[device(1), device(99)], Duration::from_secs(5)) {
            Ok(answers) => {
                assert!(answers[0].is_ok());
                assert_eq!(answers[1].as_ref().unwrap_err().raw_os_error(), Some(libc::ENODEV));
            }
            Err(refusal) => eprintln!("SKIPPED: each_request_has_its_answer: {:?}: {}", refusal.step, refusal.answer),
        }
    }

    #[test]
    fn the_first_failing_step_is_named() {
        let refusal = sort(&[0, libc::EPERM], 3).unwrap_err();
        assert_eq!((refusal.step, refusal.answer.raw_os_error()), (Step::Unshare, Some(libc::EPERM)));
        assert_eq!(sort(&[0, 0, 0, 0], 2).unwrap_err().step, Step::Silence);
        let answers = sort(&[0, 0, 0, 0, libc::ENOENT], 2).unwrap();
        assert!(answers[0].is_ok() && answers[1].as_ref().unwrap_err().raw_os_error() == Some(libc::ENOENT));
    }

    #[test]
    fn no_time_means_no_answer() {
        let started = Instant::now();
        let asked = ask(Isolation::UserAndNetwork, &[device(99)], Duration::ZERO);
        assert_eq!(asked.unwrap_err().step, Step::Silence);
        assert!(started.elapsed() < Duration::from_secs(2));
    }
}
