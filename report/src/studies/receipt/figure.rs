//! Figures of receipts as they are written.

use analysis::answer::notation::ends_of_time;
pub use attribution::BILLED;
use attribution::Figure;

use crate::interval::reach;
use crate::number;

/// Name of the CPU time that no sample shows.
pub const UNSAMPLED: &str = "on a CPU, unsampled";
/// Both names where room is short.
pub const UNSAMPLED_SHORT: &str = "unsampled";
pub const BILLED_SHORT: &str = "billed";
/// Name of the cost of sampling.
pub const SAMPLED: &str = "CPU sampled / not";

/// ns per message, without the unit: tables say it once.
pub fn ns(value: f64) -> String {
    number::significant(value, if value.abs() < 99.95 { 2 } else { 3 })
}

/// `±1.2%`: the interval at 95 % lies within it; `±?` where there is none.
pub fn plus_minus(figure: &Figure) -> String {
    let Some([low, high]) = figure.interval else { return "±?".to_owned() };
    let far = (figure.value - low).max(high - figure.value);
    let share = far / figure.value.abs();
    if share.is_finite() { reach(share) } else { "±?".to_owned() }
}

/// `12.1 to 13.4`, or that there is no interval.
pub fn range(figure: &Figure, write: fn(f64) -> String) -> String {
    figure.interval.map_or_else(|| "no interval".to_owned(), |[low, high]| format!("{} to {}", write(low), write(high)))
}

/// The same of a time, which is not negative.
pub fn time_range(figure: &Figure, write: fn(f64) -> String) -> String {
    range(&Figure { interval: figure.interval.map(|ends| ends_of_time(figure.value, ends)), ..*figure }, write)
}

/// A share with one figure behind the point at most: `24%`, `0.3%`.
pub fn share(share: f64) -> String {
    let percent = share * 100.0;
    if !percent.is_finite() {
        number::NOTHING.to_owned()
    } else if percent.abs() >= 9.95 {
        format!("{percent:.0}%")
    } else {
        format!("{percent:.1}%")
    }
}

/// Calls of a message: `1.00`, `0.023`.
pub fn calls(value: f64) -> String {
    number::significant(value, if value < 0.995 { 2 } else { 3 })
}

/// A ratio that should be 1.
pub fn ratio(value: f64) -> String {
    if value.is_finite() { format!("{value:.3}") } else { number::NOTHING.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{calls, ns, plus_minus, ratio, share};
    use attribution::{ErrorMethod, Figure};

    #[test]
    fn figures_are_as_long_as_they_are_known() {
        assert_eq!([calls(0.1234), calls(1.0), ns(12.34), ns(123.4), ns(12_345.0)], ["0.12", "1.00", "12", "123", "12,300"]);
        assert_eq!([share(0.24), share(0.003), share(f64::NAN)], ["24%", "0.3%", "–"]);
        assert_eq!(ratio(0.98765), "0.988");
    }

    #[test]
    fn the_farther_end_counts() {
        let figure = Figure::new(100.0, Some(1.0), f64::INFINITY, ErrorMethod::Binomial);
        assert_eq!(plus_minus(&figure), "±2.0%");
        assert_eq!(plus_minus(&Figure::new(0.0, Some(1.0), 4.0, ErrorMethod::Binomial)), "±?");
        assert_eq!(plus_minus(&Figure::new(1.0, None, 4.0, ErrorMethod::Unknown)), "±?");
    }
}
