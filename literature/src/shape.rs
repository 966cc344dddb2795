//! The shape of implementations: each next to the sockets of its own machine, by what a message and a
//! byte cost and where the two cross. Shapes of different machines compare where times do not.

use serde::Serialize;

use super::sweep::SeriesResult;

/// The implementations of 2007, by their names in its tables.
pub const SOCKETS: &str = "sockets";
/// A provider above sockets.
pub const XTI: &str = "xti-over-sockets";
/// A stack of its own.
pub const STREAMS: &str = "streams-tpi";

/// Two costs are the same when they differ by no more than this share.
pub const SAME: f64 = 0.05;

/// An implementation next to the sockets of its machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shape {
    /// The machine, or the run.
    pub group: String,
    /// The implementation, by its name of 2007.
    pub implementation: String,
    /// Cost of a message over that of sockets: intercepts of the lines of least squares.
    pub message: Option<f64>,
    /// Cost of a byte over that of sockets: slopes of the same.
    pub byte: Option<f64>,
    /// Sizes in bytes at which the faster of the two changes: between sizes that were measured and at which they
    /// differ by more than [`SAME`], in opposite directions.
    pub crosses: Vec<f64>,
    /// The side of each size that both have, by rising size.
    #[serde(skip)]
    pub sides: Vec<Side>,
    /// Time of a message over that of sockets, at the smallest and at the largest size of both.
    pub ends: [f64; 2],
}

/// What a shape is like by one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Lower than sockets by more than [`SAME`].
    Lower,
    /// Within it.
    Same,
    /// Higher.
    Higher,
}

impl Side {
    /// The side of a ratio over sockets.
    pub fn of(ratio: f64) -> Self {
        match ratio {
            ratio if ratio < 1.0 - SAME => Self::Lower,
            ratio if ratio > 1.0 + SAME => Self::Higher,
            _ => Self::Same,
        }
    }

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Same => "the same",
            Self::Higher => "higher",
        }
    }
}

/// A question that is asked of a shape, and its answers then and now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Likeness {
    /// The run.
    pub group: String,
    /// The implementation.
    pub implementation: String,
    /// What is compared with sockets: the cost of a message, or of a byte.
    pub what: &'static str,
    /// The ratio over sockets today.
    pub today: f64,
    /// The least and the most of the published ones.
    pub published: [f64; 2],
    /// On how many published machines it is on the same side of sockets.
    pub alike: usize,
    /// Published machines.
    pub machines: usize,
}

/// The shapes of all series that are an implementation of 2007 with sockets next to it.
pub fn shapes(all: &[SeriesResult]) -> Vec<Shape> {
    let sockets = |of: &SeriesResult| all.iter().find(|other| other.group == of.group && other.implementation() == SOCKETS);
    let known = all.iter().filter(|series| [XTI, STREAMS].contains(&series.implementation()));
    known.filter_map(|series| shape(series, sockets(series)?)).collect()
}

fn shape(series: &SeriesResult, sockets: &SeriesResult) -> Option<Shape> {
    let both: Vec<(u64, f64)> = series
        .sizes
        .iter()
        .filter_map(|size| Some((size.message_bytes, size.time_per_message_ns / sockets.at(size.message_bytes)?.time_per_message_ns)))
        .collect();
    let (first, last) = (both.first()?, both.last()?);
    let line = |series: &SeriesResult| series.cost.as_ref().map(|cost| cost.least_squares);
    let lines = line(series).zip(line(sockets));
    let over = |ours: f64, theirs: f64| (ours > 0.0 && theirs > 0.0).then(|| ours / theirs);
    Some(Shape {
        group: series.group.clone(),
        implementation: series.implementation().to_owned(),
        message: lines.and_then(|(ours, theirs)| over(ours.message_ns, theirs.message_ns)),
        byte: lines.and_then(|(ours, theirs)| over(ours.byte_ns, theirs.byte_ns)),
        crosses: crossings(&both),
        sides: both.iter().map(|(_, ratio)| Side::of(*ratio)).collect(),
        ends: [first.1, last.1],
    })
}

/// Where the ratios of sizes pass 1 and leave [`SAME`] on both sides: within it the two are
/// the same, and pass each other by chance.
fn crossings(ratios: &[(u64, f64)]) -> Vec<f64> {
    let apart: Vec<(u64, f64)> = ratios.iter().copied().filter(|(_, ratio)| Side::of(*ratio) != Side::Same).collect();
    apart.windows(2).filter_map(|pair| crossing(pair[0], pair[1])).collect()
}

/// Where the ratio of two sizes passes 1, on the line over the logarithms of both.
fn crossing((from, low): (u64, f64), (to, high): (u64, f64)) -> Option<f64> {
    let (low, high) = (low.ln(), high.ln());
    let (from, to) = ((from as f64).ln(), (to as f64).ln());
    (low * high < 0.0).then(|| (from + (to - from) * low / (low - high)).exp())
}

/// What is asked of a shape, and its answer as a ratio over sockets.
type Question = (&'static str, fn(&Shape) -> Option<f64>);

/// What each shape of a run has in common with the published ones.
pub fn likeness(published: &[Shape], today: &[Shape]) -> Vec<Likeness> {
    let questions: [Question; 2] = [("the cost of a message", |shape| shape.message), ("the cost of a byte", |shape| shape.byte)];
    let asked = today.iter().flat_map(|shape| questions.map(|question| (shape, question)));
    asked.filter_map(|(shape, (what, of))| one(published, shape, what, of)).collect()
}

fn one(published: &[Shape], today: &Shape, what: &'static str, of: fn(&Shape) -> Option<f64>) -> Option<Likeness> {
    let same = published.iter().filter(|shape| shape.implementation == today.implementation);
    let then: Vec<f64> = same.filter_map(of).collect();
    let now = of(today)?;
    Some(Likeness {
        group: today.group.clone(),
        implementation: today.implementation.clone(),
        what,
        today: now,
        published: [then.iter().copied().reduce(f64::min)?, then.iter().copied().reduce(f64::max)?],
        alike: then.iter().filter(|ratio| Side::of(**ratio) == Side::of(now)).count(),
        machines: then.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::sweep::{Series, SizePoint, analyse};
    use super::{SOCKETS, STREAMS, Side, XTI, likeness, shapes};

    fn series(implementation: &str, message: f64, byte: f64) -> Series {
        let sizes = (0..15).map(|power| 1_u64 << power);
        let point = |bytes: u64| SizePoint { bytes, messages_per_s: 1e9 / (message + byte * bytes as f64), sent_per_s: None };
        Series {
            group: "run".into(),
            name: format!("UDP_STREAM {implementation}"),
            implementation: Some(implementation.to_owned()),
            tcp: false,
            transactions: false,
            link: None,
            points: sizes.map(point).collect(),
        }
    }

    #[test]
    fn the_published_tables_have_the_shapes_of_the_paper() {
        let published = super::super::analyse(super::super::Study::Bidulock2007, 0).unwrap().shapes;
        assert_eq!(published.len(), 10, "two implementations on five machines");
        for shape in &published {
            let (message, byte) = (shape.message.unwrap(), shape.byte.unwrap());
            match shape.implementation.as_str() {
                // Twice the copies: the slope, and little else.
                XTI => assert!(byte > 1.8 && (0.9..1.5).contains(&message), "{shape:?}"),
                _ => assert!(message < 1.0 && shape.ends[0] < 1.0, "{shape:?}"),
            }
        }
    }

    #[test]
    fn what_is_the_same_does_not_cross() {
        let of = |ratios: &[f64]| {
            let sizes: Vec<(u64, f64)> = ratios.iter().enumerate().map(|(place, ratio)| (1 << place, *ratio)).collect();
            super::crossings(&sizes).len()
        };
        // To and fro within 5 %.
        assert_eq!(of(&[1.04, 0.97, 1.03, 0.96]), 0);
        // One size is just outside, the other just within.
        assert_eq!([of(&[0.949, 1.05]), of(&[0.949, 1.051]), of(&[0.95, 1.051])], [0, 1, 0]);
        // Between two sizes that differ, over those that do not.
        assert_eq!(of(&[0.5, 1.02, 0.99, 1.5]), 1);
    }

    #[test]
    fn a_run_is_like_the_tables_or_not() {
        let run = [series(SOCKETS, 1_000.0, 0.1), series(XTI, 1_200.0, 0.3), series(STREAMS, 400.0, 0.4)];
        let today = shapes(&analyse(&run, 0));
        assert_eq!(today.len(), 2);
        let [crosses] = today[1].crosses[..] else { panic!("{today:?}") };
        assert!((crosses / 2_000.0 - 1.0).abs() < 0.1, "{crosses}");
        let published = super::super::analyse(super::super::Study::Bidulock2007, 0).unwrap().shapes;
        let found = likeness(&published, &today);
        let sides: Vec<(&str, Side, bool)> =
            found.iter().map(|one| (one.what, Side::of(one.today), one.alike * 2 > one.machines)).collect();
        assert_eq!(sides[1], ("the cost of a byte", Side::Higher, true), "the provider's second copy: {found:?}");
        assert_eq!(sides[2], ("the cost of a message", Side::Lower, true), "{found:?}");
        assert_eq!(found.iter().map(|one| one.machines).collect::<Vec<_>>(), [5; 4]);
    }
}
