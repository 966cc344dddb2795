//! Paths that let the control connection through and not what is measured, and
//! hosts that run out of ports.

use model::run::Status;

use super::support::{Agent, B, Net, PORT, ROUTER, cells, says, secret};
use crate::support::Skip;
use crate::support::tool::Tool;

crate::claims!(
    a_firewall_that_drops_data_but_not_control,
    an_mtu_black_hole_of_data,
    an_mtu_black_hole_of_control,
    ports_that_run_out,
    a_link_local_address_with_its_device,
);

/// Runs these cells, of which none can be measured, and returns what is said.
fn nothing_works(net: &Net, tool: &Tool, at: &str, what: &str, arguments: &[&str]) -> (String, Vec<String>) {
    let secret = secret(tool);
    let agent = Agent::start(&net.b, tool, &secret);
    let host = format!("b={at}");
    let answer = net.a.study(tool, &cells(1, what), &[&["--host", &host], arguments, &secret[..]].concat());
    assert_eq!(answer.code, Some(1), "{answer:#?}");
    let stored = tool.stored();
    assert!(matches!(stored.status(), Status::Failed { .. }));
    agent.end();
    (answer.stderr, stored.errors())
}

fn a_firewall_that_drops_data_but_not_control() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    net.router.set("ip rule add ipproto udp dport 11000 blackhole")?;
    let (stderr, errors) = nothing_works(&net, &tool, B, "[[cells]]\ntest = \"UDP_STREAM\"\nsize = 100", &["--data-port", "11000"]);
    says(&stderr, &["every trial of a block failed", "control works, data does not"]);
    assert_eq!(errors.len(), 1);
    says(&errors[0], &["cookie", "within 10 s", "does a firewall between the hosts let UDP port 11000 through?"]);
    net.nothing_left(&[&tool]);
    Ok(())
}

/// The router's links are narrower than those of the hosts, and it does not say
/// so: it drops what is too large, both ways.
fn make_black_hole(net: &Net) -> Result<(), Skip> {
    net.router.set("ip link set to-a mtu 1000; ip link set to-b mtu 1000; ip rule add ipproto icmp blackhole").map(drop)
}

/// The control connection is told the way's real MTU, what is measured is not.
fn an_mtu_black_hole_of_data() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    make_black_hole(&net)?;
    net.b.set("ip addr add 203.0.113.2/24 dev eth0")?;
    net.a.set(&format!("ip route add {B}/32 via {ROUTER} mtu lock 900"))?;
    let data = format!("{B},data=203.0.113.2");
    let what = "[[cells]]\ntest = \"TCP_STREAM\"\nsize = 16384";
    let (stderr, errors) = nothing_works(&net, &tool, &data, what, &["-t", "300ms"]);
    says(&stderr, &["every trial of a block failed"]);
    says(&errors[0], &["the connection stands but no data arrives", "an MTU black hole", "lower the MTU of the link"]);
    // What is small comes through.
    let secret = secret(&tool);
    let agent = Agent::start(&net.b, &tool, &secret);
    let host = format!("b={data}");
    let small = cells(1, "[[cells]]\ntest = [\"TCP_RR\", \"UDP_RR\"]\nsize = 64");
    net.a.study(&tool, &small, &[&["--host", &host][..], &secret].concat()).done();
    assert_eq!(tool.stored().all_measured().len(), 2);
    agent.end();
    net.nothing_left(&[&tool]);
    Ok(())
}

/// The greeting comes through, what the agent says later does not.
fn an_mtu_black_hole_of_control() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    make_black_hole(&net)?;
    let secret = secret(&tool);
    let agent = Agent::start(&net.b, &tool, &secret);
    let host = format!("b={B}");
    let answer = net.a.study(&tool, &cells(1, "[[cells]]\ntest = \"TCP_RR\"\nsize = 64"), &[&["--host", &host][..], &secret].concat());
    answer.refused(1, &["host b: the agent at", "nothing came from it for ", "the path drops what is large (an MTU black hole)"]);
    agent.end();
    net.nothing_left(&[&tool]);
    Ok(())
}

fn ports_that_run_out() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    net.a.set("sysctl -qw net.ipv4.ip_local_port_range='40000 40063' net.ipv4.tcp_tw_reuse=0")?;
    let secret = secret(&tool);
    let agent = Agent::start(&net.b, &tool, &secret);
    let arguments = [&["-c", B, "--test", "TCP_CRR", "-t", "2", "-i", "0"][..], &secret].concat();
    let answer = net.a.run(&tool, &arguments);
    assert_eq!(answer.code, Some(1), "{answer:#?}");
    let words = [
        "endpoint on host a: ",
        "connections no local port is left",
        "TIME_WAIT",
        "widen net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_tw_reuse=1",
        "a lower rate",
    ];
    says(&answer.stderr, &words);
    agent.end();
    net.nothing_left(&[&tool]);
    Ok(())
}

/// The router's end of the link is known as `fe80::fe` behind every device of
/// host `a`; only the scope tells which.
fn a_link_local_address_with_its_device() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    let agent = Agent::start(&net.router, &tool, &[&["--listen", "fe80::fe%to-a"][..], &secret].concat());
    let study = |host: &str| {
        let arguments = [&["--host", host, "-J"][..], &secret].concat();
        net.a.study(&tool, &cells(1, "[[cells]]\ntest = [\"UDP_RR\", \"TCP_STREAM\"]\nfamily = \"ipv6\"\nsize = 64"), &arguments)
    };
    let analysis = study(&format!("b=[fe80::fe%eth0]:{PORT}")).done().json();
    assert_eq!((&analysis["trials"], &analysis["failed"]), (&2.into(), &0.into()));
    study("b=fe80::fe%eth7").refused_in_json(1, &["host b: look up 'fe80::fe%eth7'", "there is no device 'eth7' here", "see `ip link`"]);
    study("b=fe80::fe").refused_in_json(1, &["a link-local address needs its device behind it, such as fe80::fe%eth0"]);
    agent.end();
    net.nothing_left(&[&tool]);
    Ok(())
}
