//! Fleets: which of many hosts, and which ways between them, differ from the others, from
//! trials between pairs.
//!
//! A trial's value is `m + s[sender] + r[receiver] + noise`, where values are logarithms of
//! something that is bad when large, so that effects are ratios. The model is a two-way
//! layout with a host's effect as sender and its effect as receiver (Scheffé, "The Analysis
//! of Variance", ch. 4; for pairs of one population Gelman and Hill's additive model of
//! dyads), fitted by Huber's M-estimate, so that single disturbed trials weigh little
//! ([`fit`]).
//!
//! An effect falls out when it exceeds what the largest of all hosts reaches by chance in
//! the same design. That limit is simulated: noise is drawn, the model is fitted again, and
//! the largest standardised effect is kept ([`judge`]). With three trials a host there is
//! no table for it, and a limit of so many standard deviations is wrong for small fleets,
//! whose median deviation of hosts says little.

mod design;
mod fit;
mod judge;
mod limits;
mod schedule;
#[cfg(test)]
mod tests;

pub use design::Design;
pub use fit::{Fit, fit};
pub use judge::{DirectionEffect, Effect, FleetEstimate, HostEffect, LinkEffect, Question, judge};
pub use limits::{Effort, Foreseen, foresee};
pub use schedule::{Round, USUAL_ROUNDS, all_rounds, rounds, usual_rounds};
