//! The clients of a replay.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::Ordering;

use model::Nanos;
use model::replay::Replay;
use nix::sys::prctl;

use super::{ENDED, LOOK, Shared, gone, nothing_came};
use sys::clock::monotonic;

/// A wait that is shorter is spun, since sleeping ends some 50 µs late.
const SPUN: u64 = 200_000;
/// Bytes that are read at a time.
const ROOM: usize = 256 << 10;

/// Times of exchanges, whatever each takes.
struct Schedule {
    pace: u64,
    next: u64,
}

impl Schedule {
    fn new(replay: &Replay) -> Self {
        // Without it a sleep is 50 µs late on top of its wake-up.
        let _ = prctl::set_timerslack(1);
        Self { pace: replay.pace.get(), next: monotonic().get() }
    }

    /// Waits for the time of the next exchange; of one that is late already not at all.
    fn wait(&mut self, shared: &Shared) {
        if self.pace == 0 {
            return;
        }
        self.next = self.next.saturating_add(self.pace);
        while shared.stage() != ENDED {
            let left = self.next.saturating_sub(monotonic().get());
            match left {
                0 => break,
                1..=SPUN => std::hint::spin_loop(),
                _ => std::thread::sleep(LOOK.min(Nanos::new(left - SPUN).into())),
            }
        }
        // Who fell behind does not hurry after.
        self.next = self.next.max(monotonic().get().saturating_sub(self.pace));
    }
}

/// Asks on a TCP connection, or on one for each request.
pub fn stream(replay: &Replay, to: SocketAddr, shared: &Shared) -> io::Result<()> {
    let (request, answer) = (vec![1_u8; replay.request as usize], replay.answer.iter().sum::<u64>());
    let mut room = vec![0_u8; ROOM];
    let mut schedule = Schedule::new(replay);
    let mut open: Option<TcpStream> = None;
    while shared.stage() != ENDED {
        schedule.wait(shared);
        let mut connection = match open.take() {
            Some(connection) => connection,
            None => connect(to)?,
        };
        match exchange(&mut connection, &request, answer, &mut room, shared) {
            Ok(()) if !replay.reconnect => open = Some(connection),
            Ok(()) => {}
            Err(error) if gone(&error) && shared.stage() == ENDED => return Ok(()),
            Err(error) if nothing_came(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    let connection = TcpStream::connect(to)?;
    connection.set_read_timeout(Some(LOOK))?;
    connection.set_write_timeout(Some(LOOK))?;
    Ok(connection)
}

fn exchange(connection: &mut TcpStream, request: &[u8], answer: u64, room: &mut [u8], shared: &Shared) -> io::Result<()> {
    let mut sent = 0;
    while sent < request.len() {
        match connection.write(&request[sent..]) {
            Ok(count) => sent += count,
            Err(error) if nothing_came(&error) && shared.stage() != ENDED => {}
            Err(error) => return Err(error),
        }
    }
    let mut got = 0;
    while got < answer {
        match connection.read(room) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => got += count as u64,
            Err(error) if nothing_came(&error) && shared.stage() != ENDED => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sends bursts of datagrams, and waits for the answers where there are any.
pub fn datagrams(replay: &Replay, to: SocketAddr, shared: &Shared) -> io::Result<()> {
    let any = if to.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
    socket.connect(to)?;
    socket.set_read_timeout(Some(LOOK))?;
    let request = vec![1_u8; replay.request as usize];
    let mut room = vec![0_u8; ROOM];
    let mut schedule = Schedule::new(replay);
    while shared.stage() != ENDED {
        schedule.wait(shared);
        let mut handed = 0;
        for _ in 0..replay.burst {
            match socket.send(&request) {
                Ok(_) => handed += 1,
                Err(error) if nothing_came(&error) => {}
                Err(error) if gone(&error) && shared.stage() == ENDED => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        shared.handed.fetch_add(handed, Ordering::Relaxed);
        let (expected, mut got) = (replay.answer.iter().sum::<u64>() * handed, 0);
        while got < expected {
            match socket.recv(&mut room) {
                Ok(count) => got += count as u64,
                // An answer that was lost is not waited for longer.
                Err(error) if nothing_came(&error) || gone(&error) => break,
                Err(error) => return Err(error),
            }
        }
    }
    // An empty datagram behind all others: a server that has those of all clients waits for no more. One that is lost
    // costs it the time of a look.
    let _ = socket.send(&[]);
    Ok(())
}
