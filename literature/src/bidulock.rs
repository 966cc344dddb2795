//! 2007, Bidulock: three implementations of UDP over loopback on five kernels.

use super::power;
use super::read::csv::SweepRow;
use super::statement::Statement;
use super::sweep::{Series, SeriesResult, SizePoint};
use stats::median;

/// The published tables.
pub const TABLES: &str = include_str!("../../reference/bidulock2007/udp_loopback.csv");

/// A percentage of the paper is confirmed when the median lies this near and differs by no
/// more than half: 5 points of 5 % would take in 0.
const POINTS: f64 = 5.0;

/// The percentages are judged by sizes below this: the paper reads them where
/// the curves are flat.
const BELOW: u64 = 1024;

/// Two slopes are the same when they differ by no more than this share.
const SAME_SLOPE: f64 = 0.05;

/// The paper's percentages: table, from, to.
const ABOVE: [(&str, f64, f64); 5] = [("1", 30.0, 30.0), ("2", 30.0, 40.0), ("3", 25.0, 30.0), ("4", 5.0, 5.0), ("6", 40.0, 40.0)];

const SOCKETS: &str = "sockets";
const STREAMS: &str = "streams-tpi";
const XTI: &str = "xti-over-sockets";

/// Rows as series, those of one table and one implementation together.
pub fn series(rows: &[SweepRow]) -> Vec<Series> {
    Series::from_points(rows.iter().map(|row| {
        let group = format!("table {}, {}, {}, {}", row.table, row.host, row.distribution, row.kernel);
        let (messages_per_s, sent) = (row.received / row.seconds, row.sent / row.seconds);
        (group, row.implementation.clone(), false, SizePoint { bytes: row.bytes, messages_per_s, sent_per_s: Some(sent) })
    }))
}

/// The three implementations of one table.
struct Trio<'a> {
    number: &'a str,
    about: &'a str,
    sockets: &'a SeriesResult,
    streams: &'a SeriesResult,
    xti: &'a SeriesResult,
}

impl<'a> Trio<'a> {
    fn of_table(number: &'a str, all: &'a [SeriesResult]) -> Option<Self> {
        let prefix = format!("table {number},");
        let one = |name: &str| all.iter().find(|series| series.group.starts_with(&prefix) && series.name == name);
        let sockets = one(SOCKETS)?;
        Some(Self { number, about: &sockets.group, sockets, streams: one(STREAMS)?, xti: one(XTI)? })
    }

    fn all(&self) -> [&'a SeriesResult; 3] {
        [self.sockets, self.streams, self.xti]
    }
}

/// The paper's statements on its tables, with their rulings.
pub fn statements(all: &[SeriesResult]) -> Vec<Statement> {
    let trios: Vec<(Trio, f64, f64)> =
        ABOVE.iter().filter_map(|(number, from, to)| Some((Trio::of_table(number, all)?, *from, *to))).collect();
    let mut statements: Vec<Statement> = trios.iter().filter_map(|(trio, from, to)| above(trio, *from, *to)).collect();
    statements.extend(trios.iter().filter_map(|(trio, ..)| twice(trio)));
    statements.extend(trios.iter().filter_map(|(trio, ..)| slopes(trio)));
    statements.extend(trios.iter().map(|(trio, ..)| line(trio)));
    statements.extend(trios.iter().map(|(trio, ..)| saturates(trio)));
    statements.extend(trios.iter().map(|(trio, ..)| drops(trio)));
    statements
}

/// STREAMS above sockets, in percent.
fn above(trio: &Trio, from: f64, to: f64) -> Option<Statement> {
    let small = trio.streams.sizes.iter().filter(|size| size.message_bytes < BELOW);
    let shares: Vec<f64> = small.filter_map(|size| size.improvement).map(|share| share * 100.0).collect();
    let middle = median::median(&shares)?;
    let (least, most) = (shares.iter().copied().fold(f64::INFINITY, f64::min), shares.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    let range = if from == to { format!("about {from} %") } else { format!("{from} to {to} %") };
    let distance = (from - middle).max(middle - to).max(0.0);
    let says = format!("STREAMS delivers {range} more messages than sockets");
    let found = format!("median of the sizes below {BELOW} B {middle:.1} %, from {least:.1} to {most:.1} %; {distance:.1} points away");
    let near = POINTS.min(from / 2.0);
    let rule = format!("the median over the sizes below {BELOW} B lies within {near} points of the percentage");
    let statement = Statement::decided(format!("above/{}", trio.number), trio.about, says, distance <= near);
    Some(statement.found(found, [middle, least, most, distance]).rule(rule))
}

/// ns per byte, by least squares and by the robust line of one piece.
fn slopes_of(series: &SeriesResult) -> Option<[f64; 2]> {
    let cost = series.cost.as_ref()?;
    let robust = if let [piece] = cost.pieces.as_slice() { piece.byte_ns.value } else { f64::NAN };
    Some([cost.least_squares.byte_ns, robust])
}

/// Two copies each way, so twice the slope.
fn twice(trio: &Trio) -> Option<Statement> {
    let ([xti, xti_robust], [sockets, sockets_robust]) = (slopes_of(trio.xti)?, slopes_of(trio.sockets)?);
    let (ratio, robust) = (xti / sockets, xti_robust / sockets_robust);
    let says = "XTI over sockets copies twice: its cost per byte is at least twice that of sockets";
    let found = format!("{xti:.3} ns against {sockets:.3} ns per byte: {ratio:.2} times (robust line: {robust:.2} times)");
    let rule = "the slope of the least-squares line through its delays is at least twice that of sockets";
    let statement = Statement::decided(format!("twice/{}", trio.number), trio.about, says, ratio >= 2.0);
    Some(statement.found(found, [ratio, robust, xti, sockets]).rule(rule))
}

/// The slopes of STREAMS and sockets: the same, but for table 6.
fn slopes(trio: &Trio) -> Option<Statement> {
    let ([streams, streams_robust], [sockets, sockets_robust]) = (slopes_of(trio.streams)?, slopes_of(trio.sockets)?);
    let (ratio, robust) = (streams / sockets, streams_robust / sockets_robust);
    let steeper = (ratio - 1.0) * 100.0;
    let how = if steeper.abs() < 0.5 {
        "as steep".to_owned()
    } else if steeper > 0.0 {
        format!("{steeper:.0} % steeper")
    } else {
        format!("{:.0} % flatter", -steeper)
    };
    let of_both = "of the least-squares lines through their delays";
    let percent = SAME_SLOPE * 100.0;
    let lower: (_, fn(f64) -> bool, _) = (
        "the cost per byte of sockets is lower than that of STREAMS",
        |ratio| ratio > 1.0 + SAME_SLOPE,
        format!("the slope {of_both} is lower for sockets by more than {percent:.0} %"),
    );
    let same: (_, fn(f64) -> bool, _) = (
        "STREAMS and sockets have the same cost per byte",
        |ratio| (ratio - 1.0).abs() <= SAME_SLOPE,
        format!("the slopes {of_both} differ by no more than {percent:.0} %"),
    );
    let (says, rule_holds, rule) = if trio.number == "6" { lower } else { same };
    let holds = rule_holds(ratio);
    let hangs = if robust.is_finite() && rule_holds(robust) != holds { ", by which it would be ruled otherwise" } else { "" };
    let found = format!(
        "STREAMS {streams:.3} ns, sockets {sockets:.3} ns per byte: STREAMS is {how} (robust line: {:+.0} %{hangs})",
        (robust - 1.0) * 100.0
    );
    let statement = Statement::decided(format!("slope/{}", trio.number), trio.about, says, holds);
    Some(statement.found(found, [ratio, robust, streams, sockets]).rule(rule))
}

/// The least share of the variance that a line explains.
const LINE: f64 = 0.99;

fn line(trio: &Trio) -> Statement {
    let explained: Vec<(&str, f64)> = trio
        .all()
        .iter()
        .map(|series| {
            let one = series.cost.as_ref().filter(|cost| cost.pieces.len() == 1 && series.off_line.is_empty());
            (series.name.as_str(), one.map_or(f64::NAN, |cost| cost.r_squared))
        })
        .collect();
    let word = |(name, r): &(&str, f64)| if r.is_nan() { format!("{name} none") } else { format!("{name} {:.3}", (r * 1e3).floor() / 1e3) };
    let mut found = format!("share explained: {}", explained.iter().map(word).collect::<Vec<_>>().join(", "));
    for series in trio.all() {
        for size in &series.off_line {
            found += &format!(
                "; {} at {} B lies {:+.0} % off its line, {:.1} robust deviations",
                series.name,
                size.message_bytes,
                size.residual * 100.0,
                size.deviations
            );
        }
    }
    let holds = explained.iter().all(|(_, r)| *r >= LINE);
    Statement::decided(format!("line/{}", trio.number), trio.about, "the delay is a line in the size for every implementation", holds)
        .found(found, explained.iter().map(|(_, r)| *r))
        .rule(format!("one robust line with no size off it explains at least {LINE} of the variance, for all three"))
}

fn saturates(trio: &Trio) -> Statement {
    let laws = trio.all().map(|series| (series.name.as_str(), series.power_law));
    let word = |(name, law): &(&str, Option<power::PowerLaw>)| match law {
        None => format!("{name}: none"),
        Some(law) => {
            let end = law.bends_at.map_or("to the end".to_owned(), |size| format!("bends at {size} B"));
            format!("{name}: size^{:.3} up to {} B, {end}", law.exponent, law.to)
        }
    };
    let holds = laws.iter().all(|(_, law)| law.is_some_and(|law| law.bends_at.is_some() && law.to >= 64));
    let says = "throughput follows a power law over the small sizes and bends towards saturation over the large ones";
    let values = laws.iter().map(|(_, law)| law.map_or(f64::NAN, |law| law.exponent));
    Statement::decided(format!("power/{}", trio.number), trio.about, says, holds)
        .found(laws.iter().map(word).collect::<Vec<_>>().join("; "), values)
        .rule(format!(
            "goodput lies within {:.0} % of a power law up to 64 B at least, and leaves it at some larger size, for all three",
            power::WITHIN * 100.0
        ))
}

/// The most that "seldom" can be.
const SELDOM: f64 = 0.01;

fn drops(trio: &Trio) -> Statement {
    let worst = |series: &SeriesResult| {
        let lost = series.sizes.iter().filter_map(|size| Some((1.0 - size.messages_per_s / size.sent_per_s?, size.message_bytes)));
        lost.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0))
    };
    let lost = trio.all().map(|series| (series.name.as_str(), worst(series)));
    let word = |(name, (share, size)): &(&str, (f64, u64))| match *share > 0.0 {
        true => format!("{name} {:.2} % at {size} B", share * 100.0),
        false => format!("{name} none"),
    };
    let holds = lost.iter().all(|(_, (share, _))| *share <= SELDOM);
    Statement::decided(format!("drops/{}", trio.number), trio.about, "loopback seldom drops", holds)
        .found(format!("most lost: {}", lost.iter().map(word).collect::<Vec<_>>().join(", ")), lost.iter().map(|(_, (share, _))| *share))
        .rule(format!("no implementation loses more than {:.0} % of its messages at any size", SELDOM * 100.0))
}

/// Contradictions in rows of this kind.
pub fn inconsistencies(rows: &[SweepRow]) -> Vec<String> {
    let more: Vec<&SweepRow> = rows.iter().filter(|row| row.received > row.sent).collect();
    if more.is_empty() {
        return Vec::new();
    }
    let by_one = more.iter().filter(|row| row.received - row.sent == 1.0).count();
    vec![format!(
        "{} of {} rows have more messages received than sent, {} of them by exactly one: the receiver counts one message that is none of the sender's",
        more.len(),
        rows.len(),
        if by_one == more.len() { "all".to_owned() } else { by_one.to_string() }
    )]
}
