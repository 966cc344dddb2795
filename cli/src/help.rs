//! `nettoll help`.

use clap::CommandFactory;

use crate::args::{Arguments, COLUMNS, HelpArgs};
use crate::exit::{Exit, Failure};
use crate::output;

/// Prints the help of a command, of the tool, or the meaning of columns.
///
/// # Errors
/// A word that is no command.
pub fn run(args: &HelpArgs) -> Result<Exit, Failure> {
    let topic = args.topic.as_deref();
    if topic == Some(COLUMNS) {
        output::show(&report::columns::document(), false)?;
        return Ok(Exit::Done);
    }
    let words = ["nettoll"].into_iter().chain(topic).chain(["--help"]);
    // Help is what clap calls an error.
    let Err(answer) = Arguments::command().try_get_matches_from(words) else { return Ok(Exit::Done) };
    if answer.use_stderr() {
        let names = Arguments::command();
        let known: Vec<&str> = names.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
        let word = topic.unwrap_or_default();
        return Err(Failure::misuse(format!("there is no help on '{word}'; there is on: {COLUMNS}, {}", known.join(", "))));
    }
    // Whoever closed our output does not want to hear of it.
    let _ = answer.print();
    Ok(Exit::Done)
}
