//! What `nettoll -c` prints of one trial, and whether its JSON has iperf3's keys.

use std::collections::BTreeSet;

use crate::support::trials::{OneTrial, cell, trial};
use model::trial::Outcome;
use model::wakeups::WakeupCost;
use model::{Cell, Nanos, OfferedRate, Pacing, Test};
use report::oneshot::{self, Intervals, header, json, summary};
use report::terminal::Style;
use serde_json::Value;

/// Everything that a user sees of a trial.
fn all(trial: &OneTrial) -> String {
    let intervals = Intervals::new(&trial.record.cell, trial.plan.warmup);
    let lines: Vec<String> = trial.rows.iter().map(|row| intervals.line(row)).collect();
    let [head, tail] =
        [header(&trial.setting()), summary(&trial.setting(), &trial.record)].map(|one| report::terminal::document(&one, Style::VERBOSE));
    let text = format!("{head}\n{}\n{}\n\n{tail}", intervals.head(), lines.join("\n"));
    for line in text.lines() {
        assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "{line}");
    }
    text
}

#[test]
fn tcp_stream() {
    insta::assert_snapshot!(all(&trial(cell(Test::TcpStream), false)));
}

#[test]
fn tcp_in_reverse_with_flows() {
    insta::assert_snapshot!(all(&trial(Cell { flows: 4, ..cell(Test::TcpMaerts) }, true)));
}

#[test]
fn tcp_both_ways() {
    insta::assert_snapshot!(all(&trial(Cell { bidirectional: true, ..cell(Test::TcpStream) }, false)));
}

#[test]
fn udp_stream() {
    insta::assert_snapshot!(all(&trial(cell(Test::UdpStream), false)));
}

#[test]
fn open_loop_that_spins() {
    let rate = Some(OfferedRate::Messages(10_000));
    insta::assert_snapshot!(all(&trial(Cell { rate, pacing: Pacing::Spin, ..cell(Test::TcpRr) }, false)));
}

#[test]
fn connections() {
    insta::assert_snapshot!(all(&trial(cell(Test::TcpCrr), false)));
}

#[test]
fn what_is_billed_for_wakeups_stands_next_to_the_cpu_time() {
    let mut slept = trial(cell(Test::UdpRr), false);
    let Outcome::Measured(measured) = &mut slept.record.outcome else { panic!("made measured") };
    let cost = WakeupCost { low: Nanos::new(3_900), median: Nanos::new(4_000), high: Nanos::new(4_100) };
    measured.wakeups = [Some(cost); 2];
    for end in [&mut measured.sender, &mut measured.receiver] {
        end.switches.voluntary = end.counts.messages;
    }
    let text = all(&slept).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(text.matches("(4.00 µs billed before it ran)").count(), 2, "{text}");
    // One wake-up in a hundred messages is worth no word.
    let Outcome::Measured(measured) = &mut slept.record.outcome else { panic!("made measured") };
    for end in [&mut measured.sender, &mut measured.receiver] {
        end.switches.voluntary = end.counts.messages / 100;
    }
    assert!(!all(&slept).contains("billed"));
}

#[test]
fn a_trial_that_failed() {
    let mut failed = trial(cell(Test::TcpStream), false);
    failed.record.outcome =
        Outcome::Failed { error: "endpoint on host b: bind 192.0.2.2:0: Cannot assign (EADDRNOTAVAIL)".into(), lost: false };
    failed.rows.clear();
    insta::assert_snapshot!(all(&failed));
    let value: Value = serde_json::from_str(&json::render(&failed.setting(), &[], &failed.record)).unwrap();
    assert!(value["error"].as_str().unwrap().contains("EADDRNOTAVAIL"));
}

/// Paths of all keys, such as `end.streams[].sender.bytes`.
fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let path = format!("{path}.{key}").trim_start_matches('.').to_owned();
                found.insert(path.clone());
                keys(value, &path, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, &format!("{path}[]"), found)),
        _ => {}
    }
}

fn iperf3(name: &str) -> Value {
    let path = format!("{}/tests/data/iperf3/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("stored by us, or written by us")).expect("stored by us, or written by us")
}

/// Keys that iperf3 has and we leave out, as docs/json-iperf3.md says, by how their path ends.
const LEFT_OUT: &[&str] = &["cookie", "tcp_mss_default", "snd_wnd", "max_snd_wnd", "max_snd_cwnd", "max_rtt", "min_rtt", "mean_rtt"];

/// Keys of iperf3 3.21 that the stored results, of 3.12, do not have.
const NEWER: &[&str] = &["timemillisecs", "bidir", "fqrate", "interval", "gso", "gro"];

/// Our keys against those of iperf3 run with the same options: none that it
/// does not have but `nettoll`, and all that it has but those left out.
fn compare(name: &str, ours: &OneTrial, besides: &[&str]) {
    let (mut theirs, mut own) = (BTreeSet::new(), BTreeSet::new());
    keys(&iperf3(name), "", &mut theirs);
    let text = json::render(&ours.setting(), &ours.rows, &ours.record);
    keys(&serde_json::from_str(&text).expect("stored by us, or written by us"), "", &mut own);
    own.retain(|path| path != "nettoll" && !path.starts_with("nettoll.") && !path.starts_with("nettoll["));
    let left_out = |path: &&String| {
        let last = path.rsplit('.').next().unwrap_or_default();
        LEFT_OUT.contains(&last) || besides.contains(&path.as_str())
    };
    let is_newer = |path: &&String| NEWER.contains(&path.rsplit('.').next().unwrap_or_default());
    assert_eq!(own.iter().filter(is_newer).count(), NEWER.len());
    let more: Vec<&String> = own.difference(&theirs).filter(|path| !is_newer(path)).collect();
    let fewer: Vec<&String> = theirs.difference(&own).filter(|path| !left_out(path)).collect();
    assert!(more.is_empty() && fewer.is_empty(), "{name}: only ours {more:?}, only iperf3's {fewer:?}");
    // A key that is listed as left out and is there would make the list a lie.
    assert!(!own.iter().any(|path| LEFT_OUT.contains(&path.rsplit('.').next().unwrap_or_default())));
}

#[test]
fn json_has_the_keys_of_iperf3() {
    let sender_of_datagrams = ["end.sum_sent.jitter_ms", "end.sum_sent.lost_packets", "end.sum_sent.lost_percent"];
    compare("tcp", &trial(cell(Test::TcpStream), false), &[]);
    compare("tcp_reverse", &trial(cell(Test::TcpMaerts), true), &[]);
    compare("tcp_bidir", &trial(Cell { bidirectional: true, ..cell(Test::TcpStream) }, false), &[]);
    compare("udp", &trial(cell(Test::UdpStream), false), &sender_of_datagrams);
    compare("udp_reverse", &trial(cell(Test::UdpStream), true), &sender_of_datagrams);
    let back = sender_of_datagrams.map(|key| key.replace("sum_sent", "sum_sent_bidir_reverse"));
    let both: Vec<&str> = sender_of_datagrams.into_iter().chain(back.iter().map(String::as_str)).collect();
    compare("udp_bidir", &trial(Cell { bidirectional: true, ..cell(Test::UdpStream) }, false), &both);
    // Flows are told apart at the end alone.
    let text = iperf3("tcp_flows");
    let mut paths = BTreeSet::new();
    keys(&text, "", &mut paths);
    let streams: Vec<&str> = paths.iter().map(String::as_str).filter(|path| path.starts_with("intervals[].streams[]")).collect();
    compare("tcp_flows", &trial(Cell { flows: 2, ..cell(Test::TcpStream) }, false), &streams);
}

#[test]
fn figures_under_iperf3s_names_are_in_its_units() {
    let ours = trial(cell(Test::TcpStream), false);
    let value: Value = serde_json::from_str(&json::render(&ours.setting(), &ours.rows, &ours.record)).unwrap();
    assert_eq!(value["end"]["sum_received"]["bytes"], 18_000u64 * 131_072);
    assert_eq!(value["end"]["sum_received"]["bits_per_second"], 18_000.0 * 131_072.0 * 8.0 / 2.0);
    assert_eq!(value["end"]["cpu_utilization_percent"]["host_total"], 39.0);
    assert_eq!(value["intervals"][1]["sum"]["retransmits"], 4);
    assert_eq!(value["intervals"][1]["streams"][0]["snd_cwnd"], 995 * 1448);
    assert_eq!(value["start"]["test_start"]["duration"], 2);
    assert_eq!(value["nettoll"]["trial"]["cell"]["size"], 131_072);
}

/// No clock resolves 4 µs, or nothing at all: there is the amount, and no rate or share of it.
#[test]
fn over_no_time_there_is_no_rate() {
    for length in [0, 3_900] {
        let mut ours = trial(Cell { flows: 2, ..cell(Test::TcpStream) }, false);
        let Outcome::Measured(measured) = &mut ours.record.outcome else { panic!("made so") };
        for end in [&mut measured.sender, &mut measured.receiver] {
            end.window.end = end.window.start + Nanos::new(length);
        }
        for row in &mut ours.rows {
            for progress in [&mut row.sender, &mut row.receiver].into_iter().flatten() {
                progress.interval.end = progress.interval.start + Nanos::new(length);
            }
        }
        let value: Value = serde_json::from_str(&json::render(&ours.setting(), &ours.rows, &ours.record)).unwrap();
        let (end, cpu) = (&value["end"], &value["end"]["cpu_utilization_percent"]);
        let first = &end["streams"][0];
        let rates = [&end["sum_sent"], &end["sum_received"], &first["sender"], &first["receiver"], &value["intervals"][0]["sum"]];
        assert!(rates.iter().all(|of| of["bits_per_second"] == 0.0 && of["bytes"].as_u64() > Some(0)), "{length}: {rates:?}");
        assert!(["host_total", "remote_total", "host_user"].iter().all(|key| cpu[*key] == 0.0), "{length}: {cpu}");
        let text = all(&ours);
        assert!(!text.contains("inf") && !text.contains("NaN") && !text.contains("Gbit/s"), "{text}");
    }
}

/// A figure beyond its bound is in no line above the doubt that says that it is left out.
#[test]
fn a_figure_that_is_left_out_is_not_shown() {
    let mut ours = trial(cell(Test::TcpStream), false);
    let brief = |ours: &OneTrial| report::terminal::document(&summary(&ours.setting(), &ours.record), Style::PLAIN);
    let busy = |text: &str| text.lines().filter(|line| line.contains("% busy")).count();
    assert_eq!(busy(&brief(&ours)), 2);
    let Outcome::Measured(measured) = &mut ours.record.outcome else { panic!("made so") };
    measured.receiver.cpu_time.process = Nanos::from_millis(9_000);
    assert_eq!(busy(&brief(&ours)), 1);
    let value: Value = serde_json::from_str(&json::render(&ours.setting(), &ours.rows, &ours.record)).unwrap();
    let cpu = &value["end"]["cpu_utilization_percent"];
    assert!(cpu["host_total"].as_f64() > Some(0.0) && cpu["remote_total"] == 0.0 && cpu["remote_user"] == 0.0, "{cpu}");
}

#[test]
fn datagrams_that_are_missing_are_among_the_packets() {
    let ours = trial(cell(Test::UdpStream), true);
    let value: Value = serde_json::from_str(&json::render(&ours.setting(), &ours.rows, &ours.record)).unwrap();
    for (sum, lost) in [(&value["end"]["sum_received"], 12), (&value["intervals"][0]["sum"], 4), (&value["intervals"][1]["sum"], 8)] {
        let [packets, bytes, missing] = ["packets", "bytes", "lost_packets"].map(|key| sum[key].as_u64().unwrap());
        assert_eq!((missing, packets - missing), (lost, bytes / 1_448), "{sum}");
        assert_eq!(sum["lost_percent"], missing as f64 * 100.0 / packets as f64);
    }
    // Other tools that read it find no contradiction.
    let text = json::render(&ours.setting(), &ours.rows, &ours.record);
    let read = literature::read::iperf3::parse(&text).unwrap();
    assert_eq!((read[0].faults.len(), read[0].point.messages_per_s), (0, 9_000.0));
}

/// How far the other end is, its lines and its clock change nothing here.
#[test]
fn intervals_are_those_of_the_end_here() {
    let mut ours = trial(cell(Test::TcpStream), false);
    let (first, second) = (ours.rows[0], ours.rows[1]);
    let late = Nanos::from_millis(150);
    let behind = |row: oneshot::Row| oneshot::Row { start: row.start + 0.15, end: row.end + 0.15, ..row };
    ours.rows = vec![behind(first), behind(second), oneshot::Row { sender: None, ..behind(second) }];
    ours.rows.iter_mut().filter_map(|row| row.receiver.as_mut()).for_each(|progress| progress.interval.end = progress.interval.end + late);
    let value: Value = serde_json::from_str(&json::render(&ours.setting(), &ours.rows, &ours.record)).unwrap();
    let intervals = value["intervals"].as_array().unwrap();
    assert_eq!(intervals.len(), 2, "the receiver's last line is not this end's");
    for (number, interval) in intervals.iter().enumerate() {
        let of = |key: &str| interval["sum"][key].as_f64().unwrap();
        assert_eq!((of("start"), of("end"), of("seconds")), (number as f64, number as f64 + 1.0, of("end") - of("start")));
    }
}

#[test]
fn the_way_back_has_its_own_account() {
    let render = |test| {
        let ours = trial(Cell { bidirectional: true, ..cell(test) }, false);
        serde_json::from_str::<Value>(&json::render(&ours.setting(), &ours.rows, &ours.record)).unwrap()
    };
    let tcp = render(Test::TcpStream);
    assert_eq!((&tcp["end"]["sum_sent"]["retransmits"], &tcp["end"]["sum_sent_bidir_reverse"]["retransmits"]), (&7.into(), &2.into()));
    let udp = render(Test::UdpStream);
    assert_eq!(udp["end"]["sum_bidir_reverse"]["lost_packets"], 12);
    assert_eq!(udp["intervals"][1]["sum_bidir_reverse"]["lost_packets"], 8);
    assert!(udp["intervals"][1]["sum"]["lost_packets"].is_null(), "this end does not know what the other lacks");
    for value in [tcp, udp] {
        assert_eq!((value["end"]["streams"].as_array().unwrap().len(), value["start"]["connected"].as_array().unwrap().len()), (2, 2));
    }
}

#[test]
fn a_failure_has_the_keys_of_iperf3() {
    let ours: Value = serde_json::from_str(&json::failure("0.1.0", "failed", "cannot reach the agent")).unwrap();
    let theirs = iperf3("error");
    for key in theirs.as_object().unwrap().keys() {
        assert_eq!(std::mem::discriminant(&ours[key]), std::mem::discriminant(&theirs[key]), "{key}");
    }
}
