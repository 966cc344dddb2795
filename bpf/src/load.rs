//! What `bpf(2)` is given to load a program.

/// `union bpf_attr` for a load, up to the last field in use (the kernel's
/// `include/uapi/linux/bpf.h`). What the kernel does not know it takes for an
/// error only where it is not zero.
#[repr(C)]
#[derive(Debug, Default)]
#[allow(missing_docs)]
pub struct Load {
    pub kind: u32,
    pub instructions: u32,
    pub code: u64,
    pub licence: u64,
    pub log_level: u32,
    pub log_size: u32,
    pub log: u64,
    pub kernel_version: u32,
    pub flags: u32,
    pub name: [u8; 16],
    pub device: u32,
    pub attach_type: u32,
    pub type_information: [u32; 2],
    pub function_information: u64,
    pub counts: [u32; 2],
    pub line_information: u64,
    pub lines: u32,
    pub attach_id: u32,
}

const _: () = assert!(size_of::<Load>() == 112);
