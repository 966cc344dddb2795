//! Netlink requests tried in namespaces of a child process, and the answers.

use std::io;
use std::time::Duration;

use model::BitRate;
use model::control::Shape;
use netlink_packet_core::{DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST};
use nix::unistd::geteuid;
use profile::probe::scratch::{Isolation, ProbeRefusal, Step, ask};

use crate::host::link;
use crate::host::netlink::{bytes, emit, nest, text};
use sys::netlink::frame;

/// Loading the modules of a few queueing disciplines takes well under a second.
const LIMIT: Duration = Duration::from_secs(2);

/// The answers, where there were any.
pub(super) struct Findings {
    /// With the caller's rights: what root uses.
    pub with_rights: Result<Vec<io::Result<()>>, ProbeRefusal>,
    /// Without: what everybody else uses.
    pub without_rights: Result<Vec<io::Result<()>>, ProbeRefusal>,
}

impl Findings {
    /// Tries both ways to set a host apart, and each request in each.
    pub(super) fn gather(requests: &[Request]) -> Self {
        Self { with_rights: ask(Isolation::Network, requests, LIMIT), without_rights: without_rights(requests) }
    }

    /// The way that a study by this user takes: root's where that is open.
    pub(super) const fn best(&self) -> Result<&Vec<io::Result<()>>, &ProbeRefusal> {
        match (&self.with_rights, &self.without_rights) {
            (Ok(answers), _) | (Err(_), Ok(answers)) => Ok(answers),
            (Err(_), Err(refusal)) => Err(refusal),
        }
    }
}

/// Root asks on behalf of others, where it can: the root of a user namespace
/// may know no other user.
fn without_rights(requests: &[Request]) -> Result<Vec<io::Result<()>>, ProbeRefusal> {
    if is_root() {
        match ask(Isolation::UserAndNetworkOfNobody, requests, LIMIT) {
            Err(ProbeRefusal { step: Step::DropRights, .. }) => {}
            asked => return asked,
        }
    }
    ask(Isolation::UserAndNetwork, requests, LIMIT)
}

/// Returns whether the caller is root, here or in its user namespace.
pub(super) fn is_root() -> bool {
    geteuid().is_root()
}

/// A whole message, as `profile::probe::scratch` sends it.
pub(super) type Request = Vec<u8>;

/// Makes a pair of virtual Ethernet devices, both in the namespace itself.
pub(super) fn veth() -> Request {
    const NEW_LINK: u16 = 16;
    let pair = link::pair([("scratch0", link::NEAR_MAC), ("scratch1", link::FAR_MAC)], None);
    message(NEW_LINK, NLM_F_CREATE | NLM_F_EXCL, &bytes(&pair))
}

/// Puts a queueing discipline on the namespace's loopback device, in place of
/// the one before.
pub(super) fn discipline(kind: &str, options: Option<DefaultNla>) -> Request {
    const NEW_DISCIPLINE: u16 = 36;
    const KIND: u16 = 1;
    const LOOPBACK: u32 = 1;
    // Under a handle that is taken, another kind would be an impossible change.
    const ANY_HANDLE: u32 = 0;
    const ROOT: u32 = u32::MAX;
    let mut body = link::traffic_message(LOOPBACK, ANY_HANDLE, ROOT, 0);
    let attributes: Vec<DefaultNla> = std::iter::once(text(KIND, kind)).chain(options).collect();
    body.extend(emit(&attributes));
    message(NEW_DISCIPLINE, NLM_F_CREATE | NLM_F_REPLACE, &body)
}

/// The attribute that holds the options of a discipline.
pub(super) const OPTIONS: u16 = 2;

/// 10 Mbit/s, as a token bucket, told as links are shaped.
pub(super) fn token_bucket() -> DefaultNla {
    let shape = Shape { rate: BitRate::new(10_000_000), queue: None, least: 0 };
    nest(OPTIONS, &link::bucket(1_500, shape))
}

/// No delay and no loss: `struct tc_netem_qopt`, of which only the queue's
/// length is said.
pub(super) fn no_impairment() -> DefaultNla {
    let value = [0_u32, 1000, 0, 0, 0, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
    DefaultNla::new(OPTIONS, value)
}

/// A tree without branches: `struct tc_htb_glob`.
pub(super) fn token_tree() -> DefaultNla {
    const INIT: u16 = 2;
    const VERSION: u32 = 3;
    let value = [VERSION, 10, 0, 0, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
    nest(OPTIONS, &[DefaultNla::new(INIT, value)])
}

fn message(kind: u16, flags: u16, body: &[u8]) -> Request {
    frame(kind, NLM_F_REQUEST | NLM_F_ACK | flags, 0, body)
}

#[cfg(test)]
mod tests {
    use super::{discipline, no_impairment, token_bucket, token_tree, veth};

    #[test]
    fn a_message_says_its_own_length() {
        let messages =
            [veth(), discipline("fq", None), discipline("tbf", Some(token_bucket())), discipline("netem", Some(no_impairment()))];
        for message in messages.iter().chain([&discipline("htb", Some(token_tree()))]) {
            assert_eq!(message[..4], u32::try_from(message.len()).unwrap().to_ne_bytes());
            assert_eq!(message.len() % 4, 0);
        }
    }
}
