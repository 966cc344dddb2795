//! Kills around an agent: of the agent, of the host process that it started,
//! and of a controller that it serves.

use std::ops::ControlFlow;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use lab::connection::Credentials;
use lab::remote::{HostError, RemoteHost};
use model::host_place::HostPlace;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use testkit::processes::{self, Process};

use super::{Account, CELLS, HANG, plan};
use crate::endure::agent::Agent;
use crate::endure::tool::Tool;
use crate::endure::traces::Traces;
use crate::endure::within;

/// From one trial to the third after it, and into the making of hosts.
const MOMENTS_MS: std::ops::Range<u64> = 0..120;

/// Whom to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    Agent,
    Host,
    Controller,
}

/// Each kind in words.
pub const VICTIMS: [(&str, Victim); 3] =
    [("an agent", Victim::Agent), ("an agent's host process", Victim::Host), ("the controller of an agent", Victim::Controller)];

/// One study with several kills of a kind.
pub fn one_study(nettoll: &Path, victim: Victim, count: usize, random: &mut ChaCha8Rng, account: &mut Account) -> anyhow::Result<()> {
    let tool = Tool::new(nettoll)?;
    let mut traces = Traces::now();
    let mut agent = Agent::start(&tool, &[], &["--listen", "127.0.0.1", "--port", "0"])?;
    let host = format!("b={}", agent.address);
    let mut study = tool.start(&[], &plan(random.random_range(0..1 << 40), 1), &["--host", &host])?;
    let mut seen = Vec::new();
    let mut had = 0;
    while account.kills < count && had + 6 < CELLS {
        within(HANG, || tool.trials() >= had + 3 || study.is_over());
        thread::sleep(Duration::from_millis(random.random_range(MOMENTS_MS)));
        if study.is_over() {
            break;
        }
        seen.push(tool.stored().map_or_else(Vec::new, |stored| stored.bytes()));
        match victim {
            Victim::Agent => {
                agent.kill();
                account.kills += 1;
                // Its host processes know within a moment.
                account.leftovers.extend(traces.leftovers(&tool, |process| {
                    process.pid == study.pid() || process.parent == study.pid() || is_ours(&tool, process, study.pid())
                }));
                let port = agent.address.port().to_string();
                agent = Agent::start(&tool, &[], &["--listen", "127.0.0.1", "--port", &port])?;
            }
            Victim::Host => account.kills += agent.hosts(&tool).first().map_or(0, |host| usize::from(host.kill())),
            Victim::Controller => {
                study.kill();
                account.kills += 1;
                free(&agent, account);
                account.leftovers.extend(traces.leftovers(&tool, |process| process.pid == agent.pid()));
                let stored = tool.stored().ok_or_else(|| anyhow::anyhow!("the run is gone"))?;
                study = tool.resume(&stored)?;
            }
        }
        had = tool.trials();
    }
    let most_failed = if victim == Victim::Controller { 0 } else { seen.len() };
    account.check(&mut study, &tool, &seen, most_failed);
    // Whatever it went through, it serves the next at once.
    free(&agent, account);
    account.leftovers.extend(traces.leftovers(&tool, |process| process.pid == agent.pid()));
    if !agent.end() {
        account.hangs.push("the agent did not end within 5 s of SIGTERM".to_owned());
    }
    account.leftovers.extend(traces.leftovers(&tool, |_| false));
    Ok(())
}

/// True of an endpoint that the controller's own host started.
fn is_ours(tool: &Tool, process: &Process, study: u32) -> bool {
    let all = processes::marked(tool.mark());
    process.kind == "__endpoint" && all.iter().any(|host| host.pid == process.parent && host.parent == study)
}

/// Notes how long it takes until the agent gives its turn to another controller.
fn free(agent: &Agent, account: &mut Account) {
    let begun = Instant::now();
    let turn = || -> Result<bool, HostError> {
        let at: HostPlace = match agent.address.to_string().parse() {
            Ok(at) => at,
            Err(_) => return Ok(false),
        };
        let mut host = RemoteHost::reach("b", &at, None, &Credentials::default())?;
        let mut patience = |_: &str, _: u32| {
            Ok(if begun.elapsed() > Duration::from_secs(10) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        Ok(host.turn::<HostError>(&mut patience, &[], 0)? == Some(false))
    };
    match turn() {
        Ok(true) => account.freed = account.freed.max(Some(begun.elapsed())),
        Ok(false) => account.hangs.push("the agent gave nobody a turn within 10 s".to_owned()),
        Err(error) => account.hangs.push(format!("the agent serves nobody: {error}")),
    }
}
