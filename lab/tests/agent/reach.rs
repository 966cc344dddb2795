//! Names, addresses and agents that are not there.

use std::time::{Duration, Instant};

use lab::connection::{ConnectError, Credentials};
use model::control::{FromHost, ToHost};
use model::plan::HostAddress;

use crate::claims;
use crate::support::agent::Agent;
use crate::support::files::{Files, SECRET, knows};
use crate::support::inside::{HERE, HERE_V6, LINK_LOCAL, NOBODY, TWOFOLD, here, need};
use crate::support::roles::AgentSpec;
use crate::support::talk::Controller;
use crate::support::{Skip, says};

claims!(
    a_name_with_two_addresses_is_tried_at_both,
    when_both_addresses_fail_both_are_said,
    a_name_that_means_nothing,
    nobody_listens_there,
    a_host_that_does_not_answer,
    a_link_local_address_keeps_its_scope,
);

fn to(text: &str) -> HostAddress {
    text.parse().unwrap()
}

fn connect(at: &str, credentials: &Credentials) -> Result<Controller, ConnectError> {
    lab::connection::connect("b", &to(at), credentials).map(Controller::greeted)
}

fn a_name_with_two_addresses_is_tried_at_both() -> Result<(), Skip> {
    need()?;
    let files = Files::new();
    let secret = files.secret("secret", SECRET);
    for address in [HERE, HERE_V6] {
        let listen = std::net::SocketAddr::new(address.parse().unwrap(), 0);
        let agent = Agent::start(&AgentSpec { listen: vec![listen], secret: Some(secret.clone()), ..AgentSpec::default() });
        // Whichever comes first: the agent is at one of them only.
        let controller = connect(&format!("{TWOFOLD}:{}", agent.address().port()), &knows(&secret)).unwrap();
        assert_eq!(controller.connected.peer, agent.address());
    }
    Ok(())
}

fn when_both_addresses_fail_both_are_said() -> Result<(), Skip> {
    need()?;
    let error = connect(&format!("{TWOFOLD}:9"), &Credentials::default()).unwrap_err();
    says(&error.to_string(), &["host b", &format!("{HERE}:9: "), &format!("[{HERE_V6}]:9: "), "refused", "; then "]);
    assert!(error.may_pass());
    Ok(())
}

fn a_name_that_means_nothing() -> Result<(), Skip> {
    need()?;
    let error = connect("nosuch.invalid", &Credentials::default()).unwrap_err();
    says(&error.to_string(), &["host b: look up 'nosuch.invalid'", "check the name"]);
    let error = connect("fe80::1%nosuch0", &Credentials::default()).unwrap_err();
    says(&error.to_string(), &["there is no device 'nosuch0' here"]);
    let error = connect("fe80::1", &Credentials::default()).unwrap_err();
    says(&error.to_string(), &["needs its device behind it"]);
    Ok(())
}

fn nobody_listens_there() -> Result<(), Skip> {
    let error = connect("127.0.0.1:9", &Credentials::default()).unwrap_err();
    says(&error.to_string(), &["no agent at 127.0.0.1:9", "Connection refused", "is `nettoll agent` running there"]);
    assert!(error.may_pass());
    Ok(())
}

fn a_host_that_does_not_answer() -> Result<(), Skip> {
    need()?;
    let begun = Instant::now();
    let error = connect(NOBODY, &Credentials::default()).unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(8));
    says(&error.to_string(), &["no answer for 5 s", "firewalls on the way"]);
    Ok(())
}

fn a_link_local_address_keeps_its_scope() -> Result<(), Skip> {
    here()?;
    let files = Files::new();
    let secret = files.secret("secret", SECRET);
    let listen = lab::connection::literal(LINK_LOCAL, 0).unwrap().unwrap();
    let agent = Agent::start(&AgentSpec { listen: vec![listen], secret: Some(secret.clone()), ..AgentSpec::default() });
    let mut controller = connect(&format!("[{LINK_LOCAL}]:{}", agent.address().port()), &knows(&secret)).unwrap();
    for address in [controller.connected.peer, controller.connected.local] {
        let std::net::SocketAddr::V6(address) = address else { panic!("{address}") };
        assert_ne!(address.scope_id(), 0, "{address}");
    }
    assert_eq!(controller.connected.peer, agent.address());
    controller.tell(&ToHost::Hello { version: model::control::CONTROL_VERSION });
    assert!(matches!(controller.hear(), Some(FromHost::Hello { .. })));
    Ok(())
}
