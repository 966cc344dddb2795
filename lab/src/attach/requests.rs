//! Requests that a program has answered, by a source that the user names.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use model::Nanos;
use model::attach::SENDS;

use super::AttachError;
use sys::process::ending;

use crate::bounded::{self, Limits};

/// The longest answer of a server that is read, in bytes.
const LONGEST: u64 = 1 << 20;
/// The most that a command may print for an answer, in bytes.
const PRINTED: usize = 64 << 10;
/// The most bytes by which a log may grow between two looks at it.
const GROWN: u64 = 256 << 20;
/// Time that a server or a command has for an answer, all of it.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks at whether the user wants an end.
const STEP: Duration = Duration::from_millis(100);

/// Where requests are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The program's calls that give data to a socket, counted in the kernel.
    Sends,
    /// Redis' own count of commands (`INFO stats`).
    Redis(String),
    /// memcached's own count of commands (`stats`).
    Memcached(String),
    /// Lines that are added to a file.
    Log(PathBuf),
    /// The number that a command prints.
    Command(String),
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = |address: &str| match address.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(address.to_owned()),
            _ => Err(format!("'{address}' is no address: write HOST:PORT")),
        };
        match text.split_once(':') {
            None if text == SENDS => Ok(Self::Sends),
            Some(("redis", rest)) => Ok(Self::Redis(address(rest)?)),
            Some(("memcached", rest)) => Ok(Self::Memcached(address(rest)?)),
            Some(("log", rest)) if !rest.is_empty() => Ok(Self::Log(rest.into())),
            Some(("command", rest)) if !rest.trim().is_empty() => Ok(Self::Command(rest.to_owned())),
            _ => Err(format!(
                "'{text}' is no source of requests. There are: sends, redis:ADDRESS, memcached:ADDRESS, log:FILE, command:PROGRAM"
            )),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Sends => f.write_str(SENDS),
            Self::Redis(address) => write!(f, "redis:{address}"),
            Self::Memcached(address) => write!(f, "memcached:{address}"),
            Self::Log(path) => write!(f, "log:{}", path.display()),
            Self::Command(words) => write!(f, "command:{words}"),
        }
    }
}

/// A source that is open; [`Source::Sends`] is counted elsewhere.
#[derive(Debug)]
pub struct Counter<'a> {
    kind: Kind<'a>,
    stop: &'a AtomicBool,
}

#[derive(Debug)]
enum Kind<'a> {
    Server { connection: BufReader<Connection<'a>>, protocol: Protocol, asked: u64 },
    Log { path: PathBuf, file: File, inode: u64, lines: u64 },
    Command(Vec<String>),
}

/// A connection to a server, whose answers are not waited for without end.
#[derive(Debug)]
struct Connection<'a> {
    stream: TcpStream,
    stop: &'a AtomicBool,
    /// The end of the time for the answer at hand.
    until: Instant,
}

impl Read for Connection<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            // One that answers a byte at a time has no more time for that.
            if Instant::now() >= self.until {
                return Err(io::Error::other(format!("no whole answer came within {}", Nanos::from(PATIENCE))));
            }
            match self.stream.read(room) {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                answer => return answer,
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(stopped());
            }
        }
    }
}

fn stopped() -> io::Error {
    io::Error::other("it was not waited for: the user wants an end")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Redis,
    Memcached,
}

impl<'a> Counter<'a> {
    /// Opens a source; `None` of sends. No answer is waited for once `stop` is set.
    ///
    /// # Errors
    /// What the system, or the server, answered.
    pub fn open(source: &Source, stop: &'a AtomicBool) -> Result<Option<Self>, AttachError> {
        let failed = |error: io::Error| AttachError::Requests { source_name: source.to_string(), answer: error.to_string() };
        let server = |address: &str, protocol| -> Result<Kind<'a>, AttachError> {
            let connection = connect(address).map_err(failed)?;
            let connection = BufReader::new(Connection { stream: connection, stop, until: Instant::now() });
            Ok(Kind::Server { connection, protocol, asked: 0 })
        };
        let kind = match source {
            Source::Sends => return Ok(None),
            Source::Redis(address) => server(address, Protocol::Redis)?,
            Source::Memcached(address) => server(address, Protocol::Memcached)?,
            Source::Log(path) => {
                let mut file = sys::file::open(path).map_err(failed)?;
                file.seek(SeekFrom::End(0)).map_err(failed)?;
                let inode = file.metadata().map_err(failed)?.ino();
                Kind::Log { path: path.clone(), file, inode, lines: 0 }
            }
            Source::Command(words) => {
                let words = shlex::split(words).filter(|words| !words.is_empty());
                Kind::Command(words.ok_or_else(|| failed(io::Error::other("its quotes do not match")))?)
            }
        };
        let mut this = Self { kind, stop };
        // What cannot be asked now cannot be asked in a window either.
        this.read().map_err(failed)?;
        Ok(Some(this))
    }

    /// The count so far, without the questions asked here.
    ///
    /// # Errors
    /// What the system, or the server, answered.
    pub fn read(&mut self) -> io::Result<u64> {
        match &mut self.kind {
            Kind::Server { connection, protocol, asked } => {
                connection.get_mut().until = Instant::now() + PATIENCE;
                match protocol {
                    Protocol::Redis => {
                        // The server counts a question when it has answered it: those before, not this one.
                        let count = ask_redis(connection)?.saturating_sub(*asked);
                        *asked += 1;
                        Ok(count)
                    }
                    Protocol::Memcached => ask_memcached(connection),
                }
            }
            Kind::Log { path, file, inode, lines } => {
                *lines += new_lines(file, self.stop)?;
                // A file that was put in the place of the log goes on from its start.
                if let Ok(now) = std::fs::metadata(&*path)
                    && (now.ino() != *inode || now.len() < file.stream_position()?)
                {
                    *file = sys::file::open(path)?;
                    *inode = file.metadata()?.ino();
                    *lines += new_lines(file, self.stop)?;
                }
                Ok(*lines)
            }
            Kind::Command(words) => {
                let limits = Limits { time: PATIENCE, bytes: Some(PRINTED), stop: Some(self.stop) };
                let ran = bounded::run(Command::new(&words[0]).args(&words[1..]), &limits).map_err(io::Error::other)?;
                if !ran.status.success() {
                    return Err(io::Error::other(format!("the command failed ({}): {}", ending(ran.status), ran.said)));
                }
                let text = String::from_utf8_lossy(&ran.out);
                let number = text.split_ascii_whitespace().find_map(|word| word.parse().ok());
                number.ok_or_else(|| io::Error::other("the command printed no whole number"))
            }
        }
    }
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(connection) => {
                connection.set_read_timeout(Some(STEP))?;
                connection.set_write_timeout(Some(PATIENCE))?;
                connection.set_nodelay(true)?;
                return Ok(connection);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Lines up to the end that the file has now; its writer may be faster than any reader.
fn new_lines(file: &mut File, stop: &AtomicBool) -> io::Result<u64> {
    let mut left = file.metadata()?.len().saturating_sub(file.stream_position()?);
    if left > GROWN {
        return Err(io::Error::other(format!("it grew by {} MiB, more than the {} that are read at a time", left >> 20, GROWN >> 20)));
    }
    let mut room = vec![0; 256 << 10];
    let mut lines = 0;
    while left > 0 {
        let count = file.read(&mut room[..usize::try_from(left).unwrap_or(usize::MAX).min(256 << 10)])?;
        if count == 0 {
            break;
        }
        if stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        left -= count as u64;
        lines += room[..count].iter().filter(|byte| **byte == b'\n').count() as u64;
    }
    Ok(lines)
}

fn ask_redis(connection: &mut BufReader<Connection<'_>>) -> io::Result<u64> {
    connection.get_mut().stream.write_all(b"*2\r\n$4\r\nINFO\r\n$5\r\nstats\r\n")?;
    let head = line(connection)?;
    let length = head.strip_prefix('$').and_then(|length| length.parse::<u64>().ok()).filter(|length| *length < LONGEST);
    let length = length.ok_or_else(|| io::Error::other(format!("the server answers '{head}'; does it ask for a password?")))?;
    let mut body = vec![0; length as usize + 2];
    connection.read_exact(&mut body)?;
    redis(&String::from_utf8_lossy(&body)).ok_or_else(|| io::Error::other("its INFO has no total_commands_processed"))
}

fn ask_memcached(connection: &mut BufReader<Connection<'_>>) -> io::Result<u64> {
    connection.get_mut().stream.write_all(b"stats\r\n")?;
    let mut text = String::new();
    loop {
        let one = line(connection)?;
        match one.as_str() {
            "END" => break,
            _ if one.starts_with("STAT ") && (text.len() as u64) < LONGEST => text += &(one + "\n"),
            _ => return Err(io::Error::other(format!("the server answers '{one}'"))),
        }
    }
    memcached(&text).ok_or_else(|| io::Error::other("its stats have no cmd_get"))
}

/// A line without its end.
fn line(connection: &mut BufReader<Connection<'_>>) -> io::Result<String> {
    let mut bytes = Vec::new();
    connection.by_ref().take(4096).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(String::from_utf8_lossy(&bytes).trim_end().chars().filter(|letter| !letter.is_control()).collect())
}

/// The count in an answer to `INFO stats`.
pub fn redis(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.trim_end().strip_prefix("total_commands_processed:")?.parse().ok())
}

/// The count in an answer to `stats`: every kind of command.
pub fn memcached(text: &str) -> Option<u64> {
    let values = || text.lines().filter_map(|line| line.strip_prefix("STAT ")?.split_once(' '));
    let value = |key: &str| values().find(|(name, _)| *name == key).and_then(|(_, value)| value.trim().parse().ok());
    value("cmd_get")?;
    let kinds = ["cmd_get", "cmd_set", "cmd_touch", "cmd_meta", "cmd_flush"];
    Some(kinds.iter().filter_map(|kind| value(kind)).fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::{Counter, Source, memcached, redis};
    use proptest::prelude::proptest;
    use std::io::ErrorKind;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    static GO_ON: AtomicBool = AtomicBool::new(false);

    fn refusal(source: Source) -> String {
        Counter::open(&source, &GO_ON).unwrap_err().to_string()
    }

    #[test]
    fn what_answers_without_end_or_not_at_all_is_ended_at_the_bound() {
        let command = |words: &str| refusal(Source::Command(words.to_owned()));
        assert!(command("yes").contains("wrote more than 65536 bytes and was killed"));
        assert!(command("sh -c 'echo no >&2; exit 3'").contains("the command failed (exit code 3): no"));
        let begun = Instant::now();
        assert!(command("sleep 60").contains("was not over after 5 s and was killed"));
        // A byte in each second is an answer that does not end either.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let drip = std::thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            while connection.write_all(b"$").is_ok() {
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        assert!(refusal(Source::Memcached(address)).contains("no whole answer came within 5 s"));
        drip.join().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_wait_for_a_server_or_a_command_heeds_the_stop() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let silent = Source::Redis(listener.local_addr().unwrap().to_string());
        for source in [silent, Source::Command("sleep 60".to_owned())] {
            STOP.store(false, Ordering::Relaxed);
            let waiting = std::thread::spawn(move || Counter::open(&source, &STOP).unwrap_err().to_string());
            std::thread::sleep(Duration::from_millis(200));
            STOP.store(true, Ordering::Relaxed);
            let begun = Instant::now();
            assert!(waiting.join().unwrap().contains("the user wants an end"));
            assert!(begun.elapsed() < Duration::from_secs(1));
        }
    }

    #[test]
    fn a_log_is_a_plain_file_and_grows_by_no_more_than_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for (path, why) in [(pipe, "it is a pipe"), ("/dev/zero".into(), "it is a device"), (folder.path().to_owned(), "directory")] {
            let said = refusal(Source::Log(path));
            assert!(said.contains(why), "{said}");
        }
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut counter = Counter::open(&Source::Log(log.path().to_owned()), &GO_ON).unwrap().unwrap();
        log.as_file().set_len(super::GROWN).unwrap();
        assert_eq!(counter.read().unwrap(), 0);
        log.as_file().set_len(2 * super::GROWN + 1).unwrap();
        let error = counter.read().unwrap_err();
        assert!(error.kind() == ErrorKind::Other && error.to_string().contains("it grew by 256 MiB"), "{error}");
    }

    #[test]
    fn sources_are_written_as_they_are_read() {
        for text in ["sends", "redis:127.0.0.1:6379", "memcached:[::1]:11211", "log:/var/log/access.log", "command:cat /tmp/count"] {
            assert_eq!(text.parse::<Source>().unwrap().to_string(), text);
        }
        for wrong in ["", "redis", "redis:", "redis:6379", "log:", "command: ", "sends:", "memcached:host:port"] {
            assert!(wrong.parse::<Source>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn servers_own_counts_are_read() {
        let info = "# Stats\r\ntotal_connections_received:3\r\ntotal_commands_processed:40003\r\ntotal_net_input_bytes:12\r\n";
        assert_eq!(redis(info), Some(40_003));
        let stats = "STAT pid 1\nSTAT cmd_get 5\nSTAT cmd_set 7\nSTAT bytes_read 9\n";
        assert_eq!(memcached(stats), Some(12));
        assert_eq!((redis("a:b"), memcached("STAT x")), (None, None));
    }

    #[test]
    fn questions_are_no_requests() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // It counts as Redis does: the questions before this one.
        let server = std::thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            for commands in 70.. {
                if connection.read(&mut [0; 256]).unwrap() == 0 {
                    return;
                }
                let body = format!("total_commands_processed:{commands}\r\n");
                connection.write_all(format!("${}\r\n{body}\r\n", body.len()).as_bytes()).unwrap();
            }
        });
        let mut counter = Counter::open(&Source::Redis(address.to_string()), &GO_ON).unwrap().unwrap();
        for _ in 0..3 {
            assert_eq!(counter.read().unwrap(), 70);
        }
        drop(counter);
        server.join().unwrap();
    }

    #[test]
    fn lines_and_numbers_of_others_are_counted() {
        let mut log = tempfile::NamedTempFile::new().unwrap();
        writeln!(log, "before").unwrap();
        let mut counter = Counter::open(&Source::Log(log.path().to_owned()), &GO_ON).unwrap().unwrap();
        write!(log, "one\ntwo\nhalf").unwrap();
        assert_eq!(counter.read().unwrap(), 2);
        writeln!(log, " a line").unwrap();
        assert_eq!(counter.read().unwrap(), 3);
        let mut counter = Counter::open(&Source::Command("echo 'requests 17'".to_owned()), &GO_ON).unwrap().unwrap();
        assert_eq!(counter.read().unwrap(), 17);
        for wrong in ["false", "echo none", "'"] {
            assert!(Counter::open(&Source::Command(wrong.to_owned()), &GO_ON).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(text in "(\\PC|[0-9:\\r\\n]|STAT |total_commands_processed:){0,60}") {
            let _ = (redis(&text), memcached(&text), text.parse::<Source>());
        }
    }
}
