//! A page over HTTP for scrapers: a thread of its own, so that none of them holds up the reader of samples.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use model::Refusal;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Clients that are answered at once; others wait until one of these is done.
const MOST_CLIENTS: usize = 4;
/// The longest request, in bytes.
const LONGEST_REQUEST: usize = 8 << 10;
/// Time for a request, and again for its answer.
const LONGEST_TIME: Duration = Duration::from_secs(2);
/// Wait where the system takes no connection.
const PAUSE: Duration = Duration::from_millis(100);
/// The only path.
const PATH: &str = "/metrics";

/// A page that is offered on an address until this is dropped.
#[derive(Debug)]
pub struct MetricsServer {
    address: SocketAddr,
    page: Arc<Mutex<Arc<str>>>,
    /// The thread ends when this is closed.
    open: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Listens on an address, and offers a page of this type there, first this one.
    ///
    /// # Errors
    /// An answer of the system.
    pub fn open(address: SocketAddr, content_type: &'static str, page: &str) -> Result<Self, Refusal> {
        let remedy = "Give --listen an address of this machine with a free port";
        let refused = |error: io::Error| Refusal::new(format!("listen on {address}"), error, remedy);
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let (open, closed) = UnixStream::pair().map_err(refused)?;
        let page: Arc<Mutex<Arc<str>>> = Arc::new(Mutex::new(Arc::from(page)));
        let server = Server { listener, closed, page: Arc::clone(&page), content_type, clients: Vec::new() };
        let spawned = thread::Builder::new().name("nettoll-scrape".to_owned()).spawn(move || server.run());
        let thread = spawned.map_err(|error| Refusal::new("start a thread", error, "Look for a limit of processes (`ulimit -u`)"))?;
        Ok(Self { address, page, open: Some(open), thread: Some(thread) })
    }

    /// The address, with the port that the kernel chose where it was 0.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces the page.
    pub fn publish(&self, page: &str) {
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = Arc::from(page);
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.open.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Server {
    listener: TcpListener,
    closed: UnixStream,
    page: Arc<Mutex<Arc<str>>>,
    content_type: &'static str,
    clients: Vec<Client>,
}

impl Server {
    fn run(mut self) {
        loop {
            let now = Instant::now();
            self.clients.retain(|client| now < client.until);
            let mut files = vec![PollFd::new(self.closed.as_fd(), PollFlags::POLLIN)];
            files.extend(self.clients.iter().map(Client::wait));
            if self.clients.len() < MOST_CLIENTS {
                files.push(PollFd::new(self.listener.as_fd(), PollFlags::POLLIN));
            }
            let first = self.clients.iter().map(|client| client.until).min();
            // A millisecond later, so that no wait ends before its time.
            let wait = first.and_then(|until| PollTimeout::try_from((until - now).as_millis() + 1).ok());
            match poll(&mut files, wait.unwrap_or(PollTimeout::NONE)) {
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                // The kernel has no memory for it now.
                Err(_) => {
                    thread::sleep(PAUSE);
                    continue;
                }
            }
            let ready: Vec<bool> = files.iter().map(|file| file.any().unwrap_or(false)).collect();
            if ready[0] {
                return;
            }
            let mut ready = ready.into_iter().skip(1);
            let mut clients = Vec::with_capacity(MOST_CLIENTS);
            for mut client in std::mem::take(&mut self.clients) {
                if ready.next() != Some(true) || client.turn(|request| self.answer(request)).is_ok() {
                    clients.push(client);
                }
            }
            clients.retain(|client| !client.is_done());
            self.clients = clients;
            if ready.next() == Some(true) {
                self.accept();
            }
        }
    }

    fn accept(&mut self) {
        match self.listener.accept() {
            Ok((stream, _)) if stream.set_nonblocking(true).is_ok() => self.clients.push(Client::new(stream)),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
            // Without a free descriptor the listener stays ready.
            Err(_) => thread::sleep(PAUSE),
        }
    }

    /// The answer to a request's first line; `None` to one that is too long.
    fn answer(&self, request: Option<&[u8]>) -> Vec<u8> {
        let Some(request) = request else { return refusal("431 Request Header Fields Too Large", "") };
        let line = request.split(|byte| *byte == b'\r' || *byte == b'\n').next().unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let [method, target, version] = words[..] else { return refusal("400 Bad Request", "") };
        if !version.starts_with(b"HTTP/1.") {
            return refusal("400 Bad Request", "");
        }
        if target.split(|byte| *byte == b'?').next() != Some(PATH.as_bytes()) {
            return refusal("404 Not Found", "");
        }
        if method != b"GET" {
            return refusal("405 Method Not Allowed", "Allow: GET\r\n");
        }
        let page = Arc::clone(&self.page.lock().unwrap_or_else(PoisonError::into_inner));
        answer("200 OK", &format!("Content-Type: {}\r\n", self.content_type), &page)
    }
}

fn refusal(status: &str, header: &str) -> Vec<u8> {
    answer(status, &format!("Content-Type: text/plain; charset=utf-8\r\n{header}"), &format!("{status}; GET {PATH} is answered.\n"))
}

fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}").into_bytes()
}

/// One connection.
struct Client {
    stream: TcpStream,
    request: Vec<u8>,
    /// Bytes that are still to be sent, once the request is there.
    answer: Option<Vec<u8>>,
    sent: usize,
    /// It is closed then.
    until: Instant,
}

impl Client {
    fn new(stream: TcpStream) -> Self {
        Self { stream, request: Vec::new(), answer: None, sent: 0, until: Instant::now() + LONGEST_TIME }
    }

    fn wait(&self) -> PollFd<'_> {
        let flags = if self.answer.is_some() { PollFlags::POLLOUT } else { PollFlags::POLLIN };
        PollFd::new(self.stream.as_fd(), flags)
    }

    fn is_done(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| self.sent >= answer.len())
    }

    /// Reads or writes what goes without a wait; an error ends the connection.
    fn turn(&mut self, answer: impl Fn(Option<&[u8]>) -> Vec<u8>) -> io::Result<()> {
        if self.answer.is_none() {
            let mut part = [0; 2048];
            match self.stream.read(&mut part) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.request.extend_from_slice(&part[..length]),
                Err(error) => return if is_later(&error) { Ok(()) } else { Err(error) },
            }
            let is_whole = self.request.windows(4).any(|end| end == b"\r\n\r\n") || self.request.windows(2).any(|end| end == b"\n\n");
            match () {
                () if is_whole && self.request.len() <= LONGEST_REQUEST => self.answer = Some(answer(Some(&self.request))),
                () if self.request.len() > LONGEST_REQUEST => self.answer = Some(answer(None)),
                () => return Ok(()),
            }
            self.until = Instant::now() + LONGEST_TIME;
        }
        let Some(answer) = &self.answer else { return Ok(()) };
        match self.stream.write(&answer[self.sent..]) {
            Ok(length) => self.sent += length,
            Err(error) if is_later(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpStream};
    use std::time::{Duration, Instant};

    use super::MetricsServer;

    fn open() -> MetricsServer {
        MetricsServer::open("127.0.0.1:0".parse().unwrap(), "text/plain", "page 1\n").unwrap()
    }

    fn connect(server: &MetricsServer) -> TcpStream {
        let stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// The answer to some bytes; what came before the connection was reset is enough.
    fn ask(server: &MetricsServer, request: &[u8]) -> String {
        let mut stream = connect(server);
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    #[test]
    fn one_path_is_answered_to_one_method() {
        let server = open();
        let status = |request: &str| ask(&server, request.as_bytes()).split("\r\n").next().unwrap().to_owned();
        let page = ask(&server, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n") && page.ends_with("\r\n\r\npage 1\n"), "{page}");
        server.publish("page 2\n");
        assert!(ask(&server, b"GET /metrics?x=1 HTTP/1.0\n\n").ends_with("page 2\n"));
        for path in ["/", "/metrics/", "/metricsx", "/../metrics", "http://x/metrics", "*"] {
            assert_eq!(status(&format!("GET {path} HTTP/1.1\r\n\r\n")), "HTTP/1.1 404 Not Found", "{path}");
        }
        for method in ["POST", "HEAD", "PUT", "get", ""] {
            assert_eq!(status(&format!("{method} /metrics HTTP/1.1\r\n\r\n")), "HTTP/1.1 405 Method Not Allowed", "{method}");
        }
        for nonsense in ["GET /metrics\r\n\r\n", "\r\n\r\n", "a b c d\r\n\r\n", "GET /metrics FTP/1\r\n\r\n", "\u{0}\u{1b}[31m\n\n"] {
            assert_eq!(status(nonsense), "HTTP/1.1 400 Bad Request", "{nonsense:?}");
        }
    }

    #[test]
    fn a_request_without_an_end_is_cut_off() {
        let server = open();
        // What is refused unread may reset the connection before the answer is read.
        let answer = ask(&server, &vec![b'x'; 1 << 20]);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
        assert!(ask(&server, b"GET /metrics HTTP/1.1\r\n\r\n").ends_with("page 1\n"));
    }

    #[test]
    fn those_that_stall_are_closed_and_the_next_is_answered() {
        let server = open();
        // Longer than what the kernel takes for a client that does not read.
        server.publish(&"x".repeat(32 << 20));
        let began = Instant::now();
        let silent: Vec<TcpStream> = (0..3).map(|_| connect(&server)).collect();
        let mut deaf = connect(&server);
        deaf.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let publishing = Instant::now();
        server.publish("page 3\n");
        assert!(publishing.elapsed() < Duration::from_secs(1), "publishing waits for no client");
        assert!(ask(&server, b"GET /metrics HTTP/1.1\r\n\r\n").ends_with("page 3\n"));
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
        drop(silent);
    }

    #[test]
    fn a_crowd_is_answered_one_after_the_other_and_the_end_waits_for_none() {
        let server = open();
        let crowd: Vec<TcpStream> = (0..60).map(|_| connect(&server)).collect();
        for stream in &crowd {
            let _ = (&*stream).write_all(b"GET /metrics HTTP/1.1\r\n\r\n");
        }
        for mut stream in crowd {
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.ends_with("page 1\n"));
        }
        let (half, silent) = (connect(&server), connect(&server));
        half.shutdown(Shutdown::Write).unwrap();
        let began = Instant::now();
        drop(server);
        assert!(began.elapsed() < Duration::from_secs(1));
        drop(silent);
    }
}
