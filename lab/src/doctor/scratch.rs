//! Netlink requests tried in fresh namespaces, by this program in another role: only a process of one
//! thread may enter a user namespace, and the kernel removes what it made there when it ends.

use std::io::{self, Write};
use std::process::Command;
use std::time::Duration;

use model::control::Shape;
use model::{BitRate, choice};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Gid, Uid, geteuid, setgroups, setresgid, setresuid};
use sys::KernelRefusal;
use sys::netlink::{Channel, Protocol};

use crate::bounded::{self, Cut, Limits};
use crate::host::link;
use crate::host::netlink::bytes;
use crate::process::THIS_PROGRAM;

/// Starting a process and loading the modules of two requests takes well under a second.
const LIMITS: Limits = Limits { time: Duration::from_secs(2), bytes: Some(1_000), stop: None };

choice! {
    /// Namespaces in which requests are tried.
    Scratch, "a kind of scratch namespace" {
        /// A network namespace, with the caller's rights.
        Network = "network",
        /// A network namespace in a user namespace, which needs no rights outside it.
        User = "user",
        /// The same, made by `nobody`: what users other than the calling root get.
        Nobody = "nobody",
    }
}

/// The part of the attempt that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Starting the process.
    Start,
    /// Giving up root's rights.
    DropRights,
    /// Entering the namespaces.
    Unshare,
    /// Opening a netlink socket there.
    Netlink,
    /// The process did not answer in time, or died.
    Silence,
}

/// A namespace that could not be had.
#[derive(Debug)]
pub(super) struct ProbeRefusal {
    /// The step that was refused.
    pub step: Step,
    /// Answer of the system.
    pub answer: io::Error,
}

/// An answer to each request.
type Answers = Vec<io::Result<()>>;

/// The answers, where there were any.
pub(super) struct Findings {
    /// With the caller's rights: what root uses.
    pub with_rights: Result<Answers, ProbeRefusal>,
    /// Without: what everybody else uses.
    pub without_rights: Result<Answers, ProbeRefusal>,
}

impl Findings {
    /// Tries both ways to set a host apart, and each request in each.
    pub(super) fn gather() -> Self {
        Self { with_rights: ask(Scratch::Network), without_rights: without_rights() }
    }

    /// The way that a study by this user takes: root's where that is open.
    pub(super) const fn best(&self) -> Result<&Answers, &ProbeRefusal> {
        match (&self.with_rights, &self.without_rights) {
            (Ok(answers), _) | (Err(_), Ok(answers)) => Ok(answers),
            (Err(_), Err(refusal)) => Err(refusal),
        }
    }
}

/// Root asks on behalf of others, where it can: the root of a user namespace
/// may know no other user.
fn without_rights() -> Result<Answers, ProbeRefusal> {
    if is_root() {
        match ask(Scratch::Nobody) {
            Err(ProbeRefusal { step: Step::DropRights, .. }) => {}
            asked => return asked,
        }
    }
    ask(Scratch::User)
}

fn ask(scratch: Scratch) -> Result<Answers, ProbeRefusal> {
    match bounded::run(Command::new(THIS_PROGRAM).args(["__scratch", scratch.name()]), &LIMITS) {
        Ok(ran) => sort(&String::from_utf8_lossy(&ran.out)),
        Err(Cut::System(answer)) => Err(ProbeRefusal { step: Step::Start, answer }),
        Err(_) => Err(ProbeRefusal { step: Step::Silence, answer: io::ErrorKind::TimedOut.into() }),
    }
}

/// Distinguishes the codes of the steps from those of the requests.
fn sort(text: &str) -> Result<Answers, ProbeRefusal> {
    let mut answers = text.lines().map(|line| match line.parse() {
        Ok(0) => Ok(()),
        Ok(code) => Err(io::Error::from_raw_os_error(code)),
        Err(_) => Err(io::ErrorKind::InvalidData.into()),
    });
    for step in [Step::DropRights, Step::Unshare, Step::Netlink] {
        match answers.next() {
            Some(Ok(())) => {}
            Some(Err(answer)) => return Err(ProbeRefusal { step, answer }),
            None => return Err(ProbeRefusal { step: Step::Silence, answer: io::ErrorKind::UnexpectedEof.into() }),
        }
    }
    Ok(answers.collect())
}

/// Tries a link and a rate limit in namespaces of this process, and writes the errno of each step to standard output.
pub(super) fn answer(scratch: Scratch) -> io::Result<()> {
    say(drop_rights(scratch).map_err(io::Error::from))?;
    // Giving up rights would have cleared it.
    set_pdeathsig(Signal::SIGKILL)?;
    let user = if scratch == Scratch::Network { CloneFlags::empty() } else { CloneFlags::CLONE_NEWUSER };
    say(unshare(user | CloneFlags::CLONE_NEWNET).map_err(io::Error::from))?;
    let mut channel = say(Channel::open(Protocol::NetlinkRoute).map_err(io::Error::from))?;
    for Request { kind, flags, body } in [veth(), token_bucket()] {
        // A refusal is an answer.
        let _ = say(channel.ask("", kind, flags, &body).map_err(io::Error::from));
    }
    Ok(())
}

fn say<T>(answer: io::Result<T>) -> io::Result<T> {
    let code = |error| KernelRefusal::errno(error).filter(|code| *code > 0).unwrap_or(Errno::EPROTO as i32);
    writeln!(io::stdout(), "{}", answer.as_ref().err().map_or(0, code))?;
    answer
}

fn drop_rights(scratch: Scratch) -> nix::Result<()> {
    /// The id of `nobody` nearly everywhere.
    const NOBODY: u32 = 65_534;
    if scratch != Scratch::Nobody {
        return Ok(());
    }
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    setgroups(&[])?;
    setresgid(group, group, group)?;
    setresuid(user, user, user)
}

/// Returns whether the caller is root, here or in its user namespace.
pub(super) fn is_root() -> bool {
    geteuid().is_root()
}

/// A request of the kernel's routing family.
struct Request {
    kind: u16,
    flags: u16,
    body: Vec<u8>,
}

/// Makes a pair of virtual Ethernet devices, both in the namespace itself.
fn veth() -> Request {
    const NEW_LINK: u16 = 16;
    let pair = link::pair([("scratch0", link::NEAR_MAC), ("scratch1", link::FAR_MAC)], None);
    Request { kind: NEW_LINK, flags: NLM_F_CREATE | NLM_F_EXCL, body: bytes(&pair) }
}

/// Limits the namespace's loopback device to 10 Mbit/s, by the request that limits links.
fn token_bucket() -> Request {
    const LOOPBACK: u32 = 1;
    let shape = Shape { rate: BitRate::new(10_000_000), queue: None, least: 0 };
    Request { kind: link::NEW_DISCIPLINE, flags: NLM_F_CREATE | NLM_F_REPLACE, body: link::token_bucket(LOOPBACK, 1_500, shape) }
}

#[cfg(test)]
mod tests {
    use nix::errno::Errno;

    use super::{Step, sort};

    #[test]
    fn the_first_failing_step_is_named() {
        let refusal = sort("0\n1\n").unwrap_err();
        assert_eq!((refusal.step, refusal.answer.raw_os_error()), (Step::Unshare, Some(Errno::EPERM as i32)));
        assert_eq!(sort("0\n0\n").unwrap_err().step, Step::Silence);
        let answers = sort("0\n0\n0\n0\n2\n").unwrap();
        assert!(answers[0].is_ok() && answers[1].as_ref().unwrap_err().raw_os_error() == Some(Errno::ENOENT as i32));
    }
}
