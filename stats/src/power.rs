//! The true difference that a test finds most of the time.

use crate::distribution::{normal_quantile, student_critical};

/// A difference is one that a test can show when it is found four times of five.
pub const POWER: f64 = 0.8;

/// The true shift that is significant at `confidence`, and estimated beyond `least`, in
/// four studies of five, where estimates have this standard error with so many degrees of
/// freedom.
///
/// By the normal approximation to the non-central t (Johnson and Welch 1940): the
/// critical value, and beyond it what four of five lie above.
pub fn found_in_four_of_five(error: f64, confidence: f64, freedom: f64, least: f64) -> f64 {
    let critical = student_critical(confidence, freedom);
    let beyond = normal_quantile(POWER) * (1.0 + critical * critical / (2.0 * freedom)).sqrt();
    ((critical + beyond) * error).max(least + normal_quantile(POWER) * error)
}

#[cfg(test)]
mod tests {
    use super::found_in_four_of_five;
    use crate::noise::{generator, normal};
    use crate::welch::Welch;

    /// A shift of that size is significant in four of five studies of two sets of ten.
    #[test]
    fn what_is_promised_is_found() {
        let mut random = generator(23);
        let shift = found_in_four_of_five((2.0_f64 / 10.0).sqrt(), 0.95, 18.0, 0.0);
        let mut draw = |by: f64| (0..10).map(|_| by + normal(&mut random)).collect::<Vec<f64>>();
        let found = (0..4_000).filter(|_| Welch::new(&draw(0.0), &draw(shift)).unwrap().p(0.0) <= 0.05).count() as f64 / 4_000.0;
        assert!((found - 0.8).abs() < 0.03, "{found}");
        // Where it has to be estimated beyond something, half of the studies miss that itself.
        assert!(found_in_four_of_five(0.01, 0.95, 18.0, 1.0) > 1.008);
    }
}
