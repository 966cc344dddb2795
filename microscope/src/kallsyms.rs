//! The kernel's symbol table, as `/proc/kallsyms` of a guest has it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;

/// Lines beyond which a table is refused: kernels have some 200,000 symbols.
const MOST_LINES: usize = 4_000_000;

/// A table that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SymbolsError {
    /// A line that is no symbol.
    #[error("line {0} of the guest's symbol table is no symbol; the guest or its output is damaged")]
    Line(usize),
    /// Too many lines.
    #[error("the guest's symbol table has more than {MOST_LINES} lines; it is damaged")]
    Long,
}

/// The functions of a kernel by address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Functions {
    all: Vec<(u64, String)>,
}

/// Names of user code and of what no symbol covers, which the plugin numbers 0 and 1.
pub const SPECIAL: [&str; 2] = ["[user]", "[unknown]"];

impl Functions {
    /// Reads lines of `address type name` with an optional module behind, and keeps one
    /// name of each address of code; names of data are left out.
    ///
    /// # Errors
    /// A line that is no symbol, or too many.
    pub fn parse(text: &str) -> Result<Self, SymbolsError> {
        let mut found: BTreeMap<u64, (Rank, String)> = BTreeMap::new();
        for (place, line) in text.lines().enumerate() {
            if place >= MOST_LINES {
                return Err(SymbolsError::Long);
            }
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else {
                return Err(SymbolsError::Line(place + 1));
            };
            let address = u64::from_str_radix(address, 16).map_err(|_| SymbolsError::Line(place + 1))?;
            // Code is above the middle of the address space; what is below is per-CPU data.
            if !matches!(kind, "t" | "T" | "w" | "W") || address >> 63 == 0 || BOUNDS.contains(&name) {
                continue;
            }
            let full = words.next().map_or_else(|| name.to_owned(), |module| format!("{name} {module}"));
            let rank = rank(kind, name);
            match found.entry(address) {
                Entry::Vacant(vacant) => drop(vacant.insert((rank, full))),
                Entry::Occupied(mut known) if rank < known.get().0 => drop(known.insert((rank, full))),
                Entry::Occupied(_) => {}
            }
        }
        Ok(Self { all: found.into_iter().map(|(address, (_, name))| (address, name)).collect() })
    }

    /// Number of functions.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// True where no function has an address.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The functions as the plugin reads them: a line of address and name each.
    pub fn for_plugin(&self) -> String {
        let mut text = String::with_capacity(self.all.len() * 40);
        for (address, name) in &self.all {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{address:x} {name}");
        }
        text
    }

    /// Reads what [`Functions::for_plugin`] wrote.
    ///
    /// # Errors
    /// A line that is no symbol.
    pub fn of_plugin(text: &str) -> Result<Self, SymbolsError> {
        let of_line = |(place, line): (usize, &str)| {
            let (address, name) = line.split_once(' ')?;
            let _ = place;
            Some((u64::from_str_radix(address, 16).ok()?, name.to_owned()))
        };
        let read = |(place, line)| of_line((place, line)).ok_or(SymbolsError::Line(place + 1));
        Ok(Self { all: text.lines().enumerate().map(read).collect::<Result<_, _>>()? })
    }

    /// Returns whether modules lie where the table has them; `modules` is a guest's
    /// `/proc/modules`. What is no line of that is passed over.
    pub fn fits(&self, modules: &str) -> bool {
        modules.lines().all(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let [name, size, .., address] = words[..] else { return true };
            let address = u64::from_str_radix(address.trim_start_matches("0x"), 16);
            let (Ok(size), Ok(address)) = (size.parse::<u64>(), address) else { return true };
            let suffix = format!(" [{name}]");
            let places = self.all.iter().filter(|(_, name)| name.ends_with(&suffix)).map(|(place, _)| *place);
            // The parts of a module lie apart on newer kernels; its code is where it begins.
            places.min().is_none_or(|first| (address..address.saturating_add(size)).contains(&first))
        })
    }

    /// The name that goes with a number of the plugin.
    pub fn name(&self, number: usize) -> Option<&str> {
        match number.checked_sub(SPECIAL.len()) {
            None => Some(SPECIAL[number]),
            Some(place) => self.all.get(place).map(|(_, name)| name.as_str()),
        }
    }
}

/// Names of the ends of the kernel's code, which are no functions.
const BOUNDS: [&str; 3] = ["_text", "_stext", "_etext"];

/// Of several names of one address the least: those of other functions' padding and of the
/// ends of sections come last, those of one file after those of all, and then the shorter
/// first.
type Rank = (bool, bool, bool, usize, String);

fn rank(kind: &str, name: &str) -> Rank {
    let bound = name.starts_with("__") && (name.ends_with("_start") || name.ends_with("_end"));
    (bound || name.starts_with("__pfx_"), kind == "t", name.starts_with('_'), name.len(), name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Functions, SymbolsError};
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    const TABLE: &str = "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _stext\nffffffff81000000 t __pfx_startup\n\
        ffffffff81000000 T startup_64\nffffffff81000040 T __softirqentry_text_end\nffffffff81000040 t udp_sendmsg.isra.0\nffffffff81000040 T udp_sendmsg\nffffffff81000050 D data\n\
        ffffffffc0000000 t veth_xmit\t[veth]\n";

    #[test]
    fn functions_are_kept_once() {
        let table = Functions::parse(TABLE).unwrap();
        assert_eq!(table.for_plugin(), "ffffffff81000000 startup_64\nffffffff81000040 udp_sendmsg\nffffffffc0000000 veth_xmit [veth]\n");
        assert_eq!(Functions::of_plugin(&table.for_plugin()).unwrap(), table);
        let names: Vec<Option<&str>> = (0..6).map(|number| table.name(number)).collect();
        assert_eq!(names, [Some("[user]"), Some("[unknown]"), Some("startup_64"), Some("udp_sendmsg"), Some("veth_xmit [veth]"), None]);
    }

    #[test]
    fn modules_that_lie_elsewhere_are_found() {
        let table = Functions::parse(TABLE).unwrap();
        assert!(table.fits("veth 36864 0 - Live 0xffffffffc0000000\nother 1 0 - Live 0xffffffffc0100000\nnoise\n"));
        assert!(!table.fits("veth 36864 0 - Live 0xffffffffc0400000"));
    }

    #[test]
    fn addresses_that_are_hidden_are_none() {
        // What a kernel shows to a process without the right to see addresses.
        assert!(Functions::parse("0000000000000000 T _text\n0000000000000000 T udp_sendmsg\n").unwrap().is_empty());
        assert_eq!(Functions::parse("ffffffff81000000 T"), Err(SymbolsError::Line(1)));
        assert_eq!(Functions::parse("zzz T a"), Err(SymbolsError::Line(1)));
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_read(text in "([0-9a-f]{1,17} [tTDx] [a-z_.]{1,9}( \\[m\\])?\n|\\PC{0,9}\n){0,9}") {
            if let Ok(table) = Functions::parse(&text) {
                prop_assert!(table.len() <= text.lines().count());
                prop_assert_eq!(Functions::of_plugin(&table.for_plugin()).unwrap(), table);
            }
        }
    }
}
