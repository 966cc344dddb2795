//! Builds that do not know each other's version.

use lab::connection::Credentials;
use model::control::CONTROL_VERSION;
use serde_json::{Value, json};

use crate::claims;
use crate::support::agent::Agent;
use crate::support::inside::loopback;
use crate::support::raw::{Raw, serve_once};
use crate::support::talk::{Controller, connect};
use crate::support::{Skip, says};

claims!(
    an_older_or_newer_controller_is_refused_and_both_versions_are_named,
    an_older_or_newer_agent_is_refused_and_both_versions_are_named,
    what_is_no_agent_is_said_to_be_none,
);

const OTHERS: [u32; 3] = [CONTROL_VERSION - 1, CONTROL_VERSION + 1, u32::MAX];

fn an_older_or_newer_controller_is_refused_and_both_versions_are_named() -> Result<(), Skip> {
    let agent = Agent::at(loopback());
    for version in OTHERS {
        let mut controller = Raw::connect(agent.address());
        // All but magic and version has another form there.
        controller.say(&json!({"magic": "nettoll", "version": version, "tool": "7.0", "nonce": {"other": 1}}));
        let refusal: Value = controller.hear();
        assert_eq!(refusal["version"], CONTROL_VERSION);
        let words = refusal["refused"].as_str().unwrap();
        says(words, &["nettoll 7.0", &format!("version {version} "), &format!("version {CONTROL_VERSION}:"), "install the same nettoll"]);
        assert_eq!(controller.rest(), b"");
        agent.logs(&format!("version {version} "));
    }
    assert!(agent.descendants().is_empty());
    Controller::connect(agent.address(), &Credentials::default()).unwrap();
    Ok(())
}

fn an_older_or_newer_agent_is_refused_and_both_versions_are_named() -> Result<(), Skip> {
    for version in OTHERS {
        for answer in [json!({"wants": ["other"]}), json!({"refused": "your version is unknown"}), json!({"refused": {"why": 1}})] {
            let mut answer = answer;
            answer["magic"] = "nettoll".into();
            answer["version"] = version.into();
            answer["tool"] = "7.0\u{7}".into();
            let (address, heard) = serve_once(loopback(), move |mut controller| {
                controller.hear::<Value>();
                controller.say(&answer);
                controller.rest()
            });
            let error = connect(address, &Credentials::default()).unwrap_err().to_string();
            says(&error, &["(nettoll 7.0?)", &format!("speaks version {version} "), &format!("with version {CONTROL_VERSION}:")]);
            says(&error, &["install the same nettoll"]);
            assert_eq!(heard.join().unwrap(), b"");
        }
    }
    Ok(())
}

fn what_is_no_agent_is_said_to_be_none() -> Result<(), Skip> {
    for (answer, words) in [
        (&b"SSH-2.0-OpenSSH_10.0\r\n"[..], "is announced; the longest has 4096"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "is announced; the longest has 4096"),
        (b"\0\0\0\x0b{\"a\": true}", "its first message is not ours (\"{\\\"a\\\": true}\")"),
        (b"", "closed the connection while its answer was awaited"),
    ] {
        let (address, heard) = serve_once(loopback(), move |mut controller| {
            controller.hear::<Value>();
            controller.send(answer);
            drop(controller);
        });
        let error = connect(address, &Credentials::default()).unwrap_err().to_string();
        says(&error, &[&address.to_string(), words]);
        heard.join().unwrap();
    }
    Ok(())
}
