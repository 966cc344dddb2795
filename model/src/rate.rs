//! Rate that a sender offers: bits or messages a second.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::quantity::{BitRate, Bytes};

/// The rate that each flow of an open loop offers. Written `10M` for bits, or
/// `50000/s` for messages a second; K, M and G are powers of 1000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OfferedRate {
    /// Payload; at least 1.
    Bits(BitRate),
    /// Messages, or in a request/response test transactions, a second; at least 1.
    Messages(u64),
}

/// A text that is no rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a rate to offer: {reason}; write bits a second such as 10M, or messages a second such as 50000/s")]
pub struct RateError {
    text: String,
    reason: String,
}

impl OfferedRate {
    /// Messages of `size` bytes that this is, a second.
    pub fn messages_per_second(self, size: Bytes) -> f64 {
        match self {
            Self::Bits(rate) => rate.get() as f64 / (8.0 * size.get() as f64),
            Self::Messages(rate) => rate as f64,
        }
    }
}

impl fmt::Display for OfferedRate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Bits(rate) => write!(f, "{rate}"),
            Self::Messages(rate) => write!(f, "{rate}/s"),
        }
    }
}

impl FromStr for OfferedRate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let failed = |reason: String| RateError { text: text.to_owned(), reason };
        let (number, make): (&str, fn(BitRate) -> Self) = match text.strip_suffix("/s").filter(|rest| !rest.ends_with("bit")) {
            Some(number) => (number, |rate| Self::Messages(rate.get())),
            None => (text, Self::Bits),
        };
        // Both take the same suffixes of powers of 1000.
        let rate: BitRate = number.trim().parse().map_err(|error: crate::quantity::ParseError| failed(error.to_string()))?;
        if rate.get() == 0 {
            return Err(failed("a rate of 0 would never send".to_owned()));
        }
        Ok(make(rate))
    }
}

impl Serialize for OfferedRate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bits(rate) => serializer.serialize_str(&rate.get().to_string()),
            Self::Messages(rate) => serializer.serialize_str(&format!("{rate}/s")),
        }
    }
}

impl<'de> Deserialize<'de> for OfferedRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::OfferedRate;
    use crate::quantity::{BitRate, Bytes};

    #[test]
    fn bits_and_messages_are_told_apart() {
        assert_eq!("10M".parse(), Ok(OfferedRate::Bits(BitRate::new(10_000_000))));
        assert_eq!("50000/s".parse(), Ok(OfferedRate::Messages(50_000)));
        assert_eq!("50K/s".parse(), Ok(OfferedRate::Messages(50_000)));
        for wrong in ["0", "0/s", "fast", "/s", "", "-1"] {
            assert!(wrong.parse::<OfferedRate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_stored_is_read_back() {
        for rate in [OfferedRate::Bits(BitRate::new(1)), OfferedRate::Messages(7)] {
            let text = serde_json::to_string(&rate).unwrap();
            assert_eq!(serde_json::from_str::<OfferedRate>(&text).unwrap(), rate);
        }
    }

    #[test]
    fn a_bit_rate_is_as_many_messages_as_fit() {
        assert!((OfferedRate::Bits(BitRate::new(8_000)).messages_per_second(Bytes::new(10)) - 100.0).abs() < 1e-9);
        assert!((OfferedRate::Messages(5).messages_per_second(Bytes::new(10)) - 5.0).abs() < 1e-9);
    }
}
