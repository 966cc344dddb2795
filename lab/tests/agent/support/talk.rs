//! A controller inside this process.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use lab::connection::{ConnectError, Connected, Credentials};
use model::control::{CONTROL_VERSION, FromHost, ToHost};
use model::frame::{Decoder, encode};
use model::plan::HostAddress;

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(8);

/// A controller that was let in.
#[derive(Debug)]
pub struct Controller {
    pub connected: Connected,
    decoder: Decoder<FromHost>,
}

/// Where an agent is, as a user writes it.
pub fn host_address(agent: SocketAddr) -> HostAddress {
    agent.to_string().parse().unwrap()
}

pub fn connect(agent: SocketAddr, credentials: &Credentials) -> Result<Connected, ConnectError> {
    lab::connection::connect("b", &host_address(agent), credentials)
}

impl Controller {
    /// Connects and greets the host behind the agent.
    pub fn connect(agent: SocketAddr, credentials: &Credentials) -> Result<Self, ConnectError> {
        let mut controller = Self::greeted(connect(agent, credentials)?);
        let answer = controller.ask(&ToHost::Hello { version: CONTROL_VERSION });
        assert!(matches!(answer, FromHost::Hello { version: CONTROL_VERSION, .. }), "{answer:?}");
        Ok(controller)
    }

    pub fn greeted(connected: Connected) -> Self {
        connected.stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        Self { connected, decoder: Decoder::default() }
    }

    pub fn tell(&mut self, command: &ToHost) {
        (&self.connected.stream).write_all(&encode(command).unwrap()).unwrap();
    }

    /// The next message; `None` when the connection ended.
    #[track_caller]
    pub fn hear(&mut self) -> Option<FromHost> {
        self.hear_within(LIMIT).unwrap_or_else(|| panic!("nothing came for {LIMIT:?}"))
    }

    /// The same; `None` outside when nothing comes.
    pub fn hear_within(&mut self, limit: Duration) -> Option<Option<FromHost>> {
        let deadline = Instant::now() + limit;
        let mut bytes = [0; 4096];
        loop {
            if let Some(message) = self.decoder.take().unwrap() {
                return Some(Some(message));
            }
            match (&self.connected.stream).read(&mut bytes) {
                Ok(0) => return Some(None),
                Ok(length) => self.decoder.push(&bytes[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if Instant::now() >= deadline {
                        return None;
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[track_caller]
    pub fn ask(&mut self, command: &ToHost) -> FromHost {
        self.tell(command);
        self.hear().unwrap_or_else(|| panic!("the connection ended: {:?}", self.connected.ended.reason()))
    }

    /// Why a command is refused.
    #[track_caller]
    pub fn refused(&mut self, command: &ToHost) -> String {
        match self.ask(command) {
            FromHost::Failed { error } => error,
            other => panic!("{other:?}"),
        }
    }

    /// The connection ends, for this reason.
    #[track_caller]
    pub fn ends(&mut self) -> String {
        while self.hear().is_some() {}
        self.connected.ended.reason().unwrap_or("by this side").to_owned()
    }
}
