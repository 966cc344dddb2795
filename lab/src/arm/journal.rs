//! The journal of changes outside nettoll's own namespaces: what was before is
//! on the disk before anything is changed, so that whoever comes later can undo it.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use model::json::{self, Layout};
use model::sorting::Order;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use sys::process::boot_id;

use super::item::Item;
use crate::refusal::{self, Refusal};

/// The version of a journal.
const FORMAT: u32 = 1;
/// Extension of a journal's name.
const ENDING: &str = "journal";
/// No journal is read beyond this.
const LARGEST: u64 = 16 << 20;

/// The first line of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    format: u32,
    /// Start of the machine: no change outlasts it.
    boot: String,
    /// Network namespace, in which alone a change can be undone.
    net: String,
    /// Process that holds it.
    pid: u32,
}

/// Any other line: a change that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    item: Item,
    before: String,
    to: String,
}

fn refused(step: &str, path: &Path) -> impl FnOnce(io::Error) -> Refusal {
    let remedy = "host-wide changes need a journal that lasts: set XDG_STATE_HOME to a directory that you can write";
    refusal::refused(format!("{step} {}", path.display()), remedy)
}

/// Somebody else changes this machine.
fn in_use(pid: u32, path: &Path) -> Refusal {
    let tried = "another study changes settings of this machine at this time";
    Refusal::new(format!("{tried} (process {pid}, journal {})", path.display()), "", "wait for its end")
}

/// A journal that is being written. Its lock says that a process undoes what is in it.
#[derive(Debug)]
pub struct Journal {
    file: Flock<File>,
    path: PathBuf,
}

/// Returns where journals are: `$XDG_STATE_HOME/nettoll`, or `~/.local/state/nettoll`.
///
/// # Errors
/// Neither variable is an absolute path.
pub fn directory() -> Result<PathBuf, Refusal> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || absolute("HOME").map(|home| home.join(".local/state"));
    absolute("XDG_STATE_HOME").or_else(home).map(|state| state.join("nettoll")).ok_or_else(|| {
        let tried = "there is no place for the journal of host-wide changes";
        Refusal::new(tried, "neither XDG_STATE_HOME nor HOME is an absolute path", "set one of them")
    })
}

impl Journal {
    /// Begins a journal.
    ///
    /// # Errors
    /// See [`Refusal`]: among them that of another study there is one already.
    pub fn create(directory: &Path) -> Result<Self, Refusal> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(refused("make the directory", directory))?;
        // A journal that would not be obeyed later is of no use.
        let found = fs::metadata(directory).map_err(refused("look at the directory", directory))?;
        if let Some(why) = sys::file_owner::other_writer(&found) {
            let tried = format!("keep a journal in {}", directory.display());
            return Err(Refusal::new(tried, why, "set XDG_STATE_HOME to a directory that only you can write"));
        }
        if let Some(path) = journals(directory).into_iter().next() {
            let pid = open_own(directory, &path).ok().and_then(|file| read(&file).ok().flatten()).map_or(0, |(head, _)| head.pid);
            return Err(if is_held(&path) {
                in_use(pid, &path)
            } else {
                let tried = format!("changes of an earlier study could not be undone (journal {})", path.display());
                Refusal::new(tried, "", "undo them by hand, then remove that file")
            });
        }
        let path = directory.join(format!("{}.{ENDING}", std::process::id()));
        let file = File::options().append(true).create_new(true).mode(0o600).open(&path).map_err(refused("make the journal", &path))?;
        let file = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| refused("lock", &path)(errno.into()))?;
        let mut journal = Self { file, path };
        journal.append(&Head { format: FORMAT, boot: boot_id(), net: namespace(), pid: std::process::id() })?;
        let others = journals(directory).into_iter().filter(|other| *other != journal.path);
        if let Some(other) = others.into_iter().next() {
            journal.finish()?;
            return Err(in_use(0, &other));
        }
        // The name, too, has to be there after a power cut.
        let synced = File::open(directory).and_then(|directory| directory.sync_all());
        synced.map_err(refused("sync the directory", directory))?;
        Ok(journal)
    }

    fn append(&mut self, line: &impl Serialize) -> Result<(), Refusal> {
        let mut text = json::write(line, Layout::COMPACT).map_err(io::Error::from).map_err(refused("write to", &self.path))?;
        text.push(b'\n');
        (&*self.file).write_all(&text).map_err(refused("write to", &self.path))?;
        self.file.sync_data().map_err(refused("sync", &self.path))
    }

    /// Notes a change that is about to be made; on the disk when this returns.
    ///
    /// # Errors
    /// What the system refused.
    pub fn note(&mut self, item: &Item, before: &str, to: &str) -> Result<(), Refusal> {
        self.append(&Line { item: item.clone(), before: before.to_owned(), to: to.to_owned() })
    }

    /// Everything is as it was: the journal is not needed any more.
    ///
    /// # Errors
    /// What the system refused.
    pub fn finish(self) -> Result<(), Refusal> {
        fs::remove_file(&self.path).map_err(refused("remove", &self.path))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Fate of the changes of a study whose processes are gone.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Changes undone, each in words.
    pub undone: Vec<String>,
    /// Changes left, each with the reason and a remedy.
    pub left: Vec<String>,
}

impl Recovered {
    /// Returns whether there was nothing to do.
    pub const fn is_empty(&self) -> bool {
        self.undone.is_empty() && self.left.is_empty()
    }
}

/// Undoes the changes of studies whose controllers and guards are gone. A journal
/// that another could have written is named and left alone.
pub fn recover(directory: &Path) -> Recovered {
    let mut recovered = Recovered::default();
    for path in journals(directory) {
        let left = |why: String| format!("{why} (journal {})", path.display());
        let file = match open_own(directory, &path) {
            Ok(file) => file,
            Err(why) => {
                recovered.left.push(left(why));
                continue;
            }
        };
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(held) => undo(&held, &path, &mut recovered, &left),
            // Its guard lives.
            Err((_, Errno::EWOULDBLOCK)) => {}
            Err((_, errno)) => recovered.left.push(left(format!("a journal of host-wide changes cannot be locked: {errno}"))),
        }
    }
    recovered
}

/// Opens a journal that only this user can have written: its values are
/// written to the kernel with this process's rights.
fn open_own(directory: &Path, path: &Path) -> Result<File, String> {
    let unopened = |answer: io::Error| {
        format!("a journal of host-wide changes cannot be opened ({answer}); run nettoll as the user who ran that study")
    };
    let file = sys::file::open_no_link(File::options().read(true), path).map_err(unopened)?;
    let found = [("its directory", fs::metadata(directory)), ("the journal", file.metadata())];
    for (what, metadata) in found {
        if let Some(why) = sys::file_owner::other_writer(&metadata.map_err(unopened)?) {
            return Err(format!(
                "a journal of host-wide changes is not obeyed: {what}: {why}; look at it, and remove it if it is not yours"
            ));
        }
    }
    Ok(file)
}

fn undo(file: &File, path: &Path, recovered: &mut Recovered, left: &dyn Fn(String) -> String) {
    if !path.exists() {
        // Its guard was done with it before the lock was had.
        return;
    }
    let (head, lines) = match read(file) {
        Ok(Some(read)) => read,
        // Killed before its first line was whole: nothing was changed.
        Ok(None) => (Head { format: FORMAT, boot: String::new(), net: String::new(), pid: 0 }, Vec::new()),
        Err(why) => return recovered.left.push(left(why)),
    };
    // What was changed is gone with the machine's last start.
    let stale = head.boot != boot_id();
    if !stale && !lines.is_empty() && head.net != namespace() {
        return recovered.left.push(left(format!(
            "host-wide changes of a study that was killed are still there in the network namespace {}; run nettoll there to undo them, \
             or remove the journal if that namespace is gone",
            head.net
        )));
    }
    let failures = recovered.left.len();
    if !stale {
        set_back(&lines, recovered);
    }
    if recovered.left.len() == failures
        && let Err(answer) = fs::remove_file(path)
    {
        recovered.left.push(left(format!("the journal could not be removed: {answer}")));
    }
}

/// Sets every item back to what it was before the first change, the last first.
fn set_back(lines: &[Line], recovered: &mut Recovered) {
    let mut first: BTreeMap<&Item, &str> = BTreeMap::new();
    let mut ours: BTreeMap<&Item, BTreeSet<&str>> = BTreeMap::new();
    let mut order = Vec::new();
    for Line { item, before, to } in lines {
        if !first.contains_key(item) {
            first.insert(item, before);
            order.push(item);
        }
        ours.entry(item).or_default().insert(to);
    }
    for item in order.into_iter().rev() {
        let before = first[item];
        let by_hand = || format!("; by hand: {}, then remove the journal", item.by_hand(before));
        match item.read() {
            Ok(now) if now == before => {}
            Ok(now) if !ours[item].contains(now.as_str()) => recovered
                .left
                .push(format!("{item} is {now}, which the killed study did not set: it was changed since, from {before}{}", by_hand())),
            Ok(now) => match item.write(before).and_then(|()| item.read()) {
                Ok(got) if got == before => recovered.undone.push(format!("{item}: {now} -> {before}")),
                Ok(got) => recovered.left.push(format!("{item} could not be set back to {before}: it is {got}{}", by_hand())),
                Err(error) => recovered.left.push(format!("{item} could not be set back to {before}: {error}{}", by_hand())),
            },
            Err(error) => recovered.left.push(format!("{item} was to be set back to {before}: {error}{}", by_hand())),
        }
    }
}

/// The journals of a directory; none where there is no such directory.
fn journals(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|ending| ending == ENDING)).collect();
    paths.order();
    paths
}

/// Returns whether somebody holds a journal.
fn is_held(path: &Path) -> bool {
    let Ok(file) = sys::file::open(path) else { return true };
    matches!(Flock::lock(file, FlockArg::LockExclusiveNonblock), Err((_, Errno::EWOULDBLOCK)))
}

/// A journal's head and its changes; `None` of one that has no whole line. Half
/// a line at its end is of a change that was not made.
fn read(file: &File) -> Result<Option<(Head, Vec<Line>)>, String> {
    parse(file, &boot_id())
}

/// The same of any text, on a machine whose start is `boot`.
fn parse(file: impl Read, boot: &str) -> Result<Option<(Head, Vec<Line>)>, String> {
    let unreadable = |why: String| format!("a journal of host-wide changes cannot be read: {why}; undo them by hand and remove it");
    let mut lines = BufReader::new(file.take(LARGEST)).split(b'\n').peekable();
    let Some(first) = lines.next() else { return Ok(None) };
    let first = first.map_err(|answer| unreadable(answer.to_string()))?;
    let head: Head = match serde_json::from_slice(&first) {
        Ok(head) => head,
        Err(_) if lines.peek().is_none() => return Ok(None),
        Err(error) => return Err(unreadable(error.to_string())),
    };
    if head.format != FORMAT {
        return Err(unreadable(format!("its format is {}, this nettoll knows {FORMAT}", head.format)));
    }
    let mut changes = Vec::new();
    if head.boot != boot {
        // A power cut may have left anything behind the first line, and the
        // changes are gone with it.
        return Ok(Some((head, changes)));
    }
    while let Some(line) = lines.next() {
        let line = line.map_err(|answer| unreadable(answer.to_string()))?;
        match serde_json::from_slice(&line) {
            Ok(change) => changes.push(change),
            Err(_) if lines.peek().is_none() => {}
            Err(error) => return Err(unreadable(error.to_string())),
        }
    }
    Ok(Some((head, changes)))
}

/// Returns the number of changes in the text of a journal, for fuzzing.
///
/// # Errors
/// What makes it unreadable.
pub fn changes(text: &[u8]) -> Result<usize, String> {
    Ok(parse(text, "")?.map_or(0, |(_, lines)| lines.len()))
}

/// This process's network namespace.
fn namespace() -> String {
    fs::read_link("/proc/self/ns/net").map_or_else(|_| String::new(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::{ENDING, Head, Item, Journal, Line, Recovered, boot_id, namespace, recover};

    /// An item that is as it was: a journal of it changes nothing of this machine.
    fn harmless() -> (Item, String) {
        let item = Item::Sysctl("net.ipv4.tcp_rmem".to_owned());
        let now = item.read().unwrap();
        (item, now)
    }

    #[test]
    fn one_that_somebody_else_could_have_written_is_left_alone() {
        let (item, now) = harmless();
        let line = Line { item, before: now, to: "1 2 3".to_owned() };
        let tried = |spoil: &dyn Fn(&std::path::Path, &std::path::Path)| {
            let directory = tempfile::tempdir().unwrap();
            written(directory.path(), &head(), std::slice::from_ref(&line), "");
            let path = directory.path().join(format!("1.{ENDING}"));
            spoil(directory.path(), &path);
            let recovered = recover(directory.path());
            assert!(fs::symlink_metadata(&path).is_ok(), "it is kept: {recovered:?}");
            assert!(recovered.undone.is_empty());
            recovered.left.concat()
        };
        let mode = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        assert!(tried(&|_, path| mode(path, 0o666)).contains("the journal: others can write it (mode 666)"));
        assert!(tried(&|directory, _| mode(directory, 0o777)).contains("its directory: others can write it (mode 777)"));
        let linked = tried(&|directory, path| {
            fs::rename(path, directory.join("elsewhere")).unwrap();
            std::os::unix::fs::symlink(directory.join("elsewhere"), path).unwrap();
        });
        assert!(linked.contains("cannot be opened"), "{linked}");
        if nix::unistd::geteuid().is_root() {
            let foreign = tried(&|_, path| std::os::unix::fs::chown(path, Some(65_534), None).unwrap());
            assert!(foreign.contains("the journal: it belongs to user 65534"), "{foreign}");
        }
    }

    fn written(directory: &std::path::Path, head: &Head, lines: &[Line], rest: &str) {
        let mut file = fs::File::create(directory.join(format!("1.{ENDING}"))).unwrap();
        writeln!(file, "{}", serde_json::to_string(head).unwrap()).unwrap();
        lines.iter().for_each(|line| writeln!(file, "{}", serde_json::to_string(line).unwrap()).unwrap());
        write!(file, "{rest}").unwrap();
    }

    fn head() -> Head {
        Head { format: super::FORMAT, boot: boot_id(), net: namespace(), pid: 1 }
    }

    #[test]
    fn a_journal_that_is_held_is_left_alone_and_keeps_others_out() {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(directory.path()).unwrap();
        let (item, now) = harmless();
        journal.note(&item, &now, "1 2 3").unwrap();
        assert_eq!(recover(directory.path()), Recovered::default());
        let refused = Journal::create(directory.path()).unwrap_err().to_string();
        assert!(
            refused.starts_with(&format!("another study changes settings of this machine at this time (process {},", std::process::id())),
            "{refused}"
        );
        journal.finish().unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn one_that_nobody_holds_is_undone_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let (item, now) = harmless();
        // Synced before its change was made, and then killed; a torn line behind it.
        let line = Line { item, before: now, to: "1 2 3".to_owned() };
        for (head, lines, rest) in [
            (head(), vec![line.clone()], "{\"item\":"),
            (Head { boot: "another".to_owned(), net: "net:[1]".to_owned(), ..head() }, vec![line], ""),
            (Head { net: "net:[1]".to_owned(), ..head() }, Vec::new(), ""),
        ] {
            written(directory.path(), &head, &lines, rest);
            assert_eq!(recover(directory.path()), Recovered::default());
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        }
        fs::write(directory.path().join(format!("2.{ENDING}")), "{\"form").unwrap();
        assert_eq!(recover(directory.path()), Recovered::default());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_cannot_be_undone_is_said_and_the_journal_kept() {
        let directory = tempfile::tempdir().unwrap();
        let (item, now) = harmless();
        let changed_since = Line { item, before: "7 8 9".to_owned(), to: "1 2 3".to_owned() };
        let none = Line { item: Item::Sysctl("net.ipv4.tcp_none".to_owned()), before: "1".to_owned(), to: "2".to_owned() };
        for (head, line, rest, says) in [
            (head(), &changed_since, "", format!("net.ipv4.tcp_rmem is {now}, which the killed study did not set")),
            (head(), &none, "", "sysctl -w net.ipv4.tcp_none='1'".to_owned()),
            (Head { net: "net:[1]".to_owned(), ..head() }, &none, "", "in the network namespace net:[1]".to_owned()),
            (Head { format: 9, ..head() }, &none, "", "its format is 9".to_owned()),
            (head(), &none, "nonsense\n{}\n", "cannot be read".to_owned()),
        ] {
            written(directory.path(), &head, std::slice::from_ref(line), rest);
            let recovered = recover(directory.path());
            assert!(recovered.undone.is_empty() && recovered.left.len() == 1 && recovered.left[0].contains(&says), "{says}: {recovered:?}");
            assert!(Journal::create(directory.path()).unwrap_err().to_string().starts_with("changes of an earlier study"));
        }
    }
}
