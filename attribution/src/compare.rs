//! Two receipts, row by row.

use model::sorting::Order;
use serde::Serialize;

use crate::attributes::Layer;
use crate::figure::{CONFIDENCE, ErrorMethod, Figure, satterthwaite};
use crate::receipt::Receipt;
use crate::rows::{Row, by_key};
use stats::distribution::student_two_sided;
use stats::holm::holm;
use stats::power::found_in_four_of_five;

/// A difference smaller than this share of the first receipt's CPU time is none
/// worth a verdict, however sure.
pub const LEAST_SHARE: f64 = 0.01;

/// The verdict on a row's difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The second receipt's row costs more, surely and enough.
    Costlier,
    /// It costs less, surely and enough.
    Cheaper,
    /// No difference shown.
    NotShown,
}

/// One row of both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference<K> {
    /// The row: a layer, a category, a function.
    pub key: K,
    /// ns per message in each.
    pub ns: [f64; 2],
    /// The second less the first.
    pub difference: Figure,
    /// Probability of a difference this large by chance; `None` where the
    /// errors are unknown.
    pub p: Option<f64>,
    /// The same with all rows taken into account (Holm).
    pub p_adjusted: Option<f64>,
    /// The true difference that such a comparison shows in this row alone in four of
    /// five, in ns.
    pub could_show: Option<f64>,
    /// The conclusion.
    pub verdict: Verdict,
}

/// Rows of two receipts, the largest difference first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison<K> {
    /// The rows.
    pub rows: Vec<Difference<K>>,
    /// The whole CPU time per message, tested by itself.
    pub cpu: Difference<()>,
}

/// Compares two receipts by the rows that `of` picks, such as
/// `|receipt| &receipt.rows.layers`.
///
/// Each difference is tested by Welch's t (Welch 1947), all rows together by
/// Holm. A row that one of them has not is one of no sample, known to within one.
pub fn compare<K: Ord + Clone>(a: &Receipt, b: &Receipt, of: impl Fn(&Receipt) -> &[Row<K>]) -> Comparison<K> {
    let figure = |receipt: &Receipt, row: Option<&Row<K>>| row.map_or_else(|| receipt.unseen_row(), |row| row.ns);
    let rows = by_key(&[a, b], of).into_iter();
    let mut rows: Vec<Difference<K>> = rows.map(|(key, rows)| difference(key.clone(), figure(a, rows[0]), figure(b, rows[1]))).collect();
    let known: Vec<usize> = (0..rows.len()).filter(|place| rows[*place].p.is_some()).collect();
    let adjusted = holm(&known.iter().filter_map(|place| rows[*place].p).collect::<Vec<_>>());
    for (place, p) in known.into_iter().zip(adjusted) {
        rows[place].p_adjusted = Some(p);
    }
    let least = LEAST_SHARE * a.cpu.value;
    rows.iter_mut().for_each(|row| row.judge(least));
    rows.order_by(|a, b| b.difference.value.abs().total_cmp(&a.difference.value.abs()));
    let mut cpu = difference((), a.cpu, b.cpu);
    cpu.p_adjusted = cpu.p;
    cpu.judge(least);
    Comparison { rows, cpu }
}

fn difference<K>(key: K, a: Figure, b: Figure) -> Difference<K> {
    let variances = a.variance().zip(b.variance());
    let freedom = variances.map_or(f64::INFINITY, |(of_a, of_b)| satterthwaite(&[(of_a, a.freedom), (of_b, b.freedom)]));
    let difference = Figure::new(b.value - a.value, variances.map(|(of_a, of_b)| of_a + of_b), freedom, a.method);
    let p = difference.error.map(|error| match error > 0.0 {
        true => student_two_sided(difference.value / error, freedom),
        false => f64::from(u8::from(difference.value == 0.0)),
    });
    let could_show = difference.error.map(|error| found_in_four_of_five(error, CONFIDENCE, freedom, 0.0));
    Difference { key, ns: [a.value, b.value], difference, p, p_adjusted: None, could_show, verdict: Verdict::NotShown }
}

impl<K> Difference<K> {
    fn judge(&mut self, least: f64) {
        let sure = self.p_adjusted.is_some_and(|p| p <= 1.0 - CONFIDENCE);
        self.verdict = match (sure && self.difference.value.abs() >= least, self.difference.value > 0.0) {
            (true, true) => Verdict::Costlier,
            (true, false) => Verdict::Cheaper,
            (false, _) => Verdict::NotShown,
        };
    }
}

/// Distance of the layers' shares of two receipts: the total variation
/// distance, half the sum of the differences' sizes, 0 to 1. Of shares of what
/// was sampled.
pub fn total_variation(a: &Receipt, b: &Receipt) -> f64 {
    let share = |receipt: &Receipt, layer: Layer| {
        let samples = receipt.rows.layers.iter().find(|row| row.key == layer).map_or(0, |row| row.samples);
        samples as f64 / receipt.sampling.samples as f64
    };
    Layer::ALL.iter().map(|layer| (share(a, *layer) - share(b, *layer)).abs()).sum::<f64>() / 2.0
}

impl Receipt {
    /// A row that no sample fell into: nothing, known to within one sample.
    pub fn unseen_row(&self) -> Figure {
        Figure::new(0.0, Some(self.each * self.each), f64::INFINITY, ErrorMethod::Binomial).not_negative()
    }
}
