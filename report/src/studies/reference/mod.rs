//! Published studies, and whatever is compared with them.
//!
//! ```text
//! ReferenceAnalysis -> claims, figures (a file a paper), words, chart -> Document -> terminal | html
//!                   -> csv (which the page holds), json
//! ```

mod chart;
pub mod claims;
pub mod csv;
pub mod figures;
mod shape;
mod words;

use analysis::group_by;
use literature::cabrera::loads::LoadCurve;
use literature::cabrera::routines::{Routine, Routines};
use literature::claims::evidence::Curve;
use literature::comparison::Pair;
use literature::cost::CostPiece;
use literature::jacobson::BufferCurve;
use literature::sweep::{SeriesResult, SizeResult};
use literature::{Comparison, ReferenceAnalysis, Resampled, Statement, Study};
use model::sorting::Gather;

use crate::document::{Block, Cell, Cut, Document, Estimated, Figure, Head, Keeps, Kind, Masthead, Rows, Section, Shown, Table, Text};
use crate::number;
use crate::words::capital;
use crate::{json, studies::cost::r_squared};

/// Longest name of a series in a table of a terminal.
const LONGEST: usize = 16;

/// The published studies as text.
pub fn list() -> Document {
    let facts = Study::ALL.iter().map(|study| (study.name(), format!("{}. {}", study.title(), study.source())));
    let how = "`nettoll reference NAME` analyses one; `nettoll reference NAME RUN` compares a stored run with it.";
    Document::plain("Published studies", [Block::facts(facts), Block::Paragraph(how.into())])
}

/// The published studies as JSON.
pub fn list_json() -> String {
    json::pretty(&Study::ALL.map(|study| serde_json::json!({ "name": study.name(), "title": study.title(), "source": study.source() })))
}

/// Series of one machine, in the order in which machines first come up.
pub struct Machine<'a> {
    /// Its name.
    name: &'a str,
    /// Its series.
    series: Vec<&'a SeriesResult>,
}

/// The machines of series.
pub fn machines(series: &[SeriesResult]) -> Vec<Machine<'_>> {
    group_by(series, |one| one.group.as_str()).into_iter().map(|(name, series)| Machine { name, series }).collect()
}

impl Machine<'_> {
    /// Every size of any of its series, rising.
    fn sizes(&self) -> Vec<u64> {
        let all = self.series.iter().flat_map(|series| &series.sizes).map(|size| size.message_bytes);
        all.into_set().into_iter().collect()
    }
}

/// The analysis.
pub fn document(analysis: &ReferenceAnalysis) -> Document {
    let own = machines(&analysis.series);
    let theirs: Vec<Machine> = analysis.comparisons.iter().flat_map(|one| machines(&one.series)).collect();
    // Charts of a study stand with its figures, and of 2007 what is compared with it, too.
    let stands_there = |place: usize| analysis.study.is_some_and(|study| place < own.len() || study == Study::Bidulock2007);
    let charts = own.iter().chain(&theirs).enumerate().map(|(place, machine)| match stands_there(place) {
        true => Vec::new(),
        false => chart::of_machine(machine, place),
    });
    let mut charts: Vec<Vec<Figure>> = charts.collect();
    let their_charts = charts.split_off(own.len());
    let mut sections = vec![summary(analysis)];
    let inconsistencies = analysis.inconsistencies.iter().map(|text| capital(text));
    sections.extend(analysis.study.map(|_| paper(analysis, None)));
    sections.extend(listed("inconsistencies", "What does not go together in the tables", "Inconsistencies", inconsistencies));
    sections.extend(listed("remarks", "To be known", "", analysis.remarks.iter().cloned()));
    sections.extend(sweeps("sizes", "Message sizes", &own, charts));
    if analysis.study.is_none() {
        sections.extend(loads(&analysis.loads));
        sections.extend(analysis.routines.as_ref().map(routines));
    }
    if analysis.study != Some(Study::Jacobson1988) {
        sections.extend(socket_buffers(analysis));
    }
    sections.extend(analysis.comparisons.iter().enumerate().map(|one| compared(analysis, one)));
    sections.extend(sweeps("published-sizes", "Message sizes of what is compared", &theirs, their_charts));
    sections.push(legend(analysis));
    let source = Some(analysis.source.clone()).filter(|source| *source != analysis.name);
    let masthead = Masthead::of(format!("reference · {}", analysis.name), analysis.title.as_str(), source);
    let data = vec![("analysis", json::compact(analysis)), ("csv", json::compact(&csv::render(analysis)))];
    Document { data, ..Document::of(masthead, sections) }
}

/// The claims of the paper, with their rulings.
fn summary(analysis: &ReferenceAnalysis) -> Section {
    let statements: Vec<&Statement> = analysis.statements.iter().collect();
    let blocks = if statements.is_empty() {
        vec![Block::Lead("Figures of others, analysed with what analyses a run.".into())]
    } else {
        let lead = format!("{}.", claims::tally(statements.iter().copied()));
        let table = claims::table(&[(Text::default(), statements)], &figures::places(analysis));
        let table = Block::folded("Every claim, with its ruling, its figures and its rule", [table.into()]);
        [Block::Lead(lead.into())].into_iter().chain(table).collect()
    };
    Section::named("summary", "Summary", blocks)
}

/// Figures and tables of a paper in its own form, next to those of `today` where runs were asked for, what it concludes, and
/// the figures that its text states.
pub fn paper(analysis: &ReferenceAnalysis, today: Option<&[Curve]>) -> Section {
    let blocks = figures::of(analysis, today).into_iter().chain(claims::stated(&analysis.stated));
    Section::new(format!("paper-{}", analysis.name), analysis.title.clone(), blocks).led("Figures")
}

/// Curves over socket buffers of a table from elsewhere.
fn socket_buffers(analysis: &ReferenceAnalysis) -> Option<Section> {
    let curves: Vec<&BufferCurve> = analysis.buffers.iter().chain(analysis.comparisons.iter().flat_map(|one| &one.buffers)).collect();
    let charts = Block::figures(chart::of_buffers(&curves).into_iter().collect());
    let blocks = charts.into_iter().chain(analysis.buffers.iter().map(curve));
    (!curves.is_empty()).then(|| Section::named("buffers", "Socket buffers", blocks))
}

fn listed(id: &str, title: &str, name: &str, all: impl Iterator<Item = String>) -> Option<Section> {
    Some(Section::new(id, title, [Block::sentences(all)?]).led(name))
}

fn sweeps(id: &str, title: &str, machines: &[Machine], charts: Vec<Vec<Figure>>) -> Option<Section> {
    let lead = "In parentheses and as ±: 95 % residual-bootstrap intervals. They say how well the table knows its line, not what another day would give.";
    let pieces = machines.iter().zip(charts).map(|(machine, charts)| sweep(machine, charts));
    (!machines.is_empty()).then(|| Section::named(id, title, std::iter::once(Block::Lead(lead.into())).chain(pieces)).folded(title))
}

/// One machine: rates and improvements by size, costs by series.
fn sweep(machine: &Machine, charts: Vec<Figure>) -> Block {
    let remarks = Block::sentences(machine.series.iter().flat_map(|series| words::remarks(series)));
    let blocks = Block::figures(charts).into_iter().chain([by_size(machine).into(), costs(machine).into()]).chain(remarks);
    Block::piece(machine.name, blocks)
}

/// A row for each size and a few columns for each series.
fn by_size(machine: &Machine) -> Table {
    let sizes = machine.sizes();
    let mut rows = Rows::of(&sizes).figures(("Size, B", 10, ["", "size"]), u64::to_string).tight(true);
    type Write = fn(&SizeResult) -> Option<String>;
    let figures: [(u8, &str, Write); 3] = [
        (9, "messages/s", |size| Some(number::count(size.messages_per_s))),
        (6, "time", |size| Some(number::time(size.time_per_message_ns))),
        (5, "bit/s", |size| Some(number::count(size.goodput_bit_per_s))),
    ];
    let improvement: (u8, &str, Write) = (8, "improvement", |size| size.improvement.map(number::change));
    let residual: (u8, &str, Write) = (3, "residual", |size| size.residual.map(number::change));
    let plain = machine.series.iter().flat_map(|series| figures.into_iter().chain([residual]).map(move |figure| (series, figure)));
    let improved = machine.series.iter().filter(|series| series.baseline.is_some()).map(|series| (series, improvement));
    for (series, (rank, head, write)) in plain.chain(improved) {
        let line = format!("{}: {head}", series.name);
        let short = [words::ends(&series.name, LONGEST), head.to_owned()];
        rows = rows.figures((line.as_str(), rank, short), |size| series.at(*size).and_then(write));
    }
    rows.table()
}

fn costs(machine: &Machine) -> Table {
    let series: Vec<&SeriesResult> = machine.series.clone();
    let piece = |series: &&SeriesResult, of: fn(&CostPiece) -> &Resampled| {
        let figure = of(series.cost.as_ref()?.pieces.first()?);
        Some(Estimated {
            mark: "",
            value: number::time(figure.value),
            margin: words::plus_minus(figure),
            ends: words::range(figure, number::time),
            n: 0,
            known: figure.residual_bootstrap.is_some(),
            reach: None,
            range: String::new(),
        })
    };
    let cost = |series: &&SeriesResult, of| piece(series, of).map_or(Cell::Nothing, Cell::Estimate);
    let estimates = Kind::Estimates(Shown::Margin);
    let table = Rows::of(&series)
        .words(("Series", 9, ["", "cost of"]), |series| series.name.as_str())
        .tight(true)
        .column(("Per message", 9, ["per", "message"]), estimates, |series| cost(series, |piece| &piece.message_ns))
        .column(("Per byte", 9, ["per", "byte"]), estimates, |series| cost(series, |piece| &piece.byte_ns))
        .tight(false)
        .figures(("Line to, B", 5, ["line", "to, B"]), |series| words::line_to(series))
        .figures(("r²", 6, ["", "r²"]), |series| series.cost.as_ref().map(|cost| r_squared(cost.r_squared)))
        .figures(("Least squares, per byte", 3, ["least", "squares"]), |series| {
            series.cost.as_ref().map(|cost| number::time(cost.least_squares.byte_ns))
        })
        .words(("Power law of throughput", 7, ["power law of", "throughput"]), |series| words::law(series))
        .tight(true)
        .figures(("Limit", 8, ["", "limit"]), |series| series.saturation.map(|end| number::bits(end.limit_bit_per_s)))
        .figures(("Half of it at", 4, ["half of it", "at"]), |series| series.saturation.map(|end| number::bytes(end.half_bytes)))
        .table()
        .labelled(format!("{}: costs", machine.name), format!("{}: costs by series", machine.name));
    cut(table)
}

/// The same, whose names may be cut.
fn cut(mut table: Table) -> Table {
    table.columns[0].cut = Some(Cut { least: LONGEST, keeps: Keeps::Start });
    table
}

fn loads(curves: &[LoadCurve]) -> Option<Section> {
    let mut rows =
        Rows::of(curves).words(("Machine", 9, ["", "machine"]), machine).words(("What, in ms", 8, ["", "what"]), |curve| curve.of);
    for unit in words::units(curves) {
        let name = words::plain(unit, 2);
        let at = |curve: &LoadCurve| curve.points.iter().find(|point| point[0] == unit).map(|point| number::significant(point[1], 3));
        rows = rows.figures((format!("{name} units").as_str(), 7, ["units".to_owned(), name]), at);
    }
    let each = |curve: &LoadCurve| curve.line.map(|line| number::significant(line[1], 2));
    let table = rows.figures(("Each unit", 6, ["each", "unit"]), each).table();
    let table = cut(table.labelled("Times by load", "Times by units of load at the sender, in ms"));
    (!curves.is_empty()).then(|| Section::new("loads", "Under load at the sender, ms", [table.into()]).led("Loads"))
}

fn machine(curve: &LoadCurve) -> String {
    format!("{} {}", curve.machine, curve.protocol.to_uppercase())
}

fn routines(routines: &Routines) -> Section {
    let mut blocks = vec![Block::Lead("The costliest over all sizes first.".into())];
    type Figures = fn(&Routine) -> &Vec<Option<f64>>;
    let tables: [(&str, Figures); 2] = [("µs per message", |row| &row.us_per_message), ("calls per message", |row| &row.calls_per_message)];
    for (title, of) in tables {
        let mut rows = Rows::of(&routines.rows).words(("Routine", 9, ["", "routine"]), |row| row.name.as_str());
        for (place, size) in routines.sizes.iter().enumerate() {
            let name = format!("{} B", number::whole(*size));
            let figure = |row: &Routine| of(row).get(place).copied().flatten().map(|figure| number::significant(figure, 3));
            rows = rows.figures(Head::ranked(name, 8), figure);
        }
        let known = routines.rows.iter().any(|row| of(row).iter().any(Option::is_some));
        blocks.extend(known.then(|| cut(rows.table().titled(title)).into()));
    }
    let movers = routines.movers.iter().take(4).map(|(name, us)| format!("{name} {} µs", number::significant(*us, 3)));
    let movers: Vec<String> = movers.collect();
    blocks.extend(
        (!movers.is_empty()).then(|| Block::Paragraph(format!("From 1,024 to 1,023 B these move most: {}.", movers.join(", ")).into())),
    );
    Section::new("routines", "Routines of the send path", blocks).led("Routines")
}

/// Throughput by socket buffer.
pub fn buffers(curve: &BufferCurve) -> Table {
    Rows::of(&curve.points)
        .tight(true)
        .figures(("Buffer, packets", 9, ["buffer,", "packets"]), |point| words::plain(point.packets, 3))
        .figures(("KB/s", 9, ["", "KB/s"]), |point| words::plain(point.kbytes_per_s, 4))
        .figures(("On the wire, Mbit/s", 6, ["on the wire,", "Mbit/s"]), |point| {
            point.wire_mbit_per_s.map(|rate| number::significant(rate, 2))
        })
        .figures(("Share of its best", 8, ["of its", "best"]), |point| number::percent(point.share_of_best))
        .figures(("Share of the limit", 8, ["of the", "limit"]), |point| point.share_of_limit.map(number::percent))
        .figures(("Two lines, KB/s", 7, ["two lines,", "KB/s"]), |point| point.fitted.map(|fitted| number::significant(fitted, 3)))
        .table()
        .labelled(format!("{}: by socket buffer", curve.name), format!("{}: throughput by socket buffer", curve.name))
}

fn curve(curve: &BufferCurve) -> Block {
    Block::piece(curve.name.as_str(), std::iter::once(buffers(curve).into()).chain(Block::sentences(words::curve(curve))))
}

/// A table that is compared with the study: its remarks, the ratios, its own curves.
fn compared(analysis: &ReferenceAnalysis, (place, comparison): (usize, &Comparison)) -> Section {
    let lead = Block::Lead("Ratios over the reference: how far apart the two are. What differs between them is everything.".into());
    let pairs = comparison.buffer_pairs.iter().map(words::buffers);
    let sentences = Block::sentences(comparison.remarks.iter().cloned().chain(pairs).chain(shape::sentences(analysis, comparison)));
    let ratios = (!comparison.pairs.is_empty()).then(|| ratios(&comparison.pairs).into());
    let blocks = std::iter::once(lead).chain(ratios).chain(sentences).chain(comparison.buffers.iter().map(curve));
    Section::new(format!("next-{place}"), format!("Next to it: {}", comparison.label), blocks)
}

fn ratios(pairs: &[Pair]) -> Table {
    let table = Rows::of(pairs)
        .words(("Series", 9, ["", "series"]), |pair| pair.candidate.as_str())
        .words(("Reference", 4, ["", "reference"]), |pair| words::short(&pair.group, 30))
        .words(("Its series", 9, ["its", "series"]), |pair| words::ends(&pair.reference, LONGEST))
        .figures(("Common sizes", 5, ["", "sizes"]), |pair| pair.sizes.len().to_string())
        .figures(("Messages/s", 8, ["", "messages/s"]), words::ratios)
        .figures(("Cost per message", 7, ["cost per", "message"]), |pair| words::times(pair.message_ns))
        .figures(("Cost per byte", 6, ["cost per", "byte"]), |pair| words::times(pair.byte_ns))
        .table()
        .labelled("Ratios over the reference", "Ratios over the reference");
    cut(table)
}

fn legend(analysis: &ReferenceAnalysis) -> Section {
    let mut legend = Vec::new();
    if !analysis.series.is_empty() || analysis.comparisons.iter().any(|one| !one.series.is_empty()) {
        let interval =
            "farther end of the 95 % residual-bootstrap interval: how well the table knows its line, not what another day would give";
        legend.extend([("±", interval), ("limit", "8 / (cost per byte): throughput of endless messages")]);
    }
    if analysis.comparisons.iter().any(|one| !one.pairs.is_empty()) {
        legend.push(("x", "times the reference's figure: how far apart the two are; what differs between them is everything"));
    }
    Section::untitled((!legend.is_empty()).then(|| Block::facts(legend)))
}
