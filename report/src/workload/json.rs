//! The whole comparison as JSON.

use analysis::workload::WorkloadStudy;
use serde::Serialize;

use super::From;
use crate::json::pretty;

#[derive(Serialize)]
struct Whole<'a> {
    runs: From<'a>,
    #[serde(flatten)]
    study: &'a WorkloadStudy,
}

/// The comparison, indented. A figure that is not a number is `null`.
pub fn render(study: &WorkloadStudy, runs: From) -> String {
    pretty(&Whole { runs, study })
}
