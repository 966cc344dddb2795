//! Which host sent to which, without what was measured.

use std::collections::BTreeMap;

/// The trials of a fleet: sender and receiver of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Design {
    pub(super) trials: Vec<[usize; 2]>,
    /// Trials of each host as sender, and as receiver.
    pub(super) by_role: [Groups; 2],
    /// Pairs that met, the host of the lower number first.
    pub(super) links: Vec<[usize; 2]>,
    /// Trials of each link: from the lower number to the higher, and back.
    pub(super) by_way: [Groups; 2],
}

/// Trials in groups, by their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Groups {
    /// Begin of each group, and the end of the last.
    begins: Vec<usize>,
    members: Vec<usize>,
}

impl Groups {
    /// Groups of items by their group's number.
    fn new(groups: usize, of: impl Iterator<Item = (usize, usize)> + Clone) -> Self {
        let mut begins = vec![0; groups + 1];
        of.clone().for_each(|(group, _)| begins[group + 1] += 1);
        for at in 0..groups {
            begins[at + 1] += begins[at];
        }
        let (mut next, mut members) = (begins.clone(), vec![0; begins[groups]]);
        for (group, item) in of {
            members[next[group]] = item;
            next[group] += 1;
        }
        Self { begins, members }
    }

    /// Members of a group.
    pub fn of(&self, group: usize) -> &[usize] {
        &self.members[self.begins[group]..self.begins[group + 1]]
    }

    /// Every group.
    pub fn all(&self) -> impl Iterator<Item = &[usize]> {
        self.begins.windows(2).map(|ends| &self.members[ends[0]..ends[1]])
    }
}

impl Design {
    /// Trials among hosts 0 to `hosts - 1`, as sender and receiver; `None` where one is not
    /// between two of them.
    pub fn new(hosts: usize, trials: impl IntoIterator<Item = (usize, usize)>) -> Option<Self> {
        let trials: Vec<[usize; 2]> = trials.into_iter().map(|(sender, receiver)| [sender, receiver]).collect();
        if trials.iter().any(|[sender, receiver]| sender == receiver || (*sender).max(*receiver) >= hosts) {
            return None;
        }
        let by = |role: usize| Groups::new(hosts, trials.iter().enumerate().map(move |(at, ends)| (ends[role], at)));
        let by_role = [by(0), by(1)];
        let mut numbers: BTreeMap<[usize; 2], usize> = trials.iter().map(|ends| (sorted(*ends), 0)).collect();
        numbers.values_mut().enumerate().for_each(|(number, place)| *place = number);
        let way = |back: bool| {
            let of_way = trials.iter().enumerate().filter(move |(_, ends)| (ends[0] > ends[1]) == back);
            Groups::new(numbers.len(), of_way.map(|(at, ends)| (numbers[&sorted(*ends)], at)))
        };
        let by_way = [way(false), way(true)];
        Some(Self { by_role, by_way, links: numbers.into_keys().collect(), trials })
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.by_role[0].begins.len() - 1
    }

    /// Sender and receiver of each trial.
    pub fn trials(&self) -> &[[usize; 2]] {
        &self.trials
    }

    /// Returns whether every two hosts can be compared, as senders and as receivers: senders and
    /// receivers, joined by trials, make one piece. Two rounds never do, for the pairs of two
    /// rounds make rings of even length, in which the hosts of every other place could all
    /// be slower without a trace.
    pub fn tells_hosts_apart(&self) -> bool {
        let hosts = self.hosts();
        let mut roots: Vec<usize> = (0..2 * hosts).collect();
        for [sender, receiver] in &self.trials {
            let (a, b) = (root(&mut roots, *sender), root(&mut roots, hosts + *receiver));
            roots[a] = b;
        }
        let mut met = (0..hosts).filter(|host| !self.by_role[0].of(*host).is_empty());
        let mut received = (0..hosts).filter(|host| !self.by_role[1].of(*host).is_empty()).map(|host| hosts + host);
        let Some(first) = met.next().map(|host| root(&mut roots, host)) else { return false };
        hosts > 2 && met.all(|host| root(&mut roots, host) == first) && received.all(|host| root(&mut roots, host) == first)
    }
}

fn sorted([a, b]: [usize; 2]) -> [usize; 2] {
    [a.min(b), a.max(b)]
}

/// The representative of a piece.
fn root(roots: &mut [usize], mut at: usize) -> usize {
    while roots[at] != at {
        roots[at] = roots[roots[at]];
        at = roots[at];
    }
    at
}

#[cfg(test)]
mod tests {
    use super::Design;

    fn both_ways(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
        pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect()
    }

    #[test]
    fn rings_of_even_length_do_not_tell_hosts_apart_and_those_of_odd_length_do() {
        let ring = |hosts: usize| Design::new(hosts, both_ways(&(0..hosts).map(|at| (at, (at + 1) % hosts)).collect::<Vec<_>>())).unwrap();
        assert!([3, 5, 9].iter().all(|hosts| ring(*hosts).tells_hosts_apart()));
        assert!([4, 6, 8].iter().all(|hosts| !ring(*hosts).tells_hosts_apart()));
        assert!(!Design::new(2, both_ways(&[(0, 1)])).unwrap().tells_hosts_apart());
    }

    #[test]
    fn trials_are_found_by_role_and_by_way() {
        let design = Design::new(4, [(0, 1), (1, 0), (2, 1), (0, 1)]).unwrap();
        assert_eq!((design.by_role[0].of(0), design.by_role[1].of(1), design.by_role[0].of(3)), (&[0, 3][..], &[0, 2, 3][..], &[][..]));
        assert_eq!((&design.links[..], design.by_way[0].of(0), design.by_way[1].of(1)), (&[[0, 1], [1, 2]][..], &[0, 3][..], &[2][..]));
        assert_eq!((design.hosts(), design.by_way[0].all().count()), (4, 2));
        assert!(Design::new(2, [(0, 2)]).is_none() && Design::new(2, [(1, 1)]).is_none());
    }
}
