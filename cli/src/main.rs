//! The door to nettoll: arguments in, exit code out.
#![forbid(unsafe_code)]

mod args;
mod exit;
mod output;
mod progress;
mod recorder;

mod doctor;
mod hidden;
mod report;
mod show;
mod study;

use std::process::ExitCode;

use args::{Asked, Command};
use exit::{Exit, Failure};

fn main() -> ExitCode {
    let answered = args::parse().and_then(|asked| match asked {
        Asked::Told(exit) => Ok(exit),
        Asked::Something(args) => {
            let json = args.wants_json();
            carry_out(args.command).map_err(|failure| failure.in_json(json))
        }
    });
    match answered {
        Ok(exit) => exit.code(),
        Err(failure) => failure.tell().code(),
    }
}

fn carry_out(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Study(args) => study::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Host(args) => hidden::host(&args),
        Command::Endpoint => hidden::endpoint(),
    }
}
