//! Values of flags that say how long a trial is, refused by the flag's own name.

use model::plan::PlanEnd;
use model::{Bytes, Nanos};

/// The measured time of a trial.
pub fn parse_length(word: &str) -> Result<Nanos, String> {
    let length: Nanos = parse(word)?;
    match length.get() {
        0 => Err("a trial takes more than 0 and at most 24 hours".to_owned()),
        _ if length > PlanEnd::LONGEST => Err("a trial takes at most 24 hours".to_owned()),
        _ => Ok(length),
    }
}

/// The time before the measured part.
pub fn parse_warmup(word: &str) -> Result<Nanos, String> {
    let length: Nanos = parse(word)?;
    if length > PlanEnd::LONGEST { Err("it takes at most 24 hours".to_owned()) } else { Ok(length) }
}

/// The measured messages of a trial.
pub fn parse_messages(word: &str) -> Result<u64, String> {
    let count: u64 = parse(word)?;
    if count == 0 { Err("a trial has at least one message".to_owned()) } else { Ok(count) }
}

/// The measured payload of a trial.
pub fn parse_payload(word: &str) -> Result<Bytes, String> {
    let bytes: Bytes = parse(word)?;
    if bytes.get() == 0 { Err("a trial has at least one byte".to_owned()) } else { Ok(bytes) }
}

fn parse<T>(word: &str) -> Result<T, String>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    word.parse().map_err(|error: T::Err| error.to_string())
}
