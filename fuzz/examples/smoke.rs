//! Fuzzing for a compiler that cannot: every target with its seeds, then with
//! seeds that are changed at random, the same ones each time.
//!
//! `smoke RUNS SECONDS [SHARE] [TARGET]...`: for each target so many inputs, or so many
//! seconds, but no fewer than [`LEAST`] inputs. A share `2/3` is every third target from the
//! second on.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fuzz::{TARGETS, understood};

/// No input is longer, so that memory stays bounded.
const LONGEST: usize = 16 << 10;

/// Fewest inputs of a target that say anything, where more were asked for.
const LEAST: u64 = 500;
/// Times the seconds asked for after which a target that has not seen them fails.
const PATIENCE: u64 = 20;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual| arguments.next().and_then(|number| number.parse().ok()).unwrap_or(usual);
    let (runs, seconds): (u64, u64) = (number(20_000), number(10));
    let mut wanted: Vec<String> = arguments.collect();
    let share = wanted.first().and_then(|first| share(first));
    let (first, every) = share.unwrap_or((0, 1));
    wanted.drain(..usize::from(share.is_some()));
    let named = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let targets: Vec<_> = TARGETS.iter().skip(first).step_by(every).filter(|(name, _)| named(name)).collect();
    if targets.is_empty() {
        println!("no target has such a name: {}", wanted.join(", "));
        return ExitCode::FAILURE;
    }
    let mut exit = ExitCode::SUCCESS;
    for (name, target) in targets {
        let seeds = seeds(name);
        if *name == "control" && seeds.iter().any(|seed| understood(seed).is_none()) {
            println!("{name}: a seed does not hold messages of this version");
            exit = ExitCode::FAILURE;
        }
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let (begun, least) = (Instant::now(), LEAST.min(runs));
        let mut inputs = seeds.iter().cloned().chain((0..runs).map(|_| random.changed(&seeds)));
        let mut tried = 0;
        let crash = loop {
            // The time counts once enough has been seen.
            let limit = Duration::from_secs(if tried < least { seconds * PATIENCE } else { seconds });
            let Some(input) = inputs.next().filter(|_| begun.elapsed() < limit) else { break None };
            tried += 1;
            if catch_unwind(AssertUnwindSafe(|| target(&input))).is_err() {
                break Some(input);
            }
        };
        match crash {
            None if tried < least => {
                println!("{name}: {tried} inputs in {:?}, which says nothing: at least {least} are needed", begun.elapsed());
                exit = ExitCode::FAILURE;
            }
            None => println!("{name}: {tried} inputs, no crash"),
            Some(input) => {
                println!("{name}: CRASH with \"{}\"", input.escape_ascii());
                exit = ExitCode::FAILURE;
            }
        }
    }
    exit
}

/// The first target of a share such as `2/3`, from 0 on, and the step to the next.
fn share(word: &str) -> Option<(usize, usize)> {
    let (share, shares) = word.split_once('/')?;
    let (share, shares) = (share.parse::<usize>().ok()?, shares.parse().ok()?);
    (1..=shares).contains(&share).then(|| (share - 1, shares))
}

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
    let mut files: Vec<_> = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let seeds: Vec<_> = files.iter().filter_map(|file| fs::read(file).ok()).collect();
    assert!(!seeds.is_empty(), "{name} has no seeds");
    seeds
}

/// xorshift64* (Vigna 2016).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }

    fn changed(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(6) {
            self.change(&mut input, seeds);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        #[rustfmt::skip]
        const WORDS: &[&[u8]] = &[
            b"0", b"-1", b"1e400", b"1e-9", b"NaN", b"null", b"18446744073709551615", b"9223372036854775808", b"4294967296", b"\"\"", b"[]",
            b"{}", b"\n", b"\0", b"..", b":x", b":+", b",", b"\xff", b"\xC2\xB5s",
        ];
        let (from, to) = (self.below(input.len() + 1), self.below(input.len() + 1));
        let (from, to) = (from.min(to), from.max(to).min(from.min(to) + 64));
        match self.below(7) {
            0 if from < to => input[from] ^= 1 << self.below(8),
            1 if from < to => input[from] = self.next() as u8,
            2 => drop(input.drain(from..to)),
            3 => drop(input.splice(to..to, input[from..to].to_vec())),
            4 => drop(input.splice(from..from, WORDS[self.below(WORDS.len())].iter().copied())),
            5 => self.replace_number(input, from, WORDS),
            _ => {
                let other = &seeds[self.below(seeds.len())];
                input.truncate(to);
                input.extend_from_slice(&other[self.below(other.len() + 1)..]);
            }
        }
    }

    /// The first number from `at` on becomes another word: limits are there.
    fn replace_number(&mut self, input: &mut Vec<u8>, at: usize, words: &[&[u8]]) {
        let Some(start) = input[at..].iter().position(u8::is_ascii_digit).map(|place| at + place) else { return };
        let length = input[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        input.splice(start..start + length, words[self.below(words.len())].iter().copied());
    }
}
