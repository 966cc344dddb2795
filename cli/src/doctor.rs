//! `nettoll doctor`.

use crate::args::DoctorArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Says what this machine offers; fails when `quick` cannot run here.
///
/// # Errors
/// An answer of the system.
pub fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let checks = [lab::doctor::examine(), microscope::doctor::checks()].concat();
    let text = match args.json {
        true => report::json::checks(&checks),
        false => report::doctor::render(&checks, output::style()),
    };
    output::styled(&text)?;
    Ok(if lab::doctor::quick_can_run(&checks) { Exit::Done } else { Exit::Failed })
}
