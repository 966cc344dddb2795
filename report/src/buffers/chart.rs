//! The diagonal: goodput over packets, with the model and what was published.

use analysis::result::buffers::BufferMap;
use analysis::result::{Analysis, Published};

use crate::chart::{Chart, Panel, SizeAxis, Trace, X, escape};
use crate::number;

/// A chart for each map whose buffers were seen at work.
pub fn all(analysis: &Analysis) -> Vec<Chart> {
    let published = analysis.published();
    analysis.buffers().iter().enumerate().filter_map(|(place, map)| one(place, map, published)).collect()
}

fn one(place: usize, map: &BufferMap, published: Option<&Published>) -> Option<Chart> {
    let cells: Vec<_> = map.diagonal.iter().map(|cell| &map.cells[*cell]).filter(|cell| cell.in_flight.is_some()).collect();
    let packets: Vec<f64> = cells.iter().filter_map(|cell| cell.in_flight).collect();
    let most = packets.iter().copied().reduce(f64::max)?;
    let mut measured = Trace { name: "today".to_owned(), legend: true, x: X::Sizes(packets.clone()), ..Trace::default() };
    for cell in &cells {
        let head = format!("{} packets", number::significant(cell.in_flight.unwrap_or_default(), 3));
        measured.push(&cell.goodput_bit_per_s, 1.0, &head, number::bits);
    }
    let mut traces = vec![measured];
    let model: Vec<Option<f64>> = cells.iter().map(|cell| cell.predicted.map(|model| model.bit_per_s)).collect();
    if model.iter().any(Option::is_some) {
        let hover = model.iter().map(|rate| rate.map_or(String::new(), |rate| format!("model<br><b>{}</b>", number::bits(rate)))).collect();
        let model = Trace { name: "model".to_owned(), series: 0, model: true, x: X::Sizes(packets), y: model, hover, ..Trace::default() };
        traces.push(model);
    }
    for (series, theirs) in
        published.into_iter().flat_map(|published| &published.buffers).filter(|theirs| theirs.map == map.label).enumerate()
    {
        let rows: Vec<(f64, f64)> =
            theirs.rows.iter().filter_map(|row| Some((row.packets as f64, row.published_kbytes_per_s? * 1024.0 * 8.0))).collect();
        let name = escape(&theirs.pair);
        traces.push(Trace {
            name: name.clone(),
            series: series + 1,
            legend: true,
            x: X::Sizes(rows.iter().map(|(packets, _)| *packets).collect()),
            y: rows.iter().map(|(_, rate)| Some(*rate)).collect(),
            up: vec![0.0; rows.len()],
            down: vec![0.0; rows.len()],
            hover: rows.iter().map(|(packets, rate)| format!("{name} · {packets} packets<br><b>{}</b>", number::bits(*rate))).collect(),
            ..Trace::default()
        });
    }
    Some(Chart {
        id: format!("buffers-{place}").into(),
        title: "Both buffers rising".into(),
        caption: "Over the packets that were seen under way. Dotted: the model of the same wire, hosts, buffers and acknowledgements."
            .to_owned(),
        alt: "Goodput against socket buffer in packets. The figures are in the table of the diagonal.".to_owned(),
        sizes: Some(SizeAxis { title: Some("packets under way"), ..SizeAxis::over(1, most.ceil() as u64, false) }),
        panels: vec![Panel { title: "goodput", unit: "bit/s", log_ticks: None, zero: true, joined: false, share: 1.0 }],
        traces,
    })
}
