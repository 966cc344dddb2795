//! Known costs for a proof of receipts: those that a traffic thread bears itself, and their calibration.

use std::hint::black_box;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::time::Instant;

use model::control::{Injection, Task};
use model::{Nanos, Role};
use nix::sys::prctl::set_no_new_privs;
use nix::sys::socket::{MsgFlags, recv};

use sys::clock::spin_for;

/// An instruction of a classic filter: operation, distances to jump, number.
type Instruction = libc::sock_filter;

/// `A = number`, `A *= number`, `A = data[number]` and `return number`: BPF_* of the kernel's
/// include/uapi/linux/bpf_common.h.
const SET: u16 = 0x00;
const MULTIPLY: u16 = 0x24;
const LOAD: u16 = 0x20;
const RETURN: u16 = 0x06;
const JUMP_IF_EQUAL: u16 = 0x15;

const fn instruction(code: u16, number: u32) -> Instruction {
    Instruction { code, jt: 0, jf: 0, k: number }
}

/// Multiplications, each of which needs the one before: a known count of instructions.
fn multiplications(count: u32) -> impl Iterator<Item = Instruction> {
    // An odd number: the product never becomes 0.
    (0..count).map(|_| instruction(MULTIPLY, 0x0001_0003))
}

/// The code of a classifier of so many instructions that no packet meets.
pub fn classifier(instructions: u32) -> Vec<[u8; 8]> {
    let code = std::iter::once(instruction(SET, 1)).chain(multiplications(instructions)).chain([instruction(RETURN, 0)]);
    let bytes = |one: Instruction| {
        let ([a, b], [c, d, e, f]) = (one.code.to_ne_bytes(), one.k.to_ne_bytes());
        [a, b, one.jt, one.jf, c, d, e, f]
    };
    code.map(bytes).collect()
}

/// A filter that allows every call, the sooner where it does not send.
fn calls_filter(instructions: u32) -> Vec<Instruction> {
    const SENDING: [libc::c_long; 3] = [libc::SYS_sendto, libc::SYS_sendmsg, libc::SYS_sendmmsg];
    /// `struct seccomp_data`: the call's number, and its first argument.
    const NUMBER: u32 = 0;
    const ARGUMENT: u32 = 16;
    let allow = instruction(RETURN, libc::SECCOMP_RET_ALLOW);
    let mut code = vec![instruction(LOAD, NUMBER)];
    // Over the comparisons that are left, and the end behind them.
    let jump = |(at, call)| Instruction { jt: (SENDING.len() - at) as u8, ..instruction(JUMP_IF_EQUAL, call as u32) };
    code.extend(SENDING.into_iter().enumerate().map(jump));
    // Where an argument decides, the kernel runs the filter at each call (since Linux 5.11).
    code.extend([allow, instruction(LOAD, ARGUMENT)]);
    code.extend(multiplications(instructions));
    code.push(allow);
    code
}

/// Has the kernel run a filter at each system call of this thread and of those that it starts, for good. Calls that
/// send take so many more instructions.
///
/// # Errors
/// A refusal of the system.
pub fn filter_with(instructions: u32) -> io::Result<()> {
    let code = calls_filter(instructions);
    let program = libc::sock_fprog { len: code.len() as u16, filter: code.as_ptr().cast_mut() };
    set_no_new_privs()?;
    // SAFETY: the kernel reads the program and its `len` instructions, which outlive the call.
    match unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Puts the filter of a task, where it has one, before the calls of this traffic thread.
pub(crate) fn filter_calls(task: &Task) -> io::Result<()> {
    match task.injection {
        Some(Injection::Filter(instructions)) if task.role == Role::Sender => filter_with(instructions)
            .map_err(|answer| io::Error::new(answer.kind(), format!("set a filter of system calls (seccomp): {answer}"))),
        _ => Ok(()),
    }
}

/// Returns whether this end of a task copies before each message.
pub(crate) fn copies(task: &Task) -> bool {
    task.role == Role::Sender && matches!(task.injection, Some(Injection::Copy(_)))
}

/// Copies from the kernel: looks at a datagram that waits in a socket of its own, and leaves it there.
#[derive(Debug)]
pub struct Copier {
    socket: UnixDatagram,
    _other: UnixDatagram,
    room: Vec<u8>,
}

impl Copier {
    fn new(bytes: u32) -> io::Result<Self> {
        let (socket, other) = UnixDatagram::pair()?;
        let room = vec![1; bytes as usize];
        other.send(&room)?;
        Ok(Self { socket, _other: other, room })
    }

    /// The one of a task, where it copies.
    ///
    /// # Errors
    /// A refusal of the system.
    pub(crate) fn of(task: &Task) -> io::Result<Option<Self>> {
        match task.injection {
            Some(Injection::Copy(bytes)) if copies(task) => Self::new(bytes).map(Some),
            _ => Ok(None),
        }
    }

    /// Copies all bytes.
    #[inline]
    pub(crate) fn copy(&mut self) {
        self.copy_some(self.room.len());
    }

    fn copy_some(&mut self, bytes: usize) {
        // The datagram is there; were it not, the cost would not be found.
        let _ = black_box(recv(self.socket.as_raw_fd(), &mut self.room[..bytes], MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT));
    }
}

/// The shortest mean time of a call: a disturbance makes it longer.
pub fn time_of(mut call: impl FnMut()) -> f64 {
    const RUNS: u32 = 40;
    const CALLS: u32 = 100;
    let mut run = || {
        let begun = Instant::now();
        (0..CALLS).for_each(|_| call());
        begun.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    (0..RUNS).map(|_| run()).fold(f64::MAX, f64::min)
}

/// Time that a known cost takes where this thread runs: what a call takes with it, less what it takes with the
/// least of its kind. A filter stays with this thread. `None` of rules, which need a network.
///
/// # Errors
/// A refusal of the system.
pub fn calibrate(injection: Injection) -> io::Result<Option<Nanos>> {
    let cost = match injection {
        Injection::Work(work) => time_of(|| spin_for(work)),
        Injection::Copy(bytes) => {
            let mut copier = Copier::new(bytes)?;
            let all = time_of(|| copier.copy());
            all - time_of(|| copier.copy_some(1))
        }
        // The same instructions, compiled by the same compiler.
        Injection::Filter(instructions) | Injection::Classifier(instructions) => {
            // It is refused at once: there is no such descriptor.
            let call = || _ = black_box(nix::sys::socket::send(-1, &[], MsgFlags::empty()));
            filter_with(0)?;
            let least = time_of(call);
            filter_with(instructions)?;
            // Both filters run now.
            let both = time_of(call);
            filter_with(0)?;
            both - least - (time_of(call) - both)
        }
        Injection::Rules(_) => return Ok(None),
    };
    Ok(Some(Nanos::new(cost.max(0.0).round() as u64)))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use model::Nanos;
    use model::control::Injection;

    use super::{Copier, calibrate, calls_filter, classifier};

    /// What a kind costs in two sizes, each on a thread of its own: a filter stays.
    fn costs(one: Injection, other: Injection) -> [u64; 2] {
        [one, other].map(|injection| thread::spawn(move || calibrate(injection)).join().unwrap().unwrap().unwrap().get())
    }

    #[test]
    fn twice_as_much_costs_twice_as_much() {
        let kinds: [fn(u32) -> Injection; 4] =
            [Injection::Filter, Injection::Classifier, |n| Injection::Copy(32 * n), |n| Injection::Work(Nanos::new(n.into()))];
        for kind in kinds {
            // In turn and more than once: the CPU's speed changes between two measurements.
            let found: Vec<[u64; 2]> = (0..5).map(|_| costs(kind(1_000), kind(2_000))).collect();
            let mut ratios: Vec<f64> = found.iter().map(|[small, large]| *large as f64 / *small as f64).collect();
            ratios.sort_by(f64::total_cmp);
            assert!((1.3..3.0).contains(&ratios[2]), "{:?}: {found:?} ns", kind(1_000));
        }
        assert_eq!(calibrate(Injection::Rules(1)).unwrap(), None);
    }

    #[test]
    fn a_copy_leaves_its_datagram_and_programs_have_their_count() {
        let mut copier = Copier::new(Injection::MOST_BYTES).unwrap();
        for _ in 0..3 {
            copier.room.fill(0);
            copier.copy();
            assert!(copier.room.iter().all(|byte| *byte == 1));
        }
        assert_eq!(classifier(10).len(), 12);
        let code = calls_filter(10);
        assert_eq!(code.len(), 17);
        // Each comparison jumps behind the end of those that do not send.
        assert!((1..4).all(|at| at + 1 + usize::from(code[at].jt) == 5));
    }
}
