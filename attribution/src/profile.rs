//! Profiles in the format of the flame graph tools.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::profile::Profile;

/// The name of a frame; a place beyond the table is damage, and said to be.
fn name(profile: &Profile, place: u32) -> &str {
    profile.symbols.get(place as usize).map_or("[unknown]", String::as_str)
}

/// One line a chain, `outermost;...;innermost count`, in the order of letters:
/// the folded format of Gregg's FlameGraph, which speedscope reads as well.
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
