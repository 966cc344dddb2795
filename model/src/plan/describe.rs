//! Titles and descriptions: an author's words, with what a resolved plan varies in them.
//!
//! `{sizes}` and the like stand for what is measured in the end, whatever flags replaced. A
//! sentence that begins with `{?FACTOR}` appears only where that factor varies.

use std::collections::BTreeSet;

use super::error::PlanError;
use super::{LinkKind, Plan, PlanEnd};
use crate::cell::{Factor, Level};
use crate::condition::{EndLevel, LinkLoad, PerEnd, Placement, Priority};
use crate::link::Medium;
use crate::quantity::Bytes;
use crate::suggestion;
use crate::traffic::Protocol;
use crate::words::{group, list};

/// A name in braces, and its words of a plan.
type Word = (&'static str, fn(&Plan) -> String);

/// Words that are those of no single factor.
const WORDS: [Word; 6] =
    [("sizes", sizes), ("range", range), ("protocols", protocols), ("hosts", hosts), ("extent", extent), ("blocks", blocks)];

/// Levels that are listed one by one; of more, their number and the first and the last.
const LISTED: usize = 5;

/// Fills in what an author wrote: `key` is the key of the text in the plan.
///
/// # Errors
/// A name in braces that stands for nothing.
pub(super) fn fill(key: &'static str, text: &str, plan: &Plan) -> Result<String, PlanError> {
    let mut filled = String::new();
    for sentence in text.split_inclusive(". ") {
        let sentence = match sentence.strip_prefix("{?").and_then(|rest| rest.split_once('}')) {
            Some((name, rest)) if varies(key, name, plan)? => rest.trim_start(),
            Some(_) => continue,
            None => sentence,
        };
        fill_sentence(key, sentence, plan, &mut filled)?;
    }
    Ok(filled.trim_end().to_owned())
}

fn fill_sentence(key: &'static str, sentence: &str, plan: &Plan, filled: &mut String) -> Result<(), PlanError> {
    let mut rest = sentence;
    while let Some((before, (name, after))) = rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
        *filled += before;
        *filled += &words(key, name, plan)?;
        rest = after;
    }
    *filled += rest;
    Ok(())
}

fn words(key: &'static str, name: &str, plan: &Plan) -> Result<String, PlanError> {
    if let Some((_, words)) = WORDS.iter().find(|(word, _)| *word == name) {
        return Ok(words(plan));
    }
    let factor = factor(key, name)?;
    let levels: Vec<String> = levels(factor, plan).into_iter().flatten().map(|level| said(&level)).collect();
    Ok(match levels.as_slice() {
        [] => "what is usual".to_owned(),
        listed if listed.len() <= LISTED => list(listed),
        [first, .., last] => format!("{} {} from {first} to {last}", levels.len(), levels_of(factor)),
        [_] => list(&levels),
    })
}

fn varies(key: &'static str, name: &str, plan: &Plan) -> Result<bool, PlanError> {
    if name == "arms" {
        return Ok(!plan.arms.is_empty());
    }
    Ok(levels(factor(key, name)?, plan).len() > 1)
}

fn factor(key: &'static str, name: &str) -> Result<Factor, PlanError> {
    name.parse().map_err(|_| {
        let names: Vec<&str> = WORDS.iter().map(|(word, _)| *word).chain(Factor::ALL.iter().map(|factor| factor.name())).collect();
        let hint = suggestion(name, names.iter().copied());
        let all = "sizes, range, protocols, hosts, extent, blocks and the factors".to_owned();
        PlanError::UnknownKey { key: format!("{{{name}}}"), place: format!("in '{key}'"), hint, all }
    })
}

/// The levels of a factor in the cells, in their order, each once; `None` where the usual
/// one holds.
fn levels(factor: Factor, plan: &Plan) -> Vec<Option<Level>> {
    let mut seen = BTreeSet::new();
    plan.cells.iter().map(|cell| factor.level(cell)).filter(|level| seen.insert(level.clone())).collect()
}

const fn levels_of(factor: Factor) -> &'static str {
    match factor {
        Factor::Size | Factor::ReadSize | Factor::Sndbuf | Factor::Rcvbuf => "sizes",
        Factor::Count => "counts",
        _ => "levels",
    }
}

/// A level as a sentence holds it.
fn said(level: &Level) -> String {
    match level {
        Level::Size(size) | Level::ReadSize(size) | Level::Sndbuf(size) | Level::Rcvbuf(size) => bytes(*size),
        Level::Count(count) => group(&count.to_string()),
        Level::Load(load) => of_ends(load, "none", |units| if *units == 1 { "1 unit".to_owned() } else { format!("{units} units") }),
        Level::Priority(priority) => of_ends(priority, "the usual one", |priority| match priority {
            Priority::Usual => "the usual one".to_owned(),
            Priority::Nice(nice) => format!("nice value {nice}"),
            Priority::Realtime(level) => format!("real-time priority {level}"),
        }),
        Level::LinkLoad(load) => link_load(*load),
        Level::Placement(placement) => placed(*placement).to_owned(),
        other => other.value().to_string(),
    }
}

/// `4 units at both ends (`both:4`)`: the words, and the level as one writes it.
fn of_ends<T: EndLevel>(level: &PerEnd<T>, usual: &str, words: impl Fn(&T) -> String) -> String {
    let none = T::default();
    let text = match (level.sender == none, level.receiver == none) {
        (true, true) => return usual.to_owned(),
        _ if level.sender == level.receiver => format!("{} at both ends", words(&level.sender)),
        (false, true) => format!("{} at the sender", words(&level.sender)),
        (true, false) => format!("{} at the receiver", words(&level.receiver)),
        (false, false) => format!("{} at the sender and {} at the receiver", words(&level.sender), words(&level.receiver)),
    };
    format!("{text} (`{level}`)")
}

fn link_load(load: LinkLoad) -> String {
    let pairs = if load.pairs == 1 { "1 pair".to_owned() } else { format!("{} pairs", load.pairs) };
    match load.rate {
        _ if load.is_none() => "none".to_owned(),
        Some(rate) => format!("{pairs} at {rate} (`{load}`)"),
        None => format!("{pairs} at full speed (`{load}`)"),
    }
}

const fn placed(placement: Placement) -> &'static str {
    match placement {
        Placement::Usual => "the system's choice (`usual`)",
        Placement::SameCore => "both ends on one CPU (`same-core`)",
        Placement::OtherCore => "the ends on two CPUs (`other-core`)",
        Placement::SoftirqAtSender => "softirqs with the sender (`softirq-at-sender`)",
        Placement::SoftirqAtReceiver => "softirqs with the receiver (`softirq-at-receiver`)",
    }
}

fn sizes(plan: &Plan) -> String {
    let sizes = all_sizes(plan);
    match (sizes.iter().copied().collect::<Vec<_>>().as_slice(), sizes.len()) {
        ([first, .., last], 3..) => format!("{} sizes from {} to {}", sizes.len(), bytes(*first), bytes(*last)),
        (few, _) => list(&few.iter().map(|size| bytes(*size)).collect::<Vec<_>>()),
    }
}

fn range(plan: &Plan) -> String {
    let sizes = all_sizes(plan);
    match (sizes.first(), sizes.last()) {
        (Some(first), Some(last)) if first < last => format!("{} to {}", bytes(*first), bytes(*last)),
        (first, _) => first.map_or_else(String::new, |size| bytes(*size)),
    }
}

fn all_sizes(plan: &Plan) -> BTreeSet<Bytes> {
    plan.cells.iter().map(|cell| cell.size).collect()
}

fn protocols(plan: &Plan) -> String {
    let has = |protocol: &&Protocol| plan.cells.iter().any(|cell| cell.protocol() == **protocol);
    list(&Protocol::ALL.iter().filter(has).map(ToString::to_string).collect::<Vec<_>>())
}

fn hosts(plan: &Plan) -> String {
    if let Some(fleet) = &plan.fleet {
        return format!("between pairs of {} hosts", fleet.hosts.len());
    }
    if !plan.hosts.is_empty() {
        let place = |name: &&str| plan.hosts.get(*name).map_or_else(|| "this machine".to_owned(), super::HostPlace::label);
        let side = |side: usize| match plan.hosts_at(side)[..] {
            [one] => place(&one),
            ref several => format!("{} hosts", several.len()),
        };
        return format!("between {}", list(&[side(0), side(1)]));
    }
    let links = plan.links();
    match links.as_slice() {
        [link] => over(&link.kind),
        several => {
            format!("over {} links ({})", several.len(), several.iter().map(|link| link.kind.to_string()).collect::<Vec<_>>().join(", "))
        }
    }
}

fn over(link: &LinkKind) -> String {
    match link {
        LinkKind::Veth => "between two hosts on a virtual Ethernet".to_owned(),
        LinkKind::Ethernet(wire) => format!("between two hosts on an Ethernet of {}", wire.rate),
        LinkKind::SharedWire(wire) => format!("between two hosts on a shared wire of {}", wire.rate),
        LinkKind::Switch(None) => "between two hosts on a switch".to_owned(),
        LinkKind::Switch(Some(trunk)) => format!("between two hosts on switches with a trunk of {}", trunk.rate),
        LinkKind::Relay(wire) => {
            let shared = match wire.medium {
                Medium::Full => "",
                Medium::Shared => "shared ",
                Medium::Half => "half-duplex ",
            };
            let rate = wire.rate.map_or_else(String::new, |rate| format!(" of {rate}"));
            let delay = if wire.delay.get() > 0 { format!(" that delays frames by {}", wire.delay) } else { String::new() };
            format!("between two hosts over a {shared}link{rate}{delay} (`{link}`)")
        }
        LinkKind::Loopback => "on this machine's loopback".to_owned(),
        LinkKind::Network => "over the network".to_owned(),
    }
}

fn extent(plan: &Plan) -> String {
    match plan.end {
        PlanEnd::Length(length) => length.to_string(),
        PlanEnd::Messages(1) => "1 message".to_owned(),
        PlanEnd::Messages(count) => format!("{} messages", group(&count.to_string())),
        PlanEnd::Bytes(size) => bytes(size),
    }
}

fn blocks(plan: &Plan) -> String {
    match (plan.blocks.least, plan.blocks.most) {
        (1, 1) => "once".to_owned(),
        (least, most) if least == most => format!("{most} times"),
        (least, most) => format!("{least} to {most} times"),
    }
}

/// `64 B`, `16 KiB`.
fn bytes(size: Bytes) -> String {
    match size.get() {
        n if n > 0 && n.is_multiple_of(1 << 30) => format!("{} GiB", n >> 30),
        n if n > 0 && n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
        // 1,024 B is a size among others, 16 KiB one that nobody counts in bytes.
        n if n >= 1 << 13 && n.is_multiple_of(1 << 10) => format!("{} KiB", n >> 10),
        n => format!("{} B", group(&n.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{Factor, PRESETS, Plan, PlanError, RawPlan, preset, resolve};

    fn quick(overrides: &[(Factor, &str)], link: Option<&str>) -> Plan {
        let mut raw = RawPlan::parse(preset("quick").unwrap()).unwrap();
        if let Some(kind) = link {
            raw.force_link(kind.parse().unwrap());
        }
        let overrides: Vec<_> = overrides.iter().map(|(factor, word)| (*factor, factor.parse(&[word]).unwrap())).collect();
        resolve(&raw, &overrides, 1).unwrap().into_plan()
    }

    fn about(text: &str) -> Result<String, PlanError> {
        let text = format!(
            "name = \"x\"\nabout = {text:?}\n[[cells]]\ntest = \"TCP_STREAM\"\nsize = [1, 2048, 16384]\ncount = \"500..9000:+500\""
        );
        resolve(&RawPlan::parse(&text)?, &[], 1).map(|plan| plan.description.clone())
    }

    #[test]
    fn a_description_tells_what_is_measured_in_the_end() {
        let plan = quick(&[], None);
        assert_eq!(plan.title, "What one message costs, TCP and UDP, 1 B to 16 KiB");
        assert!(
            plan.description
                .starts_with("It sends messages of 11 sizes from 1 B to 16 KiB over TCP and UDP between two hosts on a virtual")
        );
        assert!(plan.description.contains("A line through the sizes"));
        let plan = quick(&[(Factor::Test, "UDP_STREAM"), (Factor::Size, "64")], Some("loopback"));
        assert_eq!(plan.title, "What one message costs, UDP, 64 B");
        assert!(plan.description.starts_with("It sends messages of 64 B over UDP on this machine's loopback."), "{}", plan.description);
        assert!(
            !plan.description.contains("line") && plan.description.ends_with("the CPU time of a message at each end."),
            "{}",
            plan.description
        );
        let plan = quick(&[(Factor::Size, "1,64")], Some("ethernet 10M"));
        assert!(plan.description.contains("messages of 1 B and 64 B") && plan.description.contains("an Ethernet of 10 Mbit/s"));
    }

    #[test]
    fn every_factor_has_words() {
        assert_eq!(about("{count} of {size}; {cc}.").unwrap(), "18 counts from 500 to 9,000 of 1 B, 2,048 B and 16 KiB; what is usual.");
        assert_eq!(about("One. {?count} Two. {?cc} Three. {?arms} Four.").unwrap(), "One. Two.");
        let wrong = about("{sises}").unwrap_err().to_string();
        assert!(wrong.contains("unknown key '{sises}' in 'about'; did you mean 'sizes'?"), "{wrong}");
        assert!(about("{?nothing} x").is_err());
        // A brace that none follows is a letter like others.
        assert_eq!(about("a { b").unwrap(), "a { b");
    }

    #[test]
    fn levels_are_words_before_syntax() {
        let described = |factor: &str, level: &str| {
            let text = format!(
                "name = \"x\"\nabout = \"{{{factor}}}\"\nlink = {{ kind = \"switch\" }}\n[[cells]]\ntest = \"TCP_STREAM\"\nsize = 1\n{factor} = \"{level}\""
            );
            resolve(&RawPlan::parse(&text).unwrap(), &[], 1).unwrap().description.clone()
        };
        assert_eq!(described("load", "sender:2+receiver:1"), "2 units at the sender and 1 unit at the receiver (`sender:2+receiver:1`)");
        assert_eq!(described("priority", "nice:10"), "nice value 10 at both ends (`both:nice:10`)");
        assert_eq!(described("link_load", "2x1M"), "2 pairs at 1 Mbit/s (`2x1M`)");
    }

    #[test]
    fn no_preset_leaves_a_brace() {
        for (name, text) in PRESETS {
            let plan = resolve(&RawPlan::parse(text).unwrap(), &[], 1).unwrap();
            assert!(!plan.title.contains(['{', '}']) && !plan.description.contains(['{', '}']), "{name}: {}", plan.description);
        }
    }
}
