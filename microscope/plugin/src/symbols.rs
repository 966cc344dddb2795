// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's functions by address.

/// Number of user code among functions.
pub const USER: u32 = 0;
/// Number of kernel code that no symbol covers.
pub const UNKNOWN: u32 = 1;
/// Number of the first symbol.
const FIRST: u32 = 2;

/// Code farther than this behind a symbol is not its function's: there is a gap in
/// the table, as between the kernel and its modules.
const LONGEST: u64 = 1 << 18;

/// What the plugin has to know of a function's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A function like most.
    Plain,
    /// The kernel's entry from user code or by an interrupt: it begins a path.
    Entry,
    /// A trampoline that goes on to another function: it ends where that begins.
    Thunk,
    /// One that returns to its caller's caller.
    SafeReturn,
    /// The switch of stacks between tasks.
    Switch,
}

/// The table: symbols by rising address.
#[derive(Debug, Default)]
pub struct Symbols {
    starts: Vec<u64>,
    roles: Vec<Role>,
}

impl Symbols {
    /// Reads lines of `address name`, the address in hexadecimal digits, by rising
    /// address. A function's number is its line, from 2.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut table = Self::default();
        for (place, line) in text.lines().enumerate() {
            let wrong = || format!("line {} of the symbols file is no address and name: {line}", place + 1);
            let (address, name) = line.split_once(' ').ok_or_else(wrong)?;
            let address = u64::from_str_radix(address, 16).map_err(|_| wrong())?;
            if table.starts.last().is_some_and(|last| *last >= address) {
                return Err(format!("line {} of the symbols file is not in the order of addresses", place + 1));
            }
            table.starts.push(address);
            table.roles.push(role(name));
        }
        Ok(table)
    }

    /// The function that an address is in, and whether it begins there.
    pub fn find(&self, address: u64) -> (u32, bool) {
        if address >> 63 == 0 {
            return (USER, false);
        }
        let after = self.starts.partition_point(|start| *start <= address);
        match after.checked_sub(1).map(|place| (place, address - self.starts[place])) {
            Some((place, offset)) if offset < LONGEST => (FIRST + place as u32, offset == 0),
            _ => (UNKNOWN, false),
        }
    }

    /// The role of a function.
    pub fn role(&self, function: u32) -> Role {
        function.checked_sub(FIRST).and_then(|place| self.roles.get(place as usize)).copied().unwrap_or(Role::Plain)
    }
}

fn role(name: &str) -> Role {
    const THUNKS: [&str; 6] =
        ["__SCT__", "__x86_indirect_", "__x86_retpoline_", "__x86_return_thunk", "srso_return_thunk", "srso_alias_return_thunk"];
    // Labels of entry_SYSCALL_64 are functions to a symbol table; asm_call_on_stack is none of these.
    const ENTRIES: [&str; 6] =
        ["entry_SYSCALL", "entry_INT80", "asm_exc_", "asm_sysvec_", "asm_common_interrupt", "asm_spurious_interrupt"];
    let entry = ENTRIES.iter().any(|entry| name.starts_with(entry));
    match name {
        "__switch_to_asm" => Role::Switch,
        _ if entry => Role::Entry,
        _ if name.ends_with("_safe_ret") => Role::SafeReturn,
        _ if THUNKS.iter().any(|thunk| name.starts_with(thunk)) => Role::Thunk,
        _ => Role::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::{Role, Symbols, UNKNOWN, USER};

    #[test]
    fn addresses_find_their_functions() {
        let text = "ffffffff81000000 entry_SYSCALL_64\nffffffff81000100 udp_sendmsg\nffffffffc0000000 veth_xmit [veth]\n";
        let table = Symbols::parse(text).unwrap();
        assert_eq!(table.find(0x40_0000), (USER, false));
        assert_eq!(table.find(0xffff_ffff_8000_0000), (UNKNOWN, false));
        assert_eq!(table.find(0xffff_ffff_8100_0000), (2, true));
        assert_eq!(table.find(0xffff_ffff_8100_00ff), (2, false));
        assert_eq!(table.find(0xffff_ffff_8100_0100), (3, true));
        assert_eq!(table.find(0xffff_ffff_b000_0000), (UNKNOWN, false));
        assert_eq!(table.find(0xffff_ffff_c000_0004), (4, false));
        assert_eq!((table.role(2), table.role(3), table.role(99)), (Role::Entry, Role::Plain, Role::Plain));
    }

    #[test]
    fn what_is_no_table_is_refused() {
        for text in ["x y", "ffff", "10 a\n10 b", "10 a\n8 b", "\u{0}"] {
            assert!(Symbols::parse(text).is_err(), "{text}");
        }
    }
}
