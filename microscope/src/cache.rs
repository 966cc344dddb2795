//! The cache: kernels, an emulator, symbol tables, and lists of packages, in a folder
//! of nettoll's own. Nothing is installed into the system, and everything here can be
//! fetched or made again.
//!
//! ```text
//! kernels/RELEASE/       vmlinuz, modules/, package (name and version)
//! emulator/VERSION/      what its packages hold
//! symbols/HASH           functions by address
//! tools/HASH/            probe and plugin
//! lists/                 apt's lists for the microscope alone
//! boots                  how long boots took
//! proofs                 how far receipts found known costs here
//! ```

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

use model::Bytes;
use model::sorting::Order;
use nix::fcntl::{Flock, FlockArg};

use crate::error::Failed;

/// The cache's folder. Programs in it are started, so only the user or root can have written it.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

/// Something that the cache holds.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CacheEntry {
    /// The kind, which is the folder that it is in.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Bytes that it takes.
    pub bytes: u64,
    /// Seconds since it was used last.
    pub idle_s: u64,
}

impl fmt::Display for CacheEntry {
    fn fmt(&self, text: &mut fmt::Formatter) -> fmt::Result {
        let Self { kind, name, bytes, idle_s } = self;
        write!(text, "{kind:<9} {name:<44} {:>8}, last used {} min ago", Bytes::new(*bytes).to_string(), idle_s / 60)
    }
}

/// A folder in progress that could not be locked is changed when a boot or a download begins, each of which
/// takes less.
const ABANDONED: Duration = Duration::from_secs(900);
/// The file in a folder in progress that its process holds locked.
const LOCK: &str = "lock";

/// Room for the lists of packages of one release, without which nothing can be fetched.
const LEAST_ROOM: u64 = 32 << 20;

/// Folders of what can be pruned, the dearest to get again last.
const KINDS: [&str; 5] = ["tools", "symbols", "lists", "kernels", "emulator"];

/// The user's cache directory for the microscope; `None` where the environment names none.
fn usual_place() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    Some(caches?.join("nettoll/microscope"))
}

impl Cache {
    /// The cache in a folder, or where caches are: `$XDG_CACHE_HOME/nettoll/microscope`, or
    /// below `~/.cache`.
    ///
    /// # Errors
    /// There is no such place, or it cannot be made; another can have written it.
    pub fn open(folder: Option<&Path>) -> Result<Self, Failed> {
        let root = match folder {
            Some(folder) => folder.to_owned(),
            None => usual_place().ok_or(Failed::NoCache)?,
        };
        // Whatever the umask is, no other user is let in.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&root).map_err(Failed::file("make the cache", &root))?;
        // Paths are given to programs that run in other folders.
        let root = root.canonicalize().map_err(Failed::file("find the cache", &root))?;
        let cache = Self::own(root)?;
        cache.sweep();
        Ok(cache)
    }

    /// The usual cache as it is; `None` where there is none yet. Nothing is made.
    ///
    /// # Errors
    /// Another can have written it.
    pub fn look() -> Result<Option<Self>, Failed> {
        let found = usual_place().and_then(|root| root.canonicalize().ok()).filter(|root| root.is_dir());
        found.map(Self::own).transpose()
    }

    /// The cache in a folder that only the user or root can have written.
    fn own(root: PathBuf) -> Result<Self, Failed> {
        match sys::file_owner::other_writer_below(&root).map_err(Failed::file("look at the cache", &root))? {
            Some((path, why)) => Err(Failed::Foreign { path, why }),
            None => Ok(Self { root }),
        }
    }

    /// Refuses a disk with too little room to fetch anything.
    ///
    /// # Errors
    /// It is full, or nearly so.
    pub(crate) fn require_room(&self) -> Result<(), Failed> {
        match sys::file::room(&self.root) {
            Ok(room) if room < LEAST_ROOM => Err(Failed::file("fetch into the cache", &self.root)(io::ErrorKind::StorageFull.into())),
            _ => Ok(()),
        }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of one kind of things, made if need be.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn folder(&self, kind: &str) -> Result<PathBuf, Failed> {
        let folder = self.root.join(kind);
        fs::create_dir_all(&folder).map_err(Failed::file("make", &folder))?;
        Ok(folder)
    }

    /// An empty folder for something that is being made; it is gone when dropped, and
    /// [`Scratch::keep`] gives it its place at once, whole.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn scratch(&self) -> Result<Scratch, Failed> {
        let parent = self.folder("scratch")?;
        for number in 0.. {
            let folder = parent.join(format!("{}-{number}", process::id()));
            match fs::create_dir(&folder) {
                Ok(()) => {
                    let lock = lock(&folder, true);
                    return Ok(Scratch { folder, lock });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Failed::file("make", &folder)(error)),
            }
        }
        Err(Failed::NoCache)
    }

    /// Writes a file whole or not at all.
    ///
    /// # Errors
    /// It cannot be written, as on a full disk.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Failed> {
        let scratch = self.scratch()?;
        let file = scratch.folder.join("file");
        let written = File::create(&file).and_then(|mut made| made.write_all(bytes).and_then(|()| made.sync_all()));
        written.map_err(Failed::file("write", path))?;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Failed::file("make", parent))?;
        }
        fs::rename(&file, path).map_err(Failed::file("write", path))
    }

    /// Names of things of one kind, in no order.
    pub fn names(&self, kind: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(kind)).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// Everything that it holds, by kind, the least recently used first.
    pub fn held(&self) -> Vec<CacheEntry> {
        let mut held = Vec::new();
        for kind in KINDS {
            let mut of_kind: Vec<CacheEntry> = self.names(kind).into_iter().map(|name| self.one(kind, name)).collect();
            of_kind.order_by(|a, b| b.idle_s.cmp(&a.idle_s).then_with(|| a.name.cmp(&b.name)));
            held.append(&mut of_kind);
        }
        held
    }

    fn one(&self, kind: &str, name: String) -> CacheEntry {
        let path = self.root.join(kind).join(&name);
        let used = fs::metadata(&path).and_then(|found| found.modified()).ok();
        let idle_s = used.and_then(|used| used.elapsed().ok()).map_or(0, |idle| idle.as_secs());
        CacheEntry { kind: kind.to_owned(), name, bytes: size(&path), idle_s }
    }

    /// Notes that something was used now.
    pub fn used(&self, kind: &str, name: &str) {
        // A folder that cannot be touched is pruned earlier, no more.
        let now = std::time::SystemTime::now();
        let _ = File::open(self.root.join(kind).join(name)).and_then(|held| held.set_modified(now));
    }

    /// Drops what was used least recently until no more than `most` bytes are held: tools
    /// and symbols first, which are made again in seconds. Returns what was dropped.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub fn prune(&self, most: u64) -> Result<Vec<CacheEntry>, Failed> {
        self.sweep();
        let held = self.held();
        let mut bytes: u64 = held.iter().map(|one| one.bytes).sum();
        let mut dropped = Vec::new();
        for one in held {
            if bytes <= most {
                break;
            }
            let path = self.root.join(&one.kind).join(&one.name);
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(Failed::file("remove", &path))?;
            bytes -= one.bytes;
            dropped.push(one);
        }
        Ok(dropped)
    }
}

impl Cache {
    /// Drops what runs that were killed left behind. A folder in progress stays: its process holds it locked,
    /// or, where it could not lock it, runs or has changed it lately.
    fn sweep(&self) {
        for name in self.names("scratch") {
            let folder = self.root.join("scratch").join(&name);
            let free = lock(&folder, false);
            let lives = name.split('-').next().is_some_and(|process| Path::new("/proc").join(process).exists());
            let changed = fs::metadata(&folder).and_then(|found| found.modified()).ok();
            let idle = changed.and_then(|changed| changed.elapsed().ok()).unwrap_or_default();
            let abandoned = !folder.join(LOCK).exists() && !lives && idle > ABANDONED;
            if free.is_some() || abandoned {
                // What cannot be removed now is swept another time.
                let _ = fs::remove_dir_all(&folder);
            }
        }
    }

    /// Drops this process's own folders in progress: it ends now.
    pub fn drop_own(&self) {
        let own = format!("{}-", process::id());
        for name in self.names("scratch").into_iter().filter(|name| name.starts_with(&own)) {
            let _ = fs::remove_dir_all(self.root.join("scratch").join(name));
        }
    }
}

/// The lock of a folder, made where it is wanted; `None` where another process holds it, there is none, or
/// the file system knows no locks. It ends with its process.
fn lock(folder: &Path, make: bool) -> Option<Flock<File>> {
    let file = sys::file::open_with(File::options().write(true).create(make).truncate(false), &folder.join(LOCK)).ok()?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
}

/// A folder in progress.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    #[expect(dead_code, reason = "held, not read")]
    lock: Option<Flock<File>>,
}

impl Scratch {
    /// Its path.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Gives a folder in it its place. One that is there already, made by another run at
    /// the same time, stays.
    ///
    /// # Errors
    /// It cannot be moved.
    pub fn keep(self, inner: &Path, place: &Path) -> Result<(), Failed> {
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).map_err(Failed::file("make", parent))?;
        }
        match fs::rename(inner, place) {
            Err(error) if !place.exists() => Err(Failed::file("make", place)(error)),
            _ => Ok(()),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn size(path: &Path) -> u64 {
    let Ok(found) = fs::symlink_metadata(path) else { return 0 };
    if !found.is_dir() {
        return found.len();
    }
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::Cache;
    use std::fs;

    #[test]
    fn what_is_cheap_to_make_again_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(folder.path())).unwrap();
        cache.write(&cache.root().join("symbols/a"), &[0; 100]).unwrap();
        cache.write(&cache.root().join("kernels/6.1/vmlinuz"), &[0; 1000]).unwrap();
        cache.write(&cache.root().join("kernels/6.12/vmlinuz"), &[0; 1000]).unwrap();
        assert_eq!(cache.held().iter().map(|one| one.bytes).sum::<u64>(), 2100);
        assert_eq!(cache.prune(5000).unwrap(), []);
        let dropped = cache.prune(1500).unwrap();
        assert_eq!(dropped.iter().map(|one| one.kind.as_str()).collect::<Vec<_>>(), ["symbols", "kernels"]);
        assert_eq!(cache.held().len(), 1);
        cache.prune(0).unwrap();
        assert!(cache.held().is_empty());
    }

    #[test]
    fn what_is_not_kept_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(folder.path())).unwrap();
        let scratch = cache.scratch().unwrap();
        let path = scratch.path().to_owned();
        fs::write(path.join("half"), "x").unwrap();
        drop(scratch);
        assert!(!path.exists());
        let scratch = cache.scratch().unwrap();
        fs::create_dir(scratch.path().join("whole")).unwrap();
        let inner = scratch.path().join("whole");
        scratch.keep(&inner, &cache.root().join("kernels/6.1")).unwrap();
        assert_eq!(cache.names("kernels"), ["6.1"]);
    }

    #[test]
    fn opening_drops_what_was_left_and_leaves_what_is_under_way() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(folder.path())).unwrap();
        let long_ago = std::time::SystemTime::now() - 2 * super::ABANDONED;
        let made = |name: &str, old: bool| {
            let path = folder.path().join("scratch").join(name);
            fs::create_dir_all(&path).unwrap();
            if old {
                fs::File::open(&path).unwrap().set_modified(long_ago).unwrap();
            }
            path
        };
        // Beyond the largest number that a process can have.
        let (left, elsewhere) = (made("4194305-0", true), made("4194305-1", false));
        // A process that was killed holds no lock, even if another one has its number now.
        let killed = made(&format!("{}-9", std::process::id()), false);
        fs::write(killed.join(super::LOCK), "").unwrap();
        let mine = cache.scratch().unwrap();
        fs::File::open(mine.path()).unwrap().set_modified(long_ago).unwrap();
        Cache::open(Some(folder.path())).unwrap();
        assert_eq!([left.exists(), elsewhere.exists(), killed.exists(), mine.path().exists()], [false, true, false, true]);
        drop(mine);
        let mine = cache.scratch().unwrap();
        cache.drop_own();
        assert!(!mine.path().exists() && elsewhere.exists());
    }

    #[test]
    fn a_cache_that_another_can_have_written_is_not_used() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let refused = |place: &std::path::Path| Cache::open(Some(place)).map(drop).map_err(|why| why.to_string());
        let mode = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let cache = folder.path().join("cache");
        refused(&cache).unwrap();
        assert_eq!(fs::metadata(&cache).unwrap().permissions().mode() & 0o7777, 0o700);
        mode(&cache, 0o777);
        let why = refused(&cache).unwrap_err();
        assert!(why.contains("others can write it (mode 777)") && why.contains("--cache DIR"), "{why}");
        mode(&cache, 0o755);
        let program = cache.join("emulator/1/usr/bin/qemu");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, "").unwrap();
        refused(&cache).unwrap();
        mode(&program, 0o757);
        assert!(refused(&cache).unwrap_err().contains("usr/bin/qemu: others can write it"));
        mode(&program, 0o755);
        if chown(&cache, Some(65_534), None).is_ok() {
            assert!(refused(&cache).unwrap_err().contains("it belongs to user 65534"));
        }
    }

    #[test]
    fn a_folder_that_cannot_be_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let error = Cache::open(Some(&folder.path().join("file/cache"))).unwrap_err().to_string();
        assert!(error.contains("make the cache") && error.contains("file/cache"), "{error}");
    }
}
