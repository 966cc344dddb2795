//! Isolation of a host process.
//!
//! The namespaces are unnamed: they live as long as a process in them, so a
//! killed run leaves nothing behind. `/proc/sys/net` and `/proc/net` show the
//! namespace of their reader, so that no mount is needed; the kernel lets root
//! of the owning user namespace write the former.

mod refusal;

use std::fs::File;
use std::path::Path;

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{getegid, geteuid};

use super::facts::read_sysctls;
use super::link;
use crate::refusal::Refusal;

pub use super::entered::{Entered, Isolation};
use refusal::remedy;

/// A step that the system may refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Making a user namespace.
    User,
    /// Writing its maps.
    Maps,
    /// Entering another process's user namespace.
    Join,
    /// Making a network namespace.
    Network,
}

/// Sets the calling process apart; where that fails, it may be half-way and must end.
/// To be called first of all, while the process has one thread: the kernel refuses a
/// new user namespace to a process with more, and threads started earlier would stay
/// in the old network.
pub fn enter(isolation: Isolation) -> Result<Entered, Refusal> {
    let entered = Entered::new(isolation, read_sysctls());
    match isolation {
        Isolation::None => return Ok(entered),
        Isolation::Network => {}
        Isolation::UserAndNetwork => new_user_namespace()?,
        Isolation::JoinUser { pid } => join_user_namespace(pid)?,
    }
    unshare(CloneFlags::CLONE_NEWNET).map_err(refused(Step::Network, "making a network namespace (unshare CLONE_NEWNET)"))?;
    link::bring_up_loopback().map_err(crate::refusal::refused("bringing up 'lo' in the new network namespace", ""))?;
    Ok(entered)
}

fn new_user_namespace() -> Result<(), Refusal> {
    // Read before: inside, the caller is nobody until the maps are written.
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(refused(Step::User, "making a user namespace (unshare CLONE_NEWUSER)"))?;
    // A group may be mapped without privilege only after setgroups is denied.
    // Kernels before 3.19 have no such file, and need none.
    match write("/proc/self/setgroups", "deny") {
        Err(Errno::ENOENT) => {}
        answer => answer.map_err(refused(Step::Maps, "denying setgroups in the user namespace (/proc/self/setgroups)"))?,
    }
    write("/proc/self/uid_map", &format!("0 {user} 1")).map_err(refused(Step::Maps, "mapping the user to root (/proc/self/uid_map)"))?;
    write("/proc/self/gid_map", &format!("0 {group} 1")).map_err(refused(Step::Maps, "mapping the group to root (/proc/self/gid_map)"))
}

fn join_user_namespace(pid: u32) -> Result<(), Refusal> {
    let path = format!("/proc/{pid}/ns/user");
    let tried = format!("entering the user namespace of process {pid} (setns {path})");
    let file = File::open(&path).map_err(|error| refused(Step::Join, &tried)(errno_of(&error)))?;
    setns(file, CloneFlags::CLONE_NEWUSER).map_err(refused(Step::Join, &tried))
}

fn write(path: impl AsRef<Path>, text: &str) -> Result<(), Errno> {
    // Not fs::write: these files must not be truncated or created.
    let mut file = File::options().write(true).open(path).map_err(|error| errno_of(&error))?;
    std::io::Write::write_all(&mut file, text.as_bytes()).map_err(|error| errno_of(&error))
}

fn errno_of(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

fn refused(step: Step, tried: &str) -> impl FnOnce(Errno) -> Refusal {
    move |errno| Refusal::new(tried, format!("the system answered {errno}"), remedy(step, errno, &refusal::read_limit))
}

#[cfg(test)]
mod tests {
    use super::{Isolation, enter};

    #[test]
    fn no_isolation_enters_nothing() {
        let before = std::fs::read_link("/proc/self/ns/net").unwrap();
        let entered = enter(Isolation::None).unwrap();
        assert_eq!((entered.is_isolated(), entered.describe()), (false, "this machine"));
        assert_eq!(std::fs::read_link("/proc/self/ns/net").unwrap(), before);
    }

    #[test]
    fn the_user_namespace_of_nobody_cannot_be_joined() {
        // Process ids end at 4,194,304.
        let error = enter(Isolation::JoinUser { pid: 4_194_305 }).unwrap_err().to_string();
        assert!(error.contains("/proc/4194305/ns/user") && error.contains("ENOENT"), "{error}");
    }
}
