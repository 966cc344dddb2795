//! One man page.

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use report::columns;

use crate::args::EXIT_CODES;
use crate::version;

/// Variables; none changes what is measured.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("NO_COLOR", "If it is set and not empty, nothing is coloured. What does not go to a terminal never is."),
    ("COLUMNS", "Width that help texts are wrapped to."),
    ("TERM", "If it is \"dumb\", messages about misuse are not coloured."),
    ("XDG_STATE_HOME", "Where the journal of --host-wide is; ~/.local/state otherwise."),
    ("XDG_CACHE_HOME", "Where the microscope's kernels and emulator are, and proofs of receipts; ~/.cache otherwise."),
];

/// Files of the tool as a whole.
const FILES: [(&str, &str); 5] = [
    ("runs/", "Stored runs, one directory each; --runs names another place."),
    ("runs/*/run.json", "The plan as resolved, the seed, versions, and how the run stands."),
    ("runs/*/trials.jsonl", "One trial a line, written when it ends: the source of every figure."),
    ("runs/*/report.html", "The report: one file that opens without a network."),
    ("~/.local/state/nettoll/*.journal", "What --host-wide changed of this machine, until it is set back."),
];

/// Files of a package's agent service.
const AGENT_FILES: [(&str, &str); 2] = [
    ("/etc/nettoll/secret", "The shared secret that nettoll-agent.service reads. The administrator makes it, readable by root only."),
    ("nettoll-agent.service", "The systemd unit; `systemctl edit nettoll-agent` changes its options."),
];

/// The page of `command`, called `name`, in roff.
///
/// # Errors
/// None: it is written to memory.
pub fn render(command: &Command, name: &str) -> io::Result<Vec<u8>> {
    // The makers of pages take name and synopsis from the command.
    let shown = command.clone().display_name(name);
    let has_options = shown.get_arguments().any(|argument| !argument.is_hide_set());
    let commands: Vec<&str> = shown.get_subcommands().filter(|inner| !inner.is_hide_set()).map(Command::get_name).collect();
    let related: Vec<String> = match name {
        "nettoll" => commands.iter().map(|inner| format!("nettoll-{inner}")).collect(),
        _ => vec!["nettoll".to_owned()],
    };
    let man = Man::new(shown.clone())
        .title(name.to_uppercase())
        .date(version::DATE)
        .source(format!("nettoll {}", env!("CARGO_PKG_VERSION")))
        .manual("nettoll manual");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    synopsis(command, name).to_writer(&mut page)?;
    man.render_description_section(&mut page)?;
    if has_options {
        man.render_options_section(&mut page)?;
    }
    if !commands.is_empty() {
        man.render_subcommands_section(&mut page)?;
    }
    closing(name, &related).to_writer(&mut page)?;
    Ok(page)
}

/// The usage, as the help says it: the maker of pages would list every flag.
fn synopsis(command: &Command, name: &str) -> Roff {
    let usage = command.clone().bin_name(name.replacen('-', " ", 1)).render_usage().to_string();
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    for (place, line) in usage.trim_start_matches("Usage:").lines().enumerate() {
        if place > 0 {
            roff.control("br", []);
        }
        roff.text([roman(line.trim())]);
    }
    roff
}

/// End of every page.
fn closing(name: &str, related: &[String]) -> Roff {
    let mut roff = Roff::new();
    if name == "nettoll-report" {
        for (heading, meanings) in columns::sections() {
            section(&mut roff, &heading.to_uppercase(), meanings.iter().map(|(name, meaning)| (name.as_str(), *meaning)));
        }
    }
    // "Exit codes: 0 done, 1 failed ...", as the help says it.
    let codes = EXIT_CODES.trim_start_matches("Exit codes: ").trim_end_matches('.');
    section(&mut roff, "EXIT STATUS", codes.split(", ").filter_map(|code| code.split_once(' ')));
    section(&mut roff, "ENVIRONMENT", ENVIRONMENT);
    section(&mut roff, "FILES", if name == "nettoll-agent" { AGENT_FILES.to_vec() } else { FILES.to_vec() });
    roff.control("SH", ["SEE ALSO"]);
    let last = related.len().saturating_sub(1);
    for (place, page) in related.iter().enumerate() {
        roff.text([bold(page.as_str()), roman(if place == last { "(1)" } else { "(1)," })]);
    }
    roff
}

fn section<'a>(roff: &mut Roff, heading: &str, entries: impl IntoIterator<Item = (&'a str, &'a str)>) {
    roff.control("SH", [heading]);
    for (term, meaning) in entries {
        roff.control("TP", []);
        roff.text([bold(term)]);
        roff.text([roman(meaning)]);
    }
}
