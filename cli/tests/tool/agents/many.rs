//! Agents that send to one at once, and one that sends to several.

use model::trial::{Measured, PeerOutcome, Windows};
use model::{Role, Test, TrialRecord, Warning};

use super::support::{A, A_V6, Agent, B, Net, PORT, ended, has_trials, says, secret};
use crate::support::tool::Tool;
use crate::support::{Skip, need_programs};

crate::claims!(
    three_machines_share_the_way_to_one,
    one_machine_sends_to_two,
    a_machine_that_dies_is_missing_and_the_others_are_kept,
    what_many_machines_cannot_do_is_said_in_a_line,
);

/// The third host.
pub const C: &str = "192.0.2.1";
/// The router's own address towards host b.
pub const R: &str = "203.0.113.254";
/// Data of all senders to host b, in Mbit/s; agents are spoken to over a class of their own.
const LIMIT: f64 = 50.0;

pub fn plan(blocks: u32, cells: &str) -> String {
    format!(
        "name = \"many\"\nseed = 7\ntrial = {{ length = \"400ms\", warmup = \"100ms\" }}\nblocks = {{ least = {blocks}, most = {blocks} }}\n{cells}"
    )
}

/// Agents of hosts a, c and the router, which send, and of b, which serves so many at once.
pub fn agents(net: &Net, tool: &Tool, at_once: &str) -> [Agent; 4] {
    let secret = secret(tool);
    let sender = |place| Agent::start(place, tool, &secret);
    [sender(&net.a), sender(&net.c), sender(&net.router), Agent::start(&net.b, tool, &[&secret[..], &["--at-once", at_once]].concat())]
}

pub fn hosts() -> Vec<String> {
    [("a", A), ("a2", C), ("a3", R), ("b", B)].into_iter().flat_map(|(name, at)| ["--host".to_owned(), format!("{name}={at}")]).collect()
}

/// Each machine has its own line, and what they say together is what the trial has.
#[track_caller]
pub fn assert_whole(record: &TrialRecord, measured: &Measured, many: Role) {
    let hosts = record.cell_as_run().hosts(many) as usize;
    let counts: Vec<_> = measured.peers.iter().map(|peer| *peer.counts().unwrap()).collect();
    assert_eq!(counts.len(), if hosts > 1 { hosts } else { 0 }, "{}", record.cell);
    if hosts == 1 {
        return;
    }
    let sum = |of: fn(&model::trial::PeerCounts) -> u64| counts.iter().map(of).sum::<u64>();
    assert_eq!(sum(|one| one.bytes), measured.receiver.counts.in_window().bytes);
    assert_eq!((sum(|one| one.sent), sum(|one| one.arrived)), (measured.sender.total.messages, measured.receiver.total.messages));
    assert_eq!((measured.receiver.flows.len(), measured.sender.flows.len()), (hosts, hosts));
    assert_eq!(measured.receiver.threads.len(), hosts);
    assert!(counts.iter().all(|one| one.bytes > 0 && one.cpu_time.sum().get() > 0), "{counts:?}");
    let Some(windows) = measured.windows else { return };
    let overlap = measured.peers_overlap().unwrap();
    let doubted = record.warnings.iter().any(|one| matches!(one, Warning::WindowsApart { .. } | Warning::WindowCut { .. }));
    assert!(overlap >= Windows::LEAST || doubted, "{overlap}: {windows:?}");
    // Those at the shared host are not strangers to each other.
    assert!(!record.warnings.iter().any(|one| matches!(one, Warning::SharedHost { .. })), "{:?}", record.warnings);
}

fn three_machines_share_the_way_to_one() -> Result<(), Skip> {
    need_programs(&["tc"])?;
    let (net, tool) = (Net::new()?, Tool::new());
    net.router.set(&format!(
        "tc qdisc add dev to-b root handle 1: htb default 10
         tc class add dev to-b parent 1: classid 1:10 htb rate {LIMIT}mbit burst 3000 cburst 3000
         tc qdisc add dev to-b parent 1:10 handle 10: bfifo limit 64K
         tc class add dev to-b parent 1: classid 1:20 htb rate 8gbit quantum 60000
         tc filter add dev to-b parent 1: protocol ip prio 1 u32 match ip dport {PORT} 0xffff flowid 1:20
         tc filter add dev to-b parent 1: protocol ip prio 1 u32 match ip sport {PORT} 0xffff flowid 1:20"
    ))?;
    let agents = agents(&net, &tool, "3");
    let hosts = hosts();
    let arguments: Vec<&str> = hosts.iter().map(String::as_str).chain(secret(&tool)).chain(["-J"]).collect();
    let metric = |analysis: &serde_json::Value, senders: u64, metric: &str| {
        let cells = analysis["cells"].as_array().unwrap();
        let at = |cell: &&serde_json::Value| cell["cell"]["conditions"]["senders"].as_u64().unwrap_or(1) == senders;
        cells.iter().find(at).unwrap()["metrics"][metric]["value"].as_f64()
    };
    // 41 Mbit/s each, with headers more than a third of the way.
    let udp = "[[cells]]\ntest = \"UDP_STREAM\"\nsize = 1024\nrate = \"5000/s\"\nsenders = [1, 3]\n";
    let analysis = net.c.study(&tool, &plan(2, udp), &arguments).done().json();
    let (mut lost, mut trials) = (0, 0);
    for (record, measured) in tool.stored().all_measured() {
        assert_whole(&record, &measured, Role::Sender);
        lost += measured.sender.total.messages - measured.receiver.total.messages;
        trials += 1;
        // The router's own datagrams are dropped before they leave it.
        let udp = measured.sender_host.udp;
        assert!(udp.out_datagrams + udp.sndbuf_errors >= measured.sender.total.messages, "the counters of all senders: {udp:?}");
        assert!(measured.receiver_host.udp.in_datagrams < measured.receiver.total.messages * 3 / 2, "host b is counted once");
    }
    assert_eq!(trials, 4);
    // What did not arrive stands in the counters of the router's queue and of host b.
    let dropped = net.router.set("tc -s qdisc show dev to-b | grep -A1 bfifo | grep -o 'dropped [0-9]*' | cut -d' ' -f2")?;
    assert_eq!(lost, dropped.trim().parse::<u64>().unwrap() + net.b.counter("Udp", "RcvbufErrors"));
    assert!(lost > 0);
    let goodput = metric(&analysis, 3, "goodput_bit_per_s").unwrap();
    assert!(goodput > 0.5e6 * LIMIT && goodput <= LIMIT * 1e6 * 1.02, "{goodput}");
    let fairness = metric(&analysis, 3, "fairness_index").unwrap();
    assert!((1.0 / 3.0 - 1e-9..=1.0).contains(&fairness), "{fairness}");
    let of_cell = &analysis["peers"][0];
    let named: Vec<&str> = of_cell["hosts"].as_array().unwrap().iter().map(|host| host["host"].as_str().unwrap()).collect();
    assert_eq!(named, ["a", "a2", "a3"], "{of_cell:#}");
    assert!(of_cell["least_overlap_share"].is_f64());
    // A stream by time, and bursts: no byte is lost, and the last comes no sooner than the limit allows.
    let tcp = "[[cells]]\ntest = \"TCP_STREAM\"\nsize = \"16K\"\nsenders = 3\n\
               [[cells]]\ntest = \"TCP_STREAM\"\nsize = \"16K\"\ncount = 16\nnodelay = true\nsenders = 3\n";
    let answer = net.c.study(&tool, &plan(2, tcp), &arguments).done().json();
    for (record, measured) in tool.stored().all_measured() {
        assert_whole(&record, &measured, Role::Sender);
        assert_eq!(measured.sender.total.bytes, measured.receiver.total.bytes);
        if record.cell.count.is_some() {
            let bytes = 3 * 16 * (16 << 10);
            assert_eq!(measured.receiver.counts.bytes, bytes);
            let error = measured.clock.unwrap().error_ns as f64 / 1e9;
            let completion = measured.receiver.window.end.since(measured.sender.window.start).as_secs_f64() + error;
            let least = bytes as f64 * 8.0 / (LIMIT * 1e6);
            assert!(completion >= least, "{completion} s of at least {least} s");
        }
    }
    let cells = answer["cells"].as_array().unwrap();
    assert!(cells[0]["metrics"]["goodput_bit_per_s"]["value"].as_f64().unwrap() <= LIMIT * 1e6 * 1.02);
    let [all_arrived, half] = ["completion_ns", "flow_completion_ns"].map(|name| cells[1]["metrics"][name]["value"].as_f64());
    // On a machine that keeps the control connections waiting the error of the clocks may be too large for them.
    assert!(all_arrived.is_none() || half.is_none() || half <= all_arrived, "{half:?} of {all_arrived:?}");
    agents.into_iter().for_each(Agent::end);
    net.nothing_left(&[&tool]);
    Ok(())
}

/// The sender's agent serves both receivers' trials; the preset is fitted to the machines.
fn one_machine_sends_to_two() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    let hub = Agent::start(&net.b, &tool, &[&secret[..], &["--at-once", "2"]].concat());
    let others = [&net.a, &net.c].map(|place| Agent::start(place, &tool, &secret));
    let named = [format!("a={B}"), format!("b={A}"), format!("b2={C}")];
    let arguments: Vec<&str> =
        named.iter().flat_map(|host| ["--host", host.as_str()]).chain(secret).chain(["--blocks", "2", "-v"]).collect();
    let answer = net.router.run(&tool, &[&["study", "incast"][..], &arguments].concat()).done();
    let all = tool.stored().all_measured();
    assert_eq!(all.len(), 2);
    for (record, measured) in all {
        assert_eq!((record.cell.test, record.cell.conditions.receivers, record.swapped), (Test::TcpStream, 2, false));
        assert_whole(&record, &measured, Role::Receiver);
    }
    answer.says("Machines at once");
    // Facts of all hosts are kept.
    assert!(tool.stored().has("hosts/b2.json"));
    others.into_iter().chain([hub]).for_each(Agent::end);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_machine_that_dies_is_missing_and_the_others_are_kept() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let [a, c, router, b] = agents(&net, &tool, "3");
    let hosts = hosts();
    let arguments: Vec<&str> = hosts.iter().map(String::as_str).chain(secret(&tool)).chain(["-v"]).collect();
    let cells = "[[cells]]\ntest = \"TCP_STREAM\"\nsize = \"16K\"\nsenders = 3\n";
    let study = net.c.start_study(&tool, &plan(6, cells), &arguments);
    has_trials(&tool, 2);
    // Its own host is the controller's, whose session goes on with the others.
    a.kill();
    let answer = ended(study).done();
    let all = tool.stored().all_measured();
    assert_eq!(all.len(), 6);
    let missing = |measured: &Measured| {
        let of = |peer: &model::trial::Peer| matches!(peer.outcome, PeerOutcome::Missing { .. }).then(|| peer.host.clone());
        measured.peers.iter().filter_map(of).collect::<Vec<_>>()
    };
    assert!(
        missing(&all[0].1).is_empty() && missing(&all[5].1) == ["a"],
        "{:?}",
        all.iter().map(|(_, one)| missing(one)).collect::<Vec<_>>()
    );
    for (record, measured) in &all {
        let said = record.warnings.iter().any(|one| matches!(one, Warning::MissingHosts { hosts, .. } if hosts == "a"));
        assert_eq!(said, !missing(measured).is_empty());
        assert_eq!(measured.receiver.flows.len(), 3 - missing(measured).len());
    }
    answer.says("Host a was missing");
    answer.says("Do not use figures of TCP_STREAM");
    [c, router, b].into_iter().for_each(Agent::end);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn what_many_machines_cannot_do_is_said_in_a_line() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let [a, c, router, b] = agents(&net, &tool, "2");
    let secret = secret(&tool);
    let study = |named: &[(&str, &str)], cells: &str| {
        let hosts: Vec<String> = named.iter().map(|(name, at)| format!("{name}={at}")).collect();
        let arguments: Vec<&str> = hosts.iter().flat_map(|host| ["--host", host.as_str()]).chain(secret).collect();
        net.c.study(&tool, &plan(1, &format!("[[cells]]\ntest = \"TCP_STREAM\"\nsize = 64\n{cells}")), &arguments)
    };
    let three = [("a", A), ("a2", C), ("a3", R), ("b", B)];
    study(&three, "senders = 3").refused(1, &["host b serves 2 at once, and 3 are asked for", "--at-once 3"]);
    study(&three, "senders = 2").done();
    study(&[("a", B), ("b", A), ("b2", C)], "receivers = 3").refused(2, &["2 hosts are named at that side", "--host b3=PLACE"]);
    study(&[("a", R), ("b", A), ("b2", C)], "receivers = 2").refused(1, &["host a serves 1 at once", "--at-once 2"]);
    study(&[("a", A), ("a2", "192.0.2.1:7"), ("b", B)], "senders = 2")
        .refused(1, &["host a2: no agent at 192.0.2.1:7", "Connection refused"]);
    study(&[("a", A), ("a2", A), ("b", B)], "senders = 2").refused(2, &["hosts a and a2: both are the same place"]);
    let v6 = format!("[{A_V6}]:{PORT},data={A}");
    study(&[("a", A), ("a2", &v6), ("b", B)], "senders = 2").refused(1, &["hosts a and a2 are one agent", "name another machine"]);
    study(&[("a", A), ("a", C), ("b", B)], "senders = 2").refused(2, &["host a is given twice", "a2"]);
    let refused = study(&three, "senders = 3");
    assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{}", refused.stderr);
    says(&refused.stderr, &["start the agent there with"]);
    [a, c, router, b].into_iter().for_each(Agent::end);
    net.nothing_left(&[&tool]);
    Ok(())
}
