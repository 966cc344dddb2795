//! Where modules lie, from `/proc/modules`.

/// The most modules that are read.
const MODULE_LIMIT: usize = 10_000;

/// A module's place in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// The first address.
    pub start: u64,
    /// The first address behind it.
    pub end: u64,
}

/// The modules in `veth 45056 0 - Live 0xffffffffc0a01000`, a line each; lines
/// that are not understood, and hidden addresses, are passed over.
pub fn modules(bytes: &[u8]) -> Vec<Module> {
    bytes.split(|byte| *byte == b'\n').filter_map(module).take(MODULE_LIMIT).collect()
}

fn module(line: &[u8]) -> Option<Module> {
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let (name, size) = (words.next()?, words.next()?.parse::<u64>().ok()?);
    let start = u64::from_str_radix(words.nth(3)?.strip_prefix("0x")?, 16).ok()?;
    let end = start.checked_add(size)?;
    (start != 0).then(|| Module { name: name.to_owned(), start, end })
}

#[cfg(test)]
mod tests {
    use super::modules;

    #[test]
    fn a_module_has_a_start_and_an_end() {
        let text = b"veth 45056 0 - Live 0xffffffffc0a01000\nhidden 4096 1 a,b, Live 0x0000000000000000\nbad\nhuge 99999999999999999999 0 - Live 0x1\n";
        let found = modules(text);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].start, found[0].end), ("veth", 0xffff_ffff_c0a0_1000, 0xffff_ffff_c0a0_c000));
    }
}
