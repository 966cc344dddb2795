//! Loading a program, and tying it to an event.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::{call, refused, remedy};
use model::Refusal;
use sys::errno_name;

const LOAD: libc::c_int = 5;
pub(super) const INFO: libc::c_int = 15;
const ATTACH: libc::c_int = 17;
const LINK: libc::c_int = 28;
const ITERATE: libc::c_int = 33;
/// `_IOW('$', 8, u32)`: ties a program to an event.
const TIE: libc::c_ulong = 0x4004_2408;

const TYPE_SOCKET_FILTER: u32 = 1;
const TYPE_XDP: u32 = 6;
const TYPE_PERF_EVENT: u32 = 7;
const TYPE_RAW_TRACEPOINT: u32 = 17;
const TYPE_TRACING: u32 = 26;
const ATTACH_TRACEPOINT: u32 = 23;
const ATTACH_ENTRY: u32 = 24;
const ATTACH_ITERATOR: u32 = 28;
const ATTACH_XDP: u32 = 37;

/// Room for what the kernel's verifier says about a program that it refuses.
const LOG: usize = 64 << 10;

/// `union bpf_attr` for a load, up to the last field in use (the kernel's
/// `include/uapi/linux/bpf.h`). What the kernel does not know it takes for an
/// error only where it is not zero.
#[repr(C)]
#[derive(Default)]
struct Load {
    kind: u32,
    instructions: u32,
    code: u64,
    licence: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    device: u32,
    attach_type: u32,
    type_information: [u32; 2],
    function_information: u64,
    counts: [u32; 2],
    line_information: u64,
    lines: u32,
    attach_id: u32,
}

const _: () = assert!(size_of::<Load>() == 112);

#[repr(C)]
#[derive(Default)]
struct Attach {
    name: u64,
    program: u32,
    padding: u32,
}

/// `union bpf_attr` for a link, up to its flags.
#[repr(C)]
#[derive(Default)]
struct Link {
    program: u32,
    device: u32,
    attach_type: u32,
    flags: u32,
}

/// Where the frames of a device meet a program (`XDP_FLAGS_*` of the kernel's
/// include/uapi/linux/if_link.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XdpMode {
    /// In the network stack, with any driver.
    Generic,
    /// In the driver, before the kernel's own memory for a frame is made.
    Native,
}

impl XdpMode {
    const fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Native => "native",
        }
    }

    const fn flags(self) -> u32 {
        match self {
            Self::Generic => 1 << 1,
            Self::Native => 1 << 2,
        }
    }
}

#[repr(C)]
#[derive(Default)]
struct Iterate {
    link: u32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct Info {
    pub program: u32,
    pub length: u32,
    pub info: u64,
}

/// `struct bpf_prog_info` up to `recursion_misses` (Linux 5.12), in words of 8 bytes.
const INFO_WORDS: usize = 27;
const RECURSION_MISSES: usize = 26;

/// A type of program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramKind {
    /// Filters a socket. What an unprivileged user may load, if anything.
    SocketFilter,
    /// Runs for each frame that a device receives.
    Xdp,
    /// Runs at each sample of a perf event; one that ends with 0 takes the sample's record away.
    PerfEvent,
    /// Runs at a kernel tracepoint.
    RawTracepoint,
    /// Runs at the kernel tracepoint whose arguments have the type of this id in the kernel's
    /// type information (`btf_trace_NAME`), so that it may read their fields.
    TypedTracepoint(u32),
    /// Runs at the entry of one kernel function, given by its id in the
    /// kernel's type information.
    FunctionEntry(u32),
    /// Runs for each of a kind of things that the kernel has, given by the id of the kind's function
    /// (`bpf_iter_NAME`) in the kernel's type information, whenever it is read.
    Iterator(u32),
}

impl ProgramKind {
    const fn name(self) -> &'static str {
        match self {
            Self::SocketFilter => "SOCKET_FILTER",
            Self::Xdp => "XDP",
            Self::PerfEvent => "PERF_EVENT",
            Self::RawTracepoint => "RAW_TRACEPOINT",
            Self::TypedTracepoint(_) => "TRACING, tp_btf",
            Self::FunctionEntry(_) => "TRACING, fentry",
            Self::Iterator(_) => "TRACING, iter",
        }
    }

    /// The request to the kernel; `code` has to outlive the call.
    fn request(self, code: &[[u8; 8]]) -> Load {
        let (kind, attach_type, attach_id) = match self {
            Self::SocketFilter => (TYPE_SOCKET_FILTER, 0, 0),
            Self::Xdp => (TYPE_XDP, ATTACH_XDP, 0),
            Self::PerfEvent => (TYPE_PERF_EVENT, 0, 0),
            Self::RawTracepoint => (TYPE_RAW_TRACEPOINT, 0, 0),
            Self::TypedTracepoint(id) => (TYPE_TRACING, ATTACH_TRACEPOINT, id),
            Self::FunctionEntry(id) => (TYPE_TRACING, ATTACH_ENTRY, id),
            Self::Iterator(id) => (TYPE_TRACING, ATTACH_ITERATOR, id),
        };
        Load {
            kind,
            instructions: u32::try_from(code.len()).unwrap_or(u32::MAX),
            code: code.as_ptr() as u64,
            licence: c"GPL".as_ptr() as u64,
            attach_type,
            attach_id,
            ..Load::default()
        }
    }
}

/// `return 0`: `r0 = 0` and `exit`, eight bytes each.
const RETURN_ZERO: [[u8; 8]; 2] = [[0xb7, 0, 0, 0, 0, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]];

/// Has the kernel verify and load a program that does nothing, and drops it.
/// It is attached nowhere.
///
/// # Errors
/// The system's answer, such as EPERM (no CAP_BPF, or forbidden altogether).
pub fn probe(kind: ProgramKind) -> io::Result<()> {
    // SAFETY: code and licence are constants; no log is asked for.
    unsafe { call(LOAD, &mut kind.request(&RETURN_ZERO)) }.map(|loaded| drop(descriptor(loaded)))
}

/// A loaded program.
#[derive(Debug)]
pub struct Program {
    descriptor: OwnedFd,
}

/// A program that is tied to an event. Dropped, it is untied, and unloaded.
#[derive(Debug)]
pub struct Attached {
    program: Program,
    _link: OwnedFd,
}

impl Program {
    /// Has the kernel verify and load a program of this type.
    ///
    /// # Errors
    /// The system's answer and the verifier's last words, for `mechanism`.
    pub fn load(code: &[[u8; 8]], kind: ProgramKind, mechanism: &str) -> Result<Self, Refusal> {
        let mut request = kind.request(code);
        // SAFETY: code and licence outlive the call; no log is asked for.
        let mut loaded = unsafe { call(LOAD, &mut request) };
        let mut words = String::new();
        if loaded.as_ref().is_err_and(|error| !matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS))) {
            let mut log = vec![0_u8; LOG];
            (request.log_level, request.log_size, request.log) = (1, LOG as u32, log.as_mut_ptr() as u64);
            // SAFETY: as before; the kernel writes `log_size` bytes at most, which `log` has.
            loaded = unsafe { call(LOAD, &mut request) };
            words = last_words(&log);
        }
        let loaded = loaded.map_err(|error| {
            let words = if words.is_empty() { words } else { format!("; {words}") };
            Refusal::new(mechanism, format!("bpf(PROG_LOAD, {}): {}{words}", kind.name(), errno_name(&error)), remedy(&error))
        })?;
        Ok(Self { descriptor: descriptor(loaded) })
    }

    /// Ties it to the tracepoint of this name, or to the function or typed tracepoint that it
    /// was loaded for (`None`).
    ///
    /// # Errors
    /// The system's answer, for `mechanism`.
    pub fn attach(self, tracepoint: Option<&str>, mechanism: &str) -> Result<Attached, Refusal> {
        let link = self.link(tracepoint, mechanism)?;
        Ok(Attached { program: self, _link: link })
    }

    /// Ties it likewise, as long as what is returned is open. It can be tied again.
    ///
    /// # Errors
    /// The system's answer, for `mechanism`.
    pub fn link(&self, tracepoint: Option<&str>, mechanism: &str) -> Result<OwnedFd, Refusal> {
        let name = CString::new(tracepoint.unwrap_or_default()).map_err(io::Error::from);
        let linked = name.and_then(|name| {
            let address = if tracepoint.is_some() { name.as_ptr() as u64 } else { 0 };
            // SAFETY: the name, where there is one, ends with a zero and outlives the call.
            unsafe { call(ATTACH, &mut Attach { name: address, program: self.descriptor.as_raw_fd() as u32, padding: 0 }) }
        });
        let tried = || format!("bpf(RAW_TRACEPOINT_OPEN, {})", tracepoint.unwrap_or("what it was loaded for"));
        linked.map(descriptor).map_err(|error| refused(mechanism, &tried(), &error))
    }

    /// Ties it to the frames of the device of this number.
    ///
    /// # Errors
    /// The system's answer, for `mechanism`.
    pub fn attach_to_device(self, device: u32, mode: XdpMode, mechanism: &str) -> Result<Attached, Refusal> {
        let program = self.descriptor.as_raw_fd() as u32;
        // SAFETY: the request is plain numbers, and none of them is an address.
        let linked = unsafe { call(LINK, &mut Link { program, device, attach_type: ATTACH_XDP, flags: mode.flags() }) };
        let link = linked.map_err(|error| refused(mechanism, &format!("bpf(LINK_CREATE, XDP, {})", mode.name()), &error))?;
        Ok(Attached { program: self, _link: descriptor(link) })
    }
}

impl Program {
    /// Ties it to a perf event, as long as that is open. The event has one program at most.
    ///
    /// # Errors
    /// The system's answer, for `mechanism`.
    pub fn tie(&self, event: BorrowedFd, mechanism: &str) -> Result<(), Refusal> {
        // SAFETY: the command takes a number.
        match unsafe { libc::ioctl(event.as_raw_fd(), TIE as _, self.descriptor.as_raw_fd()) } {
            0 => Ok(()),
            _ => Err(refused(mechanism, "ioctl(PERF_EVENT_IOC_SET_BPF)", &io::Error::last_os_error())),
        }
    }

    /// Runs an iterator over everything that there is, and returns the data that it wrote, of `limit` bytes at most.
    ///
    /// # Errors
    /// The system's answer, for `mechanism`.
    pub fn iterate(&self, limit: u64, mechanism: &str) -> Result<Vec<u8>, Refusal> {
        let program = self.descriptor.as_raw_fd() as u32;
        // SAFETY: the request is plain numbers, and none of them is an address.
        let link = unsafe { call(LINK, &mut Link { program, attach_type: ATTACH_ITERATOR, ..Link::default() }) };
        let link = link.map(descriptor).map_err(|error| refused(mechanism, "bpf(LINK_CREATE, iter)", &error))?;
        // SAFETY: as before.
        let iterator = unsafe { call(ITERATE, &mut Iterate { link: link.as_raw_fd() as u32, flags: 0 }) };
        let iterator = iterator.map(descriptor).map_err(|error| refused(mechanism, "bpf(ITER_CREATE)", &error))?;
        let mut data = Vec::new();
        let read = File::from(iterator).take(limit).read_to_end(&mut data);
        read.map(|_| data).map_err(|error| refused(mechanism, "read() of the iterator", &error))
    }
}

impl Attached {
    /// Number of times that the program did not run because it was running already, on the
    /// same CPU, when its event fired again. 0 on kernels that do not tell.
    pub fn missed(&self) -> u64 {
        let mut info = [0_u64; INFO_WORDS];
        let length = size_of_val(&info) as u32;
        let mut request = Info { program: self.program.descriptor.as_raw_fd() as u32, length, info: info.as_mut_ptr() as u64 };
        // SAFETY: the kernel writes `length` bytes to `info` at most, and to no other address: those in it are 0.
        unsafe { call(INFO, &mut request) }.map_or(0, |_| info[RECURSION_MISSES])
    }
}

pub(super) fn descriptor(number: libc::c_long) -> OwnedFd {
    // SAFETY: the kernel has just made this descriptor for the caller, who gave it to nobody else.
    unsafe { OwnedFd::from_raw_fd(number as RawFd) }
}

/// The last line of the verifier's log that is not an account of its work.
fn last_words(log: &[u8]) -> String {
    let text = String::from_utf8_lossy(log);
    let mut lines = text.trim_end_matches('\0').lines().filter(|line| !line.trim().is_empty() && !line.starts_with("processed "));
    lines.next_back().unwrap_or_default().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::{Program, ProgramKind, last_words, probe};

    #[test]
    fn the_verifiers_reason_is_kept() {
        assert_eq!(last_words(b"0: exit\nR0 !read_ok\nprocessed 1 insns\n\0\0\0"), "R0 !read_ok");
        assert_eq!(last_words(&[0; 8]), "");
        // `exit` with nothing in R0: refused everywhere, to anybody.
        let refusal = Program::load(&[[0x95, 0, 0, 0, 0, 0, 0, 0]], ProgramKind::RawTracepoint, "a test").unwrap_err();
        assert!(refusal.answer.contains("bpf(PROG_LOAD, RAW_TRACEPOINT): E"), "{refusal}");
    }

    #[test]
    fn every_type_has_an_answer() {
        for program in [ProgramKind::SocketFilter, ProgramKind::PerfEvent, ProgramKind::RawTracepoint, ProgramKind::FunctionEntry(u32::MAX)]
        {
            if let Err(error) = probe(program) {
                assert!(error.raw_os_error().is_some(), "{error}");
            }
        }
        assert!(probe(ProgramKind::FunctionEntry(u32::MAX)).is_err(), "there is no such function");
    }
}
