//! An errand: programs that run in a guest, with nothing counted. It tells what a
//! program finds on a kernel, not what it costs there.

use std::collections::BTreeSet;
use std::path::Path;

use crate::boot::{Boot, COMMAND_LINE, GuestSize};
use crate::cache::Cache;
use crate::cpio::Archive;
use crate::embedded;
use crate::emulator::Emulator;
use crate::error::Failed;
use crate::guest_log::GuestLog;
use crate::kernel::Kernel;
use crate::modules::{self, Module};

/// The usual guest: files lie in its memory twice, packed and unpacked.
pub const USUAL: GuestSize = GuestSize::one(2048);
/// Words of the command line for several processors, which come up one after the other: those that wait would take
/// this machine's CPUs from the one that works. Their clocks are this machine's, and their speed is not measured.
const SEVERAL: &str = "cpuhp.parallel=off lpj=4000000 tsc=reliable";
/// File systems that programs look for, each with its place. One that the kernel lacks is
/// not there, as on a machine.
const MOUNTS: [(&str, &str); 6] = [
    ("devtmpfs", "/dev"),
    ("tmpfs", "/tmp"),
    ("securityfs", "/sys/kernel/security"),
    ("tracefs", "/sys/kernel/tracing"),
    ("bpf", "/sys/fs/bpf"),
    ("cgroup2", "/sys/fs/cgroup"),
];

/// What to run, and where.
#[derive(Debug, Clone)]
pub struct Errand<'e> {
    /// The kernel.
    pub kernel: &'e Kernel,
    /// The guest.
    pub size: GuestSize,
    /// Modules that are loaded where the kernel has them, with what they need.
    pub modules: &'e [&'e str],
    /// Files of the guest, by path without the first slash. A program that is not static needs its libraries
    /// and its loader among them. They can be executed, and read by their owner alone.
    pub files: &'e [(&'e str, &'e [u8])],
    /// Two cards, joined by a cable, of which the second is in a network namespace of its own.
    pub cards: Option<Cards<'e>>,
    /// Names and commands, one after the other. Words are parted by spaces, and the first is the path
    /// of a program.
    pub commands: &'e [(&'e str, String)],
}

/// Cards of virtio, at 10.9.0.1 and 10.9.0.2.
#[derive(Debug, Clone, Copy)]
pub struct Cards<'e> {
    /// Runs from before the first command to the end, where the second card is.
    pub beyond: &'e str,
}

impl Cards<'_> {
    /// Arguments of QEMU. With `iommu_platform` the driver maps memory by the kernel's interface for
    /// DMA, without which it does not take frames where programs have them; with segments of TCP joined
    /// by the card it takes no XDP.
    const DEVICES: [&'static str; 8] = [
        "-netdev",
        "hubport,id=n0,hubid=0",
        "-device",
        "virtio-net-pci,netdev=n0,disable-legacy=on,iommu_platform=on,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off,romfile=",
        "-netdev",
        "hubport,id=n1,hubid=0",
        "-device",
        "virtio-net-pci,netdev=n1,disable-legacy=on,iommu_platform=on,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off,romfile=",
    ];
    /// Their drivers.
    const MODULES: [&'static str; 2] = ["virtio_pci", "virtio_net"];
    /// Their names, in the order of the devices.
    const NAMES: &'static str = "eth0 eth1";
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandExit {
    /// The exit code, or 128 more than the number of the signal that ended it.
    pub code: u32,
    /// What it wrote, both outputs.
    pub wrote: String,
}

/// What an errand left.
#[derive(Debug)]
pub struct ErrandOutput {
    /// What the probe said.
    pub log: GuestLog,
}

impl ErrandOutput {
    /// The kernel's release, as `uname -r` says it.
    pub fn release(&self) -> &str {
        let version = self.log.files.get("/proc/version").map_or("", String::as_str);
        version.split(' ').nth(2).unwrap_or("")
    }

    /// How a command ended.
    ///
    /// # Errors
    /// In words: it was not started, or did not end.
    pub fn ended(&self, name: &str) -> Result<CommandExit, String> {
        if let Some((code, _)) = self.log.exits.iter().find(|(_, of)| of == name) {
            let wrote = self.log.files.get(&format!("/o/{name}")).cloned().unwrap_or_default();
            return Ok(CommandExit { code: *code, wrote });
        }
        let failure = self.log.failures.iter().find(|failure| failure.verb() == "spawn" && failure.is_of(name));
        Err(failure.map_or_else(|| format!("'{name}' did not end"), ToString::to_string))
    }
}

impl Errand<'_> {
    /// Boots, runs every command, and waits for the end.
    ///
    /// # Errors
    /// QEMU does not start, or the guest panics, hangs or stops early.
    pub fn run(&self, cache: &Cache, emulator: &Emulator) -> Result<ErrandOutput, Failed> {
        if embedded::PROBE.is_empty() {
            return Err(Failed::NoProbe);
        }
        let mut modules: Vec<Module> = Vec::new();
        let drivers = self.cards.iter().flat_map(|_| Cards::MODULES);
        for name in drivers.chain(self.modules.iter().copied()) {
            // What a kernel lacks, its programs say.
            let found = modules::gather(self.kernel, &[name.to_owned()]).unwrap_or_default();
            for module in found {
                if modules.iter().all(|known| known.name != module.name) {
                    modules.push(module);
                }
            }
        }
        let command_line = if self.size.cpus == 1 { COMMAND_LINE.to_owned() } else { format!("{COMMAND_LINE} {SEVERAL}") };
        let boot = Boot {
            emulator,
            image: &self.kernel.image,
            initramfs: self.archive(&modules),
            command_line: &command_line,
            cpu: "max",
            size: self.size,
            seed: 1,
            plugin: None,
            devices: if self.cards.is_some() { &Cards::DEVICES } else { &[] },
        };
        boot.run(cache).map(|booted| ErrandOutput { log: booted.log })
    }

    fn archive(&self, modules: &[Module]) -> Vec<u8> {
        let mut archive = Archive::default();
        folders(self.files).iter().for_each(|folder| archive.directory(&folder.to_string_lossy()));
        archive.device("dev/console", 5, 1);
        archive.program("init", embedded::PROBE);
        archive.file("plan", self.plan(modules).as_bytes());
        modules.iter().for_each(|module| archive.file(&format!("m/{}.ko", module.name), &module.content));
        self.files.iter().for_each(|(name, content)| archive.program(name, content));
        archive.finish()
    }

    fn plan(&self, modules: &[Module]) -> String {
        let loaded = modules.iter().map(|module| format!("module /m/{}.ko", module.name));
        let mounts = MOUNTS.iter().map(|(kind, place)| format!("mount {kind} {place}"));
        let commands = self.commands.iter().map(|(name, command)| format!("spawn name={name} {command}"));
        let cards = self.cards.iter().flat_map(|cards| [format!("cards {}", Cards::NAMES), format!("beyond name=beyond {}", cards.beyond)]);
        let lines = loaded.chain(["facts".to_owned()]).chain(mounts).chain(["up lo".to_owned()]).chain(cards).chain(commands);
        lines.map(|line| line + "\n").collect()
    }
}

/// Folders of the guest, each before those in it: the kernel makes none for a file.
fn folders<'e>(files: &[(&'e str, &[u8])]) -> BTreeSet<&'e Path> {
    let parents = files.iter().flat_map(|(name, _)| Path::new(*name).ancestors().skip(1));
    let usual = ["dev", "proc", "sys", "tmp", "o", "m"].into_iter().map(Path::new);
    usual.chain(parents).filter(|path| !path.as_os_str().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{ErrandOutput, GuestLog, folders};
    use crate::guest_log::StepFailure;

    #[test]
    fn every_folder_comes_once_and_before_those_in_it() {
        let files = ["nettoll", "lib/x/libc.so.6", "lib/x/libm.so.6", "lib64/ld.so", "tmp/a"].map(|name| (name, &[][..]));
        let wanted = ["dev", "lib", "lib/x", "lib64", "m", "o", "proc", "sys", "tmp"].map(Path::new);
        assert!(folders(&files).into_iter().eq(wanted), "{:?}", folders(&files));
    }

    #[test]
    fn every_end_of_a_command_is_told() {
        let mut log = GuestLog {
            exits: vec![(3, "a".to_owned())],
            failures: vec![StepFailure { number: 2, step: "spawn name=b /b -c".to_owned() }],
            ..GuestLog::default()
        };
        log.files.insert("/o/a".to_owned(), "said\n".to_owned());
        log.files.insert("/proc/version".to_owned(), "Linux version 6.1.0-1-cloud-amd64 (x)".to_owned());
        let ran = ErrandOutput { log };
        assert_eq!(ran.release(), "6.1.0-1-cloud-amd64");
        let ended = ran.ended("a").unwrap();
        assert_eq!((ended.code, ended.wrote.as_str()), (3, "said\n"));
        assert_eq!(ran.ended("b").unwrap_err(), "the guest answered to 'spawn name=b /b -c': No such file or directory (os error 2)");
        assert_eq!(ran.ended("c").unwrap_err(), "'c' did not end");
    }
}
