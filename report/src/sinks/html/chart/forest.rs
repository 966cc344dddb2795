//! Forest plots: changes and their intervals against the threshold that a verdict needs.
//!
//! The axis is of the logarithm of the ratio, labelled in per cent: twice and half lie equally far
//! from none, and -100 % is never reached. It ends where the intervals do. What an interval has beyond a factor
//! of ten from every change is cut, with an arrow; a change never is.

use maud::{Markup, html};

use super::frame;
use super::layout::{BOLD, LETTER, Shape, TICKS_APART, long};
use super::marks::short;
use super::scale::{Tick, apart};
use crate::document::charts::{Change, Forest, Tint};

impl Tint {
    const fn class(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Same => "same",
            Self::Open => "open",
            Self::Barred => "barred",
        }
    }
}

/// Factor beyond the changes at which an interval is cut.
const MOST: f64 = 10.0;
/// Changes that an axis may label.
const TICKS: [f64; 26] = [
    -0.99, -0.98, -0.95, -0.9, -0.8, -0.7, -0.6, -0.5, -0.4, -0.3, -0.2, -0.1, -0.05, -0.02, 0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0,
    4.0, 6.0, 9.0,
];
/// Room above the rows, and below them for ticks and the title of the axis.
const TOP: f64 = 22.0;
const FOOT: f64 = 42.0;
/// Distance of a text from what it belongs to.
const APART: f64 = 14.0;

/// The drawings of a page: for a wide screen with the subjects to the left and the figures to the right,
/// for a narrow one with both above each bar.
pub fn drawings(forest: &Forest, shape: Shape) -> Markup {
    html! { (svg(forest, shape)) (svg(forest, Shape::Narrow)) }
}

/// Logarithms of the ratios at both ends of the axis.
fn reach(forest: &Forest) -> [f64; 2] {
    let [least, largest] = ends(forest.rows.iter().map(|one| one.value));
    let [low, high] = ends(forest.rows.iter().filter_map(|one| one.interval).flatten());
    let [inner, outer] = ends([forest.threshold * 1.5, -forest.threshold * 1.5].into_iter());
    let most = MOST.ln();
    let [low, high] = [low.max(least - most).min(least).min(inner), high.min(largest + most).max(largest).max(outer)];
    let room = ((high - low) * 0.05).max(0.002);
    [low - room, high + room]
}

/// Least and largest logarithm of the ratios of changes, none among them.
fn ends(shares: impl Iterator<Item = f64>) -> [f64; 2] {
    let all = shares.map(log).filter(|at| at.is_finite());
    all.fold([0.0_f64, 0.0_f64], |[low, high], at| [low.min(at), high.max(at)])
}

/// Logarithm of the ratio of a change.
fn log(share: f64) -> f64 {
    (1.0 + share).max(0.0).ln()
}

/// Places of the labelled changes, that of none always among them.
fn ticks([low, high]: [f64; 2], across: f64) -> Vec<Tick> {
    let place = |share: f64| (log(share) - low) / (high - low);
    let text = |share: f64| if share == 0.0 { "0".to_owned() } else { format!("{:+.0}\u{a0}%", share * 100.0).replace('-', "−") };
    let all: Vec<Tick> = TICKS.into_iter().map(|share| (place(share), text(share))).filter(|(at, _)| (0.0..=1.0).contains(at)).collect();
    let none = place(0.0);
    let (before, after): (Vec<Tick>, Vec<Tick>) = all.into_iter().partition(|(at, _)| *at < none - 1e-9);
    let width = |text: &str| TICKS_APART.max(long(text, LETTER) + LETTER) / across;
    // From none to both sides.
    let left = apart(after.first().cloned().into_iter().chain(before.into_iter().rev()).map(|(at, text)| (-at, text)).collect(), width);
    let right = apart(after, width);
    left.into_iter().skip(1).rev().map(|(at, text)| (-at, text)).chain(right).collect()
}

fn svg(forest: &Forest, shape: Shape) -> Markup {
    let longest = |of: fn(&Change) -> f64| forest.rows.iter().map(of).fold(0.0, f64::max);
    let names = longest(|one| long(&one.label, BOLD));
    let figures = longest(|one| long(&one.figure, BOLD) + LETTER + long(&one.ends, LETTER));
    let width = shape.width();
    // Names that leave no room for the bars stand above them.
    let in_line = shape != Shape::Narrow && names + figures + 2.0 * APART < width * 0.66;
    // Those that leave no room for the figures have a line of their own.
    let line = if names + figures + APART > width { 15.0 } else { 0.0 };
    // Few rows fill the room that a chart next to it has.
    let tall = (172.0 / forest.rows.len().max(1) as f64).clamp(28.0, 44.0);
    let (row, left, right) = if in_line { (tall, names + APART, width - figures - APART) } else { (44.0 + line, 4.0, width - 4.0) };
    let bottom = TOP + row * forest.rows.len() as f64 + 4.0;
    let height = bottom + FOOT;
    let [low, high] = reach(forest);
    let across = |place: f64| left + place * (right - left);
    let x = |share: f64| across(((log(share) - low) / (high - low)).clamp(0.0, 1.0));
    let ticks = ticks([low, high], right - left);
    let alt = format!("{}: {}.", forest.title, forest.rows.iter().map(|one| one.hint.replace('\n', ", ")).collect::<Vec<_>>().join("; "));
    let band = [x(-forest.threshold), x(forest.threshold)];
    let none = x(0.0);
    let (alone, above) = frame::alone(&forest.title, width);
    // Both sides are named, next to the line of none where there is room.
    let side = |text: &str| text.chars().count() as f64 * LETTER + 24.0;
    let less = (none - 8.0).max(side(forest.sides[0])).min(width - side(forest.sides[1]) - 16.0);
    // Next to bars that have their texts above them, lines and the band end below the texts.
    let stretches: Vec<[f64; 2]> = match in_line {
        true => vec![[TOP - 4.0, bottom]],
        false => (0..forest.rows.len()).map(|place| TOP + row * place as f64 + line).map(|top| [top + 20.0, top + 42.0]).collect(),
    };
    let lines = |at: f64| stretches.iter().map(|[top, end]| format!("M{} {}V{}", short(at), short(*top), short(*end))).collect::<String>();
    html! {
        svg .chart.forest .(shape.name()) viewBox={ "0 0 " (short(width)) " " (short(height)) } role="img" aria-label=(alt)
            data-alone={ "0 -" (short(above)) " " (short(width)) " " (short(height + above)) } {
            title { (forest.title) }
            @if forest.threshold > 0.0 {
                @for [top, end] in &stretches {
                    rect .threshold x=(short(band[0])) y=(short(*top)) width=(short(band[1] - band[0])) height=(short(end - top)) {}
                }
            }
            path .grid d=(ticks.iter().map(|(at, _)| lines(across(*at))).collect::<String>()) {}
            path .axis d=(lines(none)) {}
            text .ty x=(short(less)) y="12" { "◂ " (forest.sides[0]) }
            text x=(short(less + 16.0)) y="12" { (forest.sides[1]) " ▸" }
            @for (place, one) in forest.rows.iter().enumerate() {
                @let top = TOP + row * place as f64;
                @let y = if in_line { top + row / 2.0 } else { top + 31.0 + line };
                @let text = if in_line { y + 4.0 } else { top + 15.0 };
                @if in_line {
                    text .ty .strong[is_strong(one)] x=(short(names)) y=(short(text)) { (one.label) }
                    text x=(short(right + APART)) y=(short(text)) { tspan .strong[is_strong(one)] { (one.figure) } " " (one.ends) }
                } @else {
                    text .strong[is_strong(one)] x="0" y=(short(text)) { (shortened(&one.label, width)) }
                    text .ty x=(short(width)) y=(short(text + line)) { tspan .strong[is_strong(one)] { (one.figure) } " " (one.ends) }
                }
                (change(one, [x(one.value), y], one.interval.map(|ends| ends.map(&x)), one.interval.map(|ends| [log(ends[0]) < low, log(ends[1]) > high])))
            }
            @for (at, text) in &ticks {
                @let at = across(*at);
                @let half = long(text, LETTER) / 2.0 + 1.0;
                text .tx x=(short(at.max(half).min(width - half))) y=(short(bottom + 16.0)) { (text) }
            }
            text .title x=(short((left + right) / 2.0)) y=(short(bottom + 34.0)) { (forest.axis) }
            (alone)
        }
    }
}

/// Its texts are in ink.
fn is_strong(one: &Change) -> bool {
    one.tint != Tint::Barred
}

fn change(one: &Change, [x, y]: [f64; 2], ends: Option<[f64; 2]>, cut: Option<[bool; 2]>) -> Markup {
    let mut bar = String::new();
    let mut arrows = String::new();
    if let Some(([low, high], cut)) = ends.zip(cut) {
        bar = format!("M{} {y}H{}", short(low), short(high), y = short(y));
        for (end, _, back) in [(low, cut[0], 5.0), (high, cut[1], -5.0)].into_iter().filter(|(_, cut, _)| *cut) {
            arrows +=
                &format!("M{} {}L{} {}L{} {}", short(end + back), short(y - 5.0), short(end), short(y), short(end + back), short(y + 5.0));
        }
    }
    html! {
        g .s .(one.tint.class()) data-series="0" {
            @if !bar.is_empty() { path .reach d=(bar) {} }
            @if !arrows.is_empty() { path .bars d=(arrows) {} }
            circle .mark r="5.5" cx=(short(x)) cy=(short(y)) { title { (one.hint) } }
        }
    }
}

/// The text, cut where it is longer than the room.
fn shortened(text: &str, room: f64) -> String {
    let most = (room / BOLD).max(1.0) as usize;
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most.saturating_sub(1)).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::{drawings, log, reach, ticks};
    use crate::document::charts::{Change, Forest, Tint};
    use crate::sinks::html::chart::Shape;

    fn forest(rows: &[(f64, [f64; 2])]) -> Forest {
        let one = |(value, ends): &(f64, [f64; 2])| Change {
            label: "<b>UDP_STREAM</b> 1448 B".into(),
            value: *value,
            interval: Some(*ends),
            tint: Tint::Open,
            figure: "+1 %".into(),
            ends: "-2 to +3".into(),
            hint: "one\ntwo".into(),
        };
        let rows = rows.iter().map(one).collect();
        let sides = ["cheaper", "dearer"];
        Forest { id: "f".into(), title: "Sender CPU".into(), caption: String::new(), sides, axis: "change".into(), threshold: 0.02, rows }
    }

    #[test]
    fn the_axis_ends_where_the_intervals_do() {
        let [low, high] = reach(&forest(&[(1.84, [1.71, 2.0]), (-0.27, [-0.37, -0.22])]));
        assert!(low < log(-0.37) && low > log(-0.45) && high > log(2.0) && high < log(2.4), "{low} {high}");
        let [low, high] = reach(&forest(&[(0.02, [-0.999, 1e9])]));
        assert!(low > log(-0.95) && high < log(12.0), "one wild interval is cut");
        assert_eq!(drawings(&forest(&[(0.02, [-0.999, 1e9])]), Shape::Column).into_string().matches("class=\"bars\"").count(), 2);
    }

    /// As of one send for 32 datagrams, which costs a fifteenth.
    #[test]
    fn no_change_is_cut() {
        let forest = forest(&[(-0.94, [-0.944, -0.93]), (-0.91, [-0.92, -0.90]), (40.0, [38.0, 45.0])]);
        let [low, high] = reach(&forest);
        assert!(low < log(-0.944) && high > log(45.0), "{low} {high}");
        assert_eq!(drawings(&forest, Shape::Column).into_string().matches("class=\"bars\"").count(), 0);
    }

    #[test]
    fn ticks_keep_their_distance_and_show_none() {
        for (ends, long) in [([-0.8, 1.2], 280.0), ([-0.02, 0.02], 340.0), ([-2.3, 2.3], 340.0), ([-0.001, 1.0], 200.0)] {
            let found = ticks(ends, long);
            assert!(found.iter().any(|(_, text)| text == "0"), "{found:?}");
            assert!(found.windows(2).all(|pair| (pair[1].0 - pair[0].0) * long >= 46.0 - 1e-9), "{found:?}");
        }
        assert!(ticks([-0.8, 1.2], 280.0).len() > 3);
    }

    #[test]
    fn text_stays_text_and_any_figure_has_a_place() {
        for shape in [Shape::Column, Shape::Wide] {
            let text = drawings(&forest(&[(0.01, [-0.01, 0.03]), (0.02, [-0.9, 2.8])]), shape).into_string();
            assert!(!text.contains("<b>") && text.contains("&lt;b&gt;"));
            assert_eq!(text.matches("class=\"mark\"").count(), 4, "two rows, on a wide and a narrow screen");
            let spoilt = forest(&[(f64::NAN, [f64::NAN, f64::INFINITY]), (-2.0, [-3.0, 0.0])]);
            let text = drawings(&Forest { threshold: 0.0, ..spoilt }, shape).into_string();
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }
}
