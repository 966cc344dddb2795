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

/// `nettoll __detach`.
#[derive(Debug, Args)]
pub struct DetachArgs {
    /// The command.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<std::ffi::OsString>,
}

/// `nettoll __tether`.
#[derive(Debug, Args)]
pub struct TetherArgs {
    /// The process that started it.
    pub parent: u32,
    /// The command.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<std::ffi::OsString>,
}

/// `nettoll __scratch`.
#[derive(Debug, Args)]
pub struct ScratchArgs {
    /// The namespaces.
    #[arg(value_parser = |word: &str| word.parse::<lab::doctor::Scratch>())]
    pub scratch: lab::doctor::Scratch,
}

/// `nettoll __load`.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// The part, and what it is to know.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// `nettoll __generate`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// Directory that `man` and `completions` are made in.
    pub directory: PathBuf,
}
