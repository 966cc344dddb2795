//! Verdicts: what they must be, and how often they are wrong.

mod coefficients;
mod rates;
mod selftest;
mod series;
mod whole;
