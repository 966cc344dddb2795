//! Marks of a chart: points with their intervals, lines through them and of models, stacks.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::layout::{Layout, Point};
use crate::document::figure::{Figure, Trace, X};

/// Colours of series before they come again.
const COLOURS: usize = 8;
/// Neighbours of a line that a boundary lies between, and that stand no farther apart, are not joined.
const JUMP: f64 = 16.0;

/// Class of a trace, which gives it its colour and its dashes.
pub fn colour(trace: &Trace) -> String {
    if trace.stacked { format!("a{}", trace.series) } else { format!("c{}", trace.series % COLOURS) }
}

/// A coordinate, to a tenth.
pub fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Everything that is drawn of a figure's traces, panel by panel.
pub fn all(figure: &Figure, layout: &Layout) -> Markup {
    html! {
        @for panel in 0..layout.panels.len() {
            @let of = |wanted: fn(&Trace) -> bool| -> Vec<&Trace> { figure.traces.iter().filter(|trace| trace.panel == panel && wanted(trace)).collect() };
            (stacks(&of(|trace| trace.stacked), layout, panel))
            @let models = of(|trace| trace.model);
            @for trace in &models { (model(trace, layout)) }
            @let (points, crowded) = layout.points(&of(|trace| !trace.model && !trace.stacked), panel);
            @for (trace, points) in &points {
                // Points are joined by a line unless a model's line runs through them.
                @let scattered = figure.panels[panel].unit == "%" && !figure.panels[panel].joined;
                @let joined = !scattered && !trace.apart && models.iter().all(|model| model.series != trace.series);
                @let boundaries: Vec<f64> = figure.sizes.iter().flat_map(|sizes| &sizes.landmarks).map(|mark| mark.at).collect();
                (series(trace, points, joined.then_some(boundaries.as_slice()), crowded, layout.plain || trace.hover.is_empty()))
            }
        }
    }
}

fn group(trace: &Trace, content: &Markup) -> Markup {
    let name = (!trace.hover.is_empty()).then_some(&trace.name);
    html! { g .s .(colour(trace)) .hollow[trace.hollow] .barred[trace.barred] data-series=(trace.row()) data-name=[name] { (content) } }
}

/// The points of a trace, joined by a line between `boundaries`, if they are.
fn series(trace: &Trace, points: &[Point], boundaries: Option<&[f64]>, crowded: bool, plain: bool) -> Markup {
    let known = points.iter().any(|point| (point.ends[1] - point.ends[0]).abs() > 0.05);
    group(
        trace,
        &html! {
            @if known && crowded { path .band d=(band(trace, points)) {} }
            @if let Some(boundaries) = boundaries.filter(|_| points.len() > 1) { path .line d=(path(&line(trace, points, boundaries))) {} }
            @if known && !crowded { path .bars d=(bars(points, !plain)) {} }
            @if plain {
                path .dots d=(dots(points)) {}
                @if trace.hollow { path .dots .inner d=(dots(points)) {} }
            } @else {
                @for point in points { (mark(trace, point)) }
            }
        },
    )
}

fn mark(trace: &Trace, point: &Point) -> Markup {
    let hover = trace.hover.get(point.of).map_or("", String::as_str);
    let [x, y] = point.at.map(short);
    let radius = if point.room { "3.8" } else { "1.8" };
    html! { circle .mark .dot[!point.room] r=(radius) cx=(x) cy=(y) { title { (hover) } } }
}

/// Places of points, with a gap where the trace has one, and where a boundary lies between two that
/// are near: a stroke there would look like a slope.
fn line(trace: &Trace, points: &[Point], boundaries: &[f64]) -> Vec<Option<[f64; 2]>> {
    let sizes: &[f64] = if let X::Sizes(sizes) = &trace.x { sizes } else { &[] };
    let point = |place: usize| points.iter().find(|point| point.of == place);
    let jumps = |place: usize| {
        let between = place.checked_sub(1).and_then(|before| Some([*sizes.get(before)?, *sizes.get(place)?]));
        let near = || point(place).zip(point(place - 1)).is_some_and(|(to, from)| to.at[0] - from.at[0] < JUMP);
        between.is_some_and(|[from, to]| boundaries.iter().any(|at| from <= *at && *at < to) && near())
    };
    let mut all = Vec::with_capacity(trace.y.len());
    for place in 0..trace.y.len() {
        all.extend(jumps(place).then_some(None));
        all.push(point(place).map(|point| point.at));
    }
    all
}

/// A line through points, interrupted at gaps.
fn path(points: &[Option<[f64; 2]>]) -> String {
    let mut text = String::new();
    let mut open = false;
    for point in points {
        let Some(at) = point else {
            open = false;
            continue;
        };
        let [x, y] = at.map(short);
        // Writing to a string cannot fail.
        let _ = write!(text, "{}{x} {y}", if open { 'L' } else { 'M' });
        open = true;
    }
    text
}

/// Marks that say nothing to a reader who points at them: strokes without a length, whose ends are round.
fn dots(points: &[Point]) -> String {
    points.iter().map(|point| format!("M{} {}h0", short(point.at[0]), short(point.at[1]))).collect()
}

/// Intervals as bars, with caps if asked for; an end beyond the panel has none.
fn bars(points: &[Point], caps: bool) -> String {
    let mut text = String::new();
    for point in points.iter().filter(|point| (point.ends[1] - point.ends[0]).abs() > 0.05) {
        let [x, high, low] = [point.bar, point.ends[0], point.ends[1]].map(short);
        let _ = write!(text, "M{x} {high}V{low}");
        for side in [0, 1].into_iter().filter(|side| caps || point.cut[*side]) {
            let y = point.ends[side];
            let _ = match point.cut[side] {
                false => write!(text, "M{} {}h5", short(point.bar - 2.5), short(y)),
                // An arrow: it goes on.
                true => {
                    let (tip, back) = (short(y), short(if side == 0 { y + 4.0 } else { y - 4.0 }));
                    write!(text, "M{} {back}L{x} {tip}L{} {back}", short(point.bar - 3.0), short(point.bar + 3.0))
                }
            };
        }
    }
    text
}

/// Intervals as one band.
fn band(trace: &Trace, points: &[Point]) -> String {
    let mut text = String::new();
    let all: Vec<Option<&Point>> = (0..trace.y.len()).map(|place| points.iter().find(|point| point.of == place)).collect();
    for run in all.split(Option::is_none) {
        let run: Vec<&Point> = run.iter().copied().flatten().collect();
        let edge = |side: usize| run.iter().map(move |point| Some([point.at[0], point.ends[side]]));
        let outline: Vec<Option<[f64; 2]>> = edge(0).chain(edge(1).rev()).collect();
        text += &path(&outline);
        text += if outline.is_empty() { "" } else { "Z" };
    }
    text
}

fn model(trace: &Trace, layout: &Layout) -> Markup {
    let area = &layout.panels[trace.panel];
    let places = layout.places(trace).into_iter().zip(&trace.y).map(|(at, height)| {
        let [at, height] = [at?, area.down((*height)?)?];
        // What lies far outside says no more than what lies at the edge.
        Some([at, height.clamp(area.top - 4.0, area.top + area.height + 4.0)])
    });
    group(trace, &html! { path .model d=(path(&places.collect::<Vec<_>>())) {} })
}

/// Bars upon each other, one for each name.
fn stacks(traces: &[&Trace], layout: &Layout, panel: usize) -> Markup {
    let area = &layout.panels[panel];
    let step = (layout.ends[1] - layout.ends[0]) / layout.names.len().max(1) as f64;
    let width = (step * 0.68).min(64.0);
    let mut below = vec![0.0; layout.names.len()];
    let mut part = |trace: &Trace, of: usize, at: Option<f64>| {
        let height = trace.y.get(of).copied().flatten().unwrap_or(0.0).max(0.0);
        let sum = below.get_mut(of)?;
        let (bottom, top) = (area.down(*sum)?, area.down(*sum + height)?);
        *sum += height;
        (bottom - top > 0.05).then_some([at? - width / 2.0, top, bottom - top])
    };
    html! {
        @for trace in traces {
            @let places = layout.places(trace).into_iter().enumerate();
            @let parts = places.filter_map(|(of, at)| Some((trace.hover.get(of), part(trace, of, at)?)));
            (group(trace, &html! {
                @for (hover, [x, y, height]) in parts {
                    rect .mark.part x=(short(x)) y=(short(y)) width=(short(width)) height=(format!("{height:.2}")) {
                        @if !layout.plain { title { (hover.map_or("", String::as_str)) } }
                    }
                }
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{path, short};

    #[test]
    fn coordinates_are_short() {
        assert_eq!([short(1.04), short(-0.01), short(12.34)], ["1", "0", "12.3"]);
    }

    #[test]
    fn a_gap_lifts_the_pen() {
        assert_eq!(path(&[Some([0.0, 1.0]), Some([2.0, 1.0]), None, Some([3.0, 0.0])]), "M0 1L2 1M3 0");
        assert_eq!(path(&[]), "");
    }
}
