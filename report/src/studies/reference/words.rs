//! Sentences, names and figures of an analysis of published tables.

use literature::Resampled;
use literature::cabrera::loads::LoadCurve;
use literature::comparison::{BufferPair, Pair};
use literature::jacobson::BufferCurve;
use literature::sweep::SeriesResult;
use model::sorting::Order;

use crate::number::{self, NOTHING};

/// `±1.2%`, or `±?` without an interval.
pub fn plus_minus(figure: &Resampled) -> String {
    let reach = |[low, high]: [f64; 2]| (figure.value - low).max(high - figure.value) / figure.value.abs();
    match figure.residual_bootstrap.map(reach).filter(|share| share.is_finite()) {
        Some(share) => crate::interval::reach(share),
        None => "±?".to_owned(),
    }
}

/// `4.5 (3.4 to 5.5)`.
pub fn range(figure: &Resampled, write: fn(f64) -> String) -> String {
    let value = write(figure.value);
    figure.residual_bootstrap.map_or_else(|| value.clone(), |[low, high]| format!("{value} ({} to {})", write(low), write(high)))
}

/// Sentences that a series needs next to its table.
pub fn remarks(series: &SeriesResult) -> Vec<String> {
    let mut all = Vec::new();
    // One size makes no line, and says nothing of one.
    if let Some(reason) = series.no_line.as_ref().filter(|_| series.sizes.len() > 1) {
        all.push(format!("{}: no line. {}.", series.name, crate::words::capital(reason)));
    }
    for piece in series.cost.iter().flat_map(|cost| cost.pieces.iter().filter(|_| cost.pieces.len() > 1)) {
        let costs = format!("{} per message, {} per byte", number::time(piece.message_ns.value), number::time(piece.byte_ns.value));
        all.push(format!("{}: from {} to {} B {costs}.", series.name, number::whole(piece.from), number::whole(piece.to)));
    }
    for size in &series.off_line {
        all.push(format!(
            "{}: {} B lies off the line by {}, {} robust deviations.",
            series.name,
            number::whole(size.message_bytes),
            number::change(size.residual),
            number::significant(size.deviations, 2)
        ));
    }
    for step in &series.steps {
        let falls = if step.throughput_falls { "; throughput falls" } else { "" };
        all.push(format!(
            "{}: a step from {} to {} B, {} in time per message against the slope so far{falls}.",
            series.name,
            number::whole(step.after),
            number::whole(step.before),
            number::change(step.departure)
        ));
    }
    all
}

/// The largest size of a series' line, which steps may cut short.
pub fn line_to(series: &SeriesResult) -> String {
    let last = series.cost.as_ref().and_then(|cost| cost.pieces.last());
    last.map_or(NOTHING.to_owned(), |piece| number::whole(piece.to))
}

/// The power law of a series: `0.992 to 2,048 B`.
pub fn law(series: &SeriesResult) -> String {
    series.power_law.map_or(NOTHING.to_owned(), |law| format!("{} to {} B", number::significant(law.exponent, 3), number::whole(law.to)))
}

/// Knee and limit of a curve over socket buffers.
pub fn curve(curve: &BufferCurve) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(limit) = &curve.limit {
        all.push(format!(
            "The limit of the frames is {} KB/s: {} bytes in {} byte times and an acknowledgement of {}, at 10 Mb/s.",
            number::significant(limit.kbytes_per_s, 5),
            literature::jacobson::SEGMENT,
            number::whole(limit.segment_byte_times as u64),
            number::whole(limit.acknowledgement_byte_times as u64)
        ));
    }
    match &curve.knee {
        Some(knee) => all.push(format!(
            "Two straight lines meet at {} packets (residual bootstrap): {} KB/s a packet before, {} after.",
            range(&knee.at, |value| number::significant(value, 2)),
            number::significant(knee.before, 3),
            number::significant(knee.after, 3)
        )),
        None => all.push("It has no knee: too few buffers, or it does not flatten.".to_owned()),
    }
    all
}

/// The least and the most of a pair's ratios: `0.98 to 1.2 x`.
pub fn ratios(pair: &Pair) -> String {
    let least = pair.sizes.iter().map(|(_, ratio)| *ratio).fold(f64::INFINITY, f64::min);
    let most = pair.sizes.iter().map(|(_, ratio)| *ratio).fold(0.0, f64::max);
    match pair.sizes.len() {
        1 => times(Some(least)),
        _ => format!("{} to {}", number::significant(least, 3), times(Some(most))),
    }
}

/// A ratio: `1.20x`.
pub fn times(ratio: Option<f64>) -> String {
    ratio.map_or(NOTHING.to_owned(), |ratio| format!("{}x", number::significant(ratio, 3)))
}

/// Two curves over socket buffers.
pub fn buffers(pair: &BufferPair) -> String {
    let packets = |value: Option<f64>| value.map_or("none".to_owned(), |value| number::significant(value, 3));
    format!(
        "{} against {}: knee at {} and {} packets; nine tenths of its own best from {} and {} packets on.",
        pair.candidate,
        pair.reference,
        packets(pair.knees[0]),
        packets(pair.knees[1]),
        packets(pair.nine_tenths[0]),
        packets(pair.nine_tenths[1])
    )
}

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
    units.order_by(f64::total_cmp);
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
