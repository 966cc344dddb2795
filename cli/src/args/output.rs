//! Flags that every command spells alike: what is printed, pages, and where runs are.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::exit::Failure;

/// What is printed on standard output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct FormatArgs {
    /// JSON on standard output, also for failures
    #[arg(short = 'J', long)]
    pub json: bool,
    /// CSV on standard output: a row for each cell and metric
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Also print methods, legends, every warning and more figures
    #[arg(short, long, conflicts_with_all = ["json", "csv"])]
    pub verbose: bool,
}

/// The page.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct HtmlArgs {
    /// Write an HTML page to FILE; without FILE, to the run's report.html, or to a file in this
    /// directory named after the command
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    html: Option<Option<PathBuf>>,
}

impl HtmlArgs {
    /// The file that was asked for, or `usual`; `None` where no page was.
    ///
    /// # Errors
    /// A directory, such as a run that stands where the file was to be.
    pub fn place(&self, usual: impl AsRef<Path>) -> Result<Option<PathBuf>, Failure> {
        let place = match &self.html {
            None => return Ok(None),
            Some(file) => file.clone().unwrap_or_else(|| usual.as_ref().to_owned()),
        };
        match place.is_dir() {
            true => Err(Failure::misuse(format!("--html {0}: that is a directory; write --html=FILE, or --html last", place.display()))),
            false => Ok(Some(place)),
        }
    }
}

/// Where runs are.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Directory in which runs are stored
    #[arg(long = "runs", value_name = "DIR", default_value = "runs", id = "runs_directory")]
    pub directory: PathBuf,
}

impl RunsArgs {
    /// The run that a word means: a path, any part of its name that no other has, `latest` or
    /// `@-1`, the one before being `@-2`.
    ///
    /// # Errors
    /// A word that means none, or several.
    pub fn find(&self, word: &Path) -> Result<PathBuf, Failure> {
        Ok(store::find(&self.directory, word)?)
    }
}
