//! Programs that anyone has loaded: where their compiled code lies.

use std::io;
use std::os::fd::AsRawFd;

use super::call;
use super::program::{INFO, Info, descriptor};

const NEXT_ID: libc::c_int = 11;
const OF_ID: libc::c_int = 13;

/// The most programs that are looked at.
const PROGRAMS: usize = 16_384;
/// The most functions of a program: `BPF_MAX_SUBPROGS` of the kernel.
const FUNCTIONS: usize = 256;

/// `union bpf_attr` of the commands about ids.
#[repr(C)]
#[derive(Default)]
struct Id {
    id: u32,
    next: u32,
    flags: u32,
}

/// Address and length in bytes of each compiled function of each loaded program. Empty without
/// CAP_SYS_ADMIN, and where the kernel hides its addresses.
pub fn compiled() -> Vec<(u64, u32)> {
    let mut id = 0;
    let mut found = Vec::new();
    for _ in 0..PROGRAMS {
        let mut request = Id { id, ..Id::default() };
        // SAFETY: the request is plain numbers, and none of them is an address.
        if unsafe { call(NEXT_ID, &mut request) }.is_err() {
            break;
        }
        id = request.next;
        // One that was unloaded since then has no code.
        found.extend(functions(id).unwrap_or_default());
    }
    found
}

fn functions(id: u32) -> io::Result<Vec<(u64, u32)>> {
    // SAFETY: the request is plain numbers, and none of them is an address.
    let program = descriptor(unsafe { call(OF_ID, &mut Id { id, ..Id::default() }) }?);
    let (mut starts, mut lengths) = ([0_u64; FUNCTIONS], [0_u32; FUNCTIONS]);
    // `struct bpf_prog_info` up to `jited_func_lens` (Linux 4.18), in words of 8 bytes: in word 13 how many
    // numbers there is room for, then the addresses to which they are written.
    let mut info = [0_u64; 16];
    (info[13], info[14], info[15]) = ((FUNCTIONS << 32 | FUNCTIONS) as u64, starts.as_mut_ptr() as u64, lengths.as_mut_ptr() as u64);
    let mut request = Info { program: program.as_raw_fd() as u32, length: size_of_val(&info) as u32, info: info.as_mut_ptr() as u64 };
    // SAFETY: the kernel writes `length` bytes to `info` at most, and to `starts` and `lengths`, which outlive
    // the call, at most the numbers that word 13 allows; the other addresses in `info` are 0.
    unsafe { call(INFO, &mut request) }?;
    Ok(starts.into_iter().zip(lengths).take_while(|(start, length)| *start != 0 && *length != 0).collect())
}

#[cfg(test)]
mod tests {
    use super::compiled;

    #[test]
    fn code_of_programs_does_not_overlap() {
        let mut found = compiled();
        found.sort_unstable();
        assert!(found.windows(2).all(|pair| pair[0].0 + u64::from(pair[0].1) <= pair[1].0), "{found:x?}");
    }
}
