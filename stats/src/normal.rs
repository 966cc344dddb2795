//! The normal distribution, as far as an interval's tail needs it.

use std::f64::consts::{PI, SQRT_2};

/// P(Z <= z): Abramowitz and Stegun, "Handbook of Mathematical Functions",
/// 7.1.26 (absolute error below 1.5e-7).
pub fn cdf(z: f64) -> f64 {
    let x = z.abs() / SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series = t * (0.254_829_592 + t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    let upper = series * (-x * x).exp() / 2.0;
    if z > 0.0 { 1.0 - upper } else { upper }
}

/// The z below which the share `p` lies, 0 < p < 1: Abramowitz and Stegun
/// 26.2.23, then two Newton steps on [`cdf`].
pub fn quantile(p: f64) -> f64 {
    let tail = p.min(1.0 - p);
    let t = (-2.0 * tail.ln()).sqrt();
    let start = t - (2.515_517 + t * (0.802_853 + t * 0.010_328)) / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    let mut z = -start;
    for _ in 0..2 {
        let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
        z -= (cdf(z) - tail) / density;
    }
    if p < 0.5 { z } else { -z }
}

#[cfg(test)]
mod tests {
    use super::{cdf, quantile};

    #[test]
    fn agree_with_printed_tables() {
        assert!((cdf(1.0) - 0.841_345).abs() < 1e-6);
        assert!((cdf(-1.96) - 0.024_998).abs() < 1e-6);
        assert!((quantile(0.975) - 1.959_964).abs() < 1e-5);
        assert!((quantile(0.005) + 2.575_829).abs() < 1e-4);
    }
}
