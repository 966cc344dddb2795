//! Memory that programs in the kernel share with this process.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::{call, refused};
use model::Refusal;

const CREATE: libc::c_int = 0;
const LOOKUP: libc::c_int = 1;
const UPDATE: libc::c_int = 2;
const NEXT_KEY: libc::c_int = 4;
const TAKE: libc::c_int = 21;
const TAKE_ALL: libc::c_int = 25;

/// A type of map (`enum bpf_map_type`), which decides how it may be read.
pub trait MapKind {
    /// The kernel's number of it.
    const NUMBER: u32;
    /// The kernel's name of it.
    const NAME: &'static str;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $number:literal $name:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind {}

        impl MapKind for $kind {
            const NUMBER: u32 = $number;
            const NAME: &'static str = $name;
        }
    )+};
}

kinds! {
    /// Values by any key.
    Hash = 1 "HASH";
    /// 64-bit numbers by place, from 0.
    Numbers = 2 "ARRAY";
    /// Memory for programs, for each CPU by itself. This process does not read it:
    /// the kernel would write a value for each possible CPU.
    Scratch = 6 "PERCPU_ARRAY";
    /// Sockets of AF_XDP by place, from 0.
    Sockets = 17 "XSKMAP";
    /// First in, first out; no keys.
    Queue = 22 "QUEUE";
    /// Records of any length, first in, first out, in memory that this process maps.
    Records = 27 "RINGBUF";
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

/// `union bpf_attr` of the commands about many elements.
#[repr(C)]
#[derive(Default)]
struct Elements {
    /// Where to go on, and where that is written for the next call.
    from: u64,
    next: u64,
    keys: u64,
    values: u64,
    /// Room, then the number there were.
    count: u32,
    map: u32,
    flags: [u64; 2],
}

/// A map. Dropped, it is gone as soon as no program uses it.
#[derive(Debug)]
pub struct Map<K> {
    descriptor: OwnedFd,
    key_size: usize,
    value_size: usize,
    kind: PhantomData<K>,
}

impl<K: MapKind> Map<K> {
    pub(super) fn make(key_size: usize, value_size: usize, entries: usize, mechanism: &str) -> Result<Self, Refusal> {
        let size = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let (key, value, entries) = (size(key_size), size(value_size), size(entries));
        let mut request = Create { kind: K::NUMBER, key_size: key, value_size: value, entries, flags: 0 };
        // SAFETY: `Create` is plain numbers, and none of them is an address.
        let made = unsafe { call(CREATE, &mut request) };
        let made = made.map_err(|error| refused(mechanism, &format!("bpf(MAP_CREATE, {})", K::NAME), &error))?;
        // SAFETY: the kernel has just made this descriptor, and nobody else has it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(made as RawFd) };
        Ok(Self { descriptor, key_size, value_size, kind: PhantomData })
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// The number by which a program names it.
    pub fn number(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    fn element(&self, key: u64, value: u64) -> Element {
        Element { map: self.number() as u32, key, value, ..Element::default() }
    }
}

impl Map<Numbers> {
    /// Makes an array of `entries` numbers, each 0.
    ///
    /// # Errors
    /// The system's answer, for `mechanism`.
    pub fn numbers(entries: usize, mechanism: &str) -> Result<Self, Refusal> {
        Self::make(size_of::<u32>(), size_of::<u64>(), entries, mechanism)
    }

    /// The number at `place`; 0 where it cannot be read.
    pub fn number_at(&self, place: u32) -> u64 {
        let mut value = 0_u64;
        let mut request = self.element((&raw const place) as u64, (&raw mut value) as u64);
        // SAFETY: the kernel reads 4 bytes, which `place` has, and writes 8, which `value` has: the
        // sizes of an array of numbers. Both outlive the call.
        unsafe { call(LOOKUP, &mut request) }.map_or(0, |_| value)
    }
}

impl Map<Sockets> {
    /// Makes an array of `entries` places for sockets.
    ///
    /// # Errors
    /// The system's answer, for `mechanism`.
    pub fn sockets(entries: usize, mechanism: &str) -> Result<Self, Refusal> {
        Self::make(size_of::<u32>(), size_of::<u32>(), entries, mechanism)
    }

    /// Puts a socket at a place.
    ///
    /// # Errors
    /// The system's answer, for `mechanism`.
    pub fn put(&self, place: u32, socket: BorrowedFd<'_>, mechanism: &str) -> Result<(), Refusal> {
        let number = socket.as_raw_fd();
        let mut request = self.element((&raw const place) as u64, (&raw const number) as u64);
        // SAFETY: the kernel reads 4 bytes of each, which both have and which outlive the call.
        let put = unsafe { call(UPDATE, &mut request) };
        put.map(drop).map_err(|error| refused(mechanism, "bpf(MAP_UPDATE_ELEM, XSKMAP)", &error))
    }
}

impl Map<Scratch> {
    /// Makes memory of `entries` values of this many bytes for each CPU.
    ///
    /// # Errors
    /// The system's answer, for `mechanism`.
    pub fn scratch(value_size: usize, entries: usize, mechanism: &str) -> Result<Self, Refusal> {
        Self::make(size_of::<u32>(), value_size, entries, mechanism)
    }
}

impl Map<Queue> {
    /// Makes a queue for `entries` values of this many bytes.
    ///
    /// # Errors
    /// The system's answer, for `mechanism`.
    pub fn queue(value_size: usize, entries: usize, mechanism: &str) -> Result<Self, Refusal> {
        Self::make(0, value_size, entries, mechanism)
    }

    /// The front, taken off; `None` of an empty queue.
    ///
    /// # Errors
    /// The system's answer.
    pub fn take(&self) -> io::Result<Option<Vec<u8>>> {
        let mut value = vec![0; self.value_size];
        let mut request = self.element(0, value.as_mut_ptr() as u64);
        // SAFETY: a queue has no keys; the kernel writes `value_size` bytes, which `value` has.
        Ok(found(unsafe { call(TAKE, &mut request) })?.then_some(value))
    }
}

impl Map<Hash> {
    /// Makes a table for `entries` pairs of these sizes, in bytes.
    ///
    /// # Errors
    /// The system's answer, for `mechanism`.
    pub fn hash(key_size: usize, value_size: usize, entries: usize, mechanism: &str) -> Result<Self, Refusal> {
        Self::make(key_size, value_size, entries, mechanism)
    }

    /// Sets the value of a key. Both must have the map's sizes.
    ///
    /// # Errors
    /// The system's answer, such as E2BIG where it is full; EINVAL for another size.
    pub fn set(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        if key.len() != self.key_size || value.len() != self.value_size {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let mut request = self.element(key.as_ptr() as u64, value.as_ptr() as u64);
        // SAFETY: the kernel reads a key and a value of the map's sizes, which both have.
        unsafe { call(UPDATE, &mut request) }.map(drop)
    }

    /// Every key with its value; at most `limit`. Meant for maps that no
    /// program changes any more.
    ///
    /// # Errors
    /// The system's answer.
    pub fn entries(&self, limit: usize) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let mut key: Option<Vec<u8>> = None;
        while pairs.len() < limit {
            let mut next = vec![0; self.key_size];
            let before = key.as_ref().map_or(0, |key| key.as_ptr() as u64);
            let mut request = self.element(before, next.as_mut_ptr() as u64);
            // SAFETY: the kernel reads a key of `key_size` bytes, if one is given, and writes another:
            // both vectors have as many.
            if !found(unsafe { call(NEXT_KEY, &mut request) })? {
                break;
            }
            let mut value = vec![0; self.value_size];
            let mut request = self.element(next.as_ptr() as u64, value.as_mut_ptr() as u64);
            // SAFETY: the key has `key_size` bytes and the value room for `value_size`, which is all
            // of a table that has one value for all CPUs.
            if found(unsafe { call(LOOKUP, &mut request) })? {
                pairs.push((next.clone(), value));
            }
            key = Some(next);
        }
        Ok(pairs)
    }
}

impl Map<Hash> {
    /// Takes every pair out, at most `limit`, also while programs add some (Linux 5.6): a change that a program makes
    /// to a value just then may be lost.
    ///
    /// # Errors
    /// The system's answer.
    pub fn take_all(&self, limit: u32) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let room = limit as usize;
        let (mut keys, mut values) = (vec![0; room * self.key_size], vec![0; room * self.value_size]);
        let mut next = 0_u32;
        let mut request = Elements {
            next: (&raw mut next) as u64,
            keys: keys.as_mut_ptr() as u64,
            values: values.as_mut_ptr() as u64,
            count: limit,
            map: self.number() as u32,
            ..Elements::default()
        };
        // SAFETY: the kernel writes at most `count` keys and values of the map's sizes, for which both vectors have
        // room, and to `next` the 4 bytes that a table's place has. All outlive the call.
        found(unsafe { call(TAKE_ALL, &mut request) })?;
        let count = room.min(request.count as usize);
        let pairs = keys.chunks_exact(self.key_size).zip(values.chunks_exact(self.value_size)).take(count);
        Ok(pairs.map(|(key, value)| (key.to_vec(), value.to_vec())).collect())
    }
}

/// Returns whether there was such an element.
fn found(answer: io::Result<libc::c_long>) -> io::Result<bool> {
    match answer {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(error) => Err(error),
    }
}
