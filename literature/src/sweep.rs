//! Messages per second over message sizes, from wherever they come: the four
//! charts of the 2007 paper, and what a message and a byte cost.

use std::collections::BTreeMap;

use serde::Serialize;

use super::cost::{self, Cost, OffLine};
use super::power::{self, PowerLaw, Saturation};
use super::steps::{self, Step};
use stats::cost::design::Point;
use stats::cost::{LEAST_NOISE, Threshold};
use stats::median;

/// One size of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizePoint {
    /// Bytes of a message; at least 1.
    pub bytes: u64,
    /// Messages received per second; above 0.
    pub messages_per_s: f64,
    /// Messages sent per second, if that was counted.
    pub sent_per_s: Option<f64>,
}

/// A series: one implementation on one machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The group within which figures are compared: a machine with its kernel.
    pub group: String,
    /// The implementation, or whatever else was measured there.
    pub name: String,
    /// The implementation by its name in the study of 2007, where that is not its name.
    pub implementation: Option<String>,
    /// Known to be of TCP.
    pub tcp: bool,
    /// Its messages are transactions, which compare with no stream.
    pub transactions: bool,
    /// The link that it crossed, of a run with ends where they usually are.
    pub link: Option<String>,
    /// Its sizes, in any order; of a size that occurs often the median counts.
    pub points: Vec<SizePoint>,
}

impl Series {
    /// Joins points of one group and name, in the order in which these first come up.
    pub fn from_points(points: impl IntoIterator<Item = (String, String, bool, SizePoint)>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for (group, name, tcp, point) in points {
            match all.iter_mut().find(|series| series.group == group && series.name == name) {
                Some(series) => series.points.push(point),
                None => all.push(Self { group, name, implementation: None, tcp, transactions: false, link: None, points: vec![point] }),
            }
        }
        all
    }
}

/// One size of a series, with what follows from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeResult {
    /// Bytes of a message.
    pub message_bytes: u64,
    /// Messages received per second.
    pub messages_per_s: f64,
    /// Messages sent per second, if that was counted.
    pub sent_per_s: Option<f64>,
    /// The paper's delay: 1e9 / messages per second.
    pub time_per_message_ns: f64,
    /// Payload received, in bit/s.
    pub goodput_bit_per_s: f64,
    /// Messages per second over those of the group's baseline, less 1.
    pub improvement: Option<f64>,
    /// Time per message by the cost model, if there is one.
    pub fitted_ns: Option<f64>,
    /// (time - fitted) / fitted.
    pub residual: Option<f64>,
    /// Measurements behind it.
    pub n: usize,
}

/// The analysis of a series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesResult {
    /// The machine with its kernel.
    pub group: String,
    /// The implementation.
    pub name: String,
    /// The implementation by its name in the study of 2007, where that is not its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implementation: Option<String>,
    /// Known to be of TCP.
    #[serde(skip)]
    pub tcp: bool,
    /// Its messages are transactions.
    #[serde(skip)]
    pub transactions: bool,
    /// The link that it crossed, of a run with ends where they usually are.
    #[serde(skip)]
    pub link: Option<String>,
    /// The series of the group that its improvement is over; itself has none.
    pub baseline: Option<String>,
    /// By rising size.
    pub sizes: Vec<SizeResult>,
    /// Costs of a message and a byte, up to the first step; `None` where no line holds.
    pub cost: Option<Cost>,
    /// The reason why there is no cost.
    pub no_line: Option<String>,
    /// The sizes that lie off its line.
    pub off_line: Vec<OffLine>,
    /// Sizes at which the cost jumps against the slope so far.
    pub steps: Vec<Step>,
    /// The power law that the smallest sizes follow.
    pub power_law: Option<PowerLaw>,
    /// The limit of throughput; `None` where the cost has steps.
    pub saturation: Option<Saturation>,
}

/// Name of the series that others of its group are compared with.
const BASELINE: &str = "sockets";

/// Analyses series, in their order. `draws` is how often residuals are drawn
/// for intervals; 0 gives none.
pub fn analyse(series: &[Series], draws: usize) -> Vec<SeriesResult> {
    let merged: Vec<(&Series, Vec<Merged>)> = series.iter().map(|series| (series, merge(series))).collect();
    merged.iter().map(|(series, points)| one(series, points, baseline(series, &merged), draws)).collect()
}

/// All measurements of one size as one.
#[derive(Debug, Clone, Copy)]
struct Merged {
    point: SizePoint,
    n: usize,
}

fn merge(series: &Series) -> Vec<Merged> {
    let mut sizes: BTreeMap<u64, Vec<SizePoint>> = BTreeMap::new();
    series.points.iter().for_each(|point| sizes.entry(point.bytes).or_default().push(*point));
    let one = |(bytes, points): (u64, Vec<SizePoint>)| {
        let rates: Vec<f64> = points.iter().map(|point| point.messages_per_s).collect();
        let sent: Vec<f64> = points.iter().filter_map(|point| point.sent_per_s).collect();
        let messages_per_s = median::median(&rates).filter(|rate| *rate > 0.0)?;
        Some(Merged { point: SizePoint { bytes, messages_per_s, sent_per_s: median::median(&sent) }, n: points.len() })
    };
    sizes.into_iter().filter_map(one).collect()
}

/// The series that this one is compared with: its group's sockets, else the
/// group's first; not itself.
fn baseline<'a>(of: &Series, all: &'a [(&Series, Vec<Merged>)]) -> Option<(&'a str, &'a [Merged])> {
    let mut group = all.iter().filter(|(series, _)| series.group == of.group);
    let first = group.clone().next();
    let is_base = |series: &Series| series.implementation.as_ref().unwrap_or(&series.name) == BASELINE;
    let (series, points) = group.find(|(series, _)| is_base(series)).or(first)?;
    (series.name != of.name).then_some((series.name.as_str(), points.as_slice()))
}

fn one(series: &Series, points: &[Merged], baseline: Option<(&str, &[Merged])>, draws: usize) -> SeriesResult {
    let times: Vec<Point> = points
        .iter()
        .map(|merged| Point { size: merged.point.bytes as f64, time: 1e9 / merged.point.messages_per_s, frames: None, wakeups: None })
        .collect();
    let steps = steps::find(&times, LEAST_NOISE);
    // A line across a step would say nothing of either side.
    let until = steps.first().and_then(|step| points.iter().position(|merged| merged.point.bytes == step.before));
    let times = &times[..until.unwrap_or(times.len())];
    let cost = cost::fit(times, &known(times), draws);
    let sizes: Vec<SizeResult> =
        points.iter().enumerate().map(|(place, merged)| size(place, merged, baseline, cost.as_ref().ok())).collect();
    let goodputs: Vec<(u64, f64)> = sizes.iter().map(|size| (size.message_bytes, size.goodput_bit_per_s)).collect();
    let largest = goodputs.last().map_or(0.0, |last| last.1);
    let last = cost.as_ref().ok().filter(|_| steps.is_empty()).and_then(|cost| cost.pieces.last());
    SeriesResult {
        group: series.group.clone(),
        name: series.name.clone(),
        implementation: series.implementation.clone(),
        tcp: series.tcp,
        transactions: series.transactions,
        link: series.link.clone(),
        baseline: baseline.map(|(name, _)| name.to_owned()),
        off_line: cost.as_ref().map_or_else(|_| Vec::new(), |cost| cost.off_line(times)),
        steps,
        power_law: power::law(&goodputs),
        saturation: last.and_then(|piece| Saturation::of_line(piece.message_ns.value, piece.byte_ns.value, largest)),
        no_line: cost.as_ref().err().cloned(),
        cost: cost.ok(),
        sizes,
    }
}

fn size(place: usize, merged: &Merged, baseline: Option<(&str, &[Merged])>, cost: Option<&Cost>) -> SizeResult {
    let SizePoint { bytes, messages_per_s, sent_per_s } = merged.point;
    let time_per_message_ns = 1e9 / messages_per_s;
    let against = baseline.and_then(|(_, points)| points.iter().find(|other| other.point.bytes == bytes));
    let fitted_ns = cost.and_then(|cost| cost.fitted.get(place).copied());
    SizeResult {
        message_bytes: bytes,
        messages_per_s,
        sent_per_s,
        time_per_message_ns,
        goodput_bit_per_s: messages_per_s * bytes as f64 * 8.0,
        improvement: against.map(|other| messages_per_s / other.point.messages_per_s - 1.0),
        fitted_ns,
        residual: fitted_ns.map(|fitted| time_per_message_ns / fitted - 1.0),
        n: merged.n,
    }
}

/// Before which sizes a stack is known to change its ways, whatever the link:
/// at the page and at the GSO limit, as the cost model names them.
fn known(points: &[Point]) -> Vec<bool> {
    let known = |pair: &[Point]| Threshold::between(pair[0].size as u64, pair[1].size as u64, &Threshold::FIXED).is_some();
    std::iter::once(false).chain(points.windows(2).map(known)).take(points.len()).collect()
}

impl SeriesResult {
    /// The implementation by its name in the study of 2007.
    pub fn implementation(&self) -> &str {
        self.implementation.as_ref().unwrap_or(&self.name)
    }

    /// The result at a size, if that was measured.
    pub fn at(&self, bytes: u64) -> Option<&SizeResult> {
        self.sizes.iter().find(|size| size.message_bytes == bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::{Series, SizePoint, analyse};
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

    fn series(name: &str, points: &[(u64, f64)]) -> Series {
        let point = |(bytes, rate): &(u64, f64)| SizePoint { bytes: *bytes, messages_per_s: *rate, sent_per_s: None };
        Series {
            group: "g".into(),
            name: name.into(),
            implementation: None,
            tcp: false,
            transactions: false,
            link: None,
            points: points.iter().map(point).collect(),
        }
    }

    fn line(message: f64, byte: f64) -> Vec<(u64, f64)> {
        (0..15).map(|power| 1_u64 << power).map(|size| (size, 1e9 / (message + byte * size as f64))).collect()
    }

    #[test]
    fn a_line_gives_its_costs_and_its_improvement() {
        let all = analyse(&[series("other", &line(500.0, 0.2)), series("sockets", &line(1000.0, 0.4))], 200);
        let cost = all[0].cost.as_ref().unwrap();
        assert!((cost.pieces[0].message_ns.value - 500.0).abs() < 1e-3 && (cost.pieces[0].byte_ns.value - 0.2).abs() < 1e-6, "{cost:?}");
        assert!(all[0].sizes.iter().all(|size| (size.improvement.unwrap() - 1.0).abs() < 1e-9));
        assert_eq!((all[0].baseline.as_deref(), all[1].baseline.as_deref()), (Some("sockets"), None));
        assert!((all[1].saturation.unwrap().half_bytes - 2500.0).abs() < 0.1);
    }

    #[test]
    fn of_several_measurements_of_a_size_the_median_counts() {
        let all = analyse(&[series("a", &[(64, 10.0), (1, 30.0), (64, 12.0), (64, 500.0)])], 0);
        let sizes: Vec<(u64, f64, usize)> = all[0].sizes.iter().map(|size| (size.message_bytes, size.messages_per_s, size.n)).collect();
        assert_eq!(sizes, [(1, 30.0, 1), (64, 12.0, 3)]);
        assert!(all[0].cost.is_none() && all[0].no_line.as_ref().unwrap().contains("2 sizes"), "{:?}", all[0].no_line);
    }

    proptest! {
        #[test]
        fn any_series_is_analysed(points in prop::collection::vec((1u64..1 << 40, 1e-6..1e12f64), 0..14)) {
            let shown = analyse(&[series("a", &points)], 0);
            prop_assert!(shown[0].sizes.is_sorted_by_key(|size| size.message_bytes));
            let held: usize = shown[0].sizes.iter().map(|size| size.n).sum();
            prop_assert_eq!(held, points.len());
        }
    }
}
