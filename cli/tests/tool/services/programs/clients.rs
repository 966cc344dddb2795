//! Clients that speak the protocols of real servers, and count what they ask for and get.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use testkit::servers::Server;

use crate::attach::bursts::Counts;
use crate::support::within;

/// A bounded load on a connection that stays.
pub type Burst = Box<dyn FnMut() -> Counts + Send>;

/// Rounds of a burst.
const ROUNDS: u64 = 60;
/// Bytes of a value.
const VALUE: usize = 100;

/// Asks, and expects an answer of a given number of bytes, which begins as it should.
fn ask(connection: &mut TcpStream, question: &[u8], answer: usize, begins: &[u8]) -> (u64, u64) {
    connection.write_all(question).unwrap();
    let mut room = vec![0; answer];
    connection.read_exact(&mut room).unwrap();
    assert!(room.starts_with(begins), "{}", String::from_utf8_lossy(&room));
    (question.len() as u64, answer as u64)
}

/// One command with an answer of its own, then three at once.
pub fn redis(server: &Server) -> Burst {
    let mut connection = server.connect();
    Box::new(move || {
        let mut counts = Counts::default();
        for _ in 0..ROUNDS {
            let set = format!("*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n${VALUE}\r\n{}\r\n", "v".repeat(VALUE));
            let get = "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n".repeat(3);
            let found = format!("${VALUE}\r\n{}\r\n", "v".repeat(VALUE));
            for (question, answer, begins) in [(set, 5, "+OK"), (get, 3 * found.len(), found.as_str())] {
                let (to, from) = ask(&mut connection, question.as_bytes(), answer, begins.as_bytes());
                (counts.to, counts.from) = (counts.to + to, counts.from + from);
            }
            counts.requests += 4;
        }
        counts
    })
}

pub fn memcached(server: &Server) -> Burst {
    let mut connection = server.connect();
    Box::new(move || {
        let mut counts = Counts::default();
        for _ in 0..ROUNDS {
            let set = format!("set key 0 0 {VALUE}\r\n{}\r\n", "v".repeat(VALUE));
            let found = format!("VALUE key 0 {VALUE}\r\n{}\r\nEND\r\n", "v".repeat(VALUE));
            for (question, answer) in [(set.as_str(), "STORED\r\n"), ("get key\r\n", found.as_str())] {
                let (to, from) = ask(&mut connection, question.as_bytes(), answer.len(), answer.as_bytes());
                (counts.to, counts.from) = (counts.to + to, counts.from + from);
            }
            counts.requests += 2;
        }
        counts
    })
}

/// A small page and a large one on a connection that is kept.
pub fn http(server: &Server) -> Burst {
    let mut connection = BufReader::new(server.connect());
    Box::new(move || {
        let mut counts = Counts::default();
        for _ in 0..ROUNDS {
            for name in ["small", "large"] {
                let question = format!("GET /{name} HTTP/1.1\r\nHost: x\r\n\r\n");
                connection.get_mut().write_all(question.as_bytes()).unwrap();
                counts.to += question.len() as u64;
                counts.from += page(&mut connection);
                counts.requests += 1;
            }
        }
        counts
    })
}

/// Bytes of an answer with its head.
fn page(connection: &mut BufReader<TcpStream>) -> u64 {
    let (mut head, mut line, mut length) = (0, String::new(), 0);
    loop {
        line.clear();
        head += connection.read_line(&mut line).unwrap() as u64;
        assert!(!line.is_empty(), "the connection ended");
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.trim().parse().unwrap();
        }
    }
    connection.read_exact(&mut vec![0; length]).unwrap();
    head + length as u64
}

/// Simple queries of PostgreSQL's protocol 3.0.
pub fn postgres(server: &Server) -> Burst {
    let body = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
    let mut start = (body.len() as u32 + 4).to_be_bytes().to_vec();
    start.extend(body);
    let mut ready = None;
    // Its port answers before it serves.
    within(Duration::from_secs(20), "PostgreSQL serves", || {
        let mut connection = server.connect();
        connection.write_all(&start).unwrap();
        ready = until_ready(&mut connection).ok().map(|_| connection);
        ready.is_some()
    });
    let mut connection = ready.unwrap();
    Box::new(move || {
        let mut counts = Counts::default();
        for _ in 0..ROUNDS {
            let query = b"SELECT repeat('v', 100)\0";
            let mut question = vec![b'Q'];
            question.extend((query.len() as u32 + 4).to_be_bytes());
            question.extend(query);
            connection.write_all(&question).unwrap();
            counts.to += question.len() as u64;
            counts.from += until_ready(&mut connection).unwrap();
            counts.requests += 1;
        }
        counts
    })
}

/// Takes messages up to the one that says that the server is ready; returns their bytes, or what it
/// says in place of that.
fn until_ready(connection: &mut TcpStream) -> Result<u64, String> {
    let mut all = 0;
    loop {
        let mut head = [0; 5];
        connection.read_exact(&mut head).unwrap();
        let [kind, length @ ..] = head;
        let length = u32::from_be_bytes(length) as usize;
        let mut body = vec![0; length - 4];
        connection.read_exact(&mut body).unwrap();
        if kind == b'E' {
            return Err(String::from_utf8_lossy(&body).into_owned());
        }
        all += length as u64 + 1;
        if kind == b'Z' {
            return Ok(all);
        }
    }
}
