//! Tails of the binomial distribution at one half, which rule the median.

/// The rank k of the order-statistic interval of a median of `n` values, and
/// the coverage 1 - 2·P(Binomial(n, 1/2) < k) that it attains: the largest k
/// whose coverage is at least `confidence`. `None` when there is none.
pub fn median_rank(n: usize, confidence: f64) -> Option<(usize, f64)> {
    let allowed = (1.0 - confidence) / 2.0;
    let mut found = None;
    // The logarithm of P(X = i); the plain value would underflow for n > 1074.
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    for rank in 1..=n / 2 {
        below += log_term.exp();
        if below > allowed {
            break;
        }
        found = Some((rank, 1.0 - 2.0 * below));
        log_term += ((n - rank + 1) as f64 / rank as f64).ln();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::median_rank;

    /// Table of ranks and coverages for 95 %: Conover, "Practical Nonparametric
    /// Statistics", table A3 (binomial, p = 0.5), worked out by hand from it.
    #[test]
    fn ranks_agree_with_the_binomial_table() {
        let table = [(6, 1, 0.9688), (9, 2, 0.9609), (10, 2, 0.9785), (14, 3, 0.9871), (20, 6, 0.9586), (30, 10, 0.9572), (50, 18, 0.9672)];
        for (n, rank, coverage) in table {
            let (found, attained) = median_rank(n, 0.95).unwrap();
            assert_eq!(found, rank, "n = {n}");
            assert!((attained - coverage).abs() < 6e-5, "n = {n}: {attained}");
        }
        for n in 0..6 {
            assert_eq!(median_rank(n, 0.95), None);
        }
    }

    #[test]
    fn large_samples_do_not_underflow() {
        let (rank, attained) = median_rank(100_000, 0.95).unwrap();
        // The normal approximation: n/2 - 0.98·sqrt(n).
        assert!((rank as f64 - 49_690.0).abs() < 3.0, "{rank}");
        assert!((attained - 0.95).abs() < 1e-3);
    }
}
