//! Receipts in a terminal: of each series and end a few sizes, as many as fit.

use analysis::result::receipt::{Absence, ReceiptStudy, SeriesReceipt, WorkloadReceipt};
use attribution::{Figure, FunctionRow, SizeCell};
use model::Unavailable;
use model::profile::CountTier;

use super::pick::{crosses, mark, sizes};
use super::tables::{Entry, Line};
use super::{figure, tables, words};
use crate::number;
use crate::terminal::Page;
use crate::terminal::table::{Column, total};
use crate::words::{capital, plural};

/// Rows of layers below this share of the time are left to the page.
const LEAST_PATH: f64 = 0.01;
/// The costliest routines that are shown.
const MOST_ROUTINES: usize = 12;
/// The most of a routine's name.
const LONGEST_NAME: usize = 24;

/// All of it, behind what else there is.
pub fn receipts(page: &mut Page, study: &ReceiptStudy) {
    page.gap();
    page.heading("Where the time of a message goes");
    red(page, study);
    page.plain(&capital(&format!("{}. {}", words::sources(study), words::observer(study))), 0, 0);
    page.plain(&words::rules(study), 0, 0);
    if !study.series.is_empty() {
        page.legend("ns", "CPU time of this end per message, ± to the farther end at 95 %, share of its CPU time");
        page.legend("↑ ↓ ~", "shown by a test to rise, fall or vary with the size; │ a boundary lies to the left");
        page.legend(
            "most",
            "messages/s that this end's processing alone would allow on one CPU; below, without its work on acknowledgements",
        );
        page.legend("apart", "switching was measured by itself: to be held against what was not sampled");
        page.legend("…irq", "work that ran in a softirq or hard interrupt says so; the rest ran in the process");
    }
    for series in &study.series {
        one(page, study, series);
    }
    workloads(page, study);
    checksums(page, study);
    doubts(page, study);
    absences(page, study);
}

fn red(page: &mut Page, study: &ReceiptStudy) {
    let Some(text) = words::red(study) else { return };
    page.warning(&format!("RED: {text}."));
    for red in words::reds(study) {
        for doubt in red.doubts {
            page.labelled_warning("- ", &format!("{}: {doubt}", red.label), 2);
        }
    }
    for remedy in words::red_remedies(study) {
        page.plain(&format!("→ {}", capital(remedy)), 0, 2);
    }
}

fn one(page: &mut Page, study: &ReceiptStudy, series: &SeriesReceipt) {
    page.gap();
    page.heading(&format!("{}, {}", series.series, series.role));
    let room = page.width();
    // As many sizes as every table has room for; routines have long names.
    let most = |fits: &dyn Fn(&[usize]) -> bool| {
        let picked = (2..=series.columns.len()).rev().map(|wanted| sizes(series, wanted)).find(|picked| fits(picked));
        picked.unwrap_or_else(|| sizes(series, 1))
    };
    let picked = most(&|picked| all_tables(study, series, picked).iter().all(|columns| total(columns) <= room));
    let few = most(&|picked| total(&routines(series, picked)) <= room);
    if series.columns.len() > picked.len() {
        let all: Vec<String> = series.columns.iter().map(|column| number::whole(column.size.get())).collect();
        page.faint(
            &format!("{} of {} sizes measured ({} B); all are in the HTML report and the JSON.", picked.len(), all.len(), all.join(", ")),
            0,
        );
    }
    for place in picked.iter().filter(|place| series.columns[**place].red) {
        page.warning(&format!("RED at {} B: this receipt does not add up.", number::whole(series.columns[*place].size.get())));
    }
    // The first line of a table's head is empty: it parts the tables.
    all_tables(study, series, &picked).into_iter().for_each(|columns| page.table(columns));
    page.table(routines(series, &few));
    counted(page, series, &few);
    for boundary in &series.boundaries {
        page.faint(&words::boundary(boundary), 0);
    }
}

fn all_tables(study: &ReceiptStudy, series: &SeriesReceipt, picked: &[usize]) -> Vec<Vec<Column>> {
    let layers: Vec<Line> = tables::layers(series).into_iter().filter(|line| shown(line, picked)).collect();
    vec![
        table("kind of work", &tables::categories(series), series, picked),
        table("layer", &layers, series, picked),
        table("for which way", &tables::directions(series), series, picked),
        table("does it add up?", &tables::sums(study, series), series, picked),
    ]
}

fn shown(line: &Line, picked: &[usize]) -> bool {
    line.shares.is_empty() || picked.iter().any(|place| line.shares.get(*place).is_some_and(|share| *share >= LEAST_PATH))
}

fn table(head: &str, lines: &[Line], series: &SeriesReceipt, picked: &[usize]) -> Vec<Column> {
    let label = |line: &Line| format!("{}{}{}", if line.part { "  " } else { "" }, line.label, mark(line.growth.as_ref()));
    let mut columns = vec![Column::words(9, ["", head], lines.iter().map(label).collect())];
    for (order, place) in picked.iter().enumerate() {
        let cells: Vec<Option<&Entry>> = lines.iter().map(|line| line.cells.get(*place).and_then(Option::as_ref)).collect();
        columns.push(Column::figures(9, [String::new(), size(series, picked, order)], entries(&cells)));
    }
    columns
}

fn size(series: &SeriesReceipt, picked: &[usize], order: usize) -> String {
    let bar = if crosses(series, picked, order) { "│ " } else { "" };
    format!("{bar}{} B", number::whole(series.columns[picked[order]].size.get()))
}

/// Value, margin and share, each aligned by itself.
fn entries(cells: &[Option<&Entry>]) -> Vec<String> {
    let width = |of: fn(&Entry) -> &String| cells.iter().flatten().map(|entry| of(entry).chars().count()).max().unwrap_or(0);
    let (value, margin, share) = (width(|entry| &entry.value), width(|entry| &entry.margin), width(|entry| &entry.share));
    let write = |cell: &Option<&Entry>| match cell {
        None => format!("{:>value$} {:margin$} {:share$}", "-", "", ""),
        Some(entry) => format!("{:>value$} {:margin$} {:>share$}", entry.value, entry.margin, entry.share),
    };
    cells.iter().map(write).collect()
}

/// The costliest routines.
fn costliest(series: &SeriesReceipt) -> &[FunctionRow] {
    &series.functions.rows[..series.functions.rows.len().min(MOST_ROUTINES)]
}

fn routines(series: &SeriesReceipt, picked: &[usize]) -> Vec<Column> {
    let rows = costliest(series);
    let name = |name: &str| match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    };
    let label = |row: &FunctionRow| {
        let calls = mark(row.calls.as_ref()).trim();
        let calls = if calls.is_empty() { String::new() } else { format!(" c{calls}") };
        format!("{}{}{calls}", name(&row.function), mark(row.time.as_ref()))
    };
    let mut columns = vec![Column::words(9, ["", "routine: ns and calls"], rows.iter().map(label).collect())];
    for (order, place) in picked.iter().enumerate() {
        let calls = |cell: &SizeCell| {
            cell.calls.map_or("-".to_owned(), |(calls, tier)| format!("{}{}", figure::calls(calls.value), words::tier(tier)))
        };
        let cells: Vec<[String; 2]> = rows.iter().map(|row| &row.cells[*place]).map(|cell| [known(&cell.ns), calls(cell)]).collect();
        let width = |part: usize| cells.iter().map(|cell| cell[part].chars().count()).max().unwrap_or(0);
        let (left, right) = (width(0), width(1));
        let text = cells.iter().map(|[ns, calls]| format!("{ns:>left$} {calls:>right$}")).collect();
        columns.push(Column::figures(9, [String::new(), size(series, picked, order)], text));
    }
    columns
}

/// What is to be known of the table of routines.
fn counted(page: &mut Page, series: &SeriesReceipt, picked: &[usize]) {
    let cells = costliest(series).iter().flat_map(|row| picked.iter().map(|place| &row.cells[*place]));
    let ways: Vec<Option<CountTier>> = cells.filter_map(|cell| Some(cell.calls?.1)).collect();
    let more = series.functions.rows.len() - costliest(series).len();
    let more = if more > 0 {
        format!("{} in the HTML report and the JSON. ", capital(&plural(more as u64, "more routine")))
    } else {
        String::new()
    };
    page.faint(&format!("{more}Calls per message: {}; - where there is no count; c↑ they rise with the size.", words::tiers(&ways)), 0);
}

fn known(figure: &Figure) -> String {
    format!("{} {:5}", figure::ns(figure.value), if figure.value == 0.0 { String::new() } else { figure::plus_minus(figure) })
}

fn workloads(page: &mut Page, study: &ReceiptStudy) {
    if study.workloads.is_empty() {
        return;
    }
    page.gap();
    page.heading("Laid over published workloads");
    let of = |write: &dyn Fn(&WorkloadReceipt) -> String| study.workloads.iter().map(write).collect::<Vec<_>>();
    let touching = |workload: &WorkloadReceipt| {
        let rows = workload.categories.rows.iter().filter(|row| row.key.touches_data());
        figure::share(rows.map(|row| row.share).sum())
    };
    let cpu = |workload: &WorkloadReceipt| {
        let ns = workload.categories.cpu.ns;
        format!("{} {:5}", figure::ns(ns.value), figure::plus_minus(&ns))
    };
    page.table(vec![
        Column::words(9, ["", "workload"], of(&|workload| workload.workload.clone())),
        Column::words(9, ["", "series and end"], of(&|workload| format!("{}, {}", workload.series, workload.role))),
        Column::figures(9, ["CPU/message", "ns"], of(&cpu)),
        Column::figures(8, ["touches", "payload"], of(&touching)),
        Column::figures(7, ["beyond, of", "messages"], of(&|workload| figure::share(workload.categories.beyond))),
        Column::figures(7, ["", "bytes"], of(&|workload| figure::share(workload.categories.beyond_bytes))),
    ]);
    let mut titles: Vec<String> = study.workloads.iter().map(|workload| format!("{} {}", workload.workload, workload.title)).collect();
    titles.dedup();
    titles.sort();
    titles.dedup();
    page.faint(&format!("{}. Messages larger than the largest measured are beyond, and left out.", titles.join("; ")), 0);
}

fn checksums(page: &mut Page, study: &ReceiptStudy) {
    if study.checksums.is_empty() {
        return;
    }
    page.gap();
    page.heading("What computing checksums costs");
    for cost in &study.checksums {
        page.item(&words::checksums(cost));
    }
}

fn doubts(page: &mut Page, study: &ReceiptStudy) {
    let doubts = words::doubts(study);
    let missing = words::missing(study);
    if doubts.is_empty() && missing.is_empty() {
        return;
    }
    page.gap();
    page.warning(&format!("{} about receipts", plural((doubts.len() + missing.len()) as u64, "doubt")));
    for text in missing {
        page.item(&format!("No receipt of {text}"));
    }
    for doubt in doubts {
        let worst = if doubt.of.len() > 1 { "at worst " } else { "" };
        page.item(&capital(&format!("{worst}{}", doubt.text)));
        page.faint(&words::concerned(&doubt.of), 2);
        page.plain(&format!("→ {}", capital(doubt.remedy)), 2, 4);
    }
}

fn absences(page: &mut Page, study: &ReceiptStudy) {
    if study.absences.is_empty() {
        return;
    }
    page.gap();
    page.warning(&format!("{} not to be had", plural(study.absences.len() as u64, "thing")));
    for Absence { unavailable: Unavailable { what, answer, remedy }, trials } in &study.absences {
        page.item(&capital(&format!("{what}: {answer} ({})", plural(*trials, "trial"))));
        page.plain(&format!("→ {}", capital(remedy)), 2, 4);
    }
}
