//! What the kernel says: its text files, netlink answers, records of samples,
//! symbols and types.

use std::slice;
use std::sync::LazyLock;

use engine::tcp_info;
use lab::host::counters::{parse_dev, parse_netstat, parse_snmp, parse_snmp6, parse_stat};
use lab::host::ethtool::message::features;
use lab::host::facts::{cpu_model, memory, network_lines};
use lab::host::link::DeviceState;
use lab::host::netdev;
use lab::host::netlink::family;
use model::Nanos;
use model::end::Window;
use model::kernel::TcpCounters;
use model::profile::SampleSource;
use profile::elsewhere::outside;
use profile::fold::fold;
use profile::own_code;
use profile::probe::btf::function_id;
use profile::sampler::record::Record;
use profile::sampler::{Layout, Recording, Tasks};
use profile::symbols::{Change, CodeMap, Symbols, code, file};
use profile::waits::{Event, WaitLog};
use sys::cpu;
use sys::netlink::{split, verdict};
use sys::process::{Scheduling, Stat};

use crate::says_something;

/// Text files. The first byte says which.
pub fn proc(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    // As they are read: a device's name need not be UTF-8.
    let text = String::from_utf8_lossy(bytes);
    let error = match kind % 12 {
        0 => parse_snmp(&text).err(),
        1 => parse_snmp6(&text).err(),
        2 => parse_dev(&text, "eth0").err(),
        3 => parse_stat(&text).err(),
        4 => parse_netstat(&text, TcpCounters::default()).err(),
        _ => None,
    };
    error.iter().for_each(says_something);
    match kind % 12 {
        5 => drop((cpu_model(&text), memory(&text))),
        6 => assert!(network_lines(&text).all(|(_, name)| !name.is_empty())),
        7 => drop((Stat::parse(&text), Scheduling::parse(&text, &text))),
        8 => assert!(cpu::list(&text).is_none_or(|cpus| !cpus.is_empty() && cpus.len() <= 2 * 8192)),
        9 => drop(cpu::Ticks::parse(&text, Some(1))),
        10 => assert!(text.lines().filter_map(code::parse).all(|line| line.start < line.end && line.path.starts_with('/'))),
        _ => {}
    }
}

/// Answers over netlink, and TCP's account of a connection. The first byte says
/// whether a datagram follows or a body.
pub fn netlink(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    if kind % 2 == 1 {
        return answer(bytes);
    }
    let messages = split(bytes).unwrap_or_default();
    assert!(messages.iter().map(|message| message.body.len() + 16).sum::<usize>() <= bytes.len());
    messages.iter().for_each(|message| answer(&message.body));
}

fn answer(body: &[u8]) {
    verdict("trying", body).err().iter().for_each(says_something);
    let _ = (family(body), netdev::features(body), tcp_info::parse(body));
    if let Some(features) = features(body) {
        assert!(features.changeable.iter().all(|name| features.active.contains_key(name)));
    }
    if let Some(device) = DeviceState::parse(body) {
        assert!(!device.operstate().is_empty() && device.address.len() + device.kind.len() <= 4 * body.len());
    }
}

/// Records of samples, made into a profile. The first byte says what a sample
/// holds: every sample is in the profile, and every function has a name.
pub fn perf(bytes: &[u8]) {
    static SYMBOLS: LazyLock<Symbols> = LazyLock::new(|| {
        let (list, modules) = two(include_bytes!("../seeds/symbols/small"));
        Symbols::parse(list, modules).unwrap()
    });
    let Some((kind, ring)) = bytes.split_first() else { return };
    let layout = Layout { reads: kind & 1 != 0, reads_lost: kind & 2 != 0, counters: vec![(1, 0), (2, 1)] };
    let (source, rings, code) = (SampleSource::Cycles, vec![ring.to_vec()], CodeMap::default());
    let recording = Recording {
        source,
        period: 1,
        layout,
        rings,
        lost: None,
        counted: None,
        switches: None,
        forks: Vec::new(),
        code,
        notes: Vec::new(),
    };
    let (mut samples, mut switches, mut changes) = (0, Vec::new(), Vec::new());
    for record in recording.records() {
        match record {
            Ok(Record::Sample(_)) => samples += 1,
            Ok(Record::Switch(switch)) => switches.push(switch),
            Ok(Record::Symbol(symbol)) => changes.push(Change::from(symbol)),
            _ => {}
        }
    }
    assert!(changes.iter().all(|change| !change.name.is_empty() && change.name.len() <= 2048));
    let mut symbols = SYMBOLS.clone();
    symbols.take_changes(changes);
    let (profile, _) = fold(slice::from_ref(&recording), &symbols, Tasks::All, None);
    let of_time = Recording {
        source: SampleSource::CpuClock,
        counted: Some(1 << 30),
        rings: vec![ring.to_vec()],
        switches: Some(vec![switches]),
        ..recording
    };
    let window = Window { start: Nanos::new(1 << 20), end: Nanos::new(1 << 40) };
    let account = fold(slice::from_ref(&of_time), &symbols, Tasks::All, Some(window)).0.account.unwrap_or_default();
    assert!(account.on_cpu.is_some());
    let outside = outside(slice::from_ref(&of_time), &symbols, &[], window);
    assert!(outside.others + outside.untold + outside.idle_softirq <= samples);
    assert_eq!(profile.stacks.iter().map(|stack| stack.count).sum::<u64>(), samples);
    let places = profile.stacks.iter().flat_map(|stack| &stack.frames);
    assert!(places.into_iter().all(|place| profile.symbols.get(*place as usize).is_some_and(|name| !name.is_empty())));
    waits(ring);
}

/// The same bytes as events of the scheduler's: no wait is longer than the window.
fn waits(bytes: &[u8]) {
    let events: Vec<Event> = bytes.chunks(24).filter_map(Event::parse).collect();
    let (start, end) = (Nanos::new(1_000), Nanos::new(1 << 62));
    let log = WaitLog::new(events, 0, Nanos::new(0));
    for thread in log.threads().into_iter().take(4) {
        let waits = log.waits(thread, Window { start, end }).unwrap();
        assert!((waits.blocked + waits.runnable).get() <= end.get() - start.get());
    }
}

/// The kernel's symbols and, behind a zero, its modules: every address has a
/// name or is said to have none.
pub fn symbols(bytes: &[u8]) {
    let addresses = [0, 0x1000, u64::MAX];
    for place in own_code::map::places(bytes, &addresses, || false).into_iter().flatten() {
        assert!(place <= bytes.len() as u64);
        let _ = file::name(&mut std::io::Cursor::new(bytes), place, b'\n');
    }
    if let Ok(image) = own_code::image::Image::read(std::io::Cursor::new(bytes), 1 << 20) {
        for place in [0, u64::MAX].into_iter().filter_map(|offset| image.name(offset)) {
            let _ = file::name(&mut std::io::Cursor::new(bytes), place, 0);
        }
    }
    let (list, modules) = two(bytes);
    match Symbols::parse(list, modules) {
        Ok(symbols) => {
            assert!(symbols.len() <= list.len() / 4);
            for address in [0, 0x1000, 0xffff_ffff_8100_0100, 0xffff_ffff_c000_0010, 0xffff_ffff_c030_0000, u64::MAX] {
                assert!(!symbols.name(address).is_empty() && !symbols.caller(address).is_empty());
            }
        }
        Err(error) => says_something(&error),
    }
}

fn two(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    (&bytes[..end], bytes.get(end + 1..).unwrap_or_default())
}

/// The kernel's type information: ids count from 1, and no type is smaller
/// than 12 bytes.
pub fn types(bytes: &[u8]) {
    for name in ["udp_sendmsg", ""] {
        assert!(function_id(bytes, name).is_none_or(|id| (1..=bytes.len() / 12).contains(&(id as usize))));
    }
}
