//! One trial, `nettoll -c HOST`, against `nettoll -s` over loopback in a
//! namespace of its own.

use serde_json::Value;

use crate::support::python::{Form, python};
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_programs, succeeds};

crate::claims!(
    a_client_without_its_agent_says_how_to_start_one,
    what_cannot_be_asked_is_told_with_what_can,
    a_stream_has_a_line_for_each_interval_and_a_summary,
    what_one_end_of_a_tcp_stream_sends_the_other_gets,
    bytes_asked_for_are_bytes_sent,
    datagrams_are_told_by_their_numbers,
    transactions_have_percentiles,
    a_rate_is_offered_and_kept,
    a_stored_trial_can_be_reported,
    an_interrupted_trial_shows_what_had_come,
    the_python_package_iperf3_reads_every_shape,
    a_hint_is_given_for_what_only_iperf3_has,
    events_of_a_stream_are_iperf3s_and_those_of_the_document,
    failures_are_events_of_a_stream,
    a_type_of_service_is_in_every_packet_of_both_families,
    factors_of_studies_are_set_and_named_for_the_study,
    a_program_there_is_named_or_left_there,
);

/// The agent's port in the namespace, and as /proc/net/tcp has it.
const PORT: (&str, &str) = ("10999", ":2AF7 ");

/// Runs a line of shell next to an agent on loopback, in a namespace of its own.
/// The agent is ended by its number.
fn beside_an_agent(tool: &Tool, line: &str) -> Result<Answer, Skip> {
    need_programs(&["unshare", "ip"])?;
    let wrapper = ["unshare", "-rn"];
    if !succeeds("unshare -rn ip link set lo up") {
        return Err(Skip("a user may make no network namespace here".to_owned()));
    }
    let (port, listening) = PORT;
    let script = format!(
        "ip link set lo up
         $NETTOLL -s -p {port} >agent.out 2>&1 & agent=$!
         for i in $(seq 600); do grep -q '{listening}' /proc/net/tcp /proc/net/tcp6 && break; sleep 0.05; done
         set +e
         {line}
         code=$?
         kill $agent; wait $agent
         exit $code"
    );
    Ok(tool.script(&wrapper, &script))
}

/// One trial as JSON.
fn trial(flags: &str) -> Result<Value, Skip> {
    let tool = Tool::new();
    let answer = beside_an_agent(&tool, &format!("$NETTOLL -c 127.0.0.1 -p {} -J {flags}", PORT.0))?;
    assert_eq!(answer.code, Some(0), "{answer:?}");
    Ok(answer.json())
}

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {value:#}"))
}

/// Events, and the document after them.
const STREAM: &str = "--json-stream --json-stream-full-output";

/// The flags of every shape that the JSON of iperf3 has.
const SHAPES: &[&str] = &[
    "",
    "-R",
    "--bidir",
    "-P 2",
    "-P 2 --bidir",
    "-u -b 5M",
    "-u -R -b 5M",
    "-u --bidir -b 5M",
    "-u -P 2 -b 5M",
    "-n 16M -l 4K",
    "-6",
    STREAM,
];

/// What `TestResult` of the Python package reads, and what else must be so in each file.
const READ: &str = "
import iperf3, json, sys
for path in sys.argv[1:]:
    lines = open(path).read().splitlines(True)
    events = [json.loads(line) for line in lines if line.startswith('{\"event\":')]
    text = ''.join(lines[len(events):])
    result, value = iperf3.TestResult(text), json.loads(text)
    assert result.error is None and result.type == 'client', path
    here = '::1' if '-6' in path else '127.0.0.1'
    for one in value['start']['connected']:
        assert one['local_host'] == one['remote_host'] == here and 0 < one['local_port'] != one['remote_port'] > 0, (path, one)
    ways = 2 if 'bidir' in path else 1
    assert len(value['start']['connected']) == ways * result.num_streams
    for total, user, system in [(result.local_cpu_total, result.local_cpu_user, result.local_cpu_system),
                                (result.remote_cpu_total, result.remote_cpu_user, result.remote_cpu_system)]:
        assert 0 < total and user >= 0 and system >= 0 and abs(user + system - total) < 1e-6, (path, total, user, system)
    assert result.reverse == ('-R' in path)
    if result.protocol == 'TCP':
        assert result.sent_bps > 0 and result.received_bps > 0 and result.retransmits is not None
    else:
        assert result.bps > 0 and result.packets > 0 and result.jitter_ms >= 0 and result.lost_percent >= 0
    sums = ['sum', 'sum_bidir_reverse'][:ways]
    assert len(value['intervals']) > (0 if '-n' in path else 1), path
    for interval in value['intervals']:
        for name in sums:
            of = interval[name]
            assert of['seconds'] == of['end'] - of['start'], (path, of)
        assert ('lost_packets' in interval[sums[-1]]) == (result.protocol == 'UDP' and (result.reverse or ways == 2)), path
    for name in (['sum_sent', 'sum_received'] + (['sum'] if result.protocol == 'UDP' else [])):
        for suffix in ['', '_bidir_reverse'][:ways]:
            assert value['end'][name + suffix]['bytes'] > 0, (path, name + suffix)
    if 'json-stream' in path:
        names = [event['event'] for event in events]
        assert names == ['start'] + ['interval'] * len(value['intervals']) + ['nettoll', 'end'], names
        assert [event['data'] for event in events[1:-2]] == value['intervals'] and events[-1]['data'] == value['end']
    print('read')
";

fn the_python_package_iperf3_reads_every_shape() -> Result<(), Skip> {
    // There is no wheel of it: pip makes one of its sources.
    let python = python("iperf3", Form::Source, &["iperf3==0.1.11"])?;
    let tool = Tool::new();
    let name = |flags: &str| format!("one {flags}.json");
    let one = |flags: &&str| {
        let host = if flags.contains("-6") { "::1" } else { "127.0.0.1" };
        let length = if flags.contains("-n") { "" } else { "-t 0.35" };
        format!("$NETTOLL -c {host} -p {} -J -i 0.1 {length} {flags} >'{}' || exit 1", PORT.0, name(flags))
    };
    let answer = beside_an_agent(&tool, &SHAPES.iter().map(one).collect::<Vec<_>>().join("\n"))?;
    let texts: Vec<_> = SHAPES.iter().map(|flags| std::fs::read_to_string(tool.path().join(name(flags))).unwrap_or_default()).collect();
    assert_eq!(answer.code, Some(0), "{answer:?} {:?}", texts.last());
    let files = SHAPES.iter().map(|flags| name(flags));
    let read = std::process::Command::new(python).args(["-c", READ]).args(files).current_dir(tool.path()).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    assert_eq!(String::from_utf8_lossy(&read.stdout).lines().count(), SHAPES.len());
    // It is read back here, too, without a contradiction.
    let back = tool.run(&["reference", "--iperf3", &name("-u -R -b 5M"), &name("-u -b 5M"), &name(""), "-J"]).done().json();
    let remarks = back["remarks"].to_string();
    assert!(!remarks.contains("contradict"), "{remarks}");
    Ok(())
}

fn a_hint_is_given_for_what_only_iperf3_has() -> Result<(), Skip> {
    let tool = Tool::new();
    let hints = [
        ("-c h --skip-rx-copy", "--receive trunc"),
        ("-c h --gsro", "--api gso"),
        ("-c h --cntl-ka=1", "limits of time are built in"),
        ("-s -t 3", "give it to the client"),
        ("-s -S 184", "give it to the client"),
        ("-s --nstreams 4", "give it to the client"),
    ];
    for (line, hint) in hints {
        tool.run(&line.split(' ').collect::<Vec<_>>()).refused(2, &["iperf3's; here: ", hint]);
    }
    tool.run(&["-c", "h", "-t", "0"]).refused(2, &["'0' for '--time <TIME>'", "more than 0"]);
    Ok(())
}

fn a_client_without_its_agent_says_how_to_start_one() -> Result<(), Skip> {
    // The discard port: reserved, and nobody listens there.
    let answer = Tool::new().run(&["-c", "127.0.0.1", "-p", "9"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stderr.contains("nettoll agent") && answer.stderr.contains("refused"), "{}", answer.stderr);
    let answer = Tool::new().run(&["-c", "127.0.0.1", "-p", "9", "-J"]);
    let value = answer.json();
    assert!(value["error"].as_str().is_some_and(|error| error.contains("nettoll agent")), "{value}");
    assert_eq!((answer.code, &value["intervals"], &value["nettoll"]["error"]["kind"]), (Some(1), &serde_json::json!([]), &"failed".into()));
    Ok(())
}

fn what_cannot_be_asked_is_told_with_what_can() -> Result<(), Skip> {
    let wrong: &[(&[&str], &str)] = &[
        (&["-c"], "HOST"),
        (&["-t", "5"], "-c"),
        (&["-c", "h", "-s"], "cannot be used with"),
        (&["-c", "h", "-Z", "--api", "send"], "cannot be used with"),
        (&["-c", "h", "-Z", "--test", "TCP_RR"], "sendfile does not carry TCP_RR"),
        (&["-c", "h", "--api", "send,writev"], "2 trials"),
        (&["-c", "h", "--tos", "256"], "0 to 255"),
        (&["-c", "h", "--dscp", "64"], "0 to 63"),
        (&["-c", "h", "--tos", "0", "--dscp", "ef"], "cannot be used with"),
        (&["-c", "h", "--api", "unix-stream", "--tos", "8"], "no header of IP"),
        (&["-c", "h", "--json-stream-full-output"], "--json-stream"),
        (&["-c", "h", "--nstreams", "4"], "--api sctp"),
        (&["-c", "h", "--sctp", "--nstreams", "65536"], "1 to 65535"),
        (&["-c", "h", "-4", "--sctp", "-X", "2001:db8::7"], "no address of ipv4"),
        (&["-c", "h", "--sctp", "-X", "h"], "no address of IP"),
        (&["-c", "h", "-B", "192.0.2.1"], "data=ADDRESS"),
        (&["-c", "h", "--length", "1K"], "-l SIZE"),
        (&["-c", "h", "-b", "10M/16"], "bursts"),
        (&["-c", "h", "-l", "0"], "0 bytes is not a size"),
        (&["-c", "h", "--test", "TCP_RR", "-R"], "-R is for streams"),
        (&["-c", "h", "-i", "0.001"], "0.1 s"),
        (&["-c", "h:0"], "port"),
        (&["-s", "-D"], "service"),
        (&["-c", "h", "study", "quick"], "study"),
    ];
    for (flags, word) in wrong {
        let answer = Tool::new().run(flags);
        assert_eq!(answer.code, Some(2), "{flags:?}: {answer:?}");
        assert!(answer.stderr.contains(word), "{flags:?}: {}", answer.stderr);
    }
    let value = Tool::new().run(&["-c", "h", "-J", "-l", "0"]).json();
    assert_eq!(value["nettoll"]["error"]["kind"], "misuse");
    assert!(value["error"].is_string());
    Ok(())
}

fn a_stream_has_a_line_for_each_interval_and_a_summary() -> Result<(), Skip> {
    let tool = Tool::new();
    let Answer { stdout, code, stderr } = beside_an_agent(&tool, &format!("$NETTOLL -c 127.0.0.1 -p {} -t 0.8 -i 0.2", PORT.0))?;
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines[0].starts_with("TCP_STREAM (nagle) 131072 B, 800 ms"), "{stdout}");
    let interval = |line: &&&str| line.trim_start().split_once('-').is_some_and(|(start, _)| start.parse::<f64>().is_ok());
    assert!((3..=5).contains(&lines.iter().filter(interval).count()), "{stdout}");
    for word in ["interval, s", "sent ", "received ", "CPU ", "open: one trial, no interval"] {
        assert!(stdout.contains(word), "{word} in {stdout}");
    }
    assert!(lines.len() <= 15 && lines.iter().all(|line| line.chars().count() <= 80), "{stdout}");
    let all = beside_an_agent(&tool, &format!("$NETTOLL -c 127.0.0.1 -p {} -t 0.1 -V", PORT.0))?.stdout;
    for word in ["CPU/message", "payload/s", "SO_SNDBUF", "open: one trial, no interval", "nettoll study quick --host b=127.0.0.1"] {
        assert!(all.contains(word), "{word} in {all}");
    }
    Ok(())
}

fn what_one_end_of_a_tcp_stream_sends_the_other_gets() -> Result<(), Skip> {
    for flags in ["-t 0.3 -i 0", "-t 0.3 -i 0.1 -R", "-t 0.3 -P 3"] {
        let value = trial(flags)?;
        let total = |end: &str| number(&value, &format!("/nettoll/trial/outcome/measured/{end}/total/bytes"));
        assert_eq!(total("sender"), total("receiver"), "{flags}");
        assert_eq!(number(&value, "/start/test_start/reverse") == 1.0, flags.contains("-R"));
        assert_eq!(value["end"]["streams"].as_array().map(Vec::len), Some(if flags.contains("-P") { 3 } else { 1 }));
        assert!(number(&value, "/end/sum_received/bytes") > 0.0);
    }
    let value = trial("-t 0.3 --bidir")?;
    let total = |path: &str| number(&value, &format!("/nettoll/trial/outcome/measured/{path}/bytes"));
    assert_eq!(total("sender/total"), total("receiver/total"));
    assert_eq!(total("receiver/back/total"), total("sender/back/total"));
    assert!(number(&value, "/end/sum_received_bidir_reverse/bytes") > 0.0);
    Ok(())
}

fn bytes_asked_for_are_bytes_sent() -> Result<(), Skip> {
    let value = trial("-n 1M -l 1000 -i 0")?;
    assert_eq!(number(&value, "/end/sum_sent/bytes"), 1_049_000.0);
    // The receiver's window begins with a read, which may hold several messages.
    assert_eq!(number(&value, "/nettoll/trial/outcome/measured/receiver/total/bytes"), 1_049_000.0);
    let value = trial("-k 50 -l 100 -i 0")?;
    assert_eq!(number(&value, "/nettoll/trial/outcome/measured/sender/counts/messages"), 50.0);
    Ok(())
}

fn datagrams_are_told_by_their_numbers() -> Result<(), Skip> {
    let value = trial("-u -t 0.4 -i 0.2 -b 5M")?;
    let way = &value["nettoll"]["trial"]["outcome"]["measured"]["receiver"]["one_way"];
    assert_eq!((number(way, "/missing"), number(way, "/out_of_order")), (0.0, 0.0));
    assert_eq!(number(&value, "/end/sum/lost_packets"), 0.0);
    assert_eq!(number(&value, "/start/test_start/target_bitrate"), 5e6);
    let total = |end: &str| number(&value, &format!("/nettoll/trial/outcome/measured/{end}/total/messages"));
    assert_eq!(total("sender"), total("receiver"));
    Ok(())
}

fn transactions_have_percentiles() -> Result<(), Skip> {
    for test in ["TCP_RR", "UDP_RR", "TCP_CRR"] {
        let value = trial(&format!("--test {test} -t 0.3 -i 0.1"))?;
        let times = &value["nettoll"]["figures"]["latency"];
        assert_eq!(number(times, "/count"), number(&value, "/nettoll/trial/outcome/measured/sender/counts/messages"), "{test}");
        assert!(number(times, "/min_ns") > 0.0);
    }
    // Both ends compute before they send: no transaction takes less.
    for test in ["TCP_RR", "TCP_CRR"] {
        let value = trial(&format!("--test {test} -t 0.3 -i 0 --work 1ms"))?;
        assert!(number(&value["nettoll"]["figures"]["latency"], "/min_ns") >= 1.99e6, "{test}");
    }
    Ok(())
}

fn a_rate_is_offered_and_kept() -> Result<(), Skip> {
    let value = trial("--test TCP_RR -b 200/s -t 0.5 -i 0")?;
    assert_eq!(number(&value, "/nettoll/figures/metrics/offered_messages_per_s"), 200.0);
    let sender = &value["nettoll"]["trial"]["outcome"]["measured"]["sender"];
    // A busy machine may end the window late; the schedule has as many as fit it.
    let seconds = (number(sender, "/window/end") - number(sender, "/window/start")) / 1e9;
    assert!((number(sender, "/schedule/intended") - 200.0 * seconds).abs() <= 2.0, "{sender}");
    assert!(value["nettoll"]["figures"]["uncorrected"].is_object() && value["nettoll"]["figures"]["lateness"].is_object());
    Ok(())
}

fn a_stored_trial_can_be_reported() -> Result<(), Skip> {
    let tool = Tool::new();
    let answer = beside_an_agent(&tool, &format!("$NETTOLL -c 127.0.0.1 -p {} -t 0.2 --runs runs", PORT.0))?;
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.stdout.contains("Stored in runs/"), "{}", answer.stdout);
    assert_eq!(tool.run(&["report", "-J"]).done().json()["trials"], 1);
    Ok(())
}

fn an_interrupted_trial_shows_what_had_come() -> Result<(), Skip> {
    let line = |flags: &str| {
        format!(
            "$NETTOLL -c 127.0.0.1 -p {} -t 60 -i 0.1 {flags} >client.out & client=$!
             for i in $(seq 600); do [ $(wc -l <client.out) -gt 9 ] && break; sleep 0.05; done
             kill -INT $client; wait $client; code=$?; cat client.out; (exit $code)",
            PORT.0
        )
    };
    let answer = beside_an_agent(&Tool::new(), &line(""))?;
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stdout.contains("Interrupted") && answer.stdout.contains("received"), "{}", answer.stdout);
    Ok(())
}

/// The lines of a stream of events, each by its name with its data.
fn events(text: &str) -> Vec<(String, Value)> {
    let one = |line: &str| {
        let mut event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(line.starts_with("{\"event\":\"") && event.as_object().map(serde_json::Map::len) == Some(2), "{line}");
        (event["event"].as_str().unwrap_or_default().to_owned(), event["data"].take())
    };
    text.lines().take_while(|line| *line != "{").map(one).collect()
}

fn without_retransmits(mut interval: Value) -> Value {
    interval["sum"].as_object_mut().unwrap().remove("retransmits");
    for stream in interval["streams"].as_array_mut().unwrap() {
        stream.as_object_mut().unwrap().remove("retransmits");
    }
    interval
}

fn events_of_a_stream_are_iperf3s_and_those_of_the_document() -> Result<(), Skip> {
    for flags in ["-t 0.4 -i 0.1", "-t 0.4 -i 0.1 -R", "-t 0.3 -i 0.1 -u -b 5M --bidir", "-t 0.2 -i 0 -P 2", "--test TCP_RR -t 0.3 -i 0.1"]
    {
        let tool = Tool::new();
        let answer = beside_an_agent(&tool, &format!("$NETTOLL -c 127.0.0.1 -p {} {flags} {STREAM}", PORT.0))?;
        assert_eq!(answer.code, Some(0), "{flags}: {answer:?}");
        let events = events(&answer.stdout);
        let document: Value = serde_json::from_str(&answer.stdout[answer.stdout.find("\n{\n").unwrap()..]).unwrap();
        let intervals = document["intervals"].as_array().unwrap();
        assert_eq!(flags.contains("-i 0 "), intervals.is_empty(), "{flags}");
        let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
        let expected = ["start"].into_iter().chain(intervals.iter().map(|_| "interval")).chain(["nettoll", "end"]).collect::<Vec<_>>();
        assert_eq!(names, expected, "{flags}");
        // What TCP had sent again before the measured part is known at the end of a trial alone.
        let mut pairs = events[1..].iter().zip(intervals).map(|((_, data), interval)| [data.clone(), interval.clone()]);
        let first = pairs.next().map(|pair| pair.map(without_retransmits));
        assert!(first.into_iter().chain(pairs).all(|[data, interval]| data == interval), "{flags}");
        let [(_, own), (_, end)] = &events[events.len() - 2..] else { panic!("{names:?}") };
        assert_eq!((end, own), (&document["end"], &document["nettoll"]), "{flags}");
        for key in ["connected", "test_start"] {
            assert_eq!(events[0].1[key], document["start"][key], "{flags}");
        }
        assert!(events[0].1["connected"][0]["local_port"].is_u64(), "{flags}");
    }
    // A reader of iperf3's streams.
    let tool = Tool::new();
    let trial = format!("$NETTOLL -c 127.0.0.1 -p {} -u -b 5M -t 0.3 -i 0.1 --json-stream >stream.json", PORT.0);
    assert_eq!(beside_an_agent(&tool, &trial)?.code, Some(0));
    let table = tool.run(&["reference", "--iperf3", "stream.json", "-J"]).done().json();
    assert!(table.to_string().contains("iperf3 UDP") && !table["remarks"].to_string().contains("contradict"), "{table}");
    Ok(())
}

fn failures_are_events_of_a_stream() -> Result<(), Skip> {
    for (flags, code, word) in [
        (&["-c", "127.0.0.1", "-p", "9", "--json-stream"][..], 1, "nettoll agent"),
        (&["-c", "h", "-l", "0", "--json-stream"], 2, "0 bytes"),
        (&["-c", "h", "-B", "x", "--json-stream"], 2, "data=ADDRESS"),
    ] {
        let answer = Tool::new().run(flags);
        let events = events(&answer.stdout);
        assert_eq!((answer.code, events.len(), answer.stderr.as_str()), (Some(code), 2, ""), "{answer:?}");
        assert_eq!((events[0].0.as_str(), &events[1]), ("error", &("end".to_owned(), serde_json::json!({}))));
        assert!(events[0].1.as_str().is_some_and(|error| error.contains(word)), "{answer:?}");
    }
    // Ctrl-C ends a trial with what had come.
    let line = format!(
        "$NETTOLL -c 127.0.0.1 -p {} -t 60 -i 0.1 --json-stream >client.out & client=$!
         for i in $(seq 600); do [ $(wc -l <client.out) -gt 2 ] && break; sleep 0.05; done
         kill -INT $client; wait $client; code=$?; cat client.out; (exit $code)",
        PORT.0
    );
    let answer = beside_an_agent(&Tool::new(), &line)?;
    let events = events(&answer.stdout);
    assert_eq!((answer.code, events[0].0.as_str(), events[1].0.as_str()), (Some(1), "start", "interval"), "{answer:?}");
    let last: Vec<&str> = events.iter().rev().take(3).map(|(name, _)| name.as_str()).collect();
    assert_eq!(last, ["end", "nettoll", "error"]);
    Ok(())
}

/// Prints protocol, version of IP and type of service of each packet of loopback until the file `stop` is there:
/// of datagrams, and of TCP where there is payload or it opens a connection, without
/// those of the agent's port and those of a probe, which a socket sends to itself.
const CAPTURE: &str = "
import os, socket, struct, sys, time
packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
packets.settimeout(0.05)
open('ready', 'w').close()
seen = {}
# Nothing ends it where the script ends early.
limit = time.monotonic() + 120
while time.monotonic() < limit:
    try:
        packet = packets.recv(65535)
    except TimeoutError:
        if os.path.exists('stop'):
            break
        continue
    if packet[0] >> 4 == 4:
        version, tos, protocol, rest = 4, packet[1], packet[9], packet[(packet[0] & 15) * 4:struct.unpack('!H', packet[2:4])[0]]
    else:
        version, tos, protocol, rest = 6, struct.unpack('!H', packet[:2])[0] >> 4 & 255, packet[6], packet[40:]
    ports = struct.unpack('!HH', rest[:4]) if protocol in (6, 17) else ()
    if not ports or int(sys.argv[1]) in ports or ports[0] == ports[1]:
        continue
    if protocol == 6 and not rest[13] & 2 and len(rest) == (rest[12] >> 4) * 4:
        continue
    key = ('TCP' if protocol == 6 else 'UDP', version, tos)
    seen[key] = seen.get(key, 0) + 1
for key, count in sorted(seen.items()):
    print(*key, count)
";

fn a_type_of_service_is_in_every_packet_of_both_families() -> Result<(), Skip> {
    need_programs(&["python3"])?;
    let tool = Tool::new();
    std::fs::write(tool.path().join("capture.py"), CAPTURE).unwrap();
    let port = PORT.0;
    let one = |flags: &str| format!("$NETTOLL -p {port} -i 0 -J {flags} >trial.json || exit 1");
    let trials = [
        "-c 127.0.0.1 -l 100 -k 20 --dscp ef",
        "-c 127.0.0.1 -l 100 -k 20 -u -S 0x20",
        "-c ::1 -l 100 -k 20 -u --tos cs1",
        "-c 127.0.0.1 --test TCP_CRR -k 5 --dscp 46",
    ];
    let script = format!(
        "python3 capture.py {port} >packets 2>capture.err & capture=$!
         for i in $(seq 600); do [ -e ready ] && break; sleep 0.05; done
         {}
         cp trial.json last.json
         $NETTOLL -p {port} -i 0 -J -c ::1 -l 100 -k 20 --tos 0xb8 >v6.json || exit 1
         touch stop; wait $capture; cat packets capture.err",
        trials.map(one).join("\n")
    );
    let answer = beside_an_agent(&tool, &script)?;
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let packets: Vec<Vec<&str>> = answer.stdout.lines().map(|line| line.split(' ').collect()).collect();
    let services: Vec<[&str; 3]> = packets.iter().map(|packet| [packet[0], packet[1], packet[2]]).collect();
    assert_eq!(services, [["TCP", "4", "184"], ["TCP", "6", "184"], ["UDP", "4", "32"], ["UDP", "6", "32"]], "{answer:?}");
    // A stream has two packets that open it, two cookies, and messages; UDP a packet a message.
    assert!(packets.iter().all(|packet| packet[3].parse::<u32>().is_ok_and(|count| count >= 5)), "{answer:?}");
    for (file, name) in [("last.json", "IP_TOS"), ("v6.json", "IPV6_TCLASS")] {
        let value: Value = serde_json::from_str(&std::fs::read_to_string(tool.path().join(file)).unwrap()).unwrap();
        assert_eq!(value["start"]["test_start"]["tos"], 184, "{file}");
        for end in ["sender", "receiver"] {
            let options = value["nettoll"]["trial"]["outcome"]["measured"][end]["options"].as_array().unwrap();
            let option = options.iter().find(|option| option["name"] == name).unwrap_or_else(|| panic!("{name} in {options:?}"));
            assert_eq!([&option["asked"], &option["set"], &option["got"]], [&Value::from(184); 3], "{file} {end}");
        }
    }
    Ok(())
}

fn factors_of_studies_are_set_and_named_for_the_study() -> Result<(), Skip> {
    let value = trial("-u -b 0 -t 0.2 -i 0 --api sendmmsg --receive recvmsg --batch 8 --waiting poll --work 1us")?;
    let cell = &value["nettoll"]["trial"]["cell"];
    for (key, level) in [("api", "sendmmsg"), ("receive", "recvmsg"), ("waiting", "poll")] {
        assert_eq!(cell[key], level, "{cell}");
    }
    assert_eq!((number(cell, "/batch"), number(cell, "/work")), (8.0, 1_000.0));
    for (flags, api) in [("-Z", "sendfile"), ("--mptcp", "mptcp")] {
        let tool = Tool::new();
        let answer = beside_an_agent(&tool, &format!("$NETTOLL -c 127.0.0.1 -p {} -t 0.2 -i 0 -V {flags} --tos le", PORT.0))?;
        if api == "mptcp" && answer.code == Some(1) {
            assert!(answer.stderr.contains("this kernel has no MPTCP"), "{answer:?}");
            continue;
        }
        assert_eq!(answer.code, Some(0), "{answer:?}");
        for word in [&format!("TCP_STREAM ({api}, nagle, tos 0x04)"), "IP_TOS", &format!("--api {api}"), "--tos 0x04"] {
            assert!(answer.stdout.contains(word), "{word}: {answer:?}");
        }
    }
    Ok(())
}

fn a_program_there_is_named_or_left_there() -> Result<(), Skip> {
    let tool = Tool::new();
    let one =
        |flags: &str| format!("XDG_CACHE_HOME=$PWD/cache $NETTOLL -c 'cmd:sh,data=127.0.0.1' -t 0.1 -i 0 -J {flags} >trial.json || exit 1");
    let script = format!("{}; [ ! -e cache ] || exit 7; {}; ls cache/nettoll", one("--remote-program $NETTOLL"), one("--deploy"));
    let answer = beside_an_agent(&tool, &script)?;
    assert_eq!((answer.code, answer.stdout.lines().count()), (Some(0), 1), "{answer:?}");
    Ok(())
}
