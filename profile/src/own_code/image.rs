//! The functions of an ELF file: where each begins and ends, and where in the file its name stands.
//!
//! A file may have a million symbols that share one name of megabytes. So names are not read here.

use std::cell::Cell;
use std::io::{Read, Seek};
use std::ops::{Range, RangeInclusive};

use object::elf::{
    ELF_NOTE_GNU, FileHeader32, FileHeader64, NT_GNU_BUILD_ID, PT_LOAD, SHF_ALLOC, SHT_DYNSYM, SHT_PROGBITS, SHT_SYMTAB, STT_FUNC,
    STT_GNU_IFUNC,
};
use object::read::StringTable;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};
use object::{Endian, Endianness, FileKind, ReadCache, ReadRef};

/// The most parts of a file that are mapped.
const SEGMENTS: usize = 4096;
/// The most bytes of headers and symbols of one file.
pub const BYTES: u64 = 40 << 20;
/// Bytes of a build id.
const BUILD_ID: RangeInclusive<usize> = 2..=64;
/// Name of the section that says which file has the symbols.
const DEBUG_LINK: &[u8] = b".gnu_debuglink\0";
/// Bytes of that section: a name, zeros up to a multiple of four, a checksum.
const LINK_BYTES: RangeInclusive<u64> = 8..=512;
/// The most sections of such a length that are looked at.
const SECTIONS: usize = 64;
/// Reach of a symbol that says no size, where no other follows.
const UNSIZED: u64 = 4096;

/// The functions of a file, and where it is mapped from.
#[derive(Debug, Default)]
pub struct Image {
    /// Parts that are loaded: place in the file, length, address.
    segments: Vec<[u64; 3]>,
    /// By their first addresses, no two of them alike.
    functions: Vec<Function>,
    /// Where its symbols are: nothing where it has a symbol table of its own.
    elsewhere: Elsewhere,
}

/// Which file has the symbols that were taken off another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// Both files' build id.
    pub build_id: Option<Vec<u8>>,
    /// The file's name and its checksum.
    pub link: Option<(String, u32)>,
}

/// A function of a file.
#[derive(Debug, Clone, Copy)]
struct Function {
    start: u64,
    /// The first address behind it.
    end: u64,
    /// Where its name begins in the file.
    name: u64,
}

/// Why a file's functions are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Without {
    /// It has none that have a name, or is no such file.
    Functions,
    /// It has more than there is room for.
    Room,
}

impl Image {
    /// Reads an ELF file, and at most `room` of its functions. Bytes that are read number at most
    /// [`BYTES`].
    ///
    /// # Errors
    /// Any other file, one without a function's name, one with more of them.
    pub fn read(file: impl Read + Seek, room: usize) -> Result<Self, Without> {
        let cache = ReadCache::new(file);
        let (left, short) = (Cell::new(BYTES), Cell::new(false));
        let parts = Parts { cache: &cache, left: &left, short: &short };
        let read = match FileKind::parse(parts) {
            Ok(FileKind::Elf64) => elf::<FileHeader64<Endianness>, _>(parts, room),
            Ok(FileKind::Elf32) => elf::<FileHeader32<Endianness>, _>(parts, room),
            _ => Err(Without::Functions),
        };
        if short.get() { Err(Without::Room) } else { read }
    }

    /// Where the symbols are that were taken off.
    pub const fn elsewhere(&self) -> &Elsewhere {
        &self.elsewhere
    }

    /// Takes the functions of the file that has its symbols, if it has any.
    pub fn take_functions(&mut self, symbols: Self) -> bool {
        let any = !symbols.functions.is_empty();
        if any {
            self.functions = symbols.functions;
        }
        any
    }

    /// How many functions it has.
    pub fn functions(&self) -> usize {
        self.functions.len()
    }

    /// Where the name of the function at a place of the file begins in the file.
    pub fn name(&self, offset: u64) -> Option<u64> {
        let [start, _, address] =
            self.segments.iter().find(|[start, length, _]| offset.checked_sub(*start).is_some_and(|at| at < *length))?;
        let address = address.checked_add(offset - start)?;
        let behind = self.functions.partition_point(|function| function.start <= address);
        let function = self.functions.get(behind.checked_sub(1)?)?;
        (address < function.end).then_some(function.name)
    }
}

fn elf<'a, E: FileHeader<Endian = Endianness>, R: ReadRef<'a>>(data: R, room: usize) -> Result<Image, Without> {
    let none = |_| Without::Functions;
    let header = E::parse(data).map_err(none)?;
    let endian = header.endian().map_err(none)?;
    let loaded = header.program_headers(endian, data).map_err(none)?.iter().filter(|part| part.p_type(endian) == PT_LOAD);
    let segments = loaded
        .map(|part| {
            let (offset, length) = part.file_range(endian);
            [offset, length, part.p_vaddr(endian).into()]
        })
        .take(SEGMENTS)
        .collect();
    // Of their own names only that of the debug link is asked for.
    let sections: SectionTable<'a, E, R> = SectionTable::new(header.section_headers(endian, data).map_err(none)?, StringTable::default());
    let (mut functions, mut whole) = (Vec::new(), false);
    for kind in [SHT_DYNSYM, SHT_SYMTAB] {
        let Ok(table) = sections.symbols(endian, data, kind) else { continue };
        let Ok(names) = sections.section(table.string_section()) else { continue };
        let names: u64 = names.sh_offset(endian).into();
        whole |= kind == SHT_SYMTAB && !table.is_empty();
        for symbol in table.iter() {
            // The name of a function does not say whether it is defined.
            let kind = matches!(symbol.st_type(), STT_FUNC | STT_GNU_IFUNC);
            let name = symbol.st_name(endian);
            if !kind || !symbol.is_definition::<R>(endian, StringTable::default()) || name == 0 {
                continue;
            }
            if functions.len() == room {
                return Err(Without::Room);
            }
            let (start, size): (u64, u64) = (symbol.st_value(endian).into(), symbol.st_size(endian).into());
            let end = start.saturating_add(if size > 0 { size } else { UNSIZED });
            functions.push(Function { start, end, name: names.saturating_add(name.into()) });
        }
    }
    // Of those that begin alike the last one counts.
    functions.reverse();
    functions.sort_by_key(|function| function.start);
    functions.dedup_by_key(|function| function.start);
    functions.shrink_to_fit();
    let elsewhere = if whole {
        Elsewhere::default()
    } else {
        Elsewhere { build_id: build_id(header, endian, data), link: debug_link(header, endian, data, &sections) }
    };
    let any = !functions.is_empty() || elsewhere != Elsewhere::default();
    any.then_some(Image { segments, functions, elsewhere }).ok_or(Without::Functions)
}

fn debug_link<'a, E, R>(header: &E, endian: Endianness, data: R, sections: &SectionTable<'a, E, R>) -> Option<(String, u32)>
where
    E: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let names: u64 = sections.section(header.section_strings_index(endian, data).ok()?).ok()?.sh_offset(endian).into();
    let possible = sections.iter().filter(|section| {
        let loaded = section.sh_flags(endian).contains(SHF_ALLOC);
        section.sh_type(endian) == SHT_PROGBITS && !loaded && LINK_BYTES.contains(&section.sh_size(endian).into())
    });
    let named = |section: &&E::SectionHeader| {
        let place = names.saturating_add(section.sh_name(endian).into());
        data.read_bytes_at(place, DEBUG_LINK.len() as u64) == Ok(DEBUG_LINK)
    };
    let bytes = possible.take(SECTIONS).find(named)?.data(endian, data).ok()?;
    let length = bytes.iter().position(|byte| *byte == 0)?;
    let name = std::str::from_utf8(&bytes[..length]).ok()?;
    let sum = bytes.get((length + 1).next_multiple_of(4)..)?.first_chunk()?;
    let sum = if endian.is_big_endian() { u32::from_be_bytes(*sum) } else { u32::from_le_bytes(*sum) };
    // A name alone: a path would lead out of the folders that are searched.
    (!matches!(name, "" | "." | "..") && !name.contains('/')).then(|| (name.to_owned(), sum))
}

fn build_id<'a, E: FileHeader<Endian = Endianness>, R: ReadRef<'a>>(header: &E, endian: Endianness, data: R) -> Option<Vec<u8>> {
    for part in header.program_headers(endian, data).ok()?.iter().take(SEGMENTS) {
        let Ok(Some(mut notes)) = part.notes(endian, data) else { continue };
        while let Ok(Some(note)) = notes.next() {
            if note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID {
                return Some(note.desc().to_vec()).filter(|id| BUILD_ID.contains(&id.len()));
            }
        }
    }
    None
}

/// Parts of a file as they are asked for, together at most as many bytes as are left: a section
/// may claim to be as long as its file.
struct Parts<'a, R: Read + Seek> {
    cache: &'a ReadCache<R>,
    left: &'a Cell<u64>,
    short: &'a Cell<bool>,
}

impl<R: Read + Seek> Clone for Parts<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Read + Seek> Copy for Parts<'_, R> {}

impl<'a, R: Read + Seek> ReadRef<'a> for Parts<'a, R> {
    fn len(self) -> Result<u64, ()> {
        self.cache.len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        // One that is longer than its file is broken, and no matter of room.
        let there = offset.checked_add(size).is_some_and(|end| self.cache.len().is_ok_and(|length| end <= length));
        let left = self.left.get().checked_sub(size);
        self.short.set(self.short.get() || (there && left.is_none()));
        self.left.set(left.ok_or(())?);
        self.cache.read_bytes_at(offset, size)
    }

    /// Strings are not read here.
    fn read_bytes_at_until(self, _: Range<u64>, _: u8) -> Result<&'a [u8], ()> {
        Err(())
    }
}
