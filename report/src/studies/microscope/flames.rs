//! Flame graphs of exact counts: the call paths of a message, and what changed of them.

use attribution::Symbol;
use attribution::exact::{Measured, Region, RegionDiff};

use super::words::{STANDING, by_scenario};
use crate::document::Block;
use crate::document::flame::{Choice, Flame};
use crate::studies::receipt::{Counted, MOST_FLAMES, counted};

/// A graph for each scenario of a kernel, with a choice for each size of its message.
pub fn of(one: &Measured, id: impl Fn(&str) -> String) -> Vec<Block> {
    let scenarios = by_scenario(one);
    let room = MOST_FLAMES / scenarios.len().max(1);
    let graph = |(scenario, regions): (&str, Vec<&Region>)| {
        let side = |region: &&Region| Counted { name: size(region), folded: vec![folded(region)] };
        let sides: Vec<Counted> = regions.iter().map(side).collect();
        let rivals: Vec<String> = if sides.len() > 1 { sides.iter().map(|side| side.name.clone()).collect() } else { Vec::new() };
        let choice = |(column, side): (usize, &Counted)| Choice { name: side.name.clone(), column, rivals: (0..rivals.len()).collect() };
        let choices = sides.iter().enumerate().map(choice).collect();
        let standing = regions.iter().position(|region| region.scenario().1 == Some(STANDING)).unwrap_or(0);
        let title = format!("Flame graph of {scenario}");
        let graph = Flame { id: id(scenario), title, choices, rivals, first: (standing, None), ..Flame::default() };
        counted(graph, &sides, room).map(Block::flame)
    };
    scenarios.into_iter().filter_map(graph).collect()
}

/// The graph of one message on the second side, as a difference from the first.
pub fn difference(region: &RegionDiff, [before, after]: [&[Measured]; 2], room: usize) -> Option<Block> {
    let side = |measured: &[Measured]| -> Option<Counted> {
        let name = format!("kernel {}", measured.first()?.provenance.kernel);
        let folded: Option<Vec<String>> = measured.iter().map(|one| one.region(&region.name).map(folded)).collect();
        Some(Counted { name, folded: folded? })
    };
    let (mut after, mut before) = (side(after)?, side(before)?);
    // A seed more on one side is left out: ranges of as many are compared.
    let seeds = after.folded.len().min(before.folded.len());
    [&mut after, &mut before].into_iter().for_each(|side| side.folded.truncate(seeds));
    let choices = vec![Choice { name: String::new(), column: 0, rivals: vec![1] }];
    let (title, id) = (format!("Flame graph of {}, {}", region.name, after.name), format!("flame-{}", region.name));
    let graph = Flame { id, title, choices, rivals: vec![before.name.clone()], first: (0, Some(0)), ..Flame::default() };
    counted(graph, &[after, before], room).map(Block::flame)
}

/// The size of a region's message.
fn size(region: &Region) -> String {
    let (scenario, size) = region.scenario();
    size.map_or_else(|| scenario.to_owned(), |size| format!("{size} B"))
}

/// Paths without what compilers add to names, which differs from kernel to kernel.
fn folded(region: &Region) -> String {
    let line = |line: &str| {
        let (chain, count) = line.rsplit_once(' ')?;
        let names: Vec<String> = chain.split(';').map(|name| Symbol::parse(name).listed()).collect();
        Some(format!("{} {count}\n", names.join(";")))
    };
    region.tree.folded().lines().filter_map(line).collect()
}
