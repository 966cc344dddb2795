//! One boot of a guest, from QEMU's start to its end.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::cache::Cache;
use crate::emulator::Emulator;
use crate::error::Failed;
use crate::guest_log::{self, GuestLog};

/// Up to so many processors have a thread each.
const MOST_THREADS: u32 = 8;
/// Lines of the console that are shown of a guest that failed.
const TAIL: usize = 16;
/// The base of every guest's command line. `nokaslr` makes addresses the same in each boot,
/// `panic=-1` ends QEMU where the kernel panics.
pub const COMMAND_LINE: &str = "console=ttyS0 quiet panic=-1 nokaslr";
/// Instructions a nanosecond of virtual time: 2^-3 of one each, the fastest in trials.
pub const ICOUNT_SHIFT: u32 = 3;

/// Processors and memory of a guest, and the time that it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuestSize {
    /// Processors. The time of one is its counted instructions, the same in each boot. Several run at once, by this
    /// machine's clock.
    pub cpus: u32,
    /// Memory, in MiB.
    pub memory: u32,
    /// A guest that is not done by then hangs.
    pub longest: Duration,
}

impl GuestSize {
    /// One processor, with this memory. Such a guest boots in 3 to 20 s on one core.
    pub const fn one(memory: u32) -> Self {
        Self { cpus: 1, memory, longest: Duration::from_secs(300) }
    }
}

/// What to boot.
#[derive(Debug)]
pub struct Boot<'b> {
    /// QEMU.
    pub emulator: &'b Emulator,
    /// The kernel's image.
    pub image: &'b Path,
    /// The initramfs.
    pub initramfs: Vec<u8>,
    /// The whole command line.
    pub command_line: &'b str,
    /// Model of the processor.
    pub cpu: &'b str,
    /// Its size.
    pub size: GuestSize,
    /// Seed of the guest's random numbers.
    pub seed: u64,
    /// The plugin with its options but `out`; `None`: nothing is counted.
    pub plugin: Option<String>,
    /// Further arguments of QEMU: devices beyond the usual ones.
    pub devices: &'b [&'b str],
}

/// What a boot left.
#[derive(Debug)]
pub struct Booted {
    /// What the probe said.
    pub log: GuestLog,
    /// What the plugin wrote; empty without one.
    pub counted: String,
}

impl Boot<'_> {
    /// Boots, and waits for the end.
    ///
    /// # Errors
    /// QEMU does not start, it is stopped, or the guest panics, hangs or stops early.
    pub fn run(&self, cache: &Cache) -> Result<Booted, Failed> {
        let scratch = cache.scratch()?;
        let place = |name: &str| scratch.path().join(name);
        let (initramfs, log, console, counted) = (place("initramfs"), place("log"), place("console"), place("counted"));
        fs::write(&initramfs, &self.initramfs).map_err(Failed::file("write", &initramfs))?;
        let mut command = self.emulator.command();
        let GuestSize { cpus, memory, longest } = self.size;
        // Many processors take turns in one thread. In a thread each, the host stops one in a breakpoint of code that the
        // kernel patches, and the guest panics when the patch is done before that thread goes on.
        let accelerator = if cpus > MOST_THREADS { "tcg,thread=single" } else { "tcg" };
        command.args(["-machine", "q35", "-accel", accelerator]);
        command.args(["-smp", &cpus.to_string(), "-nodefaults", "-no-user-config", "-no-reboot"]);
        command.args(["-display", "none", "-rtc", "base=2024-01-01,clock=vm", "-cpu", self.cpu]);
        command.arg("-m").arg(memory.to_string());
        command.arg("-seed").arg(self.seed.to_string()).arg("-kernel").arg(self.image).arg("-initrd").arg(&initramfs);
        command.arg("-append").arg(self.command_line);
        command.arg("-serial").arg(of("file:", &console)).arg("-debugcon").arg(of("file:", &log));
        if cpus == 1 {
            // Without it modules come to lie elsewhere in each boot, and symbols with them. Several processors would take turns.
            command.arg("-icount").arg(format!("shift={ICOUNT_SHIFT},sleep=off"));
        }
        command.args(self.devices);
        if let Some(plugin) = &self.plugin {
            command.arg("-plugin").arg(format!("{plugin},out={}", counted.display()));
        }
        let said = place("said");
        let (out, err) = (create(&said)?, create(&said)?);
        let mut child =
            command.stdin(Stdio::null()).stdout(out).stderr(err).spawn().map_err(Failed::file("start", &self.emulator.program))?;
        let begun = Instant::now();
        let stopped = || self.emulator.stop.load(Ordering::Relaxed);
        let status = loop {
            match child.try_wait().map_err(Failed::file("wait for", &self.emulator.program))? {
                Some(status) => break Some(status),
                None if stopped() || begun.elapsed() > longest => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        // Ctrl-C on a terminal ends QEMU as well.
        if stopped() {
            return Err(Failed::Interrupted);
        }
        let log = guest_log::parse(&text(&log)?);
        judge(status, longest, &log, &text(&said)?, &text(&console)?)?;
        let counted = if self.plugin.is_some() { text(&counted)? } else { String::new() };
        Ok(Booted { log, counted })
    }
}

fn of(prefix: &str, path: &Path) -> PathBuf {
    PathBuf::from(format!("{prefix}{}", path.display()))
}

fn create(path: &Path) -> Result<File, Failed> {
    File::options().create(true).append(true).open(path).map_err(Failed::file("write", path))
}

/// The largest file of a guest or QEMU that is read.
const LARGEST: u64 = 1 << 30;

/// A file that a guest or QEMU wrote; empty where it wrote none.
fn text(path: &Path) -> Result<String, Failed> {
    match sys::file::read(path, LARGEST) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Failed::file("read", path)(error)),
    }
}

/// Tells a boot that came to its end from one that did not.
fn judge(status: Option<ExitStatus>, longest: Duration, log: &GuestLog, said: &str, console: &str) -> Result<(), Failed> {
    let lines: Vec<&str> = console.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    // Of a panic its cause, or else its own line, is worth more than the last of its trace.
    let first_of = |words: &[&str]| lines.iter().position(|line| words.iter().any(|word| line.contains(word)));
    let panic = first_of(&["Oops", "BUG: ", "Kernel panic"]);
    let tail = || match panic {
        Some(place) => lines[place..lines.len().min(place + TAIL)].join("\n"),
        None => lines[lines.len().saturating_sub(TAIL)..].join("\n"),
    };
    let guest = |what: &str| Failed::Guest { what: what.to_owned(), tail: tail() };
    let Some(status) = status else {
        return Err(guest(&format!("hung: it was not done after {} s", longest.as_secs())));
    };
    if !status.success() {
        let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        return Err(Failed::Emulator(said[said.len().saturating_sub(3)..].join("; ")));
    }
    if log.done {
        return Ok(());
    }
    match console.contains("Kernel panic") {
        true => Err(guest("panicked")),
        false => Err(guest("stopped before the probe was done")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Boot, GuestSize, judge};
    use crate::cache::Cache;
    use crate::emulator::Emulator;
    use crate::error::Failed;
    use crate::guest_log::GuestLog;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::ExitStatus;
    use std::sync::atomic::Ordering;
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn a_guest_is_ended_when_it_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("qemu");
        let functions = "\0qemu_plugin_register_vcpu_tb_trans_cb\0qemu_plugin_scoreboard_new\0";
        fs::write(&program, format!("#!/bin/sh\ncase $1 in --version) exit 0 ;; esac\nexec sleep 60\n{functions}")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let (emulator, cache) = (Emulator::examine(program, None).unwrap(), Cache::open(Some(&folder.path().join("cache"))).unwrap());
        let boot = Boot {
            emulator: &emulator,
            image: Path::new("none"),
            initramfs: Vec::new(),
            command_line: "",
            cpu: "max",
            size: GuestSize::one(1),
            seed: 1,
            plugin: None,
            devices: &[],
        };
        let (stop, begun) = (emulator.stop.clone(), Instant::now());
        let booted = thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(200));
                stop.store(true, Ordering::Relaxed);
            });
            boot.run(&cache)
        });
        let took = begun.elapsed();
        assert!(matches!(booted, Err(Failed::Interrupted)), "{booted:?}");
        assert!(took >= Duration::from_millis(200) && took < Duration::from_secs(30), "{took:?}");
    }

    #[test]
    fn every_end_is_named() {
        let done = GuestLog { done: true, ..GuestLog::default() };
        let ended = |code: i32| Some(ExitStatus::from_raw(code << 8));
        let told = |status, log: &GuestLog, console: &str| {
            judge(status, Duration::from_secs(7), log, "qemu: no such file\n", console).map_err(|error| error.to_string())
        };
        assert_eq!(told(ended(0), &done, ""), Ok(()));
        let panic = told(ended(0), &GuestLog::default(), "x\nKernel panic - not syncing: VFS\n").unwrap_err();
        assert!(panic.contains("panicked") && panic.ends_with("not syncing: VFS"), "{panic}");
        let oops = told(ended(0), &GuestLog::default(), "x\nOops: 0002\nRIP: tcp_ack\nKernel panic - not syncing: Fatal\n").unwrap_err();
        assert!(oops.contains("RIP: tcp_ack\nKernel panic") && !oops.contains("x\n"), "{oops}");
        assert!(told(ended(0), &GuestLog::default(), "y\n").unwrap_err().contains("stopped before"));
        assert!(told(None, &done, "z\n").unwrap_err().contains("hung: it was not done after 7 s"));
        assert!(told(ended(1), &done, "").unwrap_err().contains("no such file"));
    }
}
