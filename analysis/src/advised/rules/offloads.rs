//! Work that the device could do, and is told not to.

use model::attach::Way;
use model::link::Offload;
use model::plan::{Link, LinkKind};
use model::replay::Replay;
use model::{Nanos, Protocol};

use super::{SEGMENT, percent, sizes, whole};
use crate::advised::{Advice, Measure, Observed, Rule};

/// Bytes of a send that is cut into segments.
const LARGE: f64 = 2.0 * SEGMENT as f64;
/// Sends of an exchange that stand for a stream which waits for nothing, and their largest size.
const STREAM: usize = 16;
const LARGEST: u64 = 64 << 10;
/// The largest IP packet of a link.
const LARGEST_PACKET: u32 = 65_535;

/// Fires where a program sends much at a time by a device whose checksums or segmentation are off.
pub fn advise(observed: &Observed) -> Option<Advice> {
    let (device, rate) = observed.device.as_ref().filter(|(device, _)| !device.off.is_empty())?;
    let given = observed.calls.iter().filter(|one| one.way == Way::Out && one.protocol == "tcp");
    let busiest = given.max_by(|a, b| (a.per_second * a.mean).total_cmp(&(b.per_second * b.mean)))?;
    if busiest.mean < LARGE {
        return None;
    }
    let link = |on: bool| Link {
        kind: LinkKind::Veth,
        // Loopback's is larger than any that a link may have.
        mtu: (device.mtu > 0).then_some(device.mtu.min(LARGEST_PACKET)),
        offloads: device.off.iter().map(|offload| (*offload, on)).collect(),
    };
    let pattern = observed.pattern("tcp", |one| whole(&one.sends) as f64 >= LARGE);
    let (replay, now) = match pattern {
        Some((pattern, _)) => (observed.replay(pattern), observed.kernel(observed.cpu_of_exchange)),
        None => {
            let pieces = vec![(busiest.mean as u64).min(LARGEST); STREAM];
            let stream = observed.bound(Replay::new(Protocol::Tcp, 1, pieces));
            (stream, observed.kernel(observed.cpu_of_answer))
        }
    };
    // What the program's own code takes is no part of what this can save.
    let replay = Replay { work: Nanos::default(), link: Some(link(false)), ..replay };
    let names: Vec<&str> = device.off.iter().map(|offload| offload.name()).collect();
    Some(Advice {
        rule: Rule::Offloads,
        change: format!(
            "Turn the offloads of {} on: ethtool -K {} {}. The device, or the kernel just above it, then does once for many segments what is done for each.",
            device.name,
            device.name,
            names.iter().map(|name| format!("{name} on")).collect::<Vec<_>>().join(" ")
        ),
        evidence: vec![
            format!(
                "Off at {}, by which {} connection{} leave{}: {}. Peers acknowledge {rate:.0} B/s.",
                device.name,
                device.connections,
                if device.connections == 1 { "" } else { "s" },
                if device.connections == 1 { "s" } else { "" },
                spelled(&device.off)
            ),
            format!(
                "{:.0} calls of {}/s give {:.0} B each, {} of them {}.",
                busiest.per_second,
                busiest.call,
                busiest.mean,
                percent(busiest.usual.1),
                sizes(&[busiest.usual.0])
            ),
        ],
        measure: Measure::Cpu,
        now,
        replays: [replay.clone(), Replay { link: Some(link(true)), ..replay }],
    })
}

/// Offloads in words.
fn spelled(off: &[Offload]) -> String {
    let words = off.iter().map(|offload| match offload {
        Offload::Tx => "the checksum of what is sent (tx)".to_owned(),
        Offload::Sg => "sending from several pieces of memory (sg)".to_owned(),
        Offload::Tso => "segmentation of TCP (tso)".to_owned(),
        Offload::Gso => "late segmentation (gso)".to_owned(),
        other => other.name().to_owned(),
    });
    words.collect::<Vec<_>>().join(", ")
}
