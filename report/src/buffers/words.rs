//! Sentences and figures that text and page share.

use analysis::result::buffers::{BufferCell, BufferLevel, BufferMap, Line};
use linksim::frame::Cut;
use linksim::transfer::SenderBuffer;
use model::Bytes;

use crate::interval::{plus_minus, range};
use crate::number::{self, NOTHING};
use crate::words::{list, plural};

/// A map's title.
pub fn title(map: &BufferMap) -> String {
    format!("Socket buffers: {} of {} B over {}", map.label, number::whole(map.message.get()), map.link)
}

/// Bytes without a prefix: what was asked for is no round number of KiB.
pub fn asked(level: &BufferLevel) -> String {
    level.asked.map(Bytes::get).map_or("by itself".to_owned(), number::whole)
}

/// What the kernel told.
pub fn told(value: Option<i64>) -> String {
    value.map_or(NOTHING.to_owned(), number::signed)
}

/// Segments.
pub fn packets(value: Option<f64>) -> String {
    value.map_or(NOTHING.to_owned(), |value| if value.fract() == 0.0 { number::whole(value as u64) } else { number::significant(value, 3) })
}

/// The shortest name of a level: packets, as they were seen under way.
pub fn name(level: &BufferLevel) -> String {
    level.in_flight.map_or_else(|| asked(level), |_| packets(level.in_flight))
}

/// How much of its best a cell is: of the limit of the wire, or, of a link
/// without a rate, of the plateau or the fastest cell.
pub fn share(map: &BufferMap, cell: &BufferCell) -> f64 {
    cell.limit_share.unwrap_or_else(|| {
        let best = map.cells.iter().map(|cell| cell.goodput_bit_per_s.value).fold(0.0, f64::max);
        cell.goodput_bit_per_s.value / map.knee.map_or(best, |knee| knee.plateau_bit_per_s)
    })
}

/// What [`share`] is of.
pub fn share_of(map: &BufferMap) -> &'static str {
    if map.cells.iter().any(|cell| cell.limit_share.is_some()) { "of what the wire leaves room for" } else { "of the plateau" }
}

/// The two buffers of a cell, as they were asked for.
fn both(map: &BufferMap, cell: &BufferCell) -> String {
    let (sender, receiver) = (&map.senders[cell.sender], &map.receivers[cell.receiver]);
    let ask = |name: &str, level: &BufferLevel| level.asked.map(|asked| format!("{name} {}", number::whole(asked.get())));
    let seen = cell.in_flight.map(|_| format!("{} packets under way", packets(cell.in_flight)));
    let asked: Vec<String> = [ask("SO_SNDBUF", sender), ask("SO_RCVBUF", receiver)].into_iter().flatten().collect();
    match seen {
        Some(seen) => format!("{seen}: {}", list(&asked)),
        None => list(&asked),
    }
}

/// Everything that is to be said of a map.
pub fn sentences(map: &BufferMap) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(knee(map));
    all.extend(notches(map));
    all.extend(autotuned(map));
    all.extend(predicted(map));
    all.extend(least(map));
    all.extend(beyond(map));
    all
}

fn knee(map: &BufferMap) -> Vec<String> {
    let Some(knee) = map.knee else { return Vec::new() };
    let cell = |place: usize| both(map, &map.cells[map.diagonal[place]]);
    let goodput = map.cells[map.diagonal[knee.buffer]].goodput_bit_per_s;
    let surely = match knee.surely {
        Some(place) if place == knee.buffer => "its whole interval does".to_owned(),
        Some(place) => format!("the whole interval does from {} on", cell(place)),
        None => "of none the whole interval does: more blocks would tell".to_owned(),
    };
    vec![
        format!(
            "Knee: {}. It is the smallest pair whose interval reaches 95 % of the plateau, {} (median of the {} largest).",
            cell(knee.at),
            number::bits(knee.plateau_bit_per_s),
            knee.plateau_cells
        ),
        format!(
            "To use: {}. Its median, {} {}, is the first to reach it; {surely}.",
            cell(knee.buffer),
            number::bits(goodput.value),
            plus_minus(&goodput)
        ),
    ]
}

fn notches(map: &BufferMap) -> Vec<String> {
    if map.tested == 0 {
        return Vec::new();
    }
    if map.notches.is_empty() {
        let cells = if map.tested == 1 { "1 cell".to_owned() } else { format!("{} cells", number::whole(map.tested as u64)) };
        return vec![format!("No notch: of {cells} with two neighbours none is slower than both by 2 % and more than chance.")];
    }
    let mut all = Vec::new();
    for notch in map.notches.iter().filter(|notch| notch.line == Line::Diagonal) {
        let cell = &map.cells[notch.cell];
        all.push(format!(
            "Notch on the diagonal: {} is {} slower than the slower of its neighbours (p = {}).",
            both(map, cell),
            number::percent(notch.depth),
            number::significant(notch.p, 2)
        ));
    }
    all.extend(lines(map, Line::OverSenders, &map.senders, "send", "receive", |cell| cell.sender));
    all.extend(lines(map, Line::OverReceivers, &map.receivers, "receive", "send", |cell| cell.receiver));
    all
}

/// Notches of one buffer's levels, those of one level together.
fn lines(map: &BufferMap, line: Line, levels: &[BufferLevel], own: &str, other: &str, level: fn(&BufferCell) -> usize) -> Vec<String> {
    let of = |place: usize| map.notches.iter().filter(move |notch| notch.line == line && level(&map.cells[notch.cell]) == place);
    let mut all = Vec::new();
    for (place, named) in levels.iter().enumerate() {
        let depths: Vec<f64> = of(place).map(|notch| notch.depth).collect();
        let Some(deepest) = depths.iter().copied().reduce(f64::max) else { continue };
        all.push(format!(
            "Notch: a {own} buffer of {} (asked {}) is slower than the next smaller and the next larger with {}, by up to {}.",
            name(named) + " packets",
            asked(named),
            plural(depths.len() as u64, &format!("{other} buffer")),
            number::percent(deepest)
        ));
    }
    all
}

fn autotuned(map: &BufferMap) -> Option<String> {
    let own = map.autotuned.as_ref()?;
    let goodput = own.goodput_bit_per_s;
    let grown = format!("SO_SNDBUF {} and SO_RCVBUF {} by the end", told(own.got[0]), told(own.got[1]));
    let over =
        own.buffer_over_it.map_or(String::new(), |ratio| format!(" The buffer to use has {} of that.", range(&ratio, number::percent)));
    Some(format!("Left to itself the kernel comes to {} {} ({grown}).{over}", number::bits(goodput.value), plus_minus(&goodput)))
}

fn predicted(map: &BufferMap) -> Option<String> {
    let ratios: Vec<f64> = map.cells.iter().filter_map(|cell| cell.predicted.map(|model| model.ratio.value)).collect();
    let (least, most) = (ratios.iter().copied().reduce(f64::min)?, ratios.iter().copied().reduce(f64::max)?);
    let within = ratios.iter().filter(|ratio| (0.9..=1.1).contains(*ratio)).count();
    Some(format!(
        "Measured over the discrete-event model of the same wire, hosts, buffers and acknowledgements: {} to {}; within 10 % in {} of {}.",
        number::significant(least, 3),
        number::significant(most, 3),
        within,
        plural(ratios.len() as u64, "cell")
    ))
}

/// What the kernel gave though less was asked for.
fn least(map: &BufferMap) -> Option<String> {
    let clamped = |level: &&BufferLevel| level.asked.zip(level.set).is_some_and(|(asked, set)| set > 2 * asked.get().cast_signed());
    let set = map.senders.iter().filter(clamped).filter_map(|level| level.set).min()?;
    let (payload, sndbuf) = (u32::try_from(map.message.get()).ok()?, u32::try_from(set).ok()?);
    let segments = SenderBuffer::of(sndbuf, payload.min(Cut::PLAIN.segment_payload())).segments;
    Some(format!(
        "The kernel gives no send buffer below {}, which holds {}, however little is asked for.",
        told(Some(set)),
        plural(u64::from(segments), "packet")
    ))
}

fn beyond(map: &BufferMap) -> Option<String> {
    let beyond = map.beyond_ns?;
    Some(format!(
        "A trial takes {} {} beyond its transfer: processes, connections, counters.",
        number::time(beyond.value),
        plus_minus(&beyond)
    ))
}

/// How the map is read.
pub fn legend(map: &BufferMap) -> String {
    format!(
        "Goodput as a share {}. Packets are segments seen under way, the median over trials with the other buffer at its largest; * is a notch.",
        share_of(map)
    )
}
