//! Flame graphs: call chains as bars upon each other, a function upon its caller, each as wide as its share
//! of the samples and in the colour of its layer.
//!
//! The page holds the chains of all sizes once, as data. The drawing made here shows one of them and needs
//! no script; `assets/flame.js` draws the others, differences, and what a reader zooms to.

use maud::{Markup, html};

use super::marks::short;
use crate::document::flame::{Bar, Flame, LEAST_DRAWN};
use crate::number;

/// Width of a drawing, and height of a bar with the gap above it.
const WIDTH: f64 = 1100.0;
const ROW: f64 = 17.0;
/// Width of a letter within a bar.
const LETTER: f64 = 7.3;

impl Flame {
    /// The column that is drawn first.
    fn column(&self) -> usize {
        self.choices.get(self.first.0).map_or(0, |choice| choice.column)
    }

    /// What samples of a column stand for, in words.
    fn amount(&self, samples: u64, column: usize) -> String {
        match self.seeds {
            0 => number::time(samples as f64 * self.columns.get(column).map_or(f64::NAN, |column| column.ns)),
            _ => format!("{} instructions", number::whole(samples)),
        }
    }

    /// Layers of its bars, in the order of their colours.
    fn shown_layers(&self) -> impl Iterator<Item = (usize, &str)> {
        let all = self.layers.iter().enumerate();
        all.filter(|(place, _)| self.bars.iter().skip(1).any(|bar| bar.layer == *place)).map(|(place, name)| (place, name.as_str()))
    }
}

/// Bars of one column with the samples to the left of each.
fn placed(bars: &[Bar], column: usize) -> Vec<(u64, u64, &Bar)> {
    // The end of what has been placed, at each depth: a bar begins there, or where its caller does.
    let mut ends: Vec<u64> = vec![0];
    let mut all = Vec::with_capacity(bars.len());
    for bar in bars {
        let samples = bar.samples.get(column).copied().unwrap_or(0);
        ends.truncate(bar.depth + 1);
        let before = ends.last().copied().unwrap_or(0);
        if let Some(end) = ends.last_mut() {
            *end = before.saturating_add(samples);
        }
        ends.push(before);
        all.push((before, samples, bar));
    }
    all
}

/// The drawing of the first choice.
pub fn svg(flame: &Flame) -> Markup {
    let column = flame.column();
    let whole = flame.bars.first().and_then(|bar| bar.samples.get(column)).copied().unwrap_or(0).max(1) as f64;
    let across = |samples: u64| samples as f64 / whole * WIDTH;
    let bars: Vec<_> = placed(&flame.bars, column).into_iter().filter(|(_, samples, _)| *samples as f64 >= whole * LEAST_DRAWN).collect();
    let depth = bars.iter().map(|(.., bar)| bar.depth).max().unwrap_or(0);
    let height = (depth + 1) as f64 * ROW;
    let name = flame.columns.get(column).map_or("", |column| column.name.as_str());
    html! {
        svg .flame viewBox={ "0 0 " (short(WIDTH)) " " (short(height)) } role="img" aria-label={ (flame.title) ", " (name) } {
            @for (before, samples, bar) in bars {
                @let (x, width, y) = (across(before), across(samples), (depth - bar.depth) as f64 * ROW);
                g .mark.part .(colour(bar)) {
                    title { (bar.name) "\n" (number::percent(samples as f64 / whole)) " · " (flame.amount(samples, column)) " per message" }
                    rect x=(short(x)) y=(short(y)) width=(short(width)) height=(short(ROW - 1.0)) {}
                    @if let Some(text) = fitting(&bar.name, width) { text x=(short(x + 3.0)) y=(short(y + 12.0)) { (text) } }
                }
            }
        }
    }
}

/// Class of a bar, which gives it its colour.
fn colour(bar: &Bar) -> String {
    if bar.depth == 0 { "whole".to_owned() } else { format!("a{}", bar.layer) }
}

/// As much of a name as a bar has room for.
fn fitting(name: &str, width: f64) -> Option<String> {
    let room = ((width - 6.0) / LETTER).max(0.0) as usize;
    match name.chars().count() {
        letters if letters <= room => Some(name.to_owned()),
        _ if room < 4 => None,
        _ => Some(name.chars().take(room - 1).chain(['…']).collect()),
    }
}

/// The changes that a difference tells apart, the largest growth first: class and words.
const CHANGES: [(&str, &str); 7] = [
    ("more3", "more than 3×"),
    ("more2", "1.5× to 3×"),
    ("more1", "up to 1.5×"),
    ("same", "no change shown"),
    ("less1", "down to ⅔"),
    ("less2", "⅓ to ⅔"),
    ("less3", "less than ⅓"),
];

/// Search and rivals; below them colours of layers, in whose place the script shows those of a difference.
pub fn key(flame: &Flame) -> Markup {
    let one = |class: &str, name: &str| {
        html! {
            span .entry { svg viewBox="0 0 12 12" aria-hidden="true" { rect .mark .(class) width="12" height="12" rx="2" {} } (name) }
        }
    };
    html! {
        (tools(flame))
        span .layers { @for (place, name) in flame.shown_layers() { (one(&format!("a{place}"), name)) } }
        span .changes hidden { @for (class, words) in CHANGES { (one(class, words)) } }
    }
}

/// How to read it.
pub fn caption(flame: &Flame) -> String {
    let (of, difference) = match flame.seeds {
        0 => ("samples", "ns per message, grey where the samples counted and trials do not tell it from none (3 standard errors)"),
        1 => ("instructions", "instructions per message, grey where there is none"),
        _ => ("instructions", "instructions per message, grey where seeds of the guest's random numbers move a side as far"),
    };
    let mut text = format!(
        "A bar is a function upon its caller, as wide as its share of the {of}. Click one to zoom to it; its caller, or Escape, zooms out. \
         Functions below {} everywhere are left out.",
        number::percent(flame.least_share)
    );
    if !flame.rivals.is_empty() {
        text += &format!(" A difference is of {difference}.");
    }
    text
}

/// The search, the choice of a rival, and a line that says what is seen.
fn tools(flame: &Flame) -> Markup {
    html! {
        div .flame-tools {
            input type="search" data-flame=(flame.id) placeholder="Find a function" aria-label={ "Find a function in: " (flame.title) } spellcheck="false";
            @if !flame.rivals.is_empty() {
                select data-flame=(flame.id) aria-label={ "Colours of: " (flame.title) } {
                    option value="" { "coloured by layer" }
                    @for (place, name) in flame.rivals.iter().enumerate() { option value=(place) { "difference from " (name) } }
                }
            }
            output {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{caption, fitting, placed, svg};
    use crate::document::flame::{Bar, Choice, Column, Flame};

    fn bar(name: &str, depth: usize, samples: &[u64]) -> Bar {
        Bar { name: name.into(), layer: depth, depth, samples: samples.to_vec() }
    }

    fn flame(bars: Vec<Bar>) -> Flame {
        Flame {
            id: "f".into(),
            title: "a & b".into(),
            columns: vec![Column { name: "1 B".into(), ns: 2.0, error: 0.0 }],
            layers: vec!["user".into(), "tcp".into()],
            choices: vec![Choice { name: "1 B".into(), column: 0, rivals: vec![] }],
            rivals: vec![],
            first: (0, None),
            least_share: 0.001,
            seeds: 0,
            bars,
        }
    }

    #[test]
    fn a_bar_begins_where_its_neighbour_ends() {
        let bars = [
            bar("all", 0, &[100, 10]),
            bar("a", 1, &[60, 1]),
            bar("b", 2, &[10, 0]),
            bar("c", 2, &[50, 1]),
            bar("d", 1, &[30, 9]),
            bar("e", 2, &[30, 9]),
        ];
        let starts = |column| placed(&bars, column).iter().map(|(before, ..)| *before).collect::<Vec<_>>();
        assert_eq!([starts(0), starts(1)], [vec![0, 0, 0, 10, 60, 60], vec![0, 0, 0, 0, 1, 1]]);
    }

    #[test]
    fn a_drawing_needs_no_script_and_text_stays_text() {
        let text = svg(&flame(vec![bar("all", 0, &[100]), bar("<script>alert(1)</script>", 1, &[60])])).into_string();
        assert!(!text.contains("<script") && text.contains("&lt;script&gt;alert(1)&lt;/script&gt;\n60 % · 120 ns per message"), "{text}");
        assert!(svg(&flame(Vec::new())).into_string().contains("<svg"));
    }

    #[test]
    fn exact_counts_are_instructions() {
        let one = Flame { seeds: 3, rivals: vec!["6.1".into()], ..flame(vec![bar("all", 0, &[1234])]) };
        assert!(svg(&one).into_string().contains("1,234 instructions per message"));
        assert!(caption(&one).contains("share of the instructions") && caption(&one).contains("seeds of the guest"));
    }

    #[test]
    fn names_are_cut_where_their_bar_ends() {
        assert_eq!(fitting("tcp_sendmsg", 90.0).as_deref(), Some("tcp_sendmsg"));
        assert_eq!(fitting("tcp_sendmsg", 50.0).as_deref(), Some("tcp_s…"));
        assert_eq!(fitting("tcp_sendmsg", 20.0), None);
    }
}
