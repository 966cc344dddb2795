//! A server of a few lines, observed: what the tool counts against what the clients know.

pub mod advice;
pub mod bursts;
pub mod hostile;
pub mod offloads;
pub mod server;
pub mod sizes;

use std::process::Command;

use serde_json::Value;

use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, processes};
use server::{Kind, Load, Server};

crate::claims!(
    a_servers_requests_sizes_and_exchanges_are_told,
    what_is_stored_is_told_again_by_other_commands,
    two_states_of_a_program_are_compared,
    a_command_is_started_observed_and_ended,
    children_that_come_and_go_are_followed,
    requests_by_a_log_need_no_counter,
    what_cannot_be_observed_is_refused_in_words,
);

/// Observes a server and returns what the tool says, or why this machine does not allow it.
pub fn observe(tool: &Tool, arguments: &[&str]) -> Result<Answer, Skip> {
    let answer = tool.run(&[&["attach"], arguments].concat());
    let refused = |word: &str| answer.stderr.contains(word) || answer.stdout.contains(word);
    if answer.code == Some(1) && refused("socket tracepoints") {
        return Err(Skip(answer.stderr.lines().next().unwrap_or_default().to_owned()));
    }
    Ok(answer)
}

fn figure(state: &Value, name: &str) -> f64 {
    let found = state["per_request"].as_array().unwrap().iter().find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {state}"))["figure"]["value"].as_f64().unwrap()
}

fn a_servers_requests_sizes_and_exchanges_are_told() -> Result<(), Skip> {
    let server = Server::start(Kind::Pieces);
    let load = Load::start(&server, 2);
    let tool = Tool::new();
    let answer = observe(&tool, &["--pid", &server.pid(), "-t", "1.2", "--window", "100ms", "-J", "--workload", "mix.csv"])?.done();
    drop(load);
    let mix = std::fs::read_to_string(tool.path().join("mix.csv")).unwrap();
    assert_eq!(mix, "message_bytes,cumulative_fraction\n25,1\n");
    let found = answer.json();
    let state = &found["states"][0];
    // Each answer is four pieces of 25 bytes, so a send is a quarter of an exchange.
    assert!((figure(state, "bytes given") - 25.0).abs() < 0.01, "{state}");
    assert!((figure(state, "bytes taken") - 9.0).abs() < 0.2, "{state}");
    let exchange = &state["patterns"][0];
    assert_eq!(
        (&exchange["received"], &exchange["sends"], &exchange["call"]),
        (&36.into(), &serde_json::json!([25, 25, 25, 25]), &"sendto".into())
    );
    let call = |name: &str| {
        state["calls"].as_array().unwrap().iter().find(|call| call["call"] == name).unwrap_or_else(|| panic!("{name}: {state}"))
    };
    assert_eq!((&call("sendto")["sizes"][0][0], &call("recvfrom")["sizes"][0][0]), (&25.into(), &36.into()));
    assert!((call("sendto")["per_request"]["value"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(call("recvfrom")["short"], 1.0, "it asks for more than comes");
    let sockets = &state["sockets"]["count"];
    assert!(sockets["tcp established"].as_u64().unwrap() >= 2, "{state}");
    if let Some(receipt) = state["outcome"]["made"].as_object() {
        assert!(receipt["cpu"]["value"].as_f64().unwrap() > 500.0 && !receipt.contains_key("role"));
        let shares: f64 = state["work"].as_array().unwrap().iter().map(|row| row["share"]["value"].as_f64().unwrap()).sum();
        let rows: f64 = receipt["layers"].as_array().unwrap().iter().map(|row| row["share"]["value"].as_f64().unwrap()).sum();
        assert!((shares - rows).abs() < 1e-6, "{shares} {rows}");
        let functions: f64 = state["own_code"].as_array().unwrap().iter().map(|row| row["share"]["value"].as_f64().unwrap()).sum();
        let own = state["work"].as_array().unwrap().iter().find(|row| row["work"] == "own code");
        let own = own.map_or(0.0, |row| row["share"]["value"].as_f64().unwrap());
        assert!((functions - own).abs() < 1e-6, "own code by function is the whole: {functions} {own}");
    }
    Ok(())
}

fn what_is_stored_is_told_again_by_other_commands() -> Result<(), Skip> {
    let server = Server::start(Kind::Echo);
    let load = Load::start(&server, 1);
    let tool = Tool::new();
    let pid = server.pid();
    let first = observe(&tool, &["--pid", &pid, "-t", "0.8", "--window", "100ms"])?.done();
    first.says("A request costs ");
    let advise = first.stdout.lines().find_map(|line| line.strip_prefix("What to change, and what that saves: nettoll advise "));
    assert!(advise.is_some_and(|run| run.starts_with("runs/") && tool.path().join(run).is_dir()), "{}", first.stdout);
    observe(&tool, &["--pid", &pid, "-t", "0.8", "--window", "100ms", "--seed", "2", "--csv"])?.done().says("format,run,program,arm");
    drop(load);
    let shown = tool.run(&["show"]).done();
    assert_eq!(shown.stdout.matches("-attach-").count(), 2, "{}", shown.stdout);
    let json = |arguments: &[&str]| tool.run(arguments).done().json();
    assert_eq!(json(&["show", "latest", "-J"]), json(&["report", "latest", "-J"]));
    let stored = |name: &str| std::fs::read_to_string(tool.stored().path().join(name)).unwrap();
    let page = stored("report.html");
    assert!(page.contains("Network cost of"));
    assert!(!stored("attach.json").contains("\"arguments\""), "they may hold secrets");
    let compared = tool.run(&["compare", "@-2", "@-1", "-J"]);
    if compared.code == Some(2) {
        // Without samples there is no receipt to compare.
        compared.refused_in_json(2, &["no receipt"]);
    } else {
        assert_eq!(compared.code, Some(4), "one run each: {compared:?}");
        assert!(
            page.contains("One request</text>") && page.contains("CPU time of a request: received, then sent"),
            "a picture of the layers"
        );
        assert!(compared.stderr.contains("inconclusive: "), "{compared:?}");
        let found = compared.json();
        assert!(found["layers"]["cpu"]["difference"]["value"].is_number());
        assert!(["worse", "better", "equivalent", "inconclusive"].iter().any(|word| found["verdict"] == *word), "{found}");
        let judged = tool.run(&["compare", "@-2", "@-1", "--trust-single-runs", "-J"]);
        let code = match judged.json()["verdict"].as_str().unwrap() {
            "worse" => 3,
            "inconclusive" => 4,
            _ => 0,
        };
        assert_eq!(judged.code, Some(code), "{judged:?}");
    }
    tool.run(&["report", "latest", "--markdown"]).refused(2, &["attached run"]);
    // Commands on runs of studies know that it is none.
    let exported = tool.run(&["export"]).done();
    assert!(exported.stdout.is_empty() && exported.stderr.is_empty(), "{exported:?}");
    tool.run(&["export", "latest"]).refused(1, &["it is an attached run"]);
    let history = tool.run(&["history"]);
    assert!(history.code == Some(1) && !history.stderr.contains("cannot be read"), "{history:?}");
    Ok(())
}

fn two_states_of_a_program_are_compared() -> Result<(), Skip> {
    let server = Server::start(Kind::Switched);
    let load = Load::start(&server, 1);
    let tool = Tool::new();
    let signal = |name: &str| format!("kill -{name} {}", server.pid());
    let arguments =
        ["--pid", &server.pid(), "-t", "2.4", "--window", "100ms", "--switch-a", &signal("USR1"), "--switch-b", &signal("USR2"), "-J"];
    let found = observe(&tool, &arguments)?.done().json();
    drop(load);
    let sends = |place: usize| figure(&found["states"][place], "bytes given");
    assert_eq!((sends(0).round(), sends(1).round()), (100.0, 25.0), "an answer in one piece, and in four");
    assert_eq!(found["run"]["arms"], serde_json::json!(["a", "b"]));
    Ok(())
}

fn a_command_is_started_observed_and_ended() -> Result<(), Skip> {
    let tool = Tool::new();
    let answer = observe(&tool, &["-t", "0.4", "--window", "100ms", "-J", "--requests", "command:echo 5", "--", "sleep", "600"])?.done();
    let found = answer.json();
    assert_eq!(found["run"]["program"], "sleep");
    assert!(found["states"][0]["outcome"]["absent"]["reason"].as_str().unwrap().contains("counted no request"));
    assert!(found["run"].get("arguments").is_none(), "they may hold secrets");
    assert!(processes::of(&tool).is_empty(), "the command is to end with its observation");
    Ok(())
}

fn children_that_come_and_go_are_followed() -> Result<(), Skip> {
    let server = Server::start(Kind::Forking);
    let load = Load::start_connecting(&server);
    let tool = Tool::new();
    let answer = observe(&tool, &["--pid", &server.pid(), "-t", "1.2", "--window", "100ms", "-J"])?.done();
    let connections = load.stop();
    if answer.stdout.contains("process ids of its own namespace") {
        let state = &answer.json()["states"][0];
        assert!(state["outcome"]["absent"]["reason"].as_str().unwrap().contains("another source"), "{state}");
        assert_eq!((state["per_request"].as_array().map(Vec::len), state.get("rate")), (Some(0), None));
        return Err(Skip("in a process id namespace of its own, children cannot be told by the kernel's ids".to_owned()));
    }
    let state = &answer.json()["states"][0];
    // Each connection is a child, whose one answer has a hundred bytes.
    assert!(connections > 20, "{connections}");
    assert!((figure(state, "bytes given") - 100.0).abs() < 1.0, "{state}");
    assert!((figure(state, "bytes taken") - 36.0).abs() < 2.0, "{state}");
    Ok(())
}

fn requests_by_a_log_need_no_counter() -> Result<(), Skip> {
    let server = Server::start(Kind::Echo);
    let load = Load::start(&server, 1);
    let tool = Tool::new();
    tool.write("log", "");
    let path = tool.path().join("log");
    let mut writer =
        Command::new("sh").args(["-c", "while sleep 0.01; do echo line >> \"$0\"; done", &path.to_string_lossy()]).spawn().unwrap();
    let answer =
        observe(&tool, &["--pid", &server.pid(), "-t", "0.8", "--window", "100ms", "-J", "--requests", &format!("log:{}", path.display())]);
    writer.kill().unwrap();
    writer.wait().unwrap();
    drop(load);
    let state = &answer?.done().json()["states"][0];
    let rate = state["rate"]["value"].as_f64().unwrap();
    assert!((20.0..=110.0).contains(&rate), "{rate}");
    Ok(())
}

fn what_cannot_be_observed_is_refused_in_words() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.run(&["attach", "--pid", "4000000"]).refused(1, &["there is no process 4000000", "pidof"]);
    tool.run(&["attach", "--pid", "4000000", "-J"]).refused_in_json(1, &["there is no process"]);
    tool.run(&["attach", "--unit", "no-such-unit"]).refused(1, &["no cgroup belongs to a unit no-such-unit"]);
    tool.run(&["attach", "--cgroup", "/no/such"]).refused(1, &["no cgroup of version 2"]);
    tool.run(&["attach"]).refused(2, &["--pid"]);
    tool.run(&["attach", "--pid", "1", "--requests", "redis:6379"]).refused(2, &["HOST:PORT"]);
    tool.run(&["attach", "--pid", "1", "--window", "1ms"]).refused(2, &["--window"]);
    tool.run(&["attach", "-t", "1", "--", "/no/such/program"]).refused(1, &["cannot start /no/such/program", "No such file"]);
    let own = std::process::id().to_string();
    tool.run(&["attach", "--pid", &own, "-t", "1", "--requests", "redis:127.0.0.1:1"])
        .refused(1, &["cannot count requests by redis:127.0.0.1:1"]);
    let ended = tool.run(&["attach", "-t", "2", "--window", "100ms", "--requests", "command:echo 1", "--", "true"]);
    ended.refused(1, &["ended"]);
    Ok(())
}
