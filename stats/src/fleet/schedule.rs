//! Who meets whom: rounds of a tournament.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::Design;
use crate::noise::generator;

/// Rounds from which the hosts of a fleet are separated, both ways: with 8, a host that is
/// 15 % slower stands out of 5 % noise even where one trial in twenty is disturbed; with 4
/// it does not (the page on statistics has the figures).
pub const USUAL_ROUNDS: usize = 8;

/// Most schedules that are drawn before one is taken in which hosts cannot be separated.
const DRAWS: usize = 100;

/// A round: pairs of hosts, in random order, the first of each sends first. No host is in
/// two of them.
pub type Round = Vec<(usize, usize)>;

/// Number of rounds in which each host meets every other once: one less than hosts, and with
/// an odd number, where one host sits out each time, as many as hosts. 0 of fewer than 2.
pub const fn all_rounds(hosts: usize) -> usize {
    match hosts {
        0 | 1 => 0,
        _ if hosts.is_multiple_of(2) => hosts - 1,
        _ => hosts,
    }
}

/// Number of rounds of a fleet without a number asked for: [`USUAL_ROUNDS`]; of fewer
/// than 10 hosts, all of them so often that it is no less.
pub const fn usual_rounds(hosts: usize) -> usize {
    match all_rounds(hosts) {
        0 => 0,
        all if all >= USUAL_ROUNDS => USUAL_ROUNDS,
        all => all * USUAL_ROUNDS.div_ceil(all),
    }
}

/// So many rounds of the hosts 0 to `hosts - 1`, by the circle method (Lucas 1883,
/// "Récréations mathématiques" 2; Kirkman 1847): different ones as long as there are, in
/// random order, then all of them again. The hosts' places on the circle are random.
///
/// Drawn again where hosts could not be separated by them ([`Design::tells_hosts_apart`]),
/// as far as any schedule of so many rounds does.
pub fn rounds(hosts: usize, count: usize, seed: u64) -> Vec<Round> {
    let mut random = generator(seed);
    let mut drawn = draw(hosts, count, &mut random);
    for _ in 1..DRAWS {
        if tells_apart(hosts, &drawn) {
            break;
        }
        drawn = draw(hosts, count, &mut random);
    }
    drawn
}

fn tells_apart(hosts: usize, rounds: &[Round]) -> bool {
    let both_ways = rounds.iter().flatten().flat_map(|&(a, b)| [(a, b), (b, a)]);
    Design::new(hosts, both_ways).is_some_and(|design| design.tells_hosts_apart())
}

fn draw(hosts: usize, count: usize, random: &mut ChaCha8Rng) -> Vec<Round> {
    let all = all_rounds(hosts);
    let mut places: Vec<usize> = (0..hosts).collect();
    places.shuffle(random);
    let mut drawn = Vec::with_capacity(count);
    while drawn.len() < count && all > 0 {
        let mut order: Vec<usize> = (0..all).collect();
        order.shuffle(random);
        let left = count - drawn.len();
        for round in order.into_iter().take(left) {
            drawn.push(one(&places, all, round, random));
        }
    }
    drawn
}

/// Round of the circle: places whose numbers add up to twice the round's meet, and the one
/// that would meet itself meets the place outside the circle, if there is one.
fn one(places: &[usize], circle: usize, round: usize, random: &mut ChaCha8Rng) -> Round {
    let mut pairs: Round =
        (1..=circle / 2).map(|step| (places[(round + step) % circle], places[(round + circle - step) % circle])).collect();
    if places.len() > circle {
        pairs.push((places[round], places[circle]));
    }
    pairs.iter_mut().for_each(|pair| {
        if rand::RngExt::random::<bool>(random) {
            *pair = (pair.1, pair.0);
        }
    });
    pairs.shuffle(random);
    pairs
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::{USUAL_ROUNDS, all_rounds, rounds, tells_apart, usual_rounds};

    fn ordered((a, b): (usize, usize)) -> (usize, usize) {
        (a.min(b), a.max(b))
    }

    #[test]
    fn all_rounds_hold_each_pair_once() {
        for hosts in (2..40).chain([64, 65, 128, 1_000]) {
            let all: Vec<(usize, usize)> = rounds(hosts, all_rounds(hosts), 7).into_iter().flatten().map(ordered).collect();
            let different: BTreeSet<(usize, usize)> = all.iter().copied().collect();
            assert_eq!((all.len(), different.len()), (hosts * (hosts - 1) / 2, hosts * (hosts - 1) / 2), "{hosts} hosts");
        }
    }

    #[test]
    fn few_hosts_meet_again_and_many_do_not_meet_all() {
        assert_eq!([0, 1, 2, 3, 4, 5, 8, 9, 10, 1_000].map(usual_rounds), [0, 0, 8, 9, 9, 10, 14, 8, 8, 8]);
    }

    proptest! {
        #[test]
        fn nobody_is_in_two_pairs_of_a_round(hosts in 2usize..90, count in 1usize..40, seed: u64) {
            let drawn = rounds(hosts, count, seed);
            prop_assert_eq!(drawn.len(), count);
            for round in &drawn {
                let met: BTreeSet<usize> = round.iter().flat_map(|(a, b)| [*a, *b]).collect();
                prop_assert_eq!((met.len(), round.len()), (hosts / 2 * 2, hosts / 2));
                prop_assert!(met.iter().all(|host| *host < hosts));
            }
        }

        #[test]
        fn rounds_repeat_only_after_all(hosts in 2usize..30, passes in 1usize..4, seed: u64) {
            let mut met = BTreeMap::<(usize, usize), usize>::new();
            rounds(hosts, all_rounds(hosts) * passes, seed).into_iter().flatten().for_each(|pair| *met.entry(ordered(pair)).or_default() += 1);
            prop_assert!(met.len() == hosts * (hosts - 1) / 2 && met.values().all(|times| *times == passes));
        }

        #[test]
        fn the_usual_rounds_tell_hosts_apart(hosts in 3usize..200, seed: u64) {
            let usual = usual_rounds(hosts);
            prop_assert!(usual >= USUAL_ROUNDS && tells_apart(hosts, &rounds(hosts, usual, seed)));
        }
    }
}
