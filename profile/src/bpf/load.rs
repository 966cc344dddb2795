//! What `bpf(2)` is given to load a program.

/// `union bpf_attr` for a load, up to the last field in use (the kernel's
/// `include/uapi/linux/bpf.h`). What the kernel does not know it takes for an
/// error only where it is not zero.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Load {
    pub(crate) kind: u32,
    pub(crate) instructions: u32,
    pub(crate) code: u64,
    pub(crate) licence: u64,
    pub(crate) log_level: u32,
    pub(crate) log_size: u32,
    pub(crate) log: u64,
    pub(crate) kernel_version: u32,
    pub(crate) flags: u32,
    pub(crate) name: [u8; 16],
    pub(crate) device: u32,
    pub(crate) attach_type: u32,
    pub(crate) type_information: [u32; 2],
    pub(crate) function_information: u64,
    pub(crate) counts: [u32; 2],
    pub(crate) line_information: u64,
    pub(crate) lines: u32,
    pub(crate) attach_id: u32,
}

const _: () = assert!(size_of::<Load>() == 112);
