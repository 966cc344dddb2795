//! A fleet: what falls out, then each figure with its map, its hosts, pairs and racks.

mod tables;
mod words;

use analysis::result::Analysis;
use analysis::result::fleet::{FleetFigure, FleetResult, Square};

use crate::document::Square as Shade;
use crate::document::{Block, HeatMap, Level, Section, Step, Tone};
use crate::number;
use crate::words::{capital, plural, writer};

pub use words::outlook;

/// Most hosts of a map: of more, squares would be too small to point at.
const MOST_MAPPED: usize = 40;
/// Change for the worse that is darkest on a map.
const DARKEST: f64 = 0.3;

/// Hosts of a map that is part of the answer in a terminal.
const MOST_AT_A_GLANCE: usize = 8;

/// Makes the sections of a fleet: the map of what differs most and what that is, then everything by figure.
pub fn sections(analysis: &Analysis, fleet: &FleetResult) -> Vec<Section> {
    let mapped = mapped(fleet);
    let figures =
        fleet.figures.iter().enumerate().map(|(place, figure)| self::figure(fleet, figure, place, mapped != Some(place)).behind());
    std::iter::once(summary(analysis, fleet, mapped)).chain(figures).collect()
}

/// The figure whose map is the answer: that of what differs first, else the first.
fn mapped(fleet: &FleetResult) -> Option<usize> {
    let place = fleet.named.first().map_or(0, |named| named.figure);
    (fleet.hosts.len() <= MOST_MAPPED && place < fleet.figures.len()).then_some(place)
}

fn summary(analysis: &Analysis, fleet: &FleetResult, mapped: Option<usize>) -> Section {
    let mut blocks = Vec::new();
    if let Some(figure) = mapped.map(|place| &fleet.figures[place]) {
        let map = Block::piece(heading(figure), [Block::Map(map(fleet, figure))]);
        let few = fleet.hosts.len() <= MOST_AT_A_GLANCE;
        blocks.push(if few { map } else { Block::usual([map]) });
    }
    if !fleet.named.is_empty() {
        blocks.push(tables::named(fleet).into());
    }
    blocks.extend(Block::warnings(words::absent(fleet)));
    let tone = if fleet.named.is_empty() { Tone::Good } else { Tone::Bad };
    let extent = Block::Paragraph(words::extent(analysis, fleet).into());
    blocks.push(Block::usual([Block::Conclusion(tone, words::conclusion(fleet)), extent, Block::Lead(words::method(fleet).into())]));
    Section::new("fleet", "Outliers", blocks)
}

fn heading(figure: &FleetFigure) -> String {
    format!("{}, {}", capital(figure.metric.title()), figure.label)
}

/// Everything of a figure, with its map where that is not the answer.
fn figure(fleet: &FleetResult, figure: &FleetFigure, place: usize, with_map: bool) -> Section {
    let write = writer(figure.metric);
    let usual = format!(
        "{} between two usual hosts; trials scatter by {}{}.",
        write(figure.middle),
        number::percent(figure.noise),
        figure.spread.map_or_else(String::new, |spread| format!(", hosts beyond that by {}", number::percent(spread))),
    );
    let mut blocks = vec![Block::Paragraph(usual.into())];
    if !figure.told_apart {
        let reason = "The trials cannot separate the hosts: that takes at least three hosts, and rounds in which they meet others in turn.";
        blocks.push(Block::Paragraph(reason.into()));
    }
    if with_map && fleet.hosts.len() <= MOST_MAPPED {
        blocks.push(Block::Map(map(fleet, figure)));
    }
    blocks.push(tables::hosts(fleet, figure, false).into());
    if !figure.racks.is_empty() {
        blocks.push(tables::racks(figure).into());
    }
    if figure.hosts.len() > tables::SHOWN {
        blocks.extend(Block::everything(
            format!("All {}", plural(figure.hosts.len() as u64, "host")),
            [tables::hosts(fleet, figure, true).into()],
        ));
    }
    blocks.extend(Block::everything("Pairs that are farthest from what their hosts say", [tables::links(fleet, figure).into()]));
    let heading = heading(figure);
    Section::new(format!("fleet-{place}"), heading.clone(), blocks).folded(format!("{heading}: hosts, racks and pairs"))
}

/// How much worse each direction of each pair is than two usual hosts are.
fn map(fleet: &FleetResult, figure: &FleetFigure) -> HeatMap {
    let write = writer(figure.metric);
    let level = |(place, host): (usize, &analysis::result::fleet::FleetHostResult)| {
        let rack = host.rack.as_ref().map_or_else(String::new, |rack| format!(", rack {rack}"));
        Step { name: (place + 1).to_string(), detail: String::new(), hint: format!("{}{rack}", host.name), level: Level::Answer }
    };
    let named = |square: &Square| {
        let pair = [square.sender, square.receiver];
        figure.links.iter().any(|link| link.change.falls_out && (link.hosts == pair || (!link.one_way && link.hosts == [pair[1], pair[0]])))
    };
    let square = |square: &Square| {
        let worse = words::worse(figure, square.value);
        let hint = format!(
            "{} to {}: {} ({} of usual; {})",
            fleet.hosts[square.sender].name,
            fleet.hosts[square.receiver].name,
            write(square.value),
            number::percent(square.value / figure.middle),
            plural(square.n as u64, "trial"),
        );
        Shade { column: square.receiver, row: square.sender, share: worse.max(0.0), marked: named(square), framed: false, hint }
    };
    HeatMap {
        label: format!("{} of every pair against two usual hosts. The figures of hosts are in the table.", capital(figure.metric.title())),
        corner: "sender  receiver; % worse than usual",
        across: "receiver",
        up: "sender",
        units: ["", ""],
        columns: fleet.hosts.iter().enumerate().map(level).collect(),
        rows: fleet.hosts.iter().enumerate().map(level).collect(),
        squares: figure.matrix.iter().map(square).collect(),
        darkest: DARKEST,
    }
}
