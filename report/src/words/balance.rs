//! Where the datagrams went, and what exchanging the hosts showed.

use analysis::result::{Analysis, Balance, RoleTest, Roles};

use super::{list, plural};
use crate::{interval, number};

/// The equation of sent and received, with every loss named.
pub fn datagrams(balance: &Balance) -> String {
    let share = |count: u64| number::percent(count as f64 / balance.sent as f64);
    let mut text = format!("Of {} sent, {} arrived", plural(balance.sent, "datagram"), number::whole(balance.received));
    if balance.sent > 0 {
        text += &format!(" ({})", share(balance.received));
    }
    let drops: Vec<String> =
        balance.dropped.iter().map(|(name, count)| format!("{} in {name} ({})", number::whole(*count), share(*count))).collect();
    if !drops.is_empty() {
        text += &format!("; the kernel dropped {}", list(&drops));
    }
    text + &match balance.unaccounted {
        0 => "; none is unaccounted for.".to_owned(),
        left => format!("; {} unaccounted for.", number::signed(left)),
    }
}

/// The host-swap test, its verdict and what it could have shown; or why there is none.
pub fn roles(analysis: &Analysis, roles: &Roles) -> String {
    match roles {
        Roles::Tested(test) => verdict(analysis, test),
        Roles::TooFewBlocks { blocks, needed } => format!(
            "Whether exchanging the hosts' roles matters cannot be told from {}: this run needs {needed}.",
            plural(*blocks as u64, "block")
        ),
    }
}

fn verdict(analysis: &Analysis, test: &RoleTest) -> String {
    let blocks = analysis.run.plan.blocks;
    // A verdict needs both: unlikely by chance, and large enough to matter.
    let (unlikely, large) = (test.p <= 1.0 - blocks.confidence + 1e-9, (test.ratio.value - 1.0).abs() >= blocks.interval);
    let verdict = match (unlikely, large) {
        (true, true) => "a difference, the two directions are not alike".to_owned(),
        (true, false) => format!("a difference, smaller than the {} that matter here", number::percent(blocks.interval)),
        (false, _) => "no difference shown".to_owned(),
    };
    let ends = match test.ratio.interval {
        Some(ends) => format!("{} to {}", number::change(ends.low - 1.0), number::change(ends.high - 1.0)),
        None => interval::range(&test.ratio, number::percent),
    };
    format!(
        "With the hosts' roles exchanged, the time per message changes by {} ({ends}; p = {}; {} exchanged, {} not): {verdict}.",
        number::change(test.ratio.value - 1.0),
        number::significant(test.p, 2),
        plural(test.swapped as u64, "block"),
        number::whole(test.straight as u64),
    )
}
