//! 1993: bars of eight kinds of work, of which the text states a few shares.

use std::collections::BTreeMap;

use analysis::workload::Workload;
use literature::claims::evidence::Curve;

use super::{DRAWING, Item, by_size, figure, stacked};
use crate::document::figure::{Figure, Panel, Scale, SizeAxis, Ticks, Trace};
use crate::document::{Kind, Rows, Table};
use crate::number;

/// The abstract's conclusion in our words.
pub const CONCLUSION: &str = "large messages are checksum and copying; the time of small ones is spread over many kinds of work, so no single \
improvement shortens them. At one size TCP and UDP divide their time alike, under a real mix of sizes they do not.";

/// Kinds of work in the paper's order, with what each depends on.
const KINDS: [(&str, &str, &str); 8] = [
    ("Checksum", "yes", "checksum, and the loop that copies and sums"),
    ("Data Mvmt", "yes", "data movement"),
    ("Mbuf", "no", "buffer management"),
    ("Protls", "no", "protocol, of the whole stack"),
    ("OS", "no", "operating system"),
    ("Data Structs", "no", "data structures"),
    ("Error Check", "no", "error checking"),
    ("Other", "no", "other, and what no sample shows"),
];

/// Shares that the text states: message, kind, percent.
const STATED: [(&str, &str, f64); 4] = [
    ("large", "Checksum", 40.0),
    ("large", "Data Mvmt", 25.0),
    ("one byte, TCP", "Protls", 33.8),
    ("one byte, TCP", "Protls, TCP's part", 13.7),
];

fn shares() -> Figure {
    let one = |(place, (message, kind, percent)): (usize, &(&str, &str, f64))| {
        Trace::points(kind, place, [((*message).to_owned(), percent / 100.0, (*message).to_owned(), format!("up to {percent} %"))])
    };
    let caption = "Shares of send and receive time that the text states: each is an upper end, not the share of one message.";
    figure(
        "f1993-1".into(),
        "Figure 1: stated shares",
        caption,
        None,
        Panel::of("share of time", "%").on(Scale::Linear),
        STATED.iter().enumerate().map(one).collect(),
    )
}

/// Kinds of today by the names of then, in the order of then, and what then had none of.
const TODAY: [(&str, &str); 9] = [
    ("checksum", "Checksum"),
    ("data-movement", "Data Mvmt"),
    ("buffer-management", "Mbuf"),
    ("protocol", "Protls"),
    ("operating-system", "OS"),
    ("data-structures", "Data Structs"),
    ("error-checking", "Error Check"),
    ("other", "Other and not sampled"),
    ("user", "user code"),
];

fn of_protocol<'a>(today: &'a [Curve], protocol: &str) -> Vec<&'a Curve> {
    today.iter().filter(|curve| curve.quantity == "kind" && curve.group == protocol).collect()
}

/// Groups of receipts of today: as the device takes checksums, and with the CPU summing them as then.
const GROUPS: [(&str, &str, &str); 4] = [
    ("tcp", "tcp", "TCP"),
    ("udp", "udp", "UDP"),
    ("tcp, checksums by the CPU", "tcp-summed", "TCP, checksums by the CPU"),
    ("udp, checksums by the CPU", "udp-summed", "UDP, checksums by the CPU"),
];

/// Figure 1 today: send and receive summed.
fn bars(today: &[Curve]) -> Vec<Figure> {
    let caption = "CPU time of both ends, by the kinds of 1993 in their order. The checksum holds the loop that copies and sums.";
    let one = |(group, id, title): &(&str, &str, &str)| {
        stacked(&format!("f1993-1-{id}"), &format!("Figure 1 today: {title}"), caption, &of_protocol(today, group), &TODAY)
    };
    GROUPS.iter().map(one).collect()
}

/// What a workload costs, predicted from single sizes and measured.
fn workload(today: &[Curve]) -> Option<Table> {
    let of =
        |how: &'static str| today.iter().filter(move |curve| curve.quantity == "workload" && curve.labels.iter().any(|label| label == how));
    let predicted: Vec<&Curve> = of("predicted").collect();
    let words = |curve: &Curve| {
        let of = curve.points.first()?.1;
        let ends = if of.high.is_finite() { format!(" ({} to {})", number::time(of.low), number::time(of.high)) } else { String::new() };
        Some(format!("{}{ends}", number::time(of.value)))
    };
    let measured = |one: &Curve| of("measured").find(|other| other.name == one.name);
    let rows = Rows::of(&predicted)
        .words("Workload", |one| one.name.as_str())
        .figures("predicted from single sizes", |one| words(one))
        .figures("measured without receipts", |one| measured(one).and_then(words));
    (!predicted.is_empty()).then(|| rows.table().titled("Today: a workload, predicted and measured"))
}

/// TCP and UDP next to each other, kind by kind.
fn sums(today: &[Curve]) -> Option<Table> {
    let of = |(key, name): &(&str, &str)| {
        let curves = ["tcp", "udp"]
            .map(|protocol| of_protocol(today, protocol).into_iter().find(|curve| curve.name == *key).map(|curve| (protocol, curve)));
        curves.into_iter().flatten().map(|(protocol, curve)| (format!("{name}, {}", protocol.to_uppercase()), curve)).collect::<Vec<_>>()
    };
    by_size("Send and receive summed, by kind of work", &TODAY.iter().flat_map(of).collect::<Vec<_>>())
}

/// Workloads whose sizes are drawn next to those of his network.
const WORKLOADS: [&str; 2] = ["W1", "W3"];

/// Shares of messages by size in workloads that others published, a mark a doubling.
fn histogram() -> Option<Figure> {
    let all = Workload::built_in().ok()?;
    let known: Vec<&Workload> = all.iter().filter(|one| WORKLOADS.contains(&one.name.as_str())).collect();
    let line = |(place, one): (usize, &&Workload)| {
        let mut shares: BTreeMap<u64, f64> = BTreeMap::new();
        for (size, share) in one.sizes.points() {
            *shares.entry((*size).max(1).next_power_of_two()).or_default() += share;
        }
        let point = |(size, share): (u64, f64)| (size as f64, share, format!("up to {}", number::size(size)), number::percent(share));
        Trace::points(&format!("today, {}", one.name), place, shares.into_iter().map(point))
    };
    let titles: Vec<String> = known.iter().map(|one| format!("{}: {}", one.name, one.title)).collect();
    let caption = format!("Not his network, but workloads published since. {}. A mark is the share of a doubling.", titles.join("; "));
    let traces = known.iter().enumerate().map(line).collect();
    let axis = SizeAxis { linear_ticks: Ticks::default(), ..SizeAxis::of_numbers("message size, B", 1.0, 1e8, true) };
    let panel = Panel { joined: true, ..Panel::of("share of messages", "%").on(Scale::Linear) };
    Some(figure("f1993-2-today".into(), "Figure 2 today: sizes of messages", &caption, Some(axis), panel, traces))
}

fn kinds() -> Table {
    let rows = KINDS.iter().map(|(name, depends, today)| vec![(*name).to_owned(), (*depends).to_owned(), (*today).to_owned()]).collect();
    Table::of_rows(vec!["Kind", "Depends on the size", "Category of nettoll"], rows, Kind::Words)
}

pub fn items(today: &[Curve]) -> Vec<Item> {
    vec![
        Item::new(
            "Figure 1",
            "time of send and receive by kind of work over message size, TCP and UDP",
            DRAWING,
            &["k93-01", "k93-02", "k93-03", "k93-04", "k93-05", "k93-06", "k93-07", "k93-08", "k93-09", "k93-10"],
        )
        .drawn(std::iter::once(shares()).chain(bars(today)))
        .tabled(std::iter::once(kinds()).chain(sums(today)))
        .measured_by("study receipt --size 1,1440,16384"),
        Item::new("Figure 2", "histogram of message sizes on a department's network", DRAWING, &["k93-11"])
            .drawn(if today.is_empty() { None } else { histogram() })
            .measured_by("attach PID"),
        Item::new("Figure 3", "the kinds of figure 1 weighted by that histogram, TCP and UDP", DRAWING, &["k93-12"])
            .tabled_today(workload(today))
            .measured_by("workload W1"),
    ]
}
