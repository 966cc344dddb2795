use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::image::{Image, Without};
use super::{BOUNDS, Bounds, Names, Naming, file, parsed};
use model::attach::OwnCode;
use proptest::prelude::{any, prop, proptest};
use testkit::elf;

static GO_ON: AtomicBool = AtomicBool::new(false);

#[inline(never)]
fn tripled(number: u64) -> u64 {
    std::hint::black_box(number.wrapping_mul(3))
}

/// One sample of this process at an address.
fn sampled(address: u64) -> BTreeMap<u32, BTreeMap<u64, u64>> {
    [(std::process::id(), [(address, 1)].into())].into()
}

#[test]
fn a_function_of_this_program_has_its_name() {
    assert_eq!(tripled(2), 6);
    let mut names = Names::new(BOUNDS, &GO_ON);
    let (found, left_out) = names.of_addresses(&sampled(tripled as *const () as u64 + 1));
    assert!(matches!(&found.functions[..], [(name, 1)] if name.ends_with("tests::tripled")), "{found:?}");
    assert_eq!((found.unnamed, left_out), (0, None));
    assert_eq!(names.of_addresses(&sampled(8)).0, OwnCode { unnamed: 1, ..OwnCode::default() });
}

#[test]
fn mappings_beyond_the_bound_are_said_to_be_left_out() {
    let list = "1000-2000 r-xp 00000000 08:01 7 /bin/a\n3000-4000 r-xp 00000000 08:01 7 /bin/b\n";
    let kept = |most| {
        let mut naming = Naming { stop: &GO_ON, until: Instant::now(), maps: 0, left_out: None };
        (parsed(list, most, &mut naming).len(), naming.left_out)
    };
    assert_eq!(kept(2), (2, None));
    assert_eq!(kept(1), (1, Some("a process with more than 1 mappings of code".to_owned())));
}

/// Each bound, as small as it takes to meet it: the sample has no name, and that is said.
#[test]
fn at_each_bound_a_sample_has_no_name_and_the_reason_is_said() {
    let address = tripled as *const () as u64 + 1;
    let cases = [
        (Bounds { files: 0, ..BOUNDS }, false, Some("more than 0 files")),
        (Bounds { functions: 10, ..BOUNDS }, false, Some("more than 10 functions in its files, or 40 MiB of symbols in one")),
        (Bounds { time: Duration::ZERO, ..BOUNDS }, false, Some("not time enough")),
        (BOUNDS, true, Some("not time enough")),
        (BOUNDS, false, None),
    ];
    for (bounds, stopped, reason) in cases {
        let stop = AtomicBool::new(stopped);
        let (found, left_out) = Names::new(bounds, &stop).of_addresses(&sampled(address));
        assert_eq!(left_out.map(|left_out| left_out.answer).as_deref(), reason);
        assert_eq!(found.unnamed, u64::from(reason.is_some()), "{reason:?}");
    }
}

/// Only one that belongs to the process's user is believed.
#[test]
fn a_map_is_found_by_the_id_of_its_process() {
    let place = format!("/tmp/perf-{}.map", std::process::id());
    std::fs::write(&place, "1000 10 compiled@map\n").unwrap();
    let found = Names::new(BOUNDS, &GO_ON).of_addresses(&sampled(0x1008)).0;
    let (bounded, left_out) = Names::new(Bounds { maps: 20, ..BOUNDS }, &GO_ON).of_addresses(&sampled(0x1008));
    std::fs::remove_file(&place).unwrap();
    assert_eq!(found.functions, [("compiled@map".to_owned(), 1)]);
    assert_eq!((bounded.unnamed, left_out.unwrap().answer.as_str()), (1, "maps of run-time compilers that are too long"));
    std::os::unix::fs::symlink("/etc/passwd", &place).unwrap();
    let linked = Names::new(BOUNDS, &GO_ON).of_addresses(&sampled(0x1008)).0;
    std::fs::remove_file(&place).unwrap();
    assert_eq!(linked.unnamed, 1, "a link is not followed");
    assert!(file::open("/dev/null".as_ref(), |_| true).is_none(), "no plain file");
}

#[test]
fn a_name_is_cut_before_it_is_cleaned() {
    let mut bytes = b"\0plain\0".to_vec();
    bytes.extend(vec![1; 400_000]);
    bytes.extend(b"behind\0");
    let mut bytes = Cursor::new(bytes);
    assert_eq!(file::name(&mut bytes, 1, 0).as_deref(), Some("plain"));
    assert_eq!([file::name(&mut bytes, 0, 0), file::name(&mut bytes, 7, 0), file::name(&mut bytes, 1 << 40, 0)], [None, None, None]);
}

#[test]
fn functions_of_a_file_are_found_by_their_place_and_counted() {
    let made = elf::with_functions(1_000, &[b'n'; 4096]);
    let image = Image::read(Cursor::new(&made.bytes), 1_000).unwrap();
    assert_eq!(image.functions(), 1_000);
    let place = image.name(made.offset).unwrap();
    assert_eq!(file::name(&mut Cursor::new(&made.bytes), place, 0).map(|name| name.len()), Some(4096));
    assert_eq!(image.name(made.offset.wrapping_sub(1)), None);
    assert_eq!(Image::read(Cursor::new(&made.bytes), 999).unwrap_err(), Without::Room);
    assert_eq!(Image::read(Cursor::new(b"#!/bin/sh\n"), 10).unwrap_err(), Without::Functions);
}

/// As distributions have it: a program without symbols, and a file with them under its build id.
#[test]
fn symbols_that_were_taken_off_are_found_by_their_build_id() {
    let place = std::env::temp_dir().join(format!("nettoll-symbols-{}", std::process::id()));
    let made = elf::with_functions(3, b"taken_off");
    let id: String = elf::BUILD_ID.iter().map(|byte| format!("{byte:02x}")).collect();
    let (program, symbols) = (place.join("program"), place.join(".build-id").join(&id[..2]).join(format!("{}.debug", &id[2..])));
    std::fs::create_dir_all(symbols.parent().unwrap()).unwrap();
    elf::with_functions(3, b"taken_off").stripped().write(&program);
    let inode = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&program).unwrap());
    let path = program.to_str().unwrap();
    let mapping = super::Line { start: 0x1000, end: 0x2000, offset: 0, inode, path };
    let place_of_name = |with: bool| {
        let mut names = Names::new(BOUNDS, &GO_ON);
        names.symbols = place.strip_prefix("/").unwrap().to_owned();
        let mut naming = Naming { stop: &GO_ON, until: Instant::now() + BOUNDS.time, maps: 0, left_out: None };
        let known = names.image(std::process::id(), &mapping, &mut naming).unwrap();
        assert_eq!(known.names.is_some(), with);
        known.image.name(made.offset + 1)
    };
    assert_eq!(place_of_name(false), None);
    made.write(&symbols);
    let name = file::name(&mut Cursor::new(&made.bytes), place_of_name(true).unwrap(), 0);
    std::fs::write(&symbols, b"no symbols").unwrap();
    assert_eq!(place_of_name(false), None);
    std::fs::remove_dir_all(&place).unwrap();
    assert_eq!(name.as_deref(), Some("taken_off"));
}

#[test]
fn a_checksum_is_of_the_whole_file_or_none() {
    let place = std::env::temp_dir().join(format!("nettoll-sum-{}", std::process::id()));
    std::fs::write(&place, "123456789").unwrap();
    let sum = |time| {
        let mut naming = Naming { stop: &GO_ON, until: Instant::now() + time, maps: 0, left_out: None };
        (super::checksum(&mut std::fs::File::open(&place).unwrap(), &mut naming), naming.left_out.as_deref() == Some("not time enough"))
    };
    let sums = [sum(BOUNDS.time), sum(Duration::ZERO)];
    std::fs::remove_file(&place).unwrap();
    // The check value of CRC-32.
    assert_eq!(sums, [(Some(0xcbf4_3926), false), (None, true)]);
}

/// The file of a million symbols that share one name of 4,096 bytes, and one whose table is larger than may
/// be read.
#[test]
fn a_million_symbols_are_read_in_bounded_time_and_a_larger_table_is_not() {
    let begun = Instant::now();
    let made = elf::with_functions(1_000_000, &[b'n'; 4095]);
    assert_eq!(Image::read(Cursor::new(&made.bytes), BOUNDS.functions).unwrap().functions(), 1_000_000);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let made = elf::with_functions(1_750_000, b"n");
    assert_eq!(Image::read(Cursor::new(&made.bytes), usize::MAX).unwrap_err(), Without::Room);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), at in any::<u64>()) {
        let _ = super::map::places(&bytes[..], &[at.saturating_sub(1), at], || false);
        let _ = Image::read(Cursor::new(&bytes), 10).map(|image| image.name(at));
        let _ = file::name(&mut Cursor::new(&bytes), at, 0);
    }

    /// A file with anything in the place of some of its bytes.
    #[test]
    fn no_broken_file_makes_it_panic(changes in prop::collection::vec((0..600_usize, any::<u8>()), 0..20)) {
        let mut made = elf::with_functions(10, b"name");
        for (place, byte) in changes {
            if let Some(there) = made.bytes.get_mut(place) {
                *there = byte;
            }
        }
        let _ = Image::read(Cursor::new(&made.bytes), 100).map(|image| image.name(made.offset));
    }
}
