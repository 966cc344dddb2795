//! Head of a trial: what is about to be measured, before the first line of figures.

use model::plan::PlanEnd;
use model::{Arrivals, Cell, OfferedRate, Pacing, Protocol, Role, Test};

use super::TrialFacts;
use crate::document::{Block, Document};
use crate::number;
use crate::words::plural;

/// The header.
pub fn header(setting: &TrialFacts) -> Document {
    let Some(cell) = setting.cell() else { return Document::default() };
    let [sender, receiver] = [Role::Sender, Role::Receiver].map(|role| setting.place(role));
    let system = setting.facts(Role::Sender).map_or(String::new(), |facts| format!(" · Linux {}", facts.kernel));
    let mut facts = [Role::Sender, Role::Receiver].map(|role| (role.name(), end(setting, role))).to_vec();
    facts.push(("asked", asked(setting, cell)));
    facts.extend(offered(cell).map(|text| ("offered", text)));
    facts.extend((cell.test == Test::UdpStream).then(|| ("stamps", stamps(cell).to_owned())));
    let place = Block::Aside(format!("sender {sender}, receiver {receiver}{system}").into());
    let heading = Block::Heading(format!("{cell}, {}", extent(setting)).into());
    Document::plain("", [heading, place, Block::usual([Block::facts(facts)])])
}

/// Length and warm-up.
fn extent(setting: &TrialFacts) -> String {
    let measured = match setting.plan.end {
        PlanEnd::Length(length) => length.to_string(),
        PlanEnd::Messages(count) => plural(count, "message"),
        PlanEnd::Bytes(bytes) => bytes.to_string(),
    };
    match setting.plan.warmup.get() {
        0 => measured,
        _ => format!("{measured} after {} of warm-up", setting.plan.warmup),
    }
}

/// Place of an end: address, device, MTU, CPUs, system.
fn end(setting: &TrialFacts, role: Role) -> String {
    let mut parts = vec![setting.place(role).to_owned()];
    if let Some(address) = setting.address.filter(|_| !setting.is_here(role))
        && !parts[0].contains(&address.to_string())
    {
        parts.push(address.to_string());
    }
    let Some(facts) = setting.facts(role) else { return parts.join(" · ") };
    let device = |key: &str| facts.device.get(key).filter(|value| !value.is_empty());
    if let Some(name) = device("name") {
        parts.push(device("mtu").map_or_else(|| name.clone(), |mtu| format!("{name}, MTU {mtu}")));
    }
    parts.push(match facts.endpoint_cpus.as_slice() {
        [] => "not bound to a CPU".to_owned(),
        [cpu] => format!("CPU {cpu} of {}", facts.cpus),
        cpus => format!("CPUs {} of {}", cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(","), facts.cpus),
    });
    parts.push(format!("Linux {}", facts.kernel));
    parts.join(" · ")
}

/// Options that the plan asks of the sockets, and those that it leaves to the kernel.
fn asked(setting: &TrialFacts, cell: &Cell) -> String {
    let mut parts = Vec::new();
    if cell.protocol() == Protocol::Tcp {
        let of_host = || setting.facts(Role::Sender)?.sysctls.get("net.ipv4.tcp_congestion_control").cloned();
        parts.push(match (&cell.cc, of_host()) {
            (Some(cc), _) => format!("congestion control {cc}"),
            (None, Some(cc)) => format!("congestion control as the sender's host has it ({cc})"),
            (None, None) => "congestion control as the sender's host has it".to_owned(),
        });
        parts.push(if cell.nodelay { "TCP_NODELAY" } else { "Nagle's algorithm on" }.to_owned());
    }
    parts.push(match (cell.sndbuf, cell.rcvbuf) {
        (None, None) => "buffers as the kernel sizes them".to_owned(),
        (sndbuf, rcvbuf) => {
            let one = |name: &str, size: Option<model::Bytes>| size.map(|size| format!("{name} {size}"));
            [one("SO_SNDBUF", sndbuf), one("SO_RCVBUF", rcvbuf)].into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
    });
    parts.extend(cell.tos.map(|tos| format!("type of service {tos}")));
    parts.extend(cell.nstreams.map(|streams| format!("{streams} streams offered")));
    parts.extend(cell.xbind.as_ref().map(|addresses| format!("from {addresses}")));
    if cell.flows > 1 {
        parts.push(format!("{}, each with a thread", plural(u64::from(cell.flows), "flow")));
        if cell.protocol() == Protocol::Tcp && setting.plan.progress.is_some() {
            parts.push("cwnd and rtt of the lines are those of flow 1".to_owned());
        }
    }
    if cell.bidirectional {
        parts.push("both ends send".to_owned());
    }
    parts.join(" · ")
}

/// The rate offered, and how the sender waits.
fn offered(cell: &Cell) -> Option<String> {
    let rate = cell.rate?;
    let each = if cell.flows > 1 { " by each flow" } else { "" };
    let arrivals = if cell.arrivals == Arrivals::Poisson { ", at random times (Poisson)" } else { "" };
    let per_second = rate.messages_per_second(cell.size);
    let more = match rate {
        OfferedRate::Bits(_) => format!("{} messages/s", number::count(per_second)),
        OfferedRate::Messages(_) => number::bits(per_second * cell.size.get() as f64 * 8.0),
    };
    let waits = match cell.pacing {
        Pacing::Sleep => "sleeps between messages",
        Pacing::Spin => "spins between messages, so that its CPU time is no figure of the stack",
    };
    Some(format!("{rate}{each} ({more}){arrivals}; the sender {waits}"))
}

const fn stamps(cell: &Cell) -> &'static str {
    match cell.stamp {
        true => "each datagram bears its number and the time it was sent in its first 16 B, for loss, order and jitter",
        false => "none: a datagram of less than 16 B has no room for a number and a time, so order and jitter are not known",
    }
}
