//! The maps of compiled functions that run-time compilers leave (`/tmp/perf-PID.map`): lines of a
//! start, a length (both hexadecimal) and a name.

use std::io::{BufRead, BufReader, Read};

use crate::symbols::file::WRITTEN;

/// The most bytes of a line that are looked at.
const LINE: u64 = WRITTEN + 64;
/// Lines between two looks at whether to go on.
const STEP: usize = 4096;

/// Where the name of the function at each of some addresses, in their order, begins in the file; `None`
/// where no line covers one, or when `over` ended the search. Of functions that begin alike the later
/// one counts; what is no such line is passed over.
pub fn places(file: impl Read, addresses: &[u64], mut over: impl FnMut() -> bool) -> Vec<Option<u64>> {
    // Of the lines that begin between an address and the one before, the last start counts, and the
    // later of two alike: for this address, and for those behind it up to the next start.
    let mut nearest: Vec<Option<Entry>> = vec![None; addresses.len()];
    let (mut file, mut line, mut place) = (BufReader::new(file), Vec::new(), 0_u64);
    for number in 0_usize.. {
        line.clear();
        let Ok(length) = file.by_ref().take(LINE).read_until(b'\n', &mut line) else { break };
        if length == 0 || (number.is_multiple_of(STEP) && over()) {
            break;
        }
        let begun = place;
        place += length as u64;
        if !line.ends_with(b"\n") {
            let Ok(rest) = file.skip_until(b'\n') else { break };
            place += rest as u64;
        }
        let Some(found) = parse(&line, begun) else { continue };
        let at = addresses.partition_point(|address| *address < found.start);
        if let Some(kept) = nearest.get_mut(at)
            && kept.is_none_or(|kept| kept.start <= found.start)
        {
            *kept = Some(found);
        }
    }
    let mut last = None;
    let named = addresses.iter().zip(nearest).map(|(address, found)| {
        last = found.or(last);
        last.filter(|found| *address < found.end).map(|found| found.name)
    });
    named.collect()
}

/// A function of a line.
#[derive(Debug, Clone, Copy)]
struct Entry {
    start: u64,
    /// The first address behind it.
    end: u64,
    /// Where its name begins in the file.
    name: u64,
}

/// Reads a line that begins at a place of its file.
fn parse(line: &[u8], place: u64) -> Option<Entry> {
    let mut at = line.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let mut number = || {
        let digits = line.get(at..)?;
        let length = digits.iter().position(|byte| *byte == b' ')?;
        at += length + 1;
        let text = std::str::from_utf8(&digits[..length]).ok()?;
        u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
    };
    let (start, length) = (number()?, number()?);
    (length > 0).then(|| Entry { start, end: start.saturating_add(length), name: place + at as u64 })
}

#[cfg(test)]
mod tests {
    use super::{LINE, places};
    use crate::symbols::file;
    use std::io::Cursor;

    fn names(map: &[u8], addresses: &[u64]) -> Vec<Option<String>> {
        let name = |place| file::name(&mut Cursor::new(map), place, b'\n');
        places(map, addresses, || false).into_iter().map(|place| place.and_then(name)).collect()
    }

    #[test]
    fn maps_of_compilers_are_read_line_by_line() {
        let map = b"7f00 10 first\nnonsense\n0x7f10 8 LazyCompile:~second /a.js:1\n7f00 10 again; \x1b\n7f20 0 none\n 7f30 4 \n8000 5 last";
        let found = names(map, &[1, 0x7f00, 0x7f0f, 0x7f17, 0x7f18, 0x7f20, 0x7f31, 0x8004, 0x8005]);
        let second = Some("LazyCompile:~second /a.js:1");
        let expected = [None, Some("again "), Some("again "), second, None, None, None, Some("last"), None];
        assert_eq!(found.iter().map(Option::as_deref).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_line_without_end_is_passed_over_and_the_next_is_read() {
        let mut map = b"1000 10 ".to_vec();
        map.extend(vec![b'x'; 3 * LINE as usize]);
        map.extend(b"\n2000 10 next\n");
        let found = names(&map, &[0x1000, 0x2000]);
        assert_eq!(found[0].as_ref().map(String::len), Some(4096));
        assert_eq!(found[1].as_deref(), Some("next"));
        assert_eq!(places(&map[..], &[0x2000], || true), [None], "it was ended");
    }
}
