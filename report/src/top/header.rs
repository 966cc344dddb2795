//! The lines above the table: the window, the network's part of the machine, how far to trust it.

use analysis::answer::notation::digits;
use analysis::top::{Network, Snapshot};
use unicode_width::UnicodeWidthStr;

use super::columns::{cpus, cpus_of, reach, sum};
use super::line::{Line, Role, cut, flow, paragraph, right};
use super::rows::{dearest, short, tail};
use super::view::View;
use crate::number::{count, percent, tight, whole};

/// Lines that a header may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// The window and the network's part.
    Least,
    /// With the unit that makes others bear softirqs, and the bar of busy and idle time.
    Bar,
    /// With layers, kinds of work and checks.
    All,
}

/// Keys that every screen names.
const KEYS: &str = "h help  q quit";
/// Columns of the names of lines of parts.
const NAME: usize = 7;
/// Columns of a unit's name.
const MOST_NAME: usize = 30;
/// The narrowest bar that says something.
const LEAST_BAR: usize = 10;

/// The lines; `keys`: of a screen, whose title names the keys of help and end.
pub fn header(snapshot: &Snapshot, view: &View, width: usize, depth: Depth, keys: bool) -> Vec<Line> {
    let mut lines = vec![title(snapshot, view, width, keys)];
    let Some(network) = &snapshot.network else {
        lines.extend(unsampled(snapshot, width));
        return lines;
    };
    lines.extend(leading(snapshot, network, width));
    if depth >= Depth::Bar {
        lines.extend(cause(snapshot, width));
        lines.extend(bar(snapshot, network, width));
    }
    if depth == Depth::All {
        lines.extend(parts("layer", network.layer.iter().map(|(layer, cpus)| (layer.name(), *cpus)), width));
        lines.extend(parts("work", network.category.iter().map(|(category, cpus)| (category.name(), *cpus)), width));
        lines.extend(drops(snapshot, width));
        lines.extend(checks(snapshot, network, width));
    }
    lines
}

/// What is watched; items that have no room go, the last first.
fn title(snapshot: &Snapshot, view: &View, width: usize, keys: bool) -> Line {
    const MOST_HOST: usize = 24;
    let keys = if keys { KEYS } else { "" };
    let mut line = Line::of("nettoll top", Role::Title);
    let seconds = format!("{} s", digits(snapshot.elapsed_ns as f64 / 1e9).trim_end_matches('0').trim_end_matches('.'));
    let samples = &snapshot.samples;
    let machine = if snapshot.network.is_some() {
        format!("{seconds}, {} Hz × {} CPUs", digits(snapshot.hz).trim_end_matches('0').trim_end_matches('.'), snapshot.cpus)
    } else {
        format!("{seconds}, {} CPUs, no samples", snapshot.cpus)
    };
    let made =
        if snapshot.network.is_some() { format!("{} of {} samples", whole(samples.made), whole(samples.due)) } else { String::new() };
    let frozen = if view.frozen { "FROZEN" } else { "" };
    let room = width.saturating_sub(keys.width() + 2);
    for (item, role, gap) in [
        (frozen, Role::Warning, "  "),
        (&cut(&view.host, MOST_HOST), Role::Title, "  "),
        (&machine, Role::Plain, "  "),
        (&made, Role::Plain, ", "),
    ] {
        if !item.is_empty() && line.width() + gap.len() + item.width() <= room {
            line.push(gap, Role::Plain);
            line.push(item, role);
        }
    }
    let gap = width.saturating_sub(line.width() + keys.width());
    if !keys.is_empty() && gap > 0 {
        line.push(&" ".repeat(gap), Role::Plain);
        line.push(keys, Role::Faint);
    }
    line
}

/// A figure behind its name.
fn item(name: &str, figure: &str) -> Line {
    Line::of(name, Role::Faint).with(" ", Role::Plain).with(figure, Role::Plain)
}

/// The network's part, and the cost of watching.
fn leading(snapshot: &Snapshot, network: &Network, width: usize) -> Vec<Line> {
    let all = &network.all;
    let interval = if all.cpus > 0.0 { format!(" ({}–{})", digits(all.low), digits(all.high)) } else { String::new() };
    let figure = format!("Network {}{interval}", cpus_of(all));
    let items = |share: String, own: String| {
        vec![
            Line::of(&figure, Role::Title).with(&format!(" of {} CPUs{share}", snapshot.cpus), Role::Plain),
            item("calls", &sum(network.call)),
            item("softirq", &sum(network.softirq)),
            item("own cost", &own),
        ]
    };
    let own = snapshot.own;
    let share =
        if snapshot.cpus > 0 && all.cpus > 0.0 { format!(" ({})", percent(all.cpus / f64::from(snapshot.cpus))) } else { String::new() };
    let parts = format!("{} (reader {}, samples {}, hooks {})", sum(own.all()), sum(own.reader), sum(own.samples), sum(own.hooks));
    [items(share.clone(), parts), items(share, sum(own.all()))]
        .into_iter()
        .map(|items| flow(items, width))
        .find(|lines| lines.len() == 1)
        .unwrap_or_else(|| flow(items(String::new(), sum(own.all())), width))
}

/// The unit that makes another bear the most softirqs, with as much of the rest as has room; empty where none does.
fn cause(snapshot: &Snapshot, width: usize) -> Vec<Line> {
    let Some(cause) = &snapshot.cause else { return Vec::new() };
    let names = short(snapshot.units.iter().map(|row| row.name.as_str()));
    let name = |path: &str| cut(names.get(path).copied().unwrap_or_else(|| tail(path, 1)), MOST_NAME);
    let figure = format!("{} ±{} CPUs", cpus(cause.all.cpus), cpus(reach(&cause.all)));
    let receiver = name(&cause.receiver);
    let interrupted = cause.interrupted.as_ref().map(|other| (name(&other.unit), cpus(other.all.cpus)));
    let (least, rest) = match (&cause.sender, interrupted) {
        (Some(sender), interrupted) => {
            let rest = interrupted.map(|(unit, cpus)| format!("; {cpus} of it interrupts {unit}"));
            (format!("{} causes {figure} of softirqs for {receiver}", name(sender)), rest.unwrap_or_default())
        }
        (None, Some((unit, _))) => (format!("Softirqs for {receiver} interrupt {unit}: {figure}"), String::new()),
        (None, None) => return Vec::new(),
    };
    let cpu = format!(", most on CPU {}", cause.cpu);
    let all = [format!("{least}{cpu}{rest}"), format!("{least}{rest}"), format!("{least}{cpu}")];
    let fits = all.into_iter().find(|sentence| sentence.width() <= width);
    paragraph(&fits.unwrap_or(least), width, Role::Title, [0, 2])
}

/// Busy and idle time as a bar; letters say what colours do.
fn bar(snapshot: &Snapshot, network: &Network, width: usize) -> Option<Line> {
    let (before, after) = (format!("busy {} [", sum(snapshot.busy)), format!("] idle {}", sum(snapshot.idle)));
    let room = width.saturating_sub(before.width() + after.width());
    if room < LEAST_BAR {
        return None;
    }
    let other = (snapshot.busy - network.call - network.softirq).max(0.0);
    let all = snapshot.busy.max(network.call + network.softirq) + snapshot.idle.max(0.0) + snapshot.missing.max(0.0);
    let mut line = Line::of(&before, Role::Plain);
    let mut sum = 0.0;
    let mut used = 0;
    for (part, letter, name, role) in [
        (network.call, "#", "calls", Role::Call),
        (network.softirq, "*", "softirq", Role::Softirq),
        (other, ".", "other", Role::Faint),
        (snapshot.missing, "?", "no sample", Role::Faint),
    ] {
        sum += part.max(0.0);
        // Each edge is rounded, not each part: the parts add up.
        let edge = if all > 0.0 { ((sum / all * room as f64).round() as usize).min(room) } else { 0 };
        let wide = edge.saturating_sub(used);
        used = used.max(edge);
        let spare = wide.saturating_sub(name.len());
        let text = match wide {
            wide if wide < name.len() + 2 => letter.repeat(wide),
            _ => format!("{}{name}{}", letter.repeat(spare / 2), letter.repeat(spare - spare / 2)),
        };
        line.push(&text, role);
    }
    line.push(&" ".repeat(room - used), Role::Plain);
    Some(line.with(&after, Role::Plain))
}

/// Parts of the network's work, as many as have room, and the sum of the others; `None` without work.
fn parts<'a>(name: &str, parts: impl Iterator<Item = (&'a str, f64)>, width: usize) -> Option<Line> {
    let parts: Vec<(&str, f64)> = parts.filter(|(_, cpus)| *cpus > 0.0).collect();
    let line = |shown: usize| {
        let mut line = Line::of(&format!("{name:<NAME$}"), Role::Faint);
        let rest: f64 = parts[shown..].iter().map(|(_, cpus)| cpus).sum();
        let others = (shown < parts.len()).then_some(("others", rest));
        for (place, (name, value)) in parts[..shown].iter().copied().chain(others).enumerate() {
            line.push(if place == 0 { "" } else { "  " }, Role::Plain);
            line.append(item(name, &cpus(value)));
        }
        line
    };
    (0..=parts.len()).rev().filter(|_| !parts.is_empty()).map(line).find(|line| line.width() <= width)
}

/// Units at whose sockets the kernel drops packets, as many as have room; `None` where it drops none.
fn drops(snapshot: &Snapshot, width: usize) -> Option<Line> {
    let names = short(snapshot.units.iter().map(|row| row.name.as_str()));
    let mut dropping: Vec<(&str, f64)> = snapshot.units.iter().filter_map(|row| Some((row.name.as_str(), row.drops?))).collect();
    dropping.retain(|(_, drops)| *drops > 0.0);
    dearest(&mut dropping, |(_, drops)| *drops);
    let mut line = Line::of("dropped/s", Role::Faint);
    for (path, drops) in dropping {
        let name = cut(names.get(path).copied().unwrap_or(path), MOST_NAME);
        let more = Line::of("  ", Role::Plain).with(&name, Role::Plain).with(" ", Role::Plain).with(&tight(&count(drops)), Role::Plain);
        if line.width() + more.width() > width {
            break;
        }
        line.append(more);
    }
    (line.spans.len() > 1).then_some(line)
}

/// Figures by which to trust the others.
fn checks(snapshot: &Snapshot, network: &Network, width: usize) -> Vec<Line> {
    let mut items = Vec::new();
    if let Some(stat) = snapshot.proc_stat_softirq {
        items.push(item("softirq by /proc/stat", &sum(stat)));
        items.extend(snapshot.sampled_softirq.map(|sampled| item("by samples", &sum(sampled))));
    }
    items.extend(network.met.map(|met| item("owners found", &percent(met))));
    items.push(item("no sample", &sum(snapshot.missing)));
    if snapshot.samples.lost > 0 {
        items.push(item("lost samples", &whole(snapshot.samples.lost)));
    }
    if snapshot.samples.outside > 0 {
        items.push(item("samples outside this container", &whole(snapshot.samples.outside)));
    }
    flow(items, width)
}

/// The same of a machine whose CPUs could not be sampled.
fn unsampled(snapshot: &Snapshot, width: usize) -> Vec<Line> {
    let mut items = Vec::new();
    if let Some(stat) = snapshot.proc_stat_softirq {
        let figure = format!("Softirq {}", sum(stat));
        items.push(Line::of(&figure, Role::Title).with(&format!(" of {} CPUs", snapshot.cpus), Role::Plain));
        items.push(Line::of("all kinds, by /proc/stat", Role::Faint));
    }
    items.push(item("idle", &sum(snapshot.idle)));
    items.push(item("own cost", &sum(snapshot.own.all())));
    let mut lines = paragraph("Network: not known, because CPUs could not be sampled.", width, Role::Warning, [0, 0]);
    lines.extend(flow(items, width));
    lines
}

/// A line of a head: titles at the right of their columns.
pub fn heads<'a>(columns: impl Iterator<Item = (&'a str, usize, bool)>) -> Line {
    let mut line = Line::default();
    for (place, (head, width, is_order)) in columns.enumerate() {
        // An arrow, so that the order is seen without colours.
        let head = if is_order { format!("↓{head}") } else { head.to_owned() };
        let gap = if place == 0 { "" } else { " " };
        line.push(&format!("{gap}{}", right(&head, width)), Role::Title);
    }
    line
}
