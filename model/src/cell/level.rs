//! Types of levels: how each is read, and how a table of figures holds it.

use std::fmt;
use std::str::FromStr;

use crate::address_list::Addresses;
use crate::api::Api;
use crate::condition::{EndLevel, LinkLoad, PerEnd, Placement};
use crate::link::LinkKind;
use crate::program::SHIPPED;
use crate::quantity::{Bytes, Nanos};
use crate::rate::OfferedRate;
use crate::receive::Receive;
use crate::size::parse_sweep;
use crate::tos::Tos;
use crate::traffic::{Arrivals, Family, Pacing, Test, Waiting};
use crate::ways::Ways;

/// A level as a table of figures holds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Value {
    /// A count, bytes, nanoseconds, or bits or messages a second.
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

/// A type that levels of a factor have.
pub(super) trait LevelType: Sized {
    /// Reads the levels that a word stands for: one, or those of a sweep.
    fn read(word: &str) -> Result<Vec<Self>, String>;
    fn value(&self) -> Value;

    /// The words that there are, where a level is one of some, for the help.
    fn choices() -> Option<String> {
        None
    }
}

fn one<T: FromStr<Err: ToString>>(word: &str) -> Result<Vec<T>, String> {
    word.parse().map(|level| vec![level]).map_err(|error: T::Err| error.to_string())
}

fn switch(word: &str) -> Result<Vec<bool>, String> {
    match word {
        "true" | "on" => Ok(vec![true]),
        "false" | "off" => Ok(vec![false]),
        other => Err(format!("'{other}' is neither true nor false, on nor off")),
    }
}

fn sizes(word: &str) -> Result<Vec<Bytes>, String> {
    parse_sweep(word).map_err(|error| error.to_string())
}

/// Counts are written as sizes are, in sweeps.
fn counts(word: &str) -> Result<Vec<u64>, String> {
    Ok(sizes(word)?.into_iter().map(Bytes::get).collect())
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

macro_rules! level_types {
    ($($type:ty: $read:expr, $level:pat => $value:expr $(, of $choices:expr)?;)+) => {
        $(impl LevelType for $type {
            fn read(word: &str) -> Result<Vec<Self>, String> {
                $read(word)
            }

            fn value(&self) -> Value {
                let $level = self;
                $value
            }

            $(fn choices() -> Option<String> {
                Some($choices)
            })?
        })+
    };
    (text $($type:ty),+) => { level_types! { $($type: one, level => Value::Text(level.to_string());)+ } };
    (choice $($type:ty),+) => { level_types! { $($type: one, level => Value::Text(level.to_string()), of names(<$type>::ALL.iter().map(|one| one.name()));)+ } };
}

level_types! {
    Bytes: sizes, size => Value::Number(size.get());
    Nanos: one, time => Value::Number(time.get());
    u32: one, number => Value::Number(u64::from(*number));
    u64: counts, count => Value::Number(*count);
    Tos: one, tos => Value::Number(u64::from(tos.byte()));
    bool: switch, on => Value::Switch(*on);
    OfferedRate: one, rate => match rate {
        OfferedRate::Bits(rate) => Value::Number(rate.get()),
        OfferedRate::Messages(rate) => Value::Number(*rate),
    };
    Ways: one, ways => Value::Text(ways.to_string()), of {
        let of = |local: bool| names(Api::ALL.iter().filter(|api| api.over().is_local() == local).map(|api| api.name()));
        let shipped = names(SHIPPED.iter().map(|shipped| shipped.name));
        format!("{}, and on one machine {}, and the implementations {shipped}; or by end sender:gso,receiver:gro", of(false), of(true))
    };
}

level_types! { choice Test, Receive, Arrivals, Pacing, Waiting, Placement }
level_types! { text Addresses, Family, LinkKind, LinkLoad, String }

impl<T: EndLevel> LevelType for PerEnd<T> {
    fn read(word: &str) -> Result<Vec<Self>, String> {
        one(word)
    }

    fn value(&self) -> Value {
        Value::Text(if self.is_usual() { T::default().to_string() } else { self.to_string() })
    }
}
