//! Every way of sending and of waiting, from the flag to the report.

use std::sync::LazyLock;

use model::{Api, Test, Warning};

use crate::conservation::assert_identity;
use crate::support::Skip;
use crate::support::study::Study;
use crate::support::tool::Tool;

crate::claims!(
    every_way_carries_its_sizes_and_every_datagram_is_accounted_for,
    packets_that_a_device_cuts_are_accounted_for,
    no_byte_of_a_stream_is_lost_in_any_way,
    what_the_kernel_copied_of_lent_memory_is_told,
    every_system_call_and_every_thread_counts,
    the_report_says_which_way_is_the_cheapest,
    advice_ranks_what_was_measured_and_names_what_was_refused,
    advice_of_a_run_measures_nothing,
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
waiting = ["block", "epoll-edge"]
[[cells]]
test = "TCP_STREAM"
size = [64, 16384]
api = ["uring-sqpoll", "uring-zerocopy", "zerocopy", "sendfile", "splice"]
[[cells]]
test = "TCP_STREAM"
size = [64, 16384]
receive = ["waitall", "lowat", "trunc", "splice"]
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
    for (record, measured) in &trials {
        let (cell, sent, came) = (&record.cell, &measured.sender.total, &measured.receiver.total);
        assert!(sent.messages > 0 && came.messages > 0 && sent.errors == 0 && came.errors == 0, "{cell}: {sent:?} {came:?}");
        assert_eq!((sent.bytes, came.bytes), (sent.messages * cell.size.get(), came.messages * cell.size.get()), "{cell}");
        // The kernel counts the packets of gso, and every other way's datagrams.
        let balance = analysis::conservation::balance(measured, cell).unwrap();
        let packets = cell.api.packs() && cell.receive().packs();
        assert_eq!(balance.packets, packets, "{cell}");
        assert_eq!((balance.sent, balance.unaccounted), (if packets { sent.calls } else { sent.sent }, 0), "{cell}: {balance:?}");
        if !cell.api.packs() && !cell.receive().packs() {
            assert_identity(record, measured);
        }
    }
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
        assert!(fewer || cell.api.batch(cell.test).is_none(), "{cell}: {sent:?}");
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
    assert!(STUDY.text.contains("Ways of sending") && STUDY.text.contains("Cheapest: at "), "{}", STUDY.text);
    let found = STUDY.tool.run(&["report", "-J"]).json();
    let udp = &found["ways"]["series"][0];
    assert_eq!(udp["ways"][0]["api"], "send", "{udp}");
    let gso = udp["ways"].as_array().unwrap().iter().find(|way| way["api"] == "gso").unwrap();
    // A packet of 32 messages passes the stack once: some ten times cheaper.
    let ratio = gso["of_base"][1]["value"].as_f64().unwrap();
    assert!(ratio < 0.5, "{ratio}");
    assert_eq!(udp["cheapest"].as_array().map(Vec::len), Some(4));
    Ok(())
}

fn advice_ranks_what_was_measured_and_names_what_was_refused() -> Result<(), Skip> {
    let tool = Tool::new();
    // Beyond the MTU: gso is refused, and the others go on.
    let asked = ["advise", "--size", "2K", "--rate", "100k", "--protocol", "UDP", "--blocks", "6", "-t", "20ms", "-J"];
    let found = tool.run(&asked).json();
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

fn advice_of_a_run_measures_nothing() -> Result<(), Skip> {
    let answer = STUDY.tool.run(&["advise", "latest", "--size", "1K"]);
    assert!(matches!(answer.code, Some(0 | 4)) && answer.stdout.contains("costs the least CPU"), "{answer:?}");
    assert!(answer.stdout.lines().all(|line| line.chars().count() <= 80), "{}", answer.stdout);
    for (wrong, words) in [
        (&["advise"][..], "--size"),
        (&["advise", "--size", "1K", "--rate", "0"], "'0' is no rate"),
        (&["advise", "--size", "0"], "0 bytes is not a size"),
        (&["advise", "--size", "64", "--protocol", "SCTP"], "SCTP"),
        (&["advise", "latest", "--blocks", "3"], "cannot be used with"),
    ] {
        let answer = STUDY.tool.run(wrong);
        assert!(answer.code == Some(2) && answer.stderr.contains(words), "{wrong:?}: {answer:?}");
    }
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
        (["--waiting=polling", "--batch=1"], "did you mean 'poll'?"),
    ] {
        let answer = tool.run(&[&["study", "quick", "--dry-run"][..], &flags].concat());
        assert_eq!(answer.code, Some(2), "{flags:?}: {answer:?}");
        assert!(answer.stderr.contains(words), "{flags:?}: {}", answer.stderr);
    }
    Ok(())
}

fn a_message_beyond_the_mtu_fails_in_words_and_the_study_goes_on() -> Result<(), Skip> {
    let tool = Tool::new();
    let flags = ["study", "quick", "--test", "UDP_STREAM", "--size", "64,4096", "--api", "gso", "--blocks", "1", "--length", "20ms"];
    let answer = tool.run(&flags);
    let words = "does not fit the MTU of 1500 B: datagrams over gso have at most 1472 B here";
    assert!(answer.stdout.contains("1 of 2 trials failed"), "{answer:?}");
    let all = tool.run(&["report", "-v"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(all.contains(words), "{all}");
    let found = tool.run(&["report", "-J"]).json();
    assert_eq!((&found["trials"], &found["failed"]), (&1.into(), &1.into()), "the other size was measured");
    Ok(())
}
