//! One trial, `nettoll -c HOST`, to an agent over a router.

use serde_json::Value;

use super::support::{Agent, B, B_V6, Net, private, secret};
use crate::support::Skip;
use crate::support::tool::Tool;

crate::claims!(every_kind_of_trial, failures_are_json_as_well);

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {value:#}"))
}

fn every_kind_of_trial() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    let agent = Agent::start(&net.b, &tool, &secret);
    let measured = "/nettoll/trial/outcome/measured";
    let forth = ("sender/total", "receiver/total");
    let back = ("receiver/back/total", "sender/back/total");
    let kinds: &[(&str, &[(&str, &str)])] = &[
        ("", &[forth]),
        ("-u -b 5M", &[forth]),
        ("-R", &[forth]),
        ("-P 2", &[forth]),
        ("--bidir", &[forth, back]),
        ("-6", &[forth]),
        ("--test TCP_CRR", &[]),
    ];
    for (flags, ways) in kinds {
        let host = if *flags == "-6" { B_V6 } else { B };
        let words: Vec<&str> = flags.split_whitespace().collect();
        let arguments = [&["-c", host, "-t", "0.2", "-i", "0", "-J"][..], &words, &secret].concat();
        let value = net.a.run(&tool, &arguments).done().json();
        assert_eq!(value.get("error"), None, "{flags}: {value:#}");
        for (sent, received) in *ways {
            for unit in ["bytes", "messages"] {
                let of = |end: &str| number(&value, &format!("{measured}/{end}/{unit}"));
                assert!(of(sent) > 0.0, "{flags}");
                assert_eq!(of(sent), of(received), "{flags}");
            }
        }
        match *flags {
            "-u -b 5M" => assert_eq!(number(&value, "/end/sum/lost_packets"), 0.0),
            "-R" => assert_eq!(number(&value, "/start/test_start/reverse"), 1.0),
            "-P 2" => assert_eq!(value["end"]["streams"].as_array().map(Vec::len), Some(2)),
            "--test TCP_CRR" => {
                let count = number(&value, &format!("{measured}/sender/counts/messages"));
                assert!(count > 0.0 && number(&value, "/nettoll/figures/latency/count") == count);
            }
            _ => {}
        }
    }
    agent.end();
    net.nothing_left(&[&tool]);
    Ok(())
}

fn failures_are_json_as_well() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    private(&tool, "other", "another secret of some length\n");
    let fails = |arguments: &[&str], words: &[&str]| {
        let answer = net.a.run(&tool, &[&["-c", B, "-t", "0.1", "-J"], arguments].concat());
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(1), ""), "{answer:#?}");
        let value = answer.json();
        let error = value["error"].as_str().unwrap();
        for word in words {
            assert!(error.contains(word), "'{word}' is missing: {error}");
        }
        assert_eq!(value["nettoll"]["error"]["kind"], "failed");
        assert_eq!(value["intervals"], serde_json::json!([]));
    };
    fails(&secret, &["no agent at 203.0.113.1", "Connection refused", "is `nettoll agent` running there"]);
    let agent = Agent::start(&net.b, &tool, &secret);
    fails(&["--secret-file", "other"], &["the agent refused", "secret"]);
    fails(&[], &["the agent asks for its secret", "--secret-file FILE"]);
    agent.end();
    net.nothing_left(&[&tool]);
    Ok(())
}
