//! Samples, counts and waits of real processes on a real kernel. Started again
//! with an argument, this program is what is watched.
//!
//! A test that this machine does not allow prints `SKIPPED: name: reason`.
//! Only identities and ratios are asserted; times are printed.

// Clippy knows a test only by the usual harness.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod child;
mod counting;
mod naming;
mod observed;
mod outside;
mod owning;
mod refusing;
mod sampling;
mod waiting;

use std::process::ExitCode;

use testkit::Skip;
use testkit::claims::{self, Claims};

const ALL: Claims = &[
    ("samples_times_period_is_the_time_of_a_spinning_caller", sampling::of_a_spinning_caller),
    ("samples_times_period_is_the_time_of_a_spinning_sender", sampling::of_a_spinning_sender),
    ("a_window_cuts_samples_in_proportion", sampling::within_a_window),
    ("of_a_whole_cpu_the_samples_of_one_process_are_its_time", sampling::of_a_whole_cpu),
    ("while_it_is_off_a_sampler_records_nothing", sampling::while_it_is_off),
    ("a_classic_filter_has_a_name_of_its_own", sampling::of_classic_filters),
    ("a_program_that_comes_and_goes_has_its_name", sampling::of_a_program_that_comes_and_goes),
    ("others_are_told_from_idle_time_in_a_namespace_of_ids", outside::in_a_namespace_of_ids),
    ("a_full_ring_says_what_it_lost", sampling::with_a_full_ring),
    ("a_process_that_dies_leaves_the_samples_of_its_life", sampling::of_a_process_that_dies),
    ("a_sampler_costs_a_sender_little", sampling::at_what_cost),
    ("ksoftirqd_can_be_attached_by_its_id", sampling::of_ksoftirqd),
    ("sends_are_counted_exactly_by_bpf", counting::by_bpf),
    ("sends_are_counted_exactly_in_a_namespace_of_ids", counting::in_a_namespace_of_ids),
    ("function_entries_count_or_are_refused_with_an_errno", counting::at_function_entries),
    ("waits_agree_with_the_schedulers_own_statistics", waiting::against_schedstat),
    ("a_spinning_process_waits_for_nothing_it_slept_for", waiting::of_a_spinning_process),
    ("a_socket_is_found_with_its_process_descriptor_and_inode", owning::of_a_socket),
    ("each_of_ten_thousand_sockets_is_found_once", owning::of_many_sockets),
    ("samples_name_the_sockets_that_their_work_is_for", owning::of_samples),
    ("messages_of_a_process_are_counted_exactly", owning::of_messages),
    ("symbols_are_found_by_a_debug_link", naming::by_a_debug_link),
    ("an_ordinary_user_gets_refusals_with_remedies", refusing::to_an_ordinary_user),
];

fn main() -> ExitCode {
    if let Some(kind) = std::env::var_os(child::KIND) {
        child::run(&kind.to_string_lossy());
        return ExitCode::SUCCESS;
    }
    // Claims that measure must not disturb each other.
    claims::test_in_turn(&[("", ALL)])
}
