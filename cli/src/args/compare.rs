//! The flags of `nettoll compare`.

use std::path::PathBuf;

use clap::Args;

/// `nettoll compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The run compared with, and the runs that are held against it
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub runs: Vec<PathBuf>,
    /// A verdict needs a difference beyond this share
    #[arg(long, value_name = "SHARE", default_value_t = analysis::verdict::THRESHOLD, value_parser = share)]
    pub threshold: f64,
    /// Classify the samples of all receipts by the rules in this file
    #[arg(long, value_name = "FILE", help_heading = "Receipt")]
    pub rules: Option<PathBuf>,
    /// JSON on standard output, also for failures
    #[arg(short = 'J', long, help_heading = "Output")]
    pub json: bool,
    /// Markdown on standard output
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub markdown: bool,
    /// Write a page to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
}

fn share(word: &str) -> Result<f64, String> {
    let (number, factor) = word.strip_suffix('%').map_or((word, 1.0), |number| (number.trim_end(), 0.01));
    let share = number.parse::<f64>().map_err(|_| format!("'{word}' is not a share, such as 0.02 or 2%"))? * factor;
    if (0.0..=10.0).contains(&share) { Ok(share) } else { Err(format!("'{word}' is not between 0 and 10 (1000 %)")) }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_are_read_either_way() {
        assert_eq!((share("0.02"), share("2%"), share("0")), (Ok(0.02), Ok(0.02), Ok(0.0)));
        for bad in ["", "x", "-1", "NaN", "inf", "2000%"] {
            assert!(share(bad).is_err(), "{bad}");
        }
    }
}
