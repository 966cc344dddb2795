//! A program that makes calls of known sizes: what the tool says that they asked for.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

use model::attach::{CallKind, Look, Way};
use nix::fcntl::{SpliceFFlags, splice};
use nix::sys::sendfile::sendfile;
use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg, recvmsg, sendmmsg, sendmsg};

use super::bursts::{Counts, Extent, seen};
use super::server::{Kind, Server};
use crate::support::Skip;

crate::claims!(sizes_that_calls_ask_for_are_told);

/// Rounds of a burst; each makes every call below once.
const ROUNDS: u64 = 20;
/// Bytes that `sendfile` is asked for, which the kernel sends in parts, and bytes of the file.
const WANTED: usize = 300_000;
const FILE: usize = 200_000;

/// A window of each look.
const EXTENT: Extent = Extent { windows: 4, length: Duration::from_millis(1500) };

/// Makes a round of calls whenever it is asked to.
pub fn play() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    let mut calls = Calls::new().unwrap();
    let (mut control, _) = listener.accept().unwrap();
    let mut word = [0];
    // Who asks is gone when the test is over.
    while control.read_exact(&mut word).is_ok() {
        calls.round().unwrap();
        control.write_all(&word).unwrap();
    }
}

/// Sockets of both kinds, with their peers in this process.
struct Calls {
    stream: TcpStream,
    datagrams: [UdpSocket; 2],
    file: File,
    pipe: (io::PipeReader, io::PipeWriter),
}

impl Calls {
    fn new() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let stream = TcpStream::connect(listener.local_addr()?)?;
        let (mut peer, _) = listener.accept()?;
        thread::spawn(move || io::copy(&mut peer, &mut io::sink()));
        let datagrams = [UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?, UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?];
        datagrams[0].connect(datagrams[1].local_addr()?)?;
        let mut file = tempfile::tempfile()?;
        file.write_all(&vec![1; FILE])?;
        Ok(Self { stream, datagrams, file, pipe: io::pipe()? })
    }

    fn round(&mut self) -> io::Result<()> {
        let bytes = [1_u8; 300];
        let piece = |length: usize| IoSlice::new(&bytes[..length]);
        let stream = self.stream.as_raw_fd();
        assert_eq!(self.stream.write_vectored(&[piece(100), piece(200), piece(300)])?, 600);
        assert_eq!(self.stream.write_vectored(&[piece(7); 10])?, 70);
        sendmsg::<()>(stream, &[piece(50), piece(60)], &[], MsgFlags::empty(), None)?;
        let mut from = 0;
        // What the file lacks is asked for all the same.
        sendfile(&self.stream, &self.file, Some(&mut from), WANTED)?;
        self.pipe.1.write_all(&[1; 1000])?;
        splice(&self.pipe.0, None, &self.stream, None, 4096, SpliceFFlags::empty())?;
        self.datagrams()
    }

    fn datagrams(&self) -> io::Result<()> {
        let [from, to] = [&self.datagrams[0], &self.datagrams[1]];
        let bytes = [1_u8; 300];
        let piece = |length: usize| IoSlice::new(&bytes[..length]);
        let messages = [vec![piece(10)], vec![piece(20)], vec![piece(30), piece(5)]];
        let mut headers = MultiHeaders::<()>::preallocate(3, None);
        sendmmsg(from.as_raw_fd(), &mut headers, &messages, [None; 3], [], MsgFlags::empty())?;
        let mut room = vec![[0_u8; 256]; 6];
        let mut rooms: Vec<Vec<IoSliceMut>> =
            room.chunks_mut(2).map(|two| two.iter_mut().map(|one| IoSliceMut::new(one)).collect()).collect();
        let mut headers = MultiHeaders::<()>::preallocate(3, None);
        recvmmsg(to.as_raw_fd(), &mut headers, rooms.iter_mut(), MsgFlags::empty(), None)?;
        let (mut short, mut long) = ([0; 64], [0; 1000]);
        from.send(&bytes[..10])?;
        let mut rooms = [IoSliceMut::new(&mut short), IoSliceMut::new(&mut long)];
        recvmsg::<()>(to.as_raw_fd(), &mut rooms, None, MsgFlags::empty())?;
        from.send(&bytes[..12])?;
        to.recv(&mut [0; 12])?;
        Ok(())
    }
}

/// What one kind of call is to have asked for, with its calls in a round.
struct Expected {
    call: &'static str,
    asked: &'static [(u64, u64)],
    moved: u64,
    short: u64,
    at_least: u64,
}

const EXPECTED: [Expected; 5] = [
    Expected { call: "writev", asked: &[(56, 1), (600, 1)], moved: 670, short: 0, at_least: 1 },
    Expected { call: "sendmsg", asked: &[(110, 1)], moved: 110, short: 0, at_least: 0 },
    Expected { call: "sendfile", asked: &[(WANTED as u64, 1)], moved: FILE as u64, short: 1, at_least: 0 },
    Expected { call: "splice", asked: &[(4096, 1)], moved: 1000, short: 1, at_least: 0 },
    Expected { call: "recvmsg", asked: &[(1064, 1)], moved: 10, short: 1, at_least: 0 },
];

fn sizes_that_calls_ask_for_are_told() -> Result<(), Skip> {
    let server = Server::start(Kind::Sizes);
    let mut control = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).unwrap();
    let mut burst = || {
        for _ in 0..ROUNDS {
            control.write_all(&[1]).unwrap();
            control.read_exact(&mut [0]).unwrap();
        }
        Counts { requests: ROUNDS, to: ROUNDS, from: ROUNDS }
    };
    let seen = seen(&server.pid(), EXTENT, "sends", &mut burst)?;
    let looked = seen.windows.iter().find(|(record, _)| record.look == Look::Messages);
    let (record, _) = looked.unwrap();
    let kinds = &record.messages.as_ref().unwrap().calls;
    for expected in &EXPECTED {
        let kind = kinds.iter().find(|kind| kind.call == expected.call).unwrap_or_else(|| panic!("{}: {kinds:#?}", expected.call));
        agrees(kind, expected);
    }
    // Which message of a vector goes is not known: its call and its bytes alone are.
    for call in ["sendmmsg", "recvmmsg"] {
        let kind = kinds.iter().find(|kind| kind.call == call).unwrap();
        assert_eq!((kind.calls, kind.bytes, kind.asked, kind.untold), (3 * ROUNDS, 65 * ROUNDS, None, 3 * ROUNDS), "{kind:#?}");
    }
    // What two calls of a kind ask for stands apart from the other way of the same name.
    let exact = |call: &str, way: Way, size: u64| {
        let kind = kinds.iter().find(|kind| kind.call == call && kind.way == way && kind.protocol == "udp");
        kind.is_some_and(|kind| kind.asked_sizes.contains(&(size, ROUNDS)) && kind.untold == 0)
    };
    assert!(exact("sendto", Way::Out, 10) && exact("sendto", Way::Out, 12) && exact("recvfrom", Way::In, 12), "{kinds:#?}");
    let told = &seen.told["states"][0]["calls"];
    let writev = told.as_array().unwrap().iter().find(|call| call["call"] == "writev").unwrap();
    assert_eq!((&writev["asked_bytes"], &writev["at_least"]), (&328.0.into(), &0.5.into()), "{told:#}");
    Ok(())
}

fn agrees(kind: &CallKind, expected: &Expected) {
    let mut asked = kind.asked_sizes.clone();
    asked.sort_unstable();
    let wanted: Vec<(u64, u64)> = expected.asked.iter().map(|(size, calls)| (*size, calls * ROUNDS)).collect();
    assert_eq!(asked, wanted, "{kind:#?}");
    let calls: u64 = wanted.iter().map(|(_, calls)| calls).sum();
    let sum: u64 = wanted.iter().map(|(size, calls)| size * calls).sum();
    assert_eq!((kind.calls, kind.bytes, kind.asked), (calls, expected.moved * ROUNDS, Some(sum)), "{kind:#?}");
    assert_eq!((kind.short, kind.at_least, kind.untold), (Some(expected.short * ROUNDS), expected.at_least * ROUNDS, 0), "{kind:#?}");
}
