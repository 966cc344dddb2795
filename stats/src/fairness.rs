//! How evenly a whole is shared.

/// Jain's index: (Σx)² / (n Σx²). 1 where all have the same, 1/n where one has everything; `None` of fewer than two
/// values, of one below 0, and where all are 0.
///
/// R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness and Discrimination for Resource Allocation in Shared
/// Computer Systems, DEC-TR-301, 1984, equation 1.
pub fn jain(values: &[f64]) -> Option<f64> {
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(sum, squares), value| (sum + value, squares + value * value));
    let known = values.len() > 1 && squares > 0.0 && values.iter().all(|value| value.is_finite() && *value >= 0.0);
    known.then(|| sum * sum / (values.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::jain;

    #[test]
    fn equal_shares_give_one_and_a_single_owner_one_over_n() {
        assert_eq!(jain(&[3.0; 4]), Some(1.0));
        assert_eq!(jain(&[7.0, 0.0, 0.0, 0.0]), Some(0.25));
        // 9² / (3 (1 + 9 + 25)).
        assert!((jain(&[1.0, 3.0, 5.0]).unwrap() - 81.0 / 105.0).abs() < 1e-12);
        for none in [&[][..], &[1.0], &[0.0, 0.0], &[-1.0, 2.0], &[f64::NAN, 1.0]] {
            assert_eq!(jain(none), None);
        }
    }

    proptest! {
        #[test]
        fn it_lies_between_one_over_n_and_one_whatever_the_unit(values in prop::collection::vec(0.001..1e9_f64, 2..40), unit in 0.001..1e3_f64) {
            let index = jain(&values).unwrap();
            prop_assert!(index <= 1.0 + 1e-9 && index >= 1.0 / values.len() as f64 - 1e-9);
            let scaled: Vec<f64> = values.iter().map(|value| value * unit).collect();
            prop_assert!((jain(&scaled).unwrap() - index).abs() < 1e-9);
        }
    }
}
