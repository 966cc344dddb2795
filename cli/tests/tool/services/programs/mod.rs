//! Real servers, attached: what the tool counts against what the client and the server count.

pub mod clients;
pub mod languages;

use std::process::Command;
use std::time::Duration;

use model::attach::Look;
use testkit::servers::Server;

use crate::attach::bursts::{Burst, Counts, Extent, bytes_agree, requests_agree, seen};
use crate::attach::server;
use crate::support::{Skip, directory, need_programs};

crate::claims!(
    redis_agrees_to_the_byte,
    memcached_agrees_to_the_byte,
    nginx_agrees_to_the_byte,
    postgres_answers_what_it_is_asked,
    a_thousand_children_are_followed_one_by_one,
);

/// Two windows of each look.
const EXTENT: Extent = Extent { windows: 8, length: Duration::from_millis(1500) };

/// What a server counts itself agrees as well.
fn server_agrees(seen: &Burst) {
    requests_agree(seen);
    bytes_agree(seen);
}

fn redis_agrees_to_the_byte() -> Result<(), Skip> {
    let server = Server::redis()?;
    let seen = seen(&server.pid(), EXTENT, &format!("redis:{}", server.address()), &mut clients::redis(&server))?;
    server_agrees(&seen);
    // A question and its answer, then three of each at once.
    let pattern = &seen.told["states"][0]["patterns"][0];
    assert_eq!(pattern["receives"], 1, "{pattern}");
    Ok(())
}

fn memcached_agrees_to_the_byte() -> Result<(), Skip> {
    let server = Server::memcached()?;
    let seen = seen(&server.pid(), EXTENT, &format!("memcached:{}", server.address()), &mut clients::memcached(&server))?;
    server_agrees(&seen);
    Ok(())
}

/// Its master waits, and its worker serves: a child is observed.
fn nginx_agrees_to_the_byte() -> Result<(), Skip> {
    let server = Server::nginx(136, 20_000)?;
    let log = server.path().join("access");
    let mut burst = clients::http(&server);
    let mut all = Counts::default();
    let mut counted = || {
        let counts = burst();
        all = Counts { requests: all.requests + counts.requests, to: all.to + counts.to, from: all.from + counts.from };
        counts
    };
    let seen = seen(&server.pid(), EXTENT, &format!("log:{}", log.display()), &mut counted)?;
    requests_agree(&seen);
    bytes_agree(&seen);
    let mut logged = Counts::default();
    for line in std::fs::read_to_string(log).unwrap().lines() {
        let (length, sent) = line.split_once(' ').unwrap();
        logged.requests += 1;
        logged.to += length.parse::<u64>().unwrap();
        logged.from += sent.parse::<u64>().unwrap();
    }
    assert_eq!(logged, all, "what nginx logs is what its client got");
    Ok(())
}

/// A backend that was forked before the window; each answer is one send.
fn postgres_answers_what_it_is_asked() -> Result<(), Skip> {
    let server = Server::postgres()?;
    let seen = seen(&server.pid(), EXTENT, "sends", &mut clients::postgres(&server))?;
    requests_agree(&seen);
    bytes_agree(&seen);
    let pattern = &seen.told["states"][0]["patterns"][0];
    assert_eq!(pattern["sends"].as_array().unwrap().len(), 1, "{pattern}");
    Ok(())
}

/// A child for each connection, waited for before the next; it prints its port, and writes a line for
/// each answer.
const FORKING: &str = "import os, socket, sys
listener = socket.socket()
listener.bind(('127.0.0.1', 0))
listener.listen(64)
print(listener.getsockname()[1], flush=True)
log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
while True:
    connection, _ = listener.accept()
    child = os.fork()
    if child == 0:
        connection.recv(4096)
        connection.sendall(b'x' * 100)
        os.write(log, b'answered\\n')
        os._exit(0)
    connection.close()
    os.waitpid(child, 0)
";

/// Every window has the children of its burst: the forks that are counted, and their answers.
fn a_thousand_children_are_followed_one_by_one() -> Result<(), Skip> {
    const CHILDREN: u64 = 1_000;
    need_programs(&["python3"])?;
    let at = directory(false);
    let log = at.path().join("log");
    std::fs::write(&log, "").unwrap();
    let server = server::Server::of(Command::new("python3").args(["-c", FORKING]).arg(&log));
    let mut burst = || {
        for _ in 0..CHILDREN {
            assert!(server::ask_once(&server), "the server answers");
        }
        Counts { requests: CHILDREN, to: 36 * CHILDREN, from: 100 * CHILDREN }
    };
    let extent = Extent { windows: 4, length: Duration::from_secs(6) };
    let seen = seen(&server.pid(), extent, &format!("log:{}", log.display()), &mut burst)?;
    requests_agree(&seen);
    let came = |look| seen.windows.iter().find(|(record, _)| record.look == look).map(|(record, _)| u64::from(record.clocks.came));
    let told = seen.told["states"][0]["refused"].to_string();
    // Where samples are of whole CPUs, forks are recorded next to them.
    assert!(came(Look::Time) == Some(CHILDREN) || told.contains("samples of whole CPUs"), "{:?} {told}", came(Look::Time));
    if told.contains("process ids of its own namespace") {
        return Err(Skip(format!(
            "{CHILDREN} children were followed by their forks; their socket calls cannot be told in a process id namespace of its own"
        )));
    }
    bytes_agree(&seen);
    assert_eq!(came(Look::Messages), Some(CHILDREN));
    Ok(())
}
