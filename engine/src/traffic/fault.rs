//! Paths that let the ends find each other and then carry nothing.

use std::io;

use model::control::Task;
use model::end::Counts;
use model::plan::TrialEnd;
use model::{Mix, Nanos, Protocol, Role};

/// TCP_RTO_MIN of the kernel (include/net/tcp.h).
const SHORTEST_STALL: Nanos = Nanos::from_millis(200);

/// Reason for which the counts are no figure: the other end has sent, and nothing came
/// of it. `announced` is what it says to have sent. Compared with each flow with
/// its `total` alone (`counts` the same), and against all of them together: one
/// flow may have had no CPU in a short window.
pub fn nothing_came(task: &Task, announced: Option<u64>, counts: &Counts, total: &Counts) -> Option<io::Error> {
    let stream = task.cell.test.is_stream();
    let (sent, came, came_in_window) = match (stream, task.role) {
        (true, Role::Receiver) => (announced?, total.bytes, counts.bytes),
        (false, Role::Sender) => (total.sent, total.received, if counts.sent == 0 { 1 } else { counts.received }),
        // A sender of a stream hears of it from the other end, and an answerer
        // cannot know what was asked.
        (true, Role::Sender) | (false, Role::Receiver) => return None,
    };
    // A schedule may have nothing in the window, and an arm of a woven trial no turn.
    let idles = task.cell.rate.is_some() || (task.woven.is_some() && stream && came >= sent.saturating_mul(smallest(task)));
    let tcp_stalled = task.cell.protocol() == Protocol::Tcp && !idles && came_in_window == 0 && may_tell(task.end);
    if sent == 0 || (came > 0 && !tcp_stalled) {
        return None;
    }
    let size = task.cell.size;
    let what = match (task.cell.protocol(), stream) {
        (Protocol::Tcp, true) => format!("the connection stands but no data arrives: of {sent} messages of {size} nothing came"),
        (Protocol::Tcp, false) => format!("the connection stands but no data arrives: {sent} requests of {size} were not answered"),
        (Protocol::Udp, true) => format!("of {sent} datagrams of {size} none arrived, though the cookie did"),
        (Protocol::Udp, false) => format!("of {sent} requests of {size} none was answered, though the cookie was"),
    };
    let part = if came > 0 { " in the measured part" } else { "" };
    let remedy = "an MTU black hole, or a firewall that drops data? Try messages of 64 B; if those come, lower the MTU of the link";
    Some(io::Error::other(format!("{what}{part}; {remedy}")))
}

/// Size of the smallest message.
fn smallest(task: &Task) -> u64 {
    let sizes = task.cell.mix.iter().flat_map(Mix::shares).map(|(size, _)| size);
    sizes.min().unwrap_or(task.cell.size.get())
}

/// Returns whether a measured part without anything tells of the path: in one as short as
/// TCP's own shortest wait before it sends again, the reader may just have had no
/// CPU on a busy machine.
fn may_tell(end: TrialEnd) -> bool {
    match end {
        TrialEnd::Length(length) => length >= SHORTEST_STALL,
        TrialEnd::Messages(_) => true,
    }
}

/// A request has not been answered in all patience.
pub(super) fn not_answered(total: &Counts) -> io::Error {
    let answered = total.received;
    io::Error::other(format!(
        "the connection stands but no data arrives: after {answered} answers none came any more; does the other end still read, or does the path drop data?"
    ))
}

/// The receiver has stopped reading.
pub(super) fn not_taken(queued: i64, limit: std::time::Duration) -> io::Error {
    io::Error::other(format!(
        "the other end took nothing more for {}, and {queued} B wait to be sent: has it stopped reading, or does the path drop data?",
        Nanos::from(limit)
    ))
}

#[cfg(test)]
mod tests {
    use super::nothing_came;
    use crate::testing::task;
    use model::control::Task;
    use model::end::Counts;
    use model::plan::TrialEnd;
    use model::woven::Seat;
    use model::{Mix, Nanos, OfferedRate, Role, Test};

    fn received(bytes: u64) -> Counts {
        Counts { bytes, received: bytes / 1_000, ..Counts::default() }
    }

    fn said(task: &Task, announced: Option<u64>, window: u64, total: u64) -> Option<String> {
        nothing_came(task, announced, &received(window), &received(total)).map(|error| error.to_string())
    }

    #[test]
    fn a_receiver_says_it_of_what_was_sent_and_did_not_come() {
        for test in [Test::TcpStream, Test::TcpMaerts, Test::UdpStream] {
            let task = task(Role::Receiver, test);
            assert!(said(&task, Some(9), 0, 0).is_some_and(|error| error.contains("MTU black hole")), "{test}");
            assert_eq!((said(&task, Some(0), 0, 0), said(&task, None, 0, 0)), (None, None), "{test}: nothing was sent");
            assert_eq!(said(&task, Some(9), 9_000, 9_000), None, "{test}");
        }
    }

    #[test]
    fn a_stream_that_stands_still_after_its_first_segments_is_one_too() {
        let mut tcp = task(Role::Receiver, Test::TcpStream);
        assert_eq!(said(&tcp, Some(9), 0, 1_000), None, "a millisecond without a CPU");
        tcp.end = TrialEnd::Length(Nanos::from_millis(200));
        assert!(said(&tcp, Some(9), 0, 1_000).is_some_and(|error| error.contains("in the measured part")));
        tcp.cell.rate = Some(OfferedRate::Messages(1));
        assert_eq!(said(&tcp, Some(9), 0, 1_000), None, "a slow schedule has nothing in the window");
        assert_eq!(said(&task(Role::Receiver, Test::UdpStream), Some(9), 0, 1_000), None, "datagrams may be lost");
    }

    #[test]
    fn an_arm_that_had_no_turn_is_no_fault_of_the_path() {
        let mut tcp = Task { end: TrialEnd::Length(Nanos::from_millis(200)), ..task(Role::Receiver, Test::TcpStream) };
        assert!(said(&tcp, Some(9), 0, 9_000).is_some(), "in turn it has the whole window");
        tcp.woven = Some(Seat { board: 0, number: 0 });
        assert_eq!(said(&tcp, Some(9), 0, 9_000), None);
        assert!(said(&tcp, Some(9), 0, 8_000).is_some_and(|error| error.contains("in the measured part")), "a message is missing");
        tcp.cell.mix = Some(Mix::new("x", 1, &[(500, 0.9), (9_000, 0.1)]).unwrap());
        assert_eq!((said(&tcp, Some(9), 0, 5_000), said(&tcp, Some(9), 0, 4_000).is_some()), (None, true));
    }

    #[test]
    fn a_requester_says_it_of_its_requests() {
        let asked = |sent, received| Counts { sent, received, ..Counts::default() };
        for test in [Test::TcpRr, Test::UdpRr] {
            let task = task(Role::Sender, test);
            assert!(nothing_came(&task, None, &asked(3, 0), &asked(5, 0)).is_some(), "{test}");
            assert!(nothing_came(&task, None, &asked(0, 0), &asked(5, 5)).is_none(), "{test}");
            assert!(nothing_came(&task, None, &asked(0, 0), &asked(0, 0)).is_none(), "{test}");
        }
    }
}
