//! What this test program is when it is started with an argument: something
//! that stands in a namespace, which a thread of the tests cannot.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// A relay that takes its time: `__relay LISTEN TARGET MILLISECONDS`.
pub const RELAY: &str = "__relay";
/// A forger of datagrams: `__forge ADDRESS`.
pub const FORGE: &str = "__forge";

/// Plays the role, if there is one.
pub fn play() -> Option<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [RELAY, listen, target, delay] => relay(listen.parse().unwrap(), target.parse().unwrap(), delay.parse().unwrap()),
        [FORGE, address] => forge(address.parse().unwrap()),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}

/// Passes connections on, each byte so many milliseconds late, until it is
/// killed.
fn relay(listen: SocketAddr, target: SocketAddr, delay: u64) {
    let listener = TcpListener::bind(listen).unwrap();
    println!("ready");
    for near in listener.incoming() {
        let near = near.unwrap();
        let Ok(far) = TcpStream::connect(target) else { continue };
        near.set_nodelay(true).unwrap();
        far.set_nodelay(true).unwrap();
        let delay = Duration::from_millis(delay);
        late(near.try_clone().unwrap(), far.try_clone().unwrap(), delay);
        late(far, near, delay);
    }
}

/// Copies one direction.
fn late(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let (queue, queued) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut bytes = [0; 4_096];
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            if queue.send((Instant::now() + delay, bytes[..length].to_vec())).is_err() {
                break;
            }
        }
    });
    thread::spawn(move || {
        for (due, bytes) in queued {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}

/// Sends what is nearly right, and what is not, again and again until it is
/// killed. It says `ready` when the first round is out.
fn forge(at: SocketAddr) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // As long as what shows a cookie, with a wrong one; nearly as long; and others.
    let ask = |byte: u8| [vec![byte; 16], vec![0; 4]].concat();
    let forgeries = [ask(0), ask(0xff), vec![7; 20], vec![], vec![1], vec![1; 19], vec![1; 21], vec![0x55; 1_400]];
    for round in 0.. {
        for forgery in &forgeries {
            // A refusal is somebody's answer, which the counter of the device holds.
            let _ = socket.send_to(forgery, at);
        }
        if round == 0 {
            println!("ready");
        }
        thread::sleep(Duration::from_millis(2));
    }
}
