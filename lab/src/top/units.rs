//! Units: cgroups by their path.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::attach::program::CGROUPS;

/// The most cgroups that are looked at.
const MOST: usize = 20_000;
/// How deep below the mount point.
const DEPTH: usize = 16;
/// Between two looks for cgroups that are not known.
const AGAIN: Duration = Duration::from_secs(5);
/// The longest path that is kept, in bytes.
const LONGEST: usize = 4096;

/// The units that a stretch met, and the ids of all.
#[derive(Debug)]
pub struct Units {
    mount: Option<PathBuf>,
    ids: HashMap<u64, String>,
    read: Option<Instant>,
    table: Vec<String>,
    places: HashMap<String, u32>,
}

impl Units {
    /// Finds where cgroups of version 2 are, if anywhere.
    pub fn find() -> Self {
        let mount = CGROUPS.iter().map(PathBuf::from).find(|path| path.join("cgroup.procs").is_file());
        Self { mount, ids: HashMap::new(), read: None, table: Vec::new(), places: HashMap::new() }
    }

    /// The place of a path in this stretch's table.
    pub fn place(&mut self, path: &str) -> u32 {
        if let Some(place) = self.places.get(path) {
            return *place;
        }
        let place = self.table.len() as u32;
        self.table.push(path.to_owned());
        self.places.insert(path.to_owned(), place);
        place
    }

    /// The path of a cgroup of version 2 by its id, which is its directory's inode.
    pub fn path(&mut self, id: u64) -> Option<&str> {
        if id == 0 {
            return None;
        }
        if !self.ids.contains_key(&id) && self.read.is_none_or(|read| read.elapsed() >= AGAIN) {
            self.read = Some(Instant::now());
            self.ids.clear();
            if let Some(mount) = self.mount.clone() {
                self.walk(&mount, &mount, 0);
            }
        }
        self.ids.get(&id).map(String::as_str)
    }

    fn walk(&mut self, mount: &Path, directory: &Path, depth: usize) {
        if depth > DEPTH || self.ids.len() >= MOST {
            return;
        }
        let Ok(metadata) = fs::metadata(directory) else { return };
        let path = directory.strip_prefix(mount).unwrap_or(directory).to_string_lossy();
        self.ids.insert(metadata.ino(), format!("/{path}"));
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.walk(mount, &entry.path(), depth + 1);
            }
        }
    }

    /// The paths of this stretch, by place; the next stretch begins without any.
    pub fn table(&mut self) -> Vec<String> {
        self.places.clear();
        std::mem::take(&mut self.table)
    }
}

/// The unit of a process by its `/proc/PID/cgroup`; `None` where it has ended.
pub fn of_process(pid: u32) -> Option<String> {
    of_lines(&fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?)
}

/// Its path in version 2; where all processes are in that hierarchy's root, in version 1: that of systemd's, else the
/// longest.
fn of_lines(text: &str) -> Option<String> {
    let paths = || {
        text.lines().filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            Some((fields.next()?, fields.next().filter(|path| path.len() <= LONGEST)?))
        })
    };
    let of = |controller: &str| paths().find(|(name, path)| *name == controller && *path != "/").map(|(_, path)| path);
    let longest = || paths().map(|(_, path)| path).max_by_key(|path| path.len());
    of("").or_else(|| of("name=systemd")).or_else(longest).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{Units, of_lines, of_process};

    #[test]
    fn version_2_goes_before_systemd_and_that_before_the_longest() {
        let unit = |text: &str| of_lines(text);
        assert_eq!(unit("0::/system.slice/nginx.service\n").as_deref(), Some("/system.slice/nginx.service"));
        assert_eq!(unit("4:memory:/a/b/c\n1:name=systemd:/x\n0::/\n").as_deref(), Some("/x"));
        assert_eq!(unit("4:memory:/a/b/c\n2:cpu:/a\n0::/\n").as_deref(), Some("/a/b/c"));
        assert_eq!(unit("0::/a:b\n").as_deref(), Some("/a:b"));
        assert_eq!(unit("0::/\n").as_deref(), Some("/"));
        assert_eq!([unit(""), unit("nonsense\n")], [None, None]);
    }

    #[test]
    fn this_process_has_a_unit_and_places_are_of_one_stretch() {
        assert!(of_process(std::process::id()).is_some());
        let mut units = Units::find();
        assert_eq!([units.place("/a"), units.place("/b"), units.place("/a")], [0, 1, 0]);
        assert_eq!(units.table(), ["/a", "/b"]);
        assert_eq!(units.place("/b"), 0);
        assert_eq!(units.path(0), None);
    }
}
