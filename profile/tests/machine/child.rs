//! What the watched processes do. Each says `ready`, waits for a line, works in
//! a thread of its own, reports, and ends with its input.

use std::fs;
use std::io::{Read, Write, stdin};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bpf::asm::{Assembler, Reg};
use bpf::{Program, ProgramKind};
use nix::sched::{CloneFlags, CpuSet, sched_setaffinity, unshare};
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, gettid};

/// The variable that says what to do.
pub const KIND: &str = "NETTOLL_PROFILE_TEST";

/// Does what `kind` says: `call:MILLISECONDS`, `send:COUNT:SIZE`
/// by UDP, `stream:COUNT:SIZE` by TCP, `turns:COUNT`, `seccomp`, `filter` and `program`, each
/// `:MILLISECONDS:INSTRUCTIONS`, and what others of this program's modules add.
pub fn run(kind: &str) {
    let words: Vec<&str> = kind.split(':').collect();
    let number = |place: usize| words.get(place).map_or(0, |word| word.parse::<u64>().unwrap());
    let (first, second) = (number(1), number(2));
    match words[0] {
        "call" => serve(move || call_for(Duration::from_millis(first))),
        "send" => with_partner("sink", |socket| serve(move || send(&socket, first, second as usize))),
        "stream" => with_reader(|socket| serve(move || stream(socket, first, second as usize))),
        "seccomp" => serve(move || filtered_calls(Duration::from_millis(first), second as usize)),
        "filter" => serve(move || filtered_messages(Duration::from_millis(first), second as usize)),
        "program" => serve(move || calls_with_a_program(Duration::from_millis(first), second)),
        "turns" => with_partner("echo", |socket| serve(move || turns(&socket, first))),
        "sink" => sink(),
        "echo" => echo(),
        "reader" => reader(),
        "outside" => crate::outside::child(),
        "pairs" => crate::owning::child(first),
        "spin" => crate::naming::child(first),
        "namespace" => crate::counting::child_in_namespace(first),
        "nobody" => crate::refusing::child(),
        other => panic!("{other}"),
    }
}

pub fn serve(work: impl FnOnce() -> u64 + Send + 'static) {
    println!("ready");
    let mut word = [0];
    if stdin().read(&mut word).unwrap() == 0 {
        return;
    }
    std::thread::spawn(move || measured(work)).join().unwrap();
    let _ = stdin().read(&mut word);
}

fn measured(work: impl FnOnce() -> u64) {
    let now = |clock: ClockId| {
        let time = clock_gettime(clock).unwrap();
        time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
    };
    let switches = || {
        let usage = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
        usage.voluntary_context_switches() + usage.involuntary_context_switches()
    };
    let before = (run_delay(), switches(), now(ClockId::CLOCK_THREAD_CPUTIME_ID), now(ClockId::CLOCK_MONOTONIC));
    let calls = work();
    let after = (now(ClockId::CLOCK_MONOTONIC), now(ClockId::CLOCK_THREAD_CPUTIME_ID), switches(), run_delay());
    println!("{} {} {} {} {} {} {calls}", before.3, after.0, after.1 - before.2, after.3 - before.0, gettid(), after.2 - before.1);
}

/// The second number of `schedstat`: wait for a CPU, in ns.
fn run_delay() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_ascii_whitespace().nth(1).map_or(0, |number| number.parse().unwrap())
}

pub fn get_parent() {
    // SAFETY: a call without arguments. Raw, so that no library remembers the answer.
    unsafe { libc::syscall(libc::SYS_getppid) };
}

fn call_for(time: Duration) -> u64 {
    let end = Instant::now() + time;
    let mut calls = 0;
    while Instant::now() < end {
        for _ in 0..1000 {
            get_parent();
        }
        calls += 1000;
    }
    calls
}

/// A classic filter that says yes after so many instructions, each as `instruction`.
fn filter(length: usize, instruction: libc::sock_filter) -> Vec<libc::sock_filter> {
    let accept = libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0x7fff_0000 };
    [vec![instruction; length], vec![accept]].concat()
}

fn filtered_calls(time: Duration, length: usize) -> u64 {
    // Of a filter that looks at arguments the kernel keeps no answers.
    let argument = libc::sock_filter { code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, jt: 0, jf: 0, k: 16 };
    let mut filter = filter(length, argument);
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the kernel reads `len` instructions, which outlive the calls.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    assert_eq!(set, 0);
    call_for(time)
}

fn filtered_messages(time: Duration, length: usize) -> u64 {
    let add = libc::sock_filter { code: (libc::BPF_ALU | libc::BPF_ADD | libc::BPF_K) as u16, jt: 0, jf: 0, k: 1 };
    let mut filter = filter(length, add);
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    let (ours, theirs) = std::os::unix::net::UnixDatagram::pair().unwrap();
    let length = size_of_val(&program) as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `program` and the instructions that it names.
    let set =
        unsafe { libc::setsockopt(theirs.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, (&raw const program).cast(), length) };
    assert_eq!(set, 0);
    let (end, mut messages) = (Instant::now() + time, 0);
    while Instant::now() < end {
        ours.send(&[0]).unwrap();
        theirs.recv(&mut [0]).unwrap();
        messages += 1;
    }
    messages
}

/// Has a program of so many instructions run at each system call, from here to the end.
fn calls_with_a_program(time: Duration, length: u64) -> u64 {
    let mut asm = Assembler::default();
    asm.set(Reg::R0, 0);
    (0..length).for_each(|_| asm.add(Reg::R0, 1));
    asm.leave();
    let loaded = Program::load(&asm.finish(), ProgramKind::RawTracepoint, "a test");
    let _attached = loaded.and_then(|program| program.attach(Some("sys_enter"), "a test"));
    call_for(time)
}

fn send(socket: &UdpSocket, count: u64, size: usize) -> u64 {
    bind_to(0);
    let message = vec![0; size];
    for _ in 0..count {
        // A full queue at the other end is none of ours.
        let _ = socket.send(&message);
    }
    count
}

fn stream(mut socket: TcpStream, count: u64, size: usize) -> u64 {
    bind_to(0);
    let message = vec![0; size];
    for _ in 0..count {
        socket.write_all(&message).unwrap();
    }
    count
}

fn turns(socket: &UdpSocket, count: u64) -> u64 {
    bind_to(0);
    let mut message = [0; 1];
    for _ in 0..count {
        socket.send(&message).unwrap();
        socket.recv(&mut message).unwrap();
    }
    count
}

pub fn bind_to(cpu: usize) {
    let mut only = CpuSet::new();
    only.set(cpu).unwrap();
    // A machine of one CPU, or one that forbids it, runs it where it can.
    let _ = sched_setaffinity(Pid::from_raw(0), &only);
}

/// Enters a network of its own, starts a partner in it, and goes on with a
/// socket connected to it.
fn with_partner(kind: &str, work: impl FnOnce(UdpSocket)) {
    if !enter_network() {
        return;
    }
    let ours = UdpSocket::bind("127.0.0.1:0").unwrap();
    let theirs = UdpSocket::bind("127.0.0.1:0").unwrap();
    ours.connect(theirs.local_addr().unwrap()).unwrap();
    theirs.connect(ours.local_addr().unwrap()).unwrap();
    let mut partner = hand_to(kind, theirs.into());
    work(ours);
    partner.kill().unwrap();
    partner.wait().unwrap();
}

/// The same by TCP, with a partner that reads to the end.
fn with_reader(work: impl FnOnce(TcpStream)) {
    if !enter_network() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut partner = hand_to("reader", listener.accept().unwrap().0.into());
    work(ours);
    partner.wait().unwrap();
}

fn enter_network() -> bool {
    if let Err(errno) = unshare(CloneFlags::CLONE_NEWNET) {
        println!("unshare(CLONE_NEWNET): {errno}");
        return false;
    }
    raise_loopback();
    true
}

/// Starts the partner with the socket as its standard input.
fn hand_to(kind: &str, socket: OwnedFd) -> Child {
    Command::new("/proc/self/exe").env(KIND, kind).stdin(Stdio::from(socket)).stdout(Stdio::null()).spawn().unwrap()
}

fn partner_socket() -> OwnedFd {
    let socket = stdin().as_fd().try_clone_to_owned().unwrap();
    // It must not outlive a killed partner.
    // SAFETY: takes numbers only.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
    socket
}

fn sink() {
    let socket = UdpSocket::from(partner_socket());
    bind_to(1);
    let mut message = vec![0; 1 << 16];
    while socket.recv(&mut message).is_ok() {}
}

fn reader() {
    let mut socket = TcpStream::from(partner_socket());
    bind_to(1);
    let mut bytes = vec![0; 1 << 17];
    while socket.read(&mut bytes).is_ok_and(|count| count > 0) {}
}

/// Shares the CPU with its partner, which so waits for it.
fn echo() {
    let socket = UdpSocket::from(partner_socket());
    bind_to(0);
    let mut message = [0; 1];
    while socket.recv(&mut message).is_ok() {
        let _ = socket.send(&message);
    }
}

fn raise_loopback() {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // SAFETY: all zeros is a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the kernel reads one request, which outlives the call.
    assert_eq!(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) }, 0);
}
