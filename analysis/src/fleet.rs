//! The schedule of a fleet: which pairs of hosts are measured in which round, and what that
//! can show.

use model::Plan;
use model::plan::FleetPlan;
use rand::seq::SliceRandom;
use stats::fleet::{Design, Effort, Foreseen, foresee, rounds};
use stats::noise::generator;

pub use stats::fleet::{all_rounds, usual_rounds};

/// Share of fleets without any fault that may have a host or a pair named, over all figures.
pub const LEVEL: f64 = 0.01;

/// Noise that a look ahead supposes, from a quiet network to a busy one.
pub const NOISE: [f64; 3] = [0.02, 0.05, 0.1];

/// A trial of a meeting: its cell, and whether the second host sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Place of the cell in the plan.
    pub cell: usize,
    /// The second host of the pair sends.
    pub swapped: bool,
}

/// Two hosts that are measured together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meeting {
    /// Their places in the fleet.
    pub hosts: [usize; 2],
    /// Place of its first trial in the round.
    pub position: usize,
    /// Its trials: every cell in both directions, in random order.
    pub slots: Vec<Slot>,
}

/// Returns the rounds of a plan, a function of its seed; none of a plan without a fleet.
pub fn schedule(plan: &Plan) -> Vec<Vec<Meeting>> {
    let Some(fleet) = &plan.fleet else { return Vec::new() };
    let mut random = generator(plan.seed);
    let slots: Vec<Slot> = (0..plan.cells.len()).flat_map(|cell| [false, true].map(|swapped| Slot { cell, swapped })).collect();
    let all = pairs(fleet, plan.seed);
    let mut meetings = |round: Vec<(usize, usize)>| {
        let meeting = |(at, (first, second)): (usize, (usize, usize))| {
            let mut slots = slots.clone();
            slots.shuffle(&mut random);
            Meeting { hosts: [first, second], position: at * slots.len(), slots }
        };
        round.into_iter().enumerate().map(meeting).collect()
    };
    all.into_iter().map(&mut meetings).collect()
}

fn pairs(fleet: &FleetPlan, seed: u64) -> Vec<stats::fleet::Round> {
    rounds(fleet.hosts.len(), fleet.rounds as usize, seed)
}

/// Returns what the rounds of a plan find at each noise of [`NOISE`] in 9 of 10 fleets, where
/// `figures` are judged side by side; `None` where its rounds cannot separate hosts.
pub fn outlook(plan: &Plan, figures: usize) -> Option<Vec<Foreseen>> {
    let fleet = plan.fleet.as_ref()?;
    let both_ways = pairs(fleet, plan.seed).into_iter().flatten().flat_map(|(a, b)| [(a, b), (b, a)]);
    let design = Design::new(fleet.hosts.len(), both_ways)?;
    let level = LEVEL / figures.max(1) as f64;
    let unit = foresee(&design, 1.0, level, Effort::usual(plan.seed))?;
    let at = |noise: f64| Foreseen { noise, host: unit.host * noise, sender: unit.sender * noise, link: unit.link * noise };
    Some(NOISE.map(at).to_vec())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use model::plan::{FleetHost, FleetPlan};
    use model::{Plan, Test};

    use super::{outlook, schedule};
    use crate::testing::{cell, run};

    fn plan(hosts: usize, rounds: u32) -> Plan {
        let host = |at: usize| FleetHost { name: format!("n{at}"), at: format!("ssh:n{at}").parse().unwrap(), rack: None };
        let fleet = FleetPlan { hosts: (0..hosts).map(host).collect(), rounds, parallel: false, least: 0.05 };
        Plan { fleet: Some(fleet), ..run(vec![cell(Test::TcpStream, 64), cell(Test::TcpRr, 1)], rounds).plan }
    }

    #[test]
    fn every_meeting_has_every_cell_in_both_directions() {
        let plan = plan(9, 3);
        let rounds = schedule(&plan);
        assert_eq!((rounds.len(), rounds.iter().flatten().map(|meeting| meeting.slots.len() as u64).sum::<u64>()), (3, plan.trials()));
        for meeting in rounds.iter().flatten() {
            let slots: BTreeSet<(usize, bool)> = meeting.slots.iter().map(|slot| (slot.cell, slot.swapped)).collect();
            assert_eq!(slots, [(0, false), (0, true), (1, false), (1, true)].into());
            assert_eq!(meeting.position % 4, 0);
        }
        assert_eq!(rounds, schedule(&plan), "it follows from the seed");
        assert!(schedule(&Plan { fleet: None, ..plan }).is_empty());
    }

    #[test]
    fn more_noise_hides_more_and_two_hosts_show_nothing() {
        let found = outlook(&plan(8, 14), 4).unwrap();
        assert!(found.windows(2).all(|pair| pair[0].host < pair[1].host && pair[0].host < pair[0].link), "{found:?}");
        assert!(outlook(&plan(2, 8), 4).is_none());
    }
}
