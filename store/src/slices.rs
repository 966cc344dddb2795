//! Slices of woven trials, in `slices/<group>.slices`: one block an instance, appended in one write.
//!
//! A block is the length of what follows (4 bytes, the least first), then numbers in LEB128: those of the instance
//! and of its slices, and each slice as [`Slice::FIELDS`] says. A slice takes some 70 bytes; ten seconds of two
//! arms some 60 KB.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use model::woven::Slice;

use crate::error::StoreError;
use crate::file;

/// Directory of a run that holds them.
const DIRECTORY: &str = "slices";
/// The longest block that is read: beyond it is no instance.
const LONGEST_BLOCK: usize = 16 << 20;
/// The longest file that is read.
const LONGEST_FILE: u64 = 1 << 30;
/// The slices of one instance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SliceBlock {
    /// Number of the instance among those of its group.
    pub instance: u32,
    /// Its slices, in the order of time.
    pub slices: Vec<Slice>,
}

/// Place of a group's slices in a run.
pub fn slices_file(run: &Path, group: usize) -> PathBuf {
    run.join(DIRECTORY).join(format!("{group}.slices"))
}

/// Appends an instance to a group's slices.
///
/// # Errors
/// A refusal of the system.
pub fn append_slices(run: &Path, group: usize, block: &SliceBlock) -> Result<(), StoreError> {
    let path = slices_file(run, group);
    let failed = |answer| StoreError::Refused { tried: "write", path: path.clone(), answer };
    std::fs::create_dir_all(run.join(DIRECTORY)).map_err(failed)?;
    let mut file = sys::file::open_no_link(OpenOptions::new().create(true).append(true), &path).map_err(failed)?;
    file.write_all(&encode(block)).map_err(failed)
}

/// All whole instances of a group; and what keeps the rest from being read, such as a write that was cut short. None
/// where no instance of the group was stored.
///
/// # Errors
/// A refusal of the system.
pub fn read_slices(run: &Path, group: usize) -> Result<(Vec<SliceBlock>, Option<String>), StoreError> {
    let path = slices_file(run, group);
    let failed = |answer| StoreError::Refused { tried: "read", path: path.clone(), answer };
    let mut bytes = Vec::new();
    let file = match sys::file::open(&path) {
        Err(answer) if answer.kind() == ErrorKind::NotFound => return Ok((Vec::new(), None)),
        opened => opened.map_err(failed)?,
    };
    file.take(LONGEST_FILE).read_to_end(&mut bytes).map_err(failed)?;
    Ok(decode(&bytes))
}

/// Keeps the instances of a group up to the first that is not to be kept, or that was cut short, and returns them: a later
/// one is then appended behind whole ones.
///
/// # Errors
/// A refusal of the system.
pub fn keep_slices(run: &Path, group: usize, keep: impl Fn(u32) -> bool) -> Result<Vec<SliceBlock>, StoreError> {
    let (mut blocks, rest) = read_slices(run, group)?;
    let kept = blocks.iter().position(|block| !keep(block.instance)).unwrap_or(blocks.len());
    if kept < blocks.len() || rest.is_some() {
        blocks.truncate(kept);
        file::replace(&slices_file(run, group), &blocks.iter().flat_map(encode).collect::<Vec<u8>>())?;
    }
    Ok(blocks)
}

/// A block as it is stored.
fn encode(block: &SliceBlock) -> Vec<u8> {
    let mut body = Vec::with_capacity(16 + 64 * block.slices.len());
    put(&mut body, block.instance.into());
    put(&mut body, block.slices.len() as u64);
    for slice in &block.slices {
        slice.numbers().into_iter().for_each(|number| put(&mut body, number));
    }
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    [&length.to_le_bytes()[..], &body].concat()
}

/// Blocks from the start of a file, up to the first that cannot be one.
fn decode(mut bytes: &[u8]) -> (Vec<SliceBlock>, Option<String>) {
    let mut blocks = Vec::new();
    while !bytes.is_empty() {
        let number = blocks.len() + 1;
        let Some((length, rest)) = bytes.split_first_chunk::<4>() else {
            return (blocks, Some(format!("block {number} is cut short")));
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > LONGEST_BLOCK {
            return (blocks, Some(format!("block {number} claims {length} bytes")));
        }
        let Some((body, rest)) = rest.split_at_checked(length) else {
            return (blocks, Some(format!("block {number} is cut short")));
        };
        match decode_body(body) {
            Some(block) => blocks.push(block),
            None => return (blocks, Some(format!("block {number} holds no slices"))),
        }
        bytes = rest;
    }
    (blocks, None)
}

fn decode_body(mut body: &[u8]) -> Option<SliceBlock> {
    let instance = u32::try_from(take(&mut body)?).ok()?;
    let count = usize::try_from(take(&mut body)?).ok()?;
    // Each number takes a byte at least.
    if count > body.len() / Slice::FIELDS.len() {
        return None;
    }
    let mut slices = Vec::with_capacity(count);
    for _ in 0..count {
        let mut numbers = [0; Slice::FIELDS.len()];
        for number in &mut numbers {
            *number = take(&mut body)?;
        }
        slices.push(Slice::from_numbers(&numbers)?);
    }
    body.is_empty().then_some(SliceBlock { instance, slices })
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        // The tenth byte has one bit left.
        if shift == 63 && part > 1 {
            return None;
        }
        number |= part << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use model::woven::Slice;
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    use super::{SliceBlock, append_slices, decode, encode, keep_slices, read_slices, slices_file};

    fn block(instance: u32, rows: &[[u64; Slice::FIELDS.len()]]) -> SliceBlock {
        let fit = |row: &[u64; Slice::FIELDS.len()]| {
            let mut row = *row;
            (0..3).for_each(|place| row[place] >>= 32);
            row[Slice::FIELDS.len() - 1] &= 1;
            Slice::from_numbers(&row).unwrap()
        };
        SliceBlock { instance, slices: rows.iter().map(fit).collect() }
    }

    #[test]
    fn a_write_that_was_cut_short_costs_its_instance_alone() {
        let run = tempfile::tempdir().unwrap();
        let whole = block(0, &[[1 << 33; Slice::FIELDS.len()]; 3]);
        append_slices(run.path(), 2, &whole).unwrap();
        append_slices(run.path(), 2, &SliceBlock { instance: 1, ..whole.clone() }).unwrap();
        let path = slices_file(run.path(), 2);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let (blocks, rest) = read_slices(run.path(), 2).unwrap();
        assert_eq!(blocks, [whole]);
        assert_eq!(rest.as_deref(), Some("block 2 is cut short"));
        assert_eq!(read_slices(run.path(), 3).unwrap(), (Vec::new(), None));
        std::fs::create_dir(slices_file(run.path(), 4)).unwrap();
        assert!(read_slices(run.path(), 4).is_err());
    }

    #[test]
    fn instances_are_appended_behind_those_that_are_kept() {
        let run = tempfile::tempdir().unwrap();
        let one = |instance| block(instance, &[[7; Slice::FIELDS.len()]; 2]);
        (0..4).for_each(|instance| append_slices(run.path(), 0, &one(instance)).unwrap());
        let path = slices_file(run.path(), 0);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(keep_slices(run.path(), 0, |_| true).unwrap(), [one(0), one(1), one(2)]);
        assert_eq!(keep_slices(run.path(), 0, |instance| instance != 1).unwrap(), [one(0)]);
        append_slices(run.path(), 0, &one(1)).unwrap();
        assert_eq!(read_slices(run.path(), 0).unwrap(), (vec![one(0), one(1)], None));
        assert_eq!(keep_slices(run.path(), 3, |_| true).unwrap(), []);
    }

    #[test]
    fn a_block_that_claims_too_much_takes_no_memory() {
        for body in [&[0xff; 4][..], &[6, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f], &[1, 0, 0, 0, 0x80], &[2, 0, 0, 0, 0, 1]] {
            let (blocks, rest) = decode(body);
            assert!(blocks.is_empty() && rest.is_some(), "{body:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            rows in prop::collection::vec(prop::collection::vec(any::<u64>(), Slice::FIELDS.len()), 0..20),
            instance in any::<u32>(),
            cut in any::<prop::sample::Index>()
        ) {
            let rows: Vec<_> = rows.into_iter().map(|row| row.try_into().unwrap()).collect();
            let blocks = [block(instance, &rows), block(instance, &rows[..rows.len() / 2])];
            let bytes: Vec<u8> = blocks.iter().flat_map(encode).collect();
            let (read, rest) = decode(&bytes);
            prop_assert_eq!(&read[..], &blocks[..]);
            prop_assert_eq!(rest, None);
            let (read, rest) = decode(&bytes[..cut.index(bytes.len())]);
            prop_assert!(read.len() < 2 && read[..] == blocks[..read.len()] && (rest.is_some() || read.len() * encode(&blocks[0]).len() == cut.index(bytes.len())));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let (blocks, _) = decode(&bytes);
            let slices: Vec<&Slice> = blocks.iter().flat_map(|block| &block.slices).collect();
            prop_assert!(slices.iter().all(|one| Slice::from_numbers(&one.numbers()) == Some(**one)));
        }
    }
}
