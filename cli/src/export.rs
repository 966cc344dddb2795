//! `nettoll export`.

use std::path::{Path, PathBuf};

use ::report::{benchstat, csv};
use store::{Moment, RunReader};

use crate::args::ExportArgs;
use crate::exit::{Exit, Failure};
use crate::{output, report, top};

/// Views on the lines of `trials.jsonl`.
const VIEWS: &str = include_str!("../../packaging/sql/trials.sql");

/// The lines that [`VIEWS`] reads.
const LINES: &str = "'runs/*/trials.jsonl'";

/// The lines of the runs in a directory, as a string of SQL that is a pattern of DuckDB's.
fn lines(runs: &Path) -> String {
    let pattern: String = runs
        .to_string_lossy()
        .chars()
        .map(|letter| match letter {
            '\'' => "''".to_owned(),
            '*' | '?' | '[' => format!("[{letter}]"),
            letter => letter.to_string(),
        })
        .collect();
    format!("'{}/*/trials.jsonl'", pattern.trim_end_matches('/'))
}

/// Prints the cells or the trials of many runs, one run after the other.
///
/// # Errors
/// A run that was named and cannot be read. Where none is named, those that cannot be read are
/// left out and named.
pub fn run(args: &ExportArgs) -> Result<Exit, Failure> {
    if args.form.sql {
        output::write(&VIEWS.replacen(LINES, &lines(&args.runs.directory), 1))?;
        return Ok(Exit::Done);
    }
    let mut first = true;
    let paths = paths(args)?;
    if let Some(recording) = paths.iter().find(|path| store::is_recording(path))
        && let Some(run) = paths.iter().find(|path| !store::is_recording(path))
    {
        let words = "is a recording of top, whose table has other columns: export it in a call of its own, without";
        return Err(Failure::misuse(format!("{} {words} {}", recording.display(), run.display())));
    }
    for path in paths {
        if store::is_recording(&path) {
            if args.form.trials || args.form.slices || args.form.benchstat {
                let words = "is a recording of top, whose windows are exported without a form or with --csv";
                return Err(Failure::misuse(format!("{} {words}", path.display())));
            }
            top::recording::export(&path, first)?;
            first = false;
            continue;
        }
        one(&path, args, first)?;
        first = false;
    }
    Ok(Exit::Done)
}

fn paths(args: &ExportArgs) -> Result<Vec<PathBuf>, Failure> {
    if !args.which.is_empty() {
        return args.which.iter().map(|word| args.runs.find(word)).collect();
    }
    let mut paths = Vec::new();
    for listed in store::list(&args.runs.directory)? {
        match listed.run {
            Ok(_) => paths.push(listed.path),
            Err(error) => output::note(&format!("left out: {error}")),
        }
    }
    Ok(paths)
}

/// Prints one run; of all tables the first alone has a line of names.
fn one(path: &Path, args: &ExportArgs, first: bool) -> Result<(), Failure> {
    if args.form.slices {
        return slices(path, first);
    }
    let collector = report::collect(path, None)?;
    let write = |rows: &str| if rows.is_empty() { Ok(()) } else { output::write(rows) };
    if !(args.form.trials || args.form.benchstat) {
        let text = csv::render(&collector.finish());
        return Ok(write(if first { &text } else { text.split_once('\n').map_or("", |(_, rows)| rows) })?);
    }
    let reader = RunReader::open(path)?;
    let table = collector.into_table();
    let hosts: Vec<_> = reader.hosts(Moment::Before).cloned().collect();
    match args.form.trials {
        true => csv::trials(reader.run(), &hosts, &table, first, write)?,
        false => benchstat::trials(reader.run(), &hosts, &table, write)?,
    }
    Ok(())
}

/// Prints the slices of a run; one without woven arms or receipts has none.
fn slices(path: &Path, first: bool) -> Result<(), Failure> {
    let reader = RunReader::open(path)?;
    let hosts: Vec<_> = reader.hosts(Moment::Before).cloned().collect();
    for (place, group) in reader.run().plan.groups().iter().enumerate() {
        let (instances, cut) = reader.slices(place)?;
        if let Some(cut) = cut {
            output::note(&format!("{}: slices of group {place}: {cut}", path.display()));
        }
        let instances = instances.iter().map(|one| (one.instance, one.slices.as_slice()));
        csv::slices((reader.run(), &hosts), place, group, instances, first && place == 0, output::write)?;
    }
    Ok(())
}
