//! Memory that programs in the kernel share with this process.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::{call, refused};
use model::Unavailable;

const CREATE: libc::c_int = 0;
const LOOKUP: libc::c_int = 1;
const NEXT_KEY: libc::c_int = 4;
const TAKE: libc::c_int = 21;

/// A kind of map (`enum bpf_map_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum MapKind {
    /// Values by any key.
    Hash = 1,
    /// Values by number, from 0.
    Array = 2,
    /// The same for each CPU by itself.
    PerCpuArray = 6,
    /// First in, first out; no keys.
    Queue = 22,
}

#[repr(C)]
#[derive(Default)]
struct Create {
    kind: u32,
    key_size: u32,
    value_size: u32,
    entries: u32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct Element {
    map: u32,
    padding: u32,
    key: u64,
    /// The value, or the next key.
    value: u64,
    flags: u64,
}

/// A map. Dropped, it is gone as soon as no program uses it.
#[derive(Debug)]
pub struct Map {
    descriptor: OwnedFd,
    key_size: usize,
    value_size: usize,
}

impl Map {
    /// Makes a map of `entries` of these sizes, in bytes; a queue's keys have none.
    ///
    /// # Errors
    /// The system's answer, for `mechanism`.
    pub fn new(kind: MapKind, key_size: usize, value_size: usize, entries: usize, mechanism: &str) -> Result<Self, Unavailable> {
        let size = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let (key, value, entries) = (size(key_size), size(value_size), size(entries));
        let mut request = Create { kind: kind as u32, key_size: key, value_size: value, entries, flags: 0 };
        let made = call(CREATE, &mut request).map_err(|error| refused(mechanism, &format!("bpf(MAP_CREATE, {kind:?})"), &error))?;
        // SAFETY: the kernel has just made this descriptor, and nobody else has it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(made as RawFd) };
        Ok(Self { descriptor, key_size, value_size })
    }

    /// The number by which a program names it.
    pub fn number(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// The value of a key, or the front of a queue, taken off; `None` when
    /// there is none. Not for maps with a value for each CPU.
    ///
    /// # Errors
    /// The system's answer.
    fn element(&self, command: libc::c_int, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        debug_assert_eq!(key.len(), self.key_size);
        let mut value = vec![0; self.value_size];
        let key = if key.is_empty() { 0 } else { key.as_ptr() as u64 };
        let mut request = Element { map: self.number() as u32, key, value: value.as_mut_ptr() as u64, ..Element::default() };
        // The key has `key_size` bytes and the value room for `value_size`, as the map was made with.
        match call(command, &mut request) {
            Ok(_) => Ok(Some(value)),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The number at `place` of an array of 64-bit numbers; 0 where it cannot be read.
    pub fn number_at(&self, place: u32) -> u64 {
        let value = self.element(LOOKUP, &place.to_ne_bytes()).ok().flatten();
        value.and_then(|value| Some(u64::from_ne_bytes(value.get(..8)?.try_into().ok()?))).unwrap_or(0)
    }

    /// The front of a queue, taken off.
    ///
    /// # Errors
    /// The system's answer.
    pub fn take(&self) -> io::Result<Option<Vec<u8>>> {
        self.element(TAKE, &[])
    }

    /// Every key with its value; at most `limit`. Meant for maps that no
    /// program changes any more.
    ///
    /// # Errors
    /// The system's answer.
    pub fn entries(&self, limit: usize) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut found = Vec::new();
        let mut key: Option<Vec<u8>> = None;
        while found.len() < limit {
            let mut next = vec![0; self.key_size];
            let before = key.as_ref().map_or(0, |key| key.as_ptr() as u64);
            let mut request = Element { map: self.number() as u32, key: before, value: next.as_mut_ptr() as u64, ..Element::default() };
            match call(NEXT_KEY, &mut request) {
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => break,
                Err(error) => return Err(error),
            }
            if let Some(value) = self.element(LOOKUP, &next)? {
                found.push((next.clone(), value));
            }
            key = Some(next);
        }
        Ok(found)
    }
}
