//! The distribution's packages: kernels and an emulator, fetched with apt into the
//! cache and unpacked there. Nothing is installed.
//!
//! The source of packages is that of the system's own apt configuration; of Debian,
//! other releases of the same source are asked as well, since each has other kernels.

mod apt;
mod names;

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::cache::Cache;
use crate::error::Failed;

pub use apt::available;
pub use names::{Package, Release, choose, parse_names, series};

/// Versions of one series that are tried, since those that an index lists may be gone.
const TRIES: usize = 4;

/// Fetches the newest kernel whose version begins like `wanted`, such as `6.12`, into the cache.
/// Returns its release.
///
/// # Errors
/// There is none, or none can be fetched.
pub fn fetch_kernel(cache: &Cache, wanted: &str) -> Result<Release, Failed> {
    let known = available(cache, false)?;
    let mut candidates = choose(&known, wanted);
    let mut refused = None;
    for fresh in [false, true] {
        if fresh {
            // Lists go stale: what they name may have been replaced.
            candidates = choose(&available(cache, true)?, wanted);
        }
        for package in candidates.iter().take(TRIES) {
            match fetch(cache, package) {
                Ok(()) => return Ok(package.release.clone()),
                Err(why @ Failed::File { .. }) => return Err(why),
                Err(why) => refused = Some(why),
            }
        }
    }
    let near = || {
        let all = series(&known);
        if all.is_empty() { String::new() } else { format!("; there are {}", all.join(", ")) }
    };
    Err(refused.unwrap_or_else(|| Failed::NoKernel { name: wanted.to_owned(), near: near() }))
}

/// Fetches the packages of one kernel and gives it its place.
fn fetch(cache: &Cache, package: &Package) -> Result<(), Failed> {
    let place = cache.folder("kernels")?.join(&package.release.0);
    if place.exists() {
        return Ok(());
    }
    let scratch = cache.scratch()?;
    let (tree, made) = (scratch.path().join("tree"), scratch.path().join("kernel"));
    fs::create_dir(&made).map_err(Failed::file("make", &made))?;
    let mut versions = Vec::new();
    for name in &package.names {
        let file = apt::download(cache, name, scratch.path())?;
        versions.push(file.file_name().map(|name| name.to_string_lossy().replace("%3a", ":")).unwrap_or_default());
        unpack(&file, &tree)?;
    }
    let release = &package.release.0;
    let images = [format!("boot/vmlinuz-{release}"), format!("usr/lib/modules/{release}/vmlinuz")];
    let image = images.iter().map(|image| tree.join(image)).find(|image| image.is_file()).ok_or_else(|| Failed::Packages {
        what: format!("look for a kernel in {}", package.names.join(" and ")),
        answer: "the packages hold none".to_owned(),
        remedy: "choose another version",
    })?;
    let move_to = |from: &Path, to: &str| fs::rename(from, made.join(to)).map_err(Failed::file("move", from));
    move_to(&image, "vmlinuz")?;
    let folders = ["lib/modules", "usr/lib/modules"].map(|folder| tree.join(folder).join(release));
    if let Some(modules) = folders.iter().find(|folder| folder.is_dir()) {
        move_to(modules, "modules")?;
    }
    let list = made.join("package");
    fs::write(&list, versions.join(" ")).map_err(Failed::file("write", &list))?;
    scratch.keep(&made, &place)
}

/// Fetches the newest emulator that the system's release and its backports have, with
/// the libraries that the system lacks.
///
/// # Errors
/// Its packages cannot be had.
pub fn fetch_emulator(cache: &Cache) -> Result<(), Failed> {
    let scratch = cache.scratch()?;
    let (debs, tree) = (scratch.path().join("debs"), scratch.path().join("tree"));
    let version = apt::download_emulator(cache, &debs)?;
    for entry in fs::read_dir(&debs).map_err(Failed::file("read", &debs))?.flatten() {
        if entry.path().extension().is_some_and(|kind| kind == "deb") {
            unpack(&entry.path(), &tree)?;
        }
    }
    let place = cache.folder("emulator")?.join(version);
    scratch.keep(&tree, &place)
}

/// Unpacks a package into a folder (`dpkg-deb -x`).
fn unpack(package: &Path, to: &Path) -> Result<(), Failed> {
    let mut command = Command::new("dpkg-deb");
    command.arg("-x").arg(package).arg(to);
    apt::run(
        command,
        &format!("unpack {}", package.display()),
        "make room on the cache's disk, or see whether the network was cut, then run it again",
    )
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::unpack;

    /// Two members of an archive, the second of which ends early, as when a download was cut.
    #[test]
    fn a_torn_package_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (package, tree) = (folder.path().join("torn.deb"), folder.path().join("tree"));
        let member = |name: &str, length: usize| format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{length:<10}`\n", 0, 0, 0, 100_644);
        let text = format!("!<arch>\n{}2.0\n{}cut", member("debian-binary", 4), member("control.tar.gz", 4096));
        std::fs::write(&package, text).unwrap();
        match unpack(&package, &tree).unwrap_err().to_string() {
            why if why.contains("dpkg-deb: No such file") => eprintln!("SKIPPED: a_torn_package_is_refused: {why}"),
            why => assert!(why.contains("unpack") && why.contains("torn.deb") && why.contains("make room"), "{why}"),
        }
    }
}
