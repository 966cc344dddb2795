//! The strangers: a process of its own, in the namespace that they come from.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use lab::greeting::ClientHello;
use model::frame::encode;

/// Number of strangers of each kind at any time.
const IDLE: usize = 1_000;
const GARBAGE: usize = 1_000;
const SLOW: usize = 100;
/// Interval at which a slow one says a byte, and those sent away come again.
const PACE: Duration = Duration::from_millis(20);
/// Number of a kind that are looked after at a time.
const SHARE: usize = 20;

/// The running flood. Dropped, it ends.
#[derive(Debug)]
pub struct Flood {
    child: Child,
    input: Option<ChildStdin>,
    lines: BufReader<std::process::ChildStdout>,
}

impl Flood {
    /// Starts it in a namespace and waits until all are there.
    pub fn start(inside: &str, agent: SocketAddr) -> anyhow::Result<Self> {
        let mut command = Command::new("nsenter");
        command.arg(inside).arg(std::env::current_exe()?).args(["__flood", &agent.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("start the flood")?;
        let (input, output) = (child.stdin.take(), child.stdout.take().context("no pipe")?);
        let mut flood = Self { child, input, lines: BufReader::new(output) };
        let mut line = String::new();
        flood.lines.read_line(&mut line)?;
        anyhow::ensure!(line == "there\n", "the flood did not come about; are 2,200 open files allowed (ulimit -n)?");
        Ok(flood)
    }

    /// Ends it; returns how many connections it made.
    pub fn end(mut self) -> anyhow::Result<u64> {
        drop(self.input.take());
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest)?;
        rest.trim().parse().with_context(|| format!("the flood said '{rest}'"))
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One kind of stranger.
struct Kind {
    sockets: Vec<TcpStream>,
    opening: Vec<u8>,
    next: usize,
}

impl Kind {
    fn new(agent: SocketAddr, count: usize, opening: Vec<u8>, made: &mut u64) -> io::Result<Self> {
        let sockets = (0..count).map(|_| open(agent, &opening, made)).collect::<io::Result<_>>()?;
        Ok(Self { sockets, opening, next: 0 })
    }

    /// Those of the next few that were sent away come again.
    fn look_after(&mut self, agent: SocketAddr, made: &mut u64) -> io::Result<()> {
        for _ in 0..SHARE {
            let at = self.next % self.sockets.len();
            self.next = at + 1;
            let gone = !matches!(self.sockets[at].read(&mut [0; 256]), Err(error) if error.kind() == io::ErrorKind::WouldBlock);
            if gone {
                self.sockets[at] = open(agent, &self.opening, made)?;
            }
        }
        Ok(())
    }
}

/// Besieges an agent until standard input ends; then prints how many
/// connections were made.
pub fn run(agent: SocketAddr) -> anyhow::Result<()> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = io::stdin().read_to_end(&mut Vec::new());
            over.store(true, Ordering::Relaxed);
        });
        besiege(agent, &over)
    })
}

fn besiege(agent: SocketAddr, over: &AtomicBool) -> anyhow::Result<()> {
    let mut made = 0;
    let mut kinds = [
        Kind::new(agent, IDLE, Vec::new(), &mut made)?,
        Kind::new(agent, GARBAGE, vec![0x5a; 8_192], &mut made)?,
        Kind::new(agent, SLOW, Vec::new(), &mut made)?,
    ];
    println!("there");
    io::stdout().flush()?;
    let hello = encode(&ClientHello::new("1.0.0", [1; 32])).context("make a greeting")?;
    // Its last byte is never said.
    for byte in hello[..hello.len() - 1].iter().cycle() {
        if over.load(Ordering::Relaxed) {
            break;
        }
        for socket in &mut kinds[2].sockets {
            let _ = socket.write(&[*byte]);
        }
        for kind in &mut kinds {
            kind.look_after(agent, &mut made)?;
        }
        thread::sleep(PACE);
    }
    println!("{made}");
    Ok(())
}

fn open(agent: SocketAddr, opening: &[u8], made: &mut u64) -> io::Result<TcpStream> {
    let mut socket = TcpStream::connect_timeout(&agent, Duration::from_secs(10))?;
    socket.set_nonblocking(true)?;
    // It may have been sent away already.
    let _ = socket.write(opening);
    *made += 1;
    Ok(socket)
}
