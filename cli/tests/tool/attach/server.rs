//! Servers of a few lines, in processes of their own, and clients that load them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::socket::{setsockopt, sockopt};
use nix::unistd::Pid;
use signal_hook::consts::{SIGUSR1, SIGUSR2};

/// In the environment of this program where it is a server.
pub const KIND: &str = "NETTOLL_TEST_SERVER";
/// Where to ask, where it is a client.
pub const SERVER: &str = "NETTOLL_TEST_SERVER_ADDRESS";
/// Bytes of a request and of its answer.
pub const REQUEST: usize = 36;
pub const ANSWER: usize = 100;
/// Bytes of a large answer.
pub const LARGE: usize = 64 << 10;

/// What a server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Answers with one send.
    Echo,
    /// With four small ones.
    Pieces,
    /// One after SIGUSR1, four after SIGUSR2.
    Switched,
    /// A child for each connection.
    Forking,
    /// With four small ones that Nagle's algorithm holds back.
    Stalling,
    /// Takes bursts of datagrams into a small buffer, and thinks about each.
    Losing,
    /// The same with room for them.
    Roomy,
    /// Takes datagrams one by one.
    OneByOne,
    /// Sleeps, then takes what has come.
    Collecting,
    /// Makes calls of known sizes.
    Sizes,
    /// Answers with a large send.
    Large,
}

/// Plays a server where this process was started as one.
pub fn play() -> Option<ExitCode> {
    let kind = std::env::var(KIND).ok()?;
    if kind == "Child" {
        // The parent put the connection there.
        let connection = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
        let connection = TcpStream::from(connection);
        connection.set_nodelay(true).unwrap();
        serve(connection, ANSWER, &AtomicUsize::new(1));
        return Some(ExitCode::SUCCESS);
    }
    match kind.as_str() {
        "Sizes" => {
            super::sizes::play();
            return Some(ExitCode::SUCCESS);
        }
        "Client" => ask_for_large_answers(),
        "Asking" => {
            ask_without_end();
            return Some(ExitCode::SUCCESS);
        }
        _ => {}
    }
    if let "Losing" | "Roomy" | "OneByOne" | "Collecting" = kind.as_str() {
        take_datagrams(&kind);
    }
    let place = if kind == "Large" { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST };
    let listener = TcpListener::bind((place, 0)).unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    let in_pieces = kind == "Pieces" || kind == "Stalling";
    let pieces = Arc::new(AtomicUsize::new(if in_pieces { 4 } else { 1 }));
    let nodelay = kind != "Stalling";
    for (signal, count) in [(SIGUSR1, 1), (SIGUSR2, 4)] {
        signal_hook::flag::register_usize(signal, Arc::clone(&pieces), count).unwrap();
    }
    for connection in listener.incoming() {
        let Ok(connection) = connection else { continue };
        if kind == "Forking" {
            let mut child =
                Command::new("/proc/self/exe").env(KIND, "Child").stdin(Stdio::from(OwnedFd::from(connection))).spawn().unwrap();
            child.wait().unwrap();
            continue;
        }
        let pieces = Arc::clone(&pieces);
        connection.set_nodelay(nodelay).unwrap();
        let answer = if kind == "Large" { LARGE } else { ANSWER };
        thread::spawn(move || serve(connection, answer, &pieces));
    }
    Some(ExitCode::SUCCESS)
}

fn take_datagrams(kind: &str) -> ! {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    if kind == "Losing" {
        setsockopt(&socket, sockopt::RcvBuf, &(16 << 10)).unwrap();
    }
    println!("{}", socket.local_addr().unwrap().port());
    let mut room = [0; 2048];
    if kind == "Collecting" {
        socket.set_nonblocking(true).unwrap();
        loop {
            while socket.recv(&mut room).is_ok() {}
            thread::sleep(Duration::from_millis(1));
        }
    }
    loop {
        socket.recv(&mut room).unwrap();
        let begun = std::time::Instant::now();
        while kind != "OneByOne" && begun.elapsed() < Duration::from_micros(5) {}
    }
}

fn serve(mut connection: TcpStream, answer: usize, pieces: &AtomicUsize) {
    let (mut room, bytes) = ([0; 4096], vec![1; answer]);
    while let Ok(count) = connection.read(&mut room) {
        if count == 0 {
            return;
        }
        let size = answer / pieces.load(Ordering::Relaxed);
        if bytes.chunks(size).any(|piece| connection.write_all(piece).is_err()) {
            return;
        }
    }
}

/// A client in a process of its own, which asks until it is ended.
fn ask_for_large_answers() -> ! {
    let mut connection = TcpStream::connect(std::env::var(SERVER).unwrap()).unwrap();
    let mut room = vec![0; LARGE];
    println!("0");
    loop {
        connection.write_all(&[2; REQUEST]).unwrap();
        connection.read_exact(&mut room).unwrap();
    }
}

/// A client in a process of its own, which asks until it is ended.
fn ask_without_end() {
    let mut connection = TcpStream::connect(std::env::var(SERVER).unwrap()).unwrap();
    connection.set_nodelay(true).unwrap();
    println!("0");
    while ask(&mut connection) {}
}

/// A server that a test has started; it ends with the test.
pub struct Server {
    child: Child,
    port: u16,
}

impl Server {
    pub fn start(kind: Kind) -> Self {
        Self::of(Command::new("/proc/self/exe").env(KIND, format!("{kind:?}")))
    }

    /// A command that prints its port.
    pub fn of(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { port: line.trim().parse().unwrap(), child }
    }

    /// A client of this server, in a process of its own.
    pub fn client(&self) -> Self {
        Self::of(Command::new("/proc/self/exe").env(KIND, "Asking").env(SERVER, format!("127.0.0.1:{}", self.port)))
    }

    /// Binds every thread that it has, and those that it starts from now on.
    pub fn bind(&self, cpu: usize) {
        let mut cpus = CpuSet::new();
        cpus.set(cpu).unwrap();
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap() {
            let thread: i32 = thread.unwrap().file_name().to_str().unwrap().parse().unwrap();
            sched_setaffinity(Pid::from_raw(thread), &cpus).unwrap();
        }
    }

    pub fn pid(&self) -> String {
        self.child.id().to_string()
    }

    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Clients that ask until they are stopped.
pub struct Load {
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// On so many connections.
    pub fn start(server: &Server, connections: usize) -> Self {
        let port = server.port;
        Self::of(connections, move |stop, asked| {
            let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            connection.set_nodelay(true).unwrap();
            while !stop.load(Ordering::Relaxed) && ask(&mut connection) {
                asked.fetch_add(1, Ordering::Relaxed);
            }
        })
    }

    /// A connection for each request.
    pub fn start_connecting(server: &Server) -> Self {
        let port = server.port;
        Self::of(1, move |stop, asked| {
            while !stop.load(Ordering::Relaxed) {
                let Ok(mut connection) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return };
                if ask(&mut connection) {
                    asked.fetch_add(1, Ordering::Relaxed);
                }
                let _ = connection.shutdown(Shutdown::Both);
            }
        })
    }

    /// Datagrams, so many in a row, a row each `pace`.
    pub fn start_datagrams(server: &Server, row: u32, pace: Duration) -> Self {
        let port = server.port;
        Self::of(1, move |stop, asked| {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            socket.connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            let mut next = std::time::Instant::now();
            while !stop.load(Ordering::Relaxed) {
                next += pace;
                while std::time::Instant::now() < next {
                    std::hint::spin_loop();
                }
                let sent = (0..row).filter(|_| socket.send(&[2; 200]).is_ok()).count();
                asked.fetch_add(sent as u64, Ordering::Relaxed);
            }
        })
    }

    fn of(threads: usize, work: impl Fn(&AtomicBool, &AtomicU64) + Clone + Send + 'static) -> Self {
        let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let start = |_| {
            let (work, stop, asked) = (work.clone(), Arc::clone(&stop), Arc::clone(&asked));
            thread::spawn(move || work(&stop, &asked))
        };
        Self { threads: (0..threads).map(start).collect(), stop, asked }
    }

    /// Ends them and returns the number of answers.
    pub fn stop(mut self) -> u64 {
        self.end();
        self.asked.load(Ordering::Relaxed)
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.end();
    }
}

/// A request on a connection of its own.
pub fn ask_once(server: &Server) -> bool {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).unwrap();
    ask(&mut connection)
}

/// A request and its answer.
pub fn ask(connection: &mut TcpStream) -> bool {
    connection.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    connection.write_all(&[2; REQUEST]).is_ok() && connection.read_exact(&mut [0; ANSWER]).is_ok()
}
