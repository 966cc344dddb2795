//! Names for addresses: of the kernel from `/proc/kallsyms`, of user code only
//! as far as to know a return from a system call.

pub mod code;
pub mod file;
pub mod kallsyms;
mod table;

use std::io;

use crate::system::read_limited;
use bpf::sysctl;
use model::Refusal;
use sys::errno_name;

pub use code::CodeMap;
pub use kallsyms::Malformed;
pub use table::{CLASSIC_FILTER, Change, Module, Symbol, Symbols, UNKNOWN, runs_filters};

const KALLSYMS: &str = "/proc/kallsyms";
pub(crate) const MODULES: &str = "/proc/modules";
const MECHANISM: &str = "kernel symbols";

impl Symbols {
    /// The running kernel's. Takes some 30 ms; what is loaded later has no names
    /// ([`KernelNames`](crate::kernel_names::KernelNames) keeps them up to date).
    ///
    /// # Errors
    /// When the kernel hides its addresses or has no list, with a remedy.
    pub fn of_kernel() -> Result<Self, Refusal> {
        let list = read_limited(KALLSYMS).map_err(|error| absent(&error))?;
        // Without it no function of a module has a name, which is better than a wrong one.
        let modules = read_limited(MODULES).unwrap_or_default();
        let mut symbols = Self::parse(&list, &modules).map_err(|malformed| match malformed {
            Malformed::Hidden => Refusal::new(
                MECHANISM,
                format!("{KALLSYMS}: every address reads 0, kernel.kptr_restrict is {}", sysctl("kernel.kptr_restrict")),
                "Run as root or with CAP_SYSLOG (and `sysctl kernel.kptr_restrict=1` where it is 2)",
            ),
            other => Refusal::new(MECHANISM, format!("{KALLSYMS}: {other}"), "Report this kernel's version: its list is not understood"),
        })?;
        symbols.take_lengths(&bpf::compiled());
        Ok(symbols)
    }
}

fn absent(error: &io::Error) -> Refusal {
    let remedy = match error.raw_os_error() {
        Some(libc::ENOENT) => "Mount /proc, or use a kernel with CONFIG_KALLSYMS",
        _ => "Run as root",
    };
    Refusal::new(MECHANISM, format!("{KALLSYMS}: {}", errno_name(error)), remedy)
}
