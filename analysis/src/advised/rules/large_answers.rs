//! Large answers that are written from the program's own memory.

use model::Protocol;
use model::replay::{Giving, Replay};

use super::static_answers::{ALIKE, FILES, LARGE, busiest};
use super::{percent, whole};
use crate::advised::{Advice, Measure, Observed, Rule};

/// Fires where large answers are written by a program that reads no files meanwhile.
pub fn advise(observed: &Observed) -> Option<Advice> {
    let busiest = busiest(observed)?;
    if busiest.mean < LARGE || busiest.usual.1 < ALIKE || observed.files >= FILES {
        return None;
    }
    let (pattern, _) = observed.pattern("tcp", |one| whole(&one.sends) as f64 >= LARGE)?;
    let replay = Replay {
        connections: observed.clients(),
        pace: observed.pace(),
        ..observed.bound(Replay::new(Protocol::Tcp, pattern.received, vec![whole(&pattern.sends).min(4 << 20)]))
    };
    Some(Advice {
        rule: Rule::LargeAnswers,
        change: "Send from the program's own pages with MSG_ZEROCOPY, and write to them again when the kernel's notice has come: it then copies nothing, unless the receiver is on this machine or the device cannot gather."
            .to_owned(),
        evidence: vec![
            format!(
                "{:.0} calls of {}/s give {:.0} B each, {} of them {} B.",
                busiest.per_second,
                busiest.call,
                busiest.mean,
                percent(busiest.usual.1),
                busiest.usual.0
            ),
            format!("Files take {} of the program's CPU time: what it gives is in its memory.", percent(observed.files)),
        ],
        measure: Measure::Cpu,
        now: observed.kernel(observed.cpu_of_exchange),
        replays: [replay.clone(), Replay { giving: Giving::ZeroCopy, ..replay }],
    })
}
