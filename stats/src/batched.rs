//! Values of a bootstrap over batches: the median of a draw without looking at every value.

use std::ops::Range;

/// Values between two rows of [`BatchedValues::below`].
const STRIDE: usize = 256;

/// Values in rising order, each with its batch.
#[derive(Debug, Clone, Default)]
pub struct BatchedValues {
    sorted: Vec<(f64, u32)>,
    batches: usize,
    /// Values of each batch before every [`STRIDE`]-th value, and in all: a row for each, of
    /// `batches` numbers.
    below: Vec<u32>,
}

impl BatchedValues {
    /// Takes values with their batches, in any order.
    pub fn new(mut values: Vec<(f64, u32)>) -> Self {
        values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let batches = values.iter().map(|(_, batch)| *batch as usize + 1).max().unwrap_or(0);
        let mut so_far = vec![0; batches];
        let mut below = Vec::new();
        for stretch in values.chunks(STRIDE) {
            below.extend_from_slice(&so_far);
            stretch.iter().for_each(|(_, batch)| so_far[*batch as usize] += 1);
        }
        below.extend(so_far);
        Self { sorted: values, batches, below }
    }

    /// The values, rising.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.sorted.iter().map(|(value, _)| *value)
    }

    /// The median: of all values, or with each counted as often as its batch was drawn. `None` of
    /// nothing. A batch that `drawn` lacks was not drawn.
    pub fn median(&self, drawn: Option<&[u32]>) -> Option<f64> {
        let once = vec![1; self.batches];
        let drawn = drawn.unwrap_or(&once);
        let all = self.drawn_before(self.rows().end, drawn);
        Some(self.at_rank(all.checked_sub(1)? / 2, drawn)? / 2.0 + self.at_rank(all / 2, drawn)? / 2.0)
    }

    /// The value with `rank` drawn ones before it.
    fn at_rank(&self, rank: u64, drawn: &[u32]) -> Option<f64> {
        let Range { start: mut low, end: mut high } = self.rows();
        while low + 1 < high {
            let middle = usize::midpoint(low, high);
            if self.drawn_before(middle, drawn) <= rank { low = middle } else { high = middle }
        }
        let mut before = self.drawn_before(low, drawn);
        self.sorted[low * STRIDE..].iter().find_map(|(value, batch)| {
            before += drawn.get(*batch as usize).map_or(0, |times| u64::from(*times));
            (before > rank).then_some(*value)
        })
    }

    /// The first row of counts, and the last: that of all values.
    fn rows(&self) -> Range<usize> {
        0..self.sorted.len().div_ceil(STRIDE)
    }

    /// Drawn values before a row's.
    fn drawn_before(&self, row: usize, drawn: &[u32]) -> u64 {
        let counts = self.below[row * self.batches..].iter().take(self.batches);
        counts.zip(drawn).map(|(count, times)| u64::from(*count) * u64::from(*times)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::BatchedValues;
    use crate::median::median;
    use proptest::prelude::{prop, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn a_drawn_median_is_that_of_the_repeated_values(
            values in prop::collection::vec((0.0..1e6f64, 0u32..5), 0..1500), drawn in prop::collection::vec(0u32..4, 5),
        ) {
            let repeated: Vec<f64> =
                values.iter().flat_map(|(value, batch)| std::iter::repeat_n(*value, drawn[*batch as usize] as usize)).collect();
            let all: Vec<f64> = values.iter().map(|(value, _)| *value).collect();
            let batched = BatchedValues::new(values);
            prop_assert_eq!(batched.median(Some(&drawn)), median(&repeated));
            prop_assert_eq!(batched.median(None), median(&all));
        }
    }
}
