//! The door to nettoll: arguments in, exit code out.
#![forbid(unsafe_code)]

mod args;
mod complete;
mod consent;
mod endpoint;
mod events;
mod exact;
mod exchanges;
mod exit;
mod output;
mod progress;
mod proofs;
mod recorder;
mod signals;
mod version;

mod advise;
mod again;
mod agent;
mod attach;
mod compare;
mod deploy;
mod doctor;
mod export;
mod fleet;
mod generate;
mod help;
mod hidden;
mod history;
mod measure;
mod microscope;
mod oneshot;
mod papers;
mod reference;
mod report;
mod resume;
mod rules;
mod show;
mod study;
mod top;
mod weave;
mod workload;

use std::process::ExitCode;

use args::{Arguments, Command, Invocation};
use exit::{Exit, Failure};

fn main() -> ExitCode {
    complete::answer();
    lab::set_tool(version::SHORT);
    let answered = args::parse().and_then(|asked| match asked {
        Invocation::Told(exit) => Ok(exit),
        Invocation::Something(args) => {
            let form = args.form();
            carry_out(*args).map_err(|failure| failure.in_form(form))
        }
    });
    lab::keeper::settle();
    match answered {
        Ok(exit) => exit.code(),
        Err(failure) => failure.tell().code(),
    }
}

fn carry_out(args: Arguments) -> Result<Exit, Failure> {
    if args.command.as_ref().is_some_and(Command::recovers) {
        hidden::recover();
    }
    let Some(command) = args.command else { return oneshot::run(&args.oneshot) };
    match command {
        Command::Study(args) => study::run(&args),
        Command::Fleet(args) => fleet::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Export(args) => export::run(&args),
        Command::History(args) => history::run(&args),
        Command::Reference(args) => reference::run(&args),
        Command::Papers(args) => papers::run(&args),
        Command::Workload(args) => workload::run(&args),
        Command::Advise(args) => advise::run(&args),
        Command::Attach(args) => attach::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Microscope(args) => microscope::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Agent(args) => agent::run(&args),
        Command::Certificates(args) => agent::make_certificates(&args),
        Command::Deploy(args) => deploy::run(&args),
        Command::Completions(args) => generate::print_completions(&args),
        Command::Help(args) => help::run(&args),
        Command::Host(args) => hidden::host(&args),
        Command::Serve => hidden::serve(),
        Command::Detach(args) => hidden::detach(&args),
        Command::Tether(args) => hidden::tether(&args),
        Command::Keep => hidden::keep(),
        Command::Endpoint(args) => endpoint::run(&args),
        Command::BeEndpoint => hidden::endpoint(),
        Command::Guard => hidden::guard(),
        Command::Scratch(args) => hidden::scratch(&args),
        Command::Load(args) => hidden::load(&args),
        Command::Generate(args) => generate::run(&args),
    }
}
