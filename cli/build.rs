//! Finds out which commit is built, for `nettoll --version`.
//!
//! It runs again when a commit is made or a file that is compiled changes, in
//! which case this crate is compiled again anyway; nothing else runs it.

// A build script has no other way to talk to cargo.
#![allow(clippy::print_stdout, missing_docs)]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Members of the workspace that are no part of the program.
const NOT_COMPILED_IN: [&str; 2] = ["bench", "fuzz"];

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("..");
    let sources = sources(&root);
    for source in &sources {
        watch(&root.join(source));
    }
    for name in ["NETTOLL_COMMIT", "SOURCE_DATE_EPOCH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let git = Git::at(&root);
    git.watch();
    let commit = given("NETTOLL_COMMIT").or_else(|| git.commit(&sources)).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=NETTOLL_COMMIT={commit}");
    println!("cargo::rustc-env=NETTOLL_DATE={}", epoch().or_else(|| git.date()).unwrap_or_default());
    println!("cargo::rustc-env=NETTOLL_TARGET={}", given("TARGET").unwrap_or_default());
    println!("cargo::rustc-env=NETTOLL_FEATURES={}", features().join(" "));
}

/// Sources that the program is compiled from, relative to the root.
fn sources(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<String> = names
        .filter(|name| root.join(name).join("Cargo.toml").exists() && !NOT_COMPILED_IN.contains(&name.as_str()))
        .flat_map(|name| ["Cargo.toml", "build.rs", "src", "assets"].map(|part| format!("{name}/{part}")))
        .chain(["Cargo.toml", "Cargo.lock", "plans"].map(str::to_owned))
        .chain(["plugin", "probe", "scenarios.toml"].map(|part| format!("microscope/{part}")))
        .filter(|path| root.join(path).exists())
        .collect();
    found.sort();
    found
}

/// A path that is not there would run this script each time.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

fn given(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The cargo features of this crate, as cargo names them.
fn features() -> Vec<String> {
    let names = env::vars().filter_map(|(name, _)| Some(name.strip_prefix("CARGO_FEATURE_")?.to_lowercase().replace('_', "-")));
    let mut names: Vec<String> = names.filter(|name| name != "default").collect();
    names.sort();
    names
}

/// The day that a reproducible build is told to be of.
fn epoch() -> Option<String> {
    let seconds: u64 = given("SOURCE_DATE_EPOCH")?.parse().ok()?;
    said(Command::new("date").args(["-u", "-d", &format!("@{seconds}"), "+%Y-%m-%d"]))
}

/// Line that a command prints; `None` where it fails or is missing.
fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty() && !text.contains('\n')).then_some(text)
}

/// The git tree whose root is the workspace, if there is one.
struct Git(Option<PathBuf>);

impl Git {
    /// A copy of the sources inside another's tree has no commit.
    fn at(root: &Path) -> Self {
        let root = root.canonicalize().ok().filter(|root| {
            let top = said(Command::new("git").args(["rev-parse", "--show-toplevel"]).current_dir(root));
            top.and_then(|top| Path::new(&top).canonicalize().ok()).as_ref() == Some(root)
        });
        Self(root)
    }

    fn command(&self, arguments: &[&str]) -> Option<Command> {
        let mut command = Command::new("git");
        // Without locks, so that a build disturbs no git command at work.
        command.arg("--no-optional-locks").args(arguments).current_dir(self.0.as_ref()?);
        Some(command)
    }

    fn ask(&self, arguments: &[&str]) -> Option<String> {
        said(&mut self.command(arguments)?)
    }

    /// Has this script run when HEAD comes to name another commit.
    fn watch(&self) {
        let Some(root) = &self.0 else { return };
        let branch = self.ask(&["symbolic-ref", "-q", "HEAD"]);
        for name in ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
            if let Some(path) = self.ask(&["rev-parse", "--git-path", name]) {
                watch(&root.join(path));
            }
        }
    }

    /// The commit's short hash, with its tag if it has any, and `-dirty` when
    /// what is compiled is not what was committed.
    fn commit(&self, sources: &[String]) -> Option<String> {
        let name = self.ask(&["describe", "--always", "--abbrev=12", "--match", "v[0-9]*"])?;
        let mut changed = self.command(&["diff", "--quiet", "HEAD", "--"])?;
        let clean = changed.args(sources).status().is_ok_and(|status| status.success());
        Some(if clean { name } else { format!("{name}-dirty") })
    }

    /// The commit's day: two builds of one commit say the same.
    fn date(&self) -> Option<String> {
        self.ask(&["log", "-1", "--format=%cs"])
    }
}
