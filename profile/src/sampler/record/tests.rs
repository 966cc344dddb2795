use super::{CONTEXT_KERNEL, Malformed, Record, Records, Switch, Symbol};
use crate::sampler::Layout;
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

const KERNEL: u16 = 1;
const USER: u16 = 2;

fn record(kind: u32, misc: u16, body: &[u64]) -> Vec<u8> {
    let mut bytes = kind.to_ne_bytes().to_vec();
    bytes.extend(misc.to_ne_bytes());
    bytes.extend((8 + body.len() as u16 * 8).to_ne_bytes());
    bytes.extend(body.iter().flat_map(|word| word.to_ne_bytes()));
    bytes
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from_ne_bytes([low.to_ne_bytes(), high.to_ne_bytes()].concat().try_into().unwrap())
}

fn sample(misc: u16, ip: u64, time: u64, chain: &[u64]) -> Vec<u8> {
    let mut body = vec![ip, pair(7, 8), time, pair(1, 0), chain.len() as u64];
    body.extend(chain);
    record(super::SAMPLE, misc, &body)
}

#[test]
fn every_kind_is_told_apart() {
    let layout = Layout::default();
    let mut bytes = sample(KERNEL, 0x10, 5, &[CONTEXT_KERNEL, 0x10, 0x20]);
    bytes.extend(sample(USER, 0x30, 6, &[]));
    bytes.extend(record(super::LOST, 0, &[1, 9]));
    bytes.extend(record(super::THROTTLE, 0, &[77, 1, 1]));
    bytes.extend(record(super::SWITCH, super::SWITCH_OUT | super::SWITCH_OUT_RUNNABLE, &[pair(7, 8), 99]));
    bytes.extend(record(3, 0, &[1, 2]));
    let records: Vec<_> = Records::new(&bytes, &layout).map(Result::unwrap).collect();
    let [Record::Sample(kernel), Record::Sample(user), Record::Lost(9), Record::Throttle(77), Record::Switch(switch), Record::Other] =
        &records[..]
    else {
        panic!("{records:?}")
    };
    assert_eq!((kernel.user, kernel.ip, kernel.pid, kernel.tid, kernel.time, kernel.cpu), (false, 0x10, 7, 8, 5, 1));
    assert_eq!(kernel.kernel_chain().collect::<Vec<_>>(), [0x10, 0x20]);
    assert!(user.user && user.kernel_chain().next().is_none());
    assert_eq!(*switch, Switch { pid: 7, tid: 8, time: 99, out: true, runnable: true, other: None });
    let wide = record(super::SWITCH_CPU_WIDE, 0, &[pair(1, 2), pair(7, 8), 99]);
    assert_eq!(
        Records::new(&wide, &layout).next(),
        Some(Ok(Record::Switch(Switch { out: false, runnable: false, other: Some(2), ..*switch })))
    );
}

#[test]
fn code_of_the_kernel_comes_and_goes_under_a_name() {
    let layout = Layout::default();
    let length_and_kind = |length: u32, kind: u16, flags: u16| pair(length, u32::from(kind) | u32::from(flags) << 16);
    let name = u64::from_ne_bytes(*b"bpf_prog");
    let bytes = record(super::KERNEL_SYMBOL, 0, &[0x1000, length_and_kind(0x80, 1, 1), name, 0, 99]);
    let Some(Ok(Record::Symbol(symbol))) = Records::new(&bytes, &layout).next() else { panic!("no symbol") };
    assert_eq!(symbol, Symbol { start: 0x1000, end: 0x1080, gone: true, bpf: true, name: b"bpf_prog", time: 99 });
    let short = record(super::KERNEL_SYMBOL, 0, &[0x1000, length_and_kind(0x80, 1, 0)]);
    assert_eq!(Records::new(&short, &layout).next(), Some(Err(Malformed::Content)));
    let greedy = record(super::KERNEL_SYMBOL, 0, &[u64::MAX, length_and_kind(u32::MAX, 1, 0), 7]);
    assert!(matches!(Records::new(&greedy, &layout).next(), Some(Ok(Record::Symbol(symbol))) if symbol.name.is_empty()));
}

#[test]
fn addresses_of_users_are_no_part_of_a_kernel_chain() {
    let layout = Layout::default();
    let user_context = -512_i64 as u64;
    let bytes = sample(KERNEL, 1, 1, &[CONTEXT_KERNEL, 1, 2, user_context, 3]);
    let Some(Ok(Record::Sample(sample))) = Records::new(&bytes, &layout).next() else { panic!("no sample") };
    assert_eq!(sample.kernel_chain().collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn readings_of_counters_are_taken_with_and_without_losses() {
    for (reads_lost, numbers) in [(false, vec![2, 100, 1, 200, 2]), (true, vec![2, 100, 1, 0, 200, 2, 0])] {
        let layout = Layout { reads: true, reads_lost, counters: vec![] };
        let mut body = vec![1, pair(7, 8), 5, pair(0, 0)];
        body.extend(numbers);
        body.push(0);
        let bytes = record(super::SAMPLE, KERNEL, &body);
        let Some(Ok(Record::Sample(sample))) = Records::new(&bytes, &layout).next() else { panic!("no sample") };
        assert_eq!(sample.reads().collect::<Vec<_>>(), [(1, 100), (2, 200)]);
    }
}

#[test]
fn an_impossible_length_ends_the_reading_and_a_short_record_does_not() {
    let layout = Layout::default();
    let mut bytes = record(super::SAMPLE, KERNEL, &[1]);
    bytes.extend(sample(USER, 1, 1, &[]));
    let mut records = Records::new(&bytes, &layout);
    assert_eq!(records.next(), Some(Err(Malformed::Content)));
    assert!(matches!(records.next(), Some(Ok(Record::Sample(_)))));
    let mut broken = vec![0; 8];
    broken.extend(&bytes);
    let mut records = Records::new(&broken, &layout);
    assert_eq!(records.next(), Some(Err(Malformed::Length)));
    assert_eq!(records.next(), None);
    // A chain that claims more frames than the record has room for.
    let greedy = record(super::SAMPLE, KERNEL, &[1, 0, 1, 0, u64::MAX, 1]);
    assert_eq!(Records::new(&greedy, &layout).next(), Some(Err(Malformed::Content)));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_or_go_on_for_ever(bytes in vec(any::<u8>(), 0..400), reads in any::<bool>(), reads_lost in any::<bool>()) {
        let layout = Layout { reads, reads_lost, counters: vec![] };
        let mut count = 0;
        for record in Records::new(&bytes, &layout) {
            count += 1;
            if let Ok(Record::Sample(sample)) = record {
                prop_assert!(sample.kernel_chain().count() * 8 <= bytes.len());
                prop_assert!(sample.reads().count() * 16 <= bytes.len());
            }
        }
        prop_assert!(count <= bytes.len() / 8 + 1);
    }

    #[test]
    fn what_was_written_is_read(samples in vec((any::<u64>(), any::<u64>(), vec(1..u64::MAX / 2, 0..20)), 0..20), flip in 0..4000_usize) {
        let layout = Layout::default();
        let mut bytes = Vec::new();
        for (ip, time, chain) in &samples {
            let mut whole = vec![CONTEXT_KERNEL];
            whole.extend(chain);
            bytes.extend(sample(KERNEL, *ip, *time, &whole));
        }
        let read: Vec<_> = Records::new(&bytes, &layout).map(|record| match record {
            Ok(Record::Sample(sample)) => (sample.ip, sample.time, sample.kernel_chain().collect::<Vec<_>>()),
            other => panic!("{other:?}"),
        }).collect();
        prop_assert_eq!(read, samples);
        if !bytes.is_empty() {
            let place = flip % bytes.len();
            bytes[place] ^= 0xff;
            let _ = Records::new(&bytes, &layout).count();
        }
    }
}
