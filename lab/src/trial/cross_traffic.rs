//! Other traffic next to a trial: pairs of other hosts on the link, and bulk flows
//! between the trial's own. Begun before the trial's messages flow, ended after.

use std::net::SocketAddr;
use std::thread;

use model::condition::{BackgroundRequest, ObservedConditions, Traffic};
use model::plan::LinkKind;
use model::warning::Warning;
use model::{Bytes, Cell, Nanos, Role};

use crate::remote::HostError;
use crate::session::{Pair, Session};

/// A message of a pair, as in 1984.
const PAIR_MESSAGE: Bytes = Bytes::new(1_024);
/// Bytes that a pair may have in flight: enough to keep a wire busy, little enough that
/// a queue which all share stays short.
const PAIR_SNDBUF: Bytes = Bytes::new(32 << 10);
/// A message of a bulk flow.
const BULK_MESSAGE: Bytes = Bytes::new(64 << 10);

/// Bytes that a pair, or a bulk flow, may have before a frame in the queues of a link:
/// of a pair twice its send buffer, as the kernel grants it.
const BEFORE: Bytes = Bytes::new(128 << 10);
/// Additional time that a thread may wait for a CPU that others use as well.
const CPU_WAIT: Nanos = Nanos::from_millis(100);

/// Returns how much longer a message may be in flight for what else the link carries.
pub fn longest_wait(link: &LinkKind, cell: &Cell) -> Nanos {
    let hosts = cell.conditions.most_hosts().saturating_sub(1);
    let others = u64::from(cell.conditions.link_load.pairs + cell.conditions.bulk + hosts);
    if others == 0 {
        return Nanos::default();
    }
    // There and back.
    let bits = 2 * 8 * BEFORE.get() * others;
    CPU_WAIT + link.rate().map_or(Nanos::default(), |rate| Nanos::new(bits.saturating_mul(1_000_000_000) / rate.get().max(1)))
}

/// Has the link carry what the cell's conditions say, next to the trial to come.
///
/// # Errors
/// See [`HostError`]. What flows then is to be ended by [`stop`].
pub fn begin(session: &mut Session, cell: &Cell, swapped: bool) -> Result<Option<Warning>, HostError> {
    let load = cell.conditions.link_load;
    let ends = cpus_of_ends(session, cell, swapped);
    for pair in session.pairs().iter_mut().take(load.pairs as usize) {
        pair.begin(swapped, ends.clone(), |to, device| Traffic {
            to,
            flows: 1,
            size: PAIR_MESSAGE,
            rate: load.rate,
            sndbuf: Some(PAIR_SNDBUF),
            device: Some(device),
            avoid: ends.clone(),
        })?;
    }
    if cell.conditions.bulk > 0 {
        begin_bulk(session, cell, swapped, ends)?;
    }
    let cpus = thread::available_parallelism().map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX));
    Ok((load.pairs > cpus).then_some(Warning::Crowded { pairs: load.pairs, cpus }))
}

fn cpus_of_ends(session: &Session, cell: &Cell, swapped: bool) -> Vec<u32> {
    let places = [Role::Sender, Role::Receiver].map(|role| session.place(role, swapped));
    places.into_iter().flat_map(|place| place.cpus(cell.flows)).map(|place| place.cpu).collect()
}

fn begin_bulk(session: &mut Session, cell: &Cell, swapped: bool, avoid: Vec<u32>) -> Result<(), HostError> {
    let at = session.place(Role::Receiver, swapped).address(cell.family);
    let (sender, receiver, flows) = session.bulk(swapped);
    let at = at.ok_or_else(|| receiver.endpoint_error(format!("it has no address of {} for bulk flows", cell.family)))?;
    let traffic = |port| Traffic {
        to: SocketAddr::new(at.ip(), port),
        flows: cell.conditions.bulk,
        size: BULK_MESSAGE,
        rate: None,
        sndbuf: None,
        device: None,
        avoid: avoid.clone(),
    };
    flows.begin(sender, receiver, BackgroundRequest::Sink { at, device: None, avoid: avoid.clone() }, traffic)
}

/// Ends all of it, and says what it was.
///
/// # Errors
/// See [`HostError`].
pub fn end(session: &mut Session, swapped: bool) -> Result<ObservedConditions, HostError> {
    session.pairs().iter_mut().try_for_each(Pair::stop)?;
    let (sender, receiver, flows) = session.bulk(swapped);
    flows.stop(sender, receiver)?;
    let mut taken = ObservedConditions::default();
    for pair in session.pairs() {
        taken.pairs.extend(pair.heard()?);
    }
    let (sender, receiver, flows) = session.bulk(swapped);
    taken.bulk = flows.heard(sender, receiver)?;
    Ok(taken)
}

/// Ends the traffic that a failed trial has left flowing.
///
/// # Errors
/// The first of them, if any; the rest is ended all the same.
pub fn stop(session: &mut Session, swapped: bool) -> Result<(), HostError> {
    let mut stopped = Ok(());
    for pair in session.pairs() {
        stopped = stopped.and(pair.stop()).and(pair.heard().map(drop));
    }
    let (sender, receiver, flows) = session.bulk(swapped);
    stopped.and(flows.stop(sender, receiver)).and(flows.heard(sender, receiver).map(drop))
}

#[cfg(test)]
mod tests {
    use model::condition::LinkLoad;
    use model::{Bytes, Cell, Nanos, Test};

    use super::longest_wait;

    #[test]
    fn an_idle_link_is_not_waited_for_and_a_slow_one_longer_with_each_pair() {
        let (slow, fast) = ("switch 10M".parse().unwrap(), "switch".parse().unwrap());
        let mut cell = Cell::plain(Test::UdpRr, Bytes::new(1));
        assert_eq!(longest_wait(&slow, &cell), Nanos::default());
        cell.conditions.link_load = LinkLoad { pairs: 1, rate: None };
        let one = longest_wait(&slow, &cell);
        cell.conditions.bulk = 2;
        // 128 KiB each, there and back, at 1.25 MB/s.
        assert_eq!((one, longest_wait(&slow, &cell)), (Nanos::new(309_715_200), Nanos::new(729_145_600)));
        assert_eq!(longest_wait(&fast, &cell), Nanos::from_millis(100));
    }
}
