//! The answer of the microscope: the instructions of a message, and how they changed.

use attribution::exact::{Measured, Region};

use super::next::Next;
use super::notation::{change, list, whole};
use super::{Answer, Direction, Grade, Part};

/// The share of messages that take the usual course from which on it stands for all.
const USUAL: f64 = 0.9;

/// Messages that a headline names.
const MOST_NAMED: usize = 3;

/// The answer of exact counts, one for each kernel, the newest last.
pub fn exact(measured: &[Measured]) -> Answer {
    let kernels: Vec<&str> = measured.iter().map(|one| one.provenance.kernel.as_str()).collect();
    let question = format!("microscope {}", list(&kernels.iter().map(|kernel| (*kernel).to_owned()).collect::<Vec<_>>()));
    let Some(last) = measured.last().filter(|one| !one.regions.is_empty()) else {
        return Answer::new(question, "No message was counted.", Grade::Open, "no scenario could be run");
    };
    let standing = standing(last);
    let named: Vec<String> =
        standing.iter().take(MOST_NAMED).map(|region| format!("{} {}", region.name, whole(region.total.instructions))).collect();
    let mut headline = format!("Kernel {}: instructions of a message: {}.", last.provenance.kernel, named.join(", "));
    let mut parts: Vec<Part> = standing.iter().map(|region| part(region, None)).collect();
    if let [.., before, _] = measured {
        let changes: Vec<(&Region, i64, f64)> = standing.iter().filter_map(|region| moved(before, region)).collect();
        let words = |(region, by, share): &(&Region, i64, f64)| format!("{} {} ({})", region.name, steps(*by), change(*share));
        let all: Vec<String> = changes.iter().take(MOST_NAMED).map(words).collect();
        if !all.is_empty() {
            headline += &format!(" Against {}: {}.", before.provenance.kernel, all.join(", "));
        }
        parts.extend(changes.iter().map(|(region, _, share)| Part {
            direction: if *share > 0.0 { Direction::Worse } else { Direction::Better },
            value: *share,
            ..part(region, Some(&before.provenance.kernel))
        }));
    }
    let rare: Vec<&&Region> = standing.iter().filter(|region| region.share() < USUAL).collect();
    let (grade, reason) = match rare.as_slice() {
        [] => (Grade::Settled, "counts are the same on every run".to_owned()),
        rare => {
            let named: Vec<String> =
                rare.iter().take(MOST_NAMED).map(|region| format!("{} {} %", region.name, (region.share() * 100.0).floor())).collect();
            (Grade::Rough, format!("the usual course is that of {} of messages", list(&named)))
        }
    };
    let seed = last.provenance.seed.saturating_add(1);
    let next = (grade != Grade::Settled).then(|| {
        Next::command("count with another seed", format!("nettoll microscope --kernel {} --seed {seed}", kernels.join(",")), None)
    });
    let brief = named.first().map_or_else(|| "nothing".to_owned(), |first| format!("{first} instructions"));
    Answer { parts, brief, next, ..Answer::new(question, headline, grade, reason) }
}

/// One message of each scenario: the smallest.
fn standing(one: &Measured) -> Vec<&Region> {
    let mut found: Vec<&Region> = Vec::new();
    for region in &one.regions {
        let (scenario, size) = region.scenario();
        match found.iter_mut().find(|known| known.scenario().0 == scenario) {
            Some(known) if size < known.scenario().1 => *known = region,
            Some(_) => {}
            None => found.push(region),
        }
    }
    found
}

fn moved<'r>(before: &Measured, region: &'r Region) -> Option<(&'r Region, i64, f64)> {
    let then = before.region(&region.name)?.total.instructions;
    let now = region.total.instructions;
    let by = i64::try_from(now).ok()? - i64::try_from(then).ok()?;
    (then > 0).then(|| (region, by, by as f64 / then as f64))
}

/// `−195`, `+57`.
fn steps(by: i64) -> String {
    format!("{}{}", if by < 0 { "−" } else { "+" }, whole(by.unsigned_abs()))
}

fn part(region: &Region, against: Option<&str>) -> Part {
    Part { against: against.map(str::to_owned), ..Part::figure(&region.name, None, None, region.total.instructions as f64) }
}
