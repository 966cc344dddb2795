//! A fleet in every form: one host is slow, one was never there.

use report::terminal::Style;

use crate::support::section;
use crate::support::studies::fleet;

#[test]
fn a_fleet_in_a_terminal_and_a_page() {
    let analysis = fleet(true);
    insta::assert_snapshot!("fleet_in_a_terminal", report::terminal::render(&analysis, Style::VERBOSE));
    let page = report::html::render(&analysis);
    insta::assert_snapshot!("fleet_in_a_page", section(&page, "fleet-0"));
    // The map of what differs comes first, and once.
    let first = section(&page, "fleet");
    assert!(first.find("<svg class=\"heat\"").unwrap() < first.find("differs from the others").unwrap(), "{first}");
    assert_eq!(page.matches("<svg class=\"heat\"").count(), analysis.fleet().unwrap().figures.len());
    assert!(section(&page, "fleet").contains("n3 (host) differs from the others"), "{}", section(&page, "fleet"));
}

#[test]
fn a_fleet_of_equals_names_nobody() {
    let text = report::terminal::render(&fleet(false), Style::VERBOSE);
    assert!(text.contains("No host, pair or direction differs by 5.0 % or more."), "{text}");
    assert!(text.starts_with("No host, pair or direction differs from the others by 5 % or more."), "{text}");
}

#[test]
fn every_host_and_every_direction_is_in_the_csv() {
    let csv = report::csv::render(&fleet(true));
    let rows = |words: &str| csv.lines().filter(|line| line.contains(words)).count();
    // Five hosts were there, in three roles and three figures; ten pairs met both ways.
    assert_eq!((rows(",host_n"), rows(",sender_n"), rows(",from_n")), (15, 15, 60), "{csv}");
    assert!(csv.lines().any(|line| line.contains("host_n3_goodput_bit_per_s_ratio,ratio,0.8") && line.contains("simulated")), "{csv}");
}
