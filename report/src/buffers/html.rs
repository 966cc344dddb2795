//! A map of buffers in the page.

use analysis::result::Analysis;
use analysis::result::buffers::{BufferCell, BufferLevel, BufferMap};
use maud::{Markup, html};

use super::{heat, words};
use crate::chart::Chart;
use crate::html::{figures::figure, part, scrolling};
use crate::interval::range;
use crate::number::{self, NOTHING};

/// The section; empty of a run that varies no buffer.
pub fn section(analysis: &Analysis, charts: &[Chart]) -> Markup {
    if analysis.buffers().is_empty() {
        return html! {};
    }
    part("buffers", "Socket buffers", &html! { @for (place, map) in analysis.buffers().iter().enumerate() { (one(place, map, charts)) } })
}

fn one(place: usize, map: &BufferMap, charts: &[Chart]) -> Markup {
    let chart = charts.iter().find(|chart| chart.id == format!("buffers-{place}"));
    let whole = map.diagonal.len() < map.cells.len();
    html! {
        article .series {
            h3 { (words::title(map)) }
            ul { @for text in words::sentences(map) { li { (text) } } }
            @if whole {
                p .lead { (words::legend(map)) " Framed: the buffers to use." }
                (heat::map(map))
            }
            @if let Some(chart) = chart { div .charts { (figure(chart)) } }
            h4 { "The diagonal" }
            (scrolling("The diagonal", &cells(map, &map.diagonal)))
            h4 { "What became of what was asked for" }
            (scrolling("The sender's buffer", &levels("Sender, asked", &map.senders, false)))
            (scrolling("The receiver's buffer", &levels("Receiver, asked", &map.receivers, true)))
            @if whole {
                details {
                    summary { "Every pair" }
                    (scrolling("Every pair of buffers", &cells(map, &(0..map.cells.len()).collect::<Vec<_>>())))
                }
            }
        }
    }
}

fn cells(map: &BufferMap, places: &[usize]) -> Markup {
    let or = |value: Option<String>| value.unwrap_or_else(|| NOTHING.to_owned());
    html! {
        table {
            caption .hidden { "Goodput by pair of buffers" }
            thead {
                tr {
                    th scope="col" { "Asked, sender" } th scope="col" { "Asked, receiver" } th scope="col" { "Packets seen" } th scope="col" { "Goodput" }
                    th scope="col" { "Interval" } th scope="col" { "Of the limit" } th scope="col" { "On the wire" } th scope="col" { "Segments an ACK" }
                    th scope="col" { "Sent again" } th scope="col" { "Model" } th scope="col" { "Measured / model" }
                }
            }
            tbody {
                @for (place, cell) in places.iter().map(|place| (place, &map.cells[*place])) {
                    tr {
                        th scope="row" { (words::asked(&map.senders[cell.sender])) @if is_notch(map, *place) { " *" } }
                        td { (words::asked(&map.receivers[cell.receiver])) }
                        td { (words::packets(cell.in_flight)) }
                        td { (number::bits(cell.goodput_bit_per_s.value)) }
                        td { (range(&cell.goodput_bit_per_s, number::bits)) }
                        td { (or(cell.limit_share.map(number::percent))) }
                        td { (or(cell.wire_bit_per_s.map(number::bits))) }
                        td { (or(cell.segments_per_ack.map(|count| number::significant(count, 3)))) }
                        td { (number::whole(cell.resent)) }
                        (model(cell))
                    }
                }
            }
        }
    }
}

fn is_notch(map: &BufferMap, place: usize) -> bool {
    map.notches.iter().any(|notch| notch.cell == place)
}

fn model(cell: &BufferCell) -> Markup {
    match cell.predicted {
        Some(model) => html! {
            td { (number::bits(model.bit_per_s)) }
            td { (range(&model.ratio, |ratio| number::significant(ratio, 3))) }
        },
        None => html! { td { (NOTHING) } td { (NOTHING) } },
    }
}

fn levels(head: &str, levels: &[BufferLevel], window: bool) -> Markup {
    html! {
        table {
            caption .hidden { (head) ", set, got, and seen" }
            thead {
                tr {
                    th scope="col" { (head) } th scope="col" { "Set" } th scope="col" { "At the end" }
                    @if window { th scope="col" { "Window offered" } }
                    th scope="col" { "Packets seen" } th scope="col" { "Most ever" } th scope="col" { "Looks" }
                }
            }
            tbody {
                @for level in levels {
                    tr {
                        th scope="row" { (words::asked(level)) }
                        td { (words::told(level.set)) }
                        td { (words::told(level.got)) }
                        @if window { td { (words::packets(level.window)) } }
                        td { (words::packets(level.in_flight)) }
                        td { (level.most_in_flight.map_or(NOTHING.to_owned(), |most| number::whole(most.into()))) }
                        td { (number::whole(level.looks)) }
                    }
                }
            }
        }
    }
}
