//! What can go wrong, each with what to do.

use std::io;
use std::path::{Path, PathBuf};

/// A failure of the microscope.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// A file or directory of the cache or of the user's.
    #[error("{what} {}: {source}; {}", path.display(), remedy(source))]
    File {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A cache that another can have written.
    #[error("the cache is not used, for programs in it are started: {}: {why}; remove the cache, or give one of your own (--cache DIR)", path.display())]
    Foreign {
        /// The file or directory.
        path: PathBuf,
        /// Who can have written it.
        why: String,
    },
    /// There is no place for a cache.
    #[error("there is no place for the cache: neither XDG_CACHE_HOME nor HOME is an absolute path; set one, or give --cache DIR")]
    NoCache,
    /// No QEMU.
    #[error("there is no QEMU for x86-64 with plugins: {0}; install it (Debian: qemu-system-x86), or let nettoll fetch it into its cache")]
    NoEmulator(String),
    /// A QEMU that was built without plugins.
    #[error("{} has no plugins (it was built without --enable-plugins); install another QEMU, or let nettoll fetch one", .0.display())]
    NoPlugins(PathBuf),
    /// No kernel of that name.
    #[error(
        "there is no kernel '{name}' among the packages{near}; `nettoll microscope cache` lists what is here, a path names a kernel of your own"
    )]
    NoKernel {
        /// What was asked for.
        name: String,
        /// Those that there are.
        near: String,
    },
    /// The distribution's packages cannot be had.
    #[error("{what}: {answer}; {remedy}")]
    Packages {
        /// What was tried.
        what: String,
        /// What apt or dpkg answered.
        answer: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The build of nettoll carries no probe.
    #[error("this build of nettoll cannot boot guests: it was made for another architecture than x86-64")]
    NoProbe,
    /// [`Emulator::stop`](crate::emulator::Emulator::stop) was set.
    #[error("interrupted: the guest was ended, and its counts are not kept; run it again")]
    Interrupted,
    /// QEMU did not start.
    #[error("QEMU ended before the guest did anything: {0}")]
    Emulator(String),
    /// The guest did not come to its end.
    #[error("the guest {what}; its console ended with:\n{tail}")]
    Guest {
        /// How it ended.
        what: String,
        /// The console's last lines.
        tail: String,
    },
    /// A symbol table that names no function.
    #[error("the guest's symbol table has no addresses: the kernel was built without CONFIG_KALLSYMS, or hides them; use a kernel with it")]
    NoSymbols,
    /// A symbol table that cannot be understood.
    #[error(transparent)]
    Symbols(#[from] crate::kallsyms::SymbolsError),
    /// The plugin's file cannot be understood.
    #[error(transparent)]
    Output(#[from] crate::output::OutputError),
    /// Two ways of counting that should agree do not.
    #[error("{0}; this QEMU cannot be used: let nettoll fetch another")]
    Miscounted(String),
    /// A scenario that there is not, or that says something wrong.
    #[error("{0}")]
    Scenario(String),
    /// A program of the user's that cannot be counted.
    #[error("{0}")]
    Program(String),
    /// The rules that come with nettoll.
    #[error(transparent)]
    Rules(#[from] attribution::RuleError),
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room, or prune the cache with `nettoll microscope cache --prune 0`, or give --cache DIR on another disk"
        }
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory | io::ErrorKind::ReadOnlyFilesystem => {
            "check the path and who may use it, or give --cache DIR"
        }
        _ => "try again",
    }
}

impl Failed {
    /// A failure of a file.
    pub fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { what, path, source }
    }
}
