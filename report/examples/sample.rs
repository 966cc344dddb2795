//! Shows the made-up run of the tests: `cargo run -p nettoll-report --example sample -- page.html` writes the page,
//! without an argument the answer of the terminal comes on stdout.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example that prints, with the fixtures of tests")]

#[allow(dead_code, reason = "it shows one of the made-up runs")]
#[path = "../tests/output/support/mod.rs"]
mod support;

use report::terminal::Style;

fn main() -> std::io::Result<()> {
    let analysis = support::sample();
    match std::env::args().nth(1) {
        Some(path) => std::fs::write(path, report::html::render(&analysis)),
        None => {
            print!("{}", report::terminal::render(&analysis, Style::PLAIN));
            Ok(())
        }
    }
}
