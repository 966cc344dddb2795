//! `nettoll __generate` and `nettoll completions`: man pages and shell completions,
//! made from the same definitions that read the command line.

mod page;

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context;
use clap::{Command, CommandFactory};

use crate::args::{Arguments, CompletionsArgs, GenerateArgs};
use crate::complete;
use crate::exit::{Exit, Failure};
use crate::output;

/// Writes `man/*.1` and `completions/*` below the directory asked for.
///
/// # Errors
/// A directory or file that cannot be written.
pub fn run(args: &GenerateArgs) -> Result<Exit, Failure> {
    let told = |what: &str| format!("write {what} below {}; is the directory writable?", args.directory.display());
    man_pages(&args.directory.join("man")).with_context(|| told("man pages"))?;
    completions(&args.directory.join("completions")).with_context(|| told("shell completions"))?;
    Ok(Exit::Done)
}

/// A page for the tool and one for each command that a user may give.
fn man_pages(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let mut tool = Arguments::command();
    tool.build();
    fs::write(directory.join("nettoll.1"), page::render(&tool, "nettoll")?)?;
    for command in visible(&tool) {
        let name = format!("nettoll-{}", command.get_name());
        fs::write(directory.join(format!("{name}.1")), page::render(command, &name)?)?;
    }
    Ok(())
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|inner| !inner.is_hide_set())
}

/// Completions, each under the name by which its shell looks for it.
fn completions(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for (shell, name) in [("bash", "nettoll"), ("zsh", "_nettoll"), ("fish", "nettoll.fish")] {
        fs::write(directory.join(name), complete::registration(shell)?)?;
    }
    Ok(())
}

/// Prints the completions of a shell.
///
/// # Errors
/// An output that cannot be written.
pub fn print_completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    output::write(&String::from_utf8_lossy(&complete::registration(&args.shell.to_string()).context("write completions")?))?;
    Ok(Exit::Done)
}
