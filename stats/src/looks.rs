//! The share of an error that each look at growing data may spend, so that all looks together
//! keep to it.
//!
//! A test that is repeated when it has shown nothing, with more data each time, errs more often than it
//! states: five looks at 5 % each err in 14 %. Here the first look spends four fifths of the error, and each
//! further one half of what is left. The shares of any number of looks sum to less than 1, and the probability of
//! any error to less than the error, whatever the looks have in common (Boole's inequality); how many there will
//! be need not be known beforehand (Slud and Wei 1982; Lan and DeMets 1983, "Discrete sequential
//! boundaries for clinical trials").

/// The share of the error that the first look spends.
const FIRST: f64 = 0.8;

/// The share of the error that a look spends, the first being 1; 1 of a test that is not repeated, `look` 0.
pub fn share(look: u32) -> f64 {
    match look {
        0 => 1.0,
        1 => FIRST,
        further => (1.0 - FIRST) * 0.5_f64.powi(further.saturating_sub(1).min(64) as i32),
    }
}

#[cfg(test)]
mod tests {
    use super::share;
    use crate::noise::{generator, normal};
    use crate::ranks::Nulls;

    #[test]
    fn all_looks_together_spend_no_more_than_the_error() {
        let sum: f64 = (1..200).map(share).sum();
        assert!((0.999..=1.0 + 1e-12).contains(&sum), "{sum}");
        assert_eq!((share(0), share(1)), (1.0, 0.8));
        assert!((share(2) - 0.1).abs() < 1e-12 && (share(3) - 0.05).abs() < 1e-12);
    }

    /// Studies without a difference that go on while nothing is shown: 12 blocks, then twice as many each time,
    /// pooled. With the shares at most 5 % ever show one; without them clearly more do.
    #[test]
    fn looks_that_count_keep_the_error_and_looks_that_do_not_exceed_it() {
        const STUDIES: usize = 2_000;
        const LOOKS: u32 = 4;
        let (mut random, mut nulls) = (generator(34), Nulls::default());
        let [mut counted, mut naive] = [0, 0];
        for _ in 0..STUDIES {
            let mut ratios: Vec<f64> = Vec::new();
            let [mut by_share, mut by_error] = [false; 2];
            for look in 1..=LOOKS {
                ratios.resize_with(12 << (look - 1), || normal(&mut random));
                let p = nulls.paired(&ratios).expect("values").p(0.0);
                by_share |= p <= 0.05 * share(look);
                by_error |= p <= 0.05;
            }
            counted += usize::from(by_share);
            naive += usize::from(by_error);
        }
        let [counted, naive] = [counted, naive].map(|shown| shown as f64 / STUDIES as f64);
        eprintln!("{LOOKS} looks: a difference shown in {counted:.3} of studies without one; at 5 % each look {naive:.3}");
        // 5 %; three standard deviations of a share of 2,000 are 1.5 %.
        assert!(counted <= 0.05 + 0.005 && naive >= 0.09, "{counted} {naive}");
    }
}
