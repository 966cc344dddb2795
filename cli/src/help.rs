//! `nettoll help`.

use clap::CommandFactory;

use crate::args::{Arguments, CLIENT, COLUMNS, HelpArgs, LICENCES, QUESTIONS};
use crate::exit::{Exit, Failure};
use crate::output;

/// Terms of use, before the texts of the licences.
const TERMS: &str = "\
nettoll is licensed under MIT or Apache-2.0, as you choose
(https://www.apache.org/licenses/LICENSE-2.0).
It carries a plugin as a file, which `nettoll microscope` has QEMU load and
which is not linked with nettoll. The plugin is licensed under
GPL-2.0-or-later; its source is microscope/plugin/ of nettoll's source.
";

/// Prints the help of a command, of one trial, the meaning of columns, the licences, or the questions that the tool answers.
///
/// # Errors
/// A word that is no command.
pub fn run(args: &HelpArgs) -> Result<Exit, Failure> {
    let topic = args.topic.as_deref();
    if topic == Some(COLUMNS) {
        output::show(&report::columns::document(), false)?;
        return Ok(Exit::Done);
    }
    if topic == Some(LICENCES) {
        let texts = [("MIT", include_str!("../../LICENSES/MIT.txt")), ("GPL-2.0-or-later (the plugin)", microscope::PLUGIN_LICENCE)];
        let texts: String = texts.into_iter().map(|(name, text)| format!("\n{name}\n\n{text}")).collect();
        output::write(&format!("{TERMS}{texts}"))?;
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
        return Err(Failure::misuse(format!(
            "there is no help on '{word}'; there is on: {CLIENT}, {COLUMNS}, {LICENCES}, {}",
            known.join(", ")
        )));
    }
    // Whoever closed our output does not want to hear of it.
    let _ = answer.print();
    Ok(Exit::Done)
}
