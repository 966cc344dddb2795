//! A full disk and a read-only one, each a small file system in a mount
//! namespace of its own.

use std::env;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

use crate::support::{STARTED, read, run, trial};
use model::Run;
use store::{RunDirectory, RunReader};

/// Set in the process that runs inside the namespace: the mounted directory.
const INSIDE: &str = "NETTOLL_TEST_MOUNT";

/// Runs the test `name` of this binary again with a tmpfs at hand, and says
/// whether that was possible here.
fn inside(name: &str, options: &str) -> Option<PathBuf> {
    if let Some(place) = env::var_os(INSIDE) {
        return Some(place.into());
    }
    let place = tempfile::tempdir().unwrap();
    let tmpfs = |command: &str| {
        let mut unshare = Command::new("unshare");
        unshare.args(["-rm", "sh", "-c", &format!("mount -t tmpfs -o {options} tmpfs \"$0\" && {command}")]).arg(place.path());
        unshare
    };
    match tmpfs("true").output() {
        Ok(tried) if tried.status.success() => {}
        Ok(tried) => {
            eprintln!("SKIPPED: {name}: no mount namespace here: {}", String::from_utf8_lossy(&tried.stderr).trim());
            return None;
        }
        Err(error) => {
            eprintln!("SKIPPED: {name}: unshare(1) cannot be run: {error}");
            return None;
        }
    }
    let program = env::current_exe().unwrap();
    let ran = tmpfs("exec \"$@\"")
        .arg(program)
        .args([&format!("disk::{name}"), "--exact", "--nocapture"])
        .env(INSIDE, place.path())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "the inner test must have run");
    None
}

#[test]
fn a_full_disk_keeps_whole_lines_and_goes_on_when_there_is_room() {
    let name = "a_full_disk_keeps_whole_lines_and_goes_on_when_there_is_room";
    let Some(place) = inside(name, "size=128k") else { return };
    let ballast = place.join("ballast");
    std::fs::write(&ballast, [0; 16 << 10]).unwrap();
    let mut directory = RunDirectory::create(&place.join("runs"), "quick", STARTED).unwrap();
    directory.write_run(&run(directory.id())).unwrap();
    let mut stored = 0;
    let error = loop {
        match directory.append_trial(&trial(stored)) {
            Ok(()) => stored += 1,
            Err(error) => break error,
        }
    };
    let text = error.to_string();
    assert!(text.contains("trials.jsonl: No space left on device") && text.contains("free space"), "{text}");
    assert_eq!(error.answer(), Some(ErrorKind::StorageFull));
    // The half line is gone, so that the next trial does not glue to it.
    let (good, bad) = read(directory.path());
    assert_eq!((good.len() as u64, bad), (stored, vec![]));

    // What does not fit leaves what was there.
    let large = "x".repeat(64 << 10);
    assert!(directory.write_run(&Run { tool: large.clone(), ..run(directory.id()) }).is_err());
    assert_eq!(RunReader::open(directory.path()).unwrap().run(), &run(directory.id()));
    assert!(store::write_report(directory.path(), &large).is_err() && !directory.path().join("report.html").exists());

    std::fs::remove_file(ballast).unwrap();
    directory.append_trial(&trial(stored)).unwrap();
    directory.sync().unwrap();
    let (good, bad) = read(directory.path());
    assert_eq!((good, bad), ((0..=stored).map(trial).collect(), vec![]));
}

#[test]
fn a_read_only_directory_is_named() {
    let name = "a_read_only_directory_is_named";
    let Some(place) = inside(name, "ro,size=64k") else { return };
    for root in [place.clone(), place.join("runs")] {
        let error = RunDirectory::create(&root, "quick", STARTED).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(place.to_str().unwrap()) && text.contains("Read-only file system"), "{text}");
        assert!(text.contains("keep runs in a directory that can be written"), "{text}");
    }
}

#[test]
fn a_directory_of_somebody_else_is_named() {
    let root = tempfile::tempdir().unwrap();
    let closed = root.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    let mut rights = std::fs::metadata(&closed).unwrap().permissions();
    rights.set_readonly(true);
    std::fs::set_permissions(&closed, rights).unwrap();
    if std::fs::write(closed.join("probe"), "").is_ok() {
        eprintln!("SKIPPED: a_directory_of_somebody_else_is_named: permissions do not bind this user (root)");
        return;
    }
    let text = RunDirectory::create(&closed, "quick", STARTED).unwrap_err().to_string();
    assert!(text.contains("Permission denied") && text.contains("closed"), "{text}");
}

#[test]
fn a_file_in_the_place_of_the_root_is_named() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("runs");
    std::fs::write(&file, "").unwrap();
    for place in [file.clone(), file.join("deeper")] {
        let text = RunDirectory::create(&place, "quick", STARTED).unwrap_err().to_string();
        assert!(text.contains("cannot make the directory") && text.contains("runs"), "{text}");
    }
}
