//! Arms: every setting takes effect, is seen to, and is undone.

use std::time::Duration;

use model::Test;
use model::trial::{Outcome, TrialRecord};

use crate::support::processes::{assert_nothing_left, traces};
use crate::support::tool::Tool;
use crate::support::{Skip, need_programs, within};

crate::claims!(
    every_arm_is_brought_about_and_set_back,
    a_setting_that_does_not_take_effect_fails_its_trials_alone,
    another_program_can_be_the_endpoint,
    the_ends_are_bound_where_an_arm_says,
    an_offload_is_a_factor_of_cells,
    a_machine_can_be_held_against_itself,
    a_study_is_measured_again_at_one_size_and_pooled,
    what_cannot_be_set_is_refused_before_anything_is_measured,
    a_killed_study_of_arms_is_gone_on_with_in_its_order,
);

const PLAN: &str = r#"
    name = "arms"
    seed = 5
    trial = { length = "20ms", warmup = "3ms" }
    blocks = { least = 2, most = 2 }
    [[cells]]
    test = ["UDP_STREAM", "TCP_STREAM"]
    size = 512
"#;

fn of<'a>(trials: &'a [TrialRecord], arm: &str) -> Vec<&'a TrialRecord> {
    trials.iter().filter(|trial| trial.arm.as_deref() == Some(arm)).collect()
}

fn with_arms<'a>(arms: &[&'a str]) -> Vec<&'a str> {
    arms.iter().flat_map(|arm| ["--arm", arm]).collect()
}

fn every_arm_is_brought_about_and_set_back() -> Result<(), Skip> {
    need_programs(&["ip"])?;
    let tool = Tool::new();
    // What the hosts say of themselves before each trial.
    let say = "cat /proc/sys/net/ipv4/tcp_rmem >> $NETTOLL_ARM.said; ip -o link show $NETTOLL_DEVICE >> $NETTOLL_ARM.said";
    let base = format!("base: before={say}");
    let tuned = format!(
        "tuned: cc=reno, offload.gro=off, offload.tx=off, mtu=1400, sysctl.net.ipv4.tcp_rmem=4096 8192 16384, before={say}, \
         after=echo $NETTOLL_ROLE of $NETTOLL_CELL on $NETTOLL_HOST >> after.said"
    );
    tool.study(PLAN, &with_arms(&[&base, &tuned])).judged();
    let trials = tool.stored().trials();
    assert_eq!((of(&trials, "base").len(), of(&trials, "tuned").len()), (4, 4));
    for pair in trials.chunks(2) {
        assert!(pair[0].cell == pair[1].cell && pair[0].arm != pair[1].arm, "arms of a cell are neighbours");
    }
    for trial in &trials {
        let measured = trial.measured().unwrap_or_else(|| panic!("{trial:?}"));
        let is_tuned = trial.arm.as_deref() == Some("tuned");
        let taken: Vec<(&str, &str)> = trial.taken.iter().map(|taken| (taken.name.as_str(), taken.got.as_str())).collect();
        let wanted = [("sysctl.net.ipv4.tcp_rmem", "4096 8192 16384"), ("mtu", "1400"), ("offload.tx", "off"), ("offload.gro", "off")];
        assert_eq!(taken, if is_tuned { wanted.as_slice() } else { &[] });
        let cc = measured.sender.options.iter().find(|option| option.name == "TCP_CONGESTION");
        assert_eq!(
            cc.is_some_and(|cc| format!("{:?}", cc.got).contains("reno") && cc.asked.is_some()),
            is_tuned && trial.cell.test == Test::TcpStream
        );
        assert!(trial.cell.offloads.is_empty() && trial.cell.cc.is_none(), "a trial stands under its cell in the plan");
    }
    let said = |arm: &str| std::fs::read_to_string(tool.path().join(format!("{arm}.said"))).unwrap();
    // Each trial is of two hosts, and each of them has two lines.
    let (base, tuned, after) = (said("base"), said("tuned"), said("after"));
    assert_eq!([&base, &tuned, &after].map(|said| said.lines().count()), [16, 16, 8]);
    assert_eq!([base.matches("mtu 1500").count(), base.matches("16384\n").count()], [8, 0], "{base}");
    assert_eq!([tuned.matches("mtu 1400").count(), tuned.matches("4096\t8192\t16384\n").count()], [8, 8], "{tuned}");
    for words in ["sender of UDP_STREAM (gro off) 512 B", "receiver of TCP_STREAM (nagle, reno, tx off, gro off) 512 B on"] {
        let words = words.replace("(gro off)", "(tx off, gro off)");
        assert!(after.contains(&words), "{words}: {after}");
    }
    Ok(())
}

fn a_setting_that_does_not_take_effect_fails_its_trials_alone() -> Result<(), Skip> {
    let tool = Tool::new();
    let arms = [
        ("base", ""),
        ("before", ": before=echo not today >&2; exit 3"),
        ("after", ": after=echo not now >&2; exit 4"),
        ("last", ": sysctl.net.ipv4.tcp_rmem=4096 8192 16384"),
    ];
    let words: Vec<String> = arms.iter().map(|(name, rest)| format!("{name}{rest}")).collect();
    let told = tool.study(PLAN, &with_arms(&words.iter().map(String::as_str).collect::<Vec<_>>())).judged();
    // Before everything else, with the reason.
    let first = told.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(first.find("every trial of arm ").is_some_and(|place| place < 300 && first[place..].contains("failed (exit code ")), "{first}");
    let trials = tool.stored().trials();
    let errors = |arm: &str| -> Vec<String> {
        let error = |trial: &&TrialRecord| match &trial.outcome {
            Outcome::Failed { error, lost: false } => Some(error.clone()),
            _ => None,
        };
        of(&trials, arm).iter().filter_map(error).collect()
    };
    for (arm, says) in [
        ("before", &["`echo not today >&2; exit 3` failed (exit code 3): not today"][..]),
        ("after", &["`echo not now >&2; exit 4` failed (exit code 4): not now"]),
    ] {
        let errors = errors(arm);
        assert_eq!(errors.len(), 4, "{arm}: {errors:?}");
        assert!(errors.iter().all(|error| says.iter().all(|word| error.contains(word))), "{arm}: {errors:?}");
    }
    for arm in ["base", "last"] {
        assert_eq!((errors(arm), of(&trials, arm).len()), (Vec::new(), 4));
    }
    Ok(())
}

fn another_program_can_be_the_endpoint() -> Result<(), Skip> {
    let tool = Tool::new();
    let arm = format!("other: tool={}", crate::support::tool::program().display());
    tool.study(PLAN, &with_arms(&["base", &arm])).judged();
    let stored = tool.stored();
    for trial in of(&stored.trials(), "other") {
        assert!(trial.measured().is_some(), "{trial:?}");
        assert_eq!((trial.taken.len(), trial.taken[0].name.as_str(), &trial.taken[0].got), (1, "tool", &stored.run().tool));
    }
    Ok(())
}

fn the_ends_are_bound_where_an_arm_says() -> Result<(), Skip> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default().trim();
    let first = allowed.split([',', '-']).next().and_then(|cpu| cpu.parse::<u32>().ok());
    let Some(first) = first else { return Err(Skip("the CPUs that may be used are not known".to_owned())) };
    let tool = Tool::new();
    let arm = format!("one: cpus.a={first}, cpus.b={first}");
    tool.study(PLAN, &with_arms(&["base", &arm])).judged();
    let trials = tool.stored().trials();
    for trial in &trials {
        let measured = trial.measured().unwrap_or_else(|| panic!("{trial:?}"));
        let both = [measured.sender.cpu, measured.receiver.cpu];
        assert_eq!(both == [Some(first); 2], trial.arm.as_deref() == Some("one") || both[0] == both[1], "{both:?}");
    }
    Ok(())
}

fn an_offload_is_a_factor_of_cells() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.study(&PLAN.replace("size = 512", "size = 512\n    offload.tx = [\"on\", \"off\"]"), &["--blocks", "1"]).done();
    let trials = tool.stored().trials();
    assert_eq!(trials.len(), 4);
    for trial in &trials {
        assert!(trial.measured().is_some(), "{trial:?}");
        let on = trial.cell.offloads.values().next().copied();
        let taken: Vec<(&str, bool)> = trial.taken.iter().map(|taken| (taken.name.as_str(), taken.got == "on")).collect();
        assert_eq!(taken, [("offload.tx", on.unwrap())]);
    }
    tool.study(PLAN, &["--blocks", "1", "--offload-tx", "off", "--test", "UDP_STREAM"]).done();
    tool.run(&["report", "-v"]).done().says("UDP_STREAM (tx off)");
    Ok(())
}

fn a_machine_can_be_held_against_itself() -> Result<(), Skip> {
    let tool = Tool::new();
    let analysis = tool.study(PLAN, &["--arm", "a", "--arm", "a", "--blocks", "9", "-J"]).judged().json();
    let verdict = &analysis["verdicts"][0];
    assert_eq!((verdict["baseline"].as_str(), verdict["candidate"].as_str()), (Some("a"), Some("a#2")));
    assert_eq!(verdict["is_self_test"], true);
    assert_eq!(verdict["metrics"][0]["metric"], "cpu_per_message_ns");
    // A trial too disturbed to have a figure is in no pair.
    assert!((7..=9).contains(&verdict["metrics"][0]["pairs"][1].as_array().unwrap().len()), "{verdict}");
    assert!(verdict["self_test"]["seconds_per_block"].as_f64().unwrap() > 0.0, "{verdict}");
    assert_eq!(analysis["arms"][0]["cells"].as_array().unwrap().len(), 2);
    assert_eq!(analysis["trials"], 36);
    Ok(())
}

/// More blocks of one size join those of the first run, and the answer is of that size.
fn a_study_is_measured_again_at_one_size_and_pooled() -> Result<(), Skip> {
    let tool = Tool::new();
    let plan = PLAN.replace("[\"UDP_STREAM\", \"TCP_STREAM\"]", "\"UDP_STREAM\"").replace("size = 512", "size = [64, 512]");
    let arms = ["--arm", "a", "--arm", "b: sndbuf=64K", "--in-turn"];
    tool.study(&plan, &[&arms[..], &["--blocks", "4"]].concat()).judged();
    let again = |more: &[&str]| tool.run(&[&["study", "--again", "latest"], more].concat());
    again(&["--size", "63"]).refused(2, &["the run has no messages of 63 B; its sizes are 64, 512"]);
    again(&["--cc", "reno"]).refused(2, &["--cc cannot be changed, --size and --blocks can"]);
    again(&["--length", "1s"]).refused(2, &["only --blocks and --seed can be changed"]);
    let answer = again(&["--size", "64", "--blocks", "5", "-J"]).judged();
    let pooled = answer.json();
    let run = tool.stored().run();
    assert_eq!((run.plan.cells.len(), run.plan.blocks.most), (1, 5));
    assert_eq!(run.pooled.map(|pooled| (pooled.runs.len(), pooled.cells)), Some((1, 2)));
    let sizes: Vec<u64> = pooled["cells"].as_array().unwrap().iter().map(|cell| cell["cell"]["size"].as_u64().unwrap()).collect();
    let pairs = pooled["verdicts"][0]["metrics"][0]["pairs"][0].as_array().map_or(0, Vec::len);
    // A trial too disturbed to have a figure is in no pair.
    assert!(sizes == [64] && (4..=9).contains(&pairs), "{sizes:?}: {pairs} pairs");
    let trials = ["trials", "failed"].map(|name| pooled[name].as_u64().unwrap());
    assert_eq!(trials.iter().sum::<u64>(), 18, "two arms in the four blocks of the first run and five more");
    let exit = pooled["answer"]["exit"]["code"].as_i64();
    assert_eq!(exit, answer.code.map(i64::from));
    assert_eq!(tool.run(&["report", "latest", "-J"]).json()["verdicts"], pooled["verdicts"]);
    Ok(())
}

fn what_cannot_be_set_is_refused_before_anything_is_measured() -> Result<(), Skip> {
    let tool = Tool::new();
    let refused = |code: i32, arms: &[&str], more: &[&str], words: &[&str]| {
        tool.study(PLAN, &[with_arms(arms), more.to_vec()].concat()).refused(code, words);
    };
    refused(2, &["a"], &[], &["1 arm: a comparison takes 2 to 16"]);
    refused(2, &["a", "b: ofload.gro=off"], &[], &["did you mean 'offload.gro'?"]);
    refused(2, &["a", "b: size=1"], &[], &["says which cell a cell is"]);
    refused(2, &["a", "b: stamp=true"], &[], &["arm 'b' over the cell TCP_STREAM (nagle) 512 B"]);
    refused(2, &["a", "b: mtu=1000"], &[], &["a device loses IPv6"]);
    for setting in ["offload.gro=off", "mtu=1400", "sysctl.net.ipv4.tcp_rmem=4096 8192 16384"] {
        refused(2, &["a", &format!("b: {setting}")], &["--link", "loopback"], &["of arm 'b'", "--host-wide"]);
        refused(2, &["a", &format!("b: {setting}")], &["--host", "b=192.0.2.9"], &["nothing of an agent's machine is changed"]);
    }
    refused(2, &["a", "b: before=true"], &["--host", "b=192.0.2.9"], &["an agent runs nothing"]);
    assert!(tool.try_stored().is_none(), "nothing was begun");
    // Of the hosts' kernel, only they themselves can tell.
    refused(1, &["a", "b: sysctl.kernel.panic=0"], &[], &["sysctl.kernel.panic", "not one of the network's", "--host-wide"]);
    refused(1, &["a", "b: sysctl.net.ipv4.tcp_rmen=1"], &[], &["did you mean 'sysctl.net.ipv4.tcp_rmem'?"]);
    // What would fail every trial of an arm is said beforehand, by a dry run as well.
    for (setting, words) in [
        ("cpus.a=60000", &["host a: ", "CPU 60000: it offers"][..]),
        ("sysctl.net.ipv4.tcp_congestion_control=nothing", &["setting net.ipv4.tcp_congestion_control", "No such file"]),
        ("tool=/bin/true", &["/bin/true is no nettoll"]),
        ("sndbuf=1G", &["this kernel allows", "net.core.wmem_max"]),
        ("api=exec:./no-such-program", &["start ./no-such-program: No such file"]),
    ] {
        for more in [&["--dry-run"][..], &[]] {
            let words = [&["arm 'b' cannot be brought about, and every trial of it would fail"], words].concat();
            refused(1, &["a", &format!("b: {setting}")], more, &words);
        }
    }
    refused(2, &["cubic", "bbr"], &[], &["arm 'cubic' sets nothing", "did you mean 'cubic: cc=cubic'?"]);
    assert!(tool.try_stored().is_none(), "nothing was begun");
    let dry = tool.study(PLAN, &[with_arms(&["a", "b: cc=reno, offload.gro=off"]), vec!["--dry-run"]].concat()).done();
    dry.says("2 cells in 2 arms in 2 blocks: 8 trials");
    dry.says("a: nothing set (the baseline)");
    dry.says("b: cc=reno, offload.gro=off");
    Ok(())
}

fn a_killed_study_of_arms_is_gone_on_with_in_its_order() -> Result<(), Skip> {
    const BLOCKS: u32 = 4;
    let plan = PLAN.replace("least = 2, most = 2", "least = 4, most = 4").replace("20ms", "60ms");
    let arms = with_arms(&["base", "tuned: mtu=1400, sysctl.net.ipv4.tcp_rmem=4096 8192 16384"]);
    let tool = Tool::new();
    let before = traces();
    let mut study = tool.start_study(&plan, &arms);
    // Of four trials a block, one and a half.
    within(Duration::from_secs(60), "block 2 is under way", || tool.try_stored().is_some_and(|run| run.trials_so_far() >= 6));
    study.kill().unwrap();
    study.wait().unwrap();
    assert_nothing_left(&tool, &before);
    let earlier = tool.stored().trials();
    let path = tool.stored().path().to_owned();
    tool.run(&["study", "--resume", path.to_str().unwrap()]).judged();
    let trials = tool.stored().trials();
    assert_eq!((trials.len(), &trials[..earlier.len()]), (4 * BLOCKS as usize, &earlier[..]));
    for pair in trials.chunks(2) {
        assert!(pair[0].cell == pair[1].cell && pair[0].arm != pair[1].arm && pair[0].block == pair[1].block, "arms stay neighbours");
    }
    // The settings are those of each trial's own arm, also in the hosts made anew.
    let taken = |trial: &TrialRecord| trial.taken.len() == if trial.arm.as_deref() == Some("tuned") { 2 } else { 0 };
    assert!(trials.iter().all(|trial| trial.measured().is_some() && taken(trial)));
    assert_nothing_left(&tool, &before);
    Ok(())
}
