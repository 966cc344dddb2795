//! What every output looks like, compared with files in `snapshots`.

use crate::support::{body, disturbed, empty, factors, sample, section, small, spoilt};
use model::check::{Area, Check, Need};
use report::terminal::Style;

fn checks() -> Vec<Check> {
    vec![
        Check::present(Area::Cpu, "processors", Need::Required, "2 online, AMD EPYC 9B14"),
        Check::present(Area::Cpu, "binding", Need::Useful, ""),
        Check::present(Area::Clock, "monotonic clock", Need::Required, "1 ns, kvm-clock"),
        Check::absent(
            Area::Namespaces,
            "network namespace",
            Need::Useful,
            "unshare(CLONE_NEWNET): Operation not permitted (EPERM)",
            "Run as root, or allow unprivileged user namespaces: sysctl -w kernel.unprivileged_userns_clone=1",
        ),
        Check::absent(
            Area::Profiling,
            "perf events",
            Need::Optional,
            "perf_event_open: Permission denied (EACCES)",
            "sysctl -w kernel.perf_event_paranoid=1",
        ),
    ]
}

#[test]
fn terminal() {
    insta::assert_snapshot!(report::terminal::render(&sample(), Style::VERBOSE));
}

#[test]
fn terminal_of_140_columns() {
    insta::assert_snapshot!(report::terminal::render(&sample(), Style { width: 140, ..Style::VERBOSE }));
}

#[test]
fn terminal_in_colour() {
    let text = report::terminal::render(&sample(), Style { colour: true, ..Style::VERBOSE });
    insta::assert_snapshot!(text.replace('\u{1b}', "ESC"));
}

#[test]
fn terminal_of_nothing() {
    insta::assert_snapshot!(report::terminal::render(&empty(), Style::VERBOSE));
}

#[test]
fn terminal_of_spoilt_figures() {
    insta::assert_snapshot!(report::terminal::render(&spoilt(), Style::VERBOSE));
}

#[test]
fn terminal_of_rates_flows_and_both_ways() {
    insta::assert_snapshot!(report::terminal::render(&factors(), Style::VERBOSE));
}

#[test]
fn tables_of_rates_flows_and_both_ways() {
    insta::assert_snapshot!(section(&report::html::render(&factors()), "tables"));
}

#[test]
fn times_of_each_kind_have_rows_of_their_own_in_csv() {
    let text = report::csv::render(&factors());
    for name in ["merged_round_trip_p99_ns", "merged_uncorrected_p99_ns", "merged_lateness_p99_9_ns", "merged_beyond_least_messages"] {
        assert!(text.contains(name), "{name}");
    }
}

#[test]
fn a_disturbed_run_says_so_and_is_not_called_invalid() {
    let text = report::terminal::render(&disturbed(), Style::VERBOSE);
    assert!(text.contains("CPUs were shared in 246 of 246 trials"), "{text}");
    assert!(!report::terminal::render(&sample(), Style::VERBOSE).contains("CPUs were shared"));
    assert!(text.contains("cannot show whether exchanging the hosts' roles matters"));
}

#[test]
fn page() {
    insta::assert_snapshot!(body(&report::html::render(&small())));
}

/// One drawing, mark by mark.
#[test]
fn chart() {
    let page = report::html::render(&small());
    let start = page.find("<div class=\"plot\" id=\"chart-messages\"").expect("the chart");
    let end = start + page[start..].find("</svg>").expect("its end");
    insta::assert_snapshot!(page[start..end].replace("><", ">\n<"));
}

#[test]
fn csv() {
    insta::assert_snapshot!(report::csv::render(&small()));
}

#[test]
fn json() {
    insta::assert_snapshot!(report::json::render(&small()));
}

#[test]
fn failure_as_json() {
    insta::assert_snapshot!(report::json::error("misuse", "'0' is not a size: messages have at least 1 byte"));
}

#[test]
fn doctor() {
    insta::assert_snapshot!(report::terminal::document(&report::doctor::document(&checks()), Style::VERBOSE));
}

#[test]
fn doctor_when_quick_cannot_run() {
    let mut checks = checks();
    checks.push(Check::absent(Area::Sockets, "UDP", Need::Required, "socket(AF_INET, SOCK_DGRAM): EACCES", "Leave the sandbox."));
    insta::assert_snapshot!(report::terminal::document(&report::doctor::document(&checks), Style::VERBOSE));
}
