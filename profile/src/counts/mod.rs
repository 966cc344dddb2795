//! Exact counts of events and calls, by the best way that the kernel allows.
//!
//! | what | how | tier |
//! |---|---|---|
//! | functions | a BPF program at each one's entry ([`FunctionCounter`]) | fentry |
//! | tracepoints | `perf_event_open`, with ids from tracefs; without tracefs a BPF program at each ([`EventCounter`]) | tracepoint |
//! | functions, where the first is refused | call chains at tracepoints, against a curated table ([`StackCounter`]) | witness |
//!
//! Everything is counted from `start` to the taking of the counts, so the
//! figures are of a whole trial: hold them against the whole trial's messages.
//! Counting costs some 20 to 60 ns for each event, keeping chains more than ten
//! times as much: never count in a pass whose time is measured, and take chains in
//! a pass of their own.

mod event;
mod function;
mod stacks;
pub mod table;
pub mod tracefs;

use model::profile::CallCounts;

pub use event::{EventCounter, Way};
pub use function::FunctionCounter;
pub use stacks::StackCounter;
pub use table::{STACK_RULES, StackRule, TRACEPOINTS};

/// Two passes' counts in one: a name that one of them counted is not refused.
/// Where both did, the better tier stays.
pub fn merge(mut first: CallCounts, second: CallCounts) -> CallCounts {
    for (name, calls) in second.calls {
        let Some(tier) = second.tier.get(&name) else { continue };
        if first.tier.get(&name).is_none_or(|known| tier < known) {
            first.tier.insert(name.clone(), *tier);
            first.calls.insert(name.clone(), calls);
        }
    }
    for (name, reason) in second.refused {
        first.refused.entry(name).or_insert(reason);
    }
    first.refused.retain(|name, _| !first.calls.contains_key(name));
    first
}

#[cfg(test)]
mod tests {
    use super::merge;
    use model::profile::{CallCounts, CountTier};

    fn counted(name: &str, tier: CountTier, calls: u64) -> CallCounts {
        let mut counts = CallCounts::default();
        counts.tier.insert(name.to_owned(), tier);
        counts.calls.insert(name.to_owned(), calls);
        counts
    }

    #[test]
    fn what_one_pass_counted_is_not_refused_and_the_better_tier_stays() {
        let mut first = counted("udp_sendmsg", CountTier::Witness, 9);
        first.refused.insert("ip_output".to_owned(), "EPERM".to_owned());
        let second = counted("ip_output", CountTier::Witness, 7);
        let both = merge(first, second);
        assert!(both.refused.is_empty() && both.calls["ip_output"] == 7);
        let better = merge(both, counted("udp_sendmsg", CountTier::Fentry, 10));
        assert_eq!((better.calls["udp_sendmsg"], better.tier["udp_sendmsg"]), (10, CountTier::Fentry));
        let same = merge(better, counted("udp_sendmsg", CountTier::Witness, 1));
        assert_eq!(same.calls["udp_sendmsg"], 10);
    }
}
