//! What an analysis of tables says, in words that text and page share.

use literature::beside::{BufferPair, Pair};
use literature::jacobson::BufferCurve;
use literature::sweep::SeriesResult;
use literature::{ReferenceAnalysis, Resampled, Ruling};

use crate::number::{self, NOTHING};

/// How many statements were ruled how: `25 borne out, 5 not borne out`.
pub fn tally(analysis: &ReferenceAnalysis) -> String {
    let count = |ruling: Ruling| analysis.statements.iter().filter(|statement| statement.ruling == ruling).count();
    let all = [Ruling::BorneOut, Ruling::NotBorneOut, Ruling::NotDecidable].map(|ruling| (count(ruling), ruling.words()));
    let known = all.iter().filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}"));
    known.collect::<Vec<_>>().join(", ")
}

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

/// What is to be known of a series besides its table.
pub fn remarks(series: &SeriesResult) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(reason) = &series.no_line {
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

/// Where the line of a series ends, when steps cut it short.
pub fn line_to(series: &SeriesResult) -> String {
    let last = series.cost.as_ref().and_then(|cost| cost.pieces.last());
    last.map_or(NOTHING.to_owned(), |piece| number::whole(piece.to))
}

/// The power law of a series: `0.992 to 2,048 B`.
pub fn law(series: &SeriesResult) -> String {
    series.power_law.map_or(NOTHING.to_owned(), |law| format!("{} to {} B", number::significant(law.exponent, 3), number::whole(law.to)))
}

/// Where throughput tends to, and from which size on half of it is reached.
pub fn saturation(series: &SeriesResult) -> [String; 2] {
    series
        .saturation
        .map_or([NOTHING.to_owned(), NOTHING.to_owned()], |end| [number::bits(end.limit_bit_per_s), number::bytes(end.half_bytes)])
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
