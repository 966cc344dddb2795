//! The answer of a study without arms: what a message costs both ends, at the smallest size and the largest.

use model::{Cell, Warning};
use stats::estimate::Estimate;
use stats::median;

use super::next;
use super::notation::{self, amount, message, plural, size, time, time_in, verb};
use super::{Answer, Grade, Part};
use crate::cells::CellResult;
use crate::grouping::group_by;
use crate::metric::Metric;
use crate::studies::Analysis;

/// High over low end of an interval up to which a figure is settled, and up to which it is rough.
const WIDTHS: [f64; 2] = [1.25, 2.0];

/// The least blocks with an interval.
pub const LEAST_BLOCKS: u32 = 6;

/// Series that a headline names.
const MOST_NAMED: usize = 2;

/// The share of time that an end was ready without a CPU from which on its times are those of a busy machine.
const BUSY: f64 = 0.2;

/// The ends of an interval.
pub fn ends(estimate: &Estimate) -> Option<[f64; 2]> {
    estimate.interval.map(|ends| [ends.low, ends.high])
}

/// High over low end; `None` without an interval.
pub fn width(estimate: &Estimate) -> Option<f64> {
    ends(estimate).filter(|[low, _]| *low > 0.0).map(|[low, high]| high / low)
}

/// The metric that a cell is judged by: the CPU time of both ends, else that of an end, else its time.
fn judged_by(cell: &CellResult) -> Option<(Metric, &Estimate)> {
    let all = [Metric::CpuPerMessageNs, Metric::ReceiverCpuPerMessageNs, Metric::SenderCpuPerMessageNs, Metric::TimePerMessageNs];
    all.into_iter().find_map(|metric| Some((metric, cell.metrics.get(&metric).filter(|found| found.value.is_finite())?)))
}

/// The grade of blocks that are too few for an interval, and why.
pub fn too_few(blocks: u32) -> (Grade, String) {
    let blocks = u64::from(blocks);
    (Grade::Open, format!("{} {} no interval ({LEAST_BLOCKS} needed)", plural(blocks, "block"), verb(blocks, "gives", "give")))
}

/// The grade of figures by the widths of their intervals, and why.
pub fn grade(blocks: u32, widths: &[Option<f64>], named: &str) -> (Grade, String) {
    let known: Vec<f64> = widths.iter().copied().flatten().collect();
    let missing = widths.len() - known.len();
    if blocks < LEAST_BLOCKS && missing > 0 {
        return too_few(blocks);
    }
    // Without an interval it is as wide as any.
    let all: Vec<f64> = widths.iter().map(|width| width.unwrap_or(f64::INFINITY)).collect();
    let (middle, most) = (median::median(&all).unwrap_or(f64::INFINITY), all.iter().copied().fold(0.0, f64::max));
    let reach = |width: f64| amount(width.sqrt() - 1.0);
    let within = match known.iter().copied().reduce(f64::min) {
        None => format!("no interval of {named}"),
        Some(_) if missing > 0 => {
            format!("{missing} of {} {} no interval", plural(widths.len() as u64, "figure"), verb(missing as u64, "has", "have"))
        }
        Some(least) if reach(least) == reach(most) => format!("{named} known within ±{} %", reach(most)),
        Some(least) => format!("{named} known within ±{} to ±{} %", reach(least), reach(most)),
    };
    if missing > 0 {
        return (if middle <= WIDTHS[1] { Grade::Rough } else { Grade::Open }, within);
    }
    let [settled, rough] = WIDTHS.map(reach);
    let at = if all.len() > 1 { " at the median size" } else { "" };
    match middle {
        middle if middle <= WIDTHS[0] && most <= WIDTHS[1] => (Grade::Settled, format!("{within}; ±{settled} %{at} is enough")),
        middle if middle <= WIDTHS[0] => (Grade::Rough, format!("{within}; settled needs ±{rough} % at every size")),
        middle if middle <= WIDTHS[1] => (Grade::Rough, format!("{within}; settled needs ±{settled} %{at}")),
        _ => (Grade::Open, format!("{within}; rough needs ±{rough} %{at}")),
    }
}

/// What a reader of single figures has to know: that CPUs were shared, that datagrams were lost, that lines could
/// not be read.
pub fn caveat(analysis: &Analysis) -> Option<String> {
    let unread = analysis.findings.iter().filter(|found| matches!(found.warning, Warning::BadLine { .. }));
    let unread = unread.map(|found| format!("{}.", found.text));
    let all: Vec<String> = busy(analysis).into_iter().chain(lost(analysis)).chain(unread).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// The reason for a grade of CPU time, and why it holds where CPUs were shared or datagrams lost: the time is of the
/// process alone, and per message that arrived.
pub fn untouched(analysis: &Analysis, reason: &str) -> String {
    let all = [busy(analysis).map(|_| "shared CPUs do not touch it"), lost(analysis).map(|_| "lost datagrams are counted in it")];
    std::iter::once(reason).chain(all.into_iter().flatten()).collect::<Vec<_>>().join("; ")
}

/// Where CPUs were shared, rates and times are those of the machine.
fn busy(analysis: &Analysis) -> Option<String> {
    if analysis.disturbed.waited == 0 {
        return None;
    }
    let waited = |cell: &CellResult| {
        let ends = [Metric::SenderRunDelayShare, Metric::ReceiverRunDelayShare];
        ends.iter().filter_map(|end| cell.metrics.get(end)).map(|share| share.value).reduce(f64::max)
    };
    let shares: Vec<f64> = analysis.cells.iter().filter_map(waited).collect();
    let count = format!("CPUs were shared in {} of {}", notation::whole(analysis.disturbed.waited), plural(analysis.trials, "trial"));
    match median::median(&shares)? {
        share if share > BUSY => Some(format!("{count}: rates and times are those of a busy machine.")),
        share if share > BUSY / 4.0 => Some(format!("{count}.")),
        _ => None,
    }
}

/// Where datagrams were lost, those that came have paid for them.
fn lost(analysis: &Analysis) -> Option<String> {
    let shares = analysis.cells.iter().filter(|cell| cell.metrics.contains_key(&Metric::CpuPerMessageNs) && cell.is_lossy());
    let shares = shares.filter_map(|cell| cell.metrics.get(&Metric::LossShare)).map(|share| share.value);
    let [least, most] = [f64::min, f64::max].map(|of| shares.clone().reduce(of));
    let (least, most) = (amount(least?), amount(most?));
    let share = if least == most { most } else { format!("{least} to {most}") };
    Some(format!("{share} % of datagrams were lost; CPU of both ends is per one that arrived."))
}

/// The answer.
pub fn of(analysis: &Analysis) -> Answer {
    let measured: Vec<&CellResult> = analysis.cells.iter().filter(|cell| judged_by(cell).is_some()).collect();
    let series = group_by(&measured, |cell| cell.cell.series());
    let series: Vec<Vec<&CellResult>> = series.into_iter().map(|(_, cells)| cells.into_iter().copied().collect()).collect();
    let widths: Vec<Option<f64>> = measured.iter().filter_map(|cell| judged_by(cell)).map(|(_, found)| width(found)).collect();
    let is_cpu = measured.iter().all(|cell| judged_by(cell).is_some_and(|(metric, _)| metric != Metric::TimePerMessageNs));
    let (grade, mut reason) = grade(analysis.blocks, &widths, if is_cpu { "CPU" } else { "time" });
    if grade == Grade::Settled && is_cpu {
        reason = untouched(analysis, &reason);
    }
    let mut parts: Vec<Part> = Vec::new();
    let mut clauses: Vec<String> = Vec::new();
    // Series of one test differ in settings, which take room: the first of them stands for all.
    let test = |cells: &[&CellResult]| cells.first().map(|cell| cell.cell.test);
    let alike = |cells: &[&CellResult]| series.iter().filter(|other| test(other) == test(cells)).count() > 1;
    let named = if series.first().is_some_and(|first| alike(first)) { 1 } else { MOST_NAMED };
    for cells in series.iter().take(named) {
        let by_size = |last: bool| {
            let sizes = cells.iter().map(|cell| cell.cell.size);
            let wanted = if last { sizes.max() } else { sizes.min() };
            cells.iter().find(|cell| Some(cell.cell.size) == wanted)
        };
        let (Some(first), Some(last)) = (by_size(false), by_size(true)) else { continue };
        let mut text = clause(first, clauses.is_empty(), alike(cells));
        parts.extend(part(first));
        if last.cell.size > first.cell.size
            && let Some((_, found)) = judged_by(last)
        {
            text += &format!(", {} {}", size(last.cell.size), time(found.value));
            parts.extend(part(last));
        }
        clauses.push(text);
    }
    let headline = match clauses.as_slice() {
        [] => "Nothing was measured.".to_owned(),
        clauses => sentence(clauses, &parts, series.len() - clauses.len()),
    };
    let brief = parts.first().map_or_else(
        || "nothing".to_owned(),
        |first| {
            let size = first.size.map_or_else(String::new, |bytes| format!("{}: ", size(bytes)));
            format!("{size}{} {}", time(first.value), if is_cpu { "CPU" } else { "time" })
        },
    );
    let next = (grade != Grade::Settled && !measured.is_empty()).then(|| match analysis.blocks < LEAST_BLOCKS {
        true => next::missing(analysis, LEAST_BLOCKS as usize),
        false => next::halve(analysis, "halve that"),
    });
    let question = format!("{}{}", analysis.run.plan.name, tests(analysis));
    Answer { parts, brief, next, caveat: caveat(analysis), ..Answer::new(question, headline, grade, reason) }
}

/// `, TCP and UDP`: what was asked of, in a word or two.
fn tests(analysis: &Analysis) -> String {
    let mut names: Vec<String> = Vec::new();
    for cell in &analysis.cells {
        let name = cell.cell.protocol().to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let size = match analysis.cells.as_slice() {
        [one] => format!(" {}", size(one.cell.size)),
        _ => String::new(),
    };
    if names.is_empty() { String::new() } else { format!(", {}{size}", notation::list(&names)) }
}

/// The clauses of the series as one sentence.
fn sentence(clauses: &[String], parts: &[Part], more: usize) -> String {
    let both = if parts.iter().all(|part| part.metric == Some(Metric::CpuPerMessageNs)) { "; both ends together" } else { "" };
    let more = if more > 0 { format!(" {more} more series.") } else { String::new() };
    let text = clauses.join("; ");
    let mut letters = text.chars();
    let first = letters.next().map_or_else(String::new, |first| first.to_uppercase().collect());
    format!("{first}{}{both}.{more}", letters.as_str())
}

/// `a 1 B UDP message costs 8.04 µs (7.12–9.01) of CPU`.
fn clause(cell: &CellResult, is_first: bool, is_one_of_several: bool) -> String {
    let Some((metric, found)) = judged_by(cell) else { return String::new() };
    let settings = if is_one_of_several { settings(&cell.cell) } else { String::new() };
    let arrives = if cell.is_lossy() && metric == Metric::CpuPerMessageNs { " that arrives" } else { "" };
    let subject = format!("a {} {}{settings}{arrives}", size(cell.cell.size), message(cell.cell.test));
    let figure = time_in(found.value, ends(found));
    match metric {
        // What the figure is was said of the first.
        _ if !is_first => format!("{subject} {figure}"),
        Metric::CpuPerMessageNs => format!("{subject} costs {figure} of CPU"),
        Metric::SenderCpuPerMessageNs => format!("{subject} costs the sender {figure} of CPU"),
        Metric::ReceiverCpuPerMessageNs => format!("{subject} costs the receiver {figure} of CPU"),
        _ => format!("{subject} takes {figure}"),
    }
}

/// What sets a series apart from others of its test: ` (reno)`.
fn settings(cell: &Cell) -> String {
    let name = cell.series().to_string();
    name.split_once(" (").map_or_else(String::new, |(_, rest)| format!(" ({rest}"))
}

fn part(cell: &CellResult) -> Option<Part> {
    let (metric, found) = judged_by(cell)?;
    let part = Part::figure(message(cell.cell.test), Some(metric), Some(cell.cell.size), found.value);
    Some(Part { interval: ends(found), ..part })
}
