//! Modules of a kernel, with those that they need.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::kernel::Kernel;

/// A module, unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Its file's bytes.
    pub content: Vec<u8>,
}

/// The modules of these names and what they need, each after what it needs.
///
/// # Errors
/// In words: a module that the kernel lacks, or that cannot be unpacked.
pub fn gather(kernel: &Kernel, names: &[String]) -> Result<Vec<Module>, String> {
    let mut found = Vec::new();
    for name in names {
        add(kernel, name, &mut found, 0)?;
    }
    Ok(found)
}

/// Modules that need each other in a circle are none of a kernel's.
const DEEPEST: usize = 32;

fn add(kernel: &Kernel, name: &str, found: &mut Vec<Module>, depth: usize) -> Result<(), String> {
    if found.iter().any(|module| module.name == name) {
        return Ok(());
    }
    let folder = kernel
        .modules
        .as_deref()
        .ok_or_else(|| format!("module {name} is needed, and the kernel has no folder of modules (--modules DIR)"))?;
    let file = find(folder, name).ok_or_else(|| format!("the kernel has no module {name}"))?;
    let content = unpacked(&file)?;
    if depth > DEEPEST {
        return Err(format!("module {name} needs itself"));
    }
    for needed in needs(&content) {
        add(kernel, &needed, found, depth + 1)?;
    }
    found.push(Module { name: name.to_owned(), content });
    Ok(())
}

/// The file of a module below a folder; names have hyphens where files may have them.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
                continue;
            }
            let file = entry.file_name().to_string_lossy().replace('-', "_");
            let stem = file.split_once(".ko").map_or("", |(stem, _)| stem);
            if stem == name.replace('-', "_") {
                return Some(path);
            }
        }
    }
    None
}

/// The largest file of a module that is read.
const LARGEST: u64 = 256 << 20;

/// Bytes of a module's file, which distributions compress.
fn unpacked(file: &Path) -> Result<Vec<u8>, String> {
    let bytes = sys::file::read(file, LARGEST).map_err(|error| format!("read {}: {error}", file.display()))?;
    let program = match file.extension().and_then(|kind| kind.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        Some("gz") => "gzip",
        _ => return Ok(bytes),
    };
    let failed = |error: &dyn std::fmt::Display| format!("unpack {} with {program}: {error}; install {program}", file.display());
    let mut child = Command::new(program)
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(&error))?;
    let mut input = child.stdin.take().ok_or_else(|| failed(&"it has no input"))?;
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            // Where it cannot be written the program fails, which its status says.
            let _ = input.write_all(&bytes);
        });
        child.wait_with_output()
    });
    match output {
        Ok(output) if output.status.success() => Ok(output.stdout),
        Ok(output) => Err(failed(&output.status)),
        Err(error) => Err(failed(&error)),
    }
}

/// Names of the modules that one needs, from the `depends=` of its `.modinfo`.
fn needs(content: &[u8]) -> Vec<String> {
    let key = b"\0depends=";
    let Some(place) = content.windows(key.len()).position(|window| window == key) else { return Vec::new() };
    let list = &content[place + key.len()..];
    let list = &list[..list.iter().position(|byte| *byte == 0).unwrap_or(list.len())];
    let names = String::from_utf8_lossy(list);
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{gather, needs};
    use crate::kernel::Kernel;
    use std::fs;
    use std::path::Path;

    fn kernel(modules: Option<&Path>) -> Kernel {
        Kernel {
            name: "x".to_owned(),
            image: "x".into(),
            modules: modules.map(Path::to_owned),
            package: String::new(),
            hash: String::new(),
        }
    }

    #[test]
    fn what_a_module_needs_comes_before_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("net/a")).unwrap();
        fs::write(folder.path().join("net/a/nf-tables.ko"), b"x\0license=GPL\0depends=nfnetlink,crc\0x").unwrap();
        fs::write(folder.path().join("net/nfnetlink.ko"), b"\0depends=\0").unwrap();
        fs::write(folder.path().join("crc.ko"), b"\0depends=nfnetlink\0").unwrap();
        fs::write(folder.path().join("self.ko"), b"\0depends=self\0").unwrap();
        let names = |wanted: &str| {
            let found = gather(&kernel(Some(folder.path())), &[wanted.to_owned()]);
            found.map(|all| all.into_iter().map(|module| module.name).collect::<Vec<_>>())
        };
        assert_eq!(names("nf_tables").unwrap(), ["nfnetlink", "crc", "nf_tables"]);
        assert!(names("veth").unwrap_err().contains("has no module veth"));
        assert!(names("self").unwrap_err().contains("needs itself"));
        assert!(gather(&kernel(None), &["veth".to_owned()]).unwrap_err().contains("--modules"));
        assert_eq!(gather(&kernel(None), &[]), Ok(vec![]));
        assert!(needs(b"no such key").is_empty());
    }
}
