//! Several machines at one end, each by itself.

use analysis::result::{Analysis, CellPeers, PeerFigures};

use crate::document::{Block, Part, Rows, Section, Table};
use crate::number;
use crate::studies::glance::{NAME, figure};

/// A machine in a cell.
struct Row<'a> {
    cell: &'a str,
    host: &'a PeerFigures,
}

/// The section; `None` of a run in which each end is on one machine.
pub fn section(analysis: &Analysis) -> Option<Section> {
    let cells: Vec<&CellPeers> = analysis.peers().iter().filter(|cell| cell.arm == 0).collect();
    let least = cells.iter().filter_map(|cell| cell.least_overlap_share).reduce(f64::min);
    let overlap = least.map_or_else(String::new, |share| {
        format!(" All were received at once in {} of each trial or more, by the clock of the host that they share.", number::percent(share))
    });
    let lead = format!("Goodput is what arrives of each machine's flows, CPU time that of its own end per message that arrives.{overlap}");
    let label = |cell: &CellPeers| analysis.cells.get(cell.cell).map_or("", |known| known.label.as_str());
    let rows: Vec<Row> = cells
        .iter()
        .flat_map(|cell| cell.hosts.iter().enumerate().map(|(at, host)| Row { cell: if at == 0 { label(cell) } else { "" }, host }))
        .collect();
    let missing = rows.iter().filter_map(|row| Some(format!("Host {} was missing: {}", row.host.host, row.host.error.as_ref()?)));
    let mut notes: Vec<String> = missing.collect();
    notes.dedup();
    let part = Part { notes, ..Part::default() };
    (!rows.is_empty()).then(|| Section::study("machines", "Machines at once", lead, Vec::new(), [Block::from(table(&rows)), part.into()]))
}

fn table(rows: &[Row]) -> Table {
    let mut table = Rows::of(rows)
        .words("", |row| row.cell)
        .words("host", |row| row.host.host.as_str())
        .figures("goodput, Mbit/s", |row| figure(row.host.goodput_bit_per_s.as_ref(), 1e6))
        .figures("CPU a message, µs", |row| figure(row.host.cpu_per_message_ns.as_ref(), 1e3))
        .figures("sent", |row| number::whole(row.host.sent))
        .figures("lost", |row| number::whole(row.host.lost))
        .figures("trials", |row| number::whole(row.host.trials))
        .column_if(rows.iter().any(|row| row.host.missing > 0), "missing", crate::document::Kind::Figures, |row| {
            number::whole(row.host.missing)
        })
        .table()
        .labelled("Machines at once", "");
    table.columns[0].cut = Some(NAME);
    table
}
