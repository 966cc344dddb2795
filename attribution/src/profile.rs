//! Profiles added up, and in the format of the flame graph tools.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::profile::{Profile, Stack};

/// Two profiles that cannot be added up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "profiles with samples every {} of '{}' and every {} of '{}' cannot be added up; sample all passes of a cell alike",
    .of[0].1, .of[0].0, .of[1].1, .of[1].0
)]
pub struct MergeError {
    /// Source and period of each.
    of: [(String, u64); 2],
}

/// The samples of both, each chain once. Names and chains are in the order of
/// their letters, so that it does not matter in which order profiles are merged.
///
/// # Errors
/// When their samples are spaced differently.
pub fn merge(a: &Profile, b: &Profile) -> Result<Profile, MergeError> {
    if (a.source, a.period) != (b.source, b.period) {
        return Err(MergeError { of: [a, b].map(|profile| (profile.source.to_string(), profile.period)) });
    }
    let mut chains: BTreeMap<(Vec<&str>, bool), u64> = BTreeMap::new();
    for profile in [a, b] {
        for stack in &profile.stacks {
            let names = stack.frames.iter().map(|place| name(profile, *place)).collect();
            let count = chains.entry((names, stack.user)).or_default();
            *count = count.saturating_add(stack.count);
        }
    }
    let mut places: BTreeMap<&str, u32> = chains.keys().flat_map(|(names, _)| names).map(|name| (*name, 0)).collect();
    for (rank, place) in places.values_mut().enumerate() {
        *place = rank as u32;
    }
    let symbols = places.keys().map(|name| (*name).to_owned()).collect();
    let stack = |((names, user), count): (&(Vec<&str>, bool), &u64)| {
        let frames = names.iter().map(|name| places[name]).collect();
        Stack { frames, user: *user, count: *count }
    };
    Ok(Profile {
        source: a.source,
        period: a.period,
        symbols,
        stacks: chains.iter().map(stack).collect(),
        lost: a.lost.saturating_add(b.lost),
        throttled: a.throttled.saturating_add(b.throttled),
        broken: a.broken.saturating_add(b.broken),
    })
}

/// The name of a frame; a place beyond the table is damage, and said to be.
pub fn name(profile: &Profile, place: u32) -> &str {
    profile.symbols.get(place as usize).map_or("[unknown]", String::as_str)
}

/// One line a chain, `outermost;...;innermost count`, in the order of letters:
/// the folded format of Gregg's FlameGraph, which `inferno` reads as well.
///
/// What would break a line or a chain in a name (a semicolon, a control
/// character) becomes `_`. Chains that read alike are one line.
pub fn folded(profile: &Profile) -> String {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for stack in &profile.stacks {
        let frames: Vec<String> = stack.frames.iter().rev().map(|place| clean(name(profile, *place))).collect();
        let count = lines.entry(frames.join(";")).or_default();
        *count = count.saturating_add(stack.count);
    }
    let mut text = String::new();
    for (chain, count) in lines.iter().filter(|(chain, _)| !chain.is_empty()) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{chain} {count}");
    }
    text
}

fn clean(name: &str) -> String {
    let name: String = name.chars().map(|c| if c == ';' || c.is_control() { '_' } else { c }).collect();
    if name.is_empty() { "[unknown]".to_owned() } else { name }
}
