//! Answerers that a test makes.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Answers each request of `size` bytes `delay` after it came. Ends with the stream.
pub fn slow_stream(mut stream: TcpStream, size: usize, delay: Duration) -> thread::JoinHandle<u64> {
    let (came, due) = mpsc::channel::<Instant>();
    let mut answers = stream.try_clone().unwrap();
    let writer = thread::spawn(move || {
        let mut answered = 0;
        for came in due {
            thread::sleep(delay.saturating_sub(came.elapsed()));
            answers.write_all(&vec![3; size]).unwrap();
            answered += 1;
        }
        answered
    });
    thread::spawn(move || {
        let mut room = vec![0; size];
        while stream.read_exact(&mut room).is_ok() {
            came.send(Instant::now()).unwrap();
        }
        drop(came);
        writer.join().unwrap()
    })
}

/// What an answerer of datagrams did.
#[derive(Debug, Default)]
pub struct Did {
    pub requests: u64,
    pub forgotten: u64,
    pub answered: u64,
}

/// Answers requests in groups of four, the last one first, and forgets every
/// `forgets`th. Ends after a silence.
pub fn disorderly(socket: UdpSocket, forgets: u64) -> thread::JoinHandle<Did> {
    thread::spawn(move || {
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let (mut did, mut kept) = (Did::default(), Vec::new());
        let mut room = [0; 2_048];
        while let Ok(length) = socket.recv(&mut room) {
            did.requests += 1;
            if did.requests % forgets == 0 {
                did.forgotten += 1;
                continue;
            }
            kept.push(room[..length].to_vec());
            if kept.len() == 4 {
                for answer in kept.drain(..).rev() {
                    assert_eq!(socket.send(&answer).unwrap(), answer.len());
                    did.answered += 1;
                }
            }
        }
        did.forgotten += kept.len() as u64;
        did
    })
}

/// Answers requests `delay` after they came. Ends after a silence longer than it.
pub fn late(socket: UdpSocket, delay: Duration) -> thread::JoinHandle<Did> {
    thread::spawn(move || {
        let (mut did, mut kept) = (Did::default(), VecDeque::<(Instant, Vec<u8>)>::new());
        let mut room = [0; 2_048];
        let mut last = Instant::now();
        while last.elapsed() < 3 * delay || !kept.is_empty() {
            socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
            if let Ok(length) = socket.recv(&mut room) {
                did.requests += 1;
                last = Instant::now();
                kept.push_back((last, room[..length].to_vec()));
            }
            while kept.front().is_some_and(|(came, _)| came.elapsed() >= delay) {
                let (_, answer) = kept.pop_front().unwrap();
                // A requester that has ended is told nothing.
                did.answered += u64::from(socket.send(&answer).is_ok());
            }
        }
        did
    })
}
