//! Errors in plans.

use super::Unfit;
use crate::arm::ArmError;
use crate::cell::LevelError;

/// A plan that cannot be carried out, with the reason.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// Not TOML, or a value of the wrong kind.
    #[error("the plan cannot be read: {0}")]
    Syntax(String),
    /// A key that means nothing.
    #[error("unknown key '{key}' {place}{hint} There are: {all}")]
    UnknownKey {
        /// The key as written.
        key: String,
        /// Its place.
        place: String,
        /// The nearest right one.
        hint: String,
        /// The right ones.
        all: String,
    },
    /// A level that its factor, or its cell, cannot take.
    #[error(transparent)]
    Level(#[from] LevelError),
    /// A value outside its limits.
    #[error("{key} = {value}: {reason}")]
    Value {
        /// The key, with its table.
        key: &'static str,
        /// The value as understood.
        value: String,
        /// The limit.
        reason: &'static str,
    },
    /// Arms that cannot be woven.
    #[error("the arms cannot be woven: {0}")]
    Unfit(Unfit),
    /// An arm that cannot be.
    #[error(transparent)]
    Arm(#[from] ArmError),
    /// Settings that nettoll does not make.
    #[error("{what}: {reason}")]
    Change {
        /// The settings, and who asks for them.
        what: String,
        /// Reason and remedy.
        reason: String,
    },
    /// Nothing to measure.
    #[error("the plan has no cells: add a [[cells]] table with at least a test and a size")]
    NoCells,
    /// More than anyone could measure.
    #[error("the levels cross to more than {0} cells: give fewer levels")]
    TooManyCells(usize),
}

impl PlanError {
    pub(super) fn syntax(error: toml::de::Error) -> Self {
        Self::Syntax(error.to_string().trim_end().to_owned())
    }
}
