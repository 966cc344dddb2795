//! Nothing is sent to an address that has not shown the cookie.

use std::time::Duration;

use super::roles::FORGE;
use super::support::{Agent, B, Net, cells, ended, secret};
use crate::support::tool::Tool;
use crate::support::{Skip, within};

crate::claims!(forged_datagrams_get_no_byte_back);

/// Bytes and packets that came to the forger's device.
fn came(net: &Net) -> (u64, u64) {
    let text = net.c.net("dev");
    let line = text.lines().find_map(|line| line.trim().strip_prefix("eth0:")).unwrap();
    let numbers: Vec<u64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    (numbers[0], numbers[1])
}

fn forged_datagrams_get_no_byte_back() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    // On the forger's link nothing speaks by itself, and the kernel of host b
    // does not answer for a port that nobody has open.
    let quiet =
        |device: &str| format!("sysctl -qw net.ipv6.conf.{device}.disable_ipv6=1; ip -br link show dev {device} | awk '{{print $3}}'");
    let (there, here) = (net.c.set(&quiet("eth0"))?, net.router.set(&quiet("to-c"))?);
    net.c.set(&format!("ip neigh replace 192.0.2.254 lladdr {} dev eth0 nud permanent", here.trim()))?;
    net.router.set(&format!("ip neigh replace 192.0.2.1 lladdr {} dev to-c nud permanent", there.trim()))?;
    net.b.set("ip rule add to 192.0.2.1 ipproto icmp blackhole")?;
    // Host a's own datagrams do not come, so that host b waits for them all the time that it may.
    net.router.set("ip rule add from 198.51.100.1 ipproto udp dport 11000 blackhole")?;
    let secret = secret(&tool);
    let agent = Agent::start(&net.b, &tool, &[&["--data-ports", "11000-11000"][..], &secret].concat());
    let before = came(&net);
    let forger = net.c.role(&tool, &[FORGE, &format!("{B}:11000")]);
    let taken = || net.b.counter("Udp", "InDatagrams");
    let arguments = [&["-c", B, "-u", "-t", "0.1", "-i", "0", "-J"][..], &secret].concat();
    let blocked = net.a.nettoll(&tool, &arguments).spawn().unwrap();
    within(Duration::from_secs(9), "thousands of forgeries come to the open port", || taken() > 1_000);
    let answer = ended(blocked);
    assert_eq!(answer.code, Some(1), "{answer:#?}");
    assert!(answer.stdout.contains("control works, data does not"), "{answer:#?}");
    assert_eq!(came(&net), before, "while host b waited for the cookie");
    // With them, and in spite of the forger, trials run.
    net.router.set("ip rule del from 198.51.100.1 ipproto udp dport 11000 blackhole")?;
    let host = format!("b={B}");
    let udp = cells(2, "[[cells]]\ntest = [\"UDP_STREAM\", \"UDP_RR\"]\nsize = 100\nrate = \"1000/s\"");
    let arguments = [&["--host", &host][..], &secret].concat();
    net.a.study(&tool, &udp, &arguments).done();
    assert_eq!(tool.stored().all_measured().len(), 4);
    assert_eq!(came(&net), before, "while trials ran");
    drop(forger);
    // The counter does count: an echo of the kernel is seen in it.
    let echo = std::net::Ipv4Addr::new(192, 0, 2, 254);
    net.c.role(&tool, &[FORGE, &format!("{echo}:9")]);
    within(Duration::from_secs(5), "a refusal of the router's kernel is counted", || came(&net) > before);
    agent.end();
    net.nothing_left(&[&tool]);
    Ok(())
}
