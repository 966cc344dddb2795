//! The short help, `-h`: one screen, the flags that most are asked for.

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::{Arg, Command, CommandFactory};

use super::Arguments;

/// Flags of the short help, by the command; the empty name is one trial. All other commands
/// have few.
const SHOWN: [(&str, &[&str]); 2] = [
    (
        "",
        &[
            "client",
            "server",
            "time",
            "bytes",
            "size",
            "parallel",
            "reverse",
            "bitrate",
            "udp",
            "test",
            "interval",
            "congestion",
            "port",
            "json",
        ],
    ),
    (
        "study",
        &[
            "name",
            "plan",
            "resume",
            "dry_run",
            "test",
            "size",
            "nodelay",
            "cc",
            "length",
            "blocks",
            "precision",
            "receipt",
            "arm",
            "link",
            "host",
            "html",
            "json",
            "csv",
        ],
    ),
];

/// Returns the short help that a command line asks for; `None` where it asks for another.
pub fn asked_for(typed: &[OsString]) -> Option<clap::Error> {
    let short = |word: &OsString| word == "-h";
    if !typed.iter().any(short) || typed.iter().any(|word| word == "--help") {
        return None;
    }
    shortened(Arguments::command()).try_get_matches_from(typed).err().filter(|error| !error.use_stderr())
}

fn shortened(tool: Command) -> Command {
    let tool = keep(tool, "");
    tool.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        keep(command, &name)
    })
}

fn keep(command: Command, name: &str) -> Command {
    let Some((_, shown)) = SHOWN.iter().find(|(of, _)| *of == name) else { return command };
    let words = ["nettoll", name, "--help"].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let shorten = |arg: Arg| match (shown.contains(&arg.get_id().as_str()), name) {
        (false, _) => arg.hide(true),
        // The heading sets them apart from the commands.
        (true, "") => brief(arg),
        // Headings over a flag or two would take more room than these.
        (true, _) => brief(arg).help_heading(Resettable::Reset),
    };
    command.mut_args(shorten).after_help(format!("All flags: {words}"))
}

/// A flag with the first of its sentences.
fn brief(arg: Arg) -> Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let ends = ["; ", ". ", ": by ", " [default: 128K"].into_iter().filter_map(|end| help.find(end));
    let first = ends.min().map_or(help.as_str(), |end| &help[..end]).to_owned();
    // How an arm is written takes a column that the others need.
    let arg = if arg.get_id() == "arm" { arg.value_name("ARM") } else { arg };
    arg.help(first)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::SHOWN;
    use crate::args::Arguments;

    #[test]
    fn what_the_short_help_shows_is_there() {
        let mut tool = Arguments::command();
        tool.build();
        for (name, shown) in SHOWN {
            let command = if name.is_empty() { &tool } else { tool.find_subcommand(name).unwrap() };
            for flag in shown {
                assert!(command.get_arguments().any(|arg| arg.get_id() == flag && !arg.is_hide_set()), "{name} {flag}");
            }
        }
    }
}
