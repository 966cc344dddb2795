//! Figures and tables of the papers in their own form: axes, scales and series as the papers have
//! them, with what their tables or their text hold. A file a paper.

mod y1984;
mod y1988;
mod y1993;
mod y1997;
mod y2007;

use literature::claims::evidence::Curve;
use literature::{ReferenceAnalysis, Statement, Study};
use model::order::Order;

use super::claims;
use crate::document::figure::{Figure, Panel, Scale, SizeAxis, Ticks, Trace};
use crate::document::{Block, Rows, Span, Table, Text};
use crate::number;
use crate::words::list;

/// A figure or a table of a paper, or several that are read together.
pub struct Item {
    /// The paper's name for it: `Figure 4`.
    pub name: &'static str,
    /// What it shows.
    pub shows: &'static str,
    /// What the paper gives: tables, stated figures, a drawing.
    pub then: &'static str,
    /// The claims that it was made for.
    pub claims: &'static [&'static str],
    /// The drawings; none where the paper has no numbers.
    pub figures: Vec<Figure>,
    /// The tables.
    pub tables: Vec<Table>,
    /// What follows from them.
    pub notes: Vec<String>,
}

/// The curve was published as a drawing only.
pub const DRAWING: &str = "The curve was published as a drawing only. Figures that the text states are marked, or stand below.";

impl Item {
    fn new(name: &'static str, shows: &'static str, then: &'static str, claims: &'static [&'static str]) -> Self {
        Self { name, shows, then, claims, figures: Vec::new(), tables: Vec::new(), notes: Vec::new() }
    }

    fn drawn(self, figures: impl IntoIterator<Item = Figure>) -> Self {
        Self { figures: figures.into_iter().collect(), ..self }
    }

    /// More drawings, of those that there are.
    fn and_drawn(mut self, figures: impl IntoIterator<Item = Option<Figure>>) -> Self {
        self.figures.extend(figures.into_iter().flatten());
        self
    }

    fn tabled(self, tables: impl IntoIterator<Item = Table>) -> Self {
        Self { tables: tables.into_iter().collect(), ..self }
    }

    fn noted(self, notes: impl IntoIterator<Item = String>) -> Self {
        Self { notes: notes.into_iter().collect(), ..self }
    }

    fn block(self, analysis: &ReferenceAnalysis, place: String, told_apart: bool) -> Block {
        let heading = Text::from(format!("{}: {}", self.name, self.shows)).and(Span::Place(place));
        let figures = self.figures.into_iter().map(|figure| if told_apart { dated(figure) } else { figure }).collect();
        let (charts, tables) = (Block::figures(figures), self.tables.into_iter().map(Block::from));
        // A table of the paper, or what is drawn of nothing else, is not folded.
        let tables: Vec<Block> = match charts {
            Some(_) => Block::folded("Its figures in a table", tables).into_iter().collect(),
            None => tables.collect(),
        };
        let blocks = charts.into_iter().chain(tables).chain(Block::sentences(self.notes));
        let blocks = blocks.chain([Block::Aside(format!("Then: {}", self.then).into())]);
        let claims = claims::lines(&analysis.statements, self.claims);
        Block::piece(heading, blocks.chain(Block::folded("The claims that were made from it", claims)))
    }
}

/// Every figure and table of a paper that has a counterpart here, in the paper's order; the
/// conclusion in our words before them. Curves of `today` stand next to those of then.
pub fn of(analysis: &ReferenceAnalysis, today: &[Curve]) -> Vec<Block> {
    let Some(study) = analysis.study else { return Vec::new() };
    let (conclusion, items) = items(study, analysis, today);
    // Of the papers alone every curve is of then.
    let told_apart = !today.is_empty() || !analysis.comparisons.is_empty();
    let lead = Block::Lead(format!("The paper concludes: {conclusion}").into());
    let block = |item: Item| {
        let place = place(study, item.name);
        item.block(analysis, place, told_apart)
    };
    std::iter::once(lead).chain(items.into_iter().map(block)).collect()
}

fn items(study: Study, analysis: &ReferenceAnalysis, today: &[Curve]) -> (&'static str, Vec<Item>) {
    match study {
        Study::Cabrera1984 => (y1984::CONCLUSION, y1984::items(analysis, today)),
        Study::Jacobson1988 => (y1988::CONCLUSION, y1988::items(analysis, today)),
        Study::Kay1993 => (y1993::CONCLUSION, y1993::items(today)),
        Study::Kim1997 => (y1997::CONCLUSION, y1997::items(today)),
        Study::Bidulock2007 => (y2007::CONCLUSION, y2007::items(analysis)),
    }
}

/// The place of a figure in a page.
fn place(study: Study, name: &str) -> String {
    format!("of-{}-{}", study.year(), name.to_lowercase().replace(' ', "-").replace(',', ""))
}

/// Figures and tables of a paper in its order: their places in a page, and their names.
pub fn listed(analysis: &ReferenceAnalysis) -> Vec<(String, &'static str)> {
    let all = analysis.study.map(|study| (study, items(study, analysis, &[]).1));
    all.into_iter().flat_map(|(study, items)| items.into_iter().map(move |item| (place(study, item.name), item.name))).collect()
}

/// The way from a claim of the paper to the figure that it was made from.
pub fn places(analysis: &ReferenceAnalysis) -> impl Fn(&Statement) -> Option<(String, String)> + use<> {
    let all: Vec<(Study, Vec<Item>)> = analysis.study.into_iter().map(|study| (study, items(study, analysis, &[]).1)).collect();
    move |statement| {
        let (study, items) = all.first()?;
        let item = items.iter().find(|item| item.claims.contains(&statement.id.as_str()))?;
        Some((place(*study, item.name), item.name.to_owned()))
    }
}

/// Words that a curve's name begins with, by which a reader tells then from today.
const WHEN: [&str; 3] = ["then", "today", "given"];

/// The same figure, whose curves say of when they are: what does not is of the paper, and hollow.
fn dated(figure: Figure) -> Figure {
    let one = |trace: Trace| match WHEN.iter().any(|when| trace.name.starts_with(when)) || trace.stacked {
        true => trace,
        false => Trace { name: format!("then, {}", trace.name), hollow: !trace.model, ..trace },
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

/// A curve of today as a trace with intervals; heights times `scale`.
pub fn of_today(curve: &Curve, series: usize, scale: f64, write: impl Fn(f64) -> String) -> Trace {
    let point = |(at, figure): &(f64, literature::claims::evidence::Figure)| {
        (*at, figure.value * scale, format!("{at} B"), write(figure.value * scale))
    };
    let mut trace = Trace::points(&format!("today, {}", curve.name), series, curve.points.iter().map(point));
    let reach = |far: f64| if far.is_finite() { far * scale } else { 0.0 };
    trace.up = curve.points.iter().map(|(_, figure)| reach(figure.high - figure.value)).collect();
    trace.down = curve.points.iter().map(|(_, figure)| reach(figure.value - figure.low)).collect();
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
    let caption = &format!("Hollow and dashed: then. Shares are of each line's own {of}.");
    let shares_panel = Panel { joined: true, ..Panel::of(most, "%").on(Scale::Linear) };
    vec![
        figure(id.to_string(), &title, caption, sizes.clone(), shares_panel, shares),
        figure(format!("{id}-log"), &format!("{title}, absolute"), "Hollow and dashed: then.", sizes, log, all),
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
