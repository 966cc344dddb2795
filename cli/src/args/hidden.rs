//! What nettoll starts itself with.

use std::path::PathBuf;

use clap::Args;

/// `nettoll __host`.
#[derive(Debug, Args)]
pub struct HostArgs {
    /// The host's name.
    pub name: String,
    /// How it sets itself apart.
    #[arg(value_parser = |word: &str| word.parse::<lab::host::namespace::Isolation>())]
    pub isolation: lab::host::namespace::Isolation,
}

/// `nettoll __generate`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// Directory that `man` and `completions` are made in.
    pub directory: PathBuf,
}
