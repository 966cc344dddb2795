//! Several addresses of one end, written with `+` between them.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::choice::stored_as_text;

/// Addresses of one end, in their order: `192.0.2.1+198.51.100.1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addresses(Vec<IpAddr>);

/// A word that is no list of addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{word}' is no address of IP: write 192.0.2.1, or several with + between them")]
pub struct AddressesError {
    word: String,
}

impl Addresses {
    /// The addresses; at least one.
    pub fn all(&self) -> &[IpAddr] {
        &self.0
    }
}

impl FromStr for Addresses {
    type Err = AddressesError;

    fn from_str(text: &str) -> Result<Self, AddressesError> {
        let one = |word: &str| word.trim().parse().map_err(|_| AddressesError { word: word.to_owned() });
        text.split('+').map(one).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(IpAddr::to_string).collect();
        f.pad(&words.join("+"))
    }
}

stored_as_text!(Addresses);
