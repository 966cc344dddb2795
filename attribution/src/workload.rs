//! Receipts weighted by how often a workload sends each size.

use model::Bytes;
use model::sorting::Order;
use serde::Serialize;

use crate::figure::{ErrorMethod, Figure, satterthwaite};
use crate::receipt::Receipt;
use crate::rows::{Influence, Row, by_key};

/// The longest file of sizes, in bytes.
const MOST_BYTES: usize = 4 << 20;

/// Share of messages of each size.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeDistribution {
    /// Sizes, rising, and the share of messages of each.
    points: Vec<(u64, f64)>,
    /// Whether they were written in per cent.
    per_cent: bool,
}

/// A file of sizes that cannot be used, or that does not fit.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WorkloadError {
    /// More text than is read.
    #[error("the file is longer than {MOST_BYTES} bytes; give fewer sizes")]
    TooLong,
    /// Not the two columns.
    #[error("the first line is not 'message_bytes,cumulative_fraction'; put it above the figures")]
    NoHeader,
    /// A line that is not two numbers.
    #[error("line {0} is not a size in whole bytes and a fraction, with a comma between, such as '64,0.25'")]
    NotNumbers(usize),
    /// A size that is not above the one before.
    #[error("line {line}: the size {size} does not rise above {before} of the line before; give each size once, the smallest first")]
    SizeNotRising {
        /// The line, from 1.
        line: usize,
        /// The size there.
        size: u64,
        /// The one before; 0 at the first, for no message is empty.
        before: u64,
    },
    /// A fraction below the one before.
    #[error(
        "line {line}: the fraction {fraction} is below {before} of the line before; each is the share of messages of this size or less"
    )]
    Falling {
        /// The line, from 1.
        line: usize,
        /// The fraction there.
        fraction: f64,
        /// The one before.
        before: f64,
    },
    /// A fraction that is none.
    #[error("line {line}: {fraction} is no fraction from 0 to 1 (or to 100, where the last line says 100)")]
    NoFraction {
        /// The line, from 1.
        line: usize,
        /// The figure there.
        fraction: f64,
    },
    /// Fractions of each size by itself.
    #[error(
        "the fractions add up to {0}: they are of each size by itself; add them up from line to line, so that the last is all messages"
    )]
    NotCumulative(u64),
    /// The whole is missing.
    #[error("the last fraction is {0}, not 1 (or 100, in per cent); the figures are cumulative and have to end with all messages")]
    NotWhole(f64),
    /// No receipts.
    #[error("there is no receipt to weigh; measure at least one size")]
    NoReceipts,
    /// Nothing of the workload was measured.
    #[error("every message of the workload is larger than the largest size measured; measure larger ones")]
    AllBeyond,
}

impl SizeDistribution {
    /// Reads a file as in `reference/workloads`: sizes in bytes with the share of
    /// messages that are no larger. The sizes are taken as they stand, as the
    /// only ones that occur. Shares may be fractions, which end with 1, or per cent,
    /// which end with 100.
    ///
    /// # Errors
    /// The problem, its line, and the remedy.
    pub fn parse(text: &str) -> Result<Self, WorkloadError> {
        if text.len() > MOST_BYTES {
            return Err(WorkloadError::TooLong);
        }
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        if lines.next().is_none_or(|(_, line)| line.trim() != "message_bytes,cumulative_fraction") {
            return Err(WorkloadError::NoHeader);
        }
        let mut read = Vec::new();
        for (place, line) in lines {
            let numbers =
                line.split_once(',').and_then(|(size, share)| Some((size.trim().parse().ok()?, share.trim().parse::<f64>().ok()?)));
            let (size, share): (u64, f64) = numbers.ok_or(WorkloadError::NotNumbers(place + 1))?;
            read.push((place + 1, size, share));
        }
        let last = read.last().map_or(0.0, |(_, _, share)| *share);
        let is_whole = |whole: f64, share: f64| (share / whole - 1.0).abs() <= 1e-3;
        let per_cent = is_whole(100.0, last);
        let whole = if per_cent { 100.0 } else { 1.0 };
        let (mut points, mut before) = (Vec::new(), (0_u64, 0.0));
        for (line, size, fraction) in &read {
            let (line, size, fraction) = (*line, *size, *fraction);
            if size <= before.0 {
                return Err(WorkloadError::SizeNotRising { line, size, before: before.0 });
            }
            if !(0.0..=whole * (1.0 + 1e-3)).contains(&fraction) {
                return Err(WorkloadError::NoFraction { line, fraction });
            }
            if fraction < before.1 {
                let sum: f64 = read.iter().map(|(_, _, fraction)| fraction).sum();
                let own = [1, 100].into_iter().find(|whole| is_whole(*whole as f64, sum));
                return Err(own.map_or(WorkloadError::Falling { line, fraction, before: before.1 }, WorkloadError::NotCumulative));
            }
            points.push((size, fraction - before.1));
            before = (size, fraction);
        }
        if !is_whole(whole, last) {
            return Err(WorkloadError::NotWhole(last));
        }
        points.iter_mut().for_each(|(_, share)| *share /= last);
        Ok(Self { points, per_cent })
    }

    /// Returns whether the shares of its file were per cent.
    pub const fn was_in_per_cent(&self) -> bool {
        self.per_cent
    }

    /// A distribution of sizes, rising, with shares that sum to 1.
    pub const fn new(points: Vec<(u64, f64)>) -> Self {
        Self { points, per_cent: false }
    }

    /// Sizes, rising, and the share of messages of each; the shares sum to 1.
    pub fn points(&self) -> &[(u64, f64)] {
        &self.points
    }

    /// The largest size in bytes; 0 without any.
    pub fn largest(&self) -> u64 {
        self.points.last().map_or(0, |(size, _)| *size)
    }

    /// The mean size in bytes.
    pub fn mean(&self) -> f64 {
        self.points.iter().map(|(size, share)| *size as f64 * share).sum()
    }
}

/// A row of the weighted receipt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WeightedRow<K> {
    /// The key of the row.
    pub key: K,
    /// ns per message of the workload.
    pub ns: Figure,
    /// Bounds if between two measured sizes the row were anywhere
    /// between its two values.
    pub bounds: [f64; 2],
    /// Share of the weighted CPU time.
    pub share: f64,
}

/// Receipts of one end, weighted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Weighted<K> {
    /// The rows, the costliest first.
    pub rows: Vec<WeightedRow<K>>,
    /// CPU time per message of the workload, with what no sample shows and what was billed before the end ran.
    pub cpu: WeightedRow<()>,
    /// Share of messages whose size was measured.
    pub measured: f64,
    /// Share between two measured sizes, on a straight line between them.
    pub interpolated: f64,
    /// Share smaller than the smallest size measured, taken as costing what that does.
    pub below: f64,
    /// Share larger than the largest size measured: left out of everything above.
    pub beyond: f64,
    /// Share of the workload's bytes that these carry.
    pub beyond_bytes: f64,
    /// Weight of each measured size; the sum is 1.
    pub weights: Vec<(Bytes, f64)>,
}

/// Weights that one size of the workload gives to measured ones: the places of its
/// neighbours, and how far it lies towards the second.
struct Piece {
    share: f64,
    lower: usize,
    upper: usize,
    towards: f64,
}

/// Weighs the rows that `of` picks by a workload's sizes.
///
/// # Errors
/// Without receipts, or when nothing of the workload lies within their sizes.
pub fn weigh<K: Ord + Clone>(
    workload: &SizeDistribution,
    receipts: &[&Receipt],
    of: impl Fn(&Receipt) -> &[Row<K>],
) -> Result<Weighted<K>, WorkloadError> {
    let mut receipts = receipts.to_vec();
    receipts.order_by_key(|receipt| receipt.size);
    let sizes: Vec<u64> = receipts.iter().map(|receipt| receipt.size.get()).collect();
    let (Some(smallest), Some(largest)) = (sizes.first(), sizes.last()) else { return Err(WorkloadError::NoReceipts) };
    let share =
        |wanted: &dyn Fn(u64) -> bool| workload.points.iter().filter(|(size, _)| wanted(*size)).map(|(_, share)| share).sum::<f64>();
    let beyond = share(&|size| size > *largest);
    let pieces = pieces(workload, &sizes, 1.0 - beyond);
    if pieces.is_empty() {
        return Err(WorkloadError::AllBeyond);
    }
    let cpu: Vec<(Figure, Option<&Influence>)> = receipts.iter().map(|receipt| (receipt.cpu, Some(&receipt.basis.clean_moved))).collect();
    let mut cpu = weighted((), &pieces, &cpu);
    cpu.share = 1.0;
    let row = |(key, rows): (&K, Vec<Option<&Row<K>>>)| {
        let figure = |(row, receipt): (&Option<&'_ Row<K>>, &&Receipt)| row.map_or_else(|| receipt.unseen_row(), |row| row.ns);
        let moved = rows.iter().map(|row| row.map(|row| &row.moved));
        let figures: Vec<(Figure, Option<&Influence>)> = rows.iter().zip(&receipts).map(figure).zip(moved).collect();
        let mut row = weighted(key.clone(), &pieces, &figures);
        row.share = row.ns.value / cpu.ns.value;
        row
    };
    let mut rows: Vec<WeightedRow<K>> = by_key(&receipts, of).into_iter().map(row).collect();
    rows.order_by(|a, b| b.ns.value.total_cmp(&a.ns.value));
    let measured = share(&|size| sizes.contains(&size));
    let below = share(&|size| size < *smallest);
    let bytes = |wanted: &dyn Fn(u64) -> bool| {
        workload.points.iter().filter(|(size, _)| wanted(*size)).map(|(size, share)| *size as f64 * share).sum::<f64>()
    };
    Ok(Weighted {
        rows,
        cpu,
        measured,
        interpolated: (1.0 - measured - below - beyond).max(0.0),
        below,
        beyond,
        beyond_bytes: bytes(&|size| size > *largest) / workload.mean(),
        weights: receipts.iter().map(|receipt| receipt.size).zip(weights(&pieces, sizes.len())).collect(),
    })
}

/// The sizes of a workload that are no larger than the largest measured, with
/// shares that sum to 1.
fn pieces(workload: &SizeDistribution, sizes: &[u64], within: f64) -> Vec<Piece> {
    let piece = |(size, share): &(u64, f64)| {
        let upper = sizes.iter().position(|measured| measured >= size)?;
        let lower = if sizes[upper] == *size { upper } else { upper.saturating_sub(1) };
        let towards = if lower == upper { 0.0 } else { (size - sizes[lower]) as f64 / (sizes[upper] - sizes[lower]) as f64 };
        Some(Piece { share: share / within, lower, upper, towards })
    };
    if within <= 0.0 { Vec::new() } else { workload.points.iter().filter_map(piece).collect() }
}

fn weights(pieces: &[Piece], sizes: usize) -> Vec<f64> {
    let mut weights = vec![0.0; sizes];
    for piece in pieces {
        weights[piece.lower] += piece.share * (1.0 - piece.towards);
        weights[piece.upper] += piece.share * piece.towards;
    }
    weights
}

/// The weighted sum of a figure of each receipt, with how far blocks move it.
///
/// Its variance is the sum of weight² × variance, and twice the covariance of each two
/// sizes on top: they were measured in the same blocks, and what hit a block hit both. The
/// covariances are those of a bootstrap over blocks ([`Influence`]); where they sum to less
/// than 0 they are taken for 0, for no block makes one size cheap because another is dear.
fn weighted<K>(key: K, pieces: &[Piece], figures: &[(Figure, Option<&Influence>)]) -> WeightedRow<K> {
    let weights = weights(pieces, figures.len());
    let used: Vec<(f64, Figure, Option<&Influence>)> = weights
        .iter()
        .zip(figures)
        .filter(|(weight, _)| **weight > 0.0)
        .map(|(weight, (figure, moved))| (*weight, *figure, *moved))
        .collect();
    let value: f64 = used.iter().map(|(weight, figure, _)| weight * figure.value).sum();
    let own = used.iter().map(|(weight, figure, _)| Some((weight * weight * figure.variance()?, figure.freedom)));
    let own = own.collect::<Option<Vec<(f64, f64)>>>();
    let apart = own.as_ref().map_or(f64::INFINITY, |terms| satterthwaite(terms));
    let terms = own.map(|terms| (terms.iter().map(|(variance, _)| variance).sum::<f64>(), shared(&used).unwrap_or((0.0, f64::INFINITY))));
    // What is shared comes from the same blocks, and makes no variance better known.
    let freedom = terms.map_or(apart, |(own, shared)| satterthwaite(&[(own, apart), shared]).min(apart));
    let variance = terms.map(|(own, shared)| own + shared.0);
    let bound = |pick: fn(f64, f64) -> f64| pieces.iter().map(|p| p.share * pick(figures[p.lower].0.value, figures[p.upper].0.value)).sum();
    let ns = Figure::new(value, variance, freedom, ErrorMethod::BetweenTrials).not_negative();
    WeightedRow { key, ns, bounds: [bound(f64::min), bound(f64::max)], share: 0.0 }
}

/// The variance of a weighted sum that comes from blocks shared by its parts, with its
/// degrees of freedom; `None` where there is none.
fn shared(parts: &[(f64, Figure, Option<&Influence>)]) -> Option<(f64, f64)> {
    let (mut sums, mut squares) = (Influence::new(), 0.0);
    for (weight, _, moved) in parts {
        for (block, by) in moved.iter().flat_map(|moved| moved.iter()) {
            *sums.entry(*block).or_default() += weight * by;
            squares += (weight * by).powi(2);
        }
    }
    let blocks = sums.len() as f64;
    let variance = (sums.values().map(|sum| sum * sum).sum::<f64>() - squares) * blocks / (blocks - 1.0);
    (blocks >= 2.0 && variance > 0.0).then_some((variance, blocks - 1.0))
}
