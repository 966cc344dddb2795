//! Every api that this kernel allows, over loopback.

use model::plan::TrialEnd;
use model::{Api, Cell, Family, Nanos, Test};

use crate::support::{Reports, cell, trial};

const TESTS: [Test; 3] = [Test::UdpStream, Test::TcpStream, Test::TcpMaerts];

/// Each api with each stream that it carries.
fn streams() -> impl Iterator<Item = (Api, Test)> {
    Api::ALL.iter().flat_map(|api| TESTS.into_iter().filter(|test| api.carries(*test)).map(|test| (*api, test)))
}

#[test]
fn messages_of_every_size_are_those_that_were_sent() {
    for (api, test) in streams() {
        for (family, size) in
            [(Family::V4, 1), (Family::V4, 64), (Family::V6, 1_024), (Family::V4, 1_460), (Family::V6, 8_192), (Family::V4, 16_384)]
        {
            let what = format!("{test} over {api}, {size} B");
            let cell = Cell { api, batch: api.default_batch(test), ..cell(test, family, size) };
            let Reports { sender, receiver, .. } = trial(&cell, TrialEnd::Length(Nanos::from_millis(20)), Nanos::from_millis(5));
            let (sent, came) = (sender.total, receiver.total);
            assert_eq!((sent.errors, came.errors), (0, 0), "{what}: {sent:?} {came:?}");
            assert!(came.messages > 0, "{what}: {sent:?} {came:?} {:?}", receiver);
            assert_eq!(sent.bytes, sent.messages * size, "{what}: {sent:?}");
            match test {
                Test::UdpStream => {
                    assert!(came.messages <= sent.messages, "{what}");
                    assert_eq!(came.bytes, came.messages * size, "{what}: each is whole, {came:?}");
                }
                _ => assert_eq!(came.bytes, sent.bytes, "{what}"),
            }
            if api.batches(test) {
                assert!(sent.calls <= sent.messages + sent.short, "{what}: {sent:?}");
            }
        }
    }
}

#[test]
fn a_request_is_answered_whichever_way_it_goes() {
    for api in Api::ALL.iter().copied() {
        for test in [Test::TcpRr, Test::UdpRr].into_iter().filter(|test| api.carries(*test)) {
            let cell = Cell { api, ..cell(test, Family::V4, 100) };
            let Reports { sender, .. } = trial(&cell, TrialEnd::Messages(50), Nanos::from_millis(5));
            assert_eq!((sender.counts.messages + sender.counts.lost, sender.counts.errors), (50, 0), "{test} over {api}");
        }
    }
}

#[test]
fn packets_hold_as_many_messages_as_fit() {
    let cell = Cell { api: Api::Gso, batch: 32, ..cell(Test::UdpStream, Family::V4, 1_000) };
    let Reports { sender, .. } = trial(&cell, TrialEnd::Messages(320), Nanos::default());
    assert_eq!((sender.counts.messages, sender.counts.calls), (320, 10));
    let cell = Cell { size: model::Bytes::new(16_000), read_size: model::Bytes::new(16_000), ..cell };
    let Reports { sender, .. } = trial(&cell, TrialEnd::Messages(32), Nanos::default());
    assert_eq!((sender.counts.messages, sender.counts.calls), (32, 8), "four to a packet of 64 KiB");
}
