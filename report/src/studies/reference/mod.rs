//! Published studies, and whatever is compared with them.
//!
//! ```text
//! ReferenceAnalysis -> words, chart -> Document -> terminal | html
//!                   -> csv (which the page holds), json
//! ```

mod chart;
mod csv;
mod matrix;
mod shape;
mod words;

use analysis::group_by;
use literature::cabrera::loads::LoadCurve;
use literature::cabrera::routines::{Routine, Routines};
use literature::comparison::Pair;
use literature::cost::CostPiece;
use literature::jacobson::BufferCurve;
use literature::sweep::{SeriesResult, SizeResult};
use literature::{Comparison, ReferenceAnalysis, Resampled, Ruling, Statement as Claim, Study};
use model::order::Gather;

use crate::document::{
    Block, Cell, Document, Estimated, Figure, Head, Kind, Link, Masthead, Rows, Section, Shown, Span, Statement, Table, Text,
};
use crate::number;
use crate::sinks::terminal::{Page, Style};
use crate::words::{capital, plural};
use crate::{json, sinks, studies::cost::r_squared};

/// Longest name of a series in a table of a terminal.
const LONGEST: usize = 16;

/// The analysis as text; ends with a newline.
pub fn terminal(analysis: &ReferenceAnalysis, style: Style) -> String {
    sinks::terminal::render(&document(analysis, ""), style)
}

/// The analysis as a page; `tool` is nettoll's version.
pub fn html(analysis: &ReferenceAnalysis, tool: &str) -> String {
    sinks::html::render(&document(analysis, tool))
}

/// The analysis as JSON, indented. A figure that is not a number is `null`.
pub fn json(analysis: &ReferenceAnalysis) -> String {
    json::pretty(analysis)
}

/// The published studies as text.
pub fn list(style: Style) -> String {
    let mut page = Page::new(style);
    page.heading("Published studies");
    for study in Study::ALL {
        page.gap();
        page.labelled(&format!("{:<14}", study.name()), study.title(), 14);
        page.faint(study.source(), 14);
    }
    page.gap();
    page.text("`nettoll reference NAME` analyses one; `nettoll reference NAME RUN` compares a stored run with it.");
    page.finish()
}

/// The published studies as JSON.
pub fn list_json() -> String {
    json::pretty(&Study::ALL.map(|study| serde_json::json!({ "name": study.name(), "title": study.title(), "source": study.source() })))
}

/// Series of one machine, in the order in which machines first come up.
struct Machine<'a> {
    name: &'a str,
    series: Vec<&'a SeriesResult>,
}

fn machines(series: &[SeriesResult]) -> Vec<Machine<'_>> {
    group_by(series, |one| one.group.as_str()).into_iter().map(|(name, series)| Machine { name, series }).collect()
}

impl Machine<'_> {
    /// Every size of any of its series, rising.
    fn sizes(&self) -> Vec<u64> {
        let all = self.series.iter().flat_map(|series| &series.sizes).map(|size| size.message_bytes);
        all.into_set().into_iter().collect()
    }
}

fn document(analysis: &ReferenceAnalysis, tool: &str) -> Document {
    let own = machines(&analysis.series);
    let theirs: Vec<Machine> = analysis.comparisons.iter().flat_map(|one| machines(&one.series)).collect();
    let charts = own.iter().chain(&theirs).enumerate().map(|(place, machine)| chart::of_machine(machine, place));
    let mut charts: Vec<Vec<Figure>> = charts.collect();
    let curves: Vec<&BufferCurve> = analysis.buffers.iter().chain(analysis.comparisons.iter().flat_map(|one| &one.buffers)).collect();
    let buffers = chart::of_buffers(&curves);
    let their_charts = charts.split_off(own.len());
    let mut sections = vec![summary(analysis)];
    let inconsistencies = analysis.inconsistencies.iter().map(|text| capital(text));
    let link = Link::Short("Inconsistencies", None);
    sections.extend(listed("inconsistencies", "What does not go together in the tables", link, inconsistencies));
    sections.extend(listed("remarks", "To be known", Link::Absent, analysis.remarks.iter().cloned()));
    if !own.is_empty() {
        sections.push(sweeps("sizes", "Message sizes", true, &own, charts));
    }
    sections.extend(loads(&analysis.loads));
    sections.extend(analysis.routines.as_ref().map(routines));
    if !curves.is_empty() {
        sections.push(buffer_section(analysis, buffers));
    }
    sections.extend(analysis.comparisons.iter().enumerate().map(|one| compared(analysis, one)));
    if !theirs.is_empty() {
        let section = sweeps("published-sizes", "Message sizes of the published figures", false, &theirs, their_charts);
        sections.push(Section { link: Link::Absent, blocks: vec![Block::Page(section.blocks)], ..section });
    }
    sections.push(legend(analysis));
    Document {
        title: analysis.title.clone(),
        masthead: Masthead {
            brand: format!("reference · {}", analysis.name),
            heading: analysis.title.clone(),
            source: analysis.source.clone(),
            lines: (analysis.source != analysis.name).then(|| analysis.source.clone()).into_iter().collect(),
            ..Masthead::default()
        },
        places: sections.iter().filter_map(Section::place).collect(),
        sections,
        data: vec![("analysis", json::compact(analysis)), ("csv", json::compact(&csv::render(analysis)))],
        tool: tool.to_owned(),
        precision: None,
    }
}

/// The statements of the paper, each with its ruling.
fn summary(analysis: &ReferenceAnalysis) -> Section {
    let mut blocks = Vec::new();
    if analysis.statements.is_empty() {
        blocks.push(Block::Page(vec![Block::Lead("Figures of others, analysed with what analyses a run.".into())]));
    } else {
        let tally = words::tally(analysis);
        blocks.push(Block::Page(vec![Block::Lead(format!("What the paper says, and what its own tables show: {tally}.").into())]));
        let heading = Block::Heading("What the paper says, and what its tables show".into());
        blocks.push(Block::Terminal(vec![heading, Block::Paragraph(tally.into())]));
        let statements = || Block::Statements(analysis.statements.iter().map(statement).collect());
        match matrix::of(&analysis.statements) {
            Some(matrix) => {
                let summary =
                    format!("Each of the {} with its figures and its rule", plural(analysis.statements.len() as u64, "statement"));
                blocks.extend([matrix, Block::Details(summary, vec![statements()]), Block::Terminal(vec![statements()])]);
            }
            None => blocks.push(statements()),
        }
    }
    Section { link: Link::Short("Summary", None), ..Section::new("summary", "In short", blocks) }
}

fn statement(claim: &Claim) -> Statement {
    let ruling = claim.ruling.words().to_owned();
    let ruling = if matches!(claim.ruling, Ruling::Confirmed | Ruling::Consistent) { Span::Plain(ruling) } else { Span::Strong(ruling) };
    let text = Text(vec![
        ruling,
        Span::Plain(format!(": {} ", claim.says)),
        Span::Faint(format!("({})", claim.about)),
        Span::Plain(format!(". {}.", capital(&claim.found))),
    ]);
    Statement { id: format!("statement-{}", claim.id), text, rule: format!("Rule: {}.", claim.rule) }
}

fn listed(id: &str, title: &str, link: Link, all: impl Iterator<Item = String>) -> Option<Section> {
    Some(Section { link, headed: true, ..Section::new(id, title, Block::sentences(all)) }).filter(|section| !section.blocks.is_empty())
}

fn sweeps(id: &str, title: &str, saved: bool, machines: &[Machine], charts: Vec<Vec<Figure>>) -> Section {
    let mut page = if saved { vec![Block::Save] } else { Vec::new() };
    page.push(Block::Lead(
        "In parentheses: 95 % residual-bootstrap intervals. They say how well the table knows its line, not what another day would give."
            .into(),
    ));
    let pieces = machines.iter().zip(charts).map(|(machine, charts)| sweep(machine, charts));
    Section::new(id, title, std::iter::once(Block::Page(page)).chain(pieces))
}

/// One machine: rates and improvements by size, costs by series.
fn sweep(machine: &Machine, charts: Vec<Figure>) -> Block {
    let remarks = machine.series.iter().flat_map(|series| words::remarks(series)).map(Into::into).collect();
    let every = Block::Details(format!("Every size of {}", machine.name), vec![sizes(machine).into()]);
    let by_size = Block::Terminal(vec![by_size(machine).into(), Block::Gap]);
    Block::piece(machine.name, [Block::Figures(charts), by_size, costs(machine).into(), Block::Sentences(remarks), every])
}

/// A row for each size and a few columns for each series, as a terminal has them.
fn by_size(machine: &Machine) -> Table {
    let sizes = machine.sizes();
    let mut rows = Rows::of(&sizes).figures(Head::terminal(10, ["", "size"]), u64::to_string).tight(true);
    type Write = fn(&SizeResult) -> Option<String>;
    let figures: [(u8, &str, Write); 3] = [
        (9, "messages/s", |size| Some(number::count(size.messages_per_s))),
        (6, "time", |size| Some(number::time(size.time_per_message_ns))),
        (5, "bit/s", |size| Some(number::count(size.goodput_bit_per_s))),
    ];
    let improvement: (u8, &str, Write) = (8, "improvement", |size| size.improvement.map(number::change));
    let plain = machine.series.iter().flat_map(|series| figures.map(|figure| (series, figure)));
    let improved = machine.series.iter().filter(|series| series.baseline.is_some()).map(|series| (series, improvement));
    for (series, (rank, head, write)) in plain.chain(improved) {
        let head = Head::terminal(rank, [words::ends(&series.name, LONGEST), head.to_owned()]);
        rows = rows.figures(head, |size| series.at(*size).and_then(write));
    }
    rows.table()
}

fn costs(machine: &Machine) -> Table {
    let series: Vec<&SeriesResult> = machine.series.clone();
    let piece = |series: &&SeriesResult, of: fn(&CostPiece) -> &Resampled| {
        let figure = of(series.cost.as_ref()?.pieces.first()?);
        Some(Estimated {
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
    let estimates = Kind::Estimates(Shown::Ends, Shown::Margin);
    Rows::of(&series)
        .words(Head::page("Series"), |series| series.name.as_str())
        .words(Head::terminal(9, ["", "cost of"]), |series| words::ends(&series.name, LONGEST))
        .tight(true)
        .column(("Per message", 9, ["per", "message"]), estimates, |series| cost(series, |piece| &piece.message_ns))
        .column(("Per byte", 9, ["per", "byte"]), estimates, |series| cost(series, |piece| &piece.byte_ns))
        .tight(false)
        .figures(("Line to, B", 5, ["line", "to, B"]), |series| words::line_to(series))
        .figures(("r²", 6, ["", "r²"]), |series| series.cost.as_ref().map(|cost| r_squared(cost.r_squared)))
        .figures(Head::page("Least squares, per byte"), |series| series.cost.as_ref().map(|cost| number::time(cost.least_squares.byte_ns)))
        .figures(Head::page("Power law of throughput"), |series| words::law(series))
        .words(Head::terminal(7, ["power law of", "throughput"]), |series| words::law(series))
        .tight(true)
        .figures(("Limit", 8, ["", "limit"]), |series| series.saturation.map(|end| number::bits(end.limit_bit_per_s)))
        .figures(("Half of it at", 4, ["half of it", "at"]), |series| series.saturation.map(|end| number::bytes(end.half_bytes)))
        .table()
        .labelled(format!("{}: costs", machine.name), format!("{}: costs by series", machine.name))
}

fn sizes(machine: &Machine) -> Table {
    let rows: Vec<(&str, &SizeResult)> =
        machine.series.iter().flat_map(|series| series.sizes.iter().map(|size| (series.name.as_str(), size))).collect();
    let table = Rows::of(&rows)
        .words(Head::page("Series"), |(name, _)| *name)
        .figures(Head::page("Size, B"), |(_, size)| number::whole(size.message_bytes))
        .figures(Head::page("Messages/s"), |(_, size)| number::count(size.messages_per_s))
        .figures(Head::page("Sent/s"), |(_, size)| size.sent_per_s.map(number::count))
        .figures(Head::page("Time"), |(_, size)| number::time(size.time_per_message_ns))
        .figures(Head::page("Throughput"), |(_, size)| number::bits(size.goodput_bit_per_s))
        .figures(Head::page("Improvement"), |(_, size)| size.improvement.map(number::change))
        .figures(Head::page("Residual"), |(_, size)| size.residual.map(number::change))
        .table();
    let starts = machine.series.iter().scan(0, |next, series| Some(std::mem::replace(next, *next + series.sizes.len())));
    let groups = starts.map(|start| (start, String::new())).collect();
    let label = format!("{}: every size", machine.name);
    Table { groups, ..table.labelled(&label, &label) }
}

fn loads(curves: &[LoadCurve]) -> Option<Section> {
    let mut rows = Rows::of(curves)
        .words(Head::page("Machine"), machine)
        .words(Head::terminal(9, ["", "machine"]), |curve| words::short(&machine(curve), 24))
        .words(("What, in ms", 8, ["", "what"]), |curve| curve.of);
    for unit in words::units(curves) {
        let name = words::plain(unit, 2);
        let at = |curve: &LoadCurve| curve.points.iter().find(|point| point[0] == unit).map(|point| number::significant(point[1], 3));
        rows = rows.figures((format!("{name} units").as_str(), 7, ["units".to_owned(), name]), at);
    }
    let each = |curve: &LoadCurve| curve.line.map(|line| number::significant(line[1], 2));
    let table = rows.figures(("Each unit", 6, ["each", "unit"]), each).table();
    let table = table.labelled("Times by load", "Times by units of load at the sender, in ms");
    let heading = Block::Terminal(vec![Block::Heading("Under load at the sender, ms".into())]);
    let section = Section::new("loads", "Under load at the sender", [heading, table.into()]);
    (!curves.is_empty()).then_some(Section { link: Link::Short("Loads", None), ..section })
}

fn machine(curve: &LoadCurve) -> String {
    format!("{} {}", curve.machine, curve.protocol.to_uppercase())
}

fn routines(routines: &Routines) -> Section {
    let mut blocks = vec![Block::Page(vec![Block::Lead("The costliest over all sizes first.".into())])];
    type Figures = fn(&Routine) -> &Vec<Option<f64>>;
    let tables: [(&str, &str, Figures); 2] = [
        ("µs per message", "µs per message", |row| &row.us_per_message),
        ("Calls per message", "calls per message", |row| &row.calls_per_message),
    ];
    for (title, heading, of) in tables {
        let mut rows = Rows::of(&routines.rows)
            .words(Head::page(title), |row| row.name.as_str())
            .words(Head::terminal(9, ["", "routine"]), |row| words::short(&row.name, LONGEST));
        for (place, size) in routines.sizes.iter().enumerate() {
            let name = format!("{} B", number::whole(*size));
            let figure = |row: &Routine| of(row).get(place).copied().flatten().map(|figure| number::significant(figure, 3));
            rows = rows.figures((name.as_str(), 8, [String::new(), name.clone()]), figure);
        }
        let table = Block::Table(rows.table().labelled(title, title));
        if routines.rows.iter().all(|row| of(row).iter().all(Option::is_none)) {
            blocks.push(Block::Page(vec![table]));
        } else {
            let heading = Block::Heading(format!("Routines of the send path: {heading}").into());
            blocks.extend([Block::Terminal(vec![heading]), table]);
        }
    }
    let movers = routines.movers.iter().take(4).map(|(name, us)| format!("{name} {} µs", number::significant(*us, 3)));
    let movers: Vec<String> = movers.collect();
    if !movers.is_empty() {
        let sentence = format!("From 1,024 to 1,023 B these move most: {}.", movers.join(", "));
        blocks.push(Block::Terminal(vec![Block::Sentences(vec![sentence.into()])]));
    }
    Section { link: Link::Short("Routines", None), ..Section::new("routines", "Routines of the send path", blocks) }
}

/// The curves; a terminal has those that are compared with them further down.
fn buffer_section(analysis: &ReferenceAnalysis, drawn: Option<Figure>) -> Section {
    let theirs = analysis.comparisons.iter().flat_map(|one| &one.buffers);
    let mut blocks: Vec<Block> = drawn.map(|figure| Block::Figures(vec![figure])).into_iter().collect();
    blocks.extend(analysis.buffers.iter().map(buffers));
    blocks.push(Block::Page(theirs.map(buffers).collect()));
    let link = if analysis.buffers.is_empty() { Link::Absent } else { Link::Title };
    Section { link, ..Section::new("buffers", "Socket buffers", blocks) }
}

fn buffers(curve: &BufferCurve) -> Block {
    let table = Rows::of(&curve.points)
        .tight(true)
        .figures(("Buffer, packets", 9, ["buffer,", "packets"]), |point| words::plain(point.packets, 3))
        .figures(("KB/s", 9, ["", "KB/s"]), |point| words::plain(point.kbytes_per_s, 4))
        .figures(("Of its best", 8, ["of its", "best"]), |point| number::percent(point.share_of_best))
        .figures(("Of the limit", 8, ["of the", "limit"]), |point| point.share_of_limit.map(number::percent))
        .figures(("Two lines, KB/s", 7, ["two lines,", "KB/s"]), |point| point.fitted.map(|fitted| number::significant(fitted, 3)))
        .figures(("On the wire, Mbit/s", 6, ["on the wire,", "Mbit/s"]), |point| {
            point.wire_mbit_per_s.map(|rate| number::significant(rate, 2))
        })
        .table()
        .labelled(format!("{}: by socket buffer", curve.name), format!("{}: throughput by socket buffer", curve.name));
    let sentences = || vec![Block::Sentences(words::curve(curve).into_iter().map(Into::into).collect())];
    Block::piece(curve.name.as_str(), [Block::Page(sentences()), table.into(), Block::Terminal(sentences())])
}

/// A table that is compared with the study: in a terminal its own figures, then the ratios.
fn compared(analysis: &ReferenceAnalysis, (place, comparison): (usize, &Comparison)) -> Section {
    let remarks = || comparison.remarks.iter().cloned();
    let pairs = || comparison.buffer_pairs.iter().map(words::buffers);
    let sentences = |all: Vec<String>| Block::Sentences(all.into_iter().map(Into::into).collect());
    let lead = Block::Lead("Ratios over the reference: how far apart the two are. What differs between them is everything.".into());
    let shapes = shape::sentences(analysis, comparison);
    let mut page = vec![lead, sentences(remarks().chain(pairs()).chain(shapes.clone()).collect())];
    if !comparison.pairs.is_empty() {
        page.push(ratios(&comparison.pairs.iter().collect::<Vec<_>>()).into());
    }
    let mut terminal = vec![sentences(remarks().collect())];
    terminal.extend(machines(&comparison.series).iter().map(|machine| sweep(machine, Vec::new())));
    terminal.extend(comparison.buffers.iter().map(buffers));
    let names: std::collections::BTreeSet<&str> = comparison.pairs.iter().map(|pair| pair.candidate.as_str()).into_set();
    for name in names {
        let own: Vec<&Pair> = comparison.pairs.iter().filter(|pair| pair.candidate == name).collect();
        terminal.extend([Block::Heading(format!("{name}, over the reference").into()), ratios(&own).into()]);
    }
    terminal.push(sentences(pairs().chain(shapes).collect()));
    let (id, title) = (format!("next-{place}"), format!("Next to it: {}", comparison.label));
    Section { headed: true, ..Section::new(id, title, [Block::Page(page), Block::Terminal(terminal)]) }
}

fn ratios(pairs: &[&Pair]) -> Table {
    Rows::of(pairs)
        .words(Head::page("Series"), |pair| pair.candidate.as_str())
        .words(Head::page("Reference"), |pair| pair.group.as_str())
        .words(Head::terminal(9, ["", "reference"]), |pair| words::short(&pair.group, 30))
        .words(Head::page("Its series"), |pair| pair.reference.as_str())
        .words(Head::terminal(9, ["", "series"]), |pair| words::ends(&pair.reference, LONGEST))
        .figures(("Common sizes", 5, ["", "sizes"]), |pair| pair.sizes.len().to_string())
        .figures(("Messages/s", 8, ["", "messages/s"]), |pair| words::ratios(pair))
        .figures(("Cost per message", 7, ["cost per", "message"]), |pair| words::times(pair.message_ns))
        .figures(("Cost per byte", 6, ["cost per", "byte"]), |pair| words::times(pair.byte_ns))
        .table()
        .labelled("Ratios over the reference", "Ratios over the reference")
}

fn legend(analysis: &ReferenceAnalysis) -> Section {
    let mut legend = Vec::new();
    if !analysis.series.is_empty() || analysis.comparisons.iter().any(|one| !one.series.is_empty()) {
        let interval =
            "farther end of the 95 % residual-bootstrap interval: how well the table knows its line, not what another day would give";
        legend.extend([("±", interval.to_owned()), ("limit", "8 / (cost per byte): throughput of endless messages".to_owned())]);
    }
    if analysis.comparisons.iter().any(|one| !one.pairs.is_empty()) {
        let times = "times the reference's figure: how far apart the two are; what differs between them is everything";
        legend.push(("x", times.to_owned()));
    }
    Section { blocks: vec![Block::Terminal(vec![Block::Gap, Block::terms("", legend)])], ..Section::default() }
}
