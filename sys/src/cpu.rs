//! CPUs and their time, as the kernel lists them.

use std::{fs, io};

/// The most CPUs that a list is read for (`CONFIG_NR_CPUS` is at most 8192).
const MOST: usize = 8192;

/// The CPUs that are online now.
///
/// # Errors
/// The system's answer, and a list that is not the kernel's.
pub fn online() -> io::Result<Vec<u32>> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online")?;
    list(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the list of CPUs is not understood"))
}

/// Numbers in the kernel's notation, such as `0-3,8`; `None` when it is not that.
pub fn list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || (last - first) as usize >= MOST || cpus.len() >= MOST {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// CPU time since the start of the machine, in ticks ([`TICK`](crate::process::TICK)), as `/proc/stat` has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ticks {
    /// In the user's code, that of guests included.
    pub user: u64,
    /// The same with less priority.
    pub nice: u64,
    /// In the kernel, but for interrupts.
    pub system: u64,
    /// Without work.
    pub idle: u64,
    /// Without work, while something waits for a disk.
    pub iowait: u64,
    /// In hard interrupts.
    pub irq: u64,
    /// In soft interrupts.
    pub softirq: u64,
    /// That a hypervisor took.
    pub steal: u64,
}

impl Ticks {
    /// That of one CPU, or of all together, in the text of `/proc/stat`; `None` where it has no such row,
    /// or the row is not as the kernel writes it.
    pub fn parse(text: &str, cpu: Option<u32>) -> Option<Self> {
        let name = cpu.map_or_else(|| "cpu".to_owned(), |cpu| format!("cpu{cpu}"));
        let row = text.lines().find_map(|line| line.strip_prefix(&name)?.strip_prefix(' '))?;
        let values = row.split_ascii_whitespace().map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>()?;
        // Steal time came with Linux 2.6.11, so that eight columns are certain. Guest time comes after
        // them, and stands in user and nice time as well.
        let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = values[..] else { return None };
        Some(Self { user, nice, system, idle, iowait, irq, softirq, steal })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};

    use super::{MOST, Ticks, list, online};

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(list("5"), Some(vec![5]));
        for wrong in ["", "3-1", "0-4000000000", "a", "1,,2"] {
            assert_eq!(list(wrong), None, "{wrong}");
        }
        assert!(!online().unwrap().is_empty());
    }

    #[test]
    fn the_row_of_the_cpu_is_read() {
        let stat =
            "cpu  1 2 3 4 5 60 70 8 0 0\ncpu1 1 2 3 4 5 6 7 8 0 0\ncpu10 9 9 9 9 9 1 1 9 0 0\ncpu2 1 2 3\ncpu3 1 2 3 4 5 6 x 8\nintr 1\n";
        let all = Ticks { user: 1, nice: 2, system: 3, idle: 4, iowait: 5, irq: 60, softirq: 70, steal: 8 };
        assert_eq!(Ticks::parse(stat, None), Some(all));
        assert_eq!(Ticks::parse(stat, Some(1)), Some(Ticks { irq: 6, softirq: 7, ..all }));
        assert_eq!(Ticks::parse(stat, Some(10)).map(|ticks| ticks.irq), Some(1));
        assert_eq!([2, 3, 4].map(|cpu| Ticks::parse(stat, Some(cpu))), [None; 3]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[0-9,-]{0,40}", rows in "(cpu[0-9 ]{0,30}\n){0,3}", cpu in any::<Option<u32>>()) {
            prop_assert!(list(&text).is_none_or(|cpus| (1..=2 * MOST).contains(&cpus.len())));
            let _ = Ticks::parse(&rows, cpu);
        }
    }
}
