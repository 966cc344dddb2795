//! The analysis in a terminal: what the paper says, then the tables.

use literature::jacobson::BufferCurve;
use literature::{Beside, ReferenceAnalysis, Study};

use super::{Machine, machines, parts, words};
use crate::number::{self, NOTHING, tight};
use crate::terminal::table::Column;
use crate::terminal::{Page, Style};
use crate::words::capital;

/// The whole answer; ends with a newline.
pub fn render(analysis: &ReferenceAnalysis, style: Style) -> String {
    let mut page = Page::new(style);
    page.heading(&analysis.title);
    if analysis.source != analysis.name {
        page.faint(&analysis.source, 0);
    }
    statements(&mut page, analysis);
    let inconsistencies: Vec<String> = analysis.inconsistencies.iter().map(|text| capital(text)).collect();
    items(&mut page, "What does not go together in the tables", &inconsistencies);
    items(&mut page, "To be known", &analysis.remarks);
    machines(&analysis.series).iter().for_each(|machine| sweep(&mut page, machine));
    loads(&mut page, analysis);
    routines(&mut page, analysis);
    analysis.buffers.iter().for_each(|curve| buffers(&mut page, curve));
    for beside in &analysis.beside {
        laid(&mut page, beside);
    }
    legend(&mut page, analysis);
    page.finish()
}

/// The studies that there are.
pub fn list(style: Style) -> String {
    let mut page = Page::new(style);
    page.heading("Published studies");
    for study in Study::ALL {
        page.gap();
        page.labelled(&format!("{:<14}", study.name()), study.title(), 14);
        page.faint(study.source(), 14);
    }
    page.gap();
    page.plain("`nettoll reference NAME` analyses one; `nettoll reference NAME RUN` lays a stored run beside it.", 0, 0);
    page.finish()
}

fn statements(page: &mut Page, analysis: &ReferenceAnalysis) {
    if analysis.statements.is_empty() {
        return;
    }
    page.gap();
    page.heading("What the paper says, and what its tables show");
    page.plain(&words::tally(analysis), 0, 0);
    let mut rules: Vec<&str> = Vec::new();
    for statement in &analysis.statements {
        page.item(&format!("{}: {} ({}). {}.", statement.ruling.words(), statement.says, statement.about, capital(&statement.found)));
        // Once for all statements of a kind.
        if !rules.contains(&statement.rule.as_str()) {
            page.faint(&format!("Rule: {}.", statement.rule), 2);
            rules.push(&statement.rule);
        }
    }
}

fn items(page: &mut Page, heading: &str, all: &[String]) {
    if !all.is_empty() {
        page.gap();
        page.heading(heading);
        all.iter().for_each(|text| page.item(text));
    }
}

/// One machine: rates and improvements by size, costs by series.
fn sweep(page: &mut Page, machine: &Machine) {
    page.gap();
    page.heading(machine.name);
    let sizes = machine.sizes();
    let mut columns = vec![Column::figures(10, ["", "size"], sizes.iter().map(u64::to_string).collect())];
    let of = |place: usize, write: fn(&literature::sweep::SizeResult) -> Option<String>| -> Vec<String> {
        let series = machine.series[place];
        sizes.iter().map(|size| series.at(*size).and_then(write).map_or(NOTHING.to_owned(), |text| tight(&text))).collect()
    };
    for (place, series) in machine.series.iter().enumerate() {
        let name = parts::ends(&series.name, 16);
        columns.push(Column::figures(
            9,
            [name.clone(), "messages/s".to_owned()],
            of(place, |size| Some(number::count(size.messages_per_s))),
        ));
        columns.push(Column::figures(6, [name.clone(), "time".to_owned()], of(place, |size| Some(number::time(size.time_per_message_ns)))));
        columns.push(Column::figures(5, [name, "bit/s".to_owned()], of(place, |size| Some(number::count(size.goodput_bit_per_s)))));
    }
    for (place, series) in machine.series.iter().enumerate().filter(|(_, series)| series.baseline.is_some()) {
        let name = parts::ends(&series.name, 16);
        columns.push(Column::figures(8, [name, "improvement".to_owned()], of(place, |size| size.improvement.map(number::change))));
    }
    page.table(columns);
    page.gap();
    page.table(costs(machine));
    machine.series.iter().flat_map(|series| words::remarks(series)).for_each(|text| page.item(&text));
}

fn costs(machine: &Machine) -> Vec<Column> {
    let words = |write: &dyn Fn(&literature::sweep::SeriesResult) -> String| -> Vec<String> {
        machine.series.iter().map(|series| write(series)).collect()
    };
    let cost = |of: fn(&literature::cost::CostPiece) -> &literature::Resampled| -> Vec<(String, String)> {
        let one = |series: &&literature::sweep::SeriesResult| match series.cost.as_ref().and_then(|cost| cost.pieces.first()) {
            Some(piece) => (tight(&number::time(of(piece).value)), words::plus_minus(of(piece))),
            None => (NOTHING.to_owned(), String::new()),
        };
        machine.series.iter().map(one).collect()
    };
    vec![
        Column::words(9, ["", "cost of"], words(&|series| parts::ends(&series.name, 16))),
        Column::measured(9, ["per", "message"], cost(|piece| &piece.message_ns)),
        Column::measured(9, ["per", "byte"], cost(|piece| &piece.byte_ns)),
        Column::figures(5, ["line", "to, B"], words(&words::line_to)),
        Column::figures(
            6,
            ["", "r²"],
            words(&|series| series.cost.as_ref().map_or(NOTHING.to_owned(), |cost| crate::studies::cost::r_squared(cost.r_squared))),
        ),
        Column::words(7, ["power law of", "throughput"], words(&words::law)),
        Column::figures(8, ["", "limit"], words(&|series| tight(&words::saturation(series)[0]))),
        Column::figures(4, ["half of it", "at"], words(&|series| tight(&words::saturation(series)[1]))),
    ]
}

fn loads(page: &mut Page, analysis: &ReferenceAnalysis) {
    if analysis.loads.is_empty() {
        return;
    }
    page.gap();
    page.heading("Under load at the sender, ms");
    let curves = &analysis.loads;
    let units = parts::units(curves);
    let name = |curve: &literature::cabrera::loads::LoadCurve| format!("{} {}", curve.machine, curve.protocol.to_uppercase());
    let mut columns = vec![
        Column::words(9, ["", "machine"], curves.iter().map(|curve| parts::short(&name(curve), 24)).collect()),
        Column::words(8, ["", "what"], curves.iter().map(|curve| curve.of.to_owned()).collect()),
    ];
    for unit in units {
        let at = |curve: &literature::cabrera::loads::LoadCurve| curve.points.iter().find(|point| point[0] == unit).map(|point| point[1]);
        let cells = curves.iter().map(|curve| at(curve).map_or(NOTHING.to_owned(), |ms| number::significant(ms, 3))).collect();
        columns.push(Column::figures(7, ["units".to_owned(), parts::plain(unit, 2)], cells));
    }
    let slope = curves.iter().map(|curve| curve.line.map_or(NOTHING.to_owned(), |line| number::significant(line[1], 2))).collect();
    columns.push(Column::figures(6, ["each", "unit"], slope));
    page.table(columns);
}

fn routines(page: &mut Page, analysis: &ReferenceAnalysis) {
    let Some(routines) = &analysis.routines else { return };
    let names = || Column::words(9, ["", "routine"], routines.rows.iter().map(|row| parts::short(&row.name, 16)).collect());
    type Cells = fn(&literature::cabrera::routines::Routine) -> &Vec<Option<f64>>;
    let tables: [(&str, Cells, usize); 2] =
        [("µs per message", |row| &row.us_per_message, 3), ("calls per message", |row| &row.calls_per_message, 3)];
    for (heading, of, figures) in tables {
        if routines.rows.iter().all(|row| of(row).iter().all(Option::is_none)) {
            continue;
        }
        page.gap();
        page.heading(&format!("Routines of the send path: {heading}"));
        let mut columns = vec![names()];
        for (place, size) in routines.sizes.iter().enumerate() {
            let cell = |figure: Option<f64>| figure.map_or(NOTHING.to_owned(), |figure| number::significant(figure, figures));
            let cells = routines.rows.iter().map(|row| cell(of(row).get(place).copied().flatten())).collect();
            columns.push(Column::figures(8, ["".to_owned(), format!("{} B", number::whole(*size))], cells));
        }
        page.table(columns);
    }
    let first: Vec<String> =
        routines.movers.iter().take(4).map(|(name, us)| format!("{name} {} µs", number::significant(*us, 3))).collect();
    if !first.is_empty() {
        page.item(&format!("From 1,024 to 1,023 B these move most: {}.", first.join(", ")));
    }
}

fn buffers(page: &mut Page, curve: &BufferCurve) {
    page.gap();
    page.heading(&curve.name);
    let of = |write: &dyn Fn(&literature::jacobson::BufferPoint) -> Option<String>| -> Vec<String> {
        curve.points.iter().map(|point| write(point).map_or(NOTHING.to_owned(), |text| tight(&text))).collect()
    };
    page.table(vec![
        Column::figures(9, ["buffer,", "packets"], of(&|point| Some(parts::plain(point.packets, 3)))),
        Column::figures(9, ["", "KB/s"], of(&|point| Some(parts::plain(point.kbytes_per_s, 4)))),
        Column::figures(8, ["of its", "best"], of(&|point| Some(number::percent(point.share_of_best)))),
        Column::figures(8, ["of the", "limit"], of(&|point| point.share_of_limit.map(number::percent))),
        Column::figures(7, ["two lines,", "KB/s"], of(&|point| point.fitted.map(|fitted| number::significant(fitted, 3)))),
        Column::figures(6, ["on the wire,", "Mbit/s"], of(&|point| point.wire_mbit_per_s.map(|rate| number::significant(rate, 2)))),
    ]);
    words::curve(curve).iter().for_each(|text| page.item(text));
}

/// What is laid beside: the candidate's own tables, then the ratios.
fn laid(page: &mut Page, beside: &Beside) {
    page.gap();
    page.heading(&format!("Beside it: {}", beside.label));
    beside.remarks.iter().for_each(|text| page.item(text));
    machines(&beside.series).iter().for_each(|machine| sweep(page, machine));
    beside.buffers.iter().for_each(|curve| buffers(page, curve));
    let names: std::collections::BTreeSet<&str> = beside.pairs.iter().map(|pair| pair.candidate.as_str()).collect();
    for name in names {
        let pairs: Vec<_> = beside.pairs.iter().filter(|pair| pair.candidate == name).collect();
        page.gap();
        page.heading(&format!("{name}, over the reference"));
        let of = |write: &dyn Fn(&literature::beside::Pair) -> String| -> Vec<String> { pairs.iter().map(|pair| write(pair)).collect() };
        page.table(vec![
            Column::words(9, ["", "reference"], of(&|pair| parts::short(&pair.group, 30))),
            Column::words(9, ["", "series"], of(&|pair| parts::ends(&pair.reference, 16))),
            Column::figures(5, ["", "sizes"], of(&|pair| pair.sizes.len().to_string())),
            Column::figures(8, ["", "messages/s"], of(&words::ratios)),
            Column::figures(7, ["cost per", "message"], of(&|pair| words::times(pair.message_ns))),
            Column::figures(6, ["cost per", "byte"], of(&|pair| words::times(pair.byte_ns))),
        ]);
    }
    beside.buffer_pairs.iter().for_each(|pair| page.item(&words::buffers(pair)));
}

fn legend(page: &mut Page, analysis: &ReferenceAnalysis) {
    page.gap();
    if !analysis.series.is_empty() || analysis.beside.iter().any(|beside| !beside.series.is_empty()) {
        page.legend(
            "±",
            "farther end of the 95 % residual-bootstrap interval: how well the table knows its line, not what another day would give",
        );
        page.legend("limit", "8 / (cost per byte): throughput of endless messages");
    }
    if analysis.beside.iter().any(|beside| !beside.pairs.is_empty()) {
        page.legend("x", "times the reference's figure: how far apart the two are; what differs between them is everything");
    }
}
