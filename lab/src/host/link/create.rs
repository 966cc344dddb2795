//! Making a virtual Ethernet pair.

use model::control::WireEnd;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage};
use nix::errno::Errno;

use super::change::NEW_LINK;
use super::{change, guard, open, state};
use crate::host::entered::Entered;
use crate::host::netlink::{bytes, refused};
use crate::refusal::Refusal;
use sys::netlink::Channel;

/// The hardware address of the end that stays with the maker: locally
/// administered, and the same in every run, so that each end can be told its
/// neighbour before either exists. The pair is a wire of its own.
pub const NEAR_MAC: [u8; 6] = [0x02, 0x6e, 0x74, 0x00, 0x00, 0x0a];

/// The hardware address of the end in the other host's namespace.
pub const FAR_MAC: [u8; 6] = [0x02, 0x6e, 0x74, 0x00, 0x00, 0x0b];

/// Makes a virtual Ethernet pair: `device` here with [`NEAR_MAC`], `far_device`
/// with [`FAR_MAC`] in the network namespace of process `far_pid`, in one step.
/// Both are down. With either of the two namespaces both devices vanish.
pub fn make_veth(entered: &Entered, device: &str, far_device: &str, far_pid: u32) -> Result<(), Refusal> {
    make_pair(entered, &mut open()?, [(device, NEAR_MAC), (far_device, FAR_MAC)], Some(far_pid))
}

/// Makes a virtual Ethernet pair, each end with its name and hardware address:
/// the first here, the second with process `far_pid`, or here as well.
pub(super) fn make_pair(entered: &Entered, channel: &mut Channel, ends: [(&str, [u8; 6]); 2], far_pid: Option<u32>) -> Result<(), Refusal> {
    let [(device, _), (far_device, _)] = ends;
    guard(entered, device)?;
    guard(entered, far_device)?;
    let place = far_pid.map_or(String::new(), |pid| format!(", far end with process {pid}"));
    let tried = format!("making the virtual Ethernet pair '{device}' and '{far_device}' (RTM_NEWLINK{place})");
    make(channel, &tried, &pair(ends, far_pid), remedy)
}

/// Takes a device of this namespace, which must be down, to its host, under the
/// name and with the address that it is to have there.
pub fn give_away(entered: &Entered, device: &str, end: &WireEnd) -> Result<(), Refusal> {
    guard(entered, device)?;
    guard(entered, &end.device)?;
    let mut channel = open()?;
    let index = state::read(&mut channel, device)?.index;
    change::take_to(&mut channel, device, index, end)
}

/// Makes a bridge without ports.
pub(super) fn make_bridge(entered: &Entered, channel: &mut Channel, device: &str) -> Result<(), Refusal> {
    guard(entered, device)?;
    let tried = format!("making the bridge '{device}' (RTM_NEWLINK)");
    make(channel, &tried, &of_kind(device, InfoKind::Bridge), |errno| match errno {
        Some(Errno::EOPNOTSUPP) => "the kernel has no bridges (CONFIG_BRIDGE, or 'modprobe bridge' as root); use an ethernet or relay link",
        other => remedy(other),
    })
}

/// Makes a device to which what others receive can be redirected.
pub(super) fn make_ifb(entered: &Entered, channel: &mut Channel, device: &str) -> Result<(), Refusal> {
    guard(entered, device)?;
    let tried = format!("making the intermediate device '{device}' (RTM_NEWLINK ifb)");
    make(channel, &tried, &of_kind(device, InfoKind::Ifb), |errno| match errno {
        Some(Errno::EOPNOTSUPP) => "the kernel has no ifb devices (CONFIG_IFB, or 'modprobe ifb' as root); use 'relay RATE medium=shared'",
        other => remedy(other),
    })
}

fn make(channel: &mut Channel, tried: &str, message: &LinkMessage, remedy: impl Fn(Option<Errno>) -> &'static str) -> Result<(), Refusal> {
    let made = channel.ask(tried, NEW_LINK, NLM_F_CREATE | NLM_F_EXCL, &bytes(message));
    made.map(drop).map_err(|error| refused(remedy(error.errno()))(error))
}

fn of_kind(device: &str, kind: InfoKind) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.attributes = vec![LinkAttribute::IfName(device.to_owned()), LinkAttribute::LinkInfo(vec![LinkInfo::Kind(kind)])];
    message
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

pub(crate) fn pair([near_end, far_end]: [(&str, [u8; 6]); 2], far_pid: Option<u32>) -> LinkMessage {
    let mut far = LinkMessage::default();
    far.attributes = one_end(far_end.0, far_end.1);
    far.attributes.extend(far_pid.map(LinkAttribute::NetNsPid));
    let mut near = LinkMessage::default();
    near.attributes = one_end(near_end.0, near_end.1);
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
        let message = pair([("near0", NEAR_MAC), ("far0", FAR_MAC)], Some(17));
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
