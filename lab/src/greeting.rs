//! Messages of a controller and an agent before either trusts the other.
//!
//! ```text
//! controller --ClientHello----> agent      version, nonce
//! controller <--Answer-- agent      version, nonce, what it wants, or a refusal
//! controller --Proof---> agent      only where the agent wants one
//! controller <--Verdict- agent      admitted, with the agent's own proof, or a refusal
//! ```
//!
//! Each is a frame of at most [`LONGEST_GREETING`] bytes. After the verdict the
//! connection carries [`ToHost`](model::control::ToHost) and
//! [`FromHost`](model::control::FromHost), as the pipes of a local host do.
//!
//! Whatever else changes in later versions, `magic` and `version` of the first
//! message each way stay where they are, so that two builds that have nothing
//! else in common can still say so.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use model::control::CONTROL_VERSION;

use crate::hex::Hex;

/// The longest message of a greeting, in bytes of JSON.
pub const LONGEST_GREETING: usize = 4 << 10;

/// Word that both first messages begin with.
pub const MAGIC: &str = "nettoll";

/// Identity of the agent that answers, and its build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentId {
    /// The version of its tool.
    pub tool: String,
    /// Random, made when the agent's process starts: two connections with the
    /// same lead to the same process.
    pub id: Hex<16>,
}

/// The controller's first message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientHello {
    /// [`MAGIC`].
    pub magic: String,
    /// [`CONTROL_VERSION`] of the controller.
    pub version: u32,
    /// The version of its tool.
    pub tool: String,
    /// Fresh for each connection, so that an old proof proves nothing.
    pub nonce: Hex<32>,
    /// Identity of the controller's process: two hosts on one machine that are told the
    /// same belong to one study. No proof of anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<Hex<16>>,
}

/// Proof that an agent wants to see before it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wants {
    /// Nothing: the controller is on the same machine, or has shown its
    /// certificate already.
    Nothing,
    /// A [`Proof`] that it knows the secret.
    Proof,
}

/// The agent's first message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// [`MAGIC`].
    pub magic: String,
    /// [`CONTROL_VERSION`] of the agent.
    pub version: u32,
    /// The agent.
    #[serde(flatten)]
    pub agent: AgentId,
    /// Fresh for each connection.
    pub nonce: Hex<32>,
    /// Proof that it wants.
    pub wants: Wants,
}

/// Shows that the sender knows the secret, without saying it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// HMAC-SHA256 over both nonces and versions and the connection's key.
    pub proof: Hex<32>,
}

/// The agent's last message of a greeting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Always true: a refusal is a [`RefusalMessage`].
    pub admitted: bool,
    /// The agent's own proof, where it wanted one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Hex<32>>,
}

/// Either message of an agent, when it does not serve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalMessage {
    /// [`MAGIC`].
    pub magic: String,
    /// [`CONTROL_VERSION`] of the agent.
    pub version: u32,
    /// The version of its tool.
    pub tool: String,
    /// Why, and what to do.
    pub refused: String,
    /// True where another attempt may fare better: the agent has no room now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub busy: bool,
}

/// A message of a greeting that ends it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GreetingError {
    /// It is not of nettoll.
    #[error("{0}")]
    Foreign(String),
    /// It is of a nettoll that speaks another version.
    #[error("version {theirs} of the control protocol (nettoll {tool})")]
    Version {
        /// The version there.
        theirs: u64,
        /// The version of the tool there, made fit to print.
        tool: String,
    },
    /// The agent refuses.
    #[error("{0}")]
    Refused(String),
    /// The agent has no room for now.
    #[error("{0}")]
    Busy(String),
}

/// All that is looked at before the version is known.
#[derive(Deserialize)]
struct Opening {
    #[serde(default)]
    magic: Value,
    #[serde(default)]
    version: Value,
    #[serde(default)]
    tool: Value,
    #[serde(default)]
    refused: Value,
    #[serde(default)]
    busy: Value,
}

impl ClientHello {
    /// The message of this build.
    pub fn new(tool: &str, nonce: [u8; 32]) -> Self {
        Self { magic: MAGIC.to_owned(), version: CONTROL_VERSION, tool: tool.to_owned(), nonce: Hex(nonce), controller: None }
    }

    /// The same with the identity of the controller's process.
    pub fn of(self, controller: [u8; 16]) -> Self {
        Self { controller: Some(Hex(controller)), ..self }
    }

    /// Reads a controller's first message.
    ///
    /// # Errors
    /// See [`GreetingError`].
    pub fn parse(body: &[u8]) -> Result<Self, GreetingError> {
        parse_opening(body)
    }
}

impl Answer {
    /// The message of this build.
    pub fn new(agent: AgentId, nonce: [u8; 32], wants: Wants) -> Self {
        Self { magic: MAGIC.to_owned(), version: CONTROL_VERSION, agent, nonce: Hex(nonce), wants }
    }

    /// Reads an agent's first message.
    ///
    /// # Errors
    /// See [`GreetingError`]; another version is told rather than what that
    /// version refused.
    pub fn parse(body: &[u8]) -> Result<Self, GreetingError> {
        parse_opening(body)
    }
}

impl Verdict {
    /// Reads an agent's last message of the greeting.
    ///
    /// # Errors
    /// See [`GreetingError`].
    pub fn parse(body: &[u8]) -> Result<Self, GreetingError> {
        if let Ok(refusal) = serde_json::from_slice::<RefusalMessage>(body) {
            return Err(refused(&refusal.refused, refusal.busy));
        }
        let verdict: Self = parse_rest(body)?;
        if verdict.admitted { Ok(verdict) } else { Err(GreetingError::Foreign("it neither admits nor refuses".to_owned())) }
    }
}

impl Proof {
    /// Reads a controller's proof.
    ///
    /// # Errors
    /// See [`GreetingError`].
    pub fn parse(body: &[u8]) -> Result<Self, GreetingError> {
        parse_rest(body)
    }
}

impl RefusalMessage {
    /// The message of this build.
    pub fn new(tool: &str, refused: String) -> Self {
        Self { magic: MAGIC.to_owned(), version: CONTROL_VERSION, tool: tool.to_owned(), refused, busy: false }
    }

    /// The refusal of this build, for a controller that may come again.
    pub fn busy(tool: &str, refused: String) -> Self {
        Self { busy: true, ..Self::new(tool, refused) }
    }
}

fn parse_opening<T: DeserializeOwned>(body: &[u8]) -> Result<T, GreetingError> {
    let opening: Opening = serde_json::from_slice(body).map_err(|_| foreign("its first message is not ours", body))?;
    if opening.magic != MAGIC {
        return Err(foreign("its first message is not ours", body));
    }
    let tool = opening.tool.as_str().map_or_else(|| "of an unknown version".to_owned(), fit_to_print);
    match opening.version.as_u64() {
        Some(version) if version == u64::from(CONTROL_VERSION) => {}
        Some(theirs) => return Err(GreetingError::Version { theirs, tool }),
        None => return Err(foreign("its first message has no version", body)),
    }
    match opening.refused.as_str() {
        Some(reason) => Err(refused(reason, opening.busy == true)),
        None => parse_rest(body),
    }
}

fn refused(reason: &str, busy: bool) -> GreetingError {
    let words = fit_to_print(reason);
    if busy { GreetingError::Busy(words) } else { GreetingError::Refused(words) }
}

fn parse_rest<T: DeserializeOwned>(body: &[u8]) -> Result<T, GreetingError> {
    // The reason may quote the stranger.
    let reason = |error: serde_json::Error| fit_to_print(&error.to_string());
    serde_json::from_slice(body).map_err(|error| GreetingError::Foreign(format!("its message cannot be understood ({})", reason(error))))
}

fn foreign(what: &str, body: &[u8]) -> GreetingError {
    let start: String = body[..body.len().min(32)].escape_ascii().to_string();
    GreetingError::Foreign(format!("{what} (\"{start}\")"))
}

/// Words of a stranger, short and without control characters.
pub fn fit_to_print(words: &str) -> String {
    words.chars().take(400).map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};
    use serde_json::json;

    use super::{AgentId, Answer, ClientHello, GreetingError, Proof, RefusalMessage, Verdict, Wants};
    use crate::hex::Hex;
    use model::control::CONTROL_VERSION;

    #[test]
    fn a_hail_comes_back() {
        let hello = ClientHello::new("1.2.3", [7; 32]);
        assert_eq!(ClientHello::parse(&serde_json::to_vec(&hello).unwrap()), Ok(hello));
    }

    #[test]
    fn an_unknown_version_is_named_whatever_else_changed() {
        for theirs in [u64::from(CONTROL_VERSION) - 1, u64::from(CONTROL_VERSION) + 1, u64::MAX] {
            let body = serde_json::to_vec(&json!({"magic": "nettoll", "version": theirs, "nonce": [1], "tool": "9\u{1b}[2J"})).unwrap();
            let expected = GreetingError::Version { theirs, tool: "9?[2J".to_owned() };
            assert_eq!(ClientHello::parse(&body), Err(expected.clone()));
            assert_eq!(Answer::parse(&body), Err(expected));
        }
        let refusal = json!({"magic": "nettoll", "version": CONTROL_VERSION + 1, "refused": {"in": "other words"}});
        assert!(
            matches!(Answer::parse(refusal.to_string().as_bytes()), Err(GreetingError::Version { theirs, .. }) if theirs == u64::from(CONTROL_VERSION) + 1)
        );
    }

    #[test]
    fn a_refusal_is_told_in_the_agents_words() {
        let body = serde_json::to_vec(&RefusalMessage::new("1.2.3", "no".to_owned())).unwrap();
        assert_eq!(Answer::parse(&body), Err(GreetingError::Refused("no".to_owned())));
        assert_eq!(Verdict::parse(&body), Err(GreetingError::Refused("no".to_owned())));
        let body = serde_json::to_vec(&RefusalMessage::busy("1.2.3", "later".to_owned())).unwrap();
        assert_eq!(Answer::parse(&body), Err(GreetingError::Busy("later".to_owned())));
        assert_eq!(Verdict::parse(&body), Err(GreetingError::Busy("later".to_owned())));
    }

    #[test]
    fn what_is_not_of_nettoll_is_said_to_be_so() {
        let error = ClientHello::parse(b"GET / HTTP/1.1\r\nHost: x").unwrap_err().to_string();
        assert_eq!(error, "its first message is not ours (\"GET / HTTP/1.1\\r\\nHost: x\")");
        for body in [&b"{}"[..], b"", b"null", b"{\"magic\":\"nettoll\"}", b"{\"magic\":\"nettoll\",\"version\":-1}"] {
            assert!(matches!(ClientHello::parse(body), Err(GreetingError::Foreign(_))));
        }
    }

    #[test]
    fn what_cannot_be_understood_is_quoted_fit_to_print() {
        let agent = AgentId { tool: "1".to_owned(), id: Hex([1; 16]) };
        let mut answer = serde_json::to_value(Answer::new(agent, [1; 32], Wants::Proof)).unwrap();
        answer["wants"] = json!("\u{1b}[2J".repeat(1_000));
        let words = Answer::parse(&serde_json::to_vec(&answer).unwrap()).unwrap_err().to_string();
        assert!(words.contains("unknown variant") && words.len() < 500 && !words.chars().any(char::is_control), "{words:?}");
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = (ClientHello::parse(&bytes), Answer::parse(&bytes), Verdict::parse(&bytes), Proof::parse(&bytes));
        }
    }
}
