//! One host: carries out orders from its input, a JSON line each.

use std::io::BufRead;
use std::net::{SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::time::Duration;

use lab::host::namespace::{self, Entered, Isolation};
use lab::host::{counters, facts, link, route};
use model::Family;
use model::control::{LinkEnd, Route};
use model::host::HostFacts;
use model::kernel::HostCounters;
use serde::{Deserialize, Serialize};

/// What a host can be told.
#[derive(Debug, Serialize, Deserialize)]
pub enum TrialSpec {
    MakeVeth {
        device: String,
        far_device: String,
        far_pid: u32,
    },
    Configure(LinkEnd),
    /// Opens a UDP socket.
    Bind(SocketAddr),
    /// Sends `count` datagrams of `size` bytes.
    Send {
        to: SocketAddr,
        count: u32,
        size: usize,
    },
    /// Receives `count` datagrams, or fewer where none comes for long.
    Receive(u32),
    Counters(String, Family),
    Facts(String),
    /// Looks for the way to an address.
    Route(SocketAddr),
    Read(String),
    Write(String, String),
    /// Enters once more.
    EnterAgain,
}

/// What a host answers.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    Done,
    Mac([u8; 6]),
    Number(u32),
    Text(String),
    Counters(Box<HostCounters>),
    Facts(Box<HostFacts>),
    Route(Route),
    Failed(String),
}

struct Host {
    entered: Entered,
    socket: Option<UdpSocket>,
}

pub fn run(isolation: &str) -> ExitCode {
    let entered = match namespace::enter(isolation_of(isolation)) {
        Ok(entered) => entered,
        Err(error) => return tell(&Answer::Failed(error.to_string())),
    };
    tell(&Answer::Done);
    let mut host = Host { entered, socket: None };
    for line in std::io::stdin().lock().lines() {
        let order = serde_json::from_str(&line.unwrap()).unwrap();
        tell(&host.carry_out(order).unwrap_or_else(|error| Answer::Failed(error.to_string())));
    }
    ExitCode::SUCCESS
}

fn isolation_of(word: &str) -> Isolation {
    match word {
        "network" => Isolation::Network,
        "user" => Isolation::UserAndNetwork,
        _ => word.strip_prefix("join=").map_or(Isolation::None, |pid| Isolation::JoinUser { pid: pid.parse().unwrap() }),
    }
}

fn tell(answer: &Answer) -> ExitCode {
    let line = serde_json::to_string(answer).unwrap();
    println!("{line}");
    ExitCode::SUCCESS
}

impl Host {
    fn carry_out(&mut self, order: TrialSpec) -> Result<Answer, Box<dyn std::error::Error>> {
        match order {
            TrialSpec::MakeVeth { device, far_device, far_pid } => link::make_veth(&self.entered, &device, &far_device, far_pid)?,
            TrialSpec::Configure(end) => return Ok(Answer::Mac(link::configure(&self.entered, &end)?.mac)),
            TrialSpec::Bind(address) => self.socket = Some(UdpSocket::bind(address)?),
            TrialSpec::Send { to, count, size } => {
                let socket = self.socket.as_ref().ok_or("no socket")?;
                for _ in 0..count {
                    socket.send_to(&vec![7; size], to)?;
                }
            }
            TrialSpec::Receive(count) => return self.receive(count),
            TrialSpec::Counters(device, family) => return Ok(Answer::Counters(Box::new(counters::read(&device, family)?))),
            TrialSpec::Facts(device) => return Ok(Answer::Facts(Box::new(facts::gather("a", &self.entered, &device, &[0])))),
            TrialSpec::Route(to) => return Ok(Answer::Route(route::find(to)?)),
            TrialSpec::Read(path) => return Ok(Answer::Text(std::fs::read_to_string(path)?)),
            TrialSpec::Write(path, text) => std::fs::write(path, text)?,
            TrialSpec::EnterAgain => self.entered = namespace::enter(Isolation::Network)?,
        }
        Ok(Answer::Done)
    }

    fn receive(&self, count: u32) -> Result<Answer, Box<dyn std::error::Error>> {
        let socket = self.socket.as_ref().ok_or("no socket")?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        let received = (0..count).take_while(|_| socket.recv(&mut [0; 65_536]).is_ok()).count();
        Ok(Answer::Number(u32::try_from(received)?))
    }
}
