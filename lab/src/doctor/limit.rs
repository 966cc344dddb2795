//! Limits set by the administrator, and room on the disk.

use std::env;

use model::check::{Area, Check, Need};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};

use super::answer::{Subject, said, setting};

/// A study has a few dozen files open at a time.
const FEWEST_FILES: u64 = 128;

/// An endpoint of the most flows that there can be (1,024), with a socket each
/// way and room for what a study has open next to them.
const FILES_OF_MANY_FLOWS: u64 = 2 * 1_024 + FEWEST_FILES;

/// A run of `quick` takes about 1 MB; a large one stays below this.
const LEAST_ROOM: u64 = 64 << 20;

pub(super) fn checks() -> Vec<Check> {
    let subject = |name, need| Subject { area: Area::Limits, name, need };
    let buffers = |name, key| {
        let value = setting(key).map(|value| format!("{value} B"));
        subject(name, Need::Useful).outcome(key, value, |_| {
            "Only the machine's first network namespace shows it: look there. Options that the kernel does not take are reported."
                .to_owned()
        })
    };
    vec![
        open_files(subject("open files", Need::Useful), FEWEST_FILES),
        open_files(subject("open files for 1,024 flows", Need::Optional), FILES_OF_MANY_FLOWS),
        locked_memory(subject("locked memory", Need::Optional)),
        buffers("largest SO_RCVBUF", "net.core.rmem_max"),
        buffers("largest SO_SNDBUF", "net.core.wmem_max"),
        namespaces(subject("user namespaces", Need::Useful), "user.max_user_namespaces"),
        namespaces(subject("network namespaces", Need::Useful), "user.max_net_namespaces"),
        room(subject("room for runs", Need::Useful)),
    ]
}

fn open_files(subject: Subject, fewest: u64) -> Check {
    const TRIED: &str = "getrlimit(RLIMIT_NOFILE)";
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((soft, hard)) if soft >= fewest => subject.present(format!("{} (at most {})", amount(soft), amount(hard))),
        Ok((soft, _)) => subject.absent(format!("{TRIED}: {soft}"), format!("Raise it: `ulimit -n {fewest}` or more.")),
        Err(errno) => subject.absent(said(TRIED, &errno.into()), "A sandbox seems to filter limits: run nettoll outside it."),
    }
}

fn locked_memory(subject: Subject) -> Check {
    const TRIED: &str = "getrlimit(RLIMIT_MEMLOCK)";
    match getrlimit(Resource::RLIMIT_MEMLOCK) {
        Ok((RLIM_INFINITY, _)) => subject.present("unlimited"),
        Ok((0, _)) => subject.absent(format!("{TRIED}: 0"), "Raise it: `ulimit -l 8192`. Sample buffers and registered buffers need some."),
        Ok((soft, _)) => subject.present(format!("{} KiB", soft >> 10)),
        Err(errno) => subject.absent(said(TRIED, &errno.into()), "A sandbox seems to filter limits: run nettoll outside it."),
    }
}

fn amount(limit: u64) -> String {
    if limit == RLIM_INFINITY { "unlimited".to_owned() } else { limit.to_string() }
}

fn namespaces(subject: Subject, name: &str) -> Check {
    match setting(name).as_deref() {
        Ok("0") => subject.absent(format!("{name} is 0"), format!("`sysctl {name}=10000` as root.")),
        Ok(limit) => subject.present(format!("at most {limit}")),
        Err(error) => subject.absent(said(name, error), "Is /proc/sys hidden (a container)? The checks of namespaces say what works."),
    }
}

/// Returns whether a run can be kept below the current directory.
fn room(subject: Subject) -> Check {
    const ELSEWHERE: &str = "Keep runs in a directory that can be written and has room.";
    let Ok(place) = env::current_dir() else {
        return subject.absent("getcwd: ENOENT (the current directory is gone)", "Change to a directory that exists.");
    };
    let shown = place.display();
    if let Err(errno) = access(&place, AccessFlags::W_OK) {
        let answer = said(&format!("access({shown}, W_OK)"), &errno.into());
        return subject.absent(answer, ELSEWHERE);
    }
    match statvfs(&place) {
        Ok(disk) => {
            // Their width differs between platforms.
            #[allow(clippy::useless_conversion)]
            let free = u64::from(disk.blocks_available()).saturating_mul(u64::from(disk.fragment_size()));
            match free {
                LEAST_ROOM.. => subject.present(format!("{} MiB free in {shown}", free >> 20)),
                _ => subject.absent(format!("statvfs({shown}): {} MiB free", free >> 20), format!("Free space there. {ELSEWHERE}")),
            }
        }
        Err(errno) => subject.absent(said(&format!("statvfs({shown})"), &errno.into()), ELSEWHERE),
    }
}
