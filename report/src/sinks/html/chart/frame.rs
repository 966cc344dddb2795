//! Frame of a chart: grid, ticks, titles, and what is marked on its axis of sizes.

use maud::{Markup, html};
use model::sorting::Order;

use super::layout::{LETTER, Label, Layout, long};
use super::marks::{colour, short};
use super::scale::Scale;
use super::waterfall::wrapped;
use crate::document::figure::Figure;

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
            path .axis d={ "M" (short(left)) " " (short(bottom)) "H" (short(right)) } {}
            @if let Some(zero) = area.down(0.0).filter(|zero| panel.unit == "%" && (area.top..bottom - 1.0).contains(zero)) {
                path .axis d={ "M" (short(left)) " " (short(zero)) "H" (short(right)) } {}
            }
            text .unit x="0" y=(short(area.top - 9.0)) { (panel.title) @if panel.log_ticks.is_some() { ", log scale" } }
            @for (at, text) in &area.ticks {
                text .ty x=(short(left - 7.0)) y=(short(bottom - at * area.height + 4.0)) { (text) }
            }
        }
        @for (place, (at, (_, text))) in across.iter().zip(&layout.ticks).enumerate() {
            @let lower = layout.staggered && place % 2 == 1;
            @let half = long(text, LETTER) / 2.0 + 1.0;
            text .tx x=(short(at.min(layout.width - half))) y=(short(last + if lower { 30.0 } else { 16.0 })) { (text) }
        }
        @if let Some(sizes) = &figure.sizes {
            text .title x=(short((left + right) / 2.0)) y=(short(last + 34.0)) {
                (sizes.title.unwrap_or("message size, B")) @if matches!(layout.x, Scale::Log(..)) && sizes.title.is_none() { ", log scale" }
            }
        }
    }
}

/// Names of the lines.
pub fn names(layout: &Layout) -> Markup {
    html! {
        @for label in &layout.labels {
            @let [x, y] = label.at;
            g .(colour(label.trace)) .hollow[label.trace.hollow] .barred[label.trace.barred] {
                @if label.above { path .line d={ "M" (short(x - 22.0)) " " (short(y - 4.0)) "h18" } {} }
                @for (line, text) in label.lines.iter().enumerate() {
                    text .name x=(short(x)) y=(short(y + 16.0 * line as f64)) { (text) }
                }
            }
        }
    }
}

/// Distance of rows of names.
const ROW: f64 = 14.0;

/// Lines at sizes that a reader knows, each with its name.
pub fn landmarks(figure: &Figure, layout: &Layout) -> Markup {
    let Some(first) = layout.panels.first() else { return html! {} };
    let marks = figure.sizes.iter().flat_map(|sizes| &sizes.landmarks);
    let placed = marks.filter_map(|mark| Some((layout.across(mark.at)?, mark)));
    let mut placed: Vec<_> = placed.filter(|(at, _)| (layout.ends[0]..=layout.ends[1]).contains(at)).collect();
    placed.order_by(|a, b| a.0.total_cmp(&b.0));
    // Names of one place share a text; one that would touch another stands a line lower.
    let mut names: Vec<(f64, String)> = Vec::new();
    for (at, mark) in &placed {
        match names.last_mut() {
            Some((before, text)) if *at < *before + 4.0 => {
                if !text.split(", ").any(|name| name == mark.name) {
                    *text += &format!(", {}", mark.name);
                }
            }
            _ => names.push((*at, mark.name.clone())),
        }
    }
    let mut taken: Vec<([f64; 2], usize)> = Vec::new();
    let mut texts = Vec::new();
    let down = |row: usize| first.top + 11.0 + ROW * row as f64;
    for (at, mut name) in names {
        let wide = |name: &str| long(name, LETTER) + LETTER / 2.0;
        // To the right of the panel there are names of lines.
        let fits = at + 4.0 + wide(&name) < layout.width;
        let crosses = |name: &str| placed.iter().any(|(other, _)| (at - 4.0 - wide(name)..at - 4.0).contains(other));
        if !fits && crosses(&name) {
            // It would seem to name the line that it crosses.
            name += " →";
        }
        let reach = if fits { [at + 4.0, at + 4.0 + wide(&name)] } else { [at - 4.0 - wide(&name), at - 4.0] };
        let is_named = |row: usize| {
            let near = |label: &Label| !label.above && (label.at[1] - down(row)).abs() < ROW;
            reach[1] > layout.ends[1] && layout.labels.iter().any(near)
        };
        let touches = |row: usize| taken.iter().any(|(other, of)| *of == row && reach[0] < other[1] && other[0] < reach[1]);
        let is_free = |row: &usize| !touches(*row) && !is_named(*row);
        let rows = 0..(first.height / ROW) as usize;
        let clear = rows.clone().filter(is_free).find(|row| !layout.is_crossed(figure, reach, [down(*row) - 11.0, down(*row) + 4.0]));
        let row = clear.or_else(|| rows.clone().find(is_free)).unwrap_or(0);
        taken.push((reach, row));
        texts.push((if fits { reach[0] } else { reach[1] }, fits, row, name));
    }
    html! {
        @for (at, mark) in &placed {
            @let lines = layout.panels.iter().map(|area| format!("M{} {}v{}", short(*at), short(area.top), short(area.height)));
            path .landmark d=(lines.collect::<String>()) { title { (mark.hint) } }
        }
        @for (at, fits, row, name) in &texts {
            text .landmark .ty[!fits] x=(short(*at)) y=(short(down(*row))) { (name) }
        }
    }
}

/// Width of a letter of such a title, in pixels: most are narrower.
const TITLE_LETTER: f64 = 9.0;
/// Height of one of its lines.
const LINE: f64 = 20.0;

/// The title, which a page shows outside the drawing and a saved picture in it, in lines as wide as the drawing; and
/// its height.
pub fn alone(title: &str, width: f64) -> (Markup, f64) {
    let lines = wrapped(title, (width / TITLE_LETTER) as usize);
    let line = |at: usize| -14.0 - LINE * (lines.len() - 1 - at) as f64;
    let drawn = html! { g .alone { @for (at, words) in lines.iter().enumerate() { text .heading x="0" y=(short(line(at))) { (words) } } } };
    (drawn, 16.0 + LINE * lines.len() as f64)
}
