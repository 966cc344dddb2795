//! The type of service: a byte of the header of IP that routers and queues sort packets by.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Codepoints of Differentiated Services that have a name (RFC 2474, 2597, 3246, 5865 and 8622).
const NAMES: [(&str, u8); 23] = [
    ("cs0", 0),
    ("cs1", 8),
    ("cs2", 16),
    ("cs3", 24),
    ("cs4", 32),
    ("cs5", 40),
    ("cs6", 48),
    ("cs7", 56),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("ef", 46),
    ("va", 44),
    ("le", 1),
];

/// The largest codepoint: it has six bits.
const LARGEST_DSCP: u8 = 63;

/// Type of service of IPv4, traffic class of IPv6: a codepoint (DSCP) in the upper six bits, the bits of
/// congestion notification (ECN) in the lower two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tos(u8);

/// A word that is no type of service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{word}' is neither a number of 0 to {most} (decimal, octal as in 0270, or 0xb8) nor a DSCP such as {names}")]
pub struct TosError {
    word: String,
    most: u8,
    names: String,
}

impl Tos {
    /// The byte as it stands in the header.
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// Reads a codepoint alone: a number of 0 to 63, or a name.
    ///
    /// # Errors
    /// A word that is neither.
    pub fn of_dscp(word: &str) -> Result<Self, TosError> {
        let number = number(word).filter(|number| *number <= LARGEST_DSCP).map(|number| Self(number << 2));
        number.or_else(|| named(word)).ok_or_else(|| refusal(word, LARGEST_DSCP))
    }
}

impl FromStr for Tos {
    type Err = TosError;

    fn from_str(word: &str) -> Result<Self, TosError> {
        number(word).map(Self).or_else(|| named(word)).ok_or_else(|| refusal(word, u8::MAX))
    }
}

impl fmt::Display for Tos {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "0x{:02x}", self.0)
    }
}

/// A number as strtol(3) reads one of base 0, as iperf3 does.
fn number(word: &str) -> Option<u8> {
    let digits = |text: &str, base| u8::from_str_radix(text, base).ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(hexadecimal) => digits(hexadecimal, 16),
        None if word.len() > 1 && word.starts_with('0') => digits(&word[1..], 8),
        None => digits(word, 10),
    }
}

fn named(word: &str) -> Option<Tos> {
    NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, dscp)| Tos(dscp << 2))
}

fn refusal(word: &str, most: u8) -> TosError {
    TosError { word: word.to_owned(), most, names: NAMES.map(|(name, _)| name).join(", ") }
}

#[cfg(test)]
mod tests {
    use super::Tos;

    #[test]
    fn a_byte_is_read_in_three_bases_and_a_codepoint_by_name() {
        let byte = |word: &str| word.parse::<Tos>().map(Tos::byte).ok();
        assert_eq!(["184", "0xb8", "0XB8", "0270", "ef", "EF"].map(byte), [Some(0xb8); 6]);
        assert_eq!(["0", "00", "255", "le", "cs7"].map(byte), [Some(0), Some(0), Some(255), Some(4), Some(0xe0)]);
        assert_eq!(["256", "-1", "+1", "0x", "09", "", "best", "0x1ff"].map(byte), [None; 8]);
        let dscp = |word: &str| Tos::of_dscp(word).map(Tos::byte).ok();
        assert_eq!(["46", "0x2e", "056", "ef", "63"].map(dscp), [Some(0xb8), Some(0xb8), Some(0xb8), Some(0xb8), Some(252)]);
        assert_eq!(["64", "184"].map(dscp), [None; 2]);
    }

    #[test]
    fn it_is_a_number_in_files_and_hexadecimal_for_people() {
        let tos: Tos = "ef".parse().unwrap();
        assert_eq!((serde_json::to_string(&tos).unwrap().as_str(), tos.to_string().as_str()), ("184", "0xb8"));
        assert_eq!(serde_json::from_str::<Tos>("184").unwrap(), tos);
        assert!("best".parse::<Tos>().unwrap_err().to_string().contains("cs0, cs1"));
    }
}
