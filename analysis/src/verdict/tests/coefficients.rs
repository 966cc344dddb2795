//! Coefficients that changed are told from those that did not.

use std::collections::BTreeMap;

use model::Bytes;

use crate::cost::{Fit, Piece, TermEstimate};
use crate::testing::{generator, normal};
use crate::verdict::{BlockPoints, Change, Coefficient, Design, Form, Options, coefficients};
use stats::cost::Term;
use stats::cost::design::Point;
use stats::estimate::Estimate;

const SIZES: [u64; 10] = [1, 64, 112, 512, 1024, 1472, 1473, 2032, 8192, 16_384];

/// A fit with these terms at these values, of one piece.
fn form(terms: &[(Term, f64)]) -> Form {
    let estimate = |value| Estimate { value, interval: None, n: 9 };
    let terms = terms.iter().map(|(term, value)| TermEstimate { term: *term, estimate: estimate(*value), counted: None }).collect();
    let piece = Piece { from: Bytes::new(1), to: Bytes::new(16_384), terms, collinearity: None };
    Form::from_fit(&Fit { pieces: vec![piece], breakpoints: Vec::new(), r_squared: 1.0, points: Vec::new() })
}

fn line() -> Form {
    form(&[(Term::Message, 1500.0), (Term::Byte, 0.3)])
}

/// What an arm costs a message and a byte, in ns, and how its trials scatter.
#[derive(Clone, Copy)]
struct Truth {
    message: f64,
    byte: f64,
    noise: f64,
    /// Share of trials that take three times as long.
    wild: f64,
}

const BASE: Truth = Truth { message: 1500.0, byte: 0.3, noise: 0.03, wild: 0.0 };

fn blocks(count: u32, arms: [Truth; 2], seed: u64) -> BTreeMap<u32, BlockPoints> {
    let mut random = generator(seed);
    let mut trials = |truth: Truth, drift: f64| -> BTreeMap<Bytes, Point> {
        let mut one = |size: u64| {
            let wild = if normal(&mut random) < -1.645 && truth.wild > 0.0 { 3.0 } else { 1.0 };
            let time = (truth.message + truth.byte * size as f64) * drift * wild * (truth.noise * normal(&mut random)).exp();
            (Bytes::new(size), Point { size: size as f64, time, frames: None, wakeups: None })
        };
        SIZES.iter().map(|size| one(*size)).collect()
    };
    let block = |block: u32| {
        // What hits a block hits both arms.
        let drift = 1.0 + 0.1 * f64::from(block % 3);
        (block, arms.map(|truth| trials(truth, drift)))
    };
    (0..count).map(block).collect()
}

fn of(all: &[Coefficient], term: Term) -> &Coefficient {
    all.iter().find(|found| found.term == term).unwrap()
}

#[test]
fn a_dearer_message_is_told_from_a_dearer_byte() {
    let (dear_message, dear_byte) = (Truth { message: 1560.0, ..BASE }, Truth { byte: 0.33, ..BASE });
    let message = coefficients(&blocks(30, [BASE, dear_message], 1), &line(), &Options::default()).unwrap().coefficients;
    let found = of(&message, Term::Message);
    assert_eq!(found.change, Change::Rose);
    let ratio = found.ratio.unwrap();
    assert!((ratio.value - 1.04).abs() < 0.015 && ratio.interval.unwrap().low > 1.0, "{ratio:?}");
    let byte = of(&message, Term::Byte);
    assert!(matches!(byte.change, Change::NotShown { smallest_ns } if smallest_ns < 0.03), "{byte:?}");
    let byte = coefficients(&blocks(30, [BASE, dear_byte], 2), &line(), &Options::default()).unwrap().coefficients;
    assert_eq!(of(&byte, Term::Byte).change, Change::Rose);
    assert!(matches!(of(&byte, Term::Message).change, Change::NotShown { .. }), "{byte:?}");
    let cheaper = coefficients(&blocks(30, [dear_byte, BASE], 3), &line(), &Options::default()).unwrap().coefficients;
    assert_eq!(of(&cheaper, Term::Byte).change, Change::Fell);
}

/// 1,000 ns of added work show as 1,000 ns, also with wild trials about.
#[test]
fn added_work_comes_back_in_ns() {
    for wild in [0.0, 0.05] {
        let arms = [BASE, Truth { message: 2500.0, ..BASE }].map(|truth| Truth { wild, ..truth });
        let all = coefficients(&blocks(20, arms, 4), &line(), &Options::default()).unwrap().coefficients;
        let found = of(&all, Term::Message).difference_ns;
        let interval = found.interval.unwrap();
        // Blocks are up to a fifth dearer, and so is what was added.
        assert!((found.value / 1100.0 - 1.0).abs() < 0.1 && interval.high - interval.low < 240.0, "{found:?}");
        let byte = of(&all, Term::Byte).difference_ns.interval.unwrap();
        assert!(byte.low <= 0.0 && byte.high >= 0.0, "{byte:?}");
    }
}

#[test]
fn changes_between_equal_arms_are_rare() {
    const STUDIES: u64 = 200;
    let mut shown = 0;
    for seed in 0..STUDIES {
        let all = coefficients(&blocks(12, [BASE, BASE], 1000 + seed), &line(), &Options::default()).unwrap().coefficients;
        shown += u64::from(all.iter().any(|found| found.p_adjusted <= 0.05));
    }
    eprintln!("coefficients of equal arms, 12 blocks: changes in {shown} of {STUDIES}");
    // 5 %, and three standard deviations.
    assert!(shown <= 10 + 9, "{shown}");
}

#[test]
fn a_full_segment_follows_its_bytes() {
    let full = form(&[(Term::Message, 1500.0), (Term::Byte, 0.3), (Term::FullSegment, 0.3 * 1472.0)]);
    let all = coefficients(&blocks(20, [BASE, Truth { byte: 0.4, ..BASE }], 5), &full, &Options::default()).unwrap().coefficients;
    let (byte, segment) = (of(&all, Term::Byte), of(&all, Term::FullSegment));
    assert_eq!((segment.change, segment.ratio, segment.p), (byte.change, byte.ratio, byte.p));
    assert!((segment.difference_ns.value / byte.difference_ns.value - 1472.0).abs() < 1e-6);
}

#[test]
fn too_few_blocks_and_missing_sizes_are_said() {
    let few = coefficients(&blocks(5, [BASE, BASE], 6), &line(), &Options::default()).unwrap();
    assert!(few.coefficients.iter().all(|found| found.change == Change::NotEnoughBlocks { blocks: 5, missing: 2 }), "{few:?}");
    let mut holes = blocks(12, [BASE, BASE], 7);
    holes.get_mut(&3).unwrap()[1].remove(&Bytes::new(SIZES[4]));
    holes.get_mut(&8).unwrap()[0].get_mut(&Bytes::new(SIZES[0])).unwrap().time = f64::NAN;
    let found = coefficients(&holes, &line(), &Options::default()).unwrap();
    assert_eq!((found.blocks, found.dropped), ([10, 10], 2));
    assert!(coefficients(&BTreeMap::new(), &line(), &Options::default()).is_err());
    holes.values_mut().for_each(|points| points[1].clear());
    let refused = coefficients(&holes, &line(), &Options::default()).unwrap_err();
    assert!(refused.to_string().contains("candidate"), "{refused}");
}

#[test]
fn separate_runs_are_compared_without_pairs() {
    let runs = blocks(20, [BASE, Truth { message: 2100.0, ..BASE }], 8);
    let apart: BTreeMap<u32, BlockPoints> = runs
        .into_iter()
        .flat_map(|(block, [baseline, candidate])| [(block, [baseline, BTreeMap::new()]), (block + 500, [BTreeMap::new(), candidate])])
        .collect();
    let found = coefficients(&apart, &line(), &Options { design: Design::Separate, ..Options::default() }).unwrap();
    assert_eq!((found.blocks, found.dropped), ([20, 20], 0));
    let message = of(&found.coefficients, Term::Message);
    assert!(message.change == Change::Rose && (message.ratio.unwrap().value - 1.4).abs() < 0.1, "{message:?}");
    assert!(coefficients(&apart, &line(), &Options::default()).is_err());
}
