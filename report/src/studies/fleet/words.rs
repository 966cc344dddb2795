//! A fleet in sentences.

use analysis::result::fleet::{Fault, FleetFigure, FleetHostResult, FleetResult, Named};
use analysis::result::{Analysis, Direction};
use model::Plan;

use crate::number;
use crate::words::{list, plural};

/// Hosts that are named in a sentence.
const MOST_NAMES: usize = 6;

/// Hosts, rounds and trials.
pub fn extent(analysis: &Analysis, fleet: &FleetResult) -> String {
    format!(
        "{}, {} of {} planned, {} measured in both directions: {}, {} failed. {}.",
        plural(fleet.hosts.len() as u64, "host"),
        plural(u64::from(analysis.blocks), "round"),
        fleet.rounds,
        plural(fleet.pairs as u64, "pair"),
        plural(analysis.trials, "trial"),
        number::whole(analysis.failed),
        crate::words::capital(&analysis.run.status.describe()),
    )
}

/// The answer.
pub fn conclusion(fleet: &FleetResult) -> String {
    if fleet.figures.is_empty() {
        return "Nothing was measured.".to_owned();
    }
    if fleet.figures.iter().all(|figure| !figure.told_apart) {
        return "These trials cannot show whether a host is an outlier.".to_owned();
    }
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for named in &fleet.named {
        let (who, as_what) = (who(named), fault(named.fault));
        match found.iter_mut().find(|(known, _)| *known == who) {
            Some((_, kinds)) if kinds.contains(&as_what) => {}
            Some((_, kinds)) => kinds.push(as_what),
            None => found.push((who, vec![as_what])),
        }
    }
    let mut who: Vec<String> = found.into_iter().map(|(who, kinds)| format!("{who} ({})", kinds.join(", "))).collect();
    match who.as_slice() {
        [] => {
            let untold = fleet.figures.iter().filter(|figure| !figure.told_apart).count();
            let untold = if untold > 0 { format!(" {untold} of {} figures are undecided.", fleet.figures.len()) } else { String::new() };
            format!("No host, pair or direction differs by {} or more.{untold}", number::percent(fleet.least))
        }
        [one] => format!("{one} differs from the others."),
        _ => {
            let more = who.len().saturating_sub(MOST_NAMES);
            who.truncate(MOST_NAMES);
            who.extend((more > 0).then(|| format!("{more} more")));
            format!("{} differ from the others.", list(&who))
        }
    }
}

/// Names of what falls out.
pub fn who(named: &Named) -> String {
    match (named.fault, named.who.as_slice()) {
        (Fault::Direction, [a, b]) => format!("{a} -> {b}"),
        (_, [a, b]) => format!("{a} <-> {b}"),
        (_, who) => who.join(" "),
    }
}

/// What somebody falls out as.
pub const fn fault(fault: Fault) -> &'static str {
    match fault {
        Fault::Host => "host",
        Fault::Sender => "sender",
        Fault::Receiver => "receiver",
        Fault::Asymmetry => "sends unlike it receives",
        Fault::Link => "pair",
        Fault::Direction => "one direction",
        Fault::Rack => "rack",
    }
}

/// A figure in few words.
pub fn figure(figure: &FleetFigure) -> String {
    format!("{}, {}", figure.metric.head().to_lowercase(), figure.label)
}

/// Hosts of which nothing, or not all, is known.
pub fn absent(fleet: &FleetResult) -> Vec<String> {
    // Trials that failed for another host's sake are told with that one.
    let own = |host: &FleetHostResult| host.error.as_ref().is_some_and(|error| names(error, &host.name));
    let failed = fleet.hosts.iter().filter(|host| host.measured == 0 || own(host));
    failed
        .map(|host| {
            let answer = host.error.as_ref().map_or_else(|| "no trial with it was begun".to_owned(), Clone::clone);
            format!("{}: {} measured, {} failed: {answer}", host.name, plural(host.measured, "trial"), number::whole(host.failed))
        })
        .collect()
}

/// Returns whether a text has a name as a word.
fn names(text: &str, name: &str) -> bool {
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || "-_.".contains(letter))).any(|word| word == name)
}

/// How limits were found.
pub fn method(fleet: &FleetResult) -> String {
    format!(
        "Changes are from a robust fit (Huber) of effects as sender and as receiver to the logarithms of all trials. An outlier exceeds \
         the largest change that chance makes of these rounds, simulated with normal noise and with the trials' own, and {}; of fleets of \
         equals at most {} have anything named. Intervals are ±1.96 simulated standard errors.",
        number::percent(fleet.least),
        number::percent(fleet.level),
    )
}

/// The share by which a figure is worse than that of two usual hosts; below 0 of a better one.
pub fn worse(figure: &FleetFigure, value: f64) -> f64 {
    match figure.metric.better() {
        Some(Direction::HigherIsBetter) => 1.0 - value / figure.middle,
        _ => value / figure.middle - 1.0,
    }
}

/// What a plan of a fleet can be expected to find, in sentences.
pub fn outlook(plan: &Plan) -> Vec<String> {
    let Some(fleet) = &plan.fleet else { return Vec::new() };
    let figures = plan.cells.iter().map(|cell| analysis::studies::fleet::metrics(cell).len()).sum();
    let Some(found) = analysis::fleet::outlook(plan, figures) else {
        let least = "These rounds cannot separate the hosts: that takes at least three hosts, and three rounds of an even number of them.";
        return vec![least.to_owned()];
    };
    let slower = |effect: f64| number::percent((1.0 - (-effect).exp()).max(fleet.least));
    let sentences = found.iter().map(|one| {
        format!(
            "Where trials scatter by {}: a host that is {} slower, {} as sender alone, and a pair that is {} slower are found in 9 of 10 fleets.",
            number::percent(one.noise),
            slower(one.host),
            slower(one.sender),
            slower(one.link)
        )
    });
    sentences.collect()
}
