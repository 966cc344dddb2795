//! Texts of the kernel: its files, lists and names of devices.

use std::fs;
use std::path::Path;

use crate::refusal::Refusal;

/// A file's content without surrounding blanks; empty where it cannot be read.
/// For facts, which are recorded where they are available.
pub(super) fn read_or_empty(path: impl AsRef<Path>) -> String {
    // Read as bytes: a device's name need not be UTF-8.
    fs::read(path).map_or(String::new(), |bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// The file of a sysctl, by its dotted name.
pub(crate) fn sysctl_file(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

/// A value with single spaces between its parts, so that what the kernel prints with
/// tabs can be compared with what somebody wrote.
pub(crate) fn plain(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The numbers of a list such as `0-3,8,10-11`, in the order given. Parts that
/// are none are left out; so are numbers past the most that a list can hold.
pub fn number_list(list: &str) -> Vec<u32> {
    /// More CPUs than any machine has: keeps `0-4294967295` from filling memory.
    const MOST: u32 = 65_536;
    let mut numbers = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) else { continue };
        numbers.extend((first..=last.min(MOST)).take(MOST as usize));
        if numbers.len() > MOST as usize {
            break;
        }
    }
    numbers
}

/// Returns whether the kernel lets a device be called `name` (its `dev_valid_name`): no
/// such name leads out of the directories that are named by devices.
pub(crate) fn check_name(name: &str) -> bool {
    let allowed = |c: char| !c.is_whitespace() && !c.is_control() && c != '/' && c != ':';
    (1..=15).contains(&name.len()) && name != "." && name != ".." && name.chars().all(allowed)
}

/// Refuses an attempt with a device that the kernel would not let be called so.
pub(super) fn guard_name(tried: &str, name: &str) -> Result<(), Refusal> {
    let reason = "a device's name has 1 to 15 characters, no blank and no '/'";
    if check_name(name) { Ok(()) } else { Err(Refusal::new(format!("{tried} device '{name}'"), reason, "")) }
}

/// Says that a test was skipped, past the harness, which hides what a passing
/// test prints.
#[cfg(test)]
pub(super) fn skipped(test: &str, reason: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: {reason}");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    use super::number_list;

    #[test]
    fn a_list_has_ranges_and_single_numbers() {
        assert_eq!(number_list("0-3,8,10-11\n"), [0_u32, 1, 2, 3, 8, 10, 11]);
        assert!(number_list("").is_empty());
        assert_eq!(number_list("x,2-1,3"), [3_u32]);
    }

    proptest! {
        #[test]
        fn any_text_gives_a_bounded_list(text in any::<String>()) {
            prop_assert!(number_list(&text).len() <= 2 * 65_537);
        }

        #[test]
        fn plain_numbers_come_back(numbers in prop::collection::vec(0_u32..5_000, 0..20)) {
            let text = numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            prop_assert_eq!(number_list(&text), numbers);
        }
    }
}
