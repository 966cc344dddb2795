//! What nettoll starts itself as.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use crate::args::HostArgs;
use crate::exit::{Exit, Failure};

/// Holds a host until the controller is gone.
///
/// # Errors
/// A controller that cannot be talked to.
pub fn host(args: &HostArgs) -> Result<Exit, Failure> {
    lab::keeper::run(&args.name, args.isolation)?;
    Ok(Exit::Done)
}

/// Serves one trial.
///
/// # Errors
/// A host that is gone.
pub fn endpoint() -> Result<Exit, Failure> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    engine::endpoint::run(input, io::stdout(), engine::endpoint::Files::Own)?;
    Ok(Exit::Done)
}
