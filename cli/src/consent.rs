//! Consent: the one place where a stored plan becomes one that may be carried out.
//!
//! `run.json` and `trials.jsonl` are data, which another user may have written. What they name
//! is neither started nor dialled before the user has seen it: see the table in `docs/security.md`.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use model::Plan;
use model::plan::{Action, ApprovalError, ApprovedPlan};
use model::printable::{Keep, printable};

use crate::exit::Failure;

/// Consent given on the command line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Consent {
    /// To changes of this machine outside nettoll's namespaces.
    pub host_wide: bool,
    /// To programs as ends of trials.
    pub allow_exec: bool,
    /// To commands of hosts and arms, and to agents.
    pub yes: bool,
}

/// Makes sure that the user wants what a plan from a stored run does. `run` is the run's directory.
///
/// # Errors
/// A run that another user can have written, changes of this machine without `--host-wide`,
/// programs without `--allow-exec`, commands and agents without consent; a plan that cannot be.
#[expect(clippy::disallowed_methods, reason = "this is the place that asks the user")]
pub fn to_stored(run: &Path, plan: Plan, consent: Consent) -> Result<ApprovedPlan, Failure> {
    own(run)?;
    let actions = plan.actions();
    let (mut programs, mut reached) = (Vec::new(), Vec::new());
    for action in &actions {
        match action {
            Action::HostWide if consent.host_wide => {}
            Action::HostWide => {
                return Err(Failure::misuse(
                    "this run changes settings of this machine outside nettoll's own namespaces: give --host-wide again to go on with it",
                ));
            }
            Action::Program(_) => programs.push(format!("  {action}")),
            Action::Command(_) | Action::Agent(_) => reached.push(format!("  {action}")),
        }
    }
    if !programs.is_empty() && !consent.allow_exec {
        return Err(Failure::misuse(format!(
            "the stored run names programs as ends of its trials, which would be started as you:\n{}\nLook at them, then give --allow-exec \
             to start them.",
            programs.join("\n")
        )));
    }
    to_reach(&reached.join("\n"), consent.yes)?;
    plan.approve(&actions).map_err(|error| match error {
        ApprovalError::Plan(error) => error.into(),
        missing @ ApprovalError::Actions(_) => Failure::misuse(missing),
    })
}

/// Refuses a stored run that another than the user and root can have written.
///
/// # Errors
/// Who can have written it.
pub fn own(run: &Path) -> Result<(), Failure> {
    let run = fs::canonicalize(run).unwrap_or_else(|_| run.to_owned());
    for file in [run.clone(), run.join("run.json"), run.join("trials.jsonl")] {
        let why = match sys::file_owner::other_writer_of(&file) {
            Ok(None) => continue,
            Err(answer) if answer.kind() == io::ErrorKind::NotFound => continue,
            Ok(Some(why)) => why,
            Err(answer) => answer.to_string(),
        };
        let file = file.display();
        return Err(anyhow::anyhow!(
            "{file} says what would be carried out, and {why}: look at it, copy the run to a directory of your own, and use it there"
        )
        .into());
    }
    Ok(())
}

/// Refuses a file that the user named and that names commands or programs, where another than the
/// user and root can have written it. To name it is the consent to what it says; its owner must be
/// the one who says it. `names` says whether it names any.
///
/// # Errors
/// Who can have written it.
pub fn named_file(file: &Path, names: bool) -> Result<(), Failure> {
    if !names {
        return Ok(());
    }
    let why = match sys::file_owner::other_writer_of(file) {
        Ok(None) => return Ok(()),
        Ok(Some(why)) => why,
        Err(answer) => answer.to_string(),
    };
    let file = file.display();
    Err(anyhow::anyhow!(
        "{file} names commands or programs, which would be started as you, and {why}: look at it, copy it to a file that is yours alone \
         (mode 600), and name that"
    )
    .into())
}

/// Returns whether a plan names commands or programs.
pub fn starts(plan: &Plan) -> bool {
    plan.actions().iter().any(|action| matches!(action, Action::Program(_) | Action::Command(_)))
}

/// Makes sure that the user wants CPUs loaded for some minutes.
///
/// # Errors
/// No consent.
pub fn to_load(yes: bool) -> Result<(), Failure> {
    if yes { Ok(()) } else { ask("a proof runs traffic for 6 minutes, which uses two CPUs whole", "Give --yes to have it.") }
}

/// Makes sure that the user wants commands carried out and agents dialled.
fn to_reach(list: &str, yes: bool) -> Result<(), Failure> {
    if list.is_empty() || yes {
        return Ok(());
    }
    let list = format!("the stored run names commands and agents, which would be carried out and dialled as you:\n{list}");
    ask(&list, "Look at it, then give --yes to go on.")
}

/// Asks at the terminal; without one, `otherwise` is what to do.
fn ask(list: &str, otherwise: &str) -> Result<(), Failure> {
    let refused = |why: &str| Err(Failure::misuse(format!("{list}\n{why}")));
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return refused(otherwise);
    }
    let _ = write!(io::stderr(), "nettoll: {}\nGo on? [y/N] ", printable(list, Keep::Lines));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("read the answer")?;
    if answer.trim().eq_ignore_ascii_case("y") { Ok(()) } else { refused("Nothing was done.") }
}
