//! Large answers that are read from files and written.

use model::Protocol;
use model::attach::Way;
use model::replay::{Giving, Replay};

use super::{percent, whole};
use crate::advised::{Advice, Measure, Observed, Rule, Taken};

/// Bytes of a large answer.
pub const LARGE: f64 = 16_384.0;
/// Share of the most frequent size, from which on answers are alike.
pub const ALIKE: f64 = 0.3;
/// Share of files in the CPU time, without which nothing says that answers come from files.
pub const FILES: f64 = 0.05;

/// The calls that write the most bytes to streams.
pub fn busiest(observed: &Observed) -> Option<&Taken> {
    let written = |call: &str| ["write", "sendto", "writev", "sendmsg"].contains(&call);
    let given = observed.calls.iter().filter(|one| one.way == Way::Out && one.protocol == "tcp" && written(&one.call));
    given.max_by(|a, b| (a.per_second * a.mean).total_cmp(&(b.per_second * b.mean)))
}

/// Fires where large answers are written by a program that reads files meanwhile.
pub fn advise(observed: &Observed) -> Option<Advice> {
    let busiest = busiest(observed)?;
    if busiest.mean < LARGE || busiest.usual.1 < ALIKE || observed.files < FILES {
        return None;
    }
    let (pattern, _) = observed.pattern("tcp", |one| whole(&one.sends) as f64 >= LARGE)?;
    let size = whole(&pattern.sends).min(4 << 20);
    let replay = Replay {
        giving: Giving::ReadWrite,
        connections: observed.clients(),
        pace: observed.pace(),
        ..observed.bound(Replay::new(Protocol::Tcp, pattern.received, vec![size]))
    };
    Some(Advice {
        rule: Rule::StaticAnswers,
        change: "Give what is in a file by sendfile(2): the kernel then copies nothing into the program and out again.".to_owned(),
        evidence: vec![
            format!(
                "{:.0} calls of {}/s give {:.0} B each, {} of them {} B.",
                busiest.per_second,
                busiest.call,
                busiest.mean,
                percent(busiest.usual.1),
                busiest.usual.0
            ),
            format!("Files take {} of the program's CPU time.", percent(observed.files)),
        ],
        measure: Measure::Cpu,
        now: observed.kernel_with_files(observed.cpu_of_exchange),
        replays: [replay.clone(), Replay { giving: Giving::Sendfile, ..replay }],
    })
}
