//! The tables of an answer: few rows, in the notation of its headline, with the marks that occur.

use analysis::answer::notation::{digits, size};
use analysis::answer::{Answer, invalid, notation};
use analysis::result::ways::{Way, WaySeries};
use analysis::result::{Analysis, ArmVerdict, CellResult, Estimate, Metric};
use analysis::verdict::{MetricComparison, Verdict};
use model::order::Order;

use super::glance::{MOST_ROWS, NAME, figure, places, unit};
use super::verdict::{answered, is_series, is_time, p, subjects};
use super::{levels, open_loop, receipt, repetitions};
use crate::document::{Block, Cell, Column, Head, Kind, Level, Section, Table};
use crate::interval;
use crate::number::{self, NOTHING};
use crate::series::{Group, metric, percentile};
use crate::words::plural;

/// Letters of a name in the head of a column.
const LONGEST_HEAD: usize = 16;

/// Columns of sizes of a table of ways.
const MOST_SIZES: usize = 3;

/// The section that stands below the headline: what it is of, then what to know of its figures.
pub fn section(analysis: &Analysis, answer: &Answer, groups: &[Group]) -> Section {
    let studied = open_loop::round_trips_at_a_glance(analysis)
        .or_else(|| analysis.levels().map(levels::at_a_glance))
        .or_else(|| analysis.repetitions().map(repetitions::at_a_glance))
        .or_else(|| analysis.receipt().map(receipt::at_a_glance));
    let mut blocks = match () {
        () if !analysis.verdicts().is_empty() => arms(analysis),
        () if analysis.ways().is_some() => analysis.ways().map_or_else(Vec::new, |study| of_ways(&study.series)),
        // The map is the answer.
        () if !analysis.buffers().is_empty() => Vec::new(),
        () => studied.unwrap_or_else(|| sweep(groups)),
    };
    let streams = analysis.open_loop().filter(|_| analysis.verdicts().is_empty());
    blocks.extend(streams.and_then(open_loop::streams_at_a_glance));
    if !blocks.is_empty() {
        blocks.extend(answer.caveat.as_ref().map(|caveat| Block::Aside(caveat.as_str().into())));
    }
    Section::named("answer", "Answer", blocks)
}

/// A name in the head of a column.
fn head(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() > LONGEST_HEAD { letters[..LONGEST_HEAD - 1].iter().chain(&['…']).collect() } else { name.to_owned() }
}

/// The name of a series: its test alone where no other series has it.
fn name_among(group: &Group, all: &[&Group]) -> String {
    let alone = all.iter().filter(|other| other.test == group.test).count() == 1;
    let name = if alone { group.name.split(" (").next().unwrap_or(&group.name) } else { &group.name };
    head(name)
}

/// What the marks of a text mean, those that occur.
fn legend(marks: &[&str], threshold: f64) -> Option<Block> {
    let same = format!("= within ±{} %", notation::amount(threshold));
    // What is better and worse says its mark itself.
    let all = [(SAME, same), (OPEN, "? open: the interval allows both".to_owned())];
    let shown: Vec<String> = all.into_iter().filter(|(mark, _)| marks.contains(mark)).map(|(_, words)| words).collect();
    (!shown.is_empty()).then(|| Block::Aside(shown.join("  ").into()))
}

const BETTER: &str = "▼ better";
const WORSE: &str = "▲ worse";
const SAME: &str = "= same";
const OPEN: &str = "? open";

fn mark(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Better => BETTER,
        Verdict::Worse | Verdict::Mixed => WORSE,
        Verdict::Equivalent => SAME,
        Verdict::Inconclusive { .. } | Verdict::NotEnoughBlocks { .. } => OPEN,
    }
}

/// A row of a comparison: of one metric at one size.
struct Compared<'a> {
    group: String,
    place: String,
    metric: &'a MetricComparison,
    cell: usize,
}

/// Arms against the first: the metric of the gate, then the time, size by size.
fn arms(analysis: &Analysis) -> Vec<Block> {
    let verdicts = analysis.verdicts();
    let (series, names) = (is_series(&analysis.cells), subjects(&analysis.cells));
    let times_invalid = invalid::of_times(analysis);
    let mut rows: Vec<Compared> = Vec::new();
    for (verdict, found) in answered(analysis) {
        let cells = found.comparison.cells.iter().enumerate().filter(|(_, judged)| judged.ratio.is_some());
        rows.extend(cells.map(|(cell, _)| Compared {
            group: group(verdict, found, verdicts.len()),
            place: names.get(cell).cloned().unwrap_or_default(),
            metric: found,
            cell,
        }));
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let left = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    let medians = |row: &Compared| row.metric.comparison.cells[row.cell].medians.map_or(f64::NAN, |medians| medians[0]);
    let (factor, unit) = unit(&rows.iter().map(medians).collect::<Vec<_>>());
    let cells: Vec<Vec<Cell>> = rows
        .iter()
        .enumerate()
        .map(|(at, row)| {
            let judged = &row.metric.comparison.cells[row.cell];
            let (ratio, baseline) = (judged.ratio, medians(row) / factor);
            let first = at == 0 || rows[at - 1].group != row.group;
            let ends = ratio.and_then(|ratio| ratio.interval).map(|ends| [ends.low - 1.0, ends.high - 1.0]);
            let is_usable = !(is_time(row.metric.metric) && times_invalid);
            let missed = match judged.verdict {
                Verdict::Inconclusive { smallest } => format!("{} %", notation::amount(smallest.abs())),
                _ => NOTHING.to_owned(),
            };
            let texts = [
                if first { row.group.clone() } else { String::new() },
                row.place.clone(),
                digits(baseline),
                ratio.map_or_else(|| NOTHING.to_owned(), |ratio| digits(baseline * ratio.value)),
                ratio.map_or_else(|| NOTHING.to_owned(), |ratio| notation::change(ratio.value - 1.0)),
                ends.map_or_else(|| NOTHING.to_owned(), |[low, high]| format!("{} to {}", notation::signed(low), notation::signed(high))),
                judged.p_adjusted.filter(|_| is_usable).map_or_else(|| NOTHING.to_owned(), p),
                if is_usable { missed } else { NOTHING.to_owned() },
                if is_usable { mark(&judged.verdict) } else { "do not use" }.to_owned(),
            ];
            texts.into_iter().map(Cell::from).collect()
        })
        .collect();
    let [baseline, candidate] = match verdicts {
        [one] => [one.baseline.clone(), one.candidate.clone()],
        all => [all.first().map_or_else(String::new, |first| first.baseline.clone()), "arm".to_owned()],
    };
    let first = rows.first().map(|row| &row.metric.comparison);
    let confidence = first.map_or(0.0, |comparison| comparison.confidence);
    // Where room is short the change and its interval stay.
    let heads = [
        (format!("{unit} per message"), 20),
        (if series { "size" } else { "case" }.to_owned(), 20),
        (head(&baseline), 4),
        (head(&candidate), 5),
        ("change".to_owned(), 8),
        (format!("{} % interval", notation::amount(confidence)), 7),
        ("p".to_owned(), 3),
        ("misses below".to_owned(), 2),
        (String::new(), 20),
    ];
    let heads = heads.into_iter().map(|(head, rank)| Head::ranked(head, rank)).collect();
    let mut table = Table::of_verdicts("", heads, cells).labelled("Arms against the first", "");
    table.columns[1].kind = if series { Kind::Figures } else { Kind::Words };
    table.columns[6..8].iter_mut().for_each(|column| column.level = Level::Usual);
    let verdicts = || rows.iter().map(|row| &row.metric.comparison.cells[row.cell].verdict);
    if !verdicts().any(|verdict| matches!(verdict, Verdict::Inconclusive { .. })) {
        table.columns.remove(7);
    }
    table.columns.iter_mut().take(2).filter(|column| column.kind == Kind::Words).for_each(|column| column.cut = Some(NAME));
    let marks: Vec<&str> = verdicts().map(mark).collect();
    let blocks =
        first.map_or(0, |comparison| comparison.cells.iter().filter_map(|judged| judged.ratio).map(|ratio| ratio.n).max().unwrap_or(0));
    let more = if left > 0 { format!(" {}.", plural(left as u64, "more row")) } else { String::new() };
    let how = format!("{candidate} is {baseline} × the paired change ({}).{more}", plural(blocks as u64, "block"));
    let legend = first.and_then(|comparison| legend(&marks, comparison.threshold));
    std::iter::once(table.into()).chain(legend).chain([Block::Aside(how.into())]).collect()
}

/// What rows are of: the metric, or of several arms the arm.
fn group(verdict: &ArmVerdict, found: &MetricComparison, arms: usize) -> String {
    if arms > 1 {
        return verdict.candidate.clone();
    }
    match found.metric {
        Metric::CpuPerMessageNs => "CPU, both ends".to_owned(),
        Metric::SenderCpuPerMessageNs => "CPU, sender".to_owned(),
        Metric::ReceiverCpuPerMessageNs => "CPU, receiver".to_owned(),
        Metric::TimePerMessageNs => "time".to_owned(),
        Metric::RoundTripP50Ns => "median round trip".to_owned(),
        Metric::RoundTripP99Ns => "p99 round trip".to_owned(),
        other => other.title().to_owned(),
    }
}

/// Messages by size: CPU time at both ends of up to two series next to each other; then round trips.
fn sweep(groups: &[Group]) -> Vec<Block> {
    let streams: Vec<&Group> = groups.iter().filter(|group| group.test.is_stream()).collect();
    let trips: Vec<&Group> = groups.iter().filter(|group| !group.test.is_stream()).collect();
    let room = MOST_ROWS.saturating_sub(trips.len().min(4));
    let mut blocks: Vec<Block> = stream_table(&streams, room).into_iter().collect();
    blocks.extend(trip_table(&trips));
    let wide = |found: Option<&Estimate>| found.is_some_and(|found| !interval::mark(found).is_empty());
    let any = groups.iter().flat_map(|group| &group.cells).any(|cell| CPU.iter().any(|end| wide(metric(cell, *end))));
    let legend = format!("Median (95 % interval){}.", if any { "; ? wider than × 2" } else { "" });
    blocks.extend((!blocks.is_empty()).then(|| Block::Aside(legend.into())));
    blocks
}

const CPU: [Metric; 2] = [Metric::SenderCpuPerMessageNs, Metric::ReceiverCpuPerMessageNs];

/// The metrics of a series that a table of messages has: CPU time at both ends, else the time.
fn shown(group: &Group) -> Vec<(Metric, &'static str)> {
    let has = |wanted: Metric| group.cells.iter().any(|cell| metric(cell, wanted).is_some());
    let ends: Vec<(Metric, &str)> = CPU.into_iter().zip(["sender", "receiver"]).filter(|(end, _)| has(*end)).collect();
    if ends.is_empty() { vec![(Metric::TimePerMessageNs, "time")] } else { ends }
}

fn stream_table(streams: &[&Group], most: usize) -> Option<Block> {
    // More series than two have rows of their own.
    let side_by_side = streams.len() <= 2;
    let mut sizes: Vec<model::Bytes> = streams.iter().flat_map(|group| &group.cells).map(|cell| cell.cell.size).collect();
    sizes.order();
    sizes.dedup();
    if sizes.is_empty() {
        return None;
    }
    let rows: Vec<(Option<&Group>, model::Bytes)> = match side_by_side {
        true => sizes.iter().map(|size| (None, *size)).collect(),
        false => streams.iter().flat_map(|group| group.cells.iter().map(|cell| (Some(*group), cell.cell.size))).collect(),
    };
    let rows: Vec<&(Option<&Group>, model::Bytes)> = places(rows.len(), most).into_iter().map(|place| &rows[place]).collect();
    let values = streams
        .iter()
        .flat_map(|group| shown(group).into_iter().flat_map(|(wanted, _)| group.cells.iter().filter_map(move |cell| metric(cell, wanted))));
    let (factor, unit) = unit(&values.map(|found| found.value).collect::<Vec<_>>());
    let column = |head: (String, String), figures: Vec<String>| {
        let cells = figures.into_iter().map(Cell::from).collect();
        Column { cells, ..Column::new((on_a_line(&head, unit).as_str(), 9, [head.0, head.1]), Kind::Figures) }
    };
    let mut columns = Vec::new();
    if !side_by_side {
        let names = rows.iter().map(|(group, _)| group.map_or("", |group| group.name.as_str()).into()).collect();
        columns.push(Column { cells: names, cut: Some(NAME), ..Column::new("", Kind::Words) });
    }
    let label = unit.to_owned();
    let names: Vec<String> = rows.iter().map(|(_, size)| notation::whole(size.get())).collect();
    columns.push(column((label, "size, B".to_owned()), names));
    let of = |group: &Group, (wanted, end): (Metric, &str), head: String| {
        let figures =
            rows.iter().map(|(own, size)| figure(of_size(own.unwrap_or(group), *size).and_then(|cell| metric(cell, wanted)), factor));
        column((head, end.to_owned()), figures.collect())
    };
    match side_by_side {
        true => {
            for group in streams {
                for (at, shown) in shown(group).into_iter().enumerate() {
                    columns.push(of(group, shown, if at == 0 { name_among(group, streams) } else { String::new() }));
                }
            }
        }
        false => columns
            .extend(streams.first().into_iter().flat_map(|first| shown(first).into_iter().map(|shown| of(first, shown, String::new())))),
    }
    Some(Block::Table(Table::of_columns(columns).labelled("CPU time of a message at both ends", "")))
}

/// The two lines of a head in one, with the unit of its figures: of sizes it is their own.
fn on_a_line((upper, lower): &(String, String), unit: &str) -> String {
    match upper.as_str() {
        upper if upper == unit => lower.clone(),
        "" => format!("{lower}, {unit}"),
        upper => format!("{upper}, {lower}, {unit}"),
    }
}

fn of_size<'a>(group: &Group<'a>, size: model::Bytes) -> Option<&'a CellResult> {
    group.cells.iter().find(|cell| cell.cell.size == size).copied()
}

fn trip_table(trips: &[&Group]) -> Option<Block> {
    let rows: Vec<(&Group, &CellResult)> = trips.iter().flat_map(|group| group.cells.iter().map(|cell| (*group, *cell))).collect();
    let rows: Vec<&(&Group, &CellResult)> = places(rows.len(), 4).into_iter().map(|place| &rows[place]).collect();
    let median = |cell: &CellResult, percent: f64| percentile(cell.latency.as_ref(), percent).map(|found| (found.estimate, found.at_least));
    let (factor, unit) = unit(&rows.iter().filter_map(|(_, cell)| median(cell, 50.0)).map(|(found, _)| found.value).collect::<Vec<_>>());
    let trip = |cell: &CellResult, percent: f64| match median(cell, percent) {
        Some((found, true)) => interval::at_least(&digits(found.value / factor)),
        Some((found, false)) => figure(Some(&found), factor),
        None => figure(metric(cell, if percent < 99.0 { Metric::RoundTripP50Ns } else { Metric::RoundTripP99Ns }), factor),
    };
    let row = |(group, cell): &&(&Group, &CellResult)| -> Vec<Cell> {
        let name = format!("{} {} B", group.name, notation::whole(cell.cell.size.get()));
        vec![name.into(), trip(cell, 50.0).into(), trip(cell, 99.0).into(), figure(metric(cell, Metric::CpuPerMessageNs), factor).into()]
    };
    let heads = vec![format!("round trip, {unit}"), "median".to_owned(), "p99".to_owned(), "CPU, both ends".to_owned()];
    let mut table = Table::of_rows(heads, rows.iter().map(row).collect(), Kind::Figures).labelled("Round trips", "");
    table.columns[0].cut = Some(NAME);
    (!rows.is_empty()).then_some(Block::Table(table))
}

/// The cheapest ways at some sizes, the cheapest first.
fn of_ways(all: &[WaySeries]) -> Vec<Block> {
    let room = MOST_ROWS / all.len().max(1);
    all.iter().filter_map(|series| ways_table(series, room.max(3))).collect()
}

fn ways_table(series: &WaySeries, most: usize) -> Option<Block> {
    let last = series.sizes.len().checked_sub(1)?;
    let cost = |way: &Way| way.cost_ns.get(last).and_then(|found| found.as_ref()).map_or(f64::INFINITY, |found| found.value);
    let mut sorted: Vec<&Way> = series.ways.iter().collect();
    sorted.order_by(|a, b| cost(a).total_cmp(&cost(b)));
    let left = sorted.len().saturating_sub(most);
    let base = series.ways.first()?;
    sorted.truncate(most);
    if !sorted.iter().any(|way| std::ptr::eq(*way, base)) {
        sorted.pop();
        sorted.push(base);
    }
    let (factor, unit) = unit(&sorted.iter().flat_map(|way| way.cost_ns.iter().flatten()).map(|found| found.value).collect::<Vec<_>>());
    let shown = places(series.sizes.len(), MOST_SIZES);
    let more = if left > 0 { format!("; {}", plural(left as u64, "more way")) } else { String::new() };
    if series.woven {
        return Some(woven_ways(series, &sorted, &shown, &more));
    }
    let row = |way: &&Way| -> Vec<Cell> {
        let costs = shown.iter().map(|place| figure(way.cost_ns.get(*place).and_then(Option::as_ref), factor).into());
        let share = way.of_base.get(last).and_then(Option::as_ref);
        let open = share.and_then(|share| share.interval).is_none_or(|ends| ends.low <= 1.0 && ends.high >= 1.0);
        let share = match share {
            _ if std::ptr::eq(*way, base) => NOTHING.to_owned(),
            Some(share) => format!("{} {}", notation::amount(share.value), if open { "?" } else { "%" }),
            None => NOTHING.to_owned(),
        };
        std::iter::once(way.name().into()).chain(costs).chain([share.into()]).collect()
    };
    let heads = std::iter::once(format!("{}, {unit}", head(&series.series)))
        .chain(shown.iter().map(|place| size(series.sizes[*place])))
        .chain([format!("of {}", base.name())]);
    let mut table = Table::of_rows(heads.collect::<Vec<String>>(), sorted.iter().map(row).collect(), Kind::Figures);
    let legend = format!("CPU of both ends, median (95 % interval). ? open against {} at {}{more}", base.name(), size(series.sizes[last]));
    table.columns[0].cut = Some(NAME);
    let table = table.labelled("CPU time of both ends by way", "");
    Some(Block::At(Level::Answer, String::new(), vec![table.into(), Block::Aside(legend.into())]))
}

/// The same of woven ways: each as a share of the base in the rounds that they share.
fn woven_ways(series: &WaySeries, ways: &[&Way], shown: &[usize], more: &str) -> Block {
    let base = &series.ways[0];
    let figure = |way: &Way, place: usize| {
        let Some((cost, share)) = way.cost_ns[place].as_ref().zip(way.of_base[place].as_ref()) else { return NOTHING.to_owned() };
        if std::ptr::eq(way, base) {
            return notation::time(cost.value);
        }
        let open = share.interval.is_none_or(|ends| ends.low <= 1.0 && ends.high >= 1.0);
        format!("{}{}", interval::narrow(Some(share), number::percent), if open { "?" } else { "" })
    };
    let row = |way: &&Way| -> Vec<Cell> {
        let figures = shown.iter().map(|place| figure(way, *place).into());
        std::iter::once(way.name().into()).chain(figures).collect()
    };
    let heads = std::iter::once(head(&series.series)).chain(shown.iter().map(|place| size(series.sizes[*place])));
    let mut table = Table::of_rows(heads.collect::<Vec<String>>(), ways.iter().map(row).collect(), Kind::Figures);
    table.columns[0].cut = Some(NAME);
    let table = table.labelled("CPU time of both ends by way", "");
    let legend = format!("CPU of both ends, others as a share of {} (95 % interval). ? no difference shown{more}", base.name());
    Block::At(Level::Answer, String::new(), vec![table.into(), Block::Aside(legend.into())])
}
