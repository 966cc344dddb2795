//! One message's time as a picture that stands alone: down the stack at the sender, up again at
//! the receiver, on one axis of time.
//!
//! ```text
//! sender            bars fall from the top left to the middle of the bottom,
//!      receiver     those of the receiver rise from there to the top right:
//! \        /        the height is the layer, the length its CPU time.
//!  \__  __/
//!     \/
//! ```

use maud::{Markup, PreEscaped, html};

use super::marks::short;
use super::scale::{Scale, apart};
use crate::document::charts::{Bar, RowName, Waterfall};

/// Styles of the picture.
const STYLE: &str = include_str!("../../../../assets/toll.css");

const WIDTH: f64 = 920.0;
/// Ends of the axis of time, where figures are short: names and the sender's figures stand to its left, the receiver's to its right.
const ENDS: [f64; 2] = [222.0, 802.0];
/// Margin of the picture.
const MARGIN: f64 = 22.0;
/// Distance of a figure from its bar.
const APART: f64 = 7.0;
/// Width of a letter of a figure.
const LETTER: f64 = 6.9;
/// Right end of the rows' names.
const NAMES: f64 = 150.0;
/// Place of the key of colours, and what stands between it and the rows.
const KEY: f64 = 80.0;
const HEADS: f64 = 15.0;
const ROW: f64 = 26.0;
const BAR: f64 = 17.0;
/// Letters of a line of the caption.
const LINE: usize = 138;

/// A bar with the place where it begins, in ns.
type Placed<'a> = (usize, f64, &'a Bar);

/// Bars of an end one after another, those of the receiver from the bottom.
fn placed(all: &Waterfall) -> [Vec<Placed<'_>>; 2] {
    let mut now = 0.0;
    let mut place = |(row, bar): (usize, &'_ Bar)| {
        let from = now;
        now += bar.ns;
        (row, from)
    };
    let rows = || all.rows.iter().enumerate();
    let sender: Vec<_> = rows().filter_map(|(row, (_, bars))| bars[0].as_ref().map(|bar| (place((row, bar)), bar))).collect();
    let receiver: Vec<_> = rows().rev().filter_map(|(row, (_, bars))| bars[1].as_ref().map(|bar| (place((row, bar)), bar))).collect();
    [sender, receiver].map(|end| end.into_iter().map(|((row, from), bar)| (row, from, bar)).collect())
}

/// Width of a figure next to a bar.
fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// Left and right end of the room of an end's bars, such that each figure fits next to them.
fn room(all: &Waterfall) -> [f64; 2] {
    let longest = |end: usize| all.rows.iter().filter_map(|(_, bars)| bars[end].as_ref()).map(|bar| width(&bar.text)).fold(0.0, f64::max);
    [ENDS[0].max(NAMES + 2.0 * APART + longest(0)), ENDS[1].min(WIDTH - MARGIN / 2.0 - APART - longest(1))]
}

/// The picture for a file of its own, with its styles; or one of a page's, under a name among
/// those that the page chooses from, with whether it is shown.
pub fn svg(all: &Waterfall, held: Option<(&str, bool)>) -> Markup {
    let (ends, [start, stop]) = (placed(all), room(all));
    let most = ends.iter().flatten().map(|(_, from, bar)| from.max(from + bar.ns)).fold(0.0, f64::max);
    // Seconds, so that ticks have the units of every other axis.
    let time = Scale::Linear(0.0, most.max(1e-3) * 1e-9);
    let x = |ns: f64| start + time.place(ns * 1e-9).unwrap_or(0.0).clamp(-0.05, 1.05) * (stop - start);
    let per_ns = (stop - start) / most.max(1e-3);
    // Above the rows: below them a screen may have no room for it.
    let key = if all.bad.is_empty() { KEY } else { KEY + 20.0 };
    let (kinds, tall) = kinds(all, key, [MARGIN, WIDTH - 16.0]);
    let top = key + tall + HEADS;
    let bottom = top + all.rows.len() as f64 * ROW;
    let under = bottom + 62.0;
    let caption: Vec<String> = all.caption.iter().flat_map(|text| wrapped(text, LINE)).collect();
    let height = under + 18.0 * caption.len() as f64 + 12.0;
    let label = format!("{} {} {}", all.subject, all.whole, all.bad);
    let y = |row: usize| top + row as f64 * ROW;
    let ticks = time.round((stop - start) * 0.6, "s");
    html! {
        svg .toll .barred[!all.bad.is_empty()] .off[held.is_some_and(|(_, shown)| !shown)] data-axis=[held.map(|(name, _)| name)] xmlns=[held.is_none().then_some("http://www.w3.org/2000/svg")] viewBox={ "0 0 " (short(WIDTH)) " " (short(height)) } width=(short(WIDTH)) height=(short(height))
            role="img" aria-label=(label.trim()) {
            title { (all.heading) }
            @if held.is_none() { style { (PreEscaped(STYLE)) } }
            rect .paper x=".5" y=".5" width=(short(WIDTH - 1.0)) height=(short(height - 1.0)) rx="8" {}
            text .heading x="22" y="32" { (all.heading) }
            text .before.faint x=(short(WIDTH - 22.0)) y="32" { (all.subject) }
            text .faint x="22" y="53" { (all.whole) }
            @if !all.bad.is_empty() { text .bad x="22" y="74" { (all.bad) } }
            @for (place, (name, whole)) in all.ends.iter().enumerate() {
                text .end .before[place == 1] x=(short([start, stop][place])) y=(short(top - 14.0)) { (name) " " tspan .faint { (whole) } }
            }
            path .lines d=(ticks.iter().map(|(at, _)| format!("M{} {}V{}", short(start + at * (stop - start)), short(top), short(bottom))).collect::<String>()) {}
            path .lines d=((0..=all.rows.len()).map(|row| format!("M22 {}H{}", short(y(row)), short(WIDTH - 22.0))).collect::<String>()) {}
            @for (row, (name, _)) in all.rows.iter().enumerate() { text .before x=(short(NAMES)) y=(short(y(row) + ROW / 2.0 + 4.5)) { (name.whole) } }
            @for (place, end) in ends.iter().enumerate() {
                path .step d=(steps(end, place, &x, &y)) {}
                g data-series=(place) { @for (row, from, one) in end { (bar(one, [x(*from), x(from + one.ns)], y(*row), place, per_ns)) } }
            }
            path .axis d={ "M" (short(start)) " " (short(bottom)) "H" (short(stop)) } {}
            @for (at, text) in &ticks { text .within.faint.small x=(short(start + at * (stop - start))) y=(short(bottom + 17.0)) { (text) } }
            text .within.faint.small x=(short((start + stop) / 2.0)) y=(short(bottom + 34.0)) { (all.axis) }
            (kinds)
            @for (place, line) in caption.iter().enumerate() {
                text .faint.small x="22" y=(short(under + 18.0 * place as f64 + 8.0)) { (line) }
            }
        }
    }
}

/// The picture on a narrow screen: figures with one decimal and without whiskers.
pub fn narrow(all: &Waterfall, (name, shown): (&str, bool)) -> Markup {
    const WIDTH: f64 = 344.0;
    const ROW: f64 = 23.0;
    const LETTER: f64 = 7.4;
    /// A shorter message has its figures in whole ns, a longer one in µs.
    const SHORT: f64 = 3_000.0;
    /// Letters of a line of the caption.
    const LINE: usize = 50;
    let ends = placed(all);
    let most = ends.iter().flatten().map(|(_, from, bar)| from.max(from + bar.ns)).fold(0.0, f64::max).max(1e-3);
    let (unit, decimals) = if most >= SHORT { (1e3, 1) } else { (1.0, 0) };
    // A figure that would read 0 is left to the tip of its bar.
    let figure = |ns: f64| {
        Some(format!("{:.decimals$}", ns / unit)).filter(|text| text.contains(|one| matches!(one, '1'..='9'))).unwrap_or_default()
    };
    let wide = |text: &str| text.chars().count() as f64 * LETTER;
    let start = all.rows.iter().map(|(name, _)| wide(short_name(name))).fold(0.0, f64::max) + 8.0;
    let stop = WIDTH - 4.0 - ends[1].iter().map(|(.., bar)| wide(&figure(bar.ns))).fold(0.0, f64::max) - APART;
    let time = Scale::Linear(0.0, most * 1e-9);
    let x = |ns: f64| start + (ns / most).clamp(0.0, 1.0) * (stop - start);
    let bad = wrapped(&all.bad, LINE);
    let key = 62.0 + 16.0 * bad.len() as f64;
    let (kinds, tall) = kinds(all, key, [4.0, WIDTH]);
    let top = if tall > 0.0 { key + tall - 12.0 } else { key - 4.0 };
    let bottom = top + all.rows.len() as f64 * ROW;
    let y = |row: usize| top + row as f64 * ROW;
    let ticks = apart(time.round((stop - start) * 0.8, "s"), |text| (wide(text) + 8.0) / (stop - start));
    let caption: Vec<String> = all.caption.iter().flat_map(|text| wrapped(text, LINE)).collect();
    let under = bottom + 56.0;
    let height = under + 16.0 * caption.len() as f64 + 4.0;
    html! {
        svg .toll.narrow .barred[!all.bad.is_empty()] .off[!shown] data-axis=(name) viewBox={ "0 0 " (short(WIDTH)) " " (short(height)) } role="img"
            aria-label=(format!("{} {} {}", all.subject, all.whole, all.bad).trim()) {
            title { (all.heading) }
            rect .paper x=".5" y=".5" width=(short(WIDTH - 1.0)) height=(short(height - 1.0)) rx="8" {}
            @for (place, (name, whole)) in all.ends.iter().enumerate() {
                text .end-of .before[place == 1] x=(short(if place == 0 { 4.0 } else { WIDTH - 4.0 })) y=(short(20.0 + 18.0 * place as f64)) {
                    tspan .strong { (name) } " " tspan .faint { (whole) }
                }
            }
            @for (row, line) in bad.iter().enumerate() { text .bad.small x="4" y=(short(54.0 + 16.0 * row as f64)) { (line) } }
            path .lines d=(ticks.iter().map(|(at, _)| format!("M{} {}V{}", short(start + at * (stop - start)), short(top), short(bottom))).collect::<String>()) {}
            @for (row, (name, _)) in all.rows.iter().enumerate() {
                text .before.small x=(short(start - 8.0)) y=(short(y(row) + ROW / 2.0 + 4.0)) { (short_name(name)) }
            }
            @for (place, end) in ends.iter().enumerate() {
                g data-series=(place) {
                    @for (row, from, one) in end {
                        @let text = figure(one.ns);
                        @let [left, right] = [x(from.min(from + one.ns)), x(from.max(from + one.ns))];
                        // The receiver's bar of the same row stands to the right of the sender's.
                        @let next = all.rows[*row].1[1].as_ref().and_then(|_| ends[1].iter().find(|(other, ..)| other == row)).map_or(WIDTH, |(_, from, _)| x(*from));
                        @let before = place == 0 && right + APART + wide(&text) > next;
                        g .mark {
                            title { (one.hint) }
                            (stack(one, [left, right], y(*row) + 4.0, ROW - 8.0))
                            text .small.faint .before[before] x=(short(if before { left - 5.0 } else { right + 5.0 })) y=(short(y(*row) + ROW / 2.0 + 4.0)) { (text) }
                        }
                    }
                }
            }
            path .axis d={ "M" (short(start)) " " (short(bottom)) "H" (short(stop)) } {}
            @for (at, text) in &ticks { text .within.faint.small x=(short(start + at * (stop - start))) y=(short(bottom + 16.0)) { (text) } }
            text .faint.small x="4" y=(short(bottom + 34.0)) { "CPU time of this message, " (if decimals == 1 { "µs" } else { "ns" }) }
            (kinds)
            @for (place, line) in caption.iter().enumerate() { text .faint.small x="4" y=(short(under + 16.0 * place as f64)) { (line) } }
        }
    }
}

/// A row's name where room is short.
fn short_name(name: &RowName) -> &str {
    name.short.unwrap_or(&name.whole)
}

/// The coloured parts of a bar.
fn stack(bar: &Bar, [left, right]: [f64; 2], top: f64, height: f64) -> Markup {
    let whole: f64 = bar.parts.iter().map(|(.., ns)| ns.max(0.0)).sum();
    let mut at = left;
    let parts: Vec<(usize, f64, f64)> = bar
        .parts
        .iter()
        .map(|(colour, _, ns)| {
            let width = (right - left) * if whole > 0.0 { ns.max(0.0) / whole } else { 0.0 };
            let begin = at;
            at += width;
            (*colour, begin, width)
        })
        .collect();
    html! {
        rect .hollow[parts.is_empty()] .under[!parts.is_empty()] x=(short(left)) y=(short(top)) width=(short((right - left).max(0.5))) height=(short(height)) {}
        @for (colour, begin, width) in &parts {
            @if *width > 0.04 { rect .part.{ "k" (colour) } x=(format!("{begin:.2}")) y=(short(top)) width=(format!("{width:.2}")) height=(short(height)) {} }
        }
    }
}

/// Dotted lines from the end of a bar to the beginning of the next.
fn steps(end: &[Placed], place: usize, x: &impl Fn(f64) -> f64, y: &impl Fn(usize) -> f64) -> String {
    let middle = |row: usize| y(row) + ROW / 2.0;
    let half = if place == 0 { BAR / 2.0 } else { -BAR / 2.0 };
    let line = |pair: &[Placed]| {
        let ((row, from, bar), (next, ..)) = (pair[0], pair[1]);
        format!("M{} {}V{}", short(x(from + bar.ns)), short(middle(row) + half), short(middle(next) - half))
    };
    end.windows(2).map(line).collect()
}

/// A bar of an end between two places; `per_ns` is the length of a ns.
fn bar(bar: &Bar, [from, to]: [f64; 2], y: f64, place: usize, per_ns: f64) -> Markup {
    let top = y + (ROW - BAR) / 2.0;
    let (left, right) = (from.min(to), from.max(to));
    // The interval lies around the end of the bar. Where the figure would have no room behind it, it is cut.
    let far = if place == 0 {
        [NAMES + 2.0 * APART + width(&bar.text), WIDTH - MARGIN]
    } else {
        [MARGIN, WIDTH - MARGIN / 2.0 - APART - width(&bar.text)]
    };
    let reach = bar.interval.map(|ends| ends.map(|end| to + (end - bar.ns) * per_ns)).filter(|ends| ends.iter().all(|end| end.is_finite()));
    let shown = reach.map(|ends| ends.map(|end| end.max(far[0]).min(far[1])));
    let middle = top + BAR / 2.0;
    let whisker = reach.zip(shown).map(|(ends, [low, high])| {
        let end = |cut: bool, at: f64, back: f64| match cut {
            // An arrow: it goes on.
            true => format!("M{} {}l{} 4l{} 4", short(at + back), short(middle - 4.0), short(-back), short(back)),
            false => format!("M{} {}v9", short(at), short(top + 4.0)),
        };
        let cut = [ends[0] < low, ends[1] > high];
        format!("M{} {}H{}{}{}", short(low), short(middle), short(high), end(cut[0], low, 5.0), end(cut[1], high, -5.0))
    });
    let text = match place {
        0 => shown.map_or(left, |[low, _]| left.min(low)) - APART,
        _ => shown.map_or(right, |[_, high]| right.max(high)) + APART,
    };
    html! {
        g .mark {
            title { (bar.hint) }
            (stack(bar, [left, right], top, BAR))
            @if let Some(whisker) = whisker { path .whisker d=(whisker) {} }
            text .small .before[place == 0] x=(short(text)) y=(short(middle + 4.0)) { (bar.text) }
        }
    }
}

/// The kinds of work with their colours, in as many rows as it takes; and their height. Rows that are not to be used have
/// no colours.
fn kinds(all: &Waterfall, top: f64, [left, right]: [f64; 2]) -> (Markup, f64) {
    const LETTER: f64 = 7.5;
    let (mut x, mut y) = (left, top);
    let mut places = Vec::new();
    for (colour, name, share) in all.kinds.iter().filter(|_| all.bad.is_empty()) {
        let width = 28.0 + (name.chars().count() + share.chars().count()) as f64 * LETTER;
        if x > left && x + width > right {
            (x, y) = (left, y + 21.0);
        }
        places.push((colour, name, share, x, y));
        x += width;
    }
    let drawn = html! {
        @for (colour, name, share, x, y) in &places {
            rect .part.{ "k" (colour) } x=(short(*x)) y=(short(*y - 10.0)) width="12" height="12" rx="2" {}
            text .small x=(short(*x + 18.0)) y=(short(*y + 0.5)) { (name) " " tspan .faint { (share) } }
        }
    };
    let tall = if places.is_empty() { 0.0 } else { y - top + 28.0 };
    (drawn, tall)
}

/// Lines of at most so many letters.
pub(super) fn wrapped(text: &str, letters: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < letters => *line += &format!(" {word}"),
            _ if word.is_empty() => {}
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{NAMES, WIDTH, narrow, placed, svg, width};
    use crate::document::charts::{Bar, RowName, Waterfall};

    fn bar(ns: f64) -> Option<Bar> {
        let (parts, interval) = (vec![(2, "data-movement".to_owned(), ns)], Some([ns - 1.0, ns + 1.0]));
        Some(Bar { ns, interval, parts, text: format!("{ns} ns"), hint: String::new() })
    }

    #[test]
    fn the_message_goes_down_and_up_again() {
        let rows = vec![
            ("user".to_owned().into(), [bar(10.0), bar(20.0)]),
            ("tcp".to_owned().into(), [bar(30.0), None]),
            ("driver".to_owned().into(), [bar(5.0), bar(40.0)]),
        ];
        let all = Waterfall { rows, ..Waterfall::default() };
        let begins = placed(&all).map(|end| end.iter().map(|(row, from, _)| (*row, *from)).collect::<Vec<_>>());
        assert_eq!(begins, [vec![(0, 0.0), (1, 10.0), (2, 40.0)], vec![(2, 45.0), (0, 85.0)]]);
    }

    #[test]
    fn wide_intervals_and_long_figures_stay_in_the_picture() {
        let wide =
            |ns: f64, far: f64| Bar { interval: Some([ns - far, ns + far]), text: "-12,345 to 1,234,567 ns".into(), ..bar(ns).unwrap() };
        let rows = [1.0, 100.0, 1e4, 1e9].map(|far| (RowName::default(), [Some(wide(200.0, far)), Some(wide(300.0, far))]));
        let text = svg(&Waterfall { rows: rows.to_vec(), ..Waterfall::default() }, None).into_string();
        let number = |text: &str| text.split(['"', ' ', 'H', 'v', 'l', 'M']).next().and_then(|digits| digits.parse::<f64>().ok()).unwrap();
        let mut figures = 0;
        for mark in text.split("<g class=\"mark\">").skip(1) {
            let (whisker, figure) = mark.split_once("class=\"whisker\" d=\"M").unwrap().1.split_once("<text").unwrap();
            let ends = [number(whisker), number(whisker.split_once('H').unwrap().1)];
            let at = number(figure.split_once(" x=\"").unwrap().1);
            let far = if figure.contains("before") { at - width("-12,345 to 1,234,567 ns") } else { at + width("-12,345 to 1,234,567 ns") };
            assert!((NAMES..WIDTH).contains(&far), "{far}: {mark}");
            assert!(if figure.contains("before") { at < ends[0] } else { at > ends[1] }, "the whisker does not cross the figure: {mark}");
            figures += 1;
        }
        assert_eq!(figures, 8);
    }

    #[test]
    fn a_picture_stands_alone_and_text_stays_text() {
        let evil = "</text><script>alert(1)</script>";
        let all = Waterfall {
            subject: evil.into(),
            rows: vec![(evil.to_owned().into(), [bar(3.0), bar(-2.0)])],
            caption: vec![evil.into()],
            ..Waterfall::default()
        };
        let text = svg(&all, None).into_string();
        assert!(!text.contains("<script") && text.contains("<style>") && text.contains("xmlns=\"http://www.w3.org/2000/svg\""));
        assert!(!text.contains("var(") && !text.contains("NaN") && !text.contains("url("));
        assert!(!svg(&all, Some(("1", true))).into_string().contains("<style"));
        let text = narrow(&all, ("1", true)).into_string();
        assert!(!text.contains("<script") && !text.contains("NaN"), "{text}");
    }
}
