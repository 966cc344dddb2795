//! Doubts about an end that is a user's own program: what it says, against what the kernel
//! and the other end counted.

use model::end::EndReport;
use model::trial::Measured;
use model::{Cell, Protocol, Role, Warning};

/// The claims that nothing confirms, and what the programs did against the contract.
pub fn warnings(measured: &Measured, cell: &Cell) -> Vec<Warning> {
    let mut found = Vec::new();
    for end in [&measured.sender, &measured.receiver] {
        let Some(external) = &end.external else { continue };
        let counted = match cell.protocol() {
            // Nothing of the kernel's counts the datagrams of another stack: the balance has to do.
            Protocol::Udp if cell.is_apart() => None,
            Protocol::Udp => datagrams(measured, end),
            Protocol::Tcp => bytes(measured, end),
        };
        found.extend(counted.map(|(says, counted)| Warning::Claim { role: end.role, says, counted }));
        found.extend(external.faults.iter().map(|did| Warning::Program { role: end.role, did: did.clone() }));
    }
    found
}

/// The kernel counts each datagram that a call hands over or takes. Only on isolated hosts:
/// elsewhere the counters are everybody's.
fn datagrams(measured: &Measured, end: &EndReport) -> Option<(String, String)> {
    if !measured.isolated {
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

/// Of a stream both ends count the bytes from the first to the last.
fn bytes(measured: &Measured, end: &EndReport) -> Option<(String, String)> {
    let other = if end.role == Role::Sender { &measured.receiver } else { &measured.sender };
    let (claimed, counted) = (end.total.bytes, other.total.bytes);
    let told = || (format!("{claimed} B"), format!("the {} counted {counted} B", other.role));
    (claimed != counted).then(told)
}

#[cfg(test)]
mod tests {
    use model::end::{Counts, ExternalEnd, Window};
    use model::trial::Measured;
    use model::{Bytes, Cell, Role, Test, Warning};
    use testkit::made;

    use super::warnings;

    fn trial(test: Test, change: impl Fn(&mut Measured)) -> Vec<String> {
        let cell = Cell::plain(test, Bytes::new(100));
        let counts = Counts { messages: 1_000, bytes: 100_000, sent: 1_000, received: 1_000, ..Counts::default() };
        let end = |role| made::end(role, Window::default(), counts);
        let mut measured = made::measured(end(Role::Sender), end(Role::Receiver));
        measured.sender_host.udp.out_datagrams = 1_000;
        measured.receiver_host.udp.in_datagrams = 1_000;
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
    fn faults_are_told_as_they_are() {
        let faults = |measured: &mut Measured| measured.sender.external.as_mut().unwrap().faults.push("left one running".to_owned());
        assert!(trial(Test::UdpStream, faults)[0].contains("the sender's program left one running"));
    }
}
