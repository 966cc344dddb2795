//! Cost of a trial beyond its measured time, and an endpoint's share of
//! the machine.

use model::trial::Measured;
use model::{Cell, Protocol, Test};

use crate::bars::Row;
use crate::{ours, pairs};

/// Measures trials of all kinds, short and long.
pub fn measure(count: u32) -> anyhow::Result<Vec<Row>> {
    let mut session = ours::session()?;
    let mut rows = Vec::new();
    let mut resident: f64 = 0.0;
    for (name, cell) in cells() {
        let mut costs = Vec::new();
        for _ in 0..count {
            let measured = ours::measure(&mut session, &ours::plan(cell.clone(), 10, 50))?;
            costs.push(measured.overhead.as_secs_f64() * 1e3);
            resident = resident.max(largest(&measured));
        }
        let row = Row::estimated(format!("fixed cost of a trial, {name}"), "ms", &pairs::of(&costs, 0.95)?);
        rows.push(row.judged("<= 60 ms", |row| row.ends().1 <= 60.0));
    }
    let long = ours::measure(&mut session, &ours::plan(ours::stream(Protocol::Udp, 1, 1), 10, 5_000))?;
    rows.push(
        Row::printed("endpoint memory, largest of all short trials", resident, "MiB", rows.len()).against("<= 16 MiB", resident <= 16.0),
    );
    rows.push(
        Row::printed(format!("endpoint memory after {} messages", long.sender.total.messages), largest(&long), "MiB", 1)
            .against("as after few messages, within 1 MiB", largest(&long) <= resident + 1.0),
    );
    Ok(rows)
}

fn cells() -> Vec<(&'static str, Cell)> {
    let rr = |test| Cell { test, ..ours::stream(Protocol::Tcp, 1, 1) };
    vec![
        ("TCP_STREAM 16 KiB", ours::stream(Protocol::Tcp, 16 << 10, 128 << 10)),
        ("UDP_STREAM 1 B", ours::stream(Protocol::Udp, 1, 1)),
        ("UDP_STREAM 16 KiB", ours::stream(Protocol::Udp, 16 << 10, 16 << 10)),
        ("TCP_RR 1 B", rr(Test::TcpRr)),
        ("UDP_RR 1 B", rr(Test::UdpRr)),
    ]
}

/// The larger of the endpoints' resident sizes in MiB.
fn largest(measured: &Measured) -> f64 {
    let mib = |bytes: model::Bytes| bytes.get() as f64 / f64::from(1 << 20);
    mib(measured.sender.max_resident).max(mib(measured.receiver.max_resident))
}
