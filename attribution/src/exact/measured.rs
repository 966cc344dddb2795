//! What one run of an emulated machine measured: where the figures come from, and a
//! receipt for each region.

use serde::{Deserialize, Serialize};

use super::{CallTree, Counts, ExactRows, Spread};

/// Everything that moves the figures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// QEMU and its version, as it names itself.
    pub emulator: String,
    /// Version of its plugin interface.
    pub interface: u32,
    /// The kernel's short name, such as `6.12`, or the file that it was.
    pub kernel: String,
    /// The package that it came from, with its version; empty for a file.
    pub package: String,
    /// The kernel's own words (`/proc/version`).
    pub version: String,
    /// Model of the processor (`-cpu`).
    pub cpu: String,
    /// Instructions a nanosecond of virtual time, as a power of two (`-icount shift`).
    pub icount_shift: u32,
    /// Seed of the guest's random numbers.
    pub seed: u64,
    /// The kernel's command line, mitigations included.
    pub command_line: String,
    /// Its security modules.
    pub security_modules: String,
    /// SHA-256 of the kernel's image.
    pub kernel_hash: String,
    /// SHA-256 of the probe.
    pub probe_hash: String,
    /// SHA-256 of the plugin.
    pub plugin_hash: String,
    /// How loads and stores were counted.
    pub accesses: Accesses,
}

/// Way in which the plugin counts loads and stores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accesses {
    /// In the code that QEMU makes.
    #[default]
    Inline,
    /// By callbacks: slower, and right where QEMU's filter of loads and stores is not.
    Callback,
}

/// Cache lines of 64 bytes that a message touches, each counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// Lines of code.
    pub code: Spread,
    /// Lines that are read.
    pub read: Spread,
    /// Lines that are written.
    pub written: Spread,
}

/// One scenario's message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// The scenario with its size, such as `udp-112`.
    pub name: String,
    /// Messages that were counted.
    pub messages: u64,
    /// Messages that took the usual course, function by function and path by path.
    pub usual: u64,
    /// Number of different courses.
    pub courses: u64,
    /// What a message of the usual course executed.
    pub total: Counts,
    /// Instructions of all messages.
    pub instructions: Spread,
    /// Data reads of all messages.
    pub reads: Spread,
    /// Data writes of all messages.
    pub writes: Spread,
    /// The usual course by attribute.
    pub rows: ExactRows,
    /// Cache lines of the messages of the usual course; `None` where they were not counted.
    pub lines: Option<Lines>,
    /// Returns that fitted no call: 0 where the paths are beyond doubt.
    pub repairs: u64,
    /// The usual course by call path.
    pub tree: CallTree,
}

impl Region {
    /// Its scenario, and the bytes of its messages where they have a size.
    pub fn scenario(&self) -> (&str, Option<u64>) {
        let sized = self.name.rsplit_once('-').and_then(|(scenario, size)| Some((scenario, size.parse().ok()?)));
        sized.map_or((self.name.as_str(), None), |(scenario, size)| (scenario, Some(size)))
    }

    /// Share of messages that took the usual course, 0 to 1.
    pub fn share(&self) -> f64 {
        self.usual as f64 / self.messages.max(1) as f64
    }
}

/// A scenario that a kernel cannot run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentScenario {
    /// The scenario.
    pub name: String,
    /// What the guest answered.
    pub answer: String,
}

/// One run of one kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// Where it comes from.
    pub provenance: Provenance,
    /// A receipt for each region, in the order in which they ran.
    pub regions: Vec<Region>,
    /// What could not be run.
    pub absent: Vec<AbsentScenario>,
}

impl Measured {
    /// The region of a name.
    pub fn region(&self, name: &str) -> Option<&Region> {
        self.regions.iter().find(|region| region.name == name)
    }
}
