//! A sender that waits for room in its send buffer.

use model::Protocol;
use model::attach::Way;
use model::replay::Replay;

use super::percent;
use crate::advised::{Advice, Measure, Now, Observed, Rule};

/// Share of the time spent sending.
const LEAST: f64 = 0.2;

/// Fires where connections were held back by their send buffers.
pub fn advise(observed: &Observed) -> Option<Advice> {
    let (busy, limited) = observed.sending;
    let share = limited as f64 / busy.max(1) as f64;
    let buffer = observed.buffers[1].filter(|bytes| *bytes > 0)?;
    if busy == 0 || share < LEAST {
        return None;
    }
    let given = observed.calls.iter().filter(|one| one.way == Way::Out && one.protocol == "tcp");
    let busiest = given.max_by(|a, b| (a.per_second * a.mean).total_cmp(&(b.per_second * b.mean)))?;
    let piece = (busiest.mean as u64).clamp(1, 1 << 20);
    // As many pieces as fill the buffer eight times.
    let pieces = (8 * u64::from(buffer) / piece).clamp(1, 256) as usize;
    let replay = Replay { send_buffer: Some(buffer), ..observed.bound(Replay::new(Protocol::Tcp, 1, vec![piece; pieces])) };
    Some(Advice {
        rule: Rule::SendBuffer,
        change: "Leave SO_SNDBUF to the kernel, which grows it, or ask for the bandwidth times the delay of the path.".to_owned(),
        evidence: vec![format!(
            "Connections waited for room in their send buffers for {} of the time that they were sending; the busiest one has {buffer} B.",
            percent(share)
        )],
        measure: Measure::Time,
        now: Now::Observed(1e9 * f64::from(observed.clients()) / busiest.per_second.max(1e-3)),
        replays: [replay.clone(), Replay { send_buffer: None, ..replay }],
    })
}
