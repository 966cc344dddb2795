//! The kernel's type information (BTF), as far as to find a function, a type's name and a
//! structure's member in it.

use std::collections::BTreeMap;
use std::ffi::CStr;

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
const TYPEDEF: u32 = 8;
const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
const DECL_TAG: u32 = 17;
const ENUM64: u32 = 19;

/// The id of the function `name` in the type information `bytes`; `None` where
/// it has none of that name or is not understood.
pub fn function_id(bytes: &[u8], name: &str) -> Option<u32> {
    find(bytes, FUNC, name).map(|found| found.id)
}

/// The ids of the functions of these names that it has, by name, in one pass: a kernel's own
/// has some hundred thousand types.
pub fn function_ids<'n>(bytes: &[u8], names: &[&'n str]) -> BTreeMap<&'n str, u32> {
    let wanted: BTreeMap<&[u8], &str> = names.iter().map(|name| (name.as_bytes(), *name)).collect();
    let mut found = BTreeMap::new();
    for this in types(bytes).into_iter().flatten().filter(|this| this.kind == FUNC) {
        let name = CStr::from_bytes_until_nul(this.name).map_or(&[][..], CStr::to_bytes);
        if let Some(name) = wanted.get(name) {
            found.entry(*name).or_insert(this.id);
        }
    }
    found
}

/// The id of the typedef `name`, such as that of a tracepoint's arguments, likewise.
pub fn typedef_id(bytes: &[u8], name: &str) -> Option<u32> {
    find(bytes, TYPEDEF, name).map(|found| found.id)
}

/// The distance in bytes of a member from the start of its structure, also where it is in a
/// structure or union without a name in there; `None` where there is none of these names, or where
/// it does not begin at a byte.
pub fn member_offset(bytes: &[u8], structure: &str, member: &str) -> Option<i16> {
    let found = find(bytes, STRUCT, structure)?;
    let bits = within(bytes, &found, member, DEPTH)?;
    (bits % 8 == 0).then(|| i16::try_from(bits / 8).ok()).flatten()
}

/// Levels of structures without a name that are looked into.
const DEPTH: u32 = 4;

/// The distance of a member in bits.
fn within(bytes: &[u8], found: &Type<'_>, member: &str, depth: u32) -> Option<u32> {
    for one in found.members.chunks_exact(12) {
        let field = |at: usize| Some(u32::from_ne_bytes(one.get(at..at + 4)?.try_into().ok()?));
        let name = found.names.get(field(0)? as usize..)?;
        // With the flag, the upper byte is the size of a bit field.
        let bits = if found.flagged { field(8)? & 0xff_ffff } else { field(8)? };
        if begins_with(name, member) {
            return Some(bits);
        }
        let inner = || {
            let id = field(4).filter(|_| depth > 0 && begins_with(name, ""))?;
            let inner = types(bytes)?.find(|this| this.id == id && matches!(this.kind, STRUCT | UNION))?;
            within(bytes, &inner, member, depth - 1)
        };
        if let Some(more) = inner() {
            return bits.checked_add(more);
        }
    }
    None
}

/// A type.
struct Type<'a> {
    id: u32,
    kind: u32,
    /// Text that begins with its name.
    name: &'a [u8],
    /// What its kind adds: of a structure, its members.
    members: &'a [u8],
    flagged: bool,
    names: &'a [u8],
}

fn find<'a>(bytes: &'a [u8], wanted: u32, name: &str) -> Option<Type<'a>> {
    types(bytes)?.find(|this| this.kind == wanted && begins_with(this.name, name))
}

/// Every type, up to the first that is not understood.
fn types(bytes: &[u8]) -> Option<impl Iterator<Item = Type<'_>>> {
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
    let (mut left, names) = (section(8)?, section(16)?);
    // Ids count from 1: 0 is `void`.
    Some((1..).map_while(move |id| {
        let (this, rest) = left.split_at_checked(TYPE)?;
        let field = |at: usize| Some(u32::from_ne_bytes(this.get(at..at + 4)?.try_into().ok()?));
        let (name_at, info) = (field(0)? as usize, field(4)?);
        let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        let (members, rest) = rest.split_at_checked(added(kind, count))?;
        left = rest;
        Some(Type { id, kind, name: names.get(name_at..).unwrap_or_default(), members, flagged: info >> 31 == 1, names })
    }))
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
    use super::{KERNEL, MAGIC, function_id, function_ids, member_offset, typedef_id};
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
    fn functions_are_found_in_one_pass_as_they_are_one_by_one() {
        let found = function_ids(&sample(), &["udp_sendmsg", "udp", "pair", "udp_send"]);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [("udp_send", 3), ("udp_sendmsg", 4)]);
    }

    #[test]
    fn the_kernels_own_is_understood() {
        match std::fs::read(KERNEL) {
            Ok(bytes) => {
                let names = ["tcp_sendmsg", "udp_sendmsg", "no_such_function"];
                let all = function_ids(&bytes, &names);
                assert_eq!(names.map(|name| all.get(name).copied()), names.map(|name| function_id(&bytes, name)));
                assert!(function_id(&bytes, "udp_sendmsg").is_some());
                assert!(typedef_id(&bytes, "btf_trace_sched_switch").is_some());
                assert_eq!(member_offset(&bytes, "sock_common", "skc_family"), Some(16));
                // On some kernels in a union without a name.
                let ends = ["head", "tail"].map(|name| member_offset(&bytes, "pipe_inode_info", name).unwrap());
                assert!(ends[1] - ends[0] == 4 && ends[0] > 0, "{ends:?}");
            }
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
            let one = function_id(&bytes, "udp_sendmsg");
            proptest::prop_assert_eq!(function_ids(&bytes, &["udp_sendmsg"]).get("udp_sendmsg").copied(), one);
            let _ = member_offset(&bytes, "pair", "udp_send");
        }
    }

    #[test]
    fn a_member_has_its_distance() {
        // Both members of the sample's structure have this name; the first is found.
        assert_eq!(member_offset(&sample(), "pair", "int"), Some(0));
        assert_eq!(member_offset(&sample(), "pair", "absent"), None);
        assert_eq!(member_offset(&sample(), "udp_send", "int"), None, "it is no structure");
    }
}
