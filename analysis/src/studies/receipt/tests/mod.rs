//! Receipts of made-up runs, from trial records to the study.

mod apart;
mod beside;
mod made;
mod together;
mod whole;

#[path = "../../../../../attribution/src/tests/profiles.rs"]
pub mod profiles;
