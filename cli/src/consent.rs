//! Consent to what a stored plan does to this machine: resuming a run carries out
//! what its `run.json` says, which somebody else may have written.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::Context;
use model::arm::Setting;
use model::plan::HostPlace;
use model::printable::{Keep, printable};
use model::{Plan, Program, Role};
use nix::unistd::geteuid;

use crate::exit::Failure;

/// Consent given on the command line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Consent {
    /// To changes of this machine outside nettoll's namespaces.
    pub host_wide: bool,
    /// To programs as ends of trials.
    pub allow_exec: bool,
    /// To commands that start hosts or belong to arms.
    pub yes: bool,
}

/// Makes sure that the user wants what resuming this run does.
///
/// # Errors
/// A run of somebody else, changes of this machine without `--host-wide`, commands
/// without consent.
pub fn to_resume(run: &Path, plan: &Plan, consent: Consent) -> Result<(), Failure> {
    own(run)?;
    own(&run.join("run.json"))?;
    if plan.host_wide && !consent.host_wide {
        return Err(Failure::misuse(
            "this run changes settings of this machine outside nettoll's own namespaces: give --host-wide again to go on with it",
        ));
    }
    to_programs(plan, consent.allow_exec)?;
    to_commands(plan, consent.yes)
}

/// Makes sure that the user wants the programs that a stored plan has as ends of its trials.
fn to_programs(plan: &Plan, allowed: bool) -> Result<(), Failure> {
    let arms = plan.arms.iter().flat_map(|arm| plan.cells.iter().filter_map(|cell| arm.apply(cell).ok()));
    let cells: Vec<model::Cell> = plan.cells.iter().cloned().chain(arms).collect();
    let programs: BTreeSet<&str> = cells
        .iter()
        .flat_map(|cell| [Role::Sender, Role::Receiver].map(|role| cell.external(role)))
        .flatten()
        // What nettoll brings along is nettoll.
        .filter(|program| program.shipped().is_none())
        .map(Program::command)
        .collect();
    if programs.is_empty() || allowed {
        return Ok(());
    }
    let list: Vec<String> = programs.into_iter().map(|command| format!("  {command}")).collect();
    Err(Failure::misuse(format!(
        "going on with this run starts, as you, the programs that its run.json names as ends of its trials:\n{}\nLook at them, then give \
         --allow-exec to start them.",
        list.join("\n")
    )))
}

/// Makes sure that the user wants the commands that a stored plan names.
///
/// # Errors
/// No consent.
pub fn to_commands(plan: &Plan, yes: bool) -> Result<(), Failure> {
    let commands = commands(plan);
    if commands.is_empty() || yes {
        return Ok(());
    }
    let list = format!("going on with this run carries out, as you, what its run.json names:\n{}", commands.join("\n"));
    let refused = |why: &str| Err(Failure::misuse(format!("{list}\n{why}")));
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return refused("Look at it, then give --yes to carry it out.");
    }
    let _ = write!(io::stderr(), "nettoll: {}\nCarry it out? [y/N] ", printable(&list, Keep::Lines));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("read the answer")?;
    if answer.trim().eq_ignore_ascii_case("y") { Ok(()) } else { refused("Not carried out.") }
}

/// Refuses a file that somebody else can have written.
fn own(file: &Path) -> Result<(), Failure> {
    let Ok(found) = fs::symlink_metadata(file) else { return Ok(()) };
    let why = match (found.uid(), found.mode()) {
        (owner, _) if owner != geteuid().as_raw() => format!("it belongs to user {owner}"),
        (_, mode) if found.is_symlink() || mode & 0o002 != 0 => "others can write it".to_owned(),
        _ => return Ok(()),
    };
    let file = file.display();
    Err(anyhow::anyhow!(
        "{file} says what would be carried out, and {why}: look at it, copy the run to a directory of your own, and go on there"
    )
    .into())
}

/// Commands and programs that the hosts, the fleet and the arms of a plan name, each with its
/// host or arm.
fn commands(plan: &Plan) -> Vec<String> {
    let runs = |setting: &Setting| match setting {
        Setting::Host { at, .. } => at.command().is_some(),
        setting => matches!(setting, Setting::Before(_) | Setting::After(_) | Setting::Tool(_)),
    };
    let of_arm = |arm: &model::Arm| {
        let name = arm.name.clone();
        arm.settings
            .iter()
            .filter(|setting| runs(setting))
            .map(move |setting| format!("  {name}: {}={}", setting.name(), setting.value()))
            .collect::<Vec<_>>()
    };
    let host = |(name, place): (&String, &HostPlace)| place.command().map(|host| format!("  host {name}: {}", host.transport));
    let of_hosts = plan.hosts.iter().filter_map(host);
    let members = plan.fleet.iter().flat_map(|fleet| &fleet.hosts);
    of_hosts.chain(members.filter_map(|member| host((&member.name, &member.at)))).chain(plan.arms.iter().flat_map(of_arm)).collect()
}
