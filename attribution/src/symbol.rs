//! Names of kernel functions as symbol tables write them.

/// A name without what compilers and symbol tables add to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// The function's name in the source.
    pub name: &'a str,
    /// The module it is in; `None` of the kernel proper.
    pub module: Option<&'a str>,
}

impl<'a> Symbol<'a> {
    /// Takes `name.isra.0 [module]` apart.
    ///
    /// The part behind the first full stop is a compiler's (`.isra.0`,
    /// `.constprop.0`, `.part.0`, `.cold`, `.llvm.123`): C names have none. A
    /// stop at the start is kept, since it is part of the name on some
    /// machines. `__pi_` marks aliases of position-independent code on arm64, and
    /// `_noprof` the functions behind macros that account allocations (since Linux
    /// 6.10): callers still write the name without it.
    pub fn parse(text: &'a str) -> Self {
        let (name, module) = match text.split_once(" [") {
            Some((name, rest)) => (name, Some(rest.strip_suffix(']').unwrap_or(rest))),
            None => (text, None),
        };
        let name = match name.char_indices().skip(1).find(|(_, c)| *c == '.') {
            Some((stop, _)) => &name[..stop],
            None => name,
        };
        let name = name.strip_prefix("__pi_").filter(|rest| !rest.is_empty()).unwrap_or(name);
        let name = name.strip_suffix("_noprof").filter(|rest| !rest.is_empty()).unwrap_or(name);
        // The one made-up frame with a space in its name.
        let name = if name == "[syscall exit]" { "[syscall_exit]" } else { name };
        Self { name, module: module.filter(|module| !module.is_empty()) }
    }

    /// The name under which its time is listed: with the module, so that equal
    /// names of two modules stay apart.
    pub fn listed(self) -> String {
        match self.module {
            Some(module) => format!("{} [{module}]", self.name),
            None => self.name.to_owned(),
        }
    }

    /// The name under which its time is listed as that of a caller.
    pub fn listed_before(self, caller: Self) -> String {
        format!("{}{BEFORE}{}", self.listed(), caller.listed())
    }

    /// Returns whether a name is one of [`Symbol::listed_before`].
    pub fn has_caller(listed: &str) -> bool {
        listed.contains(BEFORE)
    }
}

/// Stands between a function and its caller, in which no name has a blank.
const BEFORE: &str = " < ";

/// Functions in which interrupts come on again. A timer's interrupt that was due while they
/// were off fires here, so its time is that of the region before, which the caller tells.
const INTERRUPTS_ON: [&str; 7] = [
    "_raw_spin_unlock_irqrestore",
    "_raw_spin_unlock_irq",
    "finish_task_switch",
    "handle_softirqs",
    "__do_softirq",
    "__local_bh_enable_ip",
    "do_syscall_64",
];

/// What stands in front of `sys_` in the names of functions that a system call begins with
/// (arch/*/include/asm/syscall_wrapper.h); the call's own name follows.
const CALLS: [&str; 11] = ["__x64", "__ia32", "__arm64", "__riscv", "__s390x", "__loongarch", "__se", "__do", "", "k", "do"];

impl<'a> Symbol<'a> {
    /// The system call that it is a beginning of, by its name.
    pub fn system_call(&self) -> Option<&'a str> {
        let (start, call) = self.name.split_once("sys_")?;
        (CALLS.contains(&start.trim_end_matches('_')) && !call.is_empty()).then_some(call)
    }

    /// Returns whether interrupts come on again in it, so that samples in it show the time
    /// before.
    pub fn enables_interrupts(&self) -> bool {
        INTERRUPTS_ON.contains(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::Symbol;
    use proptest::prelude::{prop_assert, proptest};

    #[test]
    fn suffixes_and_modules_come_off() {
        let parts = |text| {
            let symbol = Symbol::parse(text);
            (symbol.name, symbol.module)
        };
        assert_eq!(parts("tcp_ack"), ("tcp_ack", None));
        assert_eq!(parts("finish_task_switch.isra.0"), ("finish_task_switch", None));
        assert_eq!(parts("count.constprop.0.isra.0"), ("count", None));
        assert_eq!(parts("udp_sendmsg.llvm.1234567 [udp]"), ("udp_sendmsg", Some("udp")));
        assert_eq!(parts("veth_xmit [veth]"), ("veth_xmit", Some("veth")));
        assert_eq!(parts("__pi_memcpy"), ("memcpy", None));
        assert_eq!(parts(".hidden.part.0"), (".hidden", None));
        assert_eq!(parts("kmem_cache_alloc_node_noprof.isra.0"), ("kmem_cache_alloc_node", None));
        assert_eq!(parts("[user]"), ("[user]", None));
        assert_eq!(parts("[syscall exit]"), ("[syscall_exit]", None));
        assert_eq!(parts(""), ("", None));
        assert_eq!(Symbol::parse("veth_xmit.cold [veth]").listed(), "veth_xmit [veth]");
    }

    #[test]
    fn system_calls_have_their_names() {
        let calls = [
            "__x64_sys_openat",
            "__se_sys_read",
            "____sys_sendmsg",
            "ksys_write",
            "do_sys_poll",
            "x64_sys_call",
            "do_syscall_64",
            "tcp_ack",
        ];
        let found = calls.map(|name| Symbol::parse(name).system_call());
        assert_eq!(found, [Some("openat"), Some("read"), Some("sendmsg"), Some("write"), Some("poll"), None, None, None]);
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in ".{0,40}") {
            let symbol = Symbol::parse(&text);
            prop_assert!(symbol.name.len() <= text.len());
        }
    }
}
