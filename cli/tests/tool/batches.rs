//! Many messages with one call, from the flag to the stored record.

use std::sync::LazyLock;

use model::trial::Measured;
use model::{Api, Test, TrialRecord};

use crate::conservation::assert_identity;
use crate::support::Skip;
use crate::support::study::Study;
use crate::support::tool::Tool;

crate::claims!(
    datagrams_of_every_size_go_many_to_a_call_and_are_accounted_for,
    a_connection_carries_batches_and_loses_no_byte,
    a_request_goes_alone,
    a_label_and_a_column_name_the_batch,
    an_arm_of_batches_is_compared_with_one_call_a_message,
    what_cannot_be_is_refused_in_words,
);

const PLAN: &str = r#"
name = "batches"
seed = 7
trial = { length = "40ms", warmup = "10ms" }
blocks = { least = 2, most = 2 }
[[cells]]
test = "UDP_STREAM"
size = [1, 64, 1024, 1460, 8192]
api = "sendmmsg"
batch = [1, 16]
[[cells]]
test = ["TCP_STREAM", "UDP_RR"]
size = 1000
api = "sendmmsg"
"#;

/// One study for many claims.
static STUDY: LazyLock<Study> = LazyLock::new(|| Study::of(PLAN));

/// Trials that went over a link of their own, whose counters hold nothing else.
fn measured(test: Test) -> Vec<(TrialRecord, Measured)> {
    STUDY.stored.measured_of(&[test])
}

fn datagrams_of_every_size_go_many_to_a_call_and_are_accounted_for() -> Result<(), Skip> {
    let trials = measured(Test::UdpStream);
    assert_eq!(trials.len(), 2 * 5 * 2);
    for (record, measured) in &trials {
        let (cell, sent, came) = (&record.cell, &measured.sender.total, &measured.receiver.total);
        assert_eq!(cell.api, Api::Sendmmsg);
        assert_identity(record, measured);
        assert!(sent.messages > 0 && sent.messages == sent.sent && sent.errors == 0, "{cell}: {sent:?}");
        assert_eq!((sent.bytes, came.bytes), (sent.sent * cell.size.get(), came.received * cell.size.get()), "{cell}");
        assert_eq!((came.messages, came.errors), (came.received, 0), "{cell}: {came:?}");
        assert!(came.calls <= came.messages, "{cell}: {came:?}");
        match cell.batch {
            1 => assert_eq!((sent.calls, came.calls), (sent.messages, came.messages), "{cell}"),
            // What a call leaves over takes another that is not full. A flow opens message by message.
            batch => {
                let counts = &measured.sender.counts;
                assert!(counts.calls <= counts.messages.div_ceil(batch.into()) + 1 + 2 * counts.short, "{cell}: {counts:?}");
            }
        }
        assert!(cell.batch == 1 || sent.calls < sent.messages, "{cell}: {sent:?}");
    }
    Ok(())
}

fn a_connection_carries_batches_and_loses_no_byte() -> Result<(), Skip> {
    for (record, measured) in measured(Test::TcpStream) {
        let (sent, came) = (&measured.sender.total, &measured.receiver.total);
        assert_eq!(record.cell.batch, 32, "what an api does where nobody says");
        assert_eq!((sent.bytes, came.bytes), (sent.messages * 1_000, sent.bytes), "{sent:?} {came:?}");
        assert!(sent.calls < sent.messages, "{sent:?}");
    }
    Ok(())
}

fn a_request_goes_alone() -> Result<(), Skip> {
    for (record, measured) in measured(Test::UdpRr) {
        let asked = &measured.sender.total;
        assert_eq!(record.cell.batch, 1);
        assert_eq!(asked.calls, asked.sent + asked.received, "{asked:?}");
    }
    Ok(())
}

fn a_label_and_a_column_name_the_batch() -> Result<(), Skip> {
    STUDY.tool.run(&["report", "-v"]).done().says("sendmmsg, batches of 16");
    let csv = STUDY.tool.run(&["report", "--csv"]).done().stdout;
    let header: Vec<&str> = csv.lines().find(|line| line.contains("api")).unwrap().split(',').collect();
    assert!(header.contains(&"batch"), "{header:?}");
    Ok(())
}

fn an_arm_of_batches_is_compared_with_one_call_a_message() -> Result<(), Skip> {
    let tool = Tool::new();
    let arms = ["--arm", "base", "--arm", "batch: api=sendmmsg,batch=8", "--blocks", "2", "--length", "20ms"];
    let quick = ["study", "quick", "--test", "UDP_STREAM", "--size", "64"];
    tool.run(&[&quick[..], &arms].concat()).judged();
    let mut calls: Vec<bool> = tool.stored().all_measured().iter().map(|(_, measured)| one_each(measured)).collect();
    calls.sort_unstable();
    assert_eq!(calls, [false, false, true, true], "two blocks of two arms");
    Ok(())
}

fn one_each(measured: &Measured) -> bool {
    measured.sender.total.calls == measured.sender.total.messages
}

fn what_cannot_be_is_refused_in_words() -> Result<(), Skip> {
    let tool = Tool::new();
    for (flags, words) in [
        (["--api=sendmmsg", "--batch=0"], "1 to 1024"),
        (["--api=sendmmsg", "--batch=1025"], "1 to 1024"),
        (["--api=sendmmsgs", "--batch=2"], "did you mean 'sendmmsg'?"),
        (["--api=sendmmsg", "--test=TCP_CRR"], "does not carry TCP_CRR"),
    ] {
        let answer = tool.run(&[&["study", "quick", "--dry-run"][..], &flags].concat());
        assert_eq!(answer.code, Some(2), "{flags:?}: {answer:?}");
        assert!(answer.stderr.contains(words), "{flags:?}: {}", answer.stderr);
    }
    Ok(())
}
