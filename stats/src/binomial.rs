//! Tails of the binomial distribution.

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

/// The probability of `successes` or more in `trials`, each of which has one with probability `p`.
pub fn at_least(successes: usize, trials: usize, p: f64) -> f64 {
    if successes == 0 || p >= 1.0 {
        return 1.0;
    }
    if p <= 0.0 {
        return 0.0;
    }
    // The logarithm of P(X = i), from i = 0 on.
    let (mut log_term, step) = (trials as f64 * (-p).ln_1p(), p.ln() - (-p).ln_1p());
    let mut sum = 0.0;
    for count in 0..=trials {
        if count >= successes {
            sum += log_term.exp();
        }
        log_term += ((trials - count) as f64 / (count + 1) as f64).ln() + step;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::{at_least, median_rank};

    /// Conover, table A3: binomial, p = 0.05, n = 20, P(X <= 3) = 0.9841 and P(X <= 4) = 0.9974.
    #[test]
    fn upper_tails_agree_with_the_binomial_table() {
        let near = |value: f64, wanted: f64| assert!((value - wanted).abs() < 6e-5, "{value} {wanted}");
        near(at_least(4, 20, 0.05), 0.0159);
        near(at_least(5, 20, 0.05), 0.0026);
        near(at_least(1, 1, 0.05), 0.05);
        near(at_least(10, 10, 0.5), 0.5_f64.powi(10));
        assert_eq!([at_least(0, 5, 0.1), at_least(1, 0, 0.1), at_least(1, 5, 0.0)], [1.0, 0.0, 0.0]);
    }

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
