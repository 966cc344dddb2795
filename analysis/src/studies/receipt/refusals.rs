//! Refusals and gaps, equal ones counted together.

use std::collections::{BTreeMap, BTreeSet};

use model::Refusal;
use model::sorting::Order;

use super::RefusalCount;

/// The most different ones that are told apart: a machine that makes a new text
/// of each refusal must not fill the memory.
const MOST: usize = 200;

/// The most names that one reason is told of.
const MOST_NAMES: usize = 1_000;

/// Names shown of those that one reason keeps from being counted.
const SHOWN: usize = 4;

/// The longest text of a part, in characters.
const LONGEST: usize = 1_000;

/// Everything that was refused.
#[derive(Debug, Default)]
pub struct Refusals {
    /// Refusals, whether samples are missing for each, and the number of trials.
    found: BTreeMap<(Refusal, bool), u64>,
    /// Functions that were not counted, by the reason.
    uncounted: BTreeMap<String, (BTreeSet<String>, u64)>,
    /// Those beyond [`MOST`].
    further: u64,
}

impl Refusals {
    /// Adds a refusal in one trial; `samples` where those are missing for it.
    pub fn push(&mut self, samples: bool, what: &str, answer: &str, remedy: &str) {
        let [what, answer, remedy] = [what, answer, remedy].map(|text| text.chars().take(LONGEST).collect::<String>());
        let key = (Refusal { what, answer, remedy }, samples);
        let room = self.found.len() < MOST;
        match self.found.get_mut(&key) {
            Some(trials) => *trials += 1,
            None if room => drop(self.found.insert(key, 1)),
            None => self.further += 1,
        }
    }

    /// Adds names that were not counted in one trial, each with the reason.
    pub fn push_uncounted(&mut self, refused: &BTreeMap<String, String>) {
        let mut reasons: BTreeSet<&str> = BTreeSet::new();
        for (name, reason) in refused {
            if !self.uncounted.contains_key(reason) && self.uncounted.len() >= MOST {
                self.further += 1;
                continue;
            }
            let (names, trials) = self.uncounted.entry(reason.clone()).or_default();
            if names.len() < MOST_NAMES {
                names.insert(name.clone());
            }
            *trials += u64::from(reasons.insert(reason));
        }
    }

    /// All of them, the most frequent first.
    pub fn finish(self) -> Vec<RefusalCount> {
        let plain = self.found.into_iter().map(|((unavailable, samples), trials)| RefusalCount { unavailable, samples, trials });
        let uncounted = self.uncounted.into_iter().map(|(answer, (names, trials))| RefusalCount {
            unavailable: Refusal::new(
                format!("exact calls of {}", listed(&names)),
                answer,
                "Their calls print as \"-\"; their times do not depend on it",
            ),
            samples: false,
            trials,
        });
        let mut all: Vec<RefusalCount> = plain.chain(uncounted).collect();
        if self.further > 0 {
            all.push(RefusalCount {
                unavailable: Refusal::new(
                    "further refusals",
                    format!("more than {MOST} different ones; these are counted together"),
                    "Look into trials.jsonl",
                ),
                samples: false,
                trials: self.further,
            });
        }
        all.order_by_key(|absence| std::cmp::Reverse(absence.trials));
        all
    }
}

fn listed(names: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Refusals};
    use std::collections::BTreeMap;

    #[test]
    fn equal_ones_are_counted_together() {
        let mut absences = Refusals::default();
        for _ in 0..3 {
            absences.push(false, "cycles", "ENOENT", "none");
            let names = ["a", "b", "c", "d", "e"].map(|name| (name.to_owned(), "fentry: EPERM".to_owned()));
            absences.push_uncounted(&BTreeMap::from(names));
        }
        absences.push(false, "waits", "EPERM", "be root");
        let all = absences.finish();
        let said: Vec<(&str, u64)> = all.iter().map(|absence| (absence.unavailable.what.as_str(), absence.trials)).collect();
        assert_eq!(said, [("cycles", 3), ("exact calls of a, b, c, d and 1 more", 3), ("waits", 1)]);
    }

    #[test]
    fn they_are_bounded() {
        let mut absences = Refusals::default();
        for number in 0..10_000 {
            absences.push(false, &number.to_string(), "no", "none");
            absences.push_uncounted(&BTreeMap::from([("f".to_owned(), number.to_string())]));
        }
        let all = absences.finish();
        assert_eq!(all.len(), 2 * MOST + 1);
        assert_eq!(all[0].trials, 20_000 - 2 * MOST as u64);
    }
}
