//! Whole studies between hosts with addresses of their own: nothing fails, and
//! every datagram is accounted for.

use model::Test;
use model::run::Status;
use serde_json::Value;

use super::support::{A, A_V6, Agent, B, B_V6, CELLS, Net, Place, plan, secret};
use crate::conservation::assert_identity;
use crate::support::Skip;
use crate::support::tool::Tool;

crate::claims!(
    two_agents_with_a_secret,
    two_agents_over_ipv6,
    two_agents_with_certificates,
    an_agent_and_this_machine,
    a_dry_run_needs_no_agent,
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

fn a_dry_run_needs_no_agent() -> Result<(), Skip> {
    let tool = Tool::new();
    let secret = secret(&tool);
    let host = format!("b={B}");
    let answer = tool.study(&plan(BLOCKS), &[&["--dry-run", "--host", &host][..], &secret].concat()).done();
    for words in [B, "6 trials", "UDP_STREAM", "TCP_STREAM", "TCP_RR"] {
        answer.says(words);
    }
    assert!(tool.try_stored().is_none());
    Ok(())
}
