//! Sockets that samples meet, those that processes hold, and messages of processes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::{Duration, Instant};

use model::Nanos;
use model::profile::SampleSource;
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use profile::owners::{Mark, MessageCounts, SampleMarks, SocketHolder, Sockets};
use profile::sampler::record::{Record, Sample};
use profile::sampler::{Sampler, Settings, Target};
use profile::symbols::Symbols;

use crate::Skip;
use crate::child::{bind_to, serve};
use crate::observed::Observed;

/// Rounds of a child with two pairs of sockets.
const ROUNDS: u64 = 300_000;
/// Datagrams of the first pair for each one of the second.
const MORE: u64 = 4;
/// Datagrams that no receive buffer of the usual size has room for.
const FLOOD: u32 = 10_000;
/// Sockets of a process that has many.
const MANY: u16 = 10_000;
/// The longest recording.
const LONGEST: Nanos = Nanos::from_millis(20_000);
/// Distance of samples, in ns: 1,000 a second, at no multiple of the tick.
const DISTANCE: u64 = 1_000_003;
/// The most by which the times of a sample and of its mark differ, in ns.
const NEAR: u64 = 200_000;

/// A socket that the test opens itself.
pub fn of_a_socket() -> Result<(), Skip> {
    let begun = Instant::now();
    let sockets = Sockets::open()?;
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let opened = begun.elapsed();
    let held = sockets.held()?;
    println!("opening the iterator: {opened:?}, {} sockets: {:?}", held.len(), begun.elapsed() - opened);
    let inode = File::from(socket.as_fd().try_clone_to_owned().unwrap()).metadata().unwrap().ino();
    let [found] = held.into_iter().filter(|held| held.inode == inode).collect::<Vec<_>>()[..] else { panic!("one row for {inode}") };
    let namespace = |kind: &str| fs::metadata(format!("/proc/self/ns/{kind}")).unwrap().ino();
    if namespace("pid") == 0xffff_fffc {
        assert_eq!(found.process, std::process::id());
    }
    assert_eq!(found.descriptor, socket.as_raw_fd() as u32);
    assert_eq!((found.socket.family, found.socket.protocol), (libc::AF_INET as u16, libc::IPPROTO_UDP as u16));
    assert_eq!(u64::from(found.socket.namespace), namespace("net"));
    // More than its buffer has room for: each datagram is received or counted as dropped.
    let address = socket.local_addr().unwrap();
    socket.set_nonblocking(true).unwrap();
    (0..FLOOD).for_each(|_| _ = socket.send_to(&[0; 1_000], address).unwrap());
    // A thread of the kernel may deliver the last of them.
    thread::sleep(Duration::from_millis(200));
    let dropped = sockets.held()?.iter().find(|held| held.inode == inode).map_or(0, |held| held.drops);
    let received = (0..FLOOD).take_while(|_| socket.recv(&mut [0; 1_000]).is_ok()).count() as u32;
    println!("{received} datagrams received, {dropped} dropped");
    assert!(dropped > 0 && received + dropped == FLOOD, "{received} + {dropped} of {FLOOD}");
    drop(socket);
    assert!(sockets.held()?.iter().all(|held| held.inode != inode), "it is closed");
    Ok(())
}

/// Sockets in a network namespace of their own, whose ports are no one else's.
pub fn of_many_sockets() -> Result<(), Skip> {
    let most = u64::from(MANY) + 200;
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most.max(hard), most.max(hard))
        .map_err(|error| Skip(format!("{most} open files are not allowed: {error}")))?;
    let sockets = Sockets::open()?;
    thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|error| Skip(format!("a network namespace could not be made: {error}")))?;
        let namespace = fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
        let open: Vec<UdpSocket> = (1..=MANY).map(|port| UdpSocket::bind(("0.0.0.0", port)).unwrap()).collect();
        let wanted = |socket: &UdpSocket| {
            let descriptor = socket.as_raw_fd();
            (fs::metadata(format!("/proc/thread-self/fd/{descriptor}")).unwrap().ino(), descriptor as u32)
        };
        let wanted: BTreeSet<(u64, u32)> = open.iter().map(wanted).collect();
        let begun = Instant::now();
        let held = sockets.held()?;
        println!("{} sockets: {:?}", held.len(), begun.elapsed());
        let found: Vec<SocketHolder> = held.into_iter().filter(|held| u64::from(held.socket.namespace) == namespace).collect();
        let rows: BTreeSet<(u64, u32)> = found.iter().map(|held| (held.inode, held.descriptor)).collect();
        let missing = wanted.difference(&rows).count();
        assert!(missing == 0 && found.len() == wanted.len(), "{missing} of {} are missing, {} rows", wanted.len(), found.len());
        let holders: BTreeSet<u32> = found.iter().map(|held| held.process).collect();
        assert_eq!(holders.len(), 1, "{holders:?}");
        Ok(())
    })
    .join()
    .unwrap()
}

/// The child's first pair has four fifths of the datagrams, of one size, so that it has four fifths of the samples that are
/// for one of them; most samples in softirqs are.
pub fn of_samples() -> Result<(), Skip> {
    let symbols = Symbols::of_kernel()?;
    let mut marks = SampleMarks::open()?;
    marks.notes().iter().for_each(|note| println!("{note}"));
    let mut observed = Observed::start(&format!("pairs:{ROUNDS}"))?;
    let process = observed.pid();
    // Those that receive are in no connection, and the first pair was opened first.
    let mut receivers: Vec<SocketHolder> = sockets_of(process, &Sockets::open()?)?;
    receivers.retain(|held| held.socket.state == 7);
    receivers.sort_by_key(|held| held.descriptor);
    let [first, second] = receivers.iter().map(|held| held.socket.address).collect::<Vec<_>>()[..] else { panic!("{receivers:?}") };

    let settings =
        Settings { source: Some(SampleSource::CpuClock), period: DISTANCE, ..Settings::new(Target::Cpu { cpu: 0, process }, LONGEST) };
    let mut sampler = Sampler::open(&settings)?;
    for event in sampler.events() {
        marks.tie(event)?;
    }
    sampler.start()?;
    let (report, mut taken) = while_taking(&mut marks, || observed.work())?;
    let recording = sampler.finish()?;
    taken.extend(marks.take()?);
    assert_eq!(marks.missed(), 0);
    let marks = taken;

    let records = recording.records().map(Result::unwrap);
    let samples: Vec<Sample> = records.filter_map(|record| if let Record::Sample(sample) = record { Some(sample) } else { None }).collect();
    println!("{} samples, {} marks, {} lost", samples.len(), marks.len(), recording.lost.unwrap_or(0));
    assert!(samples.len() <= marks.len() && marks.len() <= samples.len() + samples.len() / 100, "each sample has its record and its mark");

    // In the child's own calls: which one they are.
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap();
    let own: Vec<&Mark> = marks.iter().filter(|mark| mark.thread == report.tid && report.window.contains(mark.time)).collect();
    let calls = own.iter().filter(|mark| mark.call.is_some_and(|call| is_socket_call(call.number.into()))).count();
    assert!(
        own.iter().all(|mark| mark.process == process && mark.cpu == 0 && mark.name.starts_with(name.trim_end().as_bytes())),
        "{own:?}"
    );
    assert!(calls * 3 > own.len() || own.iter().all(|mark| mark.call.is_none()), "{calls} of {} in calls of sockets", own.len());

    let share_of = |marks: &[&Mark]| {
        let [a, b] =
            [first, second].map(|address| marks.iter().filter(|mark| mark.socket.is_some_and(|socket| socket.address == address)).count());
        (a, b, a as f64 / (a + b).max(1) as f64)
    };
    let (all, softirq) = (share_of(&own), samples.iter().filter(|sample| in_softirq(sample, &symbols)));
    let softirq: Vec<Option<&Mark>> = softirq.filter(|sample| sample.tid == report.tid).map(|sample| mark_of(sample, &marks)).collect();
    let met = share_of(&softirq.iter().flatten().copied().collect::<Vec<_>>());
    println!("{} samples in calls, of pairs {all:?}; {} in softirqs, of pairs {met:?}", own.len(), softirq.len());
    assert!(softirq.iter().all(Option::is_some), "a sample without a mark");
    // Five standard deviations of chance, and what the two pairs may cost in different ways.
    let expected = MORE as f64 / (MORE + 1) as f64;
    let bound = 0.03 + 5.0 * (expected * (1.0 - expected) / (all.0 + all.1) as f64).sqrt();
    assert!(all.0 + all.1 > 100 && (all.2 - expected).abs() < bound, "{all:?} within {bound}");
    assert!((met.0 + met.1) * 4 > softirq.len(), "{met:?} of {}", softirq.len());
    Ok(())
}

/// Takes marks while `work` is done in another thread.
fn while_taking<T: Send>(marks: &mut SampleMarks, work: impl FnOnce() -> T + Send) -> Result<(T, Vec<Mark>), Skip> {
    thread::scope(|scope| {
        let work = scope.spawn(work);
        let mut taken = Vec::new();
        while !work.is_finished() {
            taken.extend(marks.take()?);
            thread::sleep(Duration::from_millis(100));
        }
        Ok((work.join().unwrap(), taken))
    })
}

/// Sockets that a process holds, by their inodes, which are the same in every namespace of ids.
fn sockets_of(process: u32, sockets: &Sockets) -> Result<Vec<SocketHolder>, Skip> {
    let links = fs::read_dir(format!("/proc/{process}/fd")).unwrap().flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    let inode = |link: std::path::PathBuf| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse::<u64>().ok();
    let inodes: Vec<u64> = links.filter_map(inode).collect();
    Ok(sockets.held()?.into_iter().filter(|held| inodes.contains(&held.inode)).collect())
}

fn is_socket_call(number: libc::c_long) -> bool {
    [libc::SYS_sendto, libc::SYS_recvfrom].contains(&number)
}

fn in_softirq(sample: &Sample, symbols: &Symbols) -> bool {
    sample.kernel_chain().any(|address| symbols.caller(address) == "net_rx_action")
}

fn mark_of<'a>(sample: &Sample, marks: &'a [Mark]) -> Option<&'a Mark> {
    let near = marks.iter().filter(|mark| mark.cpu == sample.cpu && mark.thread == sample.tid);
    near.min_by_key(|mark| mark.time.abs_diff(sample.time)).filter(|mark| mark.time.abs_diff(sample.time) < NEAR)
}

/// Sends to itself by two pairs of sockets, and takes all of it, so that nothing is woken.
pub fn child(rounds: u64) {
    let pair = || {
        let (to, from) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        from.connect(to.local_addr().unwrap()).unwrap();
        (to, from)
    };
    let pairs = [(pair(), MORE), (pair(), 1)];
    serve(move || {
        bind_to(0);
        let mut message = [0; 512];
        for _ in 0..rounds {
            for ((to, from), count) in &pairs {
                (0..*count).for_each(|_| assert_eq!(from.send(&message).unwrap(), message.len()));
                (0..*count).for_each(|_| assert_eq!(to.recv(&mut message).unwrap(), message.len()));
            }
        }
        rounds * (MORE + 1)
    });
}

pub fn of_messages() -> Result<(), Skip> {
    const CALLS: u64 = 20_000;
    let mut observed = Observed::start(&format!("send:{CALLS}:3"))?;
    let mut counts = MessageCounts::load()?;
    counts.start()?;
    observed.work();
    let counted = counts.take()?;
    println!("{counted:?}");
    let ours = |rows: &[profile::owners::Counted]| {
        let of = |row: &&profile::owners::Counted| (row.sends, row.sent_bytes) == (CALLS, 3 * CALLS);
        rows.iter().filter(of).map(|row| row.process).collect::<Vec<_>>()
    };
    assert_eq!(ours(&counted).len(), 1, "one process sends so many");
    assert!(counted.iter().any(|row| row.receives > 0 && row.received_bytes == 3 * row.receives), "its partner receives them");
    assert!(ours(&counts.take()?).is_empty(), "each call is counted once");
    Ok(())
}
