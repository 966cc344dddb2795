//! Share of its limit that each link reaches, and losses and leftovers.
//!
//! Measured over limit is a ratio of counts to the wire's own time, so that it
//! needs no other tool next to it; but an end that is kept from its CPU sends less.
//! Such trials are counted, and the medians are of those that were not disturbed,
//! where there are enough of them.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use linksim::limit::{self, LinkTotals, Medium};
use model::plan::LinkKind;
use model::trial::Measured;
use model::{Cell, TrialRecord, Warning};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use stats::median;

use crate::bars::Row;
use crate::endure::tool::Tool;
use crate::endure::traces::Traces;

/// No study of these takes longer.
const HANG: Duration = Duration::from_secs(900);
/// The least undisturbed trials that speak for a cell.
const ENOUGH: usize = 3;
/// Blocks of each study, and kills, for which the bars hold.
const BLOCKS: u32 = 9;
const KILLS: u32 = 20;

/// The limit of a wire: 1,460 bytes of payload in 1,538 byte times, and 84 for
/// the acknowledgement, at 1.25 MB/s.
const SHARED_KIB: f64 = 1_460.0 / 1_622.0 * 1.25e6 / 1_024.0;

/// UDP of all sizes: one byte, those of 1984, the largest frame, fragments.
const UDP: &str = "test = \"UDP_STREAM\"\nsize = [1, 18, 64, 112, 512, 1024, 1460, 1472, 2032, 4000, 8192]";
/// TCP from one segment up.
const TCP: &str = "test = \"TCP_STREAM\"\nnodelay = true\nsize = [1460, 2032, 4096, 8192, 16384]";
/// A window of two segments: each is acknowledged by itself.
const ONE_ACK: &str = "test = \"TCP_STREAM\"\nsize = 1460\nnodelay = true\nread_size = 1460\nrcvbuf = 3400";
/// A wire shared with three pairs at 0.75 Mbit/s each.
const SHARED: &str = "test = [\"UDP_STREAM\", \"TCP_STREAM\"]\nsize = 1460\nnodelay = true\nlink_load = \"3x750K\"";
/// Datagrams under every kind of load, loss and shaping.
const LOSSES: &str = "test = [\"UDP_STREAM\", \"UDP_RR\"]\nsize = [64, 1400, 4000]\n\
    link = [\"veth\", \"ethernet 10M queue=6000\", \"ethernet 100M\", \"relay 20M loss=3% delay=1ms jitter=500us\"]\nbulk = [0, 2]\n\
    [[cells]]\ntest = [\"UDP_STREAM\", \"UDP_RR\"]\nsize = [64, 1400, 4000]\n\
    link = [\"switch\", \"switch 10M queue=8000\", \"shared-wire 10M queue=8000\", \"shared-wire 100M\"]\nlink_load = [0, \"3x750K\", 2]";

fn plan(length_ms: u32, blocks: u32, link: &str, cells: &str) -> String {
    format!(
        "name = \"links\"\nseed = 1\ntrial = {{ length = \"{length_ms}ms\", warmup = \"200ms\" }}\n\
         blocks = {{ least = {blocks}, most = {blocks} }}\n[link]\nkind = \"{link}\"\n[[cells]]\n{cells}\n"
    )
}

/// The trials of a plan, all of which were measured.
fn trials(nettoll: &Path, plan: &str) -> anyhow::Result<Vec<(TrialRecord, Measured)>> {
    let measured = |record: TrialRecord| {
        let measured = record.measured().with_context(|| format!("a trial failed: {record:?}"))?.clone();
        Ok((record, measured))
    };
    records(nettoll, plan)?.into_iter().map(measured).collect()
}

/// The trials of a plan, whatever came of them.
fn records(nettoll: &Path, plan: &str) -> anyhow::Result<Vec<TrialRecord>> {
    let tool = Tool::new(nettoll)?;
    let mut study = tool.start(&[], plan, &[])?;
    let status = study.wait(HANG).context("a study of links hangs")?;
    anyhow::ensure!(status.success(), "a study of links ended with {status}: {}", study.words());
    Ok(tool.stored().context("it stored no run")?.read()?.1)
}

fn was_disturbed(record: &TrialRecord) -> bool {
    let other = |warning: &Warning| {
        matches!(warning, Warning::Contended { .. } | Warning::Stolen { .. } | Warning::Throttled { .. } | Warning::Misaligned { .. })
    };
    record.warnings.iter().any(other)
}

/// A row of the ratios of a cell's trials against 1, with their least and greatest.
fn row(what: String, ratios: &[(f64, bool)], margin: f64) -> Row {
    let quiet: Vec<f64> = ratios.iter().filter(|(_, disturbed)| !disturbed).map(|(ratio, _)| *ratio).collect();
    let all: Vec<f64> = ratios.iter().map(|(ratio, _)| *ratio).collect();
    let kept = if quiet.len() >= ENOUGH { quiet } else { all };
    let value = median::median(&kept).unwrap_or(f64::NAN);
    let [low, high] = [kept.iter().copied().fold(f64::INFINITY, f64::min), kept.iter().copied().fold(f64::NEG_INFINITY, f64::max)];
    let what = format!("{what} ({} of {} trials disturbed)", ratios.iter().filter(|(_, disturbed)| *disturbed).count(), ratios.len());
    Row::printed(what, value, "x", kept.len()).within(low, high).against(format!("1 within {margin}"), (value - 1.0).abs() <= margin)
}

/// A row for each cell of these trials, in the plan's order of first appearance.
fn rows(link: &str, trials: &[(TrialRecord, Measured)], margin: f64, ratio: impl Fn(&Cell, &Measured) -> Option<f64>) -> Vec<Row> {
    let mut cells: Vec<&Cell> = trials.iter().map(|(record, _)| &record.cell).collect();
    cells.sort();
    cells.dedup();
    let of_cell = |cell: &Cell| {
        let own = trials.iter().filter(|(record, _)| record.cell == *cell);
        own.filter_map(|(record, measured)| Some((ratio(cell, measured)?, was_disturbed(record)))).collect::<Vec<_>>()
    };
    cells.into_iter().map(|cell| row(format!("{link}, {cell}"), &of_cell(cell), margin)).collect()
}

/// Bytes a second.
fn goodput(measured: &Measured) -> f64 {
    measured.receiver.counts.bytes as f64 / measured.receiver.window.length().as_secs_f64()
}

/// Returns what the trial's frames took of its wire over what the pairs' frames left of it.
fn of_the_rest(link: &LinkKind, cell: &Cell, measured: &Measured) -> Option<f64> {
    let pairs = &measured.conditions.as_ref()?.pairs;
    let rest = 1.0 - limit::used_by_pairs(link, pairs)?;
    let carried = LinkTotals::from_counters(limit::payload(measured, cell), &measured.sender_host.link, &measured.receiver_host.link);
    let own = carried.wire_rate(Medium::of_link(link), goodput(measured))? / link.rate()?.get() as f64;
    Some(own / rest)
}

/// Datagrams that neither arrived nor stand in a named counter.
fn losses(nettoll: &Path, blocks: u32) -> anyhow::Result<Vec<Row>> {
    let trials = records(nettoll, &plan(100, blocks, "veth", LOSSES))?;
    // Where every request of a short trial is lost, the trial says so and has no figures.
    let (measured, failed): (Vec<_>, Vec<_>) = trials.iter().partition(|record| record.measured().is_some());
    let balance = |record: &&TrialRecord| analysis::conservation::balance(record.measured()?, &record.cell);
    let balances: Vec<_> = measured.iter().filter_map(balance).collect();
    let unaccounted: u64 = balances.iter().map(|balance| balance.unaccounted.unsigned_abs()).sum();
    let [sent, received] = [balances.iter().map(|one| one.sent).sum::<u64>(), balances.iter().map(|one| one.received).sum()];
    Ok(vec![
        Row::printed("datagrams sent under loads, loss and shaping", sent as f64, "", trials.len()),
        Row::printed("  trials of them in which no request was answered", failed.len() as f64, "", trials.len()),
        Row::printed("  of them received", received as f64, "", trials.len()),
        Row::printed("  neither received nor in a named counter", unaccounted as f64, "", trials.len()).against("0", unaccounted == 0),
    ])
}

/// Returns what controllers that were killed at random moments left behind.
fn leftovers(nettoll: &Path, kills: u32) -> anyhow::Result<Row> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut left = Vec::new();
    for _ in 0..kills {
        let tool = Tool::new(nettoll)?;
        let mut traces = Traces::now();
        let mut study = tool.start(&[], &plan(100, 1, "veth", LOSSES), &[])?;
        thread::sleep(Duration::from_millis(random.random_range(0..4_000)));
        traces.see(&tool);
        study.kill();
        left.extend(traces.leftovers(&tool, |_| false));
    }
    let what = format!(
        "left by controllers killed amid links, pairs and flows{}",
        if left.is_empty() { String::new() } else { format!(": {left:?}") }
    );
    Ok(Row::printed(what, left.len() as f64, "", kills as usize).against("0", left.is_empty()))
}

/// Measures every link against its limit; `effort` is a share of the blocks.
pub fn measure(nettoll: &Path, effort: f64) -> anyhow::Result<Vec<Row>> {
    let share = |full: u32| ((f64::from(full) * effort) as u32).max(1);
    let mut all = Vec::new();
    // Long enough that the datagram which a window cuts is less than the margin.
    for (link, margin, length_ms) in [("ethernet 10M", 0.005, 1_500), ("ethernet 100M", 0.01, 400)] {
        let kind: LinkKind = link.parse()?;
        for cells in [UDP, TCP] {
            let trials = trials(nettoll, &plan(length_ms, share(BLOCKS), link, cells))?;
            all.extend(rows(link, &trials, margin, |cell, measured| Some(goodput(measured) / limit::of_trial(&kind, measured, cell)?)));
        }
    }
    let one_ack = trials(nettoll, &plan(1_000, share(BLOCKS), "shared-wire 10M", ONE_ACK))?;
    all.extend(rows("shared-wire 10M over 1,098.8 KiB/s", &one_ack, 0.005, |_, measured| Some(goodput(measured) / 1_024.0 / SHARED_KIB)));
    for link in ["switch 10M", "shared-wire 10M"] {
        let kind: LinkKind = link.parse()?;
        let trials = trials(nettoll, &plan(2_000, share(BLOCKS), link, SHARED))?;
        all.extend(rows(&format!("{link} over what pairs leave"), &trials, 0.015, |cell, measured| of_the_rest(&kind, cell, measured)));
    }
    all.extend(losses(nettoll, share(2))?);
    all.push(leftovers(nettoll, share(KILLS))?);
    Ok(all)
}
