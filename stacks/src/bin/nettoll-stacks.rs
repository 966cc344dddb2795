//! The implementations that bring a runtime along, in a program of their own: `nettoll-stacks NAME`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.as_slice() {
        [name] => stacks::run_heavy(name),
        _ => Err(stacks::StackError::contract(format!("give one name: nettoll-stacks {}", stacks::HEAVY.join("|")))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nettoll-stacks: {error}");
            ExitCode::FAILURE
        }
    }
}
