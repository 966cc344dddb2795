//! apt, with lists of its own: the system's are neither read nor changed.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use model::sorting::Gather;

use super::names::{Package, parse_names};
use crate::cache::Cache;
use crate::error::Failed;

/// Releases of Debian that have kernels, the oldest first, each with its security and
/// backports where there are any. A suite that is not there is passed over.
const SUITES: [&str; 9] = [
    "bullseye",
    "bullseye-security",
    "bookworm",
    "bookworm-security",
    "bookworm-backports",
    "trixie",
    "trixie-security",
    "trixie-backports",
    "sid",
];

/// Keys of Debian's archives, where a system keeps them apart.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Only what Debian signed is fetched, whatever the system's configuration allows.
const SIGNED: [&str; 8] = [
    "-o",
    "APT::Get::AllowUnauthenticated=false",
    "-o",
    "Acquire::AllowInsecureRepositories=false",
    "-o",
    "Acquire::AllowWeakRepositories=false",
    "-o",
    "Acquire::AllowDowngradeToInsecureRepositories=false",
];

/// Longest time of a command of apt or dpkg: a kernel or an emulator over a slow line.
const LONGEST: Duration = Duration::from_secs(600);
/// Longest time for the lists of packages.
const LONGEST_UPDATE: Duration = Duration::from_secs(180);

/// A source that the system's configuration names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Source {
    uri: String,
    suite: String,
}

/// The lists of one purpose.
struct Lists {
    folder: PathBuf,
}

/// Kernels that the lists name; fetches the lists where there are none, or where `fresh`.
///
/// # Errors
/// There is no apt, or it cannot fetch them.
pub fn available(cache: &Cache, fresh: bool) -> Result<Vec<Package>, Failed> {
    cache.require_room()?;
    let sources = system_sources()?;
    let lists = Lists::open(cache, "kernels", &widened(&sources), Path::new("/dev/null"))?;
    lists.update(fresh)?;
    let pattern = "^linux-(image|binary|modules)-[0-9].*-cloud-amd64$";
    let output = run(lists.command("apt-cache", &["search", "--names-only", pattern]), "search for kernels", AGAIN)?;
    Ok(parse_names(&String::from_utf8_lossy(&output.stdout)))
}

/// Downloads one package into a folder. Returns the file.
pub fn download(cache: &Cache, name: &str, to: &Path) -> Result<PathBuf, Failed> {
    let lists = Lists { folder: cache.folder("lists")?.join("kernels") };
    let before: BTreeSet<PathBuf> = files(to);
    let mut command = lists.command("apt-get", &["-qq", "download", name]);
    command.current_dir(to);
    run(command, &format!("download {name}"), "choose another version, or try again when the network is back")?;
    files(to)
        .into_iter()
        .find(|file| !before.contains(file) && file.extension().is_some_and(|kind| kind == "deb"))
        .ok_or_else(|| Failed::Packages { what: format!("download {name}"), answer: "apt left no file".to_owned(), remedy: AGAIN })
}

/// Downloads the emulator and what the system lacks for it. Returns its version.
pub fn download_emulator(cache: &Cache, to: &Path) -> Result<String, Failed> {
    cache.require_room()?;
    let own = system_sources()?;
    let backports = own
        .iter()
        .find(|source| !source.suite.contains('-'))
        .map(|source| Source { uri: source.uri.clone(), suite: format!("{}-backports", source.suite) });
    let mut sources: BTreeSet<Source> = own.into_iter().into_set();
    sources.extend(backports.clone());
    let lists = Lists::open(cache, "emulator", &sources, Path::new("/var/lib/dpkg/status"))?;
    lists.update(false)?;
    fs::create_dir_all(to.join("partial")).map_err(Failed::file("make", to))?;
    let archives = format!("Dir::Cache::archives={}", to.display());
    let wanted = ["--no-install-recommends", "install", "qemu-system-x86"];
    // Only files are fetched: no lock of the system's is needed.
    let common = ["-qq", "-y", "--download-only", "-o", "Debug::NoLocking=1", "-o", &archives];
    let newest = backports.map(|source| ["-t".to_owned(), source.suite]).unwrap_or_default();
    let newest: Vec<&str> = newest.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    let fetch = |more: &[&str]| {
        let words = [&common[..], more, &wanted[..]].concat();
        run(lists.command("apt-get", &words), "download qemu-system-x86", "install qemu-system-x86 by hand")
    };
    fetch(&newest).or_else(|_| fetch(&[]))?;
    let named = |file: &PathBuf| {
        let name = file.file_name()?.to_string_lossy().into_owned();
        Some(name.strip_prefix("qemu-system-x86_")?.strip_suffix("_amd64.deb")?.replace("%3a", "_"))
    };
    files(to).iter().find_map(named).ok_or_else(|| Failed::Packages {
        what: "download qemu-system-x86".to_owned(),
        answer: "the system has it already".to_owned(),
        remedy: "use that one",
    })
}

/// What to do when apt failed.
const AGAIN: &str = "see whether the package source can be reached, then run it again";

impl Lists {
    fn open(cache: &Cache, purpose: &str, sources: &BTreeSet<Source>, status: &Path) -> Result<Self, Failed> {
        let folder = cache.folder("lists")?.join(purpose);
        for part in ["lists/partial", "cache/archives/partial", "parts"] {
            fs::create_dir_all(folder.join(part)).map_err(Failed::file("make", &folder))?;
        }
        let signed = if Path::new(KEYS).exists() { format!(" signed-by={KEYS}") } else { String::new() };
        let lines: String = sources.iter().map(|one| format!("deb [arch=amd64{signed}] {} {} main\n", one.uri, one.suite)).collect();
        let path = folder.display();
        let configuration = format!(
            "Dir::State \"{path}\";\nDir::State::lists \"{path}/lists\";\nDir::State::status \"{}\";\nDir::Cache \"{path}/cache\";\n\
             Dir::Etc::sourcelist \"{path}/sources.list\";\nDir::Etc::sourceparts \"{path}/parts\";\n\
             APT::Architecture \"amd64\";\nAPT::Architectures {{ \"amd64\"; }};\nAcquire::Languages \"none\";\n\
             APT::Sandbox::User \"root\";\nAcquire::Retries \"2\";\nAcquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n",
            status.display()
        );
        for (name, text) in [("sources.list", lines), ("apt.conf", configuration)] {
            let file = folder.join(name);
            fs::write(&file, text).map_err(Failed::file("write", &file))?;
        }
        Ok(Self { folder })
    }

    fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        // What stands here is above every file of the system's configuration.
        command.args(SIGNED).args(words).env("APT_CONFIG", self.folder.join("apt.conf")).env("LC_ALL", "C");
        command
    }

    /// Fetches the lists. A suite that is missing is passed over, as long as any is there.
    fn update(&self, fresh: bool) -> Result<(), Failed> {
        let mark = self.folder.join("updated");
        if mark.exists() && !fresh {
            return Ok(());
        }
        let updated = run_within(LONGEST_UPDATE, self.command("apt-get", &["-qq", "update"]), "fetch the lists of packages", AGAIN);
        let any = files(&self.folder.join("lists")).iter().any(|file| file.to_string_lossy().contains("_Packages"));
        match updated {
            Err(why) if !any => Err(why),
            _ => fs::write(&mark, "").map_err(Failed::file("write", &mark)),
        }
    }
}

/// The sources that the system's own configuration names.
fn system_sources() -> Result<BTreeSet<Source>, Failed> {
    let mut command = Command::new("apt-get");
    command.args(["indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"]).env("LC_ALL", "C");
    let what = "ask apt for its package sources";
    let output = run(command, what, "on other systems give a kernel of your own (--kernel ./vmlinuz) and install QEMU yourself")?;
    let sources = parse_sources(&String::from_utf8_lossy(&output.stdout));
    match sources.is_empty() {
        true => Err(Failed::Packages { what: what.to_owned(), answer: "it names none".to_owned(), remedy: "configure one" }),
        false => Ok(sources),
    }
}

/// Lines of address, suite and component.
fn parse_sources(text: &str) -> BTreeSet<Source> {
    let sound = |word: &&str| !word.is_empty() && !word.contains(['[', ']', '"', '$']);
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split(' ').filter(sound).collect();
        match words[..] {
            [uri, suite, "main"] => Some(Source { uri: uri.to_owned(), suite: suite.to_owned() }),
            _ => None,
        }
    };
    text.lines().filter_map(of_line).collect()
}

/// The same sources with every suite of [`SUITES`]: security suites where the system has
/// its own, the others where its release is.
fn widened(own: &BTreeSet<Source>) -> BTreeSet<Source> {
    let mut all = own.clone();
    let is_security = |source: &&Source| source.suite.ends_with("-security");
    let (main, security) = (own.iter().find(|source| !is_security(source)), own.iter().find(is_security));
    for suite in SUITES {
        let place = if suite.ends_with("-security") { security } else { main };
        all.extend(place.map(|source| Source { uri: source.uri.clone(), suite: suite.to_owned() }));
    }
    all
}

fn files(folder: &Path) -> BTreeSet<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Runs a command to its end.
///
/// # Errors
/// It cannot be started, takes longer than [`LONGEST`], or fails: with its last words.
pub fn run(command: Command, what: &str, remedy: &'static str) -> Result<Output, Failed> {
    run_within(LONGEST, command, what, remedy)
}

fn run_within(longest: Duration, mut command: Command, what: &str, remedy: &'static str) -> Result<Output, Failed> {
    let failed = |answer: String| Failed::Packages { what: what.to_owned(), answer, remedy };
    let program = command.get_program().display().to_string();
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| failed(format!("{program}: {error}")))?;
    let (said, output) = mpsc::channel();
    let pipes =
        [child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>), child.stderr.take().map(|pipe| Box::new(pipe) as _)];
    thread::spawn(move || {
        let readers = pipes.map(|pipe| thread::spawn(move || read_all(pipe)));
        let [out, err] = readers.map(|reader| reader.join().unwrap_or_default());
        let _ = said.send((out, err));
    });
    let Ok((stdout, stderr)) = output.recv_timeout(longest) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(failed(format!("{program} did not end within {} s and was stopped", longest.as_secs())));
    };
    let status = child.wait().map_err(|error| failed(format!("{program}: {error}")))?;
    let output = Output { status, stdout, stderr };
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = said.lines().filter(|line| !line.is_empty() && !line.starts_with("W:")).collect();
    Err(failed(last.iter().rev().take(2).rev().copied().collect::<Vec<_>>().join("; ")))
}

/// What a command says, of which there is little.
fn read_all(pipe: Option<Box<dyn Read + Send>>) -> Vec<u8> {
    let mut text = Vec::new();
    // What is read before an error is kept.
    let _ = pipe.map(|pipe| pipe.take(MOST_SAID).read_to_end(&mut text));
    text
}

/// Most bytes of a command's answer: the names of all kernels are some 100 KB.
const MOST_SAID: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::{Lists, SIGNED, parse_sources, run_within, widened};
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn only_what_is_signed_is_fetched_whatever_the_system_allows() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("apt.conf"), "APT::Get::AllowUnauthenticated \"true\";\n").unwrap();
        let lists = Lists { folder: folder.path().to_owned() };
        let words: Vec<_> = lists.command("apt-get", &["update"]).get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(words[..SIGNED.len()], SIGNED);
        let mut dump = lists.command("apt-config", &["dump", "APT::Get::AllowUnauthenticated"]);
        match dump.output() {
            Err(why) => eprintln!("SKIPPED: apt-config: {why}"),
            Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), "APT::Get::AllowUnauthenticated \"false\";\n"),
        }
    }

    #[test]
    fn a_command_without_an_end_is_stopped() {
        let begun = Instant::now();
        let mut command = Command::new("sleep");
        command.arg("60");
        let why = run_within(Duration::from_millis(200), command, "wait", "wait longer").unwrap_err().to_string();
        assert!(why.contains("wait: sleep did not end within 0 s and was stopped; wait longer"), "{why}");
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn sources_are_the_systems_own_and_other_releases() {
        let own = parse_sources(
            "http://mirror.example/debian/ bookworm main\nhttp://mirror.example/debian/ bookworm contrib\n\
             http://mirror.example/security/ bookworm-security main\nx [evil] main\n\n",
        );
        assert_eq!(own.len(), 2);
        let all = widened(&own);
        let has = |uri: &str, suite: &str| all.iter().any(|one| one.uri.ends_with(uri) && one.suite == suite);
        assert!(has("/debian/", "trixie-backports") && has("/security/", "trixie-security") && !has("/debian/", "trixie-security"));
        assert!(widened(&parse_sources("")).is_empty());
    }
}
