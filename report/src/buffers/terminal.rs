//! A map of buffers in 80 columns.

use analysis::result::Analysis;
use analysis::result::buffers::{BufferCell, BufferLevel, BufferMap};

use super::words;
use crate::interval::plus_minus;
use crate::number::{self, NOTHING, tight};
use crate::terminal::Page;
use crate::terminal::table::Column;

/// What a cell of the map takes: three digits and a mark.
const CELL: usize = 4;

/// The name of a row.
const ROW: usize = 8;

/// Every map of a run.
pub fn maps(page: &mut Page, analysis: &Analysis) {
    for map in analysis.buffers() {
        page.gap();
        page.heading(&words::title(map));
        grid(page, map);
        diagonal(page, map);
        levels(page, map);
        page.gap();
        words::sentences(map).iter().for_each(|text| page.item(text));
    }
}

/// The heat map in figures. One of a diagonal alone has a table, which says more.
fn grid(page: &mut Page, map: &BufferMap) {
    if map.diagonal.len() == map.cells.len() {
        return;
    }
    page.faint(&words::legend(map), 0);
    let room = (page.width() - ROW) / CELL;
    for first in (0..map.receivers.len()).step_by(room) {
        let shown = first..map.receivers.len().min(first + room);
        let head = shown.clone().map(|place| right(&words::name(&map.receivers[place]), CELL - 1) + " ").collect::<String>();
        let row = |sender: usize| {
            let cell = |receiver: usize| map.cells.iter().enumerate().find(|(_, cell)| (cell.sender, cell.receiver) == (sender, receiver));
            let text = |receiver: usize| match cell(receiver) {
                Some((place, cell)) => {
                    let notch = map.notches.iter().any(|notch| notch.cell == place);
                    right(&format!("{:.0}", words::share(map, cell) * 100.0), CELL - 1) + if notch { "*" } else { " " }
                }
                None => right(NOTHING, CELL - 1) + " ",
            };
            right(&words::name(&map.senders[sender]), ROW - 2) + "  " + &shown.clone().map(text).collect::<String>()
        };
        page.table(vec![Column::words(
            9,
            ["sender  receiver's buffer, packets; %".to_owned(), format!("{:ROW$}{head}", "")],
            (0..map.senders.len()).map(row).collect(),
        )]);
    }
}

/// Both buffers rising.
fn diagonal(page: &mut Page, map: &BufferMap) {
    let cells: Vec<&BufferCell> = map.diagonal.iter().map(|place| &map.cells[*place]).collect();
    if cells.is_empty() {
        return;
    }
    let of = |write: &dyn Fn(&BufferCell) -> String| -> Vec<String> { cells.iter().map(|cell| tight(&write(cell))).collect() };
    let or = |value: Option<String>| value.unwrap_or_else(|| NOTHING.to_owned());
    let goodputs = cells.iter().map(|cell| (number::bits(cell.goodput_bit_per_s.value), tight(&plus_minus(&cell.goodput_bit_per_s))));
    page.gap();
    page.table(vec![
        Column::figures(5, ["asked,", "sender"], of(&|cell| words::asked(&map.senders[cell.sender]))),
        Column::figures(6, ["asked,", "receiver"], of(&|cell| words::asked(&map.receivers[cell.receiver]))),
        Column::figures(10, ["packets", "seen"], of(&|cell| words::packets(cell.in_flight))),
        Column::measured(10, ["", "goodput"], goodputs.collect()),
        Column::figures(9, ["of the", "limit"], of(&|cell| or(cell.limit_share.map(number::percent)))),
        Column::figures(4, ["on the", "wire"], of(&|cell| or(cell.wire_bit_per_s.map(number::bits)))),
        Column::figures(3, ["segments", "an ACK"], of(&|cell| or(cell.segments_per_ack.map(|count| number::significant(count, 3))))),
        Column::figures(7, ["", "model"], of(&|cell| or(cell.predicted.map(|model| number::bits(model.bit_per_s))))),
        Column::figures(8, ["measured/", "model"], of(&|cell| or(cell.predicted.map(|model| number::significant(model.ratio.value, 3))))),
    ]);
}

/// What became of what was asked for.
fn levels(page: &mut Page, map: &BufferMap) {
    page.gap();
    let table = |page: &mut Page, whose: &str, levels: &[BufferLevel], window: bool| {
        let of = |write: &dyn Fn(&BufferLevel) -> String| -> Vec<String> { levels.iter().map(write).collect() };
        let mut columns = vec![
            Column::figures(9, [whose.to_owned(), "asked".to_owned()], of(&words::asked)),
            Column::figures(8, ["", "set"], of(&|level| words::told(level.set))),
            Column::figures(7, ["at the", "end"], of(&|level| words::told(level.got))),
        ];
        if window {
            columns.push(Column::figures(6, ["window", "offered"], of(&|level| words::packets(level.window))));
        }
        columns.push(Column::figures(9, ["packets", "seen"], of(&|level| words::packets(level.in_flight))));
        columns.push(Column::figures(
            8,
            ["most", "ever"],
            of(&|level| level.most_in_flight.map_or(NOTHING.to_owned(), |most| number::whole(most.into()))),
        ));
        columns.push(Column::figures(2, ["", "looks"], of(&|level| number::whole(level.looks))));
        page.table(columns);
    };
    table(page, "sender", &map.senders, false);
    page.gap();
    table(page, "receiver", &map.receivers, true);
}

fn right(text: &str, width: usize) -> String {
    format!("{text:>width$}")
}
