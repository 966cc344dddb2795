//! Endpoints in processes of their own: what is left of them when their host is
//! lost, what memory they need, and which system calls their traffic makes.
//!
//! Started again with an argument, this program is what is watched. A test that
//! this machine does not allow prints `SKIPPED: name: reason`.

// Clippy knows a test only by the usual harness.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod calls;
mod child;
mod flows;
mod lost_host;
mod memory;
mod ports;
mod refused;
mod stopped;
mod tracer;

#[path = "../support/mod.rs"]
mod support;

use std::process::ExitCode;

use testkit::Skip;
use testkit::claims::{self, Claims};

const ALL: Claims = &[
    ("an_endpoint_ends_soon_after_its_host_in_every_phase", lost_host::in_every_phase),
    ("an_endpoint_ends_soon_after_its_host_while_nobody_connects", lost_host::while_nobody_connects),
    ("an_endpoint_ends_soon_after_its_host_while_nobody_answers", lost_host::while_nobody_answers),
    ("an_endpoint_ends_soon_after_its_host_while_it_drains", lost_host::while_it_drains),
    ("an_endpoint_whose_host_is_killed_ends_though_its_pipes_stay_open", lost_host::though_pipes_stay_open),
    ("an_endpoint_in_real_time_is_bounded_by_the_kernel", lost_host::and_the_kernel_bounds_what_runs_in_real_time),
    ("a_thread_that_cannot_be_started_is_named_with_what_to_do", refused::threads),
    ("a_pipe_that_cannot_be_opened_is_named_with_what_to_do", refused::pipes),
    ("flows_end_with_their_connections", flows::end_with_their_connections),
    ("each_flow_has_its_socket_and_no_other", flows::have_a_socket_each),
    ("the_memory_of_an_endpoint_does_not_grow_with_its_messages", memory::does_not_grow),
    ("a_stop_of_either_end_shows_in_full_in_the_corrected_times", stopped::shows_in_full),
    ("a_trial_that_runs_out_of_ports_says_so", ports::run_out),
    ("a_stream_sender_makes_its_calls_and_no_other", calls::of_stream_senders),
    ("a_stream_receiver_makes_its_calls_and_no_other", calls::of_stream_receivers),
    ("a_requester_reads_the_clock_once_a_transaction", calls::of_requesters),
];

fn main() -> ExitCode {
    if let Some(kind) = std::env::var_os(child::KIND) {
        child::run(&kind.to_string_lossy());
        return ExitCode::SUCCESS;
    }
    claims::test(&[("", ALL)])
}
