//! Units with the most to gain: the part of a unit's work that a change of its program or host can touch, and the
//! command that measures what the change saves.
//!
//! A rule names work that a known change avoids. That work is the most that the change can save: the
//! command measures how much of this goes.

use attribution::{Category, Layer};
use model::choice;
use model::sorting::Order;
use serde::Serialize;

use super::snapshot::{Cpus, Row, RowKind, Snapshot};
use super::window::Z;
use crate::answer::next::quoted;

/// Units that are named.
const MOST: usize = 5;
/// The least part of a unit's work for the network that is worth a change.
const LEAST_SHARE: f64 = 0.1;
/// Messages a second below which a call for each costs little.
const LEAST_RATE: f64 = 1_000.0;
/// Messages up to this size fit a segment several times over: several a call save calls.
const SMALL: f64 = 1_024.0;
/// Messages from this size on are worth sending without a copy (the kernel's Documentation/networking/msg_zerocopy.rst
/// names some 10 KB).
const LARGE: f64 = 10_000.0;

choice! {
    /// What a unit can gain from.
    Chance, "a chance" {
        /// Small messages, a call each: several a call.
        Calls = "calls",
        /// Sleeping and waking: fewer wake-ups, or none.
        WakeUps = "wake-ups",
        /// Copies of large messages: files sent by the kernel, pages lent to it.
        Copies = "copies",
        /// Checksums in software: those of the device.
        Checksums = "checksums",
        /// Packet filters and BPF programs on the way.
        Filters = "filters",
    }
}

/// A unit, and the chance that touches most of its work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnitAdvice {
    /// The unit's path: others' text.
    pub unit: String,
    /// What it can gain from.
    pub chance: Chance,
    /// The work that this touches, in CPUs: the most that can be saved.
    pub touched: Cpus,
    /// The network's work for the unit, in CPUs.
    pub of: f64,
    /// Messages a second of both directions; `None` where they were not counted.
    pub messages: Option<f64>,
    /// Mean bytes of a message.
    pub bytes: Option<f64>,
    /// The command that measures what a change saves, or shows the work function by function.
    pub command: String,
}

/// The units of a window with the most to gain, the most first; none where chance may be all that there is.
pub fn advice(snapshot: &Snapshot) -> Vec<UnitAdvice> {
    let units = snapshot.units.iter().filter(|row| row.kind == RowKind::Unit);
    let mut all: Vec<UnitAdvice> = units.filter_map(|row| of_unit(row, snapshot)).collect();
    all.order_by(|a, b| b.touched.cpus.total_cmp(&a.touched.cpus));
    all.truncate(MOST);
    all
}

fn of_unit(row: &Row, snapshot: &Snapshot) -> Option<UnitAdvice> {
    let messages = row.message_rate().filter(|rate| *rate > 0.0);
    let bytes = row.byte_rate().zip(messages).map(|(bytes, messages)| bytes / messages);
    let sum = |of: &dyn Fn(Layer, Category) -> bool| -> f64 {
        row.parts.iter().filter(|((layer, category), _)| of(*layer, *category)).map(|(_, cpus)| cpus).sum()
    };
    let touched = |chance: Chance| match chance {
        Chance::Calls if messages.is_none_or(|rate| rate < LEAST_RATE) || bytes.is_none_or(|bytes| bytes > SMALL) => 0.0,
        Chance::Calls => sum(&|layer, _| matches!(layer, Layer::Syscall | Layer::Socket)),
        Chance::WakeUps => sum(&|layer, _| layer == Layer::Sched),
        Chance::Copies if bytes.is_none_or(|bytes| bytes < LARGE) => 0.0,
        Chance::Copies => sum(&|_, category| category == Category::DataMovement),
        Chance::Checksums => sum(&|_, category| category == Category::Checksum),
        Chance::Filters => sum(&|layer, _| matches!(layer, Layer::Netfilter | Layer::Bpf)),
    };
    let (chance, cpus) = Chance::ALL.iter().map(|chance| (*chance, touched(*chance))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let touched = interval(cpus, row);
    let is_shown = touched.low > 0.0 && cpus >= LEAST_SHARE * row.all.cpus;
    is_shown.then(|| UnitAdvice {
        unit: row.name.clone(),
        chance,
        touched,
        of: row.all.cpus,
        messages,
        bytes,
        command: command(chance, row, snapshot),
    })
}

/// A part of a row's CPUs with the interval of the samples that it has.
fn interval(cpus: f64, row: &Row) -> Cpus {
    if row.samples == 0 || row.all.cpus <= 0.0 {
        return Cpus { cpus, low: 0.0, high: cpus };
    }
    let worth = row.all.cpus / row.samples as f64;
    // Softirqs whose owner was not found are shared out, and may all be in this part.
    let shared = (row.softirq - row.softirq_met).clamp(0.0, cpus);
    let half = Z * (cpus / worth).sqrt() * worth + shared / 2.0;
    Cpus { cpus, low: (cpus - half).max(0.0), high: (cpus + half).min(row.all.high.max(cpus)) }
}

/// `advise` replays the program's calls in both ways; `attach` shows the kernel's work function by function.
fn command(chance: Chance, row: &Row, snapshot: &Snapshot) -> String {
    let of_unit = snapshot.processes.iter().filter(|process| process.unit.as_ref() == Some(&row.name));
    let most = of_unit.max_by(|a, b| a.all.cpus.total_cmp(&b.all.cpus)).and_then(|process| process.pid);
    match (chance, most) {
        (Chance::Calls | Chance::WakeUps | Chance::Copies, Some(pid)) => format!("nettoll advise --pid {pid}"),
        _ => format!("nettoll attach --cgroup {} -t 20", quoted(&row.name)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use attribution::{Category, Layer};

    use super::{Chance, UnitAdvice, advice};
    use crate::top::snapshot::{Cpus, Rate, Row, RowKind, Snapshot};

    /// A unit of 100 samples per CPU's worth, its work by layer and kind.
    fn row(kind: RowKind, name: &str, parts: &[(Layer, Category, f64)], messages: Option<[f64; 2]>) -> Row {
        let cpus = parts.iter().map(|(.., cpus)| cpus).sum::<f64>();
        let rate = |rate: f64| Rate { rate, half: 0.0 };
        Row {
            kind,
            name: name.to_owned(),
            pid: (kind == RowKind::Process).then_some(7),
            unit: (kind == RowKind::Process).then(|| "/a.service".to_owned()),
            processes: 1,
            samples: (cpus * 1_000.0).round() as u64,
            all: Cpus { cpus, low: cpus, high: cpus },
            call: cpus,
            softirq: 0.0,
            softirq_met: 0.0,
            busy: cpus,
            messages: messages.map(|[messages, _]| [rate(messages), rate(0.0)]),
            bytes: messages.map(|[messages, size]| [rate(messages * size), rate(0.0)]),
            wait_ns: None,
            connections: None,
            drops: None,
            parts: parts.iter().map(|(layer, category, cpus)| ((*layer, *category), *cpus)).collect::<BTreeMap<_, _>>(),
        }
    }

    fn of(units: Vec<Row>, processes: Vec<Row>) -> Vec<UnitAdvice> {
        advice(&Snapshot { elapsed_ns: 10_000_000_000, units, processes, ..Snapshot::default() })
    }

    #[test]
    fn each_chance_is_that_of_the_work_that_it_avoids() {
        use Category::{Checksum, DataMovement, OperatingSystem, Protocol};
        let plain = (Layer::Udp, Protocol, 0.1);
        let calls = (Layer::Syscall, OperatingSystem, 0.1);
        let found = |parts: &[(Layer, Category, f64)], messages| {
            let found = of(vec![row(RowKind::Unit, "/a.service", parts, messages)], Vec::new());
            found.first().map(|one| one.chance)
        };
        assert_eq!(found(&[plain, calls], Some([50_000.0, 100.0])), Some(Chance::Calls));
        // Few messages, large ones, or uncounted ones: a call each is no loss.
        for messages in [Some([500.0, 100.0]), Some([50_000.0, 60_000.0]), None] {
            assert_eq!(found(&[plain, calls], messages), None, "{messages:?}");
        }
        assert_eq!(found(&[plain, (Layer::Sched, OperatingSystem, 0.1)], None), Some(Chance::WakeUps));
        assert_eq!(found(&[plain, (Layer::Tcp, DataMovement, 0.1)], Some([5_000.0, 60_000.0])), Some(Chance::Copies));
        assert_eq!(found(&[plain, (Layer::Tcp, DataMovement, 0.1)], Some([5_000.0, 600.0])), None);
        assert_eq!(found(&[plain, (Layer::Ip, Checksum, 0.1)], None), Some(Chance::Checksums));
        assert_eq!(found(&[plain, (Layer::Netfilter, Protocol, 0.1)], None), Some(Chance::Filters));
        // A tenth of the work at least, and more than chance.
        assert_eq!(found(&[plain, (Layer::Netfilter, Protocol, 0.01)], None), None);
        assert_eq!(found(&[(Layer::Udp, Protocol, 0.004), (Layer::Netfilter, Protocol, 0.003)], None), None);
    }

    #[test]
    fn five_units_are_named_the_most_first_with_a_command_that_a_shell_takes() {
        let filters = |name: &str, cpus| row(RowKind::Unit, name, &[(Layer::Netfilter, Category::Protocol, cpus)], None);
        let mut units: Vec<Row> = (1..=7).map(|place| filters(&format!("/{place}.service"), f64::from(place) / 10.0)).collect();
        units.push(filters("/a b'; reboot.service", 0.9));
        units.push(row(RowKind::Unowned, "unowned", &[(Layer::Netfilter, Category::Protocol, 2.0)], None));
        let found = of(units, Vec::new());
        assert_eq!(
            found.iter().map(|one| one.unit.as_str()).collect::<Vec<_>>()[1..],
            ["/7.service", "/6.service", "/5.service", "/4.service"]
        );
        assert_eq!(found[0].command, r"nettoll attach --cgroup '/a b'\''; reboot.service' -t 20");
        let calls = [(Layer::Syscall, Category::OperatingSystem, 0.1)];
        let unit = row(RowKind::Unit, "/a.service", &calls, Some([9_000.0, 64.0]));
        let found = of(vec![unit], vec![row(RowKind::Process, "a", &calls, None)]);
        assert_eq!(found[0].command, "nettoll advise --pid 7");
        // 1.96 times the root of 100 samples, each a thousandth; no more than the whole row.
        assert!((0.1 - found[0].touched.low - 0.0196).abs() < 1e-9 && found[0].touched.high == 0.1);
    }
}
