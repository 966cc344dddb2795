//! `nettoll microscope diff` and `bisect-step`.

use std::fs;
use std::path::Path;

use anyhow::Context;
use attribution::exact::{ExactDiff, Measured, diff};
use microscope::Failed;
use microscope::cache::Cache;
use serde::Deserialize;

use super::{Lab, style};
use crate::args::MicroscopeArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// A file that `-J` wrote.
#[derive(Deserialize)]
struct Stored {
    format: u32,
    measured: Vec<Measured>,
}

/// Compares two sides: kernels that are measured with several seeds, or stored counts.
///
/// # Errors
/// Misuse, or what the microscope says.
pub fn compare(cache: &Cache, args: &MicroscopeArgs) -> Result<Exit, Failure> {
    let [before, after] = &args.sides[..] else {
        return Err(Failure::misuse("diff needs two sides: kernels such as 6.12 and 6.18, images, or files that -J wrote"));
    };
    let place = args.html.place("microscope-diff.html")?;
    let found = match (stored(before)?, stored(after)?) {
        (Some(before), Some(after)) => diff(&before, &after),
        (None, None) => {
            let lab = Lab::open(cache, args)?;
            let kernels = lab.kernels(&args.sides)?;
            let [before, after] = &kernels[..] else { return Err(Failure::misuse("diff needs two different kernels")) };
            let seeds = || args.seed..args.seed + args.seeds;
            let asked: Vec<_> =
                [before, after].into_iter().flat_map(|kernel| seeds().map(|seed| lab.asked(kernel.clone(), seed))).collect();
            let measured = lab.measure(&asked)?;
            let (before, after) = measured.split_at(measured.len() / 2);
            diff(before, after)
        }
        _ => return Err(Failure::misuse("one side is a file of counts and the other a kernel: give two of one kind")),
    };
    if let Some(place) = &place {
        output::page(place, &report::microscope::diff_html(&found, crate::version::SHORT))?;
    }
    match args.json {
        true => output::write(&report::microscope::diff_json(&found))?,
        false => output::styled(&report::microscope::diff_terminal(&found, style(args)))?,
    }
    Ok(judged(&found, args.threshold))
}

/// A file of counts; `None` of what is no file ending in `.json`.
fn stored(side: &str) -> Result<Option<Vec<Measured>>, Failure> {
    if Path::new(side).extension().is_none_or(|kind| kind != "json") {
        return Ok(None);
    }
    let text = fs::read_to_string(side).with_context(|| format!("read {side}; check the path"))?;
    let stored: Stored = serde_json::from_str(&text).with_context(|| format!("{side} holds no counts of the microscope"))?;
    if stored.format != 1 {
        return Err(Failure::misuse(format!("{side} has format {}, and 1 is understood; use the nettoll that wrote it", stored.format)));
    }
    Ok(Some(stored.measured))
}

/// Against, where a message takes more instructions than before by the threshold, beyond
/// what seeds move.
fn judged(found: &ExactDiff, threshold: Option<f64>) -> Exit {
    let worse = |threshold: f64| {
        found.regions.iter().any(|region| {
            let total = &region.total;
            total.counts() && total.difference() as f64 > threshold * total.before.median as f64
        })
    };
    if threshold.is_some_and(worse) { Exit::Against } else { Exit::Done }
}

/// Measures one kernel, and ends with 0 where a message executes no more than the limit, 1
/// where it executes more, and 125 where the kernel does not come to its end.
///
/// # Errors
/// Misuse, or what has nothing to do with the kernel.
pub fn bisect_step(cache: &Cache, args: &MicroscopeArgs) -> Result<Exit, Failure> {
    let limit = args.limit.as_deref().and_then(|limit| {
        let (message, count) = limit.split_once('=')?;
        Some((message, count.replace(['_', ','], "").parse::<u64>().ok()?))
    });
    let Some((message, most)) = limit else {
        return Err(Failure::misuse("bisect-step needs --limit MESSAGE=COUNT, such as --limit udp-112=7300"));
    };
    let lab = Lab::open(cache, args)?;
    let [kernel] = &lab.kernels(&args.kernel)?[..] else { return Err(Failure::misuse("bisect-step takes one kernel")) };
    let measured = match lab.measure(&[lab.asked(kernel.clone(), args.seed)]) {
        Ok(measured) => measured,
        Err(why @ (Failed::Guest { .. } | Failed::NoSymbols)) => {
            output::note(&format!("this kernel cannot be judged: {why}"));
            return Ok(Exit::Skip);
        }
        Err(why) => return Err(why.into()),
    };
    let Some(region) = measured.iter().find_map(|one| one.region(message)) else {
        let absent = measured.iter().flat_map(|one| &one.absent).find(|absent| absent.name == message);
        return match absent {
            Some(absent) => {
                output::note(&format!("this kernel cannot be judged: {}: {}", absent.name, absent.answer));
                Ok(Exit::Skip)
            }
            None => Err(Failure::misuse(format!("no message '{message}' is measured; choose it with --scenario and --length"))),
        };
    };
    let found = region.total.instructions;
    output::write(&format!("{message}: {found} instructions, {most} allowed"))?;
    Ok(if found > most { Exit::Failed } else { Exit::Done })
}
