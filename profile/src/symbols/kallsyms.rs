//! The kernel's list of symbols, line by line, as foreign bytes.

/// The longest name that is taken: `KSYM_NAME_LEN` of the kernel is 512.
pub const NAME_LIMIT: usize = 512;
/// The most symbols that are kept: a kernel with all its modules has some 300,000.
const SYMBOL_LIMIT: usize = 4_000_000;

/// Fault of a list without names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Every address reads 0.
    #[error("every address reads 0")]
    Hidden,
    /// The marks of the text section are missing or in the wrong order.
    #[error("it does not say where the kernel's text begins and ends (_stext, _etext)")]
    NoText,
    /// More symbols than any kernel has.
    #[error("more symbols than any kernel has")]
    TooMany,
}

/// One line about a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its first address.
    pub address: u64,
    /// `T` global, `W` weak, `t` local, as in nm(1).
    pub kind: u8,
    /// Its name, with what the compiler put behind it (`.constprop.0`).
    pub name: &'a str,
    /// The module, or what the kernel writes in its place (`bpf`,
    /// `__builtin__ftrace`); empty for the kernel proper.
    pub module: &'a str,
}

/// The lines about functions; those that are not understood are passed over.
///
/// # Errors
/// [`Malformed::TooMany`].
pub fn lines(bytes: &[u8]) -> Result<Vec<Line<'_>>, Malformed> {
    let mut found = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n').filter_map(line) {
        if found.len() == SYMBOL_LIMIT {
            return Err(Malformed::TooMany);
        }
        found.push(line);
    }
    Ok(found)
}

/// `ffffffff81e2f310 T name` or `ffffffffc0a01000 t name [module]`.
fn line(bytes: &[u8]) -> Option<Line<'_>> {
    let mut words = std::str::from_utf8(bytes).ok()?.split_ascii_whitespace();
    let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
    let address = u64::from_str_radix(address, 16).ok()?;
    let kind = match kind {
        "T" | "t" | "W" | "w" => kind.as_bytes()[0],
        _ => return None,
    };
    let module = words.next().map_or(Some(""), |module| module.strip_prefix('[')?.strip_suffix(']'))?;
    let fits = words.next().is_none() && name.len() <= NAME_LIMIT && module.len() <= NAME_LIMIT;
    fits.then_some(Line { address, kind, name, module })
}

/// Returns which of two names for one address is the better: smaller is better. A
/// function's own before a mark of the linker's, global before weak before local,
/// few leading underscores before many, long before short, then by letters.
pub fn rank<'a>(line: &Line<'a>) -> (bool, u8, usize, std::cmp::Reverse<usize>, &'a str) {
    let kind = match line.kind {
        b'T' => 0,
        b'W' | b'w' => 1,
        _ => 2,
    };
    let underscores = line.name.bytes().take_while(|byte| *byte == b'_').count();
    (is_mark(line.name), kind, underscores, std::cmp::Reverse(line.name.len()), line.name)
}

/// Returns whether the linker put the name there to mark where a section begins or ends.
fn is_mark(name: &str) -> bool {
    matches!(name, "_text" | "_stext" | "_etext" | "_sinittext" | "_einittext")
        || name.starts_with("__") && (name.ends_with("_start") || name.ends_with("_end") || name.ends_with("_begin"))
}

#[cfg(test)]
mod tests {
    use super::{Line, lines};

    #[test]
    fn functions_are_taken_and_the_rest_is_passed_over() {
        let text = b"0000000000000000 A percpu\nffffffff81000000 T _stext\nffffffff82000000 D data\n\
                     ffffffffc0000000 t veth_xmit\t[veth]\nnonsense\nffffffff81000010 t a b c\nfffffffffffffffff T wide\n\xff\xfe T x\n";
        let expected = [
            Line { address: 0xffff_ffff_8100_0000, kind: b'T', name: "_stext", module: "" },
            Line { address: 0xffff_ffff_c000_0000, kind: b't', name: "veth_xmit", module: "veth" },
        ];
        assert_eq!(lines(text).unwrap(), expected);
    }
}
