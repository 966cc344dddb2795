//! Quantities that print and parse themselves.
//!
//! Sizes take K, M and G as powers of 1024 and rates as powers of 1000, in
//! either case of letter, as iperf3 does. Files hold plain integers in the base
//! unit; plans and command lines may hold text such as `16K` or `150ms`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A text that is not a quantity, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not {wanted}: {reason}")]
pub struct ParseError {
    text: String,
    wanted: &'static str,
    reason: &'static str,
}

/// A number of bytes of payload, memory or buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// A length of time in nanoseconds, or an instant counted from an arbitrary start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(u64);

/// A rate in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BitRate(u64);

impl Bytes {
    /// `count` bytes.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of bytes as a length in memory; saturates on 32-bit machines.
    pub fn as_len(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl Nanos {
    /// `count` nanoseconds.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// `count` milliseconds.
    pub const fn from_millis(count: u64) -> Self {
        Self(count * 1_000_000)
    }

    /// The number of nanoseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The time in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Text that parses to the same time: `630us`.
    pub fn exact(self) -> String {
        exact(self.0, &[(1_000_000, "ms"), (1_000, "us"), (1, "ns")])
    }

    /// The time from `earlier` to `self`; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add for Nanos {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl From<std::time::Duration> for Nanos {
    fn from(time: std::time::Duration) -> Self {
        Self(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(time: Nanos) -> Self {
        Self::from_nanos(time.0)
    }
}

impl BitRate {
    /// `count` bits per second.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The number of bits per second.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Text that parses to the same rate: `750K`.
    pub fn exact(self) -> String {
        exact(self.0, &[(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "K")])
    }
}

/// The count in the largest of these units that it is a whole number of.
fn exact(count: u64, units: &[(u64, &str)]) -> String {
    let whole = units.iter().find(|(unit, _)| count >= *unit && count.is_multiple_of(*unit));
    whole.map_or_else(|| count.to_string(), |(unit, suffix)| format!("{}{suffix}", count / unit))
}

/// Reads a share as a number: `0.05` or `5%`.
///
/// # Errors
/// A text that is neither. Its limits are the reader's.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let (number, whole) = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim_end(), 100.0));
    number.parse::<f64>().map(|number| number / whole).map_err(|_| format!("'{text}' is not a share, such as 0.05 or 5%"))
}

/// Notation of a quantity: its suffixes, largest last, and its name.
struct Notation {
    wanted: &'static str,
    suffixes: &'static [(&'static str, u64)],
    case_matters: bool,
}

const SIZE: Notation = Notation {
    wanted: "a size such as 1024, 16K or 8M",
    suffixes: &[("", 1), ("b", 1), ("k", 1 << 10), ("kib", 1 << 10), ("m", 1 << 20), ("mib", 1 << 20), ("g", 1 << 30), ("gib", 1 << 30)],
    case_matters: false,
};

const RATE: Notation = Notation {
    wanted: "a rate such as 9600, 10M or 1G",
    suffixes: &[("", 1), ("k", 1_000), ("m", 1_000_000), ("g", 1_000_000_000), ("t", 1_000_000_000_000)],
    case_matters: false,
};

const TIME: Notation = Notation {
    wanted: "a time such as 150ms, 0.15s or 10",
    suffixes: &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("", 1_000_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    case_matters: true,
};

impl Notation {
    fn parse(&self, text: &str) -> Result<u64, ParseError> {
        let fail = |reason| ParseError { text: text.to_owned(), wanted: self.wanted, reason };
        let trimmed = text.trim();
        if trimmed.starts_with('-') {
            return Err(fail("it is negative"));
        }
        let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (digits, suffix) = trimmed.split_at(split);
        if digits.is_empty() {
            return Err(fail("it does not start with a number"));
        }
        let suffix = suffix.trim();
        let folded = if self.case_matters { suffix.to_owned() } else { suffix.to_lowercase() };
        let factor = self.suffixes.iter().find(|(name, _)| *name == folded).ok_or_else(|| fail("its unit is not known"))?.1;
        if let Ok(whole) = digits.parse::<u64>() {
            return whole.checked_mul(factor).ok_or_else(|| fail("it is too large"));
        }
        if digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(fail("it is too large"));
        }
        let number: f64 = digits.parse().map_err(|_| fail("it does not start with a number"))?;
        let scaled = (number * factor as f64).round();
        // 2^63 leaves room for every later sum of two quantities.
        if scaled >= 9.2e18 { Err(fail("it is too large")) } else { Ok(scaled as u64) }
    }
}

macro_rules! quantity {
    ($type:ident, $notation:ident) => {
        impl FromStr for $type {
            type Err = ParseError;

            fn from_str(text: &str) -> Result<Self, ParseError> {
                $notation.parse(text).map(Self)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u64(self.0)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;

                impl de::Visitor<'_> for Visitor {
                    type Value = $type;

                    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                        f.write_str($notation.wanted)
                    }

                    fn visit_u64<E: de::Error>(self, count: u64) -> Result<$type, E> {
                        Ok($type(count))
                    }

                    fn visit_i64<E: de::Error>(self, count: i64) -> Result<$type, E> {
                        u64::try_from(count).map($type).map_err(|_| E::invalid_value(de::Unexpected::Signed(count), &self))
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }

                deserializer.deserialize_any(Visitor)
            }
        }
    };
}

quantity!(Bytes, SIZE);
quantity!(Nanos, TIME);
quantity!(BitRate, RATE);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(&exact(self.0, &[(1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")]))
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(&rounded(self.0, ["ns", "µs", "ms", "s"]))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(&rounded(self.0, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]))
    }
}

/// A count in the unit that fits, each a thousand times the one before: four significant figures, trailing zeros removed.
fn rounded(count: u64, units: [&str; 4]) -> String {
    let place = (count.checked_ilog10().unwrap_or(0) as usize / 3).min(3);
    let number = count as f64 / [1.0, 1e3, 1e6, 1e9][place];
    let decimals = match number {
        100.0.. => 1,
        10.0.. => 2,
        _ => 3,
    };
    let text = format!("{number:.decimals$}");
    format!("{} {}", text.trim_end_matches('0').trim_end_matches('.'), units[place])
}

#[cfg(test)]
mod tests {
    use super::{BitRate, Bytes, Nanos, parse_share};
    use proptest::prelude::{any, proptest};

    #[test]
    fn sizes_are_binary_and_rates_are_decimal() {
        assert_eq!("16K".parse(), Ok(Bytes::new(16_384)));
        assert_eq!("1.5m".parse(), Ok(Bytes::new(1_572_864)));
        assert_eq!("10M".parse(), Ok(BitRate::new(10_000_000)));
        assert_eq!("150ms".parse(), Ok(Nanos::from_millis(150)));
        assert_eq!("0.15s".parse(), Ok(Nanos::from_millis(150)));
        assert_eq!("2".parse(), Ok(Nanos::from_millis(2_000)));
    }

    #[test]
    fn what_is_not_a_quantity_says_why() {
        let reason = |text: &str| text.parse::<Bytes>().unwrap_err().to_string();
        assert!(reason("-1").contains("negative"));
        assert!(reason("99999999999999999999").contains("too large"));
        assert!(reason("17179869185G").contains("too large"));
        assert!(reason("12X").contains("unit is not known"));
        assert!(reason("K").contains("start with a number"));
        assert!(reason("").contains("start with a number"));
        assert!(reason("1.2.3").contains("start with a number"));
    }

    #[test]
    fn a_share_is_a_number_or_percent() {
        assert_eq!((parse_share("0.05"), parse_share("5%"), parse_share("5 %")), (Ok(0.05), Ok(0.05), Ok(0.05)));
        for wrong in ["", "%", "much", "5%%"] {
            assert!(parse_share(wrong).unwrap_err().contains("0.05 or 5%"), "{wrong}");
        }
    }

    #[test]
    fn quantities_print_in_the_unit_a_person_would_use() {
        assert_eq!(Bytes::new(16_384).to_string(), "16K");
        assert_eq!(Bytes::new(1_448).to_string(), "1448");
        assert_eq!(Nanos::new(1_500).to_string(), "1.5 µs");
        assert_eq!(Nanos::from_millis(150).to_string(), "150 ms");
        assert_eq!(BitRate::new(941_000_000).to_string(), "941 Mbit/s");
    }

    proptest! {
        #[test]
        fn a_printed_size_parses_to_itself(count in any::<u64>()) {
            let size = Bytes::new(count);
            assert_eq!(size.to_string().parse(), Ok(size));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,40}") {
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Nanos>();
            let _ = text.parse::<BitRate>();
        }
    }
}
