//! Who is let in, and who is believed.

use std::io::Read;

use lab::agent::{Agent as Opened, AgentError, Listen, Settings};
use lab::connection::{Credentials, Secret};
use lab::greeting::{AgentId, Answer, ClientHello, Proof, RefusalMessage, Verdict, Wants};
use lab::hex::Hex;
use model::control::{FromHost, Limits, ToHost};

use crate::claims;
use crate::support::agent::Agent;
use crate::support::files::{Files, SECRET, knows};
use crate::support::inside::{here, loopback};
use crate::support::raw::{Raw, record, serve_once};
use crate::support::roles::AgentSpec;
use crate::support::talk::{Controller, connect};
use crate::support::{Skip, says};

claims!(
    loopback_needs_nothing,
    the_same_secret_lets_in_from_elsewhere,
    a_wrong_secret_is_refused_and_said_at_both_ends,
    without_the_secret_nobody_comes_in,
    an_agent_that_does_not_know_the_secret_hears_nothing_more,
    an_agent_that_asks_for_no_secret_is_not_believed,
    a_replayed_handshake_is_refused,
    an_agent_for_everybody_is_refused,
    a_secret_that_others_can_read_is_refused,
);

fn with_secret(files: &Files) -> Result<Agent, Skip> {
    let secret = files.secret("secret", SECRET);
    Ok(Agent::start(&AgentSpec { listen: vec![here()?, loopback()], secret: Some(secret), ..AgentSpec::default() }))
}

fn loopback_needs_nothing() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    let mut controller = Controller::connect(agent.address(), &Credentials::default()).unwrap();
    assert!(matches!(controller.ask(&ToHost::Clock), FromHost::Clock { .. }));
    assert_eq!(controller.connected.peer, agent.address());
    assert_eq!(controller.connected.cipher, None);
    let again = connect(agent.address(), &Credentials::default()).unwrap();
    assert_eq!(again.agent, controller.connected.agent, "it is the same process");
    agent.logs("admitted, not encrypted");
    assert_eq!(agent.end(), 0);
    assert_eq!(controller.ends().split(": ").next(), Some(&*format!("the agent at {}", controller.connected.peer)));
    Ok(())
}

fn the_same_secret_lets_in_from_elsewhere() -> Result<(), Skip> {
    let files = Files::new();
    let agent = with_secret(&files)?;
    // The end of a line, in either manner, is not part of a secret.
    let written_elsewhere = files.file("elsewhere", &format!("{SECRET}\r\n"), 0o400);
    let (proxy, said) = record(agent.address());
    let mut controller = Controller::connect(proxy, &knows(&written_elsewhere)).unwrap();
    assert!(matches!(controller.ask(&ToHost::Clock), FromHost::Clock { .. }));
    drop(controller);
    let (forth, back) = said.join().unwrap();
    for bytes in [forth, back] {
        assert!(bytes.len() > 100);
        assert!(!bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()), "the secret itself is never sent");
    }
    Ok(())
}

fn a_wrong_secret_is_refused_and_said_at_both_ends() -> Result<(), Skip> {
    let files = Files::new();
    let agent = with_secret(&files)?;
    let error = connect(agent.address(), &knows(&files.secret("wrong", "another secret of theirs"))).unwrap_err();
    says(&error.to_string(), &["host b", "it does not know the agent's secret", "--secret-file"]);
    assert!(!error.may_pass());
    agent.logs("refused: it does not know the agent's secret");
    assert!(!agent.log().contains("another secret") && !agent.log().contains(SECRET));
    assert!(agent.descendants().is_empty(), "nothing was started for a stranger");
    Ok(())
}

fn without_the_secret_nobody_comes_in() -> Result<(), Skip> {
    let files = Files::new();
    let agent = with_secret(&files)?;
    let error = connect(agent.address(), &Credentials::default()).unwrap_err();
    says(&error.to_string(), &["asks for its secret", "--secret-file"]);
    // Somebody who goes on all the same.
    let mut stranger = Raw::connect(agent.address());
    stranger.say(&ClientHello::new("1.0.0", [1; 32]));
    assert_eq!(stranger.hear::<Answer>().wants, Wants::Proof);
    stranger.say(&ToHost::Facts { device: "lo".to_owned(), endpoint_cpus: Vec::new() });
    says(&String::from_utf8(stranger.rest()).unwrap(), &["refused"]);
    assert!(agent.descendants().is_empty());
    Ok(())
}

/// An agent to be distrusted: what it wants and how it judges.
fn impostor(wants: Wants, verdict: Verdict) -> Result<(std::net::SocketAddr, std::thread::JoinHandle<Vec<u8>>), Skip> {
    Ok(serve_once(here()?, move |mut controller| {
        controller.hear::<ClientHello>();
        let agent = AgentId { tool: "1.0.0".to_owned(), id: Hex([1; 16]) };
        controller.say(&Answer::new(agent, [2; 32], wants));
        if wants == Wants::Proof {
            controller.hear::<Proof>();
        }
        controller.say(&verdict);
        controller.rest()
    }))
}

fn an_agent_that_does_not_know_the_secret_hears_nothing_more() -> Result<(), Skip> {
    let files = Files::new();
    let secret = knows(&files.secret("secret", SECRET));
    for proof in [None, Some(Hex([0; 32]))] {
        let (address, heard) = impostor(Wants::Proof, Verdict { admitted: true, proof })?;
        let error = connect(address, &secret).unwrap_err();
        says(&error.to_string(), &["the agent does not know the secret", "use the same file"]);
        assert_eq!(heard.join().unwrap(), b"", "not a word after its proof failed");
    }
    Ok(())
}

fn an_agent_that_asks_for_no_secret_is_not_believed() -> Result<(), Skip> {
    let files = Files::new();
    let (address, heard) = impostor(Wants::Nothing, Verdict { admitted: true, proof: None })?;
    let error = connect(address, &knows(&files.secret("secret", SECRET))).unwrap_err();
    says(&error.to_string(), &["the agent asks for none"]);
    assert_eq!(heard.join().unwrap(), b"");
    Ok(())
}

fn a_replayed_handshake_is_refused() -> Result<(), Skip> {
    let files = Files::new();
    let agent = with_secret(&files)?;
    let (proxy, said) = record(agent.address());
    drop(Controller::connect(proxy, &knows(&files.secret("same", SECRET))).unwrap());
    let (forth, _) = said.join().unwrap();
    let mut thief = Raw::connect(agent.address());
    thief.send(&forth);
    let answer: Answer = thief.hear();
    assert_eq!(answer.wants, Wants::Proof);
    says(&thief.hear::<RefusalMessage>().refused, &["does not know the agent's secret"]);
    assert_eq!(thief.rest(), b"");
    Ok(())
}

fn an_agent_for_everybody_is_refused() -> Result<(), Skip> {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[fe80::1%1]:0"] {
        let settings = Settings {
            listen: Listen::At(vec![loopback(), address.parse().unwrap()]),
            credentials: Credentials::default(),
            at_once: std::num::NonZeroU32::MIN,
            limits: Limits::default(),
            data_ports: None,
            endpoints: std::collections::BTreeMap::new(),
        };
        let error = Opened::open(settings).unwrap_err();
        assert!(error.is_misuse() && matches!(error, AgentError::Open(_)), "{address}");
        says(&error.to_string(), &["--secret-file", "--tls-cert", "127.0.0.1"]);
    }
    Ok(())
}

fn a_secret_that_others_can_read_is_refused() -> Result<(), Skip> {
    let files = Files::new();
    for mode in [0o644, 0o604, 0o660, 0o606, 0o610] {
        let error = Secret::load(&files.file("secret", SECRET, mode)).unwrap_err();
        assert!(error.to_string().contains("can be read by others"), "{mode:o}: {error}");
        says(&error.to_string(), &["chmod 600"]);
    }
    let error = Secret::load(&files.secret("short", "fifteen letters")).unwrap_err();
    says(&error.to_string(), &["has 15 bytes", "head -c 32 /dev/urandom"]);
    let error = Secret::load(&files.path().join("missing")).unwrap_err();
    says(&error.to_string(), &["missing", "No such file"]);
    let secret = Secret::load(&files.secret("good", SECRET)).unwrap();
    assert!(!format!("{secret:?}").contains("horse"));
    let mut text = String::new();
    std::fs::File::open(secret.file()).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, format!("{SECRET}\n"));
    Ok(())
}
