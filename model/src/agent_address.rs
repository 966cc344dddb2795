//! Addresses of the hosts of a study that are other machines.

use std::fmt;
use std::str::FromStr;

use crate::choice::{choice, stored_as_text};
use crate::condition::MOST_PAIRS;

/// The port that an agent listens on by default: the year of the
/// first of the studies nettoll descends from, out of the way of the other
/// tools of this kind.
pub const AGENT_PORT: u16 = 10_984;

/// The names of the two hosts of a study. `a` sends first.
pub const HOST_NAMES: [&str; 2] = ["a", "b"];

/// The side of a host by its name: 0 of `a`, `a2`, `a3` and so on to `a32`, 1 of `b` and its like; `None` of another word.
pub fn host_side(name: &str) -> Option<usize> {
    let side = HOST_NAMES.iter().position(|first| name.starts_with(first))?;
    let number = &name[HOST_NAMES[side].len()..];
    let further = (2..=MOST_PAIRS).any(|known| known.to_string() == number);
    (number.is_empty() || further).then_some(side)
}

choice! {
    /// Conduct of a study when an agent vanishes.
    #[derive(Default)]
    OnLoss, "what to do when a host is lost" {
        /// It records the trial as failed, finds the agent again and goes on.
        #[default]
        GoOn = "go-on",
        /// It ends. It can be resumed.
        Stop = "stop",
    }
}

/// Address of an agent: `name`, `name:port`, `[address]:port` or an address, and
/// `,data=ADDRESS` where the messages are to take another address than the
/// control connection does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAddress {
    /// A name or an address, with `%scope` where it is link-local. Not empty.
    pub address: String,
    /// The port of its agent.
    pub port: u16,
    /// The address that messages take; `None`: the one the agent was reached at.
    pub data: Option<String>,
}

/// A text that says of no host where it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is no address of a host: {reason}; write NAME, NAME:PORT, [IPV6]:PORT, with ,data=ADDRESS behind it if need be")]
pub struct HostAddressError {
    text: String,
    reason: &'static str,
}

impl FromStr for HostAddress {
    type Err = HostAddressError;

    fn from_str(text: &str) -> Result<Self, HostAddressError> {
        let failed = |reason| HostAddressError { text: text.chars().take(120).collect(), reason };
        let (place, data) = match text.split_once(',') {
            None => (text, None),
            Some((place, rest)) => match rest.strip_prefix("data=") {
                Some(data) if is_name(data) => (place, Some(data.to_owned())),
                _ => return Err(failed("behind the comma only data=ADDRESS can stand")),
            },
        };
        let (address, port) = split_port(place).map_err(failed)?;
        let port = port.unwrap_or(AGENT_PORT);
        if !is_name(address) {
            return Err(failed("a name or an address has 1 to 255 letters, digits, '.', ':', '-', '_' and '%'"));
        }
        Ok(Self { address: address.to_owned(), port, data })
    }
}

pub(crate) fn is_name(word: &str) -> bool {
    (1..=255).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:-_%".contains(&byte))
}

/// A host and the port behind it, where there is one.
pub(crate) fn split_port(place: &str) -> Result<(&str, Option<u16>), &'static str> {
    let port = |word: &str| match word.parse() {
        Ok(0) | Err(_) => Err("a port is a number from 1 to 65535"),
        Ok(port) => Ok(Some(port)),
    };
    if let Some(rest) = place.strip_prefix('[') {
        let (address, rest) = rest.split_once(']').ok_or("a '[' without its ']'")?;
        return match rest.strip_prefix(':') {
            Some(word) => Ok((address, port(word)?)),
            None if rest.is_empty() => Ok((address, None)),
            None => Err("behind ']' only a port can stand"),
        };
    }
    match place.split_once(':') {
        // More than one colon: an IPv6 address without a port.
        Some((_, rest)) if rest.contains(':') => Ok((place, None)),
        Some((address, word)) => Ok((address, port(word)?)),
        None => Ok((place, None)),
    }
}

impl fmt::Display for HostAddress {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.address.contains(':') {
            true => write!(f, "[{}]:{}", self.address, self.port)?,
            false => write!(f, "{}:{}", self.address, self.port)?,
        }
        self.data.as_ref().map_or(Ok(()), |data| write!(f, ",data={data}"))
    }
}

stored_as_text!(HostAddress);

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{AGENT_PORT, HostAddress};

    fn read(text: &str) -> (String, u16, Option<String>) {
        let host: HostAddress = text.parse().unwrap();
        assert_eq!(host.to_string().parse::<HostAddress>().unwrap(), host);
        (host.address, host.port, host.data)
    }

    #[test]
    fn names_and_addresses_with_and_without_ports() {
        assert_eq!(read("db1"), ("db1".to_owned(), AGENT_PORT, None));
        assert_eq!(read("10.0.0.2:7"), ("10.0.0.2".to_owned(), 7, None));
        assert_eq!(read("fe80::1%eth0"), ("fe80::1%eth0".to_owned(), AGENT_PORT, None));
        assert_eq!(read("[::1]:7,data=192.0.2.1"), ("::1".to_owned(), 7, Some("192.0.2.1".to_owned())));
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        for wrong in ["", ":7", "host:0", "host:65536", "[::1", "[::1]7", "a b", "host,port=7", "host,data="] {
            assert!(wrong.parse::<HostAddress>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in any::<String>()) {
            let _ = text.parse::<HostAddress>();
        }
    }
}
