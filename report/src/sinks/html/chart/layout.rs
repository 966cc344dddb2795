//! Places of everything in a chart: its panels, axes, marks and names, in the units of its drawing.
//!
//! Marks of one size stand next to each other, never on one another; one that still has no
//! room, since sizes lie too close on a linear axis, is drawn as a dot. In a figure that is
//! repeated lines stand at their sizes, and only bars step aside. A line ends in its name;
//! where names are too long or too many for that, they stand above the panels.

use model::sorting::Order;

use super::scale::{Scale, Tick, apart, thinned};
use crate::document::figure::{Figure, Trace, X};

/// Width of a letter of 12 px, and of a bold one.
pub const LETTER: f64 = 7.4;
pub const BOLD: f64 = 8.2;
/// Distance that two marks keep.
const APART: f64 = 7.0;
/// Distance that two names of lines keep.
const NAMES_APART: f64 = 16.0;
/// Distance that two ticks of a horizontal axis keep.
pub const TICKS_APART: f64 = 46.0;
/// Share of the width up to which names stand at the ends of their lines.
const MOST_FOR_NAMES: f64 = 0.36;
/// Most that bars of one size stand to either side of it, where lines do not.
const BARS_APART: f64 = 3.0;
/// Room of a sample of a line left of its name, and behind the name.
const SAMPLE: f64 = 26.0;
const BEHIND: f64 = 12.0;
/// Room above a panel for its title, below the last for ticks and their title, and at either end of a line.
const HEAD: f64 = 22.0;
const FOOT: f64 = 40.0;
/// Room between the last tick of a panel and the title of the next.
const GAP: f64 = 12.0;
const SIDE: f64 = 8.0;

/// Proportions of a drawing. A page holds each chart in two, of which one is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One of two next to each other.
    Column,
    /// The whole width of a page.
    Wide,
    /// A narrow screen.
    Narrow,
}

impl Shape {
    /// Width and height of a drawing by its number of panels, without names above them.
    const fn size(self, panels: usize) -> (f64, f64) {
        let height = if panels > 1 { 330.0 } else { 240.0 };
        (self.width(), height)
    }

    /// Width of a drawing.
    pub const fn width(self) -> f64 {
        match self {
            Self::Column => 530.0,
            Self::Wide => 1080.0,
            Self::Narrow => 344.0,
        }
    }

    /// Word of its class.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Column => "column",
            Self::Wide => "wide",
            Self::Narrow => "narrow",
        }
    }
}

/// A laid out figure.
pub struct Layout<'a> {
    /// Width of the drawing.
    pub width: f64,
    /// Height of the drawing.
    pub height: f64,
    /// Left and right end of the panels.
    pub ends: [f64; 2],
    /// Horizontal axis.
    pub x: Scale,
    /// Its ticks.
    pub ticks: Vec<Tick>,
    /// Its ticks stand in two rows in turn.
    pub staggered: bool,
    /// Names on it, where it has names.
    pub names: Vec<&'a str>,
    /// The panels, from the top.
    pub panels: Vec<Area>,
    /// Names of the lines.
    pub labels: Vec<Label<'a>>,
    /// Marks stand at their sizes, also where some stand on others.
    exact: bool,
    /// Marks say nothing to a reader who points at them: those of a narrow screen, of a figure that is repeated, whose page
    /// has many.
    pub plain: bool,
}

/// The name of a line.
pub struct Label<'a> {
    /// The line.
    pub trace: &'a Trace,
    /// Where the text begins.
    pub at: [f64; 2],
    /// The text, in lines below each other.
    pub lines: Vec<String>,
    /// It stands above the panels, next to a sample of the line.
    pub above: bool,
}

/// A panel.
pub struct Area {
    /// Upper end.
    pub top: f64,
    /// Height.
    pub height: f64,
    /// Vertical axis.
    pub y: Scale,
    /// Its ticks.
    pub ticks: Vec<Tick>,
}

/// A measured point.
pub struct Point {
    /// Its place.
    pub at: [f64; 2],
    /// Horizontal place of the bar of its interval.
    pub bar: f64,
    /// Upper and lower end of its interval.
    pub ends: [f64; 2],
    /// Set where an end of the interval lies beyond the panel.
    pub cut: [bool; 2],
    /// It has room for a mark.
    pub room: bool,
    /// Index of the point in its trace.
    pub of: usize,
}

impl<'a> Layout<'a> {
    /// Lays out a figure, its axis of sizes logarithmic or not.
    pub fn of(figure: &'a Figure, shape: Shape, log: bool) -> Self {
        let (width, height) = shape.size(figure.panels.len());
        let names = names(figure);
        let x = match &figure.sizes {
            None => Scale::Names(names.len()),
            Some(_) => {
                let all = || figure.traces.iter().flat_map(|trace| sizes(&trace.x)).copied().filter(|at| !log || *at > 0.0);
                let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
                if log { Scale::log(least, most, (most / least).powf(0.025).clamp(1.02, 1.5)) } else { Scale::linear(least, most, false) }
            }
        };
        let named = named(figure);
        let longest = named.iter().map(|trace| long(&trace.name, BOLD)).fold(0.0, f64::max);
        let fit = |(panel, area): (usize, &Area)| {
            let names = named.iter().filter(|trace| trace.panel == panel).count();
            names as f64 * NAMES_APART <= area.height + NAMES_APART
        };
        let fit = panels(figure, names.len(), 0.0, height).iter().enumerate().all(fit);
        let above = longest > width * MOST_FOR_NAMES || !fit;
        let room = if above || named.is_empty() { SIDE } else { longest + SIDE + 8.0 };
        let rows = if above { in_rows(&named, width) } else { Vec::new() };
        let key = rows.last().map_or(0.0, |label| label.at[1] + NAMES_APART * (label.lines.len() - 1) as f64 + 10.0);
        let mut panels = panels(figure, names.len(), key, height);
        let letters = panels.iter().flat_map(|panel| &panel.ticks).map(|(_, text)| long(text, LETTER)).fold(0.0, f64::max);
        let ends = [letters + 12.0, width - room];
        for panel in &mut panels {
            panel.ticks = apart(std::mem::take(&mut panel.ticks), |_| 18.0 / panel.height);
        }
        let across = ends[1] - ends[0];
        // Marks next to each other at the first size and at the last stay within the panel.
        let room = outer_room(figure, &x, across);
        let x = x.widened(room / (across - 2.0 * room).max(1.0));
        let reach = |text: &str| (long(text, LETTER) + 1.5 * LETTER) / across;
        let (ticks, staggered) = match &figure.sizes {
            None => {
                let all = names.iter().enumerate().filter_map(|(at, name)| Some((x.place(at as f64)?, (*name).to_owned())));
                let all: Vec<Tick> = all.collect();
                let step = 1.0 / all.len().max(1) as f64;
                let staggered = all.iter().any(|(_, text)| reach(text) > step);
                let rows = if staggered { 2.0 } else { 1.0 };
                (if all.iter().any(|(_, text)| reach(text) > step * rows) { thinned(all, reach) } else { all }, staggered)
            }
            Some(sizes) => {
                let known = x.known(if log { &sizes.log_ticks } else { &sizes.linear_ticks });
                (thinned(known, |text| reach(text).max(TICKS_APART / across)), false)
            }
        };
        let staggered = staggered && ticks.len() > 1;
        let height = height + key + if staggered { 14.0 } else { 0.0 };
        let exact = figure.repeats();
        let plain = exact && shape == Shape::Narrow;
        let mut layout = Self { width, height, ends, x, ticks, staggered, names, panels, labels: rows, exact, plain };
        if !above {
            let places = layout.at_ends(&named);
            let label = |(trace, at): (&'a Trace, [f64; 2])| Label { trace, at, lines: vec![trace.name.clone()], above };
            layout.labels = named.into_iter().zip(places).map(label).collect();
        }
        layout
    }

    /// Places of names at the ends of their lines, pushed apart panel by panel.
    fn at_ends(&self, named: &[&Trace]) -> Vec<[f64; 2]> {
        let mut places = vec![[self.ends[1] + SIDE, 0.0]; named.len()];
        for (panel, area) in self.panels.iter().enumerate() {
            let here: Vec<usize> = (0..named.len()).filter(|place| named[*place].panel == panel).collect();
            let end = |place: usize| named[place].y.iter().rev().flatten().find_map(|height| area.down(*height)).unwrap_or(area.top);
            let wanted: Vec<f64> = here.iter().map(|place| end(*place)).collect();
            for (place, down) in here.iter().zip(spread(&wanted, [area.top, area.top + area.height])) {
                places[*place][1] = down + 4.0;
            }
        }
        places
    }

    /// Horizontal place of a value.
    pub fn across(&self, value: f64) -> Option<f64> {
        Some(self.ends[0] + self.x.place(value)? * (self.ends[1] - self.ends[0]))
    }

    /// Horizontal places of the ticks.
    pub fn x_places(&self) -> Vec<f64> {
        self.ticks.iter().map(|(place, _)| self.ends[0] + place * (self.ends[1] - self.ends[0])).collect()
    }

    /// Horizontal places of a trace.
    pub fn places(&self, trace: &Trace) -> Vec<Option<f64>> {
        match &trace.x {
            X::Sizes(sizes) => sizes.iter().map(|size| self.across(*size)).collect(),
            X::Names(names) => names.iter().map(|name| self.across(self.names.iter().position(|known| known == name)? as f64)).collect(),
        }
    }

    /// Returns whether a line or a mark of the first panel runs through a box.
    pub fn is_crossed(&self, figure: &Figure, [left, right]: [f64; 2], [top, bottom]: [f64; 2]) -> bool {
        let traces: Vec<&Trace> = figure.traces.iter().filter(|trace| trace.panel == 0 && !trace.model && !trace.stacked).collect();
        let (laid, _) = self.points(&traces, 0);
        let is_through = |from: &Point, to: &Point| {
            let (least, most) = (from.at[0].max(left), to.at[0].min(right));
            let long = to.at[0] - from.at[0];
            let at = |x: f64| from.at[1] + if long > 0.0 { (x - from.at[0]) / long * (to.at[1] - from.at[1]) } else { 0.0 };
            let ends = [at(least), at(most)];
            least <= most && ends[0].min(ends[1]) < bottom && ends[0].max(ends[1]) > top
        };
        let crosses = |points: &[Point]| match points {
            [one] => is_through(one, one),
            several => several.windows(2).any(|pair| is_through(&pair[0], &pair[1])),
        };
        laid.iter().any(|(_, points)| crosses(points))
    }

    /// The measured points of a panel, trace by trace, and whether they stand so close that
    /// bands tell more than bars.
    pub fn points<'t>(&self, traces: &[&'t Trace], panel: usize) -> (Vec<(&'t Trace, Vec<Point>)>, bool) {
        let area = &self.panels[panel];
        let mut columns: Vec<f64> = traces.iter().flat_map(|trace| self.places(trace)).flatten().collect();
        columns.order_by(f64::total_cmp);
        // What no eye tells apart is one place.
        columns.dedup_by(|a, b| (*a - *b).abs() < 0.5);
        let gap = columns.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min).min(self.ends[1] - self.ends[0]);
        let steps = traces.len().saturating_sub(1) as f64;
        let room = gap * 0.75;
        let crowded = room < if self.exact { APART } else { (6.5 * steps).max(APART) };
        let step = |most: f64| if steps > 0.0 { ((APART + 1.0) * steps).min(most) / steps } else { 0.0 };
        let [step, aside] = if self.exact { [0.0, step(2.0 * BARS_APART)] } else { [step(room), 0.0] };
        let mut taken: Vec<[f64; 2]> = Vec::new();
        let mut laid = Vec::new();
        for (place, trace) in traces.iter().enumerate() {
            let [shift, aside] = [step, aside].map(|step| (place as f64 - steps / 2.0) * step);
            let mut points = Vec::new();
            for (of, at) in self.places(trace).into_iter().enumerate() {
                let Some((at, value)) = at.zip(trace.y.get(of).copied().flatten()) else { continue };
                let Some(height) = area.down(value) else { continue };
                let at = [at + shift, height];
                let room = taken.iter().all(|other| (other[0] - at[0]).hypot(other[1] - at[1]) >= APART);
                taken.extend(room.then_some(at));
                let end = |far: Option<&f64>, sign: f64| far.filter(|far| **far > 0.0).map(|far| area.down(value + sign * far));
                // An end that a logarithmic axis has no place for lies beyond it.
                let ends = [end(trace.up.get(of), 1.0), end(trace.down.get(of), -1.0)];
                let beyond = [area.top, area.top + area.height];
                let far = [0, 1].map(|side| ends[side].map_or(at[1], |end| end.unwrap_or(beyond[side])));
                let held = far.map(|end| end.clamp(beyond[0], beyond[1]));
                let cut = [0, 1].map(|side| ends[side].is_some_and(|end| end.is_none_or(|end| (end - held[side]).abs() > 0.5)));
                points.push(Point { at, bar: at[0] + aside, ends: held, cut, room, of });
            }
            laid.push((*trace, points));
        }
        (laid, crowded)
    }
}

impl Area {
    /// Vertical place of a value.
    pub fn down(&self, value: f64) -> Option<f64> {
        Some(self.top + (1.0 - self.y.place(value)?) * self.height)
    }
}

/// Room beyond the first size and the last that marks next to each other take, of a panel so wide.
fn outer_room(figure: &Figure, x: &Scale, across: f64) -> f64 {
    let traces = |panel: usize| figure.traces.iter().filter(move |trace| trace.panel == panel && !trace.model && !trace.stacked);
    let steps = (0..figure.panels.len()).map(|panel| traces(panel).count()).max().unwrap_or(0).saturating_sub(1) as f64;
    let mut places: Vec<f64> = figure.traces.iter().flat_map(|trace| sizes(&trace.x)).filter_map(|size| x.place(*size)).collect();
    places.order_by(f64::total_cmp);
    places.dedup();
    let gap = places.windows(2).map(|pair| pair[1] - pair[0]).fold(1.0, f64::min) * across;
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return 0.0 };
    let shift = ((APART + 1.0) * steps).min(gap * 0.75) / 2.0;
    (shift + APART / 2.0 - first.min(1.0 - last) * across).max(0.0)
}

/// Width of a text of letters so wide: capitals are wider.
pub fn long(text: &str, letter: f64) -> f64 {
    let wide = |one: char| if one.is_uppercase() || one == '_' || one == '…' { 1.25 } else { 1.0 };
    text.chars().map(wide).sum::<f64>() * letter
}

/// Lines that end in their names. One alone is named by the title, unless it repeats a figure: then that says of when it is.
fn named(figure: &Figure) -> Vec<&Trace> {
    let is_line = |trace: &&Trace| trace.legend && !trace.stacked && !trace.is_empty();
    let all: Vec<&Trace> = figure.traces.iter().filter(is_line).collect();
    if all.len() > 1 || figure.repeats() { all } else { Vec::new() }
}

/// Names in rows above the panels; one that is longer than a row takes several.
fn in_rows<'t>(named: &[&'t Trace], width: f64) -> Vec<Label<'t>> {
    let (mut x, mut y) = (0.0, 12.0);
    let place = |trace: &&'t Trace| {
        let reach = SAMPLE + long(&trace.name, BOLD) + BEHIND;
        if x > 0.0 && x + reach > width {
            (x, y) = (0.0, y + NAMES_APART);
        }
        let lines = in_lines(&trace.name, width - SAMPLE - BEHIND);
        let at = [x + SAMPLE, y];
        y += NAMES_APART * (lines.len() - 1) as f64;
        x += reach;
        Label { trace, at, lines, above: true }
    };
    named.iter().map(place).collect()
}

/// A name in lines no wider than this; at least one.
fn in_lines(name: &str, width: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    let fits = |text: &str| long(text, BOLD) <= width;
    for word in name.split(' ') {
        let line = lines.len() - 1;
        let longer = if lines[line].is_empty() { word.to_owned() } else { format!("{} {word}", lines[line]) };
        if fits(&longer) {
            lines[line] = longer;
            continue;
        }
        lines.extend((!lines[line].is_empty()).then(String::new));
        // A word that is wider than a line breaks anywhere.
        for letter in word.chars() {
            let line = lines.len() - 1;
            match fits(&format!("{}{letter}", lines[line])) || lines[line].is_empty() {
                true => lines[line].push(letter),
                false => lines.push(letter.to_string()),
            }
        }
    }
    lines
}

/// Heights pushed apart between two ends, in the order in which they stood.
fn spread(wanted: &[f64], [top, bottom]: [f64; 2]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.order_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut heights = wanted.to_vec();
    let mut least = top;
    for place in &order {
        heights[*place] = heights[*place].max(least);
        least = heights[*place] + NAMES_APART;
    }
    let mut most = bottom;
    for place in order.iter().rev() {
        heights[*place] = heights[*place].min(most);
        most = heights[*place] - NAMES_APART;
    }
    heights
}

fn sizes(x: &X) -> &[f64] {
    match x {
        X::Sizes(sizes) => sizes,
        X::Names(_) => &[],
    }
}

/// Every name on the horizontal axis, in the order met.
fn names(figure: &Figure) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for trace in &figure.traces {
        if let X::Names(names) = &trace.x {
            for name in names {
                if !all.contains(&name.as_str()) {
                    all.push(name);
                }
            }
        }
    }
    all
}

fn panels(figure: &Figure, columns: usize, key: f64, height: f64) -> Vec<Area> {
    let count = figure.panels.len().max(1) as f64;
    let room = height - FOOT - HEAD * count - GAP * (count - 1.0);
    let whole: f64 = figure.panels.iter().map(|panel| panel.share).sum();
    let mut top = key;
    let mut areas = Vec::new();
    for (place, panel) in figure.panels.iter().enumerate() {
        let height = room * if whole > 0.0 { panel.share / whole } else { 1.0 / count };
        let [least, most] = heights(figure, place, columns);
        let (y, ticks) = match &panel.log_ticks {
            Some(known) => {
                let y = Scale::log(least, most, 1.12);
                let ticks = y.known(known);
                (y, ticks)
            }
            None => {
                let y = Scale::linear(least, most, panel.shows_zero());
                let ticks = y.round(height, panel.unit);
                (y, ticks)
            }
        };
        let gap = if place > 0 { GAP } else { 0.0 };
        areas.push(Area { top: top + gap + HEAD, height, y, ticks });
        top += gap + HEAD + height;
    }
    areas
}

/// The least and the most of a panel. An interval that is much longer than the points lie apart
/// does not squeeze them: it is cut.
fn heights(figure: &Figure, panel: usize, columns: usize) -> [f64; 2] {
    let traces = || figure.traces.iter().filter(move |trace| trace.panel == panel);
    if traces().any(|trace| trace.stacked) {
        let most = sums(traces(), columns.max(1)).into_iter().fold(0.0, f64::max);
        return [0.0, most];
    }
    let log = figure.panels[panel].log_ticks.is_some();
    let values = || traces().flat_map(|trace| &trace.y).flatten().copied().filter(|value| !log || *value > 0.0);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let far = |of: fn(&Trace) -> &Vec<f64>, sign: f64| {
        traces().flat_map(move |trace| trace.y.iter().zip(of(trace)).filter_map(move |(value, far)| Some((*value)? + sign * far)))
    };
    let low = far(|trace| &trace.down, -1.0).filter(|value| !log || *value > 0.0).fold(least, f64::min);
    let high = far(|trace| &trace.up, 1.0).fold(most, f64::max);
    if log {
        return [low.max(least / 3.0), high.min(most * 3.0)];
    }
    let zero = figure.panels[panel].shows_zero();
    let base = if zero { least.min(0.0) } else { least };
    let length = if most > base { most - base } else { most.abs() };
    let low = if zero { base } else { low.max(least - 0.6 * length) };
    [low, high.min(most + 0.6 * length)]
}

/// Heights of the stacks of a panel, by their place.
fn sums<'t>(traces: impl Iterator<Item = &'t Trace>, columns: usize) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    for trace in traces {
        for (sum, height) in sums.iter_mut().zip(&trace.y) {
            *sum += height.unwrap_or(0.0).max(0.0);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::{NAMES_APART, spread};
    use proptest::prelude::{prop_assert, proptest};

    #[test]
    fn names_keep_their_order_and_their_place_where_there_is_room() {
        assert_eq!(spread(&[50.0, 52.0, 10.0], [0.0, 100.0]), [50.0, 66.0, 10.0]);
        assert_eq!(spread(&[99.0, 98.0], [0.0, 100.0]), [100.0, 84.0], "they do not leave the panel");
    }

    proptest! {
        #[test]
        fn names_never_touch(wanted in proptest::collection::vec(0.0..200.0, 1..6)) {
            let mut heights = spread(&wanted, [0.0, 200.0]);
            prop_assert!(heights.iter().all(|down| (-1e-9..=200.0 + 1e-9).contains(down)));
            heights.sort_by(f64::total_cmp);
            prop_assert!(heights.windows(2).all(|pair| pair[1] - pair[0] >= NAMES_APART - 1e-9));
        }
    }
}
