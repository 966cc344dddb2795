//! Whole studies between hosts with addresses of their own: nothing fails, and
//! every datagram is accounted for.

use model::Test;
use model::run::Status;
use serde_json::Value;

use super::support::{A, A_V6, Agent, B, B_V6, CELLS, Net, Place, cells, plan, secret};
use crate::conservation::assert_identity;
use crate::support::Skip;
use crate::support::tool::{Answer, Tool};

crate::claims!(
    two_agents_with_a_secret,
    two_agents_over_ipv6,
    two_agents_with_certificates,
    an_agent_and_this_machine,
    a_name_with_an_address_of_each_family,
    a_dry_run_reaches_the_agent_and_measures_nothing,
);

const BLOCKS: u32 = 2;

/// Runs the plan and holds everything that it stored against itself.
#[track_caller]
fn assert_whole(place: &Place, tool: &Tool, arguments: &[&str]) -> Value {
    let trials = CELLS * BLOCKS as usize;
    let analysis = place.study(tool, &plan(BLOCKS), &[arguments, &["-J"]].concat()).done().json();
    assert_eq!((&analysis["trials"], &analysis["failed"]), (&trials.into(), &0.into()), "{analysis:#}");
    assert_eq!(analysis["datagrams"]["unaccounted"], 0, "{:#}", analysis["datagrams"]);
    let stored = tool.stored();
    assert_eq!(stored.status(), Status::BlocksDone);
    let measured = stored.all_measured();
    assert_eq!(measured.len(), trials);
    for (record, measured) in &measured {
        // Each host is a namespace of its own: its counters hold this traffic alone.
        assert!(measured.apart && !measured.isolated, "{}", record.cell);
        assert!(measured.clock.is_some() && measured.control.is_some(), "{}", record.cell);
        if record.cell.test == Test::UdpStream {
            assert_identity(record, measured);
            assert!(measured.receiver.total.received > 0);
        }
    }
    // Half of the blocks are sent from the other end.
    assert_eq!(measured.iter().filter(|(record, _)| record.swapped).count() * 2, trials);
    analysis
}

fn two_agents_with_a_secret() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    let agents = [&net.a, &net.b].map(|place| Agent::start(place, &tool, &secret));
    let (a, b) = (format!("a={A}"), format!("b={B}"));
    assert_whole(&net.router, &tool, &[&["--host", &a, "--host", &b][..], &secret].concat());
    for agent in agents {
        agent.logs("admitted, not encrypted");
        agent.end();
    }
    net.nothing_left(&[&tool]);
    Ok(())
}

fn two_agents_over_ipv6() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    let agents = [&net.a, &net.b].map(|place| Agent::start(place, &tool, &secret));
    let (a, b) = (format!("a={A_V6}"), format!("b=[{B_V6}]:10984"));
    assert_whole(&net.router, &tool, &[&["-6", "--host", &a, "--host", &b][..], &secret].concat());
    agents.into_iter().for_each(Agent::end);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn two_agents_with_certificates() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    tool.run(&["certificates", "certs", A, B]).done();
    let agent = ["--tls-cert", "certs/agent.pem", "--tls-key", "certs/agent.key", "--tls-ca", "certs/ca.pem"];
    let controller = ["--tls-cert", "certs/controller.pem", "--tls-key", "certs/controller.key", "--tls-ca", "certs/ca.pem"];
    let agents = [&net.a, &net.b].map(|place| Agent::start(place, &tool, &agent));
    let (a, b) = (format!("a={A}"), format!("b={B}"));
    assert_whole(&net.router, &tool, &[&["--host", &a, "--host", &b][..], &controller].concat());
    for agent in agents {
        agent.logs("admitted, encrypted with TLS13_");
        agent.end();
    }
    net.nothing_left(&[&tool]);
    Ok(())
}

fn an_agent_and_this_machine() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    let agent = Agent::start(&net.b, &tool, &secret);
    for (host, family) in [(format!("b={B}"), "-4"), (format!("b={B_V6}"), "-6")] {
        assert_whole(&net.a, &tool, &[&[family, "--host", &host][..], &secret].concat());
    }
    agent.end();
    net.nothing_left(&[&tool]);
    Ok(())
}

/// A name server of its own, as far as a file is one.
fn a_name_with_an_address_of_each_family() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    tool.write("hosts", &format!("127.0.0.1 localhost\n{B} both.test\n{B_V6} both.test\n"));
    tool.write("plan.toml", &cells(1, "[[cells]]\ntest = [\"UDP_RR\", \"TCP_RR\"]\nfamily = [\"ipv4\", \"ipv6\"]\nsize = 64"));
    let script = "mount --bind hosts /etc/hosts && exec $NETTOLL study --plan plan.toml --host b=both.test --secret-file secret -J";
    let study = || -> Answer { net.a.program(&tool, "unshare".as_ref(), &["-m", "sh", "-c", script]).output().unwrap().into() };
    let answer = study();
    if answer.stderr.contains("mount:") {
        return Err(Skip(format!("a file of host names of its own cannot be had here: {}", answer.stderr.trim())));
    }
    let addresses = [format!("{B}:10984: "), format!("[{B_V6}]:10984: ")];
    answer.refused_in_json(1, &["host b: no agent at both.test", &addresses[0], &addresses[1], "; then ", "Connection refused"]);
    // The agent is at one of them only, the messages take both.
    for listen in [B, B_V6] {
        let agent = Agent::start(&net.b, &tool, &[&["--listen", listen][..], &secret].concat());
        assert_eq!(study().done().json()["failed"], 0);
        assert_eq!(tool.stored().all_measured().len(), 4);
        agent.end();
    }
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_dry_run_reaches_the_agent_and_measures_nothing() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    let host = format!("b={B}");
    let dry = || net.a.study(&tool, &plan(BLOCKS), &[&["--dry-run", "--host", &host][..], &secret].concat());
    dry().refused(1, &["host b", B]);
    let agent = Agent::start(&net.b, &tool, &secret);
    let answer = dry().done();
    for words in [B, "6 trials", "UDP_STREAM", "TCP_STREAM", "TCP_RR"] {
        answer.says(words);
    }
    agent.end();
    assert!(tool.try_stored().is_none());
    Ok(())
}
