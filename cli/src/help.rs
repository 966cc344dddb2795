//! `nettoll help`.

use clap::CommandFactory;

use crate::args::{Arguments, CLIENT, COLUMNS, HelpArgs, QUESTIONS};
use crate::exit::{Exit, Failure};
use crate::output;

/// Prints the help of a command, of one trial, the meaning of columns, or the questions that the tool answers.
///
/// # Errors
/// A word that is no command.
pub fn run(args: &HelpArgs) -> Result<Exit, Failure> {
    let topic = args.topic.as_deref();
    if topic == Some(COLUMNS) {
        output::show(&report::columns::document(), false)?;
        return Ok(Exit::Done);
    }
    if topic.is_none() {
        output::write(QUESTIONS)?;
        return Ok(Exit::Done);
    }
    // The flags of one trial are those of the tool itself.
    let topic = topic.filter(|topic| *topic != CLIENT);
    let words = ["nettoll"].into_iter().chain(topic).chain(["--help"]);
    // Help is what clap calls an error.
    let Err(answer) = Arguments::command().try_get_matches_from(words) else { return Ok(Exit::Done) };
    if answer.use_stderr() {
        let names = Arguments::command();
        let known: Vec<&str> = names.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
        let word = topic.unwrap_or_default();
        return Err(Failure::misuse(format!("there is no help on '{word}'; there is on: {CLIENT}, {COLUMNS}, {}", known.join(", "))));
    }
    // Whoever closed our output does not want to hear of it.
    let _ = answer.print();
    Ok(Exit::Done)
}
