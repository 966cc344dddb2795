//! Rows of a receipt: samples of one kind, as time per message.
//!
//! ```text
//! samples, Attributes of their chains -> Tally (one a pass) -> Basis -> Row, Split
//! ```

use std::collections::BTreeMap;

use model::Bytes;
use model::sorting::{Gather, Order};
use serde::Serialize;

use crate::attributes::{Attributes, Context, Direction, Layer};
use crate::figure::{Figure, Sampling, product, ratio, share};

/// Samples of one time pass.
#[derive(Debug, Default)]
pub struct Tally {
    /// All of them.
    pub samples: u64,
    /// By what the rules say of their chains, and by whether they fell into user code.
    pub kinds: BTreeMap<(Attributes, bool), u64>,
    /// By function.
    pub functions: BTreeMap<String, u64>,
}

impl Tally {
    /// Counts samples of one chain, whose innermost function is listed as `leaf`.
    pub fn add(&mut self, leaf: &str, of: &Attributes, count: u64, user: bool) {
        self.samples += count;
        match self.functions.get_mut(leaf) {
            Some(known) => *known += count,
            None => drop(self.functions.insert(leaf.to_owned(), count)),
        }
        *self.kinds.entry((*of, user)).or_default() += count;
    }

    /// Number of the samples whose attributes are such, in user code or not.
    pub fn count(&self, is: &dyn Fn(&Attributes, bool) -> bool) -> u64 {
        self.kinds.iter().filter(|((kind, user), _)| is(kind, *user)).map(|(_, count)| count).sum()
    }
}

/// A layer with the context in which it ran and the direction it worked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Path {
    /// On whose behalf.
    pub layer: Layer,
    /// In what it ran.
    pub context: Context,
    /// For which way of the message.
    pub direction: Option<Direction>,
}

/// A row of a receipt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row<K> {
    /// The key of the row.
    pub key: K,
    /// Samples of all passes.
    pub samples: u64,
    /// Share of the end's CPU time, 0 to 1.
    pub share: Figure,
    /// ns per message: the share of the clean CPU time.
    pub ns: Figure,
    /// ns per message as each time pass alone has it, in the order of passes.
    pub passes: Vec<f64>,
    /// How far each block moves `ns`.
    #[serde(skip)]
    pub moved: Influence,
}

/// How far each block moves a figure, in its own unit: the figure's derivative by the
/// block's weight (the infinitesimal jackknife: Jaeckel 1972; Efron 1982, "The Jackknife,
/// the Bootstrap and Other Resampling Plans", 6). The sum of products of two figures'
/// moves is their covariance, as a bootstrap over blocks would have it.
pub type Influence = BTreeMap<u32, f64>;

/// How far blocks move Σ above / Σ below.
pub fn moved(blocks: &[u32], pairs: &[(f64, f64)]) -> Influence {
    let (above, below) = pairs.iter().fold((0.0, 0.0), |(above, below), pair| (above + pair.0, below + pair.1));
    let mut moved = Influence::new();
    for (block, (of_above, of_below)) in blocks.iter().zip(pairs).filter(|_| below > 0.0) {
        *moved.entry(*block).or_default() += (of_above - above / below * of_below) / below;
    }
    moved
}

/// Every row of some receipts that `of` picks, in the order of keys: at each of the
/// receipts, `None` where it has none of the key.
pub fn by_key<'a, R, K: Ord>(receipts: &[&'a R], of: impl Fn(&'a R) -> &'a [Row<K>]) -> BTreeMap<&'a K, Vec<Option<&'a Row<K>>>> {
    let mut rows: BTreeMap<&K, Vec<Option<&Row<K>>>> = BTreeMap::new();
    for (place, receipt) in receipts.iter().enumerate() {
        for row in of(receipt) {
            rows.entry(&row.key).or_insert_with(|| vec![None; receipts.len()])[place] = Some(row);
        }
    }
    rows
}

/// The factors that turn samples into time per message: samples give the level, which the records of switches bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Basis {
    /// Samples of each time pass.
    pub samples: Vec<u64>,
    /// The block of each time pass.
    pub blocks: Vec<u32>,
    /// Share of the end's CPU clock that samples show, 0 to 1.
    pub level: Figure,
    /// Share of it for which the end had a CPU: no less.
    pub presence: Figure,
    /// Clean CPU time per message, in ns.
    pub clean: Figure,
    /// How far each block moves it.
    pub clean_moved: Influence,
    /// Clean time per message that samples show, in ns: what the rows of one attribute sum to.
    pub on_cpu: Figure,
    /// How far each block moves it.
    pub on_cpu_moved: Influence,
}

impl Basis {
    /// Samples of all passes.
    pub fn all(&self) -> u64 {
        self.samples.iter().sum()
    }

    /// ns per message that one sample stands for.
    pub fn each(&self) -> f64 {
        self.on_cpu.value / self.all().max(1) as f64
    }

    /// The row of samples counted pass by pass.
    pub fn row<K>(&self, key: K, counts: &[u64]) -> Row<K> {
        let pairs: Vec<(f64, f64)> = counts.iter().zip(&self.samples).map(|(count, of)| (*count as f64, *of as f64)).collect();
        let (samples, of) = (counts.iter().sum(), self.all());
        let part = share(ratio(&pairs), Sampling { samples, of, each: 1.0 / of.max(1) as f64 });
        let passes = pairs.iter().map(|(count, of)| count / of.max(1.0) * self.on_cpu.value).collect();
        let mut moved: Influence = moved(&self.blocks, &pairs).into_iter().map(|(block, by)| (block, by * self.on_cpu.value)).into_map();
        for (block, by) in &self.on_cpu_moved {
            *moved.entry(*block).or_default() += by * part.value;
        }
        Row { key, samples, share: product(part, self.level).not_negative(), ns: product(part, self.on_cpu).not_negative(), passes, moved }
    }

    /// A row for each key that `of` gives in any pass, the costliest first.
    pub fn rows_by<K: Ord + Clone>(&self, tallies: &[Tally], of: impl Fn(&Attributes) -> Option<K>) -> Vec<Row<K>> {
        let mut counts = Vec::new();
        for (pass, tally) in tallies.iter().enumerate() {
            counts.extend(tally.kinds.iter().filter_map(|((kind, _), count)| Some((of(kind)?, pass, *count))));
        }
        self.rows(counts)
    }

    /// The same of counts, each with its key and the place of its pass.
    pub fn rows<K: Ord + Clone>(&self, mut counts: Vec<(K, usize, u64)>) -> Vec<Row<K>> {
        counts.order_by(|(a, ..), (b, ..)| a.cmp(b));
        let row = |same: &[(K, usize, u64)]| {
            let mut sums = vec![0; self.samples.len()];
            same.iter().for_each(|(_, pass, count)| sums[*pass] += count);
            self.row(same[0].0.clone(), &sums)
        };
        let mut rows: Vec<Row<K>> = counts.chunk_by(|(a, ..), (b, ..)| a == b).map(row).collect();
        // Stable: keys of equal cost stay in their own order.
        rows.order_by_key(|row| std::cmp::Reverse(row.samples));
        rows
    }
}

/// The work of an end by the way of the message it was for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Split {
    /// One row a direction; `None` is work that has none, such as entering the
    /// kernel.
    pub directions: Vec<Row<Option<Direction>>>,
    /// Rate that one processor could sustain if it did nothing but this end's work.
    pub bound: Bound,
    /// The same without the work of acknowledgements.
    pub bound_without_acknowledgement: Bound,
}

/// A rate that processing alone would allow: one processor, no wait, the other
/// end and the link not in the way. Derived, not measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bound {
    /// CPU time per message behind it, in ns.
    pub ns: Figure,
    /// Messages per second: 1e9 / ns.
    pub messages_per_s: f64,
    /// Its interval, which is that of the CPU time turned over; without an
    /// upper end where the time may be 0.
    pub interval: Option<[Option<f64>; 2]>,
    /// Payload bits per second.
    pub bits_per_s: f64,
}

impl Bound {
    /// The rate at `ns` per message of `size`.
    pub fn at_cost(ns: Figure, size: Bytes) -> Self {
        let rate = |ns: f64| (ns > 0.0).then(|| 1e9 / ns);
        let messages_per_s = rate(ns.value).unwrap_or(0.0);
        let interval = ns.interval.map(|[low, high]| [rate(high), rate(low)]);
        Self { ns, messages_per_s, interval, bits_per_s: messages_per_s * 8.0 * size.get() as f64 }
    }
}

impl Split {
    /// Splits what passes counted.
    pub fn from_tallies(basis: &Basis, tallies: &[Tally], size: Bytes) -> Self {
        let directions = basis.rows_by(tallies, |kind| Some(kind.direction));
        let acknowledging = |tally: &Tally| tally.count(&|kind, _| kind.direction == Some(Direction::Acknowledgement)) as f64;
        let pairs: Vec<(f64, f64)> = tallies.iter().map(|tally| (acknowledging(tally), tally.samples as f64)).collect();
        let share = ratio(&pairs).figure();
        // What is billed before the end runs is in neither: no CPU does it.
        let on_cpu = product(basis.presence, basis.clean);
        let mut rest = share.scaled(-1.0);
        rest.value += 1.0;
        rest.interval = rest.interval.map(|[low, high]| [low + 1.0, high + 1.0]);
        Self { directions, bound: Bound::at_cost(on_cpu, size), bound_without_acknowledgement: Bound::at_cost(product(rest, on_cpu), size) }
    }
}
