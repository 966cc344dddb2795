//! Completion of the command line: a shell asks nettoll at each TAB, so that presets and stored runs are offered by
//! name.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::{CompleteEnv, Shells};

use crate::args::Arguments;

/// The variable by which a shell asks, with its own name as the value.
const ASKS: &str = "NETTOLL_COMPLETE";
const NAME: &str = "nettoll";
/// zsh reads an installed file at the first TAB, as the body of a function that is to complete at once.
const FIRST_TAB: &str = "if [[ $funcstack[1] == _nettoll ]]; then _clap_dynamic_completer_nettoll; fi\n";

/// Answers a shell that asks, and ends the process then.
pub fn answer() {
    CompleteEnv::with_factory(|| offering(Arguments::command())).var(ASKS).complete();
}

/// The script by which a shell asks nettoll from then on.
///
/// # Errors
/// A shell that cannot ask.
pub fn registration(shell: &str) -> io::Result<Vec<u8>> {
    let builtin = Shells::builtins();
    let shell = builtin.completer(shell).ok_or_else(|| io::Error::other(format!("{shell} cannot ask for completions")))?;
    let mut text = Vec::new();
    shell.write_registration(ASKS, NAME, NAME, NAME, &mut text)?;
    if shell.name() == "zsh" {
        text.extend_from_slice(FIRST_TAB.as_bytes());
    }
    Ok(text)
}

/// The command, with names for those of its values that have some.
fn offering(tool: Command) -> Command {
    tool.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        command.mut_args(|flag| match names(&name, &flag) {
            Some(names) => flag.add(ArgValueCompleter::new(names)),
            None => flag,
        })
    })
}

/// The names of the values of a command's argument.
fn names(command: &str, argument: &Arg) -> Option<Names> {
    let kind = argument.get_value_names()?.first()?.as_str();
    match (command, kind) {
        (_, "RUN" | "RUN,...") => Some(Names::Runs),
        ("study", "NAME") => Some(Names::Presets),
        ("reference", "NAME") => Some(Names::Published),
        ("workload" | "advise", "NAME|FILE") => Some(Names::Workloads),
        _ => None,
    }
}

/// Values that have names.
enum Names {
    /// Stored runs below the usual directory, and paths.
    Runs,
    /// Presets of studies.
    Presets,
    /// Published studies.
    Published,
    /// Workloads that come with nettoll, and paths.
    Workloads,
}

impl ValueCompleter for Names {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let (names, path): (Vec<CompletionCandidate>, bool) = match self {
            Self::Runs => (runs(), true),
            Self::Presets => (model::plan::PRESETS.iter().map(|(name, _)| CompletionCandidate::new(*name)).collect(), false),
            Self::Published => (literature::Study::ALL.iter().map(|study| CompletionCandidate::new(study.name())).collect(), false),
            Self::Workloads => (
                analysis::workload::WORKLOADS
                    .iter()
                    .map(|(name, of, _)| CompletionCandidate::new(*name).help(Some((*of).into())))
                    .collect(),
                true,
            ),
        };
        let begun = current.to_string_lossy();
        let mut fit: Vec<_> = names.into_iter().filter(|name| name.get_value().to_string_lossy().starts_with(&*begun)).collect();
        if path {
            fit.extend(PathCompleter::any().complete(current));
        }
        fit
    }
}

/// The stored runs, the latest first; none where the directory cannot be read.
fn runs() -> Vec<CompletionCandidate> {
    let paths = store::paths(Path::new("runs")).unwrap_or_default();
    paths.iter().rev().filter_map(|path| path.file_name()).map(CompletionCandidate::new).collect()
}
