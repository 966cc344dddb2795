//! Numbers as text: the one place for rounding, units and signs.
//!
//! Three significant figures, a unit that keeps the number short, a space
//! between the two. What is not a number is written as [`NOTHING`].

use analysis::answer::notation::group;
pub use analysis::answer::notation::whole;

/// Stands where there is no figure.
pub const NOTHING: &str = "–";

/// Significant figures of a number in a table.
const FIGURES: usize = 3;

/// Factors and units, smallest first.
type Units = &'static [(f64, &'static str)];

const TIME: Units = &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];
const BITS: Units = &[(1.0, "bit/s"), (1e3, "kbit/s"), (1e6, "Mbit/s"), (1e9, "Gbit/s"), (1e12, "Tbit/s")];
const BYTES: Units = &[(1.0, "B"), (1024.0, "KiB"), (1_048_576.0, "MiB"), (1_073_741_824.0, "GiB"), (1_099_511_627_776.0, "TiB")];
const COUNT: Units = &[(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")];

/// A time given in nanoseconds, such as `1.93 µs`.
pub fn time(nanoseconds: f64) -> String {
    scaled(nanoseconds, FIGURES, TIME)
}

/// A rate given in bits per second, such as `4.15 Gbit/s`.
pub fn bits(bits_per_second: f64) -> String {
    scaled(bits_per_second, FIGURES, BITS)
}

/// An amount of data, such as `1.12 GiB`.
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, FIGURES, BYTES)
}

/// A number of things, such as `519 k`.
pub fn count(things: f64) -> String {
    scaled(things, FIGURES, COUNT)
}

/// A tick of an axis, such as `20 µs`: no more figures than a round number has.
pub fn tick(value: f64, unit: &str) -> String {
    let text = match unit {
        "s" => scaled(value * 1e9, 2, TIME),
        "bit/s" => scaled(value, 2, BITS),
        "" => scaled(value, 2, COUNT),
        unit if value < COUNT[1].0 => format!("{} {unit}", scaled(value, 2, COUNT)),
        unit => scaled(value, 2, COUNT) + unit,
    };
    let text = text.replace(".0 ", " ");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A size on an axis: `1,448`, `16K`.
pub fn size(bytes: u64) -> String {
    if bytes > 0 && bytes.is_multiple_of(1024) { model::Bytes::new(bytes).to_string() } else { whole(bytes) }
}

/// The same of a number that may be negative.
pub fn signed(things: i64) -> String {
    let sign = if things < 0 { "-" } else { "" };
    format!("{sign}{}", whole(things.unsigned_abs()))
}

/// A share, such as `1.2 %`. A small one is never rounded to nothing, and
/// one below 1 never to all.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let size = percent.abs();
    if !percent.is_finite() {
        NOTHING.to_owned()
    } else if percent == 0.0 {
        "0 %".to_owned()
    } else if size < 0.005 {
        format!("{}<0.01 %", if percent < 0.0 { "-" } else { "" })
    } else if (99.9..100.0).contains(&percent) {
        // Cut, not rounded.
        format!("{:.2} %", (percent * 100.0).floor() / 100.0)
    } else if (90.0..99.9).contains(&percent) {
        format!("{percent:.1} %")
    } else if size < 0.995 {
        format!("{percent:.2} %")
    } else if size < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// A share with its sign, such as `+1.2 %`.
pub fn change(share: f64) -> String {
    let text = percent(share);
    if share.is_finite() && share > 0.0 { format!("+{text}") } else { text }
}

/// `value` rounded to this number of significant figures, thousands grouped, no exponent.
pub fn significant(value: f64, figures: usize) -> String {
    let Some((rounded, exponent)) = round(value, figures) else { return NOTHING.to_owned() };
    // Nine decimals of a nanosecond are below anything that can be measured.
    let decimals = (figures as i32 - 1 - exponent).clamp(0, 9) as usize;
    let text = format!("{rounded:.decimals$}");
    if text.bytes().all(|b| matches!(b, b'0' | b'.' | b'-')) {
        return "0".to_owned();
    }
    let (integer, fraction) = text.split_once('.').map_or((text.as_str(), None), |(integer, fraction)| (integer, Some(fraction)));
    let (sign, digits) = integer.strip_prefix('-').map_or(("", integer), |digits| ("-", digits));
    let fraction = fraction.map_or(String::new(), |fraction| format!(".{fraction}"));
    format!("{sign}{}{fraction}", group(digits))
}

/// Without the space between number and unit: for tables that must be narrow.
pub fn tight(text: &str) -> String {
    text.replace(' ', "")
}

/// Rounds before the unit is chosen, so that 999.9 ns reads as 1.00 µs.
fn scaled(value: f64, figures: usize, units: Units) -> String {
    let Some((rounded, _)) = round(value, figures) else { return NOTHING.to_owned() };
    if rounded == 0.0 {
        return format!("0 {}", units.first().map_or("", |unit| unit.1)).trim_end().to_owned();
    }
    let fits = units.iter().rev().find(|(factor, _)| rounded.abs() >= *factor).or(units.first());
    let (factor, unit) = fits.copied().unwrap_or((1.0, ""));
    format!("{} {unit}", significant(rounded / factor, figures)).trim_end().to_owned()
}

/// The rounded value and its decimal exponent; `None` when it is not a finite number.
fn round(value: f64, figures: usize) -> Option<(f64, i32)> {
    if !value.is_finite() {
        return None;
    }
    let text = format!("{value:.*e}", figures.saturating_sub(1));
    let (_, exponent) = text.split_once('e')?;
    Some((text.parse().ok()?, exponent.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{NOTHING, bits, change, count, percent, signed, significant, size, tick, tight, time, whole};
    use proptest::prelude::{any, proptest};

    #[test]
    fn figures_carry_the_unit_a_person_would_use() {
        assert_eq!(time(1931.4), "1.93 µs");
        assert_eq!(time(0.312), "0.312 ns");
        assert_eq!(time(999.9), "1.00 µs");
        assert_eq!(time(15_234_000.0), "15.2 ms");
        assert_eq!(bits(4.151e9), "4.15 Gbit/s");
        assert_eq!(count(518_700.0), "519 k");
        assert_eq!(count(42.0), "42.0");
        assert_eq!(count(0.0), "0");
        assert_eq!(tight(&time(1931.4)), "1.93µs");
    }

    #[test]
    fn a_share_is_never_rounded_to_nothing_or_all() {
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.000_01), "<0.01 %");
        assert_eq!(percent(0.0123), "1.2 %");
        assert_eq!(percent(0.123), "12 %");
        assert_eq!(percent(0.999_99), "99.99 %");
        assert_eq!(percent(0.987), "98.7 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(change(0.0123), "+1.2 %");
        assert_eq!(change(-0.0123), "-1.2 %");
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(tick(20e-6, "s"), "20 µs");
        assert_eq!(tick(1.5e-6, "s"), "1.5 µs");
        assert_eq!(tick(5e9, "bit/s"), "5 Gbit/s");
        assert_eq!(tick(1e11, "bit/s"), "100 Gbit/s");
        assert_eq!([tick(5.0, ""), tick(2e4, ""), tick(2e4, "B/s"), tick(20.0, "/s")], ["5", "20 k", "20 kB/s", "20 /s"]);
        assert_eq!([size(1), size(1_448), size(16_384)], ["1", "1,448", "16K"]);
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(whole(1_234_567), "1,234,567");
        assert_eq!(whole(12), "12");
        assert_eq!(signed(-1234), "-1,234");
        assert_eq!(significant(1931.4, 3), "1,930");
        assert_eq!(significant(-0.312_4, 2), "-0.31");
    }

    #[test]
    fn what_is_not_a_number_is_not_written_as_one() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!([time(value), bits(value), count(value), percent(value), change(value)], [NOTHING; 5]);
        }
    }

    /// Reads a figure back; the unit's factor comes with it.
    fn back(text: &str) -> f64 {
        let (number, unit) = text.split_once(' ').unwrap();
        let factor = super::TIME.iter().find(|(_, name)| *name == unit).unwrap().0;
        number.replace(',', "").parse::<f64>().unwrap() * factor
    }

    proptest! {
        #[test]
        fn rounding_never_moves_a_time_by_more_than_half_a_percent(value in 0.001..1e12_f64) {
            assert!((back(&time(value)) / value - 1.0).abs() <= 0.005_001);
        }

        #[test]
        fn a_longer_time_never_reads_shorter(value in 0.001..1e12_f64, factor in 1.0..10.0_f64) {
            assert!(back(&time(value * factor)) >= back(&time(value)));
        }

        #[test]
        fn a_usual_figure_is_short(value in 0.01..1e12_f64) {
            assert!(time(value).chars().count() <= 8, "{}", time(value));
            assert!(count(value / 1e3).chars().count() <= 7, "{}", count(value / 1e3));
        }

        #[test]
        fn no_number_reads_as_nan_or_infinity(value in any::<f64>()) {
            for text in [time(value), bits(value), count(value), percent(value), change(value), significant(value, 4)] {
                assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
            }
        }
    }
}
