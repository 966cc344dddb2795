//! `nettoll microscope diff` and `bisect-step`.

use std::path::Path;

use attribution::exact::Measured;
use microscope::Failed;
use microscope::cache::Cache;

use super::Lab;
use crate::args::MicroscopeArgs;
use crate::exit::{Exit, Failure};
use crate::{exact, output};

/// Compares two sides: kernels that are measured with several seeds, or stored counts.
///
/// # Errors
/// Misuse, or what the microscope says.
pub fn compare(cache: &Cache, args: &MicroscopeArgs) -> Result<Exit, Failure> {
    let [before, after] = &args.sides[..] else {
        return Err(Failure::misuse("diff needs two sides: kernels such as 6.12 and 6.18, images, or files that -J wrote"));
    };
    let place = args.html.place("microscope-diff.html")?;
    let (before, after) = match (stored(before)?, stored(after)?) {
        (Some(before), Some(after)) => {
            let mut sides = [before, after];
            super::flags::choose(&mut sides, args)?;
            let [before, after] = sides;
            (before, after)
        }
        (None, None) => {
            let lab = Lab::open(cache, args)?;
            let kernels = lab.kernels(&args.sides)?;
            let [before, after] = &kernels[..] else { return Err(Failure::misuse("diff needs two different kernels")) };
            let seeds = || args.seed..args.seed + args.seeds;
            let asked: Vec<_> =
                [before, after].into_iter().flat_map(|kernel| seeds().map(|seed| lab.asked(kernel.clone(), seed))).collect();
            let mut before = lab.measure(&asked)?;
            let after = before.split_off(before.len() / 2);
            (before, after)
        }
        _ => return Err(Failure::misuse("one side is a file of counts and the other a kernel: give two of one kind")),
    };
    let found = exact::tell([&before, &after], place.as_deref(), args.json, args.verbose)?;
    Ok(exact::judged(&found, args.threshold))
}

/// A file of counts; `None` of what is no file ending in `.json`.
fn stored(side: &str) -> Result<Option<Vec<Measured>>, Failure> {
    if !super::flags::is_file(side) {
        return Ok(None);
    }
    exact::file(Path::new(side)).map(|stored| Some(stored.measured))
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
    let [kernel] = &lab.kernels(&args.kernels())?[..] else { return Err(Failure::misuse("bisect-step takes one kernel")) };
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
