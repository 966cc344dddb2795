//! The answerer: it takes connections one after the other.

use std::io::{self, Read};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use model::Nanos;
use model::end::Counts;
use socket2::{SockRef, Socket};

use super::super::{DRAIN_LIMIT, Done, Trial, sum};
use super::{Failures, is_over, is_passing, receive_all, send_all};
use crate::api::{Api, Buffer, readable};
use crate::stage::{Part, Stage};

/// Time that a connection may take to send its first byte, while others wait: a
/// request follows its connection at once, and some time is left for one that
/// is lost on the way and sent again.
const FIRST_BYTE_LIMIT: Duration = Duration::from_secs(1);

pub(in crate::traffic) fn run<A: Api>(api: &mut A, trial: &mut Trial) -> io::Result<Done> {
    let (cell, stage, extent) = (&trial.task.cell, trial.stage, trial.extent);
    let missing = || io::Error::other("TCP_CRR: no listener was kept for the connections to come");
    let listener = trial.listener.take().ok_or_else(missing)?;
    let peer = SockRef::from(api.socket()).peer_addr()?.as_socket().ok_or_else(|| io::Error::other("the requester has no IP address"))?;
    let room = Buffer::ones(cell.size.as_len().min(cell.read_size.as_len()).max(1));
    let mut server = Server { listener: listener.into(), peer: peer.ip(), room, work: cell.work, stage };
    let came = server.serve_while(api, |done| done.messages == 0 && trial.awaits_first());
    let (first, measured) = trial.take_first(came);
    let serve = |api: &mut A, server: &mut Server, part, limit: u64| {
        trial.to_the_end(api, |api, leave| {
            let limit = leave.at_most(limit);
            server.serve_while(api, |done| stage.is(part) && done.messages < limit)
        })
    };
    let warmup = serve(api, &mut server, extent.warmup_part, extent.warmup.saturating_sub(first.messages));
    let before = sum(first, warmup);
    let start = trial.start(api.socket());
    let all = extent.warmup.saturating_add(extent.measured);
    let counts = sum(measured, serve(api, &mut server, Part::Measure, all.saturating_sub(before.messages + measured.messages)));
    let end = trial.edges.end();
    // The requester may still be measuring: answer until it has said its end.
    let give_up = Instant::now() + DRAIN_LIMIT;
    let queue: OwnedFd = server.listener.try_clone()?.into();
    let rest = trial.to_the_end(api, |api, leave| {
        server.serve_while(api, |done| {
            let waiting = || readable(&queue, Duration::ZERO);
            done.messages < leave.may_send && !is_over(give_up) && (stage.announced().is_none() || waiting())
        })
    });
    Ok(Done { usage: start.until(&end), flow: None, counts, total: sum(sum(before, counts), rest) })
}

struct Server<'a> {
    listener: Socket,
    /// The host that is served.
    peer: IpAddr,
    room: Buffer,
    /// Time that it computes before each answer.
    work: Nanos,
    stage: &'a Stage,
}

impl Server<'_> {
    fn serve_while<A: Api>(&mut self, api: &mut A, go_on: impl Fn(&Counts) -> bool) -> Counts {
        let mut counts = Counts::default();
        let mut failures = Failures::default();
        while go_on(&counts) {
            let served = match self.listener.accept() {
                // Nothing is sent to a stranger.
                Ok((_, from)) if from.as_socket().is_none_or(|from| from.ip() != self.peer) => continue,
                Ok((connection, _)) => self.serve(&connection, api.message(), &mut counts),
                Err(answer) if is_passing(&answer) => continue,
                Err(answer) => Err(answer),
            };
            match served {
                Ok(()) => failures.end(),
                Err(answer) if failures.count(&answer, &mut counts) => break,
                Err(_) => {}
            }
        }
        counts
    }

    fn serve(&mut self, connection: &Socket, message: &[u8], counts: &mut Counts) -> io::Result<()> {
        let begun = Instant::now();
        let limit = begun + DRAIN_LIMIT;
        // Once the requester has said its end, nothing that is silent comes from it.
        let give_up = || self.stage.announced().is_some() || is_over(limit);
        let silent = |came| came == 0 && begun.elapsed() >= FIRST_BYTE_LIMIT;
        let before = counts.bytes;
        match receive_all(connection, &mut self.room, message.len(), |came| give_up() || silent(came), counts) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            // Nothing was asked, so nothing failed here.
            Err(answer) if is_passing(&answer) && counts.bytes == before => return Ok(()),
            Err(answer) => return Err(answer),
        }
        counts.received += 1;
        send_all(connection, message, self.work, give_up, counts)?;
        counts.sent += 1;
        counts.messages += 1;
        await_end(connection, give_up)
    }
}

/// Waits until the requester has closed: who closes first keeps the port.
fn await_end(mut connection: &Socket, give_up: impl Fn() -> bool) -> io::Result<()> {
    loop {
        match connection.read(&mut [0]) {
            Ok(0) => return Ok(()),
            Ok(_) => return Err(io::Error::from_raw_os_error(libc::EPROTO)),
            Err(answer) if is_passing(&answer) && !give_up() => {}
            Err(answer) if is_passing(&answer) => return Ok(()),
            Err(answer) => return Err(answer),
        }
    }
}
