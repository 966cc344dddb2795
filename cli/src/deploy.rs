//! `nettoll deploy`.

use lab::connection::command;
use model::plan::CommandHost;

use crate::args::DeployArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Copies this program to hosts, or removes its copies there; goes on where one of them fails.
///
/// # Errors
/// Output that cannot be written.
pub fn run(args: &DeployArgs) -> Result<Exit, Failure> {
    let mut exit = Exit::Done;
    for host in &args.places {
        let place = &host.transport;
        match one(host, args.prune) {
            Ok(words) => output::write(&format!("{place}: {words}\n"))?,
            Err(error) => {
                output::note(&format!("{place}: {error}"));
                exit = Exit::Failed;
            }
        }
    }
    Ok(exit)
}

fn one(host: &CommandHost, prune: bool) -> Result<String, command::CommandError> {
    Ok(match prune {
        true => match command::prune(host)? {
            0 => "no nettoll was there".to_owned(),
            1 => "1 copy of nettoll removed".to_owned(),
            copies => format!("{copies} copies of nettoll removed"),
        },
        false => match command::deploy(host)? {
            true => "copied".to_owned(),
            false => "there already".to_owned(),
        },
    })
}
