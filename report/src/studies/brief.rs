//! The tables of an answer: few rows, in the notation of its headline, with the marks that occur.

use analysis::answer::notation::{digits, size};
use analysis::answer::{Answer, invalid, notation};
use analysis::result::ways::{Way, WaySeries};
use analysis::result::{Analysis, ArmVerdict, CellResult, Estimate, Metric};
use analysis::verdict::{MetricComparison, Verdict};
use model::Test;
use model::sorting::Order;

use super::glance::{MOST_ROWS, NAME, figure, places, unit};
use super::verdict::{BILLED_CHANGE, answered, billed_change, is_series, is_time, p, subjects};
use super::ways::{billed, signs};
use super::{levels, open_loop, receipt, repetitions};
use crate::document::{Block, Cell, Column, Head, Kind, Level, Section, Table};
use crate::interval;
use crate::number::NOTHING;
use crate::series::{Group, metric, percentile, shows_billed};
use crate::words::plural;

/// Letters of a name in the head of a column.
const LONGEST_HEAD: usize = 16;

/// The column of what was billed before the ends ran, in a legend.
const BILLED: &str = "; billed: share of the CPU time of both ends that the clock charges for wake-ups, before they run";

/// Columns of sizes of a table of ways.
const MOST_SIZES: usize = 3;

/// The section that stands below the headline: what it is of, then what to know of its figures.
pub fn section(analysis: &Analysis, answer: &Answer, groups: &[Group]) -> Section {
    let studied = open_loop::round_trips_at_a_glance(analysis)
        .or_else(|| analysis.levels().map(|study| levels::at_a_glance(study, analysis)))
        .or_else(|| analysis.repetitions().map(repetitions::at_a_glance))
        .or_else(|| analysis.receipt().map(|study| receipt::at_a_glance(study, analysis.run.proof.as_deref())));
    let mut blocks = match () {
        () if !analysis.verdicts().is_empty() => arms(analysis),
        () if analysis.ways().is_some() => analysis.ways().map_or_else(Vec::new, |study| of_ways(&study.series, analysis)),
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
    /// The part of its change that was billed before the ends ran.
    billed: Option<Estimate>,
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
            billed: billed_change(&verdict.compared, found, cell),
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
                row.billed.map_or_else(|| NOTHING.to_owned(), |part| notation::change(part.value)),
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
    let subject = if verdicts.len() > 1 { "each arm".to_owned() } else { candidate.clone() };
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
        ("billed".to_owned(), 6),
        ("p".to_owned(), 2),
        ("misses below".to_owned(), 3),
        (String::new(), 20),
    ];
    let mut heads: Vec<Head> = heads.into_iter().map(|(head, rank)| Head::ranked(head, rank)).collect();
    heads[8].short = ["misses", "below"].map(str::to_owned);
    let mut table = Table::of_verdicts("", heads, cells).labelled("Arms against the first", "");
    table.columns[1].kind = if series { Kind::Figures } else { Kind::Words };
    table.columns[7..9].iter_mut().for_each(|column| column.level = Level::Usual);
    let verdicts = || rows.iter().map(|row| &row.metric.comparison.cells[row.cell].verdict);
    if !verdicts().any(|verdict| matches!(verdict, Verdict::Inconclusive { .. })) {
        table.columns.remove(8);
    }
    let has_billed = rows.iter().any(|row| row.billed.is_some());
    if !has_billed {
        table.columns.remove(6);
    }
    table.columns.iter_mut().take(2).filter(|column| column.kind == Kind::Words).for_each(|column| column.cut = Some(NAME));
    let marks: Vec<&str> = verdicts().map(mark).collect();
    let blocks =
        first.map_or(0, |comparison| comparison.cells.iter().filter_map(|judged| judged.ratio).map(|ratio| ratio.n).max().unwrap_or(0));
    let more = if left > 0 { format!(" {}.", plural(left as u64, "more row")) } else { String::new() };
    let how = format!(
        "Each figure of {subject} is that of {baseline}, multiplied by the change within each block ({}).{more}",
        plural(blocks as u64, "block")
    );
    let legend = first.and_then(|comparison| legend(&marks, comparison.threshold));
    let billed = has_billed.then(|| Block::Aside(BILLED_CHANGE.into()));
    std::iter::once(table.into()).chain(legend).chain(billed).chain([Block::Aside(how.into())]).collect()
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
    // Round trips have a head and a blank line above them; a head of two lines takes a row.
    let below = if trips.is_empty() { 0 } else { trips.len().min(4) + 1 };
    let delivered: Vec<&CellResult> = streams.iter().flat_map(|group| &group.cells).copied().collect();
    let head = usize::from(!per_message(&delivered)[0].is_empty());
    let room = MOST_ROWS.saturating_sub(below + head);
    let mut blocks: Vec<Block> = stream_table(&streams, room).into_iter().collect();
    blocks.extend(trip_table(&trips));
    let wide = |found: Option<&Estimate>| found.is_some_and(|found| !interval::mark(found).is_empty());
    let any = groups.iter().flat_map(|group| &group.cells).any(|cell| cell.cpu_per_delivered().into_iter().any(wide));
    let left = streams.iter().map(|group| group.cells.len()).sum::<usize>() - rows(&streams, room).len();
    let more = if left > 0 { format!(" {}: -v.", plural(left as u64, "more size")) } else { String::new() };
    let has_billed =
        |block: &Block| matches!(block, Block::Table(table) if table.columns.iter().any(|column| column.head.line == "billed"));
    let paid = if blocks.iter().any(has_billed) { BILLED } else { "" };
    let legend = format!("Median (95 % interval){}{paid}.{more}", if any { "; ? wider than × 2" } else { "" });
    blocks.extend((!blocks.is_empty()).then(|| Block::Aside(legend.into())));
    blocks
}

/// A column of a table of streams: its name, and the figure of a cell.
type OfStream = (&'static str, fn(&CellResult) -> Option<&Estimate>);

/// What a table of streams has of a cell: CPU time of both ends and of each per message that arrived, else its time.
fn shown(streams: &[&Group]) -> Vec<OfStream> {
    let all: [OfStream; 3] = [
        ("both ends", |cell| cell.cpu_per_delivered()[0]),
        ("sender", |cell| cell.cpu_per_delivered()[1]),
        ("receiver", |cell| cell.cpu_per_delivered()[2]),
    ];
    let cells = || streams.iter().flat_map(|group| &group.cells);
    let known: Vec<_> = all.into_iter().filter(|(_, of)| cells().any(|cell| of(cell).is_some())).collect();
    let time: OfStream = ("time", |cell| metric(cell, Metric::TimePerMessageNs));
    if known.is_empty() { vec![time] } else { known }
}

/// The figure that a message is the denominator of, in the head of a table: `CPU per message that arrived`.
fn per_message(cells: &[&CellResult]) -> [&'static str; 2] {
    match cells.iter().any(|cell| cell.is_lossy() && cell.cpu_per_delivered()[0].is_some()) {
        true => ["CPU per message", "that arrived"],
        false => ["", "CPU per message"],
    }
}

/// The rows of up to so many: of each series some from the first to the last.
fn rows<'a>(streams: &[&'a Group<'a>], most: usize) -> Vec<(&'a Group<'a>, &'a CellResult)> {
    let each = most / streams.len().max(1);
    if each < 2 {
        let all: Vec<_> = streams.iter().flat_map(|group| group.cells.iter().map(|cell| (*group, *cell))).collect();
        return places(all.len(), most).into_iter().map(|place| all[place]).collect();
    }
    let of =
        |group: &&'a Group<'a>| places(group.cells.len(), each).into_iter().map(|place| (*group, group.cells[place])).collect::<Vec<_>>();
    streams.iter().flat_map(of).collect()
}

fn stream_table(streams: &[&Group], most: usize) -> Option<Block> {
    let rows = rows(streams, most);
    if rows.is_empty() {
        return None;
    }
    let shown = shown(streams);
    let values: Vec<f64> =
        rows.iter().flat_map(|(_, cell)| shown.iter().filter_map(move |(_, of)| of(cell))).map(|found| found.value).collect();
    let (factor, unit) = unit(&values);
    let cells: Vec<&CellResult> = rows.iter().map(|(_, cell)| *cell).collect();
    let words = |texts: Vec<String>, head: [&str; 2]| {
        let line = head.join(" ");
        Column { cells: texts.into_iter().map(Cell::from).collect(), ..Column::new((line.trim(), 20, head), Kind::Words) }
    };
    let head = if shown[0].0 == "time" { ["", "message"] } else { per_message(&cells) };
    let bytes = |cell: &CellResult| format!("{} B", notation::whole(cell.cell.size.get()));
    let mut columns = match streams.iter().all(|group| is_alone(group, streams)) {
        true => {
            let name = |group: &Group| if group.test == Test::TcpStream { "TCP" } else { notation::short_test(group.test) };
            vec![words(rows.iter().map(|(group, cell)| format!("{} {}", name(group), bytes(cell))).collect(), head)]
        }
        false => {
            let names = words(rows.iter().map(|(group, _)| group.name.clone()).collect(), head);
            let sizes = rows.iter().map(|(_, cell)| bytes(cell)).collect();
            vec![Column { cut: Some(NAME), ..names }, Column { kind: Kind::Figures, ..words(sizes, ["", "size"]) }]
        }
    };
    columns.extend(shown.iter().map(|(end, of)| {
        let head = format!("{end}, {unit}");
        let cells = rows.iter().map(|(_, cell)| figure(of(cell), factor).into()).collect();
        Column { cells, ..Column::new((head.as_str(), 9, ["", head.as_str()]), Kind::Figures) }
    }));
    Some(Block::Table(Table::of_columns(columns).labelled("CPU time of a message at both ends", "")))
}

/// Returns whether no other series is of the test, which then names it.
fn is_alone(group: &Group, all: &[&Group]) -> bool {
    all.iter().filter(|other| other.test == group.test).count() == 1
}

/// Of ends that sleep between messages, the share of the CPU time next to it that was billed before the ends ran, if it is at least 2 % in any row.
fn billed_column(rows: &[&CellResult]) -> Option<Column> {
    let shares: Vec<Option<f64>> = rows.iter().map(|cell| cell.billed_share().filter(|share| shows_billed(*share))).collect();
    let written = |share: &Option<f64>| share.map_or_else(|| NOTHING.to_owned(), |share| format!("{} %", notation::amount(share)));
    let cells = shares.iter().map(|share| written(share).into()).collect();
    let column = || Column { cells, ..Column::new(("billed", 4, ["", "billed"]), Kind::Figures) };
    shares.iter().any(Option::is_some).then(column)
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
        let series = if is_alone(group, trips) { group.test.to_string() } else { group.name.clone() };
        let name = format!("{series} {} B", notation::whole(cell.cell.size.get()));
        vec![name.into(), trip(cell, 50.0).into(), trip(cell, 99.0).into(), figure(metric(cell, Metric::CpuPerMessageNs), factor).into()]
    };
    let heads = vec![format!("round trip, {unit}"), "median".to_owned(), "p99".to_owned(), "CPU, both ends".to_owned()];
    let mut table = Table::of_rows(heads, rows.iter().map(row).collect(), Kind::Figures).labelled("Round trips", "");
    table.columns[0].cut = Some(NAME);
    table.columns.extend(billed_column(&rows.iter().map(|(_, cell)| *cell).collect::<Vec<_>>()));
    (!rows.is_empty()).then_some(Block::Table(table))
}

/// The cheapest ways at some sizes, the cheapest first.
fn of_ways(all: &[WaySeries], analysis: &Analysis) -> Vec<Block> {
    let room = MOST_ROWS / all.len().max(1);
    all.iter().filter_map(|series| ways_table(series, room.max(3), &billed(series, analysis))).collect()
}

fn ways_table(series: &WaySeries, most: usize, billed: &str) -> Option<Block> {
    let last = series.sizes.len().checked_sub(1)?;
    let base = series.ways.first()?;
    let shown = places(series.sizes.len(), MOST_SIZES);
    let cost = |way: &Way, place: usize| way.cost_ns.get(place).and_then(Option::as_ref).map_or(f64::INFINITY, |found| found.value);
    // The cheapest of any size that is shown comes first.
    let least = |way: &Way| shown.iter().map(|place| cost(way, *place) / cost(base, *place)).filter(|of| of.is_finite()).reduce(f64::min);
    let least = |way: &Way| least(way).unwrap_or(f64::INFINITY);
    let mut sorted: Vec<&Way> = series.ways.iter().collect();
    sorted.order_by(|a, b| least(a).total_cmp(&least(b)));
    let left = sorted.len().saturating_sub(most);
    sorted.truncate(most);
    if !sorted.iter().any(|way| std::ptr::eq(*way, base)) {
        sorted.pop();
        sorted.push(base);
    }
    let (factor, unit) = unit(&sorted.iter().flat_map(|way| way.cost_ns.iter().flatten()).map(|found| found.value).collect::<Vec<_>>());
    let more = if left > 0 { format!("; {}", plural(left as u64, "more way")) } else { String::new() };
    if series.woven {
        return Some(woven_ways(series, &sorted, &shown, &format!("{more}.{billed}")));
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
        .chain([format!("of {}'s", base.name())]);
    let mut table = Table::of_rows(heads.collect::<Vec<String>>(), sorted.iter().map(row).collect(), Kind::Figures);
    let (base, size) = (base.name(), size(series.sizes[last]));
    let signs = signs(series, "; ");
    let legend = format!(
        "CPU of both ends, median (95 % interval), and in % of what {base} costs at {size}. ? not shown to differ from {base}{signs}{more}.{billed}"
    );
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
        format!("{}{}", interval::in_percent(share, ""), if open { "?" } else { "" })
    };
    let row = |way: &&Way| -> Vec<Cell> {
        let figures = shown.iter().map(|place| figure(way, *place).into());
        std::iter::once(way.name().into()).chain(figures).collect()
    };
    let first = format!("{}, % of {}'s CPU", head(&series.series), base.name());
    let heads = std::iter::once(first).chain(shown.iter().map(|place| size(series.sizes[*place])));
    let mut table = Table::of_rows(heads.collect::<Vec<String>>(), ways.iter().map(row).collect(), Kind::Figures);
    table.columns[0].cut = Some(NAME);
    let table = table.labelled("CPU time of both ends by way", "");
    let base = base.name();
    let signs = signs(series, "; ");
    let legend = format!("CPU of both ends in % of what {base} costs (95 % interval). ? not shown to differ from {base}{signs}{more}");
    Block::At(Level::Answer, String::new(), vec![table.into(), Block::Aside(legend.into())])
}
