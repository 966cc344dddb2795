//! Workloads, predicted from single sizes and really sent.

use model::{Mix, Protocol};

use crate::conservation::assert_identity;
use crate::support::Skip;
use crate::support::tool::Tool;

crate::claims!(
    sizes_and_mixes_are_measured_together_and_compared,
    a_stored_run_predicts_and_the_mix_is_measured_after_it,
    without_sizes_there_is_nothing_to_predict_from,
    a_workload_that_cannot_be_is_misuse,
    a_dry_run_says_what_would_be_sent,
);

/// Most are small; some are beyond a frame, a few beyond a datagram.
const SIZES: &str = "message_bytes,cumulative_fraction\n8,0.5\n200,0.8\n3000,0.99\n70000,1\n";

/// As short as a trial can be.
const SHORT: [&str; 6] = ["-t", "20ms", "-O", "5ms", "--blocks", "6"];

fn tool() -> Tool {
    let tool = Tool::new();
    tool.write("mine.csv", SIZES);
    tool
}

fn sizes_and_mixes_are_measured_together_and_compared() -> Result<(), Skip> {
    let tool = tool();
    let said = tool.run(&[&["workload", "mine.csv", "--measure", "--html", "page.html", "-J"], &SHORT[..]].concat()).done().json();
    assert_eq!((&said["same_run"], said["workloads"].as_array().unwrap().len()), (&true.into(), 1));
    let series = said["workloads"][0]["series"].as_array().unwrap();
    let names: Vec<&str> = series.iter().map(|series| series["series"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(["UDP_STREAM", "TCP_STREAM (nodelay)", "TCP_STREAM (nagle)"].iter().all(|name| names.contains(name)), "{names:?}");
    for one in series {
        // Datagrams end at 65,507 B.
        assert_eq!(one["cut"].is_null(), one["protocol"] == "tcp" || one["protocol"] == "TCP", "{one}");
        for row in one["figures"].as_array().unwrap() {
            assert!(row["predicted"]["value"].is_number() && row["measured"]["value"].is_number(), "{row}");
        }
        assert!(one["figures"].as_array().unwrap().len() >= 4, "{one}");
        assert!(one["sent"]["messages"].as_u64().unwrap() > 0);
    }
    assert!(std::fs::read_to_string(tool.path().join("page.html")).unwrap().contains("Workloads, predicted and measured"));

    let trials = tool.stored().all_measured();
    let mixed: Vec<_> = trials.iter().filter(|(record, _)| record.cell.mix.is_some()).collect();
    assert_eq!(mixed.len(), 3 * 6);
    for (record, measured) in mixed {
        let mix: &Mix = record.cell.mix.as_ref().unwrap();
        let (sender, receiver) = (&measured.sender.total, &measured.receiver.total);
        let sizes = mix.sequence().into_iter().cycle().take(sender.messages as usize);
        assert_eq!(sender.bytes, sizes.map(u64::from).sum::<u64>(), "{}: what was sent is what the mix says", record.cell);
        match record.cell.protocol() {
            Protocol::Udp => assert_identity(record, measured),
            Protocol::Tcp => assert_eq!((sender.bytes, sender.messages), (receiver.bytes, receiver.messages), "{}", record.cell),
        }
    }
    // What is stored says the same again, and measures nothing.
    let text = tool.run(&["workload", "mine.csv"]).done();
    text.says("Mixes: in the same blocks");
    text.says("With Nagle's algorithm the cost of a message is not its own");
    assert!(text.stdout.lines().all(|line| line.chars().count() <= 80), "{}", text.stdout);
    assert_eq!(std::fs::read_dir(tool.path().join("runs")).unwrap().count(), 1);
    Ok(())
}

const SWEEP: &str = "name = \"sweep\"\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = [1, 1000, 4000]\n";

fn a_stored_run_predicts_and_the_mix_is_measured_after_it() -> Result<(), Skip> {
    let tool = tool();
    tool.study(SWEEP, &SHORT).done();
    let alone = tool.run(&["workload", "mine.csv", "--predict", "-J"]).done().json();
    assert!(alone["same_run"].is_null() && alone["runs"]["mixes"].is_null(), "{alone}");
    let said = tool.run(&[&["workload", "mine.csv", "-J"], &SHORT[..]].concat()).done().json();
    assert_eq!(said["same_run"], false);
    assert_ne!(said["runs"]["sizes"], said["runs"]["mixes"]);
    let series = &said["workloads"][0]["series"][0];
    assert_eq!((&series["series"], &series["measured_sizes"]), (&"UDP_STREAM".into(), &serde_json::json!([1, 4000])));
    // Every trial that the new run has is used; none is left out for being short.
    let stored = tool.stored().all_measured();
    assert!(stored.iter().all(|(record, _)| record.cell.mix.is_some()));
    assert_eq!((&series["sent"]["trials"], stored.len()), (&6.into(), 6));
    // A run of mixes alone is no sweep: the one before it is found.
    assert_eq!(tool.run(&["workload", "mine.csv", "--predict", "-J"]).done().json()["runs"]["sizes"], said["runs"]["sizes"]);
    Ok(())
}

fn without_sizes_there_is_nothing_to_predict_from() -> Result<(), Skip> {
    let tool = tool();
    tool.run(&["workload"]).refused(1, &["runs"]);
    let one_size = "name = \"one\"\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = 1\n";
    tool.study(one_size, &["-t", "20ms", "--blocks", "1"]).done();
    tool.run(&["workload"]).refused(1, &["no streams of several sizes", "--measure"]);
    tool.run(&["workload", "-J"]).refused_in_json(1, &["--measure"]);
    Ok(())
}

fn a_workload_that_cannot_be_is_misuse() -> Result<(), Skip> {
    let tool = tool();
    tool.run(&["workload", "W9"]).refused(2, &["neither a workload (W1, W2, W3, W4, W5) nor a file"]);
    tool.run(&["workload", "w1", "W1"]).refused(2, &["named twice"]);
    tool.write("bad.csv", "message_bytes,cumulative_fraction\n8,0.5\n7,1\n");
    tool.run(&["workload", "bad.csv"]).refused(2, &["bad: line 3: the size 7 does not rise above 8"]);
    tool.write("own.csv", "message_bytes,cumulative_fraction\n8,0.6\n64,0.4\n");
    tool.run(&["workload", "own.csv"]).refused(2, &["own: the fractions add up to 1: they are of each size by itself"]);
    // What can be read is.
    tool.write("cent.csv", "message_bytes,cumulative_fraction\n8,60\n64,100\n");
    tool.run(&["workload", "cent.csv", "--measure", "--dry-run"]).done();
    let wide = [0xff, 0xfe].into_iter().chain(SIZES.encode_utf16().flat_map(u16::to_le_bytes)).collect::<Vec<u8>>();
    std::fs::write(tool.path().join("wide.csv"), wide).unwrap();
    let answer = tool.run(&["workload", "wide.csv", "--measure", "--dry-run"]).done();
    assert!(answer.stderr.contains("wide.csv: the file begins with the mark of UTF-16LE"), "{}", answer.stderr);
    tool.write("huge.csv", "message_bytes,cumulative_fraction\n8,0.5\n2000000000,1\n");
    tool.run(&["workload", "huge.csv", "--measure"]).refused(2, &["huge: a message of 2000000000 B cannot be sent"]);
    tool.run(&["workload", "--measure", "--run", "x"]).refused(2, &["--measure"]);
    tool.write("work.toml", "format = 1\n");
    tool.run(&["workload", "work.toml"]).refused(2, &["work.toml: ", "missing field", "nettoll attach --workload"]);
    tool.run(&["workload", "none.toml"]).refused(2, &["none.toml cannot be read: No such file", "check the path"]);
    tool.run(&["workload", "work.toml", "mine.csv"]).refused(2, &["sent by itself"]);
    tool.run(&["workload", "work.toml", "--link", "veth"]).refused(2, &["sent over loopback"]);
    tool.run(&["advise", "--workload", "work.toml", "-J"]).refused_in_json(2, &["missing field"]);
    tool.run(&["advise", "--workload", "work.toml", "--pid", "1"]).refused(2, &["--pid"]);
    Ok(())
}

fn a_dry_run_says_what_would_be_sent() -> Result<(), Skip> {
    let tool = tool();
    tool.run(&["workload", "mine.csv", "--measure", "--dry-run"]).done().says("37 cells in 9 blocks");
    let all = tool.run(&["workload", "mine.csv", "--measure", "--dry-run", "-J"]).done().json();
    assert!(all.to_string().contains("mine"), "{all}");
    assert!(tool.try_stored().is_none());
    Ok(())
}
