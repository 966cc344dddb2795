//! Command lines that cannot be understood, in three lines at most.

use std::ffi::OsString;

use clap::CommandFactory;
use clap::error::ContextKind;

use super::Arguments;

/// What clap found that the user may have meant.
const SIMILAR: [ContextKind; 3] = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];

/// Returns the fault that clap found, the flag to use in place of one `of_iperf` or what is
/// similar, and where to read more.
pub fn told(error: &clap::Error, of_iperf: Option<&str>, typed: &[OsString]) -> String {
    let said = error.render().to_string();
    // How to write it is in the help, so the first paragraph is enough.
    let fault: Vec<&str> = said.trim_start_matches("error: ").lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let similar = || SIMILAR.into_iter().find_map(|kind| Some(format!("; did you mean '{}'?", error.get(kind)?)));
    let hint = of_iperf.map(|flag| format!("; iperf3's; here: {flag}")).or_else(similar);
    let text = fault.join(" ") + &hint.unwrap_or_default();
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
        told(&Arguments::try_parse_from(&typed).unwrap_err(), None, &typed)
    }

    #[test]
    fn a_fault_its_tip_and_where_to_read_more() {
        assert_eq!(
            said("nettoll study quick --blcks 3"),
            "unexpected argument '--blcks' found; did you mean '--blocks'?\nSee `nettoll study --help`."
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
