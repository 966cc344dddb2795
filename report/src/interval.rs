//! Intervals in few letters or in words.

use analysis::answer::notation::amount;
use analysis::result::{Estimate, Method, Percentile};

use crate::number;

/// An interval that reaches farther than this share is shown by its ends: a value says little.
pub const WIDE: f64 = 0.5;

/// `?` of a figure whose interval has ends more than a factor of two apart; else nothing.
pub fn mark(estimate: &Estimate) -> &'static str {
    let wide = estimate.interval.is_some_and(|ends| is_wide(estimate.value, ends.low, ends.high));
    if wide { "?" } else { "" }
}

/// Returns whether the ends of the interval of a value are more than a factor of two apart.
pub fn is_wide(value: f64, low: f64, high: f64) -> bool {
    high > 2.0 * low && high > low && value != 0.0
}

/// `±1.2%`: the interval lies within it. `±?` when there is none.
///
/// It is rounded up, so that it never promises more than was found.
pub fn plus_minus(estimate: &Estimate) -> String {
    let Some(share) = estimate.half_width() else {
        return match estimate.interval {
            Some(interval) if interval.low == interval.high => "±0%".to_owned(),
            _ => "±?".to_owned(),
        };
    };
    reach(share)
}

/// `±1.2%` of a share, rounded up.
pub fn reach(share: f64) -> String {
    // The small slack keeps 1.2 % from becoming 1.3 % through binary fractions.
    let percent = share * 100.0 - 1e-9;
    if percent <= 0.0 {
        "±0%".to_owned()
    } else if percent <= 9.9 {
        format!("±{:.1}%", (percent * 10.0).ceil() / 10.0)
    } else if percent <= 999.0 {
        format!("±{:.0}%", percent.ceil())
    } else {
        "±>10x".to_owned()
    }
}

/// `1.90 µs to 1.96 µs`, or why there is no interval.
pub fn range(estimate: &Estimate, write: fn(f64) -> String) -> String {
    match estimate.interval {
        Some(interval) => format!("{} to {}", write(interval.low), write(interval.high)),
        None => format!("no interval, n = {}", estimate.n),
    }
}

/// `290ns–2.13µs`; empty without an interval.
pub fn short_range(estimate: &Estimate, write: fn(f64) -> String) -> String {
    let ends = |interval: analysis::result::Interval| {
        let [low, high] = [interval.low, interval.high].map(|end| number::tight(&write(end)));
        let unit = |text: &str| text.trim_start_matches(|letter: char| letter.is_ascii_digit() || ",.-<".contains(letter)).to_owned();
        // One unit is said once; a letter for thousands at both ends, so that it is not taken for one of the high end.
        match low.strip_suffix(&unit(&high)).filter(|_| unit(&low) == unit(&high) && !unit(&high).starts_with(['k', 'M', 'G', 'T'])) {
            Some(bare) => format!("{bare}–{high}"),
            None if unit(&low).is_empty() && unit(&high).starts_with('k') => {
                format!("{}k–{high}", number::significant(interval.low / 1e3, 3))
            }
            None => format!("{low}–{high}"),
        }
    };
    estimate.interval.map_or(String::new(), ends)
}

/// `1.93µs ±1.2%`, or that there is no figure; for tables that must be narrow.
pub fn narrow(estimate: Option<&Estimate>, write: fn(f64) -> String) -> String {
    let text = |estimate: &Estimate| format!("{} {}", number::tight(&write(estimate.value)), number::tight(&plus_minus(estimate)));
    estimate.map_or(number::NOTHING.to_owned(), text)
}

/// `9.6 % (8.5–10.7)`: a share with both ends of its interval in percent.
pub fn share(found: Option<&Estimate>) -> String {
    found.map_or_else(|| number::NOTHING.to_owned(), |found| in_percent(found, " %"))
}

/// The same with this unit behind the figure: none where a head has it.
pub fn in_percent(found: &Estimate, unit: &str) -> String {
    let ends = found.interval.map_or_else(|| number::NOTHING.to_owned(), |ends| [ends.low, ends.high].map(amount).join("–"));
    format!("{}{unit} ({ends})", amount(found.value))
}

/// `≥ 1.93 µs`: a figure that is at least so much.
pub fn at_least(figure: &str) -> String {
    format!("≥ {figure}")
}

/// A percentile as [`narrow`] writes it; `≥1.93µs` of a lower bound.
pub fn narrow_time(found: Option<&Percentile>) -> String {
    match found {
        Some(found) if found.at_least => number::tight(&at_least(&number::time(found.estimate.value))),
        found => narrow(found.map(|found| &found.estimate), number::time),
    }
}

/// `1.93 µs (1.90 µs to 1.96 µs)`, or that there is no interval, in these words.
pub fn spelled(estimate: &Estimate, write: impl Fn(f64) -> String, none: &str) -> String {
    match estimate.interval {
        Some(ends) => format!("{} ({} to {})", write(estimate.value), write(ends.low), write(ends.high)),
        None => format!("{}{none}", write(estimate.value)),
    }
}

/// Value and ends in nanoseconds, with as many figures as it takes to tell
/// the two ends apart: `("1,930", Some(("1,900", "1,960")))`.
pub fn nanoseconds(estimate: &Estimate) -> (String, Option<(String, String)>) {
    let Some(interval) = estimate.interval else { return (number::significant(estimate.value, 3), None) };
    let ends = |figures| (number::significant(interval.low, figures), number::significant(interval.high, figures));
    let figures = (3..6)
        .find(|&figures| {
            let (low, high) = ends(figures);
            low != high
        })
        .unwrap_or(3);
    (number::significant(estimate.value, figures), Some(ends(figures)))
}

/// A method in words.
pub const fn method(method: Method) -> &'static str {
    match method {
        Method::OrderStatistics => "exact order-statistic interval of the median",
        Method::BlockBootstrap => "percentile bootstrap over blocks",
        Method::Randomisation => "inversion of a randomisation test",
        Method::Welch => "Welch's t over runs",
        Method::Instances => "Student's t over instances",
    }
}

/// A method's name in CSV; the same as in JSON.
pub const fn method_name(method: Method) -> &'static str {
    match method {
        Method::OrderStatistics => "order_statistics",
        Method::BlockBootstrap => "block_bootstrap",
        Method::Randomisation => "randomisation",
        Method::Welch => "welch",
        Method::Instances => "instances",
    }
}

#[cfg(test)]
mod tests {
    use super::{nanoseconds, plus_minus};
    use analysis::result::{Estimate, Interval, Method};
    use proptest::prelude::proptest;

    fn estimate(low: f64, value: f64, high: f64) -> Estimate {
        let interval = Interval { low, high, confidence: 0.961, method: Method::OrderStatistics };
        Estimate { value, interval: Some(interval), n: 9 }
    }

    #[test]
    fn the_larger_side_counts() {
        assert_eq!(plus_minus(&estimate(99.0, 100.0, 103.0)), "±3.0%");
        assert_eq!(plus_minus(&estimate(88.0, 100.0, 103.0)), "±12%");
        assert_eq!(plus_minus(&estimate(100.0, 100.0, 100.0)), "±0%");
        assert_eq!(plus_minus(&estimate(100.0, 100.0, 9e9)), "±>10x");
    }

    #[test]
    fn what_cannot_be_told_is_a_question() {
        assert_eq!(plus_minus(&Estimate { value: 5.0, interval: None, n: 3 }), "±?");
        assert_eq!(plus_minus(&estimate(0.0, 0.0, 1.0)), "±?");
        assert_eq!(plus_minus(&estimate(0.0, 0.0, 0.0)), "±0%");
        assert_eq!(plus_minus(&estimate(f64::NAN, f64::NAN, f64::NAN)), "±?");
    }

    #[test]
    fn figures_are_added_until_the_ends_differ() {
        assert_eq!(nanoseconds(&estimate(1900.0, 1930.0, 1960.0)).0, "1,930");
        let narrow = nanoseconds(&estimate(1931.0, 1932.0, 1934.0));
        assert_eq!(narrow, ("1,932".to_owned(), Some(("1,931".to_owned(), "1,934".to_owned()))));
    }

    proptest! {
        #[test]
        fn the_interval_lies_within_what_is_printed(value in 1.0..1e9_f64, down in 0.0..0.9_f64, up in 0.0..5.0_f64) {
            let estimate = estimate(value * (1.0 - down), value, value * (1.0 + up));
            let text = plus_minus(&estimate);
            let printed: f64 = text.trim_start_matches('±').trim_end_matches('%').parse().unwrap();
            assert!(printed / 100.0 + 1e-9 >= estimate.half_width().unwrap(), "{text}");
        }
    }
}
