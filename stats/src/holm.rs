//! Many tests at once.

/// p-values such that calling those at most α significant wrongly calls any
/// with a probability of at most α, whatever their dependence (Holm 1979, "A
/// simple sequentially rejective multiple test procedure"). In the order given.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 0.0;
    for (rank, place) in order.into_iter().enumerate() {
        least = least.max((p[place] * (p.len() - rank) as f64).min(1.0));
        adjusted[place] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::holm;
    use proptest::prelude::{prop, prop_assert, proptest};

    #[test]
    fn the_textbook_example() {
        // Holm 1979, section 3, by hand.
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, wanted) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - wanted).abs() < 1e-12, "{adjusted:?}");
        }
        assert!(holm(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn never_smaller_and_in_the_same_order(p in prop::collection::vec(0.0..1.0f64, 1..50)) {
            let adjusted = holm(&p);
            for (place, value) in p.iter().enumerate() {
                prop_assert!(adjusted[place] >= *value && adjusted[place] <= 1.0);
                for (other, smaller) in p.iter().enumerate() {
                    prop_assert!(smaller > value || adjusted[other] <= adjusted[place] + 1e-12);
                }
            }
        }
    }
}
