//! Certificates.

use std::path::Path;
use std::time::{Duration, SystemTime};

use lab::connection::{Credentials, TlsFiles, make_certificates};
use model::control::{FromHost, ToHost};

use crate::claims;
use crate::support::agent::Agent;
use crate::support::files::{Files, SECRET, holds};
use crate::support::inside::{HERE, here, loopback};
use crate::support::raw::record;
use crate::support::roles::AgentSpec;
use crate::support::talk::{Controller, connect};
use crate::support::{Skip, says};

claims!(
    certificates_let_in_and_encrypt,
    certificates_and_a_secret_hold_together,
    a_controller_of_another_authority_is_refused_and_both_say_so,
    an_agent_for_another_name_is_refused,
    an_expired_certificate_is_refused_at_either_end,
    a_controller_without_a_certificate_is_refused,
    an_agents_certificate_does_not_make_a_controller,
    an_agent_without_a_certificate_says_so,
    files_that_do_not_fit_are_named,
    nothing_is_overwritten,
);

fn agent(files: &Files, set: &str, secret: Option<&str>) -> Result<Agent, Skip> {
    let secret = secret.map(|text| files.secret("secret", text));
    Ok(Agent::start(&AgentSpec { listen: vec![here()?], tls: Some(files.path().join(set)), secret, ..AgentSpec::default() }))
}

/// A set for this namespace's address.
fn make(files: &Files, set: &str) {
    make_certificates(&files.path().join(set), &[HERE.to_owned()], SystemTime::now()).unwrap();
}

fn certificates_let_in_and_encrypt() -> Result<(), Skip> {
    let files = Files::new();
    make(&files, "set");
    let agent = agent(&files, "set", None)?;
    let (proxy, said) = record(agent.address());
    let mut controller = Controller::connect(proxy, &holds(&files.tls("set", "controller"))).unwrap();
    assert!(controller.connected.cipher.as_ref().is_some_and(|cipher| cipher.starts_with("TLS13_")), "{controller:?}");
    assert!(matches!(controller.ask(&ToHost::Clock), FromHost::Clock { .. }));
    agent.logs("admitted, encrypted with TLS13_");
    drop(controller);
    let (forth, back) = said.join().unwrap();
    for bytes in [forth, back] {
        assert!(bytes.len() > 500);
        for word in ["nettoll", "hello", "clock"] {
            assert!(!bytes.windows(word.len()).any(|window| window == word.as_bytes()), "'{word}' can be read on the way");
        }
    }
    Ok(())
}

fn certificates_and_a_secret_hold_together() -> Result<(), Skip> {
    let files = Files::new();
    make(&files, "set");
    let agent = agent(&files, "set", Some(SECRET))?;
    let tls = files.tls("set", "controller");
    let both = |secret: &str| Credentials::load(Some(&files.secret("mine", secret)), Some(&tls)).unwrap();
    Controller::connect(agent.address(), &both(SECRET)).unwrap();
    says(&connect(agent.address(), &both("another secret of theirs")).unwrap_err().to_string(), &["does not know the agent's secret"]);
    says(&connect(agent.address(), &holds(&tls)).unwrap_err().to_string(), &["asks for its secret"]);
    Ok(())
}

fn a_controller_of_another_authority_is_refused_and_both_say_so() -> Result<(), Skip> {
    let files = Files::new();
    make(&files, "ours");
    make(&files, "theirs");
    let agent = agent(&files, "ours", None)?;
    let theirs = files.tls("theirs", "controller");
    // It does not know the agent's authority.
    let error = connect(agent.address(), &holds(&theirs)).unwrap_err().to_string();
    says(&error, &["the agent's certificate does not come from the authority in", "theirs/ca.pem"]);
    agent.logs("the controller refuses the certificate in");
    // It does, but its own certificate comes from another.
    let error = connect(agent.address(), &holds(&TlsFiles { ca: files.tls("ours", "agent").ca, ..theirs })).unwrap_err().to_string();
    says(&error, &["the agent refuses the certificate in", "theirs/controller.pem", "its authority is unknown there"]);
    agent.logs("the controller's certificate does not come from the authority in");
    Ok(())
}

fn an_agent_for_another_name_is_refused() -> Result<(), Skip> {
    let files = Files::new();
    make_certificates(&files.path().join("set"), &["db1.example".to_owned()], SystemTime::now()).unwrap();
    let agent = agent(&files, "set", None)?;
    let error = connect(agent.address(), &holds(&files.tls("set", "controller"))).unwrap_err().to_string();
    says(&error, &["the agent's certificate is for another host", HERE, "db1.example"]);
    Ok(())
}

fn an_expired_certificate_is_refused_at_either_end() -> Result<(), Skip> {
    let files = Files::new();
    make(&files, "new");
    let old = SystemTime::now() - Duration::from_secs(3 * 365 * 24 * 3_600);
    make_certificates(&files.path().join("old"), &[HERE.to_owned()], old).unwrap();
    {
        let agent = agent(&files, "old", None)?;
        let error = connect(agent.address(), &holds(&files.tls("old", "controller"))).unwrap_err().to_string();
        says(&error, &["the agent's certificate has expired", "make a new one"]);
        agent.logs("the controller refuses the certificate in");
    }
    // The agent's is new, but it trusts the old authority, and the other way about.
    std::fs::copy(files.path().join("new/ca.pem"), files.path().join("new.pem")).unwrap();
    std::fs::copy(files.path().join("old/ca.pem"), files.path().join("new/ca.pem")).unwrap();
    let agent = agent(&files, "new", None)?;
    let controller = TlsFiles { ca: files.path().join("new.pem"), ..files.tls("old", "controller") };
    let error = connect(agent.address(), &holds(&controller)).unwrap_err().to_string();
    says(&error, &["the agent refuses the certificate in", "controller.pem", "it has expired"]);
    agent.logs("the controller's certificate has expired");
    Ok(())
}

fn a_controller_without_a_certificate_is_refused() -> Result<(), Skip> {
    let files = Files::new();
    make(&files, "set");
    let agent = agent(&files, "set", None)?;
    let error = connect(agent.address(), &Credentials::default()).unwrap_err().to_string();
    says(&error, &["holders of a certificate only", "--tls-cert"]);
    // One that speaks TLS, but shows nothing.
    let error = bare_tls(agent.address(), &files.tls("set", "agent").ca);
    says(&error, &["CertificateRequired"]);
    agent.logs("the controller showed no certificate");
    assert!(agent.descendants().is_empty());
    Ok(())
}

/// How a TLS client without a certificate fares.
fn bare_tls(agent: std::net::SocketAddr, ca: &Path) -> String {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    use std::io::Read;

    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca).unwrap()).unwrap();
    let config = rustls::ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = rustls::pki_types::ServerName::IpAddress(agent.ip().into());
    let client = rustls::ClientConnection::new(config.into(), name).unwrap();
    let mut stream = rustls::StreamOwned::new(client, std::net::TcpStream::connect(agent).unwrap());
    stream.read(&mut [0; 1]).unwrap_err().to_string()
}

fn an_agents_certificate_does_not_make_a_controller() -> Result<(), Skip> {
    let files = Files::new();
    make(&files, "set");
    let agent = agent(&files, "set", None)?;
    let error = connect(agent.address(), &holds(&files.tls("set", "agent"))).unwrap_err().to_string();
    says(&error, &["the agent refuses the certificate in", "agent.pem"]);
    agent.logs("the controller's certificate is for another purpose");
    Ok(())
}

fn an_agent_without_a_certificate_says_so() -> Result<(), Skip> {
    let files = Files::new();
    make(&files, "set");
    let agent = Agent::at(loopback());
    let error = connect(agent.address(), &holds(&files.tls("set", "controller"))).unwrap_err().to_string();
    says(&error, &["the agent does not speak TLS here", "certificate"]);
    agent.logs("it speaks TLS, and this agent was given no certificate");
    Ok(())
}

fn files_that_do_not_fit_are_named() -> Result<(), Skip> {
    let files = Files::new();
    make(&files, "one");
    make(&files, "two");
    let good = files.tls("one", "agent");
    let load = |files: TlsFiles| Credentials::load(None, Some(&files)).unwrap_err().to_string();
    says(&load(TlsFiles { key: files.tls("two", "agent").key, ..good.clone() }), &["one/agent.pem", "two/agent.key", "do not serve"]);
    says(&load(TlsFiles { key: good.cert.clone(), ..good.clone() }), &["agent.pem", "no key in PEM"]);
    says(&load(TlsFiles { cert: good.key.clone(), ..good.clone() }), &["agent.key", "no certificate in PEM"]);
    says(&load(TlsFiles { ca: files.path().join("none"), ..good.clone() }), &["none", "No such file"]);
    let exposed = files.file("exposed", &std::fs::read_to_string(&good.key).unwrap(), 0o644);
    says(&load(TlsFiles { key: exposed, ..good }), &["can be read by others", "chmod 600"]);
    Ok(())
}

fn nothing_is_overwritten() -> Result<(), Skip> {
    let files = Files::new();
    make(&files, "set");
    let before = std::fs::read(files.path().join("set/ca.key")).unwrap();
    let error = make_certificates(&files.path().join("set"), &[], SystemTime::now()).unwrap_err().to_string();
    says(&error, &["ca.pem", "nothing is overwritten"]);
    assert_eq!(std::fs::read(files.path().join("set/ca.key")).unwrap(), before);
    let error = make_certificates(&files.path().join("new"), &["a b".to_owned()], SystemTime::now()).unwrap_err().to_string();
    says(&error, &["'a b' is no name of a host"]);
    assert!(!files.path().join("new").exists());
    Ok(())
}
