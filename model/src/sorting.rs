//! Sorting, and maps of what an iterator has, with code that is compiled once. The standard
//! library's is compiled again for every type and every comparison, some 6 kB each: most tables
//! here have ten rows.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Stable sorting, as by `sort_by` and its like.
pub trait Order<T> {
    /// Sorts by a comparison.
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts by a key.
    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }

    /// Sorts by the order of the type.
    fn order(&mut self)
    where
        T: Ord,
    {
        self.order_by(T::cmp);
    }
}

impl<T> Order<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let mut from = sources(self.len(), &mut |a, b| compare(&self[a], &self[b]));
        for start in 0..self.len() {
            let mut place = start;
            // Along the cycle that ends where it began.
            while from[place] != start {
                let source = std::mem::replace(&mut from[place], place);
                self.swap(place, source);
                place = source;
            }
            from[place] = place;
        }
    }
}

/// For each place of a sorted list, the place in which its entry is now.
fn sources(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut from: Vec<usize> = (0..count).collect();
    from.sort_by(|a, b| compare(*a, *b));
    from
}

/// Maps and sets by one insertion after the other, as by `collect`, which sorts first.
pub trait Gather: Iterator + Sized {
    /// The map of its pairs; of equal keys the last one's value.
    fn into_map<K: Ord, V>(self) -> BTreeMap<K, V>
    where
        Self: Iterator<Item = (K, V)>,
    {
        let mut map = BTreeMap::new();
        self.for_each(|(key, value)| _ = map.insert(key, value));
        map
    }

    /// The set of its items.
    fn into_set(self) -> BTreeSet<Self::Item>
    where
        Self::Item: Ord,
    {
        let mut set = BTreeSet::new();
        self.for_each(|item| _ = set.insert(item));
        set
    }
}

impl<I: Iterator> Gather for I {}

#[cfg(test)]
mod tests {
    use super::{Gather, Order};
    use proptest::prelude::{any, prop, prop_assert_eq, proptest};
    use std::collections::{BTreeMap, BTreeSet};

    proptest! {
        #[test]
        fn the_order_is_that_of_a_stable_sort(values in prop::collection::vec((0u8..6, any::<u16>()), 0..200)) {
            let (mut ours, mut theirs) = (values.clone(), values);
            ours.order_by_key(|(key, _)| *key);
            theirs.sort_by_key(|(key, _)| *key);
            prop_assert_eq!(&ours, &theirs);
            ours.order();
            theirs.sort();
            prop_assert_eq!(ours, theirs);
        }

        #[test]
        fn maps_and_sets_are_those_of_collect(pairs in prop::collection::vec((0u8..9, any::<u16>()), 0..50)) {
            prop_assert_eq!(pairs.iter().copied().into_map(), pairs.iter().copied().collect::<BTreeMap<_, _>>());
            prop_assert_eq!(pairs.iter().copied().into_set(), pairs.iter().copied().collect::<BTreeSet<_>>());
        }
    }
}
