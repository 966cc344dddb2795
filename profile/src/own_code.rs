//! Functions of a program's own code that samples fell into, by the symbols of its files and by
//! the maps that run-time compilers leave (`/tmp/perf-PID.map`).
//!
//! Both are foreign: sizes are limited, names cleaned, and a map is believed only where it belongs
//! to the user of its process or to root, since anybody may put a file there.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use model::attach::OwnCode;
use model::end::Window;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::readable::readable;
use crate::sampler::{Recording, Tasks};
use crate::symbols::code;

/// The largest file whose symbols are read, and the largest map.
const LONGEST: [u64; 2] = [256 << 20, 64 << 20];
/// The longest list of mappings.
const LONGEST_LIST: u64 = 4 << 20;
/// The most mappings of a process, and the most functions of a file or a map.
const MOST: [usize; 2] = [4096, 1 << 20];
/// The longest name that is kept whole, and the longest as compilers write it.
const NAME: usize = 200;
const WRITTEN: usize = 4096;
/// Reach of a symbol that says no size, where no other follows.
const UNSIZED: u64 = 4096;
/// The most processes whose files are looked at.
const PROCESSES: usize = 64;
/// Functions that are kept apart.
const KEPT: usize = 64;

/// Functions by their first address, each with the first address behind it.
type Functions = BTreeMap<u64, (u64, String)>;

fn find(functions: &Functions, address: u64) -> Option<&str> {
    let (_, (end, name)) = functions.range(..=address).next_back()?;
    (address < *end).then_some(name.as_str())
}

/// A name without what would break a line; the rest of a long one is cut.
fn clean(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control() && *letter != ';').take(WRITTEN).collect()
}

/// A symbol's name without its version.
fn unversioned(name: &str) -> String {
    clean(name.split('@').next().unwrap_or(name))
}

/// The symbols of a file, and where it is mapped from.
#[derive(Debug, Default)]
pub struct Image {
    /// Parts that are loaded: place in the file, length, address.
    segments: Vec<[u64; 3]>,
    functions: Functions,
}

impl Image {
    /// Reads an ELF file; `None` of anything else, or of one without a function's name.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        let segment = |one: object::Segment| {
            let (offset, length) = one.file_range();
            [offset, length, one.address()]
        };
        let segments = file.segments().take(MOST[0]).map(segment).collect();
        let mut functions = Functions::new();
        for symbol in file.dynamic_symbols().chain(file.symbols()).take(MOST[1]) {
            if symbol.kind() != SymbolKind::Text || !symbol.is_definition() {
                continue;
            }
            let name = symbol.name().map(unversioned).unwrap_or_default();
            let size = if symbol.size() > 0 { symbol.size() } else { UNSIZED };
            if !name.is_empty() {
                functions.insert(symbol.address(), (symbol.address().saturating_add(size), name));
            }
        }
        (!functions.is_empty()).then_some(Self { segments, functions })
    }

    /// The function at a place of the file.
    pub fn name(&self, offset: u64) -> Option<&str> {
        let [start, _, address] =
            self.segments.iter().find(|[start, length, _]| offset.checked_sub(*start).is_some_and(|at| at < *length))?;
        find(&self.functions, address.checked_add(offset - start)?)
    }
}

/// Reads a map of compiled functions: lines of a start, a length (both hexadecimal) and a name. What
/// is no such line is passed over; of two that begin alike the later one counts.
pub fn parse_map(bytes: &[u8]) -> BTreeMap<u64, (u64, String)> {
    let mut functions = Functions::new();
    for line in bytes.split(|byte| *byte == b'\n').take(MOST[1]) {
        let line = String::from_utf8_lossy(line);
        let mut words = line.trim_start().splitn(3, ' ');
        let mut number = || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
        let (Some(start), Some(length)) = (number(), number()) else { continue };
        let name = words.next().map(clean).unwrap_or_default();
        if length > 0 && !name.trim().is_empty() {
            functions.insert(start, (start.saturating_add(length), name));
        }
    }
    functions
}

/// A mapping of code: addresses, its place in the file, the file's inode.
struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    inode: u64,
    path: PathBuf,
}

/// Files that were read already, by path and inode.
type Images = HashMap<(PathBuf, u64), Option<Image>>;

/// The code of a process that is alive.
struct Process {
    pid: u32,
    mappings: Vec<Mapping>,
    compiled: Functions,
}

impl Process {
    fn of(pid: u32) -> Self {
        let list = read(Path::new(&format!("/proc/{pid}/maps")), LONGEST_LIST, |_| true).unwrap_or_default();
        let list = String::from_utf8_lossy(&list);
        let mapping = |line: code::Line| Mapping {
            start: line.start,
            end: line.end,
            offset: line.offset,
            inode: line.inode,
            path: PathBuf::from(line.path),
        };
        let mappings = list.lines().filter_map(code::parse).take(MOST[0]).map(mapping).collect();
        Self { pid, mappings, compiled: compiled(pid).unwrap_or_default() }
    }

    fn name<'a>(&'a self, address: u64, images: &'a mut Images) -> Option<&'a str> {
        let Some(mapping) = self.mappings.iter().find(|one| (one.start..one.end).contains(&address)) else {
            return find(&self.compiled, address);
        };
        let place = address - mapping.start;
        let image = images.entry((mapping.path.clone(), mapping.inode)).or_insert_with(|| {
            let path = PathBuf::from(format!("/proc/{}/root{}", self.pid, mapping.path.display()));
            // Another file may stand in its place by now.
            let bytes = read(&path, LONGEST[0], |data| data.ino() == mapping.inode)?;
            Image::parse(&bytes)
        });
        image.as_ref()?.name(mapping.offset.checked_add(place)?)
    }
}

/// The map that a run-time compiler of this process keeps, under the id that the process has there.
fn compiled(pid: u32) -> Option<Functions> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let own = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_whitespace().next_back()?.parse::<u32>().ok()?;
    let user = fs::metadata(format!("/proc/{pid}")).ok()?.uid();
    let path = PathBuf::from(format!("/proc/{pid}/root/tmp/perf-{own}.map"));
    let trusted = |data: &fs::Metadata| data.uid() == user || data.uid() == 0;
    Some(parse_map(&read(&path, LONGEST[1], trusted)?))
}

/// The bytes of a plain file that is no longer than it may be and is the one wanted.
fn read(path: &Path, longest: u64, wanted: impl Fn(&fs::Metadata) -> bool) -> Option<Vec<u8>> {
    // Neither a link nor a pipe that nobody writes to leads elsewhere or holds up.
    let file: File = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
    let data = file.metadata().ok()?;
    if !data.is_file() || data.len() > longest || !wanted(&data) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(longest + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= longest).then_some(bytes)
}

/// Samples of the tasks within the window in user code, by function; those of processes that have
/// ended have no names.
pub fn of_samples(recordings: &[Recording], tasks: Tasks, window: Window) -> OwnCode {
    let mut addresses: BTreeMap<u32, HashMap<u64, u64>> = BTreeMap::new();
    for (sample, (process, thread)) in recordings.iter().flat_map(Recording::owned_samples) {
        // One that was due at another's is not among the profile's either.
        let owned = tasks.have(process, thread) && tasks.have(sample.pid, sample.tid);
        if sample.user && window.contains(sample.time) && owned {
            *addresses.entry(sample.pid).or_default().entry(sample.ip).or_default() += 1;
        }
    }
    let exits = |address: u64| recordings.first().is_some_and(|recording| recording.code.follows_system_call(address));
    let (mut named, mut unnamed, mut images): (HashMap<String, u64>, u64, Images) = (HashMap::new(), 0, HashMap::new());
    for (place, (pid, samples)) in addresses.into_iter().enumerate() {
        let process = (place < PROCESSES).then(|| Process::of(pid));
        for (address, count) in samples.into_iter().filter(|(address, _)| !exits(*address)) {
            match process.as_ref().and_then(|process| process.name(address, &mut images)) {
                // What a compiler made of one function by several copies is that function.
                Some(name) => *named.entry(readable(name, NAME)).or_default() += count,
                None => unnamed += count,
            }
        }
    }
    let mut functions: Vec<(String, u64)> = named.into_iter().collect();
    functions.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let rest = functions.split_off(functions.len().min(KEPT)).into_iter().map(|(_, count)| count).sum();
    OwnCode { functions, rest, unnamed }
}

#[cfg(test)]
mod tests {
    use super::{Image, Process, compiled, parse_map, read};
    use proptest::prelude::{any, prop, proptest};
    use std::collections::HashMap;
    use std::path::Path;

    #[inline(never)]
    fn tripled(number: u64) -> u64 {
        std::hint::black_box(number.wrapping_mul(3))
    }

    #[test]
    fn a_function_of_this_program_has_its_name() {
        let process = Process::of(std::process::id());
        assert_eq!(tripled(2), 6);
        let address = tripled as *const () as u64;
        let mut images = HashMap::new();
        // As the compiler writes it.
        assert!(process.name(address + 1, &mut images).is_some_and(|name| name.contains("tripled")));
        assert_eq!(process.name(8, &mut images), None);
    }

    #[test]
    fn maps_of_compilers_are_read_line_by_line() {
        let map = parse_map(b"7f00 10 first\nnonsense\n0x7f10 8 LazyCompile:~second /a.js:1\n7f00 10 again; \x1b\n7f20 0 none\n");
        let at = |address| super::find(&map, address);
        assert_eq!(
            [at(0x7f00), at(0x7f0f), at(0x7f17), at(0x7f18)],
            [Some("again "), Some("again "), Some("LazyCompile:~second /a.js:1"), None]
        );
    }

    /// Only one that belongs to the process's user is believed.
    #[test]
    fn a_map_is_found_by_the_id_of_its_process() {
        let place = format!("/tmp/perf-{}.map", std::process::id());
        std::fs::write(&place, "1000 10 compiled\n").unwrap();
        let found = compiled(std::process::id());
        std::fs::remove_file(&place).unwrap();
        assert_eq!(found.unwrap().get(&0x1000), Some(&(0x1010, "compiled".to_owned())));
        std::os::unix::fs::symlink("/etc/passwd", &place).unwrap();
        let linked = compiled(std::process::id());
        std::fs::remove_file(&place).unwrap();
        assert!(linked.is_none(), "a link is not followed");
        assert!(read(Path::new("/dev/null"), 10, |_| true).is_none(), "no plain file");
        assert!(read(Path::new("/proc/self/exe"), 10, |_| true).is_none());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), place in any::<u64>()) {
            let _ = (parse_map(&bytes), Image::parse(&bytes).map(|image| image.name(place).map(str::to_owned)));
        }
    }
}
