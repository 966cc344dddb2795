//! Netlink requests tried in namespaces of a child process, and the answers.

use std::io;
use std::time::Duration;

use netlink_packet_core::{DefaultNla, Emitable, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader};
use nix::unistd::geteuid;
use profile::probe::scratch::{Isolation, Refusal, Step, ask};

use crate::host::netlink::{emit, nest, text};

/// Loading the modules of a few queueing disciplines takes well under a second.
const LIMIT: Duration = Duration::from_secs(2);

/// The answers, where there were any.
pub(super) struct Findings {
    /// With the caller's rights: what root uses.
    pub with_rights: Result<Vec<io::Result<()>>, Refusal>,
    /// Without: what everybody else uses.
    pub without_rights: Result<Vec<io::Result<()>>, Refusal>,
}

impl Findings {
    /// Tries both ways to set a host apart, and each request in each.
    pub(super) fn gather(requests: &[Request]) -> Self {
        Self { with_rights: ask(Isolation::Network, requests, LIMIT), without_rights: without_rights(requests) }
    }

    /// The way that a study by this user takes: root's where that is open.
    pub(super) const fn best(&self) -> Result<&Vec<io::Result<()>>, &Refusal> {
        match (&self.with_rights, &self.without_rights) {
            (Ok(answers), _) | (Err(_), Ok(answers)) => Ok(answers),
            (Err(_), Err(refusal)) => Err(refusal),
        }
    }
}

/// Root asks on behalf of others, where it can: the root of a user namespace
/// may know no other user.
fn without_rights(requests: &[Request]) -> Result<Vec<io::Result<()>>, Refusal> {
    if is_root() {
        match ask(Isolation::UserAndNetworkOfNobody, requests, LIMIT) {
            Err(Refusal { step: Step::DropRights, .. }) => {}
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
    const NAME: u16 = 3;
    const LINK_INFO: u16 = 18;
    const KIND: u16 = 1;
    const DATA: u16 = 2;
    const PEER: u16 = 1;
    // `struct ifinfomsg`: nothing in it needs to be said.
    let link = |attributes: &[DefaultNla]| [vec![0; 16], emit(attributes)].concat();
    let peer = DefaultNla::new(PEER, link(&[text(NAME, "scratch1")]));
    let info = nest(LINK_INFO, &[text(KIND, "veth"), nest(DATA, &[peer])]);
    message(NEW_LINK, NLM_F_CREATE | NLM_F_EXCL, link(&[text(NAME, "scratch0"), info]))
}

/// Puts a queueing discipline on the namespace's loopback device, in place of
/// the one before.
pub(super) fn discipline(kind: &str, options: Option<DefaultNla>) -> Request {
    const NEW_DISCIPLINE: u16 = 36;
    const KIND: u16 = 1;
    const LOOPBACK: i32 = 1;
    // Under a handle that is taken, another kind would be an impossible change.
    const ANY_HANDLE: u32 = 0;
    const ROOT: u32 = u32::MAX;
    // `struct tcmsg`: family, device, handle, parent, unused.
    let mut body = vec![0; 4];
    body.extend(LOOPBACK.to_ne_bytes());
    body.extend([ANY_HANDLE, ROOT, 0].into_iter().flat_map(u32::to_ne_bytes));
    let attributes: Vec<DefaultNla> = std::iter::once(text(KIND, kind)).chain(options).collect();
    body.extend(emit(&attributes));
    message(NEW_DISCIPLINE, NLM_F_CREATE | NLM_F_REPLACE, body)
}

/// The attribute that holds the options of a discipline.
pub(super) const OPTIONS: u16 = 2;

/// 10 Mbit/s, as a token bucket: `struct tc_tbf_qopt`.
pub(super) fn token_bucket() -> DefaultNla {
    const PARAMETERS: u16 = 1;
    const ETHERNET: u8 = 1;
    const BYTES_PER_SECOND: u32 = 1_250_000;
    // `struct tc_ratespec`; with the kind of link named it needs no rate table.
    let mut value = vec![0, ETHERNET, 0, 0, 0, 0, 0, 0];
    value.extend(BYTES_PER_SECOND.to_ne_bytes());
    // No peak rate.
    value.extend([0; 12]);
    // Limit in bytes, bucket in the kernel's ticks of 64 ns (1.28 ms), no packet size for a peak.
    value.extend([64_000_u32, 20_000, 0].into_iter().flat_map(u32::to_ne_bytes));
    nest(OPTIONS, &[DefaultNla::new(PARAMETERS, value)])
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

fn message(kind: u16, flags: u16, body: Vec<u8>) -> Request {
    let mut header = NetlinkHeader::default();
    let mut bytes = vec![0; header.buffer_len()];
    // No message here comes near the limits of a u32.
    header.length = u32::try_from(bytes.len() + body.len()).unwrap_or(u32::MAX);
    header.message_type = kind;
    header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    header.emit(&mut bytes);
    bytes.extend(body);
    bytes
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
