//! iperf3's JSON (`-J`, `--json-stream`): tests of one size each.

use serde_json::{Map, Value};

use super::json::documents;
use super::{MOST_BYTES, MOST_MESSAGE, MOST_RESULTS, PeerResult, ReadError, agree, every, shortened};
use crate::sweep::SizePoint;

const TOOL: &str = "iperf3";

/// Reads the JSON of any number of tests. A message is what one send call hands over
/// (`-l`, `blksize`); of TCP as many bytes of the stream count as one.
///
/// # Errors
/// A file without a whole document, tests that all failed, lack figures or contradict
/// themselves; what to do.
pub fn parse(text: &str) -> Result<Vec<PeerResult>, ReadError> {
    if text.len() > MOST_BYTES {
        return Err(ReadError::TooLong);
    }
    let found = documents(text)?;
    let tests = tests(found.values);
    if tests.len() > MOST_RESULTS {
        return Err(ReadError::TooMany("500 results"));
    }
    if tests.is_empty() {
        return Err(ReadError::NoDocument { found: "its JSON holds no test" });
    }
    every(tests.iter().map(test), found.remarks)
}

/// Documents as tests: lines of `--json-stream` are put together, what is no object
/// of iperf3's is left to be refused.
fn tests(documents: Vec<Value>) -> Vec<Value> {
    let (mut tests, mut open) = (Vec::new(), None::<Map<String, Value>>);
    for mut document in documents {
        let Some(event) = document.get("event").and_then(Value::as_str).map(str::to_owned) else {
            tests.push(document);
            continue;
        };
        let data = document.get_mut("data").map_or(Value::Null, Value::take);
        match event.as_str() {
            "start" => tests.extend(open.replace(Map::from_iter([(event, data)])).map(Value::Object)),
            // The end of a test that failed comes after its error.
            "error" => drop(open.get_or_insert_default().insert(event, data)),
            "end" => {
                let mut test = open.take().unwrap_or_default();
                test.insert(event, data);
                tests.push(Value::Object(test));
            }
            _ => {}
        }
    }
    tests.extend(open.map(Value::Object));
    tests
}

fn test(value: &Value) -> Result<PeerResult, ReadError> {
    if let Some(message) = value.get("error").and_then(Value::as_str) {
        return Err(ReadError::Failed { tool: TOOL, message: shortened(message) });
    }
    let bytes = figure(value, "/start/test_start/blksize", "run the whole test with -J")?;
    if bytes.fract() != 0.0 || bytes > MOST_MESSAGE as f64 {
        return Err(ReadError::Contradiction { tool: TOOL, what: format!("messages of {bytes} bytes") });
    }
    let protocol = shortened(value.pointer("/start/test_start/protocol").and_then(Value::as_str).unwrap_or("TCP"));
    let mut faults = Vec::new();
    let (messages_per_s, sent_per_s) =
        if protocol == "UDP" { datagrams(value, bytes, &mut faults)? } else { stream(value, bytes, &mut faults)? };
    if !(1e-9..1e18).contains(&messages_per_s) {
        return Err(ReadError::Contradiction { tool: TOOL, what: format!("{messages_per_s} messages per second") });
    }
    if sent_per_s.is_some_and(|sent| sent < messages_per_s && !agree(sent, messages_per_s)) {
        faults.push("iperf3 counts more per second at the receiver than at the sender: its two ends measured different times".to_owned());
    }
    let point = SizePoint { bytes: bytes as u64, messages_per_s, sent_per_s };
    Ok(PeerResult { name: name(value, &protocol), transactions: false, point, remarks: remarks(value), faults })
}

/// A figure above 0, if there is one.
fn known(value: &Value, path: &str) -> Option<f64> {
    value.pointer(path).and_then(Value::as_f64).filter(|figure| figure.is_finite() && (1e-9..1e18).contains(figure))
}

fn figure(value: &Value, path: &str, remedy: &'static str) -> Result<f64, ReadError> {
    known(value, path).ok_or_else(|| ReadError::MissingKey { tool: TOOL, key: path.trim_start_matches('/').replace('/', "."), remedy })
}

const WHOLE: &str = "let the test end by itself, and take the client's output";

/// Received and sent datagrams per second. Bytes count where numbers contradict them:
/// with `-O`, iperf3 3.12 takes for lost what was lost before the measured part.
fn datagrams(value: &Value, size: f64, faults: &mut Vec<String>) -> Result<(f64, Option<f64>), ReadError> {
    // `sum` alone is what versions before 3.10 write; its bytes are the sender's.
    let (of, bytes) = match value.pointer("/end/sum_received").is_some() {
        true => ("sum_received", known(value, "/end/sum_received/bytes")),
        false => ("sum", None),
    };
    let seconds = figure(value, &format!("/end/{of}/seconds"), WHOLE)?;
    let packets = figure(value, &format!("/end/{of}/packets"), WHOLE);
    let lost = value.pointer(&format!("/end/{of}/lost_packets")).and_then(Value::as_f64).unwrap_or(0.0);
    let received = match (bytes.map(|bytes| bytes / size), &packets) {
        (None, Err(refusal)) => return Err(refusal.clone()),
        (Some(by_bytes), Err(_)) => by_bytes,
        (None, Ok(sent)) if !(0.0..=*sent).contains(&lost) => {
            return Err(ReadError::Contradiction { tool: TOOL, what: format!("{lost} datagrams lost of {sent} sent") });
        }
        (None, Ok(sent)) if sent - lost < 1.0 => {
            return Err(ReadError::Contradiction { tool: TOOL, what: "no datagram that arrived".to_owned() });
        }
        (None, Ok(sent)) => sent - lost,
        (Some(by_bytes), Ok(sent)) => {
            let by_numbers = sent - lost;
            if by_numbers >= 1.0 && lost >= 0.0 && (agree(by_numbers, by_bytes) || (by_numbers - by_bytes).abs() <= 1.0) {
                by_numbers
            } else {
                faults.push(format!(
                    "iperf3 contradicts itself: by end.{of}.packets less lost_packets {by_numbers} datagrams arrived, by its bytes {by_bytes:.0}; \
                     the bytes count here"
                ));
                by_bytes
            }
        }
    };
    rates_agree(value, of, faults);
    let sender = if value.pointer("/end/sum_sent/packets").is_some() { "sum_sent" } else { "sum" };
    let by_bytes = known(value, &format!("/end/{sender}/bytes")).map(|bytes| bytes / size);
    let by_number = known(value, &format!("/end/{sender}/packets"));
    if let (Some(bytes), Some(number)) = (by_bytes, by_number)
        && !agree(bytes, number)
    {
        faults.push(format!("iperf3 contradicts itself: end.{sender} has {number} packets and bytes of {bytes:.0}; the bytes count here"));
    }
    let agreed = by_bytes.zip(by_number).is_some_and(|(bytes, number)| agree(bytes, number));
    let sent = if agreed { by_number } else { by_bytes.or(by_number) };
    let sender_seconds = known(value, &format!("/end/{sender}/seconds")).unwrap_or(seconds);
    Ok((received / seconds, sent.map(|sent| sent / sender_seconds)))
}

/// Messages' worth of a stream per second at the receiver and at the sender.
fn stream(value: &Value, size: f64, faults: &mut Vec<String>) -> Result<(f64, Option<f64>), ReadError> {
    let rate = |of: &str| Ok(figure(value, &format!("/end/{of}/bytes"), WHOLE)? / figure(value, &format!("/end/{of}/seconds"), WHOLE)?);
    let received: f64 = rate("sum_received")? / size;
    let sent: Result<f64, ReadError> = rate("sum_sent");
    rates_agree(value, "sum_received", faults);
    rates_agree(value, "sum_sent", faults);
    // In both ways at once the streams of either way are in one list.
    if let (false, Some(sum)) = (is_bidirectional(value), known(value, "/end/sum_received/bytes")) {
        let streams = value.pointer("/end/streams").and_then(Value::as_array).into_iter().flatten();
        let each: Option<Vec<f64>> = streams.map(|stream| stream.pointer("/receiver/bytes").and_then(Value::as_f64)).collect();
        let flows = each.unwrap_or_default();
        let all: f64 = flows.iter().sum();
        if !flows.is_empty() && !agree(all, sum) {
            faults.push(format!(
                "iperf3 contradicts itself: its streams received {all} B, and end.sum_received has {sum} B, which counts here"
            ));
        }
    }
    Ok((received, sent.ok().map(|sent| sent / size)))
}

/// Says where a sum's rate is not its bytes over its seconds.
fn rates_agree(value: &Value, of: &str, faults: &mut Vec<String>) {
    let [rate, bytes, seconds] = ["bits_per_second", "bytes", "seconds"].map(|key| known(value, &format!("/end/{of}/{key}")));
    if let (Some(rate), Some(bytes), Some(seconds)) = (rate, bytes, seconds)
        && !agree(rate, bytes * 8.0 / seconds)
    {
        faults.push(format!(
            "iperf3 contradicts itself: end.{of} has {rate:.0} bit/s, and bytes over seconds of {:.0}, which count here",
            bytes * 8.0 / seconds
        ));
    }
}

fn is_bidirectional(value: &Value) -> bool {
    value.pointer("/end/sum_sent_bidir_reverse").is_some() || setting(value, "bidir") != 0.0
}

fn setting(value: &Value, key: &str) -> f64 {
    value.pointer(&format!("/start/test_start/{key}")).and_then(Value::as_f64).unwrap_or(0.0)
}

/// A setting's value in words; empty where it is the usual one.
type Words = fn(f64) -> String;

/// Settings in `start` that change what is measured, with their words where they are set.
const SETTINGS: &[(&str, Words)] = &[
    ("test_start/num_streams", |flows| if flows > 1.0 { format!("{flows} flows") } else { String::new() }),
    ("test_start/reverse", |_| "reverse".to_owned()),
    ("test_start/bidir", |_| "both ways".to_owned()),
    ("test_start/target_bitrate", |bits| format!("at {}", rate(bits))),
    ("test_start/fqrate", |bits| format!("paced at {}", rate(bits))),
    ("test_start/tos", |tos| format!("type of service {tos}")),
    ("test_start/gso", |_| "GSO".to_owned()),
    ("test_start/gro", |_| "GRO".to_owned()),
    ("sock_bufsize", |bytes| format!("buffers of {bytes} B")),
    ("tcp_mss", |bytes| format!("segments of {bytes} B")),
];

/// Whatever changes what was measured is part of the name: tests of one name are taken
/// for repetitions.
fn name(value: &Value, protocol: &str) -> String {
    let mut parts = vec![format!("iperf3 {protocol}")];
    for (path, words) in SETTINGS {
        let set = value.pointer(&format!("/start/{path}")).and_then(Value::as_f64).filter(|set| *set > 0.0);
        parts.extend(set.map(words).filter(|words| !words.is_empty()));
    }
    if is_bidirectional(value) && setting(value, "bidir") == 0.0 {
        parts.push("both ways".to_owned());
    }
    let text = |path: &str| value.pointer(path).and_then(Value::as_str);
    if text("/start/connected/0/remote_host").is_some_and(|host| host.contains(':')) {
        parts.push("IPv6".to_owned());
    }
    parts.extend(text("/end/sender_tcp_congestion").map(shortened));
    parts.join(", ")
}

/// Bits per second in the unit that keeps them short.
fn rate(bits: f64) -> String {
    let (scale, unit) =
        [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")].into_iter().find(|(scale, _)| bits >= *scale).unwrap_or((1.0, "bit/s"));
    format!("{} {unit}", bits / scale)
}

fn remarks(value: &Value) -> Vec<String> {
    let mut remarks = Vec::new();
    if setting(value, "target_bitrate") > 0.0 {
        remarks.push(
            "iperf3 offered a rate (its default for UDP is 1 Mbit/s), so that the time per message is the schedule's; use -b 0".to_owned(),
        );
    }
    if is_bidirectional(value) {
        remarks.push("iperf3 sent both ways; the figures are of the way from its client to its server".to_owned());
    }
    remarks
}

#[cfg(test)]
mod tests {
    use crate::read::{PeerResult, ReadError};
    use proptest::prelude::{prop_assert, proptest};

    const TCP: &str = r#"{"start":{"test_start":{"protocol":"TCP","num_streams":2,"blksize":1000,"reverse":1,"target_bitrate":0}},
        "end":{"sum_sent":{"seconds":2,"bytes":3000000},"sum_received":{"seconds":2,"bytes":2000000}}}"#;
    const UDP: &str = r#"{"start":{"test_start":{"protocol":"UDP","num_streams":1,"blksize":512,"reverse":0,"target_bitrate":1048576}},
        "end":{"sum":{"seconds":1.0,"packets":171090,"lost_packets":95063},
        "sum_received":{"seconds":1.0,"bytes":38925824,"packets":171090,"lost_packets":95063}}}"#;

    /// The only test of a text.
    fn parse(text: &str) -> Result<PeerResult, ReadError> {
        super::parse(text).map(|mut found| {
            assert_eq!(found.len(), 1);
            found.remove(0)
        })
    }

    #[track_caller]
    fn refused(text: &str, words: &[&str]) {
        let error = super::parse(text).unwrap_err().to_string();
        words.iter().for_each(|word| assert!(error.contains(word), "'{word}' is missing: {error}"));
    }

    #[test]
    fn tcp_counts_messages_of_the_stream() {
        let found = parse(TCP).unwrap();
        assert_eq!((found.point.bytes, found.point.messages_per_s, found.point.sent_per_s), (1000, 1000.0, Some(1500.0)));
        assert_eq!(found.name, "iperf3 TCP, 2 flows, reverse");
        assert!(found.remarks.is_empty() && found.faults.is_empty());
    }

    #[test]
    fn udp_counts_what_arrived() {
        let found = parse(UDP).unwrap();
        assert_eq!((found.point.bytes, found.point.messages_per_s, found.point.sent_per_s), (512, 76_027.0, Some(171_090.0)));
        assert!(found.remarks[0].contains("-b 0"));
        // An older version.
        assert_eq!(parse(&UDP.replace("sum_received", "other")).unwrap().point, found.point);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_remedy() {
        refused(&TCP[..TCP.len() / 2], &["ends before it is complete", "run it again and let it end"]);
        refused("", &["it is empty", "iperf3 -J"]);
        refused("{]", &["line 1 is no JSON", "iperf3 -J"]);
        refused("{}", &["start.test_start.blksize is missing"]);
        refused(
            r#"{"start":{},"error":"unable to connect to server: Connection refused"}"#,
            &["reports 'unable to connect", "run it again"],
        );
        refused(&TCP.replace("blksize", "x"), &["start.test_start.blksize is missing", "-J"]);
        refused(&TCP.replace("1000,", "-5,"), &["blksize is missing or no figure above 0"]);
        refused(&TCP.replace("sum_received", "x"), &["end.sum_received.bytes is missing", "let the test end"]);
        // Versions of iperf3 were seen to say so; before 3.10 there are no bytes to go by.
        let old = UDP.replace("sum_received", "other");
        refused(&old.replace("95063", "306251"), &["306251 datagrams lost of 171090 sent"]);
        refused(&old.replace("95063", "-33"), &["-33 datagrams lost"]);
        refused(&old.replace("95063", "171090"), &["no datagram that arrived"]);
        refused(&format!("{}1{}", "[".repeat(1000), "]".repeat(1000)), &["no JSON"]);
    }

    /// iperf3 3.12 with `-u -b 0 -l 64 -O 1`.
    const OMITTED: &str = r#"{"start":{"test_start":{"protocol":"UDP","num_streams":1,"blksize":64,"omit":1,"reverse":0,"target_bitrate":0}},
        "end":{"sum":{"seconds":0.9988,"bytes":8745600,"packets":136650,"lost_packets":125937},
        "sum_received":{"seconds":0.9988,"bytes":4948928,"packets":136650,"lost_packets":125937}}}"#;

    #[test]
    fn a_contradiction_is_said_and_the_bytes_count() {
        let found = parse(OMITTED).unwrap();
        assert_eq!(found.point.messages_per_s.round(), 77_420.0);
        assert_eq!(found.point.sent_per_s.unwrap().round(), 136_814.0);
        assert!(found.faults[0].contains("less lost_packets 10713 datagrams arrived, by its bytes 77327"), "{:?}", found.faults);
        for (key, other) in [("95063", "306251"), ("95063", "-33"), ("95063", "171090")] {
            let found = parse(&UDP.replace(key, other)).unwrap();
            assert_eq!((found.point.messages_per_s, found.faults.len()), (76_027.0, 1), "{other}");
        }
        let said = |text: &str| parse(text).unwrap().faults.join("; ");
        assert!(
            said(&OMITTED.replace(r#""packets":136650,"lost_packets":125937},"#, r#""packets":70000,"lost_packets":0},"#))
                .contains("end.sum has 70000 packets")
        );
        let rate = TCP.replace(r#""bytes":2000000"#, r#""bytes":2000000,"bits_per_second":9e6"#);
        assert!(said(&rate).contains("9000000 bit/s, and bytes over seconds of 8000000"));
        assert_eq!(said(&rate.replace("9e6", "8.05e6")), "");
        let streams = TCP.replace(r#""end":{"#, r#""end":{"streams":[{"receiver":{"bytes":1500000}},{"receiver":{"bytes":400000}}],"#);
        assert!(said(&streams).contains("its streams received 1900000 B"));
        assert_eq!(said(&streams.replace("400000", "500000")), "");
        assert!(said(&TCP.replace("3000000", "1000000")).contains("more per second at the receiver than at the sender"));
    }

    #[test]
    fn whatever_was_set_is_in_the_name() {
        let name = |text: &str| parse(text).unwrap().name;
        let set = |key: &str, value: &str| name(&UDP.replace(r#""reverse":0"#, &format!(r#""reverse":0,"{key}":{value}"#)));
        assert_eq!(name(UDP), "iperf3 UDP, at 1.048576 Mbit/s");
        assert_eq!(name(&UDP.replace("1048576", "0")), "iperf3 UDP");
        assert_eq!(set("tos", "32"), "iperf3 UDP, at 1.048576 Mbit/s, type of service 32");
        assert_eq!(set("bidir", "1"), "iperf3 UDP, both ways, at 1.048576 Mbit/s");
        assert_eq!(set("fqrate", "2000"), "iperf3 UDP, at 1.048576 Mbit/s, paced at 2 kbit/s");
        assert_eq!(name(&TCP.replace(r#""TCP""#, r#""SCTP""#)), "iperf3 SCTP, 2 flows, reverse");
        let start = r#"{"start":{"sock_bufsize":65536,"tcp_mss":1000,"connected":[{"remote_host":"::1"}],"#;
        let end = r#""end":{"sender_tcp_congestion":"bbr","#;
        let all = TCP.replace(r#"{"start":{"#, start).replace(r#""end":{"#, end);
        assert_eq!(name(&all), "iperf3 TCP, 2 flows, reverse, buffers of 65536 B, segments of 1000 B, IPv6, bbr");
        let several = super::parse(&format!("{UDP}\n{}", UDP.replace("1048576", "0"))).unwrap();
        assert_eq!(crate::read::peer_series(several).0.len(), 2);
    }

    #[test]
    fn nearly_right_files_are_read() {
        let found = super::parse(&format!("Warning: x\n{TCP}\n{UDP}{}\n", UDP.replace("512", "nan"))).unwrap();
        assert_eq!(found.iter().map(|one| one.point.bytes).collect::<Vec<_>>(), [1000, 512]);
        let faults = found[0].faults.join("; ");
        for words in [
            "a line of the file is no JSON",
            "a value of the file is no number",
            "result 3 of 3 was left out: iperf3's start.test_start.blksize",
        ] {
            assert!(faults.contains(words), "'{words}' is missing: {faults}");
        }
        let unneeded = parse(&UDP.replace(r#""packets":171090,"lost"#, r#""jitter_ms":-nan,"packets":171090,"lost"#)).unwrap();
        assert_eq!((unneeded.point.messages_per_s, unneeded.faults.len()), (76_027.0, 1));
    }

    #[test]
    fn lines_of_a_stream_are_one_test() {
        let (start, end) = UDP.split_once(",\n").unwrap();
        let (start, end) = (&start[r#"{"start":"#.len()..], &end.trim()[r#""end":"#.len()..end.trim().len() - 1]);
        let interval = r#"{"event":"interval","data":{"streams":[]}}"#;
        let stream = format!("{{\"event\":\"start\",\"data\":{start}}}\n{interval}\n{{\"event\":\"end\",\"data\":{end}}}\n");
        assert_eq!(parse(&stream).unwrap(), parse(UDP).unwrap());
        assert_eq!(super::parse(&stream.repeat(3)).unwrap().len(), 3);
        refused(&stream[..stream.find("{\"event\":\"end").unwrap()], &["end.sum.seconds is missing", "let the test end"]);
        refused("{\"event\":\"error\",\"data\":\"refused\"}\n{\"event\":\"end\",\"data\":{}}\n", &["reports 'refused'"]);
    }

    proptest! {
        #[test]
        fn a_result_cut_anywhere_is_refused(at in 0usize..300) {
            let cut: String = UDP.chars().take(at.min(UDP.len() - 1)).collect();
            prop_assert!(parse(&cut).is_err());
        }

        #[test]
        fn any_figures_are_read_or_refused(packets in "[-0-9.e]{1,24}", lost in "[-0-9.e]{1,24}", size in "[-0-9.e]{1,24}") {
            let text = UDP.replace("171090", &packets).replace("95063", &lost).replace("512", &size);
            if let Ok(found) = parse(&text) {
                prop_assert!(found.point.messages_per_s > 0.0 && found.point.messages_per_s.is_finite() && found.point.bytes >= 1);
            }
        }
    }
}
