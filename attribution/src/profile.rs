//! Profiles in the format of the flame graph tools.

use std::collections::BTreeMap;

use model::profile::Profile;

/// The samples of a profile by chain, as [`folded_chains`] has them. A place beyond the table is damage, and said to be.
pub fn folded(profile: &Profile) -> String {
    let name = |place: &u32| profile.symbols.get(*place as usize).map_or("[unknown]", String::as_str);
    folded_chains(profile.stacks.iter().map(|stack| (stack.frames.iter().map(name).collect(), stack.count)))
}

/// One line a chain, `outermost;...;innermost count`, in the order of letters:
/// the folded format of Gregg's FlameGraph, which speedscope reads as well. Chains come with their innermost function first.
///
/// What would break a line or a chain in a name (a semicolon, a control
/// character) becomes `_`. Chains that read alike are one line.
pub fn folded_chains<'a>(chains: impl Iterator<Item = (Vec<&'a str>, u64)>) -> String {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for (frames, count) in chains {
        let frames: Vec<String> = frames.into_iter().rev().map(clean).collect();
        let sum = lines.entry(frames.join(";")).or_default();
        *sum = sum.saturating_add(count);
    }
    lines.iter().filter(|(chain, _)| !chain.is_empty()).map(|(chain, count)| format!("{chain} {count}\n")).collect()
}

fn clean(name: &str) -> String {
    let name: String = name.chars().map(|c| if c == ';' || c.is_control() { '_' } else { c }).collect();
    if name.is_empty() { "[unknown]".to_owned() } else { name }
}
