//! The CPUs that the two ends are bound to, of those that the hosts offer: by the
//! session's own choice, or as the arm or the placement of a trial says.

use std::collections::BTreeMap;

use model::Role;
use model::condition::Placement;
use model::control::CpuPlace;
use model::warning::Warning;

use super::{EndCpus, Session, index};
use crate::remote::HostError;

/// The CPUs of each end, the best first; none of them empty where the hosts
/// offer any. Two machines give all that they offer. Of one machine the ends
/// take turns, so that each has CPUs of its own where there are enough.
pub fn share(offered: [Vec<CpuPlace>; 2], one_machine: bool) -> [Vec<CpuPlace>; 2] {
    if !one_machine {
        return offered;
    }
    let mut shares = [Vec::new(), Vec::new()];
    // Whoever has less to choose from chooses first.
    let first = usize::from(offered[1].len() < offered[0].len());
    let mut taken: Vec<u32> = Vec::new();
    let mut left = true;
    while left {
        left = false;
        for at in [first, 1 - first] {
            if let Some(place) = offered[at].iter().find(|place| !taken.contains(&place.cpu)) {
                taken.push(place.cpu);
                shares[at].push(*place);
                left = true;
            }
        }
    }
    for (share, offered) in shares.iter_mut().zip(&offered) {
        if share.is_empty() {
            share.extend(offered.first());
        }
    }
    let [a, b] = &mut shares;
    // Of a CPU that both ends share, no kernel thread is one end's alone.
    for place in a.iter_mut() {
        if let Some(same) = b.iter_mut().find(|same| same.cpu == place.cpu) {
            (place.ksoftirqd, same.ksoftirqd) = (None, None);
        }
    }
    shares
}

/// Those of the CPUs that a host offers which the plan names, in its order; all
/// of them where it names none.
///
/// # Errors
/// A CPU that the host does not offer, in words.
pub fn chosen(offered: Vec<CpuPlace>, wish: Option<&Vec<u32>>) -> Result<Vec<CpuPlace>, String> {
    let Some(wish) = wish else { return Ok(offered) };
    let find = |cpu: &u32| {
        offered.iter().find(|place| place.cpu == *cpu).copied().ok_or_else(|| {
            let all: Vec<String> = offered.iter().map(|place| place.cpu.to_string()).collect();
            format!("bind to CPU {cpu}: it offers {} (its cpuset); name one of them", all.join(", "))
        })
    };
    wish.iter().map(find).collect()
}

/// Returns whether the two ends have a CPU in common.
pub fn overlap([a, b]: &[Vec<CpuPlace>; 2]) -> bool {
    a.iter().any(|place| b.iter().any(|other| other.cpu == place.cpu))
}

impl Session {
    /// Binds the ends of the trials to come to these CPUs, by their hosts' names;
    /// those of a host that is not named, to what the session chose.
    ///
    /// # Errors
    /// A CPU that its host does not offer.
    pub fn bind(&mut self, wanted: &BTreeMap<String, Vec<u32>>) -> Result<(), HostError> {
        self.crowd.iter_mut().try_for_each(|crowd| crowd.bind(wanted))?;
        if wanted.is_empty() && self.usual.is_none() {
            return Ok(());
        }
        let usual = self.usual.get_or_insert_with(|| self.places.clone()).clone();
        self.places = usual;
        if wanted.is_empty() {
            return Ok(());
        }
        for (((host, place), offered), ends) in self.hosts.iter().zip(&mut self.places).zip(&self.offered).zip(self.ends_before) {
            if let Some(list) = wanted.get(host.name()) {
                place.cpus = chosen(offered.clone(), Some(list)).map_err(|error| host.refused(error))?;
                place.pass_over(ends);
            }
        }
        if self.is_one_machine() {
            self.part();
        }
        self.share_interrupts();
        Ok(())
    }

    /// Gives the ends of the trials to come the CPUs of a placement. What is
    /// returned is what they had, for [`Self::rearrange`].
    ///
    /// # Errors
    /// CPUs that the hosts do not have.
    pub fn arrange(&mut self, placement: Placement, swapped: bool) -> Result<[EndCpus; 2], HostError> {
        let before = self.places.clone();
        let one_machine = self.is_one_machine();
        match placement {
            Placement::Usual | Placement::SoftirqAtSender | Placement::SoftirqAtReceiver => {}
            Placement::SameCore => {
                let receiver = index(Role::Receiver, swapped);
                let cpu = self.place(Role::Sender, swapped).cpus.first().map(|place| place.cpu);
                let offered = |cpu: &u32| one_machine && self.offered[receiver].iter().any(|place| place.cpu == *cpu);
                let cpu = cpu.filter(offered).ok_or_else(|| {
                    let reason = "the hosts are two machines, or have no CPU in common; leave it out, or study one machine";
                    self.not_placed(placement, receiver, reason)
                })?;
                // Of a CPU that both ends share, no kernel thread is one end's alone.
                self.places.iter_mut().for_each(|place| place.cpus = vec![CpuPlace { cpu, ksoftirqd: None }]);
            }
            Placement::OtherCore => {
                let own = |session: &Self| session.places.each_ref().map(|place| place.cpus.clone());
                if one_machine && overlap(&own(self)) {
                    let shares = share(self.offered.clone(), true);
                    if overlap(&shares) {
                        let reason = "the hosts offer one CPU; give nettoll two that it may choose from (cpuset, taskset), or leave it out";
                        return Err(self.not_placed(placement, 0, reason));
                    }
                    self.places.iter_mut().zip(shares).for_each(|(place, share)| place.cpus = share);
                }
            }
        }
        self.share_interrupts();
        Ok(before)
    }

    fn not_placed(&self, placement: Placement, host: usize, reason: &str) -> HostError {
        self.hosts[host].refused(format!("placement {placement}: {reason}"))
    }

    /// Gives the ends back what [`Self::arrange`] returned.
    pub fn rearrange(&mut self, before: [EndCpus; 2]) {
        self.places = before;
    }

    /// Gives each end the interrupt time of its CPUs; that of a CPU of both belongs to neither.
    pub(super) fn share_interrupts(&mut self) {
        let shared = self.is_one_machine() && overlap(&self.places.each_ref().map(|place| place.cpus.clone()));
        for (place, facts) in self.places.iter_mut().zip(&self.facts) {
            place.irq_time_subtracted = facts.irq_time_subtracted == Some(true) && !shared;
        }
    }

    /// Takes the kernel threads of a CPU that both ends share from both.
    fn part(&mut self) {
        let [EndCpus { cpus: a, .. }, EndCpus { cpus: b, .. }] = &mut self.places;
        if !overlap(&[a.clone(), b.clone()]) {
            return;
        }
        let numbers = |places: &[CpuPlace]| places.iter().map(|place| place.cpu).collect::<Vec<_>>();
        let (of_a, of_b) = (numbers(a), numbers(b));
        a.iter_mut().filter(|place| of_b.contains(&place.cpu)).for_each(|place| place.ksoftirqd = None);
        b.iter_mut().filter(|place| of_a.contains(&place.cpu)).for_each(|place| place.ksoftirqd = None);
        self.inherit(vec![Warning::OneCpu]);
    }
}

#[cfg(test)]
mod tests {
    use model::control::CpuPlace;
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    use super::{chosen, overlap, share};

    fn offer(cpus: &[u32]) -> Vec<CpuPlace> {
        cpus.iter().map(|cpu| CpuPlace { cpu: *cpu, ksoftirqd: Some(100 + cpu) }).collect()
    }

    fn shared(a: &[u32], b: &[u32]) -> [Vec<u32>; 2] {
        share([offer(a), offer(b)], true).map(|share| share.iter().map(|place| place.cpu).collect())
    }

    #[test]
    fn a_wish_is_kept_or_refused() {
        assert_eq!(chosen(offer(&[2, 0, 1]), Some(&vec![1, 2])), Ok(offer(&[1, 2])));
        assert_eq!(chosen(offer(&[2, 0]), None), Ok(offer(&[2, 0])));
        assert!(chosen(offer(&[2, 0]), Some(&vec![7])).unwrap_err().contains("CPU 7: it offers 2, 0"));
    }

    #[test]
    fn the_ends_take_turns() {
        assert_eq!(shared(&[2, 3, 1, 0], &[2, 3, 1, 0]), [vec![2, 1], vec![3, 0]]);
        assert_eq!(shared(&[0, 1, 2], &[0, 1, 2]), [vec![0, 2], vec![1]]);
        assert_eq!(shared(&[0, 1], &[0]), [vec![1], vec![0]]);
        assert_eq!(shared(&[0, 1], &[4, 5]), [vec![0, 1], vec![4, 5]]);
    }

    #[test]
    fn the_only_cpu_is_everybodys() {
        let shares = share([offer(&[5]), offer(&[5])], true);
        assert_eq!(shares, [vec![CpuPlace { cpu: 5, ksoftirqd: None }], vec![CpuPlace { cpu: 5, ksoftirqd: None }]]);
        assert!(overlap(&shares));
        assert!(!overlap(&share([offer(&[0, 1]), offer(&[0, 1])], true)));
    }

    #[test]
    fn two_machines_count_their_cpus_apart() {
        assert_eq!(share([offer(&[0]), offer(&[0])], false), [offer(&[0]), offer(&[0])]);
    }

    proptest! {
        #[test]
        fn no_cpu_is_given_twice_unless_it_is_the_only_one(
            a in prop::collection::vec(0_u32..20, 1..10),
            b in prop::collection::vec(0_u32..20, 1..10),
            one in any::<bool>(),
        ) {
            let shares = share([offer(&a), offer(&b)], one);
            prop_assert!(shares.iter().all(|share| !share.is_empty()));
            let distinct = a.iter().chain(&b).collect::<std::collections::HashSet<_>>().len();
            prop_assert!(!one || !overlap(&shares) || distinct == 1 || shares.iter().any(|share| share.len() == 1));
            prop_assert_eq!(one || shares == [offer(&a), offer(&b)], true);
        }
    }
}
