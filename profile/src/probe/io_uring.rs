//! `io_uring_setup`.

use std::io;

use super::descriptor;

/// `struct io_uring_params`: 120 bytes, of which only the features that the
/// kernel writes at byte 20 are looked at. Words keep it aligned.
const PARAMETERS: usize = 30;
const FEATURES: usize = 5;

/// Makes the smallest ring, closes it, and returns the kernel's feature bits.
///
/// # Errors
/// The system's answer, such as ENOSYS (not in this kernel) or EPERM
/// (`kernel.io_uring_disabled`, or a sandbox).
pub fn set_up() -> io::Result<u32> {
    let mut parameters = [0_u32; PARAMETERS];
    let entries: libc::c_uint = 1;
    // SAFETY: the kernel reads and writes the 120 bytes of `parameters`, which outlives the call.
    let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, entries, parameters.as_mut_ptr()) };
    descriptor(ring)?;
    Ok(parameters[FEATURES])
}

#[cfg(test)]
mod tests {
    use super::set_up;

    #[test]
    fn there_is_an_answer() {
        match set_up() {
            Ok(features) => assert_ne!(features, 0, "every kernel since 5.4 names a feature"),
            Err(error) => assert!(error.raw_os_error().is_some()),
        }
    }
}
