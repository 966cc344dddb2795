//! Ribbons: the best choice by size as coloured stretches of one bar. A boundary is hatched over its interval.

use maud::{Markup, html};

use super::frame;
use super::layout::{BOLD, LETTER, Shape, TICKS_APART, long};
use super::marks::short;
use super::scale::{Scale, Tick, thinned};
use crate::document::charts::{Ribbon, Span};
use crate::number;

/// Height of the bar, of its ticks below it, and of a row of names that have no room in the bar.
const BAR: f64 = 28.0;
const FOOT: f64 = 24.0;
const ROW: f64 = 18.0;
/// Distance of hatches.
const HATCH: f64 = 6.0;

/// The drawings of a page: for a wide screen and for a narrow one.
pub fn drawings(ribbon: &Ribbon, shape: Shape) -> Markup {
    html! { (svg(ribbon, shape)) (svg(ribbon, Shape::Narrow)) }
}

fn svg(ribbon: &Ribbon, shape: Shape) -> Markup {
    let width = shape.width();
    let ends = [ribbon.sizes.first(), ribbon.sizes.last()].map(|size| size.map_or(1.0, |size| *size as f64));
    let scale = Scale::Log(ends[0], ends[1].max(ends[0] * 1.01));
    let x = |size: f64| scale.place(size).unwrap_or(0.0).clamp(0.0, 1.0) * width;
    // The part of a stretch that no hatches cover.
    let free = |span: &Span| {
        let within = ribbon.unsure.iter().map(|ends| ends.map(&x));
        within.fold([x(span.from), x(span.to)], |[from, to], [low, high]| match () {
            () if low <= from => [from.max(high.min(to)), to],
            () if high >= to => [from, to.min(low.max(from))],
            () => [from, to],
        })
    };
    let fits = |span: &Span| free(span)[1] - free(span)[0] > long(&span.name, BOLD) + 8.0;
    let outside: Vec<&Span> = ribbon.spans.iter().filter(|span| !fits(span)).collect();
    let ticks: Vec<Tick> = ribbon.sizes.iter().filter_map(|size| Some((scale.place(*size as f64)?, number::size(*size)))).collect();
    let ticks = thinned(ticks, |text| TICKS_APART.max(long(text, LETTER) + LETTER) / width);
    let height = BAR + FOOT + ROW * outside.len() as f64;
    let (alone, above) = frame::alone(&ribbon.title, width);
    html! {
        svg .chart.ribbon .(shape.name()) viewBox={ "0 0 " (short(width)) " " (short(height)) } role="img" aria-label=(ribbon.alt)
            data-alone={ "0 -" (short(above)) " " (short(width)) " " (short(height + above)) } {
            title { (ribbon.title) }
            @for span in &ribbon.spans {
                @let (from, to) = (x(span.from), x(span.to));
                g .s .{ "c" (span.series) } data-series="0" {
                    rect .mark.part x=(short(from)) y="0" width=(short((to - from).max(1.0))) height=(short(BAR)) {
                        title { (span.name) "\n" (bytes(span.from)) " to " (bytes(span.to)) " B" }
                    }
                    @if fits(span) { text .within x=(short((free(span)[0] + free(span)[1]) / 2.0)) y=(short(BAR / 2.0 + 4.0)) { (span.name) } }
                }
            }
            @for [low, high] in &ribbon.unsure {
                path .hatch d=(hatches([x(*low), x(*high)])) {}
            }
            @for (at, text) in &ticks {
                @let half = long(text, LETTER) / 2.0 + 1.0;
                text .tx x=(short((at * width).max(half).min(width - half))) y=(short(BAR + 16.0)) { (text) }
            }
            @for (row, span) in outside.iter().enumerate() {
                @let y = BAR + FOOT + ROW * row as f64;
                g .{ "c" (span.series) } {
                    rect .part x="0" y=(short(y + 2.0)) width="12" height="12" {}
                    text .name x="18" y=(short(y + 12.0)) { (span.name) ", " (bytes(span.from)) " to " (bytes(span.to)) " B" }
                }
            }
            (alone)
        }
    }
}

fn bytes(size: f64) -> String {
    number::whole(size.round() as u64)
}

/// Slanted strokes over a stretch of the bar.
fn hatches([from, to]: [f64; 2]) -> String {
    let count = ((to - from).max(0.0) / HATCH).floor().min(400.0) as usize;
    (0..=count).map(|place| format!("M{} {}l6 -{}", short(from + HATCH * place as f64 - 3.0), short(BAR), short(BAR))).collect()
}

#[cfg(test)]
mod tests {
    use super::drawings;
    use crate::document::charts::{Ribbon, Span};
    use crate::sinks::html::chart::Shape;

    #[test]
    fn names_that_have_no_room_stand_below() {
        let span = |name: &str, from: f64, to: f64, series| Span { name: name.to_owned(), series, from, to };
        let ribbon = Ribbon {
            id: "r".into(),
            title: "Cheapest by size".into(),
            caption: String::new(),
            alt: String::new(),
            sizes: vec![1, 64, 1_024],
            spans: vec![span("send", 1.0, 900.0, 0), span("sendmmsg ×32 <b>", 900.0, 1_024.0, 1)],
            unsure: vec![[800.0, 1_000.0]],
        };
        let text = drawings(&ribbon, Shape::Wide).into_string();
        assert_eq!((text.matches("class=\"within\"").count(), text.matches("class=\"name\"").count()), (2, 2), "{text}");
        assert!(text.contains("class=\"hatch\"") && !text.contains("NaN") && !text.contains("<b>"));
    }
}
