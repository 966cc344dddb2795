//! Ways that hand over many datagrams with one call, against C loops that make the same calls.

use std::cell::RefCell;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use model::plan::Level;
use model::{Api, Cell, Protocol};

use crate::bare::{Bare, Trial};
use crate::bars::Row;
use crate::cpu_per_message::{ENDS, Pick};
use crate::{ours, pairs};

/// The bar: no cell may be shown to be slower than this.
const BAR: f64 = 1.03;
/// Largest half-width of an interval, as a share.
const HALF_WIDTH: f64 = 0.03;
/// Messages of a call, as nettoll has it where nobody says.
const BATCH: u32 = 32;
const SIZES: [u64; 2] = [64, 1_024];
const PACKED_SIZE: u64 = 1_024;
/// The bar: a message by `send` costs at least so many by `gso`.
const LEAST_SAVING: f64 = 5.0;
/// The loops, and what each is compiled with.
const LOOPS: [(Api, &str); 4] = [(Api::Sendmmsg, ""), (Api::Gso, ""), (Api::Uring, "liburing"), (Api::Xdp, "libxdp")];

/// Measures pairs of trials, way by way. A loop that was not compiled is named.
pub fn measure(loops: &Path, count: u32) -> anyhow::Result<Vec<Row>> {
    let known = Command::new(loops).arg("list").output().with_context(|| format!("run {}; compile bench/ways.c first", loops.display()))?;
    let known = String::from_utf8_lossy(&known.stdout).into_owned();
    let bare = Bare::new(loops.to_owned());
    let mut rows = Vec::new();
    for (api, library) in LOOPS {
        if !known.lines().any(|word| word == api.name()) {
            rows.push(Row::printed(format!("{api}: not measured, ways.c was compiled without {library}"), f64::NAN, "", 0));
            continue;
        }
        for size in SIZES {
            rows.extend(one_size(&bare, api, size, count)?);
        }
    }
    Ok(rows)
}

/// A stream of datagrams by a way.
fn cell(api: Api, size: u64) -> anyhow::Result<Cell> {
    Ok(ours::stream(Protocol::Udp, size, size).with(&[Level::Api(api.into())])?)
}

fn one_size(bare: &Bare, api: Api, size: u64, count: u32) -> anyhow::Result<Vec<Row>> {
    let cell = cell(api, size)?;
    ensure!(cell.batch == BATCH, "{api} has batches of {}", cell.batch);
    let session = RefCell::new(ours::session()?);
    let pairs = pairs::run(
        count,
        || ours::run_cell(&mut session.borrow_mut(), cell.clone()),
        || bare.way(&mut session.borrow_mut(), api, size, BATCH),
    )?;
    let row = |(end, pick): Pick| {
        let what = format!("CPU per message, {api} {size} B, {end}, ours / C");
        Ok(pairs::ratio(what, &pairs, |trial| pick(trial).cpu_per_message(), 0.99)?.no_dearer(BAR, HALF_WIDTH))
    };
    ENDS.into_iter().map(row).collect()
}

/// What packets of many datagrams save: GSO with GRO against a call a message, both ends together.
pub fn packs(count: u32) -> anyhow::Result<Vec<Row>> {
    let session = RefCell::new(ours::session()?);
    let run = |api: Api| ours::run_cell(&mut session.borrow_mut(), cell(api, PACKED_SIZE)?);
    let pairs = pairs::run(count, || run(Api::Send), || run(Api::Gso))?;
    let together = |trial: &Trial| trial.sender.cpu_per_message() + trial.receiver.cpu_per_message();
    let what = format!("CPU per message of both ends, {PACKED_SIZE} B over veth, send / gso with gro");
    let row = pairs::ratio(what, &pairs, together, 0.95)?;
    Ok(vec![row.judged(format!("lower end of 95 % >= {LEAST_SAVING}"), |row| row.ends().0 >= LEAST_SAVING)])
}
