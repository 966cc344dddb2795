//! Which CPUs the ends of a trial are bound to, where its arm or its placement
//! says so.

use std::collections::BTreeMap;

use model::Role;
use model::condition::Placement;
use model::control::CpuPlace;
use model::warning::Warning;

use super::{Place, Session, cpus, index};
use crate::remote::HostError;

impl Session {
    /// Binds the ends of the trials to come to these CPUs, by their hosts' names;
    /// those of a host that is not named, to what the session chose.
    ///
    /// # Errors
    /// A CPU that its host does not offer.
    pub fn bind(&mut self, wanted: &BTreeMap<String, Vec<u32>>) -> Result<(), HostError> {
        if wanted.is_empty() && self.usual.is_none() {
            return Ok(());
        }
        let usual = self.usual.get_or_insert_with(|| self.places.clone()).clone();
        self.places = usual;
        if wanted.is_empty() {
            return Ok(());
        }
        for ((host, place), offered) in self.hosts.iter().zip(&mut self.places).zip(&self.offered) {
            let refused = |error| HostError::Refused { name: host.name().to_owned(), error };
            if let Some(list) = wanted.get(host.name()) {
                place.cpus = cpus::chosen(offered.clone(), Some(list)).map_err(refused)?;
            }
        }
        if self.is_one_machine() {
            self.part();
        }
        self.reckon_interrupts();
        Ok(())
    }

    /// Gives the ends of the trials to come the CPUs of a placement. What is
    /// returned is what they had, for [`Self::rearrange`].
    ///
    /// # Errors
    /// CPUs that the hosts do not have.
    pub fn arrange(&mut self, placement: Placement, swapped: bool) -> Result<[Place; 2], HostError> {
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
                if one_machine && cpus::overlap(&own(self)) {
                    let shares = cpus::share(self.offered.clone(), true);
                    if cpus::overlap(&shares) {
                        let reason = "the hosts offer one CPU; give nettoll two that it may choose from (cpuset, taskset), or leave it out";
                        return Err(self.not_placed(placement, 0, reason));
                    }
                    self.places.iter_mut().zip(shares).for_each(|(place, share)| place.cpus = share);
                }
            }
        }
        self.reckon_interrupts();
        Ok(before)
    }

    fn not_placed(&self, placement: Placement, host: usize, reason: &str) -> HostError {
        HostError::Refused { name: self.hosts[host].name().to_owned(), error: format!("placement {placement}: {reason}") }
    }

    /// Gives the ends back what [`Self::arrange`] returned.
    pub fn rearrange(&mut self, before: [Place; 2]) {
        self.places = before;
    }

    /// The interrupt time of a CPU that both ends share is neither's.
    fn reckon_interrupts(&mut self) {
        let shared = self.is_one_machine() && cpus::overlap(&self.places.each_ref().map(|place| place.cpus.clone()));
        for (place, facts) in self.places.iter_mut().zip(&self.facts) {
            place.irq_time_subtracted = facts.irq_time_subtracted == Some(true) && !shared;
        }
    }

    /// Of a CPU that both ends share, no kernel thread and no interrupt time is
    /// one end's alone.
    fn part(&mut self) {
        let [Place { cpus: a, .. }, Place { cpus: b, .. }] = &mut self.places;
        if !cpus::overlap(&[a.clone(), b.clone()]) {
            return;
        }
        let numbers = |places: &[CpuPlace]| places.iter().map(|place| place.cpu).collect::<Vec<_>>();
        let (of_a, of_b) = (numbers(a), numbers(b));
        a.iter_mut().filter(|place| of_b.contains(&place.cpu)).for_each(|place| place.ksoftirqd = None);
        b.iter_mut().filter(|place| of_a.contains(&place.cpu)).for_each(|place| place.ksoftirqd = None);
        self.inherit(vec![Warning::OneCpu]);
    }
}
