//! Makes the probe, and the plugin for both forms of QEMU's interface, which the crate
//! carries as data.
//!
//! They are no dependencies: the probe has no C library below it and its own way of
//! starting, and the plugin is loaded by QEMU, under its own licence, and linked with
//! nothing here. Both need Rust's core libraries alone, so that the compiler makes them
//! from one file each.

// A build script has no other way to talk to cargo.
#![allow(clippy::print_stdout, missing_docs)]

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// The guest is of this architecture, wherever QEMU runs.
const GUEST: &str = "x86_64";

const PROBE: &[&str] = &[
    "--crate-name=probe",
    "--crate-type=bin",
    "--cfg=nettoll_guest",
    "-Copt-level=2",
    "-Crelocation-model=static",
    "-Clink-arg=-nostartfiles",
    "-Clink-arg=-nostdlib",
    "-Clink-arg=-static",
];

const PLUGIN: &[&str] = &["--crate-name=scope", "--crate-type=cdylib", "-Copt-level=3"];

/// The linker that cargo was told to use for the target, if any.
const LINKER: &str = "RUSTC_LINKER";

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={LINKER}");
    let target = env::var("TARGET").unwrap_or_default();
    // The plugin asks for the C library's symbols of the version that the program itself is linked
    // for. The probe has no C library, so that any linker of this machine's will do.
    let linker = env::var(LINKER).map(|linker| format!("-Clinker={linker}"));
    let plugin: Vec<&str> = PLUGIN.iter().copied().chain(linker.as_deref()).collect();
    let builds: [(&str, &str, &[&str], &[&str]); 3] = [
        ("probe", "probe", PROBE, &[]),
        ("plugin", "scope-new.so", &plugin, &[]),
        ("plugin", "scope-old.so", &plugin, &["--cfg=old_interface"]),
    ];
    for (folder, name, flags, more) in builds {
        println!("cargo::rerun-if-changed={folder}/src");
        let to = out.join(name);
        // Elsewhere there is nothing to boot with, which the crate says when it is asked.
        let made = target.starts_with(GUEST) && compile(&root.join(folder), &target, flags, more, &to);
        if !made {
            fs::write(&to, []).unwrap_or_else(|error| fail(&format!("write {}: {error}", to.display())));
        }
        if folder == "plugin" {
            pack(&to);
        }
    }
}

/// Compiles `src/lib.rs` of a folder; false where the compiler cannot.
fn compile(folder: &Path, target: &str, flags: &[&str], more: &[&str], to: &Path) -> bool {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let common = ["--edition=2024", "-Cpanic=abort", "-Cstrip=symbols", "-Ccodegen-units=1", "--target", target, "-o"];
    let mut command = Command::new(compiler);
    command.args(flags).args(more).args(common).arg(to).arg(folder.join("src/lib.rs"));
    // The same bytes wherever the sources are.
    command.arg(format!("--remap-path-prefix={}=.", folder.display()));
    match command.output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => fail(&format!("{}: {}", folder.display(), String::from_utf8_lossy(&output.stderr))),
        Err(error) => fail(&format!("start the compiler for {}: {error}", folder.display())),
    }
}

/// Deflates a file next to it: a release looks at its symbols.
fn pack(file: &Path) {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    let written = fs::read(file).and_then(|bytes| packed.write_all(&bytes));
    let packed = written.and_then(|()| packed.finish()).and_then(|packed| fs::write(file.with_extension("so.z"), packed));
    packed.unwrap_or_else(|error| fail(&format!("pack {}: {error}", file.display())));
}

fn fail(why: &str) -> ! {
    panic!("{why}")
}
