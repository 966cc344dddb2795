//! The link as a factor, and what else it carries: other hosts on it, and bulk
//! flows next to a trial.
//!
//! Shares are held to what is true on a busy machine as well: a wire carries no
//! more than its rate, and what is missing from that is nobody's only where the
//! ends had their CPUs.

use std::collections::BTreeSet;
use std::time::Duration;

use linksim::limit::used_by_pairs;
use model::Warning;
use model::plan::LinkKind;
use model::run::Status;
use model::trial::Measured;

use crate::conservation::findings;
use crate::support::processes::{self, assert_nothing_left, traces};
use crate::support::tool::{Answer, Tool, note};
use crate::support::{Skip, need_programs, need_root, within};

crate::claims!(
    each_cell_crosses_its_own_link,
    pairs_of_other_hosts_take_their_part_of_the_wire,
    more_pairs_than_cpus_are_allowed_and_marked,
    bulk_flows_run_next_to_a_trial_and_are_told_from_it,
    pairs_without_room_and_other_nonsense_are_refused,
    a_link_that_cannot_be_made_is_known_before_anything_is_measured,
    a_study_over_two_links_that_is_killed_in_block_3_is_gone_on_with,
    a_killed_host_of_a_pair_costs_its_trial_alone,
    a_killed_controller_takes_pairs_and_flows_with_it,
);

fn plan(top: &str, length: &str, blocks: u32, cells: &str) -> String {
    format!(
        "name = \"crossing\"\nseed = 1\n{top}\ntrial = {{ length = \"{length}\", warmup = \"50ms\" }}\n\
         blocks = {{ least = {blocks}, most = {blocks} }}\n[[cells]]\n{cells}\n"
    )
}

fn kind(text: &str) -> LinkKind {
    text.parse().unwrap()
}

fn each_cell_crosses_its_own_link() -> Result<(), Skip> {
    let cells = "test = [\"UDP_STREAM\", \"UDP_RR\"]\nsize = 1400\nlink = [\"ethernet 10M\", \"switch 20M\", \"loopback\"]\n";
    let tool = Tool::new();
    let before = traces();
    let analysis = tool.study(&plan("", "150ms", 1, cells), &["-J"]).done().json();
    assert_eq!((&analysis["trials"], &analysis["failed"], &analysis["datagrams"]["unaccounted"]), (&6.into(), &0.into(), &0.into()));
    for cell in analysis["cells"].as_array().unwrap() {
        let (label, limit) = (cell["label"].as_str().unwrap(), cell["metrics"]["limit_bit_per_s"]["value"].as_f64());
        // 1,400 bytes of payload in 1,442 bytes of a frame, which cost 1,466.
        let of_rate = |rate: f64| limit.is_some_and(|limit| (limit / rate / (1_400.0 / 1_466.0) - 1.0).abs() < 1e-3);
        let right = match label {
            _ if !label.starts_with("UDP_STREAM") => limit.is_none(),
            _ if label.contains("ethernet 10M") => of_rate(1e7),
            _ if label.contains("switch 20M") => of_rate(2e7),
            _ => limit.is_none(),
        };
        assert!(right, "{label}: {limit:?}");
    }
    for (record, measured) in tool.stored().all_measured() {
        let loopback = record.cell.conditions.link == Some(LinkKind::Loopback);
        assert_eq!((measured.isolated, measured.wire.is_some()), (!loopback, record.cell.to_string().contains("switch")));
        assert!(!record.warnings.iter().any(|warning| matches!(warning, Warning::WrongPath { .. })), "{record:?}");
    }
    // An arm takes its cells over another link.
    let arms = "arms = [\"usual\", \"slow: link=ethernet 10M\"]";
    let tool = Tool::new();
    tool.study(&plan(arms, "100ms", 1, "test = \"UDP_STREAM\"\nsize = 1400"), &[]).judged();
    let rate = |measured: &Measured| measured.receiver.total.bytes as f64 * 8.0 / measured.receiver.window.length().as_secs_f64();
    for (record, measured) in tool.stored().all_measured() {
        // With what was sent before and after the window it is at most four of its lengths.
        assert!(record.arm.as_deref() == Some("usual") || rate(&measured) < 4e7, "{:?}: {}", record.arm, rate(&measured));
    }
    assert_nothing_left(&tool, &before);
    Ok(())
}

/// The share of the wire that the trial's own frames took of its window.
fn own_share(link: &LinkKind, measured: &Measured, payload: u64) -> f64 {
    let carried = linksim::limit::LinkTotals::from_counters(payload, &measured.sender_host.link, &measured.receiver_host.link);
    let goodput = measured.receiver.counts.bytes as f64 / measured.receiver.window.length().as_secs_f64();
    let medium = linksim::limit::Medium::of_link(link);
    carried.wire_rate(medium, goodput).unwrap() / link.rate().unwrap().get() as f64
}

fn pairs_of_other_hosts_take_their_part_of_the_wire() -> Result<(), Skip> {
    // With a small send buffer little is left to be drained when a trial ends.
    let cells = "test = [\"TCP_STREAM\", \"UDP_STREAM\"]\nsize = 1460\nnodelay = true\nsndbuf = \"64K\"\n\
                 link = [\"switch 10M\", \"shared-wire 10M\"]\nlink_load = [0, \"2x750K\"]\n";
    let tool = Tool::new();
    let before = traces();
    let analysis = tool.study(&plan("", "600ms", 1, cells), &["-J"]).done().json();
    assert_eq!(analysis["datagrams"]["unaccounted"], 0, "{:#}", analysis["datagrams"]);
    let mut sums = Vec::new();
    for (record, measured) in tool.stored().all_measured() {
        let conditions = record.cell.conditions;
        let link = conditions.link.unwrap();
        let pairs = measured.conditions.as_ref().map_or(&[][..], |taken| &taken.pairs);
        assert_eq!(pairs.len(), conditions.link_load.pairs as usize);
        for pair in pairs {
            // Nothing arrives but in frames.
            assert!(pair.bytes.get() > 0 && pair.frame_bytes[0] > pair.bytes.get() && pair.frames[1] > 0, "{pair:?}");
            let offered = pair.bytes.get() as f64 * 8.0 / pair.elapsed.as_secs_f64();
            assert!(offered < 750e3 * 1.3, "{offered}");
        }
        if conditions.link_load.is_none() {
            continue;
        }
        let quiet = !record.warnings.iter().any(|warning| matches!(warning, Warning::Contended { .. } | Warning::Misaligned { .. }));
        let payload = if record.cell.test.name() == "UDP_STREAM" { measured.receiver.total.bytes } else { measured.sender.total.bytes };
        let sum = own_share(&link, &measured, payload) + used_by_pairs(&link, pairs).unwrap();
        // What waited for a receiver that had no CPU comes within its window.
        assert!(sum < 1.5, "{}: {sum}", record.cell);
        sums.push((record.cell.to_string(), sum, quiet));
    }
    note(&format!("of the wire, all together: {sums:.3?}"));
    let close = sums.iter().filter(|(_, sum, _)| (sum - 1.0).abs() < 0.05).count();
    if close == 0 && sums.iter().all(|(_, _, quiet)| !quiet) {
        return Err(Skip("something else kept the ends from their CPUs in every trial".to_owned()));
    }
    assert!(close > 0, "{sums:?}");
    assert_nothing_left(&tool, &before);
    Ok(())
}

fn more_pairs_than_cpus_are_allowed_and_marked() -> Result<(), Skip> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let pairs = cpus + 1;
    if pairs > 8 {
        return Err(Skip(format!("{cpus} CPUs: more pairs than that take too many hosts for a test")));
    }
    let tool = Tool::new();
    let cells = format!("test = \"UDP_RR\"\nsize = 64\nlink = \"switch\"\nlink_load = [0, \"{pairs}x100K\", \"1x100K\"]");
    let analysis = tool.study(&plan("", "60ms", 1, &cells), &["-J"]).done().json();
    assert_eq!((&analysis["failed"], &analysis["datagrams"]["unaccounted"]), (&0.into(), &0.into()));
    for (record, measured) in tool.stored().all_measured() {
        let crowded = record.warnings.iter().find(|warning| matches!(warning, Warning::Crowded { .. }));
        let wanted = record.cell.conditions.link_load.pairs as usize;
        assert_eq!(crowded.is_some(), wanted == pairs, "{:?}", record.warnings);
        assert_eq!(measured.conditions.map_or(0, |taken| taken.pairs.len()), wanted);
    }
    assert!(findings(&analysis).contains(&"crowded".to_owned()));
    Ok(())
}

fn bulk_flows_run_next_to_a_trial_and_are_told_from_it() -> Result<(), Skip> {
    let cells = "test = [\"UDP_STREAM\", \"TCP_RR\", \"UDP_RR\"]\nsize = 1000\nlink = [\"veth\", \"ethernet 20M\"]\nbulk = [0, 2]\n";
    let tool = Tool::new();
    let before = traces();
    let analysis = tool.study(&plan("", "120ms", 1, cells), &["-J"]).done().json();
    assert_eq!((&analysis["failed"], &analysis["datagrams"]["unaccounted"]), (&0.into(), &0.into()), "{:#}", analysis["datagrams"]);
    for (record, measured) in tool.stored().all_measured() {
        let with_bulk = record.cell.conditions.bulk > 0;
        let bulk = measured.conditions.as_ref().and_then(|taken| taken.bulk);
        assert_eq!(bulk.is_some(), with_bulk, "{}", record.cell);
        assert!(!record.warnings.iter().any(|warning| matches!(warning, Warning::WrongPath { .. } | Warning::Unaccounted { .. })));
        let Some(bulk) = bulk else { continue };
        // The link's counters hold them: they began and ended while these ran. A veth
        // device of Linux 6.18 was seen to count up to 0.2 % less than arrived.
        let carried = measured.receiver_host.link.rx_bytes;
        let least = bulk.bytes.get() - bulk.bytes.get() / 100 + measured.receiver.total.bytes;
        assert!(bulk.bytes.get() > 0 && carried > least, "{bulk:?} of {carried}");
        // Sent in the same time, or longer, as the window.
        assert!(bulk.elapsed >= measured.receiver.window.length(), "{bulk:?}");
    }
    for cell in analysis["cells"].as_array().unwrap().iter().filter(|cell| cell["label"].as_str().unwrap().contains("bulk")) {
        assert!(cell["metrics"]["frames_per_message"].is_null() && cell["metrics"]["limit_share"].is_null(), "{cell:#}");
    }
    assert_nothing_left(&tool, &before);
    Ok(())
}

fn pairs_without_room_and_other_nonsense_are_refused() -> Result<(), Skip> {
    let tool = Tool::new();
    let udp = "test = \"UDP_RR\"\nsize = 1\n";
    for (more, words) in [
        ("link_load = 2", "2 over veth: this link joins two hosts and no others: choose 'shared-wire RATE', 'switch'"),
        ("link = \"ethernet 10M\"\nlink_load = \"3x750K\"", "3x750K over ethernet 10M"),
        ("link = [\"veth\", \"ethernet 0\"]", "a wire of rate 0 carries nothing"),
        ("link = \"switch\"\nlink_load = \"3x0\"", "no link load"),
        ("link = \"switch\"\nlink_load = 33", "0 to 32"),
        ("link = \"ethernet 10M delay=5ms\"", "write 'relay 10M delay=...'"),
        ("link = [\"veth\", \"ethernet 10M\"]\noffload.tso = true", "this link charges each frame"),
        ("link = \"network\"", "name at least one host"),
        ("bulk = 65", "0 to 64"),
    ] {
        tool.study(&plan("", "10ms", 1, &format!("{udp}{more}")), &[]).refused(2, &[words]);
    }
    for more in ["link = \"switch 10M\"", "link_load = 1", "bulk = 1"] {
        tool.study(&plan("hosts = { b = \"192.0.2.1\" }", "10ms", 1, &format!("{udp}{more}")), &[]).refused(2, &["leave out --host"]);
    }
    // The flag has one link in place of all, or several to be crossed.
    for (links, over) in [("switch", "2 trials, in an order drawn from seed 1, over switch."), ("switch,veth", "4 trials")] {
        let both = plan("", "10ms", 1, "test = [\"TCP_RR\", \"UDP_RR\"]\nsize = 1\nlink = [\"veth\", \"ethernet 10M\"]");
        tool.study(&both, &["--link", links, "--dry-run"]).done().says(over);
    }
    tool.run(&["workload", "W1", "--measure", "--link", "switch,veth"]).refused(2, &["a workload crosses one link"]);
    assert!(tool.try_stored().is_none());
    Ok(())
}

fn a_link_that_cannot_be_made_is_known_before_anything_is_measured() -> Result<(), Skip> {
    need_root()?;
    need_programs(&["unshare", "mount"])?;
    let tool = Tool::new();
    let before = traces();
    tool.write("plan.toml", &plan("", "10ms", 3, "test = \"UDP_RR\"\nsize = 1\nlink = [\"veth\", \"relay 10M delay=1ms\"]"));
    let hidden = "mount --bind /dev/null /dev/net/tun";
    if tool.script(&["unshare", "-m"], hidden).code != Some(0) {
        return Err(Skip("the file of tap devices cannot be hidden here".to_owned()));
    }
    let answer = tool.script(&["unshare", "-m"], &format!("{hidden}; $NETTOLL study --plan plan.toml"));
    assert_eq!(answer.code, Some(1), "{answer:#?}");
    assert!(answer.stderr.contains("making the link 'relay 10M delay=1ms'"), "{}", answer.stderr);
    assert!(tool.try_stored().is_none_or(|run| run.trials().is_empty()));
    assert_nothing_left(&tool, &before);
    Ok(())
}

fn a_study_over_two_links_that_is_killed_in_block_3_is_gone_on_with() -> Result<(), Skip> {
    let cells = "test = [\"UDP_STREAM\", \"TCP_RR\"]\nsize = 512\nnodelay = true\nlink = [\"switch 50M\", \"veth\"]\n";
    let tool = Tool::new();
    let before = traces();
    let mut study = tool.start_study(&plan("", "40ms", 5, cells), &[]);
    // Of four trials a block, two blocks and half of the third.
    within(Duration::from_secs(60), "block 3 is under way", || tool.try_stored().is_some_and(|run| run.trials_so_far() >= 10));
    study.kill().unwrap();
    study.wait().unwrap();
    assert_nothing_left(&tool, &before);
    let earlier = tool.stored().trials();
    assert!(earlier.len() >= 10);
    let path = tool.stored().path().to_owned();
    tool.run(&["study", "--resume", path.to_str().unwrap()]).done();
    let stored = tool.stored();
    let trials = stored.trials();
    assert_eq!((trials.len(), stored.status()), (20, Status::BlocksDone));
    assert_eq!(trials[..earlier.len()], earlier[..]);
    for (record, measured) in stored.all_measured() {
        assert_eq!(measured.wire.is_some(), record.cell.conditions.link == Some(kind("switch 50M")), "{}", record.cell);
    }
    let places: BTreeSet<(u32, u32)> = trials.iter().map(|record| (record.block, record.position)).collect();
    assert_eq!(places.len(), 20);
    assert_nothing_left(&tool, &before);
    Ok(())
}

/// Trials that are many, with pairs that send all the time.
fn many() -> String {
    let cells = "test = [\"TCP_STREAM\", \"UDP_RR\"]\nsize = [1, 1400]\nnodelay = true\nlink = [\"shared-wire 10M\", \"veth\"]\nbulk = 1\n\
                 [[cells]]\ntest = [\"UDP_STREAM\", \"TCP_RR\"]\nsize = [1, 1400]\nlink = \"shared-wire 10M\"\nlink_load = 2\n";
    plan("", "60ms", 1, cells)
}

fn a_killed_host_of_a_pair_costs_its_trial_alone() -> Result<(), Skip> {
    let tool = Tool::new();
    let before = traces();
    let study = tool.start_study(&many(), &[]);
    within(Duration::from_secs(60), "the first trial is stored", || tool.try_stored().is_some_and(|run| run.trials_so_far() > 0));
    match processes::host(&tool, "d1") {
        Some(host) => _ = host.kill(),
        None => note("crossing: the study ended before the host was found"),
    }
    let answer: Answer = study.wait_with_output().unwrap().into();
    answer.done();
    let stored = tool.stored();
    assert_eq!(stored.trials().len(), 12);
    assert!(stored.errors().len() <= 1, "{:?}", stored.errors());
    assert_nothing_left(&tool, &before);
    Ok(())
}

fn a_killed_controller_takes_pairs_and_flows_with_it() -> Result<(), Skip> {
    for moment in [150, 700, 1_500] {
        let tool = Tool::new();
        let before = traces();
        let mut study = tool.start_study(&many(), &[]);
        std::thread::sleep(Duration::from_millis(moment));
        study.kill().unwrap();
        study.wait().unwrap();
        assert_nothing_left(&tool, &before);
    }
    Ok(())
}
