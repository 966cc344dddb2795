//! The emulator: QEMU for x86-64 with plugins, from the cache or the system.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::sorting::Order;

use crate::cache::Cache;
use crate::embedded;
use crate::error::Failed;
use crate::packages;

/// The program's name.
const PROGRAM: &str = "qemu-system-x86_64";
/// The largest program that is examined.
const LARGEST: u64 = 1 << 30;
/// A function that every QEMU with plugins has.
const PLUGINS: &str = "qemu_plugin_register_vcpu_tb_trans_cb";
/// One that the new form of the interface has.
const NEW: &str = "qemu_plugin_scoreboard_new";
/// One that the old form has and the new one has not.
const OLD: &str = "qemu_plugin_register_vcpu_mem_inline";

/// Form of the plugin interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// That of QEMU up to 8.2. Its filter of loads and stores is wrong, so that these are
    /// counted by callbacks.
    Old,
    /// That of QEMU from 9.2.
    New,
}

/// A QEMU that can be used.
#[derive(Debug, Clone)]
pub struct Emulator {
    /// The program.
    pub program: PathBuf,
    /// The folder that its packages were unpacked into; `None` of the system's own.
    root: Option<PathBuf>,
    /// Form of its plugin interface.
    pub interface: Interface,
    /// Its own name and version.
    pub version: String,
    /// What it is started by: words that stand before the program. Empty starts it as it is, and then it
    /// outlives a process that is killed.
    pub starter: Vec<OsString>,
    /// Once it is set, a guest is ended.
    pub stop: Arc<AtomicBool>,
}

impl Emulator {
    /// Finds one: in the cache, else the system's where it has the new interface, else one
    /// that is fetched into the cache, else the system's after all.
    ///
    /// # Errors
    /// There is none, and none can be fetched.
    pub fn find(cache: &Cache, offline: bool) -> Result<Self, Failed> {
        if let Some(found) = Self::cached(cache) {
            return Ok(found);
        }
        let system = in_path().map(|program| Self::examine(program, None));
        match system {
            Some(Ok(found)) if found.interface == Interface::New => Ok(found),
            Some(Ok(found)) if offline => Ok(found),
            system => {
                let fetched = match offline {
                    true => Err(Failed::NoEmulator("none is in the cache or in PATH, and fetching is switched off".to_owned())),
                    false => packages::fetch_emulator(cache),
                };
                match (fetched, system) {
                    (Ok(()), _) => Self::cached(cache).ok_or_else(|| Failed::NoEmulator("its packages hold none".to_owned())),
                    (Err(_), Some(Ok(found))) => Ok(found),
                    (Err(_), Some(Err(why @ Failed::NoPlugins(_)))) => Err(why),
                    (Err(why), _) => Err(why),
                }
            }
        }
    }

    /// The one in the cache, if it can be used.
    pub fn cached(cache: &Cache) -> Option<Self> {
        let (name, found) = in_cache(cache).next()?;
        cache.used("emulator", &name);
        Some(found)
    }

    /// Finds one without fetching it or marking it as used.
    ///
    /// # Errors
    /// There is none, or the system's cannot be used.
    pub fn look(cache: Option<&Cache>) -> Result<Self, Failed> {
        if let Some((_, found)) = cache.and_then(|cache| in_cache(cache).next()) {
            return Ok(found);
        }
        let program = in_path().ok_or_else(|| Failed::NoEmulator(format!("{PROGRAM} is neither in the cache nor in PATH")))?;
        Self::examine(program, None)
    }

    /// Examines a program.
    ///
    /// # Errors
    /// It cannot be read or run, or has no plugins.
    pub fn examine(program: PathBuf, root: Option<PathBuf>) -> Result<Self, Failed> {
        let bytes = sys::file::read(&program, LARGEST).map_err(Failed::file("read", &program))?;
        let exports = |name: &str| {
            // Names of the symbol table end with a zero, and begin behind one.
            let name = [b"\0", name.as_bytes(), b"\0"].concat();
            bytes.windows(name.len()).any(|window| window == name)
        };
        let interface = match (exports(PLUGINS), exports(NEW), exports(OLD)) {
            (true, true, false) => Interface::New,
            (true, false, true) => Interface::Old,
            (false, ..) => return Err(Failed::NoPlugins(program)),
            // 9.0 and 9.1 have the new board and the old instructions.
            (true, ..) => {
                let why = format!("{} speaks versions 2 and 3 of the plugin interface, which are not supported", program.display());
                return Err(Failed::NoEmulator(why));
            }
        };
        let mut found = Self { program, root, interface, version: String::new(), starter: Vec::new(), stop: Arc::default() };
        let output = found.command().arg("--version").output().map_err(Failed::file("start", &found.program))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            return Err(Failed::NoEmulator(format!("{}: {}", found.program.display(), String::from_utf8_lossy(&output.stderr).trim())));
        }
        text.lines().next().unwrap_or_default().clone_into(&mut found.version);
        Ok(found)
    }

    /// The program with its own libraries and firmware.
    pub fn command(&self) -> Command {
        let mut words = self.starter.iter().map(OsString::as_os_str).chain([self.program.as_os_str()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        if let Some(root) = &self.root {
            let libraries = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"].map(|folder| root.join(folder).display().to_string());
            command.env("LD_LIBRARY_PATH", libraries.join(":"));
            for folder in ["usr/share/qemu", "usr/share/seabios"] {
                command.arg("-L").arg(root.join(folder));
            }
        }
        command
    }

    /// The plugin for its interface.
    pub fn plugin(&self) -> Vec<u8> {
        embedded::unpacked(match self.interface {
            Interface::Old => embedded::PLUGIN_OLD,
            Interface::New => embedded::PLUGIN_NEW,
        })
    }
}

/// Those in the cache that can be used, with their names there, the newest first.
fn in_cache(cache: &Cache) -> impl Iterator<Item = (String, Emulator)> {
    let mut names = cache.names("emulator");
    names.order_by_key(|name| std::cmp::Reverse(numbers(name)));
    let folder = cache.root().join("emulator");
    names.into_iter().filter_map(move |name| {
        let root = folder.join(&name);
        let found = Emulator::examine(root.join("usr/bin").join(PROGRAM), Some(root)).ok()?;
        Some((name, found))
    })
}

/// The numbers of a package's version, by which a newer one comes after an older one.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|letter: char| !letter.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// The system's program.
fn in_path() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(PROGRAM)).find(|program| Path::new(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::{Emulator, Interface, NEW, OLD, PLUGINS, PROGRAM};
    use crate::cache::Cache;
    use crate::error::Failed;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn made(folder: &Path, names: &[&str]) -> Result<Emulator, Failed> {
        let program = folder.join("qemu");
        let symbols: String = names.iter().map(|name| format!("\0{name}\0")).collect();
        std::fs::write(&program, format!("#!/bin/sh\necho QEMU emulator version 1.2\nexit 0\n{symbols}")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        Emulator::examine(program, None)
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let new = made(folder.path(), &[PLUGINS, NEW]).unwrap();
        assert_eq!((new.interface, new.version.as_str()), (Interface::New, "QEMU emulator version 1.2"));
        assert_eq!(made(folder.path(), &[PLUGINS, OLD]).unwrap().interface, Interface::Old);
        let error = made(folder.path(), &[]).unwrap_err();
        assert!(matches!(error, Failed::NoPlugins(_)) && error.to_string().contains("install another QEMU"), "{error}");
        let error = made(folder.path(), &[PLUGINS, NEW, OLD]).unwrap_err().to_string();
        assert!(error.contains("versions 2 and 3"), "{error}");
        assert!(Emulator::examine(folder.path().join("none"), None).is_err());
    }

    #[test]
    fn the_newest_of_the_cache_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        for (name, symbols) in [("1_7.2+dfsg-7+deb12u18", [PLUGINS, OLD]), ("1_10.0.2+ds-2~bpo12+1", [PLUGINS, NEW])] {
            let program = made(folder.path(), &symbols).unwrap().program;
            let programs = folder.path().join("emulator").join(name).join("usr/bin");
            std::fs::create_dir_all(&programs).unwrap();
            std::fs::rename(program, programs.join(PROGRAM)).unwrap();
        }
        let cache = Cache::open(Some(folder.path())).unwrap();
        // As words, 7.2 comes after 10.0.
        assert_eq!(Emulator::cached(&cache).unwrap().interface, Interface::New);
    }
}
