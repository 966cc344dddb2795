//! Treatment of frames by a relay.

use std::fmt;
use std::str::FromStr;

use super::{LinkError, queue, unknown};
use crate::choice::choice;
use crate::quantity::{BitRate, Bytes, Nanos};

choice! {
    /// Way in which its two ends share a wire.
    Medium, "a medium" {
        /// Each direction has the whole rate.
        Full = "full",
        /// Both ends take turns, where both have frames.
        Shared = "shared",
        /// One medium: where both ends wait for it, they collide (CSMA/CD).
        Half = "half",
    }
}

choice! {
    /// Work that a host's time for a frame delays.
    HostOrder, "an order of host time" {
        /// Nothing: frames are late, however many there are.
        Delay = "delay",
        /// The host's other frames, sent or received: they queue.
        Serial = "serial",
    }
}

/// Treatment of each frame by one host of a relay, data or acknowledgement, as
/// it sends it and as it receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostTime {
    /// Time for a frame.
    pub time: Nanos,
    /// Work that it delays.
    pub order: HostOrder,
    /// Time for which the host's interface is deaf to the wire after a collision.
    pub recovery: Nanos,
}

impl HostTime {
    /// None at all.
    pub const NONE: Self = Self { time: Nanos::new(0), order: HostOrder::Delay, recovery: Nanos::new(0) };
}

/// Parts of a whole, in millionths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u32);

const WHOLE: u32 = 1_000_000;

impl Share {
    /// Nothing.
    pub const NONE: Self = Self(0);

    /// As a number from 0 to 1.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(WHOLE)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}%", f64::from(self.0) / 1e4)
    }
}

impl FromStr for Share {
    type Err = String;

    /// Reads percent: `1%` or `0.05%`.
    fn from_str(text: &str) -> Result<Self, String> {
        let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        match percent.filter(|percent| (0.0..=100.0).contains(percent)) {
            Some(percent) => Ok(Self((percent * 1e4).round() as u32)),
            None => Err(format!("'{text}' is no share: write percent from 0% to 100%, such as 0.5%")),
        }
    }
}

/// A wire of a relay's: what becomes of the frames between hosts `a` and `b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wire {
    /// Bits a second; `None`: frames take no time.
    pub rate: Option<BitRate>,
    /// Way in which the ends share it.
    pub medium: Medium,
    /// Time from one end to the other.
    pub delay: Nanos,
    /// Up to so much more for each frame, evenly spread.
    pub jitter: Nanos,
    /// Frames lost by chance, each by itself.
    pub loss: Share,
    /// Frames that skip the delay, and so overtake others.
    pub reorder: Share,
    /// Hosts `a` and `b`.
    pub hosts: [HostTime; 2],
    /// Bytes of frames that may wait at each end; `None`: enough for any
    /// socket's send buffer.
    pub queue: Option<Bytes>,
}

/// The longest time of each kind: a relay holds every frame that is in flight.
const LONGEST: Nanos = Nanos::from_millis(10_000);

impl Wire {
    /// A wire that does nothing.
    pub const PLAIN: Self = Self {
        rate: None,
        medium: Medium::Full,
        delay: Nanos::new(0),
        jitter: Nanos::new(0),
        loss: Share::NONE,
        reorder: Share::NONE,
        hosts: [HostTime::NONE; 2],
        queue: None,
    };

    /// Takes one setting, `key=value`.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), LinkError> {
        let wrong = |reason: String| LinkError::Setting { key: key.to_owned(), value: value.to_owned(), reason };
        let time = || {
            let time: Nanos = value.parse().map_err(|error: crate::quantity::ParseError| wrong(error.to_string()))?;
            if time > LONGEST { Err(wrong("at most 10 s".to_owned())) } else { Ok(time) }
        };
        match key {
            "medium" => self.medium = value.parse().map_err(|error: crate::UnknownChoice| wrong(error.to_string()))?,
            "delay" => self.delay = time()?,
            "jitter" => self.jitter = time()?,
            "loss" => self.loss = value.parse().map_err(wrong)?,
            "reorder" => self.reorder = value.parse().map_err(wrong)?,
            "queue" => self.queue = Some(queue(value)?),
            "host" => self.hosts = [host(self.hosts[0], value)?, host(self.hosts[1], value)?],
            "host-a" => self.hosts[0] = host(self.hosts[0], value)?,
            "host-b" => self.hosts[1] = host(self.hosts[1], value)?,
            "recovery" => {
                let time = time()?;
                self.hosts.iter_mut().for_each(|host| host.recovery = time);
            }
            "recovery-a" => self.hosts[0].recovery = time()?,
            "recovery-b" => self.hosts[1].recovery = time()?,
            _ => return Err(unknown(key, &SETTINGS)),
        }
        Ok(())
    }

    /// Refuses settings that make no sense together.
    pub(super) fn check(self) -> Result<Self, LinkError> {
        let refuse = |reason: &str| Err(LinkError::Senseless(reason.to_owned()));
        if self.rate.is_none() && self.medium != Medium::Full {
            return refuse("a medium that the ends share needs a rate, such as relay 10M medium=half");
        }
        if self.medium != Medium::Half && self.hosts.iter().any(|host| host.recovery.get() > 0) {
            return refuse("only medium=half has collisions to recover from");
        }
        if self.reorder > Share::NONE && self.delay.get() == 0 && self.jitter.get() == 0 {
            return refuse("a frame overtakes others by skipping the delay: give a delay as well");
        }
        Ok(self)
    }
}

/// Settings of a relay.
const SETTINGS: [&str; 12] =
    ["medium", "delay", "jitter", "loss", "reorder", "queue", "host", "host-a", "host-b", "recovery", "recovery-a", "recovery-b"];

/// Reads `delay:0.63ms` or `serial:0.63ms`.
fn host(before: HostTime, text: &str) -> Result<HostTime, LinkError> {
    let wrong = |reason: String| LinkError::Setting { key: "host".to_owned(), value: text.to_owned(), reason };
    let (order, time) = text.split_once(':').ok_or_else(|| wrong("write delay:TIME or serial:TIME, such as delay:0.63ms".to_owned()))?;
    let order = order.parse().map_err(|error: crate::UnknownChoice| wrong(error.to_string()))?;
    let time: Nanos = time.parse().map_err(|error: crate::quantity::ParseError| wrong(error.to_string()))?;
    if time > LONGEST { Err(wrong("at most 10 s".to_owned())) } else { Ok(HostTime { time, order, ..before }) }
}

impl fmt::Display for Wire {
    /// Writes what [`Wire::set`] reads, separated by blanks; usual settings are left out.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(rate) = self.rate {
            write!(f, " {}", rate.exact())?;
        }
        if self.medium != Medium::Full {
            write!(f, " medium={}", self.medium)?;
        }
        for (key, time) in [("delay", self.delay), ("jitter", self.jitter)] {
            if time.get() > 0 {
                write!(f, " {key}={}", time.exact())?;
            }
        }
        for (key, share) in [("loss", self.loss), ("reorder", self.reorder)] {
            if share > Share::NONE {
                write!(f, " {key}={share}")?;
            }
        }
        self.write_hosts(f)?;
        self.queue.map_or(Ok(()), |queue| write!(f, " queue={queue}"))
    }
}

impl Wire {
    fn write_hosts(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let keys = if self.hosts[0] == self.hosts[1] {
            &[("host", "recovery")][..]
        } else {
            &[("host-a", "recovery-a"), ("host-b", "recovery-b")]
        };
        for (host, (time, recovery)) in self.hosts.iter().zip(keys) {
            if host.time.get() > 0 {
                write!(f, " {time}={}:{}", host.order, host.time.exact())?;
            }
            if host.recovery.get() > 0 {
                write!(f, " {recovery}={}", host.recovery.exact())?;
            }
        }
        Ok(())
    }
}
