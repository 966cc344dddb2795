//! The CPU that handles what a device of a host receives: receive packet steering
//! (RPS), set through the device's files in sysfs.
//!
//! The sysfs that this process sees is that of the namespace in which it was
//! mounted, the machine's. One of the host's own is mounted in a mount namespace
//! of a thread that ends at once: nobody else ever sees it, and no device but the
//! host's is in it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::thread;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::host::namespace::Entered;
use crate::refusal::Refusal;

/// The longest mask that is read: that of 8,192 CPUs has some 2,300 characters.
const LONGEST: usize = 16 << 10;
/// CPUs of one word of a mask.
const WORD: u32 = 32;

fn refused_file(step: &str, path: &Path, answer: &io::Error) -> Refusal {
    let remedy = match answer.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EPERM | Errno::EACCES) => {
            "the kernel lets only the machine's root steer packets: run as root, or leave the placement out"
        }
        Some(Errno::ENOENT) => "a kernel without CONFIG_RPS has none: leave the placement out",
        Some(Errno::EINVAL) => "the CPU may be kept from such work (isolcpus, nohz_full): bind the ends elsewhere (--cpu)",
        _ => "leave the placement out",
    };
    Refusal::new(format!("{step} {}", path.display()), answer, remedy)
}

/// Has packets that `device` receives handled on `cpu`, or as usual, and reads
/// it back.
///
/// # Errors
/// See [`Refusal`].
pub fn steer(entered: &Entered, device: &str, cpu: Option<u32>) -> Result<(), Refusal> {
    entered.guard(format!("having packets of '{device}' handled on another CPU"), "run as root, or leave the placement out")?;
    let name = device.to_owned();
    let apart = thread::Builder::new().spawn(move || mount_sysfs().and_then(|sysfs| steer_in(sysfs, &name, cpu)));
    let no_thread = |answer| Refusal::new("starting a thread", answer, "raise the limit on processes (ulimit -u)");
    apart.map_err(no_thread)?.join().unwrap_or_else(|_| Err(no_thread(io::Error::other("it panicked"))))
}

/// Lays a sysfs of this thread's network namespace over the machine's, for this
/// thread alone.
fn mount_sysfs() -> Result<&'static Path, Refusal> {
    const NOTHING: Option<&str> = None;
    const PLACE: &str = "/sys";
    let refused = |step: &'static str| {
        move |errno: Errno| {
            let remedy = "run as root on a machine that allows mounts, or leave the placement out";
            Refusal::new(step, format!("the system answered {errno}"), remedy)
        }
    };
    unshare(CloneFlags::CLONE_NEWNS).map_err(refused("making a mount namespace (unshare CLONE_NEWNS)"))?;
    mount(NOTHING, "/", NOTHING, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NOTHING).map_err(refused("making mounts private (mount)"))?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("nettoll"), PLACE, Some("sysfs"), flags, NOTHING).map_err(refused("mounting a sysfs of the host's namespace (mount)"))?;
    Ok(Path::new(PLACE))
}

fn steer_in(sysfs: &Path, device: &str, cpu: Option<u32>) -> Result<(), Refusal> {
    let queues = sysfs.join("class/net").join(device).join("queues");
    let listing = |answer| refused_file("listing", &queues, &answer);
    let mut files = Vec::new();
    for entry in fs::read_dir(&queues).map_err(listing)? {
        let name = entry.map_err(listing)?.file_name();
        if name.to_string_lossy().starts_with("rx-") {
            files.push(queues.join(name).join("rps_cpus"));
        }
    }
    let asked = mask(cpu);
    for path in &files {
        let failed = |step| move |answer| refused_file(step, path, &answer);
        let mut file = File::options().write(true).open(path).map_err(failed("opening"))?;
        file.write_all(asked.as_bytes()).map_err(failed("setting"))?;
        let got = fs::read(path).map_err(failed("reading"))?;
        let got = String::from_utf8_lossy(&got[..got.len().min(LONGEST)]).trim().to_owned();
        if cpus(&got) != Some(cpu.into_iter().collect()) {
            let tried = format!("the CPU for packets of '{device}' did not take effect");
            return Err(Refusal::new(tried, format!("asked {asked}, set without an error, got {got}"), "leave the placement out"));
        }
    }
    Ok(())
}

/// The mask of one CPU, or of none, as the kernel reads it: hexadecimal words of
/// 32 CPUs, the highest first.
fn mask(cpu: Option<u32>) -> String {
    let Some(cpu) = cpu else { return "0".to_owned() };
    let lower = ",00000000".repeat((cpu / WORD) as usize);
    format!("{:x}{lower}", 1_u32 << (cpu % WORD))
}

/// The CPUs of a mask; `None` of a text that is none.
fn cpus(mask: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for (at, word) in mask.rsplit(',').enumerate() {
        let bits = u32::from_str_radix(word, 16).ok()?;
        all.extend((0..WORD).filter(|bit| bits & (1 << bit) != 0).map(|bit| at as u32 * WORD + bit));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::{cpus, mask, steer, steer_in};
    use crate::host::namespace::{Isolation, enter};

    #[test]
    fn masks_are_words_of_32_cpus() {
        assert_eq!((mask(None), mask(Some(0)), mask(Some(33))), ("0".to_owned(), "1".to_owned(), "2,00000000".to_owned()));
        assert_eq!(cpus("00000000,00000005"), Some(vec![0, 2]));
        for wrong in ["", "x", "1,,1", "100000000"] {
            assert_eq!(cpus(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn this_machines_devices_are_left_alone() {
        let entered = enter(Isolation::None).unwrap();
        let refused = steer(&entered, "lo", Some(0)).unwrap_err().to_string();
        assert!(refused.contains("not isolated"), "{refused}");
    }

    #[test]
    fn every_queue_is_set_and_one_that_is_not_there_is_named() {
        let sysfs = tempfile::tempdir().unwrap();
        let queues = sysfs.path().join("class/net/x/queues");
        for queue in ["rx-0", "rx-1", "tx-0"] {
            std::fs::create_dir_all(queues.join(queue)).unwrap();
        }
        let missing = steer_in(sysfs.path(), "x", Some(1)).unwrap_err().to_string();
        assert!(missing.contains("rps_cpus: No such file") && missing.contains("CONFIG_RPS"), "{missing}");
        ["rx-0", "rx-1"].iter().for_each(|queue| std::fs::write(queues.join(queue).join("rps_cpus"), "").unwrap());
        steer_in(sysfs.path(), "x", Some(1)).unwrap();
        assert_eq!(std::fs::read_to_string(queues.join("rx-1/rps_cpus")).unwrap(), "2");
        // A file keeps what was longer; the kernel's does not.
        ["rx-0", "rx-1"].iter().for_each(|queue| std::fs::write(queues.join(queue).join("rps_cpus"), "ff").unwrap());
        let kept = steer_in(sysfs.path(), "x", Some(1)).unwrap_err().to_string();
        assert!(kept.contains("asked 2") && kept.contains("got 2f"), "{kept}");
        assert!(steer_in(sysfs.path(), "none", None).unwrap_err().to_string().contains("listing"));
    }

    proptest! {
        #[test]
        fn a_mask_is_read_as_it_was_written(cpu in 0_u32..8_192) {
            prop_assert_eq!(cpus(&mask(Some(cpu))), Some(vec![cpu]));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,80}") {
            let _ = cpus(&text);
        }
    }
}
