//! Which CPUs the ends of a trial are bound to, where its arm says so.

use std::collections::BTreeMap;

use model::control::CpuPlace;
use model::warning::Warning;

use super::{Place, Session, cpus};
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
        let shared = self.is_one_machine() && cpus::overlap(&self.places.each_ref().map(|place| place.cpus.clone()));
        for (place, facts) in self.places.iter_mut().zip(&self.facts) {
            place.irq_time_subtracted = facts.irq_time_subtracted == Some(true) && !shared;
        }
        Ok(())
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
