//! Tails of the normal distribution, and of Student's and Fisher's by the incomplete beta
//! function.

use std::f64::consts::{PI, SQRT_2};

/// P(Z <= z): Abramowitz and Stegun, "Handbook of Mathematical Functions",
/// 7.1.26 (absolute error below 1.5e-7).
pub fn normal_cdf(z: f64) -> f64 {
    let x = z.abs() / SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series = t * (0.254_829_592 + t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    let upper = series * (-x * x).exp() / 2.0;
    if z > 0.0 { 1.0 - upper } else { upper }
}

/// The z below which the share `p` lies, 0 < p < 1: Abramowitz and Stegun
/// 26.2.23, then two Newton steps on [`normal_cdf`].
pub fn normal_quantile(p: f64) -> f64 {
    let tail = p.min(1.0 - p);
    let t = (-2.0 * tail.ln()).sqrt();
    let start = t - (2.515_517 + t * (0.802_853 + t * 0.010_328)) / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    let mut z = -start;
    for _ in 0..2 {
        let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
        z -= (normal_cdf(z) - tail) / density;
    }
    if p < 0.5 { z } else { -z }
}

/// P(|T| >= |t|) with `freedom` degrees of freedom (Abramowitz and Stegun
/// 26.7.1 and 26.5.27); 1 where an argument is no number.
pub fn student_two_sided(t: f64, freedom: f64) -> f64 {
    if !t.is_finite() {
        return if t.is_nan() { 1.0 } else { 0.0 };
    }
    if !freedom.is_finite() {
        return 2.0 * (1.0 - normal_cdf(t.abs()));
    }
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// P(F >= f) with `above` and `below` degrees of freedom (Abramowitz and Stegun
/// 26.6.2).
pub fn fisher_upper(f: f64, above: f64, below: f64) -> f64 {
    if f <= 0.0 || f.is_nan() {
        return 1.0;
    }
    if f.is_infinite() {
        return 0.0;
    }
    incomplete_beta(below / (below + above * f), below / 2.0, above / 2.0)
}

/// The t that `1 - confidence` of values exceed in size, by bisection on
/// [`student_two_sided`]; of infinite freedom the normal quantile.
pub fn student_critical(confidence: f64, freedom: f64) -> f64 {
    let allowed = 1.0 - confidence;
    let (mut low, mut high) = (0.0, 1.0);
    while student_two_sided(high, freedom) > allowed && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if student_two_sided(middle, freedom) > allowed { low = middle } else { high = middle }
    }
    high
}

/// I_x(a, b), by the continued fraction of Abramowitz and Stegun 26.5.8,
/// evaluated by Lentz's method (Thompson and Barnett 1986).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x.is_nan() {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    // The fraction converges fast on this side of the mean.
    if x < (a + 1.0) / (a + b + 2.0) { front * fraction(x, a, b) / a } else { 1.0 - front * fraction(1.0 - x, b, a) / b }
}

fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let apart = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / apart(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for step in 1..=500_u32 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / apart(1.0 + term * d);
            c = apart(1.0 + term / c);
            change = d * c;
            value *= change;
        }
        if (change - 1.0_f64).abs() < 1e-14 {
            break;
        }
    }
    value
}

/// ln Γ(x) of x > 0: Lanczos' series with g = 7 and nine terms (Lanczos 1964;
/// coefficients of Godfrey 2001), good to 1e-13.
fn log_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        // Reflection, so that the series is used where it converges.
        return (PI / (PI * x).sin()).ln() - log_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let series = TERMS.iter().zip(1_u32..).fold(0.999_999_999_999_809_9, |sum, (term, place)| sum + term / (x + f64::from(place)));
    let base = x + 7.5;
    0.5 * std::f64::consts::TAU.ln() + (x + 0.5) * base.ln() - base + series.ln()
}

#[cfg(test)]
mod tests {
    use super::{fisher_upper, normal_cdf, normal_quantile, student_critical, student_two_sided};

    /// Printed tables: Abramowitz and Stegun 26.10 (t) and 26.9 (F).
    #[test]
    fn agree_with_printed_tables() {
        for (t, freedom, p) in
            [(2.776, 4.0, 0.05), (4.604, 4.0, 0.01), (2.228, 10.0, 0.05), (12.706, 1.0, 0.05), (1.96, f64::INFINITY, 0.05)]
        {
            assert!((student_two_sided(t, freedom) - p).abs() < 5e-5, "{t} {freedom}");
            assert!((student_critical(1.0 - p, freedom) - t).abs() < 2e-3, "{t} {freedom}");
        }
        for (f, above, below, p) in [(2.53, 6.0, 24.0, 0.05), (2.51, 6.0, 24.0, 0.05), (4.96, 1.0, 10.0, 0.05), (3.67, 6.0, 24.0, 0.01)] {
            assert!((fisher_upper(f, above, below) - p).abs() < 2e-3, "{f}: {}", fisher_upper(f, above, below));
        }
    }

    #[test]
    fn the_normal_distribution_agrees_with_printed_tables() {
        assert!((normal_cdf(1.0) - 0.841_345).abs() < 1e-6);
        assert!((normal_cdf(-1.96) - 0.024_998).abs() < 1e-6);
        assert!((normal_quantile(0.975) - 1.959_964).abs() < 1e-5);
        assert!((normal_quantile(0.005) + 2.575_829).abs() < 1e-4);
    }

    #[test]
    fn the_ends_are_ends() {
        assert_eq!(student_two_sided(0.0, 4.0), 1.0);
        assert_eq!(student_two_sided(f64::INFINITY, 4.0), 0.0);
        assert_eq!(student_two_sided(f64::NAN, 4.0), 1.0);
        assert_eq!(fisher_upper(0.0, 3.0, 4.0), 1.0);
        assert_eq!(fisher_upper(f64::INFINITY, 3.0, 4.0), 0.0);
        assert!(student_two_sided(40.0, 4.0) < 1e-5);
    }
}
