//! The CPUs and kernel threads that a host offers, which are all that a
//! controller may name.
//!
//! A host may run as root, and its controller on another machine: by the number of a
//! thread or CPU it could otherwise have any process of this machine sampled.

use model::control::CpuPlace;

use crate::host::cpu;
use crate::refusal::Refusal;

/// The CPUs that a host offered its controller.
#[derive(Debug, Default)]
pub struct Offer(Option<Vec<CpuPlace>>);

impl Offer {
    /// Reads again what this host offers, the best CPU first.
    pub fn renew(&mut self) -> &[CpuPlace] {
        self.0.insert(cpu::offered())
    }

    /// Refuses CPUs that are not offered, and threads as [`Self::check_threads`] does.
    ///
    /// # Errors
    /// The first such CPU or thread.
    pub fn check(&mut self, places: &[CpuPlace]) -> Result<(), Refusal> {
        let offered = self.0.get_or_insert_with(cpu::offered);
        if let Some(place) = places.iter().find(|place| offered.iter().all(|known| known.cpu != place.cpu)) {
            return Err(Refusal::new(format!("watch CPU {}", place.cpu), "this host does not offer it", "a fault of the controller"));
        }
        self.check_threads(places.iter().filter_map(|place| place.ksoftirqd))
    }

    /// Refuses threads that are no `ksoftirqd` of an offered CPU, and repeated ones.
    ///
    /// # Errors
    /// The first such thread.
    pub fn check_threads(&mut self, threads: impl IntoIterator<Item = u32>) -> Result<(), Refusal> {
        let offered = self.0.get_or_insert_with(cpu::offered);
        let mut left: Vec<u32> = offered.iter().filter_map(|place| place.ksoftirqd).collect();
        threads.into_iter().try_for_each(|thread| {
            let at = left.iter().position(|known| *known == thread).ok_or_else(|| {
                let answer = "it is no ksoftirqd of a CPU that this host offers, or it is named twice";
                Refusal::new(format!("watch thread {thread}"), answer, "a fault of the controller")
            })?;
            left.swap_remove(at);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use model::control::CpuPlace;

    use super::Offer;

    #[test]
    fn only_ksoftirqd_of_offered_cpus_are_watched_and_each_once() {
        let place = |cpu, ksoftirqd| CpuPlace { cpu, ksoftirqd };
        let mut offer = Offer(Some(vec![place(0, Some(15)), place(1, None), place(2, Some(30))]));
        assert!(offer.check_threads([30, 15]).is_ok() && offer.check_threads([]).is_ok());
        for threads in [&[15, 16][..], &[15, 30, 15], &[u32::MAX]] {
            assert!(offer.check_threads(threads.iter().copied()).is_err(), "{threads:?}");
        }
        assert!(offer.check(&[place(2, Some(30)), place(1, None)]).is_ok());
        for places in [[place(3, None)], [place(0, Some(16))]] {
            assert!(offer.check(&places).is_err(), "{places:?}");
        }
    }
}
