//! What text and page need besides words.

use literature::cabrera::loads::LoadCurve;

use crate::number;

/// A whole number as it is, another one rounded.
pub fn plain(value: f64, figures: usize) -> String {
    if value.fract() == 0.0 && (0.0..1e15).contains(&value) { number::whole(value as u64) } else { number::significant(value, figures) }
}

/// The text, or its start.
pub fn short(text: &str, letters: usize) -> String {
    let clean = clean(text);
    if clean.chars().count() <= letters {
        return clean;
    }
    let start: String = clean.chars().take(letters - 1).collect();
    format!("{}…", start.trim_end())
}

/// The text, or its start and its end: names of series often differ there.
pub fn ends(text: &str, letters: usize) -> String {
    let clean = clean(text);
    let count = clean.chars().count();
    if count <= letters {
        return clean;
    }
    let (first, last) = ((letters - 1) / 2, letters / 2);
    let start: String = clean.chars().take(first).collect();
    let end: String = clean.chars().skip(count - last).collect();
    format!("{start}…{end}")
}

/// Foreign names must not steer a terminal.
fn clean(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// Every load of any of these curves, rising, each once.
pub fn units(curves: &[LoadCurve]) -> Vec<f64> {
    let mut units: Vec<f64> = curves.iter().flat_map(|curve| &curve.points).map(|point| point[0]).collect();
    units.sort_by(f64::total_cmp);
    units.dedup();
    units.truncate(12);
    units
}

#[cfg(test)]
mod tests {
    use super::{ends, plain, short};

    #[test]
    fn long_names_are_cut_and_control_characters_go() {
        assert_eq!(short("sockets", 16), "sockets");
        assert_eq!(short("xti over sockets, twice", 12), "xti over so…");
        assert_eq!(short("a\u{1b}[2J", 16), "a [2J");
        assert_eq!(ends("TCP_STREAM (nodelay, sndbuf=8K)", 16), "TCP_STR…dbuf=8K)");
        assert_eq!(ends("xti-over-sockets", 16), "xti-over-sockets");
    }

    #[test]
    fn whole_numbers_stay_whole() {
        assert_eq!([plain(12.0, 3), plain(5.6123, 3), plain(1001.0, 3)], ["12", "5.61", "1,001"]);
    }
}
