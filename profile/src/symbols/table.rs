//! Finding the function at an address, or saying that there is none.

use model::sorting::Order;
use std::ops::Range;

use super::kallsyms::{self, Line, Malformed, NAME_LIMIT};

/// Name of an address in no known function.
pub const UNKNOWN: &str = "[unknown]";
/// Name of the code of a classic filter (of seccomp, of a socket), which has none in the kernel.
pub const CLASSIC_FILTER: &str = "bpf_prog_classic [bpf]";

/// Functions of the kernel that run classic filters. Those of modules are not among them.
const RUN_FILTERS: [&str; 12] = [
    "__seccomp_filter",
    "seccomp_run_filters",
    "__secure_computing",
    "syscall_trace_enter",
    "sk_filter",
    "sk_filter_trim_cap",
    "packet_rcv",
    "packet_rcv_spkt",
    "tpacket_rcv",
    "fanout_demux_bpf",
    "reuseport_select_sock",
    "cls_bpf_classify",
];

/// Code of the kernel that came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// The first address.
    pub start: u64,
    /// The first address behind it.
    pub end: u64,
    /// `true` if it went.
    pub gone: bool,
    /// `true` if it belongs to BPF.
    pub bpf: bool,
    /// Its name, as it was written.
    pub name: &'a [u8],
    /// Its time, in ns of `CLOCK_MONOTONIC`.
    pub time: u64,
}

/// Returns whether a function of the kernel, as kallsyms names it, runs classic filters.
pub fn runs_filters(name: &str) -> bool {
    name.split(['.', ' ']).next().is_some_and(|name| RUN_FILTERS.contains(&name))
}

/// Code that the kernel makes at run time: where nothing says where it ends, a name
/// reaches no further than this. A BPF program of 4096 instructions
/// compiles to some 64 KiB at most; BPF's trampolines and dispatchers have a page.
const MADE_REACH: u64 = 64 << 10;
const IMAGE_REACH: u64 = 4 << 10;

/// The functions of a kernel, by address.
#[derive(Debug, Clone)]
pub struct Symbols {
    /// Sorted by address; no two have the same.
    entries: Vec<Entry>,
    text: Range<u64>,
    modules: Vec<Module>,
    /// In order of time.
    changes: Vec<Change>,
}

/// Code that the kernel made, or gave up, at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// In ns of `CLOCK_MONOTONIC`.
    pub time: u64,
    /// Its addresses.
    pub code: Range<u64>,
    /// Its name.
    pub name: Box<str>,
    /// `true` if it was given up.
    pub gone: bool,
}

#[derive(Debug, Clone)]
struct Entry {
    address: u64,
    /// With its module behind it.
    name: Box<str>,
    kind: Kind,
}

/// In which kind of memory a function lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The kernel's own text section.
    Text,
    /// The module at this place of the list.
    Module(usize),
    /// Made at run time: a BPF program, a trampoline. The first address behind it.
    Made(u64),
}

impl From<Symbol<'_>> for Change {
    fn from(symbol: Symbol) -> Self {
        let name = String::from_utf8_lossy(&symbol.name[..symbol.name.len().min(NAME_LIMIT)]);
        let name: String = name.chars().filter(|letter| letter.is_ascii_graphic() && *letter != ';').collect();
        let name = match (name.is_empty(), symbol.bpf) {
            (true, _) => UNKNOWN.into(),
            // As kallsyms writes it.
            (false, true) => format!("{name} [bpf]").into(),
            (false, false) => name.into(),
        };
        Self { time: symbol.time, code: symbol.start..symbol.end, name, gone: symbol.gone }
    }
}

impl Symbols {
    /// Names from the text of `/proc/kallsyms` and that of `/proc/modules`.
    ///
    /// # Errors
    /// When the list hides its addresses or does not mark the kernel's text.
    pub fn parse(list: &[u8], module_list: &[u8]) -> Result<Self, Malformed> {
        let mut lines = kallsyms::lines(list)?;
        if lines.iter().all(|line| line.address == 0) {
            return Err(Malformed::Hidden);
        }
        let mark = |name| lines.iter().find(|line| line.name == name && line.module.is_empty()).map(|line| line.address);
        let text = mark("_stext").zip(mark("_etext")).map(|(start, end)| start..end).filter(|text| !text.is_empty());
        let text = text.ok_or(Malformed::NoText)?;
        let modules = modules(module_list);
        lines.sort_by(|a, b| a.address.cmp(&b.address).then_with(|| kallsyms::rank(a).cmp(&kallsyms::rank(b))));
        lines.dedup_by_key(|line| line.address);
        let entries = lines.iter().filter_map(|line| entry(line, &text, &modules)).collect();
        Ok(Self { entries, text, modules, changes: Vec::new() })
    }

    /// Takes the lengths of code that was made at run time, by its first address.
    pub(super) fn take_lengths(&mut self, lengths: &[(u64, u32)]) {
        for (start, length) in lengths {
            let Ok(place) = self.entries.binary_search_by_key(start, |entry| entry.address) else { continue };
            if let Kind::Made(end) = &mut self.entries[place].kind {
                *end = start.saturating_add((*length).into());
            }
        }
    }

    /// Takes what was made and given up since shortly before the list was read.
    pub fn take_changes(&mut self, changes: impl IntoIterator<Item = Change>) {
        self.changes.extend(changes);
        self.changes.order_by_key(|change| change.time);
    }

    /// The number of changes until a time: while it is the same, so is every name.
    pub fn moment(&self, time: u64) -> usize {
        self.changes.partition_point(|change| change.time <= time)
    }

    /// The function that held `address` at a moment, as [`Self::name`] has it.
    pub fn name_at(&self, address: u64, moment: usize) -> &str {
        if self.text.contains(&address) {
            return self.name(address);
        }
        let (before, after) = self.changes.split_at(moment.min(self.changes.len()));
        let here = |change: &&Change| change.code.contains(&address);
        // What went later was there from the start, and what came later was not.
        let made = before.iter().rev().find(here).map(|last| (!last.gone).then_some(last));
        let made = made.or_else(|| after.iter().find(here).map(|next| next.gone.then_some(next)));
        made.map_or_else(|| self.name(address), |made| made.map_or(UNKNOWN, |made| &made.name))
    }

    /// The function that holds `address`, as kallsyms writes it, a module's
    /// with the module behind it: `veth_xmit [veth]`. [`UNKNOWN`] where the
    /// address is in no function known.
    pub fn name(&self, address: u64) -> &str {
        self.find(address).map_or(UNKNOWN, |entry| &entry.name)
    }

    /// The function that made the call which returns to `address`: a call may
    /// be a function's last instruction, so the one before counts.
    pub fn caller(&self, address: u64) -> &str {
        self.name(address.wrapping_sub(1))
    }

    /// Returns the number of functions that have a name.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether none has.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn find(&self, address: u64) -> Option<&Entry> {
        let after = self.entries.partition_point(|entry| entry.address <= address);
        let entry = &self.entries[after.checked_sub(1)?];
        entry.kind.has(address, &self.text, &self.modules).then_some(entry)
    }
}

impl Kind {
    /// Returns whether memory of this kind has an address, of a function that begins at it or before.
    fn has(self, address: u64, text: &Range<u64>, modules: &[Module]) -> bool {
        match self {
            Self::Text => text.contains(&address),
            Self::Module(place) => (modules[place].start..modules[place].end).contains(&address),
            Self::Made(end) => address < end && !text.contains(&address),
        }
    }
}

/// A line as an entry, if it lies where it says: the text of start-up, say, is
/// given to others once the kernel runs.
fn entry(line: &Line, text: &Range<u64>, modules: &[Module]) -> Option<Entry> {
    let kind = if line.module.is_empty() {
        Kind::Text
    } else if line.module == "bpf" || line.module.starts_with("__builtin__") {
        let is_image = line.module == "bpf" && !line.name.starts_with("bpf_prog_");
        Kind::Made(line.address.saturating_add(if is_image { IMAGE_REACH } else { MADE_REACH }))
    } else {
        Kind::Module(modules.iter().position(|module| module.name == line.module)?)
    };
    let name = if line.module.is_empty() { line.name.into() } else { format!("{} [{}]", line.name, line.module).into() };
    kind.has(line.address, text, modules).then_some(Entry { address: line.address, name, kind })
}

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
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::Symbol;
    use super::{Change, Malformed, Symbols, UNKNOWN, modules};

    const LIST: &str = "0000000000000000 A percpu\n\
        ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81000000 t startup\n\
        ffffffff81000100 T __memcpy\nffffffff81000100 W memcpy_alias\nffffffff81000100 T memcpy\n\
        ffffffff81000200 t validate_xmit_skb.isra.0\n\
        ffffffff81000300 T last_one\nffffffff81000400 T _etext\n\
        ffffffff83000000 T _sinittext\nffffffff83000010 t start_up_only\n\
        ffffffffc0000000 t veth_xmit\t[veth]\nffffffffc0000100 t other\t[unlisted]\n\
        ffffffffc0201000 t ftrace_trampoline\t[__builtin__ftrace]\n\
        ffffffffc0300000 t bpf_prog_6deef7357e7b4530_x\t[bpf]\nffffffffc0400000 t bpf_dispatcher_xdp\t[bpf]\n";
    const MODULES: &str = "veth 4096 0 - Live 0xffffffffc0000000\n";

    fn symbols() -> Symbols {
        Symbols::parse(LIST.as_bytes(), MODULES.as_bytes()).unwrap()
    }

    #[test]
    fn an_address_has_the_name_of_its_function() {
        let symbols = symbols();
        assert_eq!(symbols.name(0xffff_ffff_8100_0005), "startup", "rather than a mark of the linker's");
        assert_eq!(symbols.name(0xffff_ffff_8100_0100), "memcpy", "fewest underscores, global");
        assert_eq!(symbols.name(0xffff_ffff_8100_02ff), "validate_xmit_skb.isra.0");
        assert_eq!(symbols.caller(0xffff_ffff_8100_0300), "validate_xmit_skb.isra.0", "a call as the last instruction");
        assert_eq!(symbols.name(0xffff_ffff_c000_0010), "veth_xmit [veth]");
    }

    #[test]
    fn what_lies_beyond_the_text_is_not_its_last_function() {
        let symbols = symbols();
        for beyond in [0xffff_ffff_8100_0400, 0xffff_ffff_8300_0020, 0xffff_ffff_c000_1000, 0x1000, 0, u64::MAX] {
            assert_eq!(symbols.name(beyond), UNKNOWN, "{beyond:x}");
        }
        assert_eq!(symbols.name(0xffff_ffff_c020_1010), "ftrace_trampoline [__builtin__ftrace]");
        assert_eq!(symbols.name(0xffff_ffff_c030_0010), "bpf_prog_6deef7357e7b4530_x [bpf]");
        assert_eq!(symbols.name(0xffff_ffff_c040_0fff), "bpf_dispatcher_xdp [bpf]");
        assert_eq!([symbols.name(0xffff_ffff_c031_0000), symbols.name(0xffff_ffff_c040_1000)], [UNKNOWN; 2]);
    }

    /// A program that came, another that took its place, and one that was there from the start.
    #[test]
    fn code_that_comes_and_goes_has_its_name_while_it_is_there() {
        let mut symbols = symbols();
        let change = |time, gone, name: &[u8]| {
            let (start, end) = (0xffff_ffff_c030_0000, 0xffff_ffff_c030_0100);
            Change::from(Symbol { start, end, gone, bpf: true, name, time })
        };
        symbols.take_changes([change(30, true, b"first"), change(20, true, b"bpf_prog_6deef7357e7b4530_x"), change(25, false, b"first")]);
        symbols.take_changes([change(40, false, b"se;cond\x1b")]);
        let names = [10, 20, 25, 29, 30, 40, 50].map(|time| symbols.name_at(0xffff_ffff_c030_0010, symbols.moment(time)));
        let there = "bpf_prog_6deef7357e7b4530_x [bpf]";
        assert_eq!(names, [there, UNKNOWN, "first [bpf]", "first [bpf]", UNKNOWN, "second [bpf]", "second [bpf]"]);
        let text = 0xffff_ffff_8100_0005;
        assert_eq!(symbols.name_at(text, 0), symbols.name(text));
    }

    #[test]
    fn code_ends_where_its_length_says() {
        let mut symbols = symbols();
        symbols.take_lengths(&[(0xffff_ffff_c030_0000, 0x80), (0xffff_ffff_8100_0000, 1), (1, u32::MAX)]);
        assert_eq!(symbols.name(0xffff_ffff_c030_007f), "bpf_prog_6deef7357e7b4530_x [bpf]");
        assert_eq!(symbols.name(0xffff_ffff_c030_0080), UNKNOWN);
        assert_eq!(symbols.name(0xffff_ffff_8100_0005), "startup");
    }

    #[test]
    fn hidden_and_unmarked_lists_are_refused() {
        let hidden: String = LIST.lines().map(|line| format!("{:016x}{}\n", 0, &line[16..])).collect();
        assert_eq!(Symbols::parse(hidden.as_bytes(), b"").unwrap_err(), Malformed::Hidden);
        assert_eq!(Symbols::parse(b"", b"").unwrap_err(), Malformed::Hidden);
        assert_eq!(Symbols::parse(b"ffffffff81000000 T _stext\n", b"").unwrap_err(), Malformed::NoText);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(noise in vec(any::<u8>(), 0..200), at in 0..LIST.len(), address in any::<u64>()) {
            let mut bytes = LIST.as_bytes().to_vec();
            bytes.splice(at..(at + noise.len()).min(LIST.len()), noise.iter().copied());
            if let Ok(symbols) = Symbols::parse(&bytes, &noise) {
                prop_assert!(!symbols.name(address).is_empty());
            }
        }

        #[test]
        fn order_does_not_matter(seed in any::<u64>(), offset in 0..0x500_u64) {
            let mut lines: Vec<&str> = LIST.lines().collect();
            let length = lines.len();
            for place in 0..length {
                lines.swap(place, (seed.rotate_left(place as u32) % length as u64) as usize);
            }
            let mixed = Symbols::parse(lines.join("\n").as_bytes(), MODULES.as_bytes()).unwrap();
            let (address, plain) = (0xffff_ffff_8100_0000 + offset, symbols());
            prop_assert_eq!(mixed.name(address), plain.name(address));
        }
    }

    #[test]
    fn a_module_has_a_start_and_an_end() {
        let text = b"veth 45056 0 - Live 0xffffffffc0a01000\nhidden 4096 1 a,b, Live 0x0000000000000000\nbad\nhuge 99999999999999999999 0 - Live 0x1\n";
        let found = modules(text);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].start, found[0].end), ("veth", 0xffff_ffff_c0a0_1000, 0xffff_ffff_c0a0_c000));
    }
}
