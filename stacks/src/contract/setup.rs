//! What the environment asks of a program.

use std::net::SocketAddr;

use model::{Protocol, Role};

use crate::error::StackError;

/// The version of the contract that is spoken.
const VERSION: &str = "1";
/// The most bytes of a message, and of a read, as nettoll itself has it.
const LARGEST: usize = 1 << 30;

/// The end of a trial that the environment asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// Whether it sends or receives.
    pub role: Role,
    /// The transport.
    pub protocol: Protocol,
    /// Bytes of each message.
    pub size: usize,
    /// Bytes that a receive call is to ask for.
    pub read: usize,
    /// Address to bind to.
    pub bind: SocketAddr,
    /// True where TCP is to send at once.
    pub nodelay: bool,
    /// Congestion control of TCP.
    pub cc: Option<String>,
    /// Send buffer in bytes.
    pub sndbuf: Option<usize>,
    /// Receive buffer in bytes.
    pub rcvbuf: Option<usize>,
    /// True where nettoll made the network namespace, in which a program may change what it needs.
    pub own_namespace: bool,
}

impl Setup {
    /// Reads it from an environment.
    ///
    /// # Errors
    /// What is missing in it, or cannot be.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, StackError> {
        let word = |name: &'static str| variable(name).ok_or_else(|| missing(name));
        let wrong = |name: &str, value: &str, due: &str| StackError::contract(format!("{name} is '{value}', where {due} was due"));
        let size = |name: &'static str, value: String| match value.parse() {
            Ok(size) if (1..=LARGEST).contains(&size) => Ok(size),
            _ => Err(wrong(name, &value, "a number of bytes, 1 to 1G,")),
        };
        let version = word("NT_VERSION")?;
        if version != VERSION {
            return Err(wrong("NT_VERSION", &version, VERSION));
        }
        let role = match word("NT_ROLE")?.as_str() {
            "send" => Role::Sender,
            "receive" => Role::Receiver,
            other => return Err(wrong("NT_ROLE", other, "send or receive")),
        };
        let protocol = match word("NT_PROTO")?.as_str() {
            "udp" => Protocol::Udp,
            "tcp" => Protocol::Tcp,
            other => return Err(wrong("NT_PROTO", other, "udp or tcp")),
        };
        let bind = word("NT_BIND")?;
        let buffer = |name: &'static str| variable(name).map(|value| size(name, value)).transpose();
        Ok(Self {
            role,
            protocol,
            size: size("NT_SIZE", word("NT_SIZE")?)?,
            read: size("NT_READ", word("NT_READ")?)?,
            bind: bind.parse().map_err(|_| wrong("NT_BIND", &bind, "ADDRESS:PORT"))?,
            nodelay: variable("NT_NODELAY").is_some_and(|value| value == "1"),
            cc: variable("NT_CC"),
            sndbuf: buffer("NT_SNDBUF")?,
            rcvbuf: buffer("NT_RCVBUF")?,
            own_namespace: variable("NT_NAMESPACE").is_some_and(|value| value == "own"),
        })
    }

    /// Refuses a protocol that `name` does not carry.
    ///
    /// # Errors
    /// That protocol.
    pub fn only(&self, protocol: Protocol, name: &str) -> Result<(), StackError> {
        match self.protocol == protocol {
            true => Ok(()),
            false => Err(StackError::contract(format!("{name} carries {protocol} alone, and NT_PROTO asks for {}", self.protocol))),
        }
    }
}

/// A variable that every harness sets is not there.
pub fn missing(name: &str) -> StackError {
    let told = format!("{name} is not set: this is an end of nettoll's trials, started by `nettoll study --api ...` (docs/endpoint.md)");
    StackError::contract(told)
}

#[cfg(test)]
mod tests {
    use super::Setup;
    use model::{Protocol, Role};
    use proptest::prelude::proptest;

    fn with(changed: &[(&str, Option<&str>)]) -> Result<Setup, String> {
        let usual = [
            ("NT_VERSION", "1"),
            ("NT_ROLE", "receive"),
            ("NT_PROTO", "udp"),
            ("NT_SIZE", "64"),
            ("NT_READ", "128"),
            ("NT_BIND", "192.0.2.1:0"),
            ("NT_RCVBUF", "4096"),
        ];
        let find = |name: &str| match changed.iter().find(|(changed, _)| *changed == name) {
            Some((_, value)) => value.map(str::to_owned),
            None => usual.iter().find(|(usual, _)| *usual == name).map(|(_, value)| (*value).to_owned()),
        };
        Setup::read(find).map_err(|error| error.to_string())
    }

    #[test]
    fn an_environment_is_read() {
        let setup = with(&[]).unwrap();
        assert_eq!((setup.role, setup.protocol, setup.size, setup.read), (Role::Receiver, Protocol::Udp, 64, 128));
        assert_eq!((setup.sndbuf, setup.rcvbuf, setup.nodelay), (None, Some(4_096), false));
    }

    #[test]
    fn what_is_missing_or_cannot_be_is_named() {
        for (name, value, words) in [
            ("NT_ROLE", None, "NT_ROLE is not set"),
            ("NT_VERSION", Some("2"), "where 1 was due"),
            ("NT_ROLE", Some("relay"), "send or receive"),
            ("NT_SIZE", Some("0"), "a number of bytes"),
            ("NT_READ", Some("99999999999999"), "a number of bytes"),
            ("NT_BIND", Some("here"), "ADDRESS:PORT"),
            ("NT_SNDBUF", Some("-1"), "a number of bytes"),
        ] {
            let refused = with(&[(name, value)]).unwrap_err();
            assert!(refused.contains(words) && refused.contains(name), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn any_words_are_read_or_refused(word in ".{0,20}", at in 0..7_usize) {
            let names = ["NT_VERSION", "NT_ROLE", "NT_PROTO", "NT_SIZE", "NT_READ", "NT_BIND", "NT_RCVBUF"];
            let _ = with(&[(names[at], Some(&word))]);
        }
    }
}
