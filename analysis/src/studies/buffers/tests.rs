//! Maps that were made up, with a truth that is known.

use model::plan::LinkKind;
use model::{Bytes, Cell, Test};

use super::sample::TrialSample;
use super::{BufferMap, Line, map};
use crate::confidence::Confidence;
use crate::cost::Context;
use crate::paths::{Path, Paths};
use crate::testing::{cell, generator, normal};
use model::plan::Blocks;
use stats::bootstrap::Batches;
use std::collections::BTreeMap;

const BLOCKS: u32 = 4;

fn context<'a>(seed: u64, batches: &'a Batches, paths: &'a Paths) -> Context<'a> {
    let blocks = Blocks { least: BLOCKS, most: BLOCKS, interval: 0.05, confidence: 0.85 };
    Context { confidence: Confidence::new(&blocks), batches, seed, paths }
}

fn kept(block: u32, goodput: f64, in_flight: u32) -> TrialSample {
    TrialSample {
        block,
        goodput,
        limit_share: Some(goodput / 100e6),
        beyond: 40e6,
        set: [Some(20_000), Some(20_000)],
        got: [Some(20_000), Some(20_000)],
        window: Some(in_flight * 1_460),
        in_flight: Some(in_flight),
        looks: 50,
        segment: Some(1_460),
        per_ack: Some(2.0),
        resent: 0,
    }
}

fn of_buffers(sender: u64, receiver: u64) -> Cell {
    Cell { sndbuf: Some(Bytes::new(sender)), rcvbuf: Some(Bytes::new(receiver)), ..cell(Test::TcpStream, 1_460) }
}

/// A map of `side` x `side` buffers. `truth` gives the goodput of a pair of
/// places, which trials scatter about by `noise`.
fn made_up(side: u32, noise: f64, seed: u64, link: &str, truth: impl Fn(u32, u32) -> f64) -> BufferMap {
    let mut random = generator(seed);
    let mut cells: BTreeMap<Cell, Vec<TrialSample>> = BTreeMap::new();
    for (sender, receiver) in (0..side * side).map(|place| (place / side, place % side)) {
        let trials = (0..BLOCKS).map(|block| {
            let goodput = truth(sender, receiver) * (noise * normal(&mut random)).exp();
            kept(block, goodput, sender.min(receiver) + 1)
        });
        cells.insert(of_buffers(u64::from(sender + 1) * 1_000, u64::from(receiver + 1) * 1_500), trials.collect());
    }
    let own = cell(Test::TcpStream, 1_460);
    cells.insert(own.clone(), (0..BLOCKS).map(|block| kept(block, 90e6, 40)).collect());
    let path = Path { mtu: Some(1_500), ..Path::default() };
    map::map(&own, link.parse().unwrap(), cells, &context(seed, &Batches::from_blocks(0..BLOCKS), &Paths::from(path))).unwrap()
}

/// It rises by 10 Mbit/s a packet to 80.
fn rising(sender: u32, receiver: u32) -> f64 {
    10e6 * f64::from((sender.min(receiver) + 1).min(8))
}

#[test]
fn a_known_knee_is_found() {
    let map = made_up(12, 0.01, 1, "ethernet 100M", rising);
    assert_eq!((map.cells.len(), map.diagonal.len(), map.senders.len(), map.receivers.len()), (144, 12, 12, 12));
    let knee = map.knee.unwrap();
    assert!((knee.plateau_bit_per_s / 80e6 - 1.0).abs() < 0.02 && knee.plateau_cells == 3, "{knee:?}");
    assert_eq!((knee.at, knee.buffer), (7, 7), "eight packets reach 95 % of the plateau, seven do not");
    assert!(knee.surely.is_some_and(|place| (7..=8).contains(&place)), "{knee:?}");
    assert!(map.notches.is_empty(), "{:?}", map.notches);
    let best = &map.cells[map.diagonal[11]];
    assert!((best.wire_bit_per_s.unwrap() / 80e6 - 1.0).abs() < 0.02, "a share of the limit is the same share of the rate");
    let own = map.autotuned.unwrap();
    assert!((own.buffer_over_it.unwrap().value / (8.0 / 9.0) - 1.0).abs() < 0.02);
    assert_eq!((map.beyond_ns.unwrap().value, map.beyond_ns.unwrap().n), (40e6, 4 * 145));
}

#[test]
fn levels_say_what_was_seen_where_the_other_buffer_did_not_matter() {
    let map = made_up(6, 0.0, 1, "ethernet 100M", rising);
    let seen: Vec<Option<f64>> = map.senders.iter().map(|level| level.in_flight).collect();
    assert_eq!(seen, (1..=6).map(|packets| Some(f64::from(packets))).collect::<Vec<_>>());
    assert_eq!(map.senders[5].most_in_flight, Some(6));
    assert_eq!(map.senders[0].asked, Some(Bytes::new(1_000)));
    assert_eq!((map.receivers[0].asked, map.senders[0].window), (Some(Bytes::new(1_500)), None));
    assert_eq!(map.receivers[0].looks, 6 * 4 * 50);
    let place = map.place_of(&of_buffers(3_000, 4_500)).unwrap();
    assert_eq!((map.cells[place].sender, map.cells[place].receiver), (2, 2));
    assert_eq!(map.place_of(&of_buffers(3_000, 4_501)), None);
    assert_eq!(map.place_of(&Cell { size: Bytes::new(1), ..of_buffers(3_000, 4_500) }), None);
}

#[test]
fn a_known_notch_is_found_and_named() {
    // The third packet of the sender's costs a fifth, whatever the receiver has.
    let map = made_up(12, 0.02, 3, "ethernet 100M", |sender, receiver| rising(sender, receiver) * if sender == 9 { 0.8 } else { 1.0 });
    let over: Vec<_> = map.notches.iter().filter(|notch| notch.line == Line::OverSenders).collect();
    assert!(over.len() >= 9 && over.iter().all(|notch| map.cells[notch.cell].sender == 9), "{over:?}");
    assert!(over.iter().all(|notch| (0.1..0.3).contains(&notch.depth) && notch.p <= 0.05), "{over:?}");
    let on_diagonal: Vec<_> = map.notches.iter().filter(|notch| notch.line == Line::Diagonal).collect();
    assert!(matches!(on_diagonal[..], [notch] if map.cells[notch.cell].receiver == 9), "{on_diagonal:?}");
    assert!(map.notches.iter().all(|notch| notch.line != Line::OverReceivers));
}

#[test]
fn chance_alone_is_hardly_ever_a_notch() {
    let maps = 24;
    let mut any = 0;
    for seed in 0..maps {
        any += u32::from(!made_up(7, 0.05, 100 + seed, "ethernet 100M", rising).notches.is_empty());
    }
    eprintln!("maps of 49 cells of 5 % scatter with a false notch: {any} of {maps}");
    // At most one in twenty; 5 or more of 24 come by chance in 1 of 150.
    assert!(any <= 4, "{any}");
}

#[test]
fn the_model_is_asked_only_of_wires_whose_hosts_are_known() {
    let none = made_up(3, 0.0, 1, "ethernet 100M", rising);
    assert!(none.cells.iter().all(|cell| cell.predicted.is_none()));
    // A window of one segment over 0.63 ms a frame at each host: 384 KB/s.
    let map = made_up(3, 0.0, 1, "relay 10M host=delay:0.63ms", |_, _| 384e3 * 8.0);
    let first = map.cells[0].predicted.unwrap();
    assert!(map.link == "relay 10M host=delay:0.63ms".parse::<LinkKind>().unwrap());
    assert!(first.bit_per_s < 384e3 * 8.0, "one acknowledgement for two segments waits: {first:?}");
}
