//! The kernel's type information (BTF), as far as to find one function in it.

/// Path of the running kernel's own.
pub const KERNEL: &str = "/sys/kernel/btf/vmlinux";

const MAGIC: u16 = 0xeb9f;
/// Bytes of a type before what its kind adds.
const TYPE: usize = 12;

const INT: u32 = 1;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
const DECL_TAG: u32 = 17;
const ENUM64: u32 = 19;

/// The id of the function `name` in the type information `bytes`; `None` where
/// it has none of that name or is not understood.
pub fn function_id(bytes: &[u8], name: &str) -> Option<u32> {
    let half = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if half(0)? != MAGIC {
        return None;
    }
    let header = word(4)? as usize;
    let section = |at: usize| {
        let start = header.checked_add(word(at)? as usize)?;
        bytes.get(start..start.checked_add(word(at + 4)? as usize)?)
    };
    let (mut types, names) = (section(8)?, section(16)?);
    // Ids count from 1: 0 is `void`.
    for id in 1.. {
        let (this, rest) = types.split_at_checked(TYPE)?;
        let field = |at: usize| Some(u32::from_ne_bytes(this.get(at..at + 4)?.try_into().ok()?));
        let (name_at, info) = (field(0)? as usize, field(4)?);
        let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        if kind == FUNC && begins_with(names.get(name_at..)?, name) {
            return Some(id);
        }
        types = rest.get(added(kind, count)..)?;
    }
    None
}

/// Bytes that a type of `kind` with `count` members has behind its first.
const fn added(kind: u32, count: usize) -> usize {
    match kind {
        INT | VAR | DECL_TAG => 4,
        ARRAY => 12,
        STRUCT | UNION | DATASEC | ENUM64 => count * 12,
        ENUM | FUNC_PROTO => count * 8,
        _ => 0,
    }
}

/// Returns whether the zero-ended text at the start of `text` is `name`.
fn begins_with(text: &[u8], name: &str) -> bool {
    text.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
}

#[cfg(test)]
mod tests {
    use super::{KERNEL, MAGIC, function_id};
    use proptest::prelude::{any, proptest};

    /// Type information with an int `int`, a struct of two members and two functions.
    fn sample() -> Vec<u8> {
        let names = b"\0int\0pair\0udp_send\0udp_sendmsg\0";
        let kind = |kind: u32, count: u32| kind << 24 | count;
        let mut types: Vec<u32> = vec![1, kind(1, 0), 4, 32];
        types.extend([5, kind(4, 2), 8, 1, 1, 0, 1, 1, 32]);
        types.extend([10, kind(12, 1), 0, 19, kind(12, 1), 0]);
        let types: Vec<u8> = types.into_iter().flat_map(u32::to_ne_bytes).collect();
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        for word in [24, 0, types.len(), types.len(), names.len()] {
            bytes.extend((word as u32).to_ne_bytes());
        }
        bytes.extend(types);
        bytes.extend(names);
        bytes
    }

    #[test]
    fn a_function_is_found_by_its_whole_name() {
        assert_eq!(function_id(&sample(), "udp_send"), Some(3));
        assert_eq!(function_id(&sample(), "udp_sendmsg"), Some(4));
        assert_eq!(function_id(&sample(), "udp"), None);
        assert_eq!(function_id(&sample(), "pair"), None, "it is no function");
    }

    #[test]
    fn the_kernels_own_is_understood() {
        match std::fs::read(KERNEL) {
            Ok(bytes) => assert!(function_id(&bytes, "udp_sendmsg").is_some()),
            Err(error) => eprintln!("SKIPPED: the_kernels_own_is_understood: {KERNEL}: {error}"),
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(at in 0..100_usize, byte in any::<u8>(), cut in 0..120_usize) {
            let mut bytes = sample();
            let place = at % bytes.len();
            bytes[place] = byte;
            bytes.truncate(cut);
            let _ = function_id(&bytes, "udp_sendmsg");
        }
    }
}
