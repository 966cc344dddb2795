//! Links that are like a wire: what they let through is what the frames on them
//! leave room for, what they lose is counted, and nothing is left of them.
//!
//! A share of a limit is a ratio of counts to the wire's own time. On a machine
//! that is busy with other things an end may be kept from its part of it: then
//! the best of three attempts counts. None may be above the limit.

use std::collections::BTreeSet;
use std::time::Duration;

use linksim::transfer::{self, AckPolicy, Load};
use model::link::Wire;
use model::plan::LinkKind;
use model::trial::Measured;
use model::{TrialRecord, Warning};
use serde_json::Value;

use crate::conservation::findings;
use crate::support::processes::{self, assert_nothing_left, traces};
use crate::support::tool::{Answer, Tool, note};
use crate::support::{Skip, need_programs, need_root, within};

crate::claims!(
    an_ethernet_carries_what_its_frames_leave_room_for,
    a_shared_wire_carries_segments_and_their_acknowledgements,
    a_switch_passes_everything_on_and_its_trunk_limits_it,
    a_relay_loses_only_what_it_counts,
    both_ends_of_a_half_duplex_relay_collide,
    slow_hosts_are_as_slow_as_the_model_says,
    a_delay_is_at_least_as_long_as_asked,
    a_short_queue_drops_what_the_sender_counts,
    a_link_that_makes_no_sense_is_refused,
    without_tap_devices_a_relay_is_refused,
    where_namespaces_are_refused_nothing_takes_the_place_of_a_wire,
    nobody_needs_no_privilege_for_a_wire,
    a_killed_wire_costs_its_trial_alone,
    a_killed_controller_takes_the_wire_with_it,
);

/// A plan over `link`; `cells` is the text of its table of cells.
fn plan(link: &str, length: &str, cells: &str) -> String {
    format!(
        "name = \"wire\"\nseed = 1\ntrial = {{ length = \"{length}\", warmup = \"60ms\" }}\nblocks = {{ least = 1, most = 1 }}\n\
         [link]\nkind = \"{link}\"\n[[cells]]\n{cells}\n"
    )
}

const UDP: &str = "test = \"UDP_STREAM\"\nsize = [1, 1472, 4000]\n";
const TCP: &str = "test = \"TCP_STREAM\"\nsize = [1460, 8192]\nnodelay = true\n";

/// A median of each cell, by its label.
fn medians(analysis: &Value, metric: &str) -> Vec<(String, f64)> {
    let cells = analysis["cells"].as_array().unwrap();
    let median = |cell: &Value| (cell["label"].as_str().unwrap().to_owned(), cell["metrics"][metric]["value"].as_f64().unwrap());
    cells.iter().map(median).collect()
}

/// Cells of which a trial was disturbed by something else on this machine.
fn disturbed(tool: &Tool) -> BTreeSet<String> {
    let other = |warning: &Warning| {
        matches!(warning, Warning::Contended { .. } | Warning::Stolen { .. } | Warning::Throttled { .. } | Warning::Misaligned { .. })
    };
    tool.stored().trials().iter().filter(|record| record.warnings.iter().any(other)).map(|record| record.cell.to_string()).collect()
}

/// Every cell reaches its limit to within `margin`, in the best of three
/// attempts. A machine that kept an end from its work every time cannot tell.
fn reach_limits(link: &str, cells: &str, length: &str, margin: f64) -> Result<Tool, Skip> {
    let mut left: Option<BTreeSet<String>> = None;
    let mut quiet: Vec<(String, f64)> = Vec::new();
    for _ in 0..3 {
        let tool = Tool::new();
        let analysis = tool.study(&plan(link, length, cells), &["-J"]).done().json();
        let found = medians(&analysis, "limit_share");
        let disturbed = disturbed(&tool);
        let left = left.get_or_insert_with(|| found.iter().map(|(label, _)| label.clone()).collect());
        for (label, share) in found {
            // What waited for the window's beginning may come within it: a few frames.
            assert!(share <= 1.02, "{link}: {label} carried {share} of its limit");
            if (share - 1.0).abs() <= margin {
                left.remove(&label);
            } else if !disturbed.contains(&label) {
                quiet.push((label, share));
            }
        }
        if left.is_empty() {
            return Ok(tool);
        }
    }
    let left = left.unwrap_or_default();
    quiet.retain(|(label, _)| left.contains(label));
    assert!(quiet.is_empty(), "{link}: {quiet:?}");
    Err(Skip(format!("{link}: something else kept the ends from their CPUs in every attempt at {left:?}")))
}

fn an_ethernet_carries_what_its_frames_leave_room_for() -> Result<(), Skip> {
    for (link, margin) in [("ethernet 10M", 0.005), ("ethernet 100M", 0.01)] {
        for cells in [UDP, TCP] {
            reach_limits(link, cells, "400ms", margin)?;
        }
    }
    Ok(())
}

fn a_shared_wire_carries_segments_and_their_acknowledgements() -> Result<(), Skip> {
    // A window of two segments: each is acknowledged by itself.
    let cells = "test = \"TCP_STREAM\"\nsize = [1460]\nnodelay = true\nread_size = 1460\nrcvbuf = 3400\n";
    let tool = reach_limits("shared-wire 10M", cells, "600ms", 0.005)?;
    let stored = tool.stored();
    let (_, measured) = &stored.all_measured()[0];
    let [forward, back] = [&measured.sender_host.link, &measured.receiver_host.link];
    let per_ack = forward.tx_packets as f64 / back.tx_packets as f64;
    assert!((0.95..=1.05).contains(&per_ack), "{per_ack}");
    // 1,460 bytes in 1,538 + 84 byte times: 1,098.8 KiB/s.
    let share = goodput(measured) / (1_460.0 / 1_622.0 * 1.25e6);
    assert!((0.99..=1.01).contains(&share), "{share}");
    assert_eq!(measured.wire.map(|wire| wire.missing()), Some(0));
    Ok(())
}

/// Bytes a second.
fn goodput(measured: &Measured) -> f64 {
    measured.receiver.counts.bytes as f64 / measured.receiver.window.length().as_secs_f64()
}

fn a_switch_passes_everything_on_and_its_trunk_limits_it() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.study(&plan("switch", "60ms", "test = [\"UDP_RR\", \"TCP_RR\"]\nsize = 64"), &[]).done().says("switch");
    assert!(tool.stored().all_measured().iter().all(|(_, measured)| measured.receiver.counts.messages > 0));
    reach_limits("switch 10M", "test = \"UDP_STREAM\"\nsize = [1472]\n", "400ms", 0.005).map(drop)
}

/// The datagrams of each trial, all accounted for, with what the wire lost of them.
fn lost_on_wire(tool: &Tool, answer: &Value) -> u64 {
    assert_eq!(answer["datagrams"]["unaccounted"], 0, "{:#}", answer["datagrams"]);
    tool.stored().all_measured().iter().map(|(_, measured)| measured.wire.unwrap().lost).sum()
}

fn a_relay_loses_only_what_it_counts() -> Result<(), Skip> {
    need_tap()?;
    let cells = "test = [\"UDP_STREAM\", \"UDP_RR\"]\nsize = [64, 1400]\n";
    let tool = Tool::new();
    let answer = tool.study(&plan("relay 20M loss=3%", "250ms", cells), &["-J"]).done().json();
    assert!(lost_on_wire(&tool, &answer) > 0);
    let tool = Tool::new();
    let answer = tool.study(&plan("relay 20M delay=500us jitter=300us", "100ms", cells), &["-J"]).done().json();
    assert_eq!(lost_on_wire(&tool, &answer), 0);
    for (record, measured) in tool.stored().all_measured() {
        let wire = measured.wire.unwrap();
        assert_eq!((wire.handed, wire.collisions, wire.under_way()), (wire.delivered + wire.missing(), 0, 0), "{}", record.cell);
    }
    Ok(())
}

fn both_ends_of_a_half_duplex_relay_collide() -> Result<(), Skip> {
    need_tap()?;
    let tool = Tool::new();
    tool.study(&plan("relay 10M medium=half host=delay:0.63ms", "200ms", "test = \"TCP_STREAM\"\nsize = 1460\nnodelay = true"), &[]).done();
    let stored = tool.stored();
    let (_, measured) = &stored.all_measured()[0];
    let wire = measured.wire.unwrap();
    assert!(wire.collisions > 0 && wire.delivered > 0, "{wire:?}");
    assert_eq!(stored.run().plan.link.kind.to_string(), "relay 10M medium=half host=delay:630us");
    Ok(())
}

/// The experiment of 1988 in a few points: windows of 1, 2, 7 and 12 to 15
/// packets between hosts that take 0.63 ms for a frame. Linux rounds a window
/// down to whole packets, or else offers 20 bytes less than two. In windows of 3
/// and 4, where it waits for a second segment now and then, it is up to a fifth
/// slower than the model.
const BUFFERS: &str = "3020, 3400, 8860, 17620";

fn slow_hosts_are_as_slow_as_the_model_says() -> Result<(), Skip> {
    need_tap()?;
    let link = "relay 10M medium=shared host=delay:0.63ms";
    let cells = format!("test = \"TCP_STREAM\"\nsize = 1460\nread_size = 1460\nnodelay = true\nrcvbuf = [{BUFFERS}]\n");
    let mut far = Vec::new();
    for _ in 0..3 {
        let tool = Tool::new();
        tool.study(&plan(link, "400ms", &cells), &[]).done();
        let stored = tool.stored();
        let LinkKind::Relay(wire) = stored.run().plan.link.kind else { panic!("a relay") };
        let disturbed = disturbed(&tool);
        let mut points: Vec<(TrialRecord, Measured)> = stored.all_measured();
        points.sort_by_key(|(record, _)| record.cell.rcvbuf);
        let against =
            |(record, measured): &(TrialRecord, Measured)| (record.cell.to_string(), goodput(measured) / modelled(wire, measured));
        let found: Vec<(String, f64)> = points.iter().map(against).collect();
        let rise = goodput(&points[3].1) / goodput(&points[0].1);
        note(&format!("one packet {:.0} B/s, twelve {rise:.2} times that; against the model: {found:.3?}", goodput(&points[0].1)));
        if found.iter().all(|(_, share)| (0.9..=1.1).contains(share)) {
            return Ok(());
        }
        far.extend(found.into_iter().filter(|(label, share)| !(0.9..=1.1).contains(share) && !disturbed.contains(label)));
    }
    assert!(far.is_empty(), "{far:?}");
    Err(Skip("something else kept the ends from their CPUs in every attempt".to_owned()))
}

/// Bytes a second of the model, with the window, the segments and the
/// acknowledgements that the connection had.
fn modelled(wire: Wire, measured: &Measured) -> f64 {
    let tcp = measured.sender.tcp.unwrap();
    let [forward, back] = [measured.sender_host.link.tx_packets, measured.receiver_host.link.tx_packets];
    let per_ack = (forward as f64 / back as f64).round() as u32;
    let message = (measured.receiver.total.bytes as f64 / f64::from(tcp.data_segs_out)).round() as u32;
    let speech = AckPolicy { per_ack, message, ..AckPolicy::SEGMENT_FOR_SEGMENT };
    let load = Load { sender_buffer: u32::MAX, receiver_buffer: tcp.snd_wnd, resumes_at: None, bytes: 1 << 20 };
    transfer::run(wire, speech, load, 1).unwrap().bytes_per_s
}

fn a_delay_is_at_least_as_long_as_asked() -> Result<(), Skip> {
    need_tap()?;
    for (link, least) in [("relay delay=2ms", 4_000_000.0), ("relay 10M delay=1ms host=delay:0.5ms", 3_500_000.0)] {
        let tool = Tool::new();
        let answer = tool.study(&plan(link, "100ms", "test = [\"UDP_RR\", \"TCP_RR\"]\nsize = 64\nnodelay = true"), &["-J"]).done().json();
        for (label, median) in medians(&answer, "round_trip_p50_ns") {
            // Within a histogram's three digits; of a host's time, what the real one took is in it.
            assert!(median >= least * 0.999, "{link}: {label}: {median}");
        }
    }
    Ok(())
}

fn a_short_queue_drops_what_the_sender_counts() -> Result<(), Skip> {
    let tool = Tool::new();
    let answer = tool.study(&plan("ethernet 10M queue=6000", "150ms", "test = \"UDP_STREAM\"\nsize = 1400"), &["-J"]).done().json();
    assert_eq!(answer["datagrams"]["unaccounted"], 0, "{:#}", answer["datagrams"]);
    assert!(tool.stored().all_measured()[0].1.sender_host.udp.sndbuf_errors > 0);
    // A queue of the usual length makes the sender wait. A send that still waits when the trial
    // ends is called off, which the kernel counts as well.
    let tool = Tool::new();
    tool.study(&plan("ethernet 10M", "150ms", "test = \"UDP_STREAM\"\nsize = 1400"), &[]).done();
    assert!(tool.stored().all_measured()[0].1.sender_host.udp.sndbuf_errors <= 1);
    Ok(())
}

fn a_link_that_makes_no_sense_is_refused() -> Result<(), Skip> {
    let tool = Tool::new();
    let cells = "test = \"UDP_RR\"\nsize = 1";
    for (link, words) in [
        ("ethernet 0", "a wire of rate 0 carries nothing"),
        ("relay 0", "a wire of rate 0 carries nothing"),
        ("shared-wire", "needs a rate"),
        ("ethernet 10M delay=1ms", "relay 10M delay="),
        ("ethernot 10M", "did you mean 'ethernet'?"),
    ] {
        tool.study(&plan(link, "10ms", cells), &[]).refused(2, &[words]);
        tool.study(&plan("veth", "10ms", cells), &["--link", link]).refused(2, &[words]);
    }
    tool.study(&plan("ethernet 10M", "10ms", cells), &["--offload", "tso=on"]).refused(2, &["charges each frame"]);
    assert!(tool.try_stored().is_none());
    Ok(())
}

fn without_tap_devices_a_relay_is_refused() -> Result<(), Skip> {
    need_root()?;
    need_programs(&["unshare", "mount"])?;
    let tool = Tool::new();
    tool.write("plan.toml", &plan("relay 10M", "10ms", "test = \"UDP_RR\"\nsize = 1"));
    let hidden = "mount --bind /dev/null /dev/net/tun";
    if tool.script(&["unshare", "-m"], hidden).code != Some(0) {
        return Err(Skip("the file of tap devices cannot be hidden here".to_owned()));
    }
    let answer = tool.script(&["unshare", "-m"], &format!("{hidden}; $NETTOLL study --plan plan.toml"));
    assert_eq!(answer.code, Some(1), "{answer:#?}");
    for words in ["making the link 'relay 10M'", "/dev/net/tun", "the system answered ENOTTY", "ethernet or shared-wire"] {
        assert!(answer.stderr.contains(words), "'{words}' is missing: {}", answer.stderr);
    }
    Ok(())
}

fn where_namespaces_are_refused_nothing_takes_the_place_of_a_wire() -> Result<(), Skip> {
    need_programs(&["unshare"])?;
    let tool = Tool::new();
    tool.write("plan.toml", &plan("ethernet 10M", "10ms", "test = \"UDP_RR\"\nsize = 1"));
    let limit = "echo 0 > /proc/sys/user/max_net_namespaces";
    if tool.script(&["unshare", "-Ur"], limit).code != Some(0) {
        return Err(Skip("a user namespace with a limit of its own cannot be made here".to_owned()));
    }
    let answer = tool.script(&["unshare", "-Ur"], &format!("{limit}; $NETTOLL study --plan plan.toml"));
    assert_eq!(answer.code, Some(1), "{answer:#?}");
    for words in ["making the link 'ethernet 10M'", "ENOSPC"] {
        assert!(answer.stderr.contains(words), "'{words}' is missing: {}", answer.stderr);
    }
    Ok(())
}

fn nobody_needs_no_privilege_for_a_wire() -> Result<(), Skip> {
    need_root()?;
    for link in ["ethernet 10M", "shared-wire 10M", "switch 10M"] {
        let tool = Tool::of_nobody();
        let answer = tool.study(&plan(link, "60ms", "test = \"UDP_STREAM\"\nsize = 1400"), &["-J"]);
        if answer.code == Some(1) && answer.stdout.contains("unshare CLONE_NEWUSER") {
            return Err(Skip(format!("user namespaces are refused here: {}", answer.stdout)));
        }
        let analysis = answer.done().json();
        assert_eq!(analysis["datagrams"]["unaccounted"], 0, "{link}");
        assert!(!findings(&analysis).contains(&"no_link".to_owned()));
        assert_eq!(tool.stored().host("a")["isolation"], "network namespace in a user namespace");
    }
    Ok(())
}

/// A plan whose trials are many and short.
fn many(link: &str) -> String {
    plan(link, "40ms", "test = [\"TCP_STREAM\", \"UDP_STREAM\", \"UDP_RR\", \"TCP_RR\"]\nsize = [1, 64, 1400, 4000]\nnodelay = true")
}

fn a_killed_wire_costs_its_trial_alone() -> Result<(), Skip> {
    need_tap()?;
    for link in ["relay 10M", "shared-wire 10M"] {
        let tool = Tool::new();
        let before = traces();
        let study = tool.start_study(&many(link), &[]);
        within(Duration::from_secs(60), "the first trial is stored", || tool.try_stored().is_some_and(|run| run.trials_so_far() > 0));
        match processes::host(&tool, "wire") {
            Some(wire) => _ = wire.kill(),
            None => note("wires: the study ended before its wire was found"),
        }
        let answer: Answer = study.wait_with_output().unwrap().into();
        answer.done();
        let stored = tool.stored();
        assert_eq!(stored.trials().len(), 16);
        assert!(stored.errors().len() <= 1, "{:?}", stored.errors());
        assert_nothing_left(&tool, &before);
    }
    Ok(())
}

fn a_killed_controller_takes_the_wire_with_it() -> Result<(), Skip> {
    need_tap()?;
    for (link, moment) in [("relay 10M", 0), ("relay 10M", 350), ("switch 10M", 60), ("shared-wire 10M", 600)] {
        let tool = Tool::new();
        let before = traces();
        let mut study = tool.start_study(&many(link), &[]);
        std::thread::sleep(Duration::from_millis(moment));
        study.kill().unwrap();
        study.wait().unwrap();
        assert_nothing_left(&tool, &before);
    }
    Ok(())
}

/// Skips where tap devices cannot be had.
fn need_tap() -> Result<(), Skip> {
    let file = std::fs::File::options().read(true).write(true).open("/dev/net/tun");
    file.map(drop).map_err(|answer| Skip(format!("tap devices (/dev/net/tun): {answer}")))
}
