//! Connections that speak as they like.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use model::frame::{BEAT, Frames, encode};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// One end of a connection without nettoll behind it.
pub struct Raw {
    pub socket: TcpStream,
    frames: Frames,
}

impl Raw {
    pub fn connect(agent: SocketAddr) -> Self {
        Self::over(TcpStream::connect(agent).unwrap())
    }

    pub fn over(socket: TcpStream) -> Self {
        socket.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
        Self { socket, frames: Frames::new(1 << 20) }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    pub fn say<T: Serialize>(&mut self, message: &T) {
        self.send(&encode(message).unwrap());
    }

    /// The body of the next frame that is no beat; `None` at the end.
    pub fn body(&mut self) -> Option<Vec<u8>> {
        let mut bytes = [0; 4096];
        loop {
            match self.frames.take().unwrap() {
                Some(frame) if frame == BEAT => {}
                Some(frame) => return Some(frame[4..].to_vec()),
                None => match self.socket.read(&mut bytes) {
                    Ok(0) => return None,
                    Ok(length) => self.frames.push(&bytes[..length]),
                    Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                    Err(error) => panic!("{error}"),
                },
            }
        }
    }

    #[track_caller]
    pub fn hear<T: DeserializeOwned>(&mut self) -> T {
        let body = self.body().expect("a message");
        serde_json::from_slice(&body).unwrap_or_else(|error| panic!("{error}: {}", body.escape_ascii()))
    }

    /// The other side closes the connection; all that it said before.
    pub fn rest(mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(body) = self.body() {
            all.extend(body);
        }
        all
    }
}

/// Listens at an address and does something with the first who comes.
pub fn serve_once<T: Send + 'static>(at: SocketAddr, serve: impl FnOnce(Raw) -> T + Send + 'static) -> (SocketAddr, JoinHandle<T>) {
    let listener = TcpListener::bind(at).unwrap();
    let address = listener.local_addr().unwrap();
    (address, thread::spawn(move || serve(Raw::over(listener.accept().unwrap().0))))
}

/// What each of two sides said.
pub type Transcript = (Vec<u8>, Vec<u8>);

/// Stands between a controller and an agent; returns what each said, once both
/// have ended.
pub fn record(agent: SocketAddr) -> (SocketAddr, JoinHandle<Transcript>) {
    serve_once(SocketAddr::new(agent.ip(), 0), move |controller| {
        let agent = TcpStream::connect(agent).unwrap();
        let forth = copy(controller.socket.try_clone().unwrap(), agent.try_clone().unwrap());
        let back = copy(agent, controller.socket);
        (forth.join().unwrap(), back.join().unwrap())
    })
}

fn copy(mut from: TcpStream, mut to: TcpStream) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut all = Vec::new();
        let mut bytes = [0; 4096];
        while let Ok(length) = from.read(&mut bytes) {
            if length == 0 || to.write_all(&bytes[..length]).is_err() {
                break;
            }
            all.extend_from_slice(&bytes[..length]);
        }
        let _ = to.shutdown(Shutdown::Write);
        all
    })
}
