//! Frame of a chart: grid, ticks, titles, and what is marked on its axis of sizes.

use maud::{Markup, html};
use model::order::Order;

use super::layout::{LETTER, Layout, NARROW};
use super::marks::{colour, outline, short};
use crate::document::figure::{Figure, Trace};

/// Grid, axes and ticks.
pub fn axes(figure: &Figure, layout: &Layout) -> Markup {
    let [left, right] = layout.ends;
    let last = layout.panels.last().map_or(0.0, |panel| panel.top + panel.height);
    let across = layout.x_places();
    html! {
        @for (area, panel) in layout.panels.iter().zip(&figure.panels) {
            @let bottom = area.top + area.height;
            @let lines = area.ticks.iter().map(|(at, _)| format!("M{} {}H{}", short(left), short(bottom - at * area.height), short(right)));
            path .grid d=(lines.collect::<String>()) {}
            @if figure.sizes.is_some() {
                @let lines = across.iter().map(|at| format!("M{} {}V{}", short(*at), short(area.top), short(bottom)));
                path .grid d=(lines.collect::<String>()) {}
            }
            path .axis d={ "M" (short(left)) " " (short(area.top)) "V" (short(bottom)) "H" (short(right)) } {}
            @if let Some(zero) = area.down(0.0).filter(|zero| panel.unit == "%" && (area.top..bottom - 1.0).contains(zero)) {
                path .axis d={ "M" (short(left)) " " (short(zero)) "H" (short(right)) } {}
            }
            text .unit x=(short(left - 2.0)) y=(short(area.top - 9.0)) { (panel.title) }
            @for (at, text) in &area.ticks {
                text .ty x=(short(left - 7.0)) y=(short(bottom - at * area.height + 4.0)) { (text) }
            }
        }
        @for (place, (at, (_, text))) in across.iter().zip(&layout.ticks).enumerate() {
            text .tx .every-other[place % 2 == 1 && layout.ticks.len() > 5] x=(short(*at)) y=(short(last + 18.0)) { (text) }
        }
        @if let Some(sizes) = &figure.sizes {
            text .title x=(short((left + right) / 2.0)) y=(short(last + 38.0)) { (sizes.title.unwrap_or("message size, B")) }
        }
    }
}

/// Lines at sizes that a reader knows, each with its name.
pub fn landmarks(figure: &Figure, layout: &Layout) -> Markup {
    let Some(first) = layout.panels.first() else { return html! {} };
    let marks = figure.sizes.iter().flat_map(|sizes| &sizes.landmarks);
    let placed = marks.filter_map(|mark| Some((layout.across(mark.at)?, mark)));
    let mut placed: Vec<_> = placed.filter(|(at, _)| (layout.ends[0]..=layout.ends[1]).contains(at)).collect();
    placed.order_by(|a, b| a.0.total_cmp(&b.0));
    // Names of one place share a text; one that would touch the last stands a line lower.
    let mut names: Vec<(f64, f64, usize, String)> = Vec::new();
    for (at, mark) in &placed {
        let end = |text: &str| at + (text.chars().count() as f64 + 2.0) * LETTER * NARROW;
        match names.last_mut() {
            Some((before, far, _, text)) if *at < *before + 4.0 => {
                if !text.split(", ").any(|name| name == mark.name) {
                    *text += &format!(", {}", mark.name);
                }
                *far = end(text);
            }
            Some((_, far, row, _)) if *at < *far => {
                let row = *row + 1;
                names.push((*at, end(&mark.name), row, mark.name.clone()));
            }
            _ => names.push((*at, end(&mark.name), 0, mark.name.clone())),
        }
    }
    html! {
        @for (at, mark) in &placed {
            @let lines = layout.panels.iter().map(|area| format!("M{} {}v{}", short(*at), short(area.top), short(area.height)));
            path .landmark d=(lines.collect::<String>()) { title { (mark.hint) } }
        }
        @for (at, end, row, name) in &names {
            @let fits = *end < layout.ends[1];
            @let y = first.top + 11.0 + 14.0 * *row as f64;
            text .landmark .ty[!fits] x=(short(if fits { at + 4.0 } else { at - 4.0 })) y=(short(y)) { (name) }
        }
    }
}

/// Title and legend, which a page shows outside the drawing and a saved picture in it; and their height.
pub fn alone(figure: &Figure, layout: &Layout) -> (Markup, f64) {
    let named: Vec<&Trace> = figure.traces.iter().filter(|trace| trace.legend).collect();
    let (mut x, mut row) = (12.0, 0.0);
    let places: Vec<[f64; 2]> = named
        .iter()
        .map(|trace| {
            let width = 30.0 + trace.name.chars().count() as f64 * LETTER;
            if x > 12.0 && x + width > layout.width {
                (x, row) = (12.0, row + 20.0);
            }
            let at = [x, row];
            x += width;
            at
        })
        .collect();
    let height = 54.0 + row;
    let drawing = html! {
        g .alone {
            text .heading x="8" y=(short(24.0 - height)) { (figure.title) }
            @for (trace, [x, y]) in named.iter().zip(&places) {
                g .(colour(trace)) .hollow[trace.hollow] data-series=(trace.switch()) {
                    path .mark d=(outline(trace)) transform={ "translate(" (short(x + 4.0)) " " (short(y + 42.0 - height)) ")" } {}
                    text x=(short(x + 13.0)) y=(short(y + 46.0 - height)) { (trace.name) }
                }
            }
        }
    };
    (drawing, height)
}
