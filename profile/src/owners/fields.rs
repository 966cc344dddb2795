//! The parts of the kernel's structures that programs read, by name, and a socket as they write it down.

use bpf::asm::{Assembler, Reg, Test};

use crate::probe::btf;
use model::Refusal;

/// A socket, as the kernel describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Socket {
    /// Address of the description: a name by which samples and descriptors of one socket meet, as long as it is open.
    /// Not to be shown or stored.
    pub address: u64,
    /// Family (`AF_INET`).
    pub family: u16,
    /// Protocol (`IPPROTO_TCP`).
    pub protocol: u16,
    /// Id of the cgroup (second version) that it was made in; 0 where the kernel does not say.
    pub cgroup: u64,
    /// Inode of its network namespace (`/proc/PID/ns/net`); 0 where the kernel does not say.
    pub namespace: u32,
    /// State (`TCP_ESTABLISHED` is 1).
    pub state: u8,
}

impl Socket {
    /// Bytes of one in a record.
    pub const SIZE: i16 = 48;

    /// Reads what [`Fields::emit`] wrote; `None` of a socket that is none.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut numbers = numbers(bytes);
        let mut next = || numbers.next();
        let (address, family, state, protocol, namespace, cgroup) = (next()?, next()?, next()?, next()?, next()?, next()?);
        let socket =
            Self { address, family: family as u16, protocol: protocol as u16, cgroup, namespace: namespace as u32, state: state as u8 };
        (address != 0).then_some(socket)
    }
}

/// The numbers of a record, of 64 bits each.
pub fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|number| u64::from_ne_bytes(number.try_into().unwrap_or_default()))
}

/// Distance of a member from the start of its structure.
///
/// # Errors
/// Names the member that the kernel's types do not have, for `mechanism`.
pub fn member(types: &[u8], [structure, member]: [&str; 2], mechanism: &str) -> Result<i16, Refusal> {
    btf::member_offset(types, structure, member).ok_or_else(|| {
        let answer = format!("the types of this kernel have no {structure}.{member}");
        Refusal::new(mechanism, answer, "Use a kernel from 5.10 on, and report the version of this one")
    })
}

/// Places of what is read of a socket.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    /// Of the functions of its protocol that it was made with: those that it has now differ with kTLS, MPTCP and sockmap.
    pub creator: i16,
    /// State.
    pub state: i16,
    family: i16,
    protocol: i16,
    /// Of its namespace, and of the number in that.
    namespace: Option<[i16; 2]>,
    /// Of its cgroup, of the directory of that, and of the number of that.
    cgroup: Option<[i16; 3]>,
}

/// Bits of the word for a cgroup that say that something else is in it (up to Linux 5.14).
const NO_CGROUP: i32 = 3;

impl Fields {
    /// Looks them up in the kernel's type information.
    ///
    /// # Errors
    /// Names what it does not have, for `mechanism`. Without namespaces or cgroups the rest is read.
    pub fn find(types: &[u8], mechanism: &str) -> Result<Self, Refusal> {
        let at = |names| member(types, names, mechanism);
        let maybe = |names| at(names).ok();
        let number = maybe(["net", "ns"]).zip(maybe(["ns_common", "inum"])).and_then(|(inner, number)| inner.checked_add(number));
        let cgroup = maybe(["sock", "sk_cgrp_data"]).zip(maybe(["cgroup", "kn"])).zip(maybe(["kernfs_node", "id"]));
        Ok(Self {
            creator: at(["sock", "sk_prot_creator"])?,
            state: at(["sock_common", "skc_state"])?,
            family: at(["sock_common", "skc_family"])?,
            protocol: at(["sock", "sk_protocol"])?,
            namespace: maybe(["sock_common", "skc_net"]).zip(number).map(<[i16; 2]>::from),
            cgroup: cgroup.map(|((cgroup, directory), number)| [cgroup, directory, number]),
        })
    }

    /// Writes the socket at the address in `socket`, one of `R6` to `R9`, to the stack from `at` on, as
    /// [`Socket::parse`] reads it. Whatever cannot be read is 0. Destroys `R0` to `R5`.
    pub fn emit(self, asm: &mut Assembler, socket: Reg, at: i16) {
        emit_zeros(asm, at, Socket::SIZE);
        asm.store(Reg::R10, at, socket);
        for (place, size, offset) in [(8, 2, self.family), (16, 1, self.state), (24, 2, self.protocol)] {
            emit_number(asm, at + place, size, socket, offset);
        }
        if let Some([namespace, number]) = self.namespace {
            asm.read_kernel(at + 32, 8, socket, namespace);
            emit_follow(asm, at + 32, 4, number);
        }
        if let Some([cgroup, directory, number]) = self.cgroup {
            let (none, known) = (asm.label(), asm.label());
            asm.read_kernel(at + 40, 8, socket, cgroup);
            asm.load(Reg::R1, Reg::R10, at + 40);
            asm.jump(Test::AnyBit(Reg::R1, NO_CGROUP), none);
            emit_follow(asm, at + 40, 8, directory);
            emit_follow(asm, at + 40, 8, number);
            asm.jump(Test::Always, known);
            asm.place(none);
            asm.store_number(Reg::R10, at + 40, 0);
            asm.place(known);
        }
    }
}

/// Writes zeros to the stack.
pub fn emit_zeros(asm: &mut Assembler, at: i16, size: i16) {
    (at..at + size).step_by(8).for_each(|place| asm.store_number(Reg::R10, place, 0));
}

/// Reads a number of `size` bytes to the stack's place `at`, as one of 64 bits.
pub fn emit_number(asm: &mut Assembler, at: i16, size: i32, from: Reg, offset: i16) {
    asm.read_kernel(at, size, from, offset);
    match size {
        1 => asm.load_byte(Reg::R1, Reg::R10, at),
        2 => asm.load_half(Reg::R1, Reg::R10, at),
        4 => asm.load_word(Reg::R1, Reg::R10, at),
        _ => asm.load(Reg::R1, Reg::R10, at),
    }
    asm.store(Reg::R10, at, Reg::R1);
}

/// Puts in the place of the address at the stack's place `at` the number that is at `offset` from it: 0 where the
/// address is 0, as nothing can be read there.
fn emit_follow(asm: &mut Assembler, at: i16, size: i32, offset: i16) {
    asm.load(Reg::R4, Reg::R10, at);
    emit_number(asm, at, size, Reg::R4, offset);
}

#[cfg(test)]
mod tests {
    use super::Socket;
    use proptest::prelude::{any, prop, proptest};

    #[test]
    fn a_socket_reads_as_it_was_written() {
        let numbers = [0xffff_8880_0000_0040_u64, 2, 1, 17, 4_026_531_840, 77];
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let socket = Socket { address: numbers[0], family: 2, protocol: 17, cgroup: 77, namespace: 4_026_531_840, state: 1 };
        assert_eq!(bytes.len(), Socket::SIZE as usize);
        assert_eq!(Socket::parse(&bytes), Some(socket));
        assert_eq!(Socket::parse(&bytes[..40]), None);
        assert_eq!(Socket::parse(&[0; 48]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = Socket::parse(&bytes);
        }
    }
}
