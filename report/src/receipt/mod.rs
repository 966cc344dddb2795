//! The receipts of a run: where the time of a message goes, as text, as a part
//! of the page, as flame graphs.
//!
//! ```text
//! ReceiptStudy -> pick (which sizes, which rows) -> words, figure (how it is said) -> terminal | html, chart
//! folded stacks -> Flames -> html
//! ```

mod figure;
mod pick;
mod words;

pub(crate) mod chart;
pub(crate) mod html;
pub(crate) mod terminal;

mod flame;
pub(crate) mod held;
mod rules;
mod tables;

pub use flame::Flames;
pub use rules::render as shares_of_rules;
pub(crate) use words::red;
