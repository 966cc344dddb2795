//! Every socket that a process holds, read by an iterator over descriptors (`iter/task_file`, Linux 5.8).

use bpf::asm::{Assembler, Helper, Reg, Test};
use bpf::{Program, ProgramKind};

use super::fields::{Fields, Socket, emit_number, emit_zeros, member, numbers};
use crate::probe::btf;
use crate::system::read_limited;
use model::Refusal;
use sys::refused_call;

const MECHANISM: &str = "sockets of every process";

/// The most that are read: 109 MB.
const MOST: u64 = 1 << 20;

/// Bytes of a record: process, descriptor, inode, protocol, socket, three counters of drops.
const SIZE: i16 = DROPS + 24;
/// Place of the counters in it.
const DROPS: i16 = 32 + Socket::SIZE;

/// A socket and a process that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketHolder {
    /// The process, by its id in the first namespace.
    pub process: u32,
    /// The lowest descriptor that one loop over the process's descriptors meets; a copy of it is a row of its own.
    pub descriptor: u32,
    /// Inode of the socket, as `/proc/PID/fd` and INET_DIAG have it.
    pub inode: u64,
    /// The socket.
    pub socket: Socket,
    /// Packets that the kernel dropped at the socket since it was made, modulo 2^32.
    pub drops: u32,
    /// Address of the functions of the protocol that it was made with.
    pub(super) creator: u64,
}

impl SocketHolder {
    /// Reads what the program in the kernel wrote; `None` of anything else.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let drops = numbers(bytes.get(DROPS as usize..SIZE as usize)?).fold(0, |sum: u32, drops| sum.wrapping_add(drops as u32));
        let mut numbers = numbers(bytes);
        let mut next = || numbers.next();
        let (process, descriptor, inode, creator) = (next()?, next()?, next()?, next()?);
        let socket = Socket::parse(bytes.get(32..)?)?;
        Some(Self { process: process as u32, descriptor: descriptor as u32, inode, socket, drops, creator })
    }
}

/// Reads the sockets of every process of this namespace of ids.
#[derive(Debug)]
pub struct Sockets {
    program: Program,
}

impl Sockets {
    /// Loads the program.
    ///
    /// # Errors
    /// What the kernel refused or lacks, with a remedy.
    pub fn open() -> Result<Self, Refusal> {
        let types = kernel_types(MECHANISM)?;
        Self::of_kernel(&types, Fields::find(&types, MECHANISM)?)
    }

    /// The same with what is known of the kernel.
    pub(super) fn of_kernel(types: &[u8], fields: Fields) -> Result<Self, Refusal> {
        const ITERATOR: &str = "bpf_iter_task_file";
        let id = btf::function_id(types, ITERATOR).ok_or_else(|| {
            Refusal::new(MECHANISM, format!("this kernel has no {ITERATOR}"), "Use Linux 5.8 or later; units come from samples without it")
        })?;
        let code = program(&Places::find(types)?, fields);
        Ok(Self { program: Program::load(&code, ProgramKind::Iterator(id), MECHANISM)? })
    }

    /// The sockets that are held now, a row for each descriptor, in the order of processes: 1,048,576 at most. Some
    /// 2 µs a socket.
    ///
    /// # Errors
    /// The system's answer.
    pub fn held(&self) -> Result<Vec<SocketHolder>, Refusal> {
        let data = self.program.iterate(MOST * SIZE as u64, MECHANISM)?;
        Ok(data.chunks_exact(SIZE as usize).filter_map(SocketHolder::parse).collect())
    }
}

/// The kernel's type information.
pub(super) fn kernel_types(mechanism: &str) -> Result<Vec<u8>, Refusal> {
    read_limited(btf::KERNEL).map_err(|error| {
        let remedy = "Use a kernel with CONFIG_DEBUG_INFO_BTF; without it, owners of softirq work are not known";
        refused_call(mechanism, btf::KERNEL, &error, remedy)
    })
}

/// Places between a descriptor and its socket.
struct Places {
    process: i16,
    inode: i16,
    private: i16,
    mode: i16,
    number: i16,
    socket: i16,
    drops: Option<i16>,
    /// Since Linux 6.18 UDP has two counters elsewhere.
    more_drops: Option<[i16; 3]>,
}

impl Places {
    fn find(types: &[u8]) -> Result<Self, Refusal> {
        let at = |names| member(types, names, MECHANISM);
        let maybe = |names| at(names).ok();
        let counters = maybe(["numa_drop_counters", "drops0"]).zip(maybe(["numa_drop_counters", "drops1"]));
        Ok(Self {
            process: at(["task_struct", "tgid"])?,
            inode: at(["file", "f_inode"])?,
            private: at(["file", "private_data"])?,
            mode: at(["inode", "i_mode"])?,
            number: at(["inode", "i_ino"])?,
            socket: at(["socket", "sk"])?,
            drops: maybe(["sock", "sk_drops"]),
            more_drops: maybe(["sock", "sk_drop_counters"]).zip(counters).map(|(place, (first, second))| [place, first, second]),
        })
    }
}

/// Places in the program's context (`struct bpf_iter__task_file`). The first part of the first is the sequence that the
/// program writes to.
const META: i16 = 0;
const TASK: i16 = 8;
const DESCRIPTOR: i16 = 16;
const FILE: i16 = 24;

/// The place of the record that is put together on the stack.
const AT: i16 = -8 - SIZE;

/// At each descriptor of each task. `R6` is the context, `R7` the file, `R8` the task, then the inode, `R9` the socket.
fn program(places: &Places, fields: Fields) -> Vec<[u8; 8]> {
    let mut asm = Assembler::default();
    let done = asm.label();
    asm.copy(Reg::R6, Reg::R1);
    asm.load(Reg::R7, Reg::R6, FILE);
    asm.jump(Test::Equal(Reg::R7, 0), done);
    asm.load(Reg::R8, Reg::R6, TASK);
    asm.jump(Test::Equal(Reg::R8, 0), done);
    emit_zeros(&mut asm, AT, SIZE);
    asm.load_word(Reg::R1, Reg::R8, places.process);
    asm.store(Reg::R10, AT, Reg::R1);
    asm.load_word(Reg::R1, Reg::R6, DESCRIPTOR);
    asm.store(Reg::R10, AT + 8, Reg::R1);
    // A file of a socket's kind has the socket with it, but for one that was opened as a path.
    asm.load(Reg::R8, Reg::R7, places.inode);
    asm.load_half(Reg::R1, Reg::R8, places.mode);
    asm.and(Reg::R1, libc::S_IFMT as i32);
    asm.jump(Test::Differs(Reg::R1, libc::S_IFSOCK as i32), done);
    asm.load(Reg::R1, Reg::R8, places.number);
    asm.store(Reg::R10, AT + 16, Reg::R1);
    asm.load(Reg::R9, Reg::R7, places.private);
    asm.read_kernel(AT + 24, 8, Reg::R9, places.socket);
    asm.load(Reg::R9, Reg::R10, AT + 24);
    asm.jump(Test::Equal(Reg::R9, 0), done);
    asm.read_kernel(AT + 24, 8, Reg::R9, fields.creator);
    fields.emit(&mut asm, Reg::R9, AT + 32);
    if let Some(drops) = places.drops {
        emit_number(&mut asm, AT + DROPS, 4, Reg::R9, drops);
    }
    if let Some([counters, first, second]) = places.more_drops {
        asm.read_kernel(AT + DROPS + 8, 8, Reg::R9, counters);
        asm.load(Reg::R8, Reg::R10, AT + DROPS + 8);
        // Both are 0 where there are no counters: nothing can be read there.
        emit_number(&mut asm, AT + DROPS + 8, 4, Reg::R8, first);
        emit_number(&mut asm, AT + DROPS + 16, 4, Reg::R8, second);
    }
    asm.load(Reg::R1, Reg::R6, META);
    asm.load(Reg::R1, Reg::R1, 0);
    asm.stack_address(Reg::R2, i32::from(AT));
    asm.set(Reg::R3, i32::from(SIZE));
    asm.call(Helper::Write);
    asm.place(done);
    asm.leave();
    asm.finish()
}

#[cfg(test)]
mod tests {
    use super::{SIZE, SocketHolder};
    use proptest::prelude::{any, prop, prop_assert, proptest};

    #[test]
    fn a_row_without_a_socket_is_none() {
        assert_eq!(SocketHolder::parse(&[0; SIZE as usize]), None);
        let bytes: Vec<u8> = (1..=13_u64).flat_map(u64::to_ne_bytes).collect();
        let held = SocketHolder::parse(&bytes).unwrap();
        assert_eq!((held.process, held.descriptor, held.inode, held.creator, held.socket.address, held.drops), (1, 2, 3, 4, 5, 36));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(bytes.len() >= SIZE as usize || SocketHolder::parse(&bytes).is_none());
        }
    }
}
