//! Functions of a program's own code that samples fell into, by the symbols of its files and by
//! the maps that run-time compilers leave.
//!
//! The program chooses both. So a name is read only where a sample fell, a file is read once a run,
//! bytes, functions and time have bounds ([`Bounds`]), and a map is believed only where it belongs to the
//! user of its process or to root, since anybody may put a file there.

pub mod image;
pub mod map;

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, Metadata};
use std::io::{Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use model::Refusal;
use model::attach::OwnCode;
use model::end::Window;
use model::sorting::Order;

use crate::readable::readable;
use crate::sampler::record::Record;
use crate::sampler::{Recording, Tasks};
use crate::symbols::code::{self, Line};
use crate::symbols::file::{self, Identity};
use image::{Elsewhere, Image, Without};

/// The longest list of mappings, in bytes.
const LIST: u64 = 4 << 20;
/// The most mappings of a process.
const MAPPINGS: usize = 4096;
/// The longest name that is kept whole, in bytes.
const NAME: usize = 200;
/// The most processes whose files are looked at.
const PROCESSES: usize = 64;
/// Where distributions put symbols that they take off their files.
const SYMBOLS: &str = "usr/lib/debug";
/// Functions that are kept apart.
const KEPT: usize = 64;

/// What names may cost; docs/security.md states these figures.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The most files of a run.
    pub files: usize,
    /// The most functions of all files of a run together.
    pub functions: usize,
    /// The most bytes of maps of run-time compilers in a window.
    pub maps: u64,
    /// The longest time in a window.
    pub time: Duration,
}

/// The bounds of an observation.
pub const BOUNDS: Bounds = Bounds { files: 4096, functions: 1 << 20, maps: 64 << 20, time: Duration::from_secs(1) };

/// Names of functions over a run: files that were read already are kept.
#[derive(Debug)]
pub struct Names<'a> {
    bounds: Bounds,
    stop: &'a AtomicBool,
    /// Files with symbols alone, below the root of a process.
    symbols: PathBuf,
    /// By path and inode; `None` of files whose functions are not known.
    images: HashMap<(String, u64), Option<NamedImage>>,
    functions: usize,
}

/// A mapped file, and where its names are.
#[derive(Debug)]
struct NamedImage {
    image: Image,
    /// The file with the names: `None` below the mapping's own path, else below the root of the process.
    names: Option<PathBuf>,
    identity: Identity,
}

/// Names that stand in one file, by their places, and the samples of each; a name ends before `end`.
struct Sampled {
    file: File,
    end: u8,
    places: BTreeMap<u64, u64>,
}

/// The naming of one window: its end, and what came to be left out.
struct Naming<'a> {
    stop: &'a AtomicBool,
    until: Instant,
    /// Bytes of maps that may still be read.
    maps: u64,
    left_out: Option<String>,
}

impl Naming<'_> {
    /// True when no more names are to be read, which is then noted.
    fn over(&mut self) -> bool {
        let over = self.stop.load(Ordering::Relaxed) || Instant::now() >= self.until;
        if over {
            self.leave_out("not time enough");
        }
        over
    }

    fn leave_out(&mut self, why: impl Into<String>) {
        self.left_out.get_or_insert(why.into());
    }
}

impl<'a> Names<'a> {
    /// No file is read yet; none is read once `stop` is set.
    pub fn new(bounds: Bounds, stop: &'a AtomicBool) -> Self {
        Self { bounds, stop, symbols: SYMBOLS.into(), images: HashMap::new(), functions: 0 }
    }

    /// Samples of the tasks within the window in user code, by function, and what was left out because
    /// of the bounds; samples of processes that have ended have no names.
    pub fn of_samples(&mut self, recordings: &[Recording], tasks: Tasks, window: Window) -> (OwnCode, Option<Refusal>) {
        let mut processes: BTreeMap<u32, BTreeMap<u64, u64>> = BTreeMap::new();
        let exits = |address: u64| recordings.first().is_some_and(|recording| recording.code.follows_system_call(address));
        for record in recordings.iter().flat_map(Recording::records) {
            let Ok(Record::Sample(sample)) = record else { continue };
            if sample.user && window.contains(sample.time) && tasks.have(sample.pid, sample.tid) {
                *processes.entry(sample.pid).or_default().entry(sample.ip).or_default() += 1;
            }
        }
        processes.values_mut().for_each(|addresses| addresses.retain(|address, _| !exits(*address)));
        self.of_addresses(&processes)
    }

    /// Samples by process and address, by function.
    fn of_addresses(&mut self, processes: &BTreeMap<u32, BTreeMap<u64, u64>>) -> (OwnCode, Option<Refusal>) {
        let mut naming = Naming { stop: self.stop, until: Instant::now() + self.bounds.time, maps: self.bounds.maps, left_out: None };
        let (mut named, mut unnamed): (HashMap<String, u64>, u64) = (HashMap::new(), 0);
        for (number, (pid, samples)) in processes.iter().enumerate() {
            let all: u64 = samples.values().sum();
            if number == PROCESSES {
                naming.leave_out(format!("samples of more than {PROCESSES} processes"));
            }
            let files = if number < PROCESSES { self.sampled(*pid, samples, &mut naming) } else { Vec::new() };
            let mut found = 0;
            for Sampled { mut file, end, places } in files {
                for (place, count) in places {
                    if naming.over() {
                        break;
                    }
                    let Some(name) = file::name(&mut file, place, end) else { continue };
                    // A version of a symbol is no part of its function's name.
                    let name = if end == 0 { name.split('@').next().unwrap_or_default() } else { &name };
                    // What a compiler made of one function by several copies is that function.
                    *named.entry(readable(name, NAME)).or_default() += count;
                    found += count;
                }
            }
            unnamed += all - found;
        }
        let mut functions: Vec<(String, u64)> = named.into_iter().collect();
        functions.order_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let rest = functions.split_off(functions.len().min(KEPT)).into_iter().map(|(_, count)| count).sum();
        let remedy = "Samples in the rest of its own code have no name";
        let left_out = naming.left_out.map(|why| Refusal::new("names of all own code", why, remedy));
        (OwnCode { functions, rest, unnamed }, left_out)
    }

    /// Samples of a process by the places of their functions' names; those without a name are left out.
    fn sampled(&mut self, pid: u32, samples: &BTreeMap<u64, u64>, naming: &mut Naming) -> Vec<Sampled> {
        let list = file::start(format!("/proc/{pid}/maps").as_ref(), LIST + 1).unwrap_or_default();
        if list.len() as u64 > LIST {
            naming.leave_out(format!("mappings of a process beyond {} MiB of their list", LIST >> 20));
        }
        let list = String::from_utf8_lossy(&list);
        let mappings = parsed(&list, MAPPINGS, naming);
        let mut files: BTreeMap<usize, BTreeMap<u64, u64>> = BTreeMap::new();
        let mut compiled = Vec::new();
        for (address, count) in samples {
            let behind = mappings.partition_point(|one| one.start <= *address);
            let Some(number) = behind.checked_sub(1).filter(|number| *address < mappings[*number].end) else {
                compiled.push(*address);
                continue;
            };
            let mapping = &mappings[number];
            let offset = (address - mapping.start).checked_add(mapping.offset);
            let image = self.image(pid, mapping, naming);
            if let Some(place) = image.zip(offset).and_then(|(known, offset)| known.image.name(offset)) {
                *files.entry(number).or_default().entry(place).or_default() += count;
            }
        }
        let opened = files.into_iter().filter_map(|(number, places)| {
            let known = self.image(pid, &mappings[number], naming)?;
            let path = known.names.as_ref().map_or_else(|| seen_from_here(&mappings[number], pid), |path| below_root(pid, path));
            let (file, identity) = file::open(&path, |_| true)?;
            (identity == known.identity).then_some(Sampled { file, end: 0, places })
        });
        let mut sampled: Vec<Sampled> = opened.collect();
        sampled.extend((!compiled.is_empty()).then(|| in_map(pid, &compiled, samples, naming)).flatten());
        sampled
    }

    /// The functions of a mapped file.
    fn image(&mut self, pid: u32, mapping: &Line, naming: &mut Naming) -> Option<&NamedImage> {
        let key = (mapping.path.to_owned(), mapping.inode);
        if !self.images.contains_key(&key) {
            if self.images.len() >= self.bounds.files {
                naming.leave_out(format!("more than {} files", self.bounds.files));
                return None;
            }
            if naming.over() {
                return None;
            }
            // Another file may stand in its place by now.
            let opened = file::open(&seen_from_here(mapping, pid), |data| data.ino() == mapping.inode);
            let room = self.bounds.functions - self.functions;
            let read = opened.map(|(file, identity)| {
                let image = Image::read(file, room)?;
                Ok(self.known(pid, mapping.path, image, identity, naming))
            });
            if let Some(Err(Without::Room)) = read {
                let most = [self.bounds.functions as u64, image::BYTES >> 20];
                naming.leave_out(format!("more than {} functions in its files, or {} MiB of symbols in one", most[0], most[1]));
            }
            let image = read.and_then(Result::ok);
            self.functions += image.as_ref().map_or(0, |known| known.image.functions());
            self.images.insert(key.clone(), image);
        }
        self.images.get(&key)?.as_ref()
    }

    /// A file with the names of the one that has its symbols, where its own were taken off.
    fn known(&self, pid: u32, path: &str, mut image: Image, identity: Identity, naming: &mut Naming) -> NamedImage {
        let room = self.bounds.functions - self.functions;
        for (path, sum) in self.debug_files(path, image.elsewhere()) {
            let Some((mut file, identity)) = file::open(&below_root(pid, &path), |_| true) else { continue };
            // A build id in its path says whose it is, else its checksum; the file, that it holds symbols.
            let its_own = sum.is_none_or(|sum| checksum(&mut file, naming) == Some(sum));
            if its_own && Image::read(file, room).is_ok_and(|symbols| image.take_functions(symbols)) {
                return NamedImage { image, names: Some(path), identity };
            }
        }
        NamedImage { image, names: None, identity }
    }

    /// Files that may have the symbols of the one at `path`, as debuggers look for them, each with the checksum that it
    /// has to have.
    fn debug_files(&self, path: &str, elsewhere: &Elsewhere) -> Vec<(PathBuf, Option<u32>)> {
        let by_id = elsewhere.build_id.as_ref().map(|id| {
            let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
            (self.symbols.join(".build-id").join(&digits[..2]).join(format!("{}.debug", &digits[2..])), None)
        });
        let folder = Path::new(path.trim_start_matches('/')).parent().unwrap_or(Path::new(""));
        let by_name = elsewhere.link.iter().flat_map(|(name, sum)| {
            [folder.to_owned(), folder.join(".debug"), self.symbols.join(folder)].map(|folder| (folder.join(name), Some(*sum)))
        });
        by_id.into_iter().chain(by_name).collect()
    }
}

/// The checksum of a debug link over a file; `None` if it was not read to its end. The file is at its beginning again.
fn checksum(file: &mut File, naming: &mut Naming) -> Option<u32> {
    let (mut sum, mut part) = (crc32fast::Hasher::new(), vec![0; 1 << 16]);
    loop {
        if naming.over() {
            return None;
        }
        match file.read(&mut part).ok()? {
            0 => break,
            length => sum.update(&part[..length]),
        }
    }
    file.rewind().ok()?;
    Some(sum.finalize())
}

/// A path below the root of a process, as this process sees it.
fn below_root(pid: u32, path: &Path) -> PathBuf {
    Path::new(&format!("/proc/{pid}/root")).join(path)
}

/// The path of a mapped file as this process sees it.
fn seen_from_here(mapping: &Line, pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/root{}", mapping.path))
}

/// The first `most` mappings of code of a list, by their addresses.
fn parsed<'a>(list: &'a str, most: usize, naming: &mut Naming) -> Vec<Line<'a>> {
    let mut lines = list.lines().filter_map(code::parse);
    let kept = lines.by_ref().take(most).collect();
    if lines.next().is_some() {
        naming.leave_out(format!("a process with more than {most} mappings of code"));
    }
    kept
}

/// The functions at `addresses`, in their order, by the map that a run-time compiler of the process keeps,
/// under the id that the process has there.
fn in_map(pid: u32, addresses: &[u64], samples: &BTreeMap<u64, u64>, naming: &mut Naming) -> Option<Sampled> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let own = sys::process::field(&status, "NSpid")?.split_whitespace().next_back()?.parse::<u32>().ok()?;
    let user = fs::metadata(format!("/proc/{pid}")).ok()?.uid();
    let trusted = |data: &Metadata| data.uid() == user || data.uid() == 0;
    let (file, Identity { length, .. }) = file::open(format!("/proc/{pid}/root/tmp/perf-{own}.map").as_ref(), trusted)?;
    let Some(left) = naming.maps.checked_sub(length) else {
        naming.leave_out("maps of run-time compilers that are too long");
        return None;
    };
    naming.maps = left;
    let mut places = BTreeMap::new();
    for (address, place) in addresses.iter().zip(map::places((&file).take(length), addresses, || naming.over())) {
        if let Some(place) = place {
            *places.entry(place).or_default() += samples[address];
        }
    }
    Some(Sampled { file, end: b'\n', places })
}

#[cfg(test)]
mod tests;
