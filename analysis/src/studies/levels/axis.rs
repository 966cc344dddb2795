//! A condition as an axis: its levels, and their places on ladders of units.

use model::Cell;
use model::condition::{Conditions, LinkLoad};
use model::plan::{Factor, LinkKind};

/// The conditions that have levels, in the order of [`Factor::ALL`].
pub const AXES: [Factor; 8] =
    [Factor::Link, Factor::Load, Factor::LinkLoad, Factor::Bulk, Factor::Priority, Factor::Placement, Factor::Senders, Factor::Receivers];

/// Conditions in which the plan's own link is none of its own.
pub fn plain(conditions: &Conditions, plan: &LinkKind) -> Conditions {
    Conditions { link: conditions.link.filter(|link| link != plan), ..*conditions }
}

/// The level of one of the conditions, as a plan writes it.
pub fn name(factor: Factor, cell: &Cell, plan: &LinkKind) -> String {
    factor.value(cell).map_or_else(|| plan.to_string(), |level| level.to_string())
}

/// A ladder of units: the place that more and more of them are put at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ladder {
    /// The one place that there is.
    Only,
    /// The sender's host.
    Sender,
    /// The receiver's.
    Receiver,
    /// Both, as many at each.
    Both,
}

impl Ladder {
    /// The name in results; empty where there is one place.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Only => "",
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Both => "both",
        }
    }
}

/// The ladders that a level stands on, and its number of units. The base stands on
/// all.
pub fn rungs(factor: Factor, conditions: &Conditions) -> Vec<(Ladder, u32)> {
    match (factor, conditions.load.sender, conditions.load.receiver) {
        (Factor::Load, 0, 0) => [Ladder::Sender, Ladder::Receiver, Ladder::Both].map(|ladder| (ladder, 0)).into(),
        (Factor::Load, units, 0) => vec![(Ladder::Sender, units)],
        (Factor::Load, 0, units) => vec![(Ladder::Receiver, units)],
        (Factor::Load, one, other) if one == other => vec![(Ladder::Both, one)],
        (Factor::LinkLoad, ..) => match conditions.link_load {
            LinkLoad { pairs, rate } if pairs == 0 || rate.is_none() => vec![(Ladder::Only, pairs)],
            LinkLoad { .. } => Vec::new(),
        },
        (Factor::Bulk, ..) => vec![(Ladder::Only, conditions.bulk)],
        (Factor::Senders, ..) => vec![(Ladder::Only, conditions.senders)],
        (Factor::Receivers, ..) => vec![(Ladder::Only, conditions.receivers)],
        _ => Vec::new(),
    }
}
