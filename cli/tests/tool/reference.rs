//! Published studies, and what is laid next to them.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

use model::run::Status;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::support::processes::{assert_nothing_left, traces};
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_programs, within};

crate::claims!(
    the_studies_are_listed,
    each_study_is_analysed_in_every_form,
    a_run_is_laid_next_to_each_study,
    tables_from_elsewhere_are_analysed,
    the_papers_are_ruled_in_every_form,
    stored_runs_of_today_are_ruled_next_to_the_papers,
    a_run_that_cannot_be_read_costs_no_other,
    parts_are_listed_before_they_are_measured,
    papers_that_are_killed_and_interrupted_go_on,
    other_tools_output_is_read,
    a_study_that_there_is_not_is_misuse,
    a_table_that_cannot_be_used_is_said,
    a_peers_output_that_cannot_be_used_is_said,
    a_peers_output_that_is_nearly_right_is_read_with_a_remark,
    the_list_has_its_styles_on_a_terminal,
);

const NAMES: [&str; 5] = ["cabrera1984", "jacobson1988", "kay1993", "kim1997", "bidulock2007"];

const HEAD: &str = "table,host,distribution,kernel,implementation,message_bytes,test_s,sent_messages,received_messages\n";

const IPERF3: &str = r#"{"start":{"test_start":{"protocol":"UDP","num_streams":1,"blksize":1024,"reverse":0,"target_bitrate":0}},
    "end":{"sum":{"seconds":1.0,"packets":171090,"lost_packets":95063}}}"#;

const NETPERF: &str = "THROUGHPUT=800.00\nTHROUGHPUT_UNITS=10^6bits/s\nPROTOCOL=UDP\nDIRECTION=Send\nLOCAL_SEND_SIZE=1024\n";

/// A published table as it stands in the repository.
fn published(name: &str) -> String {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../reference").join(name);
    std::fs::read_to_string(place).unwrap()
}

fn the_studies_are_listed() -> Result<(), Skip> {
    let tool = Tool::new();
    let text = tool.run(&["reference"]).done().stdout;
    let listed = tool.run(&["reference", "-J"]).done().json();
    for (name, study) in NAMES.iter().zip(listed.as_array().unwrap()) {
        assert!(text.contains(name));
        assert_eq!(study["name"], *name);
    }
    Ok(())
}

fn each_study_is_analysed_in_every_form() -> Result<(), Skip> {
    let tool = Tool::new();
    for name in NAMES {
        let text = tool.run(&["reference", name, "--html", "page.html"]).done();
        text.says("The paper concludes");
        assert!(text.stdout.ends_with("\nReport: page.html\n"));
        assert!(text.stdout.lines().all(|line| line.chars().count() <= 80));
        let json = tool.run(&["reference", name, "-J"]).done().json();
        assert_eq!(json["name"], name);
        assert!(json["statements"].as_array().unwrap().len() >= 7);
        let page = std::fs::read_to_string(tool.path().join("page.html")).unwrap();
        assert!(page.contains("Rule") && !page.contains("<script src"));
    }
    Ok(())
}

fn a_run_is_laid_next_to_each_study() -> Result<(), Skip> {
    let tool = Tool::new();
    let plan = r#"
        name = "beside"
        seed = 5
        trial = { length = "30ms", warmup = "3ms" }
        blocks = { least = 2, most = 2 }
        [[cells]]
        test = "UDP_STREAM"
        size = [1, 1024, 16384]
        [[cells]]
        test = "TCP_STREAM"
        size = 1460
        nodelay = true
        sndbuf = [8192, 16384, 65536]
    "#;
    tool.study(plan, &[]).done();
    let run = format!("runs/{}", tool.stored().id());
    let sizes = tool.run(&["reference", "bidulock2007", &run, "-J"]).done().json();
    let pairs = sizes["comparisons"][0]["pairs"].as_array().unwrap();
    let udp: Vec<_> = pairs.iter().filter(|pair| pair["candidate"] == "UDP_STREAM").collect();
    assert_eq!(udp.len(), 15);
    // On a busy machine a size may have received nothing.
    let cells = tool.run(&["report", &run, "-J"]).done().json();
    let received = cells["cells"].as_array().unwrap().iter().filter(|cell| cell["cell"]["test"] == "UDP_STREAM");
    let received = received.filter(|cell| cell["metrics"]["messages_per_s"]["value"].as_f64().is_some_and(|rate| rate > 0.0)).count();
    assert!(received > 0 && udp.iter().all(|pair| pair["sizes"].as_array().unwrap().len() == received), "{received}: {udp:?}");
    let buffers = tool.run(&["reference", "jacobson1988", "--run", &run, "-J"]).done().json();
    assert_eq!(buffers["comparisons"][0]["buffers"][0]["points"].as_array().unwrap().len(), 3);
    tool.run(&["reference", "cabrera1984", &run]).done().says(&format!("Next to it: {}", tool.stored().id()));
    tool.run(&["reference", "--run", &run]).done().says("UDP_STREAM");
    tool.run(&["reference", "bidulock2007", "runs/none"]).refused(1, &["runs/none"]);
    Ok(())
}

fn tables_from_elsewhere_are_analysed() -> Result<(), Skip> {
    let tool = Tool::new();
    for (file, part) in [
        ("bidulock2007/udp_loopback.csv", "series"),
        ("cabrera1984/unloaded.csv", "series"),
        ("cabrera1984/latency_ms_by_sender_load.csv", "loads"),
        ("cabrera1984/tcp_calls_by_routine.csv", "routines"),
        ("jacobson1988/tcp_socket_buffers.csv", "buffers"),
    ] {
        tool.write("table.csv", &published(file));
        let json = tool.run(&["reference", "--table", "table.csv", "-J"]).done().json();
        assert_eq!(json["name"], "table.csv");
        let held = &json[part];
        assert!(held.is_object() || !held.as_array().unwrap().is_empty(), "{file}");
        assert!(json["statements"].as_array().unwrap().is_empty());
    }
    tool.run(&["reference", "jacobson1988", "--table", "table.csv"]).done().says("Next to it: table.csv");
    Ok(())
}

fn the_papers_are_ruled_in_every_form() -> Result<(), Skip> {
    let tool = Tool::new();
    let text = tool.run(&["papers", "--then", "--html", "page.html"]).done();
    text.says("100 claims: 43 hold by their own tables, 17 do not, 28 cannot be decided, 12 need a table");
    assert!(text.stdout.lines().count() <= 25 && text.stdout.ends_with("\nReport: page.html\n"), "{}", text.stdout);
    let page = std::fs::read_to_string(tool.path().join("page.html")).unwrap();
    assert!(page.len() <= 1_500_000 && page.contains("Figure 17"));
    let chip = "pair,socket_buffer_packets,task_kbytes_per_s,wire_mbits_per_s\nIntel to LANCE,1,330,2.9\nIntel to LANCE,2,560,5.0\nIntel to LANCE,3,520,4.5\nIntel to LANCE,4,640,5.7\n";
    tool.write("chip.csv", chip);
    let json = tool.run(&["papers", "--then", "--only", "1988", "--table", "chip.csv", "-J"]).done().json();
    let claims = json["papers"][0]["statements"].as_array().unwrap();
    let notch = claims.iter().find(|claim| claim["id"] == "j88-08").unwrap();
    assert_eq!((json["papers"].as_array().unwrap().len(), notch["ruling"].as_str()), (1, Some("holds")), "{notch}");
    tool.run(&["papers", "--then", "--only", "1997", "--markdown"]).done().says("1997, Figure 6: cycles by layer");
    tool.run(&["papers", "--then", "--quick"]).refused(2, &["--then", "--quick"]);
    tool.run(&["papers", "--then", "--only", "1990"]).refused(2, &["1990", "1984, 1988, 1993, 1997, 2007"]);
    Ok(())
}

/// The path of a run that is stored in the repository.
fn stored(kind: &str) -> String {
    crate::stored_runs::data().join("runs").join(kind).to_string_lossy().into_owned()
}

fn stored_runs_of_today_are_ruled_next_to_the_papers() -> Result<(), Skip> {
    let tool = Tool::new();
    let runs: Vec<String> = ["host-load", "cabrera1984", "bidulock2007", "receipt"].map(stored).to_vec();
    let list = runs.join(",");
    let text = tool.run(&["papers", "--runs-from", &list, "--html", "page.html"]).done();
    text.says("then and now");
    text.says("Today: ");
    assert!(text.stdout.lines().count() <= 25, "{}", text.stdout);
    let json = tool.run(&["papers", "--runs-from", &list, "-J"]).done().json();
    let claims: Vec<&serde_json::Value> =
        json["papers"].as_array().unwrap().iter().flat_map(|paper| paper["statements"].as_array().unwrap()).collect();
    let standing = |id: &str| claims.iter().find(|claim| claim["id"] == id).unwrap()["today"]["standing"].as_str().unwrap();
    assert!(claims.len() == 100 && claims.iter().all(|claim| claim["today"]["found"].as_str().is_some_and(|found| !found.is_empty())));
    // What these runs measure is ruled or not shown; what they do not is said.
    for id in ["c84-07", "c84-16", "b07-16", "k93-07"] {
        assert_ne!(standing(id), "not_testable", "{id}");
    }
    assert_eq!([standing("c84-32"), standing("k93-01")], ["not_testable"; 2]);
    let page = std::fs::read_to_string(tool.path().join("page.html")).unwrap();
    for chart in ["f1984-4-log", "f1984-10-today", "f1993-1-tcp", "f1997-send"] {
        assert!(page.contains(&format!("id=\"chart-{chart}\"")), "{chart}");
    }
    for table in ["Today: times of a one-byte message", "Send and receive summed, by kind of work", "TCP by phase and layer"] {
        assert!(page.contains(table), "{table}");
    }
    // 1997 is of TCP: its picture has no bars of UDP's 64 B and 1,448 B.
    let layers = &page[page.find("<p class=\"table-title\">TCP by phase and layer").unwrap()..];
    let heads = &layers[..layers.find("</thead>").unwrap()];
    assert!(heads.contains("1,448") && !heads.contains(">64"), "{heads}");
    assert!(page.len() <= 1_500_000, "{}", page.len());
    tool.run(&["papers", "--runs-from", "runs/none"]).refused(1, &["runs/none"]);
    Ok(())
}

fn a_run_that_cannot_be_read_costs_no_other() -> Result<(), Skip> {
    let tool = Tool::new();
    for name in ["bad", "worse"] {
        std::fs::create_dir_all(tool.path().join("runs").join(name)).unwrap();
    }
    tool.write("runs/bad/run.json", "{");
    tool.write("runs/worse/exact.json", "[]");
    let list = ["runs/bad", "runs/worse", &stored("host-load")].join(",");
    let text = tool.run(&["papers", "--runs-from", &list, "--html", "page.html"]);
    assert_eq!(text.code, Some(1), "{text:#?}");
    for words in ["Today: 1 stored run", "Not read", "runs/bad/run.json", "runs/worse/exact.json", "Report: page.html"] {
        text.says(words);
    }
    assert!(std::fs::read_to_string(tool.path().join("page.html")).unwrap().contains("runs/worse/exact.json"));
    let json = tool.run(&["papers", "--runs-from", &list, "-J"]).json();
    assert_eq!((json["unread"].as_array().unwrap().len(), json["runs"].as_array().unwrap().len()), (2, 1));
    Ok(())
}

fn parts_are_listed_before_they_are_measured() -> Result<(), Skip> {
    let tool = Tool::new();
    let text = tool.run(&["papers", "--dry-run"]).done();
    assert!(text.stdout.lines().count() <= 12, "{}", text.stdout);
    for name in ["cabrera1984", "repetitions", "host-load", "link-load", "jacobson1988", "receipt", "W1", "microscope", "bidulock2007"] {
        text.says(name);
    }
    let parts = |words: &[&str]| {
        let value = tool.run(&[&["papers", "--dry-run", "-J"], words].concat()).done().json();
        value["parts"].as_array().unwrap().clone()
    };
    let sum = |parts: &[serde_json::Value]| parts.iter().map(|part| part["seconds"].as_f64().unwrap()).sum::<f64>();
    let (whole, quick) = (parts(&[]), parts(&["--quick"]));
    assert!(sum(&whole) <= 45.0 * 60.0 && sum(&quick) <= 10.0 * 60.0, "{} s, quick {} s", sum(&whole), sum(&quick));
    let of_1988 = parts(&["--only", "1988"]);
    assert_eq!(of_1988.iter().map(|part| part["name"].as_str().unwrap()).collect::<Vec<_>>(), ["jacobson1988", "buffers"]);
    assert!(!tool.path().join("runs").exists());
    tool.run(&["papers", "--dry-run", "--resume"]).refused(2, &["runs holds no part of `nettoll papers`", "--runs"]);
    std::fs::create_dir(tool.path().join("runs")).unwrap();
    tool.run(&["papers", "--dry-run", "--resume"]).refused(2, &["runs holds no part of `nettoll papers`", "--runs"]);
    Ok(())
}

/// The runs of parts by the names of their plans.
fn parts(tool: &Tool) -> Vec<(String, model::Run)> {
    let Ok(entries) = std::fs::read_dir(tool.path().join("runs")) else { return Vec::new() };
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.ok()?.path();
        let run: model::Run = serde_json::from_str(&std::fs::read_to_string(path.join("run.json")).ok()?).ok()?;
        Some((run.plan.name.clone(), run))
    };
    entries.filter_map(read).collect()
}

fn trials(tool: &Tool, name: &str) -> usize {
    let of = |(found, run): &(String, model::Run)| (found == name).then(|| tool.path().join("runs").join(&run.id).join("trials.jsonl"));
    let text = parts(tool).iter().find_map(of).and_then(|place| std::fs::read_to_string(place).ok());
    text.map_or(0, |text| text.lines().count())
}

fn papers_that_are_killed_and_interrupted_go_on() -> Result<(), Skip> {
    const FIRST: &str = "papers-jacobson1988";
    const SECOND: &str = "papers-buffers";
    let tool = Tool::new();
    let before = traces();
    let start = |words: &[&str]| {
        let mut command = tool.command(&[&["papers", "--only", "1988"], words].concat());
        command.process_group(0).spawn().unwrap()
    };
    let mut papers = start(&["--quick"]);
    within(Duration::from_secs(60), "some trials of the first part are stored", || trials(&tool, FIRST) >= 5);
    papers.kill().unwrap();
    papers.wait().unwrap();
    assert_nothing_left(&tool, &before);
    // It knows by itself that it was a quick one; the first part ends, the second is interrupted.
    let papers = start(&["--resume"]);
    within(Duration::from_secs(120), "some trials of the second part are stored", || trials(&tool, SECOND) >= 5);
    killpg(Pid::from_raw(papers.id().cast_signed()), Signal::SIGINT).unwrap();
    let answer = Answer::from(papers.wait_with_output().unwrap());
    assert_eq!(answer.code, Some(1), "{answer:#?}");
    assert!(answer.stderr.contains("going on after") && answer.stderr.contains("nettoll papers --resume runs"), "{answer:#?}");
    answer.says("Not measured");
    answer.says("buffers: interrupted");
    assert!(tool.path().join("runs/papers.html").exists());
    let of = |name: &str| parts(&tool).into_iter().find(|(found, _)| found == name).unwrap().1;
    assert_eq!((of(FIRST).status, of(SECOND).status), (Status::BlocksDone, Status::Interrupted));
    // The rest is measured, and what is there is not measured again.
    let (whole, half) = (trials(&tool, FIRST), trials(&tool, SECOND));
    let value = tool.run(&["papers", "--only", "1988", "--resume", "runs", "-J"]).done().json();
    assert_eq!((trials(&tool, FIRST), parts(&tool).len()), (whole, 2));
    assert!(trials(&tool, SECOND) > half && of(SECOND).status == Status::BlocksDone);
    let listed = value["parts"].as_array().unwrap();
    assert!(listed.iter().all(|part| part["run"].is_string() && part["lacks"].is_null()), "{listed:?}");
    let claims = value["papers"][0]["statements"].as_array().unwrap();
    let ruled = claims.iter().filter(|claim| claim["today"]["standing"] != "not_testable").count();
    assert!(ruled >= 2, "{claims:?}");
    Ok(())
}

fn other_tools_output_is_read() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.write("a.json", IPERF3);
    tool.write("b.json", &IPERF3.replace("1024", "512"));
    tool.write("n.txt", NETPERF);
    let json = tool.run(&["reference", "bidulock2007", "--iperf3", "a.json", "b.json", "--netperf", "n.txt", "-J"]).done().json();
    let comparisons = json["comparisons"].as_array().unwrap();
    assert_eq!(comparisons.len(), 2);
    let sizes = comparisons[0]["series"][0]["sizes"].as_array().unwrap();
    let rates: Vec<_> =
        sizes.iter().map(|size| (size["message_bytes"].as_u64().unwrap(), size["messages_per_s"].as_f64().unwrap())).collect();
    assert_eq!(rates, [(512, 76_027.0), (1024, 76_027.0)]);
    assert_eq!(comparisons[1]["series"][0]["sizes"][0]["messages_per_s"].as_f64().unwrap(), 97_656.25);
    assert!(comparisons[1]["remarks"][0].as_str().unwrap().contains("REMOTE_RECV_THROUGHPUT"));
    tool.run(&["reference", "--iperf3", "a.json", "b.json"]).done().says("iperf3 UDP");
    Ok(())
}

fn a_peers_output_that_is_nearly_right_is_read_with_a_remark() -> Result<(), Skip> {
    let tool = Tool::new();
    let received = r#""sum_received":{"seconds":1.0,"bytes":52428800,"packets":171090,"lost_packets":95063}}}"#;
    let contradicts = IPERF3.replace(r#""lost_packets":95063}}}"#, &format!(r#""lost_packets":95063}},{received}"#));
    let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(IPERF3.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    std::fs::write(tool.path().join("wide.json"), wide).unwrap();
    tool.write(
        "two.json",
        &format!("warning: x\n{IPERF3}\n{}\n", IPERF3.replace("1024", "512").replace(r#""reverse":0"#, r#""rtt":-nan"#)),
    );
    tool.write("odd.json", &contradicts);
    tool.write("rate.json", &IPERF3.replace(r#""target_bitrate":0"#, r#""target_bitrate":1000000"#));
    let json = tool.run(&["reference", "--iperf3", "wide.json", "two.json", "odd.json", "rate.json", "-J"]).done().json();
    let remarks = json["remarks"].to_string();
    for words in [
        "wide.json: the file begins with the mark of UTF-16LE",
        "two.json: a line of the file is no JSON",
        "two.json: a value of the file is no number",
        "odd.json: iperf3 contradicts itself: by end.sum_received.packets less lost_packets 76027 datagrams arrived, by its bytes 51200",
    ] {
        assert!(remarks.contains(words), "'{words}' is missing: {remarks}");
    }
    let names: Vec<&str> = json["series"].as_array().unwrap().iter().map(|series| series["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["iperf3 UDP", "iperf3 UDP, at 1 Mbit/s"]);
    Ok(())
}

fn the_list_has_its_styles_on_a_terminal() -> Result<(), Skip> {
    need_programs(&["script"])?;
    let tool = Tool::new();
    let said = tool.script(&[], "script -qec '$NETTOLL reference' /dev/null").done().stdout;
    assert!(said.contains('\u{1b}') && !said.contains("\\u{1b}") && said.contains("bidulock2007"), "{said:?}");
    Ok(())
}

fn a_study_that_there_is_not_is_misuse() -> Result<(), Skip> {
    let tool = Tool::new();
    let words = ["there is no reference study 'bidulok2007'", "did you mean 'bidulock2007'?", "cabrera1984, jacobson1988"];
    tool.run(&["reference", "bidulok2007"]).refused(2, &words);
    tool.run(&["reference", "bidulok2007", "-J"]).refused_in_json(2, &words);
    Ok(())
}

fn a_table_that_cannot_be_used_is_said() -> Result<(), Skip> {
    let tool = Tool::new();
    let refused = |text: &str, words: &[&str]| {
        tool.write("bad.csv", text);
        let words = [&["bad.csv cannot be used"], words].concat();
        for arguments in [&["reference", "--table", "bad.csv"][..], &["reference", "bidulock2007", "--table", "bad.csv"]] {
            tool.run(arguments).refused(1, &words);
            tool.run(&[arguments, &["-J"]].concat()).refused_in_json(1, &words);
        }
    };
    refused(&HEAD.replace(",test_s", ""), &["the column 'test_s' is missing", "has the columns table, host"]);
    refused(&format!("{HEAD}1,h,d,k,i,64,10,-5,5\n"), &["line 2, column 'sent_messages'", "'-5' is negative", "leave the row out"]);
    refused(&format!("{HEAD}1,h,d,k,i,64,10,5,many\n"), &["column 'received_messages'", "'many' is not a number", "write digits"]);
    refused(HEAD, &["no figures", "at least one row"]);
    refused("\u{0}\u{1}\u{2}", &["is missing"]);
    tool.run(&["reference", "--table", "nowhere.csv"]).refused(1, &["read nowhere.csv", "No such file"]);
    tool.run(&["reference", "--table", "/dev/zero"]).refused(1, &["read /dev/zero", "it is a device"]);
    Ok(())
}

fn a_peers_output_that_cannot_be_used_is_said() -> Result<(), Skip> {
    let tool = Tool::new();
    let refused = |flag: &str, text: &str, words: &[&str]| {
        tool.write("bad", text);
        let words = [&["bad cannot be used"], words].concat();
        tool.run(&["reference", flag, "bad"]).refused(1, &words);
        tool.run(&["reference", flag, "bad", "-J"]).refused_in_json(1, &words);
    };
    refused("--iperf3", &IPERF3[..IPERF3.len() - 20], &["ends before it is complete", "run it again and let it end"]);
    refused("--iperf3", "not JSON", &["it holds no JSON", "iperf3 -J"]);
    refused("--iperf3", "Connecting to host h, port 5201\n", &["iperf3's output for people", "iperf3 -J"]);
    refused("--iperf3", r#"{"start":{},"error":"unable to connect to server"}"#, &["iperf3 reports 'unable to connect to server'"]);
    refused("--iperf3", &IPERF3.replace("95063", "306251"), &["306251 datagrams lost of 171090"]);
    refused("--netperf", "87380  16384  16384    10.00    9414.00\n", &["THROUGHPUT is missing", "-k THROUGHPUT"]);
    refused("--netperf", &NETPERF.replace("LOCAL_SEND_SIZE", "X"), &["LOCAL_SEND_SIZE is missing"]);
    Ok(())
}
