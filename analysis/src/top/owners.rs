//! Owners of softirqs that do not show theirs.

use std::collections::BTreeMap;

use super::share::share_out;
use super::tally::{Ownership, Party, Work};

/// Samples of one kind of work, of one owner.
#[derive(Debug, Clone, Copy)]
pub struct Owned {
    /// The work.
    pub work: Work,
    /// Its owner.
    pub owner: Party,
    /// Number of samples.
    pub samples: u64,
    /// True where the owner was not found in the samples.
    pub shared: bool,
}

/// The softirqs of a machine, by what they show of their owners: those that show little are shared out like the others.
#[derive(Debug, Clone, Default)]
pub struct Owners {
    by_cpu: BTreeMap<u32, OwnerCounts>,
}

/// The softirqs of a CPU that show something of their owners.
#[derive(Debug, Clone, Default)]
struct OwnerCounts {
    known: BTreeMap<Party, u64>,
    local: u64,
}

impl Owners {
    /// Those of all these samples.
    pub fn among<'a>(work: impl IntoIterator<Item = (&'a Work, &'a u64)>) -> Self {
        let mut owners = Self::default();
        for (one, samples) in work {
            let shown = owners.by_cpu.entry(one.cpu).or_default();
            match one.owner {
                Ownership::Known(owner) if one.softirq && owner != Party::Unowned => *shown.known.entry(owner).or_default() += samples,
                Ownership::Local => shown.local += samples,
                Ownership::Known(_) | Ownership::Steered | Ownership::Open => {}
            }
        }
        owners
    }

    /// Owners of samples of a CPU that do not show theirs, with weights. Where a packet is delivered, those of sockets
    /// alone; where it is handed to another CPU, those of the other CPUs; else packets are passed on and delivered as
    /// often as chains show.
    pub fn of(&self, cpu: u32, ownership: Ownership) -> Vec<(Party, u64)> {
        let here = || self.by_cpu.get(&cpu);
        let found = match ownership {
            Ownership::Known(owner) => vec![(owner, 1)],
            Ownership::Local => here().map(OwnerCounts::local_owners).unwrap_or_default(),
            Ownership::Open => here().map(OwnerCounts::owners).unwrap_or_default(),
            Ownership::Steered => {
                let mut others: BTreeMap<Party, u64> = BTreeMap::new();
                let there = self.by_cpu.iter().filter(|(other, _)| **other != cpu);
                for (owner, samples) in there.flat_map(|(_, shown)| shown.owners()) {
                    *others.entry(owner).or_default() += samples;
                }
                if others.is_empty() { here().map(OwnerCounts::owners).unwrap_or_default() } else { others.into_iter().collect() }
            }
        };
        if found.is_empty() { vec![(Party::Unowned, 1)] } else { found }
    }
}

impl OwnerCounts {
    fn local_owners(&self) -> Vec<(Party, u64)> {
        self.known.iter().filter(|(owner, _)| **owner != Party::Forwarded).map(|(owner, samples)| (*owner, *samples)).collect()
    }

    fn owners(&self) -> Vec<(Party, u64)> {
        let (mut all, local) = (self.known.clone(), self.local_owners());
        let local = if local.is_empty() && self.local > 0 { vec![(Party::Unowned, 1)] } else { local };
        for (owner, samples) in shares(self.local, &local).into_iter().filter(|(_, samples)| *samples > 0) {
            *all.entry(owner).or_default() += samples;
        }
        all.into_iter().collect()
    }
}

/// Parts of `whole` by owner, in proportion to the owners' weights.
pub fn shares(whole: u64, owners: &[(Party, u64)]) -> Vec<(Party, u64)> {
    let weights: Vec<u64> = owners.iter().map(|(_, weight)| *weight).collect();
    owners.iter().map(|(owner, _)| *owner).zip(share_out(whole, &weights)).collect()
}

#[cfg(test)]
mod tests {
    use attribution::{Category, Layer};

    use super::Owners;
    use crate::top::network::Origin;
    use crate::top::tally::{Ownership, Party, Work};

    #[test]
    fn packets_for_another_cpu_are_for_the_owners_there() {
        let unit = Party::Unit;
        let work = |cpu, owner| Work {
            cpu,
            ran_in: Party::Kernel,
            owner,
            origin: Origin::Other,
            softirq: true,
            layer: Layer::Netdev,
            category: Category::OperatingSystem,
        };
        // A flood that CPU 0 hands to CPU 1, next to little traffic of CPU 0's own.
        let seen = [
            (work(0, Ownership::Known(unit(1))), 5),
            (work(0, Ownership::Steered), 400),
            (work(1, Ownership::Known(unit(2))), 30),
            (work(1, Ownership::Known(Party::Forwarded)), 10),
            (work(1, Ownership::Local), 60),
        ];
        let owners = Owners::among(seen.iter().map(|(work, samples)| (work, samples)));
        assert_eq!(owners.of(0, Ownership::Open), [(unit(1), 5)]);
        let of_cpu_1 = [(unit(2), 90), (Party::Forwarded, 10)];
        assert_eq!(sorted(owners.of(0, Ownership::Steered)), sorted(of_cpu_1.to_vec()));
        // Where no other CPU shows an owner, those of its own are the nearest.
        assert_eq!(owners.of(1, Ownership::Steered), [(unit(1), 5)]);
        assert_eq!(Owners::among(seen[..2].iter().map(|(work, samples)| (work, samples))).of(0, Ownership::Steered), [(unit(1), 5)]);
        assert_eq!(Owners::default().of(0, Ownership::Steered), [(Party::Unowned, 1)]);
    }

    fn sorted(mut owners: Vec<(Party, u64)>) -> Vec<(Party, u64)> {
        owners.sort_unstable();
        owners
    }
}
