//! Sampled kernels: `reference/symbols-sampled`, and how symbols are drawn from
//! them for a reader.
//!
//! Lines with `#` are remarks. Two forms, told apart by their first line:
//! `depth symbol samples` is an outline of whole chains, each function below its
//! caller, with the samples that it had itself; `symbol chain samples` has the
//! function and its callers, the nearest first, parted by `<`, cut where the
//! remarks say.

use std::collections::BTreeMap;
use std::path::Path;

/// A call chain, its innermost function first, and its samples.
pub struct Chain {
    pub frames: Vec<String>,
    pub samples: u64,
}

/// A list of one kernel.
pub struct Sampled {
    /// The name of its file.
    pub name: String,
    pub chains: Vec<Chain>,
    /// Whether chains may end before their outermost function.
    pub cut: bool,
}

/// A symbol, the samples of all its chains, and the commonest of these.
#[derive(Debug, PartialEq, Eq)]
pub struct Drawn {
    pub chain: Vec<String>,
    pub samples: u64,
}

impl Sampled {
    fn read(name: &str, text: &str) -> Self {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let head = lines.next().unwrap_or_default();
        let columns = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
        let mut chains = Vec::new();
        match head {
            "depth\tsymbol\tsamples" => {
                let mut outer: Vec<String> = Vec::new();
                for line in lines {
                    let columns = columns(line);
                    let depth = columns[0].parse().unwrap();
                    assert!(depth <= outer.len(), "{name}: {line}: nothing is above it");
                    outer.truncate(depth);
                    outer.push(columns[1].clone());
                    if let Some(samples) = columns.get(2) {
                        chains.push(Chain { frames: outer.iter().rev().cloned().collect(), samples: samples.parse().unwrap() });
                    }
                }
            }
            "symbol\tchain\tsamples" => {
                for line in lines {
                    let columns = columns(line);
                    let callers = columns[1].split('<').filter(|caller| !caller.is_empty());
                    let frames = std::iter::once(columns[0].as_str()).chain(callers).map(str::to_owned).collect();
                    chains.push(Chain { frames, samples: columns[2].parse().unwrap() });
                }
            }
            other => panic!("{name}: its first line is '{other}'"),
        }
        Self { name: name.to_owned(), chains, cut: head.starts_with("symbol") }
    }

    /// Every list that there is, by name.
    pub fn all() -> Vec<Self> {
        let files = files("symbols-sampled");
        files.iter().map(|(name, text)| Self::read(name, text)).collect()
    }

    /// Every symbol with its samples and commonest chain; of two equally common
    /// ones the first in the order of letters.
    fn symbols(&self) -> BTreeMap<&str, Drawn> {
        let mut symbols: BTreeMap<&str, (u64, &Chain)> = BTreeMap::new();
        for chain in &self.chains {
            let known = symbols.entry(&chain.frames[0]).or_insert((0, chain));
            known.0 += chain.samples;
            if (chain.samples, &known.1.frames) > (known.1.samples, &chain.frames) {
                known.1 = chain;
            }
        }
        symbols.into_iter().map(|(symbol, (samples, chain))| (symbol, Drawn { chain: chain.frames.clone(), samples })).collect()
    }

    /// Draws `count` symbols without replacement, by weight of their samples
    /// (Efraimidis and Spirakis 2006): each, in the order of letters, takes the
    /// next number u of SplitMix64 in (0, 1), and the largest ln(u)/samples win.
    pub fn draw(&self, seed: u64, count: usize) -> BTreeMap<&str, Drawn> {
        let symbols = self.symbols();
        let mut state = seed;
        let mut keys: Vec<(f64, &str)> = Vec::new();
        for (symbol, drawn) in &symbols {
            let u = ((split_mix(&mut state) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            keys.push((u.ln() / drawn.samples as f64, symbol));
        }
        keys.sort_by(|a, b| b.0.total_cmp(&a.0));
        let won: Vec<&str> = keys.into_iter().take(count).map(|(_, symbol)| symbol).collect();
        symbols.into_iter().filter(|(symbol, _)| won.contains(symbol)).collect()
    }
}

/// Steele, Lea and Flood 2014, with the constants of Vigna's `splitmix64.c`.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The tables of a folder of `reference`: names and texts, in the order of names.
pub fn files(folder: &str) -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../reference").join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "tsv"));
    paths.sort();
    assert!(!paths.is_empty(), "{} holds no table", directory.display());
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        (path.file_name().unwrap().to_string_lossy().into_owned(), text)
    };
    paths.iter().map(read).collect()
}

#[test]
fn both_forms_are_read() {
    let outline = Sampled::read("a", "# said\ndepth\tsymbol\tsamples\n0\tentry\n1\tsend\t3\n2\tcopy\t5\n1\tread\n2\tcopy\t4\n");
    let flat = Sampled::read("b", "symbol\tchain\tsamples\nsend\tentry\t3\ncopy\tsend<entry\t5\ncopy\tread<entry\t4\n");
    assert!(flat.cut && !outline.cut);
    for list in [&outline, &flat] {
        let drawn = list.draw(1, 9);
        let copy = Drawn { chain: ["copy", "send", "entry"].map(str::to_owned).to_vec(), samples: 9 };
        assert_eq!((drawn.len(), &drawn["copy"], drawn["send"].samples), (2, &copy, 3));
    }
}

#[test]
fn symbols_are_drawn_by_weight() {
    let list = Sampled::read("a", "symbol\tchain\tsamples\nrare\t\t1\nusual\t\t3\n");
    let rare = (0..4_000).filter(|seed| list.draw(*seed, 1).contains_key("rare")).count();
    // A quarter of them, within four standard deviations.
    assert!((890..=1_110).contains(&rare), "{rare}");
    let known: u64 = 1_234_567;
    // Published with the generator.
    assert_eq!(split_mix(&mut { known }), 6_457_827_717_110_365_317);
}
