//! Socket buffers: a map of goodput over both buffers, and what follows from it.

use analysis::answer::{Grade, of_buffers};
use analysis::result::buffers::{BufferCell, BufferLevel, BufferMap, Line};
use analysis::result::{Analysis, Published};
use linksim::frame::Cut;
use linksim::transfer::SenderBuffer;
use model::Bytes;

use super::glance::places;
use crate::document::figure::{Panel, SizeAxis, Trace, X};
use crate::document::{Block, Cell, Figure, HeatMap, Kind, Level, Rows, Section, Shown, Square, Step, Table};
use crate::interval::{plus_minus, range};
use crate::number::{self, NOTHING};
use crate::words::{capital, list, plural};

/// Rows and columns of a map that are the answer in a terminal.
const MOST_ROWS: usize = 5;
const MOST_COLUMNS: usize = 8;

/// Notches that are named there.
const MOST_NOTCHES: usize = 1;

/// Every map of a run; `None` of a run that varies no buffer.
pub fn section(analysis: &Analysis) -> Option<Section> {
    let maps = analysis.buffers();
    let one = |(place, map)| {
        let is_open = of_buffers(map, analysis.blocks).0 == Grade::Open;
        let block = self::map(map, diagonal_figure(place, map, analysis.published()), is_open);
        // The headline is of the first.
        if place == 0 { block } else { Block::usual([block]) }
    };
    (!maps.is_empty()).then(|| Section::named("buffers", "Socket buffers", maps.iter().enumerate().map(one)))
}

/// Next to an open answer no pair is named to be used.
fn map(map: &BufferMap, figure: Option<Figure>, is_open: bool) -> Block {
    // One of a diagonal alone has a chart and a table, which say more.
    let whole = map.diagonal.len() < map.cells.len();
    let mut blocks = if whole { vec![Block::Map(heat_map(map, is_open)), Block::Aside(legend(map, is_open).into())] } else { Vec::new() };
    let figure = Block::figures(figure.into_iter().collect());
    let more = Block::sentences(behind(map, is_open)).map(|all| Block::usual([all]));
    let sentences = Block::sentences(sentences(map, is_open));
    blocks.extend(if whole { [sentences, more, figure] } else { [figure, sentences, more] }.into_iter().flatten());
    // Of a diagonal its table is the map in a terminal.
    let mut diagonal = (!map.diagonal.is_empty()).then(|| cells("The diagonal", map, &map.diagonal));
    if !whole && let Some(mut table) = diagonal.take() {
        table.row_levels = levels_of(map.diagonal.len(), MOST_ROWS, map.knee.map(|knee| knee.buffer));
        blocks.extend(Block::folded("The diagonal", [table.into()]));
    }
    let ends = [levels("sender", &map.senders).into(), levels("receiver", &map.receivers).into()];
    blocks.extend(Block::behind("The diagonal, and what each end asked for and got", diagonal.map(Block::from).into_iter().chain(ends)));
    if whole {
        let all: Vec<usize> = (0..map.cells.len()).collect();
        blocks.extend(Block::everything("Every pair", [cells("Every pair of buffers", map, &all).into()]));
    }
    Block::piece(title(map), blocks)
}

fn cells(label: &str, map: &BufferMap, places: &[usize]) -> Table {
    let rows: Vec<(usize, &BufferCell)> = places.iter().map(|place| (*place, &map.cells[*place])).collect();
    let sender = |cell: &BufferCell| asked(&map.senders[cell.sender]);
    let mark = |place: usize| if is_notch(map, place) { " *" } else { "" };
    let goodput = |(_, cell): &(usize, &BufferCell)| Cell::estimate(Some(&cell.goodput_bit_per_s), number::bits);
    let ratio = |value| number::significant(value, 3);
    let has = |of: fn(&BufferCell) -> bool| map.cells.iter().any(of);
    let [limit, wire, model] = [has(|cell| cell.limit_share.is_some()), has(|cell| cell.wire_bit_per_s.is_some()), fits(map)];
    Rows::of(&rows)
        .tight(true)
        .figures(("Asked, sender", 5, ["asked,", "sender"]), |(place, cell)| sender(cell) + mark(*place))
        .figures(("Asked, receiver", 6, ["asked,", "receiver"]), |(_, cell)| asked(&map.receivers[cell.receiver]))
        .figures(("Packets seen", 10, ["packets", "seen"]), |(_, cell)| packets(cell.in_flight))
        .tight(false)
        .column(("Goodput", 10, ["", "goodput"]), Kind::Estimates(Shown::Margin), goodput)
        .tight(true)
        .column_if(limit, ("Share of the limit", 9, ["of the", "limit"]), Kind::Figures, |(_, cell)| cell.limit_share.map(number::percent))
        .column_if(wire, ("On the wire", 4, ["on the", "wire"]), Kind::Figures, |(_, cell)| cell.wire_bit_per_s.map(number::bits))
        .figures(("Segments an ACK", 3, ["segments", "an ACK"]), |(_, cell)| cell.segments_per_ack.map(ratio))
        .figures(("Sent again", 2, ["sent", "again"]), |(_, cell)| number::whole(cell.resent))
        .column_if(model, ("Model", 7, ["", "model"]), Kind::Figures, |(_, cell)| cell.predicted.map(|model| number::bits(model.bit_per_s)))
        .column_if(model, ("Measured / model", 8, ["measured/", "model"]), Kind::Estimates(Shown::Value), |(_, cell)| {
            Cell::estimate(cell.predicted.as_ref().map(|model| &model.ratio), ratio)
        })
        .table()
        .titled(label)
        .labelled(label, "Goodput by pair of buffers")
}

/// Levels of steps of which a terminal has no room for all: some from the first to the last are the answer, and the one
/// that is to be used.
fn levels_of(steps: usize, most: usize, used: Option<usize>) -> Vec<Level> {
    let mut shown = places(steps, most);
    if let Some(used) = used.filter(|used| !shown.contains(used))
        && let Some(nearest) = shown.iter_mut().min_by_key(|place| place.abs_diff(used))
    {
        *nearest = used;
    }
    (0..steps).map(|step| if shown.contains(&step) { Level::Answer } else { Level::Usual }).collect()
}

/// Table of the buffers that one end asked for and got.
fn levels(end: &str, levels: &[BufferLevel]) -> Table {
    let asked_by = format!("{}, asked", capital(end));
    Rows::of(levels)
        .figures((asked_by.as_str(), 9, [end, "asked"]), asked)
        .figures(("Set", 8, ["", "set"]), |level| told(level.set))
        .figures(("At the end", 7, ["at the", "end"]), |level| told(level.got))
        .column_if(end == "receiver", ("Window offered", 6, ["window", "offered"]), Kind::Figures, |level| packets(level.window))
        .figures(("Packets seen", 9, ["packets", "seen"]), |level| packets(level.in_flight))
        .figures(("Most packets", 8, ["most", "packets"]), |level| level.most_in_flight.map(|most| number::whole(most.into())))
        .figures(("Looks", 2, ["", "looks"]), |level| number::whole(level.looks))
        .table()
        .labelled(format!("The {end}'s buffer"), format!("{asked_by}, set, got, and seen"))
}

fn is_notch(map: &BufferMap, place: usize) -> bool {
    map.notches.iter().any(|notch| notch.cell == place)
}

fn heat_map(map: &BufferMap, is_open: bool) -> HeatMap {
    let used = map.knee.map(|knee| map.diagonal[knee.buffer]);
    let steps = |levels: &[BufferLevel], most, used: Option<usize>| -> Vec<Step> {
        let step = |(level, of): (&BufferLevel, Level)| {
            let bytes = level.asked.filter(|_| level.in_flight.is_some()).map(|asked| number::whole(asked.get()));
            Step { name: name(level), detail: bytes.unwrap_or_default(), hint: format!("asked {}", asked(level)), level: of }
        };
        levels.iter().zip(levels_of(levels.len(), most, used)).map(step).collect()
    };
    let square = |(place, cell): (usize, &BufferCell)| {
        let (marked, framed) = (is_notch(map, place), used == Some(place));
        let goodput = &cell.goodput_bit_per_s;
        let seen = cell.in_flight.map_or(String::new(), |_| format!(", {} packets seen", packets(cell.in_flight)));
        let hint = format!(
            "asked {} and {}: {} ({}), {} {}{seen}{}{}",
            asked(&map.senders[cell.sender]),
            asked(&map.receivers[cell.receiver]),
            number::bits(goodput.value),
            range(goodput, number::bits),
            number::percent(share(map, cell).clamp(0.0, 1.0)),
            share_of(map),
            if marked { "; a notch" } else { "" },
            if framed { format!("; {}", framed_as(is_open)) } else { String::new() },
        );
        Square { column: cell.receiver, row: cell.sender, share: share(map, cell), marked, framed, hint }
    };
    HeatMap {
        label: format!("{}: goodput by the sender's and the receiver's buffer. The figures are in the table of every pair.", title(map)),
        corner: "sender    receiver's buffer; packets and bytes; %",
        across: "receiver's buffer (SO_RCVBUF)",
        up: "sender's buffer (SO_SNDBUF)",
        units: ["packets", "bytes"],
        columns: steps(&map.receivers, MOST_COLUMNS, used.map(|place| map.cells[place].receiver)),
        rows: steps(&map.senders, MOST_ROWS, used.map(|place| map.cells[place].sender)),
        squares: map.cells.iter().enumerate().map(square).collect(),
        darkest: 1.0,
    }
}

/// The pair that has a frame: that of the headline, which an open answer does not advise.
const fn framed_as(is_open: bool) -> &'static str {
    if is_open { "the pair of the headline" } else { "the pair to use" }
}

/// A map's title.
fn title(map: &BufferMap) -> String {
    format!("{} of {} B over {}", map.label, number::whole(map.message.get()), map.link)
}

/// Bytes without a prefix: what was asked for is no round number of KiB.
fn asked(level: &BufferLevel) -> String {
    level.asked.map(Bytes::get).map_or("by itself".to_owned(), number::whole)
}

/// A buffer size as the kernel tells it.
fn told(value: Option<i64>) -> String {
    value.map_or(NOTHING.to_owned(), number::signed)
}

/// Segments.
fn packets(value: Option<f64>) -> String {
    value.map_or(NOTHING.to_owned(), |value| if value.fract() == 0.0 { number::whole(value as u64) } else { number::significant(value, 3) })
}

/// The shortest name of a level: packets, as they were seen under way.
fn name(level: &BufferLevel) -> String {
    level.in_flight.map_or_else(|| asked(level), |_| packets(level.in_flight))
}

/// Share of the best that a cell reaches: of the limit of the wire, or, on a link
/// without a rate, of the plateau or the fastest cell.
fn share(map: &BufferMap, cell: &BufferCell) -> f64 {
    cell.limit_share.unwrap_or_else(|| {
        let best = map.cells.iter().map(|cell| cell.goodput_bit_per_s.value).fold(0.0, f64::max);
        cell.goodput_bit_per_s.value / map.knee.map_or(best, |knee| knee.plateau_bit_per_s)
    })
}

/// The whole of which [`share`] is a part.
fn share_of(map: &BufferMap) -> &'static str {
    if map.cells.iter().any(|cell| cell.limit_share.is_some()) { "of the wire's payload rate" } else { "of the plateau" }
}

/// The two buffers of a cell, as they were asked for.
fn both(map: &BufferMap, cell: &BufferCell) -> String {
    let (sender, receiver) = (&map.senders[cell.sender], &map.receivers[cell.receiver]);
    let ask = |name: &str, level: &BufferLevel| level.asked.map(|asked| format!("{name} {}", number::whole(asked.get())));
    let seen = cell.in_flight.map(|_| format!("{} packets in flight", packets(cell.in_flight)));
    let asked: Vec<String> = [ask("SO_SNDBUF", sender), ask("SO_RCVBUF", receiver)].into_iter().flatten().collect();
    match seen {
        Some(seen) => format!("{seen}: {}", list(&asked)),
        None => list(&asked),
    }
}

/// What a reader of the map has to know: the pair to use is in the headline.
fn sentences(map: &BufferMap, is_open: bool) -> Vec<String> {
    let mut all = notches(map);
    let more = all.len().saturating_sub(MOST_NOTCHES);
    all.truncate(MOST_NOTCHES);
    if let Some(last) = all.last_mut().filter(|_| more > 0) {
        *last += &format!(" {more} more.");
    }
    all.extend(autotuned(map, is_open));
    all.extend(predicted(map).filter(|_| fits(map)));
    all
}

/// What stands behind it.
fn behind(map: &BufferMap, is_open: bool) -> Vec<String> {
    let notches = notches(map).into_iter().skip(MOST_NOTCHES);
    let predicted = predicted(map).filter(|_| !fits(map)).map(|text| format!("The model does not fit and is not drawn. {text}"));
    let knee = if is_open { Vec::new() } else { knee(map) };
    knee.into_iter().chain(predicted).chain(notches).chain(grown(map)).chain(least(map)).chain(beyond(map)).collect()
}

fn knee(map: &BufferMap) -> Vec<String> {
    let Some(knee) = map.knee else { return Vec::new() };
    let cell = |place: usize| both(map, &map.cells[map.diagonal[place]]);
    let goodput = map.cells[map.diagonal[knee.buffer]].goodput_bit_per_s;
    let surely = match knee.surely {
        Some(place) if place == knee.buffer => "its whole interval does".to_owned(),
        Some(place) => format!("the whole interval does from {} on", cell(place)),
        None => "no pair's whole interval does: more blocks would tell".to_owned(),
    };
    let reaches = match map.cells[map.diagonal[knee.at]].goodput_bit_per_s.interval {
        Some(_) => "interval",
        None => "median (trials are too few for an interval)",
    };
    vec![
        format!(
            "Knee: {}. It is the smallest pair whose {reaches} reaches 95 % of the plateau, {} (median of the {} largest).",
            cell(knee.at),
            number::bits(knee.plateau_bit_per_s),
            knee.plateau_cells
        ),
        format!(
            "The smallest pair whose median, {} {}, reaches it has {}; {surely}.",
            number::bits(goodput.value),
            plus_minus(&goodput),
            cell(knee.buffer)
        ),
    ]
}

fn notches(map: &BufferMap) -> Vec<String> {
    if map.tested == 0 {
        return Vec::new();
    }
    if map.notches.is_empty() {
        return vec![format!(
            "No notch: {} of a cell with its two neighbours, in rows, columns and the diagonal, found none that is slower than both by 2 % and more than chance.",
            plural(map.tested as u64, "comparison")
        )];
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

fn autotuned(map: &BufferMap, is_open: bool) -> Option<String> {
    let own = map.autotuned.as_ref()?;
    let goodput = own.goodput_bit_per_s;
    let over = own.buffer_over_it.filter(|ratio| !is_open && ratio.interval.is_some());
    let over = over.map_or(String::new(), |ratio| format!("; the pair to use has {} of that", range(&ratio, number::percent)));
    Some(format!("Autotuning reaches {} {}{over}.", number::bits(goodput.value), plus_minus(&goodput)))
}

/// The buffers that the kernel chose by itself.
fn grown(map: &BufferMap) -> Option<String> {
    let own = map.autotuned.as_ref()?;
    Some(format!("Autotuning ends with SO_SNDBUF {} and SO_RCVBUF {}.", told(own.got[0]), told(own.got[1])))
}

/// The figures that were measured, as shares of the model's.
fn of_model(map: &BufferMap) -> Vec<f64> {
    map.cells.iter().filter_map(|cell| cell.predicted.map(|model| model.ratio.value)).collect()
}

/// Number of cells within 10 % of the model.
fn within(ratios: &[f64]) -> usize {
    ratios.iter().filter(|ratio| (0.9..=1.1).contains(*ratio)).count()
}

/// Returns whether the model fits this machine: half of the cells are within 10 % of their modelled goodput.
fn fits(map: &BufferMap) -> bool {
    let ratios = of_model(map);
    !ratios.is_empty() && 2 * within(&ratios) >= ratios.len()
}

fn predicted(map: &BufferMap) -> Option<String> {
    let ratios = of_model(map);
    let (least, most) = (ratios.iter().copied().reduce(f64::min)?, ratios.iter().copied().reduce(f64::max)?);
    Some(format!(
        "Measured over the model of the same wire and hosts: {} to {}; within 10 % in {} of {}.",
        number::significant(least, 3),
        number::significant(most, 3),
        within(&ratios),
        plural(ratios.len() as u64, "cell")
    ))
}

/// The smallest send buffer that the kernel gives.
fn least(map: &BufferMap) -> Option<String> {
    let clamped = |level: &&BufferLevel| level.asked.zip(level.set).is_some_and(|(asked, set)| set > 2 * asked.get().cast_signed());
    let set = map.senders.iter().filter(clamped).filter_map(|level| level.set).min()?;
    let (payload, sndbuf) = (u32::try_from(map.message.get()).ok()?, u32::try_from(set).ok()?);
    let segments = SenderBuffer::from_sockopt(sndbuf, payload.min(Cut::PLAIN.segment_payload())).segments;
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

/// Legend of the map.
fn legend(map: &BufferMap, is_open: bool) -> String {
    let notch = if map.notches.is_empty() { "" } else { "; * is a notch" };
    let framed = map.knee.map_or_else(String::new, |_| format!("; framed: {}", framed_as(is_open)));
    format!("Goodput as a share {}, by packets in flight and bytes asked for (medians){framed}{notch}.", share_of(map))
}

/// Goodput over packets, with the model and what was published; `None` where no buffer was seen at work.
fn diagonal_figure(place: usize, map: &BufferMap, published: Option<&Published>) -> Option<Figure> {
    let cells: Vec<_> = map.diagonal.iter().map(|cell| &map.cells[*cell]).filter(|cell| cell.in_flight.is_some()).collect();
    let packets: Vec<f64> = cells.iter().filter_map(|cell| cell.in_flight).collect();
    let most = packets.iter().copied().reduce(f64::max)?;
    let mut measured = Trace { name: "today".to_owned(), legend: true, x: X::Sizes(packets.clone()), ..Trace::default() };
    for cell in &cells {
        let head = format!("{} packets", number::significant(cell.in_flight.unwrap_or_default(), 3));
        measured.push(&cell.goodput_bit_per_s, 1.0, &head, number::bits);
    }
    let mut traces = vec![measured];
    let model = Trace::line(
        "model",
        0,
        packets.into_iter().zip(&cells).map(|(packets, cell)| (packets, cell.predicted.map(|model| model.bit_per_s))),
    );
    let model = Some(model).filter(|model| fits(map) && !model.is_empty());
    let dotted = if model.is_some() { " Dotted: the model of the same wire, hosts, buffers and acknowledgements." } else { "" };
    traces.extend(model);
    let theirs = published.into_iter().flat_map(|published| &published.buffers).filter(|theirs| theirs.place == place);
    traces.extend(theirs.enumerate().map(|(series, theirs)| {
        let points = theirs.rows.iter().filter_map(|row| {
            let rate = row.published_kbytes_per_s? * 1024.0 * 8.0;
            Some((row.packets as f64, rate, format!("{} packets", row.packets), number::bits(rate)))
        });
        Trace::points(&theirs.pair, series + 1, points)
    }));
    Some(Figure {
        id: format!("buffers-{place}").into(),
        title: "Both buffers rising".into(),
        caption: format!("Over the packets in flight.{dotted}"),
        alt: "Goodput against socket buffer in packets. The figures are in the table of the diagonal.".to_owned(),
        sizes: Some(SizeAxis { title: Some("packets in flight"), log: false, ..SizeAxis::over(1, most.ceil() as u64) }),
        panels: vec![Panel::of("goodput", "bit/s")],
        traces,
    })
}
