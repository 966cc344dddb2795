//! Proofs of receipts that are kept in the cache.

use std::path::PathBuf;

use microscope::cache::Cache;
use model::host::HostFacts;
use model::proof::KeptProof;

use crate::version;

/// Proofs that are kept, the latest.
const MOST: usize = 32;
/// Bytes of the file that are read: many times what it has.
const MOST_BYTES: u64 = 1 << 18;

fn place(cache: &Cache) -> PathBuf {
    cache.root().join("proofs")
}

/// The proofs of a cache, the latest last, one a line; lines that are none are passed over.
fn read(cache: &Cache) -> Vec<KeptProof> {
    let Ok(text) = sys::file::read_text(&place(cache), MOST_BYTES) else { return Vec::new() };
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Keeps a proof.
///
/// # Errors
/// There is no cache, another can have written it, or it cannot be written.
pub fn keep(proof: KeptProof) -> anyhow::Result<()> {
    keep_in(&Cache::open(None)?, proof)
}

fn keep_in(cache: &Cache, proof: KeptProof) -> anyhow::Result<()> {
    let mut proofs = read(cache);
    proofs.push(proof);
    let latest = &proofs[proofs.len().saturating_sub(MOST)..];
    let lines = latest.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    Ok(cache.write(&place(cache), lines.join("\n").as_bytes())?)
}

/// The proof of these hosts by this build: the latest next to both neighbours, or else the latest. `None` where none is
/// kept, and where another can have written the cache.
pub fn of(hosts: &[HostFacts]) -> Option<KeptProof> {
    find(&Cache::look().ok()??, hosts)
}

fn find(cache: &Cache, hosts: &[HostFacts]) -> Option<KeptProof> {
    let found = read(cache).into_iter().filter(|proof| proof.is_of(hosts, version::SHORT));
    found.max_by_key(|proof| proof.neighbours == [true; 2])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use microscope::cache::Cache;
    use model::host::HostFacts;
    use model::proof::{KeptProof, kernel};

    use super::{MOST, MOST_BYTES, find, keep_in, place, read};
    use crate::version;

    fn host() -> HostFacts {
        HostFacts { boot: "boot".to_owned(), kernel: "6.1".to_owned(), ..HostFacts::default() }
    }

    fn proof(ended_ms: u64, neighbours: [bool; 2]) -> KeptProof {
        let (boot, tool) = (host().boot, version::SHORT.to_owned());
        KeptProof { boot, kernel: kernel(&host()), tool, ended_ms, neighbours, found: [0.97, 1.04], costs: 20, missing: 0 }
    }

    #[test]
    fn what_was_kept_is_found_for_its_hosts() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(folder.path())).unwrap();
        assert_eq!(find(&cache, &[host()]), None);
        for (ended_ms, neighbours) in [(1, [true, true]), (2, [true, true]), (3, [true, false])] {
            keep_in(&cache, proof(ended_ms, neighbours)).unwrap();
        }
        assert_eq!(find(&cache, &[host()]), Some(proof(2, [true, true])), "a whole one counts for more than half of a later one");
        assert_eq!(find(&cache, &[HostFacts { boot: "other".to_owned(), ..host() }]), None);
        (0..2 * MOST as u64).for_each(|time| keep_in(&cache, proof(time, [true, false])).unwrap());
        assert_eq!(read(&cache).len(), MOST);
    }

    #[test]
    fn a_file_that_is_cut_or_hostile_has_no_proof() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(folder.path())).unwrap();
        keep_in(&cache, proof(1, [true, true])).unwrap();
        let whole = fs::read(place(&cache)).unwrap();
        for length in 0..whole.len() {
            fs::write(place(&cache), &whole[..length]).unwrap();
            assert_eq!(find(&cache, &[host()]), None, "{length}");
        }
        let hostile = String::from_utf8(whole.clone()).unwrap().replace("1.04", "1e999");
        for bytes in [vec![0xff; 100], b"[[[[".repeat(10_000), hostile.into_bytes(), vec![b'\n'; MOST_BYTES as usize + 1]] {
            fs::write(place(&cache), bytes).unwrap();
            assert_eq!(find(&cache, &[host()]), None);
        }
        // A line that is none does not take the others with it.
        fs::write(place(&cache), [&b"{}\n\xc3\xa4\n"[..], &whole].concat()).unwrap();
        assert_eq!(find(&cache, &[host()]), Some(proof(1, [true, true])));
    }
}
