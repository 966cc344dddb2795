//! The receipts of series in a page: a table with every size for each end.

use analysis::result::receipt::{ReceiptStudy, SeriesReceipt};
use attribution::FunctionRow;
use maud::{Markup, PreEscaped, html};
use model::profile::CountTier;

use super::flame::Flames;
use super::tables::{self, Entry, Line, mark};
use super::{figure, words};
use crate::number;
use crate::sinks::html::page::scrolling;
use crate::words::{capital, plural};

/// Parts of layers that take less of the time at every size are shown on demand.
const LEAST_PATH: f64 = 0.01;
/// Routines that take less of the time at every size are shown on demand.
const LEAST_ROUTINE: f64 = 0.01;
/// Routines on demand: the rest is in the JSON.
const MOST_ROUTINES: usize = 120;

/// Every series, one below the other.
pub fn series(study: &ReceiptStudy, flames: &Flames) -> Markup {
    html! { @for series in &study.series { (one(study, series, flames)) } }
}

fn one(study: &ReceiptStudy, series: &SeriesReceipt, flames: &Flames) -> Markup {
    let name = format!("{}, {}", series.series, series.role);
    let open = |head: &str, lines: &[Line]| scrolling(&format!("{name}: {head}"), &table(&name, head, lines, series));
    html! {
        article .series .receipt {
            h3 { (name) }
            (open("Kind of work", &tables::categories(series)))
            (open("Layer", &tables::layers(series).into_iter().filter(|line| line.is_at_least(LEAST_PATH)).collect::<Vec<_>>()))
            details {
                summary { "Every layer, by direction and context" }
                (open("Layer, direction, context", &tables::layers(series)))
            }
            (open("For which way", &tables::directions(series)))
            (open("Does it add up?", &tables::sums(study, series)))
            (routines(&name, series))
            @if !series.boundaries.is_empty() {
                ul .boundaries { @for boundary in &series.boundaries { li { (words::boundary(boundary)) } } }
            }
            (pictures(study, series, flames))
        }
    }
}

fn heads(series: &SeriesReceipt) -> Markup {
    html! {
        @for (place, column) in series.columns.iter().enumerate() {
            th scope="col" .edge[edge(series, place)] .bad[column.red] {
                (number::whole(column.size.get())) " B"
                @if column.red { small { "does not add up" } }
            }
        }
    }
}

/// Returns whether a boundary lies before a column.
fn edge(series: &SeriesReceipt, place: usize) -> bool {
    place > 0 && series.boundaries.iter().any(|boundary| boundary.below == place)
}

fn table(name: &str, head: &str, lines: &[Line], series: &SeriesReceipt) -> Markup {
    html! {
        table .rows {
            caption .hidden { (name) ": " (head) " by message size" }
            thead { tr { th scope="col" { (head) } (heads(series)) } }
            tbody {
                @for line in lines {
                    tr .part[line.part] .sum[line.sum] {
                        th scope="row" { (line.label) (mark(line.growth.as_ref())) }
                        @for (place, cell) in line.cells.iter().enumerate() { (entry(cell.as_ref(), edge(series, place))) }
                    }
                }
            }
        }
    }
}

fn entry(entry: Option<&Entry>, edge: bool) -> Markup {
    html! {
        td .edge[edge] title=[entry.map(|entry| entry.title.as_str()).filter(|title| !title.is_empty())] {
            @match entry {
                None => span .faint { "-" },
                Some(entry) => {
                    (entry.value)
                    @if !entry.margin.is_empty() { " " span .margin { (entry.margin) } }
                    @if !entry.share.is_empty() { span .share { (entry.share) } }
                },
            }
        }
    }
}

fn routines(name: &str, series: &SeriesReceipt) -> Markup {
    let all = &series.functions.rows;
    let large: Vec<&FunctionRow> = all.iter().filter(|row| row.cells.iter().any(|cell| cell.share >= LEAST_ROUTINE)).collect();
    let rest: Vec<&FunctionRow> = all.iter().filter(|row| row.cells.iter().all(|cell| cell.share < LEAST_ROUTINE)).collect();
    let shown = &rest[..rest.len().min(MOST_ROUTINES)];
    let ways: Vec<Option<CountTier>> = all.iter().flat_map(|row| &row.cells).filter_map(|cell| Some(cell.calls?.1)).collect();
    html! {
        @if !large.is_empty() { (scrolling(&format!("{name}: routines"), &routine_table(name, "Routine", &large, series))) }
        @if !all.is_empty() {
            p .faint {
                "Below each time: calls per message, exact, and how they were counted: " (words::tiers(&ways)) "; - where there is no count. "
                "A mark behind “calls” is theirs."
            }
        }
        @if !shown.is_empty() {
            details {
                summary { (capital(&plural(shown.len() as u64, "routine"))) " below 1 % at every size" }
                (scrolling(&format!("{name}: more routines"), &routine_table(name, "Routine", shown, series)))
                @if rest.len() > shown.len() { p .faint { (plural((rest.len() - shown.len()) as u64, "smaller routine")) " in the JSON of the run." } }
            }
        }
    }
}

fn routine_table(name: &str, head: &str, rows: &[&FunctionRow], series: &SeriesReceipt) -> Markup {
    html! {
        table .rows .routines {
            caption .hidden { (name) ": routine by message size" }
            thead { tr { th scope="col" { (head) } (heads(series)) } }
            tbody {
                @for row in rows {
                    tr {
                        th scope="row" {
                            (row.function) (mark(row.time.as_ref()))
                            @if !mark(row.calls.as_ref()).is_empty() { small { "calls" (mark(row.calls.as_ref())) } }
                        }
                        @for (place, cell) in row.cells.iter().enumerate() {
                            td .edge[edge(series, place)] title={ (figure::range(&cell.ns, figure::ns)) " ns at 95 %" } {
                                (figure::ns(cell.ns.value))
                                @if cell.ns.value != 0.0 { " " span .margin { (figure::plus_minus(&cell.ns)) } }
                                small { @match cell.calls {
                                    None => "-",
                                    Some((calls, tier)) => { (figure::calls(calls.value)) " " (words::tier(tier)) },
                                } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn pictures(study: &ReceiptStudy, series: &SeriesReceipt, flames: &Flames) -> Markup {
    let of = |cell: usize| format!("{}.{}.folded", study.cells[cell].file, series.role);
    let found: Vec<_> =
        series.columns.iter().filter_map(|column| Some((column.size, of(column.cell), flames.picture(&of(column.cell))?))).collect();
    html! {
        @for (size, file, picture) in &found {
            details .flames {
                summary { "Flame graph at " (number::whole(size.get())) " B" }
                (scrolling(&format!("Flame graph of {file}"), &html! { (PreEscaped(&picture.svg)) }))
                p .faint { "Width is share of the samples; point at a frame for its name. Frames below " (picture.least_percent) " % are left out; all of it is in stacks/" (file) "." }
            }
        }
    }
}
