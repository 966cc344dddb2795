//! Owners of the work that samples meet: which process or unit it is done for, by programs in the kernel.
//!
//! A sample in a softirq has the task that was interrupted, not the one that the work is for. So a program at each sample
//! searches the interrupted stack for a socket ([`SampleMarks`]), at no cost for a packet; an iterator tells which process
//! holds it ([`Sockets`]). Messages and bytes are counted at two tracepoints ([`MessageCounts`]), at some 130 ns a call.

mod counts;
mod fields;
mod protocols;
mod scan;
mod sockets;

use std::os::fd::BorrowedFd;

use bpf::{Map, Numbers, Program, ProgramKind, Ring, Scratch};
use model::Refusal;
use sys::refused_call;

pub use counts::{Counted, MessageCounts};
pub use fields::Socket;
pub use sockets::{SocketHolder, Sockets};

use fields::{Fields, numbers};
use protocols::Protocols;
use scan::{CallPlaces, LOST, MEMORY, Parts};

const MECHANISM: &str = "owners of softirq work";

/// Room for marks of each CPU: 1,000 of them, for a second of the highest rate, or 10 s of the usual one.
const ROOM: usize = 128 << 10;
/// The most room of all.
const MOST: usize = 64 << 20;

/// The system call that a task is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Number of the call.
    pub number: u32,
    /// Its first argument, which many calls take for a descriptor.
    pub argument: u64,
}

/// A sample, as the program at it saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Its time, in ns of `CLOCK_MONOTONIC`: some µs before the one in the sample's record up to Linux 6.2, some µs after it
    /// since. Samples of a CPU are apart by far more, so a mark belongs to the nearest.
    pub time: u64,
    /// CPU.
    pub cpu: u32,
    /// Process of the current task, by its id in the first namespace; 0 of the idle task.
    pub process: u32,
    /// Its thread, likewise.
    pub thread: u32,
    /// Id of its cgroup (second version); 0 where it is not known.
    pub cgroup: u64,
    /// The system call that it is in (Linux 5.15).
    pub call: Option<Call>,
    /// The socket that is the first on the interrupted stack.
    pub socket: Option<Socket>,
    /// Name of the thread, with zeros to the end.
    pub name: [u8; 16],
}

impl Mark {
    /// Reads what the program in the kernel wrote; `None` of anything else.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut numbers = numbers(bytes);
        let mut next = || numbers.next();
        let (time, task, cgroup, cpu, number, argument) = (next()?, next()?, next()?, next()?, next()?, next()?);
        Some(Self {
            time,
            cpu: cpu as u32,
            process: (task >> 32) as u32,
            thread: task as u32,
            cgroup,
            call: u32::try_from(number).ok().map(|number| Call { number, argument }),
            socket: Socket::parse(bytes.get(64..)?),
            name: bytes.get(48..64)?.try_into().ok()?,
        })
    }
}

/// The program at the samples of some events.
#[derive(Debug)]
pub struct SampleMarks {
    program: Program,
    ring: Ring,
    failures: Map<Numbers>,
    _memory: Map<Scratch>,
    notes: Vec<Refusal>,
}

impl SampleMarks {
    /// Loads the program, and learns from sockets of its own which protocols this kernel has.
    ///
    /// # Errors
    /// What the kernel refused or lacks, with a remedy.
    pub fn open() -> Result<Self, Refusal> {
        if !scan::KNOWN {
            let answer = format!("registers of {} are not known", std::env::consts::ARCH);
            return Err(Refusal::new(MECHANISM, answer, "Use x86_64 or aarch64; softirq work is without owners here"));
        }
        let types = sockets::kernel_types(MECHANISM)?;
        let fields = Fields::find(&types, MECHANISM)?;
        let known = Protocols::learn(&Sockets::of_kernel(&types, fields)?)?;
        let cpus = sys::cpu::online().map_or(1, |cpus| cpus.len());
        let ring = Ring::new((cpus * ROOM).min(MOST), MECHANISM)?;
        let (failures, memory) = (Map::numbers(1, MECHANISM)?, Map::scratch(MEMORY, 1, MECHANISM)?);
        let call = CallPlaces::find(&types);
        let load = |call| {
            let (protocols, addresses) = (&known.functions, known.addresses.clone());
            let parts = Parts { memory: &memory, ring: &ring, failures: &failures, fields, protocols, addresses, call };
            Program::load(&scan::program(&parts), ProgramKind::PerfEvent, MECHANISM)
        };
        let (program, notes) = match load(call) {
            Ok(program) => (program, call.is_none().then(no_calls)),
            // Before Linux 5.15 no program may read the registers that a task entered the kernel with.
            Err(_) if call.is_some() => (load(None)?, Some(no_calls())),
            Err(refusal) => return Err(refusal),
        };
        Ok(Self { program, ring, failures, _memory: memory, notes: notes.into_iter().collect() })
    }

    /// Ties the program to a sampling event, such as [`crate::sampler::Sampler::events`] has. The kernel leaves out a sample
    /// that interrupts a program of its own at a kprobe or at a perf event.
    ///
    /// # Errors
    /// The system's answer.
    pub fn tie(&self, event: BorrowedFd) -> Result<(), Refusal> {
        self.program.tie(event, MECHANISM)
    }

    /// The marks since the last call: those of a CPU in order, those of all CPUs in none. As many as the ring holds at
    /// most.
    ///
    /// # Errors
    /// When the ring is not what the kernel promises.
    pub fn take(&mut self) -> Result<Vec<Mark>, Refusal> {
        let mut marks = Vec::new();
        let taken = self.ring.take(|record| marks.extend(Mark::parse(record)));
        taken.map_err(|error| refused_call(MECHANISM, "the ring of marks", &error, "Start again"))?;
        Ok(marks)
    }

    /// Marks for which there was no room, since the opening.
    pub fn missed(&self) -> u64 {
        self.failures.number_at(LOST)
    }

    /// What this kernel lacks. The marks are made nonetheless.
    pub fn notes(&self) -> &[Refusal] {
        &self.notes
    }
}

fn no_calls() -> Refusal {
    let answer = "this kernel or processor does not let a program read the registers of its task";
    Refusal::new("system calls of samples", answer, "Use Linux 5.15 or later; call chains alone tell the calls without it")
}

#[cfg(test)]
mod tests {
    use super::scan::SIZE;
    use super::{Call, Mark};
    use proptest::prelude::{any, prop, prop_assert, proptest};

    fn bytes(call: u64) -> Vec<u8> {
        let name = u64::from_ne_bytes(*b"sender\0\0");
        let numbers = [5, 7 << 32 | 8, 9, 1, call, 3, name, 0, 0xffff_8880_0000_0040, 2, 1, 6, 11, 12];
        numbers.iter().flat_map(|number: &u64| number.to_ne_bytes()).collect()
    }

    #[test]
    fn a_mark_reads_as_it_was_written() {
        let mark = Mark::parse(&bytes(44)).unwrap();
        assert_eq!((mark.time, mark.process, mark.thread, mark.cgroup, mark.cpu), (5, 7, 8, 9, 1));
        assert_eq!((mark.call, &mark.name), (Some(Call { number: 44, argument: 3 }), b"sender\0\0\0\0\0\0\0\0\0\0"));
        assert_eq!(mark.socket.map(|socket| (socket.protocol, socket.namespace, socket.cgroup)), Some((6, 11, 12)));
        assert_eq!(Mark::parse(&bytes(u64::MAX)).unwrap().call, None);
        let without = &mut bytes(44)[..];
        without[64..72].fill(0);
        assert_eq!(Mark::parse(without).unwrap().socket, None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(bytes.len() >= 64 || Mark::parse(&bytes).is_none());
            prop_assert!(bytes.len() < SIZE as usize || Mark::parse(&bytes).is_some());
        }
    }
}
