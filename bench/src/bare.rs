//! The bare C loop, run in the hosts of a session.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use lab::session::Session;
use model::{Api, Family, Protocol, Role};

/// `bench/bare.c` or `bench/ways.c`, compiled.
#[derive(Debug)]
pub struct Bare {
    program: PathBuf,
}

/// Measurements of one end of either tool.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// Messages in the measured part.
    pub messages: f64,
    /// CPU time of the process, in ns.
    pub cpu_ns: f64,
    /// Voluntary context switches.
    pub switches: f64,
}

impl End {
    /// CPU time per message in ns.
    pub fn cpu_per_message(&self) -> f64 {
        self.cpu_ns / self.messages.max(1.0)
    }

    /// Wake-ups per message.
    pub fn wakeups_per_message(&self) -> f64 {
        self.switches / self.messages.max(1.0)
    }
}

/// Both ends of a trial.
#[derive(Debug, Clone, Copy)]
pub struct Trial {
    /// The sender.
    pub sender: End,
    /// The receiver.
    pub receiver: End,
}

/// Milliseconds of warm-up and of the measured part, for both tools.
pub const WARMUP_MS: u64 = 20;
/// See [`WARMUP_MS`].
pub const LENGTH_MS: u64 = 100;

impl Bare {
    /// At a path.
    pub const fn new(program: PathBuf) -> Self {
        Self { program }
    }

    /// The loop over `getppid`.
    pub fn ppid(&self, count: u64) -> anyhow::Result<End> {
        let output = Command::new(&self.program).arg("ppid").arg(count.to_string()).output().context("run bare ppid")?;
        parse(&String::from_utf8_lossy(&output.stdout))
    }

    /// One stream trial between the hosts of a session.
    pub fn stream(&self, session: &mut Session, protocol: Protocol, size: u64) -> anyhow::Result<Trial> {
        self.trial(session, if protocol == Protocol::Tcp { "tcp" } else { "udp" }, &[size])
    }

    /// One trial of datagrams in a way, by the loops of `bench/ways.c`.
    pub fn way(&self, session: &mut Session, api: Api, size: u64, batch: u32) -> anyhow::Result<Trial> {
        self.trial(session, api.name(), &[size, batch.into()])
    }

    fn trial(&self, session: &mut Session, kind: &str, messages: &[u64]) -> anyhow::Result<Trial> {
        let address = session.place(Role::Receiver, false).address(Family::V4).context("no IPv4 address")?.ip().to_string();
        let mut receiver = self.end(session, Role::Receiver, kind, &address, 0, messages).spawn().context("start the bare receiver")?;
        let mut lines = BufReader::new(receiver.stdout.take().context("no pipe")?);
        let mut port = String::new();
        lines.read_line(&mut port)?;
        let sender = self.end(session, Role::Sender, kind, &address, port.trim().parse()?, messages).output()?;
        let mut rest = String::new();
        lines.read_to_string(&mut rest)?;
        ensure!(receiver.wait()?.success() && sender.status.success(), "the bare loop failed");
        Ok(Trial { sender: parse(&String::from_utf8_lossy(&sender.stdout))?, receiver: parse(&rest)? })
    }

    fn end(&self, session: &mut Session, role: Role, kind: &str, address: &str, port: u16, messages: &[u64]) -> Command {
        let cpu = session.place(role, false).cpus(1).first().map_or(0, |place| place.cpu).to_string();
        let pid = session.host(role, false).pid().to_string();
        let mut command = Command::new(&self.program);
        command.arg(if role == Role::Sender { "send" } else { "recv" });
        command.args([kind, &pid, &cpu, address]);
        command.args([&[u64::from(port)], messages, &[WARMUP_MS, LENGTH_MS]].concat().iter().map(ToString::to_string));
        command.stdout(Stdio::piped());
        command
    }
}

/// Reads `messages bytes cpu_ns wall_ns voluntary_switches`.
pub fn parse(line: &str) -> anyhow::Result<End> {
    let numbers: Vec<f64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().with_context(|| format!("read '{line}'"))?;
    let [messages, _, cpu_ns, _, switches] = numbers[..] else { anyhow::bail!("'{line}' is not what bare.c prints") };
    Ok(End { messages, cpu_ns, switches })
}
