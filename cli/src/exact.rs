//! Exact counts that are stored: as runs of the microscope, next to the trials of a study,
//! and in files that `-J` wrote.

use std::path::{Path, PathBuf};

use crate::args::{CompareArgs, ReportArgs};
use crate::exit::{Exit, Failure};
use crate::{output, version};
use ::report::microscope::{self as pages, Detail};
use anyhow::{Context, anyhow};
use attribution::exact::{ExactDiff, Measured, PartOf, Stored, StoredError, StoredRun, Timed, diff};
use model::json::{self, Layout};

/// The longest file of counts that is read: that of a run likewise.
const LONGEST: u64 = 64 << 20;

/// Stores what was measured as a run below `root`. Returns its directory.
///
/// # Errors
/// When the system refuses.
pub fn store_run(root: &Path, measured: &[Measured], shown: Detail, part: Option<PartOf>) -> Result<PathBuf, Failure> {
    let started_ms = sys::clock::unix_ms();
    let (path, id) = store::create_exact(root, started_ms)?;
    let run = StoredRun { id, started_ms, tool: version::SHORT.to_owned(), part };
    write(&path, Some(run), measured)?;
    store::write_report(&path, &output::html(&pages::document(measured, &[], shown)))?;
    Ok(path)
}

/// Stores what was measured in the directory of a run.
///
/// # Errors
/// When the system refuses.
pub fn write(path: &Path, run: Option<StoredRun>, measured: &[Measured]) -> Result<PathBuf, Failure> {
    let text = json::write(&Stored::new(run, measured.to_vec()), Layout::COMPACT).context("write exact counts as JSON")?;
    Ok(store::write_exact(path, &text)?)
}

/// Reads a file of counts.
///
/// # Errors
/// One that cannot be read, or holds none; one of another version is misuse.
pub fn file(path: &Path) -> Result<Stored, Failure> {
    let text = sys::file::read_text(path, LONGEST).with_context(|| format!("read {}; check the path", path.display()))?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Stored, Failure> {
    Stored::parse(text).map_err(|why| match why {
        StoredError::Format(_) => Failure::misuse(format!("{} {why}", path.display())),
        why => anyhow!("{} {why}", path.display()).into(),
    })
}

/// The exact counts of a run's directory; `None` where it has none.
///
/// # Errors
/// Counts that cannot be read.
pub fn of_run(path: &Path) -> Result<Option<Stored>, Failure> {
    let Some(text) = store::read_exact(path)? else { return Ok(None) };
    parse(&path.join("exact.json"), &text).map(Some)
}

fn counts(path: &Path) -> Result<Vec<Measured>, Failure> {
    Ok(of_run(path)?.map(|stored| stored.measured).unwrap_or_default())
}

/// Time next to instructions of a study's run; nothing where it has no exact counts.
///
/// # Errors
/// Counts that cannot be read.
pub fn timed(path: &Path, analysis: &analysis::result::Analysis) -> Result<Vec<Timed>, Failure> {
    let measured = counts(path)?;
    Ok(measured.iter().flat_map(|one| analysis::exact::side_by_side(analysis, one)).collect())
}

/// `nettoll report` of a run of the microscope.
///
/// # Errors
/// A run that cannot be read, flags that such a run has nothing for.
pub fn report(path: &Path, args: &ReportArgs) -> Result<Exit, Failure> {
    if args.picture.is_some() || args.markdown || args.rules.show_rules || args.rules.rules.is_some() || args.format.csv {
        return Err(Failure::misuse(
            "--picture, --markdown, --rules, --show-rules and --csv are for runs of studies, and this is a run of the microscope",
        ));
    }
    let usual = path.join("report.html");
    let asked = args.html.place(&usual)?;
    let measured = counts(path)?;
    // A page has room for the call paths.
    let page = output::html(&pages::document(&measured, &[], Detail { tree: true }));
    let written = store::write_report(path, &page)?;
    output::page(asked.as_deref().filter(|place| *place != usual), || page)?;
    print(&measured, args.format.json, args.format.verbose)?;
    if !args.format.json {
        output::report_at(&asked.unwrap_or(written))?;
    }
    Ok(Exit::Done)
}

/// `nettoll show` of a run of the microscope.
///
/// # Errors
/// A run that cannot be read.
pub fn show(path: &Path, json: bool) -> Result<(), Failure> {
    print(&counts(path)?, json, false)
}

fn print(measured: &[Measured], json: bool, verbose: bool) -> Result<(), Failure> {
    let json = json.then(|| pages::json(measured, &[]));
    Ok(output::result(json, || pages::document(measured, &[], Detail::default()), verbose)?)
}

/// A line for a list of runs.
pub fn line(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let headline = counts(path)
        .map_or_else(|_| "cannot be read: `nettoll show` with its name says why".to_owned(), |measured| pages::headline(&measured));
    format!("{name} {headline}")
}

/// `nettoll compare` of two runs of the microscope: what changed from one to the other.
///
/// # Errors
/// Counts that cannot be read, or are of several kernels.
pub fn compare([first, second]: [&Path; 2], args: &CompareArgs, page: Option<&Path>) -> Result<Exit, Failure> {
    let found = tell([&counts(first)?, &counts(second)?], page, args.json, args.verbose)?;
    Ok(judged(&found, Some(args.gate.threshold)))
}

/// Compares what was measured, writes the page and prints.
///
/// # Errors
/// Misuse, where a side is not of one kernel; a page that cannot be written.
pub fn tell(sides: [&[Measured]; 2], place: Option<&Path>, json: bool, verbose: bool) -> Result<ExactDiff, Failure> {
    for side in sides {
        let mut kernels: Vec<&str> = side.iter().map(|one| one.provenance.kernel.as_str()).collect();
        kernels.dedup();
        if kernels.len() != 1 {
            let held = if kernels.is_empty() { "no kernel".to_owned() } else { kernels.join(", ") };
            return Err(Failure::misuse(format!(
                "a side is of one kernel, with one seed or more, and one of these is of {held}: measure each alone"
            )));
        }
    }
    let found = diff(sides[0], sides[1]);
    output::page(place, || output::html(&pages::diff(&found, Some(sides))))?;
    output::result(json.then(|| ::report::json::pretty(&found)), || pages::diff(&found, None), verbose)?;
    Ok(found)
}

/// Against, where a message takes more instructions than before by the threshold, beyond
/// what seeds move.
pub fn judged(found: &ExactDiff, threshold: Option<f64>) -> Exit {
    let worse = |threshold: f64| {
        found.regions.iter().any(|region| {
            let total = &region.total;
            total.counts() && total.difference() as f64 > threshold * total.before.median as f64
        })
    };
    if threshold.is_some_and(worse) { Exit::Against } else { Exit::Done }
}
