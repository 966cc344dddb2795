//! Rule files: how the samples of receipts are classified.

use std::path::Path;

use anyhow::Context;
use attribution::Rules;

use crate::args::RulesArgs;
use crate::exit::Failure;

/// The longest rule file that is read: more than the parser takes, which says so in its words.
const MOST_BYTES: u64 = 2 << 20;

/// Rules of the user's, with the name of their file.
#[derive(Debug, Clone)]
pub struct Own {
    /// The file, as given.
    pub source: String,
    /// Rules in it.
    pub rules: Rules,
}

/// Reads the file that was asked for, if any.
///
/// # Errors
/// A file that cannot be read, or a line of it that cannot be understood.
pub fn load(args: &RulesArgs) -> Result<Option<Own>, Failure> {
    args.rules.as_deref().map(read).transpose()
}

fn read(path: &Path) -> Result<Own, Failure> {
    let what = || format!("cannot read the rules {}; check the path", path.display());
    let text = sys::file::read_text(path, MOST_BYTES).with_context(what)?;
    let rules = Rules::parse(&text).map_err(|error| Failure::misuse(format!("{}: {error}", path.display())))?;
    Ok(Own { source: path.display().to_string(), rules })
}
