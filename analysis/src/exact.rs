//! A run with receipts next to exact counts: which message of the microscope is the one
//! that a cell measured, and what both say of its layers.

use attribution::exact::{Measured, Region, Timed, timed};
use model::cell::Cell;
use model::link::LinkKind;
use model::{Api, Family, Test};

use crate::studies::Analysis;
use crate::studies::receipt::CellReceipt;

/// A message of the microscope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioMessage {
    /// The scenario.
    pub scenario: &'static str,
    /// Bytes of the message.
    pub size: u64,
}

/// Messages longer than this are no scenario's.
const MOST_BYTES: u64 = 1 << 16;

/// The messages of a run's receipts, each with the cell's label, or why the microscope has
/// none for it.
pub fn wanted(analysis: &Analysis) -> Vec<(&str, Result<ScenarioMessage, String>)> {
    let cells = analysis.receipt().map_or(&[][..], |study| &study.cells);
    cells.iter().map(|cell| (cell.label.as_str(), message(analysis, cell))).collect()
}

fn message(analysis: &Analysis, receipt: &CellReceipt) -> Result<ScenarioMessage, String> {
    let cell = &receipt.cell;
    if receipt.receipts().next().is_none() {
        return Err("it has no receipt".to_owned());
    }
    if cell.size.get() > MOST_BYTES {
        return Err(format!("a message of more than {MOST_BYTES} bytes is no scenario"));
    }
    // What batches or defers executes other instructions a message.
    if !matches!(cell.api, Api::Send | Api::Sendto) || cell.batch > 1 {
        return Err(format!("no scenario sends by {}", cell.api));
    }
    let veth = match analysis.run.plan.link.kind {
        LinkKind::Loopback => false,
        LinkKind::Veth => true,
        ref kind => return Err(format!("no scenario has a link such as {}", kind.name())),
    };
    let scenario = scenario(cell, veth)
        .ok_or_else(|| format!("no scenario is {} over {} on {}", cell.test, cell.family, if veth { "veth" } else { "loopback" }))?;
    Ok(ScenarioMessage { scenario, size: cell.size.get() })
}

fn scenario(cell: &Cell, veth: bool) -> Option<&'static str> {
    Some(match (cell.test, cell.family, veth) {
        (Test::UdpStream, Family::V4, false) => "udp",
        (Test::TcpStream | Test::TcpMaerts, Family::V4, false) => "tcp",
        (Test::UdpStream, Family::V6, false) => "udp6",
        (Test::TcpStream | Test::TcpMaerts, Family::V6, false) => "tcp6",
        (Test::UdpStream, Family::V4, true) => "veth-udp",
        (Test::TcpStream | Test::TcpMaerts, Family::V4, true) => "veth-tcp",
        (Test::UdpRr, Family::V4, false) => "udp-echo",
        (Test::TcpRr, Family::V4, false) => "tcp-echo",
        (Test::UdpRr, Family::V4, true) => "veth-udp-echo",
        (Test::TcpRr, Family::V4, true) => "veth-tcp-echo",
        _ => return None,
    })
}

/// Time next to instructions of every message that both have.
pub fn side_by_side(analysis: &Analysis, measured: &Measured) -> Vec<Timed> {
    let cells = analysis.receipt().map_or(&[][..], |study| &study.cells);
    let one = |cell: &CellReceipt| {
        let wanted = message(analysis, cell).ok()?;
        let region: &Region = measured.region(&format!("{}-{}", wanted.scenario, wanted.size))?;
        let ends: Vec<_> = cell.receipts().map(|receipt| receipt.rows.layers.as_slice()).collect();
        Some(timed(&cell.label, &ends, region))
    };
    cells.iter().filter_map(one).collect()
}
