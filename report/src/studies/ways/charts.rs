//! Charts that answer which way is the cheapest: the ranking at one size, the curves, the cheapest by size.

use std::collections::{BTreeMap, BTreeSet};

use analysis::answer::invalid;
use analysis::result::ways::{Way, WaySeries};
use analysis::result::{Analysis, CellResult, Estimate, Metric, WayStudy};
use model::sorting::Order;

use super::conclusion;
use crate::document::charts::{Change, Forest, Ribbon, Span, Tint};
use crate::document::figure::{Panel, SizeAxis, Trace};
use crate::document::{Block, Chart, Figure};
use crate::number;
use crate::studies::verdict::signed;
use crate::words::plural;

/// Ways of a ranking; the table has the others.
const MOST_RANKED: usize = 8;
/// The size that a ranking is of, or the measured one nearest to it.
const RANKED_AT: f64 = 1024.0;
/// Series that are drawn.
const MOST_SERIES: usize = 2;

/// The charts of each series.
pub fn pictures(study: &WayStudy, analysis: &Analysis) -> Vec<Block> {
    study.series.iter().take(MOST_SERIES).enumerate().filter_map(|(place, series)| of(place, series, analysis)).collect()
}

fn of(place: usize, series: &WaySeries, analysis: &Analysis) -> Option<Block> {
    let at = ranked_at(series)?;
    let order = by_cost(series, at);
    let caveats = Caveats::new(series, analysis);
    let charts = [
        ranking(format!("ranking-{place}"), series, at, &order, &caveats).map(Chart::Forest),
        curves(format!("ways-{place}"), series, &order, &caveats).map(Chart::Figure),
        ribbon(format!("cheapest-{place}"), series, &order).map(Chart::Ribbon),
    ];
    Block::charts(charts.into_iter().flatten())
}

/// What a reader of a way's figures has to know, by way and size.
struct Caveats {
    /// None of them is to be used.
    barred: BTreeSet<(usize, usize)>,
    /// Share of its datagrams that did not arrive.
    lost: BTreeMap<(usize, usize), f64>,
    /// Of all of them: what was billed before the ends ran.
    billed: String,
}

impl Caveats {
    fn new(series: &WaySeries, analysis: &Analysis) -> Self {
        let invalid = invalid::of(analysis);
        let mut all = Self { barred: BTreeSet::new(), lost: BTreeMap::new(), billed: super::billed(series, analysis) };
        let is_of_series = |found: &CellResult| found.cell.without_way().series().to_string() == series.series;
        for (number, found) in analysis.cells.iter().enumerate().filter(|(_, found)| is_of_series(found)) {
            let cell = &found.cell;
            let is_way = |way: &Way| (cell.api, cell.receive, cell.batch) == (way.api, way.receive, way.batch);
            let place = series.ways.iter().position(is_way).zip(series.sizes.iter().position(|size| *size == cell.size));
            let Some(place) = place else { continue };
            if invalid.iter().any(|one| one.figure.bars_cell(number)) {
                all.barred.insert(place);
            }
            let lost = found.metrics.get(&Metric::LossShare).filter(|_| found.is_lossy());
            all.lost.extend(lost.map(|share| (place, share.value)));
        }
        all
    }

    fn is_barred(&self, way: usize, size: usize) -> bool {
        self.barred.contains(&(way, size))
    }
}

/// Says of a figure that it is not to be used.
const DO_NOT_USE: &str = "do not use";

/// The place of the size that ways are ranked at.
fn ranked_at(series: &WaySeries) -> Option<usize> {
    let far = |place: &usize| (series.sizes[*place].get().max(1) as f64 / RANKED_AT).ln().abs();
    let known = (0..series.sizes.len()).filter(|place| series.cheapest[*place].is_some());
    known.min_by(|a, b| far(a).total_cmp(&far(b)))
}

/// Places of the ways that were measured at a size, the cheapest first.
fn by_cost(series: &WaySeries, at: usize) -> Vec<usize> {
    let cost = |place: usize| series.ways[place].cost_ns[at].map(|cost| cost.value);
    let mut order: Vec<usize> = (0..series.ways.len()).filter(|place| cost(*place).is_some()).collect();
    order.order_by(|a, b| cost(*a).unwrap_or(f64::INFINITY).total_cmp(&cost(*b).unwrap_or(f64::INFINITY)));
    order
}

/// Ends of an estimate, or the value twice.
fn ends(estimate: &Estimate) -> [f64; 2] {
    estimate.interval.map_or([estimate.value; 2], |ends| [ends.low, ends.high])
}

/// The ways as shares of the base. The first rank is that of the cheapest way and of those that it is not shown to be
/// cheaper than, as the answer has them; behind it neighbours whose intervals overlap have one. Where all are of the
/// first there is no rank.
fn ranking(id: String, series: &WaySeries, at: usize, order: &[usize], caveats: &Caveats) -> Option<Forest> {
    let base = series.ways.first()?.name();
    let mut first_of_rank: Option<(usize, f64)> = None;
    let mut rows = Vec::new();
    for (row, place) in order.iter().enumerate() {
        let way = &series.ways[*place];
        let one = Estimate { value: 1.0, interval: None, n: 0 };
        let ratio = if *place == 0 { one } else { way.of_base[at]? };
        let cheapest = series.cheapest.get(at).and_then(Option::as_ref);
        let ties = cheapest.is_some_and(|cheapest| cheapest.way == *place || cheapest.ties.contains(place));
        let rank = match first_of_rank {
            None => 1,
            Some((1, _)) if ties => 1,
            Some((rank, high)) if rank > 1 && ends(&ratio)[0] <= high => rank,
            Some(_) => row + 1,
        };
        if first_of_rank.is_none_or(|(known, _)| known != rank) {
            first_of_rank = Some((rank, ends(&ratio)[1]));
        }
        rows.push((rank, change(series, way, *place, at, &ratio, caveats)?));
    }
    let are_ranked = rows.iter().any(|(rank, _)| *rank > 1);
    let ranked = |(rank, row): (usize, Change)| match are_ranked {
        true => Change { label: format!("{rank}. {}", row.label), hint: format!("{rank}. {}", row.hint), ..row },
        false => row,
    };
    let mut rows: Vec<Change> = rows.into_iter().map(ranked).collect();
    let left = rows.len().saturating_sub(MOST_RANKED);
    rows.truncate(MOST_RANKED);
    let more = if left > 0 { format!(" The table has {}.", plural(left as u64, "dearer way")) } else { String::new() };
    Some(Forest {
        id,
        title: format!("Ranking at {} B, {}", number::whole(series.sizes[at].get()), series.series),
        caption: format!(
            "CPU of both ends a message, against {base}. {} Hollow: not shown to differ from {base}.{}{more}{}{}",
            if are_ranked { "One rank: not shown to differ." } else { "No difference shown between any two: no ranks." },
            if rows.iter().any(|row| row.tint == Tint::Barred) { " Grey and dashed: not to be used." } else { "" },
            super::signs(series, ". "),
            caveats.billed,
        ),
        sides: ["cheaper", "dearer"],
        axis: format!("against {base}, log scale"),
        threshold: 0.0,
        rows,
    })
}

fn change(series: &WaySeries, way: &Way, place: usize, at: usize, ratio: &Estimate, caveats: &Caveats) -> Option<Change> {
    let [low, high] = ends(ratio).map(|end| end - 1.0);
    let tint = match (place, ratio.interval) {
        _ if caveats.is_barred(place, at) => Tint::Barred,
        (0, _) => Tint::Same,
        (_, Some(_)) if high < 0.0 => Tint::Better,
        (_, Some(_)) if low > 0.0 => Tint::Worse,
        _ => Tint::Open,
    };
    let cost = number::time(way.cost_ns[at]?.value).replace(' ', "\u{a0}");
    let share = match (place, tint) {
        (_, Tint::Barred) => DO_NOT_USE.to_owned(),
        (0, _) => String::new(),
        (_, Tint::Open) if ratio.interval.is_some() => "no difference shown".to_owned(),
        _ => signed(ratio.value - 1.0),
    };
    let lost = caveats.lost.get(&(place, at)).map(|share| format!("{} lost", number::percent(*share).replace(' ', "\u{a0}")));
    let share = [share].into_iter().chain(lost).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ");
    let interval = if ratio.interval.is_some() { format!("{} to {}", signed(low), signed(high)) } else { "no interval".to_owned() };
    let label = way.name();
    let barred = if tint == Tint::Barred { format!("\n{DO_NOT_USE}") } else { String::new() };
    let hint = if place == 0 {
        format!("{label}\n{cost}\nthe base{barred}")
    } else {
        format!("{label}\n{cost}, {} against {}\n{interval}{barred}", signed(ratio.value - 1.0), series.ways[0].name())
    };
    let interval = ratio.interval.map(|_| [low, high]);
    Some(Change { label, value: ratio.value - 1.0, interval, tint, figure: cost, ends: share, hint })
}

/// The base and the cheapest ways by size; the table has the others.
fn curves(id: String, series: &WaySeries, order: &[usize], caveats: &Caveats) -> Option<Figure> {
    let label = |size: usize, way: usize| {
        let cheapest = series.cheapest[size].as_ref().is_some_and(|cheapest| cheapest.way == way);
        format!("{} B{}", number::whole(series.sizes[size].get()), if cheapest { ", the cheapest" } else { "" })
    };
    let trace = |place: &usize| {
        let way = &series.ways[*place];
        let measured = (0..series.sizes.len()).filter(|size| way.cost_ns[*size].is_some());
        let (unfit, usable): (Vec<usize>, Vec<usize>) = measured.partition(|size| caveats.is_barred(*place, *size));
        let barred = usable.is_empty() && !unfit.is_empty();
        let sizes = || unfit.iter().map(|size| format!("{} B", number::whole(series.sizes[*size].get()))).collect::<Vec<_>>();
        let name = match unfit.as_slice() {
            [] => way.name(),
            _ if barred => format!("{}: {DO_NOT_USE}", way.name()),
            _ => format!("{}: {DO_NOT_USE} at {}", way.name(), sizes().join(", ")),
        };
        // A curve that is to be used in part is drawn where it is.
        let drawn = if barred { &unfit } else { &usable };
        let points = drawn.iter().filter_map(|size| Some((series.sizes[*size].get() as f64, label(*size, *place), way.cost_ns[*size]?)));
        Trace { base: *place == 0, barred, ..Trace::measured(&name, *place, points, 1e-9, number::time) }
    };
    Some(Figure {
        id: id.into(),
        title: format!("By size, {}", series.series).into(),
        caption: format!("CPU of both ends a message: medians and 95 % intervals.{}", caveats.billed),
        alt: conclusion(series),
        sizes: Some(SizeAxis::over(series.sizes.first()?.get(), series.sizes.last()?.get())),
        panels: vec![Panel::of("CPU a message", "s").joined(true)],
        traces: order.iter().map(trace).collect(),
    })
}

/// The cheapest way of each size; it changes where two ways cost the same.
fn ribbon(id: String, series: &WaySeries, order: &[usize]) -> Option<Ribbon> {
    let known: Vec<(f64, usize)> = series
        .sizes
        .iter()
        .zip(&series.cheapest)
        .filter_map(|(size, cheapest)| Some((size.get() as f64, cheapest.as_ref()?.way)))
        .collect();
    let [(least, _), .., (most, _)] = *known.as_slice() else { return None };
    let mut changes = Vec::new();
    for pair in known.windows(2).filter(|pair| pair[0].1 != pair[1].1) {
        let [(from, below), (to, above)] = [pair[0], pair[1]];
        let crossings =
            series.crossings.iter().filter(|one| one.ways == [below, above] || one.ways == [above, below]).flat_map(|one| &one.changes);
        let found = crossings.map(|change| change.size).find(|size| (from..=to).contains(&size.value));
        changes.push((found.map_or((from * to).sqrt(), |size| size.value), found.map_or([from, to], |size| ends(&size)), above));
    }
    // The colours of the curves: the base's is the first, and three others follow.
    let colour = |way: usize| {
        if way == 0 { 0 } else { 1 + order.iter().filter(|place| **place != 0).position(|place| *place == way).unwrap_or(3).min(6) }
    };
    let starts = std::iter::once((least, known.first()?.1)).chain(changes.iter().map(|(at, _, above)| (*at, *above)));
    let stops = changes.iter().map(|(at, ..)| *at).chain([most]);
    let span = |((from, way), to): ((f64, usize), f64)| Span { name: series.ways[way].name(), series: colour(way), from, to };
    Some(Ribbon {
        id,
        title: format!("Cheapest by size, {}", series.series),
        caption: if changes.is_empty() {
            "No way crosses it.".to_owned()
        } else {
            "Hatched: the interval of the size at which the cheapest changes.".to_owned()
        },
        alt: conclusion(series),
        sizes: series.sizes.iter().map(|size| size.get()).collect(),
        spans: starts.zip(stops).map(span).collect(),
        unsure: changes.iter().map(|(_, unsure, _)| *unsure).collect(),
    })
}
