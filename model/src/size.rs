//! Lists and sweeps of sizes, as a person writes them.

use crate::quantity::Bytes;

/// A sweep that cannot be read, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SweepError {
    /// One of its sizes is not a size.
    #[error(transparent)]
    Size(#[from] crate::quantity::ParseError),
    /// The step after the colon is neither `xN` nor `+N`.
    #[error("'{0}' is not a step: write x2 to double, or +100 to add 100")]
    Step(String),
    /// It would never end, or runs backwards.
    #[error("'{0}' does not get from its first size to its last")]
    Endless(String),
    /// More sizes than a study could measure.
    #[error("'{0}' has more than {MOST} sizes: take a larger step")]
    TooMany(String),
}

/// More levels than this in one sweep is a slip of the pen, not a study.
const MOST: usize = 1_000;

/// Reads `1,64,1448`, `1..16K:x2`, `100..1000:+100`, or any of these joined by commas.
///
/// A range without a step doubles. Both ends are included; the last is added
/// when the steps do not meet it.
pub fn parse_sweep(text: &str) -> Result<Vec<Bytes>, SweepError> {
    let mut sizes = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => sizes.push(part.parse()?),
            Some((first, rest)) => sizes.extend(parse_range(part, first, rest)?),
        }
        if sizes.len() > MOST {
            return Err(SweepError::TooMany(text.to_owned()));
        }
    }
    Ok(sizes)
}

fn parse_range(whole: &str, first: &str, rest: &str) -> Result<Vec<Bytes>, SweepError> {
    let (last, step) = rest.split_once(':').unwrap_or((rest, "x2"));
    let (first, last): (Bytes, Bytes) = (first.parse()?, last.parse()?);
    let bad_step = || SweepError::Step(step.to_owned());
    let next: Box<dyn Fn(u64) -> Option<u64>> = if let Some(factor) = step.strip_prefix('x') {
        let factor: f64 = factor.parse().map_err(|_| bad_step())?;
        Box::new(move |at| Some((at as f64 * factor).round() as u64))
    } else if let Some(addend) = step.strip_prefix('+') {
        let addend = addend.parse::<Bytes>()?.get();
        Box::new(move |at| at.checked_add(addend))
    } else {
        return Err(bad_step());
    };
    let mut sizes = Vec::new();
    let mut at = first.get();
    while at < last.get() {
        sizes.push(Bytes::new(at));
        if sizes.len() > MOST {
            return Err(SweepError::TooMany(whole.to_owned()));
        }
        match next(at) {
            Some(further) if further > at => at = further,
            _ => return Err(SweepError::Endless(whole.to_owned())),
        }
    }
    if first > last {
        return Err(SweepError::Endless(whole.to_owned()));
    }
    sizes.push(last);
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::{SweepError, parse_sweep};
    use proptest::prelude::proptest;

    fn sizes(text: &str) -> Vec<u64> {
        parse_sweep(text).unwrap().into_iter().map(|size| size.get()).collect()
    }

    #[test]
    fn lists_ranges_and_both() {
        assert_eq!(sizes("1,64,1448"), [1, 64, 1448]);
        assert_eq!(sizes("1..16:x2"), [1, 2, 4, 8, 16]);
        assert_eq!(sizes("1..20"), [1, 2, 4, 8, 16, 20]);
        assert_eq!(sizes("100..300:+100,1K"), [100, 200, 300, 1024]);
        assert_eq!(sizes("7..7"), [7]);
    }

    #[test]
    fn what_never_ends_is_refused() {
        assert!(matches!(parse_sweep("1..16:x1"), Err(SweepError::Endless(_))));
        assert!(matches!(parse_sweep("0..16:x2"), Err(SweepError::Endless(_))));
        assert!(matches!(parse_sweep("16..1"), Err(SweepError::Endless(_))));
        assert!(matches!(parse_sweep("1..16:xq"), Err(SweepError::Step(_))));
        assert!(matches!(parse_sweep("1..1M:+1"), Err(SweepError::TooMany(_))));
        assert!(parse_sweep("1,,2").is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "[0-9.,:x+KMG-]{0,30}") {
            let _ = parse_sweep(&text);
        }
    }
}
