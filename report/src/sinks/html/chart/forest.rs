//! Forest plots: a change and its interval for each cell, against the threshold that a verdict needs.

use maud::{Markup, html};

use super::layout::{LETTER, NARROW, Shape};
use super::marks::short;
use super::scale::Scale;
use crate::document::forest::{Change, Forest, Tint};

impl Tint {
    const fn class(self) -> &'static str {
        match self {
            Self::Worse => "c1",
            Self::Better => "c2",
            Self::Same => "c0",
            Self::Open => "c7",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Same => "equivalent",
            Self::Open => "inconclusive",
        }
    }
}

/// Room above the rows.
const TOP: f64 = 24.0;

/// The drawings of a page: one for wide screens, with the cells to the left, and one for narrow ones, with
/// each cell above its bar.
pub fn drawings(forest: &Forest) -> Markup {
    html! { (svg(forest, Shape::Wide)) (svg(forest, Shape::Column)) }
}

fn svg(forest: &Forest, shape: Shape) -> Markup {
    let wide = shape != Shape::Column;
    let (width, row, left) = if wide { (1080.0, 25.0, 330.0) } else { (560.0, 42.0, 16.0) };
    let right = width - 24.0;
    let bottom = TOP + row * forest.rows.len() as f64 + 6.0;
    let height = bottom + 46.0;
    let reach = reach(forest);
    let scale = Scale::Linear(-reach, reach);
    let x = |share: f64| left + scale.place(share.clamp(-reach, reach)).unwrap_or(0.5) * (right - left);
    let ticks = scale.round((right - left) * 0.5, "%");
    let alt = format!("{}: {}.", forest.title, forest.rows.iter().map(|one| one.hint.replace('\n', ", ")).collect::<Vec<_>>().join("; "));
    let band = [x(-forest.threshold), x(forest.threshold)];
    html! {
        svg .chart.forest .(shape.name()) data-axis="change" viewBox={ "0 0 " (short(width)) " " (short(height)) } role="img" aria-label=(alt)
            data-alone={ "0 -54 " (short(width)) " " (short(height + 54.0)) } {
            title { (forest.title) }
            rect .threshold x=(short(band[0])) y=(short(TOP - 4.0)) width=(short(band[1] - band[0])) height=(short(bottom - TOP + 4.0)) {}
            path .grid d=(ticks.iter().map(|(at, _)| format!("M{} {}V{}", short(left + at * (right - left)), short(TOP - 4.0), short(bottom))).collect::<String>()) {}
            path .axis d={ "M" (short(x(0.0))) " " (short(TOP - 4.0)) "V" (short(bottom)) "M" (short(left)) " " (short(bottom)) "H" (short(right)) } {}
            text .tx x=(short(x(0.0))) y="12" { "± threshold" }
            @for (place, one) in forest.rows.iter().enumerate() {
                @let top = TOP + row * place as f64;
                @let y = if wide { top + row / 2.0 } else { top + row * 0.72 };
                @if wide {
                    text .ty .strong[one.all] x=(short(left - 12.0)) y=(short(y + 4.0)) { (shortened(&one.label, 316.0)) }
                } @else {
                    text .strong[one.all] x="4" y=(short(top + 15.0)) { (shortened(&one.label, 540.0 / NARROW)) }
                }
                (change(one, [x(one.value), y], one.interval.map(|ends| ends.map(&x)), one.interval.map(|[low, high]| [low < -reach, high > reach])))
            }
            @for (at, text) in &ticks { text .tx x=(short(left + at * (right - left))) y=(short(bottom + 17.0)) { (text) } }
            text .title x=(short((left + right) / 2.0)) y=(short(bottom + 37.0)) { "change" }
            g .alone {
                text .heading x="8" y="-30" { (forest.title) }
                text x="8" y="-10" { (forest.caption) }
            }
        }
    }
}

fn change(one: &Change, [x, y]: [f64; 2], ends: Option<[f64; 2]>, cut: Option<[bool; 2]>) -> Markup {
    let mut bar = String::new();
    if let Some(([low, high], cut)) = ends.zip(cut) {
        bar = format!("M{} {y}H{}", short(low), short(high), y = short(y));
        for (end, cut, back) in [(low, cut[0], 5.0), (high, cut[1], -5.0)] {
            bar += &match cut {
                // An arrow: it goes on.
                true => format!(
                    "M{} {}L{} {}L{} {}",
                    short(end + back),
                    short(y - 4.0),
                    short(end),
                    short(y),
                    short(end + back),
                    short(y + 4.0)
                ),
                false => format!("M{} {}v7", short(end), short(y - 3.5)),
            };
        }
    }
    html! {
        g .s .(one.verdict.class()) data-series=(one.verdict as usize) {
            @if !bar.is_empty() { path .bars d=(bar) {} }
            @let outline = if one.all { "M0-5.5L7 0L0 5.5L-7 0Z" } else { "M-4-4H4V4H-4Z" };
            path .mark d=(outline) transform={ "translate(" (short(x)) " " (short(y)) ")" } { title { (one.hint) } }
        }
    }
}

/// Half of the axis: all changes and the threshold fit, and intervals unless they are much longer.
fn reach(forest: &Forest) -> f64 {
    let values = forest.rows.iter().map(|one| one.value.abs()).fold(forest.threshold * 1.5, f64::max);
    let ends = forest.rows.iter().filter_map(|one| one.interval).flatten().map(f64::abs).filter(|end| end.is_finite());
    ends.fold(values, f64::max).min(values * 3.0).max(1e-4) * 1.06
}

/// The text, cut where it is longer than the room.
fn shortened(text: &str, room: f64) -> String {
    let most = (room / LETTER) as usize;
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most.saturating_sub(1)).chain(['…']).collect() }
}

/// Names of the colours, for a legend.
pub fn key(forest: &Forest) -> Markup {
    let known = [Tint::Worse, Tint::Better, Tint::Same, Tint::Open];
    html! {
        @for tint in known.into_iter().filter(|tint| forest.rows.iter().any(|one| one.verdict == *tint)) {
            button type="button" data-chart=(forest.id) data-series=(tint as usize) aria-pressed="true" {
                svg .(tint.class()) viewBox="-6 -6 12 12" aria-hidden="true" { path .mark d="M-4-4H4V4H-4Z" {} }
                span { (tint.words()) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{drawings, reach};
    use crate::document::forest::{Change, Forest, Tint};

    fn forest(rows: &[(f64, [f64; 2])]) -> Forest {
        let one = |(value, ends): &(f64, [f64; 2])| Change {
            label: "<b>UDP_STREAM</b> 1448 B".into(),
            value: *value,
            interval: Some(*ends),
            verdict: Tint::Open,
            hint: "one\ntwo".into(),
            all: false,
        };
        let rows = rows.iter().map(one).collect();
        Forest { id: "f".into(), title: "Sender CPU".into(), caption: String::new(), threshold: 0.02, rows }
    }

    #[test]
    fn one_wild_interval_leaves_room_for_the_rest() {
        let wild = forest(&[(0.01, [-0.01, 0.03]), (0.02, [-0.9, 2.8])]);
        assert!(reach(&wild) < 0.1, "{}", reach(&wild));
        let text = drawings(&wild).into_string();
        assert!(!text.contains("<b>") && text.contains("&lt;b&gt;") && !text.contains("NaN"));
        assert_eq!(text.matches("class=\"mark\"").count(), 4, "two cells, on a wide and a narrow screen");
    }

    #[test]
    fn nothing_to_tell_apart_still_has_an_axis() {
        assert!(reach(&Forest { threshold: 0.0, ..forest(&[(0.0, [0.0, 0.0])]) }) > 0.0);
        assert!(!drawings(&forest(&[(f64::NAN, [f64::NAN, f64::INFINITY])])).into_string().contains("NaN"));
    }
}
