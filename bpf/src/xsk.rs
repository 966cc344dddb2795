//! Sockets of AF_XDP: their memory for frames, and the rings that they share with the kernel
//! (its Documentation/networking/af_xdp.rst).

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sys::{Access, KernelRefusal, Mapping};

// Of the kernel's include/uapi/linux/if_xdp.h.
const SOL_XDP: libc::c_int = 283;
const XDP_MMAP_OFFSETS: libc::c_int = 1;
const XDP_UMEM_REG: libc::c_int = 4;
const XDP_STATISTICS: libc::c_int = 7;
const XDP_COPY: u16 = 1 << 1;
const XDP_ZEROCOPY: u16 = 1 << 2;
/// Option that makes the ring of frames that came.
pub const XDP_RX_RING: libc::c_int = 2;
/// Option that makes the ring of frames to send.
pub const XDP_TX_RING: libc::c_int = 3;
/// Option that makes the ring of memory for frames that are to come.
pub const XDP_UMEM_FILL_RING: libc::c_int = 5;
/// Option that makes the ring of memory whose frames were sent.
pub const XDP_UMEM_COMPLETION_RING: libc::c_int = 6;
/// Place of the ring of frames that came in the socket's file.
pub const PGOFF_RX_RING: libc::off_t = 0;
/// Place of the ring of frames to send.
pub const PGOFF_TX_RING: libc::off_t = 0x8000_0000;
/// Place of the ring of memory for frames that are to come.
pub const PGOFF_FILL_RING: libc::off_t = 0x1_0000_0000;
/// Place of the ring of memory whose frames were sent.
pub const PGOFF_COMPLETION_RING: libc::off_t = 0x1_8000_0000;
/// Bytes that the kernel leaves free before a frame that came (`XDP_PACKET_HEADROOM`).
pub const HEADROOM: usize = 256;
/// Bytes of a frame's memory, the most that there are.
pub const CHUNK: usize = 4_096;
/// Places of each ring: more than a batch has, a power of two.
pub const PLACES: u32 = 2_048;
/// Time that a queue may take to be free again after another socket has left it.
const BUSY: Duration = Duration::from_millis(200);

/// Who moves frames between their memory and a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mover {
    /// The kernel copies them, over every device.
    Kernel,
    /// The device reads and writes the memory itself, where its driver can have it do so.
    Device,
}

/// `struct xdp_umem_reg` of the first kernels that had it.
#[repr(C)]
struct Register {
    address: u64,
    length: u64,
    chunk: u32,
    headroom: u32,
}

/// Where a ring's parts lie in its mapping (`struct xdp_ring_offset`).
#[repr(C)]
#[derive(Default, Clone, Copy)]
pub struct Offsets {
    producer: u64,
    consumer: u64,
    places: u64,
    flags: u64,
}

/// `struct sockaddr_xdp`.
#[repr(C)]
struct Address {
    family: u16,
    flags: u16,
    device: u32,
    queue: u32,
    shared: u32,
}

/// Place of a frame in the memory (`struct xdp_desc`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Descriptor {
    /// Where the frame lies in the memory.
    pub address: u64,
    /// Its bytes.
    pub length: u32,
    /// Flags; 0.
    pub options: u32,
}

/// What a place of a ring holds: a frame's place, or the address of a frame's memory.
pub trait RingEntry: Copy + plain::Plain {}

impl RingEntry for Descriptor {}
impl RingEntry for u64 {}

mod plain {
    /// Plain numbers, which any bytes are.
    pub trait Plain {}
    impl Plain for super::Descriptor {}
    impl Plain for u64 {}
}

/// A ring that is shared with the kernel, of [`PLACES`] places that hold a `T` each.
#[derive(Debug)]
pub struct Ring<T> {
    memory: Mapping,
    producer: usize,
    consumer: usize,
    places: usize,
    holds: PhantomData<T>,
}

impl<T: RingEntry> Ring<T> {
    fn map(file: &OwnedFd, offsets: Offsets, page: libc::off_t) -> io::Result<Self> {
        let number = |offset: u64| usize::try_from(offset).ok();
        let counter = |offset: &usize| offset.is_multiple_of(align_of::<AtomicU32>());
        let parts = || {
            let places = number(offsets.places).filter(|places| places.is_multiple_of(align_of::<T>()))?;
            let producer = number(offsets.producer).filter(counter)?;
            let consumer = number(offsets.consumer).filter(counter)?;
            let length = places.checked_add(PLACES as usize * size_of::<T>())?;
            // Neither counter overlaps a place.
            (producer.max(consumer).checked_add(4)? <= places).then_some((producer, consumer, places, length))
        };
        let (producer, consumer, places, length) = parts().ok_or_else(|| io::Error::other("the kernel's offsets lead out of the ring"))?;
        // The kernel refuses one that is longer than its ring.
        let memory = Mapping::of(file, page, length, Access::WriteAtOnce)?;
        Ok(Self { memory, producer, consumer, places, holds: PhantomData })
    }

    #[inline]
    fn counter(&self, offset: usize) -> &AtomicU32 {
        self.memory.word(offset)
    }

    /// Number of places that were consumed since the beginning.
    #[inline]
    pub fn consumed(&self) -> u32 {
        self.counter(self.consumer).load(Ordering::Acquire)
    }

    /// Number of places that were produced.
    #[inline]
    pub fn produced(&self) -> u32 {
        self.counter(self.producer).load(Ordering::Acquire)
    }

    /// Tells the kernel how many places were consumed.
    #[inline]
    pub fn set_consumed(&self, number: u32) {
        self.counter(self.consumer).store(number, Ordering::Release);
    }

    /// Tells the kernel how many places were produced.
    #[inline]
    pub fn set_produced(&self, number: u32) {
        self.counter(self.producer).store(number, Ordering::Release);
    }

    #[inline]
    fn place(&self, number: u32) -> NonNull<T> {
        self.memory.place(self.places + (number & (PLACES - 1)) as usize * size_of::<T>(), size_of::<T>()).cast()
    }

    /// Reads what a place holds, by its number since the beginning.
    #[inline]
    pub fn read(&self, number: u32) -> T {
        // SAFETY: the place lies within the ring and is aligned, and any bytes make a plain number; the kernel
        // wrote it before it told of it.
        unsafe { self.place(number).read() }
    }

    /// Writes the content of a place, by its number since the beginning.
    #[inline]
    pub fn write(&self, number: u32, held: T) {
        // SAFETY: the place lies within the ring; the kernel reads it when it is told of it.
        unsafe { self.place(number).write(held) };
    }
}

/// An AF_XDP socket without memory or rings.
///
/// # Errors
/// A refusal of the system, with what it takes.
pub fn xdp_socket() -> io::Result<OwnedFd> {
    // SAFETY: the call reads no memory.
    let socket = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        let answer = io::Error::last_os_error();
        let what = match answer.raw_os_error() {
            Some(libc::EPERM) => "socket AF_XDP needs CAP_NET_RAW in the host's network namespace",
            _ => "this kernel has no AF_XDP (CONFIG_XDP_SOCKETS), socket AF_XDP",
        };
        return Err(KernelRefusal::error(what, answer));
    }
    // SAFETY: the descriptor is open and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Makes one of a socket's rings, of [`PLACES`] places.
///
/// # Errors
/// A refusal of the system.
pub fn make_ring(socket: &OwnedFd, option: libc::c_int) -> io::Result<()> {
    set(socket, option, &PLACES, "make the rings of an AF_XDP socket")
}

/// Sets an option that is a structure of plain numbers.
fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T, what: &str) -> io::Result<()> {
    // SAFETY: the call reads the value, which outlives it; memory that a registration names
    // lives as long as the socket.
    let answer = unsafe { libc::setsockopt(socket.as_raw_fd(), SOL_XDP, option, ptr::from_ref(value).cast(), size_of::<T>() as u32) };
    if answer == 0 { Ok(()) } else { Err(KernelRefusal::error(what, io::Error::last_os_error())) }
}

/// Tells the kernel of the frames' memory: `length` bytes from `memory` on, which begins on a page.
///
/// # Errors
/// A refusal of the system.
///
/// # Safety
/// The memory is there for as long as the socket is open, and a reader or writer of a frame there
/// knows that the kernel does not do so at the same time.
pub unsafe fn register(socket: &OwnedFd, memory: NonNull<u8>, length: usize) -> io::Result<()> {
    let request = Register { address: memory.as_ptr() as u64, length: length as u64, chunk: CHUNK as u32, headroom: 0 };
    let what = "lock the memory of frames (XDP_UMEM_REG; `ulimit -l` bounds it)";
    set(socket, XDP_UMEM_REG, &request, what)
}

/// Offsets of the rings: of receiving, sending, filling and completing.
///
/// # Errors
/// A refusal of the system.
pub fn offsets(socket: &OwnedFd) -> io::Result<[Offsets; 4]> {
    let mut offsets = [Offsets::default(); 4];
    let mut length = size_of_val(&offsets) as libc::socklen_t;
    // SAFETY: the call writes at most as many bytes as there are, which outlive it.
    let answer = unsafe { libc::getsockopt(socket.as_raw_fd(), SOL_XDP, XDP_MMAP_OFFSETS, offsets.as_mut_ptr().cast(), &raw mut length) };
    if answer != 0 || length as usize != size_of_val(&offsets) {
        return Err(KernelRefusal::error("ask for the rings of an AF_XDP socket (XDP_MMAP_OFFSETS)", io::Error::last_os_error()));
    }
    Ok(offsets)
}

/// A ring as it is mapped.
///
/// # Errors
/// A refusal of the system.
pub fn map<T: RingEntry>(socket: &OwnedFd, offsets: Offsets, page: libc::off_t) -> io::Result<Ring<T>> {
    Ring::map(socket, offsets, page).map_err(|answer| KernelRefusal::error("map the rings of an AF_XDP socket", answer))
}

/// Gives the kernel the memory of `count` frames, a power of two, from frame `first` of the socket's on.
///
/// # Errors
/// A refusal of the system.
pub fn offer(socket: &OwnedFd, offsets: &[Offsets; 4], first: usize, count: u32) -> io::Result<Ring<u64>> {
    let filled: Ring<u64> = map(socket, offsets[2], PGOFF_FILL_RING)?;
    (0..count).for_each(|number| filled.write(number, ((first + number as usize) * CHUNK) as u64));
    filled.set_produced(count);
    Ok(filled)
}

/// Binds to the first queue of a device. Right after another socket has left it, it may be
/// busy for a while.
///
/// # Errors
/// A refusal of the system.
pub fn bind(socket: &OwnedFd, device: u32, mover: Mover) -> io::Result<()> {
    let flags = if mover == Mover::Kernel { XDP_COPY } else { XDP_ZEROCOPY };
    let address = Address { family: libc::AF_XDP as u16, flags, device, queue: 0, shared: 0 };
    let since = Instant::now();
    loop {
        // SAFETY: the call reads the address, which outlives it.
        let answer = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size_of::<Address>() as libc::socklen_t) };
        let refused = io::Error::last_os_error();
        match refused.raw_os_error() {
            _ if answer == 0 => return Ok(()),
            Some(libc::EBUSY) if since.elapsed() < BUSY => thread::sleep(Duration::from_millis(5)),
            errno => return Err(KernelRefusal::error(refused_bind(mover, errno), refused)),
        }
    }
}

fn refused_bind(mover: Mover, errno: Option<i32>) -> &'static str {
    match (mover, errno) {
        (Mover::Device, Some(libc::EOPNOTSUPP)) => {
            "the driver of the link's device does not take frames without a copy, as virtual Ethernet does not (use xdp); bind an AF_XDP socket with XDP_ZEROCOPY"
        }
        (Mover::Device, _) => "bind an AF_XDP socket to the link's device without a copy (XDP_ZEROCOPY); its queue has one such socket",
        (Mover::Kernel, _) => "bind an AF_XDP socket to the link's device in copy mode; its queue has one such socket",
    }
}

const _: () = assert!(size_of::<Register>() == 24 && size_of::<Address>() == 16);

/// Frames that the kernel dropped because there was no memory for them, or no place in the ring.
/// `rx_fill_ring_empty_descs` counts the former again.
///
/// # Errors
/// A refusal of the system.
pub fn dropped(socket: &OwnedFd) -> io::Result<[(&'static str, u64); 2]> {
    /// Places in `struct xdp_statistics`.
    const DROPPED: usize = 0;
    const RING_FULL: usize = 3;
    let mut counts = [0; 48];
    sys::socket::get(socket.as_raw_fd(), SOL_XDP, XDP_STATISTICS, &mut counts)?;
    let count = |place: usize| counts[8 * place..].first_chunk().map_or(0, |count| u64::from_ne_bytes(*count));
    Ok([("AF_XDP rx_dropped", count(DROPPED)), ("AF_XDP rx_ring_full", count(RING_FULL))])
}

#[cfg(test)]
mod tests {
    use std::os::fd::FromRawFd;

    use super::{Descriptor, Offsets, OwnedFd, PLACES, Ring, RingEntry};

    /// Memory in the place of a socket's ring, with a page behind it that nothing may touch.
    #[expect(clippy::disallowed_methods, reason = "a test runs where it was built, and not with an older C library")]
    fn memory(bytes: usize) -> OwnedFd {
        // SAFETY: the name ends with a zero; the descriptor is open and has no other owner.
        let file = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"ring".as_ptr(), 0)) };
        std::fs::File::from(file.try_clone().unwrap()).set_len(bytes as u64).unwrap();
        file
    }

    const AT: Offsets = Offsets { producer: 0, consumer: 64, places: 128, flags: 0 };

    fn filled<T: RingEntry + PartialEq + std::fmt::Debug>(make: impl Fn(u32) -> T) {
        let file = memory(128 + PLACES as usize * size_of::<T>());
        let ring = Ring::<T>::map(&file, AT, 0).unwrap();
        for number in (0..PLACES).chain([u32::MAX - 1, u32::MAX]) {
            ring.write(number, make(number));
            assert_eq!(ring.read(number), make(number));
        }
        ring.set_produced(7);
        ring.set_consumed(5);
        assert_eq!((ring.produced(), ring.consumed(), ring.read(0)), (7, 5, make(0)), "counters are apart from places");
    }

    #[test]
    fn every_place_lies_within_the_ring_whatever_it_holds() {
        filled(u64::from);
        filled(|number| Descriptor { address: u64::from(number), length: number, options: 0 });
    }

    #[test]
    fn offsets_that_lead_out_of_a_ring_are_refused() {
        let file = memory(1 << 20);
        for wrong in [
            Offsets { places: 64, ..AT },
            Offsets { places: 132, ..AT },
            Offsets { places: u64::MAX - 7, ..AT },
            Offsets { producer: 2, ..AT },
            Offsets { consumer: u64::MAX - 3, ..AT },
        ] {
            assert!(Ring::<u64>::map(&file, wrong, 0).is_err());
        }
    }
}
