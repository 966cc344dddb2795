//! The limit of a link: the most goodput for which the frames that were counted
//! on it leave room.
//!
//! The counts are those of the two ends' devices over a whole trial, with
//! warm-up and drain, on a link whose devices count every frame by itself (no
//! offloads). Payload and frames are of the same time, so that their ratio is
//! the cost of the payload, whatever the acknowledgements were.

use model::condition::TrafficTotals;
use model::kernel::LinkCounters;
use model::plan::LinkKind;
use model::trial::Measured;
use model::{BitRate, Cell, Protocol};

use super::frame::{CHECK, Frames, HEADER, LEAST_FRAME, OVERHEAD};

/// Division of a wire between its directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// Each direction has the whole rate.
    FullDuplex,
    /// Both directions, and all pairs, share it.
    Shared,
}

impl Medium {
    /// The way that a link is divided.
    pub fn of_link(link: &LinkKind) -> Self {
        match link {
            LinkKind::SharedWire(_) => Self::Shared,
            LinkKind::Relay(wire) if wire.medium != model::link::Medium::Full => Self::Shared,
            _ => Self::FullDuplex,
        }
    }
}

/// Payload and frames of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkTotals {
    /// Payload that the receiver got, over the whole trial.
    pub payload: u64,
    /// Frames from the sender.
    pub forward: Frames,
    /// Frames back to it: acknowledgements.
    pub back: Frames,
}

/// Frames as devices count them: their number and bytes. Where they are shorter
/// on average than the least frame they are taken to be all so: acknowledgements
/// and datagrams of one size are. In a mixture a short frame counts up to 6 bytes
/// too little, of 78.
pub const fn counted(count: u64, bytes: u64) -> Frames {
    let least = (LEAST_FRAME - CHECK) as u64 * count;
    let padded = if bytes < least { least } else { bytes };
    Frames { count, bytes, cost: padded.saturating_add(OVERHEAD as u64 * count) }
}

impl LinkTotals {
    /// From the devices' counters. `sender` and `receiver` are what each end's
    /// own device sent.
    pub const fn from_counters(payload: u64, sender: &LinkCounters, receiver: &LinkCounters) -> Self {
        Self { payload, forward: counted(sender.tx_packets, sender.tx_bytes), back: counted(receiver.tx_packets, receiver.tx_bytes) }
    }

    /// Byte times that the payload cost where they are scarce.
    pub const fn cost(&self, medium: Medium) -> u64 {
        match medium {
            Medium::Shared => self.forward.cost.saturating_add(self.back.cost),
            // The way back has room of its own; it binds only where more goes
            // back than forth.
            Medium::FullDuplex => {
                if self.back.cost > self.forward.cost {
                    self.back.cost
                } else {
                    self.forward.cost
                }
            }
        }
    }

    /// The most goodput in bytes a second of a wire of `rate`; `None` where
    /// nothing was carried.
    pub fn limit(&self, medium: Medium, rate: BitRate) -> Option<f64> {
        let cost = self.cost(medium);
        (cost > 0 && self.payload > 0).then(|| rate.get() as f64 / 8.0 * self.payload as f64 / cost as f64)
    }

    /// The bits that the wire carried each second, preamble and gaps included,
    /// at so much goodput in bytes a second; `None` where nothing was carried.
    pub fn wire_rate(&self, medium: Medium, goodput: f64) -> Option<f64> {
        (self.payload > 0).then(|| goodput * 8.0 * self.cost(medium) as f64 / self.payload as f64)
    }
}

/// The most goodput, in bytes a second, that a trial's link allows a stream with
/// the frames and acknowledgements that the trial had. `None` of a link without a
/// rate, of what is no stream or goes both ways, and of hosts whose devices count
/// other people's frames, or those of bulk flows next to the trial. Pairs of other
/// hosts take nothing from it: it is that of the idle link.
pub fn of_trial(link: &LinkKind, measured: &Measured, cell: &Cell) -> Option<f64> {
    if !measured.isolated || !cell.test.is_stream() || cell.bidirectional || cell.conditions.bulk > 0 {
        return None;
    }
    let sent = match cell.protocol() {
        // The wire counts what it dropped of pairs as well.
        Protocol::Tcp if cell.conditions.link_load.is_none() => without_dropped(measured),
        // Of datagrams every one counts, with its payload.
        Protocol::Tcp | Protocol::Udp => measured.sender_host.link,
    };
    let carried = LinkTotals::from_counters(payload(measured, cell), &sent, &measured.receiver_host.link);
    carried.limit(Medium::of_link(link), link.rate()?)
}

/// What the sender's device sent, without the frames that found a full queue before the wire: those took none of its time.
/// The wire counts them of both directions, so that no more are left out than did not arrive.
fn without_dropped(measured: &Measured) -> LinkCounters {
    let (sent, came) = (measured.sender_host.link, measured.receiver_host.link.rx_packets);
    let dropped = measured.wire.map_or(0, |wire| wire.dropped).min(sent.tx_packets.saturating_sub(came));
    let bytes = u128::from(sent.tx_bytes) * u128::from(dropped) / u128::from(sent.tx_packets.max(1));
    LinkCounters {
        tx_packets: sent.tx_packets - dropped,
        tx_bytes: sent.tx_bytes.saturating_sub(u64::try_from(bytes).unwrap_or(u64::MAX)),
        ..sent
    }
}

/// The payload for which a trial's frames were. Of a stream every byte arrives once.
/// Datagrams count where they left for the wire: what is lost behind it crossed it as
/// well. A packet of many, which the kernel counts as one, is counted as what is in it;
/// datagrams of a mix are of the mean size.
pub fn payload(measured: &Measured, cell: &Cell) -> u64 {
    if cell.protocol() == Protocol::Tcp {
        return measured.receiver.total.bytes;
    }
    let (mut udp, sent) = (measured.sender_host.udp, &measured.sender.total);
    if cell.api.packs() {
        udp.unpack_sent(sent);
    }
    let bytes = |all: u64, of: u64| u128::from(udp.out_datagrams).saturating_mul(all.into()).checked_div(of.into());
    let payload = bytes(sent.bytes, sent.messages).or(bytes(cell.size.get(), 1));
    payload.and_then(|payload| u64::try_from(payload).ok()).unwrap_or(u64::MAX)
}

/// The share of a link's rate that pairs of other hosts used while they sent, by
/// the frames that their devices counted; `None` of a link without a rate. Of a
/// link full duplex it is of the direction in which the pairs send.
pub fn used_by_pairs(link: &LinkKind, pairs: &[TrafficTotals]) -> Option<f64> {
    let rate = link.rate()?.get() as f64;
    let bits_per_s = |pair: &TrafficTotals| {
        let [forward, back] = [0, 1].map(|way| counted(pair.frames[way], pair.frame_bytes[way]).cost);
        let cost = match Medium::of_link(link) {
            Medium::Shared => forward.saturating_add(back),
            Medium::FullDuplex => forward,
        };
        cost as f64 * 8.0 / pair.elapsed.as_secs_f64()
    };
    let used = pairs.iter().filter(|pair| pair.elapsed.get() > 0).map(bits_per_s).sum::<f64>();
    (rate > 0.0).then(|| used / rate)
}

/// Bytes that a device counts of the least frame.
pub const LEAST_COUNTED: u32 = LEAST_FRAME - CHECK;

const _: () = assert!(LEAST_COUNTED > HEADER);
