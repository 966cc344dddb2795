//! The arguments of `nettoll help` and `nettoll completions`.

use clap::Args;
use clap_complete::Shell;

/// The topic of `nettoll help` that is no command.
pub const COLUMNS: &str = "columns";

/// `nettoll help`.
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// A command, or `columns`: what each column of a table, in a terminal and in
    /// CSV, means; without it, the help of the tool
    #[arg(value_name = "COMMAND|columns")]
    pub topic: Option<String>,
}

/// `nettoll completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell: bash, elvish, fish, powershell or zsh, such as in
    /// `source <(nettoll completions bash)`
    // Listed apart they would make a page that mandoc refuses.
    #[arg(value_name = "SHELL", hide_possible_values = true)]
    pub shell: Shell,
}
