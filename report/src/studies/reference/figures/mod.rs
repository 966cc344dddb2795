//! Figures and tables of the papers in their own form: axes, scales and series as the papers have
//! them, with what their tables or their text hold. A file a paper.

mod y1984;
mod y1988;
mod y1993;
mod y1997;
mod y2007;

use literature::claims::evidence::Curve;
use literature::{ReferenceAnalysis, Statement, Study};
use model::sorting::Order;

use super::claims;
use crate::document::figure::{Figure, Panel, Scale, SizeAxis, Ticks, Trace, drawable};
use crate::document::{Block, Rows, Span, Table, Text};
use crate::number;
use crate::words::list;

/// A figure or a table of a paper, or several of one machine.
pub struct Item {
    /// The paper's name for it: `Figure 4`.
    pub name: String,
    /// What it shows.
    pub shows: String,
    /// What the paper gives: tables, stated figures, a drawing.
    then: &'static str,
    /// The claims that it was made for.
    claims: &'static [&'static str],
    /// The drawings; none where the paper has no numbers.
    figures: Vec<Figure>,
    /// The tables.
    tables: Vec<Table>,
    /// What follows from them.
    notes: Vec<String>,
    /// A table of today is among them.
    tabled_today: bool,
    /// Command that measures its counterpart of today.
    command: &'static str,
    /// Reason why no run is one; empty: runs of the command are.
    reason: &'static str,
    /// The item whose charts of today are its own, too.
    same_as: Option<String>,
}

/// The curve was published as a drawing only.
pub const DRAWING: &str = "The curve was published as a drawing only. Figures that the text states are marked, or stand below.";

impl Item {
    fn new(name: impl Into<String>, shows: impl Into<String>, then: &'static str, claims: &'static [&'static str]) -> Self {
        Self {
            name: name.into(),
            shows: shows.into(),
            then,
            claims,
            figures: Vec::new(),
            tables: Vec::new(),
            notes: Vec::new(),
            tabled_today: false,
            command: "",
            reason: "",
            same_as: None,
        }
    }

    /// Its drawings, of those that there are and that have something to show.
    fn drawn(mut self, figures: impl IntoIterator<Item = Figure>) -> Self {
        self.figures.extend(figures.into_iter().filter(|one| drawable(one.clone()).is_some()));
        self
    }

    fn tabled(mut self, tables: impl IntoIterator<Item = Table>) -> Self {
        self.tables.extend(tables);
        self
    }

    /// A table of today, if there is one.
    fn tabled_today(mut self, table: Option<Table>) -> Self {
        self.tabled_today |= table.is_some();
        self.tabled(table)
    }

    fn noted(self, notes: impl IntoIterator<Item = String>) -> Self {
        Self { notes: notes.into_iter().collect(), ..self }
    }

    /// The command whose runs are its counterpart of today.
    fn measured_by(self, command: &'static str) -> Self {
        Self { command, ..self }
    }

    /// The same where no run can be, or is in `nettoll papers`, its counterpart.
    fn without(self, reason: &'static str, command: &'static str) -> Self {
        Self { reason, command, ..self }
    }

    /// The same whose charts of today are those of another item, if there are any.
    fn same_as(self, item: Option<String>) -> Self {
        Self { same_as: item, ..self }
    }

    /// It has a counterpart of today.
    pub fn has_today(&self) -> bool {
        self.shows_today() || self.same_as.is_some()
    }

    /// The same below its own heading.
    fn shows_today(&self) -> bool {
        let of_today = |trace: &Trace| trace.stacked || trace.name.starts_with(TODAY);
        self.tabled_today || self.figures.iter().flat_map(|figure| &figure.traces).any(of_today)
    }

    /// Why nothing of today stands here, and the command that measures it.
    fn lacking(&self, study: Study) -> Text {
        match (self.reason, &self.same_as) {
            (_, Some(item)) => Text::from("Today: the same charts as at ").and(Span::Link(place(study, item).into(), item.clone())),
            ("", None) => format!("Today: no run here measures it. `nettoll {}` does.", self.command).into(),
            (reason, None) => format!("Today: {reason} `nettoll {}`.", self.command).into(),
        }
    }

    fn block(self, analysis: &ReferenceAnalysis, study: Study, told_apart: bool, measured: bool) -> Block {
        let heading = Text::from(format!("{}, {}: {}", study.year(), self.name, self.shows)).and(Span::Place(place(study, &self.name)));
        let lacking = (measured && !self.shows_today()).then(|| Block::Paragraph(self.lacking(study)));
        let figures = self.figures.into_iter().map(|figure| if told_apart { dated(figure) } else { figure }).collect();
        let (charts, tables) = (Block::figures(figures), self.tables.into_iter().map(Block::from));
        // A table of the paper, or what is drawn of nothing else, is not folded.
        let tables: Vec<Block> = match charts {
            Some(_) => Block::folded("Its figures in a table", tables).into_iter().collect(),
            None => tables.collect(),
        };
        let blocks = lacking.into_iter().chain(charts).chain(tables).chain(Block::sentences(self.notes));
        let blocks = blocks.chain([Block::Aside(format!("Then: {}", self.then).into())]);
        let claims = claims::lines(&analysis.statements, self.claims);
        Block::piece(heading, blocks.chain(Block::folded("The claims that were made from it", claims)))
    }
}

/// Every figure and table of a paper in the paper's order; the conclusion in our words before them.
/// Curves of today, where runs were asked for, stand next to those of then.
pub fn of(analysis: &ReferenceAnalysis, today: Option<&[Curve]>) -> Vec<Block> {
    let Some(study) = analysis.study else { return Vec::new() };
    let (conclusion, items) = items(study, analysis, today.unwrap_or_default());
    // Of the papers alone every curve is of then.
    let told_apart = today.is_some() || !analysis.comparisons.is_empty();
    let lead = Block::Lead(format!("The paper concludes: {conclusion}").into());
    let block = |item: Item| item.block(analysis, study, told_apart, today.is_some());
    std::iter::once(lead).chain(items.into_iter().map(block)).collect()
}

fn items(study: Study, analysis: &ReferenceAnalysis, today: &[Curve]) -> (&'static str, Vec<Item>) {
    match study {
        Study::Cabrera1984 => (y1984::CONCLUSION, y1984::items(analysis, today)),
        Study::Jacobson1988 => (y1988::CONCLUSION, y1988::items(analysis, today)),
        Study::Kay1993 => (y1993::CONCLUSION, y1993::items(today)),
        Study::Kim1997 => (y1997::CONCLUSION, y1997::items(today)),
        Study::Bidulock2007 => (y2007::CONCLUSION, y2007::items(analysis, today)),
    }
}

/// The place of a figure in a page.
fn place(study: Study, name: &str) -> String {
    let letter = |one: char| if one.is_ascii_alphanumeric() { one.to_ascii_lowercase() } else { '-' };
    format!("of-{}-{}", study.year(), name.chars().map(letter).collect::<String>())
}

/// A figure of a paper in a list of contents.
pub struct Entry {
    /// Its place in a page.
    pub place: String,
    /// Its name, of several machines with the machine.
    pub name: String,
    /// It has a counterpart of today.
    pub has_today: bool,
}

/// Figures and tables of a paper in its order.
pub fn listed(analysis: &ReferenceAnalysis, today: &[Curve]) -> Vec<Entry> {
    let Some(study) = analysis.study else { return Vec::new() };
    let entry = |item: Item| {
        let name = if study == Study::Bidulock2007 { format!("{} ({})", item.name, item.shows) } else { item.name.clone() };
        Entry { place: place(study, &item.name), name, has_today: item.has_today() }
    };
    items(study, analysis, today).1.into_iter().map(entry).collect()
}

/// The way from a claim of the paper to the figure that it was made from.
pub fn places(analysis: &ReferenceAnalysis) -> impl Fn(&Statement) -> Option<(String, String)> + use<> {
    let all: Vec<(Study, Vec<Item>)> = analysis.study.into_iter().map(|study| (study, items(study, analysis, &[]).1)).collect();
    move |statement| {
        let (study, items) = all.first()?;
        let item = items.iter().find(|item| item.claims.contains(&statement.id.as_str()))?;
        Some((place(*study, &item.name), item.name.clone()))
    }
}

/// Start of the names of today's curves.
const TODAY: &str = "today";

/// Words that a curve's name begins with, by which a reader tells then from today.
const WHEN: [&str; 3] = ["then", TODAY, "given"];

/// The same figure, whose curves say of when they are: what does not is of the paper, and hollow.
fn dated(figure: Figure) -> Figure {
    let one = |trace: Trace| match WHEN.iter().any(|when| trace.name.starts_with(when)) || trace.stacked {
        true => trace,
        false => Trace { name: format!("then, {}", trace.name), hollow: true, ..trace },
    };
    Figure { traces: figure.traces.into_iter().map(one).collect(), ..figure }
}

/// A linear axis of message sizes, and no other.
pub fn linear_sizes(most: u64) -> SizeAxis {
    SizeAxis { log: false, log_ticks: Ticks::default(), ..SizeAxis::over(1, most) }
}

/// A linear axis of numbers, and no other.
pub fn linear_numbers(title: &'static str, least: f64, most: f64) -> SizeAxis {
    SizeAxis { log_ticks: Ticks::default(), ..SizeAxis::of_numbers(title, least, most, false) }
}

/// A figure of one panel.
pub fn figure(id: String, title: &str, caption: &str, axis: Option<SizeAxis>, panel: Panel, traces: Vec<Trace>) -> Figure {
    let alt = format!("{title}. {caption}");
    Figure { id: id.into(), title: title.to_owned().into(), caption: caption.to_owned(), alt, sizes: axis, panels: vec![panel], traces }
}

/// A curve of today over sizes as a trace with intervals; heights times `scale`.
pub fn of_today(curve: &Curve, series: usize, scale: f64, write: impl Fn(f64) -> String) -> Trace {
    of_today_over("B", curve, series, scale, write)
}

/// The same over another quantity.
pub fn of_today_over(unit: &str, curve: &Curve, series: usize, scale: f64, write: impl Fn(f64) -> String) -> Trace {
    let point = |(at, figure): &(f64, literature::claims::evidence::Figure)| {
        (*at, figure.value * scale, format!("{at} {unit}"), write(figure.value * scale))
    };
    let mut trace = Trace::points(&format!("{TODAY}, {}", curve.name), series, curve.points.iter().map(point));
    // A figure without an interval has an end that is nowhere.
    let reach = |of: &literature::claims::evidence::Figure, far: f64| if of.high.is_finite() { far * scale } else { 0.0 };
    trace.up = curve.points.iter().map(|(_, figure)| reach(figure, figure.high - figure.value)).collect();
    trace.down = curve.points.iter().map(|(_, figure)| reach(figure, figure.value - figure.low)).collect();
    trace
}

/// Then and today on one pair of axes, twice: as shares of each trace's own best, in the paper's
/// form, and absolute over a logarithmic height. Without today: then alone, in the paper's form.
pub fn twice(then: Figure, today: Vec<Trace>) -> Vec<Figure> {
    if today.is_empty() {
        return vec![then];
    }
    let Figure { id, title, sizes, panels, traces, .. } = then;
    let hollow = traces.into_iter().map(|trace| Trace { hollow: true, name: format!("then, {}", trace.name), ..trace });
    let all: Vec<Trace> = today.into_iter().chain(hollow).collect();
    let shares = all.iter().map(share_of_best).collect();
    let (name, unit) = panels.first().map_or(("", ""), |panel| (panel.title, panel.unit));
    let log = Panel::of(name, unit).on(Scale::Log);
    // Of a time the most is no best.
    let (most, of) = if unit == "s" { ("share of its own longest", "longest time") } else { ("share of its own best", "best") };
    let caption = &format!("Shares are of each line's own {of}.");
    let shares_panel = Panel { joined: true, ..Panel::of(most, "%").on(Scale::Linear) };
    vec![
        figure(id.to_string(), &format!("{title}, shares"), caption, sizes.clone(), shares_panel, shares),
        figure(format!("{id}-log"), &format!("{title}, absolute"), "", sizes, log, all),
    ]
}

fn share_of_best(trace: &Trace) -> Trace {
    let best = trace.y.iter().flatten().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let over = |all: &[f64]| all.iter().map(|value| value / best).collect();
    Trace {
        y: trace.y.iter().map(|height| height.map(|height| height / best)).collect(),
        up: over(&trace.up),
        down: over(&trace.down),
        ..trace.clone()
    }
}

/// Sizes of curves in words: `1, 1,440 and 16,384 B`.
pub fn drawn_sizes(curves: &[&Curve]) -> String {
    let mut sizes: Vec<u64> = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0 as u64)).collect();
    sizes.order();
    sizes.dedup();
    format!("{} B", list(&sizes.into_iter().map(number::whole).collect::<Vec<_>>()))
}

/// Names of sizes on an axis of bars.
fn size_name(bytes: f64) -> String {
    format!("{} B", number::whole(bytes as u64))
}

/// Bars of curves of today by size, one upon the other in the order of `names`; those without a bar are left out.
pub fn stacked(id: &str, title: &str, caption: &str, curves: &[&Curve], names: &[(&str, &str)]) -> Figure {
    let panel = Panel::of("CPU per message", "s").on(Scale::Linear);
    bars(id, title, caption, panel, (curves, names), |ns| (ns * 1e-9, number::time(ns)))
}

/// The same of counts of a message.
pub fn counted(id: &str, title: &str, caption: &str, of: &'static str, curves: &[&Curve], names: &[(&str, &str)]) -> Figure {
    let panel = Panel::of(of, "").on(Scale::Linear);
    bars(id, title, caption, panel, (curves, names), |count| (count, number::whole(count as u64)))
}

/// Bars whose heights and words `write` makes of the figures.
fn bars(
    id: &str,
    title: &str,
    caption: &str,
    panel: Panel,
    (curves, names): (&[&Curve], &[(&str, &str)]),
    write: impl Fn(f64) -> (f64, String),
) -> Figure {
    let one = |(place, (key, name)): (usize, &(&str, &str))| {
        let curve = curves.iter().find(|curve| curve.name == *key)?;
        let point = |(at, figure): &(f64, literature::claims::evidence::Figure)| {
            let (height, words) = write(figure.value);
            (size_name(*at), height, size_name(*at), words)
        };
        Some(Trace { stacked: true, ..Trace::points(name, place, curve.points.iter().map(point)) })
    };
    let traces = names.iter().enumerate().filter_map(one).collect();
    figure(id.to_owned(), title, caption, None, panel, traces)
}

/// ns of curves of today with their intervals, a column a size.
pub fn by_size(title: &str, curves: &[(String, &Curve)]) -> Option<Table> {
    let mut sizes: Vec<f64> = curves.iter().flat_map(|(_, curve)| curve.points.iter().map(|point| point.0)).collect();
    sizes.order_by(f64::total_cmp);
    sizes.dedup();
    let mut rows = Rows::of(curves).words("Both ends, today", |(name, _)| name.as_str());
    for size in &sizes {
        let cell = |(_, curve): &(String, &Curve)| {
            let figure = curve.points.iter().find(|point| point.0 == *size)?.1;
            let ends = if figure.high.is_finite() {
                format!(" ({} to {})", number::time(figure.low), number::time(figure.high))
            } else {
                String::new()
            };
            Some(format!("{}{ends}", number::time(figure.value)))
        };
        rows = rows.figures(size_name(*size).as_str(), cell);
    }
    (!sizes.is_empty()).then(|| rows.table().titled(title))
}
