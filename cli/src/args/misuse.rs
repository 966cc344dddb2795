//! Command lines that cannot be understood, in three lines at most.

use std::ffi::OsString;

use clap::CommandFactory;

use super::Arguments;

/// Returns what clap says of a command line: the fault, its tip, and where to read more.
pub fn told(error: &clap::Error, typed: &[OsString]) -> String {
    let said = error.render().to_string();
    let mut text = String::new();
    for line in said.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (mark, part) = match line {
            // How to write it is in the help; of several lines these are the last.
            _ if line.starts_with("Usage:") || line.starts_with("For more information") => break,
            _ if line.contains("as a value, use '--") => continue,
            _ if line.starts_with("tip: ") => ("; ", line.trim_start_matches("tip: ")),
            _ => (" ", line.trim_start_matches("error: ")),
        };
        text += if text.is_empty() { "" } else { mark };
        text += part;
    }
    let command = typed.get(1).and_then(|word| word.to_str()).filter(|word| is_command(word)).unwrap_or_default();
    let help = ["nettoll", command, "--help"].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    format!("{text}\nSee `{help}`.")
}

fn is_command(word: &str) -> bool {
    Arguments::command().get_subcommands().any(|command| command.get_name() == word)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::Parser;

    use super::told;
    use crate::args::Arguments;

    fn said(line: &str) -> String {
        let typed: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        told(&Arguments::try_parse_from(&typed).unwrap_err(), &typed)
    }

    #[test]
    fn a_fault_its_tip_and_where_to_read_more() {
        assert_eq!(
            said("nettoll study quick --blcks 3"),
            "unexpected argument '--blcks' found; a similar argument exists: '--blocks'\nSee `nettoll study --help`."
        );
        assert_eq!(
            said("nettoll compare x"),
            "2 values required by '<RUN,...> <RUN,...>...'; only 1 was provided\nSee `nettoll compare --help`."
        );
        let several = said("nettoll study quick -4 -6");
        assert!(several.starts_with("the argument '-4' cannot be used with '-6'") && several.lines().count() == 2, "{several}");
        assert!(said("nettoll -t 1").ends_with("See `nettoll --help`."));
    }
}
