//! Whole samples shared out in proportion.

use model::sorting::Order;

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
