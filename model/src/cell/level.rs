//! Levels of factors: how they are read, and how a table of figures holds them.

use std::fmt;
use std::str::FromStr;

use super::Cell;
use super::factor::{Factor, Level};
use crate::condition::{EndLevel, LinkLoad, PerEnd, Placement};
use crate::link::LinkKind;
use crate::quantity::{Bytes, Nanos};
use crate::rate::OfferedRate;
use crate::size::parse_sweep;
use crate::traffic::{Api, Family, Pacing, Test, Waiting};

/// A level that its factor, or its cell, cannot take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("factor '{factor}': {reason}")]
pub struct LevelError {
    /// The factor.
    pub factor: Factor,
    /// Words for what is wrong.
    pub reason: String,
}

impl Level {
    /// Reads a single level.
    ///
    /// # Errors
    /// A word that stands for no level, or for several.
    pub fn parse(factor: Factor, word: &str) -> Result<Self, LevelError> {
        let mut levels = factor.parse(&[word])?;
        match (levels.pop(), levels.is_empty()) {
            (Some(level), true) => Ok(level),
            _ => Err(LevelError { factor, reason: format!("'{word}' is more than one level") }),
        }
    }

    /// Gives a cell this level. A read size that followed from the message still does.
    pub fn apply(&self, cell: &mut Cell) {
        match self {
            Self::ReadSize(_) => self.set(cell),
            _ => cell.with_usual_read_size(|cell| self.set(cell)),
        }
    }
}

/// Reads a single level by its type.
pub(super) fn one<T: FromStr<Err: ToString>>(word: &str) -> Result<Vec<T>, String> {
    word.parse().map(|level| vec![level]).map_err(|error: T::Err| error.to_string())
}

pub(super) fn switch(word: &str) -> Result<Vec<bool>, String> {
    match word {
        "true" | "on" => Ok(vec![true]),
        "false" | "off" => Ok(vec![false]),
        other => Err(format!("'{other}' is neither true nor false, on nor off")),
    }
}

pub(super) fn sizes(word: &str) -> Result<Vec<Bytes>, String> {
    parse_sweep(word).map_err(|error| error.to_string())
}

/// Counts are written as sizes are, in sweeps.
pub(super) fn counts(word: &str) -> Result<Vec<u64>, String> {
    Ok(sizes(word)?.into_iter().map(Bytes::get).collect())
}

/// A level as a table of figures holds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Value {
    /// A count, a number of bytes, or a time in nanoseconds.
    Number(u64),
    /// A switch.
    Switch(bool),
    /// A level as a plan writes it.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Switch(on) => on.fmt(f),
            Self::Text(text) => f.pad(text),
        }
    }
}

/// Types of levels.
pub(super) trait ToValue {
    fn to_value(&self) -> Value;
}

macro_rules! to_value {
    ($($type:ty: $level:ident => $value:expr,)+) => {
        $(impl ToValue for $type {
            fn to_value(&self) -> Value {
                let $level = self;
                $value
            }
        })+
    };
}

to_value! {
    Bytes: size => Value::Number(size.get()),
    Nanos: time => Value::Number(time.get()),
    u32: number => Value::Number(u64::from(*number)),
    u64: number => Value::Number(*number),
    bool: on => Value::Switch(*on),
    String: name => Value::Text(name.clone()),
    OfferedRate: rate => match rate {
        OfferedRate::Bits(rate) => Value::Text(rate.get().to_string()),
        OfferedRate::Messages(_) => Value::Text(rate.to_string()),
    },
    Test: test => Value::Text(test.to_string()),
    Family: family => Value::Text(family.to_string()),
    Api: api => Value::Text(api.to_string()),
    Pacing: pacing => Value::Text(pacing.to_string()),
    Waiting: waiting => Value::Text(waiting.to_string()),
    Placement: placement => Value::Text(placement.to_string()),
    LinkKind: link => Value::Text(link.to_string()),
    LinkLoad: load => Value::Text(load.to_string()),
}

impl<T: EndLevel> ToValue for PerEnd<T> {
    fn to_value(&self) -> Value {
        Value::Text(if self.is_usual() { T::default().to_string() } else { self.to_string() })
    }
}
