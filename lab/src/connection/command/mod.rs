//! Hosts that a command starts: `ssh`, `srun`, `kubectl exec`, or any other.
//!
//! The command gives a shell on the host, which gets a [script](script) over its standard
//! input. That finds this very program there or takes it over the same connection, and
//! becomes `nettoll __serve`; from then on the two speak as a controller and an agent do.
//! Nothing listens anywhere, and when either end dies so does the connection.

mod dialogue;
mod error;
mod program;
mod script;
mod started;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::greeting::AgentId;
use crate::reach::{GO, Marker, Ready};
use model::plan::CommandHost;
use sys::process::ending;

use super::pump::{End, silence};
use super::talk::{LOST, Lacking, Talk, pass_frames};
use super::{Connected, Credentials};
use crate::threads::Stop;
use dialogue::Dialogue;
use started::Started;

pub use error::CommandError;

/// Time until a shell or a nettoll there says its first word: logins may ask a directory
/// service, and jobs may wait to be started.
const LOGIN_LIMIT: Duration = Duration::from_secs(60);
/// Time for the greeting.
const GREETING_LIMIT: Duration = Duration::from_secs(10);

/// How nettoll comes to a host that a command starts.
#[derive(Debug, Clone, Default)]
pub struct Arrival {
    /// It is copied into the user's cache there and found again. Otherwise it is copied
    /// each time, unless it is installed there, and its file removed as soon as it runs.
    pub deploy: bool,
    /// Path of a nettoll there that is started in place of a shell.
    pub program: Option<String>,
    /// A login that is waited for is given up where this says so, and its command ended.
    pub stop: Stop,
}

/// Starts a host, and returns when its nettoll has answered.
///
/// # Errors
/// See [`CommandError`].
pub fn connect(host: &CommandHost, arrival: &Arrival) -> Result<Connected, CommandError> {
    let mut dialogue = begin(host, arrival, script::Task::Run { keep: arrival.deploy })?;
    let ready = dialogue.until_ready(arrival)?;
    let (mut started, link, frames) = dialogue.into_parts();
    let mut talk = Talk::new(link, frames, GREETING_LIMIT, Credentials::default());
    talk.link.queue(GO);
    let agent = match talk.greet(true) {
        Ok(agent) => agent,
        Err(answer) => return Err(CommandError::Greeting { answer, said: started.said() }),
    };
    let Talk { link, frames, .. } = talk;
    let label = host.transport.to_string();
    let words = move |end: &End| {
        let words = in_words(end, &label, &mut started);
        started.end();
        words
    };
    let lacks = |lacking: Lacking| CommandError::Local { what: lacking.what, answer: lacking.answer };
    let (stream, ended) = pass_frames(link, frames, words).map_err(lacks)?;
    Ok(connected(agent, ready, stream, ended))
}

fn connected(agent: AgentId, ready: Ready, stream: std::os::unix::net::UnixStream, ended: super::EndReason) -> Connected {
    // One that knows no address of its own is reached over its loopback, or by data=.
    let first = ready.addresses.first().copied().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let (local, peer) = (SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0), SocketAddr::new(first, 0));
    Connected { stream, local, peer, addresses: ready.addresses, agent, cipher: None, ended }
}

/// Removes every copy of nettoll that [`Arrival::deploy`] left in the user's cache on a
/// host; returns their number.
///
/// # Errors
/// See [`CommandError`].
pub fn prune(host: &CommandHost) -> Result<u32, CommandError> {
    let mut dialogue = begin(host, &Arrival::default(), script::Task::Prune)?;
    let pruned = dialogue.hear(LOGIN_LIMIT)?;
    let (mut started, link, _) = dialogue.into_parts();
    drop(link);
    started.end();
    match pruned {
        Marker::Pruned { copies } => Ok(copies),
        other => Err(dialogue::out_of_turn(other)),
    }
}

/// Copies this program into the user's cache on a host, if it is not there; returns
/// whether it was copied.
///
/// # Errors
/// See [`CommandError`].
pub fn deploy(host: &CommandHost) -> Result<bool, CommandError> {
    let arrival = Arrival { deploy: true, ..Arrival::default() };
    let mut dialogue = begin(host, &arrival, script::Task::Run { keep: true })?;
    dialogue.until_ready(&arrival)?;
    let copied = dialogue.copied();
    let (mut started, link, _) = dialogue.into_parts();
    drop(link);
    started.end();
    Ok(copied)
}

fn begin(host: &CommandHost, arrival: &Arrival, task: script::Task) -> Result<Dialogue, CommandError> {
    if let Some(path) = arrival.program.as_deref().filter(|path| !is_plain(path)) {
        return Err(CommandError::ProgramPath(path.chars().take(120).collect()));
    }
    let (size, digest) = program::identity().map_err(CommandError::Program)?;
    let (started, link) = Started::start(&host.transport.words(arrival.program.as_deref())).map_err(CommandError::Start)?;
    Ok(Dialogue::new(started, link, arrival.stop.clone(), &script::text(&task, size, &digest)))
}

/// Returns whether a path means itself to every shell.
fn is_plain(path: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"/._+-".contains(&byte);
    (1..=4_096).contains(&path.len()) && path.bytes().all(is_letter) && !path.starts_with('-')
}

/// Says how a connection ended, with the command's own words.
fn in_words(end: &End, label: &str, started: &mut Started) -> Option<String> {
    let what = match end {
        End::Near => return None,
        End::Far => match started.status_soon() {
            Some(status) => format!("the command ended ({})", ending(status)),
            None => "it closed its output".to_owned(),
        },
        End::Silent => format!("nothing came from it for {}; {LOST}", silence()),
        End::Stuck => format!("it took nothing for {}; {LOST}", silence()),
        End::Broken(error) => format!("the connection broke: {}", error.words()),
        End::Because(words) => words.clone(),
    };
    Some(format!("{label}: {what}{}", error::quoted(&started.said())))
}
