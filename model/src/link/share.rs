//! A share of frames.

use std::fmt;
use std::str::FromStr;

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
