//! Charts that answer a comparison: the change of each size against the threshold, and both sides by size.

use analysis::answer::notation;
use analysis::result::{Analysis, ArmVerdict, CellResult, Estimate, Interval, Metric};
use analysis::verdict::{CellVerdict, Comparison, MetricComparison, SideComparison, Verdict};

use super::words;
use crate::document::charts::{Change, Forest, Tint};
use crate::document::figure::{Panel, SizeAxis, Trace};
use crate::document::{Chart, Figure};
use crate::number;
use crate::series::{Group, billed_words, metric};
use crate::studies::charts::landmarks;
use crate::words::{capital, plural, writer};

/// Rows of a plot; the table has the rest.
const MOST_ROWS: usize = 16;
/// Series whose curves are drawn.
const MOST_CURVES: usize = 3;

/// The arms of a run: the changes of each candidate, then all arms by size.
pub fn arms(analysis: &Analysis, groups: &[Group]) -> Vec<Chart> {
    let verdicts = analysis.verdicts();
    let names = words::subjects(&analysis.cells);
    let changes = verdicts.iter().filter_map(|verdict| {
        let sides = [verdict.baseline.as_str(), verdict.candidate.as_str()];
        changes(&verdict.compared, sides, &names, &verdict.alike)
    });
    let curves = groups.iter().enumerate().filter_map(|(place, group)| curves(analysis, verdicts, group, place));
    changes.map(Chart::Forest).chain(curves.take(MOST_CURVES).map(Chart::Figure)).collect()
}

/// Changes of the first metric of the gate, cell by cell; of one cell those of every metric.
pub fn changes(compared: &SideComparison, [baseline, candidate]: [&str; 2], cells: &[String], alike: &[usize]) -> Option<Forest> {
    let first = compared.metrics.iter().find(|metric| metric.gate)?;
    let only = cells.len() == 1;
    let mut rows: Vec<Change> = match only {
        true => {
            compared.metrics.iter().filter_map(|one| change(capital(words::title(one.metric)), one.comparison.cells.first()?)).collect()
        }
        false => {
            let judged = first.comparison.cells.iter().enumerate().filter(|(place, _)| !alike.contains(place));
            judged.filter_map(|(place, judged)| change(cells.get(place)?.clone(), judged)).collect()
        }
    };
    let left = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    let common = if only { String::new() } else { take_common(&mut rows) };
    let title = if only {
        format!("{candidate} over {baseline}, {}", cells[0])
    } else {
        format!("{}: {candidate} over {baseline}{common}", first.metric.title())
    };
    let more = if left > 0 { format!(" The table has {}.", plural(left as u64, "more row")) } else { String::new() };
    let slug: String = candidate.chars().filter(char::is_ascii_alphanumeric).collect();
    (!rows.is_empty()).then(|| Forest {
        id: format!("change-{slug}-{}", first.metric as usize),
        title,
        caption: format!(
            "{} Band: ±{}, the threshold.{more}{}",
            pairs(&first.comparison),
            number::percent(first.comparison.threshold),
            billed(compared, first)
        ),
        sides: if only { ["less", "more"] } else { sides(first.metric) },
        axis: if only {
            "change, log scale".to_owned()
        } else {
            format!("change of {}, log scale", notation::uncapital(first.metric.title()))
        },
        threshold: first.comparison.threshold,
        rows,
    })
}

/// The share of the CPU times of both sides that was billed before the ends ran, as the last sentence of a caption.
fn billed(compared: &SideComparison, metric: &MetricComparison) -> String {
    let shares = metric.comparison.cells.iter().enumerate().filter_map(|(place, judged)| {
        let (billed, cpu) = (compared.billed(metric.metric, place)?.medians, judged.medians?);
        Some([billed[0] / cpu[0], billed[1] / cpu[1]])
    });
    billed_words(shares.flatten(), "the CPU time").map_or_else(String::new, |words| format!(" {words}"))
}

/// Takes the words off that the labels of all rows begin with, and returns them as the end of a title.
fn take_common(rows: &mut [Change]) -> String {
    let Some(first) = rows.first().filter(|_| rows.len() > 1) else { return String::new() };
    let ends = first.label.match_indices(' ').map(|(at, _)| at + 1);
    let shared =
        ends.filter(|end| rows.iter().all(|row| row.label.starts_with(&first.label[..*end])) && first.label[*end..].contains(' ')).max();
    let Some(common) = shared.map(|end| first.label[..end].to_owned()) else { return String::new() };
    for row in rows {
        row.label = row.label[common.len()..].to_owned();
    }
    format!(", {}", common.trim_end())
}

/// Values behind each change, and how many were left out.
fn pairs(comparison: &Comparison) -> String {
    let counts = || comparison.cells.iter().filter_map(|judged| Some(judged.ratio?.n));
    let dropped: usize = comparison.cells.iter().map(|judged| judged.dropped).sum();
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let unit = words::unit(comparison.design);
    let count = if least == most { plural(most as u64, unit) } else { format!("{least} to {}", plural(most as u64, unit)) };
    let left = if dropped > 0 { format!(", {dropped} left out without a figure") } else { String::new() };
    format!("{count} a row{left}.")
}

/// Words for less and for more of a metric.
const fn sides(metric: Metric) -> [&'static str; 2] {
    match metric {
        Metric::TimePerMessageNs => ["faster", "slower"],
        Metric::RoundTripP50Ns | Metric::RoundTripP99Ns => ["shorter", "longer"],
        _ => ["cheaper", "dearer"],
    }
}

fn change(label: String, judged: &CellVerdict) -> Option<Change> {
    let ratio = judged.ratio.filter(|ratio| ratio.value.is_finite())?;
    let share = ratio.value - 1.0;
    let (tint, said) = match judged.verdict {
        Verdict::Better => (Tint::Better, "better"),
        Verdict::Worse => (Tint::Worse, "worse"),
        Verdict::Mixed => (Tint::Worse, "mixed"),
        Verdict::Equivalent => (Tint::Same, "equivalent"),
        Verdict::Inconclusive { .. } => (Tint::Open, "open"),
        Verdict::NotEnoughBlocks { .. } => (Tint::Open, "too few blocks"),
    };
    let interval = ratio.interval.map(|ends| [ends.low - 1.0, ends.high - 1.0]);
    let ends = interval.map_or("no interval".to_owned(), |[low, high]| format!("{} to {}", notation::signed(low), notation::signed(high)));
    let figure = if tint == Tint::Open { format!("? {said}") } else { signed(share) };
    let hint = format!("{label}\n{}\n{ends}, {said}", signed(share));
    Some(Change { label, value: share, interval, tint, figure, ends, hint })
}

/// A change as a picture has it, with a space that does not break.
pub fn signed(share: f64) -> String {
    notation::change(share).replace(' ', "\u{a0}")
}

/// One series in every arm, by size: the baseline as it was measured, each candidate as the baseline times its
/// change within each block, so that the curves lie as far apart as the verdict says.
fn curves(analysis: &Analysis, verdicts: &[ArmVerdict], group: &Group, place: usize) -> Option<Figure> {
    let first = verdicts.first()?;
    let name = first.compared.metrics.iter().find(|metric| metric.gate)?.metric;
    let scale = if name.unit() == analysis::result::Unit::Nanoseconds { 1e-9 } else { 1.0 };
    let cells = || group.cells.iter().filter_map(|cell| Some((*cell, analysis.cells.iter().position(|one| std::ptr::eq(one, *cell))?)));
    let at = |cell: &CellResult| (cell.cell.size.get() as f64, format!("{} B", number::whole(cell.cell.size.get())));
    let judged = |verdict: &ArmVerdict, place: usize| -> Option<CellVerdict> {
        let metric = verdict.compared.metrics.iter().find(|one| one.metric == name)?;
        metric.comparison.cells.get(place).copied()
    };
    // At the table's level: a round of slices in the middle takes less than all slices do in the mean.
    let level = |cell: &CellResult, place: usize| {
        let measured = *metric(cell, name)?;
        let Some([level, _]) = judged(first, place).and_then(|judged| judged.medians) else { return Some(measured) };
        Some(times(&Estimate { value: level, ..measured }, &relative(&measured)))
    };
    let measured = cells().filter_map(|(cell, place)| Some((at(cell).0, at(cell).1, level(cell, place)?)));
    let baseline = Trace { base: true, ..Trace::measured(&first.baseline, 0, measured, scale, writer(name)) };
    let candidate = |(series, verdict): (usize, &ArmVerdict)| {
        let points = cells()
            .filter_map(|(cell, place)| Some((at(cell).0, at(cell).1, times(&level(cell, place)?, &judged(verdict, place)?.ratio?))));
        Trace::measured(&verdict.candidate, series + 1, points, scale, writer(name))
    };
    let traces: Vec<Trace> = std::iter::once(baseline).chain(verdicts.iter().enumerate().map(candidate)).collect();
    let sizes = || group.cells.iter().map(|cell| cell.cell.size.get());
    let axis = SizeAxis::over(sizes().min()?, sizes().max()?);
    let of = if analysis.cells.len() == group.cells.len() { String::new() } else { format!(", {}", group.cells.first()?.cell.series()) };
    let names = verdicts.iter().map(|verdict| verdict.candidate.as_str()).collect::<Vec<_>>().join(", ");
    Some(Figure {
        id: format!("arms-{place}").into(),
        title: format!("{} by size{of}", if verdicts.len() == 1 { "Both arms" } else { "All arms" }).into(),
        caption: format!(
            "{} is measured. Each figure of {names} is that of {}, multiplied by the change within each block. Bars: 95 % intervals.",
            first.baseline, first.baseline
        ),
        alt: format!("{} of {} and {names} against message size. The figures are in the table.", name.title(), first.baseline),
        sizes: Some(SizeAxis { landmarks: landmarks(analysis, &[(0, group)]), ..axis }),
        panels: vec![Panel::of(name.title(), if scale < 1.0 { "s" } else { "" })],
        traces,
    })
}

/// The baseline moved by a ratio, with the ratio's interval.
fn times(baseline: &Estimate, ratio: &Estimate) -> Estimate {
    let moved = |ends: Interval| Interval { low: baseline.value * ends.low, high: baseline.value * ends.high, ..ends };
    Estimate { value: baseline.value * ratio.value, interval: ratio.interval.map(moved), n: ratio.n }
}

/// A figure as a share of its value.
fn relative(figure: &Estimate) -> Estimate {
    let share = |ends: Interval| Interval { low: ends.low / figure.value, high: ends.high / figure.value, ..ends };
    Estimate { value: 1.0, interval: figure.interval.map(share), n: figure.n }
}

#[cfg(test)]
mod tests {
    use super::take_common;
    use crate::document::charts::{Change, Tint};

    #[test]
    fn labels_keep_what_sets_them_apart() {
        let row = |label: &str| Change {
            label: label.to_owned(),
            value: 0.0,
            interval: None,
            tint: Tint::Open,
            figure: String::new(),
            ends: String::new(),
            hint: String::new(),
        };
        let taken = |labels: &[&str]| {
            let mut rows: Vec<Change> = labels.iter().map(|label| row(label)).collect();
            let common = take_common(&mut rows);
            (common, rows.into_iter().map(|row| row.label).collect::<Vec<_>>())
        };
        let (common, rows) = taken(&["UDP_STREAM (a, b) 1 B", "UDP_STREAM (a, b) 16 B"]);
        assert_eq!((common.as_str(), rows), (", UDP_STREAM (a, b)", vec!["1 B".to_owned(), "16 B".to_owned()]));
        assert_eq!(taken(&["64 B", "16 KiB"]).0, "");
        assert_eq!(taken(&["TCP_STREAM 1 B", "UDP_STREAM 1 B"]).0, "");
        assert_eq!(taken(&["64 B"]).0, "");
    }
}
