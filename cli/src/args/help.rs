//! The arguments of `nettoll help` and `nettoll completions`.

use clap::Args;
use clap_complete::Shell;

/// The topic of `nettoll help` that says what columns mean.
pub const COLUMNS: &str = "columns";
/// The topic of `nettoll help` with the terms of use.
pub const LICENCES: &str = "licences";

/// `nettoll help`.
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// A command; `client`: the flags of one trial; `columns`: the meaning of each column of tables, in
    /// a terminal and in CSV; or `licences`. Without it, the questions that nettoll answers
    #[arg(value_name = "COMMAND|client|columns|licences")]
    pub topic: Option<String>,
}

/// `nettoll completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell: bash, elvish, fish, powershell or zsh. Example: `source <(nettoll completions bash)`
    // Listed apart they would make a page that mandoc refuses.
    #[arg(value_name = "SHELL", hide_possible_values = true)]
    pub shell: Shell,
}

/// The topic of `nettoll help` for one trial: its flags are those of the tool.
pub const CLIENT: &str = "client";

/// The tool by the questions that it answers.
pub const QUESTIONS: &str = "\
nettoll measures what the Linux network stack costs a program per message.

Is B cheaper than A?   nettoll study size --size 256 --arm 'A: api=send' \\
                         --test UDP_STREAM --arm 'B: api=sendmmsg'      ~ 10 s
What does it cost?     nettoll study quick                              ~ 40 s
Where does it go?      nettoll study receipt --test UDP_STREAM --size 1K ~ 40 s
Which way is best?     nettoll study ways --test UDP_STREAM             ~ 3 min
My own program?        nettoll attach --pid PID -t 20                   ~ 20 s
The whole machine?     nettoll top
How to make it cheap?  nettoll advise --pid PID
Exact instructions?    nettoll microscope --kernel 6.12                 ~ 35 s
Between two machines   nettoll study quick --host b=ssh:NAME
One trial, as iperf3   nettoll -s    and    nettoll -c HOST

Afterwards             nettoll show, report, compare, history, export
Narrow an answer       nettoll study --again RUN --blocks N
Before                 nettoll doctor; --dry-run behind any command
Many hosts, CI         nettoll fleet; exit 0 nothing worse, 3 worse, 4 open

Options of a command: nettoll COMMAND -h (short) or --help (all)
One trial: nettoll help client. Columns and words: nettoll help columns
";
