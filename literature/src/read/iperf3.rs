//! iperf3's JSON (`-J`): one test of one size.

use serde_json::Value;

use super::{MOST_BYTES, MOST_MESSAGE, PeerResult, ReadError, shortened};
use crate::sweep::SizePoint;

const TOOL: &str = "iperf3";

/// Reads the JSON of one test. A message is what one send call hands over
/// (`-l`, `blksize`); of TCP as many bytes of the stream count as one.
///
/// # Errors
/// JSON that is cut off or none, a test that failed, figures that are missing
/// or contradict each other; what to do.
pub fn parse(text: &str) -> Result<PeerResult, ReadError> {
    if text.len() > MOST_BYTES {
        return Err(ReadError::TooLong);
    }
    let value: Value = serde_json::from_str(text).map_err(|error| match error.is_eof() {
        true => ReadError::Truncated { line: error.line() },
        false => ReadError::NotJson { reason: shortened(&error.to_string()) },
    })?;
    if let Some(message) = value.get("error").and_then(Value::as_str) {
        return Err(ReadError::Failed { tool: TOOL, message: shortened(message) });
    }
    let bytes = figure(&value, "/start/test_start/blksize", "run the whole test with -J")?;
    if bytes.fract() != 0.0 || bytes > MOST_MESSAGE as f64 {
        return Err(ReadError::Contradiction { tool: TOOL, what: format!("messages of {bytes} bytes") });
    }
    let udp = value.pointer("/start/test_start/protocol").and_then(Value::as_str) == Some("UDP");
    let (messages_per_s, sent_per_s) = if udp { datagrams(&value)? } else { stream(&value, bytes)? };
    let point = SizePoint { bytes: bytes as u64, messages_per_s, sent_per_s };
    Ok(PeerResult { name: name(&value, udp), point, remarks: remarks(&value) })
}

/// A figure above 0.
fn figure(value: &Value, path: &str, remedy: &'static str) -> Result<f64, ReadError> {
    let found = value.pointer(path).and_then(Value::as_f64).filter(|figure| figure.is_finite() && (1e-9..1e18).contains(figure));
    found.ok_or_else(|| ReadError::MissingKey { tool: TOOL, key: path.trim_start_matches('/').replace('/', "."), remedy })
}

const WHOLE: &str = "let the test end by itself, and take the client's output";

/// Received and sent datagrams per second.
fn datagrams(value: &Value) -> Result<(f64, Option<f64>), ReadError> {
    // `sum` alone is what versions before 3.10 write.
    let of = if value.pointer("/end/sum_received/packets").is_some() { "/end/sum_received" } else { "/end/sum" };
    let seconds = figure(value, &format!("{of}/seconds"), WHOLE)?;
    let sent = figure(value, &format!("{of}/packets"), WHOLE)?;
    let lost = value.pointer(&format!("{of}/lost_packets")).and_then(Value::as_f64).unwrap_or(0.0);
    if !(0.0..=sent).contains(&lost) {
        return Err(ReadError::Contradiction { tool: TOOL, what: format!("{lost} datagrams lost of {sent} sent") });
    }
    if sent - lost < 1.0 {
        return Err(ReadError::Contradiction { tool: TOOL, what: "no datagram that arrived".to_owned() });
    }
    Ok(((sent - lost) / seconds, Some(sent / seconds)))
}

/// Messages' worth of a stream per second at the receiver and at the sender.
fn stream(value: &Value, bytes: f64) -> Result<(f64, Option<f64>), ReadError> {
    let rate = |of: &str| Ok(figure(value, &format!("/end/{of}/bytes"), WHOLE)? / figure(value, &format!("/end/{of}/seconds"), WHOLE)?);
    let received: f64 = rate("sum_received")? / bytes;
    let sent: Result<f64, ReadError> = rate("sum_sent");
    Ok((received, sent.ok().map(|sent| sent / bytes)))
}

fn setting(value: &Value, key: &str) -> f64 {
    value.pointer(&format!("/start/test_start/{key}")).and_then(Value::as_f64).unwrap_or(0.0)
}

fn name(value: &Value, udp: bool) -> String {
    let mut name = format!("iperf3 {}", if udp { "UDP" } else { "TCP" });
    let flows = setting(value, "num_streams");
    if flows > 1.0 {
        name += &format!(", {flows} flows");
    }
    if setting(value, "reverse") != 0.0 {
        name += ", reverse";
    }
    name
}

fn remarks(value: &Value) -> Vec<String> {
    let mut remarks = Vec::new();
    if setting(value, "target_bitrate") > 0.0 {
        remarks.push(
            "iperf3 offered a rate (its default for UDP is 1 Mbit/s), so that the time per message is the schedule's; use -b 0".to_owned(),
        );
    }
    if value.pointer("/end/sum_sent_bidir_reverse").is_some() {
        remarks.push("iperf3 sent both ways; the figures are of the way from its client to its server".to_owned());
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::parse;
    use proptest::prelude::{prop_assert, proptest};

    const TCP: &str = r#"{"start":{"test_start":{"protocol":"TCP","num_streams":2,"blksize":1000,"reverse":1,"target_bitrate":0}},
        "end":{"sum_sent":{"seconds":2,"bytes":3000000},"sum_received":{"seconds":2,"bytes":2000000}}}"#;
    const UDP: &str = r#"{"start":{"test_start":{"protocol":"UDP","num_streams":1,"blksize":512,"reverse":0,"target_bitrate":1048576}},
        "end":{"sum":{"seconds":1.0,"packets":171090,"lost_packets":95063},
        "sum_received":{"seconds":1.0,"bytes":38925824,"packets":171090,"lost_packets":95063}}}"#;

    #[track_caller]
    fn refused(text: &str, words: &[&str]) {
        let error = parse(text).unwrap_err().to_string();
        words.iter().for_each(|word| assert!(error.contains(word), "'{word}' is missing: {error}"));
    }

    #[test]
    fn tcp_counts_messages_of_the_stream() {
        let found = parse(TCP).unwrap();
        assert_eq!((found.point.bytes, found.point.messages_per_s, found.point.sent_per_s), (1000, 1000.0, Some(1500.0)));
        assert_eq!(found.name, "iperf3 TCP, 2 flows, reverse");
        assert!(found.remarks.is_empty());
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
        refused("", &["ends before it is complete"]);
        refused("{]", &["no JSON", "iperf3 -J"]);
        refused(
            r#"{"start":{},"error":"unable to connect to server: Connection refused"}"#,
            &["reports 'unable to connect", "run it again"],
        );
        refused(&TCP.replace("blksize", "x"), &["start.test_start.blksize is missing", "-J"]);
        refused(&TCP.replace("1000,", "-5,"), &["blksize is missing or no figure above 0"]);
        refused(&TCP.replace("sum_received", "x"), &["end.sum_received.bytes is missing", "let the test end"]);
        // Versions of iperf3 were seen to say so.
        refused(&UDP.replace("95063", "306251"), &["306251 datagrams lost of 171090 sent"]);
        refused(&UDP.replace("95063", "-33"), &["-33 datagrams lost"]);
        refused(&UDP.replace("95063", "171090"), &["no datagram that arrived"]);
        refused(&format!("{}1{}", "[".repeat(1000), "]".repeat(1000)), &["no JSON"]);
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
