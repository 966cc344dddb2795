//! The whole analysis as JSON.

use literature::{ReferenceAnalysis, Study};
use serde_json::json;

use crate::json::pretty;

/// The analysis, indented. A figure that is not a number is `null`.
pub fn render(analysis: &ReferenceAnalysis) -> String {
    pretty(analysis)
}

/// The studies that there are.
pub fn list() -> String {
    let one = |study: Study| json!({ "name": study.name(), "title": study.title(), "source": study.source() });
    pretty(&Study::ALL.map(one))
}
