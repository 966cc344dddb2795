//! The kinds of link, as people write them.

use std::fmt;
use std::str::FromStr;

use super::wire::Wire;
use super::{LinkError, NAMES, queue};
use crate::choice::stored_as_text;
use crate::quantity::{BitRate, Bytes, Nanos, ParseError};
use crate::suggestion;

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

/// Kind of link. Written as its name, a rate where it has one, and
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

    /// Returns whether it can be made only between hosts of nettoll's own.
    pub const fn is_made(&self) -> bool {
        !matches!(self, Self::Loopback | Self::Network)
    }

    /// Returns whether every packet on it must be one frame, so that each is charged
    /// its preamble, gap and least size.
    pub const fn is_charged(&self) -> bool {
        matches!(self, Self::Ethernet(_) | Self::SharedWire(_) | Self::Switch(Some(_)) | Self::Relay(_))
    }

    /// Returns whether it joins more hosts than two.
    pub const fn has_room(&self) -> bool {
        matches!(self, Self::SharedWire(_) | Self::Switch(_))
    }

    /// Returns the longest time that a frame may be in flight on it, without the time that it waits in
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
            format!("{} {}{queue}", self.name(), shaped.rate.exact())
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
                Err(LinkError::Rate { text: rate.exact(), reason: format!("a {name} link has none; write ethernet, or relay") })
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
                let hint = suggestion(name, known);
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

fn needs_relay(kind: &'static str, rate: Option<BitRate>, key: &str) -> LinkError {
    LinkError::NeedsRelay { kind, rate: rate.map_or(String::new(), |rate| format!("{} ", rate.exact())), key: key.to_owned() }
}

stored_as_text!(LinkKind);

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
        assert!(complaint("").contains("There are: veth"));
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
