//! A map: cells that differ in their buffers alone.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use linksim::frame::Cut;
use model::plan::LinkKind;
use model::sorting::Order;
use model::{Bytes, Cell};
use stats::estimate::Estimate;
use stats::knee;
use stats::median::median;

use super::notch::{self, Triple};
use super::predict::Predictor;
use super::sample::TrialSample;
use super::{Autotuned, BufferCell, BufferKnee, BufferLevel, BufferMap, Line, Notch, Prediction};
use crate::cost::Context;

/// Fewer cells need no map: the tables show them.
const LEAST: usize = 6;

/// The map of some cells; `None` where few of them give a buffer.
pub(super) fn map(rest: &Cell, link: LinkKind, cells: BTreeMap<Cell, Vec<TrialSample>>, context: &Context) -> Option<BufferMap> {
    let autotuned = cells.get(rest).cloned();
    let given: Vec<(&Cell, &Vec<TrialSample>)> = cells.iter().filter(|(cell, _)| *cell != rest).collect();
    if given.len() < LEAST {
        return None;
    }
    let sizes = |of: fn(&Cell) -> Option<Bytes>| {
        let mut sizes: Vec<Option<Bytes>> = given.iter().map(|(cell, _)| of(cell)).collect();
        // What is left to the kernel grows beyond what anybody asks for.
        sizes.order_by_key(|size| size.map_or(u64::MAX, Bytes::get));
        sizes.dedup();
        sizes
    };
    let axes = [sizes(|cell| cell.sndbuf), sizes(|cell| cell.rcvbuf)];
    let place = |axis: usize, size: Option<Bytes>| axes[axis].iter().position(|level| *level == size).unwrap_or(0);
    let mut trials: Vec<([usize; 2], &Vec<TrialSample>)> =
        given.iter().map(|(cell, trials)| ([place(0, cell.sndbuf), place(1, cell.rcvbuf)], *trials)).collect();
    trials.order_by_key(|(places, _)| *places);
    let levels = |end: usize| {
        let one = |(own, asked): (usize, &Option<Bytes>)| {
            let with = trials.iter().filter(|(places, _)| places[end] == own);
            let seen: Vec<PlacedTrial> = with.flat_map(|(places, trials)| trials.iter().map(|trial| (places[1 - end], trial))).collect();
            level(*asked, &seen, end)
        };
        axes[end].iter().enumerate().map(one).collect::<Vec<_>>()
    };
    let cut = Cut {
        mtu: context.paths.of_cell(rest).mtu.and_then(|mtu| u32::try_from(mtu).ok()).unwrap_or(Cut::PLAIN.mtu),
        family: rest.family,
        ..Cut::PLAIN
    };
    let mut predictor = Predictor::new(&link, cut);
    let message = u32::try_from(rest.size.get()).unwrap_or(u32::MAX);
    let made: Vec<BufferCell> =
        trials.iter().filter_map(|(places, trials)| one(*places, trials, &link, message, &mut predictor, context)).collect();
    if made.len() < trials.len() {
        return None;
    }
    let diagonal = diagonal(&made, [axes[0].len(), axes[1].len()]);
    let along: Vec<Estimate> = diagonal.iter().map(|place| made[*place].goodput_bit_per_s).collect();
    let knee = knee::plateau(&along).map(|found| BufferKnee {
        plateau_bit_per_s: found.level,
        plateau_cells: found.points,
        at: found.at,
        buffer: found.reached,
        surely: found.surely,
    });
    let (notches, tested) = notches(&made, &trials, &diagonal, context.seed);
    let to_use = knee.map(|knee| trials[diagonal[knee.buffer]].1.as_slice());
    let beyond: Vec<f64> = cells.values().flatten().map(|trial| trial.beyond).collect();
    Some(BufferMap {
        rest: rest.clone(),
        label: rest.series().to_string(),
        message: rest.size,
        link,
        senders: levels(0),
        receivers: levels(1),
        diagonal,
        knee,
        notches,
        tested,
        autotuned: autotuned.and_then(|trials| autotuned_next_to(&trials, to_use, context)),
        beyond_ns: context.confidence.estimate(&beyond),
        cells: made,
    })
}

/// One cell of the map.
fn one(
    places: [usize; 2],
    trials: &[TrialSample],
    link: &LinkKind,
    message: u32,
    predictor: &mut Predictor,
    context: &Context,
) -> Option<BufferCell> {
    let of = |value: fn(&TrialSample) -> Option<f64>| median(&trials.iter().filter_map(value).collect::<Vec<f64>>());
    let limit_share = of(|trial| trial.limit_share);
    let predicted: Vec<(f64, f64)> = trials.iter().filter_map(|trial| Some((predictor.predict(trial, message)?, trial.goodput))).collect();
    let ratios: Vec<f64> = predicted.iter().map(|(model, measured)| measured / model).collect();
    Some(BufferCell {
        sender: places[0],
        receiver: places[1],
        goodput_bit_per_s: context.confidence.estimate(&trials.iter().map(|trial| trial.goodput).collect::<Vec<f64>>())?,
        limit_share,
        // The limit is the rate less what payload is wrapped in.
        wire_bit_per_s: limit_share.zip(link.rate()).map(|(share, rate)| share * rate.get() as f64),
        in_flight: of(|trial| trial.in_flight.map(f64::from)),
        segments_per_ack: of(|trial| trial.per_ack),
        resent: trials.iter().map(|trial| trial.resent).sum(),
        predicted: median(&predicted.iter().map(|(model, _)| *model).collect::<Vec<f64>>())
            .zip(context.confidence.estimate(&ratios))
            .map(|(bit_per_s, ratio)| Prediction { bit_per_s, ratio }),
    })
}

/// The cells whose buffers are alike: of equal place; or, where one buffer has
/// fewer levels, all of the other's with the largest of that one.
fn diagonal(cells: &[BufferCell], levels: [usize; 2]) -> Vec<usize> {
    let alike = |cell: &BufferCell| match levels[0].cmp(&levels[1]) {
        Ordering::Equal => cell.sender == cell.receiver,
        Ordering::Less => cell.sender + 1 == levels[0],
        Ordering::Greater => cell.receiver + 1 == levels[1],
    };
    cells.iter().enumerate().filter(|(_, cell)| alike(cell)).map(|(place, _)| place).collect()
}

/// Every cell between two neighbours, on the diagonal, over senders and over receivers.
fn notches(cells: &[BufferCell], trials: &[([usize; 2], &Vec<TrialSample>)], diagonal: &[usize], seed: u64) -> (Vec<Notch>, usize) {
    let at = |sender: usize, receiver: usize| cells.iter().position(|cell| (cell.sender, cell.receiver) == (sender, receiver));
    let mut triples: Vec<(Line, Triple)> =
        diagonal.windows(3).filter_map(|three| Some((Line::Diagonal, [*three.first()?, *three.get(1)?, *three.get(2)?]))).collect();
    // Of a map of one row the diagonal is that row.
    let flat = diagonal.len() == cells.len();
    for (middle, cell) in cells.iter().enumerate().filter(|_| !flat) {
        let (s, r) = (cell.sender, cell.receiver);
        let lines = [
            (Line::OverSenders, s.checked_sub(1).map(|less| [(less, r), (s + 1, r)])),
            (Line::OverReceivers, r.checked_sub(1).map(|less| [(s, less), (s, r + 1)])),
        ];
        for (line, ends) in lines {
            let Some([left, right]) = ends else { continue };
            if let (Some(left), Some(right)) = (at(left.0, left.1), at(right.0, right.1)) {
                triples.push((line, [left, middle, right]));
            }
        }
    }
    let values: Vec<Vec<f64>> = trials.iter().map(|(_, trials)| trials.iter().map(|trial| trial.goodput).collect()).collect();
    let class: Vec<usize> = cells.iter().map(|cell| cell.sender.min(cell.receiver)).collect();
    let places: Vec<Triple> = triples.iter().map(|(_, triple)| *triple).collect();
    let (found, tested) = notch::find(&values, &class, &places, seed);
    let notch = |(place, depth, p): (usize, f64, f64)| Notch { cell: triples[place].1[1], line: triples[place].0, depth, p };
    (found.into_iter().map(notch).collect(), tested)
}

/// The kernel's own buffers, and the buffer to use over them.
fn autotuned_next_to(trials: &[TrialSample], to_use: Option<&[TrialSample]>, context: &Context) -> Option<Autotuned> {
    let goodputs: Vec<f64> = trials.iter().map(|trial| trial.goodput).collect();
    let of_block = |block: u32| trials.iter().find(|trial| trial.block == block).map(|trial| trial.goodput);
    let ratios: Vec<f64> = to_use.into_iter().flatten().filter_map(|trial| Some(trial.goodput / of_block(trial.block)?)).collect();
    let most = |end: usize| trials.iter().filter_map(|trial| trial.got[end]).max();
    Some(Autotuned {
        goodput_bit_per_s: context.confidence.estimate(&goodputs)?,
        buffer_over_it: context.confidence.estimate(&ratios),
        got: [most(0), most(1)],
    })
}

/// Trials with their place in the other buffer's levels.
type PlacedTrial<'a> = (usize, &'a TrialSample);

/// One size: `end` is 0 of a sender's buffer and 1 of a receiver's.
fn level(asked: Option<Bytes>, trials: &[PlacedTrial], end: usize) -> BufferLevel {
    let most = |of: fn(&TrialSample) -> [Option<i64>; 2]| trials.iter().filter_map(|(_, trial)| of(trial)[end]).max();
    let windows: Vec<f64> = trials.iter().filter_map(|(_, trial)| trial.window.filter(|_| end == 1)).map(f64::from).collect();
    // With a small buffer at the other end only that one would be seen.
    let largest = trials.iter().map(|(other, _)| *other).max();
    let widest: Vec<f64> =
        trials.iter().filter(|(other, _)| Some(*other) == largest).filter_map(|(_, trial)| trial.in_flight).map(f64::from).collect();
    BufferLevel {
        asked,
        set: most(|trial| trial.set),
        got: most(|trial| trial.got),
        window: median(&windows),
        in_flight: median(&widest),
        most_in_flight: trials.iter().filter_map(|(_, trial)| trial.in_flight).max(),
        looks: trials.iter().map(|(_, trial)| trial.looks).sum(),
    }
}
