//! Receipts of made-up runs, from trial records to the study.

mod apart;
mod made;
mod other_cpu_time;
mod together;
mod whole;

#[path = "../../../../../attribution/src/tests/profiles.rs"]
pub mod profiles;
