//! Doubts about an end that is a user's own program: what it says, against what the kernel
//! and the other end counted.

use model::end::EndReport;
use model::trial::Measured;
use model::{Cell, Family, Protocol, Role, Warning};

use crate::conservation;

/// The share of the window by which a program's CPU time may be wrong without a doubt.
const MOST_CPU_ERROR: f64 = 0.01;

/// The most bytes of headers of a frame, with an Ethernet's, a VLAN's, IPv6's and a fragment's; no frame
/// of the link's own (ARP, neighbour discovery) is longer.
const MOST_HEADERS: u64 = 100;

/// The claims that nothing confirms, and the programs' breaches of the contract.
pub fn warnings(measured: &Measured, cell: &Cell) -> Vec<Warning> {
    let mut found = Vec::new();
    for end in [&measured.sender, &measured.receiver] {
        let Some(external) = &end.external else { continue };
        let counted = match cell.protocol() {
            Protocol::Udp => datagrams(measured, cell, end).or_else(|| lengths(measured, cell, end)),
            Protocol::Tcp => bytes(measured, end).or_else(|| lengths(measured, cell, end)),
        };
        found.extend(counted.map(|(says, counted)| Warning::Claim { role: end.role, says, counted }));
        found.extend(external.faults.iter().map(|did| Warning::Program { role: end.role, did: did.clone() }));
        let share = external.cpu_error.get() as f64 / end.window.length().get().max(1) as f64;
        let error = external.cpu_error;
        found.extend((share > MOST_CPU_ERROR).then_some(Warning::OutsideClock { role: end.role, error, share }));
    }
    found
}

/// The kernel counts each datagram that a call hands over or takes. Only on isolated hosts:
/// elsewhere the counters are everybody's. None counts the datagrams of another stack: the balance has to do.
fn datagrams(measured: &Measured, cell: &Cell, end: &EndReport) -> Option<(String, String)> {
    if !measured.isolated || cell.is_apart() {
        return None;
    }
    let (claimed, counted, name) = match end.role {
        // What a full queue dropped was handed over all the same.
        Role::Sender => {
            let udp = &measured.sender_host.udp;
            let within = udp.out_datagrams..=udp.out_datagrams.saturating_add(udp.sndbuf_errors);
            let counted = if within.contains(&end.total.sent) { end.total.sent } else { udp.out_datagrams };
            (end.total.sent, counted, "OutDatagrams")
        }
        Role::Receiver => (end.total.received, measured.receiver_host.udp.in_datagrams, "InDatagrams"),
    };
    let told = || (format!("{claimed} datagrams"), format!("its host's kernel counted {counted} ({name})"));
    (claimed != counted).then(told)
}

/// Messages have the length that the program claims: by the bytes that nettoll's own end got, and by
/// those that the link carried. Those of a byte stream are compared by [`bytes`].
fn lengths(measured: &Measured, cell: &Cell, end: &EndReport) -> Option<(String, String)> {
    if cell.test.is_stream() && cell.protocol() == Protocol::Tcp {
        return None;
    }
    let (here, other, there) = match end.role {
        Role::Sender => (&measured.sender_host, &measured.receiver, &measured.receiver_host),
        Role::Receiver => (&measured.receiver_host, &measured.sender, &measured.sender_host),
    };
    let (size, sent, arrived) = (cell.size.get(), end.total.sent, other.total.received);
    let claim = |counted: String| Some((format!("each of its messages has {size} B"), counted));
    if other.external.is_none() {
        // Of a datagram a read takes no more than it asks for.
        let (whole, own) = (size.min(cell.read_size.get()), other.total.sent.saturating_mul(size));
        let got = other.total.bytes.saturating_sub(own);
        if got < arrived.saturating_mul(whole) {
            return claim(format!("the {} got {got} B in the {arrived} that arrived", other.role));
        }
    }
    if sent == 0 || !measured.isolated || cell.is_apart() {
        return None;
    }
    let datagrams = cell.protocol() == Protocol::Udp;
    // The kernel counts those that its queue dropped as well, and the other program's count may be wrong.
    let arrived = if datagrams { conservation::arrived(&there.udp) } else { arrived };
    if there.link.rx_bytes < arrived.saturating_mul(size.saturating_add(least_headers(cell))) {
        return claim(format!("the link carried {} B, headers included, for the {arrived} that arrived", there.link.rx_bytes));
    }
    // Bulk flows and what TCP sends again are carried as well.
    let most = sent.saturating_mul(size).saturating_add(here.link.tx_packets.saturating_mul(MOST_HEADERS));
    if datagrams && measured.conditions.is_none() && here.link.tx_bytes > most {
        return claim(format!("the link carried {} B, headers included, for the {sent} that it sent", here.link.tx_bytes));
    }
    None
}

/// Bytes of the headers that each message has at least, without the link's own: not every device counts those.
const fn least_headers(cell: &Cell) -> u64 {
    let ip = match cell.family {
        Family::V4 => 20,
        Family::V6 => 40,
    };
    ip + match cell.protocol() {
        Protocol::Udp => 8,
        Protocol::Tcp => 20,
    }
}

/// Of a stream both ends count the bytes from the first to the last.
fn bytes(measured: &Measured, end: &EndReport) -> Option<(String, String)> {
    let other = measured.end(end.role.other());
    let (claimed, counted) = (end.total.bytes, other.total.bytes);
    let told = || (format!("{claimed} B"), format!("the {} counted {counted} B", other.role));
    (claimed != counted).then(told)
}

#[cfg(test)]
mod tests {
    use model::end::{Counts, ExternalEnd, Window};
    use model::trial::Measured;
    use model::{Bytes, Cell, Nanos, Role, Test, Warning};
    use testkit::made;

    use super::warnings;

    fn trial(test: Test, change: impl Fn(&mut Measured)) -> Vec<String> {
        let cell = Cell::plain(test, Bytes::new(100));
        let counts = Counts { messages: 1_000, bytes: 100_000, sent: 1_000, received: 1_000, ..Counts::default() };
        let end = |role| made::end(role, Window::default(), counts);
        let mut measured = made::measured(end(Role::Sender), end(Role::Receiver));
        for (end, host) in [(&mut measured.sender, &mut measured.sender_host), (&mut measured.receiver, &mut measured.receiver_host)] {
            end.window.end = Nanos::from_millis(200);
            if test.is_stream() {
                let one_way = if end.role == Role::Sender { &mut end.total.received } else { &mut end.total.sent };
                *one_way = 0;
                continue;
            }
            // A transaction is a message each way.
            (end.total.received, end.total.bytes) = (end.total.sent, 2 * end.total.bytes);
            (host.udp.in_datagrams, host.udp.out_datagrams) = (1_000, 1_000);
            (host.link.tx_packets, host.link.tx_bytes, host.link.rx_bytes) = (1_000, 142_000, 142_000);
        }
        measured.sender_host.udp.out_datagrams = 1_000;
        measured.receiver_host.udp.in_datagrams = 1_000;
        (measured.sender_host.link.tx_packets, measured.sender_host.link.tx_bytes) = (1_000, 142_000);
        measured.receiver_host.link.rx_bytes = 142_000;
        measured.sender.external = Some(Box::new(ExternalEnd { command: "exec:x".to_owned(), processes: 1, ..ExternalEnd::default() }));
        change(&mut measured);
        warnings(&measured, &cell).iter().map(Warning::to_string).collect()
    }

    #[test]
    fn what_the_kernel_confirms_is_no_doubt() {
        assert!(trial(Test::UdpStream, |_| {}).is_empty() && trial(Test::TcpStream, |_| {}).is_empty());
        let full = |measured: &mut Measured| (measured.sender_host.udp.out_datagrams, measured.sender_host.udp.sndbuf_errors) = (990, 10);
        assert!(trial(Test::UdpStream, full).is_empty(), "its queue dropped them");
    }

    #[test]
    fn a_claim_is_told_with_both_counts() {
        let twice = trial(Test::UdpStream, |measured| measured.sender.total.sent = 2_000);
        assert!(twice[0].contains("says 2000 datagrams") && twice[0].contains("counted 1000 (OutDatagrams)"), "{twice:?}");
        let more = trial(Test::TcpStream, |measured| measured.sender.total.bytes = 200_000);
        assert!(more[0].contains("says 200000 B") && more[0].contains("receiver counted 100000 B"), "{more:?}");
        let elsewhere = |measured: &mut Measured| (measured.isolated, measured.sender.total.sent) = (false, 2_000);
        assert!(trial(Test::UdpStream, elsewhere).is_empty(), "the counters are everybody's");
    }

    #[test]
    fn half_a_datagram_is_no_whole_one() {
        let short = |measured: &mut Measured| (measured.receiver.total.bytes, measured.receiver.total.short) = (50_000, 1_000);
        let [claim] = &trial(Test::UdpStream, short)[..] else { panic!("one claim") };
        assert!(claim.contains("each of its messages has 100 B") && claim.contains("the receiver got 50000 B in the 1000"), "{claim}");
        let both = |link_bytes: u64| {
            move |measured: &mut Measured| {
                measured.receiver.external = measured.sender.external.clone();
                (measured.sender_host.link.tx_bytes, measured.receiver_host.link.rx_bytes) = (link_bytes, link_bytes);
            }
        };
        let [claim] = &trial(Test::UdpStream, both(92_000))[..] else { panic!("one claim") };
        assert!(claim.contains("the sender's program says") && claim.contains("the link carried 92000 B"), "{claim}");
        let [claim] = &trial(Test::UdpStream, both(242_000))[..] else { panic!("twice as long: one claim") };
        assert!(claim.contains("for the 1000 that it sent"), "{claim}");
        assert!(trial(Test::UdpStream, both(142_000)).is_empty());
        // A full queue at the receiver, past the link.
        let full = |measured: &mut Measured| {
            both(92_000)(measured);
            let udp = &mut measured.receiver_host.udp;
            (udp.in_datagrams, udp.in_errors, udp.rcvbuf_errors, measured.receiver.total.received) = (100, 900, 900, 100);
        };
        assert!(trial(Test::UdpStream, full)[0].contains("the link carried 92000 B, headers included, for the 1000 that arrived"));
        // Some were dropped, and their bytes with them.
        let lossy = |measured: &mut Measured| {
            (measured.receiver.total.received, measured.receiver.total.bytes) = (10, 1_000);
            (measured.receiver_host.udp.in_datagrams, measured.receiver_host.link.rx_bytes) = (10, 1_420);
        };
        assert!(trial(Test::UdpStream, lossy).is_empty());
    }

    #[test]
    fn half_a_request_or_an_answer_is_no_whole_one() {
        for test in [Test::UdpRr, Test::TcpRr] {
            assert!(trial(test, |_| {}).is_empty(), "{test}");
        }
        let asks = |measured: &mut Measured| measured.receiver.total.bytes = 150_000;
        assert!(trial(Test::UdpRr, asks)[0].contains("the receiver got 50000 B in the 1000"));
        let answers = |measured: &mut Measured| {
            (measured.receiver.external, measured.sender.external) = (measured.sender.external.take(), None);
            measured.sender.total.bytes = 150_000;
        };
        assert!(trial(Test::UdpRr, answers)[0].contains("the receiver's program says each of its messages has 100 B"));
        let both = |measured: &mut Measured| {
            measured.receiver.external = measured.sender.external.clone();
            measured.sender_host.link.rx_bytes = 92_000;
        };
        let [claim] = &trial(Test::TcpRr, both)[..] else { panic!("one claim") };
        assert!(claim.contains("the receiver's program says"), "{claim}");
    }

    /// The machine's noise is not the program's doing.
    #[test]
    fn a_clock_read_late_is_no_fault_of_the_program() {
        let late = |measured: &mut Measured| measured.sender.external.as_mut().unwrap().cpu_error = Nanos::from_millis(3);
        let [doubt] = &trial(Test::UdpStream, late)[..] else { panic!("one doubt") };
        assert!(doubt.contains("with an error of at most 3 ms, 1.5 % of the measured time"), "{doubt}");
    }

    #[test]
    fn faults_are_told_as_they_are() {
        let faults = |measured: &mut Measured| measured.sender.external.as_mut().unwrap().faults.push("left one running".to_owned());
        assert!(trial(Test::UdpStream, faults)[0].contains("the sender's program left one running"));
    }
}
