//! An external endpoint in C that makes the calls of the bare loop, against nettoll's own end.

use std::path::Path;

use anyhow::Context;

use crate::bars::Row;
use crate::ours;

/// The bar: neither end may be shown to cost more than this.
const BAR: f64 = 1.03;
/// Largest half-width of an interval, as a share.
const HALF_WIDTH: f64 = 0.03;

/// Measures a study of two arms for each end; the other end is nettoll's. TCP by cubic: bbr paces with
/// timers, by what it sees in the first round trips of each connection.
pub fn measure(nettoll: &Path, endpoint: &Path, blocks: u32) -> anyhow::Result<Vec<Row>> {
    let endpoint =
        endpoint.canonicalize().with_context(|| format!("find {}; compile examples/endpoint/endpoint.c first", endpoint.display()))?;
    let path = endpoint.display();
    let mut rows = Vec::new();
    for (end, setting) in [("sender", format!("api=exec:{path}, receive=recv")), ("receiver", format!("receive=exec:{path}"))] {
        let plan = format!(
            "name = \"external\"\ntrial = {{ length = \"100ms\", warmup = \"20ms\" }}\nblocks = {{ least = {blocks}, most = {blocks} }}\n\
             arms = [\"own: api=send\", \"program: {setting}\"]\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = [64, 1024]\n\
             [[cells]]\ntest = \"TCP_STREAM\"\nsize = 16384\nnodelay = true\ncc = \"cubic\"\n"
        );
        let analysis = ours::study(nettoll, &plan, &[])?;
        let metric = format!("{end}_cpu_per_message_ns");
        let metrics = analysis["verdicts"][0]["metrics"].as_array().with_context(|| format!("no verdict: {analysis}"))?;
        let found = metrics.iter().find(|known| known["metric"] == metric.as_str()).with_context(|| format!("no {metric}: {analysis}"))?;
        let cells = analysis["cells"].as_array().into_iter().flatten().map(|cell| &cell["cell"]);
        let compared = found["comparison"]["cells"].as_array().into_iter().flatten();
        rows.extend(compared.zip(cells).map(|(compared, cell)| {
            let (test, size) = (cell["test"].as_str().unwrap_or_default(), &cell["size"]);
            let what = format!("CPU per message, {test} {size} B, {end}, C program / nettoll");
            Row::read(what, "x", &compared["ratio"]).no_dearer(BAR, HALF_WIDTH)
        }));
    }
    Ok(rows)
}
