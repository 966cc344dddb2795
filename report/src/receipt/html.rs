//! Receipts as a part of the page.

use analysis::result::receipt::{ReceiptStudy, SeriesReceipt, WorkloadReceipt};
use attribution::FunctionRow;
use maud::{Markup, PreEscaped, html};
use model::profile::CountTier;

use super::flame::Flames;
use super::pick::mark;
use super::tables::{self, Entry, Line};
use super::{figure, rules, words};
use crate::chart::Chart;
use crate::html::{figure as draw, scrolling};
use crate::number;
use crate::words::{capital, plural};

/// Parts of layers that take less of the time at every size are shown on demand.
const LEAST_PATH: f64 = 0.01;
/// Routines that take less of the time at every size are shown on demand.
const LEAST_ROUTINE: f64 = 0.01;
/// Routines on demand: the rest is in the JSON.
const MOST_ROUTINES: usize = 120;

/// What the section holds.
pub fn content(study: &ReceiptStudy, charts: &[Chart], flames: &Flames) -> Markup {
    html! {
        p .lead { (capital(&words::sources(study))) ". " (words::observer(study)) " " (words::rules(study)) }
        (red(study))
        @if !charts.is_empty() { div .charts { @for chart in charts { (draw(chart)) } } }
        @if !study.series.is_empty() {
            p .lead .legend {
                "ns of this end's CPU per message; ± to the farther end of the interval at 95 %; share of its CPU time. ↑ ↓ ~: shown by a test to rise, fall or vary with the size. "
                "A line to the left of a size: a boundary lies between. “Most messages/s”: what this end's processing alone would allow on one CPU, and without its work on acknowledgements (ack). "
                "“Switching, apart” was measured by itself, to be held against what was not sampled."
            }
        }
        @for series in &study.series { (one(study, series, flames)) }
        (workloads(study))
        (checksums(study))
        (doubts(study))
        (absences(study))
        (decided(study))
    }
}

fn red(study: &ReceiptStudy) -> Markup {
    html! {
        @if let Some(text) = words::red(study) {
            div .red role="alert" {
                p { strong { "Red: " (text) "." } }
                ul { @for red in words::reds(study) { @for doubt in red.doubts { li { (red.label) ": " (doubt) } } } }
                @for remedy in words::red_remedies(study) { p { "→ " (capital(remedy)) "." } }
            }
        }
    }
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

/// Whether a boundary lies before a column.
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

fn workloads(study: &ReceiptStudy) -> Markup {
    html! {
        @if !study.workloads.is_empty() {
            article .series {
                h3 { "Laid over published workloads" }
                (scrolling("Workloads", &html! {
                    table .every {
                        caption .hidden { "Receipts weighted by workloads" }
                        thead { tr {
                            th scope="col" { "Workload" } th scope="col" { "Mean size, B" } th scope="col" { "Series and end" } th scope="col" { "CPU per message, ns" }
                            th scope="col" { "Touches payload" } th scope="col" { "Costliest layers" } th scope="col" { "Between sizes" } th scope="col" { "Beyond: messages" } th scope="col" { "bytes" }
                        } }
                        tbody { @for workload in &study.workloads { (workload_row(workload)) } }
                    }
                }))
                p .faint { "Between two measured sizes a row lies on a straight line; below the CPU time, where it would lie if it were anywhere between its two values. Messages beyond the largest size are left out." }
            }
        }
    }
}

fn workload_row(workload: &WorkloadReceipt) -> Markup {
    let cpu = &workload.categories.cpu;
    let touching: f64 = workload.categories.rows.iter().filter(|row| row.key.touches_data()).map(|row| row.share).sum();
    let layers: Vec<String> = workload.layers.rows.iter().take(3).map(|row| format!("{} {}", row.key, figure::share(row.share))).collect();
    html! {
        tr {
            th scope="row" { (workload.workload) small { (workload.title) } }
            td { (number::significant(workload.mean_bytes, 3)) }
            td .words { (workload.series) ", " (workload.role) }
            td { (figure::ns(cpu.ns.value)) " " span .margin { (figure::plus_minus(&cpu.ns)) } small { (figure::ns(cpu.bounds[0])) " to " (figure::ns(cpu.bounds[1])) } }
            td { (figure::share(touching)) }
            td .words { (layers.join(", ")) }
            td { (figure::share(workload.categories.interpolated)) }
            td { (figure::share(workload.categories.beyond)) }
            td { (figure::share(workload.categories.beyond_bytes)) }
        }
    }
}

fn checksums(study: &ReceiptStudy) -> Markup {
    html! {
        @if !study.checksums.is_empty() {
            h3 { "What computing checksums costs" }
            ul { @for cost in &study.checksums { li { (words::checksums(cost)) "." } } }
        }
    }
}

fn doubts(study: &ReceiptStudy) -> Markup {
    let (doubts, missing) = (words::doubts(study), words::missing(study));
    html! {
        @if !doubts.is_empty() || !missing.is_empty() {
            h3 { "Doubts about receipts" }
            ol .findings {
                @for text in &missing { li { p .text { "No receipt of " (text) } } }
                @for doubt in &doubts {
                    li {
                        p .text { (capital(&format!("{}{}", if doubt.of.len() > 1 { "at worst " } else { "" }, doubt.text))) }
                        p .remedy { (capital(doubt.remedy)) }
                        p .concerns { (words::concerned(&doubt.of)) }
                    }
                }
            }
        }
    }
}

fn absences(study: &ReceiptStudy) -> Markup {
    html! {
        @if !study.absences.is_empty() {
            h3 { "Not to be had" }
            ol .findings {
                @for absence in &study.absences {
                    li {
                        p .text { (capital(&absence.unavailable.what)) ": " (absence.unavailable.answer) }
                        p .remedy { (capital(&absence.unavailable.remedy)) }
                        p .concerns { "in " (plural(absence.trials, "trial")) }
                    }
                }
            }
        }
    }
}

fn decided(study: &ReceiptStudy) -> Markup {
    let rules = rules::decided(study);
    html! {
        @if !rules.is_empty() {
            details {
                summary { "What each rule decided" }
                (scrolling("What each rule decided", &html! {
                    table .narrow {
                        caption .hidden { "Shares of all samples" }
                        thead { tr { th scope="col" { "Rule" } th scope="col" { "Layer of" } th scope="col" { "Category of" } } }
                        tbody {
                            @for rule in &rules {
                                tr { th scope="row" { (rule.name) } td { (figure::share(rule.layer)) } td { (figure::share(rule.category)) } }
                            }
                        }
                    }
                }))
            }
        }
    }
}
