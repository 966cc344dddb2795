//! netperf's omni output: `-- -k` (a line `NAME=value` for each figure) or
//! `-- -o` (a line of names and a line of values).

use std::collections::BTreeMap;

use super::{MOST_BYTES, MOST_MESSAGE, PeerResult, ReadError, shortened};
use crate::sweep::SizePoint;

const TOOL: &str = "netperf";

/// The request to netperf.
const REMEDY: &str = "ask for it: netperf ... -- -m SIZE -k THROUGHPUT,THROUGHPUT_UNITS,PROTOCOL,DIRECTION,LOCAL_SEND_SIZE,REMOTE_SEND_SIZE,REQUEST_SIZE,REMOTE_RECV_THROUGHPUT";

/// More results of one file are not read.
const MOST_RESULTS: usize = 500;

/// The figures of one test by netperf's names.
type Figures = BTreeMap<String, String>;

/// Reads the results of any number of tests, one after the other.
///
/// # Errors
/// Output in another form, figures that are missing; what to do.
pub fn parse(text: &str) -> Result<Vec<PeerResult>, ReadError> {
    if text.len() > MOST_BYTES {
        return Err(ReadError::TooLong);
    }
    let mut results = key_values(text);
    if results.is_empty() {
        results = csv(text);
    }
    if results.is_empty() {
        return Err(ReadError::MissingKey { tool: TOOL, key: "THROUGHPUT".to_owned(), remedy: REMEDY });
    }
    if results.len() > MOST_RESULTS {
        return Err(ReadError::TooMany("500 results"));
    }
    results.iter().map(result).collect()
}

/// Tests in `-k` form; a name that comes again begins the next one.
fn key_values(text: &str) -> Vec<Figures> {
    let mut results: Vec<Figures> = Vec::new();
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    for line in text.lines() {
        // The banner above the figures is no figure.
        let Some((name, value)) = line.split_once('=').filter(|(name, _)| is_name(name)) else { continue };
        match results.last_mut().filter(|last| !last.contains_key(name)) {
            Some(last) => drop(last.insert(name.to_owned(), value.trim().to_owned())),
            None => results.push(BTreeMap::from([(name.to_owned(), value.trim().to_owned())])),
        }
    }
    results
}

/// Tests in `-o` form: after a line of names, every line of as many fields.
fn csv(text: &str) -> Vec<Figures> {
    let mut names: Vec<String> = Vec::new();
    let mut results = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if fields.contains(&"Throughput") {
            names = fields.iter().map(|field| variable(field)).collect();
        } else if !names.is_empty() && fields.len() == names.len() {
            results.push(names.iter().cloned().zip(fields.into_iter().map(str::to_owned)).collect());
        }
    }
    results
}

/// `Local Send Size` is the heading of LOCAL_SEND_SIZE; units of a heading are left out.
fn variable(heading: &str) -> String {
    let words = heading.split_whitespace().filter(|word| !word.starts_with('(') && !matches!(*word, "Bytes" | "Tran/s"));
    words.map(str::to_ascii_uppercase).collect::<Vec<_>>().join("_")
}

fn result(figures: &Figures) -> Result<PeerResult, ReadError> {
    let text = |name: &str| figures.get(name).map_or("", String::as_str);
    let units = text("THROUGHPUT_UNITS");
    let transactions = units.starts_with("Trans");
    let receives = text("DIRECTION").eq_ignore_ascii_case("Receive");
    let size_name = match (transactions, receives) {
        (true, _) => "REQUEST_SIZE",
        (false, true) => "REMOTE_SEND_SIZE",
        (false, false) => "LOCAL_SEND_SIZE",
    };
    let bytes = figure(figures, size_name)?;
    if bytes.fract() != 0.0 || bytes > MOST_MESSAGE as f64 {
        return Err(ReadError::Contradiction { tool: TOOL, what: format!("messages of {bytes} bytes") });
    }
    let per_message = if transactions { 1.0 } else { bytes / unit(units)? };
    let rate = |name: &str| figure(figures, name).ok().map(|figure| figure / per_message);
    // netperf's own figure of a stream may be the sender's.
    let received = rate("REMOTE_RECV_THROUGHPUT").filter(|_| !receives && !transactions);
    let own = figure(figures, "THROUGHPUT")? / per_message;
    let udp = text("PROTOCOL").eq_ignore_ascii_case("UDP");
    let mut remarks = Vec::new();
    if udp && !transactions && !receives && received.is_none() {
        remarks.push("netperf's THROUGHPUT of UDP is what was sent; ask for REMOTE_RECV_THROUGHPUT to have what arrived".to_owned());
    }
    let point = SizePoint { bytes: bytes as u64, messages_per_s: received.unwrap_or(own), sent_per_s: received.map(|_| own) };
    if !(1e-9..1e18).contains(&point.messages_per_s) {
        return Err(ReadError::Contradiction { tool: TOOL, what: format!("{} messages per second", point.messages_per_s) });
    }
    let kind = if transactions { "RR" } else { "STREAM" };
    let direction = if receives { ", receiving" } else { "" };
    let protocol = if text("PROTOCOL").is_empty() { "?".to_owned() } else { shortened(text("PROTOCOL")) };
    Ok(PeerResult { name: format!("netperf {protocol}_{kind}{direction}"), point, remarks })
}

/// A figure above 0.
fn figure(figures: &Figures, name: &str) -> Result<f64, ReadError> {
    let found: Option<f64> = figures.get(name).and_then(|text| text.parse().ok()).filter(|figure| (1e-9..1e18).contains(figure));
    found.ok_or_else(|| ReadError::MissingKey { tool: TOOL, key: name.to_owned(), remedy: REMEDY })
}

/// Bytes per second in one of netperf's units: SI for bits, powers of 1,024 for
/// bytes (its `format_units`).
fn unit(name: &str) -> Result<f64, ReadError> {
    let known = match name.trim_end_matches("/s") {
        "Bytes" => 1.0,
        "KBytes" => 1024.0,
        "MBytes" => 1024.0 * 1024.0,
        "GBytes" => 1024.0 * 1024.0 * 1024.0,
        "10^0bits" => 1.0 / 8.0,
        "10^3bits" => 1e3 / 8.0,
        "10^6bits" => 1e6 / 8.0,
        "10^9bits" => 1e9 / 8.0,
        _ => return Err(ReadError::MissingKey { tool: TOOL, key: "THROUGHPUT_UNITS".to_owned(), remedy: REMEDY }),
    };
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::parse;
    use proptest::prelude::{prop_assert, proptest};

    const KEYS: &str = "OMNI TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to host () port 0 AF_INET : demo\n\
        THROUGHPUT=800.00\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=10.00\nPROTOCOL=UDP\nDIRECTION=Send\nLOCAL_SEND_SIZE=1000\n\
        REMOTE_RECV_THROUGHPUT=792.00\n";

    #[track_caller]
    fn refused(text: &str, words: &[&str]) {
        let error = parse(text).unwrap_err().to_string();
        words.iter().for_each(|word| assert!(error.contains(word), "'{word}' is missing: {error}"));
    }

    #[test]
    fn keys_of_several_tests_are_read() {
        let found = parse(&format!("{KEYS}{}", KEYS.replace("1000", "500"))).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].point.bytes, found[0].point.messages_per_s, found[0].point.sent_per_s), (1000, 99_000.0, Some(100_000.0)));
        assert_eq!((found[1].point.bytes, found[1].point.messages_per_s), (500, 198_000.0));
        assert_eq!(found[0].name, "netperf UDP_STREAM");
        let sent = parse(&KEYS.replace("REMOTE_RECV_THROUGHPUT", "OTHER")).unwrap();
        assert_eq!((sent[0].point.messages_per_s, sent[0].remarks.len()), (100_000.0, 1));
    }

    #[test]
    fn names_above_values_are_read() {
        let text = "OMNI TEST from ...\nThroughput,Throughput Units,Elapsed Time (sec),Protocol,Direction,Remote Send Size\n\
                    100.00,KBytes/s,10.00,TCP,Receive,1024\n200.00,KBytes/s,10.00,TCP,Receive,2048\n";
        let found = parse(text).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].point.messages_per_s, found[0].name.as_str()), (100.0, "netperf TCP_STREAM, receiving"));
        let trips = "Throughput,Throughput Units,Request Size Bytes,Protocol\n59092.65,Trans/s,1,UDP\n";
        let trips = parse(trips).unwrap();
        assert_eq!((trips[0].point.messages_per_s, trips[0].name.as_str()), (59_092.65, "netperf UDP_RR"));
    }

    #[test]
    fn what_is_missing_is_named_with_its_remedy() {
        refused("", &["THROUGHPUT is missing", "-k THROUGHPUT"]);
        refused("Recv   Send    Send\nSocket Socket  Message\n87380  16384  16384  10.00  9000\n", &["THROUGHPUT is missing"]);
        refused(&KEYS.replace("LOCAL_SEND_SIZE", "X"), &["LOCAL_SEND_SIZE is missing", "-k"]);
        refused(&KEYS.replace("10^6bits/s", "furlongs"), &["THROUGHPUT_UNITS"]);
        refused(&KEYS.replace("800.00", "-1"), &["THROUGHPUT is missing or no figure above 0"]);
        refused(&KEYS.replace("=1000", "=1e300"), &["LOCAL_SEND_SIZE"]);
        refused(&KEYS[..150], &["LOCAL_SEND_SIZE is missing"]);
        refused(&KEYS.repeat(2_001), &["500 results"]);
    }

    proptest! {
        #[test]
        fn any_figures_are_read_or_refused(text in "((THROUGHPUT|THROUGHPUT_UNITS|LOCAL_SEND_SIZE|PROTOCOL)=[-0-9.a-zA-Z^/]{0,12}\\n){0,8}") {
            for found in parse(&text).into_iter().flatten() {
                prop_assert!(found.point.messages_per_s > 0.0 && found.point.messages_per_s.is_finite() && found.point.bytes >= 1);
            }
        }
    }
}
