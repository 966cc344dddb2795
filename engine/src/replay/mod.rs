//! A server and its clients as threads of this process, which exchange what a program was seen to
//! exchange.
//!
//! ```text
//! Replay -> sockets on loopback or a link -> server thread (counted) <-> client threads -> Replayed
//! ```
//!
//! The server's CPU time and switches are its thread's own, read between two exchanges.

mod client;
mod server;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use model::program_workload::{LARGEST, MOST_CONNECTIONS};
use model::replay::{Replay, Replayed};
use model::{Protocol, Refusal};

use crate::scheduling::bind_to;

/// The most bytes of an answer.
const MOST_ANSWER: u64 = 16 << 20;
/// After this time a blocked call looks whether there is more to do.
const LOOK: Duration = Duration::from_millis(50);

/// The part of a replay that is going on.
#[derive(Debug, Default)]
struct Shared {
    /// 0 while it warms up, then [`MEASURED`], then [`ENDED`].
    stage: AtomicU32,
    /// Datagrams handed over by clients.
    handed: AtomicU64,
}

const MEASURED: u32 = 1;
const ENDED: u32 = 2;

impl Shared {
    fn stage(&self) -> u32 {
        self.stage.load(Ordering::Relaxed)
    }
}

/// The hosts of a replay.
pub struct Ends<'a> {
    /// The server's address.
    pub address: IpAddr,
    /// Brings the calling thread to the server's host, and to the clients'.
    pub enter: [&'a (dyn Fn() -> io::Result<()> + Sync); 2],
}

impl Ends<'_> {
    /// Both on this host, over loopback.
    pub const LOOPBACK: Self = Self { address: IpAddr::V4(Ipv4Addr::LOCALHOST), enter: [&|| Ok(()), &|| Ok(())] };

    /// What `make` makes on the server's host.
    fn at_server<T: Send>(&self, make: impl FnOnce(SocketAddr) -> io::Result<T> + Send) -> io::Result<T> {
        let [server, _] = self.enter;
        let place = SocketAddr::new(self.address, 0);
        // A thread of its own, which takes the host along when it ends: sockets stay where they were made.
        let made = thread::scope(|scope| scope.spawn(|| server().and_then(|()| make(place))).join());
        made.unwrap_or_else(|_| Err(io::Error::other("a thread of the replay ended early")))
    }
}

/// Replays between two hosts for `length` after `warmup`.
///
/// # Errors
/// What the system refused, or a replay beyond the limits.
pub fn run(replay: &Replay, ends: &Ends, warmup: Duration, length: Duration) -> Result<Replayed, Refusal> {
    let mut pieces = replay.answer.iter().chain([&replay.request, &replay.read]);
    let answer = replay.answer.iter().fold(0_u64, |sum, size| sum.saturating_add(*size));
    let sizes = pieces.all(|size| (1..=LARGEST).contains(size)) && answer <= MOST_ANSWER;
    let each = replay.each.is_empty() || replay.each.len() == replay.answer.len();
    if !sizes || !each || !(1..=MOST_CONNECTIONS).contains(&replay.connections) {
        return Err(Refusal::new("a replay", "its sizes or connections are beyond what is replayed", "Read the evidence alone"));
    }
    let refused = |error: io::Error| Refusal::new("a replay", error.to_string(), "Read the evidence alone, or run as root");
    let shared = Shared::default();
    let [_, enter] = ends.enter;
    match replay.protocol {
        Protocol::Tcp => {
            let listener = ends.at_server(TcpListener::bind).map_err(refused)?;
            let to = listener.local_addr().map_err(refused)?;
            let client =
                |shared: &Shared| enter().and_then(|()| bind_to(&replay.client_cpus)).and_then(|()| client::stream(replay, to, shared));
            timed(replay, &shared, [warmup, length], &client, || server::stream(replay, &listener, &shared)).map_err(refused)
        }
        Protocol::Udp => {
            let socket = ends.at_server(UdpSocket::bind).map_err(refused)?;
            let to = socket.local_addr().map_err(refused)?;
            let client =
                |shared: &Shared| enter().and_then(|()| bind_to(&replay.client_cpus)).and_then(|()| client::datagrams(replay, to, shared));
            timed(replay, &shared, [warmup, length], &client, || server::datagrams(replay, &socket, &shared)).map_err(refused)
        }
    }
}

/// Starts server and clients, and goes through the stages.
fn timed(
    replay: &Replay,
    shared: &Shared,
    [warmup, length]: [Duration; 2],
    client: &(impl Fn(&Shared) -> io::Result<()> + Sync),
    server: impl FnOnce() -> io::Result<Replayed> + Send,
) -> io::Result<Replayed> {
    let gone = || io::Error::other("a thread of the replay ended early");
    thread::scope(|scope| {
        let served = scope.spawn(server);
        let clients: Vec<_> = (0..replay.connections).map(|_| scope.spawn(|| client(shared))).collect();
        thread::sleep(warmup);
        shared.stage.store(MEASURED, Ordering::Relaxed);
        thread::sleep(length);
        shared.stage.store(ENDED, Ordering::Relaxed);
        let served = served.join().map_err(|_| gone())?;
        let ended: Vec<io::Result<()>> = clients.into_iter().map(|client| client.join().unwrap_or_else(|_| Err(gone()))).collect();
        let replayed = served?;
        // A client that failed leaves a server without exchanges.
        ended.into_iter().collect::<io::Result<()>>()?;
        Ok(Replayed { handed: shared.handed.load(Ordering::Relaxed), ..replayed })
    })
}

/// True of answers that mean: look again.
fn nothing_came(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// True of answers that mean that the other end has gone.
fn gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionRefused | ConnectionReset | UnexpectedEof)
}

#[cfg(test)]
mod tests;
