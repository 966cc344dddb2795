//! One page that holds everything, as a run's report does.

use literature::cabrera::loads::LoadCurve;
use literature::cabrera::routines::Routine;
use literature::jacobson::BufferCurve;
use literature::sweep::SeriesResult;
use literature::{Beside, ReferenceAnalysis, Ruling, Statement};
use maud::{Markup, html};

use super::{Machine, chart, csv, machines, parts, words};
use crate::chart::Chart;
use crate::html::{data, document, figure, part, scrolling};
use crate::number::{self, NOTHING};
use crate::words::capital;

/// The whole page. `tool` is the version that writes it.
pub fn render(analysis: &ReferenceAnalysis, tool: &str) -> String {
    let own = machines(&analysis.series);
    let theirs: Vec<Machine> = analysis.beside.iter().flat_map(|beside| machines(&beside.series)).collect();
    let charts: Vec<Vec<Chart>> = own.iter().chain(&theirs).enumerate().map(|(place, machine)| chart::of_machine(machine, place)).collect();
    let curves: Vec<&BufferCurve> = analysis.buffers.iter().chain(analysis.beside.iter().flat_map(|beside| &beside.buffers)).collect();
    let buffers = chart::of_buffers(&curves);
    let inconsistencies: Vec<String> = analysis.inconsistencies.iter().map(|text| capital(text)).collect();
    let (own_charts, their_charts) = charts.split_at(own.len());
    let content = html! {
        (masthead(analysis))
        main {
            (summary(analysis))
            (listed("inconsistencies", "What does not go together in the tables", &inconsistencies))
            (listed("remarks", "To be known", &analysis.remarks))
            @if !own.is_empty() { (part("sizes", "Message sizes", &html! { (buttons()) (sweeps(&own, own_charts)) })) }
            @if !analysis.loads.is_empty() { (part("loads", "Under load at the sender", &loads(&analysis.loads))) }
            @if analysis.routines.is_some() { (part("routines", "Routines of the send path", &routines(analysis))) }
            @if !curves.is_empty() { (part("buffers", "Socket buffers", &buffer_section(&curves, buffers.as_ref()))) }
            @for (place, beside) in analysis.beside.iter().enumerate() { (laid(place, beside)) }
            @if !theirs.is_empty() { (part("beside-sizes", "Message sizes of what is laid beside", &sweeps(&theirs, their_charts))) }
        }
    };
    let all: Vec<&Chart> = charts.iter().flatten().chain(&buffers).collect();
    document(
        &analysis.title,
        &content,
        &html! { "Written by nettoll " (tool) "." },
        &html! {
            (data("chart-data", &all))
            (data("analysis", analysis))
            (data("csv", &csv::render(analysis)))
        },
    )
}

fn masthead(analysis: &ReferenceAnalysis) -> Markup {
    let links = [
        (true, "#summary", "Summary"),
        (!analysis.inconsistencies.is_empty(), "#inconsistencies", "Inconsistencies"),
        (!analysis.series.is_empty(), "#sizes", "Message sizes"),
        (!analysis.loads.is_empty(), "#loads", "Loads"),
        (analysis.routines.is_some(), "#routines", "Routines"),
        (!analysis.buffers.is_empty(), "#buffers", "Socket buffers"),
    ];
    html! {
        header .masthead {
            div .inner {
                p .brand { "nettoll" span { " · reference · " (analysis.name) } }
                h1 { (analysis.title) }
                p .meta { (analysis.source) }
                nav aria-label="Parts of this page" {
                    @for (there, place, name) in links { @if there { a href=(place) { (name) } } }
                    @for (place, beside) in analysis.beside.iter().enumerate() { a href={ "#beside-" (place) } { "Beside it: " (beside.label) } }
                }
            }
        }
    }
}

fn summary(analysis: &ReferenceAnalysis) -> Markup {
    let content = html! {
        @if analysis.statements.is_empty() {
            p .lead { "Figures of others, analysed with what analyses a run." }
        } @else {
            p .lead { "What the paper says, and what its own tables show: " (words::tally(analysis)) "." }
            ul { @for statement in &analysis.statements { (ruled(statement)) } }
        }
    };
    part("summary", "In short", &content)
}

fn ruled(statement: &Statement) -> Markup {
    let borne_out = statement.ruling == Ruling::BorneOut;
    html! {
        li id={ "statement-" (statement.id) } {
            @if borne_out { (statement.ruling.words()) } @else { strong { (statement.ruling.words()) } }
            ": " (statement.says) " " span .faint { "(" (statement.about) ")" } ". " (capital(&statement.found)) "."
            small { "Rule: " (statement.rule) "." }
        }
    }
}

fn listed(id: &str, title: &str, all: &[String]) -> Markup {
    html! { @if !all.is_empty() { (part(id, title, &html! { ul { @for text in all { li { (text) } } } })) } }
}

fn buttons() -> Markup {
    html! {
        div .buttons {
            button type="button" data-save="json" { "Save as JSON" }
            button type="button" data-save="csv" { "Save as CSV" }
        }
    }
}

fn sweeps(machines: &[Machine], charts: &[Vec<Chart>]) -> Markup {
    html! {
        p .lead { "In parentheses: 95 % residual-bootstrap intervals. They say how well the table knows its line, not what another day would give." }
        noscript { p .callout { strong { "Charts need JavaScript." } span { "All of their figures are in the tables." } } }
        @for (machine, charts) in machines.iter().zip(charts) {
            article .series {
                h3 { (machine.name) }
                div .charts { @for chart in charts { (figure(chart)) } }
                (scrolling(&format!("{}: costs", machine.name), &costs(machine)))
                ul { @for text in machine.series.iter().flat_map(|series| words::remarks(series)) { li { (text) } } }
                details {
                    summary { "Every size of " (machine.name) }
                    (scrolling(&format!("{}: every size", machine.name), &sizes(machine)))
                }
            }
        }
    }
}

fn costs(machine: &Machine) -> Markup {
    html! {
        table {
            caption .hidden { (machine.name) ": costs by series" }
            thead {
                tr {
                    th scope="col" { "Series" } th scope="col" { "Per message" } th scope="col" { "Per byte" } th scope="col" { "Line to, B" }
                    th scope="col" { "r²" } th scope="col" { "Least squares, per byte" } th scope="col" { "Power law of throughput" }
                    th scope="col" { "Limit" } th scope="col" { "Half of it at" }
                }
            }
            tbody { @for series in &machine.series { (cost(series)) } }
        }
    }
}

fn cost(series: &SeriesResult) -> Markup {
    let piece = series.cost.as_ref().and_then(|cost| cost.pieces.first());
    let [limit, half] = words::saturation(series);
    let nothing = || NOTHING.to_owned();
    html! {
        tr {
            th scope="row" { (series.name) }
            td { (piece.map_or_else(nothing, |piece| words::range(&piece.message_ns, number::time))) }
            td { (piece.map_or_else(nothing, |piece| words::range(&piece.byte_ns, number::time))) }
            td { (words::line_to(series)) }
            td { (series.cost.as_ref().map_or_else(nothing, |cost| crate::studies::cost::r_squared(cost.r_squared))) }
            td { (series.cost.as_ref().map_or_else(nothing, |cost| number::time(cost.least_squares.byte_ns))) }
            td { (words::law(series)) }
            td { (limit) }
            td { (half) }
        }
    }
}

fn sizes(machine: &Machine) -> Markup {
    html! {
        table {
            caption .hidden { (machine.name) ": every size" }
            thead {
                tr {
                    th scope="col" { "Series" } th scope="col" { "Size, B" } th scope="col" { "Messages/s" } th scope="col" { "Sent/s" }
                    th scope="col" { "Time" } th scope="col" { "Throughput" } th scope="col" { "Improvement" } th scope="col" { "Residual" }
                }
            }
            @for series in &machine.series {
                tbody {
                    @for size in &series.sizes {
                        tr {
                            th scope="row" { (series.name) }
                            td { (number::whole(size.message_bytes)) }
                            td { (number::count(size.messages_per_s)) }
                            td { (size.sent_per_s.map_or(NOTHING.to_owned(), number::count)) }
                            td { (number::time(size.time_per_message_ns)) }
                            td { (number::bits(size.goodput_bit_per_s)) }
                            td { (size.improvement.map_or(NOTHING.to_owned(), number::change)) }
                            td { (size.residual.map_or(NOTHING.to_owned(), number::change)) }
                        }
                    }
                }
            }
        }
    }
}

fn loads(curves: &[LoadCurve]) -> Markup {
    let units = parts::units(curves);
    let at = |curve: &LoadCurve, unit: f64| curve.points.iter().find(|point| point[0] == unit).map(|point| point[1]);
    scrolling(
        "Times by load",
        &html! {
            table {
                caption .hidden { "Times by units of load at the sender, in ms" }
                thead {
                    tr {
                        th scope="col" { "Machine" } th scope="col" { "What, in ms" }
                        @for unit in &units { th scope="col" { (parts::plain(*unit, 2)) " units" } }
                        th scope="col" { "Each unit" }
                    }
                }
                tbody {
                    @for curve in curves {
                        tr {
                            th scope="row" { (curve.machine) " " (curve.protocol.to_uppercase()) }
                            td .words { (curve.of) }
                            @for unit in &units { td { (at(curve, *unit).map_or(NOTHING.to_owned(), |ms| number::significant(ms, 3))) } }
                            td { (curve.line.map_or(NOTHING.to_owned(), |line| number::significant(line[1], 2))) }
                        }
                    }
                }
            }
        },
    )
}

fn routines(analysis: &ReferenceAnalysis) -> Markup {
    let Some(routines) = &analysis.routines else { return html! {} };
    let table = |title: &str, of: fn(&Routine) -> &Vec<Option<f64>>| {
        scrolling(
            title,
            &html! {
                table {
                    caption .hidden { (title) }
                    thead { tr { th scope="col" { (title) } @for size in &routines.sizes { th scope="col" { (number::whole(*size)) " B" } } } }
                    tbody {
                        @for row in &routines.rows {
                            tr {
                                th scope="row" { (row.name) }
                                @for figure in of(row) { td { (figure.map_or(NOTHING.to_owned(), |figure| number::significant(figure, 3))) } }
                            }
                        }
                    }
                }
            },
        )
    };
    html! {
        p .lead { "The costliest over all sizes first." }
        (table("µs per message", |row| &row.us_per_message))
        (table("Calls per message", |row| &row.calls_per_message))
    }
}

fn buffer_section(curves: &[&BufferCurve], drawn: Option<&Chart>) -> Markup {
    html! {
        @if let Some(chart) = drawn { div .charts { (figure(chart)) } }
        @for curve in curves {
            article .series {
                h3 { (curve.name) }
                ul { @for text in words::curve(curve) { li { (text) } } }
                (scrolling(&format!("{}: by socket buffer", curve.name), &buffer_table(curve)))
            }
        }
    }
}

fn buffer_table(curve: &BufferCurve) -> Markup {
    html! {
        table {
            caption .hidden { (curve.name) ": throughput by socket buffer" }
            thead {
                tr {
                    th scope="col" { "Buffer, packets" } th scope="col" { "KB/s" } th scope="col" { "Of its best" } th scope="col" { "Of the limit" }
                    th scope="col" { "Two lines, KB/s" } th scope="col" { "On the wire, Mbit/s" }
                }
            }
            tbody {
                @for point in &curve.points {
                    tr {
                        th scope="row" { (parts::plain(point.packets, 3)) }
                        td { (parts::plain(point.kbytes_per_s, 4)) }
                        td { (number::percent(point.share_of_best)) }
                        td { (point.share_of_limit.map_or(NOTHING.to_owned(), number::percent)) }
                        td { (point.fitted.map_or(NOTHING.to_owned(), |fitted| number::significant(fitted, 3))) }
                        td { (point.wire_mbit_per_s.map_or(NOTHING.to_owned(), |rate| number::significant(rate, 2))) }
                    }
                }
            }
        }
    }
}

/// How what is laid beside compares; its own tables and charts come after.
fn laid(place: usize, beside: &Beside) -> Markup {
    let content = html! {
        p .lead { "Ratios over the reference: how far apart the two are. What differs between them is everything." }
        ul { @for text in beside.remarks.iter().cloned().chain(beside.buffer_pairs.iter().map(words::buffers)) { li { (text) } } }
        @if !beside.pairs.is_empty() {
            (scrolling("Ratios over the reference", &html! {
                table {
                    caption .hidden { "Ratios over the reference" }
                    thead {
                        tr {
                            th scope="col" { "Series" } th scope="col" { "Reference" } th scope="col" { "Its series" } th scope="col" { "Common sizes" }
                            th scope="col" { "Messages/s" } th scope="col" { "Cost per message" } th scope="col" { "Cost per byte" }
                        }
                    }
                    tbody {
                        @for pair in &beside.pairs {
                            tr {
                                th scope="row" { (pair.candidate) }
                                td .words { (pair.group) }
                                td .words { (pair.reference) }
                                td { (pair.sizes.len()) }
                                td { (words::ratios(pair)) }
                                td { (words::times(pair.message_ns)) }
                                td { (words::times(pair.byte_ns)) }
                            }
                        }
                    }
                }
            }))
        }
    };
    part(&format!("beside-{place}"), &format!("Beside it: {}", beside.label), &content)
}
