//! Shaping: a device sends no faster than a wire, each frame charged as on an
//! Ethernet.
//!
//! The kernel's token bucket (`tbf`) does it, told what a frame costs beyond
//! the bytes that it counts (`overhead`) and what the least frame costs
//! (`mpu`). Its bucket holds a little more than a frame, so that a timer that
//! comes late costs no time, and a transfer has no head start to speak of.

use linksim::frame::{HEADER, LEAST_COST, OVERHEAD};
use model::control::Shape;
use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_REPLACE};
use nix::errno::Errno;

use super::change;
use crate::host::netlink::{emit, nest, refused, text};
use crate::refusal::Refusal;
use sys::netlink::{Channel, NetlinkError};

/// RTM_NEWQDISC.
pub(crate) const NEW_DISCIPLINE: u16 = 36;
/// TCA_KIND and TCA_OPTIONS.
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
/// TC_H_ROOT.
const ROOT: u32 = u32::MAX;
/// TC_H_CLSACT as parent, and its handle.
const CLSACT: u32 = 0xffff_fff1;
const CLSACT_HANDLE: u32 = 0xffff_0000;

/// Bytes that may wait where the plan does not say: more than any send buffer
/// that a system allows, so that the socket fills before the queue.
const AMPLE: u32 = 1 << 30;

/// Size of the bucket beyond a frame, as a time: the delay of a late timer.
const SLACK_NS: u64 = 200_000;

/// `struct tcmsg`: family, device, handle, parent, and what depends on the message.
pub(super) fn traffic_message(index: u32, handle: u32, parent: u32, info: u32) -> Vec<u8> {
    let mut body = vec![0; 4];
    body.extend([index, handle, parent, info].into_iter().flat_map(u32::to_ne_bytes));
    body
}

/// Lets the device send no faster than `shape` says, and hand its queue single
/// frames only. Its offloads must be off: a packet that stands for several
/// frames would be charged as one.
pub(super) fn limit(channel: &mut Channel, device: &str, index: u32, mtu: u32, shape: Shape) -> Result<(), Refusal> {
    change::single_frames(channel, device, index)?;
    let tried = format!("limiting '{device}' to {} (RTM_NEWQDISC tbf)", shape.rate);
    let limited = channel.ask(&tried, NEW_DISCIPLINE, NLM_F_CREATE | NLM_F_REPLACE, &token_bucket(index, mtu, shape));
    limited.map(drop).map_err(|error| refused(remedy(error.errno()))(error))
}

const fn remedy(errno: Option<Errno>) -> &'static str {
    match errno {
        Some(Errno::ENOENT | Errno::EOPNOTSUPP) => {
            "the kernel has no token bucket (CONFIG_NET_SCH_TBF, or 'modprobe sch_tbf' as root); a link without a rate needs none"
        }
        _ => "use a link without a rate, or report this with the kernel's version",
    }
}

/// The body of a [`NEW_DISCIPLINE`] request that puts a token bucket on a device.
pub(crate) fn token_bucket(index: u32, mtu: u32, shape: Shape) -> Vec<u8> {
    let mut body = traffic_message(index, 0, ROOT, 0);
    body.extend(emit(&[text(KIND, "tbf"), nest(OPTIONS, &bucket(mtu, shape))]));
    body
}

/// The options of a token bucket: `struct tc_tbf_qopt`, and what does not fit it.
fn bucket(mtu: u32, shape: Shape) -> Vec<DefaultNla> {
    const PARAMETERS: u16 = 1;
    const RATE64: u16 = 4;
    const BURST: u16 = 6;
    // TC_LINKLAYER_ETHERNET: with it named, the kernel needs no table of times.
    const ETHERNET: u8 = 1;
    let bytes_per_s = shape.rate.get().div_ceil(8).max(1);
    let least = shape.least.max(LEAST_COST).min(u32::from(u16::MAX));
    // `struct tc_ratespec`: the two 16-bit numbers are overhead and least.
    let mut value = vec![0, ETHERNET];
    value.extend((OVERHEAD as u16).to_ne_bytes());
    value.extend(0_i16.to_ne_bytes());
    value.extend((least as u16).to_ne_bytes());
    value.extend(u32::try_from(bytes_per_s).unwrap_or(u32::MAX).to_ne_bytes());
    // No peak rate.
    value.extend([0; 12]);
    let queue = shape.queue.map_or(AMPLE, |queue| u32::try_from(queue.get()).unwrap_or(u32::MAX));
    // The bucket's size in ticks, of which the attribute below takes the place.
    value.extend([queue, 0, 0].into_iter().flat_map(u32::to_ne_bytes));
    let mut options =
        vec![DefaultNla::new(PARAMETERS, value), DefaultNla::new(BURST, burst(mtu, bytes_per_s, least).to_ne_bytes().to_vec())];
    if bytes_per_s > u64::from(u32::MAX) {
        options.push(DefaultNla::new(RATE64, bytes_per_s.to_ne_bytes().to_vec()));
    }
    options
}

/// Bytes in the bucket: a whole frame, and as much again or what passes in
/// [`SLACK_NS`].
fn burst(mtu: u32, bytes_per_s: u64, least: u32) -> u32 {
    let frame = mtu.saturating_add(HEADER).saturating_add(OVERHEAD).max(least);
    let slack = u32::try_from(bytes_per_s.saturating_mul(SLACK_NS) / 1_000_000_000).unwrap_or(u32::MAX);
    frame.saturating_add(frame.max(slack))
}

/// Turns what comes in at a device over to another, to be sent there.
pub(super) fn redirect(channel: &mut Channel, device: &str, index: u32, to: u32) -> Result<(), Refusal> {
    let remedy = "a shared wire needs clsact, cls_u32 and act_mirred (CONFIG_NET_SCH_INGRESS, NET_CLS_U32, NET_ACT_MIRRED); \
                  use 'relay RATE medium=shared', which needs none";
    let step = refused(remedy);
    make_room(channel, device, index).map_err(step)?;
    let tried = format!("turning what '{device}' receives over to the shared wire (RTM_NEWTFILTER u32, mirred)");
    channel.ask(&tried, NEW_FILTER, NLM_F_CREATE, &filter(index, to)).map(drop).map_err(step)
}

/// Gives a device a place for filters.
fn make_room(channel: &mut Channel, device: &str, index: u32) -> Result<(), NetlinkError> {
    let tried = format!("hanging filters to '{device}' (RTM_NEWQDISC clsact)");
    let mut body = traffic_message(index, CLSACT_HANDLE, CLSACT, 0);
    body.extend(emit(&[text(KIND, "clsact")]));
    channel.ask(&tried, NEW_DISCIPLINE, NLM_F_CREATE | NLM_F_REPLACE, &body).map(drop)
}

/// Has a classic program look at each packet that leaves a device; one that returns 0 changes nothing.
pub(super) fn classify(channel: &mut Channel, device: &str, index: u32, code: &[[u8; 8]]) -> Result<(), Refusal> {
    /// TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS), TCA_BPF_OPS_LEN and TCA_BPF_OPS.
    const EGRESS: u32 = 0xffff_fff3;
    const LENGTH: u16 = 4;
    const CODE: u16 = 5;
    let step = refused("this needs clsact and cls_bpf (CONFIG_NET_SCH_INGRESS, NET_CLS_BPF)");
    make_room(channel, device, index).map_err(step)?;
    let length = (code.len() as u16).to_ne_bytes().to_vec();
    let program = [DefaultNla::new(LENGTH, length), DefaultNla::new(CODE, code.concat())];
    let mut body = traffic_message(index, 0, EGRESS, 1 << 16 | u32::from(ALL_PROTOCOLS.to_be()));
    body.extend(emit(&[text(KIND, "bpf"), nest(OPTIONS, &program)]));
    let tried = format!("classifying what leaves '{device}' (RTM_NEWTFILTER bpf)");
    let hung = channel.ask(&tried, NEW_FILTER, NLM_F_CREATE, &body).map(drop).map_err(step);
    if hung.is_err() {
        // The place for filters costs each packet something, too.
        let _ = declassify(channel, device, index);
    }
    hung
}

/// Takes a device's filters away.
pub(super) fn declassify(channel: &mut Channel, device: &str, index: u32) -> Result<(), Refusal> {
    /// RTM_DELQDISC.
    const DELETE_DISCIPLINE: u16 = 37;
    let body = traffic_message(index, CLSACT_HANDLE, CLSACT, 0);
    let tried = format!("taking filters from '{device}' (RTM_DELQDISC clsact)");
    channel.ask(&tried, DELETE_DISCIPLINE, 0, &body).map(drop).map_err(refused("the host's namespace goes with its process"))
}

/// RTM_NEWTFILTER.
const NEW_FILTER: u16 = 44;
/// ETH_P_ALL.
const ALL_PROTOCOLS: u16 = 3;

/// A filter that takes every packet and redirects it.
fn filter(index: u32, to: u32) -> Vec<u8> {
    /// TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS).
    const INGRESS: u32 = 0xffff_fff2;
    const SELECTOR: u16 = 5;
    const ACTIONS: u16 = 7;
    const ACTION_KIND: u16 = 1;
    const ACTION_OPTIONS: u16 = 2;
    const MIRRED_PARAMETERS: u16 = 2;
    const STOLEN: u32 = 4;
    const EGRESS_REDIRECT: u32 = 1;
    // Preference 1 in the upper half, the protocol in network order below.
    let info = 1 << 16 | u32::from(ALL_PROTOCOLS.to_be());
    // `struct tc_u32_sel` with one key that is met by anything: flags (terminal),
    // shift, number of keys, then offsets and masks of 0.
    let mut selector = vec![1, 0, 1, 0];
    selector.extend([0; 12]);
    selector.extend([0; 16]);
    // `struct tc_mirred`: index, capabilities, action, two counts, what to do, device.
    let mirred: Vec<u8> = [0, 0, STOLEN, 0, 0, EGRESS_REDIRECT, to].into_iter().flat_map(u32::to_ne_bytes).collect();
    let action = nest(1, &[text(ACTION_KIND, "mirred"), nest(ACTION_OPTIONS, &[DefaultNla::new(MIRRED_PARAMETERS, mirred)])]);
    let options = nest(OPTIONS, &[DefaultNla::new(SELECTOR, selector), nest(ACTIONS, &[action])]);
    let mut body = traffic_message(index, 0, INGRESS, info);
    body.extend(emit(&[text(KIND, "u32"), options]));
    body
}

#[cfg(test)]
mod tests {
    use model::BitRate;
    use model::control::Shape;

    use super::{bucket, burst, filter};
    use netlink_packet_core::Emitable;

    #[test]
    fn the_bucket_holds_two_frames_or_what_passes_meanwhile() {
        assert_eq!(burst(1_500, 1_250_000, 84), 2 * 1_538);
        assert_eq!(burst(1_500, 12_500_000, 84), 1_538 + 2_500);
        assert_eq!(burst(1_500, 125_000_000, 84), 1_538 + 25_000);
        assert_eq!(burst(u32::MAX, u64::MAX, 84), u32::MAX);
    }

    #[test]
    fn a_rate_is_told_in_bytes_with_the_cost_of_a_frame() {
        let shape = Shape { rate: BitRate::new(10_000_000), queue: None, least: 0 };
        let options = bucket(1_500, shape);
        let mut bytes = vec![0; options[0].buffer_len()];
        options[0].emit(&mut bytes);
        // After the header of 4: layer, overhead, alignment, least, rate.
        assert_eq!((bytes[5], &bytes[6..8], &bytes[10..12]), (1, &24_u16.to_ne_bytes()[..], &84_u16.to_ne_bytes()[..]));
        assert_eq!((&bytes[12..16], options.len()), (&1_250_000_u32.to_ne_bytes()[..], 2));
        // Beyond 34 Gbit/s the rate has 64 bits.
        assert_eq!(bucket(1_500, Shape { rate: BitRate::new(100_000_000_000), ..shape }).len(), 3);
    }

    #[test]
    fn requests_are_whole_words() {
        assert_eq!(filter(1, 2).len() % 4, 0);
    }
}
