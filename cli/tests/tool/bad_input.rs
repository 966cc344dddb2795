//! What cannot be done is said: what was tried, what the answer was, what to
//! do; with the right exit code, and in JSON where that was asked for.

use crate::support::processes::{assert_nothing_left, traces};
use crate::support::stored::Stored;
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_programs, need_root};

crate::claims!(
    wrong_inputs_are_answered_in_three_lines_with_the_remedy,
    a_dry_run_refuses_what_the_run_would_refuse,
    a_host_that_cannot_be_reached_leaves_no_run_behind,
    an_unknown_flag_is_misuse,
    an_unknown_subcommand_is_misuse,
    a_size_that_cannot_be_measured_is_misuse,
    a_negative_number_is_misuse_and_not_a_flag,
    an_overflowing_number_is_misuse,
    an_unknown_key_in_a_plan_is_named_with_the_nearest_right_one,
    an_unknown_level_is_named_with_the_nearest_right_one,
    an_unknown_preset_is_named_with_those_that_there_are,
    contradictory_flags_are_misuse,
    a_plan_that_is_missing_is_named,
    a_plan_that_is_not_toml_is_shown_with_its_line,
    a_runs_directory_of_somebody_else_is_said,
    a_read_only_runs_directory_is_said,
    a_full_disk_ends_the_study_and_keeps_its_trials,
    an_internal_command_with_nonsense_is_misuse,
);

/// Refused with the same words in both forms, and nothing was begun.
#[track_caller]
fn refused(tool: &Tool, code: i32, arguments: &[&str], words: &[&str]) {
    tool.run(arguments).refused(code, words);
    tool.run(&[arguments, &["-J"]].concat()).refused_in_json(code, words);
    assert!(!tool.path().join("runs").exists(), "nothing was begun");
}

#[track_caller]
fn misuse(arguments: &[&str], words: &[&str]) {
    refused(&Tool::new(), 2, &[&["study", "quick"], arguments].concat(), words);
}

#[track_caller]
fn bad_plan(plan: &str, words: &[&str]) {
    let tool = Tool::new();
    tool.write("plan.toml", plan);
    refused(&tool, 2, &["study", "--plan", "plan.toml"], words);
}

/// Wrong command lines, each with words of its remedy.
const WRONG: &[(&str, &str)] = &[
    ("studdy", "'study'"),
    ("study quik", "did you mean 'quick'?"),
    ("study --size 64", "`nettoll study` lists the studies"),
    ("study quick --blcks 3", "'--blocks'"),
    ("study quick --plan x.toml", "`nettoll study --help`"),
    ("study quick -4 -6", "cannot be used with"),
    ("study quick --blocks 1 --most 2", "cannot be used with"),
    ("study quick --test udp", "did you mean 'UDP_STREAM'?"),
    ("study quick --size 12X", "such as 1024, 16K or 8M"),
    ("study quick --size 65508", "at most 65507"),
    ("study quick -t 10parsecs", "such as 150ms"),
    ("study quick --precision wide", "such as 0.05 or 5%"),
    ("study quick --precision 200%", "between 0 and 1"),
    ("study quick --cc rennno", "There are "),
    ("study quick --arm base --arm x:cc=rennno", "modprobe"),
    ("study quick --link weth", "did you mean 'veth'?"),
    ("study quick --link ethernet", "such as 'ethernet 10M'"),
    ("study quick --link loopback --offload gro=off", "--link veth"),
    ("study quick --offload tsso=off", "did you mean 'tso'?"),
    ("study quick --mtu 67", "68 to 65535"),
    ("study quick --host c=db1", "NAME=PLACE"),
    ("study quick --arm base", "2 to 16"),
    ("study quick --arm base --arm x:cc", "SETTING=VALUE"),
    ("compare alone", "`nettoll compare --help`"),
    ("compare a b --threshold much", "such as 0.05 or 5%"),
    ("compare a b --html .", "--html=FILE"),
    ("reference cabrera", "did you mean 'cabrera1984'?"),
    ("workload W9", "W1"),
    ("agent --data-ports 9-1", "the lower port comes first"),
    ("agent --listen nowhere", "`ip address`"),
    ("agent --at-once 0", "1 to 32"),
    ("-s --at-once 33", "1 to 32"),
    ("-c", "`nettoll --help`"),
    ("-c db1 --test TCP_MAERTS -R", "leave out -R"),
    ("-c db1 --sctp --xbind 1", "no address of IP"),
    ("-c db1 --dscp loud", "'loud'"),
    ("doctor --only busy", "--prove"),
    ("doctor --yes", "--prove"),
    ("doctor --prove --only loud", "'loud'"),
    ("doctor --prove --yes --kinds 99", "cells"),
    ("doctor --prove", "Give --yes"),
];

fn wrong_inputs_are_answered_in_three_lines_with_the_remedy() -> Result<(), Skip> {
    assert!(WRONG.len() >= 20);
    let tool = Tool::new();
    for (line, remedy) in WRONG {
        let answer = tool.run(&line.split(' ').collect::<Vec<_>>());
        answer.refused(2, &[remedy]);
        let lines: Vec<&str> = answer.stderr.lines().collect();
        assert!((1..=3).contains(&lines.len()), "{line}: {answer:#?}");
        assert!(lines[0].starts_with("nettoll: ") && !answer.stderr.contains("(os error"), "{line}: {answer:#?}");
    }
    assert!(!tool.path().join("runs").exists(), "nothing was begun");
    Ok(())
}

fn a_dry_run_refuses_what_the_run_would_refuse() -> Result<(), Skip> {
    for (flags, words) in [
        (&["--cc", "rennno"][..], &["this kernel has no congestion control 'rennno'; did you mean 'reno'?", "modprobe tcp_rennno"][..]),
        (&["--offload", "gro=off", "--link", "loopback"], &["gro off over loopback", "--link veth"]),
        (&["--mtu", "9000", "--link", "loopback"], &["MTU 9000 over loopback"]),
        (&["--arm", "a", "--arm", "b: sysctl.net.ipv4.tcp_rmem=1 2 3", "--link", "loopback"], &["--host-wide"]),
    ] {
        misuse(flags, words);
        misuse(&[flags, &["--dry-run"]].concat(), words);
    }
    // That of a plan fails its cells alone; where all have it nothing would be left.
    let tool = Tool::new();
    let plan = |cc: &str| format!("name = 'x'\n[[cells]]\ntest = 'TCP_STREAM'\nsize = 1\ncc = {cc}");
    tool.study(&plan("'rennno'"), &["--dry-run"]).refused(2, &["'rennno'"]);
    let some = tool.study(&plan("['reno', 'rennno']"), &["--dry-run"]).done();
    assert!(some.stderr.contains("no congestion control 'rennno'"), "{some:#?}");
    let unknown = "b: sysctl.net.ipv4.tcp_nosuch=1";
    refused(&tool, 1, &["study", "quick", "--dry-run", "--arm", "a", "--arm", unknown], &["this kernel has no such setting"]);
    Ok(())
}

fn a_host_that_cannot_be_reached_leaves_no_run_behind() -> Result<(), Skip> {
    for more in [&[][..], &["--dry-run"]] {
        // Nobody listens there.
        let study = [&["study", "quick", "--host", "b=127.0.0.1:9"], more].concat();
        refused(&Tool::new(), 1, &study, &["127.0.0.1:9", "refused", "nettoll agent"]);
    }
    Ok(())
}

fn an_unknown_flag_is_misuse() -> Result<(), Skip> {
    misuse(&["--blcks", "3"], &["unexpected argument '--blcks'", "'--blocks'", "--help"]);
    refused(&Tool::new(), 2, &["report", "--bogus"], &["unexpected argument '--bogus'", "--help"]);
    refused(&Tool::new(), 2, &["doctor", "--bogus"], &["unexpected argument '--bogus'", "--help"]);
    Ok(())
}

fn an_unknown_subcommand_is_misuse() -> Result<(), Skip> {
    refused(&Tool::new(), 2, &["studdy"], &["unrecognized subcommand 'studdy'", "'study'", "--help"]);
    Tool::new().run(&[]).refused(2, &["nettoll study", "nettoll help"]);
    Tool::new().run(&["study", "--size", "64"]).refused(2, &["name a study", "--plan", "`nettoll study` lists"]);
    Ok(())
}

fn a_size_that_cannot_be_measured_is_misuse() -> Result<(), Skip> {
    misuse(&["--size", "0"], &["factor 'size'", "0 bytes is not a size", "at least 1"]);
    misuse(&["--size", "65508"], &["factor 'size'", "65508 B does not fit a UDP datagram over ipv4", "at most 65507"]);
    misuse(&["--size", "65528", "-6"], &["does not fit a UDP datagram over ipv6", "at most 65527"]);
    misuse(&["--size", "2G", "--test", "TCP_STREAM"], &["factor 'size'", "at most"]);
    misuse(&["--size", "12X"], &["'12X' is not a size such as 1024, 16K or 8M", "its unit is not known"]);
    misuse(&["--size", "16..1"], &["'16..1' does not get from its first size to its last"]);
    misuse(&["--read-size", "1", "--test", "TCP_RR", "--size", "64"], &["factor 'read_size'", "at least the message size"]);
    Ok(())
}

fn a_negative_number_is_misuse_and_not_a_flag() -> Result<(), Skip> {
    misuse(&["--size", "-1"], &["factor 'size'", "'-1' is not a size", "negative"]);
    misuse(&["--blocks", "-1"], &["'-1'", "--blocks"]);
    misuse(&["-t", "-1"], &["'-1'", "--length", "negative"]);
    misuse(&["-O", "-1s"], &["'-1s'", "--warmup", "negative"]);
    misuse(&["--messages", "-1"], &["'-1'", "--messages"]);
    misuse(&["--mtu", "-1"], &["'-1'", "--mtu"]);
    misuse(&["--precision", "-1"], &["blocks.precision = -1", "between 0 and 1"]);
    misuse(&["--rcvbuf", "-1"], &["factor 'rcvbuf'", "negative"]);
    Ok(())
}

fn an_overflowing_number_is_misuse() -> Result<(), Skip> {
    misuse(&["--size", "99999999999999999999"], &["factor 'size'", "too large"]);
    misuse(&["--size", "99999999999G"], &["factor 'size'", "too large"]);
    misuse(&["--sndbuf", "1000G"], &["factor 'sndbuf'", "at most 2147483647"]);
    misuse(&["--blocks", "4294967296"], &["4294967296", "--blocks"]);
    misuse(&["--blocks", "4000000000"], &["blocks", "4000000000", "100000"]);
    misuse(&["--blocks", "0"], &["blocks", "0"]);
    misuse(&["-t", "99999999999h"], &["--length", "too large"]);
    misuse(&["-t", "25h"], &["--length", "at most 24 hours"]);
    misuse(&["-t", "0"], &["'0' for '--length", "more than 0"]);
    misuse(&["-O", "25h"], &["--warmup", "at most 24 hours"]);
    misuse(&["--messages", "18446744073709551616"], &["--messages"]);
    misuse(&["--messages", "0"], &["--messages", "at least one"]);
    misuse(&["--mtu", "65536"], &["link.mtu", "68 to 65535"]);
    misuse(&["--precision", "nan"], &["blocks.precision", "between 0 and 1"]);
    misuse(&["--size", "1..1M:+1"], &["more than 1000 sizes", "larger step"]);
    Ok(())
}

fn an_unknown_key_in_a_plan_is_named_with_the_nearest_right_one() -> Result<(), Skip> {
    let cells = "[[cells]]\ntest = 'UDP_STREAM'\nsize = 1\n";
    bad_plan(&format!("name = 'x'\nsead = 1\n{cells}"), &["unknown key 'sead'", "did you mean 'seed'?", "There are: name, title"]);
    bad_plan(&format!("name = 'x'\n{cells}sise = 1"), &["unknown key 'sise' in [cells]", "did you mean 'size'?", "nodelay"]);
    bad_plan(&format!("name = 'x'\n[trial]\nlenght = 1\n{cells}"), &["unknown key 'lenght' in [trial]", "did you mean 'length'?"]);
    bad_plan(&format!("name = 'x'\n[blocks]\nzzz = 1\n{cells}"), &["unknown key 'zzz' in [blocks]", "There are: least, most"]);
    bad_plan(&format!("name = 'x'\n[link.offloads]\ngrow = true\n{cells}"), &["unknown key 'grow'", "did you mean 'gro'?"]);
    bad_plan("name = 'x'", &["the plan has no cells", "[[cells]]"]);
    bad_plan(&format!("name = '../x'\n{cells}"), &["name = ../x", "letters, digits"]);
    Ok(())
}

fn an_unknown_level_is_named_with_the_nearest_right_one() -> Result<(), Skip> {
    misuse(&["--test", "TCP_STRAM"], &["factor 'test'", "'TCP_STRAM' is not a test", "did you mean 'TCP_STREAM'?", "UDP_RR"]);
    misuse(&["--api", "rdma"], &["factor 'api'", "'rdma' is not an api", "There are: send"]);
    misuse(&["--link", "weth"], &["'weth'", "--link", "did you mean 'veth'?"]);
    misuse(&["--offload", "tsso=off"], &["--offload", "'tsso' is not an offload", "did you mean 'tso'?"]);
    misuse(&["--offload", "tso=maybe"], &["--offload", "neither on nor off"]);
    misuse(&["--nodelay=maybe"], &["factor 'nodelay'", "maybe"]);
    misuse(&["--cc", "a-name-that-is-far-too-long"], &["factor 'cc'", "1 to 15 characters"]);
    Ok(())
}

fn an_unknown_preset_is_named_with_those_that_there_are() -> Result<(), Skip> {
    refused(
        &Tool::new(),
        2,
        &["study", "quik"],
        &["there is no study 'quik'", "did you mean 'quick'?", "Presets: bidulock2007, buffers", "--plan"],
    );
    Ok(())
}

fn contradictory_flags_are_misuse() -> Result<(), Skip> {
    misuse(&["-4", "-6"], &["cannot be used with"]);
    misuse(&["-t", "1", "--messages", "1"], &["cannot be used with"]);
    misuse(&["--plan", "x.toml"], &["cannot be used with"]);
    misuse(&["--blocks", "1", "--most", "2"], &["cannot be used with"]);
    misuse(&["--mtu", "1000", "-6"], &["link.mtu = 1000", "IPv6 needs at least 1280"]);
    Ok(())
}

fn a_plan_that_is_missing_is_named() -> Result<(), Skip> {
    refused(&Tool::new(), 1, &["study", "--plan", "nowhere.toml"], &["nowhere.toml", "No such file or directory", "check the path"]);
    refused(&Tool::new(), 1, &["study", "--plan", "/"], &["is a directory", "check the path"]);
    Ok(())
}

fn a_plan_that_is_not_toml_is_shown_with_its_line() -> Result<(), Skip> {
    bad_plan("name = 'x'\nthis is no TOML", &["the plan cannot be read", "line 2", "this is no TOML"]);
    bad_plan(
        "name = 'x'\n[blocks]\nleast = 'many'\n[[cells]]\ntest = 'UDP_RR'\nsize = 1",
        &["the plan cannot be read", "least = 'many'", "invalid type"],
    );
    bad_plan("", &["the plan cannot be read", "name"]);
    Ok(())
}

fn a_runs_directory_of_somebody_else_is_said() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::of_nobody();
    let roots = Tool::new();
    let runs = roots.path().join("runs");
    std::fs::create_dir(&runs).unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(roots.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let before = traces();
    let study = ["study", "quick", "--blocks", "1", "--runs", runs.to_str().unwrap()];
    refused(&tool, 1, &study, &["cannot make the directory", runs.to_str().unwrap(), "Permission denied", "belongs to you"]);
    assert_nothing_left(&tool, &before);
    Ok(())
}

/// A shell in a mount namespace of its own, which ends with it.
pub fn mounts() -> Result<[&'static str; 4], Skip> {
    need_root()?;
    need_programs(&["unshare", "mount"])?;
    let wrapper = ["unshare", "-m", "--propagation", "private"];
    match crate::support::succeeds("unshare -m --propagation private mount -t tmpfs none /mnt") {
        true => Ok(wrapper),
        false => Err(Skip("a mount namespace cannot be made here".to_owned())),
    }
}

fn a_read_only_runs_directory_is_said() -> Result<(), Skip> {
    let mounts = mounts()?;
    let tool = Tool::new();
    std::fs::create_dir(tool.path().join("runs")).unwrap();
    let script = |form: &str| tool.script(&mounts, &format!("mount -t tmpfs -o ro none runs; exec $NETTOLL study quick --blocks 1 {form}"));
    let words = ["cannot make the directory runs/", "Read-only file system", "keep runs in a directory that can be written"];
    script("").refused(1, &words);
    script("-J").refused_in_json(1, &words);
    Ok(())
}

fn a_full_disk_ends_the_study_and_keeps_its_trials() -> Result<(), Skip> {
    let mounts = mounts()?;
    let plan = r#"
        name = "full"
        trial = { length = "10ms", warmup = "1ms" }
        blocks = { least = 1, most = 1 }
        [[cells]]
        test = "UDP_STREAM"
        size = "1..60:+1"
    "#;
    let study = |form: &str| -> (Tool, Answer) {
        let tool = Tool::new();
        tool.write("plan.toml", plan);
        std::fs::create_dir(tool.path().join("runs")).unwrap();
        // The disk goes with the namespace: what is on it is copied before.
        let script = format!(
            "mount -t tmpfs -o size=100k none runs; code=0; $NETTOLL study --plan plan.toml {form} || code=$?; mkdir kept; cp -r runs/. kept; exit $code"
        );
        let answer = tool.script(&mounts, &script);
        (tool, answer)
    };
    let words = ["cannot write", "No space left on device", "the disk is full", "its finished trials are in runs/"];
    let (tool, answer) = study("");
    assert_eq!(answer.code, Some(1), "{answer:#?}");
    assert!(words.iter().all(|word| answer.stderr.contains(word)), "{answer:#?}");
    let run = std::fs::read_dir(tool.path().join("kept")).unwrap().next().unwrap().unwrap().path();
    let trials = Stored::at(run.clone()).trials();
    assert!((5..60).contains(&trials.len()), "{} trials fit", trials.len());
    let report = tool.run(&["report", run.to_str().unwrap()]).done();
    report.says(&format!("{} trials measured", trials.len()));
    study("-J").1.refused_in_json(1, &words);
    Ok(())
}

fn an_internal_command_with_nonsense_is_misuse() -> Result<(), Skip> {
    Tool::new().run(&["__host", "a", "nowhere"]).refused(2, &["'nowhere' is no isolation", "network, user, join=PID or none"]);
    // Its standard input is empty: nobody is there to serve.
    let endpoint = Tool::new().run(&["__endpoint"]);
    assert_eq!(endpoint.code, Some(1), "{endpoint:#?}");
    let host = Tool::new().run(&["__host", "a", "none"]);
    assert_eq!(host.code, Some(1), "{host:#?}");
    Ok(())
}
