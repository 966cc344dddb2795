//! Workloads: what a mix of sizes was foretold to cost, beside what it cost.

pub mod html;
pub mod json;
pub mod terminal;

mod words;

use serde::Serialize;

/// Where the figures are from.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct From<'a> {
    /// The run that measured single sizes.
    pub sizes: &'a str,
    /// The run that measured mixes; `None`: none was measured.
    pub mixes: Option<&'a str>,
}
