//! Trials over time: what disturbed which of them, and by how much it moved them.

use analysis::result::{Analysis, TrialPoint, TrialState};
use model::sorting::Order;

use crate::document::figure::{Figure, Panel, SizeAxis, Ticks, Trace};
use crate::document::{Block, Section};
use crate::number;
use crate::words::plural;

/// Trials that are drawn: of more, every second, every third and so on.
const MOST: usize = 900;

/// The strip; `None` of a run with too few trials for one.
pub fn section(analysis: &Analysis) -> Option<Section> {
    let figure = strip(analysis)?;
    let lead = "Each mark is a trial: its time per message, over the median of its cell. Marks away from 1 that share a colour and an hour \
                say what widened the intervals.";
    let figure = Block::figures(vec![figure])?;
    let finding = format!("{} over time{}", plural(analysis.trials, "trial"), spread(analysis));
    let figure = Block::everything("Time per message of each trial", [Block::Lead(lead.into()), figure]);
    Some(Section::new("trials", "Trials over time", figure).folded(finding))
}

/// How far the middle half of the trials lies from the medians of their cells.
fn spread(analysis: &Analysis) -> String {
    let mut ratios: Vec<f64> = analysis.timeline.iter().filter_map(|point| point.ratio).filter(|ratio| ratio.is_finite()).collect();
    ratios.order_by(f64::total_cmp);
    let at = |share: f64| ratios.get((ratios.len() as f64 * share) as usize).copied().map(times);
    at(0.25).zip(at(0.75)).map_or_else(String::new, |(low, high)| format!(": half of them took {low} to {high} of their median"))
}

const fn name(state: TrialState) -> &'static str {
    match state {
        TrialState::Sound => "undisturbed",
        TrialState::Doubted => "another warning",
        TrialState::Misaligned => "an end was late",
        TrialState::Throttled => "a CPU was slowed down",
        TrialState::Waited => "waited for a CPU",
        TrialState::Stolen => "CPU taken by the hypervisor",
        TrialState::Failed => "failed",
    }
}

fn strip(analysis: &Analysis) -> Option<Figure> {
    let all = &analysis.timeline;
    let (first, last) = (all.first()?.started_ms, all.last()?.started_ms);
    if all.len() < 3 || first == last {
        return None;
    }
    let each = all.len().div_ceil(MOST);
    let drawn: Vec<&TrialPoint> = all.iter().step_by(each).collect();
    let minutes = |point: &TrialPoint| (point.started_ms - first) as f64 / 60_000.0;
    // Seconds of a short run, hours of a long one.
    let (title, scale) = match (last - first) as f64 / 60_000.0 {
        length if length < 3.0 => ("seconds since the first trial", 60.0),
        length if length > 180.0 => ("hours since the first trial", 1.0 / 60.0),
        _ => ("minutes since the first trial", 1.0),
    };
    let trace = |(series, state): (usize, TrialState)| {
        let points = drawn.iter().filter(|point| point.state == state).map(|point| {
            let cell = analysis.cells.get(point.cell).map_or("", |cell| cell.label.as_str());
            let ratio = point.ratio.unwrap_or(1.0);
            let figure = point.ratio.map_or_else(|| "failed".to_owned(), |ratio| format!("{} of the cell's median", times(ratio)));
            (minutes(point) * scale, ratio, format!("{cell}, block {}", point.block + 1), figure)
        });
        // The usual is grey: the others stand out.
        Trace { base: state == TrialState::Sound, ..Trace::points(name(state), series, points) }
    };
    let traces: Vec<Trace> = TrialState::ALL.into_iter().enumerate().map(trace).filter(|trace| !trace.is_empty()).collect();
    let at: Vec<f64> = [0.1, 0.2, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0].to_vec();
    let text = at.iter().map(|ratio| times(*ratio)).collect();
    let counts: Vec<String> = TrialState::ALL
        .into_iter()
        .map(|state| (state, all.iter().filter(|point| point.state == state).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(state, count)| format!("{} {}", number::whole(count as u64), name(state)))
        .collect();
    let caption = match each {
        1 => format!("{}: {}.", plural(all.len() as u64, "trial"), counts.join(", ")),
        each => format!("One of {each} of {}: {}.", plural(all.len() as u64, "trial"), counts.join(", ")),
    };
    let axis = SizeAxis::of_numbers(title, 0.0, (last - first) as f64 / 60_000.0 * scale, false);
    Some(Figure {
        id: "trials".into(),
        title: "Time per message of each trial".into(),
        alt: format!("Trials over time. {caption}"),
        caption,
        sizes: Some(SizeAxis { log_ticks: Ticks::default(), ..axis }),
        panels: vec![Panel { unit: "%", log_ticks: Some(Ticks { at, text }), ..Panel::of("over the cell's median", "%") }],
        traces,
    })
}

/// `×1.25`.
fn times(ratio: f64) -> String {
    let text = number::significant(ratio, 3);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("×{text}")
}
