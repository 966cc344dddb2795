//! Parts that nettoll starts itself as.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use engine::channel::ChannelError;

use crate::args::{DetachArgs, HostArgs, LoadArgs, ScratchArgs, TetherArgs};
use crate::exit::{Exit, Failure};
use crate::output;

/// Holds a host until the controller is gone.
///
/// # Errors
/// A controller that cannot be talked to.
pub fn host(args: &HostArgs) -> Result<Exit, Failure> {
    lab::host_process::run(&args.name, args.isolation)?;
    Ok(Exit::Done)
}

/// Makes host-wide changes until the controller is gone, and undoes them.
///
/// # Errors
/// A change that could not be undone.
pub fn guard() -> Result<Exit, Failure> {
    lab::arm::guard::run()?;
    Ok(Exit::Done)
}

/// Tries what `doctor` asks of fresh namespaces.
///
/// # Errors
/// A refused step, which it has written to standard output.
pub fn scratch(args: &ScratchArgs) -> Result<Exit, Failure> {
    lab::doctor::try_requests(args.scratch)?;
    Ok(Exit::Done)
}

/// Undoes what a study that was killed, with its guard, left changed on this
/// machine, and says so.
pub fn recover() {
    // Without a place for journals there is none.
    let Ok(directory) = lab::arm::journal::directory() else { return };
    let recovered = lab::arm::journal::recover(&directory);
    for undone in recovered.undone {
        output::note(&format!("undid a change of this machine that a study left behind when it was killed: {undone}"));
    }
    for left in recovered.left {
        output::note(&left);
    }
}

/// Is a host for one controller, over standard input and output.
///
/// # Errors
/// What is there is no controller.
pub fn serve() -> Result<Exit, Failure> {
    lab::agent::pipes::serve()?;
    Ok(Exit::Done)
}

/// Becomes a command without a terminal.
///
/// # Errors
/// A command that cannot be started.
pub fn detach(args: &DetachArgs) -> Result<Exit, Failure> {
    let Err(answer) = lab::detach::run(&args.words);
    Err(not_started(&args.words, &answer))
}

/// Becomes a command that ends with the process that started it.
///
/// # Errors
/// A command that cannot be started.
pub fn tether(args: &TetherArgs) -> Result<Exit, Failure> {
    let Err(answer) = lab::detach::run_tethered(args.parent, &args.words);
    Err(not_started(&args.words, &answer))
}

fn not_started(words: &[OsString], answer: &io::Error) -> Failure {
    let program = words.first().map_or_else(String::new, |word| word.to_string_lossy().into_owned());
    anyhow::anyhow!("start {program}: {answer}").into()
}

/// Ends the commands of hosts that outlive the nettoll that started them.
///
/// # Errors
/// None.
pub fn keep() -> Result<Exit, Failure> {
    lab::keeper::run();
    Ok(Exit::Done)
}

/// Serves one trial.
///
/// # Errors
/// A host that cannot be understood.
pub fn endpoint() -> Result<Exit, Failure> {
    let [input, output] = [io::stdin().as_fd(), io::stdout().as_fd()].map(|stream| stream.try_clone_to_owned().map(File::from));
    match engine::endpoint::run(input?, output?, engine::endpoint::Files::Own) {
        // A host ends an endpoint so, whose other end has failed; the user hears of that failure alone.
        Err(ChannelError::Closed) => Ok(Exit::Failed),
        ended => Ok(ended.map(|()| Exit::Done)?),
    }
}

/// Is a part of a host's load.
///
/// # Errors
/// An error of the part.
pub fn load(args: &LoadArgs) -> Result<Exit, Failure> {
    lab::load::play(&args.words)?;
    Ok(Exit::Done)
}
