//! Names of socket options, as C has them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Name of a socket option. Options that this version does not set are read
/// from stored runs as [`OptionName::Other`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum OptionName {
    /// `SO_SNDBUF`, the send buffer in bytes.
    Sndbuf,
    /// `SO_RCVBUF`, the receive buffer in bytes.
    Rcvbuf,
    /// `TCP_NODELAY`, 1 without Nagle's algorithm.
    Nodelay,
    /// `TCP_CONGESTION`, the name of a congestion control.
    Congestion,
    /// `TCP_MAXSEG`, the largest segment in bytes.
    MaxSegment,
    /// Any other option.
    Other(String),
}

impl OptionName {
    const KNOWN: [Self; 5] = [Self::Sndbuf, Self::Rcvbuf, Self::Nodelay, Self::Congestion, Self::MaxSegment];

    /// Returns the name in C.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Sndbuf => "SO_SNDBUF",
            Self::Rcvbuf => "SO_RCVBUF",
            Self::Nodelay => "TCP_NODELAY",
            Self::Congestion => "TCP_CONGESTION",
            Self::MaxSegment => "TCP_MAXSEG",
            Self::Other(name) => name,
        }
    }
}

impl From<&str> for OptionName {
    fn from(name: &str) -> Self {
        Self::KNOWN.into_iter().find(|known| known.as_str() == name).unwrap_or_else(|| Self::Other(name.to_owned()))
    }
}

impl From<String> for OptionName {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<OptionName> for String {
    fn from(name: OptionName) -> Self {
        name.as_str().to_owned()
    }
}

impl PartialEq<str> for OptionName {
    fn eq(&self, name: &str) -> bool {
        self.as_str() == name
    }
}

impl PartialEq<&str> for OptionName {
    fn eq(&self, name: &&str) -> bool {
        self.as_str() == *name
    }
}

impl fmt::Display for OptionName {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::OptionName;

    #[test]
    fn names_are_stored_as_c_has_them_known_or_not() {
        for (name, text) in [(OptionName::Congestion, "\"TCP_CONGESTION\""), (OptionName::Other("SO_BUSY_POLL".into()), "\"SO_BUSY_POLL\"")]
        {
            assert_eq!(serde_json::to_string(&name).unwrap(), text);
            assert_eq!(serde_json::from_str::<OptionName>(text).unwrap(), name);
        }
    }
}
