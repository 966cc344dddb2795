//! Control connections over paths that lose, delay or starve them: slower, but
//! whole.

use std::path::Path;
use std::time::Duration;

use model::run::Status;

use super::roles::RELAY;
use super::support::{A, Agent, B, CELLS, Net, PORT, ROUTER, plan, says, secret};
use crate::support::tool::Tool;
use crate::support::{Skip, need_programs};

crate::claims!(
    a_lossy_control_path,
    a_control_path_with_a_delay,
    a_control_path_of_a_few_bytes_a_second,
    datagrams_on_their_way_are_not_lost,
);

const BLOCKS: u32 = 2;

fn a_lossy_control_path() -> Result<(), Skip> {
    need_programs(&["nft"])?;
    let (net, tool) = (Net::new()?, Tool::new());
    let rule = |end: &str| format!("nft 'add rule inet lossy forward tcp {end} {PORT} numgen random mod 100 < 5 counter drop'");
    net.router.set(&format!(
        "nft 'add table inet lossy'
         nft 'add chain inet lossy forward {{ type filter hook forward priority 0; }}'
         {}
         {}",
        rule("sport"),
        rule("dport")
    ))?;
    let secret = secret(&tool);
    let agent = Agent::start(&net.b, &tool, &secret);
    let host = format!("b={B}");
    // Longer than a lost message takes to be sent again (200 ms): otherwise an end
    // that is told late to begin finds the other's window over.
    let arguments = [&["-t", "400ms", "--on-loss", "go-on", "--host", &host][..], &secret].concat();
    let answer = net.a.study(&tool, &plan(3), &arguments).done();
    let stored = tool.stored();
    assert_eq!(stored.trials().len(), CELLS * 3, "{}", answer.stderr);
    assert_eq!(stored.status(), Status::BlocksDone);
    // What is lost again and again may be taken for the agent's death, or come too late.
    let errors = stored.errors();
    let expected = |error: &String| error.contains("was lost") || error.contains("in the measured part");
    assert!(errors.len() <= 2 && errors.iter().all(expected), "{errors:?}");
    if !errors.is_empty() {
        answer.says(&format!("{} trials measured, {} failed", CELLS * 3 - errors.len(), errors.len()));
    }
    let dropped = net.router.set("nft list table inet lossy | grep -c 'counter packets [1-9]' || true")?;
    assert_eq!(dropped.trim(), "2", "both ways were to be lossy");
    // The last word of a connection that has been closed is to come through, or
    // the kernel keeps it, and its namespace, for minutes.
    net.router.set("nft delete table inet lossy")?;
    agent.end();
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_control_path_with_a_delay() -> Result<(), Skip> {
    const DELAY: Duration = Duration::from_millis(40);
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    let agent = Agent::start(&net.b, &tool, &secret);
    let delay = DELAY.as_millis().to_string();
    let relay = net.router.role(&tool, &[RELAY, &format!("{ROUTER}:{PORT}"), &format!("{B}:{PORT}"), &delay]);
    // The connection goes to the relay, the messages to the host itself.
    let host = format!("b={ROUTER},data={B}");
    let answer = net.a.study(&tool, &plan(BLOCKS), &[&["--host", &host][..], &secret].concat()).done();
    says(&answer.stderr, &["the hosts are 8", "ms away; what a trial sent is waited for up to 3"]);
    let measured = tool.stored().all_measured();
    assert_eq!(measured.len(), CELLS * BLOCKS as usize);
    for (record, measured) in measured {
        let control = measured.control.unwrap();
        assert!(Duration::from(control.rtt) >= DELAY * 2, "{}: {control:?}", record.cell);
        assert!(control.silence.get() >= control.rtt.get() * 4);
        // The offset cannot be known closer than by half of the way.
        assert!(measured.clock.unwrap().error_ns >= control.rtt.get() / 2);
    }
    drop(relay);
    agent.end();
    net.nothing_left(&[&tool]);
    Ok(())
}

/// Carries the datagrams of either host to the other, each so many seconds after it came. What
/// is sent to all reaches the host without its address, and one without a checksum needs none:
/// over veth the kernel has not filled it in.
const HOLD: &str = "
import collections, select, socket, sys, time
delay = float(sys.argv[1])
ends = {}
for name, to in [('to-a', 'to-b'), ('to-b', 'to-a')]:
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x800))
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    end.bind((name, 0x800))
    ends[name] = (end, to)
held = collections.deque()
print('ready', flush=True)
while True:
    wait = max(0, held[0][0] - time.monotonic()) if held else 1
    for end in select.select([end for end, _ in ends.values()], [], [], wait)[0]:
        frame, (name, _, kind, *_) = end.recvfrom(65536)
        if kind == socket.PACKET_HOST and frame[23] == socket.IPPROTO_UDP:
            held.append((time.monotonic() + delay, ends[name][1], b'\\xff' * 6 + frame[6:40] + bytes(2) + frame[42:]))
    while held and held[0][0] <= time.monotonic():
        _, to, frame = held.popleft()
        ends[to][0].send(frame)
";

fn datagrams_on_their_way_are_not_lost() -> Result<(), Skip> {
    need_programs(&["nft", "python3"])?;
    let (net, tool) = (Net::new()?, Tool::new());
    // The kernel forwards the control connection, and no datagram.
    net.router.set(
        "nft 'add table inet held'
         nft 'add chain inet held forward { type filter hook forward priority 0; }'
         nft 'add rule inet held forward meta l4proto udp drop'",
    )?;
    let holder = net.router.other(&tool, Path::new("python3"), &["-c", HOLD, "0.15"]);
    let secret = secret(&tool);
    let agent = Agent::start(&net.b, &tool, &secret);
    let client = |flags: &[&str]| net.a.run(&tool, &[&["-c", B, "-u"][..], flags, &secret].concat()).done();
    for flags in [&["-t", "2", "-i", "0.5"][..], &["-t", "1"], &["-t", "1", "-i", "0.2", "-b", "5M"]] {
        let said = client(flags).stdout;
        let lines: Vec<&str> = said.lines().filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit())).collect();
        assert!(!lines.is_empty(), "{said}");
        for line in lines {
            // Received, goodput, sent, lost, jitter: with a figure each.
            let words: Vec<&str> = line.split_whitespace().collect();
            let lost = words.iter().position(|word| *word == "%").map(|at| words[at - 1]);
            assert!(lost == Some("0") || words[1] == "0", "{said}");
            assert!(words[1] == "0" || line.ends_with('s'), "no jitter: {said}");
        }
        assert!(said.contains("0 of ") && said.contains(" datagrams lost (0 %), jitter "), "{said}");
    }
    let value = client(&["-t", "1.2", "-i", "0.3", "-R", "-J"]).json();
    let intervals = value["intervals"].as_array().unwrap();
    assert!(intervals.len() >= 3, "{value:#}");
    for sum in intervals.iter().map(|interval| &interval["sum"]).chain([&value["end"]["sum"]]) {
        assert_eq!(
            (&sum["lost_packets"], sum["seconds"].as_f64()),
            (&0.into(), Some(sum["end"].as_f64().unwrap() - sum["start"].as_f64().unwrap()))
        );
    }
    drop(holder);
    agent.end();
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_control_path_of_a_few_bytes_a_second() -> Result<(), Skip> {
    need_programs(&["tc"])?;
    let (net, tool) = (Net::new()?, Tool::new());
    // The facts of a host alone take half a second.
    for device in ["to-a", "to-b"] {
        net.router.set(&format!(
            "tc qdisc add dev {device} root handle 1: htb default 10
             tc class add dev {device} parent 1: classid 1:10 htb rate 8gbit quantum 60000
             tc class add dev {device} parent 1: classid 1:20 htb rate 256kbit ceil 256kbit burst 1600 cburst 1600
             tc filter add dev {device} parent 1: protocol ip prio 1 u32 match ip sport {PORT} 0xffff flowid 1:20
             tc filter add dev {device} parent 1: protocol ip prio 1 u32 match ip dport {PORT} 0xffff flowid 1:20"
        ))?;
    }
    let secret = secret(&tool);
    let agents = [&net.a, &net.b].map(|place| Agent::start(place, &tool, &secret));
    let (a, b) = (format!("a={A}"), format!("b={B}"));
    let arguments = [&["--host", &a, "--host", &b, "-J"][..], &secret].concat();
    // From beyond the router, so that both connections are slow.
    let analysis = net.c.study(&tool, &plan(BLOCKS), &arguments).done().json();
    assert_eq!((&analysis["trials"], &analysis["failed"]), (&(CELLS * BLOCKS as usize).into(), &0.into()));
    assert_eq!(analysis["datagrams"]["unaccounted"], 0);
    let carried = net.router.set("tc -s class show dev to-b | grep -A1 '1:20' | grep -o 'Sent [0-9]*' | cut -d' ' -f2")?;
    assert!(carried.trim().parse::<u64>().unwrap() > 1_000, "the control connection was to be in the slow class: {carried}");
    agents.into_iter().for_each(Agent::end);
    net.nothing_left(&[&tool]);
    Ok(())
}
