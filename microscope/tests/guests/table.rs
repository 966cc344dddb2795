//! The table of what kernels offer, as `docs/kernels.md` has it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use model::check::{Area, Check, State};

/// A kernel with what `doctor` found there.
pub struct Kernel {
    /// Its series, which heads its column.
    pub series: &'static str,
    /// Its release.
    pub release: String,
    /// What was found.
    pub checks: Vec<Check>,
}

/// Areas that are the kernel's, not the guest's or the emulator's.
const AREAS: [Area; 7] = [Area::Namespaces, Area::Sockets, Area::Ways, Area::Offloads, Area::Profiling, Area::Bpf, Area::Queueing];
/// Marks around the table.
const MARKS: [&str; 2] = ["<!-- made by make test-guests -->\n", "<!-- end -->"];

/// The table between the marks of a page.
pub fn held(page: &str) -> Option<&str> {
    page.split_once(MARKS[0])?.1.split_once(MARKS[1]).map(|(table, _)| table)
}

/// The page with another table.
pub fn renewed(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(MARKS[0])?;
    let (_, after) = rest.split_once(MARKS[1])?;
    Some([before, MARKS[0], table, MARKS[1], after].concat())
}

/// The table without the row of releases.
pub fn without_releases(table: &str) -> String {
    table.lines().filter(|line| !line.starts_with("| release")).collect::<Vec<_>>().join("\n")
}

/// Rows of what kernels differ in, and a list of what all of them have.
pub fn write(kernels: &[Kernel]) -> String {
    let mut text = String::new();
    let row = |text: &mut String, first: &str, cells: &mut dyn Iterator<Item = String>| {
        let _ = write!(text, "| {first} |");
        cells.for_each(|cell| {
            let _ = write!(text, " {cell} |");
        });
        text.push('\n');
    };
    row(&mut text, "kernel", &mut kernels.iter().map(|kernel| kernel.series.to_owned()));
    row(&mut text, "---", &mut kernels.iter().map(|_| "---".to_owned()));
    row(&mut text, "release", &mut kernels.iter().map(|kernel| kernel.release.trim_end_matches("-cloud-amd64").to_owned()));
    let mut everywhere: Vec<String> = Vec::new();
    for area in AREAS {
        for name in names(kernels, area) {
            let cells: Vec<String> = kernels.iter().map(|kernel| cell(kernel, area, name)).collect();
            if cells.iter().all(|cell| cell == YES) {
                everywhere.push(name.to_owned());
            } else {
                row(&mut text, &format!("{area}: {name}"), &mut cells.into_iter());
            }
        }
    }
    let _ = writeln!(text, "\nAll of these kernels offer: {}.", everywhere.join(", "));
    text
}

/// Names of an area, in the order in which the newest kernel has them.
fn names(kernels: &[Kernel], area: Area) -> Vec<&str> {
    let checks = kernels.iter().rev().flat_map(|kernel| &kernel.checks);
    let mut seen = BTreeSet::new();
    checks.filter(|check| check.area == area).map(|check| check.name.as_str()).filter(|name| seen.insert(*name)).collect()
}

const YES: &str = "yes";

/// `yes`, or the name of the error that the kernel answered with.
fn cell(kernel: &Kernel, area: Area, name: &str) -> String {
    let Some(check) = kernel.checks.iter().find(|check| check.area == area && check.name == name) else { return "–".to_owned() };
    match &check.state {
        State::Present { .. } => YES.to_owned(),
        State::Absent { answer, .. } => {
            let is_errno = |word: &&str| {
                word.len() > 2 && word.starts_with('E') && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            };
            answer
                .split(|letter: char| !letter.is_ascii_alphanumeric())
                .find(is_errno)
                .map_or_else(|| "no".to_owned(), |errno| format!("no ({errno})"))
        }
    }
}
