//! The price of a sample, measured on the program itself.
//!
//! The probe's loop is small. A program whose data fills the caches pays for each interrupt again
//! afterwards: a sample that took 10 µs of the loop took 40 µs of Redis on the same virtual machine.

use std::sync::atomic::Ordering;

use model::Nanos;
use model::attach::{Attachment, Look};

use super::window::{self, Instruments};

/// Length of a window, and pairs of one without samples and one with.
const WINDOW: Nanos = Nanos::from_millis(100);
const PAIRS: u32 = 10;
/// The shortest observation that they come before: together they take 2 s.
pub const SHORTEST: Nanos = Nanos::from_millis(8_000);

/// Time that a sample takes from the program: by how much its CPU time for a request rises, all windows
/// together. `None` where it answers nothing meanwhile, or ends.
pub fn of_sample(instruments: &mut Instruments, run: &Attachment) -> Option<Nanos> {
    let trial = Attachment { window: WINDOW, ..run.clone() };
    let (mut without, mut with) = (Spent::default(), Spent::default());
    for pair in 0..PAIRS {
        let order = if pair % 2 == 0 { [Look::Clean, Look::Time] } else { [Look::Time, Look::Clean] };
        for look in order {
            if instruments.stop.load(Ordering::Relaxed) {
                return None;
            }
            let record = window::observe(instruments, &trial, pair, look)?;
            let spent = if look == Look::Time { &mut with } else { &mut without };
            spent.cpu += record.clocks.cpu.get() as f64;
            spent.requests += record.requests? as f64;
        }
    }
    price([without, with], run.period)
}

/// CPU time in ns, and the requests that it was for.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    cpu: f64,
    requests: f64,
}

/// What a sample cost, where `period` ns of CPU time lay between two of them.
fn price([without, with]: [Spent; 2], period: u64) -> Option<Nanos> {
    let [clean, sampled] = [without, with].map(|spent| spent.cpu / spent.requests);
    let share = (sampled - clean) / sampled;
    share.is_finite().then(|| Nanos::new((share.max(0.0) * period as f64) as u64))
}

#[cfg(test)]
mod tests {
    use model::Nanos;

    use super::{Spent, price};

    #[test]
    fn a_price_is_what_requests_cost_more() {
        let spent = |cpu, requests| Spent { cpu, requests };
        // 1,000 ns without, 1,250 with: a fifth of 100 us.
        assert_eq!(price([spent(1e6, 1e3), spent(2.5e6, 2e3)], 100_000), Some(Nanos::new(20_000)));
        assert_eq!(price([spent(1e6, 1e3), spent(0.9e6, 1e3)], 100_000), Some(Nanos::new(0)));
        assert_eq!(price([spent(1e6, 0.0), spent(1e6, 1e3)], 100_000), None);
        assert_eq!(price([spent(0.0, 0.0), spent(0.0, 0.0)], 100_000), None);
    }
}
