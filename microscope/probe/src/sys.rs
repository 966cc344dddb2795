//! System calls: the few that the probe makes, each as a function.

use core::arch::asm;
use core::ptr;

/// An error number of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub u16);

impl Errno {
    /// What was asked of the probe makes no sense (`EINVAL`).
    pub const INVALID: Self = Self(22);
}

/// Result of a system call.
pub type Answer = Result<usize, Errno>;

/// Number of a file descriptor.
pub type Fd = i32;

/// Makes one system call.
///
/// # Safety
/// The arguments are valid for the call of that number.
#[inline(always)]
pub unsafe fn call(number: usize, arguments: [usize; 6]) -> Answer {
    let answer: isize;
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: as promised by the caller; the kernel changes rax, rcx and r11 alone.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => answer, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
             in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    if answer < 0 { Err(Errno(answer.unsigned_abs() as u16)) } else { Ok(answer as usize) }
}

/// Ends a C string: `text` with a zero behind it, in `buffer`.
fn c_string<'b>(text: &str, buffer: &'b mut [u8; 256]) -> Result<&'b [u8], Errno> {
    let room = buffer.get_mut(..=text.len()).ok_or(Errno::INVALID)?;
    room[..text.len()].copy_from_slice(text.as_bytes());
    room[text.len()] = 0;
    Ok(room)
}

/// Opens a file (`open(2)`).
///
/// # Errors
/// The kernel's.
pub fn open(path: &str, flags: usize) -> Result<Fd, Errno> {
    let mut buffer = [0; 256];
    let path = c_string(path, &mut buffer)?;
    // SAFETY: a C string, and numbers.
    unsafe { call(2, [path.as_ptr() as usize, flags, 0, 0, 0, 0]) }.map(|fd| fd as Fd)
}

/// Reads from a file (`read(2)`).
///
/// # Errors
/// The kernel's.
#[inline(always)]
pub fn read(fd: Fd, buffer: &mut [u8]) -> Answer {
    // SAFETY: the buffer is as long as is said.
    unsafe { call(0, [fd as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0]) }
}

/// Writes to a file (`write(2)`).
///
/// # Errors
/// The kernel's.
#[inline(always)]
pub fn write(fd: Fd, bytes: &[u8]) -> Answer {
    // SAFETY: the bytes are as many as is said.
    unsafe { call(1, [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) }
}

/// Closes a file (`close(2)`); there is nothing to do if that fails.
pub fn close(fd: Fd) {
    // SAFETY: a number.
    let _ = unsafe { call(3, [fd as usize, 0, 0, 0, 0, 0]) };
}

/// Asks for the process's number, the cheapest system call (`getppid(2)`).
#[inline(always)]
pub fn getppid() -> Answer {
    // SAFETY: no arguments.
    unsafe { call(110, [0; 6]) }
}

/// Makes a pipe (`pipe(2)`).
///
/// # Errors
/// The kernel's.
pub fn pipe() -> Result<[Fd; 2], Errno> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    unsafe { call(22, [(&raw mut ends) as usize, 0, 0, 0, 0, 0]) }?;
    Ok(ends)
}

/// Makes a pipe whose ends close when another program is started (`pipe2(2)` with
/// `O_CLOEXEC`).
///
/// # Errors
/// The kernel's.
pub fn pipe_until_program() -> Result<[Fd; 2], Errno> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    unsafe { call(293, [(&raw mut ends) as usize, 0o2_000_000, 0, 0, 0, 0]) }?;
    Ok(ends)
}

/// Makes an empty file and opens it for writing (`open(2)`).
///
/// # Errors
/// The kernel's.
pub fn create(path: &str) -> Result<Fd, Errno> {
    let mut buffer = [0; 256];
    let path = c_string(path, &mut buffer)?;
    // O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC.
    // SAFETY: a C string, and numbers.
    unsafe { call(2, [path.as_ptr() as usize, 0o2_001_101, 0o600, 0, 0, 0]) }.map(|fd| fd as Fd)
}

/// Gives a descriptor another number as well (`dup2(2)`).
///
/// # Errors
/// The kernel's.
pub fn duplicate(fd: Fd, number: Fd) -> Answer {
    // SAFETY: numbers.
    unsafe { call(33, [fd as usize, number as usize, 0, 0, 0, 0]) }
}

/// Becomes another program, the file that the first argument names (`execve(2)`); comes
/// back where that fails.
///
/// Both lists hold addresses of C strings and end with a zero.
pub fn execute(arguments: &[usize], environment: &[usize]) -> Errno {
    // SAFETY: the lists end with a zero, and the strings outlive the call.
    let answer = unsafe { call(59, [arguments[0], arguments.as_ptr() as usize, environment.as_ptr() as usize, 0, 0, 0]) };
    answer.err().unwrap_or(Errno::INVALID)
}

/// Ends this process (`exit_group(2)`).
pub fn exit(code: u8) -> ! {
    loop {
        // SAFETY: a number.
        let _ = unsafe { call(231, [usize::from(code), 0, 0, 0, 0, 0]) };
    }
}

/// Waits for the end of a child (`wait4(2)`): its status, as that call gives it.
///
/// # Errors
/// The kernel's.
pub fn wait(child: usize) -> Result<u32, Errno> {
    let mut status = 0_u32;
    // SAFETY: room for a status.
    unsafe { call(61, [child, (&raw mut status) as usize, 0, 0, 0, 0]) }?;
    Ok(status)
}

/// Sleeps (`nanosleep(2)`): in virtual time, which costs the host next to nothing.
pub fn sleep(seconds: u64) {
    let time = [seconds, 0];
    // SAFETY: a time of two words.
    let _ = unsafe { call(35, [(&raw const time) as usize, 0, 0, 0, 0, 0]) };
}

/// Starts a process that goes on here (`fork(2)`): 0 in the child.
///
/// # Errors
/// The kernel's.
pub fn fork() -> Answer {
    // SAFETY: the process has one thread, and memory of its own.
    unsafe { call(57, [0; 6]) }
}

/// Ends a child and waits for it (`kill(2)`, `wait4(2)`).
pub fn end_child(child: usize) {
    // SAFETY: numbers.
    let _ = unsafe { call(62, [child, 9, 0, 0, 0, 0]) };
    // SAFETY: numbers; the status is not asked for.
    let _ = unsafe { call(61, [child, 0, 0, 0, 0, 0]) };
}

/// Moves to a network namespace of its own (`unshare(2)` with `CLONE_NEWNET`).
///
/// # Errors
/// The kernel's.
pub fn unshare_net() -> Answer {
    // SAFETY: a number.
    unsafe { call(272, [0x4000_0000, 0, 0, 0, 0, 0]) }
}

/// Moves to the network namespace of a file (`setns(2)`).
///
/// # Errors
/// The kernel's.
pub fn set_net(namespace: Fd) -> Answer {
    // SAFETY: numbers.
    unsafe { call(308, [namespace as usize, 0x4000_0000, 0, 0, 0, 0]) }
}

/// Loads a kernel module (`finit_module(2)`) without parameters.
///
/// # Errors
/// The kernel's.
pub fn load_module(path: &str) -> Answer {
    let fd = open(path, 0)?;
    let none = [0_u8];
    // SAFETY: a descriptor and an empty C string.
    let answer = unsafe { call(313, [fd as usize, none.as_ptr() as usize, 0, 0, 0, 0]) };
    close(fd);
    answer
}

/// Mounts a file system of a kind at a place (`mount(2)`).
///
/// # Errors
/// The kernel's.
pub fn mount(kind: &str, place: &str) -> Answer {
    let (mut first, mut second) = ([0; 256], [0; 256]);
    let (kind, place) = (c_string(kind, &mut first)?, c_string(place, &mut second)?);
    // SAFETY: C strings.
    unsafe { call(165, [kind.as_ptr() as usize, place.as_ptr() as usize, kind.as_ptr() as usize, 0, 0, 0]) }
}

/// Gets or gives back the right to use one port (`ioperm(2)`).
///
/// # Errors
/// The kernel's.
pub fn port(port: u16, on: bool) -> Answer {
    // SAFETY: numbers.
    unsafe { call(173, [usize::from(port), 1, usize::from(on), 0, 0, 0]) }
}

/// Switches the guest off (`reboot(2)`), which ends QEMU: with `-no-reboot` a
/// restart does so on kernels that cannot power off without ACPI as well.
pub fn power_off() -> ! {
    loop {
        for command in [0x4321_fedc_usize, 0x0123_4567] {
            // SAFETY: the two magic numbers of the call, and a command.
            let _ = unsafe { call(169, [0xfee1_dead, 0x2812_1969, command, ptr::null::<u8>() as usize, 0, 0]) };
        }
    }
}
