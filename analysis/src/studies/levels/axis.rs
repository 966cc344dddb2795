//! A condition as an axis: its levels, its base, and what else stays equal.

use model::condition::{Conditions, LinkLoad, PerEnd, Placement};
use model::plan::{Factor, LinkKind};

/// The conditions that have levels, in the order of [`Factor::ALL`].
pub const AXES: [Factor; 6] = [Factor::Link, Factor::Load, Factor::LinkLoad, Factor::Bulk, Factor::Priority, Factor::Placement];

/// Conditions in which the plan's own link is none of its own.
pub fn plain(conditions: &Conditions, plan: &LinkKind) -> Conditions {
    Conditions { link: conditions.link.filter(|link| link != plan), ..*conditions }
}

/// The same conditions at the base level of one of them.
pub fn without(factor: Factor, conditions: &Conditions) -> Conditions {
    let mut rest = *conditions;
    match factor {
        Factor::Link => rest.link = None,
        Factor::Load => rest.load = PerEnd::default(),
        Factor::LinkLoad => rest.link_load = LinkLoad::NONE,
        Factor::Bulk => rest.bulk = 0,
        Factor::Priority => rest.priority = PerEnd::default(),
        Factor::Placement => rest.placement = Placement::Usual,
        _ => {}
    }
    rest
}

/// The level of one of the conditions, as a plan writes it.
pub fn name(factor: Factor, conditions: &Conditions, plan: &LinkKind) -> String {
    match factor {
        Factor::Link => conditions.link.as_ref().unwrap_or(plan).to_string(),
        Factor::Load if conditions.load.is_usual() => "0".to_owned(),
        Factor::Load => conditions.load.to_string(),
        Factor::LinkLoad => conditions.link_load.to_string(),
        Factor::Bulk => conditions.bulk.to_string(),
        Factor::Priority if conditions.priority.is_usual() => "usual".to_owned(),
        Factor::Priority => conditions.priority.to_string(),
        Factor::Placement => conditions.placement.to_string(),
        _ => String::new(),
    }
}

/// The place of a level on a ladder of units: which ladders it stands on, by the
/// name of the end or rate, and how many units it has. The base stands on all.
pub fn rungs(factor: Factor, conditions: &Conditions) -> Vec<(String, u32)> {
    let end = |name: &str, units| (name.to_owned(), units);
    match factor {
        Factor::Load => match (conditions.load.sender, conditions.load.receiver) {
            (0, 0) => ["sender", "receiver", "both"].map(|name| end(name, 0)).into(),
            (units, 0) => vec![end("sender", units)],
            (0, units) => vec![end("receiver", units)],
            (one, other) if one == other => vec![end("both", one)],
            _ => Vec::new(),
        },
        Factor::LinkLoad => match conditions.link_load {
            LinkLoad { pairs: 0, .. } => vec![end("", 0)],
            LinkLoad { pairs, rate: None } => vec![end("", pairs)],
            LinkLoad { .. } => Vec::new(),
        },
        Factor::Bulk => vec![end("", conditions.bulk)],
        _ => Vec::new(),
    }
}
