//! The watched process.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use engine::stage::{Part, Stage};
use engine::traffic;
use model::control::Task;
use model::{Protocol, Role};

use crate::support::Endpoint;

/// Names what this program is to be.
pub const KIND: &str = "NETTOLL_TEST_CHILD";

/// This program again, as `kind`.
pub fn command(kind: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.env(KIND, kind).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// An endpoint in a process of its own.
pub fn endpoint() -> (Endpoint, Child) {
    let mut child = command("endpoint").spawn().unwrap();
    let (commands, answers) = (OwnedFd::from(child.stdin.take().unwrap()), OwnedFd::from(child.stdout.take().unwrap()));
    (Endpoint::over(File::from(commands), File::from(answers)), child)
}

pub fn run(kind: &str) {
    match kind {
        "endpoint" => {
            let [input, output] = [io::stdin().as_fd(), io::stdout().as_fd()].map(|stream| stream.try_clone_to_owned().map(File::from));
            // What a host that is gone leaves behind.
            let _ = engine::endpoint::run(input.unwrap(), output.unwrap(), engine::endpoint::Files::Own);
        }
        "host" => host(),
        "ports" => crate::ports::run(),
        _ => traffic(),
    }
}

/// A host that is killed while its pipes are held open by others: its endpoint
/// has its own input and output.
fn host() {
    let mut command = Command::new("/proc/self/exe");
    let mut endpoint = command.env(KIND, "endpoint").spawn().unwrap();
    let _ = endpoint.wait();
}

/// Runs the traffic of one end on the only thread that is watched. Its input
/// is a peer's address and its task, a line each, and then ends the trial.
fn traffic() {
    let mut lines = BufReader::new(io::stdin()).lines();
    let peer: SocketAddr = lines.next().unwrap().unwrap().parse().unwrap();
    let task: Task = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let socket: OwnedFd = match task.cell.protocol() {
        Protocol::Tcp => {
            let stream = TcpStream::connect(peer).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.into()
        }
        Protocol::Udp => datagrams(peer, task.role).into(),
    };
    let stage = Arc::new(Stage::default());
    stage.enter(Part::Measure);
    if task.role == Role::Receiver {
        let stage = Arc::clone(&stage);
        thread::spawn(move || {
            assert!(lines.next().is_none());
            // Nothing is waited for after the measured part.
            stage.announce(0);
            stage.enter(Part::Drain);
        });
    }
    traffic::run(&task, socket.into(), &stage, &|_| {}).unwrap();
}

fn datagrams(peer: SocketAddr, role: Role) -> UdpSocket {
    let socket = UdpSocket::bind((peer.ip(), 0)).unwrap();
    socket.connect(peer).unwrap();
    if role == Role::Receiver {
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        // Tells the peer where it is.
        socket.send(b"here").unwrap();
    }
    socket
}
