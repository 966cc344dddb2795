//! Owners of the work that samples meet: marks of the program at each sample, joined with the sockets that
//! processes hold.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use model::sorting::Gather;
use model::top::{Drops, Owner};
use model::{Nanos, Refusal};
use nix::libc;
use profile::machine::MachineSample;
use profile::owners::{Mark, SampleMarks, Socket, Sockets};

use super::units::Units;

/// How old the list of sockets may be.
const AGE: Duration = Duration::from_secs(5);
/// Between two lists where a sample has met a socket that is not in the last one.
const SOONEST: Duration = Duration::from_secs(1);
/// Farthest that a mark may be from its sample: samples of a CPU are farther apart at every rate that is taken.
const NEAR: u64 = 50_000;

/// Finds owners, as far as this kernel lets.
#[derive(Debug, Default)]
pub struct Owners {
    marks: Option<SampleMarks>,
    sockets: Option<Sockets>,
    held: HeldSockets,
    dropped: DroppedPackets,
    read: Option<Instant>,
    /// True where a sample has met a socket that is not in the list.
    unknown: bool,
    missed: u64,
}

/// The sockets that processes hold.
#[derive(Debug, Default)]
struct HeldSockets {
    /// Processes by the address of a socket, the lowest first.
    holders: HashMap<u64, Vec<u32>>,
    /// Descriptors that are sockets.
    descriptors: HashSet<(u32, u32)>,
    /// TCP connections by process: each is counted for the lowest that holds it.
    connections: HashMap<u32, u32>,
}

/// Packets that sockets dropped between the last two lists.
#[derive(Debug, Default)]
struct DroppedPackets {
    /// Counters of the last list, by address and inode: the address of one that was closed is given to another. `None`
    /// without such a list.
    counters: Option<BTreeMap<(u64, u64), u32>>,
    /// Time between the lists, and the sockets with drops.
    since: Option<(Duration, Vec<(Socket, u64)>)>,
}

impl DroppedPackets {
    /// Takes another list, of sockets with inode and counter, which was read so long after the last one.
    fn add(&mut self, held: &[(Socket, u64, u32)], after: Option<Duration>) {
        let counters = held.iter().map(|(socket, inode, drops)| ((socket.address, *inode), *drops)).into_map();
        let Some(before) = self.counters.replace(counters) else {
            self.since = None;
            return;
        };
        let mut counted = HashSet::new();
        let dropped = held.iter().filter(|(socket, ..)| counted.insert(socket.address)).filter_map(|(socket, inode, drops)| {
            let drops = drops.wrapping_sub(before.get(&(socket.address, *inode)).copied().unwrap_or(0));
            (drops > 0).then_some((*socket, u64::from(drops)))
        });
        let dropped = dropped.collect();
        self.since = after.map(|after| (after, dropped));
    }
}

/// `TCP_ESTABLISHED`.
const ESTABLISHED: u8 = 1;

impl HeldSockets {
    /// Of processes with their descriptors and the sockets of these.
    fn of(held: impl Iterator<Item = (u32, u32, Socket)>) -> Self {
        let mut this = Self::default();
        let mut connections = HashSet::new();
        for (process, descriptor, socket) in held {
            let holders = this.holders.entry(socket.address).or_default();
            if let Err(place) = holders.binary_search(&process) {
                holders.insert(place, process);
            }
            this.descriptors.insert((process, descriptor));
            if i32::from(socket.protocol) == libc::IPPROTO_TCP && socket.state == ESTABLISHED {
                connections.insert(socket.address);
            }
        }
        for process in connections.iter().filter_map(|address| this.holders.get(address)?.first()) {
            *this.connections.entry(*process).or_default() += 1;
        }
        this
    }

    /// The process that a socket is counted for: its only holder; of several the first that is `active`, else the lowest.
    fn process(&self, address: u64, active: &BTreeSet<u32>) -> Option<u32> {
        let holders = self.holders.get(&address)?;
        holders.iter().find(|process| active.contains(process)).or_else(|| holders.first()).copied()
    }
}

impl Owners {
    /// Loads the programs; `note` gets what this kernel refuses.
    pub fn open(mut note: impl FnMut(Refusal)) -> Self {
        let marks = SampleMarks::open().map_err(&mut note).ok();
        if let Some(marks) = &marks {
            marks.notes().iter().cloned().for_each(&mut note);
        }
        let sockets = marks.as_ref().and_then(|_| Sockets::open().map_err(&mut note).ok());
        Self { marks, sockets, ..Self::default() }
    }

    /// Ties the program to the event of a CPU.
    ///
    /// # Errors
    /// The system's answer.
    pub fn tie(&self, event: BorrowedFd) -> Result<(), Refusal> {
        self.marks.as_ref().map_or(Ok(()), |marks| marks.tie(event))
    }

    /// Drops the marks since the last call.
    pub fn forget(&mut self) {
        if let Some(marks) = &mut self.marks {
            // Marks that cannot be read now cannot be read later either, which is said then.
            let _ = marks.take();
            self.missed = marks.missed();
        }
    }

    /// The marks since the last call; `note` gets what went wrong. Reads the sockets again where that is due.
    pub fn take(&mut self, mut note: impl FnMut(Refusal)) -> Marks {
        let Some(marks) = &mut self.marks else { return Marks::default() };
        let taken = marks.take().map_err(&mut note).unwrap_or_default();
        let missed = marks.missed();
        if missed > self.missed {
            self.missed = missed;
            note(Refusal::new("owners of softirq work", "the ring of marks had no room", "Sample less often with --rate"));
        }
        let met = |mark: &Mark| mark.socket.is_some_and(|socket| !self.held.holders.contains_key(&socket.address));
        self.unknown |= taken.iter().any(met);
        let due = if self.unknown { SOONEST } else { AGE };
        if self.read.is_none_or(|read| read.elapsed() >= due) {
            let after = self.read.replace(Instant::now()).map(|read| read.elapsed());
            self.unknown = false;
            match self.sockets.as_ref().map(Sockets::held) {
                Some(Ok(held)) => {
                    self.held = HeldSockets::of(held.iter().map(|one| (one.process, one.descriptor, one.socket)));
                    let counters: Vec<_> = held.iter().map(|one| (one.socket, one.inode, one.drops)).collect();
                    self.dropped.add(&counters, after);
                }
                Some(Err(refusal)) => {
                    self.dropped = DroppedPackets::default();
                    note(refusal);
                }
                None => {}
            }
        }
        Marks::of(taken)
    }

    /// The TCP connections of a process, by the last list of sockets; `None` where there is none.
    pub fn connections(&self, process: u32) -> Option<u32> {
        self.sockets.as_ref().map(|_| self.held.connections.get(&process).copied().unwrap_or_default())
    }

    /// The packets that sockets dropped between the last two lists, once.
    pub fn drops(&mut self, active: &BTreeSet<u32>, units: &mut Units) -> Option<Drops> {
        let (after, dropped) = self.dropped.since.take()?;
        let owners = dropped.iter().map(|(socket, drops)| (self.owner(socket, active, units), *drops)).collect();
        Some(Drops { counted: Nanos::from(after), owners })
    }

    /// The owner of a socket; `active` are the processes that are in samples.
    pub fn owner(&self, socket: &Socket, active: &BTreeSet<u32>, units: &mut Units) -> Owner {
        let process = self.held.process(socket.address, active);
        // The root is where every socket is that was made before its process moved, or on hosts with version 1.
        let unit = units.path(socket.cgroup).filter(|path| *path != "/" || process.is_none()).map(str::to_owned);
        Owner { process, unit: unit.map(|path| units.place(&path)) }
    }

    /// True where a task is in a system call on a socket; `None` where its kernel does not say which call it is in.
    pub fn in_socket_call(&self, mark: &Mark) -> Option<bool> {
        let Some(call) = mark.call else { return if self.tells_calls() { Some(false) } else { None } };
        let number = i64::from(call.number);
        if SOCKET_CALLS.contains(&number) {
            return Some(true);
        }
        let descriptor = u32::try_from(call.argument).ok();
        let is_socket = |descriptor| self.held.descriptors.contains(&(mark.process, descriptor));
        Some(FILE_CALLS.contains(&number) && descriptor.is_some_and(is_socket))
    }

    fn tells_calls(&self) -> bool {
        self.marks.as_ref().is_some_and(|marks| marks.notes().is_empty())
    }
}

/// System calls on sockets alone.
const SOCKET_CALLS: [i64; 18] = [
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_setsockopt,
    libc::SYS_getsockopt,
    libc::SYS_shutdown,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvmmsg,
];

/// System calls on any file, the descriptor of which is their first argument.
const FILE_CALLS: [i64; 8] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_ioctl,
    libc::SYS_close,
];

/// Marks by CPU, in order of time.
#[derive(Debug, Default)]
pub struct Marks {
    by_cpu: BTreeMap<u32, Vec<Mark>>,
}

impl Marks {
    fn of(taken: Vec<Mark>) -> Self {
        let mut by_cpu: BTreeMap<u32, Vec<Mark>> = BTreeMap::new();
        for mark in taken {
            by_cpu.entry(mark.cpu).or_default().push(mark);
        }
        Self { by_cpu }
    }

    /// That of a sample: the nearest on its CPU.
    pub fn of_sample(&self, sample: &MachineSample) -> Option<&Mark> {
        let marks = self.by_cpu.get(&sample.cpu)?;
        let after = marks.partition_point(|mark| mark.time < sample.time);
        let near = |place: usize| marks.get(place).filter(|mark| mark.time.abs_diff(sample.time) <= NEAR);
        let candidates = [after.checked_sub(1).and_then(near), near(after)];
        candidates.into_iter().flatten().min_by_key(|mark| mark.time.abs_diff(sample.time))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use nix::libc;
    use profile::machine::MachineSample;
    use profile::owners::{Call, Mark, Socket};

    use super::{DroppedPackets, HeldSockets, Marks, Owners};

    fn mark(cpu: u32, time: u64) -> Mark {
        Mark { time, cpu, process: 7, thread: 7, cgroup: 0, call: None, socket: None, name: [0; 16] }
    }

    fn sample(cpu: u32, time: u64) -> MachineSample {
        MachineSample { cpu, pid: 7, tid: 7, time, chain: 0 }
    }

    #[test]
    fn a_sample_has_the_nearest_mark_of_its_cpu() {
        let marks = Marks::of(vec![mark(0, 1_000_000), mark(0, 2_000_000), mark(1, 1_500_000)]);
        let time = |cpu, at| marks.of_sample(&sample(cpu, at)).map(|mark| mark.time);
        assert_eq!(time(0, 1_004_000), Some(1_000_000));
        assert_eq!(time(0, 1_999_000), Some(2_000_000));
        assert_eq!(time(1, 1_500_000), Some(1_500_000));
        // A sample without a mark has no other's.
        assert_eq!([time(0, 1_500_000), time(2, 1_500_000), time(0, 0)], [None; 3]);
    }

    #[test]
    fn a_shared_socket_is_counted_for_the_holder_that_is_active() {
        let mut held = HeldSockets::default();
        held.holders.insert(0xff, vec![10, 11, 12]);
        assert_eq!(held.process(0xff, &BTreeSet::from([12])), Some(12));
        assert_eq!(held.process(0xff, &BTreeSet::new()), Some(10));
        assert_eq!(held.process(0xfe, &BTreeSet::new()), None);
    }

    #[test]
    fn drops_are_those_between_two_lists_and_another_socket_at_the_same_address_has_its_own() {
        let held = |address, inode, drops| {
            let socket = Socket { address, family: 2, protocol: 17, cgroup: 0, namespace: 0, state: 7 };
            (socket, inode, drops)
        };
        let mut dropped = DroppedPackets::default();
        let mut between = |list: &[(Socket, u64, u32)], after| {
            dropped.add(list, after);
            dropped
                .since
                .take()
                .map(|(after, sockets)| (after, sockets.iter().map(|(socket, drops)| (socket.address, *drops)).collect::<Vec<_>>()))
        };
        let second = Duration::from_secs(1);
        assert_eq!(between(&[held(1, 11, u32::MAX), held(2, 12, 5)], None), None);
        // Two descriptors of one socket; a counter that wraps; a socket that is closed, and one that is opened.
        let list = [held(1, 11, 2), held(1, 11, 2), held(2, 13, 1), held(3, 14, 0)];
        assert_eq!(between(&list, Some(second)), Some((second, vec![(1, 3), (2, 1)])));
        assert_eq!(between(&list, Some(second)), Some((second, vec![])));
        // After a list that was refused, the next one is the first again.
        dropped = DroppedPackets::default();
        dropped.add(&list, Some(second));
        assert_eq!(dropped.since, None);
    }

    #[test]
    fn a_connection_of_two_processes_is_counted_once_and_a_listening_socket_is_none() {
        let tcp = libc::IPPROTO_TCP as u16;
        let all = [(8, 1, tcp, 1), (7, 1, tcp, 1), (7, 2, tcp, 1), (7, 3, tcp, 10), (8, 4, 17, 1)];
        let held = HeldSockets::of(all.into_iter().map(|(process, address, protocol, state)| {
            (process, 3, Socket { address, family: 2, protocol, cgroup: 0, namespace: 0, state })
        }));
        assert_eq!([7, 8].map(|process| held.connections.get(&process).copied()), [Some(2), None]);
    }

    #[test]
    fn a_read_is_on_a_socket_where_its_descriptor_is_one() {
        let mut owners = Owners::default();
        owners.held.descriptors.insert((7, 3));
        let call = |number, argument| Mark { call: Some(Call { number: number as u32, argument }), ..mark(0, 1) };
        let on = |number, argument| owners.in_socket_call(&call(number, argument));
        assert_eq!(on(libc::SYS_sendto, 99), Some(true));
        assert_eq!([on(libc::SYS_read, 3), on(libc::SYS_read, 4), on(libc::SYS_read, u64::MAX)], [Some(true), Some(false), Some(false)]);
        assert_eq!(on(libc::SYS_futex, 3), Some(false));
        assert_eq!(owners.in_socket_call(&mark(0, 1)), None);
        let socket = Socket { address: 1, family: 2, protocol: 17, cgroup: 0, namespace: 0, state: 1 };
        let found = owners.owner(&socket, &BTreeSet::new(), &mut crate::top::units::Units::find());
        assert_eq!((found.process, found.unit), (None, None));
    }
}
