//! A study over an agent that strangers besiege.

mod flood;

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use lab::session::Session;
use model::{Family, Role};

pub use flood::run as run_flood;

use crate::agents::secret;
use crate::bars::Row;
use crate::endure::agent::Agent;
use crate::endure::tool::Tool;
use crate::{endure, ours};

/// Most memory that the agent may take, in MiB.
const MOST_MIB: f64 = 64.0;
/// Time for which an agent that is left alone is watched.
const IDLE: Duration = Duration::from_secs(3);
/// Longer than whoever does not greet is kept, so that nobody is left then.
const AFTER: Duration = Duration::from_secs(7);
/// No study of this length takes longer.
const HANG: Duration = Duration::from_secs(300);

/// Runs a study of `blocks` blocks through the siege.
pub fn measure(nettoll: &Path, blocks: u32) -> anyhow::Result<Vec<Row>> {
    let tool = Tool::new(nettoll)?;
    let mut session = ours::session()?;
    let inside = |session: &mut Session, role| format!("--net=/proc/{}/ns/net", session.host(role, false).pid());
    let (near, far) = (inside(&mut session, Role::Sender), inside(&mut session, Role::Receiver));
    let address = session.place(Role::Receiver, false).address(Family::V4).context("no IPv4 address")?.ip().to_string();
    let secret = secret(&tool.file("secret"))?;
    let secret = secret.to_string_lossy();
    let agent = Agent::start(&tool, &["nsenter", &far], &["--listen", &address, "--port", "0", "--secret-file", &secret])?;
    let flood = flood::Flood::start(&near, agent.address)?;
    let plan = format!(
        "name = \"siege\"\ntrial = {{ length = \"50ms\", warmup = \"5ms\" }}\nblocks = {{ least = {blocks}, most = {blocks} }}\n\
         [[cells]]\ntest = [\"TCP_STREAM\", \"UDP_STREAM\", \"TCP_RR\", \"UDP_RR\", \"TCP_CRR\"]\nsize = [1, 1024]\nnodelay = true\n"
    );
    let host = format!("b={}", agent.address);
    let mut study = tool.start(&["nsenter", &near], &plan, &["--host", &host, "--secret-file", &secret])?;
    let status = study.wait(HANG).with_context(|| format!("the study did not end within {HANG:?}: {}", study.words()))?;
    let peak = endure::kib(agent.pid(), "VmHWM")? as f64 / 1_024.0;
    let files = endure::descriptors(agent.pid());
    let strangers = flood.end()?;
    ensure!(status.success(), "the study ended with {status}: {}", study.words());
    let errors = tool.stored().context("the run is gone")?.failed_of_all()?;
    if let Some(error) = errors.first() {
        println!("  the first trial that failed: {error}");
    }
    let trials = tool.trials();
    thread::sleep(AFTER);
    let before = endure::cpu_ns(agent.pid())?;
    thread::sleep(IDLE);
    let idle = endure::cpu_ns(agent.pid())?.saturating_sub(before);
    ensure!(agent.end(), "the agent did not end within 5 s of SIGTERM");
    Ok(vec![
        Row::printed("siege: failed trials of the study", errors.len() as f64, "", trials).against("0", errors.is_empty()),
        Row::printed("  siege: connections of strangers", strangers as f64, "", 1),
        Row::printed("  siege: files that the agent had open", files as f64, "", 1),
        Row::printed("siege: largest memory of the agent", peak, "MiB", 1).against(format!("<= {MOST_MIB} MiB"), peak <= MOST_MIB),
        Row::printed("CPU time of the agent in 3 s after it", idle as f64, "ns", 1).against("0", idle == 0),
    ])
}
