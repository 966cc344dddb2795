//! SIGKILL at any moment: of each kind of process, in random phases of short
//! studies. Nothing hangs, nothing is left, nothing that was stored is lost.

mod controller;
mod local;
mod remote;
mod woven;

use std::path::Path;
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::bars::Row;
use crate::endure::tool::{Study, Tool};

/// Seed of each kind's random moments.
const SEED: u64 = 2_026;
/// No study of these takes longer, lost hosts included.
const HANG: Duration = Duration::from_secs(120);

/// Errors of woven trials that a busy machine causes by itself: no whole slice, and a program that gets no CPU to stop on.
const BUSY: [&str; 2] = ["no slice of it counts", "did not stop between its turns"];

/// The outcome of the kills of one kind.
#[derive(Debug, Default)]
pub struct Account {
    kills: usize,
    failed_trials: usize,
    hangs: Vec<String>,
    leftovers: Vec<String>,
    lost: Vec<String>,
    /// Studies that did not end as they should have.
    wrong: Vec<String>,
    /// The longest that an agent took to be free again.
    freed: Option<Duration>,
    /// Kills at which a task was stopped or had real-time priority, of studies that bring that about.
    unusual: Option<usize>,
}

impl Account {
    /// The study comes to its end with every trial that was stored at one of
    /// the kills (`seen`, from first to last).
    fn check(&mut self, study: &mut Study, tool: &Tool, seen: &[Vec<u8>], most_failed: usize) {
        match study.wait(HANG) {
            None => return self.hangs.push(format!("the study did not end within {HANG:?}: {}", study.words())),
            // Woven arms have a verdict, which may be open, or chance, after few blocks.
            Some(status) if status.code() != Some(0) && !(self.unusual.is_some() && matches!(status.code(), Some(3 | 4))) => {
                return self.wrong.push(format!("the study ended with {status}: {}", study.words()));
            }
            Some(_) => {}
        }
        let Some(stored) = tool.stored() else { return self.lost.push("the run is gone".to_owned()) };
        let all = stored.bytes();
        // A line that was being written when the kill came is written again.
        let kept = |seen: &[u8]| all.starts_with(&seen[..seen.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)]);
        if let Some(at) = seen.iter().position(|seen| !kept(seen)) {
            self.lost.push(format!("trials that were stored at kill {at} of this study are not in its end"));
        }
        let failed = stored.failed_of_all().map(|mut errors| {
            errors.retain(|error| self.unusual.is_none() || !BUSY.iter().any(|busy| error.contains(busy)));
            errors
        });
        match failed {
            Ok(errors) if errors.len() <= most_failed => self.failed_trials += errors.len(),
            Ok(errors) => self.wrong.push(format!("{} trials failed of {most_failed} kills: {errors:?}", errors.len())),
            Err(error) => self.lost.push(error.to_string()),
        }
        self.leftovers.extend(crate::endure::traces::unfinished(stored.path()).iter().map(|path| format!("{}", path.display())));
    }

    fn rows(&self, kind: &str) -> Vec<Row> {
        let none = |what: &str, all: &[String]| {
            for one in all {
                println!("  {kind}: {what}: {one}");
            }
            Row::printed(format!("kills of {kind}: {what}"), all.len() as f64, "", self.kills).against("0", all.is_empty())
        };
        let mut rows = vec![
            none("hangs", &self.hangs),
            none("leftovers", &self.leftovers),
            none("losses of finished trials", &self.lost),
            none("studies that ended otherwise than they should", &self.wrong),
            Row::printed(format!("  trials that failed for kills of {kind}"), self.failed_trials as f64, "", self.kills),
        ];
        if let Some(unusual) = self.unusual {
            let row = Row::printed(format!("  of them next to a stopped or real-time task, {kind}"), unusual as f64, "", self.kills);
            rows.push(row.against("> 0", unusual > 0));
        }
        if let Some(freed) = self.freed {
            let row = Row::printed(format!("  longest until an agent serves the next, {kind}"), freed.as_secs_f64(), "s", self.kills);
            rows.push(row.against("<= 2 s", freed.as_secs_f64() <= 2.0));
        }
        rows
    }
}

/// Studies with kills, one after the other until there were `count` kills.
fn kill(count: usize, mut one_study: impl FnMut(&mut Account) -> anyhow::Result<()>) -> anyhow::Result<Account> {
    let mut account = Account::default();
    while account.kills < count {
        one_study(&mut account)?;
    }
    Ok(account)
}

/// Kills each kind of process `count` times.
///
/// # Errors
/// A program that cannot be started, and a run that is gone.
pub fn measure(nettoll: &Path, count: u32) -> anyhow::Result<Vec<Row>> {
    let count = count as usize;
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let mut rows = kill(count, |account| controller::one_run(nettoll, count, &mut random, account))?.rows("the controller");
    for (kind, victim) in local::VICTIMS {
        rows.extend(kill(count, |account| local::one_study(nettoll, victim, count, &mut random, account))?.rows(kind));
    }
    for (kind, victim) in remote::VICTIMS {
        rows.extend(kill(count, |account| remote::one_study(nettoll, victim, count, &mut random, account))?.rows(kind));
    }
    for (kind, victim) in woven::VICTIMS {
        rows.extend(kill(count, |account| woven::one_study(nettoll, victim, &mut random, account))?.rows(kind));
    }
    Ok(rows)
}

/// A plan of short trials of every kind; `cells` is how many it makes.
fn plan(seed: u64, blocks: u32) -> String {
    format!(
        r#"
        name = "killed"
        seed = {seed}
        trial = {{ length = "5ms", warmup = "1ms" }}
        blocks = {{ least = {blocks}, most = {blocks} }}
        [[cells]]
        test = ["TCP_STREAM", "UDP_STREAM", "TCP_MAERTS", "TCP_RR", "UDP_RR"]
        size = [1, 16, 512, 1448, 2000, 8192, 16384, 32768]
        nodelay = true
        "#
    )
}

/// Cells of [`plan`].
const CELLS: usize = 40;
