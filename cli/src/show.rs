//! `nettoll show`.

use crate::args::ShowArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Lists the stored runs, the earliest first.
///
/// # Errors
/// A directory that cannot be read.
pub fn run(args: &ShowArgs) -> Result<Exit, Failure> {
    for listed in store::list(&args.runs)? {
        let what = match &listed.run {
            Ok(run) => format!("{}: {}", run.plan.title, run.status.describe()),
            Err(error) => error.to_string(),
        };
        output::write(&format!("{}  {what}", listed.path.display()))?;
    }
    Ok(Exit::Done)
}
