//! Making a virtual Ethernet pair.

use netlink_packet_core::{Emitable, NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage};
use nix::errno::Errno;

use super::{LinkError, guard, open};
use crate::host::namespace::Entered;

/// RTM_NEWLINK.
pub(super) const NEW_LINK: u16 = 16;

/// The hardware address of the end that stays with the maker: locally
/// administered, and the same in every run, so that each end can be told its
/// neighbour before either exists. The pair is a wire of its own.
pub const NEAR_MAC: [u8; 6] = [0x02, 0x6e, 0x74, 0x00, 0x00, 0x0a];

/// The hardware address of the end in the other host's namespace.
pub const FAR_MAC: [u8; 6] = [0x02, 0x6e, 0x74, 0x00, 0x00, 0x0b];

/// Makes a virtual Ethernet pair: `device` here with [`NEAR_MAC`], `far_device`
/// with [`FAR_MAC`] in the network namespace of process `far_pid`, in one step.
/// Both are down. With either of the two namespaces both devices vanish.
pub fn make_veth(entered: &Entered, device: &str, far_device: &str, far_pid: u32) -> Result<(), LinkError> {
    guard(entered, device)?;
    guard(entered, far_device)?;
    let message = pair(device, far_device, far_pid);
    let mut body = vec![0; message.buffer_len()];
    message.emit(&mut body);
    let tried = format!("making the virtual Ethernet pair '{device}' and '{far_device}' (RTM_NEWLINK, far end with process {far_pid})");
    open()?.ask(&tried, NEW_LINK, NLM_F_CREATE | NLM_F_EXCL, &body).map(drop).map_err(|source| {
        let remedy = remedy(source.errno());
        LinkError::Step { source, remedy }
    })
}

const fn remedy(errno: Option<Errno>) -> &'static str {
    match errno {
        Some(Errno::EOPNOTSUPP) => "the kernel has no veth devices (CONFIG_VETH, or 'modprobe veth' as root); use a loopback link",
        Some(Errno::EEXIST) => "the namespace has such a device already; run the study again",
        Some(Errno::ESRCH) => "the other host has ended; run the study again",
        Some(Errno::EPERM) => "both hosts must be set apart in the same way, in one user namespace",
        _ => "use a loopback link, or report this with the kernel's version",
    }
}

fn pair(device: &str, far_device: &str, far_pid: u32) -> LinkMessage {
    let mut far = LinkMessage::default();
    far.attributes = one_end(far_device, FAR_MAC);
    far.attributes.push(LinkAttribute::NetNsPid(far_pid));
    let mut near = LinkMessage::default();
    near.attributes = one_end(device, NEAR_MAC);
    near.attributes
        .push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth), LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(far)))]));
    near
}

fn one_end(device: &str, mac: [u8; 6]) -> Vec<LinkAttribute> {
    vec![
        LinkAttribute::IfName(device.to_owned()),
        LinkAttribute::Address(mac.to_vec()),
        // Newer kernels make as many queues as there are CPUs; which one a
        // flow takes would vary from run to run.
        LinkAttribute::NumTxQueues(1),
        LinkAttribute::NumRxQueues(1),
    ]
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::{Emitable, Parseable};
    use netlink_packet_route::link::LinkMessage;

    use super::{FAR_MAC, NEAR_MAC, pair};

    #[test]
    fn the_request_is_read_as_it_was_meant() {
        let message = pair("near0", "far0", 17);
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        assert_eq!(LinkMessage::parse(&bytes[..]).unwrap(), message);
    }

    #[test]
    fn the_addresses_are_local_and_of_one_receiver() {
        for mac in [NEAR_MAC, FAR_MAC] {
            assert_eq!(mac[0] & 3, 2);
        }
    }
}
