//! Known costs that a proof puts into a host, and their calibration there.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::thread;

use engine::injection::{calibrate, classifier, time_of};
use model::Nanos;
use model::control::{Injection, Task};
use profile::system::bind_this_thread;

use super::entered::Entered;
use super::{link, nftables};
use crate::refusal::{Refusal, refused};

/// The known cost of a host, if it has one.
#[derive(Debug, Default)]
pub(crate) struct Injector {
    current: Option<(Injection, String)>,
}

impl Injector {
    /// Puts a cost into the trials to come, in the place of the one before. `device` is the link's.
    ///
    /// # Errors
    /// One that is too large, or of a network that is not nettoll's own; the system's answer.
    pub fn set(&mut self, entered: &Entered, injection: Option<Injection>, device: String) -> Result<(), Refusal> {
        match self.current.clone() {
            Some((Injection::Classifier(_), device)) => link::classify(entered, &device, None)?,
            Some((Injection::Rules(_), _)) => nftables::set_rules(entered, 0)?,
            _ => {}
        }
        self.current = None;
        let Some(injection) = injection else { return Ok(()) };
        check(injection)?;
        match injection {
            Injection::Classifier(instructions) => link::classify(entered, &device, Some(&classifier(instructions)))?,
            Injection::Rules(rules) => nftables::set_rules(entered, rules)?,
            // The endpoint's own.
            Injection::Work(_) | Injection::Copy(_) | Injection::Filter(_) => {}
        }
        self.current = Some((injection, device));
        Ok(())
    }

    /// Gives a task what its endpoint bears itself, whatever its sender put there.
    pub fn prepare(&self, task: &mut Task) {
        task.injection = self.current.as_ref().map(|(injection, _)| *injection);
        if let Some(Injection::Work(work)) = task.injection {
            task.cell.work = work;
        }
    }
}

/// Refuses a cost that is too large.
fn check(injection: Injection) -> Result<(), Refusal> {
    let refusal = || Refusal::new("putting a known cost into a trial", "it is too large", "a fault of the controller");
    if injection.is_bounded() { Ok(()) } else { Err(refusal()) }
}

/// Measures what a cost takes on a CPU.
///
/// # Errors
/// As [`Injector::set`].
pub(crate) fn cost(entered: &Entered, injection: Injection, cpu: u32) -> Result<Nanos, Refusal> {
    check(injection)?;
    let measure = || {
        let remedy = "see `nettoll doctor`";
        bind_this_thread(cpu).map_err(refused(format!("bind a thread to CPU {cpu}"), remedy))?;
        match injection {
            Injection::Rules(rules) => rules_cost(entered, rules),
            own => Ok(calibrate(own).map_err(refused("measure a known cost", remedy))?.unwrap_or_default()),
        }
    };
    // On a thread of its own: its CPU and a filter stay with it.
    let measured = thread::scope(|scope| scope.spawn(measure).join());
    measured.unwrap_or_else(|_| Err(Refusal::new("measure a known cost", "the thread ended early", "")))
}

/// Time that a datagram over loopback takes longer with so many rules in its way.
fn rules_cost(entered: &Entered, rules: u32) -> Result<Nanos, Refusal> {
    let sockets = || {
        let [sink, socket] = [UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?, UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?];
        socket.connect(sink.local_addr()?)?;
        Ok([sink, socket])
    };
    let [_sink, socket] = sockets()
        .map_err(|answer: io::Error| Refusal::new("open sockets over loopback", answer, "run again; if it repeats, raise `ulimit -n`"))?;
    // Nothing takes them: they are dropped behind the rules, soon all of them.
    let send = || _ = socket.send(&[0; 64]);
    time_of(send);
    let least = time_of(send);
    nftables::set_rules(entered, rules)?;
    let most = time_of(send);
    nftables::set_rules(entered, 0)?;
    Ok(Nanos::new((most - least).max(0.0) as u64))
}

#[cfg(test)]
mod tests {
    use model::control::Injection;

    use super::{Injector, cost};
    use crate::host::link::LOOPBACK;
    use crate::host::namespace::{Isolation, enter};

    #[test]
    fn the_network_of_the_machine_is_not_touched() {
        let entered = enter(Isolation::None).unwrap();
        for injection in [Injection::Classifier(1), Injection::Rules(1)] {
            let refused = Injector::default().set(&entered, Some(injection), LOOPBACK.to_owned()).unwrap_err().to_string();
            assert!(refused.contains("is not isolated"), "{refused}");
        }
        assert!(cost(&entered, Injection::Rules(1), 0).unwrap_err().to_string().contains("is not isolated"));
        let large = Injection::Copy(Injection::MOST_BYTES + 1);
        assert!(Injector::default().set(&entered, Some(large), String::new()).unwrap_err().to_string().contains("too large"));
    }
}
