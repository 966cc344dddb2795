//! The statistics that everything else stands on. Each file is one method and
//! names its source; none knows what a message or a trial is.

pub mod binomial;
pub mod bootstrap;
pub mod change;
pub mod dip;
pub mod distribution;
pub mod holm;
pub mod median;
pub mod normal;
pub mod randomisation;
pub mod ranks;
pub mod trend;
