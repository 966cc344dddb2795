//! netperf's omni output: `-- -k` (a line `NAME=value` for each figure) or
//! `-- -o` (a line of names and a line of values).

use std::collections::BTreeMap;

use super::{MOST_BYTES, MOST_MESSAGE, MOST_RESULTS, PeerResult, ReadError, agree, every, shortened};
use crate::sweep::SizePoint;

const TOOL: &str = "netperf";

/// The request to netperf.
const REMEDY: &str = "ask for it: netperf ... -- -m SIZE -k THROUGHPUT,THROUGHPUT_UNITS,PROTOCOL,DIRECTION,LOCAL_SEND_SIZE,REMOTE_SEND_SIZE,REQUEST_SIZE,REMOTE_RECV_THROUGHPUT";

/// Where the banner of a test is kept: no key of netperf's has a blank.
const BANNER: &str = " banner";

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
    let mut tests = key_values(text);
    if tests.is_empty() {
        tests = csv(text);
    }
    if tests.is_empty() {
        return Err(ReadError::MissingKey { tool: TOOL, key: "THROUGHPUT".to_owned(), remedy: REMEDY });
    }
    if tests.len() > MOST_RESULTS {
        return Err(ReadError::TooMany("500 results"));
    }
    every(tests.iter().map(result), Vec::new())
}

/// The line that netperf prints above a test.
fn banner(line: &str) -> Option<&str> {
    line.contains(" TEST from ").then_some(line.trim())
}

/// Tests in `-k` form; a name that comes again begins the next one, as does a banner.
fn key_values(text: &str) -> Vec<Figures> {
    let mut tests: Vec<Figures> = Vec::new();
    let mut above = None;
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    for line in text.lines() {
        if let Some(found) = banner(line) {
            above = Some(found);
            continue;
        }
        let Some((name, value)) = line.split_once('=').filter(|(name, _)| is_name(name)) else { continue };
        let begins = above.is_some() || tests.last().is_none_or(|last| last.contains_key(name));
        if begins {
            tests.push(above.take().map(|found| (BANNER.to_owned(), found.to_owned())).into_iter().collect());
        }
        if let Some(last) = tests.last_mut() {
            last.insert(name.to_owned(), value.trim().to_owned());
        }
    }
    tests
}

/// Tests in `-o` form: after a line of names, every line of as many fields.
fn csv(text: &str) -> Vec<Figures> {
    let (mut names, mut above): (Vec<String>, _) = (Vec::new(), None);
    let mut tests = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if let Some(found) = banner(line) {
            above = Some(found);
        } else if fields.contains(&"Throughput") {
            names = fields.iter().map(|field| variable(field)).collect();
        } else if !names.is_empty() && fields.len() == names.len() {
            let figures = names.iter().cloned().zip(fields.into_iter().map(str::to_owned));
            tests.push(figures.chain(above.map(|found| (BANNER.to_owned(), found.to_owned()))).collect());
        }
    }
    tests
}

/// `Local Send Size` is the heading of LOCAL_SEND_SIZE; units of a heading are left out.
fn variable(heading: &str) -> String {
    let words = heading.split_whitespace().filter(|word| !word.starts_with('(') && !matches!(*word, "Bytes" | "Tran/s"));
    words.map(str::to_ascii_uppercase).collect::<Vec<_>>().join("_")
}

/// What a test exchanged, as far as the output says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stream,
    Requests,
    /// A connection for each request.
    ConnectRequests,
    /// Connections alone.
    Connections,
    /// Transactions, of which nothing says whether each had a connection.
    Transactions,
}

impl Kind {
    fn of(figures: &Figures) -> Self {
        let text = |name: &str| figures.get(name).map_or(String::new(), |text| text.to_ascii_lowercase());
        let (banner, direction) = (text(BANNER), text("DIRECTION"));
        let is = |in_banner: &str, as_direction: &str| banner.contains(in_banner) || direction == as_direction;
        if is("connect/request/response test", "connect|send|recv") {
            Self::ConnectRequests
        } else if is("connect/close test", "connection") {
            Self::Connections
        } else if is(" request/response test", "send|recv") {
            Self::Requests
        } else if !text("THROUGHPUT_UNITS").starts_with("trans") {
            Self::Stream
        } else if text("PROTOCOL") == "udp" {
            Self::Requests
        } else {
            Self::Transactions
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Stream => "STREAM",
            Self::Requests => "RR",
            Self::ConnectRequests => "CRR",
            Self::Connections => "CC",
            Self::Transactions => "RR or CRR",
        }
    }
}

/// Figures that change what is measured, with the values that change nothing.
const SETTINGS: &[(&str, &[&str], &str)] = &[
    ("BURST_SIZE", &["0", "-1"], "burst of"),
    ("LOCAL_NODELAY", &["0", "-1"], "no delay"),
    ("LOCAL_CORK", &["0", "-1"], "cork"),
    ("LOCAL_CONG_CONTROL", &[], ""),
    ("LSS_SIZE_REQ", &["0", "-1"], "send buffer of"),
    ("RSR_SIZE_REQ", &["0", "-1"], "receive buffer of"),
    ("LOCAL_INTERVAL_USECS", &["0", "-1"], "paced, interval in µs:"),
    ("LOCAL_SOCKET_TOS", &["0", "0x0", "-1"], "type of service"),
];

/// What a banner says behind its addresses that changes nothing of what is measured.
const HARMLESS: &[&str] = &["demo", "histogram", "interval", "spin interval", "first burst 0", "no control"];

/// Whatever changes what was measured is part of the name: tests of one name are taken
/// for repetitions.
fn name(figures: &Figures, kind: Kind, receives: bool) -> String {
    let text = |name: &str| figures.get(name).map(String::as_str).filter(|text| !text.is_empty());
    let protocol = text("PROTOCOL").map_or_else(|| "?".to_owned(), shortened);
    let mut parts = vec![format!("netperf {protocol}_{}", kind.word())];
    parts.extend(receives.then(|| "receiving".to_owned()));
    if let (true, Some(answer)) = (kind != Kind::Stream, text("RESPONSE_SIZE").filter(|answer| Some(*answer) != text("REQUEST_SIZE"))) {
        parts.push(format!("answers of {} B", shortened(answer)));
    }
    let set = SETTINGS.iter().filter_map(|(name, plain, words)| Some((words, text(name).filter(|value| !plain.contains(value))?)));
    parts.extend(set.map(|(words, value)| shortened(format!("{words} {value}").trim())));
    let banner = text(BANNER).unwrap_or_default();
    parts.extend(banner.contains("AF_INET6").then(|| "IPv6".to_owned()));
    // Addresses in IPv6 have colons, too, but no blanks around them.
    let further = banner.split(" : ").skip(1).map(str::trim).filter(|word| !HARMLESS.contains(word) && !word.starts_with("+/-"));
    parts.extend(further.filter(|word| !(*word == "nodelay" && text("LOCAL_NODELAY").is_some())).map(shortened));
    parts.join(", ")
}

/// What contradicts itself: the same figure by two keys.
fn faults(figures: &Figures, own: f64, received: Option<f64>, per_message: f64, kind: Kind, receives: bool) -> Vec<String> {
    let known = |name: &str| figure(figures, name).ok();
    let mut faults = Vec::new();
    let mut differ = |key: &str, one: f64, other: Option<f64>, of: &str| {
        if let Some(other) = other.filter(|other| !agree(*other, one)) {
            faults.push(format!(
                "netperf contradicts itself: {key} is {one:.0} messages per second, and {of} is {other:.0}; {key} counts here"
            ));
        }
    };
    let seconds = known("ELAPSED_TIME");
    let bytes = |name: &str| Some(known(name)? / seconds?);
    match kind {
        Kind::Stream => {
            // Sizes in bytes a message: the rate of messages from bytes is by the size.
            let size = known(if receives { "REMOTE_SEND_SIZE" } else { "LOCAL_SEND_SIZE" });
            let rate = |name: &str| Some(bytes(name)? / size?);
            differ("THROUGHPUT", own, rate(if receives { "LOCAL_BYTES_RECVD" } else { "LOCAL_BYTES_SENT" }), "that of bytes over time");
            if let Some(received) = received {
                differ("REMOTE_RECV_THROUGHPUT", received, rate("REMOTE_BYTES_RECVD"), "that of bytes over time");
            }
        }
        _ if per_message == 1.0 => differ("THROUGHPUT", own, known("TRANSACTION_RATE"), "TRANSACTION_RATE"),
        _ => {}
    }
    if received.is_some_and(|received| received > own && !agree(received, own)) {
        faults.push("netperf counts more at the receiver than at the sender: its two ends measured different times".to_owned());
    }
    faults
}

fn result(figures: &Figures) -> Result<PeerResult, ReadError> {
    let text = |name: &str| figures.get(name).map_or("", String::as_str);
    let units = text("THROUGHPUT_UNITS");
    let (transactions, kind) = (units.starts_with("Trans"), Kind::of(figures));
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
    if kind == Kind::Transactions {
        remarks.push("nothing says whether netperf made a connection for each request; ask for DIRECTION as well".to_owned());
    }
    let faults = faults(figures, own, received, per_message, kind, receives);
    Ok(PeerResult { name: name(figures, kind, receives), transactions, point, remarks, faults })
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

    const REQUESTS: &str = "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to h () port 0 AF_INET : demo : first burst 0\n\
        THROUGHPUT=50000.00\nTHROUGHPUT_UNITS=Trans/s\nPROTOCOL=TCP\nREQUEST_SIZE=1\nRESPONSE_SIZE=1\n";

    #[test]
    fn unlike_tests_have_unlike_names() {
        let connects = REQUESTS.replace("REQUEST/RESPONSE", "Connect/Request/Response").replace("50000", "8000");
        let found = parse(&format!("{REQUESTS}{connects}")).unwrap();
        assert_eq!(found.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["netperf TCP_RR", "netperf TCP_CRR"]);
        assert_eq!(crate::read::peer_series(found).0.len(), 2);
        let name = |from: &str, to: &str| parse(&REQUESTS.replace(from, to)).unwrap().remove(0).name;
        assert_eq!(name("first burst 0", "nodelay : first burst 16 : cpu bind"), "netperf TCP_RR, nodelay, first burst 16, cpu bind");
        assert_eq!(name("RESPONSE_SIZE=1", "RESPONSE_SIZE=1000"), "netperf TCP_RR, answers of 1000 B");
        assert_eq!(
            name("RESPONSE_SIZE=1", "LSS_SIZE_REQ=4096\nBURST_SIZE=0\nLOCAL_CONG_CONTROL=bbr"),
            "netperf TCP_RR, bbr, send buffer of 4096"
        );
        assert_eq!(name("AF_INET ", "AF_INET6 "), "netperf TCP_RR, IPv6");
        // The banner of `-t omni` does not say it.
        assert_eq!(name("MIGRATED TCP REQUEST/RESPONSE", "OMNI"), "netperf TCP_RR or CRR");
        let omni = REQUESTS.replace("MIGRATED TCP REQUEST/RESPONSE", "OMNI");
        for (direction, kind) in [("Send|Recv", "RR"), ("Connect|Send|Recv", "CRR"), ("Connection", "CC")] {
            assert_eq!(parse(&format!("{omni}DIRECTION={direction}\n")).unwrap()[0].name, format!("netperf TCP_{kind}"));
        }
        let far = parse(&format!("{REQUESTS}{}", REQUESTS.replace("50000", "8000"))).unwrap();
        assert!(crate::read::peer_series(far).1[0].contains("lie between 8000 and 50000"));
    }

    #[test]
    fn a_contradiction_is_said() {
        let said = |further: &str| parse(&format!("{KEYS}{further}\n")).unwrap()[0].faults.join("; ");
        assert_eq!(said("LOCAL_BYTES_SENT=1000000000"), "");
        assert!(
            said("LOCAL_BYTES_SENT=500000000").contains("THROUGHPUT is 100000 messages per second, and that of bytes over time is 50000")
        );
        assert!(said("REMOTE_BYTES_RECVD=500000000").contains("REMOTE_RECV_THROUGHPUT is 99000"));
        let rates = parse(&format!("{REQUESTS}TRANSACTION_RATE=40000\n")).unwrap();
        assert!(rates[0].faults[0].contains("TRANSACTION_RATE is 40000"));
        let more = parse(&KEYS.replace("792.00", "900.00")).unwrap();
        assert!(more[0].faults[0].contains("more at the receiver than at the sender"));
    }

    #[test]
    fn a_test_that_lacks_a_figure_is_left_out_where_there_are_others() {
        let found = parse(&format!("{KEYS}{}", KEYS.replace("LOCAL_SEND_SIZE", "X"))).unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].faults[0].contains("result 2 of 2 was left out: netperf's LOCAL_SEND_SIZE is missing"));
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
