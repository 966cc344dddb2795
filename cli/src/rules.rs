//! Rule files: how the samples of receipts are classified.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::Context;
use attribution::Rules;

use crate::args::RulesArgs;
use crate::exit::Failure;

/// The longest rule file that is read; the parser says what is wrong with a longer one.
const MOST_BYTES: u64 = (1 << 20) + 1;

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
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text)).with_context(what)?;
    let rules = Rules::parse(&text).map_err(|error| Failure::misuse(format!("{}: {error}", path.display())))?;
    Ok(Own { source: path.display().to_string(), rules })
}
