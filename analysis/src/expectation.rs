//! Precision to be expected of a study, before it is run.

use stats::{binomial, normal};

/// The half-width of a median's interval, as a share of the median, to be
/// expected of `blocks` blocks when trials of a cell scatter normally with
/// standard deviation `noise` (a share of their mean, much below 1). `None`
/// when there are too few blocks for any interval.
///
/// The interval runs between the k-th smallest and the k-th largest of n
/// trials; their expected values are Blom's approximation to normal order
/// statistics, at p = (k - 3/8) / (n + 1/4) (Blom 1958, "Statistical Estimates
/// and Transformed Beta-Variables").
pub fn half_width(blocks: u32, confidence: f64, noise: f64) -> Option<f64> {
    let (rank, _) = binomial::median_rank(blocks as usize, confidence)?;
    let p = (rank as f64 - 0.375) / (f64::from(blocks) + 0.25);
    Some(-normal::quantile(p) * noise)
}

#[cfg(test)]
mod tests {
    use super::half_width;

    #[test]
    fn nine_blocks_of_5_percent_noise_give_about_5_percent() {
        // The expected second of nine normal values is -0.932 (Harter 1961, table 1).
        let expected = half_width(9, 0.95, 0.05).unwrap();
        assert!((expected - 0.932 * 0.05).abs() < 0.001, "{expected}");
    }

    #[test]
    fn more_blocks_tell_more_and_five_tell_nothing() {
        assert_eq!(half_width(5, 0.95, 0.05), None);
        assert!(half_width(100, 0.95, 0.05) < half_width(30, 0.95, 0.05));
    }
}
