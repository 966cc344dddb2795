//! The kinds of link, as people write them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::wire::Wire;
use crate::nearest;
use crate::quantity::{BitRate, Bytes, Nanos, ParseError};

/// A wire that the kernel shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shaped {
    /// Bits a second on the wire, preambles and gaps included; at least [`Shaped::LEAST`].
    pub rate: BitRate,
    /// Bytes that may wait for the wire; `None`: enough for any socket's send
    /// buffer, so that a sender waits instead of losing its own datagrams.
    pub queue: Option<Bytes>,
}

impl Shaped {
    /// The least rate: the least frame then takes 0.7 s.
    pub const LEAST: BitRate = BitRate::new(1_000);
}

/// What a link is made of. Written as its name, a rate where it has one, and
/// settings: `ethernet 10M`, `relay 10M medium=half host=delay:0.63ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkKind {
    /// Two network namespaces joined by a virtual Ethernet pair; loopback
    /// with a warning where namespaces are refused.
    Veth,
    /// Such a pair, full duplex, every frame charged as on an Ethernet.
    Ethernet(Shaped),
    /// One medium for both directions and all pairs, charged likewise.
    SharedWire(Shaped),
    /// A bridge with a port for each host; or, with a rate, two bridges with a
    /// shaped trunk between them.
    Switch(Option<Shaped>),
    /// A wire in user space between tap devices.
    Relay(Wire),
    /// Both ends on this host's loopback device.
    Loopback,
    /// Whatever joins the machines that the plan names. Nothing of it is changed.
    Network,
}

/// A text that is no link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// No such kind.
    #[error("'{word}' is not a kind of link{hint}; there are: {}", NAMES.join(", "))]
    Unknown {
        /// What was written.
        word: String,
        /// The nearest right one.
        hint: String,
    },
    /// A shaped link without its rate.
    #[error("link '{0}' needs a rate, such as '{0} 10M'")]
    NoRate(&'static str),
    /// A rate that is none, or nothing at all.
    #[error("link rate '{text}': {reason}")]
    Rate {
        /// What was written.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// A setting that this kind does not have.
    #[error("link setting '{key}' means nothing here{hint}; there are: {all}")]
    UnknownSetting {
        /// What was written.
        key: String,
        /// The nearest right one.
        hint: String,
        /// What there is.
        all: String,
    },
    /// A setting of a relay's at another link.
    #[error("{kind} has no '{key}': write 'relay {rate}{key}=...', the wire in user space does that")]
    NeedsRelay {
        /// The kind of link.
        kind: &'static str,
        /// Its rate, with a blank behind it.
        rate: String,
        /// The setting.
        key: String,
    },
    /// A value that the setting cannot take.
    #[error("link setting {key}={value}: {reason}")]
    Setting {
        /// The setting.
        key: String,
        /// What was written.
        value: String,
        /// What is wrong.
        reason: String,
    },
    /// Settings that contradict each other.
    #[error("the link makes no sense: {0}")]
    Senseless(String),
}

/// The names, as listed for people.
const NAMES: [&str; 7] =
    ["veth", "ethernet RATE", "shared-wire RATE", "switch [RATE]", "relay [RATE] [SETTING=VALUE ...]", "loopback", "network"];

impl LinkKind {
    /// Its name without rate and settings.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Veth => "veth",
            Self::Ethernet(_) => "ethernet",
            Self::SharedWire(_) => "shared-wire",
            Self::Switch(_) => "switch",
            Self::Relay(_) => "relay",
            Self::Loopback => "loopback",
            Self::Network => "network",
        }
    }

    /// Whether it can be made only between hosts of nettoll's own.
    pub const fn is_made(&self) -> bool {
        !matches!(self, Self::Loopback | Self::Network)
    }

    /// Whether every packet on it must be one frame, so that each is charged
    /// its preamble, gap and least size.
    pub const fn is_charged(&self) -> bool {
        matches!(self, Self::Ethernet(_) | Self::SharedWire(_) | Self::Switch(Some(_)) | Self::Relay(_))
    }

    /// Whether it joins more hosts than two.
    pub const fn has_room(&self) -> bool {
        matches!(self, Self::SharedWire(_) | Self::Switch(_))
    }

    /// How long a frame may be under way on it beside the time that it waits in
    /// queues: a receiver that hears nothing for longer need not wait for more.
    pub fn longest_wait(&self) -> Nanos {
        // Four frames one after the other: one ahead of it, itself, and as many
        // on the way back. A frame of 64 KiB would be cut.
        let frames = self.rate().map_or(Nanos::new(0), |rate| Nanos::new(4 * 8 * 1_538 * 1_000_000_000 / rate.get().max(1)));
        match self {
            Self::Relay(wire) => {
                let hosts = wire.hosts.iter().fold(Nanos::new(0), |sum, host| sum + host.time + host.time + host.recovery);
                [wire.delay, wire.delay, wire.jitter, wire.jitter, hosts, hosts].into_iter().fold(frames, |sum, time| sum + time)
            }
            _ => frames,
        }
    }

    /// The rate of its narrowest part.
    pub const fn rate(&self) -> Option<BitRate> {
        match self {
            Self::Ethernet(shaped) | Self::SharedWire(shaped) | Self::Switch(Some(shaped)) => Some(shaped.rate),
            Self::Relay(wire) => wire.rate,
            Self::Veth | Self::Switch(None) | Self::Loopback | Self::Network => None,
        }
    }
}

impl fmt::Display for LinkKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let shaped = |shaped: &Shaped| {
            let queue = shaped.queue.map_or(String::new(), |queue| format!(" queue={queue}"));
            format!("{} {}{queue}", self.name(), rate_word(shaped.rate))
        };
        f.pad(&match self {
            Self::Ethernet(wire) | Self::SharedWire(wire) | Self::Switch(Some(wire)) => shaped(wire),
            Self::Relay(wire) => format!("relay{wire}"),
            _ => self.name().to_owned(),
        })
    }
}

impl FromStr for LinkKind {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<Self, LinkError> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let mut words = words.peekable();
        let rate = words.next_if(|word| !word.contains('=')).map(read_rate).transpose()?;
        let settings: Vec<(&str, &str)> = words.map(|word| word.split_once('=').unwrap_or((word, ""))).collect();
        let bare = |kind: Self| match (rate, settings.first()) {
            (Some(rate), _) => {
                Err(LinkError::Rate { text: rate_word(rate), reason: format!("a {name} link has none; write ethernet, or relay") })
            }
            (None, Some((key, _))) => Err(needs_relay(kind.name(), None, key)),
            (None, None) => Ok(kind),
        };
        match name.to_ascii_lowercase().as_str() {
            "veth" => bare(Self::Veth),
            "loopback" => bare(Self::Loopback),
            "network" => bare(Self::Network),
            "ethernet" => shaped("ethernet", rate, &settings).map(Self::Ethernet),
            "shared-wire" => shaped("shared-wire", rate, &settings).map(Self::SharedWire),
            "switch" if rate.is_none() => bare(Self::Switch(None)),
            "switch" => shaped("switch", rate, &settings).map(|trunk| Self::Switch(Some(trunk))),
            "relay" => {
                let mut wire = Wire { rate, ..Wire::PLAIN };
                settings.iter().try_for_each(|(key, value)| wire.set(key, value))?;
                wire.check().map(Self::Relay)
            }
            _ => {
                let known = NAMES.iter().map(|name| name.split(' ').next().unwrap_or(name));
                let hint = nearest(name, known).map_or(String::new(), |near| format!("; did you mean '{near}'?"));
                Err(LinkError::Unknown { word: name.to_owned(), hint })
            }
        }
    }
}

fn shaped(kind: &'static str, rate: Option<BitRate>, settings: &[(&str, &str)]) -> Result<Shaped, LinkError> {
    let rate = rate.ok_or(LinkError::NoRate(kind))?;
    let mut shaped = Shaped { rate, queue: None };
    for (key, value) in settings {
        match *key {
            "queue" => shaped.queue = Some(queue(value)?),
            _ => return Err(needs_relay(kind, Some(rate), key)),
        }
    }
    Ok(shaped)
}

fn read_rate(text: &str) -> Result<BitRate, LinkError> {
    let wrong = |reason: String| LinkError::Rate { text: text.to_owned(), reason };
    let rate: BitRate = text.parse().map_err(|error: ParseError| wrong(error.to_string()))?;
    match rate {
        rate if rate.get() == 0 => Err(wrong("a wire of rate 0 carries nothing".to_owned())),
        rate if rate < Shaped::LEAST => Err(wrong(format!("the least is {}: the least frame would take most of a second", Shaped::LEAST))),
        rate => Ok(rate),
    }
}

/// Reads the length of a queue in bytes.
pub(super) fn queue(text: &str) -> Result<Bytes, LinkError> {
    let wrong = |reason: String| LinkError::Setting { key: "queue".to_owned(), value: text.to_owned(), reason };
    let bytes: Bytes = text.parse().map_err(|error: ParseError| wrong(error.to_string()))?;
    match bytes.get() {
        // tbf's limit is 32 bits wide; half of that leaves room for its own bucket.
        2_000..=1_073_741_824 => Ok(bytes),
        _ => Err(wrong("from 2000 bytes, which hold a frame, to 1G".to_owned())),
    }
}

fn needs_relay(kind: &'static str, rate: Option<BitRate>, key: &str) -> LinkError {
    LinkError::NeedsRelay { kind, rate: rate.map_or(String::new(), |rate| format!("{} ", rate_word(rate))), key: key.to_owned() }
}

/// A setting that does not exist, with the nearest that does.
pub(super) fn unknown(key: &str, all: &[&'static str]) -> LinkError {
    let hint = nearest(key, all.iter().copied()).map_or(String::new(), |near| format!("; did you mean '{near}'?"));
    LinkError::UnknownSetting { key: key.to_owned(), hint, all: all.join(", ") }
}

/// A rate as it is read: without a blank, nothing rounded away.
pub(super) fn rate_word(rate: BitRate) -> String {
    match rate.get() {
        n if n % 1_000_000_000 == 0 => format!("{}G", n / 1_000_000_000),
        n if n % 1_000_000 == 0 => format!("{}M", n / 1_000_000),
        n if n % 1_000 == 0 => format!("{}K", n / 1_000),
        n => n.to_string(),
    }
}

/// A time as it is read, likewise.
pub(super) fn time_word(time: Nanos) -> String {
    match time.get() {
        n if n % 1_000_000 == 0 => format!("{}ms", n / 1_000_000),
        n if n % 1_000 == 0 => format!("{}us", n / 1_000),
        n => format!("{n}ns"),
    }
}

impl Serialize for LinkKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LinkKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

    use super::{LinkKind, Shaped};
    use crate::link::{HostOrder, Medium};
    use crate::quantity::{BitRate, Bytes, Nanos};

    fn complaint(text: &str) -> String {
        text.parse::<LinkKind>().unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_is_understood() {
        assert_eq!("veth".parse(), Ok(LinkKind::Veth));
        assert_eq!("Ethernet 10M".parse(), Ok(LinkKind::Ethernet(Shaped { rate: BitRate::new(10_000_000), queue: None })));
        assert_eq!(
            "switch 100M queue=64K".parse(),
            Ok(LinkKind::Switch(Some(Shaped { rate: BitRate::new(100_000_000), queue: Some(Bytes::new(65_536)) })))
        );
        let Ok(LinkKind::Relay(wire)) = "relay 10M medium=half host=delay:0.63ms host-b=serial:1ms recovery-a=50us loss=0.5%".parse()
        else {
            panic!("a relay")
        };
        assert_eq!((wire.medium, wire.hosts[0].time, wire.hosts[1].time), (Medium::Half, Nanos::new(630_000), Nanos::from_millis(1)));
        assert_eq!((wire.hosts[0].order, wire.hosts[1].order), (HostOrder::Delay, HostOrder::Serial));
        assert_eq!((wire.hosts[0].recovery, wire.loss.as_f64()), (Nanos::new(50_000), 0.005));
    }

    #[test]
    fn what_is_printed_is_read_again() {
        for text in [
            "veth",
            "loopback",
            "network",
            "switch",
            "switch 1500",
            "ethernet 10M",
            "ethernet 1G queue=2001",
            "shared-wire 10M",
            "relay",
            "relay 10M",
            "relay 10M medium=half host=delay:630us",
            "relay 10M medium=half delay=1ms jitter=10us loss=0.5% reorder=0.0001% host-a=serial:1ms recovery-a=5ns host-b=delay:7us queue=64K",
        ] {
            let link: LinkKind = text.parse().unwrap();
            assert_eq!(link.to_string(), text);
            assert_eq!(serde_json::from_str::<LinkKind>(&serde_json::to_string(&link).unwrap()).unwrap(), link);
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        assert!(complaint("ethernet 0").contains("a wire of rate 0 carries nothing"));
        assert!(complaint("relay 0").contains("a wire of rate 0 carries nothing"));
        assert!(complaint("shared-wire").contains("such as 'shared-wire 10M'"));
        assert!(complaint("ethernet 999").contains("the least is 1 kbit/s"));
        assert!(complaint("ethernet fast").contains("does not start with a number"));
        assert!(complaint("ethernot 10M").contains("did you mean 'ethernet'?"));
        assert!(complaint("").contains("there are: veth"));
        assert!(complaint("ethernet 10M delay=1ms").contains("write 'relay 10M delay=...'"));
        assert!(complaint("veth loss=1%").contains("write 'relay loss=...'"));
        assert!(complaint("veth 10M").contains("a veth link has none"));
        assert!(complaint("relay 10M dely=1ms").contains("did you mean 'delay'?"));
        assert!(complaint("relay 10M loss=101%").contains("0% to 100%"));
        assert!(complaint("relay 10M host=0.63ms").contains("delay:TIME"));
        assert!(complaint("relay 10M delay=1h").contains("at most 10 s"));
        assert!(complaint("relay medium=half").contains("needs a rate"));
        assert!(complaint("relay 10M recovery=1ms").contains("medium=half"));
        assert!(complaint("relay reorder=1%").contains("give a delay"));
        assert!(complaint("ethernet 10M queue=1").contains("from 2000 bytes"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "(veth|ethernet|relay|switch)?[ a-z0-9=:.%MKs-]{0,60}") {
            if let Ok(link) = text.parse::<LinkKind>() {
                assert_eq!(link.to_string().parse::<LinkKind>().unwrap(), link);
            }
        }
    }
}
