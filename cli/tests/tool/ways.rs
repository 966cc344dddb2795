//! Every way of sending and of waiting, from the flag to the report.

use std::sync::LazyLock;

use model::{Api, Receive, Test, Warning};

use crate::conservation::assert_identity;
use crate::support::study::Study;
use crate::support::tool::Tool;
use crate::support::{Skip, need_root};

crate::claims!(
    every_way_carries_its_sizes_and_every_datagram_is_accounted_for,
    packets_that_a_device_cuts_are_accounted_for,
    no_byte_of_a_stream_is_lost_in_any_way,
    what_the_kernel_copied_of_lent_memory_is_told,
    every_system_call_and_every_thread_counts,
    the_report_says_which_way_is_the_cheapest,
    advice_ranks_what_was_measured_and_names_what_was_refused,
    advice_for_a_workload_ranks_what_sends_its_sizes,
    advice_of_a_run_measures_nothing,
    each_end_can_be_named,
    what_no_network_carries_balances_by_messages_and_bytes,
    packets_with_heads_of_their_own_are_accounted_for,
    a_stream_in_mapped_pages_is_whole_and_tells_what_was_copied,
    many_paths_carry_a_stream_or_are_refused_by_name,
    without_privilege_each_refused_way_is_named_and_the_study_goes_on,
    without_locked_memory_a_way_names_the_limit_and_the_study_goes_on,
    what_a_way_cannot_carry_is_refused_in_words,
    a_message_beyond_the_mtu_fails_in_words_and_the_study_goes_on,
);

const PLAN: &str = r#"
name = "ways"
seed = 7
trial = { length = "40ms", warmup = "10ms" }
blocks = { least = 3, most = 3 }
[[cells]]
test = "UDP_STREAM"
size = [1, 64, 1024, 1460]
api = ["send", "sendto", "sendmsg", "sendmmsg", "gso", "uring", "uring-sqpoll", "uring-zerocopy", "zerocopy", "gso-zerocopy", "sendfile", "splice"]
[[cells]]
test = "UDP_STREAM"
size = [64, 1460]
receive = ["recvfrom", "recvmmsg", "gro", "multishot"]
[[cells]]
test = "UDP_STREAM"
size = 1024
api = "gso"
receive = ["recv", "recvmmsg"]
[[cells]]
test = "TCP_STREAM"
size = [64, 1460, 16384]
api = ["send", "sendmsg", "sendmmsg", "writev", "send-more", "uring"]
waiting = ["block", "epoll-edge", "select"]
[[cells]]
test = "TCP_STREAM"
size = [64, 16384]
api = ["uring-sqpoll", "uring-zerocopy", "zerocopy", "sendfile", "splice"]
[[cells]]
test = "TCP_STREAM"
size = [64, 16384]
receive = ["waitall", "lowat", "trunc", "splice"]
"#;

/// Packets with heads of their own, and frames below the receiver's UDP.
const PACKETS: &str = r#"
name = "packets"
trial = { length = "40ms", warmup = "10ms" }
blocks = { least = 1, most = 1 }
[[cells]]
test = "UDP_STREAM"
size = [1, 64, 1024, 1452]
family = ["ipv4", "ipv6"]
api = ["raw", "packet", "packet-ring", "xdp"]
[[cells]]
test = "UDP_STREAM"
size = [1, 64, 1024, 1452]
api = "tun"
[[cells]]
test = "UDP_STREAM"
size = 64
api = "packet-ring"
batch = [1, 1024]
receive = ["recv", "packet"]
[[cells]]
test = "UDP_STREAM"
size = [1, 64, 1024, 1452]
family = ["ipv4", "ipv6"]
receive = ["packet", "xdp-generic", "xdp"]
[[cells]]
test = "UDP_STREAM"
size = 64
api = "packet"
receive = ["packet", "xdp-generic", "recvmmsg", "gro"]
stamp = true
[[cells]]
test = "UDP_STREAM"
size = 64
api = "xdp"
batch = [1, 32]
family = ["ipv4", "ipv6"]
stamp = true
[[cells]]
test = "UDP_STREAM"
size = 64
receive = "packet"
waiting = ["poll", "select", "epoll", "epoll-edge", "spin"]
[[cells]]
test = "UDP_RR"
size = 64
api = ["raw", "packet", "xdp", "tun"]
"#;

/// Pages that the kernel maps.
const MAPPED: &str = r#"
name = "mapped"
trial = { length = "40ms", warmup = "10ms" }
blocks = { least = 1, most = 1 }
[[cells]]
test = "TCP_STREAM"
size = [1, 1460, 16384]
receive = "zerocopy"
waiting = ["block", "epoll-edge", "select"]
"#;

/// Ways past the link, each with every size.
const LOCAL: &str = r#"
name = "local"
trial = { length = "40ms", warmup = "10ms" }
blocks = { least = 1, most = 1 }
[[cells]]
test = "UDP_STREAM"
size = [1, 64, 1024, 1460, 8192, 16384]
api = ["unix-dgram", "unix-seqpacket", "shm"]
[[cells]]
test = "TCP_STREAM"
size = [1, 64, 1024, 1460, 8192, 16384]
api = ["unix-stream", "pipe", "shm"]
[[cells]]
test = ["TCP_RR", "UDP_RR"]
size = 64
api = "shm"
waiting = ["block", "spin"]
[[cells]]
test = "TCP_STREAM"
size = 64
api = "pipe"
waiting = "epoll-edge"
[[cells]]
test = "UDP_STREAM"
size = 64
api = "shm"
waiting = "spin"
flows = 2
[[cells]]
test = "TCP_STREAM"
size = 1024
api = ["unix-stream", "pipe"]
flows = 2
bidirectional = true
"#;

/// Devices that cut packets before they leave, and a receiver that may join them.
const CUT: &str = r#"
name = "cut"
trial = { length = "100ms", warmup = "20ms" }
blocks = { least = 1, most = 1 }
[[cells]]
test = "UDP_STREAM"
link = "ethernet 100M"
size = [64, 1024]
api = ["send", "gso"]
receive = ["recv", "gro"]
"#;

/// One study for many claims.
static STUDY: LazyLock<Study> = LazyLock::new(|| Study::of(PLAN));

fn every_way_carries_its_sizes_and_every_datagram_is_accounted_for() -> Result<(), Skip> {
    let trials = STUDY.stored.measured_of(&[Test::UdpStream]);
    assert_eq!(trials.len(), (12 * 4 + 2 * 4 + 2) * 3);
    let (mut whole, mut packed) = (0, 0);
    for (record, measured) in &trials {
        let (cell, sent, came) = (&record.cell, &measured.sender.total, &measured.receiver.total);
        assert!(sent.messages > 0 && came.messages > 0 && sent.errors == 0 && came.errors == 0, "{cell}: {sent:?} {came:?}");
        assert_eq!((sent.bytes, came.bytes), (sent.messages * cell.size.get(), came.messages * cell.size.get()), "{cell}");
        // The kernel counts the packets of gso, and every other way's datagrams.
        let balance = analysis::conservation::balance(measured, cell).unwrap();
        let packets = cell.api.packs() && cell.receive().packs();
        assert!(packets || !balance.packets, "{cell}");
        packed += u32::from(packets);
        whole += u32::from(balance.packets);
        assert_eq!((balance.sent, balance.unaccounted), (if balance.packets { sent.calls } else { sent.sent }, 0), "{cell}: {balance:?}");
        if !cell.api.packs() && !cell.receive().packs() {
            assert_identity(record, measured);
        }
    }
    // A trial of a few packets, as of an end that got no CPU, may end in the middle of one.
    assert!(packed > 0 && 3 * whole >= 2 * packed, "{whole} of {packed} trials are balanced by packets");
    Ok(())
}

fn packets_that_a_device_cuts_are_accounted_for() -> Result<(), Skip> {
    let study = Study::of(CUT);
    let trials = study.stored.measured_of(&[Test::UdpStream]);
    assert_eq!(trials.len(), 2 * 4);
    for (record, measured) in &trials {
        let balance = analysis::conservation::balance(measured, &record.cell).unwrap();
        assert_eq!(balance.unaccounted, 0, "{}: {balance:?}", record.cell);
    }
    Ok(())
}

fn no_byte_of_a_stream_is_lost_in_any_way() -> Result<(), Skip> {
    for (record, measured) in STUDY.stored.measured_of(&[Test::TcpStream]) {
        let (cell, sent, came) = (&record.cell, &measured.sender.total, &measured.receiver.total);
        assert_eq!((sent.bytes, came.bytes), (sent.messages * cell.size.get(), sent.bytes), "{cell}: {sent:?} {came:?}");
        let fewer = sent.calls < sent.messages;
        // An end that hardly got a CPU sends less than a batch, and a socket that is full takes its messages one by one.
        let starved = sent.messages < 32;
        assert!(fewer || starved || cell.api.batch(cell.test).is_none(), "{cell}: {sent:?}");
    }
    Ok(())
}

fn what_the_kernel_copied_of_lent_memory_is_told() -> Result<(), Skip> {
    for (record, measured) in STUDY.stored.measured_of(&[Test::UdpStream, Test::TcpStream]) {
        let (cell, told) = (&record.cell, measured.sender.zero_copy);
        let by_notice = matches!(cell.api, Api::Zerocopy | Api::GsoZerocopy | Api::UringZerocopy);
        assert_eq!(told.is_some(), by_notice, "{cell}");
        let Some(told) = told else { continue };
        let sent = &measured.sender.total;
        assert!(told.copied <= told.sends && told.sends <= sent.messages.max(sent.calls) + sent.short, "{cell}: {told:?} {sent:?}");
        // Between two namespaces the receiver is not to hold the sender's pages.
        assert!(told.sends > 0 && told.copied == told.sends, "{cell}: {told:?}");
        assert!(record.warnings.iter().any(|warning| matches!(warning, Warning::Copied { share, .. } if *share == 1.0)), "{cell}");
    }
    Ok(())
}

fn every_system_call_and_every_thread_counts() -> Result<(), Skip> {
    let cpu_of = |api: Api| -> f64 {
        let trials = STUDY.stored.measured_of(&[Test::UdpStream]).into_iter().filter(|(record, _)| record.cell.api == api);
        let mut costs: Vec<f64> = trials
            .filter(|(record, _)| record.cell.size.get() == 64 && record.cell.receive.is_none())
            .map(|(_, measured)| measured.sender.cpu_time.process.get() as f64 / measured.sender.counts.messages as f64)
            .collect();
        costs.sort_by(f64::total_cmp);
        costs[costs.len() / 2]
    };
    // The thread that sends for a ring is the kernel's; its time is the sender's all the same.
    let (plain, polled) = (cpu_of(Api::Send), cpu_of(Api::UringSqpoll));
    assert!(polled > 0.3 * plain, "{polled} ns a message by a ring's thread, {plain} by send");
    for (record, measured) in STUDY.stored.measured_of(&[Test::UdpStream]) {
        let (cell, sent) = (&record.cell, &measured.sender.total);
        match cell.api {
            Api::Splice => assert_eq!(sent.calls, 2 * sent.messages, "{cell}"),
            api if api.batch(cell.test).is_none() => assert_eq!(sent.calls, sent.messages, "{cell}"),
            _ => assert!(sent.calls <= sent.messages, "{cell}"),
        }
    }
    Ok(())
}

fn the_report_says_which_way_is_the_cheapest() -> Result<(), Skip> {
    assert!(STUDY.text.contains("Cheapest way to send ") && STUDY.text.contains("CPU of both ends"), "{}", STUDY.text);
    let found = STUDY.tool.run(&["report", "-J"]).json();
    let udp = &found["ways"]["series"][0];
    assert_eq!(udp["ways"][0]["api"], "send", "{udp}");
    let gso = udp["ways"].as_array().unwrap().iter().find(|way| way["api"] == "gso").unwrap();
    // A packet of 32 messages passes the stack once: some ten times cheaper.
    let ratio = gso["of_base"][1]["value"].as_f64().unwrap();
    assert!(ratio < 0.5, "{ratio}");
    assert_eq!(udp["cheapest"].as_array().map(Vec::len), Some(4));
    // The delay that batching adds, and the wake-ups, next to each.
    assert!(gso["batch_fills_ns"][1]["value"].as_f64().unwrap() > 0.0 && gso["wakeups"][1]["value"].as_f64().is_some(), "{gso}");
    assert_eq!(udp["ways"][0]["batch_fills_ns"][1], serde_json::Value::Null, "{udp}");
    let page = STUDY.stored.text("report.html");
    for title in ["Times that the receiver is woken a message", "Wait of the first message of a batch for the last"] {
        assert!(page.contains(title), "{title}");
    }
    Ok(())
}

fn advice_ranks_what_was_measured_and_names_what_was_refused() -> Result<(), Skip> {
    let tool = Tool::new();
    // Beyond the MTU: gso is refused, and the others go on.
    let asked = ["advise", "--size", "2K", "--rate", "100k", "--protocol", "UDP", "--blocks", "3", "-J"];
    let answer = tool.run(&asked);
    // Its host ends an endpoint whose other end failed; the user hears of the failure alone.
    assert!(!answer.stderr.contains("control connection"), "{answer:?}");
    if !answer.stderr.contains("compared in turn") {
        assert!(tool.stored().run().plan.woven, "{answer:?}");
    }
    let found = answer.json();
    let ranking = &found["rankings"][0];
    let costs: Vec<f64> = ranking["ways"].as_array().unwrap().iter().map(|way| way["cost_ns"]["value"].as_f64().unwrap()).collect();
    assert!(costs.len() > 3 && costs.is_sorted(), "{ranking}");
    for way in ranking["ways"].as_array().unwrap() {
        let (cost, cpus) = (way["cost_ns"]["value"].as_f64().unwrap(), way["cpus"]["value"].as_f64().unwrap());
        assert!((cpus - cost * 1e5 / 1e9).abs() < 1e-9, "{way}");
    }
    let refused = ranking["refused"].as_array().unwrap();
    assert!(refused.iter().any(|way| way["api"] == "gso" && way["reason"].as_str().unwrap().contains("MTU")), "{ranking}");
    assert_eq!(ranking["untried"], serde_json::json!([]));
    Ok(())
}

fn advice_for_a_workload_ranks_what_sends_its_sizes() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.write("mine.csv", "message_bytes,cumulative_fraction\n64,0.5\n1024,1\n");
    let asked = ["advise", "--workload", "mine.csv", "--rate", "100k", "--protocol", "UDP", "--blocks", "6", "-t", "20ms", "-J"];
    let answer = tool.run(&asked);
    let ranking = &answer.json()["rankings"][0];
    assert_eq!((&ranking["workload"], &ranking["size"], &ranking["request_size"]), (&"mine".into(), &544.into(), &64.into()), "{ranking}");
    let ways = ranking["ways"].as_array().unwrap();
    let costs: Vec<f64> = ways.iter().map(|way| way["cost_ns"]["value"].as_f64().unwrap()).collect();
    assert!(costs.len() > 3 && costs.is_sorted(), "{ranking}");
    assert!(ways.iter().any(|way| way["api"] == "sendmmsg") && ways.iter().all(|way| way["api"] != "gso"), "{ranking}");
    let refused = ranking["refused"].as_array().unwrap();
    assert!(refused.iter().any(|way| way["api"] == "gso" && way["reason"].as_str().unwrap().contains("one size")), "{ranking}");
    assert_eq!((&ranking["untried"], answer.code), (&serde_json::json!([]), Some(if ranking["tells_apart"] == true { 0 } else { 4 })));
    for (record, measured) in tool.stored().measured_of(&[Test::UdpStream]) {
        assert!(record.cell.mix.is_some(), "{}", record.cell);
        let balance = analysis::conservation::balance(&measured, &record.cell).unwrap();
        assert_eq!(balance.unaccounted, 0, "{}: {balance:?}", record.cell);
    }
    let text = tool.run(&["advise", "latest"]).stdout;
    assert_eq!(tool.run(&["advise", "latest", "--workload", "mine.csv"]).stdout, text);
    assert!(text.contains("(mine), mean 544 B") && text.contains("Round trips are of requests and answers of 64 B"), "{text}");
    tool.write("large.csv", "message_bytes,cumulative_fraction\n100000,1\n");
    for (wrong, words) in [
        (&["advise", "--workload", "W9"][..], "is neither a workload"),
        (&["advise", "--workload", "W1", "--size", "64"], "cannot be used with"),
        (&["advise", "latest", "--workload", "W1"], "sent mine and not the workload W1"),
        (&["advise", "--workload", "large.csv", "--protocol", "UDP"], "larger than the largest datagram"),
    ] {
        let answer = tool.run(wrong);
        assert!(answer.code == Some(2) && answer.stderr.contains(words), "{wrong:?}: {answer:?}");
    }
    let dry = tool.run(&["advise", "--workload", "W1", "--dry-run"]);
    assert!(dry.code == Some(0) && dry.stdout.contains("W1"), "{dry:?}");
    Ok(())
}

fn advice_of_a_run_measures_nothing() -> Result<(), Skip> {
    let answer = STUDY.tool.run(&["advise", "latest", "--size", "1K"]);
    assert!(matches!(answer.code, Some(0 | 4)) && answer.stdout.contains("costs the least CPU"), "{answer:?}");
    assert!(answer.stdout.lines().all(|line| line.chars().count() <= 80), "{}", answer.stdout);
    for (wrong, words) in [
        (&["advise"][..], "--size"),
        (&["advise", "--size", "1K", "--rate", "0"], "'0' is no rate"),
        (&["advise", "--size", "0"], "0 bytes is not a size"),
        (&["advise", "--size", "64", "--protocol", "SCTP"], "SCTP"),
        (&["advise", "latest", "--blocks", "3"], "only ranked"),
        (&["advise", "latest", "--workload", "W1"], "messages of one size each and not the workload W1"),
    ] {
        let answer = STUDY.tool.run(wrong);
        assert!(answer.code == Some(2) && answer.stderr.contains(words), "{wrong:?}: {answer:?}");
    }
    Ok(())
}

fn what_no_network_carries_balances_by_messages_and_bytes() -> Result<(), Skip> {
    let study = Study::of(LOCAL);
    let trials = study.stored.measured_of(&[Test::UdpStream, Test::TcpStream, Test::TcpRr, Test::UdpRr]);
    assert_eq!(trials.len(), 6 * 6 + 4 + 1 + 1 + 2);
    for (record, measured) in &trials {
        let (cell, sent, came) = (&record.cell, &measured.sender.total, &measured.receiver.total);
        assert!(came.messages > 0 && sent.errors == 0 && came.errors == 0, "{cell}: {sent:?} {came:?}");
        if cell.test.is_stream() {
            assert_eq!((sent.bytes, came.bytes), (sent.messages * cell.size.get(), sent.bytes), "{cell}: {sent:?} {came:?}");
        }
        if let Some(balance) = analysis::conservation::balance(measured, cell) {
            assert_eq!((balance.received, balance.unaccounted), (balance.sent, 0), "{cell}: {balance:?}");
        }
        let doubts =
            |warning: &&Warning| matches!(warning, Warning::WrongPath { .. } | Warning::Unaccounted { .. } | Warning::Impossible { .. });
        assert_eq!(record.warnings.iter().find(doubts), None, "{cell}");
        // Nothing went over the link.
        assert!(measured.sender_host.link.tx_bytes < 100_000, "{cell}: {:?}", measured.sender_host.link);
        assert_eq!(sent.calls == 0, cell.api == Api::Shm, "{cell}: a ring takes no call, {sent:?}");
    }
    Ok(())
}

fn packets_with_heads_of_their_own_are_accounted_for() -> Result<(), Skip> {
    let device = std::fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun");
    let study = Study::of(PACKETS);
    let trials = study.stored.measured_of(&[Test::UdpStream, Test::UdpRr]);
    // Of the ways of frames the TUN device alone may be missing on a machine.
    assert_eq!(trials.len(), 32 + 4 + 24 + 4 + 4 + 5 + 3 + if device.is_ok() { 4 + 1 } else { 0 }, "{device:?}");
    for (record, measured) in &trials {
        let (cell, sent, came) = (&record.cell, &measured.sender.total, &measured.receiver.total);
        assert!(came.messages > 0 && sent.errors == 0 && came.errors == 0, "{cell}: {sent:?} {came:?}");
        let balance = analysis::conservation::balance(measured, cell).unwrap();
        assert_eq!(balance.unaccounted, 0, "{cell}: {balance:?}");
        if cell.test.is_stream() {
            assert_eq!((sent.bytes, came.bytes), (sent.messages * cell.size.get(), came.messages * cell.size.get()), "{cell}");
        }
        let udp = [measured.sender_host.udp.out_datagrams, measured.receiver_host.udp.in_datagrams];
        if cell.api != Api::Send {
            assert_eq!(udp[0], 0, "{cell}: no datagram passed the sender's UDP");
        }
        if cell.receive().is_below_udp() {
            assert_eq!(udp[1], 0, "{cell}: no datagram was taken from the receiver's UDP");
        }
    }
    let tool = Tool::new();
    for (flags, words) in [
        (["--api=packet", "--link=loopback"], "loopback is none"),
        (["--api=tun", "--link=loopback"], "over loopback there is none"),
        (["--api=packet", "--size=4096"], "does not fit the MTU of 1500 B: datagrams over packet have at most 1472 B here"),
    ] {
        tool.run(&[&["study", "quick", "--test", "UDP_STREAM", "--size", "64", "--blocks", "1", "--length", "20ms"][..], &flags].concat());
        let all = tool.run(&["report", "-v"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(all.contains(words), "{flags:?}: {all}");
    }
    Ok(())
}

fn a_stream_in_mapped_pages_is_whole_and_tells_what_was_copied() -> Result<(), Skip> {
    let study = Study::of(MAPPED);
    let trials = study.stored.measured_of(&[Test::TcpStream]);
    assert_eq!(trials.len(), 9);
    for (record, measured) in &trials {
        let (cell, sent, came) = (&record.cell, &measured.sender.total, &measured.receiver.total);
        assert!(came.messages > 0 && came.errors == 0 && came.bytes == sent.bytes, "{cell}: {sent:?} {came:?}");
        let told = measured.receiver.zero_copy.unwrap();
        assert!(told.sends == came.bytes && told.copied <= told.sends, "{cell}: {told:?} {came:?}");
        // A message of a byte never fills a page.
        assert!(cell.size.get() > 1 || told.copied > 0, "{cell}: {told:?}");
    }
    Ok(())
}

fn many_paths_carry_a_stream_or_are_refused_by_name() -> Result<(), Skip> {
    let tool = Tool::new();
    let answer =
        tool.run(&["study", "quick", "--test", "TCP_STREAM", "--size", "1024", "--api", "mptcp", "--blocks", "1", "--length", "300ms"]);
    let found = tool.run(&["report", "-J"]).json();
    let doctor = tool.run(&["doctor", "-v"]).stdout;
    let refused = doctor.lines().any(|line| line.contains("mptcp") && line.contains("net.mptcp.enabled"));
    let carried = (&found["trials"], &found["failed"]) == (&1.into(), &0.into());
    assert!(carried != refused, "{answer:?}\n{found}\n{doctor}");
    Ok(())
}

fn without_privilege_each_refused_way_is_named_and_the_study_goes_on() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::of_nobody();
    let carried = |test: Test| {
        let sending = Api::ALL.iter().filter(|api| api.carries(test) && !api.over().is_local()).map(|api| format!("\"{api}\""));
        let receiving = Receive::ALL
            .iter()
            .filter(|receive| **receive != Receive::Recv && receive.carries(test) && receive.takes_from(model::Over::Link));
        (sending.collect::<Vec<_>>(), receiving.map(|receive| format!("\"receiver:{receive}\"")).collect::<Vec<_>>())
    };
    let cells = |test: Test| {
        let (sending, receiving) = carried(test);
        format!("[[cells]]\ntest = \"{test}\"\nsize = 64\nnodelay = true\napi = [{}]\n", [sending, receiving].concat().join(", "))
    };
    let tests = [Test::UdpStream, Test::TcpStream];
    let head = "name = \"ways\"\ntrial = { length = \"20ms\", warmup = \"5ms\" }\nblocks = { least = 1, most = 1 }\n";
    tool.study(&format!("{head}{}", tests.map(cells).concat()), &[]).done();
    let stored = tool.stored();
    if stored.run().warnings.iter().any(|warning| matches!(warning, Warning::NoLink { .. })) {
        return Err(Skip("nobody has no namespaces here".to_owned()));
    }
    let trials = stored.trials();
    let levels = |test: &Test| [carried(*test).0.len(), carried(*test).1.len()];
    assert_eq!(trials.len(), tests.iter().flat_map(levels).sum::<usize>());
    let mut refused = std::collections::BTreeSet::new();
    for record in &trials {
        if let model::trial::Outcome::Failed { error, .. } = &record.outcome {
            let remedies =
                ["CAP_", "run as root", "ulimit", "modprobe", "this kernel", "net.mptcp.enabled", "io_uring_disabled", "use xdp"];
            let answers = ["os error", "EPERM", "EACCES", "EOPNOTSUPP", "ENOSYS"];
            assert!(answers.iter().any(|words| error.contains(words)), "{}: {error}", record.cell);
            assert!(remedies.iter().any(|words| error.contains(words)), "{}: {error}", record.cell);
            refused.insert((record.cell.api, record.cell.receive));
        }
    }
    let plain = |record: &&model::TrialRecord| (record.cell.api, record.cell.receive) == (Api::Send, None);
    assert!(trials.iter().filter(plain).all(|record| matches!(record.outcome, model::trial::Outcome::Measured(_))), "{trials:?}");
    // What the machine's root alone may do: to load a program into a device.
    let root = anybody_loads_programs();
    assert!(root || refused.contains(&(Api::Send, Some(Receive::Xdp))), "{refused:?}");
    let text = tool.run(&["report", "-v"]).stdout;
    assert!(text.contains("Ways of sending"), "{text}");
    for (api, receive) in refused {
        let name = receive.map_or_else(|| api.to_string(), |receive| receive.to_string());
        assert!(text.contains(&name), "{name}: {text}");
    }
    Ok(())
}

fn without_locked_memory_a_way_names_the_limit_and_the_study_goes_on() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::of_nobody();
    let cells = "[[cells]]\ntest = \"UDP_STREAM\"\nsize = 64\napi = [\"send\", \"xdp\"]\n";
    tool.write(
        "plan.toml",
        &format!("name = \"ways\"\ntrial = {{ length = \"20ms\", warmup = \"5ms\" }}\nblocks = {{ least = 1, most = 1 }}\n{cells}"),
    );
    tool.script(&[], "ulimit -l 0; \"$NETTOLL\" study --plan plan.toml").done();
    let stored = tool.stored();
    if stored.run().warnings.iter().any(|warning| matches!(warning, Warning::NoLink { .. })) {
        return Err(Skip("nobody has no namespaces here".to_owned()));
    }
    for record in stored.trials() {
        match (&record.outcome, record.cell.api) {
            (model::trial::Outcome::Measured(_), Api::Send) => {}
            (model::trial::Outcome::Failed { error, .. }, Api::Xdp) => {
                // A kernel may lack it, which is another refusal.
                let absent = error.contains("no AF_XDP");
                assert!(
                    absent || error.contains("lock the memory") && error.contains("ulimit -l") && error.contains("os error"),
                    "{error}"
                );
            }
            (outcome, api) => panic!("{api}: {outcome:?}"),
        }
    }
    Ok(())
}

/// Returns whether whoever likes may load programs into the kernel here.
fn anybody_loads_programs() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/unprivileged_bpf_disabled").is_ok_and(|value| value.trim() == "0")
}

fn each_end_can_be_named() -> Result<(), Skip> {
    let study = Study::of(
        r#"
name = "ends"
trial = { length = "40ms", warmup = "10ms" }
blocks = { least = 1, most = 1 }
[[cells]]
test = "UDP_STREAM"
size = 64
api = ["send", "sender:gso,receiver:recv", "receiver:gro"]
"#,
    );
    let trials = study.stored.measured_of(&[Test::UdpStream]);
    let mut ways: Vec<_> = trials.iter().map(|(record, _)| (record.cell.api, record.cell.receive)).collect();
    ways.sort_unstable();
    assert_eq!(ways, [(Api::Send, None), (Api::Send, Some(Receive::Gro)), (Api::Gso, Some(Receive::Recv))]);
    for (record, measured) in &trials {
        let balance = analysis::conservation::balance(measured, &record.cell).unwrap();
        assert!(measured.receiver.total.messages > 0 && balance.unaccounted == 0, "{}: {balance:?}", record.cell);
    }
    let tool = Tool::new();
    // The commas of a list part levels, and not the ends of one.
    let flags = ["study", "quick", "--test", "UDP_STREAM", "--api", "send,sender:gso,receiver:recv,sendmmsg", "--size", "64", "--dry-run"];
    let answer = tool.run(&flags);
    assert!(answer.code == Some(0) && answer.stdout.contains("3 cells"), "{answer:?}");
    Ok(())
}

fn what_a_way_cannot_carry_is_refused_in_words() -> Result<(), Skip> {
    let tool = Tool::new();
    for (flags, words) in [
        (["--api=gso", "--test=TCP_STREAM"], "gso does not carry TCP_STREAM, but UDP_STREAM, UDP_RR"),
        (["--api=writev", "--test=UDP_STREAM"], "writev does not carry UDP_STREAM, but TCP_STREAM, TCP_MAERTS"),
        (["--receive=gro", "--test=TCP_STREAM"], "gro does not receive TCP_STREAM, but UDP_STREAM, UDP_RR"),
        (["--receive=trunc", "--test=TCP_RR"], "trunc does not receive TCP_RR, but TCP_STREAM, TCP_MAERTS"),
        (["--receive=recvmsgs", "--batch=1"], "did you mean 'recvmsg'?"),
        (["--api=uring", "--batch=0"], "1 to 1024"),
        (["--api=zerocopy", "--test=UDP_RR"], "zerocopy does not carry UDP_RR, but TCP_STREAM, UDP_STREAM, TCP_MAERTS"),
        (["--api=urin", "--batch=1"], "did you mean 'uring'?"),
        (["--api=sender:gso,receiver:uring", "--batch=1"], "'uring' is a way of sending; the receiver takes messages in one of these"),
        (["--api=sender:gso,receiver:packet", "--test=UDP_STREAM"], "packet would see the packets of gso before they are cut"),
        (["--api=packet-ring", "--test=UDP_RR"], "packet-ring does not carry UDP_RR, but UDP_STREAM"),
        (["--api=raw", "--test=TCP_STREAM"], "raw does not carry TCP_STREAM, but UDP_STREAM, UDP_RR"),
        (["--api=pipe", "--receive=recv"], "recv takes nothing from a pipe, which carries the messages of pipe, but read can"),
        (["--api=shm", "--waiting=poll"], "shared memory cannot be waited for by poll; take block or spin"),
        (["--api=unix-dgram", "--test=TCP_STREAM"], "unix-dgram does not carry TCP_STREAM, but UDP_STREAM, UDP_RR"),
        (["--api=sender:gso,gso+sender:gso", "--batch=1"], "names an end twice"),
        (["--api=sender:gso,receiver:gro", "--receive=recv"], "name it once"),
        (["--waiting=polling", "--batch=1"], "did you mean 'poll'?"),
    ] {
        let answer = tool.run(&[&["study", "quick", "--dry-run"][..], &flags].concat());
        assert_eq!(answer.code, Some(2), "{flags:?}: {answer:?}");
        assert!(answer.stderr.contains(words), "{flags:?}: {}", answer.stderr);
    }
    let answer = tool.run(&["study", "quick", "--dry-run", "-6", "--api=tun", "--test=UDP_STREAM"]);
    assert!(answer.code == Some(2) && answer.stderr.contains("tun carries IPv4 alone"), "{answer:?}");
    Ok(())
}

fn a_message_beyond_the_mtu_fails_in_words_and_the_study_goes_on() -> Result<(), Skip> {
    let tool = Tool::new();
    let flags = ["study", "quick", "--test", "UDP_STREAM", "--size", "64,4096", "--api", "gso", "--blocks", "1", "--length", "20ms"];
    let answer = tool.run(&flags);
    let words = "does not fit the MTU of 1500 B: datagrams over gso have at most 1472 B here";
    answer.says("1 of 2 trials failed");
    let all = tool.run(&["report", "-v"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(all.contains(words), "{all}");
    let found = tool.run(&["report", "-J"]).json();
    assert_eq!((&found["trials"], &found["failed"]), (&1.into(), &1.into()), "the other size was measured");
    Ok(())
}
