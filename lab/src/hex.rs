//! Bytes as hexadecimal digits.

use std::fmt;

use serde::{Deserialize, Serialize};

/// `N` bytes, written as twice as many hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hex<const N: usize>(pub [u8; N]);

impl<const N: usize> TryFrom<String> for Hex<N> {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        let wrong = || format!("not {} hexadecimal digits", 2 * N);
        let digits = word.as_bytes();
        if digits.len() != 2 * N {
            return Err(wrong());
        }
        let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8).ok_or_else(wrong);
        let mut bytes = [0; N];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

impl<const N: usize> From<Hex<N>> for String {
    fn from(hex: Hex<N>) -> Self {
        hex.to_string()
    }
}

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::Hex;

    #[test]
    fn bytes_come_back_from_their_digits() {
        let hex = Hex([0, 1, 0x7f, 0xff]);
        assert_eq!(String::from(hex), "00017fff");
        assert_eq!(Hex::try_from("00017FFF".to_owned()), Ok(hex));
    }

    #[test]
    fn other_lengths_and_other_letters_are_refused() {
        for wrong in ["", "0001", "00017fff00", "0001 fff", "00017ffg", "+0017fff", "0001é7f"] {
            assert!(Hex::<4>::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
