//! Studies of socket buffers: fixed numbers of bytes, what was asked, set, got
//! and seen under way, and a run that is interrupted and gone on with.

use std::time::Duration;

use model::Warning;
use model::end::OptionValue;
use model::run::Status;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::support::tool::Tool;
use crate::support::{Skip, need_root, within};

crate::claims!(
    a_map_that_was_interrupted_in_its_third_block_is_whole_in_the_end,
    bytes_end_a_trial_and_nothing_else_does,
    a_study_that_was_published_has_its_figures_next_to_it,
);

/// A send buffer that cannot be had, and a receive buffer that no system gives.
const PLAN: &str = r#"
name = "map"
seed = 7
trial = { bytes = "512K", warmup = "1ms" }
blocks = { least = 4, most = 4, confidence = 0.85 }
link = { kind = "ethernet 100M" }
[[cells]]
test = "TCP_STREAM"
size = 1460
nodelay = true
sndbuf = [1000, 16000]
rcvbuf = [3200, 5450, "1G"]
[[cells]]
test = "TCP_STREAM"
size = 1460
nodelay = true
"#;

const CELLS: usize = 7;

fn a_map_that_was_interrupted_in_its_third_block_is_whole_in_the_end() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::new();
    let study = tool.start_study(PLAN, &[]);
    within(Duration::from_secs(60), "two blocks and a trial are stored", || {
        tool.try_stored().is_some_and(|run| run.trials_so_far() > 2 * CELLS)
    });
    killpg(Pid::from_raw(study.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(study.wait_with_output().unwrap().status.code(), Some(1));
    let stored = tool.stored();
    assert_eq!(stored.status(), Status::Interrupted);
    let answer = tool.run(&["study", "--resume", stored.path().to_str().unwrap()]).done();
    assert!(answer.stdout.lines().all(|line| line.chars().count() <= 80), "{answer:#?}");
    answer.says("TCP_STREAM (nodelay) of 1,460 B over ethernet 100M");
    tool.run(&["report", "-v"]).done().says("The kernel gives no send buffer below 4,608");
    answer.says("Autotuning reaches");
    assert!(tool.stored().text("report.html").contains("<svg class=\"heat\""));

    let trials = tool.stored().all_measured();
    assert_eq!(trials.len(), 4 * CELLS);
    let mut not_taken = 0;
    for (record, measured) in &trials {
        // Whole messages, as many as hold the bytes, and a tenth more before them.
        let (messages, warmup) = (524_288_u64.div_ceil(1_460), 36);
        assert_eq!(measured.sender.counts.messages, messages);
        assert_eq!(measured.receiver.counts.bytes, messages * 1_460, "{}: to the last byte", record.cell);
        assert_eq!(measured.receiver.total.bytes, (messages + warmup) * 1_460);
        let given = record.cell.sndbuf.is_some();
        assert_eq!(measured.sender.in_flight.is_some_and(|seen| seen.looks > 0), given, "only where a buffer is given is it looked at");
        assert!(measured.receiver.in_flight.is_none());
        let option = measured.sender.options.iter().find(|option| option.name == "SO_SNDBUF").unwrap();
        if option.asked == Some(OptionValue::Number(1_000)) {
            assert_eq!(option.set, OptionValue::Number(4_608), "{}", record.cell);
        }
        let refused = |warning: &&Warning| matches!(warning, Warning::OptionNotTaken { option, .. } if option == "SO_RCVBUF");
        not_taken += usize::from(record.warnings.iter().any(|warning| refused(&warning)));
    }
    assert_eq!(not_taken, 2 * 4, "a receive buffer of 1 GiB is not taken, and that is said");

    let map = tool.run(&["report", "-J"]).done().json()["buffers"][0].clone();
    let count = |key: &str| map[key].as_array().unwrap().len();
    assert_eq!((count("senders"), count("receivers"), count("cells")), (2, 3, 6));
    assert_eq!((map["senders"][0]["asked"].as_u64(), map["senders"][0]["set"].as_u64()), (Some(1_000), Some(4_608)));
    assert!(map["receivers"][0]["window"].as_f64().unwrap() < 3_200.0, "{map}");
    assert!(map["cells"][0]["in_flight"].as_f64().unwrap() <= 2.0, "a window of one segment: {map}");
    Ok(())
}

fn bytes_end_a_trial_and_nothing_else_does() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.run(&["study", "buffers", "--bytes", "0"]).refused(2, &["'--bytes", "at least one byte"]);
    tool.run(&["study", "buffers", "--bytes", "1M", "--length", "1s"]).refused(2, &["'--bytes", "cannot be used with", "'--length"]);
    tool.run(&["study", "buffers", "--bytes", "-1"]).refused(2, &["--bytes", "negative"]);
    // The whole of the original, before anything is begun.
    let dry = tool.run(&["study", "buffers", "--dry-run", "--bytes", "8M"]).done();
    dry.says("290 cells in 4 blocks: 1,160 trials");
    dry.says("then 8M.");
    assert!(dry.stdout.starts_with("Takes about "), "{}", dry.stdout);
    assert!(!tool.path().join("runs").exists(), "nothing was begun");
    // A flag of another kind takes the place of the plan's bytes.
    tool.run(&["study", "buffers", "--dry-run", "--length", "10ms"]).done().says("10 ms measured");
    Ok(())
}

fn a_study_that_was_published_has_its_figures_next_to_it() -> Result<(), Skip> {
    let tool = Tool::new();
    let plan = "name = \"again\"\nreference = \"REFERENCE\"\ntrial = { length = \"20ms\", warmup = \"2ms\" }\n\
                blocks = { least = 1, most = 1 }\nlink = { kind = \"loopback\" }\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = [1, 1024]\n";
    tool.study(&plan.replace("REFERENCE", "bidulock2007"), &[]).done();
    tool.run(&["report", "-v"]).done().says("Next to it: Three implementations of UDP over loopback");
    let published = tool.run(&["report", "-J"]).done().json()["published"].clone();
    let rows = published["sizes"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 15, "every published size, measured or not");
    assert_eq!(rows[0]["published"][0].as_f64().map(f64::round), Some(71_493.0), "714,928 messages in 10 s: {published}");
    assert!(rows[0]["today"]["value"].as_f64().unwrap() > 0.0 && rows[1]["today"].is_null());

    let tool = Tool::new();
    tool.study(&plan.replace("REFERENCE", "nobody1999"), &["-v"]).done().says("published study 'nobody1999'");
    tool.study(&plan.replace("REFERENCE", "../x"), &[]).refused(2, &["reference = ../x"]);
    Ok(())
}
