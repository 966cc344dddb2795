//! Time that boots took on this machine, kept in the cache: what a dry run expects of the next.

use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::cache::Cache;
use crate::error::Failed;

/// Boots that are remembered, the latest.
const MOST: usize = 32;
/// Bytes of the file that are read: many times what it has.
const MOST_BYTES: u64 = 1 << 16;
/// Seconds that a boot takes where none was timed: from a fast machine at rest to a slow and busy one.
const USUAL: RangeInclusive<u64> = 10..=120;

/// Seconds that a boot takes on one core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Estimate {
    /// From the shortest to the longest.
    pub seconds: RangeInclusive<u64>,
    /// Boots on this machine that it is from; 0: none was timed.
    pub boots: usize,
    /// True where more messages are wanted than any of them counted: it takes longer.
    pub at_least: bool,
}

/// A boot that was timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Timed {
    /// Messages that it counted; 0: it read the symbols alone.
    messages: u64,
    took: Duration,
}

fn place(cache: &Cache) -> PathBuf {
    cache.root().join("boots")
}

/// The boots of a cache, the latest last; lines that are none are passed over.
fn read(cache: &Cache) -> Vec<Timed> {
    let Ok(text) = sys::file::read_text(&place(cache), MOST_BYTES) else { return Vec::new() };
    let boot = |line: &str| {
        let (messages, took) = line.split_once(' ')?;
        Some(Timed { messages: messages.parse().ok()?, took: Duration::from_millis(took.parse().ok()?) })
    };
    text.lines().filter_map(boot).collect()
}

/// Remembers how long a boot took and how many messages it counted; 0 of a boot that read the symbols alone.
///
/// # Errors
/// The cache cannot be written.
pub fn note(cache: &Cache, messages: u64, took: Duration) -> Result<(), Failed> {
    let mut boots = read(cache);
    boots.push(Timed { messages, took });
    let mut text = String::new();
    for boot in boots.iter().rev().take(MOST).rev() {
        // A string takes whatever is written.
        let _ = writeln!(text, "{} {}", boot.messages, boot.took.as_millis());
    }
    cache.write(&place(cache), text.as_bytes())
}

/// Time that a boot takes to count `messages`; without a cache, none was timed.
pub fn estimate(cache: Option<&Cache>, messages: u64) -> Estimate {
    let counted: Vec<Timed> = cache.map_or_else(Vec::new, read).into_iter().filter(|boot| boot.messages > 0).collect();
    let seconds = |boot: &Timed| boot.took.as_secs_f64();
    let least = counted.iter().map(seconds).reduce(f64::min);
    let most = counted.iter().map(seconds).reduce(f64::max);
    match least.zip(most) {
        Some((least, most)) => Estimate {
            seconds: least.floor() as u64..=most.ceil() as u64,
            boots: counted.len(),
            at_least: counted.iter().all(|boot| boot.messages < messages),
        },
        None => Estimate { seconds: USUAL, boots: 0, at_least: false },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Estimate, MOST, USUAL, estimate, note, place, read};
    use crate::cache::Cache;

    #[test]
    fn the_next_boot_takes_what_the_last_ones_took() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(folder.path())).unwrap();
        assert_eq!(estimate(Some(&cache), 200), Estimate { seconds: USUAL, boots: 0, at_least: false });
        note(&cache, 0, Duration::from_secs(3)).unwrap();
        assert_eq!(estimate(Some(&cache), 200).boots, 0, "one that read symbols counted nothing");
        note(&cache, 2_200, Duration::from_millis(35_400)).unwrap();
        note(&cache, 200, Duration::from_millis(95_100)).unwrap();
        assert_eq!(estimate(Some(&cache), 200), Estimate { seconds: 35..=96, boots: 2, at_least: false });
        assert!(estimate(Some(&cache), 100_000).at_least);
        (0..100).for_each(|_| note(&cache, 1, Duration::from_secs(1)).unwrap());
        assert_eq!(read(&cache).len(), MOST);
    }

    #[test]
    fn a_file_of_anything_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(folder.path())).unwrap();
        std::fs::write(place(&cache), "x\n1 2 3\n-1 5\n99999999999999999999 1\n5 18446744073709551615\n").unwrap();
        assert_eq!(estimate(Some(&cache), 1).boots, 1);
        std::fs::write(place(&cache), [0xff; 100]).unwrap();
        assert_eq!(estimate(Some(&cache), 1).boots, 0);
    }
}
