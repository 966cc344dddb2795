//! Every api that this kernel allows, over loopback.

use std::collections::BTreeSet;
use std::sync::Mutex;

use model::plan::{Level, TrialEnd};
use model::{Api, Bytes, Cell, Family, Nanos, Over, Receive, Test};

use crate::support::{Reports, cell, trial};

const TESTS: [Test; 3] = [Test::UdpStream, Test::TcpStream, Test::TcpMaerts];

/// Returns whether the machine's kernel has what carries the messages of an api.
pub fn is_here(api: Api) -> bool {
    let refused = matches!(api, Api::Sctp | Api::Ktls | Api::Vsock).then(|| engine::ways::try_sending(api).err()).flatten();
    // Many tests ask: it is said once.
    static SAID: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    if let Some(refused) = refused.as_ref().filter(|_| SAID.lock().unwrap().insert(api.name())) {
        println!("SKIPPED: {api}: {refused}");
    }
    refused.is_none()
}

/// Each api with each stream that it carries. Packets with heads of their own take a
/// privilege, and most of them a link: the tool's tests send them between hosts.
fn streams() -> impl Iterator<Item = (Api, Test)> {
    Api::ALL
        .iter()
        .filter(|api| api.over() != Over::Packets && is_here(**api))
        .flat_map(|api| TESTS.into_iter().filter(|test| api.carries(*test)).map(|test| (*api, test)))
}

#[test]
fn messages_of_every_size_are_those_that_were_sent() {
    for (api, test) in streams() {
        for (family, size) in
            [(Family::V4, 1), (Family::V4, 64), (Family::V6, 1_024), (Family::V4, 1_460), (Family::V6, 8_192), (Family::V4, 16_384)]
        {
            let what = format!("{test} over {api}, {size} B");
            let cell = cell(test, family, size).with(&[Level::Api(api.into())]).unwrap();
            let Reports { sender, receiver, .. } = trial(&cell, TrialEnd::Length(Nanos::from_millis(20)), Nanos::from_millis(5));
            let (sent, came) = (sender.total, receiver.total);
            assert_eq!((sent.errors, came.errors), (0, 0), "{what}: {sent:?} {came:?}");
            assert!(came.messages > 0, "{what}: {sent:?} {came:?} {:?}", receiver);
            assert_eq!(sent.bytes, sent.messages * size, "{what}: {sent:?}");
            match test {
                Test::UdpStream if api.over().is_local() => assert_eq!((came.messages, came.bytes), (sent.messages, sent.bytes), "{what}"),
                Test::UdpStream => {
                    assert!(came.messages <= sent.messages, "{what}");
                    assert_eq!(came.bytes, came.messages * size, "{what}: each is whole, {came:?}");
                }
                _ => assert_eq!(came.bytes, sent.bytes, "{what}"),
            }
            if api.batch(test).is_some() {
                assert!(sent.calls <= sent.messages + sent.short, "{what}: {sent:?}");
            }
        }
    }
}

#[test]
fn every_way_of_receiving_takes_what_was_sent() {
    for receive in Receive::ALL.iter().copied().filter(|receive| !receive.is_below_udp()) {
        for test in TESTS.into_iter().filter(|test| receive.carries(*test)) {
            for (family, size) in [(Family::V4, 1), (Family::V6, 1_024), (Family::V4, 16_384)] {
                let what = format!("{test} received by {receive}, {size} B");
                let Some(api) = Api::ALL.iter().find(|api| receive.takes_from(api.over()) && api.carries(test)) else { continue };
                let cell = cell(test, family, size).with(&[Level::Api((*api).into()), Level::Receive(receive)]).unwrap();
                let Reports { sender, receiver, .. } = trial(&cell, TrialEnd::Length(Nanos::from_millis(20)), Nanos::from_millis(5));
                let (sent, came) = (sender.total, receiver.total);
                assert_eq!((sent.errors, came.errors), (0, 0), "{what}: {sent:?} {came:?}");
                assert!(came.messages > 0 && sent.bytes == sent.messages * size, "{what}: {sent:?} {came:?}");
                match test {
                    Test::UdpStream => assert_eq!(came.bytes, came.messages * size, "{what}: each is whole, {came:?}"),
                    _ => assert_eq!(came.bytes, sent.bytes, "{what}"),
                }
            }
        }
    }
}

#[test]
fn what_a_call_asks_for_is_what_it_waits_for() {
    const READ: u64 = 65_536;
    for receive in [Receive::Waitall, Receive::Lowat] {
        let cell = Cell { receive: Some(receive), read_size: Bytes::new(READ), ..cell(Test::TcpStream, Family::V4, 1_000) };
        let Reports { receiver, .. } = trial(&cell, TrialEnd::Messages(4_000), Nanos::default());
        // Beyond the first byte and the last read, each is as long as it asked for; a machine
        // that starves an end lets a call's time limit pass now and then.
        let came = receiver.total;
        assert!(came.calls <= came.bytes / READ + 10, "{receive}: {came:?}");
    }
}

#[test]
fn a_request_is_answered_whichever_way_it_goes() {
    for api in Api::ALL.iter().copied().filter(|api| api.over() != Over::Packets && is_here(*api)) {
        for receive in Receive::ALL.iter().copied() {
            for test in [Test::TcpRr, Test::UdpRr].into_iter().filter(|test| api.carries(*test)) {
                let Ok(cell) = cell(test, Family::V4, 100).with(&[Level::Api(api.into()), Level::Receive(receive)]) else { continue };
                let Reports { sender, .. } = trial(&cell, TrialEnd::Messages(50), Nanos::from_millis(5));
                let answered = sender.counts.messages + sender.counts.lost;
                assert_eq!((answered, sender.counts.errors), (50, 0), "{test} over {api}, received by {receive}");
            }
        }
    }
}

#[test]
fn packets_of_many_datagrams_are_received_one_by_one_where_nobody_joins_them() {
    let cell = Cell { api: Api::Gso, receive: Some(Receive::Recv), batch: 32, ..cell(Test::UdpStream, Family::V4, 1_000) };
    let Reports { sender, receiver, .. } = trial(&cell, TrialEnd::Messages(3_200), Nanos::default());
    assert_eq!((sender.total.messages, sender.total.calls), (3_200, 100));
    assert_eq!(receiver.total.calls, receiver.total.messages, "{:?}", receiver.total);
}

#[test]
fn packets_hold_as_many_messages_as_fit() {
    let cell = Cell { api: Api::Gso, batch: 32, ..cell(Test::UdpStream, Family::V4, 1_000) };
    let Reports { sender, .. } = trial(&cell, TrialEnd::Messages(320), Nanos::default());
    assert_eq!((sender.counts.messages, sender.counts.calls), (320, 10));
    let cell = Cell { size: Bytes::new(16_000), read_size: Bytes::new(16_000), ..cell };
    let Reports { sender, .. } = trial(&cell, TrialEnd::Messages(32), Nanos::default());
    assert_eq!((sender.counts.messages, sender.counts.calls), (32, 8), "four to a packet of 64 KiB");
}
