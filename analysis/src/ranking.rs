//! Which way of sending to choose: the ways of a run, ranked for one message size and a
//! rate.
//!
//! Costs are those of [`crate::studies::ways`], measured with messages sent as fast as
//! they can be; what they come to at a rate is arithmetic.

use std::collections::BTreeMap;

use model::cell::default_read_size;
use model::plan::Level;
use model::sorting::Order;
use model::trial::Outcome;
use model::{Api, Bytes, Cell, Protocol, Receive, Test, TrialRecord};
use serde::Serialize;
use stats::estimate::{Estimate, Interval};

use crate::metric::Metric;
use crate::studies::Analysis;
use crate::studies::ways::{self, WaySeries};

/// The ways of one test, cheapest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranking {
    /// The test with its settings, in words.
    pub series: String,
    /// The test.
    pub test: Test,
    /// The message size; of a workload its mean.
    pub size: Bytes,
    /// The workload whose sizes the messages have, where they are not all of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The size of the requests whose round trips stand next to a workload's messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_size: Option<Bytes>,
    /// The ways that were measured.
    pub ways: Vec<Ranked>,
    /// The ways that were tried and not measured.
    pub refused: Vec<RefusedWay>,
    /// Ways that carry the test and were not tried.
    pub untried: Vec<Api>,
}

/// One way, measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// Its way of sending.
    pub api: Api,
    /// Its way of receiving, where that is not what goes with the api.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<Receive>,
    /// Messages of a call.
    pub batch: u32,
    /// CPU time a message of both ends together, in ns.
    pub cost_ns: Estimate,
    /// The same over that of plain `send`; `None` where that was not measured.
    pub of_send: Option<Estimate>,
    /// True where the cheapest is not shown to cost less.
    pub ties: bool,
    /// CPUs that both ends need at the rate; `None` without one.
    pub cpus: Option<Estimate>,
    /// CPUs saved against plain `send`.
    pub saved_cpus: Option<Estimate>,
    /// Messages a second that one flow brought to the receiver.
    pub carried_per_s: Option<f64>,
    /// Time that the first message of a full batch waits for the last at the rate, in ns.
    pub batch_fills_ns: Option<f64>,
    /// Median round trip of a request of this size that goes the same way, in ns.
    pub round_trip_ns: Option<Estimate>,
}

/// A way that was tried and not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedWay {
    /// Its way of sending.
    pub api: Api,
    /// Its way of receiving, where that is not what goes with the api.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<Receive>,
    /// The reason.
    pub reason: String,
}

impl Ranking {
    /// Returns whether any way is shown to cost more than the cheapest.
    pub fn tells_apart(&self) -> bool {
        self.ways.iter().skip(1).any(|way| !way.ties)
    }
}

/// Reasons for which trials failed, by cell: the first of each.
#[derive(Debug, Clone, Default)]
pub struct Failures(BTreeMap<Cell, String>);

impl Failures {
    /// Notes a trial.
    pub fn push(&mut self, record: &TrialRecord) {
        if let Outcome::Failed { error, .. } = &record.outcome {
            self.refuse(record.cell.clone(), error.clone());
        }
    }

    /// Notes a cell that was not tried, with the reason.
    pub fn refuse(&mut self, cell: Cell, reason: String) {
        self.0.entry(cell).or_insert(reason);
    }
}

/// Ranks the ways of each test of a run at the message size nearest to `size`, for `rate`
/// messages a second. The size of a test that is nearest by ratio is taken.
pub fn rank(analysis: &Analysis, failures: &Failures, size: Option<Bytes>, rate: Option<f64>) -> Vec<Ranking> {
    let all = analysis.ways().map_or(&[][..], |ways| &ways.series);
    let one_way = |series: &&WaySeries| members(analysis, series).next().is_some_and(|cell| cell.test.is_stream());
    all.iter().filter(one_way).filter_map(|series| ranking(analysis, failures, series, size, rate)).collect()
}

/// The cells of a series.
fn members<'a>(analysis: &'a Analysis, series: &'a WaySeries) -> impl Iterator<Item = &'a Cell> {
    let cells = analysis.cells.iter().map(|found| &found.cell);
    cells.filter(|cell| ways::series_of(cell) == series.series)
}

fn ranking(analysis: &Analysis, failures: &Failures, series: &WaySeries, size: Option<Bytes>, rate: Option<f64>) -> Option<Ranking> {
    let distance = |place: &usize| size.map_or(0.0, |size| (series.sizes[*place].get() as f64 / size.get() as f64).ln().abs());
    let place = (0..series.sizes.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let first = members(analysis, series).next()?;
    let (size, test, workload) = (series.sizes[place], first.test, first.mix.as_ref().map(|mix| mix.name.clone()));
    let cheapest = series.cheapest[place].as_ref()?;
    let is_send = |api: Api, receive: Option<Receive>| (api, receive) == (Api::Send, None);
    let base = series.ways.iter().find(|way| is_send(way.api, way.receive)).and_then(|way| way.cost_ns[place]);
    let mut ranked: Vec<Ranked> = Vec::new();
    for (number, way) in series.ways.iter().enumerate() {
        let Some(cost_ns) = way.cost_ns[place] else { continue };
        let this = |cell: &&Cell| (cell.api, cell.receive, cell.batch, cell.size) == (way.api, way.receive, way.batch, size);
        let cell = members(analysis, series).find(this);
        let of_send = base.and(way.of_base[place]);
        ranked.push(Ranked {
            api: way.api,
            receive: way.receive,
            batch: way.batch,
            cost_ns,
            of_send,
            ties: number == cheapest.way || cheapest.ties.contains(&number),
            cpus: rate.map(|rate| cost_ns.map(|ns| ns * (rate / 1e9))),
            saved_cpus: rate.zip(base).zip(of_send).map(|((rate, base), of_send)| saved(of_send, base.value * rate / 1e9)),
            carried_per_s: cell.and_then(|cell| figure(analysis, cell, Metric::TimePerMessageNs)).map(|found| 1e9 / found.value),
            batch_fills_ns: rate.filter(|_| way.batch > 1).map(|rate| f64::from(way.batch - 1) / rate * 1e9),
            round_trip_ns: cell.and_then(|cell| round_trip(analysis, cell)),
        });
    }
    ranked.order_by(|a, b| a.cost_ns.value.total_cmp(&b.cost_ns.value));
    let measured = |cell: &Cell| ranked.iter().any(|way| (way.api, way.receive) == (cell.api, cell.receive));
    let of_series = |cell: &Cell| cell.size == size && ways::series_of(cell) == series.series;
    let refused = failures.0.iter().filter(|(cell, _)| of_series(cell) && !measured(cell));
    let refused: Vec<RefusedWay> =
        refused.map(|(cell, reason)| RefusedWay { api: cell.api, receive: cell.receive, reason: reason.clone() }).collect();
    let tried = |api: &Api| ranked.iter().any(|way| way.api == *api) || refused.iter().any(|way| way.api == *api);
    let untried = Api::ALL.iter().copied().filter(|api| api.carries(test) && !api.over().is_local() && !tried(api)).collect();
    let request_size = requests(analysis, first).filter(|_| workload.is_some()).map(|request| request.size);
    Some(Ranking { series: series.series.clone(), test, size, workload, request_size, ways: ranked, refused, untried })
}

fn figure(analysis: &Analysis, cell: &Cell, metric: Metric) -> Option<Estimate> {
    analysis.cells.iter().find(|found| found.cell == *cell)?.metrics.get(&metric).copied()
}

/// The median round trip of the request/response cell that is like a stream's otherwise.
fn round_trip(analysis: &Analysis, stream: &Cell) -> Option<Estimate> {
    figure(analysis, &requests(analysis, stream)?, Metric::RoundTripP50Ns)
}

/// That cell. Requests have one size: next to a workload those stand that go the same way.
fn requests(analysis: &Analysis, stream: &Cell) -> Option<Cell> {
    let test = match stream.protocol() {
        Protocol::Tcp => Test::TcpRr,
        Protocol::Udp => Test::UdpRr,
    };
    let of_size =
        |size: Bytes| Cell { mix: None, size, read_size: default_read_size(test, size), ..stream.clone() }.with(&[Level::Test(test)]).ok();
    match stream.mix {
        None => stream.with(&[Level::Test(test)]).ok(),
        Some(_) => {
            let sizes = analysis.cells.iter().map(|found| &found.cell).filter(|cell| cell.test == test).map(|cell| cell.size);
            let mut sizes: Vec<Bytes> = sizes.collect();
            sizes.dedup();
            // Of several none is the workload's.
            <[Bytes; 1]>::try_from(sizes).ok().and_then(|[size]| of_size(size))
        }
    }
}

/// The part of `all` that is saved, where a share is left.
fn saved(left: Estimate, all: f64) -> Estimate {
    let turned = left.map(|share| (1.0 - share) * all);
    Estimate { interval: turned.interval.map(|interval| Interval { low: interval.high, high: interval.low, ..interval }), ..turned }
}
