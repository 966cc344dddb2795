//! What runs measured, as curves that the claims of the papers are ruled by.

use literature::claims::evidence::{Curve, Figure};
use literature::{Study, shape};
use model::cell::Factor;
use model::condition::Placement;

use super::{add, experiments, figure, implementation, inverse, link, one_link, protocol};
use crate::Analysis;
use crate::cells::CellResult;
use crate::metric::Metric;
use crate::studies::levels::{Level, LevelMetric, SeriesLevels};

/// Curves of a run, each with the paper whose claims it can rule on: shares that loads leave (1984); time
/// and rate of streams by size, and implementations over sockets, of a run that repeats a paper; what tables
/// cannot decide; the time of both ends by kind of work (1993), by direction and layer (1997), where receipts are.
pub fn evidence(analysis: &Analysis) -> Vec<(Study, Curve)> {
    let mut all = Vec::new();
    let mut of = |study: Study, curves: Vec<Curve>| all.extend(curves.into_iter().map(|curve| (study, curve)));
    let levels = analysis.levels().into_iter().flat_map(|levels| &levels.factors);
    let loaded = levels.filter(|levels| matches!(levels.factor, Factor::Load | Factor::LinkLoad));
    let curves = loaded.flat_map(|levels| levels.series.iter().flat_map(|series| loads(levels.factor, series)));
    of(Study::Cabrera1984, curves.collect());
    match analysis.published().and_then(|published| Study::named(&published.name)) {
        Some(Study::Jacobson1988) => of(Study::Jacobson1988, experiments::transfers(analysis)),
        Some(study) => {
            let mut curves = streams(analysis);
            curves.extend(implementations(&curves));
            curves.extend(experiments::lines(&curves));
            curves.extend(experiments::transactions(analysis));
            of(study, curves);
        }
        None => all.extend(experiments::curves(analysis)),
    }
    all.extend(super::ends::curves(analysis));
    all
}

/// Streams by size, a curve a series and link. Ends that are placed on CPUs are compared among themselves alone.
fn streams(analysis: &Analysis) -> Vec<Curve> {
    let mut curves = Vec::new();
    for cell in analysis.cells.iter().filter(|cell| cell.cell.test.is_stream()) {
        let Some(rate) = cell.metrics.get(&Metric::MessagesPerS).filter(|rate| rate.value > 0.0) else { continue };
        let (link, placement) = (link(analysis, &cell.cell), cell.cell.conditions.placement);
        let (name, group) = (cell.cell.series().to_string(), format!("{} {link} {placement}", analysis.run.id));
        let implementation = implementation(&cell.cell).unwrap_or_default();
        let labels = [protocol(cell.cell.test), implementation.as_str(), link.as_str(), placement.name(), one_link(&cell.cell)];
        let bytes = cell.cell.size.get() as f64;
        let rate = figure(rate);
        let mut one = |quantity, figure| add(&mut curves, quantity, &name, &group, &labels, (bytes, figure));
        if placement != Placement::Usual {
            one(PLACED, rate);
            continue;
        }
        one("messages-per-s", rate);
        one("time", inverse(rate, 1e3));
        one("rate", Figure::within(rate.value * bytes * 8.0, [rate.low * bytes * 8.0, rate.high * bytes * 8.0]));
        lost(cell).into_iter().for_each(|lost| one("lost", lost));
        cell.metrics.get(&Metric::ReceiverWakeupsPerMessage).into_iter().for_each(|wakeups| one("wakeups", figure(wakeups)));
    }
    curves
}

/// Rates of ends that are placed on CPUs, and the ratios of implementations between such.
const PLACED: &str = "placed";
const PLACED_RATIO: &str = "placed-ratio";

fn lost(cell: &CellResult) -> Option<Figure> {
    cell.metrics.get(&Metric::LossShare).map(figure)
}

/// Rates of the implementations of 2007 over those of sockets of the same link and CPUs.
fn implementations(curves: &[Curve]) -> Vec<Curve> {
    let is = |curve: &Curve, name: &str| curve.labels.iter().any(|label| label == name);
    let ratios = |(rate, quantity): (&'static str, &'static str)| {
        let rates = || curves.iter().filter(move |curve| curve.quantity == rate);
        let others = rates().filter(|curve| is(curve, shape::XTI) || is(curve, shape::STREAMS));
        let over = |curve: &Curve| {
            let sockets = rates().find(|other| other.group == curve.group && is(other, shape::SOCKETS))?;
            let ratio = |(at, figure): &(f64, Figure)| {
                let base = sockets.points.iter().find(|point| point.0 == *at)?.1;
                Some((*at, Figure::within(figure.value / base.value, [figure.low / base.high, figure.high / base.low])))
            };
            Some(Curve { quantity, points: curve.points.iter().filter_map(ratio).collect(), ..curve.clone() })
        };
        others.filter_map(over).collect::<Vec<_>>()
    };
    [("messages-per-s", "ratio"), (PLACED, PLACED_RATIO)].into_iter().flat_map(ratios).collect()
}

/// The end that a level loads, and with how many units.
fn units(factor: Factor, level: &Level) -> Option<(&str, f64)> {
    if factor == Factor::LinkLoad {
        // Units of 1984 are pairs of a given rate; without a rate they send all that they can.
        return Some(("ether", level.name.split_once('x')?.0.parse().ok()?));
    }
    let (end, units) = level.name.split_once(':')?;
    Some((end, units.parse().ok()?))
}

/// Shares of the unloaded figures that each level leaves, by units, a curve a size.
pub fn loads(factor: Factor, series: &SeriesLevels) -> Vec<Curve> {
    let mut curves = Vec::new();
    // Of round trips the rate alone: their other figures are of streams.
    let left = if series.test.is_stream() { "left" } else { "trips-left" };
    for level in &series.levels {
        let Some((end, units)) = units(factor, level) else { continue };
        for (place, size) in series.sizes.iter().enumerate() {
            let (name, group) = (format!("{} {size}", series.series), format!("{} {size} B", series.series));
            let bytes = size.get().to_string();
            let labels = [end, protocol(series.test), bytes.as_str()];
            let of = |compared: LevelMetric| level.figures.get(&compared).and_then(|figure| figure.by_size.get(place));
            let mut one = |quantity, figure| add(&mut curves, quantity, &format!("{name}, {end} loaded"), &group, &labels, (units, figure));
            of(LevelMetric::Throughput).and_then(|one| one.against_base).iter().for_each(|share| one(left, figure(share)));
            if !series.test.is_stream() {
                continue;
            }
            of(LevelMetric::Throughput).and_then(|one| one.value).iter().for_each(|rate| one("load-rate", figure(rate)));
            of(LevelMetric::SenderTime)
                .and_then(|one| one.against_base)
                .iter()
                .for_each(|time| one("sent-left", inverse(figure(time), 1.0)));
            of(LevelMetric::Loss).and_then(|one| one.value).iter().for_each(|lost| one("lost", figure(lost)));
        }
    }
    curves
}
