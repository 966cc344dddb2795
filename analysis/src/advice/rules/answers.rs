//! What a connection and a large answer cost.

use model::attach::Way;
use model::link::Offload;
use model::plan::{Link, LinkKind};
use model::replay::{Giving, Replay};
use model::{Nanos, Protocol};

use super::{SEGMENT, percent, sizes, whole};
use crate::advice::{Advice, CallRate, Measure, Observed, Rule};

/// A connection for each request.
///
/// Fires where connections last for an exchange or two.
pub fn connects(observed: &Observed) -> Option<Advice> {
    /// Sockets that moved data, over exchanges.
    const EACH: f64 = 0.5;
    /// The same over the connections that are open at a time, with the fewest of them.
    const COME_AND_GO: f64 = 4.0;
    const FEWEST: f64 = 20.0;
    let (open, moving) = observed.connections;
    let calls = observed.calls.iter().filter(|one| one.protocol == "tcp").map(|one| one.per_second).fold(0.0, f64::max);
    let seconds = observed.windows.max(1) as f64;
    if moving < FEWEST || moving < COME_AND_GO * open.max(1.0) || calls == 0.0 {
        return None;
    }
    // A connection whose last answer nothing follows is no exchange in the list: sends stand for it.
    let answers = observed.sends.max(observed.exchanges) * observed.window_seconds / seconds.max(1.0);
    let share = moving / answers.max(1.0);
    if share < EACH {
        return None;
    }
    let mean = |way| {
        let of_way = observed.calls.iter().filter(|one| one.protocol == "tcp" && one.way == way);
        of_way.max_by(|a, b| a.per_second.total_cmp(&b.per_second)).map_or(1, |one| one.mean.round().max(1.0) as u64)
    };
    let [request, answer] = [Way::In, Way::Out].map(mean);
    let replay = Replay { reconnect: true, ..observed.bound(Replay::new(Protocol::Tcp, request, vec![answer])) };
    Some(Advice {
        rule: Rule::Connects,
        change: "Keep connections: let clients ask again on the one they have (keep-alive, a pool).".to_owned(),
        evidence: vec![format!(
            "In a window {moving:.0} connections moved data, {open:.0} were open at its end: one for every {:.1} answers.",
            1.0 / share.max(1e-9)
        )],
        measure: Measure::Cpu,
        now: observed.replayed(observed.cpu_of_answer),
        replays: [replay.clone(), Replay { reconnect: false, ..replay }],
    })
}

/// Bytes of a large answer.
const LARGE: f64 = 16_384.0;
/// Share of the most frequent size, from which on answers are alike.
const ALIKE: f64 = 0.3;
/// Share of files in the CPU time, without which nothing says that answers come from files.
const FILES: f64 = 0.05;

/// The calls that write the most bytes to streams.
fn busiest(observed: &Observed) -> Option<&CallRate> {
    let written = |call: &str| ["write", "sendto", "writev", "sendmsg"].contains(&call);
    let given = observed.calls.iter().filter(|one| one.way == Way::Out && one.protocol == "tcp" && written(&one.call));
    given.max_by(|a, b| (a.per_second * a.mean).total_cmp(&(b.per_second * b.mean)))
}

/// What a call gives, in a sentence.
fn evidence(call: &CallRate) -> String {
    let (size, share) = call.usual;
    format!("{:.0} calls of {}/s give {:.0} B each, {} of them {size} B.", call.per_second, call.call, call.mean, percent(share))
}

/// Large answers that are read from files and written.
///
/// Fires where large answers are written by a program that reads files meanwhile.
pub fn static_answers(observed: &Observed) -> Option<Advice> {
    let busiest = busiest(observed)?;
    if busiest.mean < LARGE || busiest.usual.1 < ALIKE || observed.files < FILES {
        return None;
    }
    let (pattern, _) = observed.pattern("tcp", |one| whole(&one.sends) as f64 >= LARGE)?;
    let size = whole(&pattern.sends).min(4 << 20);
    let replay = Replay {
        giving: Giving::ReadWrite,
        connections: observed.clients(),
        pace: observed.pace(),
        ..observed.bound(Replay::new(Protocol::Tcp, pattern.received, vec![size]))
    };
    Some(Advice {
        rule: Rule::StaticAnswers,
        change: "Give what is in a file by sendfile(2): the kernel then copies nothing into the program and out again.".to_owned(),
        evidence: vec![evidence(busiest), format!("Files take {} of the program's CPU time.", percent(observed.files))],
        measure: Measure::Cpu,
        now: observed.kernel_with_files(observed.cpu_of_exchange),
        replays: [replay.clone(), Replay { giving: Giving::Sendfile, ..replay }],
    })
}

/// Large answers that are written from the program's own memory.
///
/// Fires where large answers are written by a program that reads no files meanwhile.
pub fn large_answers(observed: &Observed) -> Option<Advice> {
    let busiest = busiest(observed)?;
    if busiest.mean < LARGE || busiest.usual.1 < ALIKE || observed.files >= FILES {
        return None;
    }
    let (pattern, _) = observed.pattern("tcp", |one| whole(&one.sends) as f64 >= LARGE)?;
    let replay = Replay {
        connections: observed.clients(),
        pace: observed.pace(),
        ..observed.bound(Replay::new(Protocol::Tcp, pattern.received, vec![whole(&pattern.sends).min(4 << 20)]))
    };
    Some(Advice {
        rule: Rule::LargeAnswers,
        change: "Send from the program's own pages with MSG_ZEROCOPY, and write to them again when the kernel's notice has come: it then copies nothing, unless the receiver is on this machine or the device cannot gather."
            .to_owned(),
        evidence: vec![
            evidence(busiest),
            format!("Files take {} of the program's CPU time: the bytes that it sends are in its memory.", percent(observed.files)),
        ],
        measure: Measure::Cpu,
        now: observed.kernel(observed.cpu_of_exchange),
        replays: [replay.clone(), Replay { giving: Giving::ZeroCopy, ..replay }],
    })
}

/// Work that the device could do, and that is switched off there.
///
/// Fires where a program sends much at a time by a device whose checksums or segmentation are off.
pub fn offloads(observed: &Observed) -> Option<Advice> {
    /// Bytes of a send that is cut into segments.
    const LARGE: f64 = 2.0 * SEGMENT as f64;
    /// Sends of an exchange that stand for a stream which waits for nothing, and their largest size.
    const STREAM: usize = 16;
    const LARGEST: u64 = 64 << 10;
    /// The largest IP packet of a link.
    const LARGEST_PACKET: u32 = 65_535;
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
