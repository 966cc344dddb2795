//! The link is the one asked for, or it is said that it is not.

use crate::conservation::findings;
use crate::support::tool::Tool;
use crate::support::{Skip, need_programs, need_root};

crate::claims!(
    the_mtu_is_as_asked_and_recorded,
    an_offload_that_is_turned_off_is_recorded_as_off,
    loopback_can_be_asked_for,
    where_namespaces_are_refused_loopback_is_used_and_said,
    nobody_needs_no_privilege_for_a_whole_study,
);

const PLAN: &str = r#"
name = "link"
trial = { length = "30ms", warmup = "5ms" }
blocks = { least = 2, most = 2 }
[[cells]]
test = ["TCP_STREAM", "UDP_STREAM", "UDP_RR"]
size = [1, 4000]
nodelay = true
"#;

fn the_mtu_is_as_asked_and_recorded() -> Result<(), Skip> {
    for (mtu, fragments) in [("9000", false), ("1280", true)] {
        let tool = Tool::new();
        let answer = tool.study(PLAN, &["--mtu", mtu, "-v"]).done();
        answer.says(&format!("MTU {},{}", &mtu[..1], &mtu[1..]));
        let stored = tool.stored();
        for host in ["a", "b"] {
            assert_eq!(stored.host(host)["device"]["mtu"], mtu);
        }
        for (record, measured) in stored.all_measured() {
            match measured.sender.tcp {
                Some(tcp) => assert_eq!(tcp.pmtu.to_string(), mtu, "{}", record.cell),
                None if record.cell.size.get() == 4_000 => {
                    assert_eq!(measured.sender_host.ip.frag_creates > 0, fragments, "{}: {:?}", record.cell, measured.sender_host.ip);
                }
                None => {}
            }
        }
    }
    Ok(())
}

fn an_offload_that_is_turned_off_is_recorded_as_off() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.study(PLAN, &["--offload", "tx=off,gro=on", "--test", "TCP_STREAM", "--size", "4000"]).done();
    for host in ["a", "b"] {
        let offloads = &tool.stored().host(host)["offloads"];
        assert_eq!(offloads["tx-checksum-ip-generic"], false, "{offloads:#}");
        // The kernel segments nothing whose checksum it cannot leave to the device.
        assert_eq!(offloads["tx-tcp-segmentation"], false, "{offloads:#}");
        assert_eq!(offloads["rx-gro"], true, "{offloads:#}");
    }
    tool.stored().all_measured();
    Ok(())
}

fn loopback_can_be_asked_for() -> Result<(), Skip> {
    let tool = Tool::new();
    let analysis = tool.study(PLAN, &["--link", "loopback", "-J"]).done().json();
    assert_eq!((&analysis["trials"], &analysis["failed"]), (&12.into(), &0.into()));
    assert!(!findings(&analysis).contains(&"no_link".to_owned()), "{:?}", findings(&analysis));
    let stored = tool.stored();
    assert_eq!(stored.host("a")["isolation"], "this machine");
    assert!(stored.all_measured().iter().all(|(_, measured)| !measured.isolated));
    Ok(())
}

fn where_namespaces_are_refused_loopback_is_used_and_said() -> Result<(), Skip> {
    need_programs(&["unshare"])?;
    let tool = Tool::new();
    tool.write("plan.toml", PLAN);
    // The limit holds in this user namespace and below it, nowhere else.
    let limit = "echo 0 > /proc/sys/user/max_net_namespaces";
    if tool.script(&["unshare", "-Ur"], limit).code != Some(0) {
        return Err(Skip("a user namespace with a limit of its own cannot be made here".to_owned()));
    }
    let study = |form: &str| tool.script(&["unshare", "-Ur"], &format!("{limit}; $NETTOLL study --plan plan.toml {form}"));
    let analysis = study("-J").done().json();
    assert_eq!((&analysis["trials"], &analysis["failed"]), (&12.into(), &0.into()));
    assert_eq!(findings(&analysis)[0], "no_link");
    let reason = analysis["findings"][0]["warning"]["reason"].as_str().unwrap();
    for words in ["unshare CLONE_NEWNET", "ENOSPC", "user.max_net_namespaces (now 0)"] {
        assert!(reason.contains(words), "{words} is missing: {reason}");
    }
    assert!(tool.stored().all_measured().iter().all(|(_, measured)| !measured.isolated));
    assert_eq!(tool.stored().host("b")["isolation"], "this machine");
    study("").done().says("link was crossed");
    Ok(())
}

fn nobody_needs_no_privilege_for_a_whole_study() -> Result<(), Skip> {
    need_root()?;
    let tool = Tool::of_nobody();
    let analysis = tool.study(PLAN, &["-J", "--mtu", "9000"]).done().json();
    if findings(&analysis).contains(&"no_link".to_owned()) {
        return Err(Skip(format!("user namespaces are refused here: {}", analysis["findings"][0]["text"])));
    }
    assert_eq!((&analysis["trials"], &analysis["failed"]), (&12.into(), &0.into()));
    assert_eq!(analysis["datagrams"]["unaccounted"], 0);
    let stored = tool.stored();
    for host in ["a", "b"] {
        let facts = stored.host(host);
        assert_eq!(facts["isolation"], "network namespace in a user namespace");
        assert_eq!(facts["device"]["mtu"], "9000");
    }
    assert!(stored.all_measured().iter().all(|(_, measured)| measured.isolated));
    assert!(stored.has("report.html"));
    Ok(())
}
