//! Flags of `nettoll microscope` and the tasks that heed them: one that means nothing to a task is refused.

use std::collections::BTreeSet;
use std::path::Path;

use attribution::exact::{Measured, Region};

use crate::args::{MicroscopeArgs, Task};
use crate::exit::Failure;

/// A task, and the things that it works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Count,
    /// The messages of a run.
    Run,
    DiffKernels,
    DiffFiles,
    Bisect,
    Cache,
}

impl Use {
    fn of(args: &MicroscopeArgs) -> Self {
        match args.task {
            Task::Count if args.run.is_some() => Self::Run,
            Task::Count => Self::Count,
            Task::Diff if !args.sides.is_empty() && args.sides.iter().all(|side| is_file(side)) => Self::DiffFiles,
            Task::Diff => Self::DiffKernels,
            Task::BisectStep => Self::Bisect,
            Task::Cache => Self::Cache,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Count => "counting",
            Self::Run => "counting the messages of a run",
            Self::DiffKernels => "diff of two kernels",
            Self::DiffFiles => "diff of two files",
            Self::Bisect => "bisect-step",
            Self::Cache => "cache",
        }
    }
}

/// Tells if a side of a diff is a file of counts.
pub fn is_file(side: &str) -> bool {
    Path::new(side).extension().is_some_and(|kind| kind == "json")
}

/// A flag, and the tasks that heed it.
type Row = (&'static str, &'static [Use]);

/// Tasks that boot guests.
const BOOTS: &[Use] = &[Use::Count, Use::Run, Use::DiffKernels, Use::Bisect];

const ROWS: &[Row] = &[
    ("--kernel", &[Use::Count, Use::Run, Use::Bisect]),
    ("--modules", BOOTS),
    ("--scenario", &[Use::Count, Use::DiffKernels, Use::DiffFiles, Use::Bisect]),
    ("--scenarios", &[Use::Count, Use::DiffKernels, Use::Bisect]),
    ("--length", &[Use::Count, Use::DiffKernels, Use::DiffFiles, Use::Bisect]),
    ("--program", &[Use::Count, Use::DiffKernels, Use::Bisect]),
    ("--run", &[Use::Run]),
    ("--append", BOOTS),
    ("--tree", &[Use::Count, Use::Run]),
    ("--threshold", &[Use::DiffKernels, Use::DiffFiles]),
    ("--limit", &[Use::Bisect]),
    ("--prune", &[Use::Cache]),
    ("--folded", &[Use::Count]),
    ("--messages", BOOTS),
    ("--seed", BOOTS),
    ("--seeds", &[Use::DiffKernels]),
    ("--cpu", BOOTS),
    ("--html", &[Use::Count, Use::Run, Use::DiffKernels, Use::DiffFiles]),
    ("--dry-run", BOOTS),
];

/// Refuses flags that the task would pass over.
///
/// # Errors
/// The first of them, with the tasks that it is for.
pub fn check(args: &MicroscopeArgs) -> Result<(), Failure> {
    let task = Use::of(args);
    let Some((flag, uses)) = ROWS.iter().find(|(flag, uses)| args.typed.has(flag) && !uses.contains(&task)) else { return Ok(()) };
    let uses: Vec<&str> = uses.iter().map(|one| one.words()).collect();
    Err(Failure::misuse(format!("{flag} means nothing to {}: it is for {}", task.words(), uses.join(", "))))
}

/// Leaves the messages of the scenarios and sizes that are asked for on both sides.
///
/// # Errors
/// No message of both sides is among them.
pub fn choose(sides: &mut [Vec<Measured>; 2], args: &MicroscopeArgs) -> Result<(), Failure> {
    if args.scenario.is_empty() && args.length.is_empty() {
        return Ok(());
    }
    let names =
        |side: &Vec<Measured>| -> BTreeSet<String> { side.iter().flat_map(|one| &one.regions).map(|region| region.name.clone()).collect() };
    let held: Vec<String> = names(&sides[0]).intersection(&names(&sides[1])).cloned().collect();
    let wanted = |region: &Region| {
        let (scenario, size) = region.scenario();
        let named = args.scenario.is_empty() || args.scenario.iter().any(|name| name == scenario);
        // A message without a size has every size.
        named && (args.length.is_empty() || size.is_none_or(|size| args.length.iter().any(|one| one.get() == size)))
    };
    for one in sides.iter_mut().flatten() {
        one.regions.retain(wanted);
    }
    match names(&sides[0]).is_disjoint(&names(&sides[1])) {
        true => Err(Failure::misuse(format!("no message of both files is of that scenario and size; they have {}", held.join(", ")))),
        false => Ok(()),
    }
}
