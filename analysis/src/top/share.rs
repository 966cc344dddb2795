//! Whole samples shared out in proportion.

use std::collections::BTreeMap;

use model::order::Order;

use super::tally::{Ownership, Party, Work};

/// The softirqs of a CPU, by what they show of their owners: those that show little are shared out like the others.
#[derive(Debug, Clone, Default)]
pub struct Owners {
    known: BTreeMap<Party, u64>,
    local: u64,
}

impl Owners {
    /// Counts samples.
    pub fn add(&mut self, work: &Work, samples: u64) {
        match work.owner {
            Ownership::Known(owner) if work.softirq && owner != Party::Unowned => *self.known.entry(owner).or_default() += samples,
            Ownership::Local => self.local += samples,
            Ownership::Known(_) | Ownership::Open => {}
        }
    }

    /// Owners of samples that do not show theirs, with weights. Where a packet is delivered, those of sockets alone;
    /// else packets are passed on and delivered as often as chains show.
    pub fn of(&self, ownership: Ownership) -> Vec<(Party, u64)> {
        let of_sockets = || self.known.iter().filter(|(owner, _)| **owner != Party::Forwarded);
        let local = or_unowned(of_sockets().map(|(owner, samples)| (*owner, *samples)).collect());
        match ownership {
            Ownership::Known(owner) => vec![(owner, 1)],
            Ownership::Local => local,
            Ownership::Open => {
                let mut all = self.known.clone();
                for (owner, samples) in shares(self.local, &local).into_iter().filter(|(_, samples)| *samples > 0) {
                    *all.entry(owner).or_default() += samples;
                }
                or_unowned(all.into_iter().collect())
            }
        }
    }
}

fn or_unowned(owners: Vec<(Party, u64)>) -> Vec<(Party, u64)> {
    if owners.is_empty() { vec![(Party::Unowned, 1)] } else { owners }
}

/// Parts of `whole` by owner, in proportion to the owners' weights.
pub fn shares(whole: u64, owners: &[(Party, u64)]) -> Vec<(Party, u64)> {
    let weights: Vec<u64> = owners.iter().map(|(_, weight)| *weight).collect();
    owners.iter().map(|(owner, _)| *owner).zip(share_out(whole, &weights)).collect()
}

/// Parts of `whole` in proportion to `weights`, which sum to `whole` where any weight is above 0 (largest remainders;
/// Hamilton's method). The first of equal remainders goes first. All 0 where no weight is above 0.
pub fn share_out(whole: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    let exact = |weight: u64| u128::from(whole) * u128::from(weight);
    let mut parts: Vec<u64> = weights.iter().map(|weight| (exact(*weight) / sum) as u64).collect();
    let mut left = whole - parts.iter().sum::<u64>();
    // Fewer are left than there are weights above 0.
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.order_by(|a, b| (exact(weights[*b]) % sum).cmp(&(exact(weights[*a]) % sum)).then(a.cmp(b)));
    for place in order {
        if left == 0 {
            break;
        }
        parts[place] += 1;
        left -= 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::share_out;

    #[test]
    fn remainders_go_to_the_largest() {
        assert_eq!(share_out(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(share_out(7, &[80, 20]), [6, 1]);
        assert_eq!(share_out(5, &[0, 0]), [0, 0]);
        assert_eq!(share_out(5, &[]), Vec::<u64>::new());
    }

    proptest! {
        #[test]
        fn parts_sum_to_the_whole_and_are_within_one_of_their_share(whole in 0..10_000_u64, weights in proptest::collection::vec(0..1_000_u64, 1..20)) {
            let parts = share_out(whole, &weights);
            let sum: u64 = weights.iter().sum();
            if sum > 0 {
                prop_assert_eq!(parts.iter().sum::<u64>(), whole);
                for (part, weight) in parts.iter().zip(&weights) {
                    prop_assert!((*part as f64 - whole as f64 * *weight as f64 / sum as f64).abs() < 1.0);
                }
            }
        }
    }
}
