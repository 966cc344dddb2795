//! The answer of a map of buffers: the smallest pair that reaches the plateau.

use model::Bytes;
use model::plan::{RawPlan, preset};
use stats::estimate::Estimate;
use stats::knee::{ENOUGH, NOTCH};

use super::notation::{amount, digits, plural, size};
use super::sweep::{LEAST_BLOCKS, caveat, ends, too_few};
use super::{Answer, Grade, Next, Part, next};
use crate::metric::Metric;
use crate::studies::Analysis;
use crate::studies::buffers::{BufferCell, BufferLevel, BufferMap};

/// Share of the link's limit from which on larger buffers have nothing to gain.
const FULL: f64 = 0.95;

/// The buffers that are tried beyond the edge of a grid, by its largest.
const GROWTH: [u64; 3] = [1, 2, 4];

/// The answer.
pub fn of(analysis: &Analysis) -> Answer {
    let maps = analysis.buffers();
    let question = format!("buffers over {}", maps.first().map_or_else(String::new, |map| map.link.to_string()));
    let Some(map) = maps.first().filter(|map| !map.cells.is_empty()) else {
        return Answer::new(question, "Nothing was measured.", Grade::Open, "no pair of buffers was measured");
    };
    let (grade, reason) = grade(map, analysis.blocks);
    let edge = is_at_edge(map);
    let chosen = chosen(map);
    let own = map.autotuned.as_ref().filter(|_| !is_over_autotuning(map));
    let mut headline = match (chosen, own) {
        (Some((_, cell)), Some(own)) if edge => format!(
            "Autotuning reaches {}; the largest pair, {}, {}: at the edge of the grid, try larger.",
            rate(&own.goodput_bit_per_s),
            pair(map, cell),
            rate(&cell.goodput_bit_per_s)
        ),
        (Some((_, cell)), None) if edge => {
            format!("At the edge of the grid, try larger: the largest pair, {}, reaches {}.", pair(map, cell), reached(cell))
        }
        (Some((_, cell)), Some(own)) => format!(
            "{} {}; {} reach {}.",
            // No advice on what is not shown.
            if grade == Grade::Open { "Autotuning reaches" } else { "Leave the buffers to autotuning:" },
            rate(&own.goodput_bit_per_s),
            pair(map, cell),
            rate(&cell.goodput_bit_per_s)
        ),
        (Some((_, cell)), None) if grade == Grade::Open => format!("{} reach {}.", pair(map, cell), reached(cell)),
        (Some((_, cell)), None) => format!("Use {}: {}.", pair(map, cell), reached(cell)),
        (None, _) => format!("No plateau: {} reach {}.", pair(map, fastest(map)), reached(fastest(map))),
    };
    let alone = chosen.filter(|_| own.is_none());
    headline += &alone.map_or_else(String::new, |(place, cell)| neighbours(map, place, cell));
    headline += &alone.filter(|_| !edge).and_then(|(_, cell)| smaller(map, cell)).unwrap_or_default();
    let brief = match chosen {
        Some((_, cell)) if edge => format!("edge of the grid, {}", rate(&cell.goodput_bit_per_s)),
        Some((_, cell)) => format!("{}, {}", pair(map, cell), rate(&cell.goodput_bit_per_s)),
        None => "no plateau".to_owned(),
    };
    let shown = chosen.map_or_else(|| fastest(map), |(_, cell)| cell);
    let part = Part::figure(pair(map, shown), Some(Metric::GoodputBitPerS), Some(map.message), shown.goodput_bit_per_s.value);
    let parts = vec![Part { interval: ends(&shown.goodput_bit_per_s), ..part }];
    let next = (grade != Grade::Settled).then(|| match analysis.blocks < LEAST_BLOCKS {
        _ if edge => larger(analysis, map),
        true => next::missing(analysis, LEAST_BLOCKS as usize),
        false => next::halve(analysis, "narrow the interval of that pair by half"),
    });
    let more = maps.len() - 1;
    let more = if more > 0 { format!(" {} below.", plural(more as u64, "more map")) } else { String::new() };
    Answer { parts, brief, next, caveat: caveat(analysis), ..Answer::new(question, headline + &more, grade, reason) }
}

/// The grade of a map by the interval of the pair to use, and why.
pub fn grade(map: &BufferMap, blocks: u32) -> (Grade, String) {
    if is_at_edge(map) {
        return (Grade::Open, "no larger pair was measured".to_owned());
    }
    if blocks < LEAST_BLOCKS {
        return too_few(blocks);
    }
    match &map.knee {
        Some(knee) if knee.surely.is_some_and(|surely| surely <= knee.buffer) => {
            (Grade::Settled, "its whole interval reaches 95 % of the plateau".to_owned())
        }
        Some(_) => (Grade::Rough, "its median reaches 95 % of the plateau, its whole interval does not".to_owned()),
        None => (Grade::Open, "no plateau is shown".to_owned()),
    }
}

/// The pair to use, with its place on the diagonal.
fn chosen(map: &BufferMap) -> Option<(usize, &BufferCell)> {
    let place = map.knee.as_ref()?.buffer;
    Some((place, map.cells.get(*map.diagonal.get(place)?)?))
}

/// Returns whether the pair that reaches the plateau is the largest, which shows no plateau while the link has room.
fn is_at_edge(map: &BufferMap) -> bool {
    let is_last =
        |(place, cell): (usize, &BufferCell)| place + 1 == map.diagonal.len() && cell.limit_share.is_none_or(|share| share < FULL);
    chosen(map).is_some_and(is_last)
}

/// A study of the largest pair and two that are larger.
fn larger(analysis: &Analysis, map: &BufferMap) -> Next {
    let plan = &analysis.run.plan;
    let asked = |level: &BufferLevel| level.asked.map(Bytes::get);
    let largest = chosen(map).and_then(|(_, cell)| Some([asked(&map.senders[cell.sender])?, asked(&map.receivers[cell.receiver])?]));
    let usual = preset(&plan.name).and_then(|text| RawPlan::parse(text).ok());
    let (Some(largest), Some(usual), true) = (largest, usual, plan.hosts.is_empty()) else {
        return Next::advice("Measure larger buffers (sndbuf and rcvbuf of the plan).");
    };
    let [send, receive] = largest.map(|size| GROWTH.map(|times| size.saturating_mul(times).to_string()).join(","));
    // The preset's own goes without saying.
    let link = if usual.link.kind == Some(map.link) { String::new() } else { format!(" --link {}", next::quoted(&map.link.to_string())) };
    let command = format!("nettoll study {}{link} --sndbuf {send} --rcvbuf {receive} --blocks {LEAST_BLOCKS}", plan.name);
    Next::command("try larger ones", command, None)
}

/// Returns whether the pair to use reaches more than autotuning, as far as is known.
fn is_over_autotuning(map: &BufferMap) -> bool {
    let over = map.autotuned.as_ref().and_then(|own| own.buffer_over_it);
    over.is_some_and(|over| over.interval.map_or(over.value, |ends| ends.low) > 1.0)
}

fn fastest(map: &BufferMap) -> &BufferCell {
    let rate = |cell: &BufferCell| cell.goodput_bit_per_s.value;
    let mut best = &map.cells[0];
    for cell in &map.cells {
        if rate(cell) > rate(best) {
            best = cell;
        }
    }
    best
}

fn asked(asked: Option<Bytes>) -> String {
    asked.map_or_else(|| "the kernel's own size".to_owned(), size)
}

/// `64 KiB each`, `64 KiB and 32 KiB`.
fn sizes(map: &BufferMap, cell: &BufferCell) -> String {
    let (send, receive) = (map.senders[cell.sender].asked, map.receivers[cell.receiver].asked);
    if send == receive { format!("{} each", asked(send)) } else { format!("{} and {}", asked(send), asked(receive)) }
}

/// `SO_SNDBUF and SO_RCVBUF of 64 KiB each`.
fn pair(map: &BufferMap, cell: &BufferCell) -> String {
    let (send, receive) = (map.senders[cell.sender].asked, map.receivers[cell.receiver].asked);
    match send == receive {
        true => format!("SO_SNDBUF and SO_RCVBUF of {} each", asked(send)),
        false => format!("SO_SNDBUF of {} and SO_RCVBUF of {}", asked(send), asked(receive)),
    }
}

fn rate(goodput: &Estimate) -> String {
    let (value, unit) = match goodput.value {
        rate if rate >= 1e9 => (rate / 1e9, "Gbit/s"),
        rate if rate >= 1e6 => (rate / 1e6, "Mbit/s"),
        rate => (rate / 1e3, "kbit/s"),
    };
    format!("{} {unit}", digits(value))
}

/// `46.3 Mbit/s, 97 % of the link`.
fn reached(cell: &BufferCell) -> String {
    let share = cell.limit_share.map_or_else(String::new, |share| format!(", {} % of the link", amount(share)));
    format!("{}{share}", rate(&cell.goodput_bit_per_s))
}

/// The pair of fewest bytes that is not larger at either end and reaches the plateau as well, by its median and within
/// the interval of the pair to use; of too few trials within what is no notch. `None` where there is none.
fn smaller(map: &BufferMap, cell: &BufferCell) -> Option<String> {
    let goodput = &cell.goodput_bit_per_s;
    let (least, within) = match ends(goodput) {
        Some([low, _]) => (low, "its interval".to_owned()),
        None => (goodput.value * (1.0 - NOTCH), format!("{} %", amount(NOTCH))),
    };
    let least = least.max(map.knee.as_ref()?.plateau_bit_per_s * ENOUGH);
    let asked = |one: &BufferCell| Some([map.senders[one.sender].asked?.get(), map.receivers[one.receiver].asked?.get()]);
    let [send, receive] = asked(cell)?;
    let fits = |one: &&BufferCell| {
        let is_smaller = asked(one).is_some_and(|[s, r]| s <= send && r <= receive && [s, r] != [send, receive]);
        is_smaller && one.goodput_bit_per_s.value >= least
    };
    let found = map.cells.iter().filter(fits).min_by_key(|one| asked(one).map(|[s, r]| s.saturating_add(r)))?;
    let [s, r] = asked(found)?;
    let (name, verb) = match () {
        () if s == send => (format!("SO_RCVBUF of {}", size(Bytes::new(r))), "reaches"),
        () if r == receive => (format!("SO_SNDBUF of {}", size(Bytes::new(s))), "reaches"),
        () => (sizes(map, found), "reach"),
    };
    Some(format!(" {name} {verb} it too, within {within}."))
}

/// The share of its goodput that the next smaller pair reaches, and the gain of the next larger one.
fn neighbours(map: &BufferMap, place: usize, cell: &BufferCell) -> String {
    let on = |place: Option<usize>| map.diagonal.get(place?).and_then(|at| map.cells.get(*at));
    let of = |other: &BufferCell| other.goodput_bit_per_s.value / cell.goodput_bit_per_s.value;
    let smaller = on(place.checked_sub(1)).map(|other| format!("{} reach {} % of that", sizes(map, other), amount(of(other))));
    let larger = on(place.checked_add(1)).map(|other| {
        let more = of(other) - 1.0;
        format!("the next larger gain {} %", if more > 0.0 { amount(more) } else { "0".to_owned() })
    });
    let all: Vec<String> = smaller.into_iter().chain(larger).collect();
    if all.is_empty() { String::new() } else { format!(" {}.", all.join(", ")) }
}
